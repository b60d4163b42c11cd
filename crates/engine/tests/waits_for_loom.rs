//! DL_DETECT's waits-for graph under `loom`: its own source, compiled against loom's atomics.
//!
//! Two requesters that wait for each other must not both miss the cycle. The fence between publishing and searching is
//! what sees to that, and the second test shows that this one would notice its absence.

mod facade {
    pub mod atomic {
        pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
    }
}

#[allow(dead_code, reason = "the protocol uses all of it")]
#[path = "../src/protocol/dl_detect/waits_for.rs"]
mod waits_for;

use loom::sync::Arc;
use loom::thread;
use waits_for::{SlotSet, WaitsFor};

fn only(slot: u32) -> SlotSet {
    let mut set = SlotSet::EMPTY;
    set.insert(slot);
    set
}

/// Every slot waits for the next, all at once; how many find the cycle.
fn ring_of(slots: u32, ordered: bool) -> usize {
    let graph = Arc::new(WaitsFor::new(slots as usize, true));
    let request = move |graph: &WaitsFor, slot: u32| {
        graph.point(slot, (slot + 1) % slots, 1);
        graph.publish(slot, 1, &only((slot + 1) % slots));
        if ordered {
            graph.order();
        }
        graph.search(slot)
    };
    let others: Vec<_> = (1..slots)
        .map(|slot| {
            let graph = graph.clone();
            thread::spawn(move || request(&graph, slot))
        })
        .collect();
    let first = request(&graph, 0);
    let others = others.into_iter().map(|other| other.join().expect("no requester panics"));
    usize::from(first) + others.filter(|&found| found).count()
}

#[test]
fn of_two_that_wait_for_each_other_one_finds_out() {
    loom::model(|| assert!(ring_of(2, true) >= 1, "both wait for ever"));
}

#[test]
fn of_three_in_a_ring_one_finds_out() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| assert!(ring_of(3, true) >= 1, "all wait for ever"));
}

#[test]
#[should_panic(expected = "both wait for ever")]
fn without_the_fence_both_can_miss_it() {
    loom::model(|| assert!(ring_of(2, false) >= 1, "both wait for ever"));
}

#[test]
fn a_chain_is_no_cycle() {
    loom::model(|| {
        let graph = WaitsFor::new(130, false);
        graph.publish(0, 1, &only(129));
        graph.publish(129, 1, &only(64));
        assert!(!graph.search(0) && !graph.search(129) && !graph.search(64));
        graph.publish(64, 1, &only(0));
        assert!(graph.search(0) && graph.search(129) && graph.search(64));
        graph.clear(129);
        assert!(!graph.search(0), "a slot that runs again waits for nobody");
    });
}

/// Slot 0 waits for slot 1, whose next attempt waits for slot 0 before the release of the last one has arrived.
#[test]
fn an_edge_to_an_earlier_attempt_closes_no_cycle() {
    loom::model(|| {
        let graph = WaitsFor::new(2, true);
        graph.point(0, 1, 7);
        graph.publish(0, 3, &only(1));
        graph.point(1, 0, 3);
        graph.publish(1, 8, &only(0));
        assert!(!graph.search(0) && !graph.search(1));
        graph.publish(1, 7, &only(0));
        assert!(graph.search(0) && graph.search(1));
    });
}
