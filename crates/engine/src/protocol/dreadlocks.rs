//! DREADLOCKS: two-phase locking that waits, and in which who waits looks, again and again, whether it waits for itself (Koskinen and
//! Herlihy, SPAA 2008; *orthrus* 4).
//!
//! A transaction that waits publishes its *digest*: the set of those that it waits for, directly, and through the digests of these. Each time that
//! it looks it takes the union anew. So digests grow along the edges of the waits-for graph, one edge a look, while nobody searches it. If it
//! finds itself in its digest it has found a deadlock, and is the victim.
//!
//! State: queues, edges and victims are those of [`detecting`](super::detecting); and a digest for each slot, a set of slots as a row of bits
//! (`Digests`), empty while it does not wait. A digest has one writer, the transaction whose it is, and any reader. Nothing is latched, nothing is
//! ordered, and a digest that has not changed is not written, so that those who read it keep their copies of the line.
//!
//! *No deadlock is overlooked*: of those that wait for ever some are a circle of edges, which stay. Each of them looks again and again, and has in
//! its digest at last whom the next one has in its own, and the next one itself; so after as many looks of each as there are members, each
//! has all of them, itself too, in its digest. Relaxed loads and stores are enough: what a look has missed the next one sees, and
//! who looks once only, as a search does, would need a fence ([`waits_for`](super::waits_for)).
//!
//! *No victim without a deadlock*: a digest is as old as the looks that it was made of. Whom a waiter's digest names may have been granted its
//! request since, and may wait for the waiter now. So who finds itself in its digest looks whether the circle is there, by a search of the edges,
//! which those who grant and release keep up to date; if it is not, it goes on waiting. What digests save is all searches but these: one for each
//! victim, and one for each look at a digest that is out of date, until whom it names has looked again. They say of whom the circle consists
//! as soon as it is there, not who closed it: so a deadlock may have more than one victim, if they look at the same time.
//!
//! We differ:
//! - The paper's digests are bit vectors, or Bloom filters where there are too many threads for these. A run has at most 1024 slots
//!   ([`MOST_SLOTS`](super::waits_for::MOST_SLOTS)), two cache lines of bits, so a digest is always exact: no other slot is mistaken for one.
//! - The paper's thread spins on the digest of the lock's one owner, *orthrus*'s takes the union of its own digest and the owner's. Here locks are
//!   shared, and queues are granted in order, so a digest is the union of those of all that stand before.
//! - The paper's victim does not look again: a digest that is out of date makes one. A look that finds a circle is confirmed here.
//! - A fiber that is parked looks now and then, not without a pause ([`crate::architecture`]).

use super::SlotId;
use super::detecting::{Detecting, Detection};
use super::waits_for::WaitsFor;

/// DREADLOCKS.
pub(crate) type Dreadlocks = Detecting<Propagating>;

/// Who waits looks at the digests of those that it waits for.
pub(crate) struct Propagating;

/// Those that each slot waits for, directly or through others, as its transaction found when it looked last: rows of bits, as the graph's are.
pub(crate) struct Digests(WaitsFor);

impl Digests {
    /// Of `slots` slots, none of which waits.
    pub fn new(slots: usize) -> Self {
        Digests(WaitsFor::new(slots, false))
    }

    /// Brings the digest of a slot, whose transaction calls this, up to date; whether it has itself in it.
    pub fn look(&self, graph: &WaitsFor, SlotId(slot): SlotId) -> bool {
        let mut digest = graph.of(slot);
        let mut directly = digest;
        while let Some(other) = directly.remove_any() {
            self.0.add_to(&mut digest, other);
        }
        if digest != self.0.of(slot) {
            self.0.publish(slot, 0, &digest);
        }
        digest.contains(slot)
    }

    /// Whether the transaction of a slot has looked since it began to wait.
    #[cfg(test)]
    pub fn has_looked(&self, SlotId(slot): SlotId) -> bool {
        self.0.of(slot) != super::waits_for::SlotSet::EMPTY
    }

    /// The transaction of a slot, which calls this, waits no longer.
    pub fn clear(&self, SlotId(slot): SlotId) {
        self.0.clear(slot);
    }
}

impl Detection for Propagating {
    type Kept = Digests;

    const LOOKS_WHILE_WAITING: bool = true;

    fn keep(slots: usize) -> Digests {
        Digests::new(slots)
    }

    fn queued(_: &WaitsFor, _: &Digests, _: SlotId) -> bool {
        // It looks as soon as it waits, on its own thread.
        false
    }

