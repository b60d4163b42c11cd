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
//! Memory comes when a pair first talks.

use crate::epoch::Line;
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::payload;
use crate::facade::region::Region;

/// Bytes of a stream's ring.
pub(crate) const RING_BYTES: usize = 8 << 10;

const _: () = assert!(RING_BYTES.is_power_of_two(), "a position in the ring is a counter's low bits");

/// Counters of one stream. Zeroed bytes are those of an empty one.
#[repr(C, align(64))]
struct Counters {
    written: Line<AtomicU64>,
    read: Line<AtomicU64>,
}

const STREAM_BYTES: usize = RING_BYTES + size_of::<Counters>();

/// So many streams, each between two workers, which their user tells apart.
pub(crate) struct Streams {
    region: Region,
    streams: usize,
}

impl Streams {
    /// Address space for so many.
    pub fn new(streams: usize) -> Self {
        let region = Region::reserve((streams * STREAM_BYTES).max(1)).expect("address space for streams");
        Streams { region, streams }
    }

    fn at(&self, stream: usize) -> *mut u8 {
        assert!(stream < self.streams);
        // SAFETY: the region has so many streams.
        unsafe { self.region.base().byte_add(stream * STREAM_BYTES) }
    }

    fn counters(&self, stream: usize) -> &Counters {
        // SAFETY: the region's memory is zeroed, lives as long as `self`, and is aligned to lines, as a stream's bytes are a multiple of; its first bytes are
        // only ever accessed as counters, which are atomics.
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
pub(crate) struct Source<'e> {
    streams: &'e Streams,
    stream: usize,
    written: u64,
    /// Bytes that the reader had read when the writer last looked.
    read: u64,
    is_open: bool,
}

impl<'e> Source<'e> {
    /// The one end of a stream; there is no other such.
    pub fn new(streams: &'e Streams, stream: usize) -> Self {
        Source { streams, stream, written: 0, read: 0, is_open: false }
    }

    /// Writes as many of the bytes as there is room for; how many.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let counters = self.streams.counters(self.stream);
        if !self.is_open {
            let begin = self.stream * STREAM_BYTES;
            self.streams.region.fault_in(begin..begin + STREAM_BYTES);
            self.is_open = true;
        }
        let room = |read: u64, written: u64| RING_BYTES - (written - read) as usize;
        if room(self.read, self.written) < bytes.len() {
            // Acquire: the reader has copied what it says it has read; pairs with the Release in `Sink::read`.
            self.read = counters.read.0.load(Ordering::Acquire);
        }
        let taken = bytes.len().min(room(self.read, self.written));
        if taken == 0 {
            return 0;
        }
        for piece in pieces(self.written, taken) {
            let at = self.streams.byte(self.stream, self.written + piece.start as u64);
            // SAFETY: these bytes of the ring are the writer's, by the invariant, and lie in one piece.
            unsafe { payload::copy_in(at, &bytes[piece]) };
        }
        self.written += taken as u64;
        // Release: publishes the bytes; pairs with the Acquire in `Sink::read`.
        counters.written.0.store(self.written, Ordering::Release);
        taken
    }
}

/// A worker's end of a stream that it reads from.
pub(crate) struct Sink<'e> {
    streams: &'e Streams,
    stream: usize,
    read: u64,
}

impl<'e> Sink<'e> {
    /// The other end of a stream; there is no other such.
    pub fn new(streams: &'e Streams, stream: usize) -> Self {
        Sink { streams, stream, read: 0 }
    }

    /// Appends what has come to `into`; how many bytes.
    pub fn read(&mut self, into: &mut Vec<u8>) -> usize {
        let counters = self.streams.counters(self.stream);
        // Acquire: pairs with the Release in `Source::write`.
        let written = counters.written.0.load(Ordering::Acquire);
        let come = (written - self.read) as usize;
        if come == 0 {
            return 0;
        }
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
        come
    }
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
        let streams = Streams::new(2);
        let (mut source, mut sink) = (Source::new(&streams, 1), Sink::new(&streams, 1));
        let bytes: Vec<u8> = (0..3 * RING_BYTES).map(|n| (n % 251) as u8).collect();
        assert_eq!(source.write(&bytes), RING_BYTES);
        assert_eq!(source.write(&bytes), 0);
        let mut come = Vec::new();
        assert_eq!(sink.read(&mut come), RING_BYTES);
        assert_eq!(sink.read(&mut come), 0);
        assert_eq!(source.write(&bytes[RING_BYTES..][..100]), 100);
        assert_eq!(source.write(&bytes[RING_BYTES + 100..]), RING_BYTES - 100);
        assert_eq!(sink.read(&mut come), RING_BYTES);
        assert_eq!(come, bytes[..2 * RING_BYTES]);
        assert_eq!(Sink::new(&streams, 0).read(&mut come), 0, "another stream");
    }

    #[test]
    fn bytes_come_in_order_whatever_the_pieces() {
        const BYTES: usize = 40 * RING_BYTES + 7;
        let streams = Streams::new(1);
        let byte = |n: usize| (n % 253) as u8;
        worker::run(2, |worker| {
            let mut done = 0;
            if worker == 0 {
                let (mut source, mut rng) = (Source::new(&streams, 0), fastrand::Rng::with_seed(7));
                while done < BYTES {
                    let piece: Vec<u8> = (done..BYTES.min(done + rng.usize(1..700))).map(byte).collect();
                    let mut left = &piece[..];
                    while !left.is_empty() {
                        let taken = source.write(left);
                        left = &left[taken..];
                        std::thread::yield_now();
                    }
                    done += piece.len();
                }
            } else {
                let (mut sink, mut come) = (Sink::new(&streams, 0), Vec::new());
                while done < BYTES {
                    come.clear();
                    let more = sink.read(&mut come);
                    assert!(come.iter().enumerate().all(|(n, &got)| got == byte(done + n)), "after {done}");
                    done += more;
                    std::thread::yield_now();
                }
            }
        });
    }
}
