//! The waits-for graph, partitioned by transaction slot (*trireme* 3.2).
//!
//! State: a row of bits for every slot, the slots that it waits for. A row has one writer at a time, the one that has the
//! record that the slot waits for, and any reader: single-writer atomics.
//!
//! A request that must wait publishes its row, then a sequentially consistent fence, then searches the rows that it
//! reaches for itself. Nobody else adds to a row: it names all who stand in the way from the beginning, and loses those who
//! do not any more. A slot waits for at most one request at a time. So every edge of a cycle was published by the slot that
//! it leaves from, before that slot's fence. Fences are in one order: the member whose fence is the last of the cycle's
//! members' searches after all of the others' publications, and sees the whole cycle. Without the fence two may search first,
//! miss each other, and wait for ever.
//!
//! The other way, a row is kept up to date by those who change what it says: who gives a record back strikes itself out
//! of the rows of those who wait for it, and who grants a request clears its row, before the slot runs again. So a search
//! finds cycles that are there, or were a moment ago, however long it takes until a slot that was granted something is
//! run by its processor.
//!
//! Where releases travel, a slot's next transaction may wait before the last one's releases have arrived, and those who wait
//! for the last one do not wait for the next. There edges are *numbered*: a slot numbers its attempts, a row says by which
//! attempt it was published, and an edge to which attempt of the other slot it points. It leads on only to a row of that
//! attempt. As both numbers of a true edge are those of attempts that hold or wait for something, no true edge is lost.
//!
//! This file uses the machine only through `crate::facade::atomic`, so that its test compiles it against `loom`.

use crate::facade::atomic::{AtomicU32, AtomicU64, Ordering, fence};

const BITS: usize = u64::BITS as usize;
/// The most slots that a graph can have.
pub const MOST_SLOTS: usize = 1024;
const MOST_WORDS: usize = MOST_SLOTS / BITS;
const LINE_WORDS: usize = 8;
const LINE_NUMBERS: usize = 16;

/// A cache line of a row, so that no two rows share one.
#[repr(align(64))]
#[derive(Default)]
struct Line([AtomicU64; LINE_WORDS]);

/// A cache line of numbers: where it lies in memory, which no simulated run may depend on, does not decide what shares it.
#[repr(align(64))]
#[derive(Default)]
struct Numbers([AtomicU32; LINE_NUMBERS]);

/// A set of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotSet {
    words: [u64; MOST_WORDS],
}

impl SlotSet {
    /// No slot.
    pub const EMPTY: SlotSet = SlotSet { words: [0; MOST_WORDS] };

    /// Adds a slot; whether it was missing.
    pub fn insert(&mut self, slot: u32) -> bool {
        let (word, bit) = (slot as usize / BITS, 1 << (slot as usize % BITS));
        let missing = self.words[word] & bit == 0;
        self.words[word] |= bit;
        missing
    }

    /// Whether a slot is in it.
    pub fn contains(&self, slot: u32) -> bool {
        self.words[slot as usize / BITS] & 1 << (slot as usize % BITS) != 0
    }

    /// Takes one out.
    pub fn remove_any(&mut self) -> Option<u32> {
        let (index, word) = self.words.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
        let bit = word.trailing_zeros();
        *word &= *word - 1;
        Some((index * BITS) as u32 + bit)
    }
}

/// The graph.
pub struct WaitsFor {
    lines: Box<[Line]>,
    /// Words of a row that are in use.
    words: usize,
    /// Lines of a row.
    stride: usize,
    /// A square, if edges are numbered: in the row and column of a slot the attempt that published the row, elsewhere the
    /// attempt of the column's slot to which the row's edge points.
    numbers: Box<[Numbers]>,
    /// Lines of a row of the square.
    lines_of_numbers: usize,
}

impl WaitsFor {
    /// A graph of `slots` slots, none of which waits, with numbered edges or not.
    pub fn new(slots: usize, numbered: bool) -> Self {
        assert!(slots <= MOST_SLOTS, "{slots} transaction slots; at most {MOST_SLOTS}");
        let words = slots.div_ceil(BITS);
        let stride = words.div_ceil(LINE_WORDS);
        let lines = (0..slots * stride).map(|_| Line::default()).collect();
        let lines_of_numbers = slots.div_ceil(LINE_NUMBERS);
        let numbers = if numbered { slots * lines_of_numbers } else { 0 };
        let numbers = (0..numbers).map(|_| Numbers::default()).collect();
        WaitsFor { lines, words, stride, numbers, lines_of_numbers }
    }

