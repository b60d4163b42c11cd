//! Running ahead: a procedure runs without locks, to find out what there is to lock (OLLP, *orthrus* 3.2).
//!
//! What it touches is noted, as far as it has come. It changes nothing that others see: a row that it would change or insert lies in a
//! record that is never linked, which it finds again itself, but not in a scan. What it reads may be of different moments, or never be committed. So what
//! is noted is an estimate. The transaction then asks for that, and finds out.

use super::access_set::Kind;
use super::{Place, Txn};
use crate::architecture::Architecture;
use crate::protocol::Attempt;
use contract::{Abort, Access, Direction, Insertion, Key, Plan, PlannedRange, Scan, Span, TableId};

impl<A: Architecture> Txn<'_, A> {
    /// Begins to run ahead. [`Txn::end_running_ahead`] ends it, whatever the procedure came to.
    pub fn begin_running_ahead(&mut self) {
        self.begin_reconnaissance(Attempt::Retry);
        self.footprint.clear();
        self.runs_ahead = true;
    }

    /// Adds what was touched to a plan.
    pub fn end_running_ahead(&mut self, plan: &mut Plan) {
        self.stop_running_ahead();
        for planned in self.footprint.keys() {
            plan.touch(planned.table, planned.key, planned.span, planned.access);
        }
        self.footprint.ranges().iter().for_each(|range| plan.range(*range));
    }

    /// Forgets what it would have changed; also if the procedure has panicked.
    pub(super) fn stop_running_ahead(&mut self) {
        self.runs_ahead = false;
        for position in 0..self.accesses.len() {
            let access = self.accesses[position];
            if access.is_own() {
                self.unmake_value_of(self.table(access.table), access.record);
                self.allocations.at(access.table, access.partition).records.put_back(access.record);
            }
        }
        self.aside = None;
        self.forget();
        self.release_all();
    }

    /// A key is touched.
    #[inline(always)]
    pub(super) fn note(&mut self, table: TableId, key: Key, span: Span, access: Access) {
        if self.runs_ahead {
            self.footprint.touch(table, key, span, access);
        }
    }

    /// A scan has gone through these keys. It says so again and again as it comes further; the last counts.
    pub(super) fn note_range(&mut self, scan: &Scan<'_>, first: Key, last: Key) {
        if !self.runs_ahead {
            return;
        }
        let range =
            PlannedRange { table: scan.table, first, last, access: Access::Read, within: scan.within };
        let goes_on = |before: &PlannedRange| {
            let from = match scan.direction {
                Direction::Forward => before.first == first && before.last <= last,
                Direction::Backward => before.last == last && before.first >= first,
            };
            from && before.table == range.table && before.within == range.within
        };
        match self.footprint.last_range().filter(|before| goes_on(before)) {
            Some(before) => *before = range,
            None => self.footprint.range(range),
        }
    }

    /// An insert, of a row that nobody else will see.
    #[cold]
    pub(super) fn insert_ahead(&mut self, place: Place<'_>, row: &[u8]) -> Result<Insertion, Abort> {
        self.note(place.table.id, self.prefix(place.table, place.key), Span::new(0, 0), Access::Structure);
        if self.look_up(place).0.is_some() {
            return Ok(Insertion::Exists);
        }
        self.add_ahead(place, row);
        Ok(Insertion::Inserted)
    }

    /// An entry for a row that is the transaction's alone.
    pub(super) fn add_ahead(&mut self, place: Place<'_>, row: &[u8]) -> usize {
        let record = self.new_record(place, row);
        self.add(place, record, Kind::Insert, None)
    }
}
