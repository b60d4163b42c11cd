//! Files of rows: what a checkpoint consists of, as `docs/log-format.md` has them.
//!
//! A file has a header and blocks as a log's files have; a block's payload is transactions that insert rows.

use crate::durability::block::Sealer;
use crate::durability::format::{BLOCK_HEADER_BYTES, BlockHeader, FILE_HEADER_BYTES, Kind, Place, VERSION};
use crate::durability::log::io_error;
use crate::durability::logger::{append_all, begin_durable};
use crate::durability::manifest::{Checkpoint, Manifest, RowsFile};
use crate::durability::scan::{LogFileName, uncompressed};
use crate::facade::disk::{File, Folder, Reader};
use contract::LogError;
use std::io::ErrorKind;
use std::path::PathBuf;

/// How a file begins.
const MAGIC: [u8; 8] = *b"TRIRCKP\n";

/// The name of a checkpoint's file.
fn file_name(checkpoint: u64, file: usize) -> String {
    format!("checkpoint-{checkpoint:08}-{file:06}.trc")
}

/// Whether a file calls itself one of a checkpoint.
pub(crate) fn is_rows_file(name: &str) -> bool {
    name.starts_with("checkpoint-") && name.ends_with(".trc")
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
    /// Of its first block.
    place: Place,
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
        let sealed = self.sealer.seal(open.place.at(open.file.len()), header, block);
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
        let header = header.encode();
        let file = begin_durable(folder, &name, &header)?;
        let place = Place::of(&header, file.len());
        Ok(Open { path: folder.path().join(name), file, place, rows: 0 })
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

/// Reads a checkpoint's file number `number`, block by block. `take` gets the payload of each, uncompressed, and answers how many rows
/// it has, or in words what is wrong with it.
pub(crate) fn read_file(
    folders: &[Folder],
    log: u128,
    checkpoint: &Checkpoint,
    number: usize,
    is_checked: bool,
    take: &mut dyn FnMut(&[u8]) -> Result<u64, String>,
) -> Result<(), LogError> {
    let path = path_of(folders, checkpoint, number);
    let mut at = 0;
    let mut read = || -> Result<(), Wrong> {
        let mut file = open(folders, checkpoint, number)?;
        let expected = checkpoint.files[number];
        if file.len() != expected.bytes {
            return Err(format!("{} bytes; the manifest says {}", file.len(), expected.bytes).into());
        }
        let (number, checkpoint, from_epoch) = (number as u32, checkpoint.number, checkpoint.from_epoch);
        let header = Header { log, checkpoint, file: number, from_epoch };
        let mut bytes = vec![0; FILE_HEADER_BYTES];
        read_all(&mut file, 0, &mut bytes)?;
        let header = header.encode();
        if bytes != header {
            return Err("the header is not that of the file that the manifest names".to_owned().into());
        }
        at = FILE_HEADER_BYTES as u64;
        let mut rows = 0;
        while at < expected.bytes {
            let left = expected.bytes - at;
            bytes.resize(left.min(BLOCK_HEADER_BYTES as u64) as usize, 0);
            read_all(&mut file, at, &mut bytes)?;
            let block_bytes = BlockHeader::file_bytes_of(&bytes)?;
            if block_bytes > left {
                return Err(format!("a block of {block_bytes} bytes, of which {left} are there").into());
            }
            bytes.resize(block_bytes as usize, 0);
            read_all(&mut file, at, &mut bytes)?;
            let (header, payload) = BlockHeader::decode_if(Place::of(&header, at), &bytes, is_checked)?;
            if header.kind != Kind::Rows {
                return Err("a block without rows".to_owned().into());
            }
            rows += match header.compressed {
                false => take(payload)?,
                true => take(&uncompressed(&header, payload)?)?,
            };
            at += block_bytes;
        }
        match rows == expected.rows {
            true => Ok(()),
            false => Err(format!("{rows} rows; the manifest says {}", expected.rows).into()),
        }
    };
    read().map_err(|wrong| match wrong {
        Wrong::Bytes(why) => LogError::Corrupt { file: path.clone(), offset: at, why },
        Wrong::Disk(why) => io_error("read", &path, &why),
    })
}

/// Why a file cannot be read.
enum Wrong {
    /// What it has.
    Bytes(String),
    Disk(std::io::Error),
}

impl From<String> for Wrong {
    fn from(why: String) -> Self {
        Wrong::Bytes(why)
    }
}

impl From<std::io::Error> for Wrong {
    fn from(why: std::io::Error) -> Self {
        Wrong::Disk(why)
    }
}

fn open(folders: &[Folder], checkpoint: &Checkpoint, number: usize) -> Result<Reader, Wrong> {
    let name = file_name(checkpoint.number, number);
    for folder in folders {
        match folder.open_file(&name) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            opened => return Ok(opened?),
        }
    }
    Err("it is missing".to_owned().into())
}

fn read_all(file: &mut Reader, offset: u64, bytes: &mut [u8]) -> Result<(), Wrong> {
    match file.read_at(offset, bytes)? {
        read if read == bytes.len() => Ok(()),
        read => Err(format!("it ends after byte {}", offset + read as u64).into()),
    }
}

/// Where a checkpoint's file is; if it is in none of the folders, where it should be.
pub(crate) fn path_of(folders: &[Folder], checkpoint: &Checkpoint, number: usize) -> PathBuf {
    let name = file_name(checkpoint.number, number);
    let folder = folders.iter().find(|folder| folder.open_file(&name).is_ok());
    folder.unwrap_or(&folders[number % folders.len()]).path().join(&name)
}

/// Removes what the manifest says is not needed: files of rows but those of its checkpoint, and of the log what is before that.
pub(crate) fn remove_outdated(folders: &[Folder], manifest: &Manifest) -> Result<(), LogError> {
    let checkpoint = manifest.checkpoint.as_ref();
    for folder in folders {
        for name in folder.names().map_err(|why| io_error("list", folder.path(), &why))? {
            let is_needed = checkpoint.is_some_and(|checkpoint| is_of(checkpoint, &name));
            let is_rows = is_rows_file(&name) && !is_needed;
            let is_log = LogFileName::read(&name)
                .is_some_and(|name| checkpoint.is_some_and(|checkpoint| !checkpoint.needs(name)));
            if is_rows || is_log {
                folder.remove(&name).map_err(|why| io_error("remove", &folder.path().join(&name), &why))?;
            }
        }
    }
    Ok(())
}
