//! What it costs two workers to ask each other, beside what a cache line costs there and back: the line is measured before
//! and after each, for virtual machines move their cores.

use crate::ping_pong;
use engine::testing::inner_steps;
use machine::hardware::facts;
use machine::hardware::rounds::{Fact, factor};
use machine::hardware::socket::Family;
use machine::hardware::topology::Topology;
use serde::Serialize;

/// Between the first two workers, over several rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorkerFacts {
    /// Delegation: a lock request and its answer, the record's line being the owner's.
    pub delegated_request_ns: Fact,
    /// The same in line round trips, taken within each round; `None` if the cores moved within every one.
    pub delegated_request_in_round_trips: Option<Fact>,
    /// DORA: a fiber's migration there and back.
    pub migration_there_and_back_ns: Fact,
    /// The same in line round trips, as above.
    pub migration_in_round_trips: Option<Fact>,
    /// ORTHRUS: ten locks of one concurrency-control thread, from asking for them to having given them back.
    pub lock_set_ns: Fact,
    /// The same in line round trips, as above.
    pub lock_set_in_round_trips: Option<Fact>,
    /// What that thread works on it, with the lines that it waits for.
    pub lock_set_of_thread_ns: Fact,
    /// The same where sixteen transactions are in flight, whose lines come at once.
    pub lock_set_of_thread_in_flight_ns: Fact,
    /// Eight bytes there and back over a pair of Unix domain sockets, at both ends of which a thread polls; `None`: there are none.
    pub unix_round_trip_ns: Option<Fact>,
    /// The same over TCP and the loopback interface.
    pub tcp_round_trip_ns: Option<Fact>,
    /// Rounds in which a line took another time before than after, so that nothing can be said in line round trips.
    pub rounds_that_moved: usize,
}

/// Each number once.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// A line there and back: before, between and after the others.
    lines_ns: [f64; 4],
    request_ns: f64,
    migration_ns: f64,
    lock_set_ns: f64,
    lock_set_of_thread_ns: f64,
    lock_set_of_thread_in_flight_ns: f64,
    unix_ns: Option<f64>,
    tcp_ns: Option<f64>,
}

/// Keys of the lock set.
const KEYS: u64 = 10;
/// Transactions in flight, where there are several.
const IN_FLIGHT: usize = 16;

impl Round {
    /// Measures in some 90 ms. `line_ns` is what a line there and back has just taken between the first two workers; `None`
    /// if there is one core.
    pub fn measure(line_ns: Option<f64>) -> Option<Round> {
        let before_ns = line_ns?;
        let places = &Topology::of_this_machine().fill_order;
        let (&one, &other) = (places.first()?, places.get(1)?);
        let request_ns = inner_steps::delegated_request_ns(11);
        let second_ns = facts::line_round_trip_ns(one, other);
        let migration_ns = inner_steps::migration_there_and_back_ns(11);
        let third_ns = facts::line_round_trip_ns(one, other);
        let locks = inner_steps::lock_set_costs(KEYS, 1, 11);
        let after_ns = facts::line_round_trip_ns(one, other);
        let in_flight = inner_steps::lock_set_costs(KEYS, IN_FLIGHT, 3);
        Some(Round {
            lines_ns: [before_ns, second_ns, third_ns, after_ns],
            request_ns,
            migration_ns,
            lock_set_ns: locks.there_and_back_ns,
            lock_set_of_thread_ns: locks.of_thread_ns,
            lock_set_of_thread_in_flight_ns: in_flight.of_thread_ns,
            unix_ns: ping_pong::round_trip_ns(Family::Unix),
            tcp_ns: ping_pong::round_trip_ns(Family::Tcp),
        })
    }

    fn moved(&self) -> bool {
        let of = |pick: fn(f64, f64) -> f64| self.lines_ns.into_iter().reduce(pick).expect("some lines");
        factor(of(f64::min), of(f64::max)) > Fact::STEADY
    }

