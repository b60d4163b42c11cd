//! Starting the other nodes of a run.
//!
//! The first node starts the others on its own host, as `trireme node --attached unix` with one end of a pair of sockets for standard input; or connects to where
//! `trireme node --listen ADDRESS` waits, which starts the same there. Each is greeted as it is started. Then all are told what to do (`assignment`).

use crate::assignment::{Assignment, SECRET_BYTES, host, name, numbered, receive, send};
use crate::control::{Control, SILENCE, words};
use crate::fabric::{Fabric, Meeting};
use crate::file::Cluster;
use crate::group::{Founding, Group, heard};
use crate::handshake::{Credentials, End, random, shake};
use crate::secret::Secret;
use crate::stream::Stream;
use crate::tls::{Files, Tls};
use machine::hardware::clock;
use std::env;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// For a node to be there, and to say who it is.
const PATIENCE: Duration = Duration::from_secs(20);

/// A node that was started.
struct Started {
    stream: Stream,
    address: Option<SocketAddr>,
    child: OfThisHost,
}

/// A process that was started here, and ends if nothing comes of it.
struct OfThisHost(Option<Child>);

impl Drop for OfThisHost {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Started {
    /// `words`: what a node of this host is told of its proofs.
    fn of(address: Option<SocketAddr>, words: &[String]) -> io::Result<Started> {
        match address {
            None => {
                let (here, there) = UnixStream::pair()?;
                let child = OfThisHost(Some(attach("unix", there.into(), words, Stdio::null())?));
                Ok(Started { stream: Stream::Unix(here), address, child })
            }
            Some(there) => {
                let stream = Stream::Tcp(TcpStream::connect_timeout(&there, PATIENCE)?);
                stream.keep_alive(SILENCE)?;
                Ok(Started { stream, address, child: OfThisHost(None) })
            }
        }
    }

    /// Shakes hands, and is told which host it is on.
    fn greet(self, credentials: &Credentials) -> Result<(Started, String), String> {
        // A process of ours has its connection from us.
        let secret = if self.address.is_some() { credentials.secret.clone() } else { Secret::default() };
        let own = Credentials { secret, ..credentials.clone() };
        let shaken = shake(self.stream, End::Connects, &own, PATIENCE);
        let mut stream = shaken.map_err(|refusal| refusal.to_string())?;
        let host = receive(&mut stream, PATIENCE).map_err(|error| words(&error))?;
        Ok((Started { stream, ..self }, host))
    }
}

/// Starts the other nodes of a cluster with the command `line` of `program`, word by word, and makes this process the first; in words why it cannot. `cores`: those of this host.
pub fn start(
    cluster: &Cluster,
    program: &str,
    line: &[String],
    cores: usize,
) -> Result<&'static Group, String> {
    let secret = cluster.secret.clone().unwrap_or_default();
    let tls = cluster.tls.as_ref().map(Tls::read).transpose()?;
    let proofs = cluster.tls.as_ref().map(Files::words).unwrap_or_default();
    let credentials = Credentials { program: program.to_owned(), secret, tls };
    let described = |number: usize| match cluster.others[number - 1] {
        None => format!("node {number}, a process of this host"),
        Some(address) => format!("node {number}, at {address}"),
    };
    let mut hosts = vec![host()];
    let mut greeted = Vec::new();
    for (number, address) in (1..).zip(&cluster.others) {
        let node = Started::of(*address, &proofs)
            .map_err(|error| format!("{}: {}", described(number), why(&error)))?;
        // At once: who listens for strangers hangs up on one that says nothing for some seconds.
        let (node, its_host) =
            node.greet(&credentials).map_err(|why| format!("{}: {why}", described(number)))?;
        // A process of this host is on it, even if the system does not say which host it is.
        hosts.push(if node.address.is_none() { hosts[0].clone() } else { its_host });
        greeted.push(node);
    }
    let call = Call { line, cores, credentials, fabric: None };
    call.found(greeted, &hosts, described)
}

/// Makes this process the first of those that a fabric has started, two or more.
pub fn start_by_fabric(meeting: &Meeting, line: &[String], cores: usize) -> Result<&'static Group, String> {
    let described = |number: usize| format!("process {number}");
    let (mut hosts, mut started) = (vec![host()], Vec::new());
    for (number, mut stream) in (1..).zip(meeting.streams()?) {
        let its_host = receive(&mut stream, PATIENCE)
            .map_err(|error| format!("{}: {}", described(number), words(&error)))?;
        hosts.push(its_host);
        started.push(Started { stream, address: None, child: OfThisHost(None) });
    }
    let (credentials, fabric) = (meeting.credentials().clone(), Some(meeting.fabric()));
    Call { line, cores, credentials, fabric }.found(started, &hosts, described)
}

/// In words, why a node cannot be begun with.
fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("{error}; does 'trireme node' wait there?"),
        _ => error.to_string(),
    }
}

/// What all nodes are to do, and how they know each other.
struct Call<'c> {
    line: &'c [String],
    cores: usize,
    credentials: Credentials,
    fabric: Option<&'static dyn Fabric>,
}

