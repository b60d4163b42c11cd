//! The engine over all nodes of the group, for harnesses that do not know of them.
//!
//! Each node has the instance of its number: it loads the rows of that, and runs the clients that are at home there. What the others' clients have come to know it is told
//! afterwards ([`contract::Client::tell`]). What is measured is added up. So every call comes to the same at all nodes.

use crate::group::Group;
use contract::telling::{tell, told};
use contract::{
    ArchitectureName, Arrangement, Client, Clocks, DeploymentCanary, Engine, EngineOptions, ErasedClient,
    InstanceEngine, Layout, LeakCheck, LoadError, LogEnd, LogError, LogManifest, LogOptions, LogReport, Lost,
    Measurement, Misfit, PairName, ProtocolName, Recovered, RecoveryOptions, RunError, RunOutcome, Selection,
    Support, TableDescription, Until, Workload,
};
use engine::{Part, Store, ThisEngine};
use machine::hardware::worker;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::ops::Range;
use std::path::{self, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// See the module. Its functions panic in a process that is no node.
pub struct Together;

/// What a node's run came to, and what its clients tell.
type Ran = Result<(Measurement, Vec<Vec<u8>>, Option<String>), Lost>;

fn group() -> &'static Group {
    Group::get().expect("a process that is a node")
}

/// The part of so many that this node has.
fn own(of: usize) -> Range<usize> {
    let each = of / group().nodes();
    group().number() * each..(group().number() + 1) * each
}

/// Says this value, and is told those of all nodes.
fn all<T: Serialize + DeserializeOwned>(group: &Group, what: &str, own: &T) -> Result<Vec<T>, Lost> {
    // As JSON: some leave out what they do not have, and bytes do not say what is missing.
    let bytes = serde_json::to_vec(own).expect("it has no keys but strings");
    let all = group.exchange(what, bytes)?;
    let read = |(node, bytes): (usize, &Vec<u8>)| {
        serde_json::from_slice(bytes).map_err(|_| Lost::new(node, "what it said is no message"))
    };
    all.iter().enumerate().map(read).collect()
}

/// The same; if a node is lost, this one's alone: [`Together::lost`] says so.
fn all_or_own<T: Serialize + DeserializeOwned>(what: &str, own: T) -> Vec<T> {
    all(group(), what, &own).unwrap_or_else(|_| vec![own])
}

/// Where this node's log is, in a folder that all share or that is each node's own; from the root, so that whoever is told of it knows where.
fn own_folders(folders: &[PathBuf]) -> Vec<PathBuf> {
    let own = format!("instance-{}", group().number());
    let below = |folder: &PathBuf| path::absolute(folder).unwrap_or_else(|_| folder.clone()).join(&own);
    folders.iter().map(below).collect()
}

/// What this node has, if all have it. Whom nobody has heard does not agree.
fn agreed<T>(group: &Group, what: &str, own: Result<T, LogError>) -> Result<T, LogError> {
    let error = own.as_ref().err().map(|error| (error.to_string(), error.is_of_input()));
    let said = all(group, what, &error);
    let own = own?;
    let refused =
        said.map_err(LogError::Lost)?.into_iter().enumerate().find_map(|(node, why)| Some((node, why?)));
    match refused {
        Some((instance, (why, is_of_input))) => Err(LogError::Elsewhere { instance, why, is_of_input }),
        None => Ok(own),
    }
}

/// Progress of what takes long and is not broken off; says when a node is lost meanwhile.
fn watched(progress: &(dyn Fn(u64) + Sync)) -> impl Fn(u64) + Sync {
    let is_said = AtomicBool::new(false);
    move |rows| {
        if let Some(lost) = group().lost().filter(|_| group().is_first())
            && !is_said.swap(true, Ordering::Relaxed)
        {
            eprintln!("trireme: {lost}: this node ends once its own rows are loaded");
        }
        progress(rows);
    }
}

