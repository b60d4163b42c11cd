//! Connections over TCP whose bytes are encrypted ([`crate::tls`]): TLS records, made and opened by `rustls`, and sent and received here.
//!
//! - [`Encrypted`] blocks. One thread reads while others write: what is locked while somebody waits for the network is never what the others need. So two ends that both write
//!   much before they read do not wait for each other's locks.
//! - `EncryptedSocket` is a worker's [`Channel`], and never blocks. Bytes are taken once their records have left: until then the same bytes are offered again, which the contract of a
//!   channel says.

use engine::Channel;
use machine::hardware::socket::Socket;
use rustls::Connection;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that are made a record of, at most, and that are read at a time.
const AT_ONCE: usize = 16 << 10;
/// Of a number that both ends of a connection know, and nobody else.
const BINDING_BYTES: usize = 32;

/// Makes records, and opens them.
pub(crate) struct Records {
    connection: Connection,
    /// What was in records that have come, and nobody has taken.
    come: Vec<u8>,
}

impl Records {
    /// Of a connection that has shaken hands.
    pub fn of(connection: Connection) -> io::Result<Records> {
        assert!(!connection.is_handshaking(), "a connection that has shaken hands");
        let mut records = Records { connection, come: Vec::new() };
        records.take_opened()?;
        Ok(records)
    }

    /// Makes records of some bytes, [`AT_ONCE`] at most, behind what else there is to be sent.
    fn make(&mut self, bytes: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
        assert!(bytes.len() <= AT_ONCE);
        self.connection.writer().write_all(bytes)?;
        while self.connection.wants_write() {
            self.connection.write_tls(into)?;
        }
        Ok(())
    }

    /// Opens records that have come, whole or in pieces.
    fn open(&mut self, mut received: &[u8]) -> io::Result<()> {
        while !received.is_empty() {
            if self.connection.read_tls(&mut received)? == 0 {
                // It has said that nothing follows: what does is not taken.
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let opened = self.connection.process_new_packets();
            opened.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            self.take_opened()?;
        }
        Ok(())
    }

    fn take_opened(&mut self) -> io::Result<()> {
        match self.connection.reader().read_to_end(&mut self.come) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// See the module.
pub struct Encrypted {
    socket: TcpStream,
    records: Mutex<Records>,
    /// Who makes records sends them, in their order.
    sending: Mutex<()>,
}

impl Encrypted {
    pub(crate) fn new(socket: TcpStream, records: Records) -> Encrypted {
        Encrypted { socket, records: Mutex::new(records), sending: Mutex::new(()) }
    }

    /// What is below.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// A number that both ends of this connection know, and nobody else (RFC 9266).
    pub(crate) fn binding(&self) -> io::Result<[u8; BINDING_BYTES]> {
        let exported = lock(&self.records).connection.export_keying_material(
            [0; BINDING_BYTES],
            b"EXPORTER-Channel-Binding",
            Some(b""),
        );
        exported.map_err(io::Error::other)
    }

    /// By one thread at a time.
    pub(crate) fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(read) = self.read_once(into)? {
                return Ok(read);
            }
        }
    }

    /// The same, with one read of the socket at most; `None`: what has come is no whole record yet.
    pub(crate) fn read_once(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        if let taken @ Some(_) = self.take(into) {
            return Ok(taken);
        }
        let mut received = [0; AT_ONCE];
        match (&self.socket).read(&mut received)? {
            0 => Ok(Some(0)),
            bytes => {
                lock(&self.records).open(&received[..bytes])?;
                Ok(self.take(into))
            }
        }
    }

    /// What has come; `None`: nothing.
    fn take(&self, into: &mut [u8]) -> Option<usize> {
        let come = &mut lock(&self.records).come;
        let taken = come.len().min(into.len());
        into[..taken].copy_from_slice(&come[..taken]);
        come.drain(..taken);
        (taken > 0 || into.is_empty()).then_some(taken)
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(AT_ONCE)];
        let _sending = lock(&self.sending);
        let mut made = Vec::with_capacity(bytes.len() + 64);
        lock(&self.records).make(bytes, &mut made)?;
        (&self.socket).write_all(&made)?;
        Ok(bytes.len())
    }
}

impl std::fmt::Debug for Encrypted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encrypted").field("socket", &self.socket).finish_non_exhaustive()
    }
}

/// See the module.
pub(crate) struct EncryptedSocket {
    socket: Socket,
    /// One worker has the end, in one run after another.
    traffic: Arc<Mutex<Traffic>>,
}

