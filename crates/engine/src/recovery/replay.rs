//! Replaying a window of a log.
//!
//! Threads go through the window's blocks, and share its records out by a hash of their keys. Then each sorts those that fall to it by
//! epoch and id, and applies them in this order, in transactions of a few dozen over the ordinary engine (shared-everything SILO). Records
//! are physical: to apply an update to a row that already has a later one does no harm, since the later one follows.

use crate::durability::format::{Change, RedoRecord, Transactions};
use crate::durability::scan::Payload;
use crate::facade::atomic::{AtomicUsize, Ordering};
use crate::facade::shared::Arc;
use crate::facade::{unobserved, worker};
use contract::{
    Abort, Access, Arrival, Client, Completion, Indexing, Insertion, Key, Outcome, Plan, Presence, Procedure,
    Span, TableDescription, TableId, Transaction,
};
use std::ops::RangeInclusive;

/// Records that are applied in one transaction.
const RECORDS_AT_ONCE: usize = 32;

/// What is replayed at once.
pub(super) struct Window {
    pub payloads: Vec<Payload>,
    /// Of transactions of these epochs.
    pub epochs: RangeInclusive<u64>,
    pub tables: Arc<[TableDescription]>,
    /// By table: whether it was dropped.
    pub skipped: Arc<[bool]>,
    /// What was deleted stays: a step that is left out.
    pub forgets_deletes: bool,
}

/// Where a record of a window is, and its place in the serial order.
#[derive(Clone, Copy)]
struct Entry {
    epoch: u64,
    id: u64,
    payload: u32,
    /// In the payload.
    at: u32,
}

/// What a window has.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub transactions: u64,
    pub records: u64,
}

/// What a thread has found in its blocks: records by whom they fall to, in the order of the blocks.
type Found = Result<(Vec<Vec<Entry>>, Counts), String>;

impl Window {
    /// So many clients that replay it together; an error in words.
    pub fn shared_out(self, clients: usize) -> Result<(Arc<Window>, Vec<Replayer>, Counts), String> {
        let next = AtomicUsize::new(0);
        let find = || worker::run(clients.min(worker::cores()), |_| self.find(&next, clients));
        let (mut shares, mut counts) = (vec![Vec::new(); clients], Counts::default());
        for found in unobserved(find) {
            let (found, more) = found?;
            counts.transactions += more.transactions;
            counts.records += more.records;
            shares.iter_mut().zip(found).for_each(|(share, found)| share.push(found));
        }
        let window = Arc::new(self);
        let client =
            |found| Replayer { window: Arc::clone(&window), found, entries: Arc::default(), next: 0 };
        let clients = shares.into_iter().map(client).collect();
        Ok((window, clients, counts))
    }

    /// Goes through one block after the other.
    fn find(&self, next: &AtomicUsize, clients: usize) -> Found {
        let (mut shares, mut counts) = (vec![Vec::new(); clients], Counts::default());
        loop {
            // Relaxed: a counter.
            let payload = next.fetch_add(1, Ordering::Relaxed);
            let Some(bytes) = self.payloads.get(payload).map(Payload::bytes) else {
                return Ok((shares, counts));
            };
            for transaction in Transactions::of(bytes) {
                let transaction = transaction?;
                if !self.epochs.contains(&transaction.epoch) {
                    continue;
                }
                counts.transactions += 1;
                let mut records = transaction.records();
                loop {
                    let at = bytes.len() - records.rest_until_end_of(bytes);
                    let Some(record) = records.next() else { break };
                    let record = record?;
                    admit(&self.tables, &record)?;
                    let is_forgotten = self.forgets_deletes && record.change == Change::Delete;
                    if !self.skipped[record.table as usize] && !is_forgotten {
                        let (payload, at) = (payload as u32, at as u32);
                        counts.records += 1;
                        shares[share_of(&record) as usize % clients].push(Entry {
                            epoch: transaction.epoch,
                            id: transaction.id,
                            payload,
                            at,
                        });
                    }
                }
            }
        }
    }

    fn record(&self, entry: &Entry) -> RedoRecord<'_> {
        let payload = self.payloads[entry.payload as usize].bytes();
        RedoRecord::decode(&payload[entry.at as usize..]).expect("it was read before")
    }
}

