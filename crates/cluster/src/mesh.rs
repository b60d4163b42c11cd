//! The connections by which workers talk: one between every two counterparts, workers of the same rank at different nodes, for each kind of channel.
//!
//! They are made when a run first wants them: a node connects to those before it and is connected to by those behind it. Each connection is shaken hands over
//! ([`crate::handshake`]) with a secret that the first node has drawn for this run; who comes with anything else is hung up on, with a line in the log.
//!
//! Where something else has started the nodes, over which they can talk, it makes the connections itself ([`crate::fabric`]).
//!
//! Over TCP they are encrypted where that is asked for ([`crate::tls`]).
//!
//! *Shared memory.* The connection is a Unix domain socket, over which who has connected gives the other a segment ([`Segment`]). Then nobody says anything over it any more:
//! its end tells that the other process has ended.

use crate::descriptor;
use crate::encrypted::EncryptedSocket;
use crate::fabric::{Fabric, Wire};
use crate::group::Group;
use crate::handshake::{Credentials, End, shake};
use crate::pending::Pending;
use crate::stream::{Stream, Until};
use contract::telling::{tell, told};
use contract::{ChannelName, Lost};
use engine::{CommonMemory, Link, Part, SEGMENT_BYTES};
use machine::hardware::segment::Segment;
use machine::hardware::socket::Socket;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, process, thread};

/// For all connections of a node to be made, whoever else comes meanwhile.
const PATIENCE: Duration = Duration::from_secs(30);
/// For each of them beside that: a host makes them one after the other.
const PATIENCE_FOR_EACH: Duration = Duration::from_millis(20);
/// For who has connected to say who he is. Nodes do so at once.
const PATIENCE_WITH_STRANGERS: Duration = Duration::from_secs(5);

/// While who has connected is asked who he is.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// For a connection over which the system hears nothing. A worker's silence is told sooner, and that of a node which stands still by the first node's connection to it.
const SILENCE_OF_HOSTS: Duration = Duration::from_secs(40);

/// What is kept between a run and the next of the end that leads to a counterpart.
enum Connection {
    SharedMemory(CommonMemory),
    Socket(Socket),
    Encrypted(EncryptedSocket),
    OfFabric(Box<dyn Wire>),
}

impl Connection {
    /// Over a stream both ends of which are known to each other.
    fn made(channel: ChannelName, stream: Stream, end: End) -> io::Result<Connection> {
        stream.set_patience(Some(PATIENCE))?;
        stream.keep_alive(SILENCE_OF_HOSTS)?;
        match (channel, stream) {
            (ChannelName::SharedMemory, Stream::Unix(stream)) => {
                let segment = match end {
                    End::Connects => {
                        let segment = Segment::new(SEGMENT_BYTES)?;
                        descriptor::give(&stream, segment.as_fd())?;
                        segment
                    }
                    End::Accepts => Segment::of(descriptor::take(&stream)?, SEGMENT_BYTES)?,
                };
                let witness = Socket::of_unix(stream)?;
                Ok(Connection::SharedMemory(CommonMemory::new(segment, end == End::Connects, witness)))
            }
            (_, Stream::Unix(stream)) => Socket::of_unix(stream).map(Connection::Socket),
            (_, Stream::Tcp(stream)) => Socket::of_tcp(stream).map(Connection::Socket),
            (_, Stream::Encrypted(stream)) => {
                let stream = Arc::into_inner(stream).expect("nobody else has it");
                EncryptedSocket::of(stream).map(Connection::Encrypted)
            }
        }
    }

    /// For a run.
    fn link(&self) -> Link {
        match self {
            Connection::SharedMemory(common) => common.into(),
            Connection::Socket(socket) => socket.again().into(),
            Connection::Encrypted(socket) => Link::Other(Box::new(socket.again())),
            Connection::OfFabric(wire) => wire.link(),
        }
    }

    fn shut_down(&self) {
        match self {
            Connection::SharedMemory(common) => common.shut_down(),
            Connection::Socket(socket) => socket.shut_down(),
            Connection::Encrypted(socket) => socket.shut_down(),
            Connection::OfFabric(wire) => wire.shut_down(),
        }
    }
}

/// By rank, then by node; none to the node itself.
type Connections = Vec<Vec<Option<Connection>>>;

/// See the module.
pub(crate) struct Mesh {
    number: usize,
    nodes: usize,
    address: IpAddr,
    credentials: Credentials,
    fabric: Option<&'static dyn Fabric>,
    connections: Mutex<BTreeMap<&'static str, Connections>>,
}

enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

impl Mesh {
    pub fn new(
        number: usize,
        nodes: usize,
        address: IpAddr,
        credentials: Credentials,
        fabric: Option<&'static dyn Fabric>,
    ) -> Mesh {
        Mesh { number, nodes, address, credentials, fabric, connections: Mutex::default() }
    }

    /// Connections of this kind for so many workers. All nodes call this at the same time.
    pub fn part(&self, group: &Group, channel: ChannelName, workers: usize) -> Result<Part, Lost> {
        let there = self.with(|all| all.get(channel.name()).map_or(0, Vec::len));
        if there < workers {
            let more = match channel {
                ChannelName::Mpi => self.connect_by_fabric(there..workers)?,
                _ => self.connect(group, channel, workers - there)?,
            };
            self.with(|all| all.entry(channel.name()).or_default().extend(more));
        }
        let of_rank = |connections: &Vec<Option<Connection>>| {
            connections.iter().map(|connection| connection.as_ref().map(Connection::link)).collect()
        };
        let links = self.with(|all| all[channel.name()].iter().take(workers).map(of_rank).collect());
        Ok(Part { instance: self.number, instances: self.nodes, links })
    }

    fn with<R>(&self, f: impl FnOnce(&mut BTreeMap<&'static str, Connections>) -> R) -> R {
        f(&mut self.connections.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether connections over TCP are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.credentials.tls.is_some()
    }

    /// Ends the connections to a node.
    pub fn shut_down(&self, node: usize) {
        self.with(|all| {
            let to_node = all.values().flatten().filter_map(|connections| connections[node].as_ref());
            to_node.for_each(Connection::shut_down);
        });
    }

    /// Of workers of these ranks. Nobody is waited for.
    fn connect_by_fabric(&self, ranks: Range<usize>) -> Result<Connections, Lost> {
        let fabric = self.fabric.expect("who has no fabric has been refused its channel");
        let wire = |rank, node| match node == self.number {
            true => Ok(None),
            false => fabric.connect(rank, node).map(|wire| Some(Connection::OfFabric(wire))),
        };
        let of_rank = |rank| (0..self.nodes).map(|node| wire(rank, node)).collect();
        let connections: io::Result<Connections> = ranks.map(of_rank).collect();
        connections.map_err(|error| Lost::new(self.number, error.to_string()))
    }

    fn connect(&self, group: &Group, channel: ChannelName, workers: usize) -> Result<Connections, Lost> {
        let own = |error: io::Error| Lost::new(self.number, error.to_string());
        let listener = self.listen(channel).map_err(own)?;
        let mut bytes = Vec::new();
        tell(&listener.address().map_err(own)?, &mut bytes);
        let addresses = group.exchange("where to connect", bytes)?;
        let mut connections: Connections = Vec::new();
        connections.resize_with(workers, || std::iter::repeat_with(|| None).take(self.nodes).collect());
        let each = PATIENCE_FOR_EACH * ((self.nodes - 1) * workers) as u32;
        let until = Instant::now() + PATIENCE + each;
        let is_over = || group.lost().is_some();
        let connected = self.connect_all(channel, &listener, &addresses, &mut connections, until, &is_over);
        if let Err(error) = connected {
            return Err(group.fails(Lost::new(self.number, error.to_string())));
        }
        group.exchange("connected", Vec::new())?;
        Ok(connections)
    }

    /// Gives up as soon as `is_over`.
    fn connect_all(
        &self,
        channel: ChannelName,
        listener: &Listener,
        addresses: &[Vec<u8>],
        connections: &mut Connections,
        until: Instant,
        is_over: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        for (node, address) in addresses[..self.number].iter().enumerate() {
            let address: String = told(address).ok_or(io::ErrorKind::InvalidData)?;
            let in_vain = |error: io::Error| {
                io::Error::other(format!("it cannot connect to node {node}, at {address}: {error}"))
            };
            for (rank, connections) in connections.iter_mut().enumerate() {
                let stream = listener.connect(&address, left(until)?).map_err(in_vain)?;
                let shaken = shake(stream, End::Connects, &self.credentials, left(until)?);
                let mut stream = shaken.map_err(refused).map_err(in_vain)?;
                let place = [self.number as u32, rank as u32].map(u32::to_le_bytes);
                stream.write_all(place.as_flattened())?;
                connections[node] = Some(Connection::made(channel, stream, End::Connects)?);
            }
        }
        let mut awaited = (self.nodes - 1 - self.number) * connections.len();
        let pending = Pending::new();
        while awaited > 0 {
            if is_over() {
                return Err(too_late());
            }
            let patience = left(until)?.min(LOOK_AGAIN);
            let Some(told) = pending.told() else {
                // Those who come beside wait until there is room: they may be nodes.
                let Some(stranger) = pending.enter() else {
                    thread::sleep(patience);
                    continue;
                };
                if let Some((stream, from)) = listener.accept(patience)? {
                    let (credentials, refused) = (self.credentials.clone(), from.clone());
                    let asked = pending.ask(stranger, move || (place_of(stream, &credentials), from));
                    if let Err(why) = asked {
                        eprintln!("trireme: a connection from {refused} is closed: {why}");
                    }
                }
                continue;
            };
            let (place, from) = told;
            match place {
                Ok((stream, node, rank)) => {
                    let end = connections.get_mut(rank).and_then(|ends| ends.get_mut(node));
                    match end {
                        Some(end @ None) if node > self.number => {
                            *end = Some(Connection::made(channel, stream, End::Accepts)?);
                            awaited -= 1;
                        }
                        _ => eprintln!("trireme: a connection from {from} is closed: nobody waits for it"),
                    }
                }
                Err(error) => eprintln!("trireme: a connection from {from} is closed: {error}"),
            }
        }
        Ok(())
    }

    /// Where others are told to connect over TCP.
    #[cfg(test)]
    pub fn told(&self) -> io::Result<String> {
        self.listen(ChannelName::Tcp)?.address()
    }

    fn listen(&self, channel: ChannelName) -> io::Result<Listener> {
        match channel {
            ChannelName::Tcp => TcpListener::bind((self.address, 0)).map(Listener::Tcp),
            ChannelName::Unix | ChannelName::SharedMemory => {
                // Of this node, and gone once all are connected.
                let path = socket_of(process::id(), self.number);
                let _ = fs::remove_file(&path);
                Ok(Listener::Unix(UnixListener::bind(&path)?, path))
            }
            ChannelName::Mpi => unreachable!("its connections are made by the fabric"),
        }
    }
}

/// Where workers of this node, which is this process, are connected to over Unix domain sockets.
pub(crate) fn socket_of(process: u32, node: usize) -> PathBuf {
    std::env::temp_dir().join(format!("trireme-{process}-{node}.socket"))
}

impl Listener {
    fn address(&self) -> io::Result<String> {
        match self {
            Listener::Unix(_, path) => Ok(path.to_string_lossy().into_owned()),
            Listener::Tcp(listener) => listener.local_addr().map(|address| address.to_string()),
        }
    }

    /// To one of the same kind.
    fn connect(&self, address: &str, patience: Duration) -> io::Result<Stream> {
        match self {
            Listener::Unix(..) => UnixStream::connect(address).map(Stream::Unix),
            Listener::Tcp(_) => {
                let address: SocketAddr = address.parse().map_err(|_| io::ErrorKind::InvalidData)?;
                TcpStream::connect_timeout(&address, patience).map(Stream::Tcp)
            }
        }
    }

    /// The next that connects, and where it comes from; `None`: nobody does for so long.
    fn accept(&self, patience: Duration) -> io::Result<Option<(Stream, String)>> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut asked = [match self {
            Listener::Unix(listener, _) => PollFd::new(listener, PollFlags::IN),
            Listener::Tcp(listener) => PollFd::new(listener, PollFlags::IN),
        }];
        let (seconds, nanoseconds) = (patience.as_secs() as i64, patience.subsec_nanos().into());
        let patience = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
        match poll(&mut asked, Some(&patience)) {
            Ok(0) => return Ok(None),
            // A person wants it to end, which is asked elsewhere.
            Err(rustix::io::Errno::INTR) => return Ok(None),
            come => come?,
        };
        let accepted = match self {
            Listener::Unix(listener, _) => {
                listener.accept().map(|(stream, _)| (Stream::Unix(stream), "this host".to_owned()))
            }
            Listener::Tcp(listener) => {
                listener.accept().map(|(stream, from)| (Stream::Tcp(stream), from.to_string()))
            }
        };
        accepted.map(Some)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // Nobody connects any more.
            let _ = fs::remove_file(path);
        }
    }
}

