//! What a transaction logs when it commits ([`crate::durability`]): rows that it has inserted, the bytes that it has changed, keys that
//! it has deleted.
//!
//! Of a row that varies in length the whole row is logged, inserted or replaced; never where it is.
//!
//! Rows in place are read while nobody else can change them: before anything is released or published. What will be installed from
//! private copies is logged from them, once the transaction holds nothing any more.

use super::access::{Access as _, AccessOf};
use super::access_set::{Access, Kind};
use super::keys::Keys;
use super::{HeaderOf, Txn};
use crate::architecture::Architecture;
use crate::durability::format::LoggedKey;
use crate::durability::{Log, Redo};
use crate::protocol::SlotId;
use crate::record::RecordRef;
use crate::record::value::{Value, Word};
use crate::storage::Table;
use contract::{CommitId, DurabilityCanary};

/// Where a transaction stands in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogPlace {
    /// If transactions have ids, as they have where they are logged.
    pub id: Option<CommitId>,
    /// 0 where nothing is logged.
    pub epoch: u64,
}

/// A key, as the log has it.
fn logged_key<'k>(tables: &[Table], keys: &'k Keys, access: Access) -> LoggedKey<'k> {
    match tables[access.table.index()].has_byte_strings() {
        true => LoggedKey::String(keys.bytes(access.key)),
        false => LoggedKey::Number(access.key.bytes()),
    }
}

/// The value of a record.
///
/// # Safety
/// The record's row is a word, and nobody writes it.
unsafe fn value_in<A: Architecture>(record: RecordRef) -> Value {
    let mut word = Word::default();
    // SAFETY: by the caller's contract.
    unsafe {
        record.row::<HeaderOf<A>>().copy_out(0, &mut word);
        Value::of(&word)
    }
}

/// Logs a row that varies in length.
fn log_value(redo: &mut Redo<'_>, id: u64, table: u16, key: LoggedKey<'_>, value: Value) {
    let log = |row: &[u8]| {
        Redo::work(row.len());
        redo.append(id, |writer| writer.insert(table, key, row.len(), |bytes| bytes.copy_from_slice(row)));
    };
    // SAFETY: it was linked while the transaction ran, which has not ended.
    unsafe { value.view(log) }
}

impl<'e, A: Architecture> Txn<'e, A> {
    /// From now on, what the slot's transactions write is logged.
    pub fn log_to(&mut self, log: &'e Log) {
        self.redo = Some(log.slot(SlotId(self.in_epochs as u32)));
    }

    /// Which transaction it is, among those that are logged: it is one of this epoch if it commits.
    pub fn place_in_log(&self) -> LogPlace {
        LogPlace { id: self.id, epoch: self.commit_epoch }
    }

    /// It is a branch of that transaction, of another instance, which is about to commit.
    pub fn commits_as(&mut self, LogPlace { id, epoch }: LogPlace) {
        self.id = id;
        let own_epoch = |redo: &Redo<'_>| redo.canary() == Some(DurabilityCanary::BranchEpochs);
        if self.redo.as_ref().is_some_and(|redo| !own_epoch(redo)) {
            self.commits_in(epoch);
            self.epochs.raise(epoch);
        }
    }

    /// The transaction, which is prepared, is one of this epoch or of a later one: one of its branches is.
    pub fn commits_not_before(&mut self, epoch: u64) {
        if self.redo.is_some() {
            if self.commit_epoch < epoch {
                self.commits_in(epoch);
            }
            self.epochs.raise(self.commit_epoch);
        }
    }

