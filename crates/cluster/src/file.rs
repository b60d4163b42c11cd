//! Who takes part in a cluster: a number of processes of this host, or what a file says.
//!
//! ```toml
//! # The first node is the process that starts the run. Others are started by it, on this host, or wait for it somewhere.
//! secret = "cluster.secret"        # a file that all nodes have; beside this one
//!
//! [[node]]                         # the first
//! [[node]]                         # started by the first
//! [[node]]
//! address = "10.0.0.2:7717"        # `trireme node --config cluster.toml` waits there, or `--listen 10.0.0.2:7717 --secret cluster.secret`
//!
//! [tls]                            # if what they say over TCP is to be encrypted: files of the host's own, beside this one
//! certificate = "node.pem"
//! key = "node.key"
//! authority = "ca.pem"
//! ```
//!
//! The same file, on every host, says where each node is; what stands beside it is the host's own. Nodes are numbered from the first, which is 0.

use crate::secret::Secret;
use crate::tls::Files;
use serde::Deserialize;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Who takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Where the nodes behind the first one are; `None`: the first starts it, on its own host.
    pub others: Vec<Option<SocketAddr>>,
    /// What is read from the secret's file; `None`: there is none.
    pub secret: Option<Secret>,
    /// By what the nodes of this host prove who they are, if those of others are to.
    pub tls: Option<Files>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    secret: Option<Spanned<PathBuf>>,
    tls: Option<Proofs>,
    #[serde(rename = "node")]
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Node {
    address: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Proofs {
    certificate: PathBuf,
    key: PathBuf,
    authority: PathBuf,
}

/// More than a process of each is of use for.
const MOST_NODES: usize = 256;

/// Bytes that a secret has at least.
pub const LEAST_SECRET_BYTES: usize = 16;

impl Cluster {
    /// So many processes of this host, or those of a file.
    pub fn named(name: &str) -> Result<Cluster, String> {
        match name.parse::<NonZeroUsize>() {
            Ok(nodes) if nodes.get() <= MOST_NODES => {
                Cluster { others: vec![None; nodes.get() - 1], secret: None, tls: None }.admitted()
            }
            Err(_) if !name.bytes().all(|byte| byte.is_ascii_digit()) => {
                let text = fs::read_to_string(name);
                let unread = |error| format!("allowed: a number of processes, or a cluster file ({error})");
                Self::parse(Path::new(name), &text.map_err(unread)?)
            }
            Ok(_) | Err(_) => Err(format!("allowed: 2 to {MOST_NODES} nodes")),
        }
    }

    /// Of a file.
    pub fn read(path: &Path) -> Result<Cluster, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("allowed: a cluster file ({error})"))?;
        Self::parse(path, &text)
    }

    /// What the file at `path` says.
    fn parse(path: &Path, text: &str) -> Result<Cluster, String> {
        let at = |offset: usize| {
            let before = text.get(..offset).unwrap_or(text);
            format!("line {}", before.matches('\n').count() + 1)
        };
        let file: File = toml::from_str(text).map_err(|error| {
            format!("{}: {}", at(error.span().map_or(0, |span| span.start)), error.message())
        })?;
        let beside = path.parent().unwrap_or(Path::new(""));
        let read_secret = |secret: Spanned<PathBuf>| {
            let line = at(secret.span().start);
            read_secret(&beside.join(secret.into_inner())).map_err(|why| format!("{line}: {why}"))
        };
        let secret = file.secret.map(read_secret).transpose()?;
        let tls = file.tls.map(|Proofs { certificate, key, authority }| Files {
            certificate: beside.join(certificate),
            key: beside.join(key),
            authority: beside.join(authority),
        });
        let read_address = |(number, node): (usize, Node)| {
            let Some(typed) = node.address else { return Ok(None) };
            let allowed = match number {
                0 => "none for the first node, which is the process that starts the run",
                _ => "an IP address and a port, such as 10.0.0.2:7717",
            };
            let address = typed.get_ref().parse().ok().filter(|_| number > 0);
            let refused =
                || format!("{}: address {}: allowed: {allowed}", at(typed.span().start), typed.get_ref());
            address.ok_or_else(refused).map(Some)
        };
        let nodes = file.nodes.into_iter().enumerate().map(read_address);
        let others = nodes.collect::<Result<Vec<_>, String>>()?.into_iter().skip(1).collect();
        Cluster { others, secret, tls }.admitted()
    }

    fn admitted(self) -> Result<Cluster, String> {
        let waiting = self.others.iter().flatten().next();
        match (self.others.len(), waiting, &self.secret) {
            (0 | MOST_NODES.., ..) => Err(format!("allowed: 2 to {MOST_NODES} nodes")),
            (_, Some(waiting), None) => {
                Err(format!("the node at {waiting} wants a secret; allowed: secret = \"FILE\""))
            }
            _ => Ok(self),
        }
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.others.len() + 1
    }

    /// The nodes that wait for runs, by their numbers, and where.
    pub fn waiting(&self) -> Vec<(usize, SocketAddr)> {
        (1..).zip(&self.others).filter_map(|(number, address)| Some((number, (*address)?))).collect()
    }
}

