//! Who is who: transactions get one number each over all workers, operations too, and a version is traced to
//! the transaction that wrote it by arithmetic, without a table of versions.

use crate::history::{History, TransactionRecord};
use crate::operation::{Operation, OperationKind};
use crate::scanned::ScanRecord;
use crate::verdict::TransactionName;
use crate::version::{MOST_ATTEMPTS, Version, Writer};
use contract::Outcome;

/// No transaction has this number.
pub(crate) const NOBODY: u32 = u32::MAX;

/// The numbers of a history's transactions and operations.
pub(crate) struct Index<'a> {
    pub history: &'a History,
    /// By worker, the number of its first transaction; one more entry at the end.
    transaction_base: Vec<u32>,
    /// By worker, the number of its first operation; one more entry at the end.
    operation_base: Vec<u32>,
    /// By worker, by the transaction's number among the worker's: its number in the history, or [`NOBODY`].
    by_number: Vec<Vec<u32>>,
}

/// Where a version comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Its transaction committed, in the attempt that the version names.
    Committed(u32),
    /// Its transaction rolled itself back.
    RolledBack(u32),
    /// Its transaction ended, but in a later attempt.
    AbortedAttempt(u32, Writer),
    /// Its transaction never ended.
    Unfinished(Writer),
    /// Nobody was ever given this version.
    Nobody,
}

impl<'a> Index<'a> {
    pub fn of(history: &'a History) -> Self {
        let counts = |count: &dyn Fn(usize) -> usize| {
            let mut base = vec![0];
            let mut sum = 0;
            for worker in 0..history.workers.len() {
                sum += count(worker);
                base.push(u32::try_from(sum).expect("a history has fewer than 2^32 operations"));
            }
            base
        };
        let by_number = history.workers.iter().enumerate().map(|(worker, recorded)| {
            let mut numbers = vec![NOBODY; recorded.issued as usize + 1];
            let base: usize = history.workers[..worker].iter().map(|before| before.transactions.len()).sum();
            for (position, record) in recorded.transactions.iter().enumerate() {
                let number = &mut numbers[record.number as usize];
                assert_eq!(
                    *number, NOBODY,
                    "worker {worker} recorded its transaction {} twice",
                    record.number
                );
                *number = (base + position) as u32;
            }
            numbers
        });
        Index {
            history,
            transaction_base: counts(&|worker| history.workers[worker].transactions.len()),
            operation_base: counts(&|worker| history.workers[worker].operations.len()),
            by_number: by_number.collect(),
        }
    }

    /// Transactions that ended, committed or not.
    pub fn transactions(&self) -> u32 {
        *self.transaction_base.last().expect("a base has an end")
    }

    /// The number of a worker's transaction, by its position among those that ended.
    pub fn number(&self, worker: usize, position: usize) -> u32 {
        self.transaction_base[worker] + position as u32
    }

    /// The worker of a transaction, and its record.
    pub fn record(&self, transaction: u32) -> (usize, &'a TransactionRecord) {
        let (worker, position) = locate(&self.transaction_base, transaction);
        (worker, &self.history.workers[worker].transactions[position])
    }

    /// A transaction's operations, and the number of the first.
    pub fn operations(&self, transaction: u32) -> (u32, &'a [Operation]) {
        let (worker, record) = self.record(transaction);
        let first = self.operation_base[worker] + record.first as u32;
        (first, self.history.workers[worker].operations_of(record))
    }

    pub fn operation(&self, operation: u32) -> &'a Operation {
        let (worker, position) = locate(&self.operation_base, operation);
        &self.history.workers[worker].operations[position]
    }

    /// The scan that made a read; `None` if it was none.
    pub fn scan_of(&self, operation: u32) -> Option<&'a ScanRecord> {
        let (worker, position) = locate(&self.operation_base, operation);
        let scans = &self.history.workers[worker].scans;
        // Of those that begin at one position the last has reads.
        let behind = scans.partition_point(|scan| scan.first <= position as u64);
        let scan = scans[..behind].last()?;
        ((position as u64) < scan.first + scan.reads()).then_some(scan)
    }

    pub fn name(&self, transaction: u32) -> TransactionName {
        let (worker, record) = self.record(transaction);
        TransactionName { number: transaction, worker, transaction: record.number, attempt: record.attempts }
    }

    /// The transaction that wrote a version in the attempt that counted, committed or not.
    pub fn writer(&self, version: Version) -> Option<u32> {
        match self.origin(version) {
            Origin::Committed(transaction) | Origin::RolledBack(transaction) => Some(transaction),
            _ => None,
        }
    }

    /// The operation by which its own transaction left a version; `None` if none of them did.
    pub fn written_as(&self, transaction: u32, version: Version) -> Option<&'a Operation> {
        let (worker, record) = self.record(transaction);
        let (_, operations) = self.operations(transaction);
        operations
            .iter()
            .find(|operation| operation.kind.writes() && left_by(worker, record, operation) == version)
    }

    /// Traces a version by what it says of its writer.
    pub fn origin(&self, version: Version) -> Origin {
        let Some(writer) = version.writer() else { return Origin::Nobody };
        let number = self.by_number.get(writer.worker).and_then(|of| of.get(writer.transaction as usize));
        let Some(&transaction) = number else { return Origin::Nobody };
        if transaction == NOBODY {
            return Origin::Unfinished(writer);
        }
        let (_, record) = self.record(transaction);
        let is_last = writer.attempt == (record.attempts - 1) % MOST_ATTEMPTS;
        match record.outcome {
            Outcome::Rollback if is_last => Origin::RolledBack(transaction),
            Outcome::Commit if is_last => Origin::Committed(transaction),
            _ if writer.attempt < record.attempts => Origin::AbortedAttempt(transaction, writer),
            _ => Origin::Nobody,
        }
    }
}

/// The version that a write of a transaction's last attempt left.
pub(crate) fn left_by(worker: usize, record: &TransactionRecord, operation: &Operation) -> Version {
    let version = Version::written(Writer {
        worker,
        transaction: record.number,
        attempt: record.attempts - 1,
        write: u32::from(operation.write),
    });
    if operation.kind == OperationKind::Delete { version.dead() } else { version }
}

/// The run that `number` is in, and its position there.
fn locate(base: &[u32], number: u32) -> (usize, usize) {
    let run = base.partition_point(|first| *first <= number) - 1;
    (run, (number - base[run]) as usize)
}
