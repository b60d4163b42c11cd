//! The connections by which workers talk: one between every two counterparts, workers of the same rank at different nodes, for each kind of channel.
//!
//! They are made when a run first wants them: a node connects to those before it and is connected to by those behind it. Each connection is shaken hands over
//! ([`crate::handshake`]) with a secret that the first node has drawn for this run; who comes with anything else is hung up on, with a line in the log.

use crate::group::Group;
use crate::handshake::{Credentials, End, shake};
use crate::stream::{Stream, Until};
use contract::telling::{tell, told};
use contract::{ChannelName, Lost};
use engine::Part;
use machine::hardware::socket::Socket;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{fs, process};

/// For a connection to be made: others may be served first.
const PATIENCE: Duration = Duration::from_secs(30);
/// For who has connected to say who he is. Nodes do so at once.
const PATIENCE_WITH_STRANGERS: Duration = Duration::from_secs(1);

/// By rank, then by node; none to the node itself.
type Sockets = Vec<Vec<Option<Socket>>>;

/// See the module.
pub(crate) struct Mesh {
    number: usize,
    nodes: usize,
    address: IpAddr,
    credentials: Credentials,
    sockets: Mutex<BTreeMap<&'static str, Sockets>>,
}

enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

impl Mesh {
    pub fn new(number: usize, nodes: usize, address: IpAddr, credentials: Credentials) -> Mesh {
        Mesh { number, nodes, address, credentials, sockets: Mutex::default() }
    }

    /// Connections of this kind for so many workers. All nodes call this at the same time.
    pub fn part(&self, group: &Group, channel: ChannelName, workers: usize) -> Result<Part, Lost> {
        let there = self.with(|sockets| sockets.get(channel.name()).map_or(0, Vec::len));
        if there < workers {
            let more = self.connect(group, channel, workers - there)?;
            self.with(|sockets| sockets.entry(channel.name()).or_default().extend(more));
        }
        let of_rank = |sockets: &Vec<Option<Socket>>| {
            sockets.iter().map(|socket| socket.as_ref().map(Socket::again)).collect()
        };
        let sockets =
            self.with(|sockets| sockets[channel.name()].iter().take(workers).map(of_rank).collect());
        Ok(Part { instance: self.number, instances: self.nodes, sockets })
    }