/// Who has connected: the node, and the worker's rank.
fn place_of(stream: Stream, credentials: &Credentials) -> io::Result<(Stream, usize, usize)> {
    let patience = PATIENCE_WITH_STRANGERS;
    let mut stream = shake(stream, End::Accepts, credentials, patience).map_err(refused)?;
    let mut place = [0; 8];
    Until::after(&mut stream, patience).read_exact(&mut place)?;
    let [node, rank] = [0, 4].map(|at| u32::from_le_bytes(place[at..at + 4].try_into().expect("four")));
    Ok((stream, node as usize, rank as usize))
}

/// How long there is until then.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(too_late()) } else { Ok(left) }
}

fn too_late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "not all nodes have connected to it")
}

fn refused(refusal: crate::handshake::Refusal) -> io::Error {
    io::Error::other(refusal.to_string())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::secret::Secret;
    use engine::Channel;
    use std::thread;

    fn pair() -> [Connection; 2] {
        let (one, other) = UnixStream::pair().expect("sockets");
        let made = |stream, end| Connection::made(ChannelName::SharedMemory, Stream::Unix(stream), end);
        thread::scope(|scope| {
            let other = scope.spawn(move || made(other, End::Accepts).expect("memory"));
            [made(one, End::Connects).expect("memory"), other.join().expect("no panic")]
        })
    }

    /// What comes until the end, and how many looks it takes.
    fn all_that_comes(link: &mut Link) -> (Vec<u8>, usize) {
        let mut come = Vec::new();
        let looks = (0..).take_while(|_| link.read(&mut come).is_ok()).count();
        (come, looks)
    }

    #[test]
    fn memory_that_is_shared_goes_on_from_run_to_run() {
        let ends = pair();
        for run in 0..3u8 {
            let [mut one, mut other] = ends.each_ref().map(Connection::link);
            assert!(one.socket().is_none(), "to look costs no call of the system");
            let mut come = Vec::new();
            assert_eq!(one.write(&[run; 5000]).expect("an open end"), 5000);
            assert_eq!(other.write(&[run + 100; 5000]).expect("an open end"), 5000);
            assert_eq!(other.read(&mut come).expect("an open end"), 5000);
            assert_eq!(one.read(&mut come).expect("an open end"), 5000);
            assert_eq!(come, [[run; 5000], [run + 100; 5000]].concat());
        }
    }

    #[test]
    fn the_end_of_the_other_process_is_known_behind_what_it_had_written() {
        let [one, other] = pair();
        let (mut here, mut there) = (one.link(), other.link());
        there.write(b"the last").expect("an open end");
        // As the system does when a process dies.
        drop((other, there));
        let (come, looks) = all_that_comes(&mut here);
        assert_eq!(come, b"the last");
        assert!((1..=100).contains(&looks), "{looks} looks");
    }

    #[test]
    fn a_connection_that_is_shut_down_has_ended_at_both_ends() {
        let [one, other] = pair();
        let (mut here, mut there) = (one.link(), other.link());
        one.shut_down();
        assert_eq!(all_that_comes(&mut here).0, b"");
        assert_eq!(all_that_comes(&mut there).0, b"");
    }

    /// Strangers who come again and again are no reason to wait longer for who does not come.
    #[test]
    fn who_does_not_come_is_not_waited_for_while_others_do() {
        let credentials = Credentials { program: String::new(), secret: Secret::default(), tls: None };
        let mesh = Mesh::new(0, 2, std::net::Ipv4Addr::LOCALHOST.into(), credentials, None);
        let listener = mesh.listen(ChannelName::Tcp).expect("a port");
        let address = listener.address().expect("an address");
        let strangers = thread::spawn(move || {
            for _ in 0..1000 {
                let Ok(mut stranger) = TcpStream::connect(&address) else { return };
                let _ = stranger.write_all(b"GET / HTTP/1.1\r\n\r\n");
                thread::sleep(Duration::from_millis(20));
            }
        });
        let mut connections: Connections = vec![vec![None, None]];
        let until = Instant::now() + Duration::from_millis(300);
        let connected =
            mesh.connect_all(ChannelName::Tcp, &listener, &[], &mut connections, until, &|| false);
        assert_eq!(connected.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
        assert!(!strangers.is_finished(), "they come still");
    }

    #[test]
    fn who_gives_something_else_than_a_segment_is_refused() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(SEGMENT_BYTES as u64).expect("room");
        for gives in [Some(file.as_fd()), None] {
            let (one, mut other) = UnixStream::pair().expect("sockets");
            match gives {
                Some(file) => descriptor::give(&other, file).expect("room"),
                None => other.write_all(b"GET / HTTP/1.1").expect("room"),
            }
            let made = Connection::made(ChannelName::SharedMemory, Stream::Unix(one), End::Accepts);
            assert!(made.is_err());
        }
    }
}
