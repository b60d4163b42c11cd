//! Linking and unlinking in ordered tables.
//!
//! An insert holds the gap of its key's leaf while it links, and no longer: the linked record is held until the transaction
//! ends, and a reader that looks or scans there meets it. So leaf, gap and link are one step at the leaf's owner. Only if the
//! transaction itself relies on the gap, because it found a key missing there or scanned it, the gap stays held,
//! exclusively from now on; and if the leaf is split, so is what it relies on.
//!
//! | the gap is | the step |
//! |---|---|
//! | another's, or nobody's | finds the leaf, holds its gap, links if the leaf still is the key's, lets go |
//! | the transaction's | links, and holds the gap of what was split from the leaf |
//! | observed (optimistic protocols) | links, and advances the token of the leaf, or of the one that it was split from |
//!
//! A leaf that was emptied is pruned when the transaction holds no gap any more; if somebody else does, it stays.

use super::access::{Access as _, AccessOf};
use super::access_set::{Access, Token};
use super::gaps::Denied;
use super::keys::Lent;
use super::structure::{Attempted, Versions};
use super::{OrderedOf, Place, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::index::ordered::{self, Half, LeafAt, LeafRef, Pruned, Split, Unlinked};
use crate::index::{GapId, Linked};
use crate::protocol::{GapMode, Locking, Requester, Verdict, Wake};
use crate::record::RecordRef;
use contract::Abort;

/// What a step that links is lent, in the client's memory: it does not fit in the message with the rest.
#[derive(Clone, Copy)]
struct Linking {
    record: RecordRef,
    /// The leaf to link into, or any if that is none.
    expected: LeafRef,
    /// The number under which a gap is held.
    gap_access: u32,
    nodes: Lent<ordered::AllocationCache>,
}

/// What a step that unlinks is lent.
#[derive(Clone, Copy)]
struct Removal {
    record: RecordRef,
    id: u64,
    nodes: Lent<ordered::AllocationCache>,
}

/// The leaf that was split, or not, and the one that has a part of its range now.
fn halves<'a, F: ordered::synchronization_policy::SynchronizationPolicy>(
    leaf: LeafAt<'a, F>,
    split: Option<Split<'a, F>>,
) -> (LeafAt<'a, F>, Option<LeafAt<'a, F>>) {
    match split {
        None => (leaf, None),
        Some(Split { other, fresh: Half::Key }) => (other, Some(leaf)),
        Some(Split { other, fresh: Half::Other }) => (leaf, Some(other)),
    }
}

