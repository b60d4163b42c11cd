//! What a node is told when it is started, over the connection to the first.

use crate::handshake::random;
use crate::secret::Secret;
use crate::stream::{Stream, Until};
use contract::telling::{tell, told};
use machine::hardware::clock::Rehearsed;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

/// An assignment is not longer.
const MOST_BYTES: u64 = 1 << 20;
/// Of a run's secret.
pub(crate) const SECRET_BYTES: usize = 32;

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    pub number: usize,
    /// By node, the number of its host, from 0, the first one's.
    pub hosts: Vec<usize>,
    /// Cores of the first node's host.
    pub cores: usize,
    /// The command, word by word, without the program's name.
    pub words: Vec<String>,
    /// Of this run's connections between workers.
    pub secret: Secret,
    /// The run's name.
    pub run: String,
    /// Where the first node's host is reached by all nodes, those on it as well.
    pub first: IpAddr,
    /// Of the first node's clock, which those of its host have, too.
    pub ticks_per_second: f64,
}

/// Commands that nodes carry out.
pub const COMMANDS: [&str; 5] = ["run", "compare", "sweep", "check", "recover"];

impl Assignment {
    /// Whether it is one that a node other than the first can have.
    pub fn is_possible(&self) -> bool {
        let is_known = |word: &String| COMMANDS.contains(&word.as_str());
        (1..self.hosts.len()).contains(&self.number)
            && self.secret.len() == SECRET_BYTES
            && self.words.first().is_some_and(is_known)
    }

    /// Where the node that is told this over `stream` is reached by all others.
    pub fn address(&self, stream: &Stream) -> IpAddr {
        // It is on the first one's host if no address leads there, or the loopback, which leads nobody else there.
        let own = stream.own_address().filter(|own| !own.is_loopback() || self.first.is_loopback());
        own.unwrap_or(self.first)
    }
}

static REHEARSED: OnceLock<Rehearsed> = OnceLock::new();

/// From now on this process is taken for one of another host, which has this clock ([`machine::hardware::clock::rehearse`]): that of all processes here that are told the same.
pub fn rehearse(clock: Rehearsed) {
    machine::hardware::clock::rehearse(clock);
    REHEARSED.get_or_init(|| clock);
}

/// Which host this is; one whose system does not say is no other's.
pub(crate) fn host() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    match (id.trim(), REHEARSED.get()) {
        ("", _) => name(),
        (id, None) => id.to_owned(),
        (id, Some(clock)) => format!("{id}, {clock:?}"),
    }
}

/// The hosts' numbers, in the order in which they come first.
pub(crate) fn numbered(hosts: &[String]) -> Vec<usize> {
    let mut different: Vec<&String> = Vec::new();
    let mut number = |host| {
        let there = different.iter().position(|other| *other == host);
        there.unwrap_or_else(|| {
            different.push(host);
            different.len() - 1
        })
    };
    hosts.iter().map(&mut number).collect()
}

/// A name that nobody else has.
pub(crate) fn name() -> String {
    random::<8>().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sends a value.
pub(crate) fn send(stream: &mut Stream, value: &impl Serialize) -> io::Result<()> {
    let mut bytes = Vec::new();
    tell(value, &mut bytes);
    stream.write_all(&(bytes.len() as u64).to_le_bytes())?;
    stream.write_all(&bytes)
}

/// Waits so long for a value.
pub(crate) fn receive<T: for<'d> Deserialize<'d>>(stream: &mut Stream, patience: Duration) -> io::Result<T> {
    let mut stream = Until::after(stream, patience);
    let mut length = [0; 8];
    stream.read_exact(&mut length)?;
    let mut bytes = Vec::new();
    stream.take(u64::from_le_bytes(length).min(MOST_BYTES)).read_to_end(&mut bytes)?;
    told(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "what it sent is no message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_from_the_first_ones_on() {
        let hosts = ["a", "b", "a", "c", "b"].map(str::to_owned);
        assert_eq!(numbered(&hosts), [0, 1, 0, 2, 1]);
    }
}
