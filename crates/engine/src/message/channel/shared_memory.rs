//! Shared memory: two [streams](super::stream), one each way. Neither a write nor a read calls the system.
//!
//! Within a process both ends go together. Between processes the streams are in a segment that both have mapped, and beside it stands a socket over which nobody says anything: the
//! *witness*, which the system closes when the other process dies, however it does. Who looks for bytes and finds none asks the witness now and then.

use super::Channel;
use super::stream::{STREAM_BYTES, Sink, Source, Streams};
use crate::facade::segment::Segment;
use crate::facade::shared::Arc;
use crate::facade::socket::Socket;
use std::io;

/// Looks that have found nothing before the witness is asked, which costs a call of the system. A worker that sleeps between its looks, at most a millisecond
/// ([`crate::facade::cpu::Spin`]), asks within a tenth of a second.
const LOOKS: u32 = 64;

/// Bytes of a segment with the streams between two workers.
pub const SEGMENT_BYTES: usize = 2 * STREAM_BYTES;

/// The segment between two workers of different processes, and the witness: what is kept from run to run.
#[derive(Clone)]
pub struct CommonMemory {
    streams: Arc<Streams>,
    /// The stream that this end writes to.
    there: usize,
    witness: Arc<Socket>,
}

impl CommonMemory {
    /// The end of who has made the segment, of [`SEGMENT_BYTES`], or of who was given it.
    pub fn new(segment: Segment, is_maker: bool, witness: Socket) -> Self {
        assert!(segment.len() == SEGMENT_BYTES, "a segment of {} bytes", segment.len());
        let streams = Arc::new(Streams::of(segment));
        CommonMemory { streams, there: usize::from(is_maker), witness: Arc::new(witness) }
    }

    /// Ends it: neither end finds anything any more.
    pub fn shut_down(&self) {
        self.witness.shut_down();
    }
}

/// See the module.
pub struct SharedMemory {
    there: Source,
    back: Sink,
    /// Between processes.
    witness: Option<Arc<Socket>>,
    /// Since the witness was asked.
    looks: u32,
}

impl SharedMemory {
    /// Between two workers of this process that have not talked before.
    pub(super) fn within(streams: &Arc<Streams>, there: usize, back: usize) -> Self {
        let (there, back) = (Source::new(streams.clone(), there), Sink::new(streams.clone(), back));
        SharedMemory { there, back, witness: None, looks: 0 }
    }

    /// Between two workers of different processes, for a run; they may have talked in an earlier one.
    pub(super) fn between(common: &CommonMemory) -> Self {
        let CommonMemory { streams, there, witness } = common;
        SharedMemory {
            there: Source::after_another(streams.clone(), *there),
            back: Sink::after_another(streams.clone(), 1 - there),
            witness: Some(witness.clone()),
            looks: 0,
        }
    }

    /// Whether the other process is gone; not every call asks.
    fn is_over(&mut self) -> io::Result<bool> {
        let Some(witness) = &self.witness else { return Ok(false) };
        self.looks += 1;
        if self.looks < LOOKS {
            return Ok(false);
        }
        self.looks = 0;
        // Nobody says anything over it: what can be read is its end.
        witness.is_ready()
    }
}

impl Channel for SharedMemory {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.there.write(bytes)
    }

    #[inline]
    fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        match self.back.read(into)? {
            0 if self.is_over()? => match self.back.read(into)? {
                0 => Err(io::ErrorKind::ConnectionAborted.into()),
                // What it had written before it ended.
                last => Ok(last),
            },
            come => Ok(come),
        }
    }

    fn shut_down(&self) {
        if let Some(witness) = &self.witness {
            witness.shut_down();
        }
    }
}
