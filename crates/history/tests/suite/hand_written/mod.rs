//! One rejected history for every name, and for most of them the accepted one beside it.

mod clocks;
mod cycles;
mod ids;
mod ranges;
mod single_keys;
mod snapshots;

use crate::script::{Draft, history_of};
use history::{AnomalyKind, Verdict, Version, check};

const LOADED: Version = Version::LOADED;
const MISSING: Version = Version::MISSING;
const PRESENT: Version = Version::PRESENT;

fn verdict(drafts: &[Draft], finals: &[(u64, Version)]) -> Verdict {
    check(&history_of(drafts, finals))
}

#[track_caller]
fn accepted(drafts: &[Draft], finals: &[(u64, Version)]) {
    let verdict = verdict(drafts, finals);
    assert!(verdict.is_strictly_serializable(), "{verdict}");
}

/// Rejected, for this reason only; gives back the words.
#[track_caller]
fn rejected(drafts: &[Draft], finals: &[(u64, Version)], kind: AnomalyKind) -> String {
    let verdict = verdict(drafts, finals);
    let kinds: Vec<_> = verdict.counts.keys().copied().collect();
    assert_eq!(kinds, [kind], "{verdict}");
    assert!(!verdict.anomalies.is_empty());
    verdict.to_string()
}

fn two() -> (Draft, Draft) {
    (Draft::new(0, 1), Draft::new(1, 1))
}
