//! LMDB, by heed: a copy-on-write B-tree in a mapped file, one writer at a time, readers at snapshots without a latch.
//!
//! Keys are the machine's own integers (`MDB_INTEGERKEY`), compared as such, and are lent to LMDB as they are.

use super::{
    Access, Class, Committed, Failed, Opening, Procedure, Query, Reading, Row, Session, Settings, Store,
    Table, Writing, row,
};
use heed::types::Bytes;
use heed::{
    BoxedError, BytesDecode, BytesEncode, CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions,
    IntegerComparator, RoTxn, RwTxn, WithTls,
};
use std::borrow::Cow;
use std::sync::Arc;
use zerocopy::IntoBytes;

type Rows = Database<'static, Key, Bytes, IntegerComparator>;

/// An integer as it is in memory.
enum Key {}

impl<'a> BytesEncode<'a> for Key {
    type EItem = u64;

    fn bytes_encode(key: &'a u64) -> Result<Cow<'a, [u8]>, BoxedError> {
        Ok(Cow::Borrowed(key.as_bytes()))
    }
}

impl BytesDecode<'_> for Key {
    type DItem = u64;

    fn bytes_decode(bytes: &[u8]) -> Result<u64, BoxedError> {
        Ok(u64::from_ne_bytes(bytes.try_into()?))
    }
}

/// Address space for the file.
const MAP_BYTES: usize = 1 << 38;

/// An environment.
#[derive(Clone)]
pub struct Heed {
    environment: Env,
    tables: Arc<Vec<Rows>>,
}

impl Store for Heed {
    type Session = Heed;

    const HAS_TICKETS: bool = false;
    const SETTINGS: Settings = Settings {
        memory: "memory file system; `WRITE_MAP`, `NO_SYNC`",
        buffered: "`WRITE_MAP`, `NO_SYNC`: what is in the mapping survives the process",
        buffered_in_flight: "the same: a commit makes no system call",
        group: "no flags: each commit is synced",
        group_in_flight: "the same with more clients: after `NO_SYNC` and a sync later, the end of the machine may corrupt the file",
    };

    fn open(opening: &Opening) -> Result<Heed, Failed> {
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP_BYTES).max_dbs(super::MOST_TABLES as u32).max_readers(1024);
        if opening.class != Class::Group {
            // SAFETY: with these flags a file whose system has crashed may be corrupt. The folder was empty, and the file is removed
            // with it: none is opened again. No pointer into the mapping is written through but by LMDB.
            unsafe { options.flags(EnvFlags::WRITE_MAP | EnvFlags::NO_SYNC) };
        }
        // SAFETY: nobody else has the folder, so the file is changed by this environment only.
        let environment = unsafe { options.open(&opening.folder) }.map_err(Failed::because)?;
        Ok(Heed { environment, tables: Arc::default() })
    }

    fn create<R: Row>(&mut self, table: Table<R>, _: Access, _: u64) -> Result<(), Failed> {
        let transaction = self.environment.write_txn().map_err(Failed::because)?;
        let created = self.environment.create_databases_and_commit(transaction, |opener, transaction| {
            let options = opener.database_options().types::<Key, Bytes>();
            let created = options.key_comparator::<IntegerComparator>().name(table.name).create(transaction);
            created.map(CommitOrAbort::<_, ()>::Commit)
        });
        let rows = created.map_err(Failed::because)?.unwrap_commit();
        let tables = Arc::get_mut(&mut self.tables).expect("tables are made before there are sessions");
        assert_eq!(tables.len(), table.number, "tables are made in the order of their numbers");
        tables.push(rows);
        Ok(())
    }

    fn session(&self) -> Result<Heed, Failed> {
        Ok(self.clone())
    }
}

impl Session for Heed {
    type Ticket = ();

    fn read<Q: Query>(&mut self, query: &mut Q) -> Result<Committed<Q::Output, ()>, Failed> {
        let inner = self.environment.read_txn().map_err(Failed::because)?;
        let value = query.run(&mut Transaction { inner, tables: &self.tables })?;
        Ok(Committed { value, attempts: 1, ticket: () })
    }

    fn write<P: Procedure>(&mut self, procedure: &mut P) -> Result<Committed<P::Output, ()>, Failed> {
        let inner = self.environment.write_txn().map_err(Failed::because)?;
        let mut transaction = Transaction { inner, tables: &self.tables };
        let value = procedure.run(&mut transaction)?;
        transaction.inner.commit().map_err(Failed::because)?;
        Ok(Committed { value, attempts: 1, ticket: () })
    }
}

/// A snapshot, or the writer.
struct Transaction<'s, T> {
    inner: T,
    tables: &'s [Rows],
}

/// What can be read from.
trait Snapshot {
    fn snapshot(&self) -> &RoTxn<'_>;
}

impl Snapshot for RoTxn<'_, WithTls> {
    fn snapshot(&self) -> &RoTxn<'_> {
        self
    }
}

impl Snapshot for RwTxn<'_> {
    fn snapshot(&self) -> &RoTxn<'_> {
        self
    }
}

impl<T: Snapshot> Reading for Transaction<'_, T> {
    fn get<R: Row>(&mut self, table: Table<R>, key: u64) -> Result<Option<R>, Failed> {
        let found = self.tables[table.number].get(self.inner.snapshot(), &key).map_err(Failed::because)?;
        found.map(row).transpose()
    }

    fn scan<R: Row>(
        &mut self,
        table: Table<R>,
        first: u64,
        last: u64,
        mut see: impl FnMut(u64, &R),
    ) -> Result<u64, Failed> {
        let mut count = 0;
        let found = self.tables[table.number].range(self.inner.snapshot(), &(first..=last));
        for found in found.map_err(Failed::because)? {
            let (key, bytes) = found.map_err(Failed::because)?;
            see(key, &row(bytes)?);
            count += 1;
        }
        Ok(count)
    }
}

impl Writing for Transaction<'_, RwTxn<'_>> {
    fn put<R: Row>(&mut self, table: Table<R>, key: u64, row: &R) -> Result<(), Failed> {
        self.tables[table.number].put(&mut self.inner, &key, row.as_bytes()).map_err(Failed::because)
    }

    fn update<R: Row, T>(
        &mut self,
        table: Table<R>,
        key: u64,
        change: impl FnOnce(&mut R) -> T,
    ) -> Result<T, Failed> {
        let cursor = self.tables[table.number].range_mut(&mut self.inner, &(key..));
        let mut cursor = cursor.map_err(Failed::because)?;
        let found = cursor.next().transpose().map_err(Failed::because)?;
        let (_, bytes) =
            found.filter(|&(found, _)| found == key).ok_or_else(|| Failed::missing(table, key))?;
        let mut row: R = row(bytes)?;
        let changed = change(&mut row);
        // SAFETY: the row is a copy, and nothing that was lent from the page is used again. The cursor is at the key that is given.
        unsafe { cursor.put_current(&key, row.as_bytes()) }.map_err(Failed::because)?;
        Ok(changed)
    }
}
