//! Streams: bytes from one worker to another, first in, first out, through shared memory.
//!
//! State. A stream is a ring of [`RING_BYTES`] bytes with two counters, of the bytes written so far and of those read so far, each in a line of its own
//! that one of the two workers writes. A message of any length goes through it in pieces: the writer puts in what there is room for, and
//! the reader takes out what there is.
//!
//! Invariant: read ≤ written ≤ read + [`RING_BYTES`]; the bytes between the two are the reader's, all others the writer's.
//!
//! Cost of a short message: the lines of its bytes and the line of the writer's counter go to the reader, and nothing comes back: the writer
//! looks at the reader's counter only when it has used up the room that it knew of.
//!
//! Streams are in memory of this process, which comes when a pair first talks, or in a segment, which another process has as well. The other's counters are then somebody's
//! word: one that says more than there can be is refused.

use crate::epoch::Line;
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::payload;
use crate::facade::region::Region;
use crate::facade::segment::Segment;
use crate::facade::shared::Arc;
use std::io;

/// Bytes of a stream's ring.
pub(crate) const RING_BYTES: usize = 8 << 10;

const _: () = assert!(RING_BYTES.is_power_of_two(), "a position in the ring is a counter's low bits");

/// Counters of one stream. Zeroed bytes are those of an empty one.
#[repr(C, align(64))]
struct Counters {
    written: Line<AtomicU64>,
    read: Line<AtomicU64>,
}

/// Bytes of a stream.
pub(crate) const STREAM_BYTES: usize = RING_BYTES + size_of::<Counters>();

/// So many streams, each between two workers, which their user tells apart.
pub(crate) struct Streams {
    memory: Memory,
    streams: usize,
}

enum Memory {
    Own(Region),
    Common(Segment),
}

impl Streams {
    /// Address space for so many, within this process.
    pub fn new(streams: usize) -> Self {
        let region = Region::reserve((streams * STREAM_BYTES).max(1)).expect("address space for streams");
        Streams { memory: Memory::Own(region), streams }
    }

    /// As many as there are in a segment.
    pub fn of(segment: Segment) -> Self {
        let streams = segment.len() / STREAM_BYTES;
        Streams { memory: Memory::Common(segment), streams }
    }

    fn at(&self, stream: usize) -> *mut u8 {
        assert!(stream < self.streams);
        let base = match &self.memory {
            Memory::Own(region) => region.base(),
            Memory::Common(segment) => segment.base(),
        };
        // SAFETY: the memory has so many streams.
        unsafe { base.byte_add(stream * STREAM_BYTES) }
    }

    /// Has the memory of a stream be there.
    fn open(&self, stream: usize) {
        // That of a segment is.
        if let Memory::Own(region) = &self.memory {
            let begin = stream * STREAM_BYTES;
            region.fault_in(begin..begin + STREAM_BYTES);
        }
    }

    fn counters(&self, stream: usize) -> &Counters {
        // SAFETY: the memory is zeroed, lives as long as `self`, and is aligned to lines, as a stream's bytes are a multiple of; its first bytes are
        // only ever accessed as counters, which are atomics, by another process as well.
        unsafe { &*self.at(stream).cast::<Counters>() }
    }

    /// Where a byte of a stream's ring is.
    fn byte(&self, stream: usize, position: u64) -> *mut u8 {
        let offset = size_of::<Counters>() + position as usize % RING_BYTES;
        // SAFETY: within the stream.
        unsafe { self.at(stream).byte_add(offset) }
    }
}

/// A worker's end of a stream that it writes to.
pub(crate) struct Source {
    streams: Arc<Streams>,
    stream: usize,
    written: u64,
    /// Bytes that the reader had read when the writer last looked.
    read: u64,
    is_open: bool,
}

impl Source {
    /// The one end of a stream that nobody has written to; there is no other such.
    pub fn new(streams: Arc<Streams>, stream: usize) -> Self {
        Source { streams, stream, written: 0, read: 0, is_open: false }
    }