    fn with<R>(&self, f: impl FnOnce(&mut BTreeMap<&'static str, Sockets>) -> R) -> R {
        f(&mut self.sockets.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the connections to a node.
    pub fn shut_down(&self, node: usize) {
        self.with(|sockets| {
            let to_node = sockets.values().flatten().filter_map(|sockets| sockets[node].as_ref());
            to_node.for_each(Socket::shut_down);
        });
    }

    fn connect(&self, group: &Group, channel: ChannelName, workers: usize) -> Result<Sockets, Lost> {
        let own = |error: io::Error| Lost::new(self.number, error.to_string());
        let listener = self.listen(channel).map_err(own)?;
        let mut bytes = Vec::new();
        tell(&listener.address().map_err(own)?, &mut bytes);
        let addresses = group.exchange("where to connect", bytes)?;
        let mut sockets: Sockets = Vec::new();
        sockets.resize_with(workers, || std::iter::repeat_with(|| None).take(self.nodes).collect());
        let connected = self.connect_all(&listener, &addresses, &mut sockets);
        // Who has failed says so, for the others would wait.
        let mut bytes = Vec::new();
        tell(&connected.as_ref().err().map(|error: &io::Error| error.to_string()), &mut bytes);
        let said = group.exchange("connected", bytes)?;
        for (instance, said) in said.iter().enumerate() {
            if let Some(why) = told::<Option<String>>(said).unwrap_or_default() {
                return Err(Lost::new(instance, why));
            }
        }
        Ok(sockets)
    }

    fn connect_all(
        &self,
        listener: &Listener,
        addresses: &[Vec<u8>],
        sockets: &mut Sockets,
    ) -> io::Result<()> {
        for (node, address) in addresses[..self.number].iter().enumerate() {
            let address: String = told(address).ok_or(io::ErrorKind::InvalidData)?;
            for (rank, sockets) in sockets.iter_mut().enumerate() {
                let mut stream = listener.connect(&address)?;
                stream.set_patience(Some(PATIENCE))?;
                shake(&mut stream, End::Connects, &self.credentials).map_err(refused)?;
                let place = [self.number as u32, rank as u32].map(u32::to_le_bytes);
                stream.write_all(place.as_flattened())?;
                sockets[node] = Some(socket(stream)?);
            }
        }
        let mut awaited = (self.nodes - 1 - self.number) * sockets.len();
        while awaited > 0 {
            let (mut stream, from) = listener.accept()?;
            let mut place = [0; 8];
            let mut until = Until::after(&mut stream, PATIENCE_WITH_STRANGERS);
            let shaken = shake(&mut until, End::Accepts, &self.credentials).map_err(refused);
            let shaken = shaken.and_then(|()| until.read_exact(&mut place));
            let [node, rank] =
                [0, 4].map(|at| u32::from_le_bytes(place[at..at + 4].try_into().expect("four")));
            let end = sockets.get_mut(rank as usize).and_then(|sockets| sockets.get_mut(node as usize));
            match (shaken, end) {
                (Ok(()), Some(end @ None)) if node as usize > self.number => {
                    *end = Some(socket(stream)?);
                    awaited -= 1;
                }
                (Err(error), _) => eprintln!("trireme: a connection from {from} is closed: {error}"),
                _ => eprintln!("trireme: a connection from {from} is closed: nobody waits for it"),
            }
        }
        Ok(())
    }

    fn listen(&self, channel: ChannelName) -> io::Result<Listener> {
        match channel {
            ChannelName::Tcp => TcpListener::bind((self.address, 0)).map(Listener::Tcp),
            ChannelName::Unix | ChannelName::SharedMemory => {
                // Of this node, and gone once all are connected.
                let name = format!("trireme-{}-{}.socket", process::id(), self.number);
                let path = std::env::temp_dir().join(name);
                let _ = fs::remove_file(&path);
                Ok(Listener::Unix(UnixListener::bind(&path)?, path))
            }
        }
    }
}

impl Listener {
    fn address(&self) -> io::Result<String> {
        match self {
            Listener::Unix(_, path) => Ok(path.to_string_lossy().into_owned()),
            Listener::Tcp(listener) => listener.local_addr().map(|address| address.to_string()),
        }
    }

    /// To one of the same kind.
    fn connect(&self, address: &str) -> io::Result<Stream> {
        match self {
            Listener::Unix(..) => UnixStream::connect(address).map(Stream::Unix),
            Listener::Tcp(_) => {
                let address: SocketAddr = address.parse().map_err(|_| io::ErrorKind::InvalidData)?;
                TcpStream::connect_timeout(&address, PATIENCE).map(Stream::Tcp)
            }
        }
    }

    /// The next that connects, and where it comes from; an error if nobody does for a while.
    fn accept(&self) -> io::Result<(Stream, String)> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut asked = [match self {
            Listener::Unix(listener, _) => PollFd::new(listener, PollFlags::IN),
            Listener::Tcp(listener) => PollFd::new(listener, PollFlags::IN),
        }];
        let patience = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        if poll(&mut asked, Some(&patience))? == 0 {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "not all nodes have connected to it"));
        }
        match self {
            Listener::Unix(listener, _) => {
                listener.accept().map(|(stream, _)| (Stream::Unix(stream), "this host".to_owned()))
            }
            Listener::Tcp(listener) => {
                listener.accept().map(|(stream, from)| (Stream::Tcp(stream), from.to_string()))
            }
        }
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

fn refused(refusal: crate::handshake::Refusal) -> io::Error {
    io::Error::other(refusal.to_string())
}

fn socket(stream: Stream) -> io::Result<Socket> {
    stream.keep_alive()?;
    match stream {
        Stream::Unix(stream) => Socket::of_unix(stream),
        Stream::Tcp(stream) => Socket::of_tcp(stream),
    }
}
