//! A record: key, protocol metadata, payload, in one piece of arena memory.
//!
//! | byte | what |
//! |---|---|
//! | -16..0, if the store has snapshots | since which snapshot the row is what it is, and where its previous version is ([`crate::versions`]) |
//! | 0..8 | the key, for the hash index to verify a tag match; immutable while the record is linked |
//! | 8..16, or more | the protocol's metadata; all zero means present, and held by nobody, under every protocol |
//! | from there on | the row, padded to whole 64-bit words so that racing readers can copy word by word; of rows that vary in length, where the row is ([`value`]) |
//!
//! How much metadata there is the store's layout says ([`super::header`]). Key, metadata and the first bytes of the row share a
//! cache line: see [`Shape::new`]; and so, of most shapes, does what the record tells of its versions, which who writes a row looks at each
//! time. What is before the row is reached through a [`RecordRef`], the row through a [`Row`].

pub(crate) mod arena;
pub(crate) mod header;
pub(crate) mod ready;
pub(crate) mod value;
pub(crate) mod version;

use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::{cpu, payload};
use crate::physical::Metadata;
use contract::{Header, Key, Layout, RowLength, Span, TableDescription};
use header::{KEY_BYTES, RecordHeader, header_bytes};
use std::marker::PhantomData;
use std::ptr::NonNull;
use version::Lineage;

/// Bytes of metadata of a bucket and of a leaf, under every protocol.
pub(crate) const META_BYTES: usize = 8;

const LINE_BYTES: usize = 64;

/// The size of a table's records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// What comes before the row.
    pub header: Header,
    /// Bytes that the table's records have for their rows.
    pub row_bytes: usize,
    /// Distance between records, as the machine has them.
    pub stride: usize,
    /// Bytes of a record, from its first, that must be stored, whatever the machine has.
    pub stored_bytes: usize,
    /// Bytes before a record's first: what it tells of its versions.
    pub before: usize,
}

impl Shape {
    /// Of the records of a table of this layout.
    pub fn of(layout: Layout, description: &TableDescription) -> Self {
        let Layout { header, snapshot_every, .. } = layout;
        match description.length {
            _ if snapshot_every > 0 => Shape::with_versions(header, description),
            RowLength::Fixed => Shape::new(header, description.row_bytes, description.kept_bytes),
            RowLength::Varying => Shape::new(header, value::WORD_BYTES, value::WORD_BYTES),
        }
    }

    /// The same of records that tell of their versions, and are stored whole, whatever of their rows matters.
    fn with_versions(header: Header, description: &TableDescription) -> Self {
        let row_bytes = match description.length {
            RowLength::Fixed => description.row_bytes,
            RowLength::Varying => value::WORD_BYTES,
        };
        let before = size_of::<Lineage>();
        let whole = row_bytes + before;
        Shape { row_bytes, before, ..Shape::new(header, whole, whole) }
    }

    /// Rows of `row_bytes` bytes behind this header, the first `kept_bytes` of which matter.
    ///
    /// The stride is rounded up to the largest power of two, 64 at most, that adds no more than 16 bytes. A multiple of 64 gives
    /// every record lines of its own; at 16 and above, header and metadata never straddle a line.
    pub fn new(header: Header, row_bytes: usize, kept_bytes: usize) -> Self {
        let exact = header_bytes(header) + row_bytes;
        let alignment = [64, 32].into_iter().find(|&a| exact.next_multiple_of(a) <= exact + 16).unwrap_or(16);
        let stored_bytes = header_bytes(header) + kept_bytes;
        Shape { header, row_bytes, stride: exact.next_multiple_of(alignment), stored_bytes, before: 0 }
    }

    /// Bytes of a record that tell of its versions.
    pub fn lineage_bytes(&self) -> usize {
        self.before
    }
}

/// A record's place. Valid while its arena lives, which its store guarantees; whether the record is still
/// linked is for the protocol to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordRef(NonNull<u8>);

// SAFETY: a place in an arena means the same to every thread; what is done to the record is for protocols to allow.
unsafe impl Send for RecordRef {}
// SAFETY: as above.
unsafe impl Sync for RecordRef {}

impl RecordRef {
    /// The record at `base`.
    ///
    /// # Safety
    /// `base` is 16-aligned and starts a record in arena memory that outlives every use of the result.
    #[inline(always)]
    pub unsafe fn new(base: NonNull<u8>) -> Self {
        RecordRef(base)
    }

