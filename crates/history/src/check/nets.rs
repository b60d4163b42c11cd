//! What one transaction did to one key, as all others see it: the first version that it observed, the version
//! that it replaced, and the last one that it left. On the way it is checked that the transaction agrees with
//! itself: it sees its own writes, and until the first of them it sees one version only.

use crate::check::accesses::Access;
use crate::check::index::{Index, NOBODY};
use crate::operation::OperationKind;
use crate::verdict::{AnomalyKind, Findings};
use crate::version::Version;

/// One transaction's net effect on one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Net {
    pub transaction: u32,
    /// The version that it observed, before any write of its own.
    pub observed: Option<Version>,
    /// What the observed stamp said it had replaced.
    pub fold: u16,
    /// The operation that observed; [`NOBODY`] if none did.
    pub look: u32,
    /// What it did to the chain of versions.
    pub write: Option<NetWrite>,
}

/// One transaction's net change of one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NetWrite {
    /// The version that it replaced; [`Version::PRESENT`] for a real delete, which replaced the last one.
    pub replaced: Version,
    /// The version that it left.
    pub left: Version,
    /// Its last write.
    pub operation: u32,
    /// [`Version::fold`] of what the stamp that it left says it replaced.
    pub told: u16,
}

/// What [`Version::MISSING`] means for a key: the version that a real delete left, or the state before any insert.
///
/// Panics if the history breaks the rule of [`crate::Deletes::Real`].
pub(crate) fn meaning_of_missing(index: &Index<'_>, accesses: &[Access]) -> Version {
    let mut meaning = Version::ABSENT;
    if !accesses.iter().any(is_real_delete) {
        return meaning;
    }
    let words = || index.history.key_in_words(accesses[0].table, accesses[0].key);
    let mut inserted = false;
    for own in accesses.chunk_by(|one, other| one.transaction == other.transaction) {
        let mut writes = own.iter().filter(|access| access.kind.writes() && !access.is_final());
        let Some(first) = writes.next() else { continue };
        let last = writes.next_back().unwrap_or(first);
        if first.kind == OperationKind::Insert {
            inserted |= !is_real_delete(last);
        } else if own.iter().any(is_real_delete) {
            assert!(
                is_real_delete(last),
                "{} was deleted and inserted again, which Deletes::Real cannot judge",
                words()
            );
            meaning = last.left;
        }
    }
    assert!(
        !inserted || meaning == Version::ABSENT,
        "{} was both inserted and deleted in one run, which Deletes::Real cannot judge",
        words()
    );
    meaning
}

/// Whether the row itself went, and not only its content.
fn is_real_delete(access: &Access) -> bool {
    access.kind.really_deletes(access.seen)
}

/// Sums up what one transaction did to one key; `own` is all of it, in order.
pub(crate) fn net_of(index: &Index<'_>, own: &[Access], missing: Version, findings: &mut Findings) -> Net {
    let transaction = own[0].transaction;
    let mut net = Net { transaction, observed: None, fold: 0, look: NOBODY, write: None };
    let (mut inserted_here, mut really_deleted) = (false, false);
    for access in own {
        let seen = if access.seen == Version::MISSING { missing } else { access.seen };
        match (net.write, net.observed) {
            (Some(write), _) => agree_with_own_write(index, access, write, really_deleted, findings),
            (None, None) if access.kind.looks() => {
                (net.observed, net.fold, net.look) = (Some(seen), access.fold, access.operation);
            }
            (None, Some(Version::PRESENT)) if access.kind.looks() && !seen.is_dead() => {
                // A second look knows more precisely what the first one only knew to be there.
                (net.observed, net.fold, net.look) = (Some(seen), access.fold, access.operation);
            }
            (None, Some(observed)) if access.kind.looks() && !agree(observed, seen) => {
                report_two_sights(index, access, (net.look, observed), seen, findings);
            }
            (None, _) => judge_blind_write(index, access, seen, findings),
        }
        if access.kind.writes() {
            inserted_here |= net.write.is_none() && access.kind == OperationKind::Insert;
            really_deleted = is_real_delete(access);
            let replaced = net.write.map_or(seen, |write| write.replaced);
            net.write = Some(NetWrite {
                replaced,
                left: access.left,
                operation: access.operation,
                told: access.seen.fold(),
            });
        }
    }
    if inserted_here && really_deleted {
        // Nothing of it is left: the others see neither the insert nor the delete.
        net.write = None;
    }
    net
}

