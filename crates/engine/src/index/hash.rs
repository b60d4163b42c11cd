//! The hash index: buckets of one cache line, latches on the write path, nothing written on the read path.
//!
//! State. A bucket is a cache line:
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | the protocol's metadata: it protects keys that the bucket does *not* hold |
//! | 8..12 | a latch, for writers |
//! | 12..16 | the number of the next overflow bucket, of those that the table's partitions share; 0 for none |
//! | 16..64 | six slots: 15 bits of the key's hash (a tag, never zero) and 48 bits of the record's address, 0 for empty |
//!
//! A look-up therefore costs the bucket's line and the record's, where the key is verified; a tag that matches
//! by chance costs one more line once in 32,768 comparisons.
//!
//! Invariants:
//! - A key that is linked all through a look-up is found by it: entries never move, a removal only empties its
//!   slot, chains only grow.
//! - A key is linked at most once: an insert looks for it under the latch.
//! - Only the first bucket's latch and metadata of a chain count.
//!
//! A record found may be dead by the time that its metadata is asked: protocols recheck. Its memory stays a
//! record until the looker's epoch has passed.
//!
//! Missing keys. A transaction that does not find its key acquires the bucket's metadata (or remembers its
//! version), and looks again; a transaction that inserts acquires it in a mode that excludes those, but not other
//! inserters. So a missing key stays missing until commit, under every protocol, at the price of false conflicts
//! between keys that share a bucket. Deletes need not touch it: until they commit, the record is found, and held.

use super::Linked;
use super::buckets::{BUCKET_BYTES, Buckets};
use crate::facade::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::facade::cpu;
use crate::facade::latch::Latch;
use crate::facade::shared::Arc;
use crate::physical::Metadata;
use crate::record::META_BYTES;
use crate::record::RecordRef;
use contract::Key;
use std::marker::PhantomData;
use std::ptr::NonNull;

const SLOTS: usize = 6;
const TAG_SHIFT: u32 = 48;
const ADDRESS: u64 = (1 << TAG_SHIFT) - 1;
/// How far ahead of a visit to all records they are asked for: of the expected size, these buckets have some thirty records.
const BUCKETS_AHEAD: u64 = 9;

/// A key's hash: high bits choose the bucket, low bits are the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hash(pub u64);

impl Hash {
    /// Folded multiplication; a pure function of the key, the same on every machine and in every run.
    #[inline(always)]
    pub fn of(key: Key) -> Self {
        const A: u64 = 0x9E37_79B9_7F4A_7C15;
        const B: u64 = 0xD6E8_FEB8_6659_FD93;
        let wide = u128::from(key.0 ^ A) * u128::from(B);
        let folded = (wide as u64) ^ ((wide >> 64) as u64);
        Hash(folded.wrapping_mul(A))
    }

    /// Never zero, so that no tag matches an empty slot.
    #[inline(always)]
    fn tag(self) -> u64 {
        self.0 & 0xFFFF | 1
    }
}

/// A bucket, as the protocols see it.
#[repr(C, align(64))]
pub(crate) struct Bucket<L: Latch> {
    meta: [AtomicU64; META_BYTES / 8],
    latch: L,
    overflow: AtomicU32,
    slots: [AtomicU64; SLOTS],
}

impl<L: Latch> Bucket<L> {
    const LAYOUT: () = assert!(size_of::<Self>() == BUCKET_BYTES as usize, "a bucket is one cache line");

    /// The protocol's metadata that protects the keys which the bucket does not hold.
    ///
    /// # Safety
    /// As for [`RecordRef::meta`].
    #[inline(always)]
    pub unsafe fn meta<M: Metadata>(&self) -> &M {
        const { assert!(size_of::<M>() == META_BYTES && align_of::<M>() <= META_BYTES) };
        // SAFETY: 8 bytes, 8-aligned, live with `self`; any bits are a valid `M`, which has interior mutability.
        unsafe { &*(&raw const self.meta).cast::<M>() }
    }
}

impl<L: Latch> Bucket<L> {
    /// The slots whose tag is that of `hash`, a bit each. All are looked at, whichever matches: where a key stands in its
    /// bucket is random, and a branch on it would be mispredicted.
    #[inline(always)]
    fn matches(&self, hash: Hash) -> u32 {
        let tag = hash.tag();
        let mut matches = 0;
        for (number, slot) in self.slots.iter().enumerate() {
            // Relaxed: a match is loaded again.
            matches |= u32::from(slot.load(Ordering::Relaxed) >> TAG_SHIFT == tag) << number;
        }
        matches
    }

