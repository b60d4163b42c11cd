//! Nodes agree on what is to be measured.
//!
//! Every node carries out the command by itself ([`crate::nodes`]), with the files of its own host: an experiment, or a workload's file, may be another one there, or be missing. What each has made of them
//! it tells the others before anything is loaded. If that is not the same at all nodes, nothing is measured.

use crate::nodes;
use cluster::Group;
use contract::Lost;
use contract::telling::{tell, told};
use harness::Failure;
use harness::Subject;
use harness::folder::parameters::of_subject;
use harness::sweep::{Cases, Experiment};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs};

/// Everything that is set, by name.
type Settings = BTreeMap<String, String>;

/// What a node is about to do.
#[derive(Serialize, Deserialize)]
struct Intent {
    /// Where it is, in words.
    place: String,
    /// What it would measure, or why it cannot.
    settings: Result<Settings, String>,
}

/// So many differences are told.
const MOST_TOLD: usize = 3;

/// `own`, if all nodes are about to do the same. All of them call this at the same place of their way; in one process it is always so.
pub fn agreed<T>(own: Result<T, Failure>, settings: impl FnOnce(&T) -> Settings) -> Result<T, Failure> {
    let Some(group) = Group::get() else { return own };
    let intent = Intent { place: place(), settings: own.as_ref().map(settings).map_err(ToString::to_string) };
    let mut bytes = Vec::new();
    tell(&intent, &mut bytes);
    let all = group.exchange("what is to be measured", bytes).map_err(nodes::lost);
    // What is wrong here is said as it would be in one process.
    let (own, all) = (own?, all?);
    let understood = |(node, bytes): (usize, &Vec<u8>)| {
        told(bytes).ok_or_else(|| nodes::lost(Lost::new(node, "what it said is no message")))
    };
    let intents: Vec<Intent> = all.iter().enumerate().map(understood).collect::<Result<_, _>>()?;
    match disagreement(&intents) {
        None => Ok(own),
        Some(why) => Err(Failure::Usage(why)),
    }
}

/// Of one point.
pub fn of_point(subject: &Subject) -> Settings {
    let mut settings = of_subject(subject);
    settings.insert("workload".to_owned(), subject.workload.clone());
    settings
}

/// Of all points of a sweep.
pub fn of_sweep(experiment: &Experiment, cases: &Cases) -> Settings {
    let mut settings = cases.common();
    settings.extend(experiment.axes.iter().map(|axis| (axis.name.clone(), axis.values.join(", "))));
    // What follows from these may differ by what they do not show, such as the contents of a file that an axis names.
    let mut checksum = crc32fast::Hasher::new();
    cases.cases.iter().for_each(|case| checksum.update(format!("{:?}", case.settings).as_bytes()));
    let points = format!("{} (checksum {:08x})", cases.cases.len(), checksum.finalize());
    settings.insert("points".to_owned(), points);
    settings
}

/// What is not the same at all nodes, the first one's before.
fn disagreement(intents: &[Intent]) -> Option<String> {
    let first = intents.first()?;
    intents.iter().enumerate().find_map(|(node, Intent { place, settings })| {
        let there = match settings {
            Ok(there) => there,
            Err(why) => return Some(format!("node {node}, {place}: {why}")),
        };
        let here = first.settings.as_ref().expect("looked at before");
        let names: BTreeSet<&String> = here.keys().chain(there.keys()).collect();
        let differing: Vec<&&String> = names.iter().filter(|name| here.get(**name) != there.get(**name)).collect();
        let value = |of: &Settings, name: &str| of.get(name).map_or("none", String::as_str).to_owned();
        let shown = |name: &&&String| format!("{name} {} there, {} at the first", value(there, name), value(here, name));
        let more = differing.len().saturating_sub(MOST_TOLD);
        let mut told: Vec<String> = differing.iter().take(MOST_TOLD).map(shown).collect();
        told.extend((more > 0).then(|| format!("{more} more")));
        (!told.is_empty()).then(|| {
            format!("node {node}, {place}, would measure something else: {}; allowed: the same files at all nodes", told.join("; "))
        })
    })
}

/// Where this process is.
fn place() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let folder = env::current_dir()
        .map_or_else(|_| "a folder that is gone".to_owned(), |folder| folder.display().to_string());
    match host.trim() {
        "" => format!("in {folder}"),
        host => format!("at {host}, in {folder}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent(settings: &[(&str, &str)]) -> Intent {
        let settings =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Intent { place: "at h, in /f".to_owned(), settings: Ok(settings) }
    }

    #[test]
    fn what_differs_is_told() {
        let first = || intent(&[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5")]);
        assert_eq!(disagreement(&[first(), first(), first()]), None);
        assert_eq!(disagreement(&[]), None);
        let other = intent(&[("a", "1"), ("b", "7"), ("c", "3"), ("d", "4")]);
        assert_eq!(
            disagreement(&[first(), first(), other]).as_deref(),
            Some(
                "node 2, at h, in /f, would measure something else: b 7 there, 2 at the first; e none there, 5 at the first; allowed: the same files at all nodes"
            )
        );
        let many = disagreement(&[first(), intent(&[("f", "6")])]).expect("all of it differs");
        assert!(many.contains("c none there, 3 at the first; 3 more; allowed"), "{many}");
        let fails = Intent { settings: Err("my.toml: no such file".to_owned()), ..first() };
        let why = disagreement(&[first(), fails]);
        assert_eq!(why.as_deref(), Some("node 1, at h, in /f: my.toml: no such file"));
    }
}