/// Whether two looks without a write between them may belong to one transaction.
fn agree(one: Version, other: Version) -> bool {
    let vague = one == Version::PRESENT || other == Version::PRESENT;
    one == other || (vague && !one.is_dead() && !other.is_dead())
}

/// Two looks that do not agree: a row that came or went between them is a phantom if one of them was a scan.
fn report_two_sights(
    index: &Index<'_>,
    access: &Access,
    (look, observed): (u32, Version),
    seen: Version,
    findings: &mut Findings,
) {
    let scan = index.scan_of(access.operation).or_else(|| index.scan_of(look));
    let kind = match scan {
        Some(_) if observed.is_dead() != seen.is_dead() => AnomalyKind::Phantom,
        _ => AnomalyKind::NonRepeatableRead,
    };
    findings.found(kind, || {
        let (name, key) =
            (index.name(access.transaction), index.history.key_in_words(access.table, access.key));
        let (one, other) = (version_in_words(index, observed), version_in_words(index, seen));
        let mut words = format!("{name} looked at {key} twice, and saw first {one}, then {other}");
        if let Some(scan) = scan {
            words += &format!(", in a scan of {}", index.history.range_in_words(scan));
        }
        (vec![name], words)
    });
}

/// A blind write was told that there is a row, so it must have replaced one.
fn judge_blind_write(index: &Index<'_>, access: &Access, seen: Version, findings: &mut Findings) {
    if access.kind == OperationKind::Write && seen.is_dead() {
        findings.found(AnomalyKind::Phantom, || {
            let name = index.name(access.transaction);
            let key = index.history.key_in_words(access.table, access.key);
            let what = version_in_words(index, seen);
            (vec![name], format!("{name} was told that {key} has a row, and then wrote over {what}"))
        });
    }
}

/// After its own write a transaction sees the version that it left; after a real delete, none.
fn agree_with_own_write(
    index: &Index<'_>,
    access: &Access,
    own: NetWrite,
    really_deleted: bool,
    findings: &mut Findings,
) {
    let agrees = match access.seen {
        Version::MISSING => really_deleted,
        Version::PRESENT => !own.left.is_dead(),
        seen => seen == own.left,
    };
    if agrees {
        return;
    }
    let name = index.name(access.transaction);
    let key = index.history.key_in_words(access.table, access.key);
    let seen = version_in_words(index, access.seen);
    if access.kind == OperationKind::Write {
        findings.found(AnomalyKind::DirtyWrite, || {
            (vec![name], format!("{name} wrote {key} twice, and between its two writes came {seen}"))
        });
    } else {
        findings.found(AnomalyKind::InternalInconsistency, || {
            (vec![name], format!("{name} wrote {key}, looked at it again, and saw {seen} instead of its own"))
        });
    }
}

/// "T3's version", "the loaded row", "no row".
pub(crate) fn version_in_words(index: &Index<'_>, version: Version) -> String {
    match version {
        Version::LOADED => "the loaded row".to_owned(),
        Version::PRESENT => "a row".to_owned(),
        Version::MISSING | Version::ABSENT => "no row".to_owned(),
        _ => {
            let what = if version.is_dead() { "deletion" } else { "version" };
            match index.writer(version) {
                Some(writer) => format!("T{writer}'s {what}"),
                None => format!("a {what} of no committed transaction ({version:?})"),
            }
        }
    }
}
