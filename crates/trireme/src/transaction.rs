//! A transaction as a program writes it: typed operations over the engine's, which keep the indexes, too.

use crate::database::Database;
use crate::error::Error;
use crate::key::{self, Key};
use crate::pool::{Lent, Seat};
use crate::registry::{Entry, KeptIndex, Registered, Registry};
use crate::table::{OpenIndex, OpenTable};
use crate::ticket::Ticket;
use crate::value::{Row, Value};
use contract::{AbortReason, Direction, Insertion, Presence, Scan, Span, TableId};
use std::borrow::Borrow;
use std::collections::VecDeque;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// An end of a range of keys, as the engine has them.
type KeyBound = Bound<Vec<u8>>;

/// A transaction that runs: serializable with all others.
///
/// It is undone when it is dropped, unless [`Transaction::commit`] was called. Once an operation has answered an [`Error`] that is
/// [retryable](Error::is_retryable), the transaction is poisoned: every further operation answers it again, and it cannot commit.
///
/// A transaction that stays open keeps what others commit from becoming durable, and memory from being reused: do not wait for
/// people or for networks in it.
pub struct Transaction<'db> {
    database: &'db Database,
    seat: Seat<'db>,
    is_open: bool,
    has_written: bool,
    /// Why it can only be undone.
    poison: Option<Error>,
    /// Rows and missing keys that it may still touch, at least.
    left: usize,
}

impl<'db> Transaction<'db> {
    pub(crate) fn new(database: &'db Database, seat: Seat<'db>) -> Self {
        Transaction { database, seat, is_open: false, has_written: false, poison: None, left: 0 }
    }

    /// Begins it, for the first time or again.
    pub(crate) fn begin(&mut self, is_first: bool) {
        self.seat.slot.begin(is_first);
        (self.is_open, self.has_written, self.poison) = (true, false, None);
        self.left = self.seat.slot.most_records();
    }

    /// Whether it has written, or tried to.
    pub(crate) fn has_written(&self) -> bool {
        self.has_written
    }

    /// Why it has to be run again, if so.
    pub(crate) fn aborted(&self) -> Option<AbortReason> {
        match self.poison {
            Some(Error::Aborted(reason)) => Some(reason),
            _ => None,
        }
    }

    /// Lets time pass after so many attempts.
    pub(crate) fn back_off(&mut self, attempts: u32) {
        self.seat.slot.retry(attempts);
    }

    /// It will not begin again.
    pub(crate) fn give_up(&mut self) {
        self.seat.slot.give_up();
    }

