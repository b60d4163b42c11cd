//! What a role may do: operations by the keys of its round, each noted with what it answered.
//!
//! A row holds one number eight times over, so that a row read while it is written shows.

use super::KEYS;
use contract::{Abort, Insertion, Key, Presence, Span, TableId, Transaction};
use serde::Serialize;
use std::fmt;

pub(super) const ROWS: TableId = TableId(0);
pub(super) const ROW_BYTES: usize = 64;
const WORDS: usize = ROW_BYTES / 8;

/// Stands for the number of a key that has no row.
pub const MISSING: i64 = i64::MIN;
/// Stands for the number of a row whose words differ.
const TORN: i64 = i64::MIN + 1;
/// Noted by a role that went on after an abort.
pub(super) const WENT_ON: i64 = i64::MIN + 2;

const MOST_SEEN: usize = 12;

/// The answers that a procedure got, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seen {
    answers: [i64; MOST_SEEN],
    count: u8,
}

impl Seen {
    fn note(&mut self, answer: i64) {
        let position = usize::from(self.count);
        assert!(position < MOST_SEEN, "a role gets at most {MOST_SEEN} answers");
        self.answers[position] = answer;
        self.count += 1;
    }

    /// The answers: a number for what was read, 1 or 0 for whether a row was there or an insert succeeded.
    pub fn answers(&self) -> &[i64] {
        &self.answers[..usize::from(self.count)]
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, answer) in self.answers().iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(f, "{separator}{}", Answer(*answer))?;
        }
        Ok(())
    }
}

impl Serialize for Seen {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A number in words.
pub(super) struct Answer(pub i64);

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            MISSING => f.write_str("missing"),
            TORN => f.write_str("a torn row"),
            WENT_ON => f.write_str("went on after an abort"),
            number => write!(f, "{number}"),
        }
    }
}

/// One run of a role: a transaction, the keys of its round, and what it was answered.
pub struct Play<'a> {
    txn: &'a mut dyn Transaction,
    first_key: u64,
    seen: Seen,
}

impl<'a> Play<'a> {
    pub(super) fn new(txn: &'a mut dyn Transaction, first_key: u64) -> Self {
        Play { txn, first_key, seen: Seen::default() }
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen
    }

    fn key(&self, key: usize) -> Key {
        assert!(key < KEYS, "a round has {KEYS} keys");
        Key(self.first_key + key as u64)
    }

    /// Notes an answer that is none of the operations'.
    pub fn note(&mut self, answer: i64) {
        self.seen.note(answer);
    }

    /// The number at a key; [`MISSING`] if it has no row.
    pub fn read(&mut self, key: usize) -> Result<i64, Abort> {
        let mut number = MISSING;
        let key = self.key(key);
        let presence =
            self.txn.read(ROWS, key, Span::whole(ROW_BYTES), &mut |row| number = number_of(row))?;
        let answer = if presence == Presence::Present { number } else { MISSING };
        self.seen.note(answer);
        Ok(answer)
    }

    /// Adds to the number at a key, reading it. Answers what it was before.
    pub fn update(&mut self, key: usize, by: i64) -> Result<i64, Abort> {
        let mut before = MISSING;
        let key = self.key(key);
        let presence = self.txn.update(ROWS, key, Span::whole(ROW_BYTES), &mut |row| {
            before = number_of(row);
            row.copy_from_slice(&row_of(before.wrapping_add(by)));
        })?;
        let answer = if presence == Presence::Present { before } else { MISSING };
        self.seen.note(answer);
        Ok(answer)
    }

    /// Replaces the number at a key, without reading it. Answers whether there was a row.
    pub fn write(&mut self, key: usize, number: i64) -> Result<bool, Abort> {
        let key = self.key(key);
        let presence = self.txn.write(ROWS, key, 0, &row_of(number))?;
        Ok(self.was(presence == Presence::Present))
    }

    /// Adds to the number at a key without reading it, once nothing can come between.
    pub fn add(&mut self, key: usize, by: i64) -> Result<bool, Abort> {
        let key = self.key(key);
        let presence = self.txn.merge(ROWS, key, Span::whole(ROW_BYTES), add_words, &by.to_le_bytes())?;
        Ok(self.was(presence == Presence::Present))
    }

    /// Puts a row. Answers whether it could.
    pub fn insert(&mut self, key: usize, number: i64) -> Result<bool, Abort> {
        let key = self.key(key);
        let insertion = self.txn.insert(ROWS, key, &row_of(number))?;
        Ok(self.was(insertion == Insertion::Inserted))
    }

    /// Removes a row. Answers whether there was one.
    pub fn delete(&mut self, key: usize) -> Result<bool, Abort> {
        let key = self.key(key);
        let presence = self.txn.delete(ROWS, key)?;
        Ok(self.was(presence == Presence::Present))
    }

    fn was(&mut self, so: bool) -> bool {
        self.seen.note(i64::from(so));
        so
    }
}

/// A row of this number.
pub(super) fn row_of(number: i64) -> [u8; ROW_BYTES] {
    let mut row = [0; ROW_BYTES];
    row.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&number.to_le_bytes()));
    row
}

/// The number of a row.
pub(super) fn number_of(row: &[u8]) -> i64 {
    let mut words = row.chunks_exact(8).map(|word| i64::from_le_bytes(word.try_into().expect("eight bytes")));
    let first = words.next().expect("a row has words");
    if words.all(|word| word == first) { first } else { TORN }
}

fn add_words(current: &mut [u8], argument: &mut [u8]) {
    let by = i64::from_le_bytes((&*argument).try_into().expect("eight bytes"));
    assert_eq!(current.len(), WORDS * 8);
    current.copy_from_slice(&row_of(number_of(current).wrapping_add(by)));
}
