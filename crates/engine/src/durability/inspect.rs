//! What a log has, told without a store.

use super::checkpoint::files::{path_of, read_file};
use super::format::{FILE_HEADER_BYTES, Transactions};
use super::manifest::{Checkpoint, RowsFile};
use super::scan::{self, LogFile, Stream, Unreadable, find_folders};
use super::{log::io_error, manifest};
use crate::facade::disk::Folder;
use contract::{InspectedFile, InspectedRows, LogError, LogInspection};
use std::path::PathBuf;

/// Reads all files of the log in these folders.
pub(crate) fn inspect(paths: &[PathBuf]) -> Result<LogInspection, LogError> {
    let folders = find_folders(paths)?;
    let manifest = scan::manifest_in(&folders)?;
    let (files, unreadable) = scan::files(&folders, manifest.log())?;
    let mut inspected = Vec::new();
    for file in files.into_values().flatten() {
        inspected.push(inspect_file(file)?);
    }
    for Unreadable { path, why, .. } in unreadable {
        inspected.push(InspectedFile { path, wrong: Some((0, why)), ..InspectedFile::default() });
    }
    let marked = |logger| {
        let files =
            inspected.iter().filter(|file| file.generation == manifest.generation && file.logger == logger);
        files.map(|file| file.marked).max().unwrap_or(0)
    };
    let of_last = inspected.iter().filter(|file| file.generation == manifest.generation);
    Ok(LogInspection {
        durable_everywhere: of_last.filter_map(|file| file.everywhere).max(),
        durable_epoch: (0..manifest.loggers).map(marked).min().unwrap_or(0),
        log: manifest.log.clone(),
        generation: manifest.generation,
        tables: manifest.tables.iter().map(manifest::LoggedTable::described).collect(),
        earlier: manifest.earlier.iter().map(|earlier| earlier.epoch).collect(),
        origin: manifest.origin.clone(),
        checkpoint: manifest.checkpoint.as_ref().map(Checkpoint::report),
        checkpoint_files: match &manifest.checkpoint {
            Some(checkpoint) => inspect_checkpoint(&folders, manifest.log(), checkpoint)?,
            None => Vec::new(),
        },
        files: inspected,
    })
}

fn inspect_checkpoint(
    folders: &[Folder],
    log: u128,
    checkpoint: &Checkpoint,
) -> Result<Vec<InspectedRows>, LogError> {
    let inspect = |(number, &RowsFile { bytes, rows }): (usize, &RowsFile)| {
        let mut take = |payload: &[u8]| {
            Transactions::of(payload).map(|read| read.map(|transaction| u64::from(transaction.records))).sum()
        };
        let wrong = match read_file(folders, log, checkpoint, number, true, &mut take) {
            Ok(()) => None,
            Err(LogError::Corrupt { offset, why, .. }) => Some((offset, why)),
            Err(error) => return Err(error),
        };
        Ok(InspectedRows { path: path_of(folders, checkpoint, number), bytes, rows, wrong })
    };
    checkpoint.files.iter().enumerate().map(inspect).collect()
}

fn inspect_file(file: LogFile) -> Result<InspectedFile, LogError> {
    let path = file.path();
    let header = file.header;
    let reader = file.folder.open_file(&file.name).map_err(|why| io_error("open", &path, &why))?;
    let mut found = InspectedFile {
        path,
        generation: header.generation,
        logger: header.logger,
        segment: header.segment,
        bytes: reader.len(),
        ..InspectedFile::default()
    };
    let mut stream = Stream::of_file(file)?;
    let mut payloads = Vec::new();
    while let Some(marked) = stream.next_mark(&mut payloads)? {
        found.marked = marked;
    }
    payloads.append(&mut stream.after_last_mark);
    found.everywhere = Some(stream.everywhere).filter(|epoch| *epoch > 0);
    let end = stream.end.expect("it has been read to its end");
    found.wrong = end.wrong.map(|why| (end.offset.max(FILE_HEADER_BYTES as u64), why));
    found.blocks = payloads.len() as u64;
    for transaction in payloads.iter().flat_map(|payload| Transactions::of(payload.bytes())).flatten() {
        found.transactions += 1;
        found.records += u64::from(transaction.records);
    }
    Ok(found)
}
