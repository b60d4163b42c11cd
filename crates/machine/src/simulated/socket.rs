//! Sockets in memory, as [`crate::hardware::socket`] are the operating system's.
//!
//! In an exploration other cores may go on before and after every call. **On a machine with clocks** a call takes the time that the machine's file says
//! ([`Channel`]), and what is sent comes later by its latency. Between workers on different machines of a cluster it goes through the network, and first
//! waits for what its machine has sent before.
//!
//! What goes wrong on the way, if something is to, is said by a network ([`super::network`]).

use super::access::{Access, access, timed};
use super::description::{Channel, Wire};
use super::network::Trouble;
use super::{clock, worker};
pub use crate::hardware::socket::Family;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that were sent and not received, at most: as many as Linux has room for by default.
const ROOM_BYTES: usize = 208 << 10;

/// As [`crate::hardware::socket::Socket`].
#[derive(Debug)]
pub struct Socket {
    family: Family,
    /// The workers at this end and at the other, if it is told.
    between: Option<(usize, usize)>,
    outgoing: Arc<Mutex<Pipe>>,
    incoming: Arc<Mutex<Pipe>>,
}

/// Bytes on their way, one way.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    /// What was sent at once, and when it has come, in nanoseconds.
    sent: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
    is_closed: bool,
    /// Whether nothing comes out any more, and nobody is told so.
    is_cut: bool,
    /// Pieces until that is so.
    cut_after: Option<u64>,
    trouble: Option<Trouble>,
}

impl Pipe {
    /// Of a network.
    pub(super) fn troubled(trouble: Option<Trouble>) -> Pipe {
        Pipe { trouble, ..Pipe::default() }
    }

    /// From now on nothing comes out, and nobody is told so.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
        self.sent.clear();
        self.bytes = 0;
    }

    /// So once this many pieces more were sent.
    pub(super) fn cut_after(&mut self, pieces: u64) {
        self.cut_after = Some(pieces);
    }

    /// It is closed behind what was sent; of that, only the first `kept` pieces still come.
    pub(super) fn close_behind(&mut self, kept: usize) {
        self.sent.truncate(kept);
        self.bytes = self.sent.iter().map(|(_, piece)| piece.len()).sum();
        self.is_closed = true;
    }

    /// Pieces on their way.
    pub(super) fn pieces(&self) -> usize {
        self.sent.len()
    }

    fn send(&mut self, comes_at: u64, piece: &[u8]) {
        if let Some(pieces) = &mut self.cut_after {
            // What is on its way still comes.
            self.is_cut |= *pieces == 0;
            *pieces = pieces.saturating_sub(1);
        }
        if self.is_cut {
            return;
        }
        let before = self.sent.len();
        match &mut self.trouble {
            None => self.sent.push_back((comes_at, piece.to_vec())),
            Some(trouble) => trouble.send(&mut self.sent, comes_at, piece),
        }
        self.bytes += (self.sent.len() - before) * piece.len();
    }

    /// Whether all that comes has been read. That the other end is closed is known behind what it had sent.
    fn is_over(&self) -> bool {
        self.is_closed && self.sent.is_empty() && !self.is_cut
    }
}

pub(super) fn lock(pipe: &Mutex<Pipe>) -> MutexGuard<'_, Pipe> {
    pipe.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As [`crate::hardware::socket::poll`].
pub fn poll<'s>(sockets: impl Iterator<Item = &'s Socket>, ready: &mut Vec<bool>) -> io::Result<()> {
    let mut sockets = sockets.peekable();
    ready.clear();
    if let Some(first) = sockets.peek() {
        first.take_time(|channel| channel.poll_ns);
    }
    ready.extend(sockets.map(Socket::has_something));
    Ok(())
}

impl Socket {
    /// As [`crate::hardware::socket::Socket::pair`].
    pub fn pair(family: Family) -> io::Result<(Socket, Socket)> {
        Ok(Self::connected(family, None, Pipe::default(), Pipe::default()))
    }

    /// As [`crate::hardware::socket::Socket::pair_between`].
    pub fn pair_between(family: Family, one: usize, other: usize) -> io::Result<(Socket, Socket)> {
        Ok(Self::connected(family, Some((one, other)), Pipe::default(), Pipe::default()))
    }

    fn connected(
        family: Family,
        between: Option<(usize, usize)>,
        there: Pipe,
        back: Pipe,
    ) -> (Socket, Socket) {
        let (there, back) = (Arc::new(Mutex::new(there)), Arc::new(Mutex::new(back)));
        let one = Socket { family, between, outgoing: Arc::clone(&there), incoming: Arc::clone(&back) };
        let between = between.map(|(one, other)| (other, one));
        (one, Socket { family, between, outgoing: back, incoming: there })
    }

