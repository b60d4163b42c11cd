//! How Ignite isolates transactions, and what that is called in the matrix of ours.
//!
//! With optimistic concurrency and serializable isolation a transaction locks nothing before it commits; then its writes are locked, and everything
//! that it read must still have the version that it had (the node of each row's primary copy looks). That is what SILO does, and any
//! row is reached from anywhere: so it is asked for by the pair `shared-everything silo`, and held to be strictly serializable as that is.
//! With pessimistic concurrency and committed reads what was read is looked at no more: that is the canary `no-read-validation`.

use contract::{ArchitectureName, CanaryName, PairName, ProtocolName, Selection, Support};

/// How transactions are isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Optimistic, serializable.
    OptimisticSerializable,
    /// Pessimistic, reads what is committed: writes are locked, reads are not.
    PessimisticReadCommitted,
}

/// What asks for serializable transactions.
pub const SERIALIZABLE: Selection = Selection::Pair(PairName {
    architecture: ArchitectureName::SharedEverything,
    protocol: ProtocolName::Silo,
});

/// What asks for those whose reads nobody validates.
pub const CANARY: Selection =
    Selection::Canary(ArchitectureName::SharedEverything, CanaryName::NoReadValidation);

impl Isolation {
    /// What a selection asks for; otherwise why there is no such thing.
    pub fn of(selection: Selection) -> Result<Isolation, &'static str> {
        match selection {
            SERIALIZABLE => Ok(Isolation::OptimisticSerializable),
            CANARY => Ok(Isolation::PessimisticReadCommitted),
            Selection::Pair(_) => Err(
                "Ignite has protocols of its own; its optimistic serializable transactions stand for shared-everything silo",
            ),
            Selection::Canary(..) => Err(
                "Ignite has no such step to leave out; its canary is no-read-validation under shared-everything",
            ),
        }
    }

    /// Whether there is such a thing.
    pub fn support(selection: Selection) -> Support {
        match Isolation::of(selection) {
            Ok(_) => Support::Supported,
            Err(why) => Support::Unsupported { why },
        }
    }

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Isolation::OptimisticSerializable => "optimistic-serializable",
            Isolation::PessimisticReadCommitted => "pessimistic-read-committed",
        }
    }

    /// Concurrency and isolation, as the protocol has them.
    pub const fn on_the_wire(self) -> [u8; 2] {
        match self {
            Isolation::OptimisticSerializable => [0, 2],
            Isolation::PessimisticReadCommitted => [1, 0],
        }
    }
}
