//! `samples.csv`: one row a repetition.

use super::csv_field;
use crate::options::RunOptions;
use crate::summary::{COSTS, Costs, Latency};
use contract::{AbortReason, Measurement};
use serde::{Deserialize, Serialize};

/// One repetition's numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// From 1.
    pub repetition: usize,
    /// Its seed.
    pub seed: u64,
    /// The counted interval, one for all workers.
    pub elapsed_s: f64,
    /// Commits per second.
    pub throughput_per_s: f64,
    /// Commits.
    pub commits: u64,
    /// Rollbacks by the procedures' own will.
    pub user_rollbacks: u64,
    /// The part of the commits that had been aborted at least once.
    pub retried_share: f64,
    /// Workers with transactions of which none ended in the interval.
    pub absent_workers: usize,
    /// Transactions that began in the interval and were given up.
    pub unfinished: u64,
    /// [`Measurement::littles_law`].
    pub littles_law: Option<f64>,
    /// By [`AbortReason::index`].
    pub aborts: [u64; AbortReason::ALL.len()],
    /// Percentiles of this repetition alone.
    pub latency_ns: Option<Latency>,
    /// What the architecture itself cost.
    #[serde(flatten)]
    pub costs: Costs,
}

impl Sample {
    /// The numbers of a system's repetitions, in order.
    pub fn all(repetitions: &[Measurement], options: &RunOptions) -> Vec<Sample> {
        let sample = |(number, measurement): (usize, &Measurement)| Sample {
            repetition: number + 1,
            seed: options.repetition_seed(number),
            elapsed_s: measurement.elapsed.as_secs_f64(),
            throughput_per_s: measurement.throughput_per_s(),
            commits: measurement.commits,
            user_rollbacks: measurement.user_rollbacks,
            retried_share: measurement.retried_share(),
            absent_workers: measurement.absent_workers,
            unfinished: measurement.unfinished,
            littles_law: measurement.littles_law(),
            aborts: measurement.aborts,
            latency_ns: Latency::of(&measurement.latency_ns),
            costs: Costs::of([measurement]),
        };
        repetitions.iter().enumerate().map(sample).collect()
    }
}

/// The file's text. Each group of samples has labels: the system, or the place on the axes of a sweep. All groups
/// have labels of the same names.
pub fn csv<'a>(groups: impl IntoIterator<Item = (Vec<(&'a str, &'a str)>, &'a [Sample])>) -> String {
    let mut text = String::new();
    for (labels, samples) in groups {
        if text.is_empty() {
            text = header(labels.iter().map(|(name, _)| *name));
        }
        let label: String = labels.iter().map(|(_, value)| csv_field(value) + ",").collect();
        for sample in samples {
            text += &label;
            text += &row(sample);
        }
    }
    text
}

fn header<'a>(labels: impl Iterator<Item = &'a str>) -> String {
    let mut columns: Vec<String> = labels.map(csv_field).collect();
    columns.extend(
        ["repetition", "seed", "elapsed_s", "throughput_per_s", "commits", "user_rollbacks"]
            .map(String::from),
    );
    columns.extend(["retried_share", "absent_workers", "unfinished", "littles_law"].map(String::from));
    columns.extend(AbortReason::ALL.map(|reason| format!("aborts_{}", reason.name().replace('-', "_"))));
    columns.extend(["p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns", "mean_ns"].map(String::from));
    columns.extend(COSTS.iter().map(|cost| cost.name.to_owned()));
    columns.join(",") + "\n"
}

fn row(sample: &Sample) -> String {
    let Sample { repetition, seed, elapsed_s, throughput_per_s, commits, user_rollbacks, .. } = sample;
    let Sample { retried_share, absent_workers, unfinished, littles_law, .. } = sample;
    // A field stays empty where nothing was measured.
    let littles_law = littles_law.map_or(String::new(), |ratio| format!("{ratio:.4}"));
    let latencies = sample.latency_ns.as_ref().map_or(",".repeat(5), |of| {
        let Latency { p50, p90, p99, p999, max, mean } = of;
        format!("{p50},{p90},{p99},{p999},{max},{mean:.1}")
    });
    let aborts: String = sample.aborts.iter().map(|count| format!("{count},")).collect();
    let costs: String =
        sample.costs.values().map(|cost| cost.map_or(",".to_owned(), |cost| format!(",{cost:.4}"))).concat();
    format!(
        "{repetition},{seed},{elapsed_s:.6},{throughput_per_s:.3},{commits},{user_rollbacks},\
         {retried_share:.6},{absent_workers},{unfinished},{littles_law},\
         {aborts}{latencies}{costs}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_every_column() {
        let sample = Sample {
            repetition: 1,
            seed: 7,
            elapsed_s: 1.0,
            throughput_per_s: 10.5,
            commits: 10,
            user_rollbacks: 0,
            retried_share: 0.5,
            absent_workers: 1,
            unfinished: 2,
            littles_law: Some(0.99),
            aborts: std::array::from_fn(|reason| reason as u64 + 1),
            latency_ns: Some(Latency::default()),
            costs: Costs { messages_per_txn: Some(2.5), ..Costs::default() },
        };
        let samples = [sample.clone(), Sample { repetition: 2, latency_ns: None, ..sample }];
        let labels = vec![("architecture", "shared-everything"), ("protocol", "a,b")];
        let text = csv([(labels, &samples[..])]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("architecture,protocol,repetition,"));
        assert!(
            lines[1]
                .starts_with("shared-everything,\"a,b\",1,7,1.000000,10.500,10,0,0.500000,1,2,0.9900,1,2,3,")
        );
        assert!(
            lines[0].ends_with(",page_faults_per_txn") && lines[1].ends_with(",0.0,2.5000,,,,,,,,,,,,,,,,,"),
            "{text}"
        );
        assert!(lines[2].ends_with(",,,,,,,2.5000,,,,,,,,,,,,,,,,,"), "nothing is not zero: {text}");
        for line in &lines[1..] {
            assert_eq!(lines[0].split(',').count() + 1, line.split(',').count(), "one comma is quoted");
        }
    }

    #[test]
    fn nothing_measured_is_an_empty_file() {
        assert_eq!(csv([]), "");
    }
}
