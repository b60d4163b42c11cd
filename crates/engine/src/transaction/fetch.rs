//! Asking for lines that a key's look-up is about to read, and letting others run until they may have come.
//!
//! The way to a record is a chain of lines, each of which tells where the next one is: bucket and record; or the nodes of a tree, and the
//! record. So none but the first can be asked for ahead. Where a worker has other transactions in flight ([`Architecture::interleaves`]), an
//! operation goes that way before its steps, and asks for one line after the other; the steps then find them at hand. What that look-up has
//! met is kept for the next one, once: a leaf, if it has not changed meanwhile, and a record, if its key is the one. That may have been unlinked
//! since, as any that a look-up finds ([`super::near`]).
//!
//! Nothing that counts is looked at here, and nothing is held that was not held before the operation.

use super::scan::Cursor;
use super::{Blind, Place, Txn};
use crate::architecture::Architecture;
use crate::index::hash::Hash;
use crate::index::ordered::Found;
use crate::index::{Index, Ordered};
use crate::record::RecordRef;
use crate::storage::Table;
use contract::{Abort, Key, Plan, Presence, Scan, Span, TableId, TimeClass};

/// What the last look-up on the way to an operation has met.
#[derive(Clone, Copy)]
pub(super) struct Met {
    table: TableId,
    key: Key,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    /// A record with a hash that is alike.
    Record(RecordRef),
    /// What a tree has of the key.
    Leaf(Found),
}