impl Together {
    fn run_own<C: Client>(
        what: &str,
        store: &mut Store,
        selection: Selection,
        clients: Vec<C>,
        options: &EngineOptions,
        run: impl FnOnce(&mut Store, Vec<C>, Part) -> Result<RunOutcome<C>, RunError>,
    ) -> Result<RunOutcome<C>, RunError> {
        let (group, all) = (group(), clients.len());
        let mut before = clients;
        let mut after = before.split_off(own(all).end);
        let here = before.split_off(own(all).start);
        let part = group.part(options.channel, here.len()).map_err(RunError::Lost)?;
        // Whoever counts an interval counts one in which all run.
        ThisEngine::get_part_ready(store, selection, options);
        group.exchange(what, Vec::new()).map_err(RunError::Lost)?;
        // Its workers leave the cores of the others to these.
        let (place, workers) = (group.place_on_host(), here.len());
        worker::are_among(place.rank * workers, place.of * workers);
        let ran = run(store, here, part);
        worker::are_among(0, 0);
        let mut bytes = Vec::new();
        tell(&of_run(group.number(), &ran), &mut bytes);
        let acknowledged = |lost: Lost| match &ran {
            Err(RunError::Lost(here)) => RunError::Lost(lost.beside(here)),
            _ => RunError::Lost(lost),
        };
        let said = group.exchange("ran", bytes).map_err(acknowledged)?;
        let said: Vec<Ran> =
            said.iter().enumerate().map(|(instance, said)| heard_from(instance, said)).collect();
        if let Some(lost) = cause(&said) {
            return Err(ran
                .err()
                .filter(|error| !matches!(error, RunError::Lost(_)))
                .unwrap_or(RunError::Lost(lost)));
        }
        let outcome = ran?;
        let mut measurement: Option<Measurement> = None;
        let mut log_failure = None;
        let mut heard: Vec<Vec<u8>> = Vec::with_capacity(all);
        for (its, clients, its_log) in said.into_iter().flatten() {
            heard.extend(clients);
            log_failure = log_failure.or(its_log);
            match &mut measurement {
                None => measurement = Some(its),
                Some(measurement) => measurement.merge(&its),
            }
        }
        let others = before.iter_mut().zip(&heard).chain(after.iter_mut().zip(&heard[own(all).end..]));
        for (client, heard) in others {
            client.hear(heard).expect("what a client of the same type has told");
        }
        let clients = before.into_iter().chain(outcome.clients).chain(after).collect();
        let measurement = measurement.expect("there are nodes");
        Ok(RunOutcome { clients, measurement, log_failure, clocks: Clocks::default() })
    }
}

impl Together {
    fn run_own_checked<C: Client>(
        store: &mut Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        Together::run_own(
            "a checked run begins",
            store,
            selection,
            clients,
            options,
            |store, clients, part| {
                ThisEngine::run_part_checked(store, selection, clients, until, options, part)
            },
        )
    }
}

/// What a node says of its run.
fn heard_from(instance: usize, said: &[u8]) -> Ran {
    let no_message = || Err(Lost::new(instance, "what it said is no message"));
    told(said).unwrap_or_else(no_message)
}

/// Why a run was broken off, if it was: not because another broke off, where that is known.
fn cause(said: &[Ran]) -> Option<Lost> {
    Lost::cause(said.iter().enumerate().filter_map(|(node, ran)| Some((node, ran.as_ref().err()?))))
}

/// What the others are told of a run.
fn of_run<C: Client>(instance: usize, ran: &Result<RunOutcome<C>, RunError>) -> Ran {
    match ran {
        Ok(RunOutcome { clients, measurement, log_failure, .. }) => {
            let told = clients.iter().map(|client| {
                let mut bytes = Vec::new();
                client.tell(&mut bytes);
                bytes
            });
            Ok((measurement.clone(), told.collect(), log_failure.clone()))
        }
        Err(RunError::Lost(lost)) => Err(lost.clone()),
        Err(error) => Err(Lost::new(instance, error.to_string())),
    }
}

impl Engine for Together {
    type Store = Store;

    fn support(selection: impl Into<Selection>) -> Support {
        let why = "its transactions do not span processes: allowed: shared-everything with no-wait or silo";
        match selection.into() {
            Selection::Pair(PairName {
                architecture: ArchitectureName::SharedEverything,
                protocol: ProtocolName::NoWait | ProtocolName::Silo,
            }) => Support::Supported,
            _ => Support::Unsupported { why },
        }
    }

    fn arrange(
        selection: impl Into<Selection>,
        workers: usize,
        options: &EngineOptions,
    ) -> Result<Arrangement, Misfit> {
        ThisEngine::arrange(selection, workers, options)
    }

    fn why_no_counters() -> Option<String> {
        ThisEngine::why_no_counters()
    }

    fn most_workers(architecture: ArchitectureName) -> usize {
        ThisEngine::most_workers(architecture)
    }

