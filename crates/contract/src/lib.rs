//! What a stored procedure, a workload, the harness and an engine agree on.
//!
//! This crate knows no machine and no engine, so workloads, histories and the harness are compiled once
//! and run every compilation of the engine: the one for the hardware and the one for the simulated machine.
//!
//! | question | file |
//! |---|---|
//! | what can a transaction do? | [`transaction`], [`scan`] |
//! | how is a transaction written down? | [`procedure`], [`plan`] |
//! | what does it run over? | [`table`], [`header`] |
//! | who decides which transaction runs next? | [`workload`] |
//! | who runs them? | [`engine`]; of any type, compiled once: [`mod@erased`]; which of the two: [`compilation`] |
//! | what survives? | [`durability`] |
//! | what came of it? | [`measurement`] |
//! | by whose clock? | [`clocks`] |
//! | how are systems called? | [`names`] |
//! | among how many instances are workers divided? | [`instances`] |
#![forbid(unsafe_code)]

pub mod clocks;
pub mod compilation;
pub mod durability;
pub mod engine;
pub mod erased;
pub mod header;
pub mod in_flight;
pub mod instances;
pub mod measurement;
pub mod names;
pub mod open_loop;
pub mod plan;
pub mod procedure;
pub mod scan;
pub mod table;
pub mod telling;
pub mod transaction;
pub mod workload;

pub use clocks::{Clocks, Seen, Sighting};
pub use compilation::{AnyType, Compilation, OwnType};
pub use durability::{
    Backup, CheckpointReport, Durability, DurabilityCanary, InspectedFile, InspectedRows, LogEnd, LogError,
    LogInspection, LogManifest, LogOptions, LogReport, Recovered, RecoveryOptions,
};
pub use engine::{
    Arrangement, DeploymentCanary, Engine, EngineOptions, InstanceEngine, Layout, LeakCheck, LoadError,
    Misfit, Part, RunError, RunOutcome, Selection, SnapshotCanary, Support, Until,
};
pub use erased::{Erased, ErasedClient, erased};
pub use header::Header;
pub use in_flight::InFlight;
pub use instances::{Instances, Lost, Site};
pub use measurement::{
    Arrived, Effort, Events, KindCounts, LatencyHistogram, Measurement, Sampled, TimeClass, TimeShare,
};
pub use names::{
    ArchitectureName, ArrivalsName, BindingName, CanaryName, ChannelName, CountersName, LatchName, PairName,
    PartitionLatchName, PrefetchName, ProtocolName, TimestampsName, UnknownName,
};
pub use open_loop::{OpenLoop, Series, Slice, SliceHistogram};
pub use plan::{Access, Plan, PlannedKey, PlannedRange};
pub use procedure::{Outcome, Procedure};
pub use scan::{Direction, Scan};
pub use table::{Indexing, Key, PartitionFunction, PartitionId, RowLength, Span, TableDescription, TableId};
pub use transaction::{Abort, AbortReason, Insertion, Merge, Presence, Transaction, TransactionExt};
pub use workload::{Arrival, Client, CommitId, Completion, Receipts, Seat, SnapshotPlace, Workload};