    #[inline(always)]
    fn look(graph: &WaitsFor, digests: &Digests, slot: SlotId) -> bool {
        digests.look(graph, slot) && graph.has_cycle(slot.0)
    }

    #[inline(always)]
    fn has_waited(digests: &Digests, slot: SlotId) {
        digests.clear(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::waits_for::{MOST_SLOTS, SlotSet};
    use crate::testing::canary::LooksOnce;

    /// A graph in which each of these slots waits for the other one.
    fn graph_of(edges: &[(u32, u32)]) -> WaitsFor {
        let graph = WaitsFor::new(MOST_SLOTS, false);
        for &(slot, other) in edges {
            let mut others = graph.of(slot);
            others.insert(other);
            graph.publish(slot, 0, &others);
        }
        graph
    }

    /// How many rounds of looks, of each slot of the graph in turn, it takes until one finds that it waits for itself; `None`: more than
    /// there are slots.
    fn rounds<D: Detection>(graph: &WaitsFor, slots: impl Iterator<Item = u32> + Clone) -> Option<usize> {
        let kept = D::keep(MOST_SLOTS);
        (1..=slots.clone().count() + 1)
            .find(|_| slots.clone().any(|slot| D::look(graph, &kept, SlotId(slot))))
    }

    fn ring(slots: u32) -> Vec<(u32, u32)> {
        (0..slots).map(|slot| (slot, (slot + 1) % slots)).collect()
    }

    #[test]
    fn a_ring_of_any_length_is_found_by_one_of_its_members() {
        for slots in [2, 3, 5, 64, 65, MOST_SLOTS as u32] {
            let graph = graph_of(&ring(slots));
            assert!(rounds::<Propagating>(&graph, 0..slots).is_some(), "{slots} slots");
            assert!(rounds::<Propagating>(&graph, (0..slots).rev()).is_some(), "{slots} slots");
        }
    }

    #[test]
    fn it_takes_a_look_for_each_edge() {
        let graph = graph_of(&ring(6));
        // In the order of the edges nobody sees what the next one will find.
        assert_eq!(rounds::<Propagating>(&graph, 0..6), Some(5));
        // Against it each sees what the one before has found.
        assert_eq!(rounds::<Propagating>(&graph, (0..6).rev()), Some(1));
    }

    #[test]
    fn who_looks_once_overlooks_a_ring_of_three() {
        let graph = graph_of(&ring(3));
        assert_eq!(rounds::<LooksOnce>(&graph, 0..3), None);
        let graph = graph_of(&ring(2));
        assert_eq!(rounds::<LooksOnce>(&graph, 0..2), Some(1), "the second finds the first one's");
    }

    #[test]
    fn who_does_not_wait_for_itself_is_no_victim() {
        // All wait for all before them.
        let edges: Vec<_> = (1..70).flat_map(|slot| (0..slot).map(move |other| (slot, other))).collect();
        let graph = graph_of(&edges);
        assert_eq!(rounds::<Propagating>(&graph, 0..70), None);
        assert_eq!(rounds::<Propagating>(&graph, (0..70).rev()), None);
        // Who waits for members of a ring, and is none itself.
        let graph = graph_of(&[(3, 0), (0, 1), (1, 0)]);
        let digests = Propagating::keep(MOST_SLOTS);
        for _ in 0..4 {
            assert!(!Propagating::look(&graph, &digests, SlotId(3)));
            digests.look(&graph, SlotId(0));
            digests.look(&graph, SlotId(1));
        }
    }

    /// 2 waits for 1, which waits for 0; then 1 is granted what it waited for, and 0 waits for 2, whose digest has 0 still in it.
    #[test]
    fn a_digest_that_is_out_of_date_makes_no_victim() {
        let graph = graph_of(&[(2, 1), (1, 0)]);
        let digests = Propagating::keep(MOST_SLOTS);
        assert!(!Propagating::look(&graph, &digests, SlotId(1)));
        assert!(!Propagating::look(&graph, &digests, SlotId(2)));
        graph.clear(1);
        Propagating::has_waited(&digests, SlotId(1));
        let mut two = SlotSet::EMPTY;
        two.insert(2);
        graph.publish(0, 0, &two);
        assert!(digests.look(&graph, SlotId(0)), "2 has not looked since");
        assert!(!Propagating::look(&graph, &digests, SlotId(0)));
        // As soon as 2 has looked 0 is out of its own digest, too.
        assert!(!Propagating::look(&graph, &digests, SlotId(2)));
        assert!(!digests.look(&graph, SlotId(0)));
    }
}
