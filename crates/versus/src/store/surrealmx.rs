//! SurrealMX: versions of rows under an adaptive radix tree in memory; optimistic transactions, validated when they commit.

use super::{
    Access, Class, Committed, Failed, Opening, Procedure, Query, Reading, Row, Session, Settings, Store,
    Table, Writing, row,
};
use std::sync::Arc;
use surrealmx::{AolMode, Database, DatabaseOptions, Error, FsyncMode, PersistenceOptions};

/// A database.
#[derive(Clone)]
pub struct SurrealMx {
    database: Arc<Database>,
}

fn failed(error: Error) -> Failed {
    match error {
        Error::KeyReadConflict | Error::KeyWriteConflict => Failed::Conflict,
        error => Failed::because(error),
    }
}

/// There is one table: a key begins with the number of its own.
fn key<R>(table: Table<R>, key: u64) -> [u8; 9] {
    let mut bytes = [table.number as u8; 9];
    bytes[1..].copy_from_slice(&key.to_be_bytes());
    bytes
}

impl Store for SurrealMx {
    type Session = SurrealMx;

    const HAS_TICKETS: bool = false;
    const SETTINGS: Settings = Settings {
        memory: "no persistence",
        buffered: "`AolMode::SynchronousOnCommit`, `FsyncMode::Never`",
        buffered_in_flight: "the same: `AolMode::AsynchronousAfterCommit` does not tell when a commit is written",
        group: "`AolMode::SynchronousOnCommit`, `FsyncMode::EveryAppend`",
        group_in_flight: "the same with more clients: it syncs commits of several threads together",
    };

    fn open(opening: &Opening) -> Result<SurrealMx, Failed> {
        let options = DatabaseOptions::default();
        let fsync = match opening.class {
            Class::Memory => None,
            Class::Buffered => Some(FsyncMode::Never),
            Class::Group => Some(FsyncMode::EveryAppend),
        };
        let database = match fsync {
            None => Database::new_with_options(options),
            Some(fsync) => {
                let persistence = PersistenceOptions::new(&opening.folder)
                    .with_aol_mode(AolMode::SynchronousOnCommit)
                    .with_fsync_mode(fsync);
                Database::new_with_persistence(options, persistence).map_err(Failed::because)?
            }
        };
        Ok(SurrealMx { database: Arc::new(database) })
    }

    fn create<R: Row>(&mut self, _: Table<R>, _: Access, _: u64) -> Result<(), Failed> {
        Ok(())
    }

    fn session(&self) -> Result<SurrealMx, Failed> {
        Ok(self.clone())
    }
}

impl Session for SurrealMx {
    type Ticket = ();

    fn read<Q: Query>(&mut self, query: &mut Q) -> Result<Committed<Q::Output, ()>, Failed> {
        let mut transaction = Transaction { inner: self.database.transaction(false) };
        let value = query.run(&mut transaction)?;
        transaction.inner.cancel().map_err(failed)?;
        Ok(Committed { value, attempts: 1, ticket: () })
    }

    fn write<P: Procedure>(&mut self, procedure: &mut P) -> Result<Committed<P::Output, ()>, Failed> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut transaction = Transaction { inner: self.database.transaction(true) };
            let ran = procedure.run(&mut transaction);
            match ran.and_then(|value| transaction.inner.commit().map_err(failed).map(|()| value)) {
                Ok(value) => return Ok(Committed { value, attempts, ticket: () }),
                Err(Failed::Conflict) => super::back_off(attempts),
                Err(failure) => return Err(failure),
            }
        }
    }
}

struct Transaction {
    inner: surrealmx::Transaction,
}

impl Reading for Transaction {
    fn get<R: Row>(&mut self, table: Table<R>, number: u64) -> Result<Option<R>, Failed> {
        self.inner.with_value(key(table, number), row).map_err(failed)?.transpose()
    }

    fn scan<R: Row>(
        &mut self,
        table: Table<R>,
        first: u64,
        last: u64,
        mut see: impl FnMut(u64, &R),
    ) -> Result<u64, Failed> {
        let (from, to) = (key(table, first), key(table, last.saturating_add(1)));
        let (mut count, mut failure) = (0, None);
        let seen = |found: &[u8], bytes: &[u8]| {
            let number = u64::from_be_bytes(found[1..].try_into().map_err(Failed::because)?);
            see(number, &row(bytes)?);
            Ok(())
        };
        let mut seen = seen;
        let scanned = self.inner.scan_with(from..to, None, None, |found, bytes| {
            count += 1;
            failure = seen(found.as_ref(), bytes).err();
            failure.is_none()
        });
        scanned.map_err(failed)?;
        failure.map_or(Ok(count), Err)
    }
}

impl Writing for Transaction {
    fn put<R: Row>(&mut self, table: Table<R>, number: u64, row: &R) -> Result<(), Failed> {
        self.inner.set(key(table, number), row.as_bytes()).map_err(failed)
    }
}
