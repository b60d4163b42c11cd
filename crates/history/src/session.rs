//! A checked run from load to verdict, over any engine: what a harness does by hand when it wants to load once,
//! measure on the way, or show progress in between.

use crate::check::check;
use crate::checked::Checked;
use crate::final_read::{FinalRead, FinalReader};
use crate::history::History;
use crate::verdict::Verdict;
use contract::{Engine, EngineOptions, LoadError, Measurement, Seat, Selection, Until, Workload};

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
    /// One client of `workload` per worker.
    pub fn clients<W: Workload>(&self, workload: &W) -> Vec<W::Client> {
        let (workers, seed) = (self.workers, self.seed);
        (0..workers).map(|worker| workload.client(Seat { worker, workers, seed })).collect()
    }

    /// Loads `workload` as the system under test wants its store laid out.
    pub fn load<E: Engine, W: Workload>(
        &self,
        workload: &W,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<E::Store, LoadError> {
        E::load(workload, E::layout(self.selection.architecture(), self.workers), progress)
    }

    /// Reads back what a run left in `store`, with as many workers as the run had.
    pub fn read_back<E: Engine>(&self, store: &mut E::Store, read: &FinalRead) -> Vec<FinalReader> {
        let until = Until::Transactions(read.transactions_per_worker(self.workers));
        E::drive::<FinalRead>(store, self.selection, self.clients(read), until, &self.options).clients
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

/// Loads, drives, reads back and judges.
pub fn run_checked<E: Engine, W: Workload>(
    checked: &Checked<W>,
    setting: &Setting,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<CheckedRun<W::Client>, LoadError> {
    let mut store = setting.load::<E, _>(checked, progress)?;
    let clients = setting.clients(checked);
    let drive =
        E::drive::<Checked<W>>(&mut store, setting.selection, clients, setting.until, &setting.options);
    let (mut history, clients) = checked.history(drive.clients);
    let read = FinalRead::of_stamps(checked, &history);
    history.finals = read.versions(setting.read_back::<E>(&mut store, &read));
    let verdict = check(&history);
    Ok(CheckedRun { history, verdict, measurement: drive.measurement, clients })
}
