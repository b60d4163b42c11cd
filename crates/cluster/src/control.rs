//! The connection between the first node and another, by which they agree on what comes next: frames, and signs of life.
//!
//! A frame is a head and its bytes: the head is what it is for, how long it is, a checksum of the bytes, and one of all that. A thread reads, and another sends a sign of life every [`BEAT`]: an end from which nothing
//! comes for [`SILENCE`], not even that, is taken for dead, whatever its system says. The thread that reads also says at once what this process's clock is at, if the other end asks.

use crate::stream::Stream;
use contract::Sighting;
use machine::hardware::clock;
use std::io::{self, Read, Write};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Between two signs of life.
pub const BEAT: Duration = Duration::from_secs(1);
/// After which an end is dead.
pub const SILENCE: Duration = Duration::from_secs(10);

/// How often a clock is asked, of which answers the fastest tells most.
const LOOKS_AT_CLOCK: usize = 64;
/// Where answers take long, it is asked less often: until so much has passed.
const LONGEST_LOOK: Duration = Duration::from_millis(200);

/// Reads what the other end sends, unless nothing has come for [`SILENCE`]. A process that was stopped itself has heard nothing either: it listens once more.
struct Listening(Stream);

impl Read for Listening {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let began = Instant::now();
            match self.0.read(into) {
                Err(error) if is_timeout(&error) && began.elapsed() > SILENCE + 2 * BEAT => {}
                read => return read,
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// A sign of life.
    Beat = 0,
    /// Who waits for it is given it.
    Message = 1,
    /// A node is lost.
    Lost = 2,
    /// What is the other end's clock at?
    AskClock = 3,
    /// It is at this.
    Clock = 4,
}

/// What a frame is for, its length, and a checksum of its bytes.
const TELLING_BYTES: usize = 1 + size_of::<u64>() + size_of::<u32>();
/// That, and a checksum of it: a length that is wrong would be waited for, and a message that became something else never come.
const HEAD_BYTES: usize = TELLING_BYTES + size_of::<u32>();

fn write_frame(stream: &mut impl Write, purpose: Purpose, bytes: &[u8]) -> io::Result<()> {
    let length = (bytes.len() as u64).to_le_bytes();
    let sum = crc32fast::hash(bytes).to_le_bytes();
    let mut head = [&[purpose as u8][..], &length, &sum].concat();
    head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
    stream.write_all(&head)?;
    stream.write_all(bytes)
}

fn read_frame(stream: &mut impl Read) -> io::Result<(Purpose, Vec<u8>)> {
    let mut head = [0; HEAD_BYTES];
    stream.read_exact(&mut head)?;
    let (head, sum_of_head) = head.split_at(TELLING_BYTES);
    if crc32fast::hash(head).to_le_bytes() != sum_of_head {
        return Err(no_frame());
    }
    let purpose = match head[0] {
        0 => Purpose::Beat,
        1 => Purpose::Message,
        2 => Purpose::Lost,
        3 => Purpose::AskClock,
        4 => Purpose::Clock,
        _ => return Err(no_frame()),
    };
    let (length, sum) = head[1..].split_first_chunk::<8>().expect("a head's bytes");
    let mut bytes = Vec::new();
    let length = u64::from_le_bytes(*length);
    // As it comes: a length that is not kept takes no memory.
    stream.take(length).read_to_end(&mut bytes)?;
    let is_whole = bytes.len() as u64 == length && crc32fast::hash(&bytes).to_le_bytes() == *sum;
    if is_whole { Ok((purpose, bytes)) } else { Err(no_frame()) }
}

fn no_frame() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "what it sent is no message")
}

/// Why an end is lost, in words.
pub fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "its process has ended".to_owned()
        }
        _ if is_timeout(error) => {
            format!("nothing was heard from it for {} s", SILENCE.as_secs())
        }
        _ => error.to_string(),
    }
}

/// One end.
pub struct Control {
    stream: Stream,
    writer: Arc<Mutex<Stream>>,
    inbox: Mutex<Receiver<Vec<u8>>>,
    /// What the other end's clock was at, and this one's when the answer was there.
    readings: Mutex<Receiver<(u64, u64)>>,
}

/// What this process's clock is at, in nanoseconds.
fn reading_ns() -> u64 {
    clock::reading_ns(clock::now_in_order())
}

impl Control {
    /// Over a connection. From now on `hears` is told what comes that nobody waits for: that a node is lost, and, with the error, that the other end is.
    pub fn over(
        stream: Stream,
        hears: impl Fn(Result<Vec<u8>, io::Error>) + Send + 'static,
    ) -> io::Result<Control> {
        stream.set_patience(Some(SILENCE))?;
        let writer = Arc::new(Mutex::new(stream.try_clone()?));
        let (sender, inbox) = mpsc::channel();
        let (read, readings) = mpsc::channel();
        let mut reader = Listening(stream.try_clone()?);
        let answering = Arc::clone(&writer);
        thread::spawn(move || {
            loop {
                match read_frame(&mut reader) {
                    Ok((Purpose::Beat, _)) => {}
                    // Who cannot be answered is gone, which is told to who reads.
                    Ok((Purpose::AskClock, _)) => {
                        drop(send_by(&answering, Purpose::Clock, &reading_ns().to_le_bytes()));
                    }
                    Ok((Purpose::Clock, bytes)) => {
                        let here = reading_ns();
                        let told = bytes.try_into().map(u64::from_le_bytes);
                        // Nobody may wait any more; and what is no reading comes from nobody who was asked.
                        drop(told.map(|own| read.send((own, here))));
                    }
                    // Nobody may wait any more.
                    Ok((Purpose::Message, bytes)) => drop(sender.send(bytes)),
                    Ok((Purpose::Lost, bytes)) => hears(Ok(bytes)),
                    Err(error) => {
                        reader.0.shut_down();
                        hears(Err(error));
                        // What was waited for does not come: `sender` is dropped behind that.
                        return;
                    }
                }
            }
        });
        let beating = Arc::clone(&writer);
        thread::spawn(move || {
            loop {
                thread::sleep(BEAT);
                if send_by(&beating, Purpose::Beat, b"").is_err() {
                    return;
                }
            }
        });
        Ok(Control { stream, writer, inbox: Mutex::new(inbox), readings: Mutex::new(readings) })
    }