    fn row(&self, slot: u32) -> impl Iterator<Item = &AtomicU64> {
        let start = slot as usize * self.stride;
        self.lines[start..start + self.stride].iter().flat_map(|line| &line.0).take(self.words)
    }

    /// The number in a row and column, if edges are numbered.
    fn number(&self, row: u32, column: u32) -> Option<&AtomicU32> {
        let line = row as usize * self.lines_of_numbers + column as usize / LINE_NUMBERS;
        self.numbers.get(line).map(|line| &line.0[column as usize % LINE_NUMBERS])
    }

    fn set_number(&self, row: u32, column: u32, attempt: u32) {
        if let Some(number) = self.number(row, column) {
            // Relaxed: as the rows, see `publish`.
            number.store(attempt, Ordering::Relaxed);
        }
    }

    /// Says to which attempt of `other` the edge from `slot` points that is published next.
    pub fn point(&self, slot: u32, other: u32, attempt: u32) {
        self.set_number(slot, other, attempt);
    }

    /// Says that `slot`, in this attempt, waits for `others`, to each of which an edge points.
    pub fn publish(&self, slot: u32, attempt: u32, others: &SlotSet) {
        self.set_number(slot, slot, attempt);
        for (word, value) in self.row(slot).zip(others.words) {
            // Relaxed: ordered before the search by `order`, as are the other slots' rows before theirs.
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Says that `slot` does not wait for `other` any more.
    pub fn strike_out(&self, slot: u32, other: u32) {
        let word = self.row(slot).nth(other as usize / BITS).expect("a slot of the graph");
        // Relaxed: a row that is out of date costs an abort at worst; only one writes it at a time.
        word.store(word.load(Ordering::Relaxed) & !(1 << (other as usize % BITS)), Ordering::Relaxed);
    }

    /// Says that `slot` waits for nobody.
    pub fn clear(&self, slot: u32) {
        for word in self.row(slot) {
            // Relaxed: a row that is out of date costs an abort at worst.
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Whom `slot` waits for.
    pub fn of(&self, slot: u32) -> SlotSet {
        let mut others = SlotSet::EMPTY;
        self.add_to(&mut others, slot);
        others
    }

    /// Adds whom `slot` waits for to a set.
    pub fn add_to(&self, set: &mut SlotSet, slot: u32) {
        for (word, published) in set.words.iter_mut().zip(self.row(slot)) {
            // Relaxed: see `publish`.
            *word |= published.load(Ordering::Relaxed);
        }
    }

    /// Between [`WaitsFor::publish`] and [`WaitsFor::search`].
    pub fn order(&self) {
        // SeqCst: pairs with itself in the other members of a cycle; see the top of the file.
        fence(Ordering::SeqCst);
    }

    /// Whether `slot` waits, through others, for itself, by two searches. A search reads one row after the other, and what it has read may
    /// be over when it comes to the next. A cycle that is there is there the second time, too, unless somebody else was its victim.
    pub fn has_cycle(&self, slot: u32) -> bool {
        self.search(slot) && self.search(slot)
    }

    /// Whether `slot` waits, through others, for itself. Visits every reachable row once.
    pub fn search(&self, slot: u32) -> bool {
        let (mut seen, mut ahead) = (SlotSet::EMPTY, SlotSet::EMPTY);
        ahead.insert(slot);
        while let Some(next) = ahead.remove_any() {
            for (index, word) in self.row(next).enumerate() {
                // Relaxed: see `publish`. Of long queues most were seen in other rows.
                let mut word = word.load(Ordering::Relaxed) & !seen.words[index];
                while word != 0 {
                    let waited_for = (index * BITS) as u32 + word.trailing_zeros();
                    word &= word - 1;
                    if !self.leads_on(next, waited_for) {
                        continue;
                    }
                    if waited_for == slot {
                        return true;
                    }
                    seen.insert(waited_for);
                    ahead.insert(waited_for);
                }
            }
        }
        false
    }

    /// Whether the edge from `slot` to `other` points to the attempt that published the other's row.
    #[inline(always)]
    fn leads_on(&self, slot: u32, other: u32) -> bool {
        let numbers = self.number(slot, other).zip(self.number(other, other));
        // Relaxed: see `publish`.
        numbers.is_none_or(|(to, of)| to.load(Ordering::Relaxed) == of.load(Ordering::Relaxed))
    }
}
