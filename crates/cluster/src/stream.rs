//! Connections between nodes, of any kind.

use crate::control::BEAT;
use crate::encrypted::Encrypted;
use rustix::net::sockopt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A connection that blocks.
#[derive(Debug)]
pub enum Stream {
    /// Within a host.
    Unix(UnixStream),
    /// To any host.
    Tcp(TcpStream),
    /// To any host, encrypted.
    Encrypted(Arc<Encrypted>),
}

impl Stream {
    /// The same connection once more.
    pub fn try_clone(&self) -> io::Result<Stream> {
        Ok(match self {
            Stream::Unix(stream) => Stream::Unix(stream.try_clone()?),
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone()?),
            Stream::Encrypted(stream) => Stream::Encrypted(Arc::clone(stream)),
        })
    }

    /// What carries it, if that is TCP.
    fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Stream::Unix(_) => None,
            Stream::Tcp(stream) => Some(stream),
            Stream::Encrypted(stream) => Some(stream.socket()),
        }
    }

    /// How long a read or a write may take without moving a byte.
    pub fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        if let Stream::Unix(stream) = self {
            stream.set_read_timeout(patience)?;
            stream.set_write_timeout(patience)?;
        }
        if let Some(stream) = self.tcp() {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(patience)?;
            stream.set_write_timeout(patience)?;
        }
        Ok(())
    }

    /// Ends it for everybody.
    pub fn shut_down(&self) {
        // It may have ended already.
        if let Stream::Unix(stream) = self {
            let _ = stream.shutdown(Shutdown::Both);
        }
        if let Some(stream) = self.tcp() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// The address of this host by which the other end reaches it; none within a host.
    pub fn own_address(&self) -> Option<IpAddr> {
        Some(self.tcp()?.local_addr().ok()?.ip())
    }

    /// A number that both ends know, and nobody else; none of a connection that is not encrypted.
    pub(crate) fn binding(&self) -> io::Result<Vec<u8>> {
        match self {
            Stream::Encrypted(stream) => stream.binding().map(Vec::from),
            Stream::Unix(_) | Stream::Tcp(_) => Ok(Vec::new()),
        }
    }

    /// Reads from the system once at most; `None`: what has come says nothing yet.
    fn read_once(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Stream::Encrypted(stream) => stream.read_once(into),
            Stream::Unix(_) | Stream::Tcp(_) => self.read(into).map(Some),
        }
    }

    /// A host that is gone without a word, or takes nothing for so long, is noticed.
    pub fn keep_alive(&self, silence: Duration) -> io::Result<()> {
        if let Some(stream) = self.tcp() {
            sockopt::set_socket_keepalive(stream, true)?;
            sockopt::set_tcp_keepidle(stream, silence / 2)?;
            sockopt::set_tcp_keepintvl(stream, BEAT)?;
            sockopt::set_tcp_user_timeout(stream, silence.as_millis() as u32)?;
        }
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(into),
            Stream::Tcp(stream) => stream.read(into),
            Stream::Encrypted(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stream of which nothing is read any more after a moment, however little comes at a time.
pub struct Until<'s> {
    stream: &'s mut Stream,
    moment: Instant,
}

impl<'s> Until<'s> {
    /// For so long from now on.
    pub fn after(stream: &'s mut Stream, patience: Duration) -> Self {
        Until { stream, moment: Instant::now() + patience }
    }
}

impl Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.moment.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.stream.set_patience(Some(left))?;
            if let Some(read) = self.stream.read_once(into)? {
                return Ok(read);
            }
        }
    }
}

impl Write for Until<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn who_sends_little_at_a_time_is_not_waited_for() {
        let (mut there, here) = UnixStream::pair().expect("sockets");
        thread::spawn(move || {
            while there.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(10));
            }
        });
        let mut here = Stream::Unix(here);
        let began = Instant::now();
        let read = Until::after(&mut here, Duration::from_millis(100)).read_exact(&mut [0; 1000]);
        assert!(read.is_err() && began.elapsed() < Duration::from_secs(5));
    }
}
