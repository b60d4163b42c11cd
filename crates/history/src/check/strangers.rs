//! Versions that are not in their key's chain: whose they are, and what it is called that somebody met one.

use crate::check::index::{Index, Origin};
use crate::verdict::AnomalyKind;
use crate::version::Version;
use contract::{Key, TableId};

/// How the stranger was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A committed transaction observed it.
    Observed,
    /// A committed blind write replaced it.
    Replaced,
    /// The key holds it after the run.
    Held,
}

/// What is known of a stranger.
pub(crate) struct Stranger {
    pub kind: AnomalyKind,
    /// The transaction that wrote it, if that ever ended.
    pub writer: Option<u32>,
    /// "a version that T3 (worker 0, 1st attempt) replaced itself".
    pub words: String,
}

/// Traces a version that is not in the chain of the key at `place`.
pub(crate) fn trace(index: &Index<'_>, place: (TableId, Key), version: Version, role: Role) -> Stranger {
    let what = if version.is_dead() { "a deletion" } else { "a version" };
    let known = |kind, writer: u32, how: &str| {
        let words = format!("{what} that {} {how}", index.name(writer));
        Stranger { kind, writer: Some(writer), words }
    };
    let unknown = |kind, words: String| Stranger { kind, writer: None, words };
    match index.origin(version) {
        Origin::Committed(writer) => match index.written_as(writer, version) {
            None => known(dirty(role), writer, "never installed"),
            Some(own) if (own.table, own.key) == place => known(dirty(role), writer, "replaced itself"),
            Some(other) => {
                let there = index.history.key_in_words(other.table, other.key);
                known(AnomalyKind::CorruptValue, writer, &format!("wrote to {there}"))
            }
        },
        Origin::RolledBack(writer) => known(aborted(role), writer, "wrote before it rolled back"),
        Origin::AbortedAttempt(writer, of) => {
            let how = format!("wrote in an earlier attempt, number {}, which aborted", of.attempt + 1);
            known(aborted(role), writer, &how)
        }
        Origin::Unfinished(of) => unknown(
            aborted(role),
            format!("{what} of worker {}'s transaction {}, which never ended", of.worker, of.transaction),
        ),
        Origin::Nobody => {
            unknown(AnomalyKind::CorruptValue, format!("{version:?}, a version that nobody was ever given"))
        }
    }
}

fn dirty(role: Role) -> AnomalyKind {
    match role {
        Role::Observed => AnomalyKind::DirtyRead,
        Role::Replaced | Role::Held => AnomalyKind::DirtyWrite,
    }
}

fn aborted(role: Role) -> AnomalyKind {
    match role {
        Role::Observed | Role::Held => AnomalyKind::AbortedRead,
        Role::Replaced => AnomalyKind::DirtyWrite,
    }
}
