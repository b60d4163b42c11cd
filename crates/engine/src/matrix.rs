//! The matrix: the only place that names pairs of an architecture and a protocol, and the canaries.
//!
//! Every match is exhaustive, so a new architecture or protocol without its row does not compile.

use crate::physical::Shared;
use crate::protocol;
use crate::protocol::Protocol;
use crate::system::{self, Drives};
use contract::{ArchitectureName, CanaryName, Layout, PairName, ProtocolName, Selection, Support};

/// Whether a pair is supported, and if not, why.
pub(crate) fn support(pair: PairName) -> Support {
    match (pair.architecture, pair.protocol) {
        (
            ArchitectureName::SharedEverything,
            ProtocolName::NoWait
            | ProtocolName::TwoVersionNoWait
            | ProtocolName::DlDetect
            | ProtocolName::Silo,
        ) => Support::Supported,
    }
}

/// How an architecture wants its store laid out.
pub(crate) fn layout(architecture: ArchitectureName, _workers: usize) -> Layout {
    match architecture {
        ArchitectureName::SharedEverything => Layout { partitions: 1 },
    }
}

/// The most workers that an architecture allows.
pub(crate) fn most_workers(architecture: ArchitectureName) -> usize {
    match architecture {
        // A slot each, and the waits-for graph has a bit for every slot.
        ArchitectureName::SharedEverything => 1024,
    }
}

/// Drives the system that is selected.
pub(crate) fn drive<D: Drives>(selection: Selection, drives: D) -> D::Output {
    match (selection.architecture(), selection) {
        (ArchitectureName::SharedEverything, Selection::Pair(pair)) => match pair.protocol {
            ProtocolName::NoWait => shared_everything::<protocol::NoWait, D>(drives),
            ProtocolName::TwoVersionNoWait => shared_everything::<protocol::TwoVersionNoWait, D>(drives),
            ProtocolName::DlDetect => shared_everything::<protocol::DlDetect, D>(drives),
            ProtocolName::Silo => shared_everything::<protocol::Silo, D>(drives),
        },
        (ArchitectureName::SharedEverything, Selection::Canary(_, canary)) => match canary {
            CanaryName::NoReadValidation => shared_everything::<protocol::NoReadValidation, D>(drives),
            CanaryName::NoMissValidation => shared_everything::<protocol::NoMissValidation, D>(drives),
            CanaryName::EarlyRelease => shared_everything::<protocol::EarlyRelease, D>(drives),
            CanaryName::SkippedCertify => shared_everything::<protocol::SkippedCertify, D>(drives),
            CanaryName::DirtyReads => shared_everything::<protocol::DirtyReads, D>(drives),
        },
    }
}

fn shared_everything<P: Protocol, D: Drives>(drives: D) -> D::Output
where
    P::Common<Shared>: Sync,
{
    drives.drive::<system::SharedEverything<P, Shared>>()
}
