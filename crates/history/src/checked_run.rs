//! A checked run from load to verdict, over any engine: what a harness does by hand when it wants to load once,
//! measure on the way, or show progress in between.

use crate::check::check;
use crate::checked::Checked;
use crate::final_read::{FinalRead, FinalReader};
use crate::history::History;
use crate::verdict::Verdict;
use contract::{
    Arrangement, Client, Engine, EngineOptions, LoadError, LogError, Measurement, Recovered, RecoveryOptions,
    RunError, RunOutcome, Selection, Until, Workload,
};
use std::fmt;
use std::path::PathBuf;

/// What runs, and for how long.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The system under test.
    pub selection: Selection,
    /// Its workers, one client each.
    pub workers: usize,
    /// Seed of the clients; the engine's is in `options`.
    pub seed: u64,
    /// When the run ends.
    pub until: Until,
    /// The engine's options.
    pub options: EngineOptions,
}

impl Setting {
    /// How the system under test uses its workers.
    ///
    /// Panics if the options do not fit: ask [`Engine::arrange`] first.
    pub fn arrangement<E: Engine>(&self) -> Arrangement {
        let arrangement = E::arrange(self.selection, self.workers, &self.options);
        arrangement.unwrap_or_else(|misfit| panic!("{misfit}"))
    }

    /// One client of `workload` per worker that hosts transactions.
    pub fn clients<E: Engine, W: Workload>(&self, workload: &W) -> Vec<W::Client> {
        let arrangement = self.arrangement::<E>();
        (0..arrangement.clients).map(|client| workload.client(arrangement.seat(client, self.seed))).collect()
    }

    /// Loads `workload` as the system under test wants its store laid out.
    pub fn load<E: Engine, W: Workload>(
        &self,
        workload: &W,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<E::Store, LoadError> {
        E::load(workload, self.arrangement::<E>().layout, progress)
    }

    /// A store with the rows that a log says ([`Engine::recover`]).
    pub fn recover<E: Engine, W: Workload>(
        &self,
        workload: &W,
        folders: &[PathBuf],
        options: &RecoveryOptions,
    ) -> Result<(E::Store, Recovered), LogError> {
        E::recover(workload, self.arrangement::<E>().layout, folders, options, &|_| ())
    }

    /// Runs clients. All checks share one compilation of each system, for the clients' type is erased.
    pub fn run<E: Engine, C: Client + 'static>(
        &self,
        store: &mut E::Store,
        clients: Vec<C>,
    ) -> Result<RunOutcome<C>, RunError> {
        E::run_checked(store, self.selection, clients, self.until, &self.options)
    }

    /// Reads back what a run left in `store`, with as many workers as the run had.
    pub fn read_back<E: Engine>(&self, store: &mut E::Store, read: &FinalRead) -> Vec<FinalReader> {
        let readers = self.clients::<E, _>(read);
        let until = Until::Transactions(read.transactions_per_worker(readers.len()));
        let run = Setting { until, ..self.clone() }.run::<E, _>(store, readers);
        run.expect("a final read declares what it reads").clients
    }
}

/// A run that could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckedRunError {
    /// The tables cannot be loaded.
    Load(LoadError),
    /// A procedure made a mistake.
    Run(RunError),
}

impl fmt::Display for CheckedRunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckedRunError::Load(error) => error.fmt(f),
            CheckedRunError::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CheckedRunError {}

impl From<LoadError> for CheckedRunError {
    fn from(error: LoadError) -> CheckedRunError {
        CheckedRunError::Load(error)
    }
}

impl From<RunError> for CheckedRunError {
    fn from(error: RunError) -> CheckedRunError {
        CheckedRunError::Run(error)
    }
}

/// A run, and what the checker says of it.
#[derive(Debug)]
pub struct CheckedRun<C> {
    /// What the transactions saw and wrote, and what was left.
    pub history: History,
    /// Whether that is strictly serializable.
    pub verdict: Verdict,
    /// What the engine measured. It says little: a checked run carries and notes stamps.
    pub measurement: Measurement,
    /// The workload's own clients.
    pub clients: Vec<C>,
}

/// Loads, runs, reads back and judges.
pub fn run_checked<E: Engine, W: Workload>(
    checked: &Checked<W>,
    setting: &Setting,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<CheckedRun<W::Client>, CheckedRunError> {
    let mut store = setting.load::<E, _>(checked, progress)?;
    let clients = setting.clients::<E, _>(checked);
    let run = setting.run::<E, _>(&mut store, clients)?;
    let (mut history, clients) = checked.history(run.clients);
    history.clocks = run.clocks;
    let read = FinalRead::of_stamps(checked, &history);
    history.finals = read.versions(setting.read_back::<E>(&mut store, &read));
    let verdict = check(&history);
    Ok(CheckedRun { history, verdict, measurement: run.measurement, clients })
}
