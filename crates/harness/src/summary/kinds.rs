//! What was measured of each kind of transactions, where a workload has several.

use super::Latency;
use contract::{KindCounts, Measurement};
use serde::{Deserialize, Serialize};

/// One kind, over all repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kind {
    /// Its name.
    pub name: String,
    /// Commits per second, the mean over the repetitions.
    pub throughput_per_s: f64,
    /// TPC-C's New-Order: commits per minute, the measure of the standard (clause 5.4.1), without its terminals' keying and think times, so that it is no tpmC that may be published as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpmc: Option<f64>,
    /// Commits.
    pub commits: u64,
    /// Rollbacks by its own will.
    pub user_rollbacks: u64,
    /// Aborts per commit, of those that ended.
    pub abort_rate: f64,
    /// To two significant digits. `null` if none committed.
    pub latency_ns: Option<Latency>,
}

/// Of a workload's repetitions, in the workload's order; none if it has one kind.
pub fn of(workload: &str, repetitions: &[Measurement]) -> Vec<Kind> {
    let seconds: f64 = repetitions.iter().map(|repetition| repetition.elapsed.as_secs_f64()).sum();
    let mut all: Vec<KindCounts> = Vec::new();
    for repetition in repetitions {
        match all.is_empty() {
            true => all = repetition.kinds.clone(),
            false => all.iter_mut().zip(&repetition.kinds).for_each(|(sum, other)| sum.merge(other)),
        }
    }
    // A mix may leave some out.
    all.retain(|kind| kind.commits + kind.user_rollbacks + kind.aborts > 0);
    let per_s = |kind: &KindCounts| kind.commits as f64 / seconds.max(1e-9);
    let is_new_order = |kind: &KindCounts| workload == "tpcc" && kind.name == "new-order";
    let shown = |kind: KindCounts| Kind {
        throughput_per_s: per_s(&kind),
        tpmc: is_new_order(&kind).then(|| 60.0 * per_s(&kind)),
        commits: kind.commits,
        user_rollbacks: kind.user_rollbacks,
        abort_rate: kind.aborts as f64 / kind.commits.max(1) as f64,
        latency_ns: Latency::of(&kind.latency_ns),
        name: kind.name,
    };
    all.into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn repetitions_are_added_up_by_kind() {
        let mut one = Measurement::nothing(Duration::from_secs(2), 1);
        one.kinds = ["new-order", "payment"].map(KindCounts::nothing).into();
        one.kinds[0].commits = 10;
        one.kinds[0].aborts = 5;
        one.kinds[0].latency_ns += 1000;
        let all = of("tpcc", &[one.clone(), one.clone()]);
        assert_eq!(all.len(), 1, "no payment ended");
        assert_eq!((all[0].throughput_per_s, all[0].tpmc, all[0].abort_rate), (5.0, Some(300.0), 0.5));
        assert_eq!(of("other", &[one])[0].tpmc, None);
    }
}