impl<A: Architecture<Protocol: Locking>> Txn<'_, A> {
    /// Links where gaps are held while linking.
    pub(super) fn link_locking(
        &mut self,
        place: Place<'_>,
        record: RecordRef,
        asked: u32,
    ) -> Result<Attempted, Abort> {
        let is_near = |gap: &super::Gap| gap.table == place.table.id && gap.partition == place.partition;
        if !self.gaps.iter().any(is_near) {
            return self.link_holding(place, record, LeafRef::NONE, asked);
        }
        let spot = self.spot(place);
        let (met, leaf) = self.architecture.at(place.partition, move |site| {
            // SAFETY: the transaction waits for the answer.
            let found = unsafe { spot.at::<A, _>(site, |index, key| index.find(key)) };
            (found.record, found.leaf)
        });
        let gap = place.gap(GapId::Leaf(leaf));
        if let Some(met) = met {
            return Ok(Some(Linked::Exists(met)));
        }
        if self.find_gap(gap).is_none() {
            return self.link_holding(place, record, leaf, asked);
        }
        match self.hold_gap(gap, GapMode::Insert)? {
            Wake::Granted => Ok(self.link_held(place, record, leaf)),
            Wake::Retry => Ok(None),
        }
    }

    /// Links into a leaf whose gap the transaction does not hold: `expected`, or any if that is none.
    fn link_holding(
        &mut self,
        place: Place<'_>,
        record: RecordRef,
        expected: LeafRef,
        asked: u32,
    ) -> Result<Attempted, Abort> {
        let (spot, who) = (self.spot(place), self.next_requester(place.partition));
        let gap_access = self.gap_requester(place.partition, self.gaps.len()).access;
        let mut linking = Linking { record, expected, gap_access, nodes: self.lend_nodes(place) };
        let linking = Lent::new(&mut linking);
        let attempted = self.architecture.at(place.partition, move |site| {
            // SAFETY: the transaction waits for the answer.
            let Linking { record, expected, gap_access, nodes } = *unsafe { linking.get() };
            let holder = Requester { access: gap_access, ..who };
            ProtocolOf::<A>::claim(site.meta(record), site.request(who));
            let link = |index: &OrderedOf<A>, key: &[u8]| loop {
                // SAFETY: as above.
                let nodes = unsafe { nodes.get() };
                let found = index.find_to_link(nodes, key);
                if let Some(met) = found.record {
                    return Ok(Some(Linked::Exists(met)));
                }
                if expected != LeafRef::NONE && expected != found.leaf {
                    return Ok(None);
                }
                let gap = site.leaf(index.leaf(found.leaf));
                let verdict = ProtocolOf::<A>::hold_gap(gap, GapMode::Insert, site.request(holder));
                if verdict != Verdict::Granted {
                    return Err(Denied { leaf: found.leaf, verdict });
                }
                let linked = index.link_if(nodes, found.leaf, key, record, |_, _| None);
                ProtocolOf::<A>::release_gap(gap, GapMode::Insert, site.request(holder));
                if linked.is_some() {
                    return Ok(linked);
                }
            };
            // SAFETY: as above.
            unsafe { spot.at::<A, _>(site, link) }
        });
        if let Err(Denied { leaf, verdict }) = attempted {
            // If it was waited for, it is kept now.
            self.heed_gap(place.gap(GapId::Leaf(leaf)), GapMode::Insert, verdict, asked)?;
        }
        Ok(attempted.unwrap_or(None))
    }

    /// Links into a leaf whose gap the transaction holds, so that nobody else links there if it relies on it.
    fn link_held(&mut self, place: Place<'_>, record: RecordRef, leaf: LeafRef) -> Attempted {
        let held = self.find_gap(place.gap(GapId::Leaf(leaf))).expect("the gap is held");
        let relies = self.gaps[held].mode != GapMode::Insert;
        let (spot, who) = (self.spot(place), self.next_requester(place.partition));
        let gap_access = self.gap_requester(place.partition, self.gaps.len()).access;
        let mut linking = Linking { record, expected: leaf, gap_access, nodes: self.lend_nodes(place) };
        let linking = Lent::new(&mut linking);
        let linked = self.architecture.at(place.partition, move |site| {
            // SAFETY: the transaction waits for the answer.
            let Linking { record, expected: leaf, gap_access, nodes } = *unsafe { linking.get() };
            let holder = Requester { access: gap_access, ..who };
            ProtocolOf::<A>::claim(site.meta(record), site.request(who));
            let link = |index: &OrderedOf<A>, key: &[u8]| {
                // SAFETY: as above.
                let nodes = unsafe { nodes.get() };
                index.link_if(nodes, leaf, key, record, |leaf, split| {
                    let half = halves(leaf, split).1.filter(|_| relies)?;
                    let gap = site.leaf(half.leaf);
                    let verdict = ProtocolOf::<A>::hold_gap(gap, GapMode::Shared, site.request(holder));
                    assert!(verdict == Verdict::Granted, "nobody can reach it");
                    Some(half.number)
                })
            };
            // SAFETY: as above.
            unsafe { spot.at::<A, _>(site, link) }
        });
        if let Some(Linked::Done(Some(fresh))) = linked {
            self.add_gap(place.gap(GapId::Leaf(fresh)), GapMode::Shared, Token(0));
        }
        linked.map(|linked| linked.map(|_| None))
    }
}

