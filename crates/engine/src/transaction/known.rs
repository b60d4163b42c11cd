//! What a transaction is known to touch before it runs, besides what its plan names: what its earlier attempts have locked, and what
//! they were denied. A slot keeps it ([`crate::protocol::Vll`]).
//!
//! Keys are known by table and number. Those that are byte strings have numbers of an attempt's own, and are not kept.

use crate::protocol::{Mode, RecordPlace};

/// See the module.
pub(crate) struct Known {
    records: Vec<(RecordPlace, Mode)>,
}

impl Known {
    /// Of a transaction of which nothing is known, with room for those of ordinary size.
    pub fn new() -> Self {
        Known { records: Vec::with_capacity(256) }
    }

    /// Another transaction begins, of which nothing is known.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.records.clear();
    }

    /// The transaction wants a record; it may have been known.
    pub fn learn(&mut self, place: RecordPlace, mode: Mode) {
        self.records.push((place, mode));
    }

    /// All that is known, some of it more than once.
    pub fn records(&self) -> &[(RecordPlace, Mode)] {
        &self.records
    }

    /// Forgets what was learned twice.
    pub fn tidy(&mut self) {
        self.records.sort_unstable_by_key(|&(place, mode)| (place, mode == Mode::Shared));
        self.records.dedup_by_key(|&mut (place, _)| place);
    }
}
