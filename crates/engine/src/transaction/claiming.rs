//! Looking at records by the transaction's begin and by its end, claiming those that it will write, and validating what it has seen
//! ([`crate::protocol::Hekaton`]).
//!
//! Looks are not steps: they are taken from the transaction's own thread, wherever the record's partition is. A claim is a step.

use super::access::GapOf;
use super::access_set::{Access, Kind, Token};
use super::gaps::GapPlace;
use super::old_versions::Found;
use super::visible::Heeded;
use super::{HeaderOf, MetaOf, Place, ProtocolOf, Txn, draw};
use crate::architecture::Architecture;
use crate::protocol::{Answer, Claiming, GapMode};
use crate::record::RecordRef;
use contract::{Abort, AbortReason, CommitId, PartitionId, Presence, Span, TimeClass};

impl<A: Architecture<Protocol: Claiming>> Txn<'_, A> {
    /// A record's metadata, for a look.
    #[inline(always)]
    fn record_to_look_at(&self, record: RecordRef) -> &MetaOf<A> {
        // SAFETY: any thread may look, by the contract of `Claiming`; the record lives as long as the tables.
        unsafe { record.meta::<HeaderOf<A>, MetaOf<A>>() }
    }

    /// A gap's metadata, for a look.
    fn gap_to_look_at(&self, GapPlace { table, partition, id }: GapPlace) -> &GapOf<A> {
        // SAFETY: as in `record_to_look_at`.
        unsafe { self.table(table).partition(partition).index.gap::<GapOf<A>>(id) }
    }

    /// What a record was when the transaction began.
    #[inline(always)]
    pub(super) fn look_at_begin(&self, record: RecordRef) -> Answer {
        let common = self.architecture.site().common;
        ProtocolOf::<A>::look(self.record_to_look_at(record), common, self.time().time())
    }

    /// Looks a key up. `None`: it is missing, and commit will validate that.
    #[inline(always)]
    fn find_linked(&mut self, place: Place<'_>) -> Option<RecordRef> {
        loop {
            let (found, gap) = self.look_up_timed(place);
            if found.is_some() {
                return found;
            }
            let gap = place.gap(gap);
            if self.find_gap(gap).is_some() {
                self.stopwatch.enter(TimeClass::Useful);
                return None;
            }
            // What is looked up from here on, commit will validate.
            let token = ProtocolOf::<A>::observe_gap(self.gap_to_look_at(gap));
            self.add_gap(gap, GapMode::Shared, Token(token));
        }
    }

    /// What a record was when the transaction began; the named bytes of its row, if it had one, are in the scratch buffer then.
    #[inline(always)]
    pub(super) fn copy_of_begin(&mut self, record: RecordRef, span: Span) -> Answer {
        match self.look_at_begin(record) {
            Answer::Present(token) if self.copy_version(record, Token(token), span) => Answer::Present(token),
            Answer::Present(_) => Answer::Wait,
            Answer::Older => {
                let found = self.find_older(record, self.time().time());
                self.copy_found(&found, span);
                match found.presence {
                    Presence::Present => Answer::Present(found.token.0),
                    Presence::Missing => Answer::Absent(found.token.0),
                }
            }
            answer => answer,
        }
    }

    /// Finds a key's record, and copies the named bytes of its row as it was when the transaction began into the scratch buffer. `None`:
    /// the key had none.
    #[inline(always)]
    pub(super) fn read_at_begin(
        &mut self,
        place: Place<'_>,
        span: Span,
    ) -> Result<Option<(RecordRef, Token)>, Abort> {
        let mut asked = 0;
        loop {
            let Some(record) = self.find_linked(place) else { return Ok(None) };
            let answer = self.copy_of_begin(record, span);
            if let Heeded::Granted(presence, token) = self.heed_answer(record, answer, &mut asked)? {
                self.stopwatch.enter(TimeClass::Useful);
                if presence == Presence::Missing {
                    self.add(place, record, Kind::Absent, Some(token));
                    return Ok(None);
                }
                return Ok(Some((record, token)));
            }
        }
    }

    /// Finds a key's record, and claims it to write its row; adds an entry for it. `None`: the key had no row when the transaction began.
    #[inline(always)]
    pub(super) fn find_and_claim(&mut self, place: Place<'_>) -> Result<Option<usize>, Abort> {
        let mut asked = 0;
        loop {
            let Some(record) = self.find_linked(place) else { return Ok(None) };
            let answer = self.claim(place.partition, record, self.accesses.len(), Presence::Present);
            if let Heeded::Granted(presence, token) = self.heed_answer(record, answer, &mut asked)? {
                self.stopwatch.enter(TimeClass::Useful);
                if presence == Presence::Missing {
                    self.add(place, record, Kind::Absent, Some(token));
                    return Ok(None);
                }
                if answer == Answer::Older {
                    // It was replaced, or is being replaced, since the begin: the first writer wins.
                    return Err(self.poison(AbortReason::Conflict));
                }
                self.stopwatch.holds_something();
                return Ok(Some(self.add(place, record, Kind::Write, Some(token))));
            }
        }
    }

    /// Asks for a record that is, or will be, that of an entry.
    #[inline(always)]
    fn claim(
        &mut self,
        partition: PartitionId,
        record: RecordRef,
        position: usize,
        wanted: Presence,
    ) -> Answer {
        let who = self.requester(partition, position);
        self.architecture
            .at(partition, move |site| ProtocolOf::<A>::claim(site.meta(record), wanted, site.request(who)))
    }

    /// Claims the record of an entry that the transaction has seen, as it has seen it.
    pub(super) fn claim_seen(&mut self, position: usize, wanted: Presence) -> Result<(), Abort> {
        let Access { record, partition, token, .. } = self.accesses[position];
        let mut asked = 0;
        loop {
            let answer = self.claim(partition, record, position, wanted);
            if matches!(answer, Answer::Unlinked | Answer::Older) {
                // It was a tombstone, which has gone; or somebody has written it since.
                return Err(self.poison(AbortReason::Conflict));
            }
            if let Heeded::Granted(presence, now) = self.heed_answer(record, answer, &mut asked)? {
                assert!(presence == wanted && token == Some(now), "a look at one time answers one thing");
                self.stopwatch.holds_something();
                return Ok(());
            }
        }
    }

    /// All is claimed: draws the end and tells it; validates what was seen.
    #[inline(always)]
    pub(super) fn end_and_validate(&mut self) -> Result<u64, Abort> {
        let slot = self.slot;
        ProtocolOf::<A>::prepare(self.architecture.site().common, slot);
        let Txn { architecture, stopwatch, draws, .. } = self;
        let end = draw(architecture, stopwatch, draws).0;
        ProtocolOf::<A>::tell_end(self.architecture.site().common, slot, end);
        self.draw_epoch();
        self.id = self.ids.map(|_| CommitId(end));
        self.validate_at(end)?;
        Ok(end)
    }

    /// Whether all that was seen and is not claimed is at the end what it was at the begin.
    #[inline(always)]
    fn validate_at(&mut self, end: u64) -> Result<(), Abort> {
        for position in 0..self.accesses.len() {
            let Access { record, kind, token: Some(seen), .. } = self.accesses[position] else { continue };
            if matches!(kind, Kind::Read | Kind::Absent) && !self.is_valid_at(end, record, seen) {
                return Err(self.poison(AbortReason::ReadValidation));
            }
        }
        for number in 0..self.gaps.len() {
            let super::Gap { table, partition, id, token: Token(token), .. } = self.gaps[number];
            let gap = self.gap_to_look_at(GapPlace { table, partition, id });
            if !ProtocolOf::<A>::is_gap_valid(gap, token) {
                return Err(self.poison(AbortReason::Phantom));
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn is_valid_at(&mut self, end: u64, record: RecordRef, seen: Token) -> bool {
        let mut asked = 0;
        loop {
            let common = self.architecture.site().common;
            match ProtocolOf::<A>::look_at_end(self.record_to_look_at(record), common, end, seen.0) {
                Answer::Present(now) | Answer::Absent(now) => return Token(now) == seen,
                Answer::Older => {
                    let Found { token, .. } = self.find_older(record, end);
                    return token == seen;
                }
                Answer::Wait => {
                    self.pause(asked);
                    asked += 1;
                }
                Answer::Unlinked | Answer::Abort(_) => return false,
            }
        }
    }
}
