//! A database: a store of the engine that stays open, with the threads that serve it.

use crate::builder::Builder;
use crate::error::Error;
use crate::key::Key;
use crate::pool::Use;
use crate::registry::{Registered, SEPARATOR, UNFINISHED, indexing};
use crate::retry::RetryPolicy;
use crate::servants::Servants;
use crate::snapshot::Snapshot;
use crate::stats::Stats;
use crate::store::{Shared, Store};
use crate::table::{Index, OpenIndex, OpenTable, Table, TableInfo};
use crate::ticket::{Durable, Ticket};
use crate::transaction::Transaction;
use crate::value::{Row, Value};
use crate::verify::Verified;
use contract::{Backup, CheckpointReport, Engine as _, Indexing, Recovered, RowLength, TableId};
use engine::embedded::{Embedded, NewTable, OpenError, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often somebody looks whether a checkpoint was taken.
const POLL: Duration = Duration::from_millis(1);

/// A main-memory database: serializable transactions from any thread, durable if it has a folder.
///
/// A handle; clones are handles of the same database, which is closed when the last one is dropped.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

struct Inner {
    /// Of this process's databases.
    number: u64,
    shared: Arc<Shared>,
    servants: Arc<Servants>,
    durable: Arc<Durable>,
    retry: RetryPolicy,
    memory_limit: Option<u64>,
    recovered: Option<Recovered>,
    /// Of the log.
    folders: Vec<PathBuf>,
}

impl Database {
    /// The database in a folder, which is made if it is not there, with all that the builder has by default: durable by groups of
    /// transactions. A folder with a log of something else is refused, and left as it is.
    pub fn open(folder: impl AsRef<Path>) -> Result<Database, Error> {
        Database::builder().open(folder)
    }

    /// A database that is gone when its last handle is.
    pub fn in_memory() -> Result<Database, Error> {
        Database::builder().in_memory()
    }

    /// What a database is opened with.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn open_with(
        options: &OpenOptions,
        retry: RetryPolicy,
        memory_limit: Option<u64>,
    ) -> Result<Database, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (embedded, recovered) = Embedded::open(options)?;
        let durable = Arc::new(Durable::new(options.log.as_ref(), embedded.services()));
        let folders = options.log.as_ref().map_or(Vec::new(), |log| log.folders.clone());
        let shared = Arc::new(Shared::new(number, options.slots, embedded, &durable));
        let servants = Arc::new(Servants::engage(&shared, &durable));
        let inner = Inner { number, shared, servants, durable, retry, memory_limit, recovered, folders };
        let database = Database { inner: Arc::new(inner) };
        database.change(Store::drop_unfinished)?;
        database.shorten_log(options);
        Ok(database)
    }

    /// Opens a table, and makes it if it is not there; [`Error::Schema`] if it is there, and of keys of another type or values of another kind:
    /// bytes, serialized, or rows of so many bytes. What fields a row has, or which type was serialized, is not remembered. [`Error::Name`] if the
    /// name has a `/`.
    pub fn table<K: Key, V: Value>(&self, table: Table<K, V>) -> Result<OpenTable<K, V>, Error> {
        let name = table.name();
        if name.contains(SEPARATOR) {
            return Err(Error::Name { table: name.to_owned() });
        }
        let schema = table.schema();
        let there = self.stored(name, &schema)?;
        let id = match there {
            Some(id) => id,
            None => self.change(|store| match store.stored(name, &schema)? {
                Some(id) => Ok(id),
                None => {
                    let (row_bytes, length) = match V::ROW {
                        Row::Fixed(bytes) => (bytes, RowLength::Fixed),
                        Row::Varying => (crate::MAX_VALUE_BYTES, RowLength::Varying),
                    };
                    let indexing = indexing::<K>(table.hashed.is_some());
                    let capacity = table.hashed.unwrap_or(0);
                    store.create(&NewTable { name, row_bytes, length, indexing, capacity, schema: &schema })
                }
            })?,
        };
        Ok(OpenTable::new(id, self.inner.number))
    }

    /// Opens an index of a table, and makes and fills it if it is not there. From then on it is kept with the table.
    ///
    /// A table that has an index refuses to be written to until that is open.
    pub fn index<K: Key, V: Value, I: Key>(
        &self,
        index: Index<K, V, I>,
    ) -> Result<OpenIndex<K, V, I>, Error> {
        let table = self.table(index.table)?;
        let (name, schema) = (index.full_name(), index.schema());
        let id = self.change(|store| {
            store.drop_unfinished()?;
            let id = match store.stored(&name, &schema)? {
                Some(id) => id,
                None => {
                    let entries = Indexing::OrderedBytes { most: crate::MAX_KEY_BYTES };
                    let unfinished = format!("{UNFINISHED}{schema}");
                    let id = store.create(&NewTable {
                        name: &name,
                        row_bytes: 0,
                        length: RowLength::Fixed,
                        indexing: entries,
                        capacity: 0,
                        schema: &unfinished,
                    })?;
                    Arc::make_mut(&mut store.registry).keep(id, index);
                    let filled = store.fill(id).and_then(|()| store.finish(id, &schema));
                    if let Err(error) = filled {
                        // If it cannot be dropped now, it is when the database is opened again.
                        let _ = store.drop(id);
                        return Err(error);
                    }
                    id
                }
            };
            Arc::make_mut(&mut store.registry).keep(id, index);
            Ok(id)
        })?;
        Ok(OpenIndex::new(id, table))
    }

    /// Drops a table with its rows and indexes; durable when this returns, with all that has committed before.
    pub fn drop_table(&self, name: &str) -> Result<(), Error> {
        self.change(|store| {
            let no_table = || Error::NoTable { table: name.to_owned() };
            let (id, table) = store.registry.find(name).ok_or_else(no_table)?;
            let indexes: Vec<TableId> = table.indexes.iter().map(|index| index.id).collect();
            indexes.into_iter().chain([id]).try_for_each(|id| store.drop(id))
        })
    }

    /// Drops an index.
    pub fn drop_index<K: Key, V: Value, I: Key>(&self, index: Index<K, V, I>) -> Result<(), Error> {
        self.change(|store| {
            let name = index.full_name();
            let found = store.registry.find(&name).map(|(id, _)| id);
            store.drop(found.ok_or(Error::NoTable { table: name })?)
        })
    }

    /// Its tables and indexes.
    pub fn tables(&self) -> Vec<TableInfo> {
        let info = |(_, table): (TableId, &Registered)| TableInfo {
            name: table.name.clone(),
            schema: table.schema.clone(),
            is_index: table.index_of.is_some(),
        };
        self.inner.shared.store().registry.iter().map(info).collect()
    }

    /// Runs a transaction until it commits, and if it has written, waits until that is durable; what the closure answered.
    ///
    /// **The closure is run again** whenever the transaction is aborted, because it met another one: it must have no effect but on the
    /// database. It hands errors of operations up with `?`. If it answers an error of its own, the transaction is undone, and the
    /// error is answered. [`RetryPolicy`] says how often it is run.
    ///
    /// A thread has one transaction of a database at a time: within another one it is refused ([`Database::begin`]).
    ///
    /// A transaction that has only read does not wait: what it saw may be durable a moment later. [`Database::submit`] gives a ticket for
    /// that.
    pub fn transact<T, E: From<Error>>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let (value, written) =
            self.run(body, |committed, epoch| epoch.filter(|_| committed.has_written()))?;
        if let Some(epoch) = written {
            self.inner.durable.wait(epoch)?;
        }
        Ok(value)
    }

    /// As [`Database::transact`], and does not wait until it is durable: the ticket says when it is.
    pub fn submit<T, E: From<Error>>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<(T, Ticket), E> {
        self.run(body, |committed, epoch| committed.ticket(epoch))
    }

    /// What the closure answered, and what `then` makes of the transaction that has committed, and of the epoch with which that is durable, if
    /// the database is logged.
    fn run<T, E: From<Error>, R>(
        &self,
        mut body: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
        then: impl FnOnce(&Transaction<'_>, Option<u64>) -> R,
    ) -> Result<(T, R), E> {
        let policy = self.inner.retry;
        let began = policy.deadline.map(|_| Instant::now());
        let mut transaction = self.transaction()?;
        let mut attempts = 1;
        loop {
            transaction.begin(attempts == 1);
            let ended = match body(&mut transaction) {
                Ok(value) => match transaction.finish() {
                    Ok(epoch) => return Ok((value, then(&transaction, epoch))),
                    Err(error) => Err(error.into()),
                },
                Err(error) => {
                    transaction.refuse();
                    Err(error)
                }
            };
            let Some(reason) = transaction.aborted() else { return ended };
            transaction.undo();
            let elapsed = || began.map(|began| began.elapsed()).unwrap_or_default();
            if !policy.allows_another(attempts, elapsed) {
                return Err(Error::GaveUp { attempts, after: elapsed(), reason }.into());
            }
            transaction.back_off(attempts);
            attempts = attempts.saturating_add(1);
        }
    }

    /// Begins a transaction, to be committed by hand. Who is aborted has to begin again. What it has seen counts only once it has committed: until
    /// then it may be of no one time. Each counts as the first attempt: under protocols that learn from one for the next ([`ProtocolName::Vll`](crate::ProtocolName::Vll)), or
    /// give way to who has tried for long, [`Database::transact`] gets on better.
    ///
    /// A thread has one transaction of a database at a time, with [`Database::transact`] and [`Database::submit`], too: another one could
    /// wait for it, or be aborted by it, for ever. It is refused ([`Error::InTransaction`]).
    pub fn begin(&self) -> Result<Transaction<'_>, Error> {
        let mut transaction = self.transaction()?;
        transaction.begin(true);
        Ok(transaction)
    }

    /// A transaction that has not begun.
    fn transaction(&self) -> Result<Transaction<'_>, Error> {
        Ok(Transaction::new(self, self.inner.shared.seat(Use::Transaction)?))
    }

    /// What the database held some epochs ago, to be read for as long as one likes. [`Error::NoSnapshots`] if it was opened without
    /// ([`Builder::snapshots`]), or its protocol has none. It takes one of [`Builder::slots`]: a thread that has one, and of a snapshot, may go
    /// on with transactions and other snapshots as long as there are others that are free ([`Error::NoSlot`]).
    pub fn snapshot(&self) -> Result<Snapshot<'_>, Error> {
        Snapshot::begin(self.inner.number, self.inner.shared.seat(Use::Snapshot)?)
    }

    /// Everything that committed in this epoch or before is durable ([`Ticket::epoch`]); 0 in memory.
    pub fn durable_epoch(&self) -> u64 {
        self.inner.durable.epoch()
    }

    /// What was recovered when it was opened; `None`: it was new.
    pub fn recovered(&self) -> Option<&Recovered> {
        self.inner.recovered.as_ref()
    }

    /// What it has done since it was opened, and what it has.
    pub fn stats(&self) -> Stats {
        let (commits, roll_backs, aborts) = self.inner.shared.pool.counts();
        let store = self.inner.shared.store();
        let (memory_bytes, log) =
            (store.embedded_ref().memory_bytes(), store.embedded_ref().services().log_report());
        Stats { commits, roll_backs, aborts, memory_bytes, log }
    }

    /// Holds every index against its table, and reads the log, while no transaction runs; an error names what is wrong.
    pub fn verify(&self) -> Result<Verified, Error> {
        let mut verified = self.change(Store::verify)?;
        if !self.inner.folders.is_empty() {
            // What is being written meanwhile may look torn.
            let (_, ticket) = self.submit(|_| Ok::<_, Error>(()))?;
            ticket.wait()?;
            let services = self.inner.shared.store().embedded_ref().services();
            let inspected =
                services.while_no_file_goes(|| engine::ThisEngine::inspect_log(&self.inner.folders));
            let inspected = inspected.map_err(OpenError::from)?;
            for file in inspected.files {
                verified.log_bytes += file.bytes;
                verified.torn.extend(file.wrong.map(|(at, _)| (file.path, at)));
            }
        }
        Ok(verified)
    }

    /// Takes a checkpoint: writes all rows beside transactions that go on, so that the log before them can be removed; it was taken when
    /// this returns. By itself the database takes one whenever the log has grown long ([`Builder::checkpoint_after`]).
    pub fn checkpoint(&self) -> Result<CheckpointReport, Error> {
        if self.inner.shared.pool.has_open() {
            return Err(Error::InTransaction);
        }
        let services = self.inner.shared.store().embedded_ref().services();
        let Some(wanted) = services.want_checkpoint() else { return Err(Error::InMemory) };
        while services.checkpoints_taken() < wanted {
            if let Some(why) = services.failure() {
                return Err(Error::LogStopped { why });
            }
            thread::sleep(POLL);
        }
        let report = services.log_report().and_then(|report| report.last_checkpoint);
        Ok(report.expect("one was taken"))
    }

    /// Copies the database to a folder, which is made, or is empty, while transactions go on: as it is when this returns, or a little
    /// before, and with all that had committed when it was called. It is opened like any other. It takes a checkpoint.
    pub fn backup_to(&self, folder: impl AsRef<Path>) -> Result<Backup, Error> {
        let folder = folder.as_ref();
        self.checkpoint()?;
        let services = self.inner.shared.store().embedded_ref().services();
        Ok(services.back_up(folder).map_err(OpenError::from)?)
    }

    /// Closes it, as dropping the last handle does, and says whether that went well. [`Error::InUse`] if there is another handle; or if a
    /// transaction or a snapshot was forgotten ([`std::mem::forget`]), which nobody can end: then what was not durable is lost, as its
    /// tickets say.
    pub fn close(self) -> Result<(), Error> {
        let inner = Arc::into_inner(self.inner).ok_or(Error::InUse)?;
        inner.close()
    }

    /// What its servants have of it.
    #[cfg(test)]
    pub(crate) fn with_parts<R>(&self, f: impl FnOnce(&Arc<Shared>, &Arc<Durable>) -> R) -> R {
        f(&self.inner.shared, &self.inner.durable)
    }

    pub(crate) fn number(&self) -> u64 {
        self.inner.number
    }

    pub(crate) fn memory_limit(&self) -> Option<u64> {
        self.inner.memory_limit
    }

    /// Has slots that rest give back memory.
    pub(crate) fn reclaim(&self) {
        self.inner.shared.pool.reclaim();
    }

    pub(crate) fn log_failure(&self) -> Option<String> {
        self.inner.durable.failure()
    }

    /// Asks for a checkpoint if so much of the log had to be replayed that one is due.
    fn shorten_log(&self, options: &OpenOptions) {
        let due = options.log.as_ref().and_then(|log| log.checkpoint_bytes);
        if let (Some(recovered), Some(due)) = (&self.inner.recovered, due)
            && recovered.bytes >= due.max(recovered.checkpoint.map_or(0, |checkpoint| checkpoint.bytes))
        {
            self.inner.shared.store().embedded_ref().services().want_checkpoint();
        }
    }

    fn stored(&self, name: &str, schema: &str) -> Result<Option<TableId>, Error> {
        self.inner.shared.store().stored(name, schema)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Store) -> Result<T, Error>) -> Result<T, Error> {
        self.inner.shared.change(change)
    }
}

