//! The committed operations, sorted by key, without one great sort and without a map of vectors.
//!
//! Two threads each deal half of the transactions into 256 heaps by a hash of the key; a key lies in one heap
//! only, and a heap is small enough to be sorted in the cache. A key's final version joins its heap and sorts
//! behind everything else.

use crate::check::index::{Index, NOBODY, left_by};
use crate::history::TransactionRecord;
use crate::operation::{Operation, OperationKind};
use crate::version::Version;
use contract::{Key, Outcome, TableId};

const HEAPS: usize = 256;

/// A committed operation, or a key's final version, with all that judging its key needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub key: Key,
    pub seen: Version,
    /// The version left behind, if it writes.
    pub left: Version,
    /// Its number in the history; [`NOBODY`] for a final version.
    pub operation: u32,
    /// Its transaction; [`NOBODY`] for a final version.
    pub transaction: u32,
    pub table: TableId,
    pub fold: u16,
    pub kind: OperationKind,
}

const _: () = assert!(size_of::<Access>() == 40, "sixteen million accesses fit in 640 MB");

impl Access {
    /// Whether it is the state that the run left.
    pub fn is_final(&self) -> bool {
        self.transaction == NOBODY
    }

    /// The first state of a final access's key, if it is known.
    pub fn first_state(&self) -> Option<Version> {
        assert!(self.is_final(), "an operation does not know its key's first state");
        (self.left != Version::PRESENT).then_some(self.left)
    }

    /// What accesses to one key have in common.
    pub fn place(&self) -> (Key, TableId) {
        (self.key, self.table)
    }
}

/// The accesses of one heap, yet in two parts.
pub(crate) type Heap = [Vec<Access>; 2];

/// Deals the accesses of all committed transactions.
pub(crate) fn deal(index: &Index<'_>) -> Vec<Heap> {
    let half = index.transactions() / 2;
    let (mut left, right) = std::thread::scope(|threads| {
        let left = threads.spawn(|| deal_part(index, 0..half));
        let right = deal_part(index, half..index.transactions());
        (left.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), right)
    });
    for last in &index.history.finals {
        left[heap_of(last.key, last.table)].push(Access {
            key: last.key,
            seen: last.version,
            // What is known of the first state travels where the version left behind would.
            left: match last.loaded {
                Some(true) => Version::LOADED,
                Some(false) => Version::ABSENT,
                None => Version::PRESENT,
            },
            operation: NOBODY,
            transaction: NOBODY,
            table: last.table,
            fold: 0,
            kind: OperationKind::Read,
        });
    }
    left.into_iter().zip(right).map(|(left, right)| [left, right]).collect()
}

fn deal_part(index: &Index<'_>, transactions: std::ops::Range<u32>) -> Vec<Vec<Access>> {
    // Counted first, so that no heap grows by copying: the copies would double the memory of the whole.
    let mut counts = [0_usize; HEAPS];
    for_each_operation(index, transactions.clone(), |_, _, _, _, operation| {
        counts[heap_of(operation.key, operation.table)] += 1;
    });
    let mut heaps: Vec<Vec<Access>> = counts.iter().map(|count| Vec::with_capacity(*count)).collect();
    for_each_operation(index, transactions, |worker, record, transaction, number, operation| {
        let left = if operation.kind.writes() { left_by(worker, record, operation) } else { operation.seen };
        heaps[heap_of(operation.key, operation.table)].push(Access {
            key: operation.key,
            seen: operation.seen,
            left,
            operation: number,
            transaction,
            table: operation.table,
            fold: operation.fold,
            kind: operation.kind,
        });
    });
    heaps
}

fn for_each_operation(
    index: &Index<'_>,
    transactions: std::ops::Range<u32>,
    mut visit: impl FnMut(usize, &TransactionRecord, u32, u32, &Operation),
) {
    for transaction in transactions {
        let (worker, record) = index.record(transaction);
        if record.outcome == Outcome::Commit {
            let (first, operations) = index.operations(transaction);
            for (number, operation) in (first..).zip(operations) {
                visit(worker, record, transaction, number, operation);
            }
        }
    }
}

fn heap_of(key: Key, table: TableId) -> usize {
    let mixed = (key.0 ^ u64::from(table.0).rotate_left(48)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as usize
}

/// Puts a heap's two parts together, each key's accesses next to each other in the order of their transactions.
pub(crate) fn sorted(heap: Heap) -> Vec<Access> {
    let [mut accesses, right] = heap;
    accesses.extend_from_slice(&right);
    drop(right);
    // A transaction's operations have numbers that follow each other, so their order sorts both.
    accesses.sort_unstable_by_key(|access| (access.key, access.table, access.operation));
    accesses
}
