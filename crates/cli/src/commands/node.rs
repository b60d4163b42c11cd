//! `node`: a process that takes part in runs which others start (`--cluster FILE`).
//!
//! It waits at an address and starts, for everybody who knows the secret, a process that carries out one command with one instance of the store. With `--attached` it is that process.

use crate::arguments::{self, typed};
use crate::commands::carry_out;
use crate::nodes::{self, program, secret};
use clap::{Arg, ArgMatches, Command};
use cluster::handshake::Credentials;
use harness::{BadValue, Failure};
use std::net::SocketAddr;
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
    let attached =
        Arg::new("attached").long("attached").value_name("KIND").value_parser(["unix", "tcp"]).hide(true);
    Command::new("node")
        .about("Take part in runs that others start with --cluster, until interrupted")
        .args([listen, secret, attached])
}

/// Takes part.
pub fn node(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    if let Some(kind) = typed(matches, "attached") {
        return attached(kind);
    }
    let address = typed(matches, "listen").expect("it has a default");
    let bad = |allowed: &str| Failure::from(BadValue::new("listen", address, allowed));
    let parsed: SocketAddr =
        address.parse().map_err(|_| bad("an address and a port, such as 127.0.0.1:7717"))?;
    let secret = secret(typed(matches, "secret").expect("required"))?;
    let credentials = Credentials { program: program()?, secret };
    cluster::node::listen(parsed, &credentials, nodes::log)
        .map_err(|error| Failure::Usage(format!("--listen {address}: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Carries out what the first node says.
fn attached(kind: &str) -> Result<ExitCode, Failure> {
    let failed = |why: String| Failure::Usage(format!("--attached {kind}: {why}"));
    nodes::is_attached();
    let attached = cluster::node::attached(&program()?, kind, nodes::forget_own_folder);
    let (words, _) = attached.map_err(|error| failed(error.to_string()))?;
    let words = std::iter::once("trireme".to_owned()).chain(words).map(Into::into).collect();
    let typed = arguments::read_words(words).map_err(|stopped| failed(stopped.to_string()))?;
    carry_out(&typed)
}
