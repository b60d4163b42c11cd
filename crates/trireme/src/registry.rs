//! The registry: which tables a database has, and how the indexes of each are kept.
//!
//! A transaction slot has the registry of its time. It changes only while all slots are back.

use crate::key::{self, Key};
use crate::table::Index;
use crate::value::Value;
use contract::{Indexing, TableId};
use engine::embedded::TableWords;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Appends the key that a row has in an index, given the row's key and value in bytes; false: it has none. `None`: they are not of
/// the table's types.
type KeyOf = dyn Fn(&[u8], &[u8], &mut Vec<u8>) -> Option<bool> + Send + Sync;

/// An index of a table.
#[derive(Clone)]
pub(crate) struct KeptIndex {
    pub id: TableId,
    pub is_unique: bool,
    /// `None`: nobody has opened it, so it cannot be kept.
    pub key_of: Option<Arc<KeyOf>>,
    pub name: String,
}

/// A table, or an index as a table.
#[derive(Clone)]
pub(crate) struct Registered {
    pub name: String,
    pub schema: String,
    /// Those of a table.
    pub indexes: Vec<KeptIndex>,
    /// The table, of an index.
    pub index_of: Option<TableId>,
}

/// By number.
#[derive(Clone, Default)]
pub(crate) struct Registry(BTreeMap<TableId, Registered>);

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
        let is_unfinished = |(_, table): &(&TableId, &Registered)| table.schema.starts_with(UNFINISHED);
        self.0.iter().filter(is_unfinished).map(|(id, _)| *id).collect()
    }

    /// An index has all its entries.
    pub fn finish(&mut self, index: TableId, schema: String) {
        self.0.get_mut(&index).expect("it is there").schema = schema;
    }

    /// Adds a table, or an index of one that is there.
    pub fn add(&mut self, TableWords { id, name, schema, .. }: TableWords) {
        let table = name.split_once(SEPARATOR).and_then(|(table, _)| self.find(table));
        let index_of = table.map(|(table, _)| table);
        if let Some(table) = index_of {
            let is_unique = schema.strip_prefix(UNFINISHED).unwrap_or(&schema).starts_with("unique");
            let index = KeptIndex { id, is_unique, key_of: None, name: name.clone() };
            self.0.get_mut(&table).expect("found").indexes.push(index);
        }
        self.0.insert(id, Registered { name, schema, indexes: Vec::new(), index_of });
    }

    /// A table by its name.
    pub fn find(&self, name: &str) -> Option<(TableId, &Registered)> {
        self.0.iter().find(|(_, table)| table.name == name).map(|(id, table)| (*id, table))
    }

    /// A table by its number.
    pub fn get(&self, table: TableId) -> Option<&Registered> {
        self.0.get(&table)
    }

    /// All, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (TableId, &Registered)> {
        self.0.iter().map(|(id, table)| (*id, table))
    }

    /// Says how an index is kept.
    pub fn keep<K: Key, V: Value, I: Key>(&mut self, id: TableId, index: Index<K, V, I>) {
        let table = self.0.get(&id).and_then(|index| index.index_of).expect("an index");
        let indexes = &mut self.0.get_mut(&table).expect("an index is one of a table").indexes;
        let kept = indexes.iter_mut().find(|kept| kept.id == id).expect("it is its table's");
        let of = index.of;
        kept.key_of = Some(Arc::new(move |mut key_bytes, row, to| {
            let key = K::decode(&mut key_bytes)?;
            let value = V::read(row)?;
            match of(&key, &value) {
                None => Some(false),
                Some(entry) => {
                    I::encode(entry.given(), to);
                    Some(true)
                }
            }
        }));
    }

    /// Forgets a table, and if it is an index, that its table has it.
    pub fn remove(&mut self, id: TableId) {
        let removed = self.0.remove(&id).expect("it is there");
        if let Some(table) = removed.index_of.and_then(|table| self.0.get_mut(&table)) {
            table.indexes.retain(|index| index.id != id);
        }
    }
}

/// How the engine finds rows by keys of a type.
pub(crate) fn indexing<K: Key>() -> Indexing {
    match K::IS_NUMBER {
        true => Indexing::Ordered,
        false => Indexing::OrderedBytes { most: K::MOST_BYTES.clamp(1, key::MAX_KEY_BYTES) },
    }
}
