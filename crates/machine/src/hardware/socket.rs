//! Sockets: bytes between two workers, first in, first out, through the operating system.
//!
//! Nobody blocks: a write takes what the system has room for, a read what has come. Both ends are made together, within a process, or one is that of a connection to
//! another process.

use rustix::buffer::spare_capacity;
use rustix::event::{self, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Bytes that are read at a time.
const READ_BYTES: usize = 16 << 10;

/// What connects the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A pair of Unix domain sockets.
    Unix,
    /// A connection of the loopback interface, whose segments are sent at once.
    Tcp,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Socket(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// Says of each of these sockets whether something can be read, or the other end is closed: one call of the system, whatever their number.
pub fn poll<'s>(sockets: impl Iterator<Item = &'s Socket>, ready: &mut Vec<bool>) -> io::Result<()> {
    let mut asked: Vec<PollFd<'s>> = sockets.map(Socket::asked).collect();
    ready.clear();
    poll_at_once(&mut asked)?;
    ready.extend(asked.iter().map(|socket| !socket.revents().is_empty()));
    Ok(())
}

fn poll_at_once(asked: &mut [PollFd<'_>]) -> io::Result<()> {
    match event::poll(asked, Some(&Timespec::default())) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Socket {
    /// Two ends of a connection.
    pub fn pair(family: Family) -> io::Result<(Socket, Socket)> {
        let kinds = match family {
            Family::Unix => {
                let (one, other) = UnixStream::pair()?;
                (Kind::Unix(one), Kind::Unix(other))
            }
            Family::Tcp => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                let one = TcpStream::connect(listener.local_addr()?)?;
                let other = loop {
                    let (other, from) = listener.accept()?;
                    // Somebody else may have connected before.
                    if from == one.local_addr()? {
                        break other;
                    }
                };
                (Kind::Tcp(one), Kind::Tcp(other))
            }
        };
        Ok((Socket::new(kinds.0)?, Socket::new(kinds.1)?))
    }

    /// Two ends of a connection between these workers, whose machine is one.
    pub fn pair_between(family: Family, one: usize, other: usize) -> io::Result<(Socket, Socket)> {
        let _ = (one, other);
        Socket::pair(family)
    }

    /// This end of a connection to another process of this host.
    pub fn of_unix(stream: UnixStream) -> io::Result<Socket> {
        Socket::new(Kind::Unix(stream))
    }

    /// This end of a connection to another process, on this host or another.
    pub fn of_tcp(stream: TcpStream) -> io::Result<Socket> {
        Socket::new(Kind::Tcp(stream))
    }

    /// The same end once more.
    pub fn again(&self) -> Socket {
        Socket(Arc::clone(&self.0))
    }

    /// Closes the connection, whoever else has this end: nothing is read or written any more.
    pub fn shut_down(&self) {
        // It may be closed already.
        let _ = match &*self.0 {
            Kind::Unix(stream) => stream.shutdown(Shutdown::Both),
            Kind::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// Whether something can be read, or the other end is closed.
    pub fn is_ready(&self) -> io::Result<bool> {
        let mut asked = [self.asked()];
        poll_at_once(&mut asked)?;
        Ok(!asked[0].revents().is_empty())
    }

    fn asked(&self) -> PollFd<'_> {
        match &*self.0 {
            Kind::Unix(stream) => PollFd::new(stream, PollFlags::IN),
            Kind::Tcp(stream) => PollFd::new(stream, PollFlags::IN),
        }
    }

    fn new(kind: Kind) -> io::Result<Socket> {
        match &kind {
            Kind::Unix(stream) => stream.set_nonblocking(true)?,
            Kind::Tcp(stream) => {
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
            }
        }
        Ok(Socket(Arc::new(kind)))
    }

    /// Writes as many of the bytes as there is room for; how many.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &*self.0 {
            Kind::Unix(stream) => (&*stream).write(bytes),
            Kind::Tcp(stream) => (&*stream).write(bytes),
        };
        or_nothing(written)
    }

    /// Appends what has come to `into`; how many bytes. An error if the other end is closed.
    pub fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        // Where the bytes go nothing is written before: most looks find none.
        into.reserve(READ_BYTES);
        let room = spare_capacity(into);
        let read = match &*self.0 {
            Kind::Unix(stream) => rustix::io::read(stream, room),
            Kind::Tcp(stream) => rustix::io::read(stream, room),
        };
        match read {
            Ok(0) => Err(io::ErrorKind::ConnectionAborted.into()),
            other => or_nothing(other.map_err(io::Error::from)),
        }
    }
}

/// Nothing was read or written if nothing could be now.
fn or_nothing(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_polls_is_told_which_have_something() {
        let mut pairs: Vec<_> =
            [Family::Unix, Family::Tcp].map(|family| Socket::pair(family).expect("sockets")).into();
        let mut ready = Vec::new();
        let mut polled = |pairs: &[(Socket, Socket)]| {
            poll(pairs.iter().map(|(_, other)| other), &mut ready).expect("open ends");
            ready.clone()
        };
        assert_eq!(polled(&pairs), [false, false]);
        assert_eq!(pairs[1].0.write(b"one").expect("an open end"), 3);
        while polled(&pairs) != [false, true] {}
        pairs[1].1.read(&mut Vec::new()).expect("an open end");
        assert_eq!(polled(&pairs), [false, false]);
        assert!(!pairs[0].1.is_ready().expect("an open end"));
        let (one, other) = pairs.swap_remove(0);
        drop(one);
        assert!(other.is_ready().expect("a closed end"), "it can be read that the other end is closed");
        pairs.push((Socket::pair(Family::Unix).expect("sockets").0, other));
        while polled(&pairs) != [false, true] {}
    }

    #[test]
    fn bytes_come_in_order_and_an_end_that_is_closed_is_told() {
        for family in [Family::Unix, Family::Tcp] {
            let (mut one, mut other) = Socket::pair(family).expect("sockets");
            let mut come = Vec::new();
            assert_eq!(other.read(&mut come).expect("an open end"), 0);
            let bytes: Vec<u8> = (0..1_000_000).map(|n| n as u8).collect();
            let mut written = 0;
            while come.len() < bytes.len() {
                written += one.write(&bytes[written..]).expect("an open end");
                other.read(&mut come).expect("an open end");
            }
            assert!(come == bytes, "{family:?}");
            drop(one);
            let error = loop {
                if let Err(error) = other.read(&mut come) {
                    break error;
                }
            };
            assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
        }
    }
}
