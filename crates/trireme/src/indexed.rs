//! Rows with their entries in indexes: whoever adds or replaces a row does the same to what its table's indexes have of it, in
//! the same transaction, so that they never differ.

use crate::error::Error;
use crate::key::{self, Key};
use crate::reading::{Reader, Rows};
use crate::registry::{Entry, KeptIndex};
use crate::transaction::Transaction;
use contract::{Insertion, Presence, TableId};
use std::ops::Bound;
use std::sync::Arc;

impl Transaction<'_> {
    /// The indexes of a table.
    pub(crate) fn indexes(&self, table: TableId) -> &[KeptIndex] {
        self.registry().get(table).map_or(&[], |table| &table.indexes)
    }

    /// Adds a row and its entries in indexes.
    pub(crate) fn insert_row<K: Key>(
        &mut self,
        table: TableId,
        key: K::Given<'_>,
        row: &[u8],
    ) -> Result<Insertion, Error> {
        let number = self.key::<K>(table, key)?;
        let inserted = self.seat.slot.transaction().insert(table, number, row);
        let insertion = self.lives(inserted)?;
        if insertion == Insertion::Exists {
            return Ok(insertion);
        }
        self.written::<K>(row.len())?;
        if !self.indexes(table).is_empty() {
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
    pub(crate) fn replace_row<K: Key>(
        &mut self,
        table: TableId,
        key: K::Given<'_>,
        row: &[u8],
    ) -> Result<bool, Error> {
        let number = self.key::<K>(table, key)?;
        if self.indexes(table).is_empty() {
            let replaced = self.seat.slot.transaction().replace(table, number, row);
            return match self.lives(replaced)? {
                Presence::Present => self.written::<K>(row.len()).map(|()| true),
                Presence::Missing => Ok(false),
            };
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
        self.written::<K>(row.len())?;
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

    /// Removes a row and its entries in indexes; whether there was one.
    pub(crate) fn remove_row<K: Key>(&mut self, table: TableId, key: K::Given<'_>) -> Result<bool, Error> {
        let number = self.key::<K>(table, key)?;
        if !self.indexes(table).is_empty() {
            let registry = Arc::clone(&self.seat.registry);
            let indexes = &registry.get(table).expect("admitted").indexes;
            let mut row = std::mem::take(&mut self.seat.old);
            row.clear();
            let read = self.seat.slot.transaction().read_whole(table, number, &mut |bytes| {
                row.extend_from_slice(bytes);
            });
            let presence = self.lives(read)?;
            if presence == Presence::Present {
                let key = key::bytes::<K>(key)?;
                for index in indexes {
                    if let Some(entry) = self.entry(table, index, &key, &row)? {
                        self.remove_entry(index, &entry)?;
                    }
                }
            }
            self.seat.old = row;
        }
        let number = self.key::<K>(table, key)?;
        let deleted = self.seat.slot.transaction().delete(table, number);
        let presence = self.lives(deleted)?;
        self.written::<K>(0)?;
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
            if self.scan(index.id, Rows::between(&from, &to, 1, 0), &mut |_, _| ())? > 0 {
                return Err(self.poisoned(Error::NotUnique { index: index.name.clone() }));
            }
        }
        self.touch(2)?;
        let transaction = self.seat.slot.transaction();
        let key = transaction.key(index.id, &entry.bytes);
        let inserted = transaction.insert(index.id, key, &[]);
        let _: Insertion = self.lives(inserted)?;
        self.written_bytes(entry.bytes.len(), 0)
    }

    fn remove_entry(&mut self, index: &KeptIndex, entry: &Entry) -> Result<(), Error> {
        self.touch(2)?;
        let transaction = self.seat.slot.transaction();
        let key = transaction.key(index.id, &entry.bytes);
        let removed = transaction.delete(index.id, key);
        let _: Presence = self.lives(removed)?;
        self.written_bytes(entry.bytes.len(), 0)
    }
}
