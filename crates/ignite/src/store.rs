//! A workload's tables, loaded into the caches of a cluster that has no others.
//!
//! Each table is a cache, whose entries are rows or groups of rows ([`crate::row`]), spread over the nodes by the hash of their keys. With two nodes or more each
//! row is on two of them, so that one may be lost; a commit has reached both when it is acknowledged.

use crate::nodes::Nodes;
use crate::row::{Group, row};
use crate::wire::{CacheId, Connection, Failed};
use contract::{Indexing, LoadError, RowLength, TableDescription, TableId, Workload};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Copies of a row beside the first, where there are nodes for them.
const BACKUPS: usize = 1;

/// Rows that are sent together while they are loaded: a transaction of the nodes.
const BATCH: usize = 512;

/// A cluster with a workload's tables.
pub struct Store {
    /// The nodes, until the store is dropped.
    nodes: Option<Nodes>,
    /// The tables, by their ids.
    pub tables: Arc<[Table]>,
    /// Transactions that were begun and have not ended, at whatever node.
    pub open: AtomicU64,
}

/// A table, and the cache that it is.
pub struct Table {
    /// What the workload says of it.
    pub description: TableDescription,
    /// Its cache.
    pub cache: CacheId,
    /// The keys of its rows in order, asked for once, while nobody changes them.
    quiet: Mutex<Option<Arc<[u64]>>>,
}

impl Table {
    /// The table that is described, made if it is not there.
    pub fn open(connection: &mut Connection, description: TableDescription) -> Result<Table, Failed> {
        let cache = connection.make_cache(&format!("table-{}", description.name))?;
        Ok(Table { description, cache, quiet: Mutex::default() })
    }

    /// Whether its keys are byte strings, so that its entries are groups.
    pub fn is_grouped(&self) -> bool {
        matches!(self.description.indexing, Indexing::OrderedBytes { .. })
    }

    /// The keys of its rows in order, as they are while nobody changes them.
    pub fn quiet_keys(&self, connection: &mut Connection) -> Result<Arc<[u64]>, Failed> {
        let mut quiet = self.quiet.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(keys) = &*quiet {
            return Ok(keys.clone());
        }
        let mut keys = Vec::new();
        connection.scan(self.cache, |key, _| keys.push(key))?;
        keys.sort_unstable();
        Ok(quiet.insert(keys.into()).clone())
    }

    /// Its rows may change from now on.
    pub fn forget_keys(&self) {
        *self.quiet.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Store {
    /// Takes a cluster of as many nodes, and loads the tables. `progress` is told how many rows more are loaded.
    pub fn load<W: Workload>(
        workload: &W,
        nodes: usize,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Store, LoadError> {
        let nodes = Nodes::take(nodes, BACKUPS.min(nodes - 1)).map_err(|why| LoadError::Elsewhere { why })?;
        let loaded = || -> Result<Arc<[Table]>, Failed> {
            let mut connection = Connection::open(nodes.clients(0))?;
            let mut tables = Vec::new();
            for (id, description) in (0..).map(TableId).zip(workload.tables()) {
                let table = Table::open(&mut connection, description)?;
                load_table(workload, id, &table, &mut connection, progress)?;
                tables.push(table);
            }
            Ok(tables.into())
        };
        let tables = loaded().map_err(|failed| LoadError::Elsewhere { why: failed.to_string() })?;
        Ok(Store { nodes: Some(nodes), tables, open: AtomicU64::new(0) })
    }

    /// The nodes.
    pub fn nodes(&self) -> &Nodes {
        self.nodes.as_ref().expect("they are there until the store is dropped")
    }

    /// Entries of all tables.
    pub fn entries(&self) -> Result<u64, Failed> {
        let mut connection = Connection::open(self.nodes().clients(0))?;
        self.tables.iter().map(|table| connection.size(table.cache)).sum()
    }

    /// Transactions that were begun and have not ended.
    pub fn open(&self) -> u64 {
        // Relaxed: nobody runs.
        self.open.load(Ordering::Relaxed)
    }
}

impl Drop for Store {
    /// The nodes are kept for others if nothing is left in them; after a failure they are stopped.
    fn drop(&mut self) {
        let nodes = self.nodes.take().expect("taken once, here");
        let clear = || {
            let mut connection = Connection::open(nodes.clients(0))?;
            self.tables.iter().try_for_each(|table| connection.destroy_cache(table.cache))
        };
        if !thread::panicking() && self.open() == 0 && clear().is_ok() {
            nodes.give_back();
        }
    }
}

fn load_table<W: Workload>(
    workload: &W,
    id: TableId,
    table: &Table,
    connection: &mut Connection,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(), Failed> {
    let description = &table.description;
    let mut groups: BTreeMap<u64, Group> = BTreeMap::new();
    let mut batch: Vec<(u64, Vec<u8>)> = Vec::with_capacity(BATCH);
    let mut send = |batch: &mut Vec<(u64, Vec<u8>)>, at: usize| {
        if batch.len() < at {
            return Ok(());
        }
        let entries: Vec<(u64, &[u8])> = batch.iter().map(|(key, bytes)| (*key, &bytes[..])).collect();
        connection.put_all(table.cache, None, &entries)?;
        if !table.is_grouped() {
            progress(batch.len() as u64);
        }
        batch.clear();
        Ok(())
    };
    for number in 0..description.rows {
        let key = workload.loaded_key(id, number);
        let mut content = Vec::new();
        match description.length {
            RowLength::Varying => workload.fill_varying(id, key, &mut content),
            RowLength::Fixed => {
                content.resize(description.row_bytes, 0);
                workload.fill(id, key, &mut content);
            }
        }
        if table.is_grouped() {
            let mut bytes = Vec::new();
            workload.loaded_bytes(id, key, &mut bytes);
            groups.entry(Group::key_of(&bytes)).or_default().0.insert(bytes, row(&content));
            continue;
        }
        batch.push((key.0, content));
        send(&mut batch, BATCH)?;
    }
    for (key, group) in &groups {
        batch.push((*key, group.bytes()));
        send(&mut batch, BATCH)?;
    }
    if table.is_grouped() {
        progress(description.rows);
    }
    send(&mut batch, 1)
}