    /// Forgets what the last protocol left in the metadata of a quiescent store.
    pub fn reset(&self) {
        // Relaxed: nobody else is running; workers start after.
        if self.meta[0].load(Ordering::Relaxed) != 0 {
            self.meta[0].store(0, Ordering::Relaxed);
        }
    }
}

/// The index of one partition. Its own synchronization policy is its latch, apart from the metadata's.
pub(crate) struct HashIndex<L: Latch> {
    memory: Arc<Buckets>,
    /// The partition's first bucket.
    base: NonNull<u8>,
    /// First buckets of the partition.
    buckets: u64,
    latch: PhantomData<fn() -> L>,
}

// SAFETY: `base` is a place in the region, which `memory` keeps; buckets are made of words that threads share.
unsafe impl<L: Latch> Send for HashIndex<L> {}
// SAFETY: as above.
unsafe impl<L: Latch> Sync for HashIndex<L> {}

impl<L: Latch> HashIndex<L> {
    /// The empty index of partition `number`.
    pub fn within(memory: &Arc<Buckets>, number: u32) -> Self {
        let () = Bucket::<L>::LAYOUT;
        let base = NonNull::new(memory.base(number)).expect("a region is not at address 0");
        let buckets = memory.of_partition;
        HashIndex { memory: Arc::clone(memory), base, buckets, latch: PhantomData }
    }

    #[inline(always)]
    fn nth(&self, bucket: u64) -> &Bucket<L> {
        // Not in release: 0.7 % of the instructions of a transaction of ten look-ups; `bucket` computes one that is within.
        debug_assert!(bucket < self.buckets);
        // SAFETY: the bucket lies within the region, which is zeroed, 64-aligned and lives as long as `self`; zero
        // bytes are an empty bucket, and all its fields have interior mutability.
        unsafe { self.base.cast::<Bucket<L>>().add(bucket as usize).as_ref() }
    }

    fn overflow(&self, number: u32) -> &Bucket<L> {
        // SAFETY: as for `nth`.
        unsafe { &*self.memory.overflow(number).cast::<Bucket<L>>() }
    }

    /// The bucket that holds, or would hold, keys of this hash. Says which line a look-up needs.
    #[inline(always)]
    pub fn bucket(&self, hash: Hash) -> &Bucket<L> {
        self.nth(((u128::from(hash.0) * u128::from(self.buckets)) >> 64) as u64)
    }

    #[inline(always)]
    fn next(&self, bucket: &Bucket<L>) -> Option<&Bucket<L>> {
        // Acquire: the overflow bucket was zeroed memory before; pairs with the Release in `link`.
        match bucket.overflow.load(Ordering::Acquire) {
            0 => None,
            number => Some(self.overflow(number)),
        }
    }

    /// Asks for the line that a look-up of `hash` needs first.
    #[inline(always)]
    pub fn prefetch(&self, hash: Hash) {
        cpu::prefetch_read((&raw const *self.bucket(hash)).cast());
    }

    /// A record whose tag matches, its key not verified: the line that a look-up of `hash` needs next, and mostly its record.
    #[inline(always)]
    pub fn candidate(&self, hash: Hash) -> Option<RecordRef> {
        let bucket = self.bucket(hash);
        let first = bucket.matches(hash).trailing_zeros() as usize;
        // Acquire: its key is read if the record is remembered; pairs with the Release in `link`.
        let entry = bucket.slots.get(first)?.load(Ordering::Acquire);
        // The thread that filled the slot may have emptied it since.
        if entry == 0 {
            return None;
        }
        // SAFETY: a nonempty slot holds the address of a record of this partition's arena, which lives as long as the
        // index.
        Some(unsafe { RecordRef::from_bits(entry & ADDRESS) })
    }

    /// The record linked under `key`. Writes nothing.
    #[inline(always)]
    pub fn find(&self, hash: Hash, key: Key) -> Option<RecordRef> {
        let mut bucket = self.bucket(hash);
        loop {
            let mut matches = bucket.matches(hash);
            while matches != 0 {
                let slot = &bucket.slots[matches.trailing_zeros() as usize];
                matches &= matches - 1;
                // Acquire: key and payload were written before the slot; pairs with the Release in `link`.
                let entry = slot.load(Ordering::Acquire);
                if entry >> TAG_SHIFT == hash.tag() {
                    // SAFETY: as in `candidate`; the record's memory is not reused for another key while the looker's
                    // epoch lasts.
                    let record = unsafe { RecordRef::from_bits(entry & ADDRESS) };
                    if record.key() == key {
                        return Some(record);
                    }
                }
            }
            bucket = self.next(bucket)?;
        }
    }

