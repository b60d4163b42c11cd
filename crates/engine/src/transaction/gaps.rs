//! Keys that are missing: a transaction holds, or has observed, the bucket or the leaf that would have them.
//!
//! Buckets are held until the transaction ends. So are leaves, by those who found a key missing or scanned them; who
//! inserts holds its leaf while it links only ([`super::linking`]).

use super::access::{Access as _, AccessOf};
use super::access_set::{Gap, Token};
use super::locking::Lockable;
use super::{Place, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::index::GapId;
use crate::index::ordered::LeafRef;
use crate::protocol::{GapMode, Locking, Protocol, Verdict, Wake};
use contract::{Abort, PartitionId, TableId};

/// Where a gap is.
#[derive(Clone, Copy)]
pub(super) struct GapPlace {
    pub table: TableId,
    pub partition: PartitionId,
    pub id: GapId,
}

/// A leaf was found, and its gap was not granted at once.
#[derive(Clone, Copy)]
pub(super) struct Denied {
    pub leaf: LeafRef,
    pub verdict: Verdict,
}

impl<A: Architecture> Txn<'_, A> {
    /// The transaction's entry for a gap, if it has one.
    pub(super) fn find_gap(&self, place: GapPlace) -> Option<usize> {
        if self.gaps.is_empty() {
            return None;
        }
        let address = self.gap_address(place);
        // The newest first: a scan goes on where it was.
        self.gaps.iter().rposition(|gap| gap.address == address)
    }

    /// The same, if it is one of the `first`, or this `one`.
    pub(super) fn find_gap_among(&self, place: GapPlace, first: usize, one: Option<usize>) -> Option<usize> {
        let address = self.gap_address(place);
        let is_it = |gap: &Gap| gap.address == address;
        one.filter(|&one| is_it(&self.gaps[one])).or_else(|| self.gaps[..first].iter().rposition(is_it))
    }

    /// Whether a key that is missing there stays so: the transaction holds the gap against inserts, or will validate it.
    pub(super) fn relies_on(&self, place: GapPlace) -> bool {
        self.find_gap(place).is_some_and(|gap| self.gaps[gap].mode != GapMode::Insert)
    }

    fn gap_address(&self, place: GapPlace) -> usize {
        self.table(place.table).partition(place.partition).index.gap_address(place.id)
    }

    /// Adds an entry for a gap.
    pub(super) fn add_gap(&mut self, place: GapPlace, mode: GapMode, token: Token) {
        let address = self.gap_address(place);
        let GapPlace { table, partition, id } = place;
        self.gaps.push(Gap { table, partition, id, address, mode, token });
        if AccessOf::<A>::ENTRIES_ARE_LOCKS {
            self.stopwatch.holds_something();
        }
        assert!(
            self.gaps.len() <= ProtocolOf::<A>::MOST_RECORDS,
            "a transaction with more than {} missing keys, inserts and leaves",
            ProtocolOf::<A>::MOST_RECORDS
        );
    }
}

impl<A: Architecture<Protocol: Locking>> Txn<'_, A> {
    /// Holds a gap at least in `mode`, which is `Shared` or `Insert`. Both together are `Exclusive`: another's insert must
    /// not fill what this transaction found missing. `Retry`: the leaf is out of its index.
    pub(super) fn hold_gap(&mut self, place: GapPlace, mode: GapMode) -> Result<Wake, Abort> {
        let GapPlace { table, partition, id } = place;
        let held = self.find_gap(place);
        let who = self.gap_requester(partition, held.unwrap_or(self.gaps.len()));
        let from = held.map(|held| self.gaps[held].mode);
        if from.is_some_and(|from| from == mode || from == GapMode::Exclusive) {
            return Ok(Wake::Granted);
        }
        let verdict = self.architecture.at(partition, move |site| {
            let gap = site.gap(table, PartitionId(who.partition), id);
            match from {
                Some(from) => ProtocolOf::<A>::upgrade_gap(gap, from, site.request(who)),
                None => ProtocolOf::<A>::hold_gap(gap, mode, site.request(who)),
            }
        });
        match held {
            None => self.heed_gap(place, mode, verdict, 0),
            Some(held) => {
                let wake = self.heed_lock(verdict, 0, Lockable::Gap(table, id), who)?;
                if wake == Wake::Granted {
                    self.gaps[held].mode = GapMode::Exclusive;
                }
                Ok(wake)
            }
        }
    }

    /// Does what the verdict on a gap that was not held says, and adds it if it is held then.
    pub(super) fn heed_gap(
        &mut self,
        place: GapPlace,
        mode: GapMode,
        verdict: Verdict,
        asked: u32,
    ) -> Result<Wake, Abort> {
        let who = self.gap_requester(place.partition, self.gaps.len());
        let wake = self.heed_lock(verdict, asked, Lockable::Gap(place.table, place.id), who)?;
        if wake == Wake::Granted {
            self.add_gap(place, mode, Token(0));
        }
        Ok(wake)
    }

    /// Before a record is linked into the bucket of its key.
    pub(super) fn hold_bucket(&mut self, place: Place<'_>) -> Result<(), Abort> {
        let held = self.hold_gap(place.gap(GapId::Bucket(place.hash)), GapMode::Insert)?;
        assert!(held == Wake::Granted, "buckets live for ever");
        Ok(())
    }

    /// Gives back all gaps, newest first.
    #[inline(always)]
    pub(super) fn release_held_gaps(&mut self) {
        for number in (0..self.gaps.len()).rev() {
            let Gap { table, partition, id, mode, .. } = self.gaps[number];
            let who = self.gap_requester(partition, number);
            self.architecture.post(partition, move |site| {
                let gap = site.gap(table, PartitionId(who.partition), id);
                ProtocolOf::<A>::release_gap(gap, mode, site.request(who));
            });
        }
    }
}