impl Call<'_> {
    /// Tells the others what to do, and makes this process the first. `hosts`: of all nodes, this one's first.
    fn found(
        self,
        mut started: Vec<Started>,
        hosts: &[String],
        described: impl Fn(usize) -> String,
    ) -> Result<&'static Group, String> {
        let Call { line, cores, credentials, fabric } = self;
        let address = reached_at(started.iter().filter_map(|node| node.stream.own_address()));
        let assignment = Assignment {
            number: 0,
            hosts: numbered(hosts),
            cores,
            words: line.to_vec(),
            secret: random::<SECRET_BYTES>()[..].into(),
            run: name(),
            first: address,
            ticks_per_second: clock::ticks_per_second(),
        };
        for (number, node) in (1..).zip(&mut started) {
            let own = Assignment { number, ..assignment.clone() };
            send(&mut node.stream, &own)
                .map_err(|error| format!("{}: {}", described(number), words(&error)))?;
        }
        let (mut streams, mut children) = (vec![None], vec![None]);
        for mut node in started {
            streams.push(Some(node.stream));
            children.push(node.child.0.take());
        }
        let credentials = Credentials { secret: assignment.secret, ..credentials };
        let (hosts, run) = (assignment.hosts, assignment.run);
        let founding = Founding { number: 0, hosts, cores, run, children, address, credentials, fabric };
        let control = |(node, stream): (usize, Option<Stream>)| {
            stream.map(|stream| Control::over(stream, move |what| heard(node, what))).transpose()
        };
        Group::set(founding, || streams.into_iter().enumerate().map(control).collect())
            .map_err(|error| error.to_string())
    }
}

/// Where all nodes reach this host, of the addresses at which one each does.
fn reached_at(addresses: impl Iterator<Item = IpAddr>) -> IpAddr {
    let addresses: Vec<IpAddr> = addresses.collect();
    // Those of other hosts do not reach the loopback.
    let of_host = addresses.iter().find(|address| !address.is_loopback());
    of_host.or(addresses.first()).copied().unwrap_or(Ipv4Addr::LOCALHOST.into())
}

/// Starts a node that has a connection, of a kind of socket, for standard input, and is told these words.
pub(crate) fn attach(kind: &str, connection: OwnedFd, words: &[String], output: Stdio) -> io::Result<Child> {
    let mut node = Command::new(env::current_exe()?);
    node.args(["node", "--attached", kind]).args(words);
    node.stdin(Stdio::from(connection)).stdout(output).spawn()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::mesh::Mesh;
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    use std::net::TcpListener;

    /// A connection between two addresses of this host, as between two hosts: its ends.
    fn between(from: &str, to: &str) -> (Stream, Stream) {
        let listener = TcpListener::bind((to, 0)).expect("a port");
        let here = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        let from: IpAddr = from.parse().expect("an address");
        bind(&here, &SocketAddr::new(from, 0)).expect("a port");
        connect(&here, &listener.local_addr().expect("an address")).expect("it listens");
        let (there, _) = listener.accept().expect("it has connected");
        (Stream::Tcp(here.into()), Stream::Tcp(there))
    }

    /// A node that was started over a Unix socket listens for workers where the first one is reached, not where nobody else comes.
    #[test]
    fn all_nodes_are_told_addresses_that_others_reach() {
        let (to_waiting, waiting) = between("127.0.0.3", "127.0.0.2");
        let (to_child, child) = UnixStream::pair().expect("sockets");
        let (to_child, child) = (Stream::Unix(to_child), Stream::Unix(child));
        let first = reached_at([to_child, to_waiting].iter().filter_map(Stream::own_address));
        let told = Assignment {
            number: 1,
            hosts: vec![0, 0, 1],
            cores: 1,
            words: Vec::new(),
            secret: Secret::default(),
            run: String::new(),
            first,
            ticks_per_second: 1.0,
        };
        for (node, address, expected) in [
            ("the first", first, "127.0.0.3:"),
            ("its child", told.address(&child), "127.0.0.3:"),
            ("who waits", told.address(&waiting), "127.0.0.2:"),
        ] {
            let credentials = Credentials { program: String::new(), secret: Secret::default(), tls: None };
            let told = Mesh::new(0, 3, address, credentials, None).told().expect("a port");
            assert!(told.starts_with(expected), "{node} says {told}");
        }
        // A process of the first one's host that a fabric has started reaches it by the loopback, and others do not.
        let first = "10.0.0.1".parse().expect("an address");
        assert_eq!(Assignment { first, ..told }.address(&waiting), first);
    }

    #[test]
    fn a_host_is_reached_at_no_loopback_if_it_has_another_address() {
        for (addresses, expected) in [
            (&["127.0.0.1", "10.0.0.1", "192.168.0.1"][..], "10.0.0.1"),
            (&["127.0.0.1"], "127.0.0.1"),
            (&[], "127.0.0.1"),
        ] {
            let addresses = addresses.iter().map(|address| address.parse().expect("an address"));
            assert_eq!(reached_at(addresses).to_string(), expected);
        }
    }
}
