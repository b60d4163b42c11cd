//! The memory of a table's hash indexes: each partition's first buckets, and after them the overflow buckets of all.
//!
//! An overflow bucket is wanted under a latch, and its memory is there by then: who is about to latch sees to it that some
//! are faulted in that nobody has ([`Buckets::provide`]).

use crate::epoch::Line;
use crate::facade::atomic::{AtomicU32, Ordering};
use crate::facade::region::{Pages, Region, RegionError};
use crate::facade::unobserved;

/// Entries that a bucket holds on average when the table has its expected size. At this load about 3 % of the
/// look-ups meet an overflow bucket.
const EXPECTED_LOAD: f64 = 3.6;

/// Address space for overflow buckets, in multiples of the first buckets, and the least.
const OVERFLOW_OVERSIZE: u64 = 2;
const LEAST_OVERFLOW: u64 = 1 << 16;

/// Overflow buckets that nobody has and that are faulted in: more than workers link at once.
const SPARE_OVERFLOW: u32 = 1024;

/// Bytes of a bucket: a cache line.
pub(super) const BUCKET_BYTES: u64 = 64;

/// See the module. Aligned, so that its place in lines is the same in every run.
#[repr(align(128))]
pub(crate) struct Buckets {
    region: Region,
    /// First buckets of each partition.
    pub of_partition: u64,
    /// Of all.
    first: u64,
    overflow_room: u32,
    overflow_taken: Line<AtomicU32>,
    /// Overflow buckets below this are faulted in.
    overflow_ready: Line<AtomicU32>,
}

impl Buckets {
    /// For indexes of `partitions` partitions of about `records` entries each, their first buckets faulted in. Beyond that they
    /// may grow to `most` bytes of address space; chains of buckets become long then.
    pub fn reserve(records: u64, partitions: u32, most: usize, pages: Pages) -> Result<Self, RegionError> {
        let of_partition = buckets_for(records);
        let first = of_partition * u64::from(partitions);
        let overflow_room = (first * OVERFLOW_OVERSIZE).max(LEAST_OVERFLOW);
        let bytes = usize::try_from((first + overflow_room) * BUCKET_BYTES).expect("a 64-bit machine");
        let first_bytes = (first * BUCKET_BYTES) as usize;
        let region = Region::reserve_to_grow(bytes.max(most), first_bytes, pages)?;
        region.fault_in(0..first_bytes);
        let overflow_room = region.len() as u64 / BUCKET_BYTES - first;
        Ok(Buckets {
            region,
            of_partition,
            first,
            overflow_room: u32::try_from(overflow_room).unwrap_or(u32::MAX),
            // Number 0 means none.
            overflow_taken: Line(AtomicU32::new(1)),
            overflow_ready: Line(AtomicU32::new(0)),
        })
    }

    /// Bytes that the buckets of a partition of `records` entries are expected to take.
    pub fn bytes_for(records: u64) -> u64 {
        // Overflow buckets at the expected load: a few percent.
        buckets_for(records) * BUCKET_BYTES * 108 / 100
    }

    /// The first byte of the first of a partition's first buckets.
    pub fn base(&self, partition: u32) -> *mut u8 {
        let first = u64::from(partition) * self.of_partition;
        assert!(first < self.first, "partition {partition} of a table that has fewer");
        // SAFETY: within the region, which has room for the first buckets of all partitions.
        unsafe { self.region.base().add((first * BUCKET_BYTES) as usize) }
    }

    /// Bytes of memory taken.
    pub fn bytes_taken(&self) -> u64 {
        // Relaxed: a counter.
        (self.first + u64::from(self.overflow_taken.0.load(Ordering::Relaxed))) * BUCKET_BYTES
    }

    /// The first byte of an overflow bucket.
    #[inline]
    pub fn overflow(&self, number: u32) -> *mut u8 {
        assert!(number < self.overflow_room);
        // SAFETY: within the region, which has room for so many after the first buckets.
        unsafe { self.region.base().add((self.first + u64::from(number)) as usize * BUCKET_BYTES as usize) }
    }

    /// Sees to it that there is memory behind the next overflow buckets, more than there are workers who may want one now.
    #[inline]
    pub fn provide(&self) {
        // Relaxed, both: counters, which only tell how much is faulted in.
        let wanted = self.overflow_taken.0.load(Ordering::Relaxed).saturating_add(SPARE_OVERFLOW);
        if wanted > self.overflow_ready.0.load(Ordering::Relaxed) {
            self.fault_in(wanted);
        }
    }

    #[cold]
    fn fault_in(&self, wanted: u32) {
        let until = wanted.saturating_add(3 * SPARE_OVERFLOW).min(self.overflow_room);
        let byte = |number: u32| ((self.first + u64::from(number)) * BUCKET_BYTES) as usize;
        loop {
            // Relaxed, all: as in `provide`. Several may fault in the same, which changes nothing.
            let ready = self.overflow_ready.0.load(Ordering::Relaxed);
            if ready >= until {
                return;
            }
            self.region.fault_in(byte(ready)..byte(until));
            let changed =
                self.overflow_ready.0.compare_exchange(ready, until, Ordering::Relaxed, Ordering::Relaxed);
            if changed.is_ok() {
                return;
            }
        }
    }

    /// The number of a fresh overflow bucket, all zeroes.
    pub fn take(&self) -> u32 {
        // Relaxed: a counter.
        let number = self.overflow_taken.0.fetch_add(1, Ordering::Relaxed);
        assert!(
            number < self.overflow_room,
            "the address space of a table's hash indexes is used up: {} overflow buckets",
            self.overflow_room
        );
        // Not in release: it goes on, and those who wait for the latch wait for longer.
        debug_assert!(
            number < unobserved(|| self.overflow_ready.0.load(Ordering::Relaxed)),
            "memory is taken under a latch"
        );
        number
    }
}

/// First buckets of a partition of about so many entries.
fn buckets_for(records: u64) -> u64 {
    ((records as f64 / EXPECTED_LOAD).ceil() as u64).max(1)
}
