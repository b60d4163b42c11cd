//! A history: what every transaction of a run saw and wrote, and what was left in the end.
//!
//! A worker's transactions and operations lie in two flat vectors, in the order in which they ended. Versions
//! of attempts that aborted need no list: a version names its attempt, and the record of its transaction says
//! which attempt was the one that counted. Scans lie in a third vector, and point at the reads that they made.

use crate::key_names::{KeyBytes, KeyNames};
use crate::operation::{Operation, OperationKind};
use crate::scanned::{ScanEnd, ScanRecord};
use crate::version::Version;
use contract::{Clocks, CommitId, Key, Outcome, SnapshotPlace, TableId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Bound;

/// What every transaction of a run saw and wrote.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The tables' names, by [`TableId`].
    pub tables: Vec<String>,
    /// What each worker did, in the order of their numbers.
    pub workers: Vec<WorkerHistory>,
    /// What the keys that were written hold in the end. A key that is not in it is not judged by its end.
    pub finals: Vec<FinalVersion>,
    /// Keys that loading brought and that some scan covered, in order: they have had rows, whether anybody saw one or not.
    pub loaded: Vec<(TableId, Key)>,
    /// The bytes of keys that are byte strings; the others are numbers.
    pub names: KeyNames,
    /// By whose clocks the workers' times are.
    pub clocks: Clocks,
}

/// What one worker did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WorkerHistory {
    /// Transactions that it was given, numbered from 1; those without a record never ended.
    pub issued: u32,
    /// Those that ended.
    pub transactions: Vec<TransactionRecord>,
    /// Their operations.
    pub operations: Vec<Operation>,
    /// Their scans, in the order of their transactions.
    pub scans: Vec<ScanRecord>,
}

/// One transaction that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionRecord {
    /// Its number among its worker's, from 1.
    pub number: u32,
    /// Attempts; all but the last aborted.
    pub attempts: u32,
    /// When its first attempt began, in nanoseconds of its worker's clock ([`History::clocks`]).
    pub began_ns: u64,
    /// When it ended, by the same.
    pub ended_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// What the engine says of its place in the serial order, if it does.
    pub id: Option<CommitId>,
    /// The epoch in which it committed, if its store is logged.
    pub epoch: Option<u64>,
    /// Where it stands among the snapshots, if its store has any.
    pub snapshot: Option<SnapshotPlace>,
    /// Position of its last attempt's first operation among its worker's.
    pub first: u64,
    /// Number of its last attempt's operations.
    pub operations: u32,
}

impl TransactionRecord {
    /// A transaction that ended, whose last attempt's operations are so many from position `first` on.
    pub(crate) fn new(ending: Ending, first: usize, operations: usize) -> Self {
        let Ending { number, attempts, began_ns, ended_ns, outcome, id, epoch, snapshot } = ending;
        assert!(number > 0 && attempts > 0, "transactions and attempts are counted from 1");
        assert!(began_ns <= ended_ns, "a transaction ended before it began: the run's clock went back");
        let operations = u32::try_from(operations).expect("fewer than 2^32 operations an attempt");
        TransactionRecord {
            number,
            attempts,
            began_ns,
            ended_ns,
            outcome,
            id,
            epoch,
            snapshot,
            first: first as u64,
            operations,
        }
    }
}

/// What a key holds after the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinalVersion {
    /// Of which table.
    pub table: TableId,
    /// Which key.
    pub key: Key,
    /// Whether loading brought a row with this key, if that is known.
    pub loaded: Option<bool>,
    /// Its version; [`Version::MISSING`] if it has no row.
    pub version: Version,
}

/// A transaction's end, as its client was told.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// The transaction's number among its worker's, from 1.
    pub number: u32,
    /// Attempts, the last included.
    pub attempts: u32,
    /// When its first attempt began.
    pub began_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// How.
    pub outcome: Outcome,
    /// Its place in the serial order, if the engine says it.
    pub id: Option<CommitId>,
    /// The epoch in which it committed, if its store is logged.
    pub epoch: Option<u64>,
    /// Where it stands among the snapshots, if its store has any.
    pub snapshot: Option<SnapshotPlace>,
}

impl TransactionRecord {
    /// Whether it read a snapshot: its place in time is then before all that began after it had ended, and after nothing.
    pub(crate) fn has_read_snapshot(&self) -> bool {
        matches!(self.snapshot, Some(SnapshotPlace::Read(_)))
    }

    fn ending(&self) -> Ending {
        let TransactionRecord { number, attempts, began_ns, ended_ns, outcome, id, epoch, snapshot, .. } =
            *self;
        Ending { number, attempts, began_ns, ended_ns, outcome, id, epoch, snapshot }
    }
}

impl WorkerHistory {
    /// Adds a transaction that ended, with the operations of its last attempt.
    pub fn push(&mut self, ending: Ending, operations: &[Operation]) {
        self.issued = self.issued.max(ending.number);
        self.transactions.push(TransactionRecord::new(ending, self.operations.len(), operations.len()));
        self.operations.extend_from_slice(operations);
    }

    /// The same, with the scans of its last attempt, which count positions from its first operation on.
    pub fn push_with_scans(&mut self, ending: Ending, operations: &[Operation], scans: &[ScanRecord]) {
        let (first, transaction) = (self.operations.len() as u64, self.transactions.len() as u32);
        let placed =
            |scan: &ScanRecord| ScanRecord { first: first + scan.first, transaction, ..scan.clone() };
        self.scans.extend(scans.iter().map(placed));
        self.push(ending, operations);
    }

