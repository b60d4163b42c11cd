//! Judging list-append, in two steps.
//!
//! The last value of a list is its version, and an append saw the last value before it: so a run is a history
//! of versions as any other, and the graph checker judges it. And the lists must tell one story: every list
//! that was read is a prefix of the list in the end, and in that list every value stands behind the one that its
//! append saw.

use super::{EntryKind, LISTS, ListAppend, ListEntry, ListHistory, ListWorker};
use crate::check::{Index, Origin, check_and};
use crate::checked_run::{CheckedRunError, Setting};
use crate::history::{FinalVersion, History, WorkerHistory};
use crate::operation::{Operation, OperationKind};
use crate::verdict::{AnomalyKind, Findings, Verdict};
use crate::version::Version;
use contract::{Engine, Key, Measurement, Outcome};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// A run of list-append, and what the checker says of it.
#[derive(Debug)]
pub struct ListAppendRun {
    /// What was read and appended.
    pub history: ListHistory,
    /// Whether that is strictly serializable.
    pub verdict: Verdict,
    /// What the engine measured.
    pub measurement: Measurement,
}

/// Loads, runs, reads back and judges.
pub fn run_list_append<E: Engine>(
    workload: &ListAppend,
    setting: &Setting,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<ListAppendRun, CheckedRunError> {
    let mut store = setting.load::<E, _>(workload, progress)?;
    let clients = setting.clients::<E, _>(workload);
    let run = setting.run::<E, _>(&mut store, clients)?;
    let mut history = workload.history(run.clients);
    history.clocks = run.clocks;
    let read = workload.final_read(&history);
    history.set_finals(&read, setting.read_back::<E>(&mut store, &read));
    let verdict = check_lists(&history);
    Ok(ListAppendRun { history, verdict, measurement: run.measurement })
}

/// Judges a history of lists.
pub fn check_lists(lists: &ListHistory) -> Verdict {
    let history = as_versions(lists);
    check_and(&history, |index, findings| {
        let finals: Finals<'_> =
            lists.finals.iter().map(|(key, list)| (*key, list.as_deref().unwrap_or_default())).collect();
        judge_finals(index, lists, findings);
        for (worker, recorded) in lists.workers.iter().enumerate() {
            judge_reads(index, worker, recorded, &finals, findings);
        }
    })
}

type Finals<'a> = HashMap<u64, &'a [u64], FixedState>;

/// The same history with the last value of every list for the list.
fn as_versions(lists: &ListHistory) -> History {
    let workers = lists.workers.iter().map(|worker| WorkerHistory {
        issued: worker.issued,
        transactions: worker.transactions.clone(),
        operations: worker.entries.iter().map(operation).collect(),
        scans: Vec::new(),
    });
    let finals = lists.finals.iter().map(|(key, list)| FinalVersion {
        table: LISTS,
        key: Key(*key),
        loaded: Some(true),
        version: match list {
            Some(values) => values.last().map_or(Version::LOADED, |value| Version(*value)),
            None => Version::MISSING,
        },
    });
    History {
        tables: vec!["list".to_owned()],
        workers: workers.collect(),
        finals: finals.collect(),
        clocks: lists.clocks.clone(),
        ..History::default()
    }
}

fn operation(entry: &ListEntry) -> Operation {
    let kind = match entry.kind {
        EntryKind::Append => OperationKind::Update,
        EntryKind::Read | EntryKind::Missed => OperationKind::Read,
    };
    Operation::new(kind, LISTS, Key(entry.key), entry.seen, u32::from(entry.position))
}

/// In the end every value stands behind the one that its append saw. That the last one is right, and that none
/// was lost, follows from the chain of versions.
fn judge_finals(index: &Index<'_>, lists: &ListHistory, findings: &mut Findings) {
    for (key, list) in &lists.finals {
        let mut before = Version::LOADED;
        for value in list.as_deref().unwrap_or_default() {
            let version = Version(*value);
            let append = match index.origin(version) {
                Origin::Committed(writer) => index.written_as(writer, version).map(|append| (writer, append)),
                _ => None,
            };
            let (kind, writer, what) = match append {
                Some((_, append)) if append.key.0 == *key && append.seen == before => {
                    before = version;
                    continue;
                }
                Some((writer, append)) if append.key.0 == *key => (
                    AnomalyKind::CorruptValue,
                    Some(writer),
                    "does not stand behind the value that its append saw",
                ),
                Some((writer, _)) => {
                    (AnomalyKind::CorruptValue, Some(writer), "was appended to another list")
                }
                None => (
                    AnomalyKind::AbortedRead,
                    index.writer(version),
                    "was not appended by anybody who committed",
                ),
            };
            before = version;
            findings.found(kind, || {
                let names: Vec<_> = writer.map(|writer| index.name(writer)).into_iter().collect();
                let by = names.first().map(|name| format!(" of {name}")).unwrap_or_default();
                (names, format!("list key {key}: in the end the value {version:?}{by} {what}"))
            });
        }
    }
}

/// Every list that was read is a prefix of the list in the end.
fn judge_reads(
    index: &Index<'_>,
    worker: usize,
    recorded: &ListWorker,
    finals: &Finals<'_>,
    findings: &mut Findings,
) {
    for (position, record) in recorded.transactions.iter().enumerate() {
        if record.outcome != Outcome::Commit {
            continue;
        }
        for entry in recorded.entries_of(record).iter().filter(|entry| entry.kind == EntryKind::Read) {
            let read = recorded.values_of(entry);
            let Some(last) = finals.get(&entry.key) else { continue };
            let Some(at) = (0..read.len()).find(|at| last.get(*at) != Some(&read[*at])) else { continue };
            if at + 1 == read.len() && !last.contains(&read[at]) {
                // A last value that is nowhere: the graph checker has met it as an unknown version.
                continue;
            }
            findings.found(kind_of_difference(index, read[at], last), || {
                let name = index.name(index.number(worker, position));
                let words = format!(
                    "list key {}: {name} read a list that differs from the end at its value {}: it has {:?}",
                    entry.key,
                    at + 1,
                    Version(read[at])
                );
                (vec![name], words)
            });
        }
    }
}

fn kind_of_difference(index: &Index<'_>, value: u64, last: &[u64]) -> AnomalyKind {
    match index.origin(Version(value)) {
        Origin::Committed(_) if last.contains(&value) => AnomalyKind::CorruptValue,
        Origin::Committed(_) => AnomalyKind::LostUpdate,
        Origin::Nobody => AnomalyKind::CorruptValue,
        Origin::RolledBack(_) | Origin::AbortedAttempt(..) | Origin::Unfinished(_) => {
            AnomalyKind::AbortedRead
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::TransactionRecord;
    use crate::list_append::appended;

    /// Two transactions of two workers: the first appended to list 1 and then read it, the second appended too.
    fn two_appends() -> (ListHistory, [u64; 2]) {
        let values = [appended(0, 1, 0, 0), appended(1, 1, 0, 0)];
        let entry = |kind, seen, position, count| ListEntry {
            key: 1,
            first: 0,
            count,
            position,
            kind,
            seen,
            is_full: false,
        };
        let record = |operations| TransactionRecord {
            epoch: None,
            snapshot: None,
            number: 1,
            attempts: 1,
            began_ns: 0,
            ended_ns: 10,
            outcome: Outcome::Commit,
            id: None,
            first: 0,
            operations,
        };
        let first = ListWorker {
            issued: 1,
            transactions: vec![record(2)],
            entries: vec![
                entry(EntryKind::Append, Version::LOADED, 0, 0),
                entry(EntryKind::Read, values[0], 1, 1),
            ],
            values: vec![values[0].0],
        };
        let second = ListWorker {
            issued: 1,
            transactions: vec![record(1)],
            entries: vec![entry(EntryKind::Append, values[0], 0, 0)],
            values: Vec::new(),
        };
        let values = values.map(|value| value.0);
        (
            ListHistory {
                workers: vec![first, second],
                finals: vec![(1, Some(values.to_vec()))],
                ..ListHistory::default()
            },
            values,
        )
    }

    #[track_caller]
    fn kinds(history: &ListHistory) -> Vec<AnomalyKind> {
        check_lists(history).counts.into_keys().collect()
    }

    #[test]
    fn two_appends_in_order_are_accepted() {
        let (history, _) = two_appends();
        let verdict = check_lists(&history);
        assert!(verdict.is_strictly_serializable(), "{verdict}");
        assert_eq!((verdict.transactions, verdict.operations, verdict.edges), (2, 3, 1));
    }

    #[test]
    fn a_list_that_was_read_is_a_prefix_of_the_end() {
        let (mut history, values) = two_appends();
        history.workers[0].values = vec![values[1], values[0]];
        history.workers[0].entries[1].count = 2;
        assert_eq!(kinds(&history), [AnomalyKind::CorruptValue]);
    }

    #[test]
    fn a_list_in_the_end_is_in_the_order_of_its_appends() {
        let (mut history, values) = two_appends();
        history.finals[0].1 = Some(vec![values[1], values[0]]);
        assert!(kinds(&history).contains(&AnomalyKind::CorruptValue));
    }

    #[test]
    fn an_order_in_the_end_that_only_its_middle_shows_wrong_is_found() {
        let (mut history, values) = two_appends();
        // A third append behind the two, so that the last value is right; and nobody read.
        history.workers[0].transactions[0].operations = 1;
        let third = appended(2, 1, 0, 0);
        let mut worker = history.workers[1].clone();
        worker.entries[0].seen = Version(values[1]);
        history.workers.push(worker);
        history.finals[0].1 = Some(vec![values[0], values[1], third.0]);
        assert_eq!(kinds(&history), []);
        history.finals[0].1 = Some(vec![values[1], values[0], third.0]);
        assert_eq!(kinds(&history), [AnomalyKind::CorruptValue]);
        // A value of another list.
        history.workers[0].entries[0].key = 2;
        history.finals[0].1 = Some(vec![values[0], values[1], third.0]);
        assert!(kinds(&history).contains(&AnomalyKind::CorruptValue));
    }

    #[test]
    fn a_value_that_vanished_is_a_lost_update() {
        let (mut history, values) = two_appends();
        history.finals[0].1 = Some(vec![values[0]]);
        assert_eq!(kinds(&history), [AnomalyKind::LostUpdate]);
        history.finals[0].1 = None;
        assert!(!check_lists(&history).is_strictly_serializable());
    }

    #[test]
    fn values_of_aborted_attempts_do_not_stay() {
        let (mut history, values) = two_appends();
        // The second transaction committed in its second attempt; the first attempt's value is in the end.
        history.workers[1].transactions[0].attempts = 2;
        assert!(kinds(&history).contains(&AnomalyKind::AbortedRead));
        let kept = appended(1, 1, 1, 0).0;
        history.finals[0].1 = Some(vec![values[0], kept]);
        assert_eq!(kinds(&history), []);
    }
}
