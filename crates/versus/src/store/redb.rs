//! redb: a copy-on-write B-tree in one file, one writer at a time, readers at snapshots.
//!
//! Commits that need not be durable when they return have `Durability::None`, which leaves what they wrote in the cache. Pages that were
//! never durable are free again at once, so that in memory, where none ever is, nothing piles up.

use super::group::{Group, Grouped};
use super::{
    Access, Class, Committed, Failed, Opening, Procedure, Query, Reading, Row, Session, Settings, Store,
    Table, Writing, row,
};
use redb::backends::{FileBackend, InMemoryBackend};
use redb::{
    Database, Durability, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, StorageBackend,
    TableDefinition, WriteTransaction,
};
use std::fs::OpenOptions;
use std::io;
use std::sync::Arc;

/// Rows are byte strings under integers.
type Rows = TableDefinition<'static, u64, &'static [u8]>;

const fn rows(name: &'static str) -> Rows {
    TableDefinition::new(name)
}

fn failed(error: impl Into<redb::Error>) -> Failed {
    Failed::because(error.into())
}

/// A database.
#[derive(Clone)]
pub struct Redb {
    inner: Arc<Inner>,
}

struct Inner {
    /// Before the database, which its thread uses.
    group: Option<Group>,
    database: Arc<Database>,
    /// Of each commit.
    durability: Durability,
}

/// A file that is never synced.
#[derive(Debug)]
struct Unsynced(FileBackend);

impl StorageBackend for Unsynced {
    fn len(&self) -> Result<u64, io::Error> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.0.write(offset, data)
    }

    fn close(&self) -> Result<(), io::Error> {
        self.0.close()
    }
}

fn begin(database: &Database, durability: Durability) -> Result<WriteTransaction, Failed> {
    let mut transaction = database.begin_write().map_err(failed)?;
    transaction.set_durability(durability).map_err(failed)?;
    Ok(transaction)
}

impl Store for Redb {
    type Session = Redb;

    const HAS_TICKETS: bool = true;
    const SETTINGS: Settings = Settings {
        memory: "`InMemoryBackend`, `Durability::None`",
        buffered: "`Durability::Immediate`, and a backend whose sync does nothing",
        buffered_in_flight: "the same backend; `Durability::None`, and an empty immediate commit once an epoch",
        group: "`Durability::Immediate`",
        group_in_flight: "`Durability::None`, and an empty immediate commit once an epoch",
    };

    fn open(opening: &Opening) -> Result<Redb, Failed> {
        let mut builder = Database::builder();
        builder.set_cache_size(opening.cache_bytes);
        let path = opening.folder.join("redb");
        let database = match opening.class {
            Class::Memory => builder.create_with_backend(InMemoryBackend::new()).map_err(failed)?,
            Class::Buffered => {
                let file = OpenOptions::new().read(true).write(true).create_new(true).open(path);
                let backend = FileBackend::new(file.map_err(Failed::because)?).map_err(failed)?;
                builder.create_with_backend(Unsynced(backend)).map_err(failed)?
            }
            Class::Group => builder.create(path).map_err(failed)?,
        };
        let database = Arc::new(database);
        let is_grouped = opening.class != Class::Memory && opening.outstanding;
        let durability = match opening.class {
            Class::Buffered | Class::Group if !is_grouped => Durability::Immediate,
            Class::Memory | Class::Buffered | Class::Group => Durability::None,
        };
        let group = is_grouped.then(|| {
            let database = Arc::clone(&database);
            Group::new(opening.epoch, move || {
                begin(&database, Durability::Immediate)?.commit().map_err(failed)
            })
        });
        Ok(Redb { inner: Arc::new(Inner { group, database, durability }) })
    }

    fn create<R: Row>(&mut self, table: Table<R>, _: Access, _: u64) -> Result<(), Failed> {
        let transaction = begin(&self.inner.database, self.inner.durability)?;
        transaction.open_table(rows(table.name)).map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    fn session(&self) -> Result<Redb, Failed> {
        Ok(self.clone())
    }
}

impl Session for Redb {
    type Ticket = Option<Grouped>;

    fn read<Q: Query>(&mut self, query: &mut Q) -> Result<Committed<Q::Output, ()>, Failed> {
        let transaction = self.inner.database.begin_read().map_err(failed)?;
        let value = query.run(&mut Reader { transaction: &transaction, tables: Default::default() })?;
        Ok(Committed { value, attempts: 1, ticket: () })
    }

