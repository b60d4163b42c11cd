//! What reading has in common, whatever is read from: a transaction that runs, or a snapshot.

use crate::error::Error;
use crate::key::{self, Key};
use crate::registry::{Registered, Registry};
use crate::table::{OpenIndex, OpenTable};
use crate::value::Value;
use contract::{Direction, Presence, Scan, Span, TableId};
use std::ops::{Bound, RangeBounds};

/// An end of a range of keys, as the engine has them.
pub(crate) type KeyBound = Bound<Vec<u8>>;

/// What rows can be read from.
pub(crate) trait Reader {
    /// Of which database.
    fn database(&self) -> u64;

    /// The tables of its time.
    fn registry(&self) -> &Registry;

    /// Whether a table may be read now.
    fn admit_id(&self, table: TableId) -> Result<(), Error> {
        admit_id(self, table)
    }

    /// Shows the row of a key.
    fn look<K: Key>(
        &mut self,
        table: TableId,
        key: K::Given<'_>,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Error>
    where
        Self: Sized;

    /// Shows keys and rows. Answers how many.
    fn scan(
        &mut self,
        table: TableId,
        rows: Rows<'_>,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<usize, Error>;
}

/// Which rows of a table.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub from: &'a KeyBound,
    pub to: &'a KeyBound,
    pub direction: Direction,
    pub limit: usize,
    /// Bytes of a row; 0 if they vary.
    pub row_bytes: usize,
}

impl<'a> Rows<'a> {
    /// Between two keys, forward.
    pub fn between(from: &'a KeyBound, to: &'a KeyBound, limit: usize, row_bytes: usize) -> Rows<'a> {
        Rows { from, to, direction: Direction::Forward, limit, row_bytes }
    }

    /// As the engine has it.
    pub fn of(self, table: TableId) -> Scan<'a> {
        let Rows { from, to, direction, limit, row_bytes } = self;
        let (from, to) = (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice));
        Scan { table, from, to, direction, limit, span: Span::whole(row_bytes), within: None }
    }
}

/// Whether there is such a table.
pub(crate) fn admit_id<R: Reader + ?Sized>(reader: &R, table: TableId) -> Result<(), Error> {
    match reader.registry().get(table) {
        Some(_) => Ok(()),
        None => Err(Error::NoTable { table: table.0.to_string() }),
    }
}

/// Whether a table of these types may be used now.
pub(crate) fn admit<R: Reader + ?Sized, K, V>(reader: &R, table: OpenTable<K, V>) -> Result<(), Error> {
    if table.database != reader.database() {
        return Err(Error::OtherDatabase);
    }
    reader.admit_id(table.id)
}

/// A table's name.
pub(crate) fn name<R: Reader + ?Sized>(reader: &R, table: TableId) -> String {
    let named = reader.registry().get(table);
    named.map_or_else(|| table.0.to_string(), |Registered { name, .. }| name.clone())
}

#[cold]
pub(crate) fn unreadable<R: Reader + ?Sized>(reader: &R, table: TableId) -> Error {
    Error::Unreadable { table: name(reader, table) }
}

/// The ends of a range of keys as the engine has them, of a table that has an order.
pub(crate) fn bounds<'k, R: Reader + ?Sized, K: Key, V: Value>(
    reader: &R,
    table: OpenTable<K, V>,
    keys: impl RangeBounds<K::Given<'k>>,
) -> Result<(KeyBound, KeyBound), Error> {
    admit(reader, table)?;
    if !reader.registry().get(table.id).expect("admitted").is_ordered {
        return Err(Error::NotOrdered { table: name(reader, table.id) });
    }
    let bound = |bound: Bound<&K::Given<'k>>| match bound {
        Bound::Included(key) => Ok(Bound::Included(key::bytes::<K>(*key)?)),
        Bound::Excluded(key) => Ok(Bound::Excluded(key::bytes::<K>(*key)?)),
        Bound::Unbounded => Ok::<_, Error>(Bound::Unbounded),
    };
    Ok((bound(keys.start_bound())?, bound(keys.end_bound())?))
}

/// What `see` makes of the bytes of a key's value.
#[inline]
pub(crate) fn get_with<R: Reader, K: Key, V: Value, T>(
    reader: &mut R,
    table: OpenTable<K, V>,
    key: K::Given<'_>,
    see: impl FnOnce(&[u8]) -> T,
) -> Result<Option<T>, Error> {
    admit(reader, table)?;
    let (mut see, mut seen) = (Some(see), None);
    let _: Presence = reader.look::<K>(table.id, key, &mut |row| {
        seen = see.take().map(|see| see(row));
    })?;
    Ok(seen)
}

/// The value of a key.
#[inline]
pub(crate) fn get<R: Reader, K: Key, V: Value>(
    reader: &mut R,
    table: OpenTable<K, V>,
    key: K::Given<'_>,
) -> Result<Option<V::Owned>, Error> {
    let read = get_with(reader, table, key, V::read)?;
    read.map(|value| value.ok_or_else(|| unreadable(reader, table.id))).transpose()
}

/// Shows the keys and the bytes of the values in a range of keys.
pub(crate) fn scan_with<'k, R: Reader + ?Sized, K: Key, V: Value>(
    reader: &mut R,
    table: OpenTable<K, V>,
    keys: impl RangeBounds<K::Given<'k>>,
    limit: usize,
    mut see: impl FnMut(K, &[u8]),
) -> Result<usize, Error> {
    let (from, to) = bounds(reader, table, keys)?;
    let mut are_readable = true;
    let rows = Rows::between(&from, &to, limit, V::ROW.span_bytes());
    let count = reader.scan(table.id, rows, &mut |key, row| match key::decoded::<K>(key) {
        Some(key) => see(key, row),
        None => are_readable = false,
    })?;
    if are_readable { Ok(count) } else { Err(unreadable(reader, table.id)) }
}

/// The keys and values that an index has in a range of keys, in the order of the index.
pub(crate) fn find_between<'k, R: Reader, K: Key, V: Value, I: Key>(
    reader: &mut R,
    index: OpenIndex<K, V, I>,
    keys: impl RangeBounds<I::Given<'k>>,
    limit: usize,
) -> Result<Vec<(K, V::Owned)>, Error> {
    admit(reader, index.table)?;
    reader.admit_id(index.id)?;
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
    reader.scan(index.id, Rows::between(&from, &to, limit, 0), &mut |mut entry, _| {
        let key = I::decode(&mut entry).and_then(|_| K::decode(&mut entry));
        found.push(key);
    })?;
    let mut rows = Vec::with_capacity(found.len());
    for key in found {
        let key = key.ok_or_else(|| unreadable(reader, index.id))?;
        let value = get(reader, index.table, key.given())?;
        // The entry and its row are written and removed together.
        let value = value.ok_or_else(|| unreadable(reader, index.id))?;
        rows.push((key, value));
    }
    Ok(rows)
}