impl Inner {
    fn close(&self) -> Result<(), Error> {
        if !self.servants.is_here() {
            return close(&self.servants, &self.durable, &self.shared);
        }
        // A waker had the last handle. Who closes waits for this thread, too.
        let (servants, durable, shared) =
            (Arc::clone(&self.servants), Arc::clone(&self.durable), Arc::clone(&self.shared));
        let closing = move || drop(close(&servants, &durable, &shared));
        let spawned = thread::Builder::new().name("trireme-close".to_owned()).spawn(closing);
        spawned.map(drop).map_err(|error| {
            let why = format!("there is no thread to close the database: {error}");
            self.durable.tell(0, Some(why.clone()));
            Error::LogStopped { why }
        })
    }
}

/// Nobody has a handle any more: ends the services, and makes durable what has committed.
fn close(servants: &Servants, durable: &Durable, shared: &Shared) -> Result<(), Error> {
    // They may have a slot; what they leave undone is done below.
    servants.dismiss();
    durable.close();
    let closed = match shared.close() {
        Ok(None) => return Ok(()),
        Ok(Some(embedded)) => embedded.close().map_err(|error| Error::LogStopped { why: error.to_string() }),
        Err(error) => Err(error),
    };
    match &closed {
        Ok(()) => durable.tell(u64::MAX, None),
        Err(Error::LogStopped { why }) => durable.tell(0, Some(why.clone())),
        Err(error) => durable.tell(0, Some(format!("it was closed although {error}"))),
    }
    closed
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Who wants to know calls `Database::close`; tickets say it, too.
        let _ = self.close();
    }
}