    /// Undoes it.
    pub(crate) fn undo(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.seat.slot.abort();
            self.seat.counts.rolled_back(self.aborted());
        }
    }

    /// Undoes it because of an error that it has answered: which counts only if what it has seen was there at one time. Otherwise it is
    /// aborted.
    pub(crate) fn refuse(&mut self) {
        if self.is_open && self.aborted().is_none() {
            self.is_open = false;
            let seen = self.seat.slot.roll_back();
            self.poison = seen.err().map(|abort| abort.into());
            self.seat.counts.rolled_back(self.aborted());
        }
    }

    /// Commits it, or undoes it; the epoch with which it is durable, if the database is logged.
    pub(crate) fn finish(&mut self) -> Result<Option<u64>, Error> {
        if let Some(poison) = &self.poison {
            let poison = poison.clone();
            self.refuse();
            self.undo();
            return Err(self.aborted().map_or(poison, Error::Aborted));
        }
        if self.has_written
            && let Some(why) = self.database.log_failure()
        {
            self.undo();
            return Err(Error::LogStopped { why });
        }
        self.is_open = false;
        match self.seat.slot.commit() {
            Ok(committed) => {
                self.seat.counts.committed();
                Ok(committed.epoch)
            }
            Err(contract::Abort(reason)) => {
                self.poison = Some(Error::Aborted(reason));
                self.seat.counts.rolled_back(Some(reason));
                Err(Error::Aborted(reason))
            }
        }
    }

    /// Commits it: all that it wrote, others see from now on. The ticket says when that is durable.
    pub fn commit(mut self) -> Result<Ticket, Error> {
        let epoch = self.finish()?;
        Ok(self.database.ticket(epoch))
    }

    /// Undoes it, as dropping it does.
    pub fn roll_back(self) {}

    /// The value of a key.
    pub fn get<K: Key, V: Value>(
        &mut self,
        table: OpenTable<K, V>,
        key: K::Given<'_>,
    ) -> Result<Option<V::Owned>, Error> {
        let read = self.read(table, key, V::read)?;
        read.map(|value| value.ok_or_else(|| self.unreadable(table.id))).transpose()
    }

    /// What `see` makes of the bytes of a key's value, which are not copied for it if the protocol shows rows in place.
    ///
    /// `see` may be shown a value that another transaction is about to change; then this one is run again.
    pub fn get_with<K: Key, V: Value, R>(
        &mut self,
        table: OpenTable<K, V>,
        key: K::Given<'_>,
        see: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, Error> {
        self.read(table, key, see)
    }

    /// Whether the key has a value.
    pub fn contains<K: Key, V: Value>(
        &mut self,
        table: OpenTable<K, V>,
        key: K::Given<'_>,
    ) -> Result<bool, Error> {
        Ok(self.read(table, key, |_| ())?.is_some())
    }

    fn read<K: Key, V: Value, R>(
        &mut self,
        table: OpenTable<K, V>,
        key: K::Given<'_>,
        see: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, Error> {
        self.admit(table)?;
        let key = self.key::<K>(table.id, key)?;
        let (mut see, mut seen) = (Some(see), None);
        let read = self.seat.slot.transaction().read_whole(table.id, key, &mut |row| {
            seen = see.take().map(|see| see(row));
        });
        let _: Presence = self.lives(read)?;
        Ok(seen)
    }

    /// Adds a value under a key that has none; [`Error::Exists`] if it has one.
    pub fn insert<K: Key, V: Value>(
        &mut self,
        table: OpenTable<K, V>,
        key: K::Given<'_>,
        value: &V::Given,
    ) -> Result<(), Error> {
        self.admit_write(table, true)?;
        V::with_bytes(value, |row| match self.insert_row::<K>(table.id, key, row)? {
            Insertion::Inserted => Ok(()),
            Insertion::Exists => Err(Error::Exists { table: self.name(table.id) }),
        })?
    }

    /// Sets the value of a key, whether or not it has one.
    pub fn upsert<K: Key, V: Value>(
        &mut self,
        table: OpenTable<K, V>,
        key: K::Given<'_>,
        value: &V::Given,
    ) -> Result<(), Error> {
        self.admit_write(table, true)?;
        V::with_bytes(value, |row| {
            if !self.replace_row::<K>(table.id, key, row)? {
                let _: Insertion = self.insert_row::<K>(table.id, key, row)?;
            }
            Ok(())
        })?
    }

    /// Changes the value of a key; what `change` answers, or `None` if the key has none.
    ///
    /// `change` may be given a value that another transaction is about to change; then this one is run again.
    pub fn update<K: Key, V: Value, R>(
        &mut self,
        table: OpenTable<K, V>,
        key: K::Given<'_>,
        change: impl FnOnce(&mut V::Owned) -> R,
    ) -> Result<Option<R>, Error> {
        self.admit_write(table, V::ROW == Row::Varying)?;
        match V::ROW {
            Row::Fixed(bytes) if self.indexes(table.id).is_empty() => {
                self.update_in_place::<K, V, R>(table.id, key, bytes, change)
            }
            Row::Fixed(_) | Row::Varying => {
                let Some(mut value) = self.get(table, key)? else { return Ok(None) };
                let changed = change(&mut value);
                V::with_bytes(value.borrow(), |row| self.replace_row::<K>(table.id, key, row))??;
                Ok(Some(changed))
            }
        }
    }

    /// As one operation of the engine, which asks for the row once.
    fn update_in_place<K: Key, V: Value, R>(
        &mut self,
        table: TableId,
        key: K::Given<'_>,
        row_bytes: usize,
        change: impl FnOnce(&mut V::Owned) -> R,
    ) -> Result<Option<R>, Error> {
        let key = self.key::<K>(table, key)?;
        let (mut change, mut changed) = (Some(change), None);
        let span = Span::whole(row_bytes);
        let updated = self.seat.slot.transaction().update(table, key, span, &mut |row| {
            let Some(change) = change.take() else { return };
            let value = V::read(row).map(|mut value| {
                let changed = change(&mut value);
                V::with_bytes(value.borrow(), |bytes| row.copy_from_slice(bytes)).map(|()| changed)
            });
            changed = Some(value);
        });
        let _: Presence = self.lives(updated)?;
        match changed {
            None => Ok(None),
            Some(Some(changed)) => changed.map(Some),
            Some(None) => Err(self.unreadable(table)),
        }
    }

    fn registry(&self) -> &Registry {
        &self.seat.registry
    }

    fn indexes(&self, table: TableId) -> &[KeptIndex] {
        self.registry().get(table).map_or(&[], |table| &table.indexes)
    }

    /// Removes a key and its value; whether there was one.
    pub fn remove<K: Key, V: Value>(
        &mut self,
        table: OpenTable<K, V>,
        key: K::Given<'_>,
    ) -> Result<bool, Error> {
        self.admit_write(table, false)?;
        let number = self.key::<K>(table.id, key)?;
        if !self.indexes(table.id).is_empty() {
            let registry = Arc::clone(&self.seat.registry);
            let indexes = &registry.get(table.id).expect("admitted").indexes;
            let mut row = std::mem::take(&mut self.seat.old);
            row.clear();
            let read = self.seat.slot.transaction().read_whole(table.id, number, &mut |bytes| {
                row.extend_from_slice(bytes);
            });
            let presence = self.lives(read)?;
            if presence == Presence::Present {
                let key = key::bytes::<K>(key)?;
                for index in indexes {
                    if let Some(entry) = self.entry(table.id, index, &key, &row)? {
                        self.remove_entry(index, &entry)?;
                    }
                }
            }
            self.seat.old = row;
        }
        let number = self.key::<K>(table.id, key)?;
        let deleted = self.seat.slot.transaction().delete(table.id, number);
        Ok(self.lives(deleted)? == Presence::Present)
    }

    /// The keys and values in a range of keys, in their order; an iterator that goes from both ends.
    ///
    /// Rows are read as they are asked for, some at a time. What was read stays as it is until the transaction ends; and no key comes to
    /// or leaves the part that was read.
    pub fn range<'tx, 'k, K: Key, V: Value>(
        &'tx mut self,
        table: OpenTable<K, V>,
        keys: impl RangeBounds<K::Given<'k>>,
    ) -> Result<Range<'tx, 'db, K, V>, Error> {
        let (from, to) = self.bounds(table, keys)?;
        Ok(Range::new(self, table, from, to))
    }

    /// Shows the keys and the bytes of the values in a range of keys, in their order, `limit` of them at most. Answers how many. As fast
    /// as rows can be gone through: all at once, and nothing is copied for it if the protocol shows rows in place.
    ///
    /// `see` may be shown values that another transaction is about to change; then this one is run again.
    pub fn scan_with<'k, K: Key, V: Value>(
        &mut self,
        table: OpenTable<K, V>,
        keys: impl RangeBounds<K::Given<'k>>,
        limit: usize,
        mut see: impl FnMut(K, &[u8]),
    ) -> Result<usize, Error> {
        let (from, to) = self.bounds(table, keys)?;
        let row_bytes = V::ROW.span_bytes();
        let mut are_readable = true;
        let count =
            self.scan(table.id, &from, &to, Direction::Forward, limit, row_bytes, &mut |key, row| {
                match key::decoded::<K>(key) {
                    Some(key) => see(key, row),
                    None => are_readable = false,
                }
            })?;
        if are_readable { Ok(count) } else { Err(self.unreadable(table.id)) }
    }

    /// The ends of a range of keys as the engine has them, of a table that has an order.
    fn bounds<'k, K: Key, V: Value>(
        &mut self,
        table: OpenTable<K, V>,
        keys: impl RangeBounds<K::Given<'k>>,
    ) -> Result<(KeyBound, KeyBound), Error> {
        self.admit(table)?;
        if !self.registry().get(table.id).expect("admitted").is_ordered {
            return Err(Error::NotOrdered { table: self.name(table.id) });
        }
        let bound = |bound: Bound<&K::Given<'k>>| match bound {
            Bound::Included(key) => Ok(Bound::Included(key::bytes::<K>(*key)?)),
            Bound::Excluded(key) => Ok(Bound::Excluded(key::bytes::<K>(*key)?)),
            Bound::Unbounded => Ok::<_, Error>(Bound::Unbounded),
        };
        Ok((bound(keys.start_bound())?, bound(keys.end_bound())?))
    }

    /// The keys and values that an index has under a key, in the order of their keys in the table.
    pub fn find<K: Key, V: Value, I: Key>(
        &mut self,
        index: OpenIndex<K, V, I>,
        key: I::Given<'_>,
    ) -> Result<Vec<(K, V::Owned)>, Error> {
        self.find_up_to(index, key, usize::MAX)
    }

    /// As [`Transaction::find`], the first `limit` of them.
    pub fn find_up_to<K: Key, V: Value, I: Key>(
        &mut self,
        index: OpenIndex<K, V, I>,
        key: I::Given<'_>,
        limit: usize,
    ) -> Result<Vec<(K, V::Owned)>, Error> {
        self.find_between(index, (Bound::Included(key), Bound::Included(key)), limit)
    }

    /// The keys and values that an index has in a range of keys, in the order of the index, `limit` of them at most.
    pub fn find_between<'k, K: Key, V: Value, I: Key>(
        &mut self,
        index: OpenIndex<K, V, I>,
        keys: impl RangeBounds<I::Given<'k>>,
        limit: usize,
    ) -> Result<Vec<(K, V::Owned)>, Error> {
        self.admit(index.table)?;
        self.admit_id(index.id)?;
        let from = match keys.start_bound() {
            Bound::Included(key) => Bound::Included(key::own_bytes::<I>(*key)),
            Bound::Excluded(key) => {
                key::after_all(key::own_bytes::<I>(*key)).map_or(Bound::Unbounded, Bound::Included)
            }
            Bound::Unbounded => Bound::Unbounded,
        };
        let to = match keys.end_bound() {
            Bound::Included(key) => {
                key::after_all(key::own_bytes::<I>(*key)).map_or(Bound::Unbounded, Bound::Excluded)
            }
            Bound::Excluded(key) => Bound::Excluded(key::own_bytes::<I>(*key)),
            Bound::Unbounded => Bound::Unbounded,
        };
        let mut found = Vec::new();
        self.scan(index.id, &from, &to, Direction::Forward, limit, 0, &mut |mut entry, _| {
            let key = I::decode(&mut entry).and_then(|_| K::decode(&mut entry));
            found.push(key);
        })?;
        let mut rows = Vec::with_capacity(found.len());
        for key in found {
            let key = key.ok_or_else(|| self.unreadable(index.id))?;
            let value = self.get(index.table, key.given())?;
            // The entry and its row are written and removed together.
            let value = value.ok_or_else(|| self.unreadable(index.id))?;
            rows.push((key, value));
        }
        Ok(rows)
    }

    /// Shows rows between two encoded keys. Answers how many.
    #[allow(clippy::too_many_arguments, reason = "what a scan is")]
    fn scan(
        &mut self,
        table: TableId,
        from: &Bound<Vec<u8>>,
        to: &Bound<Vec<u8>>,
        direction: Direction,
        limit: usize,
        row_bytes: usize,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<usize, Error> {
        fn borrowed(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
            bound.as_ref().map(Vec::as_slice)
        }
        let (from, to, span) = (borrowed(from), borrowed(to), Span::whole(row_bytes));
        // At each end there is a leaf more than rows may need.
        let most = self.left.saturating_sub(2);
        let scan = Scan { table, from, to, direction, limit: limit.min(most), span, within: None };
        let scanned = self.seat.slot.transaction().scan(&scan, see);
        let count = self.lives(scanned)?;
        self.touch(count + 2)?;
        if count == most && limit > most { Err(self.too_large()) } else { Ok(count) }
    }

    /// Accounts for so many rows or missing keys that the transaction touches.
    fn touch(&mut self, count: usize) -> Result<(), Error> {
        match self.left.checked_sub(count) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(self.too_large()),
        }
    }

    #[cold]
    fn too_large(&mut self) -> Error {
        let most = self.seat.slot.most_records();
        self.poisoned(Error::TooLarge { most })
    }

    /// Adds a row and its entries in indexes.
    fn insert_row<K: Key>(
        &mut self,
        table: TableId,
        key: K::Given<'_>,
        row: &[u8],
    ) -> Result<Insertion, Error> {
        let number = self.key::<K>(table, key)?;
        let inserted = self.seat.slot.transaction().insert(table, number, row);
        let insertion = self.lives(inserted)?;
        if insertion == Insertion::Inserted && !self.indexes(table).is_empty() {
            let registry = Arc::clone(&self.seat.registry);
            let key = key::bytes::<K>(key)?;
            for index in &registry.get(table).expect("admitted").indexes {
                if let Some(entry) = self.entry(table, index, &key, row)? {
                    self.insert_entry(index, &entry)?;
                }
            }
        }
        Ok(insertion)
    }

    /// Replaces a row, and its entries in indexes; whether it is there.
    fn replace_row<K: Key>(&mut self, table: TableId, key: K::Given<'_>, row: &[u8]) -> Result<bool, Error> {
        let number = self.key::<K>(table, key)?;
        if self.indexes(table).is_empty() {
            let replaced = self.seat.slot.transaction().replace(table, number, row);
            return Ok(self.lives(replaced)? == Presence::Present);
        }
        let registry = Arc::clone(&self.seat.registry);
        let indexes = &registry.get(table).expect("admitted").indexes;
        let mut old = std::mem::take(&mut self.seat.old);
        old.clear();
        let read = self.seat.slot.transaction().read_whole(table, number, &mut |bytes| {
            old.extend_from_slice(bytes);
        });
        if self.lives(read)? == Presence::Missing {
            return Ok(false);
        }
        let replaced = self.seat.slot.transaction().replace(table, number, row);
        let presence = self.lives(replaced)?;
        let key = key::bytes::<K>(key)?;
        for index in indexes {
            let (before, after) =
                (self.entry(table, index, &key, &old)?, self.entry(table, index, &key, row)?);
            if before != after {
                if let Some(entry) = before {
                    self.remove_entry(index, &entry)?;
                }
                if let Some(entry) = after {
                    self.insert_entry(index, &entry)?;
                }
            }
        }
        self.seat.old = old;
        Ok(presence == Presence::Present)
    }

    /// The entry of a row in an index.
    fn entry(
        &mut self,
        table: TableId,
        index: &KeptIndex,
        key: &[u8],
        row: &[u8],
    ) -> Result<Option<Entry>, Error> {
        let name = &self.registry().get(table).expect("admitted").name;
        let entry = index.entry(name, key, row);
        entry.map_err(|error| self.poisoned(error))
    }

    fn insert_entry(&mut self, index: &KeptIndex, entry: &Entry) -> Result<(), Error> {
        if index.is_unique {
            let from = entry.bytes[..entry.own].to_vec();
            let to = key::after_all(from.clone()).map_or(Bound::Unbounded, Bound::Excluded);
            let from = Bound::Included(from);
            if self.scan(index.id, &from, &to, Direction::Forward, 1, 0, &mut |_, _| ())? > 0 {
                return Err(self.poisoned(Error::NotUnique { index: index.name.clone() }));
            }
        }
        self.touch(2)?;
        let transaction = self.seat.slot.transaction();
        let key = transaction.key(index.id, &entry.bytes);
        let inserted = transaction.insert(index.id, key, &[]);
        let _: Insertion = self.lives(inserted)?;
        Ok(())
    }

    fn remove_entry(&mut self, index: &KeptIndex, entry: &Entry) -> Result<(), Error> {
        self.touch(2)?;
        let transaction = self.seat.slot.transaction();
        let key = transaction.key(index.id, &entry.bytes);
        let removed = transaction.delete(index.id, key);
        let _: Presence = self.lives(removed)?;
        Ok(())
    }

    /// A key, as the engine names it in this transaction.
    fn key<K: Key>(&mut self, table: TableId, given: K::Given<'_>) -> Result<contract::Key, Error> {
        // The key's row, and two gaps: where it is missing, and where a leaf is split for it.
        self.touch(2)?;
        let Lent { slot, key, .. } = &mut *self.seat;
        let bytes = key::encode::<K>(given, key)?;
        if K::IS_NUMBER {
            return Ok(contract::Key(key::number(bytes)));
        }
        Ok(slot.transaction().key(table, bytes))
    }

    /// Whether a table of these types may be used now.
    fn admit<K, V>(&self, table: OpenTable<K, V>) -> Result<(), Error> {
        if table.database != self.database.number() {
            return Err(Error::OtherDatabase);
        }
        self.admit_id(table.id)
    }

    fn admit_id(&self, table: TableId) -> Result<(), Error> {
        if let Some(poison) = &self.poison {
            return Err(poison.clone());
        }
        if self.registry().get(table).is_none() {
            return Err(Error::NoTable { table: table.0.to_string() });
        }
        Ok(())
    }

    /// The same, to write to it.
    fn admit_write<K, V>(&mut self, table: OpenTable<K, V>, adds: bool) -> Result<(), Error> {
        self.admit(table)?;
        self.has_written = true;
        match self.database.memory_limit() {
            Some(limit) if adds => {
                let taken = self.seat.slot.memory_bytes();
                if taken > limit { Err(Error::Memory { limit, taken }) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// What came of an operation; an abort poisons the transaction.
    fn lives<T>(&mut self, result: Result<T, contract::Abort>) -> Result<T, Error> {
        result.map_err(|abort| self.poisoned(abort.into()))
    }

    #[cold]
    fn poisoned(&mut self, error: Error) -> Error {
        self.poison.get_or_insert(error).clone()
    }

    fn name(&self, table: TableId) -> String {
        self.registry().get(table).map_or_else(|| table.0.to_string(), |Registered { name, .. }| name.clone())
    }

    #[cold]
    fn unreadable(&self, table: TableId) -> Error {
        Error::Unreadable { table: self.name(table) }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.undo();
        self.give_up();
    }
}

/// Keys and values in the order of the keys, from both ends: what [`Transaction::range`] answers.
pub struct Range<'tx, 'db, K: Key, V: Value> {
    transaction: &'tx mut Transaction<'db>,
    table: OpenTable<K, V>,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    /// Read, and not yet answered, in the order in which they were read; from either end.
    front: VecDeque<Result<(K, V::Owned), Error>>,
    back: VecDeque<Result<(K, V::Owned), Error>>,
    /// Rows to be read at once the next time.
    at_once: usize,
    /// Nothing is between `from` and `to` any more.
    is_read: bool,
}

impl<'tx, 'db, K: Key, V: Value> Range<'tx, 'db, K, V> {
    /// Rows that are read at once at most.
    const MOST_AT_ONCE: usize = 256;

    fn new(
        transaction: &'tx mut Transaction<'db>,
        table: OpenTable<K, V>,
        from: Bound<Vec<u8>>,
        to: Bound<Vec<u8>>,
    ) -> Self {
        let (front, back) = Default::default();
        Range { transaction, table, from, to, front, back, at_once: 8, is_read: false }
    }

    /// Reads on from one end, of which nothing is left.
    fn read(&mut self, direction: Direction) {
        let (limit, table) = (self.at_once, self.table.id);
        self.at_once = (2 * limit).min(Self::MOST_AT_ONCE);
        let Range { transaction, from, to, front, back, .. } = self;
        let rows = if direction == Direction::Forward { front } else { back };
        let (mut last, mut are_readable) = (Vec::new(), true);
        let scanned = transaction.admit_id(table).and_then(|()| {
            let row_bytes = V::ROW.span_bytes();
            transaction.scan(table, from, to, direction, limit, row_bytes, &mut |key, row| {
                last.clear();
                last.extend_from_slice(key);
                match key::decoded::<K>(key).zip(V::read(row)) {
                    Some(read) => rows.push_back(Ok(read)),
                    None => are_readable = false,
                }
            })
        });
        let read = match scanned {
            Ok(_) if !are_readable => Err(transaction.unreadable(table)),
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

impl<K: Key, V: Value> Iterator for Range<'_, '_, K, V> {
    type Item = Result<(K, V::Owned), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.front.is_empty() && !self.is_read {
            self.read(Direction::Forward);
        }
        self.front.pop_front().or_else(|| self.back.pop_back())
    }
}

impl<K: Key, V: Value> DoubleEndedIterator for Range<'_, '_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.back.is_empty() && !self.is_read {
            self.read(Direction::Backward);
        }
        self.back.pop_front().or_else(|| self.front.pop_back())
    }
}
