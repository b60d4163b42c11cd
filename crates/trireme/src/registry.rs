//! The registry: which tables a database has, and how the indexes of each are kept.
//!
//! A transaction slot has the registry of its time. It changes only while all slots are back.

use crate::error::Error;
use crate::key::{self, Key};
use crate::table::Index;
use crate::value::Value;
use contract::{Indexing, TableId};
use engine::embedded::TableWords;
use std::sync::Arc;

/// The entry of a row in an index: the key in the index, then the key in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub bytes: Vec<u8>,
    /// Bytes of the key in the index.
    pub own: usize,
}

/// Answers the entry of a row, given its key, as the engine has it, and its bytes; `Some(None)`: it has none. `None`: they are not of the
/// table's types.
type EntryOf = dyn Fn(&[u8], &[u8]) -> Option<Option<Entry>> + Send + Sync;

/// An index of a table.
#[derive(Clone)]
pub(crate) struct KeptIndex {
    pub id: TableId,
    pub is_unique: bool,
    /// `None`: nobody has opened it, so it cannot be kept.
    entry_of: Option<Arc<EntryOf>>,
    pub name: String,
}

impl KeptIndex {
    /// Whether it can be kept.
    pub fn is_open(&self) -> bool {
        self.entry_of.is_some()
    }

    /// The entry of a row, if it has one.
    pub fn entry(&self, table: &str, key: &[u8], row: &[u8]) -> Result<Option<Entry>, Error> {
        let entry_of = self
            .entry_of
            .as_ref()
            .ok_or_else(|| Error::IndexNotOpen { table: table.to_owned(), index: self.name.clone() })?;
        let entry = entry_of(key, row).ok_or_else(|| Error::Unreadable { table: table.to_owned() })?;
        match &entry {
            Some(Entry { bytes, .. }) if bytes.len() > key::MAX_KEY_BYTES => {
                Err(Error::KeyTooLong { bytes: bytes.len() })
            }
            _ => Ok(entry),
        }
    }
}

/// A table, or an index as a table.
#[derive(Clone)]
pub(crate) struct Registered {
    pub name: String,
    pub schema: String,
    /// Whether it can be gone through in the order of its keys.
    pub is_ordered: bool,
    /// Those of a table.
    pub indexes: Vec<KeptIndex>,
    /// The table, of an index.
    pub index_of: Option<TableId>,
}

/// By number; `None`: it was dropped.
#[derive(Clone, Default)]
pub(crate) struct Registry(Vec<Option<Registered>>);

/// How the schema of an index begins that is being filled.
pub(crate) const UNFINISHED: &str = "unfinished ";

/// Between the name of a table and that of its index.
pub(crate) const SEPARATOR: char = '/';

impl Registry {
    /// Of a store that has these tables, no index of which is open.
    pub fn new(tables: Vec<TableWords>) -> Registry {
        let mut registry = Registry::default();
        tables.into_iter().for_each(|table| registry.add(table));
        registry
    }

    /// Indexes that have not all their entries: nobody has finished filling them.
    pub fn unfinished(&self) -> Vec<TableId> {
        let is_unfinished = |(_, table): &(TableId, &Registered)| table.schema.starts_with(UNFINISHED);
        self.iter().filter(is_unfinished).map(|(id, _)| id).collect()
    }

    /// An index has all its entries.
    pub fn finish(&mut self, index: TableId, schema: String) {
        self.get_mut(index).expect("it is there").schema = schema;
    }

    /// Adds a table, or an index of one that is there.
    pub fn add(&mut self, TableWords { id, name, indexing, schema, .. }: TableWords) {
        let table = name.split_once(SEPARATOR).and_then(|(table, _)| self.find(table));
        let index_of = table.map(|(table, _)| table);
        if let Some(table) = index_of {
            let is_unique = schema.strip_prefix(UNFINISHED).unwrap_or(&schema).starts_with("unique");
            let index = KeptIndex { id, is_unique, entry_of: None, name: name.clone() };
            self.get_mut(table).expect("found").indexes.push(index);
        }
        let is_ordered = indexing != Indexing::Hashed;
        self.0.resize_with(self.0.len().max(id.index() + 1), || None);
        self.0[id.index()] = Some(Registered { name, schema, is_ordered, indexes: Vec::new(), index_of });
    }

    /// A table by its name.
    pub fn find(&self, name: &str) -> Option<(TableId, &Registered)> {
        self.iter().find(|(_, table)| table.name == name)
    }

    /// An index of a table.
    pub fn index(&self, id: TableId) -> Option<(TableId, &Registered, &KeptIndex)> {
        let table = self.get(id)?.index_of?;
        let registered = self.get(table)?;
        Some((table, registered, registered.indexes.iter().find(|index| index.id == id)?))
    }

    /// A table by its number.
    #[inline(always)]
    pub fn get(&self, table: TableId) -> Option<&Registered> {
        self.0.get(table.index())?.as_ref()
    }

    fn get_mut(&mut self, table: TableId) -> Option<&mut Registered> {
        self.0.get_mut(table.index())?.as_mut()
    }

    /// All, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (TableId, &Registered)> {
        (0..=u16::MAX).map(TableId).zip(&self.0).filter_map(|(id, table)| Some((id, table.as_ref()?)))
    }

    /// Says how an index is kept.
    pub fn keep<K: Key, V: Value, I: Key>(&mut self, id: TableId, index: Index<K, V, I>) {
        let table = self.get(id).and_then(|index| index.index_of).expect("an index");
        let indexes = &mut self.get_mut(table).expect("an index is one of a table").indexes;
        let kept = indexes.iter_mut().find(|kept| kept.id == id).expect("it is its table's");
        let of = index.of;
        kept.entry_of = Some(Arc::new(move |key, row| {
            let (key, value) = key::decoded::<K>(key).zip(V::read(row))?;
            Some(of(&key, &value).map(|in_index| {
                let mut bytes = Vec::new();
                I::encode(in_index.given(), &mut bytes);
                let own = bytes.len();
                K::encode(key.given(), &mut bytes);
                Entry { bytes, own }
            }))
        }));
    }

    /// Forgets a table, and if it is an index, that its table has it.
    pub fn remove(&mut self, id: TableId) {
        let removed = self.0[id.index()].take().expect("it is there");
        if let Some(table) = removed.index_of.and_then(|table| self.get_mut(table)) {
            table.indexes.retain(|index| index.id != id);
        }
    }
}

/// How the engine finds rows by keys of a type.
pub(crate) fn indexing<K: Key>(is_hashed: bool) -> Indexing {
    match K::IS_NUMBER {
        true if is_hashed => Indexing::Hashed,
        true => Indexing::Ordered,
        false => Indexing::OrderedBytes { most: K::MOST_BYTES.clamp(1, key::MAX_KEY_BYTES) },
    }
}
