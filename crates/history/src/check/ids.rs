//! Ids that the engine gave to committed transactions: held against the dependencies that follow from what was seen and written.
//!
//! Who overwrites what another wrote or saw has the larger id. Who saw what another wrote has the larger one, or the same: under
//! protocols whose order is one of logical time.

use super::chain::Dependency;
use super::graph::Edge;
use super::index::Index;
use crate::verdict::{AnomalyKind, Findings};

/// Judges the ids of every two transactions of which one depends on the other.
pub(super) fn judge(index: &Index<'_>, edges: &[Vec<Edge>], findings: &mut Findings) {
    for edge in edges.iter().flatten() {
        let id = |transaction| index.record(transaction).1.id;
        let (Some(from), Some(to)) = (id(edge.from), id(edge.to)) else { continue };
        let dependency = edge.label.dependency();
        let agree = if dependency == Dependency::Observed { from <= to } else { from < to };
        if !agree {
            findings.found(AnomalyKind::DisorderedIds, || {
                let names = [edge.from, edge.to].map(|transaction| index.name(transaction));
                let did = match dependency {
                    Dependency::Overwrote => "overwrote what it wrote",
                    Dependency::Observed => "saw what it wrote",
                    Dependency::Missed => "overwrote what it saw",
                };
                let words =
                    format!("{} has id {}, and {}, which {did}, has id {}", names[0], from.0, names[1], to.0);
                (names.to_vec(), words)
            });
        }
    }
}
