//! How often the engine's systems are compiled for a workload.
//!
//! A system that is compiled for a workload's own type of client has no calls through pointers on a transaction's way. It costs
//! seconds of the build for every system and every such workload, so a workload wants it only if a measurement shows a
//! difference (`docs/results/build.md`), and an engine does it only for systems that read in their own thread.

use crate::{Client, Engine, EngineOptions, RunError, RunOutcome, Selection, Until};

/// A way to run clients.
pub trait Compilation {
    /// As [`Engine::run`].
    fn run<E: Engine, C: Client>(
        store: &mut E::Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError>;
}

/// For the workload's own type of client. In a debug build, which nobody measures, as [`AnyType`]: it takes minutes less.
#[derive(Debug)]
pub enum OwnType {}

impl Compilation for OwnType {
    fn run<E: Engine, C: Client>(
        store: &mut E::Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        #[cfg(debug_assertions)]
        return E::run_checked(store, selection, clients, until, options);
        #[cfg(not(debug_assertions))]
        E::run(store, selection, clients, until, options)
    }
}

/// Once for all workloads of this kind, in the engine's own crate ([`Engine::run_erased`]).
#[derive(Debug)]
pub enum AnyType {}

impl Compilation for AnyType {
    fn run<E: Engine, C: Client>(
        store: &mut E::Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        E::run_checked(store, selection, clients, until, options)
    }
}
