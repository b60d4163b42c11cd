//! `recover`: replays a run's log over the tables that it began from, and checks what comes of it.

use super::{log, verdict};
use crate::engines::{Job, Machine};
use crate::progress::Progress;
use crate::{nodes, output};
use ::workloads::audit::Audited;
use ::workloads::{AnyWorkload, Parameters, WorkloadVisitor};
use clap::{Arg, ArgAction, ArgMatches, Command};
use contract::{
    ArchitectureName, CheckpointReport, Engine, LogManifest, PairName, ProtocolName, Recovered,
    RecoveryOptions,
};
use harness::measure;
use harness::options::Origin;
use harness::summary::{Check, Memory};
use harness::text::numbers::counted;
use harness::{BadValue, Failure, Observer, RunOptions};
use serde_json::json;
use std::fmt::Write as _;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::process::ExitCode;

/// What can be typed.
pub fn arguments() -> Command {
    let command = Command::new("recover")
        .about("Recover what a run has logged, and check it")
        .arg(log::folders())
        .arg(Arg::new("salvage").long("salvage").action(ArgAction::SetTrue).help(
            "Of a log that is corrupt, recover the longest prefix of epochs that is intact, instead of refusing it",
        ))
        .arg(
            Arg::new("threads")
                .long("threads")
                .value_name("N")
                .help("Threads that replay [default: all cores]"),
        )
        .arg(crate::arguments::progress())
        .arg(crate::arguments::json())
        .after_help(
            "The tables are loaded from the log's checkpoint, or as they were when it began, every transaction of a durable epoch since is \
             replayed, and the workload's audit is made. The log is not changed. Exits with 1 if the log is corrupt, or the audit fails.",
        );
    nodes::with_cluster(command)
}

/// Recovers.
pub fn recover(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let folders = log::folders_of(matches)?;
    let threads = match crate::arguments::typed(matches, "threads") {
        None => 0,
        Some(value) => {
            let number = value.parse().ok().filter(|number| (1..=1024).contains(number));
            number.ok_or_else(|| BadValue::new("threads", value, "1 <= threads <= 1024"))?
        }
    };
    let how = RecoveryOptions { threads, salvage: matches.get_flag("salvage"), ..RecoveryOptions::default() };
    let machine = match nodes::group(matches)? {
        Some(group) => Machine::Cluster(group),
        None => Machine::Hardware,
    };
    if how.salvage && matches!(machine, Machine::Cluster(_)) {
        let what = "--salvage does not go with --cluster: what one instance has lost, others have";
        return Err(Failure::Usage(what.to_owned()));
    }
    if let (Machine::Hardware, [folder, ..]) = (machine, &folders[..])
        && folder.join("instance-0").is_dir()
    {
        let what =
            format!("{} has a folder for each of several instances: allowed: --cluster N", folder.display());
        return Err(Failure::Usage(what));
    }
    let manifest = machine.run(ReadManifest(&folders))?;
    let origin: Origin = serde_json::from_str(&manifest.origin)
        .map_err(|_| Failure::Usage("the log does not begin from a workload's tables".to_owned()))?;
    let parameters: Parameters =
        origin.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let workload = ::workloads::build(&origin.workload, &parameters)
        .map_err(|error| Failure::Usage(format!("the log's workload: {error}")))?;
    let options = nodes::options_of_log(machine, origin.nodes.as_ref())?;
    let progress = Progress::on(machine, matches);
    let job = Recovery {
        workload: &workload,
        options: &options,
        folders: &folders,
        how: &how,
        observer: &progress,
    };
    let (recovered, checks, memory) = machine.run(job)?;
    match matches.get_flag("json") {
        true => output::print_json(&json!({
            "schema": "trireme.recovery/1",
            "workload": origin.workload,
            "parameters": origin.parameters,
            "epoch": recovered.epoch,
            "transactions": recovered.transactions,
            "records": recovered.records,
            "left_out": recovered.left_out,
            "bytes": recovered.bytes,
            "files": recovered.files,
            "elapsed_s": recovered.elapsed.as_secs_f64(),
            "reading_s": recovered.reading.as_secs_f64(),
            "checkpoint": recovered.checkpoint,
            "lost": recovered.lost,
            "memory": memory,
            "checks": checks,
        }))?,
        false => output::print(&told(&origin, &recovered, &checks))?,
    }
    Ok(verdict(checks.iter().all(|check| check.passed) && recovered.lost.is_empty()))
}

fn told(origin: &Origin, recovered: &Recovered, checks: &[Check]) -> String {
    let mut text = String::new();
    let Recovered { epoch, transactions, records, bytes, files, left_out, .. } = recovered;
    let seconds = recovered.elapsed.as_secs_f64();
    let _ = writeln!(text, "{}: recovered up to epoch {epoch}, in {seconds:.2} s", origin.workload);
    let mut log_seconds = seconds;
    if let Some(CheckpointReport { from_epoch, rows, bytes, files, took_ns, .. }) = &recovered.checkpoint {
        let took = *took_ns as f64 / 1e9;
        log_seconds -= took;
        let _ = writeln!(
            text,
            "the checkpoint of epoch {from_epoch}: {rows} rows, of {:.1} MB in {}, in {took:.2} s",
            *bytes as f64 / 1e6,
            counted(*files as usize, "file"),
        );
    }
    let _ = writeln!(
        text,
        "the log: {transactions} transactions with {records} records, of {:.1} MB in {}, in {log_seconds:.2} s, {:.2} s of them to \
         read it",
        *bytes as f64 / 1e6,
        counted(*files as usize, "file"),
        recovered.reading.as_secs_f64(),
    );
    if *left_out > 0 {
        let why = match origin.nodes {
            None => "which nobody was told of",
            Some(_) => "which are not there at all instances",
        };
        let _ = writeln!(text, "left out: {left_out} transactions of later epochs, {why}");
    }
    if !recovered.lost.is_empty() {
        let _ = writeln!(text, "lost: {}", recovered.lost);
    }
    for check in checks {
        let detail = if check.passed { "passed" } else { &check.detail };
        let _ = writeln!(text, "{}: {detail}", check.name);
    }
    text
}

struct ReadManifest<'a>(&'a [PathBuf]);

impl Job for ReadManifest<'_> {
    type Output = Result<LogManifest, Failure>;

    fn on<E: Engine>(self) -> Self::Output {
        Ok(E::log_manifest(self.0)?)
    }
}

struct Recovery<'a> {
    workload: &'a AnyWorkload,
    options: &'a RunOptions,
    folders: &'a [PathBuf],
    how: &'a RecoveryOptions,
    observer: &'a dyn Observer,
}

impl Job for Recovery<'_> {
    type Output = Result<(Recovered, Vec<Check>, Memory), Failure>;

    fn on<E: Engine>(self) -> Self::Output {
        self.workload.visit(Over::<E>(self, PhantomData))
    }
}

/// Recovers a workload of whatever type.
struct Over<'a, E>(Recovery<'a>, PhantomData<E>);

impl<E: Engine> WorkloadVisitor for Over<'_, E> {
    type Output = Result<(Recovered, Vec<Check>, Memory), Failure>;

    fn visit<W: Audited>(self, workload: &W) -> Self::Output {
        let Recovery { options, folders, how, observer, .. } = self.0;
        let pair =
            PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Silo };
        measure::recover::<E, W>(workload, pair, folders, how, options, observer)
    }
}
