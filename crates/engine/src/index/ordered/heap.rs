//! The key heap: what does not fit into a node's slices, in pieces.
//!
//! A piece is some units of 32 bytes, known by the number of the first:
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | the address of the record whose key it is |
//! | 8..16 | bytes of the key |
//! | 16.. | the key, from its first byte, zeroes up to a whole word; or numbers of other pieces, a word each |
//!
//! A piece does not change while it can be reached, except that an inner node's piece of numbers changes with the node.
//! A reader that follows the number of a piece from a node that is changing may see the piece before it was written; so
//! all words are atomics, lengths and numbers are bounded, and what was read counts once the node has been validated.
//! Relaxed ones: a node's state is released after the pieces that it leads to were written, and a piece is written anew
//! after an epoch has passed, which comes after all that its readers did ([`crate::epoch`], 4).
//! That is so in every synchronization policy: a relaxed load costs what a plain one does.

use super::keys::{KeyBuffer, Probe, SLICE_BYTES};
use super::{MAX_KEY_BYTES, OVERSIZE};
use crate::epoch::Line;
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::payload;
use crate::facade::region::{Pages, Region, RegionError};
use crate::record::ready::Ready;
use std::ops::Range;

/// Bytes of a unit.
pub(super) const UNIT_BYTES: usize = 32;
const HEADER_BYTES: usize = 16;
const WORD_BYTES: usize = 8;

/// Address space is reserved for so many bytes at least.
const LEAST_BYTES: u64 = 1 << 26;

/// Units of the largest piece.
pub(super) const MOST_UNITS: usize = units_of(MAX_KEY_BYTES);

/// Units of a piece for `bytes` bytes.
pub(super) const fn units_of(bytes: usize) -> usize {
    (HEADER_BYTES + bytes).div_ceil(UNIT_BYTES)
}

/// The memory of pieces. Aligned, so that its place in lines is the same in every run.
#[repr(align(128))]
pub(super) struct Heap {
    region: Region,
    ready: Ready,
    /// Units taken so far.
    taken: Line<AtomicU64>,
    /// Units from which a piece of any size may start.
    room: u64,
}

impl Heap {
    /// For about `bytes` bytes, and as many more as `most` bytes of address space have room for.
    pub fn reserve(bytes: u64, most: usize, pages: Pages) -> Result<Self, RegionError> {
        let oversize = (bytes * OVERSIZE).max(LEAST_BYTES);
        let with_units =
            |bytes: usize| ((bytes / UNIT_BYTES).min(u32::MAX as usize) + MOST_UNITS) * UNIT_BYTES;
        let address_space = with_units(oversize as usize).max(with_units(most));
        let region = Region::reserve_to_grow(address_space, bytes as usize, pages)?;
        let room = (region.len() / UNIT_BYTES - MOST_UNITS) as u64;
        // Number 0 means none.
        Ok(Heap { region, ready: Ready::default(), taken: Line(AtomicU64::new(1)), room })
    }

    /// Faults in what the next run is expected to take, up to `left` bytes.
    pub fn get_ready(&self, left: &mut u64) {
        let used = (self.taken() as usize + 1) * UNIT_BYTES;
        self.ready.before_run(&self.region, used, left);
    }

    /// Units taken, of those that pieces can have.
    pub fn taken(&self) -> u64 {
        // Relaxed: a counter.
        self.taken.0.load(Ordering::Relaxed) - 1
    }

    /// Takes consecutive units, faulted in. Panics when the address space is used up.
    pub fn take(&self, units: u64) -> Range<u32> {
        // Relaxed: a counter; pieces are only reached through nodes that are unlatched by a Release.
        let first = self.taken.0.fetch_add(units, Ordering::Relaxed);
        let end = first + units;
        assert!(
            end <= self.room,
            "the key heap of an index is used up: {} units of {UNIT_BYTES} bytes",
            self.room
        );
        self.ready.taken(&self.region, first as usize * UNIT_BYTES..end as usize * UNIT_BYTES);
        first as u32..end as u32
    }

    /// The first byte of a piece.
    #[inline]
    fn base(&self, piece: u32) -> *mut u8 {
        let unit = u64::from(piece).min(self.room) as usize;
        // SAFETY: the region has `MOST_UNITS` units after `room`, so the largest piece lies within it.
        unsafe { payload::place(self.region.base(), unit * UNIT_BYTES) }
    }

