//! SQLite: a B-tree in one file with a write-ahead log, one writer at a time, readers at snapshots. A connection for each session.
//!
//! Writers take turns by a lock of ours: SQLite's own way is to ask again after milliseconds. Checkpoints are rarer than by default, so
//! that rounds of seconds have as few of them as Trireme's.

use super::group::{Group, Grouped};
use super::{
    Access, Class, Committed, Failed, Opening, Procedure, Query, Reading, Row, Session, Settings, Store,
    Table, Writing, row,
};
use rusqlite::{Connection, OptionalExtension};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A database, by its file.
#[derive(Clone)]
pub struct Sqlite {
    inner: Arc<Inner>,
}

struct Inner {
    group: Option<Group>,
    path: PathBuf,
    /// For those who write.
    synchronous: &'static str,
    cache_bytes: usize,
    /// Who writes has it.
    writer: Arc<Mutex<()>>,
}

/// What a table's rows are read and written by.
struct Words {
    get: String,
    scan: String,
    put: String,
}

fn connect(path: &Path, synchronous: &str, cache_bytes: usize) -> Result<Connection, Failed> {
    let connection = Connection::open(path).map_err(Failed::because)?;
    let set = |name: &str, value: &str| connection.pragma_update(None, name, value).map_err(Failed::because);
    set("journal_mode", "WAL")?;
    set("synchronous", synchronous)?;
    // 256 MiB: as rarely as Trireme takes checkpoints, in pages of 4 KiB.
    set("wal_autocheckpoint", "65536")?;
    set("cache_size", &format!("-{}", cache_bytes >> 10))?;
    set("mmap_size", &cache_bytes.to_string())?;
    set("busy_timeout", "10000")?;
    connection.set_prepared_statement_cache_capacity(4 * super::MOST_TABLES);
    Ok(connection)
}

impl Store for Sqlite {
    type Session = Connected;

    const HAS_TICKETS: bool = true;
    const SETTINGS: Settings = Settings {
        memory: "memory file system; `journal_mode=WAL`, `synchronous=OFF`",
        buffered: "`journal_mode=WAL`, `synchronous=OFF`",
        buffered_in_flight: "the same: it has no commits that are written later",
        group: "`journal_mode=WAL`, `synchronous=FULL`",
        group_in_flight: "`synchronous=NORMAL`, and a small commit under `FULL` once an epoch, which syncs the log up to there",
    };

    fn open(opening: &Opening) -> Result<Sqlite, Failed> {
        let path = opening.folder.join("sqlite");
        let is_grouped = opening.class == Class::Group && opening.outstanding;
        let synchronous = match opening.class {
            Class::Memory | Class::Buffered => "OFF",
            Class::Group if is_grouped => "NORMAL",
            Class::Group => "FULL",
        };
        let writer = Arc::<Mutex<()>>::default();
        let group = match is_grouped {
            false => None,
            true => {
                let connection = connect(&path, "FULL", 1 << 20)?;
                execute(&connection, "CREATE TABLE synced (k INTEGER PRIMARY KEY, v INTEGER NOT NULL)")?;
                execute(&connection, "INSERT INTO synced VALUES (0, 0)")?;
                let writer = Arc::clone(&writer);
                Some(Group::new(opening.epoch, move || {
                    let _turn = writer.lock().unwrap_or_else(PoisonError::into_inner);
                    execute(&connection, "UPDATE synced SET v = v + 1")
                }))
            }
        };
        let cache_bytes = opening.cache_bytes;
        Ok(Sqlite { inner: Arc::new(Inner { group, path, synchronous, cache_bytes, writer }) })
    }

    fn create<R: Row>(&mut self, table: Table<R>, _: Access, _: u64) -> Result<(), Failed> {
        let connected = self.session()?;
        let create = format!("CREATE TABLE {} (k INTEGER PRIMARY KEY, v BLOB NOT NULL)", table.name);
        execute(&connected.connection, &create)
    }

    fn session(&self) -> Result<Connected, Failed> {
        let Inner { path, synchronous, cache_bytes, .. } = &*self.inner;
        let connection = connect(path, synchronous, *cache_bytes)?;
        Ok(Connected { connection, store: Arc::clone(&self.inner), words: Default::default() })
    }
}

