//! Trireme: tables of rows of fixed types, in the order of their keys, or hashed where they are used by key only; with transactions that
//! tell their keys ahead where they know them (`Transaction::prefetch`), or do not.

use super::{
    Access, Class, Committed, Failed, Opening, Procedure, Query, Reading, Row, Session, Settings, Store,
    Table, Ticket, Writing, row,
};
use std::any::Any;
use std::sync::Arc;
use trireme::{Database, Durability, Error, OpenTable};

/// A table that is open, of whichever rows.
type Handle = Box<dyn Any + Send + Sync>;

/// A database; with `HASHED`, tables that are used by key only are hashed; with `PREFETCH`, keys are told ahead.
#[derive(Clone)]
pub struct Trireme<const HASHED: bool, const PREFETCH: bool> {
    database: Database,
    tables: Arc<Vec<Handle>>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        if error.is_retryable() { Failed::Conflict } else { Failed::because(error) }
    }
}

impl<const HASHED: bool, const PREFETCH: bool> Store for Trireme<HASHED, PREFETCH> {
    type Session = Trireme<HASHED, PREFETCH>;

    const HAS_TICKETS: bool = true;
    const SETTINGS: Settings = Settings {
        memory: "`Database::in_memory`",
        buffered: "`Durability::Buffered`: who waits for a commit writes its epoch",
        buffered_in_flight: "`Durability::Buffered`: tickets, epochs written by the logger",
        group: "`Durability::Sync`: an epoch ends early for a commit that is waited for",
        group_in_flight: "`Durability::Group`: tickets, epochs synced by the logger",
    };

    fn open(opening: &Opening) -> Result<Self, Failed> {
        let durability = match opening.class {
            Class::Memory => Durability::None,
            Class::Buffered => Durability::Buffered,
            Class::Group if opening.outstanding => Durability::Group,
            // Its epoch ends early for a commit that somebody waits for.
            Class::Group => Durability::Sync,
        };
        let builder = Database::builder().durability(durability).epoch(opening.epoch);
        let database = match opening.class {
            Class::Memory => builder.in_memory()?,
            Class::Buffered | Class::Group => builder.open(&opening.folder)?,
        };
        Ok(Trireme { database, tables: Arc::default() })
    }

    fn create<R: Row>(&mut self, table: Table<R>, access: Access, rows: u64) -> Result<(), Failed> {
        let ordered = trireme::Table::<u64, R>::new(table.name);
        let is_hashed = HASHED && access == Access::ByKey;
        let open = self.database.table(if is_hashed { ordered.hashed(rows) } else { ordered })?;
        let tables = Arc::get_mut(&mut self.tables).expect("tables are made before there are sessions");
        assert_eq!(tables.len(), table.number, "tables are made in the order of their numbers");
        tables.push(Box::new(open));
        Ok(())
    }

    fn session(&self) -> Result<Self::Session, Failed> {
        Ok(self.clone())
    }
}

impl<const HASHED: bool, const PREFETCH: bool> Session for Trireme<HASHED, PREFETCH> {
    type Ticket = trireme::Ticket;

    fn read<Q: Query>(&mut self, query: &mut Q) -> Result<Committed<Q::Output, ()>, Failed> {
        let mut attempts = 0;
        let tables = &self.tables;
        let value = self.database.transact(|inner| {
            attempts += 1;
            query.run(&mut Transaction::<PREFETCH> { inner, tables })
        })?;
        Ok(Committed { value, attempts, ticket: () })
    }

    fn write<P: Procedure>(
        &mut self,
        procedure: &mut P,
    ) -> Result<Committed<P::Output, trireme::Ticket>, Failed> {
        let mut attempts = 0;
        let tables = &self.tables;
        let (value, ticket) = self.database.submit(|inner| {
            attempts += 1;
            procedure.run(&mut Transaction::<PREFETCH> { inner, tables })
        })?;
        Ok(Committed { value, attempts, ticket })
    }
}

impl Ticket for trireme::Ticket {
    fn counts(&self) -> bool {
        self.is_durable()
    }

    fn wait(self) -> Result<(), Failed> {
        Ok(trireme::Ticket::wait(&self)?)
    }
}

/// A transaction, with the tables that it can name.
struct Transaction<'s, 'db, const PREFETCH: bool> {
    inner: &'s mut trireme::Transaction<'db>,
    tables: &'s [Handle],
}

impl<const PREFETCH: bool> Transaction<'_, '_, PREFETCH> {
    fn open<R: Row>(&self, table: Table<R>) -> OpenTable<u64, R> {
        *self.tables[table.number].downcast_ref().expect("a table is made with the type of its rows")
    }
}

impl<const PREFETCH: bool> Reading for Transaction<'_, '_, PREFETCH> {
    fn prefetch<R: Row>(
        &mut self,
        table: Table<R>,
        keys: impl IntoIterator<Item = u64>,
    ) -> Result<(), Failed> {
        if PREFETCH {
            let table = self.open(table);
            self.inner.prefetch(table, keys)?;
        }
        Ok(())
    }

    fn get<R: Row>(&mut self, table: Table<R>, key: u64) -> Result<Option<R>, Failed> {
        let table = self.open(table);
        Ok(self.inner.get(table, key)?)
    }

    fn scan<R: Row>(
        &mut self,
        table: Table<R>,
        first: u64,
        last: u64,
        mut see: impl FnMut(u64, &R),
    ) -> Result<u64, Failed> {
        let table = self.open(table);
        let mut failed = None;
        let count = self.inner.scan_with(table, first..=last, usize::MAX, |key, bytes| match row(bytes) {
            Ok(row) => see(key, &row),
            Err(failure) => failed = Some(failure),
        })?;
        failed.map_or(Ok(count as u64), Err)
    }
}

impl<const PREFETCH: bool> Writing for Transaction<'_, '_, PREFETCH> {
    fn put<R: Row>(&mut self, table: Table<R>, key: u64, row: &R) -> Result<(), Failed> {
        let table = self.open(table);
        Ok(self.inner.upsert(table, key, row)?)
    }

    fn update<R: Row, T>(
        &mut self,
        table: Table<R>,
        key: u64,
        change: impl FnOnce(&mut R) -> T,
    ) -> Result<T, Failed> {
        let open = self.open(table);
        self.inner.update(open, key, change)?.ok_or_else(|| Failed::missing(table, key))
    }

    fn insert<R: Row>(&mut self, table: Table<R>, key: u64, row: &R) -> Result<(), Failed> {
        let table = self.open(table);
        Ok(self.inner.insert(table, key, row)?)
    }
}
