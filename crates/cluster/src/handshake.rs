//! Who may talk with a node: the same program, with the same secret.
//!
//! ```text
//!   who connects                                   who was connected to
//!     hello: MAGIC, program, challenge   ------->
//!                                        <-------   hello: MAGIC, program, challenge
//!     proof of the other's challenge     ------->
//!                                        <-------   proof of the other's challenge
//! ```
//!
//! A proof is a keyed hash (HMAC-SHA-256) of the role and both challenges: who does not know the secret can not make it, and one of another connection does not fit. What does not fit
//! closes the connection. The bytes behind it are neither secret nor authentic, unless the connection is encrypted ([`crate::tls`]): then this is said over it, and a proof is of a number as well that
//! only its two ends know. So nobody who has a certificate can stand between two nodes and let each prove the secret to the other.

use crate::secret::Secret;
use crate::stream::{Stream, Until};
use crate::tls::{self, Tls};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;
use std::io::{self, Read, Write};
use std::time::Duration;

const MAGIC: &[u8; 8] = b"trireme\x01";
/// What records of TLS begin with: an alert, a handshake.
const TLS_RECORDS: [u8; 2] = [0x15, 0x16];
const CHALLENGE_BYTES: usize = 32;
const PROOF_BYTES: usize = 32;
/// A program's name is not longer.
const MOST_PROGRAM_BYTES: usize = 255;

/// What both ends of a connection must have.
#[derive(Clone)]
pub struct Credentials {
    /// Version and build of the program: nodes exchange what is in memory.
    pub program: String,
    /// Known to all nodes, and nobody else.
    pub secret: Secret,
    /// By what nodes prove who they are over TCP, if that is asked for.
    pub tls: Option<Tls>,
}

/// Why a connection is closed.
#[derive(Debug)]
pub enum Refusal {
    /// The other end does not speak as a node does.
    Stranger,
    /// It is another program.
    Program(String),
    /// It does not know the secret.
    Secret,
    /// It speaks TLS, which was not asked for.
    Encrypted,
    /// It has not proved who it is, or does not accept who this node is.
    Tls(String),
    /// Nothing was heard from it.
    Silent,
    /// The connection does not work.
    Broken(io::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Stranger => f.write_str("it does not speak as a node of trireme does"),
            Refusal::Program(program) => write!(f, "it is another build: {}", program.escape_debug()),
            Refusal::Secret => f.write_str("its secret is another one, or it has none"),
            Refusal::Encrypted => f.write_str("it speaks TLS, which is not asked for here"),
            Refusal::Tls(why) => f.write_str(why),
            Refusal::Silent => f.write_str("nothing was heard from it"),
            Refusal::Broken(error) => error.fmt(f),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        if let Some(why) = tls::words(&error) {
            return Refusal::Tls(why);
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Refusal::Stranger,
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Refusal::Silent,
            _ => Refusal::Broken(error),
        }
    }
}

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Who connects.
    Connects,
    /// Who was connected to.
    Accepts,
}

/// Random bytes.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the system has random numbers");
    bytes
}

/// Makes sure, within this time, that the other end of `stream` has the same credentials; the stream, encrypted if they say so and it leads to other hosts. To be called at both ends.
pub fn shake(
    stream: Stream,
    end: End,
    credentials: &Credentials,
    patience: Duration,
) -> Result<Stream, Refusal> {
    let mut stream = match &credentials.tls {
        Some(tls) => tls.secure(stream, end, patience)?,
        None => stream,
    };
    let binding = stream.binding()?;
    prove_both(&mut Until::after(&mut stream, patience), end, credentials, &binding)?;
    Ok(stream)
}

/// `binding`: what only the two ends of the stream know.
fn prove_both(
    stream: &mut (impl Read + Write),
    end: End,
    credentials: &Credentials,
    binding: &[u8],
) -> Result<(), Refusal> {
    let own: [u8; CHALLENGE_BYTES] = random();
    let other = match end {
        End::Connects => {
            send_hello(stream, &credentials.program, &own)?;
            receive_hello(stream, &credentials.program)?
        }
        End::Accepts => {
            // A stranger is told nothing; of another program, who is there.
            let other = receive_hello(stream, &credentials.program);
            if matches!(other, Ok(_) | Err(Refusal::Program(_))) {
                send_hello(stream, &credentials.program, &own)?;
            }
            other?
        }
    };
    let (connects, accepts) = match end {
        End::Connects => (own, other),
        End::Accepts => (other, own),
    };
    let key = hmac::Key::new(hmac::HMAC_SHA256, &credentials.secret);
    let words = |role: u8| [&[role][..], &connects, &accepts, binding].concat();
    let (own_role, other_role) = match end {
        End::Connects => (1, 2),
        End::Accepts => (2, 1),
    };
    let prove = |stream: &mut dyn Write| stream.write_all(hmac::sign(&key, &words(own_role)).as_ref());
    if end == End::Connects {
        prove(stream)?;
    }
    let mut proof = [0; PROOF_BYTES];
    stream.read_exact(&mut proof).map_err(|error| match error.kind() {
        // Who was refused is hung up on.
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => Refusal::Secret,
        _ => error.into(),
    })?;
    hmac::verify(&key, &words(other_role), &proof).map_err(|_| Refusal::Secret)?;
    if end == End::Accepts {
        prove(stream)?;
    }
    Ok(())
}

