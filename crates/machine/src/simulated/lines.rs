//! Which cache lines the workers share: a book of who touched and who wrote what.
//!
//! It is kept on request only ([`watch_lines`]), for tests of what an engine promises about its own state: that
//! workers share no line but the data. Lines of regions are the data; everything else that goes through the facade
//! is the engine's own.

use super::exploration::machine;
use std::collections::HashMap;
use std::ops::Range;

const LINE_BYTES: usize = 64;

/// Lines that one worker wrote and another one touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedLines {
    /// In regions: records, indexes, and whatever else the engine keeps there.
    pub in_regions: usize,
    /// Anywhere else.
    pub elsewhere: usize,
}

/// Lines that workers touched, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TouchedLines {
    /// In regions: records, indexes, and whatever else the engine keeps there.
    pub in_regions: usize,
    /// Anywhere else.
    pub elsewhere: usize,
}

struct Touches {
    first: usize,
    by_several: bool,
    written: bool,
    in_region: bool,
}

/// The book, and where regions lie.
pub(super) struct Lines {
    book: Option<HashMap<usize, Touches>>,
    regions: Vec<Range<usize>>,
}

impl Lines {
    pub(super) const fn new() -> Self {
        Lines { book: None, regions: Vec::new() }
    }

    pub(super) fn are_watched(&self) -> bool {
        self.book.is_some()
    }

    pub(super) fn stop(&mut self) {
        self.book = None;
    }

    pub(super) fn touch(&mut self, core: usize, address: usize, writes: bool) {
        let Some(book) = &mut self.book else { return };
        let regions = &self.regions;
        let line = book.entry(address / LINE_BYTES).or_insert_with(|| Touches {
            first: core,
            by_several: false,
            written: false,
            in_region: regions.iter().any(|region| region.contains(&address)),
        });
        line.by_several |= line.first != core;
        line.written |= writes;
    }

    fn shared(&self) -> SharedLines {
        let mut shared = SharedLines::default();
        let lines = self.book.iter().flat_map(HashMap::values);
        for line in lines.filter(|line| line.by_several && line.written) {
            *if line.in_region { &mut shared.in_regions } else { &mut shared.elsewhere } += 1;
        }
        shared
    }

    fn touched(&self) -> TouchedLines {
        let mut touched = TouchedLines::default();
        for line in self.book.iter().flat_map(HashMap::values) {
            *if line.in_region { &mut touched.in_regions } else { &mut touched.elsewhere } += 1;
        }
        touched
    }

    pub(super) fn add_region(&mut self, region: Range<usize>) {
        self.regions.push(region);
    }

    pub(super) fn remove_region(&mut self, region: &Range<usize>) {
        self.regions.retain(|other| other != region);
    }
}

/// From here to the end of the exploration, a book is kept of the lines that workers touch; an older one is
/// thrown away.
pub fn watch_lines() {
    machine::with(|machine| machine.lines.borrow_mut().book = Some(HashMap::new()));
}

/// The lines that workers have shared since [`watch_lines`].
pub fn shared_lines() -> SharedLines {
    machine::with(|machine| machine.lines.borrow().shared())
}

/// The lines that workers have touched since [`watch_lines`].
pub fn touched_lines() -> TouchedLines {
    machine::with(|machine| machine.lines.borrow().touched())
}
