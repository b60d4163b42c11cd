//! A snapshot: what the database held at one time, to be read for as long as one likes.

use crate::error::Error;
use crate::key::{self, Key};
use crate::pool::{Lent, Seat};
use crate::range::Range;
use crate::reading::{self, Reader, Rows};
use crate::registry::Registry;
use crate::table::{OpenIndex, OpenTable};
use crate::value::Value;
use contract::{Presence, TableId, Transaction};
use std::ops::RangeBounds;

/// What the database held at one time in the serial order, some epochs ago; what [`Database::snapshot`](crate::Database::snapshot) answers.
///
/// Reading it holds nothing, waits for nobody, and is never aborted, however long it takes; and nobody waits, or is aborted, because
/// of it. What was committed a moment before it was asked for may not be in it yet, this thread's own commits among that.
///
/// While there is one, no memory is reused of rows that were changed since, and tables are neither made nor dropped.
pub struct Snapshot<'db> {
    database: u64,
    seat: Seat<'db>,
}

impl<'db> Snapshot<'db> {
    pub(crate) fn begin(database: u64, mut seat: Seat<'db>) -> Result<Snapshot<'db>, Error> {
        if !seat.slot.has_snapshots() {
            return Err(Error::NoSnapshots);
        }
        seat.slot.begin_snapshot();
        Ok(Snapshot { database, seat })
    }

    /// The value of a key.
    pub fn get<K: Key, V: Value>(
        &mut self,
        table: OpenTable<K, V>,
        key: K::Given<'_>,
    ) -> Result<Option<V::Owned>, Error> {
        reading::get(self, table, key)
    }

    /// What `see` makes of the bytes of a key's value.
    pub fn get_with<K: Key, V: Value, R>(
        &mut self,
        table: OpenTable<K, V>,
        key: K::Given<'_>,
        see: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, Error> {
        reading::get_with(self, table, key, see)
    }

    /// Whether the key has a value.
    pub fn contains<K: Key, V: Value>(
        &mut self,
        table: OpenTable<K, V>,
        key: K::Given<'_>,
    ) -> Result<bool, Error> {
        Ok(reading::get_with(self, table, key, |_| ())?.is_some())
    }

    /// The keys and values in a range of keys, in their order; an iterator that goes from both ends.
    pub fn range<'s, 'k, K: Key, V: Value>(
        &'s mut self,
        table: OpenTable<K, V>,
        keys: impl RangeBounds<K::Given<'k>>,
    ) -> Result<Range<'s, K, V>, Error> {
        Range::new(self, table, keys)
    }

    /// Shows the keys and the bytes of the values in a range of keys, in their order, `limit` of them at most. Answers how many.
    pub fn scan_with<'k, K: Key, V: Value>(
        &mut self,
        table: OpenTable<K, V>,
        keys: impl RangeBounds<K::Given<'k>>,
        limit: usize,
        see: impl FnMut(K, &[u8]),
    ) -> Result<usize, Error> {
        reading::scan_with(self, table, keys, limit, see)
    }

    /// The keys and values that an index has under a key, in the order of their keys in the table.
    pub fn find<K: Key, V: Value, I: Key>(
        &mut self,
        index: OpenIndex<K, V, I>,
        key: I::Given<'_>,
    ) -> Result<Vec<(K, V::Owned)>, Error> {
        self.find_between(index, key..=key, usize::MAX)
    }

    /// The keys and values that an index has in a range of keys, in the order of the index, `limit` of them at most.
    pub fn find_between<'k, K: Key, V: Value, I: Key>(
        &mut self,
        index: OpenIndex<K, V, I>,
        keys: impl RangeBounds<I::Given<'k>>,
        limit: usize,
    ) -> Result<Vec<(K, V::Owned)>, Error> {
        reading::find_between(self, index, keys, limit)
    }

    /// What an operation of the engine answers. With it there is room for a key's bytes.
    fn ask<T>(
        &mut self,
        mut ask: impl FnMut(&mut dyn Transaction, &mut Vec<u8>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Lent { slot, key, .. } = &mut *self.seat;
        let mut answer = None;
        slot.read_snapshot(&mut |transaction| answer = Some(ask(transaction, key)));
        answer.expect("it was asked")
    }
}

impl Reader for Snapshot<'_> {
    fn database(&self) -> u64 {
        self.database
    }

    fn registry(&self) -> &Registry {
        &self.seat.registry
    }

    fn look<K: Key>(
        &mut self,
        table: TableId,
        key: K::Given<'_>,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Error> {
        self.ask(|transaction, buffer| {
            let key = key::named::<K>(transaction, table, key, buffer)?;
            Ok(transaction.read_whole(table, key, see)?)
        })
    }

    fn scan(
        &mut self,
        table: TableId,
        rows: Rows<'_>,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<usize, Error> {
        self.ask(|transaction, _| Ok(transaction.scan(&rows.of(table), see)?))
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // Not `end_snapshot`: who looked may have panicked, and left the slot in an epoch.
        self.seat.slot.abort();
    }
}
