//! Record memory: one region a table, or one for each instance of a deployment, carved into chunks that workers take for a partition, and records that come back.
//!
//! A region is address space reserved once, as much as the machine has memory if there is so much; memory is behind
//! it only where records are. A worker takes a chunk of consecutive records at a time, so the shared counter is
//! touched once in hundreds of inserts. Records that were unlinked wait in the worker's garbage until their epoch
//! has passed ([`crate::epoch`]), and are then used again.

use super::ready::Ready;
use super::{RecordRef, Shape};
use crate::epoch::Line;
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::region::{Pages, Region, RegionError};
use crate::facade::unobserved;
use std::collections::VecDeque;
use std::ptr::NonNull;

/// Records that a worker takes at once.
const CHUNK_RECORDS: u64 = 256;

/// Address space is reserved for so many times the expected records, and at least [`LEAST_RESERVED_BYTES`].
const OVERSIZE: u64 = 4;
const LEAST_RESERVED_BYTES: u64 = 1 << 30;

/// A table's record memory. Aligned, so that its place in lines is the same in every run.
#[repr(align(128))]
pub(crate) struct Arena {
    region: Region,
    ready: Ready,
    shape: Shape,
    /// From one record to the next.
    spacing: usize,
    /// Records taken so far.
    taken: Line<AtomicU64>,
    /// Records that fit.
    room: u64,
}

impl Arena {
    /// Bytes that `partitions` partitions of `records` records each will take.
    pub fn bytes_for(shape: Shape, records: u64, partitions: u32) -> u64 {
        let spacing = Region::spacing(shape.stride, shape.stored_bytes) as u64;
        u64::from(partitions) * records.next_multiple_of(CHUNK_RECORDS) * spacing
    }

    /// Reserves address space for `partitions` partitions of about `records` records each; together they may grow to `most`
    /// bytes.
    pub fn reserve(
        shape: Shape,
        records: u64,
        partitions: u32,
        most: usize,
        pages: Pages,
    ) -> Result<Self, RegionError> {
        let records = u64::from(partitions) * records.next_multiple_of(CHUNK_RECORDS);
        let bytes = records * shape.stride as u64;
        let address_space = (bytes * OVERSIZE).max(LEAST_RESERVED_BYTES);
        let [expected, address_space] =
            [bytes, address_space].map(|bytes| usize::try_from(bytes).expect("a 64-bit machine"));
        let mut region = Region::reserve_to_grow(address_space.max(most), expected, pages)?;
        let spacing = region.elide(shape.stride, shape.stored_bytes)?;
        let room = region.len() as u64 / shape.stride as u64;
        Ok(Arena { region, ready: Ready::default(), shape, spacing, taken: Line(AtomicU64::new(0)), room })
    }

    /// Takes up to `wanted` consecutive records' memory, all zero, faulted in.
    ///
    /// Panics when the address space is used up.
    pub fn take(&self, wanted: u64) -> Chunk {
        // Relaxed: a counter, by which everybody gets memory of their own, fresh from the system; others reach it through links
        // that are released.
        let first = self.taken.0.fetch_add(wanted, Ordering::Relaxed);
        let last = first + wanted;
        assert!(
            last <= self.room,
            "a table's record memory is used up: room for {} records of {} bytes",
            self.room,
            self.shape.stride
        );
        let bytes = first as usize * self.spacing..last as usize * self.spacing;
        self.ready.taken(&self.region, bytes);
        Chunk { next: first, end: last }
    }

    /// Faults in what the next run is expected to take, up to `left` bytes.
    pub fn get_ready(&self, left: &mut u64) {
        let used = self.bytes_taken() as usize;
        self.ready.before_run(&self.region, used, left);
    }

    /// Records taken from the region, used or not.
    pub fn taken(&self) -> u64 {
        // Relaxed: a counter; who visits what was taken does so when workers have ended.
        self.taken.0.load(Ordering::Relaxed)
    }

    /// Bytes behind the records taken.
    pub fn bytes_taken(&self) -> u64 {
        self.taken() * self.spacing as u64
    }

    /// Visits records by position, in use or not; positions below [`Arena::taken`].
    pub fn for_each(&self, positions: std::ops::Range<u64>, visit: impl Fn(RecordRef)) {
        positions.for_each(|position| visit(self.record(position)));
    }

    #[inline]
    fn record(&self, position: u64) -> RecordRef {
        // Not in release: a line that every thread writes which takes records, looked at for each of them.
        debug_assert!(position < unobserved(|| self.taken()));
        // SAFETY: the position was taken, so its record lies within the region, with what is before it, which the store keeps alive as
        // long as any reference to its records is used; strides, and what is before records, are multiples of 16.
        unsafe {
            let base = self.region.base().byte_add(position as usize * self.spacing + self.shape.before);
            RecordRef::new(NonNull::new_unchecked(base))
        }
    }
}

/// Consecutive records of an arena that one worker hands out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chunk {
    next: u64,
    end: u64,
}

impl Chunk {
    /// The next record of the chunk, its memory as it was left (zero if never used).
    #[inline]
    pub fn next(&mut self, arena: &Arena) -> Option<RecordRef> {
        (self.next < self.end).then(|| {
            self.next += 1;
            arena.record(self.next - 1)
        })
    }

    /// Records left.
    pub fn left(&self) -> u64 {
        self.end - self.next
    }
}

/// One worker's allocation cache for one partition: its chunk, its free records, and its garbage.
/// Aligned, because the caches of all workers are made together and would share lines.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct RecordCache {
    chunk: Chunk,
    free: Vec<RecordRef>,
    garbage: VecDeque<(u64, RecordRef)>,
}

impl RecordCache {
    /// Hands out records of `chunk` from now on; what it had was used up.
    pub fn go_on_with(&mut self, chunk: Chunk) {
        assert!(self.chunk.left() == 0);
        self.chunk = chunk;
    }

    /// A record's memory: one that was freed, or a new one.
    pub fn take(&mut self, arena: &Arena) -> RecordRef {
        if let Some(record) = self.free.pop() {
            return record;
        }
        if self.chunk.left() == 0 {
            self.chunk = arena.take(CHUNK_RECORDS);
        }
        self.chunk.next(arena).expect("a chunk just taken")
    }

    /// Takes back a record that was never linked.
    pub fn put_back(&mut self, record: RecordRef) {
        self.free.push(record);
    }

    /// Takes back a record that was unlinked by a transaction of local epoch `epoch`.
    pub fn retire(&mut self, record: RecordRef, epoch: u64) {
        assert!(self.garbage.back().is_none_or(|&(last, _)| last <= epoch));
        self.garbage.push_back((epoch, record));
    }

    /// Frees what was unlinked at epoch `reclaimable` or before.
    #[inline]
    pub fn reclaim(&mut self, reclaimable: u64) {
        while let Some(&(epoch, record)) = self.garbage.front() {
            if epoch > reclaimable {
                break;
            }
            self.free.push(record);
            self.garbage.pop_front();
        }
    }

    /// Whether records wait for their epoch.
    pub fn has_garbage(&self) -> bool {
        !self.garbage.is_empty()
    }

    /// Records that are neither linked nor in use: free, in garbage, or not yet handed out.
    pub fn unused(&self) -> u64 {
        self.free.len() as u64 + self.garbage.len() as u64 + self.chunk.left()
    }
}