    fn request_in_round_trips(&self) -> f64 {
        self.request_ns / f64::midpoint(self.lines_ns[0], self.lines_ns[1])
    }

    fn migration_in_round_trips(&self) -> f64 {
        self.migration_ns / f64::midpoint(self.lines_ns[1], self.lines_ns[2])
    }

    fn lock_set_in_round_trips(&self) -> f64 {
        self.lock_set_ns / f64::midpoint(self.lines_ns[2], self.lines_ns[3])
    }
}

impl WorkerFacts {
    /// Of all rounds; `None` if there are none.
    pub fn of(rounds: &[Round]) -> Option<WorkerFacts> {
        let of = |number: fn(&Round) -> f64| Fact::of(rounds.iter().map(number));
        let ratio =
            |number: fn(&Round) -> f64| Fact::of(rounds.iter().filter(|round| !round.moved()).map(number));
        Some(WorkerFacts {
            delegated_request_ns: of(|round| round.request_ns)?,
            delegated_request_in_round_trips: ratio(Round::request_in_round_trips),
            migration_there_and_back_ns: of(|round| round.migration_ns)?,
            migration_in_round_trips: ratio(Round::migration_in_round_trips),
            lock_set_ns: of(|round| round.lock_set_ns)?,
            lock_set_in_round_trips: ratio(Round::lock_set_in_round_trips),
            lock_set_of_thread_ns: of(|round| round.lock_set_of_thread_ns)?,
            lock_set_of_thread_in_flight_ns: of(|round| round.lock_set_of_thread_in_flight_ns)?,
            unix_round_trip_ns: Fact::of(rounds.iter().filter_map(|round| round.unix_ns)),
            tcp_round_trip_ns: Fact::of(rounds.iter().filter_map(|round| round.tcp_ns)),
            rounds_that_moved: rounds.iter().filter(|round| round.moved()).count(),
        })
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A request that costs what a line costs, a migration that costs two, and locks that cost three, where the line takes these times.
    pub fn round(before: f64, between: f64, after: f64) -> Round {
        Round {
            lines_ns: [before, between, after, after],
            request_ns: f64::midpoint(before, between),
            migration_ns: between + after,
            lock_set_ns: 3.0 * after,
            lock_set_of_thread_ns: 300.0,
            lock_set_of_thread_in_flight_ns: 200.0,
            unix_ns: Some(8_000.0),
            tcp_ns: None,
        }
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        // The cores were near in three rounds and far in four: the ratio is the same in all.
        let near = [round(113.0, 114.0, 112.0); 3];
        let far = [round(451.0, 450.0, 452.0); 4];
        let facts = WorkerFacts::of(&[&near[..], &far[..]].concat()).expect("seven rounds");
        let ratio = facts.delegated_request_in_round_trips.expect("no round moved");
        assert_eq!((ratio.low, ratio.high, ratio.rounds, facts.rounds_that_moved), (1.0, 1.0, 7, 0));
        let ratio = facts.lock_set_in_round_trips.expect("no round moved");
        assert_eq!((ratio.low, ratio.high, facts.lock_set_of_thread_ns.median), (3.0, 3.0, 300.0));
        assert!(!facts.delegated_request_ns.is_steady());
    }

    #[test]
    fn a_round_in_which_the_cores_moved_tells_no_ratio() {
        let facts = WorkerFacts::of(&[round(113.0, 451.0, 451.0), round(100.0, 100.0, 100.0)]).expect("two");
        assert_eq!(facts.rounds_that_moved, 1);
        assert_eq!(facts.migration_in_round_trips.map(|ratio| (ratio.median, ratio.rounds)), Some((2.0, 1)));
        let none = WorkerFacts::of(&[round(113.0, 113.0, 451.0)]).expect("one");
        assert_eq!(none.delegated_request_in_round_trips, None);
        assert_eq!(WorkerFacts::of(&[]), None);
    }
}
