//! One system at one point, measured and simulated: the medians of the rounds.
//!
//! Of rounds on the hardware in which others took much of the cores, or in which a hypervisor had moved the cores nearer to each
//! other or apart, a median says what the host did. They are left out where the system was measured undisturbed, too; where
//! there was no such round, the least disturbed one stands alone and is told.

use super::kind::SystemKind;
use super::rows::Row;
use crate::summary::min_median_max;
use contract::ChannelName;
use serde::Serialize;

/// Measured and simulated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Both {
    /// On the hardware.
    pub measured: f64,
    /// On the simulated machine.
    pub simulated: f64,
}

/// One system at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The workload's name.
    pub workload: String,
    /// Its parameters as they were set.
    pub setting: String,
    /// The architecture's name.
    pub architecture: String,
    /// The protocol's name.
    pub protocol: String,
    /// Workers.
    pub workers: usize,
    /// Of which kind the system is, and whose errors it is part of.
    pub kind: SystemKind,
    /// Instances among which the workers were divided.
    pub instances: usize,
    /// By what the instances talk; `null`: there is one.
    pub channel: Option<ChannelName>,
    /// Committed transactions per second, the median of what was measured.
    pub measured_per_s: f64,
    /// The slowest round.
    pub measured_min: f64,
    /// The fastest round.
    pub measured_max: f64,
    /// The median of what was simulated.
    pub simulated_per_s: f64,
    /// Simulated over measured.
    pub ratio: f64,
    /// Mean commit latency, medians; nothing where nothing committed in some round.
    pub mean_ns: Option<Both>,
    /// Aborts per commit, medians.
    pub abort_rate: Both,
    /// The part of the commits that had been aborted at least once, medians.
    pub retried_share: Both,
    /// Rounds on the hardware that were undisturbed enough to count.
    pub rounds: usize,
    /// How much the host did to the least disturbed of them: above 1 it is not to be relied on.
    pub disturbance: f64,
}

impl Compared {
    /// All that was measured and simulated in as many rounds, in the order of the first round.
    pub fn all(rows: &[Row]) -> Vec<Compared> {
        let first = rows.iter().filter(|row| row.round == 0 && !row.simulated);
        first.filter_map(|row| Compared::of(row, rows)).collect()
    }

    fn of(first: &Row, rows: &[Row]) -> Option<Compared> {
        let on = |simulated| -> Vec<&Row> {
            rows.iter().filter(|row| row.simulated == simulated && row.is_beside(first)).collect()
        };
        let (measured, simulated) = (on(false), on(true));
        if measured.len() != simulated.len() {
            return None;
        }
        let disturbance = measured.iter().map(|row| row.host.disturbance()).fold(f64::INFINITY, f64::min);
        let measured: Vec<&Row> =
            measured.into_iter().filter(|row| row.host.disturbance() <= disturbance.max(1.0)).collect();
        let median = |rows: &[&Row], number: fn(&Row) -> f64| {
            min_median_max(rows.iter().map(|row| number(row)).collect())[1]
        };
        let both =
            |number| Both { measured: median(&measured, number), simulated: median(&simulated, number) };
        let [measured_min, measured_per_s, measured_max] =
            min_median_max(measured.iter().map(|row| row.throughput_per_s).collect());
        let simulated_per_s = both(|row| row.throughput_per_s).simulated;
        let committed = measured.iter().chain(&simulated).all(|row| row.mean_ns.is_some());
        Some(Compared {
            workload: first.workload.clone(),
            setting: first.setting.clone(),
            architecture: first.architecture.clone(),
            protocol: first.protocol.clone(),
            workers: first.workers,
            kind: SystemKind::of(first.instances),
            instances: first.instances,
            channel: first.channel,
            measured_per_s,
            measured_min,
            measured_max,
            simulated_per_s,
            ratio: simulated_per_s / measured_per_s,
            mean_ns: committed.then(|| both(|row| row.mean_ns.unwrap_or(0.0))),
            abort_rate: both(|row| row.abort_rate),
            retried_share: both(|row| row.retried_share),
            rounds: measured.len(),
            disturbance,
        })
    }

    /// Whether transactions committed on both sides, in every round: otherwise there is nothing per commit.
    pub(super) fn committed(&self) -> bool {
        self.mean_ns.is_some()
    }

    /// How far simulated is from measured, as a factor of at least 1.
    pub(super) fn factor(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }

    /// Whether the row is of this system at this point, measured in one of the rounds that count.
    pub(super) fn counts(&self, row: &Row) -> bool {
        !row.simulated && row.host.disturbance() <= self.disturbance.max(1.0) && self.is_of(row)
    }

