//! Pieces of heaps that were given back: a book of them, in which an exploration looks whatever is touched up.
//!
//! Nobody may touch a piece that was given back until it is taken again. Who does is told so by a panic: on the hardware nothing
//! would be wrong most of the time. Where nothing is explored no book is kept.

use std::collections::BTreeMap;
use std::ops::Range;

/// The book.
#[derive(Debug)]
pub(super) struct GivenBack {
    /// By where they begin, where they end.
    pieces: BTreeMap<usize, usize>,
    /// No piece of this exploration lies before, and none behind: most of what is touched does.
    first: usize,
    end: usize,
}

impl GivenBack {
    /// Nothing was given back.
    pub const fn new() -> Self {
        GivenBack { pieces: BTreeMap::new(), first: usize::MAX, end: 0 }
    }

    /// A piece is given back. Panics if it was before.
    pub fn enter(&mut self, piece: Range<usize>) {
        (self.first, self.end) = (self.first.min(piece.start), self.end.max(piece.end));
        let before = self.pieces.insert(piece.start, piece.end);
        assert!(before.is_none(), "a piece of a heap is given back twice");
    }

    /// The piece that begins there, if there is one, is taken again, or its heap is no more.
    pub fn leave(&mut self, start: usize) {
        self.pieces.remove(&start);
    }

    /// Whether a byte is one of a piece that was given back.
    #[inline]
    pub fn has(&self, address: usize) -> bool {
        (self.first..self.end).contains(&address)
            && self.pieces.range(..=address).next_back().is_some_and(|(_, &end)| address < end)
    }
}
