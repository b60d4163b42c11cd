//! Rows that vary in length: what a transaction does with their values ([`crate::record::value`]).
//!
//! To the ways of access such a row is a word, which they read and write as bytes. What a transaction adds is who frees what. Of every
//! row that it replaces it keeps one write, which names one word; together with the record's row that makes two values, and when the
//! transaction ends one of them is to be retired:
//!
//! | writes go | the row has | the write has | commit retires | abort retires |
//! |---|---|---|---|---|
//! | in place | the new value | the old one, for undo | the write's | the row's |
//! | to private copies | the old value | the new one, for install | the row's, before it is installed | the write's |
//!
//! A row that is replaced again has its own value retired at once, and so has a row that the transaction itself inserted. A record that
//! is removed, by commit or by abort, takes the value of its row with it; if the row had been replaced, commit retires the write's
//! value as well, which was overwritten, or never will be installed.

use super::access::{Access as _, AccessOf};
use super::access_set::{Access, Kind, NO_WRITE};
use super::{Blind, HeaderOf, Place, Txn};
use crate::architecture::Architecture;
use crate::record::RecordRef;
use crate::record::value::{Value, WORD, WORD_BYTES, Word};
use crate::storage::Table;
use contract::{Abort, Key, Presence, Scan, Span};

/// Bytes of values that wait for their epochs, above which a slot looks whether they have passed before it makes another.
const MUCH_GARBAGE_BYTES: usize = 4 << 20;

/// Shows the value of which a row that the transaction has read says this.
pub(super) fn show(word: &[u8], see: &mut dyn FnMut(&[u8])) {
    // SAFETY: the row of a record of a table whose rows vary, as it was at one time while the transaction ran, which keeps it from
    // being freed.
    unsafe { Value::of(word).view(see) }
}

impl<'e, A: Architecture> Txn<'e, A> {
    /// Shows a whole row.
    pub(super) fn read_row(
        &mut self,
        table: &'e Table,
        key: Key,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        if !table.varies() {
            return self.read_span::<true>(table, key, Span::whole(table.description.row_bytes), see);
        }
        let mut word = Word::default();
        let presence = self.read_span::<true>(table, key, WORD, &mut |bytes| word.copy_from_slice(bytes))?;
        if presence == Presence::Present {
            show(&word, see);
        }
        Ok(presence)
    }

    /// Shows the rows of a scan, whole.
    pub(super) fn scan_values(
        &mut self,
        scan: &Scan<'_>,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<usize, Abort> {
        let scan = Scan { span: WORD, ..*scan };
        self.scan_spans(&scan, &mut |key, word| show(word, &mut |row| see(key, row)))
    }

    /// Replaces a row.
    pub(super) fn replace_row(&mut self, place: Place<'e>, row: &[u8]) -> Result<Presence, Abort> {
        let Some(position) = self.find_any_to_write(place)? else { return Ok(Presence::Missing) };
        self.put_row(position, row);
        Ok(Presence::Present)
    }

    /// Gives an entry that may be written another row.
    pub(super) fn put_row(&mut self, position: usize, row: &[u8]) {
        let Access { table, kind, .. } = self.accesses[position];
        if self.table(table).varies() {
            return self.put_value(position, row);
        }
        let whole = Span::whole(row.len());
        match kind {
            Kind::Insert => self.apply_in_place(position, whole, Blind::Replace(row)),
            _ => AccessOf::<A>::write_blind(self, position, whole, Blind::Replace(row)),
        }
    }

    fn put_value(&mut self, position: usize, row: &[u8]) {
        let word = self.make_value(row).word();
        let Access { record, kind, first_write, .. } = self.accesses[position];
        let is_first = first_write == NO_WRITE;
        if kind == Kind::Insert || (AccessOf::<A>::WRITES_IN_PLACE && !is_first) {
            self.retire_value(self.value_in(record));
            self.apply_in_place(position, WORD, Blind::Replace(&word));
        } else if is_first {
            self.accesses[position].first_write = self.log.writes().len() as u32;
            self.log.will_replace_values();
            AccessOf::<A>::write_blind(self, position, WORD, Blind::Replace(&word));
        } else {
            let bytes = self.log.writes()[first_write as usize].bytes;
            self.retire_value(self.value_logged(first_write as usize));
            self.log.get_mut(bytes).copy_from_slice(&word);
        }
    }

