//! Who takes part in a cluster: a number of processes of this host, or what a file says.
//!
//! ```toml
//! # The first node is the process that starts the run. Others are started by it, on this host, or wait for it somewhere.
//! secret = "cluster.secret"        # a file that all nodes have; beside this one
//!
//! [[node]]                         # the first
//! [[node]]                         # started by the first
//! [[node]]
//! address = "10.0.0.2:7717"        # `trireme node --listen 10.0.0.2:7717 --secret cluster.secret` waits there
//!
//! [tls]                            # if what they say over TCP is to be encrypted: the first node's files, beside this one
//! certificate = "node.pem"
//! key = "node.key"
//! authority = "ca.pem"
//! ```

use crate::secret::Secret;
use crate::tls::Files;
use serde::Deserialize;
use std::fs;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

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
    secret: Option<PathBuf>,
    tls: Option<Proofs>,
    #[serde(rename = "node")]
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Node {
    address: Option<SocketAddr>,
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
            Err(_) if !name.bytes().all(|byte| byte.is_ascii_digit()) => Self::read(Path::new(name)),
            Ok(_) | Err(_) => Err(format!("allowed: 2 to {MOST_NODES} nodes")),
        }
    }

    /// Of a file.
    pub fn read(path: &Path) -> Result<Cluster, String> {
        let text = fs::read_to_string(path).map_err(|error| {
            format!("allowed: a number of processes, or a cluster file ({}: {error})", path.display())
        })?;
        let file: File = toml::from_str(&text).map_err(|error| error.to_string())?;
        let beside = path.parent().unwrap_or(Path::new(""));
        let secret = file.secret.map(|secret| read_secret(&beside.join(secret))).transpose()?;
        let tls = file.tls.map(|Proofs { certificate, key, authority }| Files {
            certificate: beside.join(certificate),
            key: beside.join(key),
            authority: beside.join(authority),
        });
        let mut nodes = file.nodes.into_iter().map(|node| node.address);
        if nodes.next().flatten().is_some() {
            return Err(
                "the first node has an address, and is the process that starts the run; allowed: none"
                    .to_owned(),
            );
        }
        Cluster { others: nodes.collect(), secret, tls }.admitted()
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
    }

    #[test]
    fn a_file_that_is_none_is_refused() {
        for (text, allowed) in [
            ("[[node]]", "2 to 256 nodes"),
            ("[[node]]\n[[node]]\naddress = \"10.0.0.2:7\"", "secret"),
            ("secret = \"short\"\n[[node]]\n[[node]]", "16 or more"),
            ("secret = \"absent\"\n[[node]]\n[[node]]", "absent"),
            ("[[node]]\naddress = \"127.0.0.1:7\"\n[[node]]", "first node"),
            ("[[node]]\n[[node]]\n[tls]\ncertificate = \"node.pem\"\nkey = \"node.key\"", "authority"),
            ("[[node]]\n[[node]]\nadress = \"\"", "unknown field"),
            ("[[node]]\n[[node]]\naddress = \"somewhere\"", "address"),
        ] {
            let refused = read(text).expect_err(text);
            assert!(refused.contains(allowed), "{text}: {refused}");
        }
    }
}
