//! Scans spelled out: a scan read every key of what it covered, those that it did not show as well.
//!
//! Before anything is judged, each committed scan gets, behind the reads of the rows that it showed, a read that found no
//! row for every other key of the covered range of which the history knows a row: one that somebody wrote or saw, that
//! loading brought, or that the end holds. From there on a scan is a bundle of reads, and what it passed over is treated
//! as any miss: it comes before the transaction that inserted the key, and behind the one that really deleted it. Keys of which nobody
//! knows a row say nothing.
//!
//! The known keys of each table are put in order once, and a scan walks its own range of them: as many steps as it
//! showed rows and passed keys over.
//!
//! What a scan showed is also held against what it was asked for ([`judge_order`]).

use crate::check::index::Index;
use crate::history::{History, TransactionRecord, WorkerHistory};
use crate::key_names::KeyBytes;
use crate::operation::{Operation, OperationKind};
use crate::scanned::ScanRecord;
use crate::verdict::{AnomalyKind, Findings};
use crate::version::Version;
use contract::{Direction, Key, Outcome, TableId};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use std::borrow::Cow;

/// The same history, with its committed scans spelled out.
pub(crate) fn spelled_out(history: &History) -> Cow<'_, History> {
    if !history.has_scans() {
        return Cow::Borrowed(history);
    }
    let known = KnownKeys::of(history);
    Cow::Owned(History {
        tables: history.tables.clone(),
        workers: history.workers.iter().map(|worker| known.spell_out(worker)).collect(),
        finals: history.finals.clone(),
        loaded: history.loaded.clone(),
        names: history.names.clone(),
        clocks: history.clocks.clone(),
    })
}

/// By scanned table the keys of which the history knows a row, in order.
struct KnownKeys<'a> {
    history: &'a History,
    tables: Vec<Vec<(KeyBytes<'a>, Key)>>,
}

impl<'a> KnownKeys<'a> {
    fn of(history: &'a History) -> Self {
        let mut scanned = vec![false; 1 << 16];
        let scans = history.workers.iter().flat_map(|worker| &worker.scans);
        scans.for_each(|scan| scanned[scan.table.index()] = true);
        let tables = scanned.iter().rposition(|scanned| *scanned).map_or(0, |last| last + 1);
        let mut known = KnownKeys { history, tables: vec![Vec::new(); tables] };
        let mut met = HashSet::<(TableId, Key), FixedState>::default();
        for_each_known(history, |table, key| {
            if scanned[table.index()] && met.insert((table, key)) {
                known.tables[table.index()].push((history.key_in_bytes(table, key), key));
            }
        });
        for table in &mut known.tables {
            table.sort_unstable_by(|(one, _), (other, _)| one.as_ref().cmp(other.as_ref()));
        }
        known
    }

    fn spell_out(&self, worker: &WorkerHistory) -> WorkerHistory {
        let mut spelled = WorkerHistory { issued: worker.issued, ..WorkerHistory::default() };
        spelled.operations.reserve(worker.operations.len());
        for (position, record) in worker.transactions.iter().enumerate() {
            let first = spelled.operations.len();
            let mut copied = record.first as usize;
            for scan in worker.scans_of(position) {
                let end = scan.first as usize + scan.rows as usize;
                spelled.operations.extend_from_slice(&worker.operations[copied..end]);
                copied = end;
                let before = spelled.operations.len();
                if record.outcome == Outcome::Commit {
                    let shown = &worker.operations[scan.first as usize..end];
                    self.add_passed_over(scan, shown, &mut spelled.operations);
                }
                let skipped = (spelled.operations.len() - before) as u32;
                let first = (before - scan.rows as usize) as u64;
                spelled.scans.push(ScanRecord { first, skipped, ..scan.clone() });
            }
            let end = record.first as usize + record.operations as usize;
            spelled.operations.extend_from_slice(&worker.operations[copied..end]);
            let operations = u32::try_from(spelled.operations.len() - first)
                .expect("what a transaction passed over is fewer than 2^32 keys");
            spelled.transactions.push(TransactionRecord { first: first as u64, operations, ..*record });
        }
        spelled
    }

    /// Adds a read of every known key that a scan covered and did not show.
    fn add_passed_over(&self, scan: &ScanRecord, shown: &[Operation], operations: &mut Vec<Operation>) {
        let known = &self.tables[scan.table.index()];
        let mut shown: Vec<KeyBytes<'_>> =
            shown.iter().map(|row| self.history.key_in_bytes(scan.table, row.key)).collect();
        // Backwards if the scan went so, and in no order if the engine erred.
        shown.sort_by(|one, other| one.as_ref().cmp(other.as_ref()));
        let mut shown = shown.iter().peekable();
        for (bytes, key) in &known[scan.covered(known, |(bytes, _)| bytes.as_ref())] {
            while shown.next_if(|row| row.as_ref() < bytes.as_ref()).is_some() {}
            if shown.peek().is_none_or(|row| row.as_ref() != bytes.as_ref()) {
                operations.push(Operation::new(OperationKind::Read, scan.table, *key, Version::MISSING, 0));
            }
        }
    }
}

/// Visits the keys of which the history knows a row, some of them often.
fn for_each_known(history: &History, mut visit: impl FnMut(TableId, Key)) {
    for worker in &history.workers {
        for record in worker.transactions.iter().filter(|record| record.outcome == Outcome::Commit) {
            for operation in worker.operations_of(record) {
                if operation.kind.writes() || !operation.seen.is_dead() {
                    visit(operation.table, operation.key);
                }
            }
        }
    }
    let in_the_end = history.finals.iter().filter(|last| last.version != Version::MISSING);
    in_the_end.for_each(|last| visit(last.table, last.key));
    let loaded = history.finals.iter().filter(|last| last.loaded == Some(true));
    loaded.for_each(|last| visit(last.table, last.key));
    history.loaded.iter().for_each(|(table, key)| visit(*table, *key));
}

/// A scan shows each row once, in its order, and none from beyond its range.
pub(crate) fn judge_order(index: &Index<'_>, findings: &mut Findings) {
    for (worker, recorded) in index.history.workers.iter().enumerate() {
        for scan in &recorded.scans {
            let position = scan.transaction as usize;
            let shown = &recorded.operations[scan.first as usize..][..scan.rows as usize];
            if recorded.transactions[position].outcome != Outcome::Commit {
                continue;
            }
            let Some((row, what)) = first_out_of_order(index.history, scan, shown) else { continue };
            findings.found(AnomalyKind::DisorderlyScan, || {
                let name = index.name(index.number(worker, position));
                let (range, key) =
                    (index.history.range_in_words(scan), index.history.key_in_words(row.table, row.key));
                (vec![name], format!("{name} scanned {range}, and was shown {key}, which {what}"))
            });
        }
    }
}

/// The first row that a scan should not have shown where it did, and why.
fn first_out_of_order<'a>(
    history: &History,
    scan: &ScanRecord,
    shown: &'a [Operation],
) -> Option<(&'a Operation, &'static str)> {
    let mut last: Option<KeyBytes<'_>> = None;
    for row in shown {
        let bytes = history.key_in_bytes(row.table, row.key);
        if let Some(last) = last.replace(bytes) {
            let (one, next) = match scan.direction {
                Direction::Forward => (last, bytes),
                Direction::Backward => (bytes, last),
            };
            match one.as_ref().cmp(next.as_ref()) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Some((row, "it had shown already")),
                std::cmp::Ordering::Greater => return Some((row, "is not in its order")),
            }
        }
        if !scan.covers(bytes.as_ref()) {
            return Some((row, "is not in its range"));
        }
    }
    None
}