    /// What a record of a table has for a row: the row, or the word of its new value.
    pub(super) fn in_record<'r>(&mut self, table: &Table, row: &'r [u8], word: &'r mut Word) -> &'r [u8] {
        if !table.varies() {
            return row;
        }
        *word = self.make_value(row).word();
        word
    }

    fn make_value(&mut self, row: &[u8]) -> Value {
        let values = &mut self.allocations.values;
        if values.garbage_bytes() > MUCH_GARBAGE_BYTES {
            values.reclaim(self.epochs.reusable());
        }
        values.make(row)
    }

    /// The value of a record that the transaction holds.
    fn value_in(&self, record: RecordRef) -> Value {
        let mut word = [0; WORD_BYTES];
        // SAFETY: the row of a record of a table whose rows vary is a word; nobody writes it, for the transaction holds the record, or has
        // prepared it, or nobody else has it.
        unsafe {
            record.row::<HeaderOf<A>>().copy_out(0, &mut word);
            Value::of(&word)
        }
    }

    /// The value that a write of the log names.
    fn value_logged(&self, number: usize) -> Value {
        let write = self.log.writes()[number];
        // SAFETY: of a table whose rows vary, so that the bytes are a word, written or overwritten.
        unsafe { Value::of(self.log.get(write.bytes)) }
    }

    fn retire_value(&mut self, value: Value) {
        // SAFETY: made of the store's heap; the caller says that this transaction is the one that takes it away.
        unsafe { self.allocations.values.retire(value, self.epoch) }
    }

    /// A record is removed: its value goes with it.
    #[inline(always)]
    pub(super) fn retire_value_of(&mut self, position: usize) {
        let Access { table, record, has_version, first_write, .. } = self.accesses[position];
        let is_committed = !AccessOf::<A>::WRITES_IN_PLACE || first_write == NO_WRITE;
        if self.table(table).varies() && !(has_version && is_committed) {
            self.retire_value(self.value_in(record));
        }
    }

    /// A row is put back whose version keeps its value: that is copied for it.
    pub(super) fn copy_value_logged(&mut self, number: usize) {
        let value = self.value_logged(number);
        // SAFETY: the version has it.
        let copy = unsafe { value.view(|row| self.allocations.values.make(row)) };
        let bytes = self.log.writes()[number].bytes;
        self.log.get_mut(bytes).copy_from_slice(&copy.word());
    }

    /// A record was never linked: nobody has seen its value.
    pub(super) fn unmake_value_of(&mut self, table: &Table, record: RecordRef) {
        if table.varies() {
            let value = self.value_in(record);
            // SAFETY: made for this record.
            unsafe { self.allocations.values.unmake(value) }
        }
    }

    /// The transaction commits, and has not installed anything yet: retires the values that it replaces.
    #[inline(always)]
    pub(super) fn retire_replaced(&mut self) {
        if self.log.replaces_values() {
            let is_committed = |access: Access| AccessOf::<A>::WRITES_IN_PLACE || access.kind == Kind::Write;
            self.retire_values(
                |access| AccessOf::<A>::WRITES_IN_PLACE || access.kind != Kind::Write,
                |access| access.has_version && is_committed(access),
            );
        }
    }

    /// The transaction aborts, and has not undone anything yet: retires the values that it has made.
    #[inline(always)]
    pub(super) fn retire_made(&mut self) {
        if self.log.replaces_values() {
            self.retire_values(|_| !AccessOf::<A>::WRITES_IN_PLACE, |_| false);
        }
    }

    /// Of every row that was replaced, retires the value that the log names, or else that of the record, unless it is kept.
    #[cold]
    fn retire_values(&mut self, is_logged: impl Fn(Access) -> bool, is_kept: impl Fn(Access) -> bool) {
        for number in 0..self.log.writes().len() {
            let access = self.accesses[self.log.writes()[number].access as usize];
            if self.table(access.table).varies() && !is_kept(access) {
                let value = match is_logged(access) {
                    true => self.value_logged(number),
                    false => self.value_in(access.record),
                };
                self.retire_value(value);
            }
        }
    }
}
