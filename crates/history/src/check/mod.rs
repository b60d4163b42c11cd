//! The checker: is a history strictly serializable, and if not, why?
//!
//! 0. Scans are spelled out as reads of all that they covered ([`scans`]).
//! 1. The committed operations are sorted by key ([`accesses`]).
//! 2. Each key is judged by itself: every transaction's net effect ([`nets`]), the chain of versions, and the
//!    dependencies that follow from it ([`chain`]). Most anomalies show here already, by a version that does not
//!    fit ([`strangers`]).
//! 3. Where the engine gave ids, they must agree with the dependencies ([`ids`]), and so must the snapshots that it says were read or written
//!    ([`snapshots`]). Dependencies and time make a graph ([`graph`]); what cannot be peeled off has cycles.
//! 4. Short cycles are looked for ([`cycles`]), named and told ([`naming`]).
//!
//! Steps 1 and 2 run on two threads. The verdict does not depend on how they interleave.

mod accesses;
mod chain;
mod cycles;
mod graph;
mod ids;
mod index;
mod naming;
mod nets;
mod scans;
mod snapshots;
mod strangers;

use crate::dependencies::Tally;
use crate::history::History;
use crate::operation::{Operation, OperationKind};
use crate::verdict::{Findings, Verdict};
use crate::version::Version;
use accesses::Heap;
use chain::KeyJudge;
use contract::{Key, Outcome, TableId};
use cycles::CycleSearch;
use foldhash::fast::FixedState;
use graph::{Edge, Graph};
use hashbrown::HashMap;
use std::time::Instant;

pub(crate) use index::{Index, Origin, left_by};
pub(crate) use scans::spelled_out;

/// Judges a history.
///
/// Transactions that rolled back by their own will leave nothing that others may see; what they saw themselves
/// is not judged. A scan is held against every key of what it covered of which the history knows a row. Panics if the history is malformed, or breaks the rule of [`crate::Deletes::Real`].
pub fn check(history: &History) -> Verdict {
    check_and(history, |_, _| {})
}

/// Judges a history, and lets the caller add what else it knows to be wrong.
pub(crate) fn check_and(history: &History, further: impl FnOnce(&Index<'_>, &mut Findings)) -> Verdict {
    let begun = Instant::now();
    let spelled = spelled_out(history);
    let index = Index::of(&spelled);
    let (parts, mut findings, tally) = judge_keys(&index, accesses::deal(&index));
    scans::judge_order(&index, &mut findings);
    further(&index, &mut findings);
    ids::judge(&index, &parts, &mut findings);
    snapshots::judge(&index, &parts, &mut findings);
    let graph = Graph::new(&index, parts);
    let more = judge_cycles(&index, &graph, &mut findings);
    let (counts, anomalies) = findings.into_parts();
    let records = || history.workers.iter().flat_map(|worker| &worker.transactions);
    let committed = || records().filter(|record| record.outcome == Outcome::Commit);
    Verdict {
        transactions: committed().count() as u64,
        operations: committed().map(|record| u64::from(record.operations)).sum(),
        edges: graph.edges(),
        dependencies: tally.into_dependencies(),
        counts,
        anomalies,
        more,
        elapsed: begun.elapsed(),
    }
}

/// Judges all keys, half of the heaps on each of two threads.
fn judge_keys(index: &Index<'_>, heaps: Vec<Heap>) -> (Vec<Vec<Edge>>, Findings, Tally) {
    let (mut even, mut odd) = (Vec::new(), Vec::new());
    for (position, heap) in heaps.into_iter().enumerate() {
        if position % 2 == 0 { even.push(heap) } else { odd.push(heap) }
    }
    let (left, right) = std::thread::scope(|threads| {
        let left = threads.spawn(|| judge_heaps(index, even));
        let right = judge_heaps(index, odd);
        (left.join(), right)
    });
    let (edges, mut findings, mut tally) = left.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    findings.absorb(right.1);
    tally.absorb(right.2);
    (vec![edges, right.0], findings, tally)
}

fn judge_heaps(index: &Index<'_>, heaps: Vec<Heap>) -> (Vec<Edge>, Findings, Tally) {
    let mut judge = KeyJudge::new(index);
    for heap in heaps {
        let accesses = accesses::sorted(heap);
        accesses.chunk_by(|one, other| one.place() == other.place()).for_each(|key| judge.judge(key));
    }
    (judge.edges, judge.findings, judge.tally)
}

/// Reports the cycles of the graph; answers whether there may be more.
fn judge_cycles(index: &Index<'_>, graph: &Graph, findings: &mut Findings) -> bool {
    let Some(rest) = graph.peel() else { return false };
    let mut search = CycleSearch::new(graph);
    for cycle in search.cycles(&rest) {
        let kind = naming::name(index, &cycle);
        findings.found(kind, || naming::tell(index, &cycle, kind));
    }
    search.cut_short
}

/// The versions that committed real deletes left, by key: what [`Version::MISSING`] means there. A transaction that
/// inserted what it deleted left none.
pub(crate) fn real_deletes(history: &History) -> HashMap<(TableId, Key), Version, FixedState> {
    let mut deletes = HashMap::default();
    for (worker, recorded) in history.workers.iter().enumerate() {
        for record in recorded.transactions.iter().filter(|record| record.outcome == Outcome::Commit) {
            let operations = recorded.operations_of(record);
            for delete in operations.iter().filter(|operation| operation.is_real_delete()) {
                let place = (delete.table, delete.key);
                if !leaves_nothing(operations, place) {
                    deletes.insert(place, left_by(worker, record, delete));
                }
            }
        }
    }
    deletes
}

/// Whether a transaction of these operations inserted the row at `place`, and really deleted it.
pub(crate) fn leaves_nothing(operations: &[Operation], place: (TableId, Key)) -> bool {
    let mut writes = operations
        .iter()
        .filter(|operation| operation.kind.writes() && (operation.table, operation.key) == place);
    let first = writes.next();
    let last = writes.next_back().or(first);
    first.is_some_and(|first| first.kind == OperationKind::Insert)
        && last.is_some_and(Operation::is_real_delete)
}
