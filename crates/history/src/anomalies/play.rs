//! What a role may do: operations by the keys of its round, each noted with what it answered.
//!
//! A row holds one number eight times over, so that a row read while it is written shows.

use contract::{Abort, Direction, Insertion, Key, Presence, Scan, Span, TableId, Transaction};
use serde::Serialize;
use std::fmt;
use std::ops::{Bound, RangeInclusive};

pub(super) const ROWS: TableId = TableId(0);
pub(super) const ROW_BYTES: usize = 64;
const WORDS: usize = ROW_BYTES / 8;

/// Stands for the number of a key that has no row.
pub const MISSING: i64 = i64::MIN;
/// Stands for the number of a row whose words differ.
const TORN: i64 = i64::MIN + 1;
/// Noted by a role that went on after an abort.
pub(super) const WENT_ON: i64 = i64::MIN + 2;
/// Stands for a row of another round, which a scan showed.
const FOREIGN: i64 = i64::MIN + 3;

/// A row that a scan showed is one answer: the position of its key, from 1, above the number, which is small.
const KEY_SHIFT: u32 = 32;
const MOST_SEEN: usize = 24;

/// The answers that a procedure got, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seen {
    answers: [i64; MOST_SEEN],
    count: u8,
}

impl Seen {
    /// These answers; `None`: they are more than a role gets.
    pub(super) fn of(answers: &[i64]) -> Option<Seen> {
        let mut seen = Seen { count: answers.len() as u8, ..Seen::default() };
        seen.answers.get_mut(..answers.len())?.copy_from_slice(answers);
        Some(seen)
    }

    fn note(&mut self, answer: i64) {
        let position = usize::from(self.count);
        assert!(position < MOST_SEEN, "a role gets at most {MOST_SEEN} answers");
        self.answers[position] = answer;
        self.count += 1;
    }

    /// The answers: a number for what was read, 1 or 0 for whether a row was there or an insert succeeded; of a scan how
    /// many rows there were, then the rows.
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
            FOREIGN => f.write_str("a row of another round"),
            row if row >= 1 << KEY_SHIFT => {
                let (key, number) = ((row >> KEY_SHIFT) - 1, row as i32);
                write!(f, "{} = {number}", KeyName(key as usize))
            }
            number => write!(f, "{number}"),
        }
    }
}

/// A key of a round in words.
pub(super) struct KeyName(pub usize);

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ["x", "y", "n", "m"].get(self.0) {
            Some(name) => f.write_str(name),
            None => write!(f, "key {}", self.0),
        }
    }
}

/// One run of a role: a transaction, the keys of its round, and what it was answered.
pub struct Play<'a> {
    txn: &'a mut dyn Transaction,
    first_key: u64,
    keys: usize,
    seen: Seen,
}

impl<'a> Play<'a> {
    pub(super) fn new(txn: &'a mut dyn Transaction, first_key: u64, keys: usize) -> Self {
        Play { txn, first_key, keys, seen: Seen::default() }
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen
    }

    fn key(&self, key: usize) -> Key {
        assert!(key < self.keys, "a round has {} keys", self.keys);
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

    /// Puts a row at each of several keys. Notes how many it could.
    pub fn insert_all(&mut self, keys: RangeInclusive<usize>, number: i64) -> Result<(), Abort> {
        let mut inserted = 0;
        for key in keys {
            let insertion = self.txn.insert(ROWS, self.key(key), &row_of(number))?;
            inserted += i64::from(insertion == Insertion::Inserted);
        }
        self.seen.note(inserted);
        Ok(())
    }

    /// Scans some keys, forward. Answers how many have rows.
    pub fn scan(&mut self, keys: RangeInclusive<usize>) -> Result<usize, Abort> {
        let rows = self.rows(keys, Direction::Forward, usize::MAX)?;
        Ok(self.shown(&rows))
    }

    /// Scans some keys, backward, until so many rows were there.
    pub fn scan_back(&mut self, keys: RangeInclusive<usize>, limit: usize) -> Result<usize, Abort> {
        let rows = self.rows(keys, Direction::Backward, limit)?;
        Ok(self.shown(&rows))
    }

    /// Scans some keys, forward, and notes only how many have rows and the sum of their numbers.
    pub fn count(&mut self, keys: RangeInclusive<usize>) -> Result<usize, Abort> {
        let rows = self.rows(keys, Direction::Forward, usize::MAX)?;
        self.seen.note(rows.len() as i64);
        self.seen.note(rows.iter().fold(0, |sum: i64, (_, number)| sum.wrapping_add(*number)));
        Ok(rows.len())
    }

    fn shown(&mut self, rows: &[(u64, i64)]) -> usize {
        self.seen.note(rows.len() as i64);
        for &(key, number) in rows {
            let position = key.wrapping_sub(self.first_key);
            let answer = match number {
                TORN => TORN,
                _ if position >= self.keys as u64 => FOREIGN,
                _ => (position as i64 + 1) << KEY_SHIFT | i64::from(number as u32),
            };
            self.seen.note(answer);
        }
        rows.len()
    }

    fn rows(
        &mut self,
        keys: RangeInclusive<usize>,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(u64, i64)>, Abort> {
        let (from, to) = (self.key(*keys.start()).bytes(), self.key(*keys.end()).bytes());
        let scan = Scan {
            table: ROWS,
            from: Bound::Included(&from),
            to: Bound::Included(&to),
            direction,
            limit,
            span: Span::whole(ROW_BYTES),
            within: None,
        };
        let mut rows = Vec::new();
        let _ = self.txn.scan(&scan, &mut |key, row| rows.push((Key::prefix_of(key).0, number_of(row))))?;
        Ok(rows)
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
