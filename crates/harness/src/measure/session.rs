//! One loaded store, and the repetitions that run over it.

use crate::failure::Failure;
use crate::observer::{Event, Observer};
use crate::options::{Logging, RunOptions};
use crate::summary::{Check, Memory};
use contract::{
    Compilation, CountersName, Durability, Engine, EngineOptions, Layout, LeakCheck, LogError, LogOptions,
    LogReport, Lost, Measurement, PrefetchName, Recovered, RecoveryOptions, RunError, Selection, Until,
    Workload,
};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use workloads::audit::{Audit, Audited, Finding};

/// A workload with its tables loaded.
pub struct Session<'a, E: Engine, W: Workload> {
    workload: &'a W,
    layout: Layout,
    store: E::Store,
    memory: Memory,
    /// All that have run over the store: an audit holds the tables against what they say.
    clients: Vec<W::Client>,
    /// Its number among the stores of this process.
    number: u64,
    /// Behind the store, so that nobody writes to them any more.
    passing: Passing,
    /// Whether it has what clients of another process left.
    is_recovered: bool,
}

/// Logs of earlier stores that are passed over.
const MOST_LEFT: u64 = 1000;

/// Refuses to go on where a process of several has dropped out.
fn all_there<E: Engine>() -> Result<(), Failure> {
    E::lost().map_or(Ok(()), |lost| Err(Failure::Run(RunError::Lost(lost))))
}

/// What the store holds, of all processes.
fn leaks<E: Engine>(store: &E::Store) -> Result<LeakCheck, Failure> {
    let leaks = E::leak_check(store);
    all_there::<E>()?;
    Ok(leaks)
}

/// Folders of a log that goes with its store.
struct Passing(Vec<PathBuf>);