    /// The one end of a stream whose writer was another such, which is gone.
    pub fn after_another(streams: Arc<Streams>, stream: usize) -> Self {
        let counters = streams.counters(stream);
        // Relaxed: this worker's, or that of one that has ended before this run has begun. The reader's is looked at once there is no room by it.
        let written = counters.written.0.load(Ordering::Relaxed);
        Source { written, read: written.saturating_sub(RING_BYTES as u64), ..Source::new(streams, stream) }
    }

    /// Writes as many of the bytes as there is room for; how many.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_open {
            self.streams.open(self.stream);
            self.is_open = true;
        }
        let counters = self.streams.counters(self.stream);
        if room(self.read, self.written).is_none_or(|room| room < bytes.len()) {
            // Acquire: the reader has copied what it says it has read; pairs with the Release in `Sink::read`.
            self.read = counters.read.0.load(Ordering::Acquire);
        }
        let taken = bytes.len().min(room(self.read, self.written).ok_or_else(no_counter)?);
        if taken == 0 {
            return Ok(0);
        }
        for piece in pieces(self.written, taken) {
            let at = self.streams.byte(self.stream, self.written + piece.start as u64);
            // SAFETY: these bytes of the ring are the writer's, by the invariant, and lie in one piece.
            unsafe { payload::copy_in(at, &bytes[piece]) };
        }
        self.written += taken as u64;
        // Release: publishes the bytes; pairs with the Acquire in `Sink::read`.
        counters.written.0.store(self.written, Ordering::Release);
        Ok(taken)
    }
}

/// A worker's end of a stream that it reads from.
pub(crate) struct Sink {
    streams: Arc<Streams>,
    stream: usize,
    read: u64,
}

impl Sink {
    /// The other end of a stream that nobody has read; there is no other such.
    pub fn new(streams: Arc<Streams>, stream: usize) -> Self {
        Sink { streams, stream, read: 0 }
    }

    /// The other end of a stream whose reader was another such, which is gone.
    pub fn after_another(streams: Arc<Streams>, stream: usize) -> Self {
        // Relaxed: as for a source.
        let read = streams.counters(stream).read.0.load(Ordering::Relaxed);
        Sink { streams, stream, read }
    }

    /// Appends what has come to `into`; how many bytes.
    #[inline]
    pub fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        // Acquire: pairs with the Release in `Source::write`.
        let written = self.streams.counters(self.stream).written.0.load(Ordering::Acquire);
        if written == self.read { Ok(0) } else { self.read_until(written, into) }
    }

    /// The same of one of which so much is written.
    fn read_until(&mut self, written: u64, into: &mut Vec<u8>) -> io::Result<usize> {
        let counters = self.streams.counters(self.stream);
        let come = RING_BYTES - room(self.read, written).ok_or_else(no_counter)?;
        let before = into.len();
        into.resize(before + come, 0);
        for piece in pieces(self.read, come) {
            let at = self.streams.byte(self.stream, self.read + piece.start as u64);
            // SAFETY: these bytes of the ring are the reader's, by the invariant, and lie in one piece.
            unsafe { payload::copy_out(at, &mut into[before..][piece]) };
        }
        self.read = written;
        // Release: they are copied; pairs with the Acquire in `Source::write`.
        counters.read.0.store(written, Ordering::Release);
        Ok(come)
    }
}

/// What is free in a ring of which so many bytes were read and written; `None`: these are not a ring's counters.
fn room(read: u64, written: u64) -> Option<usize> {
    let unread = usize::try_from(written.checked_sub(read)?).ok()?;
    RING_BYTES.checked_sub(unread)
}

#[cold]
fn no_counter() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "what it sent is no message")
}

