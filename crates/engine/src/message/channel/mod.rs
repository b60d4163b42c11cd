//! Channels: what the messages of a deployment go through, a stream of bytes each way between every two counterparts.
//!
//! | file | channel | what carries a byte |
//! |---|---|---|
//! | [`shared_memory`] | `shared-memory` | a ring that one worker writes and the other reads ([`stream`]), in one process or in memory that two have |
//! | [`socket`] | `unix`, `tcp` | the operating system |
//!
//! There is one contract, [`Channel`]. Whatever it is, nobody waits at it: what finds no room is kept ([`super::endpoint`]).
//!
//! Instances are in one process, or each is a process of its own ([`Part`]), on this host or another. Then a channel may end before the run does, because the
//! other process has: that instance is lost, and the run with it. Who makes the connections between processes may bring a channel of another kind, such as one that is encrypted, or MPI.
//!
//! A [`Link`] tells shared memory from all others, so that its calls, of a few instructions, are known at compile time; beside what the system takes for the others a call
//! through a table is nothing.

pub(crate) mod shared_memory;
mod socket;
pub(crate) mod stream;

use super::endpoint::Position;
use crate::epoch::Line;
use crate::facade::atomic::{AtomicU32, Ordering};
use crate::facade::latched::Latched;
use crate::facade::shared::Arc;
use crate::facade::socket::{Family, Socket};
use contract::{ChannelName, Lost};
use shared_memory::{CommonMemory, SharedMemory};
use std::io::{self, ErrorKind};
use stream::Streams;

/// A worker's end of what leads to a counterpart and back: bytes, first in, first out, each way. No call blocks.
pub trait Channel: Send {
    /// Takes as many of the bytes as there is room for; how many. What was not taken is what is offered next, perhaps with more behind it. An error if the other end is closed.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Appends what has come to `into`; how many bytes. An error if the other end is closed, once all has been read that it had written.
    fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize>;

    /// What the system can be asked whether there is something to read; `None`: to look costs no call of the system.
    fn socket(&self) -> Option<&Socket> {
        None
    }

    /// Whether a write takes so long that what may wait had better go with what is written next.
    fn is_slow_to_write(&self) -> bool {
        self.socket().is_some()
    }

    /// Closes both ends, if it leads to another process.
    fn shut_down(&self);
}

/// A channel of any kind.
pub enum Link {
    /// Whose calls are known at compile time.
    SharedMemory(SharedMemory),
    /// Whose calls take long anyway.
    Other(Box<dyn Channel>),
}

/// A process's share of a deployment whose instances are processes: one of them, and what leads to the others.
pub type Part = contract::Part<Link>;

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
    /// Of shared memory within this process: made when they are taken.
    Streams(Arc<Streams>),
    /// By the stream that the end writes to; each is taken once. A latch each: workers take theirs when a run has begun, all at once. And a line each: which of them are in
    /// one would depend on where the slice is, and with it what a simulated machine says.
    Links(Box<[Line<Latched<Option<Link>>>]>),
}

impl Channels {
    /// Between all counterparts of a deployment within this process. Panics if the system has no more sockets to give, and of MPI, which there is between processes only.
    pub fn open(name: ChannelName, position: Position) -> Self {
        Channels::over(Ends::open(name, position), false)
    }

    /// Of an instance that is a process.
    pub fn of_part(part: Part) -> Self {
        let Part { instance, instances, links } = part;
        let before = instance * links.len() * instances;
        let ends = std::iter::repeat_with(|| None).take(before).chain(links.into_iter().flatten());
        Channels::over(Ends::Links(ends.map(|end| Line(Latched::new(end))).collect()), true)
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

    /// Of the instance that was lost, if one was.
    pub fn with_lost<R>(&self, f: impl FnOnce(Option<&Lost>) -> R) -> R {
        self.lost.with(|lost| f(lost.as_ref()))
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
    pub fn end(&self, position: Position, instance: usize) -> Link {
        let stream = position.stream_to(instance);
        match &self.ends {
            Ends::Streams(streams) => {
                let back = position.counterpart(instance).stream_to(position.instance);
                Link::SharedMemory(SharedMemory::within(streams, stream, back))
            }
            Ends::Links(links) => links[stream].0.with(Option::take).expect("an end is taken once"),
        }
    }
}

impl Ends {
    fn open(name: ChannelName, position: Position) -> Self {
        let family = match name {
            ChannelName::SharedMemory => {
                let streams = position.instances * position.workers * position.instances;
                return Ends::Streams(Arc::new(Streams::new(streams)));
            }
            ChannelName::Unix => Family::Unix,
            ChannelName::Tcp => Family::Tcp,
            ChannelName::Mpi => panic!("MPI is between processes"),
        };
        let sockets = socket::between_all(family, position).into_iter();
        Ends::Links(sockets.map(|socket| Line(Latched::new(socket.map(Link::from)))).collect())
    }
}

impl From<Socket> for Link {
    fn from(socket: Socket) -> Link {
        Link::Other(Box::new(socket))
    }
}

/// For a run.
impl From<&CommonMemory> for Link {
    fn from(common: &CommonMemory) -> Link {
        Link::SharedMemory(SharedMemory::between(common))
    }
}

impl Channel for Link {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Link::SharedMemory(channel) => channel.write(bytes),
            Link::Other(channel) => channel.write(bytes),
        }
    }

    #[inline]
    fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Link::SharedMemory(channel) => channel.read(into),
            Link::Other(channel) => channel.read(into),
        }
    }

    #[inline]
    fn socket(&self) -> Option<&Socket> {
        match self {
            Link::SharedMemory(_) => None,
            Link::Other(channel) => channel.socket(),
        }
    }

    #[inline]
    fn is_slow_to_write(&self) -> bool {
        match self {
            Link::SharedMemory(_) => false,
            Link::Other(channel) => channel.is_slow_to_write(),
        }
    }

    fn shut_down(&self) {
        match self {
            Link::SharedMemory(channel) => channel.shut_down(),
            Link::Other(channel) => channel.shut_down(),
        }
    }
}

/// Whether an error says that nobody has the other end any more.
pub(crate) fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted)
}
