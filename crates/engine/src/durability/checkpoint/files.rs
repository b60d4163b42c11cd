//! Files of rows: what a checkpoint consists of, as `docs/log-format.md` has them.
//!
//! A file has a header and blocks as a log's files have; a block's payload is transactions that insert rows.

use crate::durability::block::Sealer;
use crate::durability::format::{
    BLOCK_HEADER_BYTES, BlockHeader, FILE_HEADER_BYTES, Kind, Transactions, VERSION,
};
use crate::durability::log::io_error;
use crate::durability::logger::{append_all, begin_durable};
use crate::durability::manifest::{Checkpoint, Manifest, RowsFile};
use crate::durability::scan::{LogFileName, Payload};
use crate::facade::disk::{File, Folder};
use crate::facade::shared::Arc;
use contract::LogError;
use std::path::PathBuf;

/// How a file begins.
const MAGIC: [u8; 8] = *b"TRIRCKP\n";

/// The name of a checkpoint's file.
fn file_name(checkpoint: u64, file: usize) -> String {
    format!("checkpoint-{checkpoint:08}-{file:06}.trc")
}

/// Whether a file's name is one of this checkpoint's.
pub(crate) fn is_of(checkpoint: &Checkpoint, name: &str) -> bool {
    (0..checkpoint.files.len()).any(|file| name == file_name(checkpoint.number, file))
}

/// What a file of rows is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    /// The log's own name.
    log: u128,
    checkpoint: u64,
    file: u32,
    from_epoch: u64,
}

impl Header {
    fn encode(&self) -> [u8; FILE_HEADER_BYTES] {
        let mut bytes = [0; FILE_HEADER_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.file.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.checkpoint.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.from_epoch.to_le_bytes());
        bytes[32..48].copy_from_slice(&self.log.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..60]);
        bytes[60..64].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }
}

/// Writes a checkpoint's files.
pub(super) struct RowsFiles {
    folders: Vec<Folder>,
    header: Header,
    file_bytes: u64,
    sealer: Sealer,
    /// Those that are full, and synced.
    ended: Vec<RowsFile>,
    open: Option<Open>,
}

/// The file that is written.
struct Open {
    path: PathBuf,
    file: File,
    rows: u64,
}

impl RowsFiles {
    /// Of a checkpoint of log `log`; each has about so many bytes.
    pub fn new(
        folders: &[Folder],
        log: u128,
        checkpoint: &Checkpoint,
        file_bytes: u64,
        compress: bool,
    ) -> RowsFiles {
        let header =
            Header { log, checkpoint: checkpoint.number, file: 0, from_epoch: checkpoint.from_epoch };
        let (folders, sealer) = (folders.to_vec(), Sealer::new(compress));
        RowsFiles { folders, header, file_bytes, sealer, ended: Vec::new(), open: None }
    }

    /// Appends a block of so many rows, whose payload follows room for its header.
    pub fn append(&mut self, block: &mut [u8], rows: u64) -> Result<(), LogError> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin_file()?,
        };
        let header = BlockHeader {
            kind: Kind::Rows,
            compressed: false,
            stored_bytes: 0,
            raw_bytes: 0,
            first_epoch: 0,
            last_epoch: 0,
            synced: 0,
            slot: 0,
        };
        let sealed = self.sealer.seal(header, block);
        append_all(&mut open.file, sealed).map_err(|why| io_error("write", &open.path, &why))?;
        open.rows += rows;
        match open.file.len() >= self.file_bytes {
            true => self.end_file(open)?,
            false => self.open = Some(open),
        }
        Ok(())
    }

    fn begin_file(&mut self) -> Result<Open, LogError> {
        let number = self.ended.len();
        let folder = &self.folders[number % self.folders.len()];
        let name = file_name(self.header.checkpoint, number);
        let header = Header { file: number as u32, ..self.header };
        let file = begin_durable(folder, &name, &header.encode())?;
        Ok(Open { path: folder.path().join(name), file, rows: 0 })
    }

    fn end_file(&mut self, mut open: Open) -> Result<(), LogError> {
        open.file.sync().map_err(|why| io_error("sync", &open.path, &why))?;
        self.ended.push(RowsFile { bytes: open.file.len(), rows: open.rows });
        Ok(())
    }

    /// All files, synced.
    pub fn end(mut self) -> Result<Vec<RowsFile>, LogError> {
        if let Some(open) = self.open.take() {
            self.end_file(open)?;
        }
        Ok(self.ended)
    }
}