/// Refuses what the tables cannot have.
pub(super) fn admit(tables: &[TableDescription], record: &RedoRecord<'_>) -> Result<(), String> {
    let Some(table) = tables.get(record.table as usize) else {
        return Err(format!("a record of table number {}, of {}", record.table, tables.len()));
    };
    let name = table.name;
    let fits = match table.indexing {
        Indexing::OrderedBytes { most } => record.key.len() <= most,
        Indexing::Hashed | Indexing::Ordered => record.key.len() == 8,
    };
    if !fits {
        return Err(format!("a record of table '{name}' with a key of {} bytes", record.key.len()));
    }
    match record.change {
        Change::Insert(row) if !table.admits(row.len()) => {
            let most = if table.varies() { "up to " } else { "" };
            let (bytes, row_bytes) = (row.len(), table.row_bytes);
            Err(format!("a row of {bytes} bytes for table '{name}', which has {most}{row_bytes}"))
        }
        Change::Update { .. } if table.varies() => {
            Err(format!("bytes of a row of table '{name}', whose rows are replaced whole"))
        }
        Change::Update { offset, bytes } if offset as usize + bytes.len() > table.row_bytes => Err(format!(
            "bytes {offset}..{} of a row of table '{name}', which has {}",
            offset as usize + bytes.len(),
            table.row_bytes
        )),
        _ => Ok(()),
    }
}

/// To whom a record falls.
fn share_of(record: &RedoRecord<'_>) -> u32 {
    crc32fast::hash(record.key) ^ u32::from(record.table).wrapping_mul(0x9E37_79B9)
}

/// Applies the records of a window that fall to it.
pub(crate) struct Replayer {
    window: Arc<Window>,
    /// Its records, as they were found; until it begins.
    found: Vec<Vec<Entry>>,
    /// In the serial order.
    entries: Arc<Vec<Entry>>,
    next: usize,
}

impl Client for Replayer {
    type Procedure = Apply;

    fn arrival(&mut self) -> Arrival {
        if !self.found.is_empty() {
            let mut entries = std::mem::take(&mut self.found).concat();
            // Stable: what one transaction did to a row stays in its order.
            entries.sort_by_key(|entry| (entry.epoch, entry.id));
            self.entries = Arc::new(entries);
        }
        if self.next < self.entries.len() { Arrival::Ready } else { Arrival::Closed }
    }

    fn next(&mut self) -> Apply {
        let from = self.next;
        self.next = (from + RECORDS_AT_ONCE).min(self.entries.len());
        let (window, entries) = (Arc::clone(&self.window), Arc::clone(&self.entries));
        Apply { window, entries, range: (from, self.next) }
    }

    fn finished(&mut self, _: Apply, _: &Completion<'_>) {}
}

/// Applies some records.
pub(crate) struct Apply {
    window: Arc<Window>,
    entries: Arc<Vec<Entry>>,
    range: (usize, usize),
}

impl Apply {
    fn records(&self) -> impl Iterator<Item = RedoRecord<'_>> {
        self.entries[self.range.0..self.range.1].iter().map(|entry| self.window.record(entry))
    }

    /// Applies one record.
    fn one<T: Transaction + ?Sized>(&self, txn: &mut T, record: RedoRecord<'_>) -> Result<(), Abort> {
        let table = TableId(record.table);
        let key = match self.window.tables[table.index()].indexing {
            Indexing::OrderedBytes { .. } => txn.key(table, record.key),
            Indexing::Hashed | Indexing::Ordered => Key::prefix_of(record.key),
        };
        match record.change {
            Change::Insert(row) => {
                if txn.insert(table, key, row)? == Insertion::Exists {
                    let _: Presence = txn.replace(table, key, row)?;
                }
            }
            // A row that is not there is deleted by what follows.
            Change::Update { offset, bytes } => {
                let _: Presence = txn.write(table, key, offset as usize, bytes)?;
            }
            Change::Delete => {
                let _: Presence = txn.delete(table, key)?;
            }
        }
        Ok(())
    }
}

impl Procedure for Apply {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        self.records().try_for_each(|record| self.one(txn, record))?;
        Ok(Outcome::Commit)
    }

    /// Which lines are needed soon.
    fn plan<T: Transaction + ?Sized>(&self, _: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        for record in self.records() {
            let span = match record.change {
                Change::Update { offset, bytes } => Span { offset, len: bytes.len() as u32 },
                Change::Insert(_) | Change::Delete => Span { offset: 0, len: 0 },
            };
            plan.touch(TableId(record.table), Key::prefix_of(record.key), span, Access::Write);
        }
        Ok(())
    }
}
