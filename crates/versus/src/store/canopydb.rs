//! canopydb: a copy-on-write B-tree in memory over checkpoints, with a write-ahead log; readers at snapshots. Of its writers only those
//! that exclude each other are serializable, so they do.

use super::group::{Group, Grouped};
use super::{
    Access, Class, Committed, Failed, Opening, Procedure, Query, Reading, Row, Session, Settings, Store,
    Table, Writing, row,
};
use canopydb::{Database, DbOptions, EnvOptions, Transaction, Tree, TreeOptions};
use std::sync::Arc;

/// Of changes, until a checkpoint is taken: as many as Trireme's default, so that rounds of seconds have as few checkpoints.
const CHECKPOINT_BYTES: usize = 1 << 30;

/// A database.
#[derive(Clone)]
pub struct Canopydb {
    inner: Arc<Inner>,
}

struct Inner {
    /// Before the database, which its thread uses.
    group: Option<Group>,
    database: Arc<Database>,
    /// Whether each commit is synced.
    sync: bool,
}

impl Store for Canopydb {
    type Session = Canopydb;

    const HAS_TICKETS: bool = true;
    const SETTINGS: Settings = Settings {
        memory: "memory file system; `use_wal = false`, `disable_fsync`",
        buffered: "the log is written at each commit; `disable_fsync`",
        buffered_in_flight: "the same: it has no commits that are written later",
        group: "`commit_with(true)`",
        group_in_flight: "`commit_with(false)`, and `sync` once an epoch",
    };

    fn open(opening: &Opening) -> Result<Canopydb, Failed> {
        let mut environment = EnvOptions::new(&opening.folder);
        environment.page_cache_size = opening.cache_bytes;
        environment.disable_fsync = opening.class != Class::Group;
        environment.max_wal_size = CHECKPOINT_BYTES as u64;
        let mut options = DbOptions::default();
        options.use_wal = opening.class != Class::Memory;
        options.checkpoint_target_size = CHECKPOINT_BYTES;
        options.throttle_memory_limit = 2 * CHECKPOINT_BYTES;
        options.stall_memory_limit = 2 * CHECKPOINT_BYTES;
        let database = Database::with_options(environment, options).map_err(Failed::because)?;
        let database = Arc::new(database);
        let is_grouped = opening.class == Class::Group && opening.outstanding;
        let group = is_grouped.then(|| {
            let database = Arc::clone(&database);
            Group::new(opening.epoch, move || database.sync().map_err(Failed::because))
        });
        let sync = opening.class == Class::Group && !is_grouped;
        Ok(Canopydb { inner: Arc::new(Inner { group, database, sync }) })
    }

    fn create<R: Row>(&mut self, table: Table<R>, _: Access, _: u64) -> Result<(), Failed> {
        let mut options = TreeOptions::default();
        if let Ok(bytes) = i8::try_from(size_of::<R>()) {
            (options.fixed_key_len, options.fixed_value_len) = (size_of::<u64>() as i8, bytes);
        }
        let transaction = self.inner.database.begin_write().map_err(Failed::because)?;
        drop(transaction.get_or_create_tree_with(table.name.as_bytes(), options).map_err(Failed::because)?);
        transaction.commit().map_err(Failed::because)?;
        Ok(())
    }

    fn session(&self) -> Result<Canopydb, Failed> {
        Ok(self.clone())
    }
}

impl Session for Canopydb {
    type Ticket = Option<Grouped>;

    fn read<Q: Query>(&mut self, query: &mut Q) -> Result<Committed<Q::Output, ()>, Failed> {
        let transaction = self.inner.database.begin_read().map_err(Failed::because)?;
        let value = query.run(&mut Open { transaction: &transaction, trees: Default::default() })?;
        Ok(Committed { value, attempts: 1, ticket: () })
    }

    fn write<P: Procedure>(
        &mut self,
        procedure: &mut P,
    ) -> Result<Committed<P::Output, Option<Grouped>>, Failed> {
        let Inner { group, database, sync } = &*self.inner;
        let transaction = database.begin_write().map_err(Failed::because)?;
        let value = procedure.run(&mut Open { transaction: &transaction, trees: Default::default() })?;
        transaction.commit_with(*sync).map_err(Failed::because)?;
        Ok(Committed { value, attempts: 1, ticket: group.as_ref().map(Group::commit) })
    }
}

/// A transaction, with the trees that were opened in it.
struct Open<'t> {
    transaction: &'t Transaction,
    trees: [Option<Tree<'t>>; super::MOST_TABLES],
}

impl<'t> Open<'t> {
    fn open<R: Row>(&mut self, table: Table<R>) -> Result<&mut Tree<'t>, Failed> {
        let open = &mut self.trees[table.number];
        match open {
            Some(open) => Ok(open),
            None => {
                let tree = self.transaction.get_tree(table.name.as_bytes()).map_err(Failed::because)?;
                let no_tree = || Failed::because(format!("there is no tree {}", table.name));
                Ok(open.insert(tree.ok_or_else(no_tree)?))
            }
        }
    }
}

impl Reading for Open<'_> {
    fn get<R: Row>(&mut self, table: Table<R>, key: u64) -> Result<Option<R>, Failed> {
        let found = self.open(table)?.get(&key.to_be_bytes()).map_err(Failed::because)?;
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
        for found in self.open(table)?.range(keys).map_err(Failed::because)? {
            let (key, bytes) = found.map_err(Failed::because)?;
            let key = key.as_ref().try_into().map_err(Failed::because)?;
            see(u64::from_be_bytes(key), &row(&bytes)?);
            count += 1;
        }
        Ok(count)
    }
}

impl Writing for Open<'_> {
    fn put<R: Row>(&mut self, table: Table<R>, key: u64, row: &R) -> Result<(), Failed> {
        self.open(table)?.insert(&key.to_be_bytes(), row.as_bytes()).map_err(Failed::because)
    }
}