    fn load<W: Workload>(
        workload: &W,
        layout: Layout,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Store, LoadError> {
        let of = own(layout.partitions as usize);
        let progress = watched(progress);
        let loaded = ThisEngine::load_part(workload, layout, of.start as u32..of.end as u32, &progress);
        let said = all(group(), "loaded", &loaded.as_ref().err().cloned());
        let loaded = loaded?;
        match said.map_err(LoadError::Lost)?.into_iter().flatten().next() {
            None => Ok(loaded),
            Some(error) => Err(error),
        }
    }

    fn run<C: Client>(
        store: &mut Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        Together::run_own("a run begins", store, selection, clients, options, |store, clients, part| {
            ThisEngine::run_part(store, selection, clients, until, options, part)
        })
    }

    fn run_erased(
        store: &mut Store,
        selection: Selection,
        clients: Vec<ErasedClient>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<ErasedClient>, RunError> {
        Together::run_own_checked(store, selection, clients, until, options)
    }

    /// Says by which clocks, which takes some messages there and back.
    fn run_checked<C: Client>(
        store: &mut Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        let (group, clients_each) = (group(), clients.len() / group().nodes());
        let before = group.look_at_clocks().map_err(RunError::Lost)?;
        let ran = Together::run_own_checked(store, selection, clients, until, options)?;
        let after = group.look_at_clocks().map_err(RunError::Lost)?;
        let clocks = match options.deployment_canary {
            Some(DeploymentCanary::OneClock) => Clocks::default(),
            _ => group.clocks(before, after, clients_each),
        };
        Ok(RunOutcome { clocks, ..ran })
    }

    fn lost() -> Option<Lost> {
        group().lost().cloned()
    }

    fn leak_check(store: &Store) -> LeakCheck {
        all_or_own("looked for leaks", ThisEngine::leak_check(store))
            .into_iter()
            .reduce(LeakCheck::and)
            .expect("a node")
    }

    fn admit_new_log(folders: &[PathBuf]) -> Result<(), LogError> {
        agreed(group(), "a new log", ThisEngine::admit_new_log(&own_folders(folders)))
    }

    fn open_log(store: &mut Store, options: &LogOptions) -> Result<(), LogError> {
        let options = LogOptions { folders: own_folders(&options.folders), ..options.clone() };
        let made: Vec<PathBuf> = options.folders.iter().filter(|folder| !folder.exists()).cloned().collect();
        let opened = ThisEngine::open_log(store, &options);
        let is_here = opened.is_ok();
        let agreed = agreed(group(), "a log begins", opened);
        if is_here && agreed.is_err() {
            // Nothing has run, and what is not a log everywhere is in the way of the next one. In a folder that was there before may be what others have put there.
            made.iter().for_each(|folder| drop(fs::remove_dir_all(folder)));
        }
        agreed
    }

    fn log_report(store: &Store) -> Option<LogReport> {
        let own = ThisEngine::log_report(store)?;
        let all = all_or_own("what was logged", own);
        let durable_epoch = all.iter().map(|report| report.durable_epoch).min().expect("a node");
        let together = all.into_iter().reduce(LogReport::beside).expect("a node");
        Some(LogReport { durable_epoch, ..together })
    }

    fn recover<W: Workload>(
        workload: &W,
        layout: Layout,
        folders: &[PathBuf],
        options: &RecoveryOptions,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<(Store, Recovered), LogError> {
        let folders = own_folders(folders);
        let inspected = ThisEngine::inspect_log(&folders).as_ref().map(LogEnd::of).map_err(LogError::clone);
        let end = agreed(group(), "what is durable", inspected)?;
        // What is not durable everywhere nobody was told of.
        let up_to = LogEnd::common(&all(group(), "up to which epoch", &end).map_err(LogError::Lost)?)?;
        let options = RecoveryOptions { up_to: Some(up_to), ..*options };
        let of = own(layout.partitions as usize);
        let of = of.start as u32..of.end as u32;
        let progress = watched(progress);
        let recovered = ThisEngine::recover_part(workload, layout, &folders, &options, of, &progress);
        let (store, own) = agreed(group(), "recovered", recovered)?;
        let together = all(group(), "what was recovered", &own).map_err(LogError::Lost)?;
        Ok((store, together.into_iter().reduce(Recovered::beside).expect("a node")))
    }

    fn log_manifest(folders: &[PathBuf]) -> Result<LogManifest, LogError> {
        agreed(group(), "a log's manifest", ThisEngine::log_manifest(&own_folders(folders)))
    }

    fn available_bytes() -> u64 {
        all_or_own("looked for memory", ThisEngine::available_bytes()).into_iter().min().expect("a node")
    }

    fn needed_bytes(tables: &[TableDescription], layout: Layout) -> u64 {
        ThisEngine::needed_bytes(tables, layout)
    }

    fn memory_bytes(store: &Store) -> u64 {
        all_or_own("counted memory", ThisEngine::memory_bytes(store)).into_iter().sum()
    }
}
