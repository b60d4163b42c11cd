//! What the architecture itself cost: what explains why one is faster than another.

use contract::{Effort, Measurement};
use serde::{Deserialize, Serialize};

/// Costs by transaction. `None` (in JSON `null`) where nothing was measured: a round trip where nothing was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Requests and releases that were sent, answers not counted, by transaction that ended.
    pub messages_per_txn: Option<f64>,
    /// Fibers that left a worker for another one, by transaction that ended.
    pub migrations_per_txn: Option<f64>,
    /// The part of their time that the workers which host transactions spent serving others, 0 to 1. Dedicated servers
    /// do nothing else.
    pub serving_share: Option<f64>,
    /// From sending a request to having its answer, the mean.
    pub round_trip_ns: Option<f64>,
    /// From a migration's start to the fiber's running at its end, the mean.
    pub migration_ns: Option<f64>,
    /// From a transaction's first lock to having given all back, the mean over attempts.
    pub lock_hold_ns: Option<f64>,
}

/// The names of [`Costs::values`], as in results.
pub const COSTS: [&str; 6] = [
    "messages_per_txn",
    "migrations_per_txn",
    "serving_share",
    "round_trip_ns",
    "migration_ns",
    "lock_hold_ns",
];

impl Costs {
    /// The costs of all `measurements` together.
    pub fn of<'a>(measurements: impl IntoIterator<Item = &'a Measurement>) -> Costs {
        let (mut effort, mut ended, mut worker_ns) = (Effort::default(), 0, 0.0);
        for measurement in measurements {
            effort.merge(&measurement.effort);
            ended += measurement.commits + measurement.user_rollbacks;
            worker_ns += measurement.elapsed.as_secs_f64() * 1e9 * measurement.commits_by_worker.len() as f64;
        }
        let by_transaction = |count: u64| (ended > 0).then(|| count as f64 / ended as f64);
        let is_timed = effort.servings == 0 || effort.serving.samples > 0;
        Costs {
            messages_per_txn: by_transaction(effort.messages),
            migrations_per_txn: by_transaction(effort.migrations),
            serving_share: (worker_ns > 0.0 && is_timed).then(|| effort.serving_share(worker_ns)),
            round_trip_ns: effort.round_trip.mean_ns(),
            migration_ns: effort.migration.mean_ns(),
            lock_hold_ns: effort.lock_hold.mean_ns(),
        }
    }

    /// By the names of [`COSTS`].
    pub fn values(&self) -> [Option<f64>; COSTS.len()] {
        let Costs { messages_per_txn, migrations_per_txn, serving_share, .. } = *self;
        let Costs { round_trip_ns, migration_ns, lock_hold_ns, .. } = *self;
        [messages_per_txn, migrations_per_txn, serving_share, round_trip_ns, migration_ns, lock_hold_ns]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::some_measurement;
    use contract::Sampled;

    #[test]
    fn costs_are_by_transaction_and_by_the_time_of_all_workers() {
        let effort = Effort {
            messages: 3015,
            served: 3000,
            servings: 1000,
            serving: Sampled { samples: 10, ns: 10 * 400_000 },
            round_trip: Sampled { samples: 4, ns: 8000 },
            ..Effort::default()
        };
        let measurement = Measurement { effort, ..some_measurement(1000.0) };
        let expected = Costs {
            messages_per_txn: Some(3.0),
            migrations_per_txn: Some(0.0),
            serving_share: Some(0.2),
            round_trip_ns: Some(2000.0),
            migration_ns: None,
            lock_hold_ns: None,
        };
        // 1,005 transactions ended in a second of two workers.
        assert_eq!(Costs::of([&measurement]), expected);
        assert_eq!(Costs::of([&measurement, &measurement]), expected);
        assert_eq!(expected.values().iter().flatten().count(), 4);
    }

    #[test]
    fn what_was_not_measured_is_not_told() {
        let untimed = Effort { servings: 1, ..Effort::default() };
        let measurement = Measurement { effort: untimed, ..some_measurement(1.0) };
        assert_eq!(Costs::of([&measurement]).serving_share, None, "served, and nobody knows how long");
        assert_eq!(Costs::of([]), Costs::default());
        let json = serde_json::to_value(Costs::default()).expect("JSON");
        assert!(
            COSTS.iter().all(|name| json[*name].is_null()) && json.as_object().map(|o| o.len()) == Some(6)
        );
    }
}
