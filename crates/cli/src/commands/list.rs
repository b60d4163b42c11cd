//! `list`: what there is to choose from.

use crate::arguments::{help_of, json, typed};
use crate::commands::reproduce;
use crate::engines::Hardware;
use crate::{output, shipped};
use ::workloads::described::EXAMPLES;
use clap::{Arg, ArgMatches, Command};
use contract::{
    ArchitectureName, CanaryName, DeploymentCanary, DurabilityCanary, Engine, LatchName, PairName,
    ProtocolName, Support,
};
use harness::check::Own;
use harness::{BadValue, Failure};
use history::AnomalyKind;
use machine::simulated::Description;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Something that can be named.
#[derive(Serialize)]
struct Entry {
    name: String,
    summary: String,
    #[serde(skip_serializing_if = "Value::is_null")]
    more: Value,
}

type List = fn() -> Vec<Entry>;

const LISTS: [(&str, List); 11] = [
    ("workloads", workloads),
    ("workload-files", workload_files),
    ("check-workloads", check_workloads),
    ("architectures", architectures),
    ("protocols", protocols),
    ("pairs", pairs),
    ("canaries", canaries),
    ("anomalies", anomalies),
    ("latches", latches),
    ("machines", machines),
    ("experiments", experiments),
];

/// What can be typed.
pub fn arguments() -> Command {
    let names = LISTS.map(|(name, _)| name).join(", ");
    Command::new("list")
        .about("List what there is to choose from")
        .arg(Arg::new("what").value_name("WHAT").help(format!("{names} [default: all of them]")))
        .arg(json())
}