    #[inline]
    fn word(&self, piece: u32, word: usize) -> &AtomicU64 {
        assert!(word * WORD_BYTES < MOST_UNITS * UNIT_BYTES);
        let word = word.min(MOST_UNITS * UNIT_BYTES / WORD_BYTES - 1);
        // SAFETY: within the largest piece from `base`, so within the region; 8-aligned, for units are; words of pieces
        // are only ever accessed as atomics, or by racing copies of whole words.
        unsafe { &*self.base(piece).cast::<AtomicU64>().add(word) }
    }

    // Relaxed, all of the below: see the module's text.

    /// The record whose key the piece is.
    #[inline]
    pub fn record_bits(&self, piece: u32) -> u64 {
        self.word(piece, 0).load(Ordering::Relaxed)
    }

    /// Bytes of the piece.
    #[inline]
    pub fn length(&self, piece: u32) -> usize {
        self.word(piece, 1).load(Ordering::Relaxed).min(MAX_KEY_BYTES as u64) as usize
    }

    /// Writes a piece that nobody can reach.
    pub fn write(&self, piece: u32, record_bits: u64, key: &[u8]) {
        self.word(piece, 0).store(record_bits, Ordering::Relaxed);
        self.word(piece, 1).store(key.len() as u64, Ordering::Relaxed);
        for (number, bytes) in key.chunks(WORD_BYTES).enumerate() {
            let mut padded = [0; WORD_BYTES];
            padded[..bytes.len()].copy_from_slice(bytes);
            self.word(piece, 2 + number).store(u64::from_ne_bytes(padded), Ordering::Relaxed);
        }
    }

    /// Makes a piece that nobody can reach one of `count` words.
    pub fn write_words(&self, piece: u32, count: usize) {
        self.word(piece, 1).store((count * WORD_BYTES) as u64, Ordering::Relaxed);
    }

    /// A word of a piece of words.
    pub fn get(&self, piece: u32, word: usize) -> u64 {
        self.word(piece, 2 + word).load(Ordering::Relaxed)
    }

    /// Sets a word of a piece of words.
    pub fn set(&self, piece: u32, word: usize, value: u64) {
        self.word(piece, 2 + word).store(value, Ordering::Relaxed);
    }

    /// The key's slice that starts at byte `at`.
    pub fn slice_at(&self, piece: u32, at: usize) -> u64 {
        let mut bytes = [0; SLICE_BYTES];
        let left = self.length(piece).saturating_sub(at).min(SLICE_BYTES);
        self.copy(piece, at, &mut bytes[..left]);
        u64::from_be_bytes(bytes)
    }

    /// How the piece's key compares to `key`; their first `common` bytes are the same.
    pub fn compare(&self, piece: u32, key: &Probe<'_>, common: usize) -> std::cmp::Ordering {
        let (length, other) = (self.length(piece), key.bytes.len());
        let mut at = common / WORD_BYTES * WORD_BYTES;
        while at < length && at < other {
            let word = self.word(piece, 2 + at / WORD_BYTES).load(Ordering::Relaxed);
            let (mine, theirs) = (u64::from_be_bytes(word.to_ne_bytes()), key.slice_at(at));
            if mine != theirs {
                return mine.cmp(&theirs);
            }
            at += WORD_BYTES;
        }
        // Equal as far as both go, padding included.
        length.cmp(&other)
    }

    fn copy(&self, piece: u32, from: usize, into: &mut [u8]) {
        assert!(from + into.len() <= MAX_KEY_BYTES);
        // SAFETY: at most `MAX_KEY_BYTES` bytes of the largest piece from `base`, so within the region, whose words are
        // written by atomic stores only.
        unsafe { payload::copy_out_racing(payload::place(self.base(piece), HEADER_BYTES + from), into) }
    }

    /// The key.
    pub fn key(&self, piece: u32) -> KeyBuffer {
        KeyBuffer::filled(|bytes| {
            let length = self.length(piece);
            self.copy(piece, 0, &mut bytes[..length]);
            length
        })
    }

    /// Appends the key to `into`.
    pub fn append_to(&self, piece: u32, into: &mut Vec<u8>) {
        let start = into.len();
        into.resize(start + self.length(piece), 0);
        self.copy(piece, 0, &mut into[start..]);
    }
}
