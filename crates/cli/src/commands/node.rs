//! `node`: a process that takes part in runs which others start (`--cluster FILE`).
//!
//! It waits at an address, which is typed or which the cluster's file says (`--config FILE`), and starts, for everybody who connects, a process that carries out one command with one instance of the store, if he knows the secret. With `--attached` it is that process.

use crate::arguments::{self, typed};
use crate::commands::carry_out;
use crate::nodes::{self, program};
use clap::{Arg, ArgMatches, Command};
use cluster::Cluster;
use cluster::file::is_of_this_host;
use cluster::handshake::Credentials;
use cluster::tls::{self, Files, Tls};
use harness::text::durations;
use harness::{BadValue, Failure};
use machine::hardware::clock::Rehearsed;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};

/// What can be typed.
pub fn arguments() -> Command {
    let config = Arg::new("config").long("config").value_name("FILE").help(
        "The cluster's file, which --cluster reads where runs are started: where to wait, the secret, and the proofs of [tls]",
    );
    let number = Arg::new("node").long("node").value_name("K").help(
        "Which of its nodes this is; the first, 0, is the process that starts the run [default: the only one whose address is of this host]",
    );
    let listen = Arg::new("listen")
        .long("listen")
        .value_name("ADDRESS")
        .default_value("127.0.0.1:7717")
        .conflicts_with("config")
        .help("Where to wait; other hosts reach it at an address of theirs alone");
    let secret = Arg::new("secret")
        .long("secret")
        .value_name("FILE")
        .required_unless_present_any(["attached", "config"])
        .conflicts_with("config")
        .help("What who starts a run must know: 16 bytes or more");
    let proof = |option: &'static str, help: &'static str| {
        let others = tls::OPTIONS.into_iter().filter(move |other| *other != option);
        Arg::new(option)
            .long(option)
            .value_name("FILE")
            .requires_all(others)
            .conflicts_with("config")
            .help(help)
    };
    let ahead = Arg::new("clock-ahead").long("clock-ahead").value_name("TIME").help(
        "Rehearse several hosts on one: be of another host, whose clock is so much ahead of this one's; nodes that are told the same are of the same host",
    );
    let gains = Arg::new("clock-gains")
        .long("clock-gains")
        .value_name("PPM")
        .requires("clock-ahead")
        .help("And is so much faster, in millionths [default: 0]");
    let [certificate, key, authority] = tls::OPTIONS;
    let proofs = [
        proof(
            certificate,
            "Encrypt what nodes say over TCP, and prove who this one is by the certificate in this file (PEM)",
        ),
        proof(key, "The certificate's private key"),
        proof(authority, "The certificate of the authority that has signed those of all nodes"),
    ];
    let attached =
        Arg::new("attached").long("attached").value_name("KIND").value_parser(["unix", "tcp"]).hide(true);
    Command::new("node")
        .about("Take part in runs that others start with --cluster, until interrupted")
        .args([config, number, listen, secret, ahead, gains, attached])
        .args(proofs)
}

