//! Tables and indexes as a program names them, and the handles that operations are given.

use crate::key::{self, Key};
use crate::value::Value;
use contract::TableId;
use std::fmt;
use std::marker::PhantomData;

/// A table by its name and types; a constant of the program. [`Database::table`](crate::Database::table) opens it.
///
/// ```
/// use trireme::Table;
/// const BALANCES: Table<u64, i64> = Table::new("balances");
/// ```
pub struct Table<K, V> {
    pub(crate) name: &'static str,
    /// For how many rows it is hashed; `None`: it is in the order of its keys.
    pub(crate) hashed: Option<u64>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: Key, V: Value> Table<K, V> {
    /// The table of this name.
    pub const fn new(name: &'static str) -> Self {
        Table { name, hashed: None, types: PhantomData }
    }

    /// The same, hashed: transactions are 1.1 to 1.6 times as fast (`docs/results/versus.md`), and rows are found only by their keys: there are
    /// no ranges, and no indexes of rows that are there already. With many more rows than `rows` it finds them more slowly. The memory to find `rows` of them by is taken when it is made;
    /// if there is not so much, or for more than 2^36 rows, [`Database::table`](crate::Database::table) refuses it.
    ///
    /// Panics, in a constant when it is compiled, unless keys are integers of at most 64 bits, `bool` or `char`.
    pub const fn hashed(self, rows: u64) -> Self {
        assert!(K::IS_NUMBER, "only tables whose keys are integers of at most 64 bits can be hashed");
        Table { hashed: Some(rows), ..self }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// An index of this table: its rows are found by what `of` makes of them, too.
    ///
    /// `of` must answer the same for the same row, always: what it answers is stored. `None` leaves a row out.
    pub const fn index<I: Key>(
        self,
        name: &'static str,
        of: fn(&K, &V::Owned) -> Option<I>,
    ) -> Index<K, V, I> {
        Index { name, table: self, is_unique: false, of }
    }

    /// As [`Table::index`]; no two rows may have the same key in it.
    pub const fn unique_index<I: Key>(
        self,
        name: &'static str,
        of: fn(&K, &V::Owned) -> Option<I>,
    ) -> Index<K, V, I> {
        Index { is_unique: true, ..self.index(name, of) }
    }

    /// Its types in words.
    pub(crate) fn schema(&self) -> String {
        let hashed = if self.hashed.is_some() { ", hashed" } else { "" };
        format!("{} to {}{hashed}", key::description::<K>(), V::description())
    }
}

/// An index of a table. [`Database::index`](crate::Database::index) opens it.
pub struct Index<K, V: Value, I> {
    pub(crate) name: &'static str,
    pub(crate) table: Table<K, V>,
    pub(crate) is_unique: bool,
    pub(crate) of: fn(&K, &V::Owned) -> Option<I>,
}

impl<K: Key, V: Value, I: Key> Index<K, V, I> {
    /// Its name as a table of the engine.
    pub(crate) fn full_name(&self) -> String {
        index_name(self.table.name, self.name)
    }

    /// Its types in words.
    pub(crate) fn schema(&self) -> String {
        let unique = if self.is_unique { "unique index" } else { "index" };
        format!("{unique} by {} of {}", key::description::<I>(), key::description::<K>())
    }
}

/// The name of an index as a table of the engine. Tables have no `/` in their names.
pub(crate) fn index_name(table: &str, index: &str) -> String {
    format!("{table}/{index}")
}

/// A table that is open.
pub struct OpenTable<K, V> {
    pub(crate) id: TableId,
    /// Of which database.
    pub(crate) database: u64,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> OpenTable<K, V> {
    pub(crate) fn new(id: TableId, database: u64) -> Self {
        OpenTable { id, database, types: PhantomData }
    }
}

/// An index that is open.
pub struct OpenIndex<K, V, I> {
    /// Of the index.
    pub(crate) id: TableId,
    pub(crate) table: OpenTable<K, V>,
    types: PhantomData<fn() -> I>,
}

impl<K, V, I> OpenIndex<K, V, I> {
    pub(crate) fn new(id: TableId, table: OpenTable<K, V>) -> Self {
        OpenIndex { id, table, types: PhantomData }
    }
}

macro_rules! plain {
    ($($type:ident <$($parameter:ident $(: $bound:ident)?),*> $shown:ident;)*) => {$(
        impl<$($parameter $(: $bound)?),*> Clone for $type<$($parameter),*> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($parameter $(: $bound)?),*> Copy for $type<$($parameter),*> {}

        impl<$($parameter $(: $bound)?),*> fmt::Debug for $type<$($parameter),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($type)).field(stringify!($shown), &self.$shown).finish()
            }
        }
    )*};
}

plain! {
    Table<K, V> name;
    Index<K, V: Value, I> name;
    OpenTable<K, V> id;
    OpenIndex<K, V, I> id;
}

/// A table that a database has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableInfo {
    /// Its name; of an index, the table's, `/`, and the index's.
    pub name: String,
    /// Its types in words.
    pub schema: String,
    /// Whether it is an index of another.
    pub is_index: bool,
}
