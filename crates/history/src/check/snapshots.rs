//! Snapshots, as the engine numbers them: held against the dependencies that follow from what was seen and written.
//!
//! A snapshot shows all that was committed before it, and nothing else. So who saw what another wrote read that one's snapshot or a later
//! one; who missed it read an earlier one; and of two that wrote, the one that depends on the other is in the same one or a later one.
//! Without this a reader that is always shown the loaded rows would pass: that is serializable.

use super::graph::Edge;
use super::index::Index;
use crate::verdict::{AnomalyKind, Findings};
use contract::SnapshotPlace;

/// Judges the snapshots of every two transactions of which one depends on the other.
pub(super) fn judge(index: &Index<'_>, edges: &[Vec<Edge>], findings: &mut Findings) {
    for edge in edges.iter().flatten() {
        let place = |transaction| index.record(transaction).1.snapshot;
        let (Some(from), Some(to)) = (place(edge.from), place(edge.to)) else { continue };
        let agree = match (from, to) {
            (SnapshotPlace::ShownBy(from), SnapshotPlace::ShownBy(to) | SnapshotPlace::Read(to)) => {
                from <= to
            }
            (SnapshotPlace::Read(from), SnapshotPlace::ShownBy(to)) => from < to,
            // Nobody depends on who has only read.
            (SnapshotPlace::Read(_), SnapshotPlace::Read(_)) => false,
        };
        if !agree {
            findings.found(AnomalyKind::WrongSnapshot, || {
                let names = [edge.from, edge.to].map(|transaction| index.name(transaction));
                let place = |place| match place {
                    SnapshotPlace::ShownBy(number) => format!("is shown by snapshot {number}"),
                    SnapshotPlace::Read(number) => format!("has read snapshot {number}"),
                };
                let words = format!(
                    "{} {}, and {}, which comes after it, {}",
                    names[0],
                    place(from),
                    names[1],
                    place(to)
                );
                (names.to_vec(), words)
            });
        }
    }
}