    /// Sends a frame.
    pub fn send(&self, purpose: Purpose, bytes: &[u8]) -> io::Result<()> {
        send_by(&self.writer, purpose, bytes)
    }

    /// Waits for the next message; `None`: the other end is lost, which it was told of.
    pub fn receive(&self) -> Option<Vec<u8>> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
    }

    /// Asks what the other end's clock is at, some times, and answers the reading that tells most ([`contract::clocks`]): this process has the first clock. `None`: the other end is lost, which it
    /// was told of.
    pub fn look_at_clock(&self) -> Option<Sighting> {
        let readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        let look = || {
            let earliest_ns = reading_ns();
            self.send(Purpose::AskClock, b"").ok()?;
            let (own_ns, latest_ns) = readings.recv().ok()?;
            Some(Sighting { own_ns, earliest_ns, latest_ns })
        };
        let (began, mut best) = (Instant::now(), look()?);
        for _ in 1..LOOKS_AT_CLOCK {
            if began.elapsed() > LONGEST_LOOK {
                break;
            }
            let sighting = look()?;
            if sighting.width_ns() < best.width_ns() {
                best = sighting;
            }
        }
        Some(best)
    }

    /// Waits until the other end ends it, or so long.
    pub fn await_end(&self, patience: Duration) {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing more is said.
        while inbox.recv_timeout(patience).is_ok() {}
    }

    /// Ends it.
    pub fn shut_down(&self) {
        self.stream.shut_down();
    }
}

fn send_by(writer: &Mutex<Stream>, purpose: Purpose, bytes: &[u8]) -> io::Result<()> {
    let mut stream = writer.lock().unwrap_or_else(PoisonError::into_inner);
    write_frame(&mut *stream, purpose, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn pair() -> (Stream, Stream) {
        let (one, other) = UnixStream::pair().expect("sockets");
        (Stream::Unix(one), Stream::Unix(other))
    }

    #[test]
    fn messages_come_in_order_and_an_end_that_is_gone_is_told() {
        let (here, there) = pair();
        let (told, tells) = mpsc::channel();
        let here = Control::over(here, move |heard| drop(told.send(heard))).expect("a socket");
        let there = Control::over(there, |_| ()).expect("a socket");
        let long = vec![7; 3 << 20];
        there.send(Purpose::Message, b"first").expect("an open end");
        there.send(Purpose::Lost, b"another").expect("an open end");
        there.send(Purpose::Message, &long).expect("an open end");
        assert_eq!(here.receive().as_deref(), Some(&b"first"[..]));
        assert_eq!(here.receive(), Some(long));
        assert_eq!(tells.recv().expect("told").expect("no error"), b"another");
        there.shut_down();
        assert!(here.receive().is_none());
        assert_eq!(words(&tells.recv().expect("told").expect_err("it is gone")), "its process has ended");
    }

    /// Both ends have one clock here, so that what it was at lies between what it was at before and after.
    #[test]
    fn a_clock_is_seen_between_two_readings_of_ones_own() {
        let (here, there) = pair();
        let here = Control::over(here, |_| ()).expect("a socket");
        let there = Control::over(there, |_| ()).expect("a socket");
        let before = reading_ns();
        let Sighting { own_ns, earliest_ns, latest_ns } = here.look_at_clock().expect("an open end");
        assert!(before <= earliest_ns && earliest_ns <= own_ns && own_ns <= latest_ns);
        assert!(latest_ns <= reading_ns());
        there.shut_down();
        assert!(here.receive().is_none());
        assert_eq!(here.look_at_clock(), None);
    }

    #[test]
    fn what_is_no_frame_ends_the_connection() {
        let mut whole = Vec::new();
        write_frame(&mut whole, Purpose::Message, &[1, 2, 3, 4, 5]).expect("room");
        // A bit of what it is for, of its length, of either checksum, and of its bytes.
        let changed = [0, 1, 8, 9, 13, HEAD_BYTES].map(|at| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            bytes
        });
        for bytes in changed.iter().map(Vec::as_slice).chain([&b"GET / HTTP/1.1\r\n\r\n"[..]]) {
            let (here, mut there) = pair();
            let (told, tells) = mpsc::channel();
            let here = Control::over(here, move |heard| drop(told.send(heard))).expect("a socket");
            there.write_all(bytes).expect("an open end");
            assert!(here.receive().is_none());
            let error = tells.recv().expect("told").expect_err("no frame");
            assert_eq!(words(&error), "what it sent is no message");
        }
    }

    /// A process that is stopped keeps its connections.
    #[test]
    fn an_end_that_is_silent_is_dead() {
        let (here, there) = pair();
        let (told, tells) = mpsc::channel();
        let control = Control::over(here, move |heard| drop(told.send(heard))).expect("a socket");
        control.stream.set_patience(Some(Duration::from_millis(50))).expect("a socket");
        let mut there = there;
        write_frame(&mut there, Purpose::Beat, b"").expect("an open end");
        assert!(control.receive().is_none());
        assert!(words(&tells.recv().expect("told").expect_err("silent")).starts_with("nothing was heard"));
    }
}
