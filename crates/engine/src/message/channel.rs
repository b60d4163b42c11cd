//! Channels: what the messages of a deployment go through, a stream of bytes each way between every two counterparts.
//!
//! | channel | what carries a byte |
//! |---|---|
//! | shared memory | a ring that one worker writes and the other reads ([`super::stream`]) |
//! | Unix domain sockets, TCP | the operating system: a system call for each write and for each read, and one to see from which counterparts something has come |
//!
//! Whatever it is, nobody waits at it: what finds no room is kept ([`super::endpoint`]).
//!
//! Instances are in one process, or each is a process of its own ([`Part`]), on this host or another. Then a channel may end before the run does, because the
//! other process has: that instance is lost, and the run with it.

use super::endpoint::Position;
use super::stream::{Sink, Source, Streams};
use crate::epoch::Line;
use crate::facade::atomic::{AtomicU32, Ordering};
use crate::facade::latched::Latched;
use crate::facade::socket::{Family, Socket};
use contract::{ChannelName, Lost};
use std::io::{self, ErrorKind};

/// A process's share of a deployment whose instances are processes: one of them, and its sockets to the others.
pub struct Part {
    /// Which of them.
    pub instance: usize,
    /// How many there are.
    pub instances: usize,
    /// By worker, then by instance: the end that leads to the worker's counterpart there; none to the instance itself.
    pub sockets: Vec<Vec<Option<Socket>>>,
}

/// All channels of a deployment, or of one instance that is a process.
pub(crate) struct Channels {
    ends: Ends,
    /// Whether the instances are processes.
    leave_process: bool,
    /// Whether a branch has panicked, or an instance is lost.
    broken: Line<AtomicU32>,
    /// The instance that was lost first.
    lost: Latched<Option<Lost>>,
}

enum Ends {
    Streams(Streams),
    /// By the stream that the end writes to; each is taken once. A latch each: workers take theirs when a run has begun, all at once.
    Sockets(Box<[Latched<Option<Socket>>]>),
}

/// A worker's end of what leads to a counterpart and back.
pub(crate) enum Channel<'e> {
    Streams(Source<'e>, Sink<'e>),
    Socket(Socket),
}

impl Channels {
    /// Between all counterparts of a deployment within this process. Panics if the system has no more sockets to give.
    pub fn open(name: ChannelName, position: Position) -> Self {
        Channels::over(Ends::open(name, position), false)
    }

    /// Of an instance that is a process.
    pub fn of_part(part: Part) -> Self {
        let Part { instance, instances, sockets } = part;
        let before = instance * sockets.len() * instances;
        let ends = std::iter::repeat_with(|| None).take(before).chain(sockets.into_iter().flatten());
        Channels::over(Ends::Sockets(ends.map(Latched::new).collect()), true)
    }

    fn over(ends: Ends, leave_process: bool) -> Self {
        Channels { ends, leave_process, broken: Line::default(), lost: Latched::new(None) }
    }

    /// Whether they lead to other processes.
    pub fn leave_process(&self) -> bool {
        self.leave_process
    }

    /// A branch has panicked, or its instance is lost.
    #[cold]
    pub fn break_off(&self) {
        // Relaxed, here and below: it orders nothing.
        self.broken.0.store(1, Ordering::Relaxed);
    }

    /// An instance that is a process is lost.
    #[cold]
    pub fn lose(&self, instance: usize, why: String) {
        self.lost.with(|lost| {
            lost.get_or_insert(Lost::new(instance, why));
        });
        self.break_off();
    }

    /// The instance that was lost, if one was.
    pub fn into_lost(self) -> Option<Lost> {
        self.lost.with(Option::take)
    }

    /// Whether one has, so that nobody may answer any more.
    #[inline(always)]
    pub fn is_broken(&self) -> bool {
        self.broken.0.load(Ordering::Relaxed) != 0
    }

    /// A worker's end of what leads to its counterpart at another instance. To be taken once.
    pub fn end(&self, position: Position, instance: usize) -> Channel<'_> {
        let stream = position.stream_to(instance);
        match &self.ends {
            Ends::Streams(streams) => {
                let back = position.counterpart(instance).stream_to(position.instance);
                Channel::Streams(Source::new(streams, stream), Sink::new(streams, back))
            }
            Ends::Sockets(sockets) => {
                let socket = sockets[stream].with(Option::take);
                Channel::Socket(socket.expect("an end is taken once"))
            }
        }
    }
}

impl Ends {
    fn open(name: ChannelName, position: Position) -> Self {
        let ends = position.instances * position.workers * position.instances;
        let family = match name {
            ChannelName::SharedMemory => return Ends::Streams(Streams::new(ends)),
            ChannelName::Unix => Family::Unix,
            ChannelName::Tcp => Family::Tcp,
        };
        let mut sockets: Vec<Option<Socket>> = std::iter::repeat_with(|| None).take(ends).collect();
        for rank in 0..position.workers {
            for one in 0..position.instances {
                for other in 0..one {
                    let worker = |instance| instance * position.workers + rank;
                    let pair = Socket::pair_between(family, worker(one), worker(other));
                    let (here, there) = pair.unwrap_or_else(|error| panic!("no {name} socket: {error}"));
                    sockets[Position { instance: one, rank, ..position }.stream_to(other)] = Some(here);
                    sockets[Position { instance: other, rank, ..position }.stream_to(one)] = Some(there);
                }
            }
        }
        Ends::Sockets(sockets.into_iter().map(Latched::new).collect())
    }
}

impl Channel<'_> {
    /// The socket, if it is one.
    pub fn socket(&self) -> Option<&Socket> {
        match self {
            Channel::Streams(..) => None,
            Channel::Socket(socket) => Some(socket),
        }
    }

    /// Writes as many of the bytes as there is room for; how many. An error if the other end is closed.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Channel::Streams(source, _) => Ok(source.write(bytes)),
            Channel::Socket(socket) => socket.write(bytes),
        }
    }

    /// Appends what has come to `into`; how many bytes. An error if the other end is closed.
    pub fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Channel::Streams(_, sink) => Ok(sink.read(into)),
            Channel::Socket(socket) => socket.read(into),
        }
    }
}

/// Whether an error says that nobody has the other end any more.
pub(crate) fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted)
}