/// Lists.
pub fn list(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let lists: Vec<(&str, Vec<Entry>)> = match typed(matches, "what") {
        None => LISTS.iter().map(|(name, list)| (*name, list())).collect(),
        Some(what) => match LISTS.iter().find(|(name, _)| *name == what) {
            Some((name, list)) => vec![(*name, list())],
            None => {
                let allowed = LISTS.map(|(name, _)| name).join(", ");
                let bad = BadValue::new("list", what, allowed);
                return Err(Failure::Usage(bad.to_string()));
            }
        },
    };
    if matches.get_flag("json") {
        let mut object = json!({ "schema": "trireme.list/1" });
        for (name, entries) in &lists {
            object[*name] = json!(entries);
        }
        output::print_json(&object)?;
    } else {
        output::print(&text(&lists))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(lists: &[(&str, Vec<Entry>)]) -> String {
    let mut text = String::new();
    for (name, entries) in lists {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "{name}");
        let widest = entries.iter().map(|entry| entry.name.chars().count()).max().unwrap_or(0);
        for entry in entries {
            let _ = writeln!(text, "  {:widest$}  {}", entry.name, entry.summary);
            text += &parameters(entry);
        }
        if entries.is_empty() {
            let _ = writeln!(text, "  none here");
        }
    }
    text
}

/// The parameters of a workload, one a line.
fn parameters(entry: &Entry) -> String {
    let parameters = || entry.more["parameters"].as_array().into_iter().flatten();
    let part = |parameter: &Value, name: &str| parameter[name].as_str().unwrap_or_default().to_owned();
    let widest = parameters().map(|parameter| part(parameter, "name").len()).max().unwrap_or(0);
    parameters()
        .map(|parameter| {
            let [name, help, allowed, default] =
                ["name", "help", "allowed", "default"].map(|name| part(parameter, name));
            format!("      --{name:widest$}  {}\n", help_of(&help, &allowed, &default))
        })
        .collect()
}

fn plain(name: &str, summary: &str) -> Entry {
    Entry { name: name.to_owned(), summary: summary.to_owned(), more: Value::Null }
}

fn workloads() -> Vec<Entry> {
    let entry = |workload: &workloads::WorkloadDescription| {
        let parameters: Vec<Value> = workload
            .parameters
            .iter()
            .map(|parameter| {
                json!({
                    "name": parameter.name,
                    "default": parameter.default,
                    "allowed": parameter.allowed,
                    "help": parameter.help,
                })
            })
            .collect();
        Entry { more: json!({ "parameters": parameters }), ..plain(workload.name, workload.summary) }
    };
    ::workloads::descriptions().iter().map(entry).collect()
}

/// Any other file is a workload, too.
fn workload_files() -> Vec<Entry> {
    let entry = |(path, text): &(&str, &str)| {
        let says = text.lines().next().unwrap_or_default().trim_start_matches("# ");
        plain(path, &format!("{says} ('trireme compare {path}')"))
    };
    EXAMPLES.iter().map(entry).collect()
}

fn check_workloads() -> Vec<Entry> {
    Own::all().map(|own| plain(own.name(), own.summary())).collect()
}

fn architectures() -> Vec<Entry> {
    ArchitectureName::ALL.iter().map(|name| plain(name.name(), name.summary())).collect()
}

fn protocols() -> Vec<Entry> {
    ProtocolName::ALL.iter().map(|name| plain(name.name(), name.summary())).collect()
}

fn pairs() -> Vec<Entry> {
    let entry = |pair: PairName| match Hardware::support(pair) {
        Support::Supported => {
            Entry { more: json!({ "supported": true }), ..plain(&pair.to_string(), "supported") }
        }
        Support::SingleRecords => {
            let summary = "supported, for transactions of one read or write of a row that is there";
            let more = json!({ "supported": true, "single_records": true });
            Entry { more, ..plain(&pair.to_string(), summary) }
        }
        Support::Unsupported { why } => {
            Entry { more: json!({ "supported": false }), ..plain(&pair.to_string(), why) }
        }
    };
    PairName::all().map(entry).collect()
}

/// Those of protocols, of what nodes do together, and of logging and recovery: what each leaves out, and the line that is to find it.
fn canaries() -> Vec<Entry> {
    let entry = |breaks: &str, name: &str, omits: &str, shown_by: &str| Entry {
        more: json!({ "breaks": breaks }),
        ..plain(name, &format!("{omits}; shown by {shown_by}"))
    };
    let protocols = CanaryName::ALL.iter().map(|canary| {
        entry("protocol", canary.name(), canary.summary(), &format!("'check {}'", canary.shown_by()))
    });
    let nodes = DeploymentCanary::ALL.iter().map(|canary| {
        let (omits, takes) = of_nodes(*canary);
        let check = format!("'check WORKLOAD --protocol NAME {takes} --canary {}'", canary.name());
        let shown_by = match DeploymentCanary::OF_COMMIT.contains(canary) {
            true => format!("{check} and 'crash --kill node --canary {}'", canary.name()),
            false => check,
        };
        entry("nodes", canary.name(), omits, &shown_by)
    });
    let logs = DurabilityCanary::ALL.iter().map(|canary| {
        let kill = if *canary == DurabilityCanary::LocalAcknowledgement { "--kill node " } else { "" };
        let shown_by = format!("'crash {kill}--canary {}'", canary.name());
        entry("logs", canary.name(), of_logs(*canary), &shown_by)
    });
    protocols.chain(nodes).chain(logs).collect()
}

/// What nodes leave out of what they do together, and the nodes that it takes to see it.
fn of_nodes(canary: DeploymentCanary) -> (&'static str, &'static str) {
    match canary {
        DeploymentCanary::EarlyRelease => (
            "a participant commits, and releases, when it votes, and does not wait for the decision",
            "--cluster 2",
        ),
        DeploymentCanary::EarlyDecision => ("a coordinator decides by the first vote", "--cluster 3"),
        DeploymentCanary::OwnIds => {
            ("a node does not go on behind the ids that others tell it", "--cluster FILE_OF_SEVERAL_HOSTS")
        }
        DeploymentCanary::OneClock => (
            "times of several hosts are compared as if they were of one clock",
            "--cluster FILE_OF_SEVERAL_HOSTS",
        ),
    }
}

/// What logging or recovery leaves out.
fn of_logs(canary: DurabilityCanary) -> &'static str {
    match canary {
        DurabilityCanary::PublishBeforeSync => {
            "a logger publishes an epoch before it has written and synced it"
        }
        DurabilityCanary::OneEpochTooMany => "recovery takes one epoch more than is durable",
        DurabilityCanary::UncheckedChecksum => "recovery does not look at the checksums of blocks",
        DurabilityCanary::ForgetsADelete => "recovery from a checkpoint skips what the log says was deleted",
        DurabilityCanary::UndurableCheckpoint => {
            "a checkpoint counts although what its rows have of later epochs may not be durable yet"
        }
        DurabilityCanary::UnsyncedRecovery => {
            "a recovered log goes on, and what it was recovered from is not synced"
        }
        DurabilityCanary::BranchEpochs => {
            "a branch of a transaction of several instances is logged in the epoch in which it was prepared, not in the transaction's"
        }
        DurabilityCanary::LocalAcknowledgement => {
            "a node acknowledges what is durable there, and may not be at the others"
        }
    }
}

fn anomalies() -> Vec<Entry> {
    AnomalyKind::ALL.iter().map(|kind| plain(kind.name(), kind.summary())).collect()
}

fn latches() -> Vec<Entry> {
    LatchName::ALL.iter().map(|name| plain(name.name(), name.summary())).collect()
}

fn machines() -> Vec<Entry> {
    let entry = |file: &PathBuf| {
        let name = file.display().to_string();
        let text = shipped::text_of(file).unwrap_or_default();
        match Description::parse(&text) {
            Ok(machine) => plain(&name, &format!("{} cores: {}", machine.cores, machine.source)),
            Err(error) => plain(&name, &format!("unreadable: {error}")),
        }
    };
    shipped::files_below(shipped::MACHINES, "toml").iter().map(entry).collect()
}

fn experiments() -> Vec<Entry> {
    let entry = |file: &PathBuf| {
        let name = file.display().to_string();
        match shipped::experiment(file, crate::engines::cores()) {
            Ok(experiment) => plain(&name, &summary(file, &experiment.title)),
            Err(failure) => plain(&name, &format!("unreadable: {failure}")),
        }
    };
    shipped::files_below(shipped::EXPERIMENTS, "toml").iter().map(entry).collect()
}

/// What an experiment is, and the line that measures or simulates it.
fn summary(file: &Path, title: &str) -> String {
    match reproduce::name_of(file) {
        Some(figure) => format!("{title} ('trireme reproduce {figure}')"),
        None => format!("{title} ('trireme sweep {}')", file.display()),
    }
}