    /// The slot's side of the log.
    #[inline]
    pub fn redo(&self) -> Option<&Redo<'e>> {
        self.redo.as_ref()
    }

    /// The transaction, which is prepared, is one of this epoch if it commits.
    #[inline(always)]
    pub(super) fn commits_in(&mut self, epoch: u64) {
        self.commit_epoch = epoch;
        if let Some(redo) = &mut self.redo {
            redo.commits_in(epoch);
        }
    }

    /// Logs what is in place and in nobody else's reach.
    #[inline(always)]
    pub(super) fn log_rows(&mut self) {
        if self.redo.is_some() && !self.write_set.is_empty() {
            self.log_all_rows();
        }
    }

    fn log_all_rows(&mut self) {
        let Txn { redo: Some(redo), write_set, accesses, tables, keys, log, id, .. } = self else { return };
        let id = id.expect("who logs has ids").0;
        for &position in write_set.iter() {
            let access = accesses[position as usize];
            let (table, key) = (access.table.0, logged_key(tables, keys, access));
            match access.kind {
                Kind::Insert if tables[access.table.index()].varies() => {
                    // SAFETY: the row is a word; the record is the transaction's own insert, not yet released.
                    let value = unsafe { value_in::<A>(access.record) };
                    log_value(redo, id, table, key, value);
                }
                Kind::Insert => {
                    let row_bytes = tables[access.table.index()].shape.row_bytes;
                    Redo::work(row_bytes);
                    redo.append(id, |writer| {
                        writer.insert(table, key, row_bytes, |row| {
                            // SAFETY: a whole row of the table; the record is the transaction's own insert, not yet released.
                            unsafe { access.record.row::<HeaderOf<A>>().copy_out(0, row) };
                        });
                    });
                }
                Kind::Delete => redo.append(id, |writer| writer.delete(table, key)),
                // Its bytes follow.
                Kind::Write | Kind::Vanished | Kind::Read | Kind::Absent => {}
            }
        }
        if !AccessOf::<A>::WRITES_IN_PLACE {
            return;
        }
        for write in log.writes() {
            let (access, span) = (accesses[write.access as usize], write.span);
            if access.kind == Kind::Write && tables[access.table.index()].varies() {
                // SAFETY: the row is a word; the record is still held exclusively.
                let value = unsafe { value_in::<A>(access.record) };
                log_value(redo, id, access.table.0, logged_key(tables, keys, access), value);
            } else if access.kind == Kind::Write {
                Redo::work(span.length());
                let key = logged_key(tables, keys, access);
                redo.append(id, |writer| {
                    writer.update(access.table.0, key, span, |bytes| {
                        // SAFETY: the span was checked against the row; the record is still held exclusively.
                        unsafe { access.record.row::<HeaderOf<A>>().copy_out(span.offset, bytes) };
                    });
                });
            }
        }
    }

    /// Logs what was installed from private copies, and ends what the transaction logs.
    #[inline(always)]
    pub(super) fn log_copies(&mut self) {
        if self.redo.is_some() && !self.write_set.is_empty() {
            self.log_all_copies();
        }
    }

    fn log_all_copies(&mut self) {
        let Txn { redo: Some(redo), accesses, tables, keys, log, id, .. } = self else { return };
        let id = id.expect("who logs has ids").0;
        if !AccessOf::<A>::WRITES_IN_PLACE {
            for (number, write) in (0..).zip(log.writes()) {
                let (access, span) = (accesses[write.access as usize], write.span);
                if access.kind == Kind::Write && tables[access.table.index()].varies() {
                    // SAFETY: the word of the value that was installed.
                    let value = unsafe { Value::of(log.get(write.bytes)) };
                    log_value(redo, id, access.table.0, logged_key(tables, keys, access), value);
                } else if access.kind == Kind::Write {
                    Redo::work(span.length());
                    let (key, from) = (logged_key(tables, keys, access), log.get(write.bytes));
                    let inserts = access.is_revived && number == access.first_write;
                    redo.append(id, |writer| match inserts {
                        true => {
                            writer.insert(access.table.0, key, from.len(), |row| row.copy_from_slice(from))
                        }
                        false => {
                            writer.update(access.table.0, key, span, |bytes| bytes.copy_from_slice(from))
                        }
                    });
                }
            }
        }
        redo.end();
    }
}
