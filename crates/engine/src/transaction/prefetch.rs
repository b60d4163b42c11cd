//! Asking for the lines of planned keys before they are needed: first the index's, later the records'. Lines of
//! partitions whose steps run elsewhere are left to who will run them.
//!
//! What is not planned a procedure names when it knows it ([`contract::Transaction::ahead`]): then the lines of all keys are asked for
//! a level of the index at a time, so that they come at the same time, and the records' last. Of a leaf that a scan has copied all rows are
//! asked for that it will show.

use super::access::{Access as _, AccessOf};
use super::scan::Cursor;
use super::{HeaderOf, Txn};
use crate::architecture::Architecture;
use crate::index::Index;
use crate::index::hash::Hash;
use crate::index::ordered::MOST_AHEAD;
use crate::record::RecordRef;
use crate::record::value::WORD;
use crate::storage::Table;
use contract::{Access, Key, PartitionId, Plan, PlannedKey, Scan, Span, TableId};

impl<A: Architecture> Txn<'_, A> {
    /// Once a plan is made: says where its keys live.
    #[inline(always)]
    pub fn locate(&self, plan: &mut Plan) {
        plan.locate(|table, key| self.table(table).partition_of(key));
    }

    /// Asks for the index lines of every planned key: of an ordered table for those on the way to its leaf, too.
    #[inline(always)]
    pub fn prefetch_index(&self, plan: &Plan) {
        let mut left = plan.keys();
        while let Some((planned, others)) = left.split_first() {
            left = others;
            if !self.architecture.is_here(planned.partition) {
                continue;
            }
            let table = self.table(planned.table);
            match &table.partition(planned.partition).index {
                Index::Hashed(index) => index.prefetch(Hash::of(planned.key)),
                // Of a byte string the plan has a prefix.
                Index::Ordered(_) if table.has_byte_strings() => {}
                Index::Ordered(index) => {
                    let more = more_of(planned, others);
                    index.prefetch_all(&numbers(planned, more)[..=more.len()]);
                    left = &others[more.len()..];
                }
            }
        }
    }

    /// Asks for the record lines of every planned key; their index lines should be there by now.
    #[inline(always)]
    pub fn prefetch_records(&self, plan: &Plan) {
        let mut left = plan.keys();
        while let Some((planned, others)) = left.split_first() {
            left = others;
            if !self.architecture.is_here(planned.partition) {
                continue;
            }
            let table = self.table(planned.table);
            match &table.partition(planned.partition).index {
                Index::Hashed(index) => {
                    if let Some(record) = index.candidate(Hash::of(planned.key)) {
                        Self::prefetch_planned(table, planned, record);
                    }
                }
                // A key that was declared may have no record.
                Index::Ordered(_) if table.has_byte_strings() || planned.span.length() == 0 => {}
                Index::Ordered(index) => {
                    let more = more_of(planned, others);
                    index.candidates(&numbers(planned, more)[..=more.len()], |nth, record| {
                        let planned = nth.checked_sub(1).map_or(planned, |nth| &more[nth]);
                        Self::prefetch_planned(table, planned, record);
                    });
                    left = &others[more.len()..];
                }
            }
        }
    }

    #[inline(always)]
    fn prefetch_planned(table: &Table, planned: &PlannedKey, record: RecordRef) {
        // A lock is a write even if the row is only read.
        let writes = planned.access != Access::Read;
        let span = if table.varies() { WORD } else { planned.span };
        Self::prefetch_record(record, span, writes);
    }

    #[inline(always)]
    pub(super) fn prefetch_record(record: RecordRef, span: Span, writes: bool) {
        let header = AccessOf::<A>::READS_WRITE_METADATA || writes;
        let row = writes && AccessOf::<A>::WRITES_IN_PLACE;
        record.row::<HeaderOf<A>>().prefetch(span, header, row);
    }

    /// Asks for all that operations on these keys will touch, as far as it is known. Nothing is looked at that counts, but the records that
    /// are met of a hashed table are remembered for the look-ups that follow ([`super::near`]).
    pub(super) fn prefetch(&mut self, table: TableId, keys: &[Key]) {
        let table = self.table(table);
        self.nearby.forget_met();
        for keys in keys.chunks(MOST_AHEAD) {
            let mut left = keys;
            while let Some(&first) = left.first() {
                let partition = table.partition_of(self.prefix(table, first));
                let is_same = |&&key: &&Key| table.partition_of(self.prefix(table, key)) == partition;
                let together = match table.partitions() {
                    [_] => left.len(),
                    _ => left.iter().take_while(is_same).count(),
                };
                let (together, others) = left.split_at(together);
                left = others;
                if self.architecture.is_here(partition) {
                    self.prefetch_together(table, partition, together);
                }
            }
        }
        self.fetch_named(table, keys);
    }

    /// The same of keys of one partition, [`MOST_AHEAD`] at most.
    fn prefetch_together(&mut self, table: &Table, partition: PartitionId, keys: &[Key]) {
        let span = if table.varies() { WORD } else { Span::whole(table.description.row_bytes) };
        let ask = |_, record| Self::prefetch_record(record, span, false);
        match &table.partition(partition).index {
            Index::Hashed(index) => {
                keys.iter().for_each(|&key| index.prefetch(Hash::of(key)));
                // The first is looked up first, and remembered last.
                for &key in keys.iter().rev() {
                    if let Some(record) = index.candidate(Hash::of(key)) {
                        ask(0, record);
                        self.nearby.meet(table.id, key, record);
                    }
                }
            }
            Index::Ordered(index) if table.has_byte_strings() => {
                let mut strings = [&[][..]; MOST_AHEAD];
                strings.iter_mut().zip(keys).for_each(|(string, &key)| *string = self.keys.bytes(key));
                index.candidates(&strings[..keys.len()], ask);
            }
            Index::Ordered(index) => {
                let mut numbers = [[0; size_of::<Key>()]; MOST_AHEAD];
                numbers.iter_mut().zip(keys).for_each(|(number, key)| *number = key.bytes());
                index.candidates(&numbers[..keys.len()], ask);
            }
        }
    }

    /// Asks for the rows of a leaf's records that a scan will show, of so many at most.
    #[inline(always)]
    pub(super) fn prefetch_shown(&self, scan: &Scan<'_>, cursor: &Cursor, most: usize) {
        if self.heeds_hints && self.architecture.is_here(cursor.partition()) {
            cursor
                .records_left()
                .take(most)
                .for_each(|record| Self::prefetch_record(record, scan.span, false));
        }
    }
}

/// Of the keys planned after this one those that follow it in its partition, so many that [`MOST_AHEAD`] are together.
#[inline(always)]
fn more_of<'p>(planned: &PlannedKey, others: &'p [PlannedKey]) -> &'p [PlannedKey] {
    let is_same = |other: &&PlannedKey| other.table == planned.table && other.partition == planned.partition;
    let more = others.iter().take(MOST_AHEAD - 1).take_while(is_same).count();
    &others[..more]
}

/// The keys, as an ordered index has them.
#[inline(always)]
fn numbers(planned: &PlannedKey, more: &[PlannedKey]) -> [[u8; size_of::<Key>()]; MOST_AHEAD] {
    let mut numbers = [[0; size_of::<Key>()]; MOST_AHEAD];
    numbers[0] = planned.key.bytes();
    numbers[1..].iter_mut().zip(more).for_each(|(number, planned)| *number = planned.key.bytes());
    numbers
}