/// Reads a checkpoint's file number `number`, whole.
pub(crate) fn read_file(
    folders: &[Folder],
    log: u128,
    checkpoint: &Checkpoint,
    number: usize,
    is_checked: bool,
) -> Result<Vec<Payload>, LogError> {
    let (name, expected) = (file_name(checkpoint.number, number), checkpoint.files[number]);
    let folder = folders.iter().find(|folder| folder.open_file(&name).is_ok());
    let path = folder.unwrap_or(&folders[number % folders.len()]).path().join(&name);
    let corrupt =
        |offset: usize, why: String| LogError::Corrupt { file: path.clone(), offset: offset as u64, why };
    let Some(folder) = folder else { return Err(corrupt(0, "it is missing".to_owned())) };
    let mut reader = folder.open_file(&name).map_err(|why| io_error("open", &path, &why))?;
    if reader.len() != expected.bytes {
        return Err(corrupt(0, format!("{} bytes; the manifest says {}", reader.len(), expected.bytes)));
    }
    let mut bytes = vec![0; reader.len() as usize];
    let read = reader.read_at(0, &mut bytes).map_err(|why| io_error("read", &path, &why))?;
    bytes.truncate(read);
    let header =
        Header { log, checkpoint: checkpoint.number, file: number as u32, from_epoch: checkpoint.from_epoch };
    if bytes.get(..FILE_HEADER_BYTES) != Some(&header.encode()) {
        return Err(corrupt(0, "the header is not that of the file that the manifest names".to_owned()));
    }
    let (bytes, mut at) = (Arc::new(bytes), FILE_HEADER_BYTES);
    let (mut payloads, mut rows) = (Vec::new(), 0);
    while at < bytes.len() {
        let (header, payload) =
            BlockHeader::decode_if(&bytes[at..], is_checked).map_err(|why| corrupt(at, why))?;
        if header.kind != Kind::Rows {
            return Err(corrupt(at, "a block without rows".to_owned()));
        }
        let from = at + BLOCK_HEADER_BYTES;
        let payload =
            Payload::of(&header, &bytes, from..from + payload.len()).map_err(|why| corrupt(at, why))?;
        for transaction in Transactions::of(payload.bytes()) {
            rows += u64::from(transaction.map_err(|why| corrupt(at, why))?.records);
        }
        payloads.push(payload);
        at += header.file_bytes() as usize;
    }
    if rows != expected.rows {
        return Err(corrupt(at, format!("{rows} rows; the manifest says {}", expected.rows)));
    }
    Ok(payloads)
}

/// Removes what the manifest says is not needed: files of rows but those of its checkpoint, and of the log what is before that.
pub(crate) fn remove_outdated(folders: &[Folder], manifest: &Manifest) -> Result<(), LogError> {
    let checkpoint = manifest.checkpoint.as_ref();
    for folder in folders {
        for name in folder.names().map_err(|why| io_error("list", folder.path(), &why))? {
            let is_needed = checkpoint.is_some_and(|checkpoint| is_of(checkpoint, &name));
            let is_rows = name.starts_with("checkpoint-") && name.ends_with(".trc") && !is_needed;
            let is_log = LogFileName::read(&name)
                .is_some_and(|name| checkpoint.is_some_and(|checkpoint| !checkpoint.needs(name)));
            if is_rows || is_log {
                folder.remove(&name).map_err(|why| io_error("remove", &folder.path().join(&name), &why))?;
            }
        }
    }
    Ok(())
}
