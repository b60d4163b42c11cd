//! From addresses of the host to lines of simulated memory.
//!
//! A region gets room for all its lines when one of them is first touched: what follows is its offset. Any other memory,
//! engine state on the host's heap, gets a line when a line of the host is first touched; when workers are started, those
//! are forgotten, for the allocator may have put something else there since, or not, as it likes.

use crate::simulated::memory_map::{Record, record_of};
use crate::simulated::model::Line;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

pub(super) const LINE_BYTES: usize = 64;

/// Lines of regions are below, others from here on.
const FIRST_OUTSIDE: u64 = Line::END / 2;

/// Regions start at multiples of so many lines: 2 MiB.
const REGION_LINES: u64 = (2 << 20) / LINE_BYTES as u64;

/// Hashes a line's number; whatever the order of what is in the map, nobody walks over it.
#[derive(Default)]
pub(super) struct LineHasher(u64);

impl Hasher for LineHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("lines are hashed as words")
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

/// A map by lines' numbers.
pub(super) type LineMap<K, V> = HashMap<K, V, BuildHasherDefault<LineHasher>>;

/// See the module.
#[derive(Default)]
pub(super) struct Places {
    /// By serial number: the region's first line plus 1, or 0.
    regions: Vec<u64>,
    /// By line of the host.
    outside: LineMap<usize, u64>,
    next_in_regions: u64,
    next_outside: u64,
}

impl Places {
    /// Where in simulated memory the byte at an address is: its line, and its offset in it; and whether the memory is elided.
    #[inline]
    pub fn byte_at(&mut self, address: usize) -> (Line, usize, bool) {
        match record_of(address) {
            Some(record) => {
                let (line, offset) = self.in_region(record, address);
                (line, offset, record.elision().is_some())
            }
            None => (self.outside(address), address % LINE_BYTES, false),
        }
    }

    /// As [`Places::byte_at`], if the line is of a region or was touched before.
    pub fn known_line_at(&mut self, address: usize) -> Option<Line> {
        match record_of(address) {
            Some(record) => {
                let offset = record.offset_of(address);
                (offset < record.charged_bytes()).then(|| self.in_region(record, address).0)
            }
            None => self.outside.get(&(address / LINE_BYTES)).map(|&line| Line(line)),
        }
    }

    #[inline]
    fn in_region(&mut self, record: &Record, address: usize) -> (Line, usize) {
        let offset = record.offset_of(address);
        let first = match self.regions.get(record.serial()) {
            Some(&first) if first != 0 => first - 1,
            _ => self.add(record),
        };
        (Line(first + (offset / LINE_BYTES) as u64), offset % LINE_BYTES)
    }

    #[cold]
    fn add(&mut self, record: &Record) -> u64 {
        let serial = record.serial();
        if self.regions.len() <= serial {
            self.regions.resize(serial + 1, 0);
        }
        let first = self.next_in_regions;
        // A gap behind, for a record that ends there may be read beyond its end.
        let lines = (record.charged_bytes() / LINE_BYTES) as u64 + 1;
        self.next_in_regions = (first + lines).next_multiple_of(REGION_LINES);
        assert!(self.next_in_regions < FIRST_OUTSIDE, "regions of more than 32 TiB were touched");
        self.regions[serial] = first + 1;
        first
    }

    fn outside(&mut self, address: usize) -> Line {
        let next = &mut self.next_outside;
        let line = self.outside.entry(address / LINE_BYTES).or_insert_with(|| {
            *next += 1;
            FIRST_OUTSIDE + *next
        });
        Line(*line)
    }

    /// Forgets what lies outside of regions.
    pub fn forget_outside(&mut self) {
        self.outside.clear();
    }
}