    fn is_of(&self, row: &Row) -> bool {
        (&self.workload, &self.setting, self.workers) == (&row.workload, &row.setting, row.workers)
            && (self.instances, self.channel) == (row.instances, row.channel)
            && (&self.architecture, &self.protocol) == (&row.architecture, &row.protocol)
    }

    /// Whether both are of one point. Other instances, or another channel, make another system there.
    pub(super) fn is_at_the_point_of(&self, other: &Compared) -> bool {
        (&self.workload, &self.setting, self.workers) == (&other.workload, &other.setting, other.workers)
    }

    /// Whether both are of one system, at points that differ in one thing: the workers or the setting of the workload.
    pub(super) fn is_along_from(&self, other: &Compared) -> bool {
        (&self.architecture, &self.protocol) == (&other.architecture, &other.protocol)
            && (self.instances, self.channel) == (other.instances, other.channel)
            && self.workload == other.workload
            && (self.setting == other.setting) != (self.workers == other.workers)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::Host;
    use super::super::tests::row;
    use super::*;

    #[test]
    fn medians_of_all_rounds_stand_together() {
        let mut rows = Vec::new();
        for (round, (measured, simulated)) in
            [(100.0, 61.0), (80.0, 60.0), (120.0, 59.0)].into_iter().enumerate()
        {
            rows.push(Row { round, ..row("a", 1, false, measured) });
            rows.push(Row { round, ..row("b", 1, false, 10.0) });
            rows.push(Row { round, ..row("a", 1, true, simulated) });
            rows.push(Row { round, ..row("b", 1, true, 20.0) });
        }
        let compared = Compared::all(&rows);
        assert_eq!(compared.iter().map(|row| row.architecture.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let Compared { measured_min, measured_per_s, measured_max, simulated_per_s, .. } = compared[0];
        assert_eq!([measured_min, measured_per_s, measured_max, simulated_per_s], [80.0, 100.0, 120.0, 60.0]);
        assert_eq!((compared[0].ratio, compared[1].factor()), (0.6, 2.0));
    }

    #[test]
    fn a_deployment_is_another_system_than_one_instance_and_than_one_over_another_channel() {
        let over = |channel: Option<ChannelName>, measured| {
            let of = |simulated, per_s| Row {
                instances: if channel.is_some() { 2 } else { 1 },
                channel,
                ..row("a", 2, simulated, per_s)
            };
            [of(false, measured), of(true, 100.0)]
        };
        let rows =
            [over(None, 50.0), over(Some(ChannelName::Unix), 100.0), over(Some(ChannelName::Tcp), 200.0)];
        let compared = Compared::all(&rows.concat());
        assert_eq!(compared.iter().map(|row| row.ratio).collect::<Vec<_>>(), [2.0, 1.0, 0.5]);
        assert_eq!(compared.iter().map(|row| row.kind).collect::<Vec<_>>(), {
            [SystemKind::OneInstance, SystemKind::Deployments, SystemKind::Deployments]
        });
        assert!(compared[1].is_at_the_point_of(&compared[2]) && !compared[1].is_along_from(&compared[2]));
        assert!(!compared[0].counts(&rows[1][0]) && compared[1].counts(&rows[1][0]));
    }

    #[test]
    fn disturbed_rounds_are_left_out_unless_there_are_no_others() {
        let round = |round, measured, taken, moved| {
            let host = Host { taken, moved };
            [Row { round, host, ..row("a", 1, false, measured) }, Row { round, ..row("a", 1, true, 100.0) }]
        };
        let mixed = [
            round(0, 40.0, 0.6, 1.0),
            round(1, 100.0, 0.0, 1.1),
            round(2, 300.0, 0.0, 4.0),
            round(3, 104.0, 0.1, 1.0),
        ];
        let mixed = mixed.concat();
        let compared = &Compared::all(&mixed)[0];
        assert_eq!((compared.measured_per_s, compared.rounds), (102.0, 2));
        assert_eq!(mixed.iter().filter(|row| compared.counts(row)).count(), 2);
        let loaded = [round(0, 40.0, 0.6, 1.0), round(1, 60.0, 0.4, 1.0)].concat();
        let compared = &Compared::all(&loaded)[0];
        assert_eq!((compared.measured_per_s, compared.rounds, compared.disturbance), (60.0, 1, 4.0));
    }

    #[test]
    fn what_was_not_simulated_as_often_is_no_comparison() {
        assert_eq!(Compared::all(&[row("a", 1, false, 1.0)]), []);
    }

    #[test]
    fn nothing_committed_has_no_latency() {
        let idle = Row { mean_ns: None, ..row("a", 1, true, 0.0) };
        assert_eq!(Compared::all(&[row("a", 1, false, 1.0), idle])[0].mean_ns, None);
    }
}