fn send_hello(stream: &mut impl Write, program: &str, challenge: &[u8]) -> io::Result<()> {
    let length = program.len().min(MOST_PROGRAM_BYTES);
    stream.write_all(&[&MAGIC[..], &[length as u8], &program.as_bytes()[..length], challenge].concat())
}

fn receive_hello(stream: &mut impl Read, program: &str) -> Result<[u8; CHALLENGE_BYTES], Refusal> {
    let mut magic = [0; MAGIC.len()];
    stream.read_exact(&mut magic[..1])?;
    if TLS_RECORDS.contains(&magic[0]) {
        return Err(Refusal::Encrypted);
    }
    stream.read_exact(&mut magic[1..])?;
    if magic != *MAGIC {
        return Err(Refusal::Stranger);
    }
    let mut length = [0];
    stream.read_exact(&mut length)?;
    let mut name = vec![0; usize::from(length[0])];
    stream.read_exact(&mut name)?;
    let mut challenge = [0; CHALLENGE_BYTES];
    stream.read_exact(&mut challenge)?;
    match name == program.as_bytes() {
        true => Ok(challenge),
        false => Err(Refusal::Program(String::from_utf8_lossy(&name).into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::thread;

    fn credentials(program: &str, secret: &[u8]) -> Credentials {
        Credentials { program: program.to_owned(), secret: secret.into(), tls: None }
    }

    fn both(one: Credentials, other: Credentials) -> (Result<(), Refusal>, Result<(), Refusal>) {
        let (mut here, mut there) = UnixStream::pair().expect("sockets");
        thread::scope(|scope| {
            let accepts = scope.spawn(move || {
                let shaken = prove_both(&mut there, End::Accepts, &other, b"");
                drop(there);
                shaken
            });
            let connects = prove_both(&mut here, End::Connects, &one, b"");
            drop(here);
            (connects, accepts.join().expect("no panic"))
        })
    }

    #[test]
    fn the_same_program_with_the_same_secret_may_talk() {
        let own = credentials("one", b"secret");
        assert!(matches!(both(own.clone(), own), (Ok(()), Ok(()))));
    }

    #[test]
    fn others_may_not() {
        let own = || credentials("one", b"secret");
        assert!(matches!(
            both(own(), credentials("one", b"another")),
            (Err(Refusal::Secret), Err(Refusal::Secret))
        ));
        let (connects, accepts) = both(own(), credentials("other", b"secret"));
        assert!(matches!(connects, Err(Refusal::Program(name)) if name == "other"));
        assert!(matches!(accepts, Err(Refusal::Program(name)) if name == "one"));
    }

    /// One who stands between two nodes has two connections.
    #[test]
    fn a_proof_is_of_what_both_ends_know() {
        let (mut here, mut there) = UnixStream::pair().expect("sockets");
        let own = credentials("one", b"secret");
        let accepts = thread::spawn({
            let own = own.clone();
            move || prove_both(&mut there, End::Accepts, &own, b"the one")
        });
        assert!(matches!(prove_both(&mut here, End::Connects, &own, b"the other"), Err(Refusal::Secret)));
        assert!(matches!(accepts.join().expect("no panic"), Err(Refusal::Secret)));
    }

    #[test]
    fn strangers_are_hung_up_on() {
        for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"tri", b"trireme\x01\x05o"] {
            let (mut here, mut there) = UnixStream::pair().expect("sockets");
            here.write_all(bytes).expect("room");
            here.shutdown(std::net::Shutdown::Write).expect("an open socket");
            let shaken = prove_both(&mut there, End::Accepts, &credentials("one", b"secret"), b"");
            assert!(matches!(shaken, Err(Refusal::Stranger)), "{bytes:?}");
            drop(there);
            let mut told = Vec::new();
            let _ = here.read_to_end(&mut told);
            assert!(told.is_empty(), "a stranger is told nothing");
        }
    }

    /// A proof that was overheard is of no use for another connection.
    #[test]
    fn a_proof_is_of_one_connection() {
        let own = credentials("one", b"secret");
        let (mut here, mut there) = UnixStream::pair().expect("sockets");
        let accepts = thread::spawn({
            let own = own.clone();
            move || prove_both(&mut there, End::Accepts, &own, b"")
        });
        let challenge = [7; CHALLENGE_BYTES];
        send_hello(&mut here, "one", &challenge).expect("room");
        receive_hello(&mut here, "one").expect("a hello");
        // Of a connection on which the other's challenge was another one.
        let key = hmac::Key::new(hmac::HMAC_SHA256, &own.secret);
        let overheard = hmac::sign(&key, &[&[1][..], &challenge, &[0; CHALLENGE_BYTES]].concat());
        here.write_all(overheard.as_ref()).expect("room");
        assert!(matches!(accepts.join().expect("no panic"), Err(Refusal::Secret)));
    }
}