impl<A: Architecture> Txn<'_, A> {
    /// Whether others run while a table's lines are on their way.
    #[inline(always)]
    pub(super) fn waits_for_lines_of(&self, table: &Table) -> bool {
        A::MAY_INTERLEAVE && self.architecture.interleaves() && table.is_far()
    }

    /// [`Txn::read_span`] that fetches. It is apart, so that who has one transaction in flight has none of this in its way; and is called last with
    /// what the caller was called with, so that nobody returns to the caller ([`Txn::fetch_lines`]).
    #[inline(never)]
    pub(super) fn read_fetching(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.read_span::<true>(self.table(table), key, span, see)
    }

    /// The same of [`Txn::update_span`].
    #[inline(never)]
    pub(super) fn update_fetching(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        self.update_span::<true>(self.table(table), key, span, change)
    }

    /// The same of [`Txn::blind`].
    #[inline(never)]
    pub(super) fn blind_fetching(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        blind: Blind<'_>,
    ) -> Result<Presence, Abort> {
        self.blind::<true>(table, key, span, blind)
    }

    /// Before the first step of an operation that reads these bytes of a row, or writes them.
    #[inline(always)]
    pub(super) fn fetch(&mut self, place: Place<'_>, span: Span, writes: bool) {
        if self.waits_for_lines_of(place.table)
            && !self.architecture.touches_again(place.table.id, place.hash)
        {
            let before = self.stopwatch.enter(TimeClass::Wait);
            self.fetch_lines(place, span, writes);
            self.stopwatch.enter(before);
        }
    }

    /// Asks for the lines of all that is planned, those of one kind at a time, and lets others run meanwhile.
    pub fn fetch_planned(&mut self, plan: &Plan) {
        self.prefetch_index(plan);
        self.let_others_run_for(plan);
        self.prefetch_records(plan);
        self.let_others_run_for(plan);
        for planned in plan.keys() {
            let table = self.table(planned.table);
            let was_asked_for = !table.is_ordered() || !table.has_byte_strings() && planned.span.length() > 0;
            if self.waits_for_lines_of(table) && was_asked_for {
                // From now on it is at hand.
                self.architecture.touches_again(planned.table, Hash::of(planned.key));
            }
        }
    }

    /// The lines of keys that a procedure named ahead have been asked for: lets others run meanwhile.
    pub(super) fn fetch_named(&mut self, table: &Table, keys: &[Key]) {
        if self.waits_for_lines_of(table) {
            self.architecture.fetch();
            keys.iter().for_each(|&key| _ = self.architecture.touches_again(table.id, Hash::of(key)));
        }
    }

    fn let_others_run_for(&mut self, plan: &Plan) {
        if plan.keys().iter().any(|planned| self.waits_for_lines_of(self.table(planned.table))) {
            self.architecture.fetch();
        }
    }

    /// The same apart from an operation that is large.
    #[inline(always)]
    pub(super) fn fetch_apart(&mut self, place: Place<'_>, span: Span, writes: bool) {
        if A::MAY_INTERLEAVE && self.waits_for_lines_of(place.table) {
            self.fetch_lines_apart(place, span, writes);
        }
    }

    #[inline(never)]
    fn fetch_lines_apart(&mut self, place: Place<'_>, span: Span, writes: bool) {
        self.fetch(place, span, writes);
    }

    /// The same of what is looked for, whatever comes of it.
    #[inline(always)]
    pub(super) fn fetch_header(&mut self, place: Place<'_>, writes: bool) {
        self.fetch_apart(place, Span::new(0, 0), writes);
    }

    /// In line, like what it suspends in: who returns to where it was called before a switch has what the core predicts against it.
    #[inline(always)]
    fn fetch_lines(&mut self, place: Place<'_>, span: Span, writes: bool) {
        let found = match &place.table.partition(place.partition).index {
            Index::Hashed(index) => {
                index.prefetch(place.hash);
                self.architecture.fetch();
                let found = index.candidate(place.hash);
                self.met = found.map(|record| self.has_met(place, What::Record(record)));
                found
            }
            Index::Ordered(index) => {
                let found = self.fetch_in_order(place, index);
                self.met = Some(self.has_met(place, What::Leaf(found)));
                found.record
            }
        };
        if let Some(record) = found {
            Self::prefetch_record(record, span, writes);
            self.architecture.fetch();
        }
    }

    #[inline(always)]
    fn has_met(&self, Place { table, key, .. }: Place<'_>, what: What) -> Met {
        Met { table: table.id, key, what }
    }

    #[inline(never)]
    fn fetch_in_order(&mut self, place: Place<'_>, index: &Ordered) -> Found {
        let (spot, architecture) = (self.spot(place), &mut self.architecture);
        if place.table.has_byte_strings() {
            // SAFETY: the key stays where it is meanwhile: it is the transaction's own, which does nothing else.
            unsafe { spot.with(|key| index.find_fetching(key, || architecture.fetch())) }
        } else {
            let (finger, key) = (self.nearby.of(place), place.key.bytes());
            index.find_near_fetching(finger, &key, || architecture.fetch())
        }
    }

    /// What was met for a key, if it is what was met last; once.
    #[inline(always)]
    fn take_what_was_met(&mut self, place: Place<'_>) -> Option<What> {
        if !A::MAY_INTERLEAVE || self.met.is_none() {
            return None;
        }
        let Met { table, key, what } = self.met.take()?;
        (table == place.table.id && key == place.key).then_some(what)
    }

    /// What a look-up of a key of an ordered table would meet now, if that is known.
    #[inline(always)]
    pub(super) fn take_found(&mut self, place: Place<'_>, index: &Ordered) -> Option<Found> {
        match self.take_what_was_met(place)? {
            What::Leaf(found) => index.still_meets(&found).then_some(found),
            What::Record(_) => unreachable!("of a hashed table"),
        }
    }

    /// The record of a key of a hashed table, if it was met.
    #[inline(always)]
    pub(super) fn take_record(&mut self, place: Place<'_>) -> Option<RecordRef> {
        match self.take_what_was_met(place)? {
            What::Record(record) => (record.key() == place.key).then_some(record),
            What::Leaf(_) => unreachable!("of an ordered table"),
        }
    }

    /// Before the first step of an operation that links a key.
    #[inline(always)]
    pub(super) fn fetch_to_link(&mut self, place: Place<'_>) {
        if self.waits_for_lines_of(place.table) {
            self.fetch_lines_to_link(place);
        }
    }

    #[inline(never)]
    fn fetch_lines_to_link(&mut self, place: Place<'_>) {
        match &place.table.partition(place.partition).index {
            Index::Hashed(index) => {
                index.prefetch(place.hash);
                self.architecture.fetch();
            }
            Index::Ordered(index) => {
                let spot = self.spot(place);
                let nodes = &mut self.allocations.at(place.table.id, place.partition).nodes;
                let architecture = &mut self.architecture;
                // SAFETY: as in `fetch_lines`.
                unsafe {
                    spot.with(|key| index.fetch_to_link(nodes, key, || architecture.fetch()));
                }
            }
        }
    }

    /// Before a scan reads its first leaf.
    #[inline(always)]
    pub(super) fn fetch_leaf(&mut self, scan: &Scan<'_>, cursor: &mut Cursor) {
        let table = self.table(scan.table);
        if self.waits_for_lines_of(table) {
            let (index, architecture) =
                (table.partition(cursor.partition()).index.ordered(), &mut self.architecture);
            index.fetch_leaf(cursor.bound_and_copy().0, scan.direction, || architecture.fetch());
        }
    }

    /// Once a scan has copied a leaf, of which it will show so many rows at most.
    #[inline(always)]
    pub(super) fn fetch_shown(&mut self, scan: &Scan<'_>, cursor: &Cursor, most: usize) {
        if self.waits_for_lines_of(self.table(scan.table)) {
            cursor
                .records_left()
                .take(most)
                .for_each(|record| Self::prefetch_record(record, scan.span, false));
            self.architecture.fetch();
        }
    }
}
