//! Filling a new index with the rows that its table has, while nobody else runs.

use crate::database::Store;
use crate::error::Error;
use crate::key::{self, Key};
use crate::table::Index;
use crate::transaction::{after_all, decoded};
use crate::value::{Row, Value};
use contract::{Direction, Insertion, Scan, Span, TableId};
use engine::embedded::{Embedded, Slot};
use std::ops::Bound;

/// Rows that one transaction enters.
const ROWS_AT_ONCE: usize = 1024;

/// The entry of a row, and how many bytes of it are the key in the index.
fn entry<K: Key, V: Value, I: Key>(
    index: Index<K, V, I>,
    key: &[u8],
    row: &[u8],
) -> Result<Option<(usize, Vec<u8>)>, Error> {
    let unreadable = || Error::Unreadable { table: index.table.name().to_owned() };
    let (key, value) = decoded::<K>(key).zip(V::read(row)).ok_or_else(unreadable)?;
    let Some(of) = (index.of)(&key, &value) else { return Ok(None) };
    let mut bytes = Vec::new();
    I::encode(of.given(), &mut bytes);
    let own = bytes.len();
    K::encode(key.given(), &mut bytes);
    match bytes.len() {
        bytes if bytes > key::MAX_KEY_BYTES => Err(Error::KeyTooLong { bytes }),
        _ => Ok(Some((own, bytes))),
    }
}

impl Store {
    /// Enters all rows of its table in a new index; all of them are durable when the epoch is that this answers.
    pub(crate) fn fill<K: Key, V: Value, I: Key>(
        &mut self,
        id: TableId,
        index: Index<K, V, I>,
    ) -> Result<Option<u64>, Error> {
        let (table, _) = self.registry.find(index.table.name()).expect("opened before");
        let mut borrowed = Borrowed { slot: Some(self.embedded().lend(0)), embedded: self.embedded() };
        fill(borrowed.slot.as_mut().expect("until it is dropped"), table, id, index)
    }
}

/// A slot that goes back also if the index's function panics.
struct Borrowed<'e> {
    slot: Option<Slot>,
    embedded: &'e mut Embedded,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        self.embedded.take_back(self.slot.take().expect("until it is dropped"));
    }
}

fn fill<K: Key, V: Value, I: Key>(
    slot: &mut Slot,
    table: TableId,
    id: TableId,
    index: Index<K, V, I>,
) -> Result<Option<u64>, Error> {
    let mut from = Bound::Unbounded;
    loop {
        slot.begin(true);
        let entered = enter_some(slot, table, id, index, &from);
        match entered {
            Ok((count, last)) => {
                let committed = slot.commit()?;
                if count < ROWS_AT_ONCE {
                    return Ok(committed.epoch);
                }
                from = Bound::Excluded(last);
            }
            Err(error) => {
                slot.abort();
                return Err(error);
            }
        }
    }
}

/// Enters the rows that follow; how many they are, and the key of the last.
fn enter_some<K: Key, V: Value, I: Key>(
    slot: &mut Slot,
    table: TableId,
    id: TableId,
    index: Index<K, V, I>,
    from: &Bound<Vec<u8>>,
) -> Result<(usize, Vec<u8>), Error> {
    let row_bytes = match V::ROW {
        Row::Fixed(bytes) => bytes,
        Row::Varying => 0,
    };
    let (mut entries, mut last) = (Vec::with_capacity(ROWS_AT_ONCE), Vec::new());
    let scan = Scan {
        table,
        from: from.as_ref().map(Vec::as_slice),
        to: Bound::Unbounded,
        direction: Direction::Forward,
        limit: ROWS_AT_ONCE,
        span: Span::whole(row_bytes),
        within: None,
    };
    let count = slot.transaction().scan(&scan, &mut |key, row| {
        last.clear();
        last.extend_from_slice(key);
        entries.push(entry(index, key, row));
    })?;
    for entry in entries {
        let Some((own, bytes)) = entry? else { continue };
        if index.is_unique {
            let to = after_all(bytes[..own].to_vec());
            let to = to.as_ref().map_or(Bound::Unbounded, |to| Bound::Excluded(&to[..]));
            let from = Bound::Included(&bytes[..own]);
            let scan = Scan { table: id, from, to, limit: 1, span: Span::whole(0), ..scan };
            if slot.transaction().scan(&scan, &mut |_, _| ())? > 0 {
                return Err(Error::NotUnique { index: index.full_name() });
            }
        }
        let key = slot.transaction().key(id, &bytes);
        let _: Insertion = slot.transaction().insert(id, key, &[])?;
    }
    Ok((count, last))
}