/// Whether an address is one of this host's, by whether the system lets somebody be there.
pub fn is_of_this_host(mut address: SocketAddr) -> bool {
    address.set_port(0);
    UdpSocket::bind(address).is_ok()
}

/// What is in a secret's file, without the end of its line.
pub fn read_secret(path: &Path) -> Result<Secret, String> {
    let shown = path.display();
    let secret = fs::read(path).map_err(|error| format!("the secret's file {shown}: {error}"))?;
    let secret = Secret::from(secret.trim_ascii());
    match secret.len() {
        LEAST_SECRET_BYTES.. => Ok(secret),
        bytes => {
            Err(format!("the secret's file {shown} has {bytes} bytes; allowed: {LEAST_SECRET_BYTES} or more"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Cluster, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        fs::write(folder.join("secret"), "0123456789abcdef\n").expect("a file");
        fs::write(folder.join("short"), "0123").expect("a file");
        let path = folder.join(format!("{:x}.toml", crc32fast::hash(text.as_bytes())));
        fs::write(&path, text).expect("a file");
        Cluster::read(&path)
    }

    #[test]
    fn a_cluster_is_a_number_or_a_file() {
        assert_eq!(Cluster::named("3").expect("three").others, [None, None]);
        for (name, allowed) in [
            ("1", "2 to 256 nodes"),
            ("0", "2 to 256 nodes"),
            ("99999", "2 to 256 nodes"),
            ("99999999999999999999", "2 to 256 nodes"),
            ("none.toml", "a number of processes"),
        ] {
            let refused = Cluster::named(name).expect_err(name);
            assert!(refused.contains(allowed), "{refused}");
        }
        let away = read("secret = \"secret\"\n[[node]]\n[[node]]\n[[node]]\naddress = \"10.0.0.2:7\"");
        let address = "10.0.0.2:7".parse().ok();
        assert_eq!(
            away,
            Ok(Cluster {
                others: vec![None, address],
                secret: Some(Secret::from(&b"0123456789abcdef"[..])),
                tls: None
            })
        );
        assert_eq!(away.expect("a cluster").waiting(), [(2, "10.0.0.2:7".parse().expect("an address"))]);
    }

    #[test]
    fn a_loopback_is_of_this_host_and_an_address_of_documents_of_none() {
        for (address, is_own) in [
            ("127.0.0.1:7717", true),
            ("127.0.0.9:1", true),
            ("192.0.2.1:7717", false),
            ("[2001:db8::1]:7717", false),
        ] {
            assert_eq!(is_of_this_host(address.parse().expect("an address")), is_own, "{address}");
        }
    }

    #[test]
    fn a_file_that_is_none_is_refused() {
        for (text, allowed) in [
            ("[[node]]", "2 to 256 nodes"),
            ("[[node]]\n[[node]]\naddress = \"10.0.0.2:7\"", "secret"),
            ("secret = \"short\"\n[[node]]\n[[node]]", "16 or more"),
            ("secret = \"absent\"\n[[node]]\n[[node]]", "absent"),
            (
                "[[node]]\naddress = \"127.0.0.1:7\"\n[[node]]",
                "line 2: address 127.0.0.1:7: allowed: none for the first node",
            ),
            ("[[node]]\n[[node]]\n[tls]\ncertificate = \"node.pem\"\nkey = \"node.key\"", "authority"),
            ("[[node]]\n[[node]]\nadress = \"\"", "line 3: unknown field"),
            (
                "[[node]]\n[[node]]\naddress = \"somewhere\"",
                "line 3: address somewhere: allowed: an IP address and a port",
            ),
            ("\n[[node]\n[[node]]", "line 2: "),
            ("\nsecret = \"absent\"\n[[node]]\n[[node]]", "line 2: the secret's file "),
        ] {
            let refused = read(text).expect_err(text);
            assert!(refused.contains(allowed), "{text}: {refused}");
        }
    }
}
