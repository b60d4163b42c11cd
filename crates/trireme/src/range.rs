//! Going through a range of keys from both ends.

use crate::error::Error;
use crate::key::{self, Key};
use crate::reading::{self, KeyBound, Reader, Rows};
use crate::table::OpenTable;
use crate::value::Value;
use contract::Direction;
use std::collections::VecDeque;
use std::ops::{Bound, RangeBounds};

/// Keys and values in the order of the keys, from both ends: what [`Transaction::range`](crate::Transaction::range)
/// and [`Snapshot::range`](crate::Snapshot::range) answer.
pub struct Range<'r, K: Key, V: Value> {
    reader: &'r mut dyn Reader,
    table: OpenTable<K, V>,
    from: KeyBound,
    to: KeyBound,
    /// Read, and not yet answered, in the order in which they were read; from either end.
    front: VecDeque<Result<(K, V::Owned), Error>>,
    back: VecDeque<Result<(K, V::Owned), Error>>,
    /// Rows to be read at once the next time.
    at_once: usize,
    /// Nothing is between `from` and `to` any more.
    is_read: bool,
}

impl<'r, K: Key, V: Value> Range<'r, K, V> {
    /// Rows that are read at once at most.
    const MOST_AT_ONCE: usize = 256;

    pub(crate) fn new<'k>(
        reader: &'r mut dyn Reader,
        table: OpenTable<K, V>,
        keys: impl RangeBounds<K::Given<'k>>,
    ) -> Result<Self, Error> {
        let (from, to) = reading::bounds(reader, table, keys)?;
        let (front, back) = Default::default();
        Ok(Range { reader, table, from, to, front, back, at_once: 8, is_read: false })
    }

    /// Reads on from one end, of which nothing is left.
    fn read(&mut self, direction: Direction) {
        let (limit, table) = (self.at_once, self.table.id);
        self.at_once = (2 * limit).min(Self::MOST_AT_ONCE);
        let Range { reader, from, to, front, back, .. } = self;
        let rows = if direction == Direction::Forward { front } else { back };
        let (mut last, mut are_readable) = (Vec::new(), true);
        let wanted = Rows { from, to, direction, limit, row_bytes: V::ROW.span_bytes() };
        let scanned = reader.admit_id(table).and_then(|()| {
            reader.scan(table, wanted, &mut |key, row| {
                last.clear();
                last.extend_from_slice(key);
                match key::decoded::<K>(key).zip(V::read(row)) {
                    Some(read) => rows.push_back(Ok(read)),
                    None => are_readable = false,
                }
            })
        });
        let read = match scanned {
            Ok(_) if !are_readable => Err(reader.unreadable(table)),
            scanned => scanned,
        };
        match read {
            Ok(count) => self.is_read = count < limit,
            Err(error) => {
                rows.clear();
                rows.push_back(Err(error));
                self.is_read = true;
            }
        }
        let end = if direction == Direction::Forward { &mut self.from } else { &mut self.to };
        *end = Bound::Excluded(last);
    }
}

impl<K: Key, V: Value> Iterator for Range<'_, K, V> {
    type Item = Result<(K, V::Owned), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.front.is_empty() && !self.is_read {
            self.read(Direction::Forward);
        }
        self.front.pop_front().or_else(|| self.back.pop_back())
    }
}

impl<K: Key, V: Value> DoubleEndedIterator for Range<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.back.is_empty() && !self.is_read {
            self.read(Direction::Backward);
        }
        self.back.pop_front().or_else(|| self.front.pop_back())
    }
}