/// Takes part.
pub fn node(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    if let Some(kind) = typed(matches, "attached") {
        return attached(kind, matches);
    }
    let Place { address, named } = Place::of(matches)?;
    // Each process that is started reads again what would not do now.
    credentials(matches)?;
    rehearsed(matches)?;
    let mut words = files(matches).iter().flat_map(Files::words).collect::<Vec<_>>();
    for option in ["config", "secret", "clock-ahead", "clock-gains"] {
        words.extend(
            typed(matches, option).iter().flat_map(|value| [format!("--{option}"), value.to_string()]),
        );
    }
    cluster::node::listen(address, &words, nodes::log)
        .map_err(|error| Failure::Usage(format!("{named}: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Where to wait.
struct Place {
    address: SocketAddr,
    /// In words, by what was typed.
    named: String,
}

impl Place {
    /// What was typed, or the cluster's file says.
    fn of(matches: &ArgMatches) -> Result<Place, Failure> {
        if let Some(file) = typed(matches, "config") {
            let (number, address) = own(file, &cluster(file)?, typed(matches, "node"))?;
            return Ok(Place { address, named: format!("--config {file}: node {number}, at {address}") });
        }
        if let Some(number) = typed(matches, "node") {
            return Err(BadValue::new("node", number, "with --config FILE, whose nodes it counts").into());
        }
        let typed = typed(matches, "listen").expect("it has a default");
        let allowed = "an address and a port, such as 127.0.0.1:7717";
        let address = typed.parse().map_err(|_| BadValue::new("listen", typed, allowed))?;
        Ok(Place { address, named: format!("--listen {typed}") })
    }
}

fn cluster(file: &str) -> Result<Cluster, Failure> {
    Cluster::read(Path::new(file)).map_err(|why| Failure::Usage(format!("--config {file}: {why}")))
}

/// Which of the cluster's nodes this one is, and where it waits: the one that was typed, or the only one that is of this host.
fn own(file: &str, cluster: &Cluster, number: Option<&str>) -> Result<(usize, SocketAddr), Failure> {
    let waiting = cluster.waiting();
    let choices = waiting.iter().map(|(number, address)| format!("{number} ({address})"));
    let choices = choices.collect::<Vec<_>>().join(", ");
    let failed =
        |why: &str, allowed: &str| Err(Failure::Usage(format!("--config {file}: {why}; allowed: {allowed}")));
    if waiting.is_empty() {
        return failed("no node has an address, so that none waits", "[[node]] with an address");
    }
    if let Some(typed) = number {
        let typed_number = typed.parse::<usize>().ok();
        let found = waiting.into_iter().find(|(number, _)| Some(*number) == typed_number);
        let allowed = format!("{choices}: those of {file} that have an address");
        return found.ok_or_else(|| BadValue::new("node", typed, allowed).into());
    }
    let mut of_this_host = waiting.into_iter().filter(|(_, address)| is_of_this_host(*address));
    match (of_this_host.next(), of_this_host.next()) {
        (Some(own), None) => Ok(own),
        (Some(_), Some(_)) => failed("several of its nodes are of this host", &format!("--node {choices}")),
        (None, _) => failed("none of its nodes' addresses is of this host", &format!("--node {choices}")),
    }
}

/// What who connects must have, too.
fn credentials(matches: &ArgMatches) -> Result<Credentials, Failure> {
    let (secret, files) = match typed(matches, "config") {
        Some(file) => {
            let Cluster { secret, tls, .. } = cluster(file)?;
            (secret, tls)
        }
        None => (typed(matches, "secret").map(nodes::secret).transpose()?, files(matches)),
    };
    let tls = files.as_ref().map(Tls::read).transpose().map_err(Failure::Usage)?;
    Ok(Credentials { program: program()?, secret: secret.unwrap_or_default(), tls })
}

/// The clock that this node is to be taken to have, if one was typed.
fn rehearsed(matches: &ArgMatches) -> Result<Option<Rehearsed>, Failure> {
    let Some(ahead) = typed(matches, "clock-ahead") else { return Ok(None) };
    let gains = typed(matches, "clock-gains").unwrap_or("0");
    let allowed = "a whole number of millionths, at most 1000";
    Ok(Some(Rehearsed {
        ahead: durations::parse(ahead)
            .ok_or_else(|| BadValue::new("clock-ahead", ahead, durations::ALLOWED))?,
        gains_per_million: gains
            .parse()
            .ok()
            .filter(|gains| *gains <= 1000)
            .ok_or_else(|| BadValue::new("clock-gains", gains, allowed))?,
    }))
}

/// What says who this node is, if it was typed.
fn files(matches: &ArgMatches) -> Option<Files> {
    let [certificate, key, authority] = tls::OPTIONS.map(|option| typed(matches, option).map(PathBuf::from));
    Some(Files { certificate: certificate?, key: key?, authority: authority? })
}

/// Carries out what the first node says.
fn attached(kind: &str, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let failed = |why: String| Failure::Usage(format!("--attached {kind}: {why}"));
    // What is wrong with them is said: nobody else knows.
    let credentials = credentials(matches)?;
    if let Some(clock) = rehearsed(matches)? {
        cluster::rehearse(clock);
    }
    nodes::is_attached();
    // A node of the first one's host is told of there.
    let says = kind == "tcp";
    let log = move |what: &str| {
        if says {
            // Of this process nothing else is said; nobody may be listening.
            let _ = writeln!(io::stderr(), "trireme node: process {}: {what}", process::id());
        }
    };
    let ends = move || {
        nodes::forget_own_folder();
        log("the first node has ended, or cannot be reached");
    };
    let attached = cluster::node::attached(kind, credentials, ends);
    let (words, _) = attached.map_err(|error| failed(error.to_string()))?;
    log(&words.join(" "));
    let done = carry_out_words(words);
    if let Err(failure) = &done {
        log(&failure.to_string());
    }
    done
}

/// Carries out a line that the first node has read already.
pub fn carry_out_words(words: Vec<String>) -> Result<ExitCode, Failure> {
    let words = std::iter::once("trireme".to_owned()).chain(words).map(Into::into).collect();
    let typed = arguments::read_words(words)
        .map_err(|stopped| Failure::Usage(format!("what the first node says: {stopped}")))?;
    carry_out(&typed)
}
