//! fjall: a log-structured merge tree with a journal; optimistic transactions, validated when they commit.
//!
//! Its deeper levels are compressed with LZ4 by default. They are not here: no other store compresses, and the caches hold everything.

use super::group::{Group, Grouped};
use super::{
    Access, Class, Committed, Failed, Opening, Procedure, Query, Reading, Row, Session, Settings, Store,
    Table, Writing, row,
};
use fjall::config::CompressionPolicy;
use fjall::{
    KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace, OptimisticWriteTx, PersistMode,
    Readable,
};
use std::sync::Arc;

/// A database.
#[derive(Clone)]
pub struct Fjall {
    inner: Arc<Inner>,
}

struct Inner {
    /// Before the database, which its thread uses.
    group: Option<Group>,
    database: OptimisticTxDatabase,
    tables: Vec<OptimisticTxKeyspace>,
    /// For each commit; `None`: the journal is not flushed.
    persist: Option<PersistMode>,
}

impl Store for Fjall {
    type Session = Fjall;

    const HAS_TICKETS: bool = true;
    const SETTINGS: Settings = Settings {
        memory: "memory file system; `manual_journal_persist`: no commit flushes the journal",
        buffered: "`PersistMode::Buffer`: each commit flushes the journal to the system",
        buffered_in_flight: "`manual_journal_persist`, and `persist(Buffer)` once an epoch",
        group: "`PersistMode::SyncData` for each commit",
        group_in_flight: "`manual_journal_persist`, and `persist(SyncData)` once an epoch",
    };

    fn open(opening: &Opening) -> Result<Fjall, Failed> {
        let mode = match opening.class {
            Class::Memory => None,
            Class::Buffered => Some(PersistMode::Buffer),
            Class::Group => Some(PersistMode::SyncData),
        };
        // Once an epoch, or at each commit.
        let (grouped, persist) = if opening.outstanding { (mode, None) } else { (None, mode) };
        let database = OptimisticTxDatabase::builder(opening.folder.join("fjall"))
            .cache_size(opening.cache_bytes as u64)
            .manual_journal_persist(persist.is_none())
            .max_journaling_size(1 << 30)
            .open()
            .map_err(Failed::because)?;
        let group = grouped.map(|mode| {
            let database = database.clone();
            Group::new(opening.epoch, move || database.persist(mode).map_err(Failed::because))
        });
        Ok(Fjall { inner: Arc::new(Inner { group, database, tables: Vec::new(), persist }) })
    }

    fn create<R: Row>(&mut self, table: Table<R>, _: Access, _: u64) -> Result<(), Failed> {
        let inner = Arc::get_mut(&mut self.inner).expect("tables are made before there are sessions");
        assert_eq!(inner.tables.len(), table.number, "tables are made in the order of their numbers");
        let options = || {
            KeyspaceCreateOptions::default()
                .expect_point_read_hits(true)
                .data_block_compression_policy(CompressionPolicy::disabled())
        };
        inner.tables.push(inner.database.keyspace(table.name, options).map_err(Failed::because)?);
        Ok(())
    }

    fn session(&self) -> Result<Fjall, Failed> {
        Ok(self.clone())
    }
}

impl Session for Fjall {
    type Ticket = Option<Grouped>;

    fn read<Q: Query>(&mut self, query: &mut Q) -> Result<Committed<Q::Output, ()>, Failed> {
        let snapshot = self.inner.database.read_tx();
        let value = query.run(&mut Transaction { inner: snapshot, tables: &self.inner.tables })?;
        Ok(Committed { value, attempts: 1, ticket: () })
    }

    fn write<P: Procedure>(
        &mut self,
        procedure: &mut P,
    ) -> Result<Committed<P::Output, Option<Grouped>>, Failed> {
        let Inner { group, database, tables, persist } = &*self.inner;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let inner = database.write_tx().map_err(Failed::because)?.durability(*persist);
            let mut transaction = Transaction { inner, tables };
            let value = procedure.run(&mut transaction)?;
            if transaction.inner.commit().map_err(Failed::because)?.is_ok() {
                let ticket = group.as_ref().map(Group::commit);
                return Ok(Committed { value, attempts, ticket });
            }
            super::back_off(attempts);
        }
    }
}

/// A snapshot, or a transaction that writes.
struct Transaction<'s, T> {
    inner: T,
    tables: &'s [OptimisticTxKeyspace],
}

impl<T: Readable> Reading for Transaction<'_, T> {
    fn get<R: Row>(&mut self, table: Table<R>, key: u64) -> Result<Option<R>, Failed> {
        let found = self.inner.get(&self.tables[table.number], key.to_be_bytes()).map_err(Failed::because)?;
        found.map(|bytes| row(&bytes)).transpose()
    }

    fn scan<R: Row>(
        &mut self,
        table: Table<R>,
        first: u64,
        last: u64,
        mut see: impl FnMut(u64, &R),
    ) -> Result<u64, Failed> {
        let mut count = 0;
        let keys = first.to_be_bytes()..=last.to_be_bytes();
        for found in self.inner.range(&self.tables[table.number], keys) {
            let (key, bytes) = found.into_inner().map_err(Failed::because)?;
            let key = key.as_ref().try_into().map_err(Failed::because)?;
            see(u64::from_be_bytes(key), &row(&bytes)?);
            count += 1;
        }
        Ok(count)
    }
}

impl Writing for Transaction<'_, OptimisticWriteTx> {
    fn put<R: Row>(&mut self, table: Table<R>, key: u64, row: &R) -> Result<(), Failed> {
        self.inner.insert(&self.tables[table.number], key.to_be_bytes(), row.as_bytes());
        Ok(())
    }

    fn update<R: Row, T>(
        &mut self,
        table: Table<R>,
        key: u64,
        change: impl FnOnce(&mut R) -> T,
    ) -> Result<T, Failed> {
        let mut changed = Err(Failed::missing(table, key));
        let fetched = self.inner.fetch_update(&self.tables[table.number], key.to_be_bytes(), |found| {
            let mut row: R = match row(found?) {
                Ok(row) => row,
                Err(failure) => {
                    changed = Err(failure);
                    return None;
                }
            };
            changed = Ok(change(&mut row));
            Some(row.as_bytes().into())
        });
        fetched.map_err(Failed::because)?;
        changed
    }
}