struct Traffic {
    records: Records,
    /// What has come, before it is opened.
    received: Vec<u8>,
    /// Records that were made, from `sent` on not yet sent.
    made: Vec<u8>,
    sent: usize,
    /// Bytes that they are of.
    of: usize,
}

impl EncryptedSocket {
    /// Of a connection that nobody reads or writes in another way. An error if the other end has spoken out of turn.
    pub fn of(connection: Encrypted) -> io::Result<EncryptedSocket> {
        let Encrypted { socket, records, .. } = connection;
        let records = records.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !records.come.is_empty() {
            // The system would not tell of it: it has given it already.
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it speaks out of turn"));
        }
        let traffic = Traffic { records, received: Vec::new(), made: Vec::new(), sent: 0, of: 0 };
        Ok(EncryptedSocket { socket: Socket::of_tcp(socket)?, traffic: Arc::new(Mutex::new(traffic)) })
    }

    /// The same end once more.
    pub fn again(&self) -> EncryptedSocket {
        EncryptedSocket { socket: self.socket.again(), traffic: Arc::clone(&self.traffic) }
    }

    /// As [`Channel::shut_down`].
    pub fn shut_down(&self) {
        self.socket.shut_down();
    }
}

impl Channel for EncryptedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Traffic { records, made, sent, of, .. } = &mut *lock(&self.traffic);
        if made.is_empty() {
            *of = bytes.len().min(AT_ONCE);
            records.make(&bytes[..*of], made)?;
        }
        *sent += self.socket.write(&made[*sent..])?;
        if *sent < made.len() {
            return Ok(0);
        }
        assert!(bytes.len() >= *of, "what was not taken is offered again");
        made.clear();
        *sent = 0;
        Ok(std::mem::take(of))
    }

    fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        let Traffic { records, received, .. } = &mut *lock(&self.traffic);
        received.clear();
        self.socket.read(received)?;
        records.open(received)?;
        let come = records.come.len();
        into.append(&mut records.come);
        Ok(come)
    }

    fn socket(&self) -> Option<&Socket> {
        Some(&self.socket)
    }

    fn shut_down(&self) {
        EncryptedSocket::shut_down(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Control, Purpose};
    use crate::stream::{Stream, Until};
    use crate::tls::tests::{Authority, both, credentials, sockets};
    use std::net::Shutdown;
    use std::thread;
    use std::time::Duration;

    fn pair() -> (Stream, Stream) {
        let authority = Authority::new();
        let own = || credentials(Some(authority.tls()));
        let (one, other) = both(own(), own());
        (one.expect("known"), other.expect("known"))
    }

    fn workers_end(stream: Stream) -> EncryptedSocket {
        let Stream::Encrypted(stream) = stream else { panic!("it is encrypted") };
        EncryptedSocket::of(Arc::into_inner(stream).expect("nobody else has it")).expect("a socket")
    }

    #[test]
    fn a_workers_bytes_come_in_order_whatever_there_is_room_for() {
        let (one, other) = pair();
        let (mut one, mut other) = (workers_end(one), workers_end(other));
        let bytes: Vec<u8> = (0..8_000_000u32).map(|n| (n % 251) as u8).collect();
        let mut come = Vec::new();
        assert_eq!(other.read(&mut come).expect("an open end"), 0);
        let (mut written, mut refused) = (0, 0);
        while come.len() < bytes.len() {
            // Nobody reads until there is no room any more.
            while let 1.. = {
                let taken = one.write(&bytes[written..]).expect("an open end");
                written += taken;
                taken
            } {}
            refused += usize::from(written < bytes.len());
            // An end of a run after the one before it.
            (one, other) = (one.again(), other.again());
            other.read(&mut come).expect("an open end");
        }
        assert!(come == bytes);
        assert!(refused > 0, "there was always room");
        other.write(b"the last").expect("an open end");
        drop(other);
        let mut last = Vec::new();
        let error = loop {
            if let Err(error) = one.read(&mut last) {
                break error;
            }
        };
        assert_eq!((last.as_slice(), error.kind()), (&b"the last"[..], io::ErrorKind::ConnectionAborted));
    }

    /// Both write more than the system has room for, before either has read all.
    #[test]
    fn who_writes_does_not_keep_the_other_from_reading() {
        let (one, other) = pair();
        let controls = [one, other].map(|stream| Control::over(stream, |_| ()).expect("a socket"));
        let long = vec![7; 20 << 20];
        thread::scope(|scope| {
            let talk = |control: &Control| {
                control.send(Purpose::Message, &long).expect("an open end");
                assert!(control.receive().is_some_and(|come| come == long));
            };
            for control in &controls {
                scope.spawn(move || talk(control));
            }
        });
    }

    /// Carries bytes, and answers what they were.
    fn carry(mut from: TcpStream, mut to: TcpStream) -> Vec<u8> {
        let (mut carried, mut bytes) = (Vec::new(), [0; 1 << 12]);
        while let Ok(come @ 1..) = from.read(&mut bytes) {
            carried.extend_from_slice(&bytes[..come]);
            if to.write_all(&bytes[..come]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
        carried
    }

    /// Whoever carries the bytes reads none of them.
    #[test]
    fn what_is_said_is_not_what_is_carried() {
        use crate::handshake::{End, shake};
        const WORDS: &[u8] = b"what nobody else is to know";
        let authority = Authority::new();
        let own = || credentials(Some(authority.tls()));
        let ((here, near), (far, there)) = (sockets(), sockets());
        let again = |socket: &TcpStream| socket.try_clone().expect("a socket");
        let (there_again, back_again) = (again(&near), again(&far));
        let there_carried = thread::spawn(move || carry(near, far));
        let back_carried = thread::spawn(move || carry(back_again, there_again));
        let patience = Duration::from_secs(10);
        let other = own();
        let accepts = thread::spawn(move || shake(Stream::Tcp(there), End::Accepts, &other, patience));
        let mut here = shake(Stream::Tcp(here), End::Connects, &own(), patience).expect("known");
        let mut there = accepts.join().expect("no panic").expect("known");
        here.write_all(WORDS).expect("an open end");
        let mut come = vec![0; WORDS.len()];
        there.read_exact(&mut come).expect("an open end");
        assert_eq!(come, WORDS);
        here.shut_down();
        there.shut_down();
        for carried in [there_carried, back_carried] {
            let carried = carried.join().expect("no panic");
            assert!(carried.len() > WORDS.len());
            for words in [WORDS, b"trireme"] {
                assert!(!carried.windows(words.len()).any(|window| window == words));
            }
        }
    }

    /// Who has said that he is at his end, and goes on, does not keep a thread busy for ever.
    #[test]
    fn what_follows_the_end_is_refused() {
        let (one, other) = pair();
        let (Stream::Encrypted(one), mut other) = (one, other) else { panic!("encrypted") };
        let mut made = Vec::new();
        lock(&one.records).connection.send_close_notify();
        lock(&one.records).make(b"", &mut made).expect("a record");
        // More than is taken at a time.
        made.resize(made.len() + 2 * AT_ONCE, 0x17);
        (&one.socket).write_all(&made).expect("room");
        let (sends, ended) = std::sync::mpsc::channel();
        thread::spawn(move || sends.send(other.read(&mut [0; 100])));
        let read = ended.recv_timeout(Duration::from_secs(10)).expect("it does not read for ever");
        assert_eq!(read.map_err(|error| error.kind()), Err(io::ErrorKind::UnexpectedEof));
    }

    /// A record is as long as it says; who sends it byte by byte is not waited for longer than who sends nothing.
    #[test]
    fn who_sends_a_record_in_little_pieces_is_not_waited_for() {
        let (one, mut other) = pair();
        let Stream::Encrypted(one) = one else { panic!("encrypted") };
        let mut made = Vec::new();
        lock(&one.records).make(&[7; 4000], &mut made).expect("a record");
        let writes = thread::spawn(move || {
            for byte in made {
                if (&one.socket).write_all(&[byte]).is_err() {
                    return;
                }
                thread::sleep(Duration::from_millis(10));
            }
        });
        let read = Until::after(&mut other, Duration::from_millis(100)).read_exact(&mut [0; 100]);
        let kind = read.map_err(|error| error.kind());
        // A socket's own patience may end in the last piece's place.
        assert!(matches!(kind, Err(io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)), "{kind:?}");
        assert!(!writes.is_finished(), "it is on its way still");
    }

    #[test]
    fn a_byte_that_changes_on_its_way_ends_the_connection() {
        let (one, other) = pair();
        let (Stream::Encrypted(one), mut other) = (one, workers_end(other)) else { panic!("encrypted") };
        let mut made = Vec::new();
        lock(&one.records).make(b"a message", &mut made).expect("a record");
        *made.last_mut().expect("bytes") ^= 1;
        (&one.socket).write_all(&made).expect("room");
        let mut come = Vec::new();
        let error = loop {
            if let Err(error) = other.read(&mut come) {
                break error;
            }
        };
        assert!(come.is_empty() && error.kind() == io::ErrorKind::InvalidData, "{error}");
    }
}
