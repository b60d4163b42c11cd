//! `node`: a process that takes part in runs which others start (`--cluster FILE`).
//!
//! It waits at an address and starts, for everybody who connects, a process that carries out one command with one instance of the store, if he knows the secret. With `--attached` it is that process.

use crate::arguments::{self, typed};
use crate::commands::carry_out;
use crate::nodes::{self, program};
use clap::{Arg, ArgMatches, Command};
use cluster::handshake::Credentials;
use cluster::tls::{self, Files, Tls};
use harness::text::durations;
use harness::{BadValue, Failure};
use machine::hardware::clock::Rehearsed;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

/// What can be typed.
pub fn arguments() -> Command {
    let listen = Arg::new("listen")
        .long("listen")
        .value_name("ADDRESS")
        .default_value("127.0.0.1:7717")
        .help("Where to wait; other hosts reach it at an address of theirs alone");
    let secret = Arg::new("secret")
        .long("secret")
        .value_name("FILE")
        .required_unless_present("attached")
        .help("What who starts a run must know: 16 bytes or more");
    let proof = |option: &'static str, help: &'static str| {
        let others = tls::OPTIONS.into_iter().filter(move |other| *other != option);
        Arg::new(option).long(option).value_name("FILE").requires_all(others).help(help)
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
        .args([listen, secret, ahead, gains, attached])
        .args(proofs)
}

/// Takes part.
pub fn node(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    if let Some(kind) = typed(matches, "attached") {
        return attached(kind, matches);
    }
    let address = typed(matches, "listen").expect("it has a default");
    let bad = |allowed: &str| Failure::from(BadValue::new("listen", address, allowed));
    let parsed: SocketAddr =
        address.parse().map_err(|_| bad("an address and a port, such as 127.0.0.1:7717"))?;
    // Each process that is started reads again what would not do now.
    credentials(matches)?;
    rehearsed(matches)?;
    let mut words = vec!["--secret".to_owned(), typed(matches, "secret").expect("required").to_owned()];
    words.extend(files(matches).iter().flat_map(Files::words));
    for option in ["clock-ahead", "clock-gains"] {
        words.extend(
            typed(matches, option).iter().flat_map(|value| [format!("--{option}"), value.to_string()]),
        );
    }
    cluster::node::listen(parsed, &words, nodes::log)
        .map_err(|error| Failure::Usage(format!("--listen {address}: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// What who connects must have, too.
fn credentials(matches: &ArgMatches) -> Result<Credentials, Failure> {
    let secret = typed(matches, "secret").map(nodes::secret).transpose()?.unwrap_or_default();
    let tls = files(matches).as_ref().map(Tls::read).transpose().map_err(Failure::Usage)?;
    Ok(Credentials { program: program()?, secret, tls })
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
    let attached = cluster::node::attached(kind, credentials, nodes::forget_own_folder);
    let (words, _) = attached.map_err(|error| failed(error.to_string()))?;
    carry_out_words(words)
}

/// Carries out a line that the first node has read already.
pub fn carry_out_words(words: Vec<String>) -> Result<ExitCode, Failure> {
    let words = std::iter::once("trireme".to_owned()).chain(words).map(Into::into).collect();
    let typed = arguments::read_words(words)
        .map_err(|stopped| Failure::Usage(format!("what the first node says: {stopped}")))?;
    carry_out(&typed)
}
