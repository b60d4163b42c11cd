//! A transaction as a program writes it: typed operations over the engine's. Those that add, replace or remove rows keep the indexes, too: [`crate::indexed`].

use crate::database::Database;
use crate::error::Error;
use crate::key::{self, Key};
use crate::pool::{Lent, Seat};
use crate::range::Range;
use crate::reading::{self, Reader, Rows};
use crate::registry::Registry;
use crate::table::{OpenIndex, OpenTable};
use crate::ticket::Ticket;
use crate::value::{Row, Value};
use contract::{AbortReason, Insertion, Presence, Span, TableId};
use engine::embedded::{MOST_WRITTEN_BYTES, written_bytes};
use std::borrow::Borrow;
use std::ops::{Bound, RangeBounds};

/// A transaction that runs: serializable with all others.
///
/// It is undone when it is dropped, unless [`Transaction::commit`] was called. Once an operation has answered an [`Error`] that is
/// [retryable](Error::is_retryable), the transaction is poisoned: every further operation answers it again, and it cannot commit. So do errors
/// of which it is said that it cannot go on; these are answered only if what it has seen was there at one time, otherwise it is aborted.
///
/// A transaction that stays open keeps what others commit from becoming durable, and memory from being reused: do not wait for
/// people or for networks in it.
pub struct Transaction<'db> {
    database: &'db Database,
    pub(crate) seat: Seat<'db>,
    is_open: bool,
    has_written: bool,
    /// Why it can only be undone.
    poison: Option<Error>,
    /// Rows and missing keys that it may still touch, at least.
    left: usize,
    /// Bytes that it may still write.
    left_bytes: usize,
}

impl<'db> Transaction<'db> {
    pub(crate) fn new(database: &'db Database, seat: Seat<'db>) -> Self {
        Transaction {
            database,
            seat,
            is_open: false,
            has_written: false,
            poison: None,
            left: 0,
            left_bytes: 0,
        }
    }