    /// Two ends of a connection whose ways there and back are these; and the ways.
    #[allow(clippy::type_complexity, reason = "two ends, two ways")]
    pub(super) fn over(there: Pipe, back: Pipe) -> ((Socket, Socket), [Arc<Mutex<Pipe>>; 2]) {
        let ends = Self::connected(Family::Tcp, None, there, back);
        let ways = [Arc::clone(&ends.0.outgoing), Arc::clone(&ends.1.outgoing)];
        (ends, ways)
    }

    /// As [`crate::hardware::socket::Socket::write`].
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(ROOM_BYTES.saturating_sub(lock(&self.outgoing).bytes));
        self.take_time(|channel| channel.send_ns(taken as u64));
        let latency_ns = self.times().map_or(0, |channel| channel.latency_ns);
        let comes_at = self.leaves_at(taken as u64) + latency_ns;
        let mut pipe = lock(&self.outgoing);
        if pipe.is_closed && !pipe.is_cut {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if taken > 0 {
            pipe.send(comes_at, &bytes[..taken]);
        }
        Ok(taken)
    }

    /// As [`crate::hardware::socket::Socket::read`].
    pub fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        let come = self.has_come();
        self.take_time(|channel| match come {
            0 => channel.poll_ns,
            _ => channel.receive_ns(come as u64),
        });
        let mut pipe = lock(&self.incoming);
        // Meanwhile more may have come, or be lost with its sender.
        let (now, before) = (clock::passed_ns(), into.len());
        while into.len() - before < come && pipe.sent.front().is_some_and(|(at, _)| *at <= now) {
            let (_, piece) = pipe.sent.pop_front().expect("there is a first one");
            into.extend(piece);
        }
        let come = into.len() - before;
        pipe.bytes -= come;
        match come {
            0 if pipe.is_over() => Err(io::ErrorKind::ConnectionAborted.into()),
            come => Ok(come),
        }
    }

    /// As [`crate::hardware::socket::Socket::shut_down`].
    pub fn shut_down(&self) {
        lock(&self.outgoing).is_closed = true;
        lock(&self.incoming).is_closed = true;
    }

    /// As [`crate::hardware::socket::Socket::is_ready`].
    pub fn is_ready(&self) -> io::Result<bool> {
        self.take_time(|channel| channel.poll_ns);
        Ok(self.has_something())
    }

    /// That the other end is closed is known behind what it had sent.
    fn has_something(&self) -> bool {
        self.has_come() > 0 || lock(&self.incoming).is_over()
    }

    /// Bytes that can be read now.
    fn has_come(&self) -> usize {
        let now = clock::passed_ns();
        let pipe = lock(&self.incoming);
        pipe.sent.iter().take_while(|(at, _)| *at <= now).map(|(_, bytes)| bytes.len()).sum()
    }

    /// What its messages take, on a machine with clocks.
    fn times(&self) -> Option<Channel> {
        let machine = timed().filter(|machine| machine.core().is_some())?;
        let channels = machine.channels();
        let (name, channel) = match (self.wire(), self.family) {
            (Some((_, wire)), _) => ("network", Some(wire.channel)),
            (None, Family::Unix) => ("unix", channels.unix),
            (None, Family::Tcp) => ("tcp", channels.tcp),
        };
        Some(channel.unwrap_or_else(|| {
            panic!("the machine has no such sockets: its file has no table [channels.{name}]")
        }))
    }

    /// The machine at this end and what leads to the one at the other, if that is another one.
    fn wire(&self) -> Option<(usize, Wire)> {
        let (machine, (one, other)) = (timed()?, self.between?);
        let (here, there) = (machine.sites()[one].machine, machine.sites()[other].machine);
        let wire = machine.channels().network.filter(|_| here != there)?;
        assert!(self.family == Family::Tcp, "machines are connected by TCP only");
        Some((here, wire))
    }

    /// When so many bytes that are sent now have left, in nanoseconds.
    fn leaves_at(&self, bytes: u64) -> u64 {
        let now = clock::passed_ns();
        match (self.wire(), timed()) {
            (Some((here, wire)), Some(machine)) if bytes > 0 => {
                machine.send_from(here, now, wire.occupancy_ns(bytes))
            }
            _ => now,
        }
    }

    /// Lets the time pass that a call takes.
    fn take_time(&self, ns: impl FnOnce(Channel) -> u64) {
        match self.times() {
            Some(channel) => {
                let machine = timed().expect("a machine with clocks");
                machine.sleep_until(clock::passed_ns() + ns(channel));
            }
            None if worker::current().is_some() => access(Access::Pause),
            None => {}
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.shut_down();
    }
}
