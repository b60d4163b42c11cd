//! Hosts whose clocks do not agree: the second worker's is two hours ahead, and known to within 100 ns.

use super::{LOADED, two};
use crate::script::{Draft, history_of};
use contract::{Clocks, Seen, Sighting};
use history::{AnomalyKind, History, Version, check};

const AHEAD: u64 = 7_200_000_000_000;

fn clocks(of_workers: Vec<usize>) -> Clocks {
    let sighting = |at: u64| Sighting { own_ns: AHEAD + at, earliest_ns: at - 50, latest_ns: at + 50 };
    Clocks::new(of_workers, vec![Seen { before: sighting(100), after: sighting(1_000_000) }])
}

/// The first overwrites what is loaded, and the second, on another host, does not see it.
fn stale(ended: u64, began: u64) -> (Vec<Draft>, Version) {
    let (one, other) = two();
    let (mut one, mut other) = (one.between(1000, ended), other.between(AHEAD + began, AHEAD + 9000));
    let new = one.update(5, LOADED);
    other.read(5, LOADED);
    (vec![one, other], new)
}

fn on_hosts(drafts: &[Draft], new: Version, clocks: Clocks) -> History {
    History { clocks, ..history_of(drafts, &[(5, new)]) }
}

#[test]
fn who_came_later_for_certain_must_see() {
    let (drafts, new) = stale(2000, 2200);
    let verdict = check(&on_hosts(&drafts, new, clocks(vec![0, 1])));
    assert_eq!(verdict.counts.keys().collect::<Vec<_>>(), [&AnomalyKind::StaleRead]);
    assert!(verdict.to_string().contains("ns or more before T1 began, on another host"), "{verdict}");
}

#[test]
fn who_may_have_come_at_the_same_time_need_not() {
    for (ended, began) in [(2000, 2040), (2000, 2000), (2000, 1500)] {
        let (drafts, new) = stale(ended, began);
        let verdict = check(&on_hosts(&drafts, new, clocks(vec![0, 1])));
        assert!(verdict.is_strictly_serializable(), "{verdict}");
    }
}

/// What is compared as it was told is wrong: the clock that is two hours ahead makes whoever has it late.
#[test]
fn clocks_that_are_taken_for_one_make_a_right_history_wrong() {
    let (drafts, new) = stale(8000, 1500);
    let right = on_hosts(&drafts, new, clocks(vec![0, 1]));
    assert!(check(&right).is_strictly_serializable());
    let wrong = check(&History { clocks: Clocks::default(), ..right });
    assert_eq!(wrong.counts.keys().collect::<Vec<_>>(), [&AnomalyKind::StaleRead]);
}

/// However little is known of their clock.
#[test]
fn two_workers_of_one_host_have_the_order_of_its_clock() {
    let (one, other) = two();
    let (mut one, mut other) =
        (one.between(AHEAD + 1000, AHEAD + 2000), other.between(AHEAD + 2001, AHEAD + 9000));
    let new = one.update(5, LOADED);
    other.read(5, LOADED);
    let verdict = check(&on_hosts(&[one, other], new, clocks(vec![1, 1])));
    assert_eq!(verdict.counts.keys().collect::<Vec<_>>(), [&AnomalyKind::StaleRead]);
    assert!(verdict.to_string().contains("ended 1 ns before T1 began"), "{verdict}");
}