    /// The scans of the transaction at a position, in order.
    pub fn scans_of(&self, position: usize) -> &[ScanRecord] {
        let before =
            |position: usize| self.scans.partition_point(|scan| (scan.transaction as usize) < position);
        &self.scans[before(position)..before(position + 1)]
    }

    /// The operations of a transaction of this worker.
    pub fn operations_of(&self, record: &TransactionRecord) -> &[Operation] {
        &self.operations[record.first as usize..][..record.operations as usize]
    }
}

impl History {
    /// What is left of the history if nothing has happened but what committed in epoch `last` or before, as after a recovery. Its
    /// ends are to be read anew.
    pub fn up_to_epoch(&self, last: u64) -> History {
        let kept = |worker: &WorkerHistory| {
            let mut left = WorkerHistory { issued: worker.issued, ..WorkerHistory::default() };
            for (position, record) in worker.transactions.iter().enumerate() {
                if record.outcome == Outcome::Commit && record.epoch.is_some_and(|epoch| epoch <= last) {
                    let counted_from_its_first =
                        |scan: &ScanRecord| ScanRecord { first: scan.first - record.first, ..scan.clone() };
                    let scans: Vec<_> =
                        worker.scans_of(position).iter().map(counted_from_its_first).collect();
                    left.push_with_scans(record.ending(), worker.operations_of(record), &scans);
                }
            }
            left
        };
        History { workers: self.workers.iter().map(kept).collect(), finals: Vec::new(), ..self.clone() }
    }

    /// Transactions that ended, committed or not.
    pub fn transactions(&self) -> usize {
        self.workers.iter().map(|worker| worker.transactions.len()).sum()
    }

    /// Operations of their last attempts.
    pub fn operations(&self) -> usize {
        self.workers.iter().map(|worker| worker.operations.len()).sum()
    }

    /// The keys that somebody tried to change or whose presence somebody learnt, each once: those whose end must
    /// be looked at. Loaded keys that a scan covered are among them, for it may have passed one over that nobody else
    /// touched.
    pub fn keys_to_read_back(&self) -> Vec<(TableId, Key)> {
        let everybody = self.workers.iter().flat_map(|worker| &worker.operations);
        let mut keys: Vec<_> = everybody
            .filter(|operation| operation.kind != OperationKind::Read || operation.seen.is_dead())
            .map(|operation| (operation.table, operation.key))
            .chain(self.loaded.iter().copied())
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Rows that the run added to the engine, less those that it removed: inserts over a tombstone add none, and
    /// deletes that leave one remove none. Held against [`contract::LeakCheck::linked_records`] it proves that
    /// aborts and deletes leave nothing behind.
    pub fn rows_added(&self) -> i64 {
        let committed = self.workers.iter().flat_map(|worker| {
            let ended = worker.transactions.iter().filter(|record| record.outcome == Outcome::Commit);
            ended.flat_map(|record| worker.operations_of(record))
        });
        let added = |operation: &Operation| match operation.kind {
            OperationKind::Insert if operation.seen == Version::MISSING => 1,
            _ if operation.is_real_delete() => -1,
            _ => 0,
        };
        committed.map(added).sum()
    }

    /// Whether any transaction scanned.
    pub(crate) fn has_scans(&self) -> bool {
        self.workers.iter().any(|worker| !worker.scans.is_empty())
    }

    /// A key as bytes.
    pub(crate) fn key_in_bytes(&self, table: TableId, key: Key) -> KeyBytes<'_> {
        self.names.bytes(table, key).map_or(KeyBytes::Number(key.bytes()), KeyBytes::String)
    }

    /// A key in words: "micro key 5", "name key 'ab'".
    pub fn key_in_words(&self, table: TableId, key: Key) -> KeyInWords<'_> {
        KeyInWords { table: self.table_in_words(table), bytes: self.key_in_bytes(table, key) }
    }

    /// What a scan covered in words: "micro from key 3 to before key 9".
    pub fn range_in_words(&self, scan: &ScanRecord) -> String {
        let is_string = self.names.has_table(scan.table);
        let key = |bytes: &[u8]| match <[u8; 8]>::try_from(bytes) {
            Ok(number) if !is_string => KeyBytes::Number(number).to_string(),
            _ => KeyBytes::String(bytes).to_string(),
        };
        let end = |end: &ScanEnd, included: &str, excluded: &str, unbounded: &str| match end {
            Bound::Included(bytes) => format!("{included} key {}", key(bytes)),
            Bound::Excluded(bytes) => format!("{excluded} key {}", key(bytes)),
            Bound::Unbounded => unbounded.to_owned(),
        };
        let from = end(&scan.from, "from", "from behind", "from the first key");
        let to = end(&scan.to, "to", "to before", "to the last key");
        format!("{} {from} {to}", self.table_in_words(scan.table))
    }

    fn table_in_words(&self, table: TableId) -> &str {
        self.tables.get(table.index()).map_or("unnamed", String::as_str)
    }
}

/// Displays as "micro key 5".
#[derive(Clone, Copy, Debug)]
pub struct KeyInWords<'a> {
    table: &'a str,
    bytes: KeyBytes<'a>,
}

impl fmt::Display for KeyInWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} key {}", self.table, self.bytes)
    }
}