    /// The address, below 2^48, for a slot of the index.
    #[inline(always)]
    pub fn to_bits(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    /// The record whose address a slot of the index holds.
    ///
    /// # Safety
    /// `bits` came from [`RecordRef::to_bits`] of a record whose arena still lives, and is not zero.
    #[inline(always)]
    pub unsafe fn from_bits(bits: u64) -> Self {
        // SAFETY: the caller's `bits` are those of a `NonNull`.
        RecordRef(unsafe { NonNull::new_unchecked(std::ptr::with_exposed_provenance_mut(bits as usize)) })
    }

    #[inline(always)]
    fn key_word(&self) -> &AtomicU64 {
        // SAFETY: bytes 0..8 of a record are its key, 8-aligned, live with the arena, and only ever accessed as
        // this atomic.
        unsafe { self.0.cast::<AtomicU64>().as_ref() }
    }

    /// The key.
    #[inline(always)]
    pub fn key(&self) -> Key {
        // Relaxed: published with the record, by the Release that linked it; and it changes after an epoch has passed, which
        // comes after all that those did who found it.
        Key(self.key_word().load(Ordering::Relaxed))
    }

    /// The protocol's metadata.
    ///
    /// # Safety
    /// `M` is the metadata of the protocol that runs, in its synchronization policy, and the caller is where that policy lets it be
    /// touched: see [`Site::meta`](crate::architecture::Site::meta). The arena outlives the reference.
    #[inline(always)]
    pub unsafe fn meta<'a, H: RecordHeader, M: Metadata>(self) -> &'a M {
        const { assert!(size_of::<M>() <= H::HEADER.metadata_bytes() && align_of::<M>() <= KEY_BYTES) };
        // SAFETY: the bytes behind a record's key are its metadata, 8-aligned, and live as long as the caller says; any bits are a
        // valid `M`, which has interior mutability, by its own contract.
        unsafe { self.0.byte_add(KEY_BYTES).cast::<M>().as_ref() }
    }

    /// The metadata as the words that it consists of.
    fn meta_words(&self, header: Header) -> &[AtomicU64] {
        let first = self.0.as_ptr().cast::<AtomicU64>().wrapping_byte_add(KEY_BYTES);
        // SAFETY: as in `meta`; the caller has the record to itself, as it is not linked yet, or nobody runs.
        unsafe { std::slice::from_raw_parts(first, header.metadata_bytes() / 8) }
    }

    /// The first word of the metadata of a record of a quiet store.
    pub fn first_word(self, header: Header) -> u64 {
        // Relaxed: nobody else is running; workers have ended before.
        self.meta_words(header)[0].load(Ordering::Relaxed)
    }

    /// Gives unlinked memory its key and an all-zero metadata.
    #[inline]
    pub fn initialise(self, header: Header, key: Key) {
        // Relaxed, both: the record is private until it is linked, with Release.
        self.key_word().store(key.0, Ordering::Relaxed);
        self.meta_words(header).iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// What it tells of its versions, if records of this shape do.
    #[inline(always)]
    pub fn lineage<'a>(self, shape: &Shape) -> Option<&'a Lineage> {
        // SAFETY: the arena leaves so many bytes before each record of the shape, which are no other's, and aligned as it is; two words
        // that are only ever accessed as these atomics, live with the arena, which its store keeps.
        (shape.before > 0)
            .then(|| unsafe { self.0.byte_sub(size_of::<Lineage>()).cast::<Lineage>().as_ref() })
    }

    /// Forgets what the last protocol left in the metadata of a quiescent store.
    pub fn reset(self, header: Header) {
        for word in self.meta_words(header) {
            // Relaxed: nobody else is running; workers start after.
            if word.load(Ordering::Relaxed) != 0 {
                word.store(0, Ordering::Relaxed);
            }
        }
    }

    /// The row of a record with header `H`.
    #[inline(always)]
    pub fn row<H: RecordHeader>(self) -> Row<H> {
        Row(self, PhantomData)
    }
}

/// The row of a record with header `H`.
pub(crate) struct Row<H>(RecordRef, PhantomData<fn() -> H>);

impl<H: RecordHeader> Row<H> {
    #[inline(always)]
    fn at(self, offset: u32) -> *mut u8 {
        // SAFETY: a record of this header, as all of its store; `offset` lies within the row (asserted by the operation that named
        // the span), so within the stride.
        unsafe {
            let (piece, row) = H::row(self.0.0);
            payload::place(piece.as_ptr(), row + offset as usize)
        }
    }

    /// Shows bytes of the row in place.
    ///
    /// # Safety
    /// `span` lies in the row, and nobody writes these bytes meanwhile: the caller's protocol holds the record.
    #[inline(always)]
    pub unsafe fn view<R>(self, span: Span, see: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: in bounds by the caller's contract, unwritten meanwhile by the caller's lock.
        unsafe { payload::view(self.at(span.offset), span.length(), see) }
    }

    /// Lends bytes of the row for change in place.
    ///
    /// # Safety
    /// `span` lies in the row, and nobody else touches these bytes meanwhile.
    #[inline(always)]
    pub unsafe fn view_mut<R>(self, span: Span, change: impl FnOnce(&mut [u8]) -> R) -> R {
        // SAFETY: in bounds, and untouched by others, by the caller's contract.
        unsafe { payload::view_mut(self.at(span.offset), span.length(), change) }
    }

    /// Copies `into.len()` bytes from byte `offset` of the row.
    ///
    /// # Safety
    /// They lie in the row, and nobody writes them meanwhile.
    #[inline(always)]
    pub unsafe fn copy_out(self, offset: u32, into: &mut [u8]) {
        // SAFETY: by the caller's contract.
        unsafe { payload::copy_out(self.at(offset), into) }
    }

    /// Copies `from` to byte `offset` of the row.
    ///
    /// # Safety
    /// The bytes lie in the row, and nobody else touches them meanwhile.
    #[inline(always)]
    pub unsafe fn copy_in(self, offset: u32, from: &[u8]) {
        // SAFETY: by the caller's contract.
        unsafe { payload::copy_in(self.at(offset), from) }
    }

    /// Copies bytes that somebody may be writing: what comes out may be torn.
    ///
    /// # Safety
    /// They lie in the row; they are written by nothing but [`Row::copy_in_racing`] meanwhile.
    #[inline(always)]
    pub unsafe fn copy_out_racing(self, offset: u32, into: &mut [u8]) {
        // SAFETY: by the caller's contract; the row is 8-aligned and padded to whole words.
        unsafe { payload::copy_out_racing(self.at(offset), into) }
    }

    /// Writes bytes that somebody may be copying with [`Row::copy_out_racing`].
    ///
    /// # Safety
    /// They lie in the row; the caller holds the record's lock, so it is the only writer.
    #[inline(always)]
    pub unsafe fn copy_in_racing(self, offset: u32, from: &[u8]) {
        // SAFETY: by the caller's contract; the row is 8-aligned and padded to whole words.
        unsafe { payload::copy_in_racing(self.at(offset), from) }
    }

    /// Asks for the header's line and those of `span`.
    #[inline(always)]
    pub fn prefetch(self, span: Span, write_header: bool, write_span: bool) {
        let header = self.0.0.as_ptr().cast_const();
        if write_header {
            cpu::prefetch_write(header)
        } else {
            cpu::prefetch_read(header)
        }
        let (first, last) = (header_bytes(H::HEADER) + span.start(), header_bytes(H::HEADER) + span.end());
        // From the line after the header's on, as far as the span touches; long spans are left to the hardware's
        // own stream prefetcher after its first lines.
        const MOST_LINES: usize = 4;
        let misaligned = header.addr() % LINE_BYTES;
        let mut line = ((misaligned + first) / LINE_BYTES).max(1);
        let end = (misaligned + last.max(1) - 1) / LINE_BYTES;
        let stop = end.min(line + MOST_LINES - 1);
        while line <= stop {
            // SAFETY: not beyond the span, which lies in the record.
            let at =
                unsafe { payload::place(self.0.0.as_ptr(), line * LINE_BYTES - misaligned) }.cast_const();
            if write_span {
                cpu::prefetch_write(at)
            } else {
                cpu::prefetch_read(at)
            }
            line += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_costs_at_most_32_bytes_more_than_its_row() {
        for (header, most) in [(Header::Narrow, 32), (Header::Wide, 48), (Header::Versioned, 56)] {
            for row_bytes in 0..5000 {
                let shape = Shape::new(header, row_bytes, row_bytes);
                assert!(shape.stride >= header_bytes(header) + row_bytes.next_multiple_of(8), "{shape:?}");
                assert!(shape.stride <= row_bytes + most, "{shape:?}");
                assert_eq!(shape.stride % 16, 0, "{shape:?}");
            }
        }
        assert_eq!(Shape::new(Header::Narrow, 1000, 1000).stride, 1024);
        assert_eq!(Shape::new(Header::Narrow, 80, 80).stride, 96);
    }
}
