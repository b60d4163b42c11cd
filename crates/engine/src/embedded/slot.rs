//! A slot of a store that is open, while it is lent: one transaction at a time, on whichever thread has it.

use super::memory_bytes;
use crate::facade::heap::Heap;
use crate::facade::shared::Arc;
use crate::protocol::Attempt;
use crate::session::lent::{Committed, Lent};
use crate::transaction::SnapshotRead;
use contract::{Abort, TableId, Transaction};

/// A slot: runs one transaction at a time, on whichever thread has it.
pub struct Slot {
    pub(super) number: usize,
    pub(super) lent: Box<dyn Lent>,
    pub(super) heap: Arc<Heap>,
}

impl Slot {
    /// Begins a transaction, for the first time or after it was aborted; the last one has ended.
    pub fn begin(&mut self, is_first: bool) {
        self.lent.begin(if is_first { Attempt::First } else { Attempt::Retry });
    }

    /// Whether there are snapshots: the store was opened with [`EngineOptions::snapshots`](contract::EngineOptions::snapshots), and the pair has them.
    pub fn has_snapshots(&self) -> bool {
        self.lent.has_snapshots()
    }

    /// Begins a transaction that reads the newest snapshot, which nothing aborts; the last one has ended. Panics if there are none.
    pub fn begin_snapshot(&mut self) {
        self.lent.begin_snapshot();
    }

    /// Lets `read` use its operations; one that writes is a panic. Keys that are byte strings have their numbers
    /// ([`Transaction::key`]) until `read` returns, or panics. Between two such calls any time may pass: nobody waits for it.
    pub fn read_snapshot(&mut self, read: &mut dyn FnMut(&mut dyn Transaction)) {
        self.lent.read_snapshot(read);
    }

    /// Ends it.
    pub fn end_snapshot(&mut self) -> SnapshotRead {
        self.lent.end_snapshot()
    }

    /// The operations of the transaction that runs.
    pub fn transaction(&mut self) -> &mut dyn Transaction {
        self.lent.transaction()
    }

    /// Commits it. If that is not possible, it is undone. If the store is logged, one that has written more than [`MOST_WRITTEN_BYTES`](super::MOST_WRITTEN_BYTES) is
    /// a panic, and the log stops.
    pub fn commit(&mut self) -> Result<Committed, Abort> {
        self.lent.commit()
    }

    /// Undoes it, by its own will, if all that it has seen was there at one time. Otherwise it is aborted, and what it made of that counts for
    /// nothing.
    pub fn roll_back(&mut self) -> Result<(), Abort> {
        self.lent.roll_back()
    }

    /// Between two transactions: does a step for the checkpoint that is being taken, some thirty rows; `false`: there is nothing to do.
    pub fn walk(&mut self) -> bool {
        self.lent.walk()
    }

    /// Between two transactions: gives memory back of what was deleted and replaced, as far as nobody can look at it any more. A slot does so
    /// by itself every few transactions, but not while it rests.
    pub fn reclaim(&mut self) {
        self.lent.reclaim();
    }

    /// Undoes it.
    pub fn abort(&mut self) {
        self.lent.abort();
    }

    /// Before a transaction that was aborted `attempts` times begins again: lets time pass, and if there were too many, waits until
    /// it goes before all others.
    pub fn retry(&mut self, attempts: u32) {
        self.lent.retry(attempts);
    }

    /// A transaction that was aborted will not begin again.
    pub fn give_up(&mut self) {
        self.lent.give_up();
    }

    /// Records that a transaction may touch, and missing keys and leaves on which it may rely; more is a panic.
    pub fn most_records(&self) -> usize {
        self.lent.most_records()
    }

    /// Bytes of a table's rows, as a scan names them: 0 if they vary.
    pub fn row_bytes(&self, table: TableId) -> usize {
        let description = &self.lent.tables()[table.index()].description;
        if description.varies() { 0 } else { description.row_bytes }
    }

    /// As [`Embedded::memory_bytes`](super::Embedded::memory_bytes).
    pub fn memory_bytes(&self) -> u64 {
        memory_bytes(self.lent.tables(), &self.heap)
    }
}