/// The parts of so many bytes from a position on that lie in one piece each: up to the ring's end, and from its beginning on.
fn pieces(position: u64, bytes: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let first = bytes.min(RING_BYTES - position as usize % RING_BYTES);
    [0..first, first..bytes].into_iter().filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facade::worker;

    #[test]
    fn what_there_is_no_room_for_is_left() {
        let streams = Arc::new(Streams::new(2));
        let (mut source, mut sink) = (Source::new(streams.clone(), 1), Sink::new(streams.clone(), 1));
        let mut write = |bytes: &[u8]| source.write(bytes).expect("a ring");
        let bytes: Vec<u8> = (0..3 * RING_BYTES).map(|n| (n % 251) as u8).collect();
        assert_eq!(write(&bytes), RING_BYTES);
        assert_eq!(write(&bytes), 0);
        let mut come = Vec::new();
        assert_eq!(sink.read(&mut come).expect("a ring"), RING_BYTES);
        assert_eq!(sink.read(&mut come).expect("a ring"), 0);
        assert_eq!(write(&bytes[RING_BYTES..][..100]), 100);
        assert_eq!(write(&bytes[RING_BYTES + 100..]), RING_BYTES - 100);
        assert_eq!(sink.read(&mut come).expect("a ring"), RING_BYTES);
        assert_eq!(come, bytes[..2 * RING_BYTES]);
        assert_eq!(Sink::new(streams, 0).read(&mut come).expect("a ring"), 0, "another stream");
    }

    #[test]
    fn bytes_come_in_order_whatever_the_pieces() {
        const BYTES: usize = 40 * RING_BYTES + 7;
        let streams = Arc::new(Streams::new(1));
        let byte = |n: usize| (n % 253) as u8;
        worker::run(2, |worker| {
            let mut done = 0;
            if worker == 0 {
                let (mut source, mut rng) = (Source::new(streams.clone(), 0), fastrand::Rng::with_seed(7));
                while done < BYTES {
                    let piece: Vec<u8> = (done..BYTES.min(done + rng.usize(1..700))).map(byte).collect();
                    let mut left = &piece[..];
                    while !left.is_empty() {
                        let taken = source.write(left).expect("a ring");
                        left = &left[taken..];
                        std::thread::yield_now();
                    }
                    done += piece.len();
                }
            } else {
                let (mut sink, mut come) = (Sink::new(streams.clone(), 0), Vec::new());
                while done < BYTES {
                    come.clear();
                    let more = sink.read(&mut come).expect("a ring");
                    assert!(come.iter().enumerate().all(|(n, &got)| got == byte(done + n)), "after {done}");
                    done += more;
                    std::thread::yield_now();
                }
            }
        });
    }

    /// As in the next run.
    #[test]
    fn another_end_goes_on_where_the_one_before_it_stood() {
        let streams = Arc::new(Streams::new(1));
        let (mut source, mut sink) = (Source::new(streams.clone(), 0), Sink::new(streams.clone(), 0));
        let (first, mut come) = (vec![1; RING_BYTES - 3], Vec::new());
        assert_eq!(source.write(&first).expect("a ring"), first.len());
        assert_eq!(sink.read(&mut come).expect("a ring"), first.len());
        assert_eq!(source.write(b"before it is there").expect("a ring"), 18);
        drop((source, sink));
        let mut source = Source::after_another(streams.clone(), 0);
        let mut sink = Sink::after_another(streams, 0);
        assert_eq!(source.write(&first).expect("a ring"), RING_BYTES - 18);
        come.clear();
        assert_eq!(sink.read(&mut come).expect("a ring"), RING_BYTES);
        assert_eq!(come[..18], b"before it is there"[..]);
        assert_eq!(source.write(&first).expect("a ring"), first.len());
    }

    #[test]
    fn counters_that_are_none_are_refused() {
        let streams = Arc::new(Streams::new(1));
        let (mut source, mut sink) = (Source::new(streams.clone(), 0), Sink::new(streams.clone(), 0));
        source.write(b"a byte").expect("a ring");
        let counters = streams.counters(0);
        for written in [RING_BYTES as u64 + 1, u64::MAX] {
            counters.written.0.store(written, Ordering::Relaxed);
            sink.read(&mut Vec::new()).expect_err("more than there is room for");
        }
        counters.read.0.store(7, Ordering::Relaxed);
        source.write(&[0; RING_BYTES]).expect_err("more than was written");
    }
}
