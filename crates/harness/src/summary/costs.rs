//! What the architecture itself cost, and snapshots: what explains why one is faster than another.
//!
//! Each cost is described once, in the list of [`Costs`]: its name in results, its heading in reports, its unit, and how it
//! follows from what the workers counted ([`Effort`]), and from what the store took.

use super::Summary;
use crate::text::numbers::{latency, percent, ratio};
use contract::{Effort, Events, Measurement, Sampled, TimeClass, TimeShare};
use serde::{Deserialize, Serialize};

/// The classes of time in which a thread executes a transaction.
const EXECUTING: [TimeClass; 2] = [TimeClass::Useful, TimeClass::Index];
/// And those in which it does what transactions need to be transactions: locks and messages, above all.
const MANAGING: [TimeClass; 2] = [TimeClass::Timestamp, TimeClass::Manager];

/// What all repetitions counted together.
#[derive(Default)]
struct Total {
    effort: Effort,
    /// Transactions that ended.
    ended: u64,
    /// Workers of each repetition.
    threads: u64,
    /// The time of all workers that serve.
    serving_workers_ns: f64,
    /// The time of all workers that host transactions.
    hosts_ns: f64,
    /// Whether some of them had several transactions in flight.
    interleaves: bool,
    time: TimeShare,
    /// The largest of a repetition's versions by its records; `None`: there were no snapshots.
    version_space: Option<f64>,
}

impl Total {
    fn by_transaction(&self, count: u64) -> Option<f64> {
        (self.ended > 0).then(|| count as f64 / self.ended as f64)
    }

    /// Nothing where some threads' were not told: what the others counted would be too little.
    fn events_by_transaction(&self, events: Events) -> Option<f64> {
        self.by_transaction(events.of_all(self.threads)?)
    }

    fn serving_share(&self) -> Option<f64> {
        let is_timed = self.effort.servings == 0 || self.effort.serving.samples > 0;
        (self.serving_workers_ns > 0.0 && is_timed)
            .then(|| self.effort.serving_share(self.serving_workers_ns))
    }

    fn idle_share(&self) -> Option<f64> {
        // A worker has counted one of the two.
        self.part_of_hosts(self.effort.idle).or_else(|| self.part_of_hosts(self.effort.rested))
    }

    fn part_of_hosts(&self, counted: Sampled) -> Option<f64> {
        let is_counted = counted.samples > 0 && self.hosts_ns > 0.0;
        is_counted.then(|| (counted.ns as f64 / self.hosts_ns).min(1.0))
    }

    fn in_flight_found(&self) -> Option<f64> {
        let Effort { admissions, admitted, .. } = self.effort;
        (admissions > 0).then(|| admitted as f64 / admissions as f64)
    }

    fn of_classes(&self, classes: &[TimeClass]) -> f64 {
        classes.iter().map(|class| self.time.ns[class.index()]).sum::<u64>() as f64
    }

    /// Of threads that have one transaction at a time what the sampled ones say.
    fn executing_share(&self) -> Option<f64> {
        let all = self.of_classes(&TimeClass::ALL);
        match self.interleaves {
            true => self.busy_share(&EXECUTING),
            false => (all > 0.0).then(|| self.of_classes(&EXECUTING) / all),
        }
    }

    /// What is not idle goes to executing and managing as it does in the sampled transactions that did not abort; they wait while others run. Where only rests are
    /// known, a thread waits for others and serves them in what is left: that is no such division.
    fn busy_share(&self, classes: &[TimeClass]) -> Option<f64> {
        let busy = self.of_classes(&EXECUTING) + self.of_classes(&MANAGING);
        let idle = self.part_of_hosts(self.effort.idle).filter(|_| busy > 0.0)?;
        Some((1.0 - idle) * self.of_classes(classes) / busy)
    }
}

/// What a cost is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Times by transaction that ended.
    Times,
    /// A part, 0 to 1.
    Share,
    /// Nanoseconds, a mean of samples.
    Nanoseconds,
}

impl Unit {
    /// For people.
    pub fn show(self, value: f64) -> String {
        match self {
            Unit::Times => ratio(value),
            Unit::Share => percent(value),
            Unit::Nanoseconds => latency(value.round() as u64),
        }
    }
}

/// One cost.
pub struct CostDescription {
    /// Its name in results.
    pub name: &'static str,
    /// Its heading in reports.
    pub heading: &'static str,
    /// What it is counted in.
    pub unit: Unit,
}

