//! A command whose instances are processes (`--cluster`): starting the other nodes, and being one of them.
//!
//! Every node carries out the same command ([`cluster`]). The first one is the process that a person has started: it says what comes of it, and writes the results. The
//! others say nothing, and write to a folder of their own that goes with them.

use crate::arguments::typed;
use crate::engines::{self, Machine};
use crate::interrupt;
use crate::output::say;
use clap::{Arg, ArgMatches, Command};
use cluster::fabric::{Fabric, Meeting};
use cluster::node::Role;
use cluster::{Cluster, Group, Secret};
use contract::telling::{tell, told};
use contract::{ChannelName, EngineOptions, Instances, Lost};
use harness::folder::Folder;
use harness::options::Nodes;
use harness::{BadValue, Failure, RunOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use std::{env, fs, process, thread};

/// Who takes part, in words.
static PLACE: OnceLock<String> = OnceLock::new();

/// Of a node that says nothing: where it writes to.
static OWN_FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Whether this process was started to be a node of somebody's run.
static IS_ATTACHED: AtomicBool = AtomicBool::new(false);

/// Of the first of the processes that a fabric has started: where the others wait, until it is a node or they are not needed.
static MEETING: Mutex<Option<Meeting>> = Mutex::new(None);

/// How long another one waits for what has started it to end it, if the first has, or the run cannot go on.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// From now on this process says nothing, and is not interrupted: it ends once its connection to the first node does, and takes with it what it has written.
pub fn is_attached() {
    // Relaxed, here and below: there is one thread yet.
    IS_ATTACHED.store(true, Ordering::Relaxed);
    interrupt::ignore();
}

/// `--cluster`.
pub fn with_cluster(command: Command) -> Command {
    let cluster = Arg::new("cluster")
        .long("cluster")
        .value_name("N|FILE")
        .help(
            "Let each instance be a process: so many on this host, or those of a cluster file, some of which may wait on other hosts ('trireme \
             node') [default: all instances are in this process]",
        )
        .help_heading("Measuring")
        .global(true);
    command.arg(cluster)
}

/// What tells this build from another one: nodes give each other what is in memory.
pub fn program() -> Result<String, Failure> {
    let path = env::current_exe().map_err(|error| Failure::Usage(format!("this program's file: {error}")))?;
    let bytes = fs::read(&path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
    Ok(format!("trireme {} (build {:08x})", clap::crate_version!(), crc32fast::hash(&bytes)))
}

/// Makes this process what it is among those that a fabric has started. `None`: the first; else what it is to do, which is nothing if the first does what needs no others.
pub fn of_fabric(fabric: &'static dyn Fabric, launcher: &str) -> Result<Option<Vec<String>>, Failure> {
    if fabric.number() > 0 {
        is_attached();
    }
    let ends = || {
        forget_own_folder();
        // What has started this process ends it, and says why the first has ended.
        thread::sleep(LAST_BREATH);
    };
    let role = cluster::node::of_fabric(fabric, &program()?, ends);
    Ok(match role.map_err(|why| Failure::Usage(format!("{launcher}: {why}")))? {
        Role::First(meeting) => {
            *meeting_place() = Some(meeting);
            None
        }
        Role::Node(words) => Some(words),
        Role::NotWanted => Some(Vec::new()),
    })
}

fn meeting_place() -> MutexGuard<'static, Option<Meeting>> {
    MEETING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells the processes that a fabric has started, and that are no nodes yet, that they are not needed; whether there are such.
pub fn dismiss() -> bool {
    meeting_place().take().map(Meeting::dismiss).is_some()
}

/// The group of this process: of a node that was told what to do, or of the first node of what `--cluster` says; `None`: it does not say anything.
pub fn group(matches: &ArgMatches) -> Result<Option<&'static Group>, Failure> {
    if let Some(group) = Group::get() {
        return Ok(Some(group));
    }
    let mut meeting = meeting_place();
    if let Some(others) = &*meeting {
        admit_meeting(matches, others)?;
        let meeting = meeting.take().expect("they wait there");
        let started = cluster::launch::start_by_fabric(&meeting, &own_words(), engines::cores());
        return started.map(Some).map_err(of_processes);
    }
    let Some(name) = typed(matches, "cluster") else { return Ok(None) };
    if let Some(on) = typed(matches, "on").filter(|on| *on != "hardware") {
        let allowed = "hardware with --cluster: simulated machines have their instances in one process";
        return Err(BadValue::new("on", on, allowed).into());
    }
    let failed = |why: String| Failure::Usage(format!("--cluster {name}: {why}"));
    let cluster = Cluster::named(name).map_err(failed)?;
    let is_of_this_host = cluster.others.iter().all(Option::is_none);
    if cluster.tls.is_some() && is_of_this_host && typed(matches, "channel") != Some("tcp") {
        say(&format!(
            "warning: --cluster {name}: [tls] encrypts what goes over TCP, and nodes of one host talk over {} unless told otherwise; leave it out, or \
              use --channel tcp",
            ChannelName::Unix
        ));
    }
    // Before any node is started.
    admit_workers(matches, cluster.nodes()).map_err(failed)?;
    let started = cluster::launch::start(&cluster, &program()?, &own_words(), engines::cores());
    started.map(Some).map_err(failed)
}

/// Refuses what several processes can not do together.
pub fn admit_command(command: Option<&str>) -> Result<(), Failure> {
    match command.filter(|command| !cluster::COMMANDS.contains(command)) {
        None => Ok(()),
        Some(command) => Err(Failure::Usage(format!(
            "{command}: allowed with several processes: {}; the others of trireme, in one",
            cluster::COMMANDS.join(", ")
        ))),
    }
}

fn of_processes(why: String) -> Failure {
    Failure::Usage(format!("the processes: {why}"))
}

/// Refuses what does not go with processes that a fabric has started, before they are nodes.
fn admit_meeting(matches: &ArgMatches, meeting: &Meeting) -> Result<(), Failure> {
    if meeting.nodes() < 2 {
        let allowed = "there is one; allowed: 2 or more, started by mpirun --bind-to none -n N";
        return Err(of_processes(allowed.to_owned()));
    }
    if let Some(cluster) = typed(matches, "cluster") {
        let allowed = "none: what has started the processes says which there are";
        return Err(BadValue::new("cluster", cluster, allowed).into());
    }
    if let Some(on) = typed(matches, "on").filter(|on| *on != "hardware") {
        let allowed = "hardware with several processes";
        return Err(BadValue::new("on", on, allowed).into());
    }
    admit_workers(matches, meeting.nodes()).map_err(of_processes)
}

/// What is no number, or stands in a file, is looked at later.
fn admit_workers(matches: &ArgMatches, nodes: usize) -> Result<(), String> {
    let workers = typed(matches, "workers").and_then(|workers| workers.parse::<usize>().ok());
    match workers.filter(|workers| *workers > 0 && !workers.is_multiple_of(nodes)) {
        Some(workers) => {
            Err(format!("{nodes} nodes; allowed: as many as divide the {workers} workers of --workers"))
        }
        None => Ok(()),
    }
}

fn own_words() -> Vec<String> {
    env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Where nodes of this group are, in words.
pub fn place(group: &Group) -> &'static str {
    PLACE.get_or_init(|| {
        let tls = if group.is_encrypted() { ", TLS" } else { "" };
        match group.host_count() {
            1 => format!("hardware, {} processes{tls}", group.nodes()),
            hosts => format!("hardware, {} nodes on {hosts} hosts{tls}", group.nodes()),
        }
    })
}

/// The options' defaults for it.
pub fn given(group: &Group, mut defaults: RunOptions) -> RunOptions {
    defaults.engine.instances = Instances::of(group.nodes());
    defaults.engine.channel = match (group.has_fabric(), group.is_one_host()) {
        (true, _) => ChannelName::Mpi,
        (false, true) => ChannelName::Unix,
        (false, false) => ChannelName::Tcp,
    };
    defaults
}

/// Refuses what nodes can not do.
pub fn admit(group: &Group, workers: usize, engine: &EngineOptions) -> Result<(), Failure> {
    let nodes = group.nodes();
    let is_one_each = match engine.instances {
        Instances::Count(count) => count.get() == nodes,
        Instances::PerCore => workers == nodes,
        // Whose sockets and machines they are, no node knows of the others.
        Instances::PerSocket | Instances::PerMachine => false,
    };
    if !is_one_each {
        let allowed = format!("{nodes} with --cluster, each of whose nodes has one");
        return Err(BadValue::new("instances", engine.instances, allowed).into());
    }
    if engine.global_ids {
        let allowed = "off with --cluster, each of whose nodes would count by itself";
        return Err(BadValue::new("global-ids", "on", allowed).into());
    }
    admit_channel(engine.channel, group.is_one_host(), group.has_fabric())
}

/// Refuses MPI where instances are not processes.
pub fn admit_within_process(channel: ChannelName) -> Result<(), Failure> {
    admit_channel(channel, true, false)
}

fn admit_channel(channel: ChannelName, is_one_host: bool, has_fabric: bool) -> Result<(), Failure> {
    match channel {
        ChannelName::Mpi if !has_fabric => {
            let allowed = "shared-memory, unix, tcp; MPI with mpirun --bind-to none -n N trireme-mpi, whose crate is crates/mpi, and the same words";
            Err(BadValue::new("channel", channel, allowed).into())
        }
        ChannelName::SharedMemory | ChannelName::Unix if !is_one_host => {
            let allowed =
                "tcp with nodes on several hosts, which share neither memory nor Unix domain sockets";
            Err(BadValue::new("channel", channel, allowed).into())
        }
        _ => Ok(()),
    }
}

/// What a log is recovered with: as many workers as it was written by, if instances were processes; `nodes`: what the log says of them.
pub fn options_of_log(machine: Machine, nodes: Option<&Nodes>) -> Result<RunOptions, Failure> {
    let options = machine.defaults(RunOptions::for_run);
    match (machine, nodes) {
        (Machine::Cluster(group), nodes) => {
            // Every node sees all of them, and so refuses what any would.
            let mut own = Vec::new();
            tell(&nodes, &mut own);
            let said = group.exchange("the run that wrote the log", own).map_err(lost)?;
            let read = |(instance, said): (usize, &Vec<u8>)| {
                told(said).ok_or_else(|| lost(Lost::new(instance, "what it said is no message")))
            };
            let all: Vec<Option<Nodes>> = said.iter().enumerate().map(read).collect::<Result<_, _>>()?;
            admit_logs(&all).map_err(Failure::Usage)?;
            let workers = nodes.expect("all logs are of one run").workers;
            Ok(RunOptions { workers, ..options })
        }
        (Machine::Hardware | Machine::Simulated(_), None) => Ok(options),
        (_, Some(Nodes { nodes, .. })) => Err(Failure::Usage(format!(
            "the log was written by {nodes} processes, an instance each: allowed: --cluster {nodes}, and the folder that the run was told"
        ))),
    }
}

/// Refuses logs that are not those of one run of so many instances, each in its place. `all`: what the log of each instance says of them; `None`: one process wrote it.
fn admit_logs(all: &[Option<Nodes>]) -> Result<(), String> {
    if all.iter().all(Option::is_none) {
        return Err("the log was written by one process: allowed: no --cluster".to_owned());
    }
    let first = all[0].as_ref();
    for (instance, told) in all.iter().enumerate() {
        let Some(Nodes { nodes, number, run, .. }) = told else {
            return Err(format!(
                "instance {instance}: the log was written by one process: allowed: that of one run's instances, each in its folder"
            ));
        };
        if *nodes != all.len() {
            return Err(format!(
                "instance {instance}: the log was written by {nodes} processes, an instance each: allowed: --cluster {nodes}, and the folder that the run was told"
            ));
        }
        let is_of_first_run = first.is_some_and(|first| first.run == *run);
        if *number != instance || !is_of_first_run {
            return Err(format!(
                "instance {instance}: its log is that of instance {number}{}: the logs of the instances are not those of one run, each in its folder",
                if is_of_first_run { "" } else { " of another run" }
            ));
        }
    }
    Ok(())
}

/// Says in a log how its tables are divided.
pub fn note_division(machine: Machine, options: &mut RunOptions) {
    if let Machine::Cluster(group) = machine {
        let (nodes, number) = (group.nodes(), group.number());
        let run = group.run().to_owned();
        options.logging.origin.nodes = Some(Nodes { nodes, number, workers: options.workers, run });
    }
}

/// Whether this process was started to be a node of somebody's run.
pub fn is_started_for_a_run() -> bool {
    IS_ATTACHED.load(Ordering::Relaxed)
}

/// Whether this process says what comes of the command.
pub fn speaks() -> bool {
    !is_started_for_a_run() && Group::get().is_none_or(Group::is_first)
}

/// The folder of the results: `made`, or of a node that says nothing one that goes with it.
pub fn folder(made: impl FnOnce() -> Result<Folder, Failure>) -> Result<Folder, Failure> {
    if speaks() {
        return made();
    }
    let run = Group::get().map_or("", Group::run);
    let folder = Folder::create_new(&folder_of(process::id(), run))?;
    OWN_FOLDER.get_or_init(|| folder.path().to_owned());
    Ok(folder)
}

/// The same for a command that goes on with what an earlier call has left in `journal`, which all nodes are given.
pub fn folder_to_go_on(
    journal: &str,
    made: impl FnOnce() -> Result<Folder, Failure>,
) -> Result<Folder, Failure> {
    let folder = folder(made)?;
    if let Some(group) = Group::get() {
        let path = folder.path().join(journal);
        let there = if speaks() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
        let given = group.from_first("an earlier call's journal", there).map_err(lost)?;
        if !speaks() && !given.is_empty() {
            fs::write(&path, given).map_err(Failure::write(&path))?;
        }
    }
    Ok(folder)
}

/// Of a node that says nothing, by its process and its run: numbers of processes come again, and what others have called so is theirs.
fn folder_of(process: u32, run: &str) -> PathBuf {
    env::temp_dir().join(format!("trireme-node-{process}-{run}"))
}

/// Ends the nodes that were started here, at once; nothing is left of them.
pub fn end_children(group: &Group) {
    group.end_children();
    forget_folders_of_children(group);
}

/// Removes what they had no time to, which have ended.
fn forget_folders_of_children(group: &Group) {
    for process in group.children() {
        // Most have none.
        let _ = fs::remove_dir_all(folder_of(process, group.run()));
    }
}

/// Removes what a node that says nothing has written.
pub fn forget_own_folder() {
    if let Some(folder) = OWN_FOLDER.get() {
        // Nobody looks for it.
        let _ = fs::remove_dir_all(folder);
    }
}

/// The run cannot go on, because a node has dropped out.
pub fn lost(lost: contract::Lost) -> Failure {
    Failure::Run(contract::RunError::Lost(lost))
}

/// The command is over: waits for the other nodes to be there, too; whether they were, or were not needed.
pub fn leave<T>(done: Result<T, Failure>) -> (Result<T, Failure>, bool) {
    let Some(group) = Group::get() else { return (done, dismiss()) };
    if !group.is_first() {
        forget_own_folder();
        if let Err(failure) = &done {
            group.fail(&failure.to_string());
        }
    }
    // Who has dropped out in the meantime was not needed any more.
    let together = done.is_ok() && group.exchange("the end", Vec::new()).is_ok();
    match group.is_first() {
        true => {
            group.await_others(together);
            forget_folders_of_children(group);
        }
        false if together => group.leave(),
        // What has started it would end the first for it, before that one has said what has happened.
        false if group.has_fabric() => thread::sleep(LAST_BREATH),
        false => {}
    }
    (done, together)
}

/// Says something that goes to the log of a node that waits for runs.
pub fn log(what: &str) {
    say(&format!("trireme node: {what}"));
}

/// A secret's file.
pub fn secret(path: &str) -> Result<Secret, Failure> {
    cluster::file::read_secret(Path::new(path)).map_err(Failure::Usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_those_of_one_run_each_in_its_place() {
        let of = |nodes, number, run: &str| Some(Nodes { nodes, number, workers: 2, run: run.to_owned() });
        assert_eq!(admit_logs(&[of(2, 0, "a"), of(2, 1, "a")]), Ok(()));
        for (all, expected) in [
            ([None, None], "the log was written by one process: allowed: no --cluster"),
            ([of(2, 0, "a"), None], "instance 1: the log was written by one process"),
            ([None, of(2, 1, "a")], "instance 0: the log was written by one process"),
            ([of(2, 0, "a"), of(3, 1, "b")], "instance 1: the log was written by 3 processes"),
            ([of(2, 0, "a"), of(2, 0, "a")], "instance 1: its log is that of instance 0: "),
            ([of(2, 1, "a"), of(2, 1, "a")], "instance 0: its log is that of instance 1: "),
            ([of(2, 0, "a"), of(2, 1, "b")], "instance 1: its log is that of instance 1 of another run: "),
        ] {
            let refused = admit_logs(&all).expect_err("they are not");
            assert!(refused.starts_with(expected), "{all:?}: {refused}");
        }
    }

    #[test]
    fn hosts_share_neither_memory_nor_sockets() {
        for &channel in ChannelName::ALL {
            admit_channel(channel, true, true).expect("within a host all are there");
            let refused = admit_channel(channel, false, true).err().map(|failure| failure.to_string());
            let reaches = matches!(channel, ChannelName::Tcp | ChannelName::Mpi);
            assert_eq!(refused.is_none(), reaches, "{refused:?}");
            assert!(
                refused.is_none_or(|words| words.contains(channel.name()) && words.contains("allowed: tcp"))
            );
            let refused = admit_within_process(channel).err().map(|failure| failure.to_string());
            assert_eq!(refused.is_some(), channel == ChannelName::Mpi, "{refused:?}");
            assert!(refused.is_none_or(|words| words.contains("mpirun")));
        }
    }
}