    /// Begins it, for the first time or again.
    pub(crate) fn begin(&mut self, is_first: bool) {
        self.seat.slot.begin(is_first);
        (self.is_open, self.has_written, self.poison) = (true, false, None);
        (self.left, self.left_bytes) = (self.seat.slot.most_records(), MOST_WRITTEN_BYTES);
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
            if let Err(abort) = self.seat.slot.roll_back() {
                self.poison = Some(abort.into());
            }
            self.seat.counts.rolled_back(self.aborted());
        }
    }

    /// Commits it, or undoes it; the epoch with which it is durable, if the database is logged.
    pub(crate) fn finish(&mut self) -> Result<Option<u64>, Error> {
        if let Some(poison) = &self.poison {
            let poison = poison.clone();
            self.undo();
            return Err(poison);
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

    /// Of a commit that is durable with this epoch.
    pub(crate) fn ticket(&self, epoch: Option<u64>) -> Ticket {
        Ticket::new(&self.seat.counter, epoch)
    }

    /// Commits it: all that it wrote, others see from now on. The ticket says when that is durable.
    pub fn commit(mut self) -> Result<Ticket, Error> {
        let epoch = self.finish()?;
        Ok(self.ticket(epoch))
    }

    /// Undoes it, as dropping it does.
    pub fn roll_back(self) {}

    /// The value of a key.
    pub fn get<K: Key, V: Value>(
        &mut self,
        table: OpenTable<K, V>,
        key: K::Given<'_>,
    ) -> Result<Option<V::Owned>, Error> {
        reading::get(self, table, key)
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

    /// Asks for the memory of these keys' values, of all at once, so that the operations on them that follow need not wait for it one after
    /// the other: most of the time of a transaction that touches a few rows of a large table. A transaction that knows its keys begins
    /// with it; for a single key it is of no use.
    ///
    /// ```
    /// # use trireme::{Database, Error, Table};
    /// # const BALANCES: Table<u64, i64> = Table::new("balances");
    /// # fn main() -> Result<(), Error> {
    /// # let db = Database::in_memory()?;
    /// # let balances = db.table(BALANCES)?;
    /// # let (from, to, amount) = (1, 2, 3);
    /// # db.transact(|tx| { tx.insert(balances, from, &10)?; tx.insert(balances, to, &10) })?;
    /// db.transact(|tx| {
    ///     tx.prefetch(balances, [from, to])?;
    ///     tx.update(balances, from, |balance| *balance -= amount)?;
    ///     tx.update(balances, to, |balance| *balance += amount)
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A hint only: nothing is read, so it changes neither what the transaction sees nor what it depends on, and the keys need not be there.
    pub fn prefetch<'k, K: Key, V: Value>(
        &mut self,
        table: OpenTable<K, V>,
        keys: impl IntoIterator<Item = K::Given<'k>>,
    ) -> Result<(), Error> {
        /// Keys that the engine is told of together.
        const TOGETHER: usize = 16;
        reading::admit(self, table)?;
        let Lent { slot, key: buffer, .. } = &mut *self.seat;
        let (mut named, mut count) = ([contract::Key(0); TOGETHER], 0);
        for key in keys {
            named[count] = key::named::<K>(slot.transaction(), table.id, key, buffer)?;
            count += 1;
            if count == TOGETHER {
                slot.transaction().ahead(table.id, &named);
                count = 0;
            }
        }
        slot.transaction().ahead(table.id, &named[..count]);
        Ok(())
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
            Insertion::Exists => Err(Error::Exists { table: reading::name(self, table.id) }),
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
        self.written::<K>(row_bytes)?;
        match changed {
            None => Ok(None),
            Some(Some(changed)) => changed.map(Some),
            Some(None) => Err(self.unreadable(table)),
        }
    }

    /// Removes a key and its value; whether there was one.
    pub fn remove<K: Key, V: Value>(
        &mut self,
        table: OpenTable<K, V>,
        key: K::Given<'_>,
    ) -> Result<bool, Error> {
        self.admit_write(table, false)?;
        self.remove_row::<K>(table.id, key)
    }

    /// The keys and values in a range of keys, in their order; an iterator that goes from both ends.
    ///
    /// Rows are read as they are asked for, some at a time. What was read stays as it is until the transaction ends; and no key comes to
    /// or leaves the part that was read.
    pub fn range<'tx, 'k, K: Key, V: Value>(
        &'tx mut self,
        table: OpenTable<K, V>,
        keys: impl RangeBounds<K::Given<'k>>,
    ) -> Result<Range<'tx, K, V>, Error> {
        Range::new(self, table, keys)
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
        reading::find_between(self, index, keys, limit)
    }

    /// Accounts for so many rows or missing keys that the transaction touches.
    pub(crate) fn touch(&mut self, count: usize) -> Result<(), Error> {
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

    /// Accounts for a row of so many bytes, or a part of one, that was written under the key that was named last.
    pub(crate) fn written<K: Key>(&mut self, row_bytes: usize) -> Result<(), Error> {
        let key_bytes = if K::IS_NUMBER { size_of::<u64>() } else { self.seat.key.len() };
        self.written_bytes(key_bytes, row_bytes)
    }

    pub(crate) fn written_bytes(&mut self, key_bytes: usize, row_bytes: usize) -> Result<(), Error> {
        match self.left_bytes.checked_sub(written_bytes(key_bytes, row_bytes)) {
            Some(left) => {
                self.left_bytes = left;
                Ok(())
            }
            None => Err(self.poisoned(Error::WritesTooMuch { most: MOST_WRITTEN_BYTES })),
        }
    }

    /// A key, as the engine names it in this transaction.
    pub(crate) fn key<K: Key>(
        &mut self,
        table: TableId,
        given: K::Given<'_>,
    ) -> Result<contract::Key, Error> {
        // The key's row, and two gaps: where it is missing, and where a leaf is split for it.
        self.touch(2)?;
        let Lent { slot, key, .. } = &mut *self.seat;
        key::named::<K>(slot.transaction(), table, given, key)
    }

    /// Whether a table may be written to now.
    fn admit_write<K, V>(&mut self, table: OpenTable<K, V>, adds: bool) -> Result<(), Error> {
        reading::admit(self, table)?;
        self.has_written = true;
        match self.database.memory_limit() {
            Some(limit) if adds => {
                if self.seat.slot.memory_bytes() > limit {
                    self.make_room(limit)
                } else {
                    Ok(())
                }
            }
            _ => Ok(()),
        }
    }

    /// The limit of memory is reached: slots that rest may have some that they need no more.
    #[cold]
    fn make_room(&mut self, limit: u64) -> Result<(), Error> {
        self.database.reclaim();
        let taken = self.seat.slot.memory_bytes();
        if taken > limit { Err(Error::Memory { limit, taken }) } else { Ok(()) }
    }

    /// What came of an operation; an abort poisons the transaction.
    pub(crate) fn lives<T>(&mut self, result: Result<T, contract::Abort>) -> Result<T, Error> {
        result.map_err(|abort| self.poisoned(abort.into()))
    }

    /// It cannot go on. Unless it is aborted, it is refused: it may be aborted then.
    #[cold]
    pub(crate) fn poisoned(&mut self, error: Error) -> Error {
        self.poison.get_or_insert(error);
        self.refuse();
        self.poison.clone().expect("just poisoned")
    }
}

impl Reader for Transaction<'_> {
    fn database(&self) -> u64 {
        self.database.number()
    }

    fn registry(&self) -> &Registry {
        &self.seat.registry
    }

    fn admit_id(&self, table: TableId) -> Result<(), Error> {
        match &self.poison {
            Some(poison) => Err(poison.clone()),
            None => reading::admit_id(self, table),
        }
    }

    fn unreadable(&mut self, table: TableId) -> Error {
        self.poisoned(Error::Unreadable { table: reading::name(self, table) })
    }

    fn look<K: Key>(
        &mut self,
        table: TableId,
        key: K::Given<'_>,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Error> {
        let key = self.key::<K>(table, key)?;
        let read = self.seat.slot.transaction().read_whole(table, key, see);
        self.lives(read)
    }

    fn scan(
        &mut self,
        table: TableId,
        rows: Rows<'_>,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<usize, Error> {
        // At each end there is a leaf more than rows may need.
        let most = self.left.saturating_sub(2);
        let scanned =
            self.seat.slot.transaction().scan(&Rows { limit: rows.limit.min(most), ..rows }.of(table), see);
        let count = self.lives(scanned)?;
        self.touch(count + 2)?;
        if count == most && rows.limit > most { Err(self.too_large()) } else { Ok(count) }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.undo();
        self.give_up();
    }
}
