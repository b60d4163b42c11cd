//! Cycles in words: what a cycle is called follows from its steps (Adya 1999, Berenson 1995).
//!
//! | the steps | name |
//! |---|---|
//! | one by time | stale read |
//! | only overwriting | dirty write (G0) |
//! | overwriting and observing | circular information flow (G1c) |
//! | one that missed an insert or a delete, of a key or in a range | phantom |
//! | one that missed a version, and the same key overwritten | lost update |
//! | one that missed a version | read skew (G-single) |
//! | several that missed one | write skew (G2-item) |

use crate::check::chain::Dependency;
use crate::check::cycles::Step;
use crate::check::graph::Label;
use crate::check::index::{Index, left_by};
use crate::check::nets::version_in_words;
use crate::operation::{Operation, OperationKind};
use crate::verdict::{AnomalyKind, TransactionName};
use crate::version::Version;

/// What a cycle is called.
pub(crate) fn name(index: &Index<'_>, cycle: &[Step]) -> AnomalyKind {
    let dependencies = || cycle.iter().filter_map(|step| step.label.map(Label::dependency));
    if cycle.iter().any(|step| step.label.is_none()) {
        return AnomalyKind::StaleRead;
    }
    if dependencies().all(|dependency| dependency == Dependency::Overwrote) {
        return AnomalyKind::DirtyWrite;
    }
    let missed = dependencies().filter(|dependency| *dependency == Dependency::Missed).count();
    if missed == 0 {
        return AnomalyKind::CircularInformationFlow;
    }
    if cycle.iter().any(|step| is_about_presence(index, *step)) {
        return AnomalyKind::Phantom;
    }
    match missed {
        1 if all_about_one_key(index, cycle) => AnomalyKind::LostUpdate,
        1 => AnomalyKind::ReadSkew,
        _ => AnomalyKind::WriteSkew,
    }
}

/// The transactions of a cycle, and what happened.
pub(crate) fn tell(index: &Index<'_>, cycle: &[Step], kind: AnomalyKind) -> (Vec<TransactionName>, String) {
    let names: Vec<TransactionName> = cycle.iter().map(|step| index.name(step.from)).collect();
    let mut words = String::new();
    for (position, step) in cycle.iter().enumerate() {
        let introduced: &dyn std::fmt::Display = &names[position];
        words.push_str(&sentence(index, *step, &introduced.to_string()));
        words.push_str("; ");
    }
    let first = format!("T{}", cycle[0].from);
    let around =
        if cycle.len() == 2 { format!("T{}", cycle[1].from) } else { "all of the others".to_owned() };
    words.push_str(&format!("so {first} must come before {around} and after: {kind}"));
    (names, words)
}

/// One step: why `from` must come before `to`.
fn sentence(index: &Index<'_>, step: Step, from: &str) -> String {
    let to = step.to;
    let Some(label) = step.label else {
        let ((one, ended), (other, began)) = (index.record(step.from), index.record(to));
        let (ended_ns, began_ns) = (ended.ended_ns, began.began_ns);
        let clocks = &index.history.clocks;
        if clocks.of_client(one) != clocks.of_client(other) {
            let (latest, earliest) = (clocks.by_first(one, ended_ns), clocks.by_first(other, began_ns));
            let ns = earliest.start() - latest.end();
            return format!("{from} ended {ns} ns or more before T{to} began, on another host");
        }
        if began_ns == ended_ns {
            return format!("{from} ended when its worker began T{to}");
        }
        return format!("{from} ended {} ns before T{to} began", began_ns - ended_ns);
    };
    let operation = index.operation(label.operation());
    let key = index.history.key_in_words(operation.table, operation.key);
    let scan = index.scan_of(label.operation());
    let scan =
        scan.map_or(String::new(), |scan| format!(" in its scan of {}", index.history.range_in_words(scan)));
    match label.dependency() {
        Dependency::Observed => match operation.kind {
            OperationKind::Exists => format!("{from} inserted {key}, and T{to} found it there"),
            _ if operation.seen.is_dead() => format!("{from} deleted {key}, and T{to} saw that{scan}"),
            _ => format!("{from} wrote the version of {key} that T{to} saw{scan}"),
        },
        Dependency::Overwrote => match operation.kind {
            OperationKind::Delete => format!("{from} wrote the last version of {key}, which T{to} deleted"),
            _ => format!("{from} wrote the version of {key} that T{to} overwrote"),
        },
        Dependency::Missed => {
            let seen = version_in_words(index, operation.seen);
            let did = match last_write(index, to, operation) {
                Some((_, version)) if version.is_dead() => "deleted it",
                _ if operation.seen.is_dead() => "inserted it",
                _ => "overwrote that",
            };
            format!("{from} saw {seen} at {key}{scan}, and T{to} {did}")
        }
    }
}

/// Whether a step missed that a row came or went.
fn is_about_presence(index: &Index<'_>, step: Step) -> bool {
    let Some(label) = step.label else { return false };
    if label.dependency() != Dependency::Missed {
        return false;
    }
    let look = index.operation(label.operation());
    let left_nothing = last_write(index, step.to, look).is_some_and(|(_, version)| version.is_dead());
    look.seen.is_dead() || left_nothing
}

/// A transaction's last write to the key that `look` looked at.
fn last_write<'a>(index: &Index<'a>, transaction: u32, look: &Operation) -> Option<(&'a Operation, Version)> {
    let (worker, record) = index.record(transaction);
    let (_, operations) = index.operations(transaction);
    let own = operations.iter().rev().filter(|own| (own.table, own.key) == (look.table, look.key));
    own.filter(|own| own.kind.writes()).map(|own| (own, left_by(worker, record, own))).next()
}

fn all_about_one_key(index: &Index<'_>, cycle: &[Step]) -> bool {
    let place = |step: &Step| {
        let operation = index.operation(step.label.expect("a cycle through data").operation());
        (operation.table, operation.key)
    };
    cycle.iter().all(|step| place(step) == place(&cycle[0]))
}