impl Drop for Passing {
    fn drop(&mut self) {
        for folder in &self.0 {
            // Of a log that nobody asked to keep.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

impl<'a, E: Engine, W: Audited> Session<'a, E, W> {
    /// Loads the tables.
    pub fn load(workload: &'a W, layout: Layout, observer: &dyn Observer) -> Result<Self, Failure> {
        let rows: u64 = workload.tables().iter().map(|table| table.rows).sum();
        observer.tell(Event::LoadBegins { rows });
        let store = E::load(workload, layout, &|rows| observer.tell(Event::Loaded { rows }))?;
        observer.tell(Event::LoadEnds);
        let memory = Memory::loaded(E::memory_bytes(&store), rows);
        Ok(Self::over(workload, layout, store, memory, false))
    }

    /// Loads the tables as the log in these folders says.
    pub fn recover(
        workload: &'a W,
        layout: Layout,
        folders: &[PathBuf],
        options: &RecoveryOptions,
        observer: &dyn Observer,
    ) -> Result<(Self, Recovered), Failure> {
        let generated = || workload.tables().iter().map(|table| table.rows).sum();
        let rows = E::log_manifest(folders)?.checkpoint.map_or_else(generated, |checkpoint| checkpoint.rows);
        observer.tell(Event::LoadBegins { rows });
        let progress = |rows| observer.tell(Event::Loaded { rows });
        let (store, recovered) = E::recover(workload, layout, folders, options, &progress)?;
        observer.tell(Event::LoadEnds);
        let leaks = leaks::<E>(&store)?;
        let memory = Memory::loaded(leaks.memory_bytes, leaks.linked_records).now(&leaks);
        Ok((Self::over(workload, layout, store, memory, true), recovered))
    }

    fn over(workload: &'a W, layout: Layout, store: E::Store, memory: Memory, is_recovered: bool) -> Self {
        static STORES: AtomicU64 = AtomicU64::new(0);
        // Relaxed: a number of its own.
        let number = STORES.fetch_add(1, Ordering::Relaxed);
        let (clients, passing) = (Vec::new(), Passing(Vec::new()));
        Session { workload, layout, store, memory, clients, number, passing, is_recovered }
    }

    /// Whether nothing is held in the store.
    pub fn nothing_held(&self) -> Result<Check, Failure> {
        Ok(Check::nothing_held(&leaks::<E>(&self.store)?))
    }

    /// Logs what commits from now on, if that is asked for.
    fn log(&mut self, logging: &Logging) -> Result<(), Failure> {
        if logging.level != Durability::None && !self.has_log() {
            // Where runs repeat, the disk is a simulated one, and goes with the store.
            let goes = logging.each_apart && !E::REPEATS;
            let (options, new) = self.free_log(logging)?;
            if goes {
                // Of a log that cannot be opened, something may be there already.
                self.passing = Passing(new);
            }
            E::open_log(&mut self.store, &options)?;
            if goes {
                self.passing.0 = options.folders;
            }
        }
        Ok(())
    }

    /// The log of this store, or where each has one apart, of the next number of which nothing is there: a sweep that was interrupted has left its last one. And which of
    /// its folders were not there before.
    fn free_log(&self, logging: &Logging) -> Result<(LogOptions, Vec<PathBuf>), Failure> {
        let mut number = self.number;
        loop {
            let options = logging.of_store(number).expect("a level that logs");
            // Before it is admitted, for which nodes wait for each other: none has made one yet.
            let new = options.folders.iter().filter(|folder| !folder.exists()).cloned().collect();
            let is_there = match E::admit_new_log(&options.folders) {
                Ok(()) => return Ok((options, new)),
                Err(LogError::Occupied { .. } | LogError::Locked { .. }) => true,
                Err(LogError::Elsewhere { is_of_input, .. }) => is_of_input,
                Err(_) => false,
            };
            if !(logging.each_apart && !E::REPEATS && is_there) || number - self.number > MOST_LEFT {
                // What is wrong with it, it says when it is opened.
                return Ok((options, new));
            }
            number += 1;
        }
    }

    /// What a run has failed with. Of a log that goes with its store nobody is told what is in it.
    fn failed(&self, error: RunError) -> Failure {
        match error {
            RunError::Lost(lost) if !self.passing.0.is_empty() => {
                Failure::Run(RunError::Lost(Lost { acknowledged: None, ..lost }))
            }
            error => error.into(),
        }
    }

    /// The workload that it serves.
    pub fn workload(&self) -> &'a W {
        self.workload
    }

    /// How the store is laid out.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// What the store takes, after the last repetition.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// What the store's log has taken, if it has one.
    pub fn log_report(&self) -> Result<Option<LogReport>, Failure> {
        let report = E::log_report(&self.store);
        all_there::<E>()?;
        Ok(report)
    }

    /// Whether it is logged.
    pub fn has_log(&self) -> bool {
        E::log_report(&self.store).is_some()
    }

    /// Whether what runs over it next is what it would be over a newly loaded one: nothing has run over it, or nothing that one
    /// could tell.
    pub fn is_as_new(&self) -> bool {
        let is_as_loaded = self.memory.is_as_loaded() && !self.workload.is_data_dependent();
        self.clients.is_empty() || (is_as_loaded && !self.has_log())
    }

    /// Serves another workload from now on, whose tables are loaded as they are.
    pub fn turn_to(&mut self, workload: &'a W) {
        assert!(
            self.is_as_new() && workload.loads_as(self.workload),
            "a store that is not as if loaded for the workload"
        );
        self.workload = workload;
    }

    /// Runs one repetition and checks what it left behind.
    pub fn repetition(
        &mut self,
        selection: Selection,
        options: &RunOptions,
        repetition: usize,
    ) -> Result<(Measurement, Vec<Check>), Failure> {
        let until = Until::Interval { warmup: options.warmup, duration: options.duration };
        let seed = options.repetition_seed(repetition);
        self.log(&options.logging)?;
        let engine_options = options.engine_options(repetition);
        let arrangement = E::arrange(selection, options.workers, &engine_options)?;
        let client = |client| self.workload.client(arrangement.seat(client, seed));
        let clients = (0..arrangement.clients).map(client).collect();
        let run =
            W::Compilation::run::<E, W::Client>(&mut self.store, selection, clients, until, &engine_options)
                .map_err(|error| self.failed(error))?;
        if let Some(why) = run.log_failure {
            return Err(Failure::Run(RunError::Log { why }));
        }
        self.clients.extend(run.clients);
        let leaks = leaks::<E>(&self.store)?;
        self.memory = self.memory.now(&leaks);
        let checks = Self::checks(&leaks, &run.measurement);
        Ok((run.measurement, checks))
    }

    /// Whether the tables hold what the workload says that they must, as `selection` reads them: all of it, and behind that each condition that has a name; nothing if the workload
    /// says nothing.
    pub fn audit(&mut self, selection: Selection, options: &RunOptions) -> Result<Vec<Check>, Failure> {
        let Some(audit) = self.workload.audit() else { return Ok(Vec::new()) };
        // Nobody waits for an audit's transactions to arrive, and nobody measures them: they ask for lines ahead, whatever the run did.
        let (counters, prefetch) = (CountersName::Off, PrefetchName::On);
        let engine_options =
            EngineOptions { open_loop: None, series: false, counters, prefetch, ..options.engine_options(0) };
        let arrangement = E::arrange(selection, options.workers, &engine_options)?;
        let auditor = |client| audit.client(arrangement.seat(client, options.engine.seed));
        let mut auditors: Vec<_> = (0..arrangement.clients).map(auditor).collect();
        loop {
            let transactions = audit.assign(&mut auditors);
            if transactions == 0 {
                break;
            }
            let until = Until::Transactions(transactions);
            let store = &mut self.store;
            auditors = E::run_unmeasured(store, selection, auditors, until, &engine_options)
                .map_err(|error| self.failed(error))?
                .clients;
        }
        let verdict = match self.is_recovered {
            false => audit.verdict(&self.clients, &auditors),
            true => audit.verdict_of_anybody(&auditors),
        };
        let check = |name: &str, verdict: Result<(), Finding>| {
            let holds = verdict.is_ok();
            Check::new(name, holds, || verdict.err().map_or_else(String::new, |finding| finding.to_string()))
        };
        let conditions = audit.conditions(&auditors);
        let conditions = conditions.into_iter().map(|(name, verdict)| check(&name, verdict));
        Ok(std::iter::once(check("audit", verdict)).chain(conditions).collect())
    }

    /// What must hold after any run.
    fn checks(leaks: &LeakCheck, measurement: &Measurement) -> Vec<Check> {
        let by_worker: u64 = measurement.commits_by_worker.iter().sum();
        let latencies = measurement.latency_ns.len();
        // Of an open loop, those that arrived and never began have taken their time, too.
        let transactions =
            measurement.arrived.as_ref().map_or(measurement.response.samples, |all| all.arrived);
        vec![
            Check::nothing_held(leaks),
            Check::new("commits-add-up", by_worker == measurement.commits, || {
                format!("the workers committed {by_worker}, the total says {}", measurement.commits)
            }),
            Check::new("latencies-add-up", latencies <= transactions, || {
                format!("{latencies} latencies stand for {transactions} transactions")
            }),
        ]
    }
}