/// The costs that processors count ([`contract::EngineOptions::counters`]), and not the engine.
const BY_PROCESSOR: [&str; 6] = [
    "instructions_per_txn",
    "cycles_per_txn",
    "cache_misses_per_txn",
    "tlb_misses_per_txn",
    "branch_misses_per_txn",
    "page_faults_per_txn",
];

impl CostDescription {
    /// What `summary` has of it, for people; a dash if it was not measured.
    pub fn shown_of(&self, summary: &Summary) -> String {
        summary.costs.get(self.name).map_or("–".to_owned(), |value| self.unit.show(value))
    }

    /// Those of [`COSTS`] that processors count, and that one of `summaries` has.
    pub fn counted_by_processor(summaries: &[&Summary]) -> Vec<&'static CostDescription> {
        let is_told = |cost: &&CostDescription| {
            let has_it = |summary: &&Summary| summary.costs.get(cost.name).is_some();
            BY_PROCESSOR.contains(&cost.name) && summaries.iter().any(has_it)
        };
        COSTS.iter().filter(is_told).collect()
    }
}

macro_rules! costs {
    ($($(#[$doc:meta])* $name:ident, $heading:literal, $unit:ident: $of:expr;)+) => {
        /// Costs by transaction. `None` (in JSON `null`) where nothing was measured: a round trip where nothing was sent.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct Costs { $($(#[$doc])* pub $name: Option<f64>,)+ }

        /// Every cost, in the order of [`Costs::values`].
        pub const COSTS: &[CostDescription] =
            &[$(CostDescription { name: stringify!($name), heading: $heading, unit: Unit::$unit }),+];

        impl Costs {
            fn of_total(total: &Total) -> Costs {
                let of = |cost: fn(&Total) -> Option<f64>| cost(total);
                Costs { $($name: of($of)),+ }
            }

            /// In the order of [`COSTS`].
            pub fn values(&self) -> [Option<f64>; COSTS.len()] {
                [$(self.$name),+]
            }
        }
    };
}

costs! {
    /// Requests and releases that were sent, answers not counted, by transaction that ended.
    messages_per_txn, "messages/txn", Times: |total| total.by_transaction(total.effort.messages);
    /// Fibers that left a worker for another one, by transaction that ended.
    migrations_per_txn, "migrations/txn", Times: |total| total.by_transaction(total.effort.migrations);
    /// The part of their time that workers spent serving others, 0 to 1: dedicated servers or concurrency-control threads where there are any, or
    /// else all.
    serving_share, "serving others", Share: |total| total.serving_share();
    /// The part of their time, 0 to 1, in which threads that execute transactions had none that could go on (ORTHRUS, instances; *orthrus* 4.4.3: waiting). In an
    /// open loop under other architectures, the part in which workers had none; serving others is not seen in it.
    idle_share, "idle", Share: |total| total.idle_share();
    /// The part in which they executed transactions, look-ups included; of what is not idle as much as of the sampled transactions' time. Of threads that
    /// have one transaction at a time, the part of that time.
    executing_share, "executing", Share: |total| total.executing_share();
    /// The part in which they managed them: lock sets, messages, commits (*orthrus* 4.4.3: locking).
    managing_share, "managing", Share: |total| total.busy_share(&MANAGING);
    /// From sending a request to having its answer, the mean.
    round_trip_ns, "round trip", Nanoseconds: |total| total.effort.round_trip.mean_ns();
    /// From a migration's start to the fiber's running at its end, the mean.
    migration_ns, "migration", Nanoseconds: |total| total.effort.migration.mean_ns();
    /// From a transaction's first lock to having released all, the mean over attempts.
    lock_hold_ns, "lock hold", Nanoseconds: |total| total.effort.lock_hold.mean_ns();
    /// Locks of hot records that were got before they were read, by transaction that ended (MOCC).
    hot_locks_per_txn, "hot locks/txn", Times: |total| total.by_transaction(total.effort.hot_locks);
    /// Transactions in flight a worker that `--in-flight auto` let begin, its trials included: the mean over transactions that ended. Nothing where it is told how many.
    in_flight_found, "in flight, found", Times: |total| total.in_flight_found();
    /// The most memory that previous versions of records have taken, by that of the records (*silo* 5.6).
    version_space, "versions/records", Share: |total| total.version_space;
    /// Instructions by transaction that ended, in user mode, of all workers, those that only serve among them; nothing where the system gives no such counter, as those below.
    instructions_per_txn, "instructions/txn", Times: |total| total.events_by_transaction(total.effort.instructions);
    /// Cycles, those spent waiting in user mode among them.
    cycles_per_txn, "cycles/txn", Times: |total| total.events_by_transaction(total.effort.cycles);
    /// What the system calls cache misses: of the last level on Intel's processors, of the second on AMD's.
    cache_misses_per_txn, "cache misses/txn", Times: |total| total.events_by_transaction(total.effort.cache_misses);
    /// Loads whose page was in no buffer of translations; on some processors, not in the first.
    tlb_misses_per_txn, "TLB misses/txn", Times: |total| total.events_by_transaction(total.effort.tlb_misses);
    /// Branches that were predicted wrongly.
    branch_misses_per_txn, "branch misses/txn", Times: |total| total.events_by_transaction(total.effort.branch_misses);
    /// Pages that the system had to give: what measures well has none.
    page_faults_per_txn, "page faults/txn", Times: |total| total.events_by_transaction(total.effort.page_faults);
}

impl Costs {
    /// The costs of all `measurements` together.
    pub fn of<'a>(measurements: impl IntoIterator<Item = &'a Measurement>) -> Costs {
        let mut total = Total::default();
        for measurement in measurements {
            total.effort.merge(&measurement.effort);
            total.ended += measurement.commits + measurement.user_rollbacks;
            total.threads += measurement.threads() as u64;
            total.serving_workers_ns += measurement.serving_workers_ns();
            total.hosts_ns += measurement.hosts_ns();
            total.interleaves |= measurement.slots > measurement.commits_by_worker.len();
            total.time.add(&measurement.time_share);
            let records = measurement.record_bytes as f64;
            let space =
                measurement.version_bytes.filter(|_| records > 0.0).map(|bytes| bytes as f64 / records);
            total.version_space = total.version_space.into_iter().chain(space).reduce(f64::max);
        }
        Costs::of_total(&total)
    }

    /// Every cost with its value.
    pub fn described(&self) -> impl Iterator<Item = (&'static CostDescription, Option<f64>)> {
        COSTS.iter().zip(self.values())
    }

    /// The cost called `name`; `None` if there is no such cost, or if it was not measured.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.described().find(|(cost, _)| cost.name == name)?.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::{some_measurement, some_summary};
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
            idle_share: None,
            executing_share: Some(0.7),
            managing_share: None,
            round_trip_ns: Some(2000.0),
            migration_ns: None,
            lock_hold_ns: None,
            hot_locks_per_txn: Some(0.0),
            in_flight_found: None,
            version_space: None,
            instructions_per_txn: None,
            cycles_per_txn: None,
            cache_misses_per_txn: None,
            tlb_misses_per_txn: None,
            branch_misses_per_txn: None,
            page_faults_per_txn: None,
        };
        // 1,005 transactions ended in a second of two workers.
        assert_eq!(Costs::of([&measurement]), expected);
        assert_eq!(Costs::of([&measurement, &measurement]), expected);
        assert_eq!(expected.values().iter().flatten().count(), 6);
        // The same serving, by one of three workers, which does nothing else.
        let served = Measurement { servers: 1, ..measurement };
        assert_eq!(Costs::of([&served]).serving_share, Some(0.4));
    }

    #[test]
    fn what_is_not_idle_is_divided_as_the_sampled_transactions_time_is() {
        // Two threads, a second; half of the transactions' time is waiting, while others run, and aborted attempts.
        let idle = Sampled { samples: 2, ns: 500_000_000 };
        let time_share = TimeShare { ns: [50, 40, 5, 10, 60, 35], samples: 500 };
        let effort = Effort { idle, ..Effort::default() };
        let measurement =
            Measurement { effort, time_share, servers: 1, slots: 8, ..some_measurement(1000.0) };
        let of = |costs: Costs| [costs.idle_share, costs.executing_share, costs.managing_share];
        assert_eq!(of(Costs::of([&measurement, &measurement])), [0.25, 0.45, 0.3].map(Some));
        let unsampled = Measurement { time_share: TimeShare::default(), ..measurement.clone() };
        assert_eq!(of(Costs::of([&unsampled])), [Some(0.25), None, None]);
        // One at a time waits where it is.
        let alone = Measurement { slots: 2, effort: Effort::default(), ..measurement.clone() };
        assert_eq!(of(Costs::of([&alone])), [None, Some(0.3), None]);
        // In an open loop a worker that waits for an arrival rests: that divides nothing else.
        let rested = Effort { rested: idle, ..Effort::default() };
        let resting = Measurement { effort: rested, ..alone.clone() };
        assert_eq!(of(Costs::of([&resting])), [Some(0.25), Some(0.3), None]);
        let in_fibers = Measurement { effort: rested, ..measurement };
        assert_eq!(of(Costs::of([&in_fibers])), [Some(0.25), None, None]);
        // Nobody has counted.
        assert_eq!(of(Costs::of([&some_measurement(1000.0)])), [None, Some(0.7), None]);
    }

    #[test]
    fn how_many_were_in_flight_is_a_mean_over_transactions() {
        let of = |admissions, admitted| Measurement {
            effort: Effort { admissions, admitted, ..Effort::default() },
            ..some_measurement(1.0)
        };
        assert_eq!(Costs::of([&of(100, 100), &of(300, 1200)]).in_flight_found, Some(3.25));
        assert_eq!(Costs::of([&of(0, 0)]).in_flight_found, None);
    }

    #[test]
    fn versions_are_told_by_the_records_and_at_their_most() {
        let of = |version_bytes| Measurement { version_bytes, record_bytes: 1000, ..some_measurement(1.0) };
        assert_eq!(Costs::of([&of(Some(50)), &of(Some(70)), &of(Some(60))]).version_space, Some(0.07));
        assert_eq!(Costs::of([&of(Some(0))]).version_space, Some(0.0));
        assert_eq!(Costs::of([&of(None)]).version_space, None);
    }

    #[test]
    fn what_processors_count_is_told_by_transaction_if_all_threads_were_counted() {
        let all = Events { threads: 3, events: 2010 };
        let effort = Effort {
            instructions: all,
            cycles: Events { events: 4020, ..all },
            cache_misses: Events { threads: 2, events: 4020 },
            page_faults: Events { events: 0, ..all },
            ..Effort::default()
        };
        // Two workers that host transactions and one that serves; 1,005 transactions ended.
        let measurement = Measurement { effort, servers: 1, ..some_measurement(1000.0) };
        let of = |measurements: &[&Measurement]| {
            let costs = Costs::of(measurements.iter().copied());
            let Costs { instructions_per_txn, cycles_per_txn, .. } = costs;
            let misses = [costs.cache_misses_per_txn, costs.tlb_misses_per_txn];
            ([instructions_per_txn, cycles_per_txn, costs.page_faults_per_txn], misses)
        };
        let told = ([Some(2.0), Some(4.0), Some(0.0)], [None, None]);
        assert_eq!(of(&[&measurement]), told);
        assert_eq!(of(&[&measurement, &measurement]), told);
        // A repetition of which nothing was told: there is no saying what all of them took.
        let untold = Measurement { effort: Effort::default(), ..measurement.clone() };
        assert_eq!(of(&[&measurement, &untold]), ([None; 3], [None; 2]));
        let mut summary = some_summary();
        assert!(CostDescription::counted_by_processor(&[&summary]).is_empty());
        summary.costs = Costs::of([&measurement]);
        let told = CostDescription::counted_by_processor(&[&some_summary(), &summary]);
        let told: Vec<&str> = told.iter().map(|cost| cost.name).collect();
        assert_eq!(told, ["instructions_per_txn", "cycles_per_txn", "page_faults_per_txn"]);
        assert!(BY_PROCESSOR.iter().all(|name| COSTS.iter().any(|cost| cost.name == *name)));
        let nothing = Measurement { commits: 0, user_rollbacks: 0, ..measurement };
        assert_eq!(of(&[&nothing]), ([None; 3], [None; 2]), "no transaction ended");
    }

    #[test]
    fn what_was_not_measured_is_not_told() {
        let untimed = Effort { servings: 1, ..Effort::default() };
        let measurement = Measurement { effort: untimed, ..some_measurement(1.0) };
        assert_eq!(Costs::of([&measurement]).serving_share, None, "served, and nobody knows how long");
        assert_eq!(Costs::of([]), Costs::default());
        let json = serde_json::to_value(Costs::default()).expect("JSON");
        assert!(
            COSTS.iter().all(|cost| json[cost.name].is_null())
                && json.as_object().map(|o| o.len()) == Some(18)
        );
    }
}