impl<A: Architecture> Txn<'_, A> {
    /// Links where gaps are not held.
    pub(super) fn link_freely(&mut self, place: Place<'_>, record: RecordRef) -> Linked<Option<Versions>> {
        let (spot, nodes) = (self.spot(place), self.lend_nodes(place));
        let who = self.next_requester(place.partition);
        let mut linking = Linking { record, expected: LeafRef::NONE, gap_access: 0, nodes };
        let linking = Lent::new(&mut linking);
        self.architecture.at(place.partition, move |site| {
            // SAFETY: the transaction waits for the answer.
            let Linking { record, nodes, .. } = *unsafe { linking.get() };
            AccessOf::<A>::claim(site, record, who);
            let link = |index: &OrderedOf<A>, key: &[u8]| {
                // SAFETY: as above.
                let nodes = unsafe { nodes.get() };
                index.link(nodes, key, record, |leaf, split| {
                    let (old, fresh) = halves(leaf, split);
                    let gap = site.leaf(old.leaf);
                    let (before, after) = AccessOf::<A>::linked(site, gap, record)?;
                    let fresh =
                        fresh.map(|fresh| (fresh.number, AccessOf::<A>::split(gap, site.leaf(fresh.leaf))));
                    Some(Versions { gap: GapId::Leaf(old.number), before, after, fresh })
                })
            };
            // SAFETY: as above.
            unsafe { spot.at::<A, _>(site, link) }
        })
    }

    /// Unlinks a record that the transaction holds, and retires its memory; by transaction `id`, or by an abort (0).
    pub(super) fn remove_in_order(&mut self, position: usize, id: u64) {
        let Access { record, partition, table, key, .. } = self.accesses[position];
        let place = self.place(self.table(table), key);
        let (spot, who) = (self.spot(place), self.requester_of(position));
        let mut removal = Removal { record, id, nodes: self.lend_nodes(place) };
        let removal = Lent::new(&mut removal);
        let unlinked = self.architecture.at(partition, move |site| {
            // SAFETY: the transaction waits for the answer.
            let Removal { record, id, nodes } = *unsafe { removal.get() };
            let unlink = |index: &OrderedOf<A>, key: &[u8]| {
                // SAFETY: as above.
                let nodes = unsafe { nodes.get() };
                index.unlink(nodes, key, record, |leaf| {
                    AccessOf::<A>::unlinking(site, record, site.leaf(leaf), id);
                })
            };
            // SAFETY: as above.
            let unlinked = unsafe { spot.at::<A, _>(site, unlink) };
            AccessOf::<A>::unlinked(site, record, who);
            unlinked
        });
        self.retire_record(position);
        if unlinked == Unlinked::Emptied {
            self.emptied.push(place);
        }
    }

    /// Takes the leaves that the transaction has emptied out of their indexes, unless somebody relies on them.
    #[inline(always)]
    pub(super) fn prune_emptied(&mut self) {
        while let Some(place) = self.emptied.pop() {
            self.prune(place);
        }
    }

    #[cold]
    fn prune(&mut self, place: Place<'_>) {
        let (spot, nodes) = (self.spot(place), self.lend_nodes(place));
        self.architecture.at(place.partition, move |site| {
            let prune = |index: &OrderedOf<A>, key: &[u8]| {
                // SAFETY: the transaction waits for the answer.
                let nodes = unsafe { nodes.get() };
                let retire = |leaf: &ordered::Leaf<_>| AccessOf::<A>::retire(site, site.leaf(leaf));
                let _: Pruned = index.prune(nodes, key, retire, |retired, heir| {
                    AccessOf::<A>::inherit(site.leaf(retired.leaf), site.leaf(heir.leaf));
                });
            };
            // SAFETY: as above.
            unsafe { spot.at::<A, _>(site, prune) }
        });
    }

    /// The slot's cache of nodes for the place's index, its epoch set.
    fn lend_nodes(&mut self, place: Place<'_>) -> Lent<ordered::AllocationCache> {
        let nodes = &mut self.allocations.at(place.table.id, place.partition).nodes;
        // What may be used again has mostly changed if the epoch has.
        if nodes.epoch() != self.epoch {
            nodes.refresh(self.epoch, self.epochs.reusable());
        }
        Lent::new(nodes)
    }
}
