//! Channels: what the messages of a deployment go through, a stream of bytes each way between every two counterparts.
//!
//! | channel | what carries a byte |
//! |---|---|
//! | shared memory | a ring that one worker writes and the other reads ([`super::stream`]) |
//! | Unix domain sockets, TCP | the operating system: a system call for each write and for each read, and one to see from which counterparts something has come |
//!
//! Whatever it is, nobody waits at it: what finds no room is kept ([`super::endpoint`]).

use super::endpoint::Position;
use super::stream::{Sink, Source, Streams};
use crate::epoch::Line;
use crate::facade::atomic::{AtomicU32, Ordering};
use crate::facade::latched::Latched;
use crate::facade::socket::{Family, Socket};
use contract::ChannelName;
use std::io::ErrorKind;

/// All channels of a deployment.
pub(crate) struct Channels {
    ends: Ends,
    /// Whether a branch has panicked.
    broken: Line<AtomicU32>,
}

enum Ends {
    Streams(Streams),
    /// By the stream that the end writes to; each is taken once.
    Sockets(Latched<Vec<Option<Socket>>>),
}

/// A worker's end of what leads to a counterpart and back.
pub(crate) enum Channel<'e> {
    Streams(Source<'e>, Sink<'e>),
    Socket(Socket),
}

impl Channels {
    /// Between all counterparts of a deployment. Panics if the system has no more sockets to give.
    pub fn open(name: ChannelName, position: Position) -> Self {
        Channels { ends: Ends::open(name, position), broken: Line::default() }
    }

    /// A branch has panicked.
    #[cold]
    pub fn break_off(&self) {
        // Relaxed, here and below: it orders nothing.
        self.broken.0.store(1, Ordering::Relaxed);
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
                let socket = sockets.with(|sockets| sockets[stream].take());
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
                    let (here, there) =
                        Socket::pair(family).unwrap_or_else(|error| panic!("no {name} socket: {error}"));
                    sockets[Position { instance: one, rank, ..position }.stream_to(other)] = Some(here);
                    sockets[Position { instance: other, rank, ..position }.stream_to(one)] = Some(there);
                }
            }
        }
        Ends::Sockets(Latched::new(sockets))
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

    /// Writes as many of the bytes as there is room for; how many.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        match self {
            Channel::Streams(source, _) => source.write(bytes),
            Channel::Socket(socket) => socket.write(bytes).unwrap_or_else(|error| match error.kind() {
                // Of a worker that was unwound: nobody reads it any more.
                ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => bytes.len(),
                _ => closed(&error),
            }),
        }
    }

    /// Appends what has come to `into`; how many bytes.
    pub fn read(&mut self, into: &mut Vec<u8>) -> usize {
        match self {
            Channel::Streams(_, sink) => sink.read(into),
            Channel::Socket(socket) => socket.read(into).unwrap_or_else(|error| match error.kind() {
                // Of a worker that has seen the end of the run before this one.
                ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset => 0,
                _ => closed(&error),
            }),
        }
    }
}

/// Instances of one process end together: a channel that does not work before is a defect.
#[cold]
fn closed(error: &std::io::Error) -> ! {
    panic!("a channel to another instance: {error}")
}