    /// Links `record`, which carries its key, unless the key is linked already. `linked` runs under the latch, after
    /// the record can be found.
    pub fn link<T>(&self, hash: Hash, record: RecordRef, linked: impl FnOnce(&Bucket<L>) -> T) -> Linked<T> {
        self.memory.provide();
        let first = self.bucket(hash);
        first.latch.lock();
        let result = match self.find(hash, record.key()) {
            Some(other) => Linked::Exists(other),
            None => {
                // Release: publishes key, metadata and payload; pairs with the Acquire in `find`.
                self.empty_slot(first).store(record.to_bits() | hash.tag() << TAG_SHIFT, Ordering::Release);
                Linked::Done(linked(first))
            }
        };
        first.latch.unlock();
        result
    }

    /// An empty slot of the chain that starts at `first`, whose latch the caller holds.
    fn empty_slot<'a>(&'a self, first: &'a Bucket<L>) -> &'a AtomicU64 {
        let mut bucket = first;
        loop {
            // Relaxed: slots change under the latch only.
            if let Some(slot) = bucket.slots.iter().find(|slot| slot.load(Ordering::Relaxed) == 0) {
                return slot;
            }
            bucket = match self.next(bucket) {
                Some(next) => next,
                None => {
                    let number = self.memory.take();
                    // Release: pairs with the Acquire in `next`.
                    bucket.overflow.store(number, Ordering::Release);
                    self.overflow(number)
                }
            };
        }
    }

    /// Unlinks `record`, which must be linked. `unlinking` runs under the latch, before it is gone.
    pub fn unlink(&self, hash: Hash, record: RecordRef, unlinking: impl FnOnce(&Bucket<L>)) {
        let first = self.bucket(hash);
        first.latch.lock();
        let wanted = record.to_bits() | hash.tag() << TAG_SHIFT;
        let mut bucket = first;
        let slot = loop {
            // Relaxed: slots change under the latch only.
            if let Some(slot) = bucket.slots.iter().find(|slot| slot.load(Ordering::Relaxed) == wanted) {
                break slot;
            }
            let Some(next) = self.next(bucket) else {
                // Nobody waits for this bucket while the panic unwinds.
                first.latch.unlock();
                panic!("a record is unlinked from a bucket in which it is not linked");
            };
            bucket = next;
        };
        unlinking(first);
        // Release: what the caller did to the record stays before; a looker that sees the slot empty needs nothing
        // of it.
        slot.store(0, Ordering::Release);
        first.latch.unlock();
    }

    /// First buckets of the index.
    pub fn buckets(&self) -> u64 {
        self.buckets
    }

    /// Visits first buckets by number; numbers below [`HashIndex::buckets`].
    pub fn for_each_bucket(&self, numbers: std::ops::Range<u64>, mut visit: impl FnMut(&Bucket<L>)) {
        for number in numbers {
            visit(self.nth(number));
        }
    }

    /// Visits every linked record of a quiet index. Records lie anywhere, and so they are asked for some buckets ahead.
    pub fn for_each_record(&self, mut visit: impl FnMut(RecordRef)) {
        for number in 0..self.buckets {
            if number + BUCKETS_AHEAD < self.buckets {
                self.ask_for_records(self.nth(number + BUCKETS_AHEAD));
            }
            self.for_each_record_of(number..number + 1, &mut visit);
        }
    }

    /// How many records are linked in a quiet index.
    pub fn records(&self) -> u64 {
        let mut records = 0;
        self.for_each_record_of(0..self.buckets, |_| records += 1);
        records
    }

    /// Asks for the header's lines of a bucket's records, without those of its overflow buckets.
    fn ask_for_records(&self, bucket: &Bucket<L>) {
        // Relaxed: the records are only asked for, not read.
        let entries = bucket.slots.iter().map(|slot| slot.load(Ordering::Relaxed));
        let addresses = entries.filter(|&entry| entry != 0).map(|entry| (entry & ADDRESS) as usize);
        addresses.for_each(|address| cpu::prefetch_read(std::ptr::without_provenance(address)));
    }

    /// Visits the records linked in these first buckets and their chains: those that are linked all through it, and perhaps others.
    /// Within an epoch.
    pub fn for_each_record_of(&self, buckets: std::ops::Range<u64>, mut visit: impl FnMut(RecordRef)) {
        for number in buckets {
            let mut next = Some(self.nth(number));
            while let Some(bucket) = next {
                // Acquire: pairs with the Release in `link`.
                let entries = bucket.slots.iter().map(|slot| slot.load(Ordering::Acquire));
                for entry in entries.filter(|&entry| entry != 0) {
                    // SAFETY: as in `candidate`.
                    visit(unsafe { RecordRef::from_bits(entry & ADDRESS) });
                }
                next = self.next(bucket);
            }
        }
    }
}
