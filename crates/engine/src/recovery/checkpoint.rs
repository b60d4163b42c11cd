//! Loading a checkpoint: its rows into a store that has none; the log is replayed over them.
//!
//! A checkpoint has all rows, so what the store was loaded with when the log began is not needed. Each thread takes a file after the
//! other, reads it block by block, and links the rows as they come, without transactions: nobody else is there. They come in the order of
//! buckets, or of keys, so neighbours in a file are neighbours in the index. A walk may have told a key twice, if its row was deleted and
//! inserted again meanwhile: any of its rows will do, for the log has the insert.

use super::admit;
use crate::durability::checkpoint::files::read_file;
use crate::durability::format::{Change, Transactions};
use crate::durability::manifest::{Checkpoint, Manifest};
use crate::facade::atomic::{AtomicUsize, Ordering};
use crate::facade::disk::Folder;
use crate::facade::{clock, unobserved};
use crate::storage::{Linker, Store};
use contract::{CheckpointReport, DurabilityCanary, LogError, RecoveryOptions, TableDescription};

/// Records of a table that a thread takes at once.
const RECORDS_AT_ONCE: u64 = 256;

/// Loads the manifest's checkpoint, by so many threads; what was loaded.
pub(super) fn load(
    store: &mut Store,
    folders: &[Folder],
    manifest: &Manifest,
    checkpoint: &Checkpoint,
    threads: usize,
    options: &RecoveryOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<CheckpointReport, LogError> {
    let began = clock::now();
    let tables: Vec<TableDescription> = store.tables.iter().map(|table| table.description.clone()).collect();
    let is_checked = options.canary != Some(DurabilityCanary::UncheckedChecksum);
    let next = AtomicUsize::new(0);
    let load = |_, linkers: &mut [Linker<'_>]| loop {
        // Relaxed: a counter.
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= checkpoint.files.len() {
            return Ok(());
        }
        read_file(folders, manifest.log(), checkpoint, number, is_checked, &mut |payload| {
            let rows = link_all(payload, &tables, manifest, linkers)?;
            progress(rows);
            Ok(rows)
        })?;
    };
    let loaded = unobserved(|| store.link(threads, RECORDS_AT_ONCE, load));
    loaded.into_iter().collect::<Result<(), LogError>>()?;
    let took_ns = clock::nanoseconds(clock::now().since(began));
    Ok(CheckpointReport { took_ns, ..checkpoint.report() })
}

/// Links the rows of a block, but those of tables that were dropped since; answers how many it has.
fn link_all(
    payload: &[u8],
    tables: &[TableDescription],
    manifest: &Manifest,
    linkers: &mut [Linker<'_>],
) -> Result<u64, String> {
    let mut rows = 0;
    for transaction in Transactions::of(payload) {
        for record in transaction?.records() {
            let record = record?;
            admit(tables, &record)?;
            let Change::Insert(row) = record.change else {
                return Err("a record that inserts no row".to_owned());
            };
            rows += 1;
            let number = record.table as usize;
            if manifest.tables[number].is_dropped {
                continue;
            }
            match tables[number].varies() {
                false => linkers[number].link(record.key, |into| into.copy_from_slice(row)),
                true => linkers[number].link_varying(record.key, row),
            };
        }
    }
    Ok(rows)
}