    fn write<P: Procedure>(
        &mut self,
        procedure: &mut P,
    ) -> Result<Committed<P::Output, Option<Grouped>>, Failed> {
        let Inner { database, group, durability } = &*self.inner;
        let transaction = begin(database, *durability)?;
        let value = procedure.run(&mut Writer { transaction: &transaction, tables: Default::default() })?;
        transaction.commit().map_err(failed)?;
        Ok(Committed { value, attempts: 1, ticket: group.as_ref().map(Group::commit) })
    }
}

/// A snapshot, with the tables that were opened in it.
struct Reader<'t> {
    transaction: &'t ReadTransaction,
    tables: [Option<ReadOnlyTable<u64, &'static [u8]>>; super::MOST_TABLES],
}

/// The writer, with the tables that were opened in it.
struct Writer<'t> {
    transaction: &'t WriteTransaction,
    tables: [Option<redb::Table<'t, u64, &'static [u8]>>; super::MOST_TABLES],
}

impl Reader<'_> {
    fn open<R: Row>(&mut self, table: Table<R>) -> Result<&ReadOnlyTable<u64, &'static [u8]>, Failed> {
        let open = &mut self.tables[table.number];
        match open {
            Some(open) => Ok(open),
            None => Ok(open.insert(self.transaction.open_table(rows(table.name)).map_err(failed)?)),
        }
    }
}

impl<'t> Writer<'t> {
    fn open<R: Row>(&mut self, table: Table<R>) -> Result<&mut redb::Table<'t, u64, &'static [u8]>, Failed> {
        let open = &mut self.tables[table.number];
        match open {
            Some(open) => Ok(open),
            None => Ok(open.insert(self.transaction.open_table(rows(table.name)).map_err(failed)?)),
        }
    }
}

fn get<R: Row>(table: &impl ReadableTable<u64, &'static [u8]>, key: u64) -> Result<Option<R>, Failed> {
    table.get(key).map_err(failed)?.map(|bytes| row(bytes.value())).transpose()
}

fn scan<R: Row>(
    table: &impl ReadableTable<u64, &'static [u8]>,
    first: u64,
    last: u64,
    mut see: impl FnMut(u64, &R),
) -> Result<u64, Failed> {
    let mut count = 0;
    for found in table.range(first..=last).map_err(failed)? {
        let (key, bytes) = found.map_err(failed)?;
        see(key.value(), &row(bytes.value())?);
        count += 1;
    }
    Ok(count)
}

impl Reading for Reader<'_> {
    fn get<R: Row>(&mut self, table: Table<R>, key: u64) -> Result<Option<R>, Failed> {
        get(self.open(table)?, key)
    }

    fn scan<R: Row>(
        &mut self,
        table: Table<R>,
        first: u64,
        last: u64,
        see: impl FnMut(u64, &R),
    ) -> Result<u64, Failed> {
        scan(self.open(table)?, first, last, see)
    }
}

impl Reading for Writer<'_> {
    fn get<R: Row>(&mut self, table: Table<R>, key: u64) -> Result<Option<R>, Failed> {
        get(self.open(table)?, key)
    }

    fn scan<R: Row>(
        &mut self,
        table: Table<R>,
        first: u64,
        last: u64,
        see: impl FnMut(u64, &R),
    ) -> Result<u64, Failed> {
        scan(self.open(table)?, first, last, see)
    }
}

impl Writing for Writer<'_> {
    fn put<R: Row>(&mut self, table: Table<R>, key: u64, row: &R) -> Result<(), Failed> {
        self.open(table)?.insert(key, row.as_bytes()).map_err(failed)?;
        Ok(())
    }

    fn update<R: Row, T>(
        &mut self,
        table: Table<R>,
        key: u64,
        change: impl FnOnce(&mut R) -> T,
    ) -> Result<T, Failed> {
        let found = self.open(table)?.get_mut(key).map_err(failed)?;
        let mut found = found.ok_or_else(|| Failed::missing(table, key))?;
        let mut row: R = row(found.value())?;
        let changed = change(&mut row);
        found.insert(row.as_bytes()).map_err(failed)?;
        Ok(changed)
    }
}