fn execute(connection: &Connection, words: &str) -> Result<(), Failed> {
    connection.prepare_cached(words).and_then(|mut words| words.execute([])).map_err(Failed::because)?;
    Ok(())
}

/// A session's connection.
pub struct Connected {
    connection: Connection,
    store: Arc<Inner>,
    words: [Option<Words>; super::MOST_TABLES],
}

impl Connected {
    /// Runs a transaction between these words and a commit.
    fn between<T>(
        &mut self,
        begin: &str,
        run: impl FnOnce(&mut Transaction<'_>) -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        execute(&self.connection, begin)?;
        let ran = run(&mut Transaction { connection: &self.connection, words: &mut self.words });
        execute(&self.connection, if ran.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        ran
    }
}

impl Session for Connected {
    type Ticket = Option<Grouped>;

    fn read<Q: Query>(&mut self, query: &mut Q) -> Result<Committed<Q::Output, ()>, Failed> {
        let value = self.between("BEGIN", |transaction| query.run(transaction))?;
        Ok(Committed { value, attempts: 1, ticket: () })
    }

    fn write<P: Procedure>(
        &mut self,
        procedure: &mut P,
    ) -> Result<Committed<P::Output, Option<Grouped>>, Failed> {
        let store = Arc::clone(&self.store);
        let turn = store.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let value = self.between("BEGIN IMMEDIATE", |transaction| procedure.run(transaction))?;
        drop(turn);
        Ok(Committed { value, attempts: 1, ticket: store.group.as_ref().map(Group::commit) })
    }
}

struct Transaction<'s> {
    connection: &'s Connection,
    words: &'s mut [Option<Words>; super::MOST_TABLES],
}

impl Transaction<'_> {
    fn words<R: Row>(&mut self, table: Table<R>) -> &Words {
        let name = table.name;
        self.words[table.number].get_or_insert_with(|| Words {
            get: format!("SELECT v FROM {name} WHERE k = ?1"),
            scan: format!("SELECT k, v FROM {name} WHERE k BETWEEN ?1 AND ?2 ORDER BY k"),
            put: format!("INSERT OR REPLACE INTO {name} VALUES (?1, ?2)"),
        })
    }
}

/// Its integers have a sign.
fn signed(key: u64) -> i64 {
    i64::try_from(key).unwrap_or(i64::MAX)
}

impl Reading for Transaction<'_> {
    fn get<R: Row>(&mut self, table: Table<R>, key: u64) -> Result<Option<R>, Failed> {
        let connection = self.connection;
        let mut get = connection.prepare_cached(&self.words(table).get).map_err(Failed::because)?;
        let found = get.query_row([signed(key)], |found| Ok(found.get_ref(0)?.as_blob().map(row)?));
        found.optional().map_err(Failed::because)?.transpose()
    }

    fn scan<R: Row>(
        &mut self,
        table: Table<R>,
        first: u64,
        last: u64,
        mut see: impl FnMut(u64, &R),
    ) -> Result<u64, Failed> {
        let connection = self.connection;
        let mut scan = connection.prepare_cached(&self.words(table).scan).map_err(Failed::because)?;
        let mut found = scan.query([signed(first), signed(last)]).map_err(Failed::because)?;
        let mut count = 0;
        while let Some(next) = found.next().map_err(Failed::because)? {
            let key: i64 = next.get(0).map_err(Failed::because)?;
            let bytes = next.get_ref(1).map_err(Failed::because)?;
            see(key as u64, &row(bytes.as_blob().map_err(Failed::because)?)?);
            count += 1;
        }
        Ok(count)
    }
}

impl Writing for Transaction<'_> {
    fn put<R: Row>(&mut self, table: Table<R>, key: u64, row: &R) -> Result<(), Failed> {
        let connection = self.connection;
        let mut put = connection.prepare_cached(&self.words(table).put).map_err(Failed::because)?;
        put.execute((signed(key), row.as_bytes())).map_err(Failed::because)?;
        Ok(())
    }
}
