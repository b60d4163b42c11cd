//! Loading a checkpoint: its rows, and no others, into the store; the log is replayed over them.
//!
//! A checkpoint has all rows, so the store is emptied first: what it was loaded with may have been deleted since. Each thread takes
//! every so manieth file, reads it whole, and inserts its rows in transactions of a few dozen, as the walk has read them. They come in
//! the order of buckets, or of keys, so neighbours in a file are neighbours in the index.

use super::{Apply, RunClients, admit, run_clients};
use crate::durability::checkpoint::files::read_file;
use crate::durability::format::Transactions;
use crate::durability::manifest::{Checkpoint, Manifest};
use crate::facade::clock;
use crate::facade::disk::Folder;
use crate::facade::shared::Arc;
use crate::storage::Store;
use contract::{
    Abort, Arrival, CheckpointReport, Client, Completion, DurabilityCanary, LogError, Outcome, Procedure,
    TableDescription, Transaction,
};
use std::ops::Range;

/// Loads the manifest's checkpoint, if it has one, by so many threads; what was loaded.
pub(super) fn load(
    store: &mut Store,
    folders: &[Folder],
    manifest: &Manifest,
    threads: usize,
    canary: Option<DurabilityCanary>,
    run: RunClients<'_>,
) -> Result<Option<CheckpointReport>, LogError> {
    let Some(checkpoint) = &manifest.checkpoint else { return Ok(None) };
    let began = clock::now();
    if canary != Some(DurabilityCanary::ForgetsADelete) {
        store
            .empty()
            .map_err(|why| LogError::Refused { why: format!("the store cannot be emptied: {why}") })?;
    }
    let tables: Arc<[TableDescription]> =
        store.tables.iter().map(|table| table.description.clone()).collect();
    let files = Arc::new(Files {
        folders: folders.to_vec(),
        log: manifest.log(),
        checkpoint: checkpoint.clone(),
        is_checked: canary != Some(DurabilityCanary::UncheckedChecksum),
    });
    let skipped: Arc<[bool]> = manifest.tables.iter().map(|table| table.is_dropped).collect();
    let client = |thread| Loader {
        skipped: Arc::clone(&skipped),
        files: Arc::clone(&files),
        tables: Arc::clone(&tables),
        next_file: thread,
        threads,
        rows: Arc::default(),
        places: Vec::new(),
        wrong: None,
    };
    let clients = run_clients(store, (0..threads).map(client).collect(), run)?;
    if let Some(wrong) = clients.into_iter().find_map(|client| client.wrong) {
        return Err(wrong);
    }
    let took_ns = clock::nanoseconds(clock::now().since(began));
    Ok(Some(CheckpointReport { took_ns, ..checkpoint.report() }))
}

/// Where the rows are.
struct Files {
    folders: Vec<Folder>,
    log: u128,
    checkpoint: Checkpoint,
    /// Whether checksums are looked at.
    is_checked: bool,
}

/// Inserts the rows of some files.
struct Loader {
    files: Arc<Files>,
    tables: Arc<[TableDescription]>,
    /// By table: whether it was dropped since.
    skipped: Arc<[bool]>,
    next_file: usize,
    /// Of so many threads.
    threads: usize,
    /// Of the file that was read last.
    rows: Arc<Vec<Vec<u8>>>,
    /// Transactions of it that were not taken yet, the last first: the block, and where in it the transaction is.
    places: Vec<(usize, Range<usize>)>,
    wrong: Option<LogError>,
}

impl Loader {
    /// Reads the next file, if there is one.
    fn read(&mut self) -> Result<bool, LogError> {
        let Files { folders, log, checkpoint, is_checked } = &*self.files;
        if self.next_file >= checkpoint.files.len() {
            return Ok(false);
        }
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        read_file(folders, *log, checkpoint, self.next_file, *is_checked, &mut |payload| {
            let (number, mut transactions, mut records) = (rows.len(), Transactions::of(payload), 0);
            loop {
                let from = payload.len() - transactions.rest();
                let Some(transaction) = transactions.next() else { break };
                for record in transaction?.records() {
                    admit(&self.tables, &record?)?;
                    records += 1;
                }
                places.push((number, from..payload.len() - transactions.rest()));
            }
            rows.push(payload.to_vec());
            Ok(records)
        })?;
        self.places = places;
        self.next_file += self.threads;
        self.places.reverse();
        self.rows = Arc::new(rows);
        Ok(true)
    }
}

impl Client for Loader {
    type Procedure = InsertRows;

    fn arrival(&mut self) -> Arrival {
        while self.places.is_empty() {
            match self.read() {
                Ok(true) => {}
                Ok(false) => return Arrival::Closed,
                Err(wrong) => {
                    self.wrong = Some(wrong);
                    return Arrival::Closed;
                }
            }
        }
        Arrival::Ready
    }

    fn next(&mut self) -> InsertRows {
        let (block, range) = self.places.pop().expect("there is an arrival");
        let (tables, skipped) = (Arc::clone(&self.tables), Arc::clone(&self.skipped));
        InsertRows { rows: Arc::clone(&self.rows), block, range, tables, skipped }
    }

    fn finished(&mut self, _: InsertRows, _: &Completion<'_>) {}
}

/// Inserts the rows of one transaction of a block.
struct InsertRows {
    rows: Arc<Vec<Vec<u8>>>,
    block: usize,
    range: Range<usize>,
    tables: Arc<[TableDescription]>,
    skipped: Arc<[bool]>,
}

impl Procedure for InsertRows {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let bytes = &self.rows[self.block][self.range.clone()];
        let transactions = Transactions::of(bytes).map(|read| read.expect("it was read before"));
        for record in transactions.flat_map(|transaction| transaction.records()) {
            let record = record.expect("it was read before");
            if !self.skipped[record.table as usize] {
                Apply::one(&self.tables, txn, record)?;
            }
        }
        Ok(Outcome::Commit)
    }
}
