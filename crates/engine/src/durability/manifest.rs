//! The manifest: what a log is of, and which of its files count.
//!
//! One line with a version, a length and a checksum, and JSON. It is replaced as a whole: written to another file, synced, and given
//! its name. A log is opened by a new manifest with the next generation; of the generations before, the manifest says up to which
//! epoch each was recovered: what they have beyond that is not the log's.

use super::log::io_error;
use super::logger::append_all;
use super::scan::LogFileName;
use crate::facade::disk::Folder;
use crate::index::ordered::MAX_KEY_BYTES;
use contract::table::{MOST_CAPACITY, MOST_VARYING_BYTES};
use contract::{CheckpointReport, Indexing, LogError, LogOptions, RowLength, TableDescription};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::io::ErrorKind;

/// The version that is written. Version 1, which is read, too, has no checkpoints.
const VERSION: u32 = 2;

/// Its name.
pub(crate) const NAME: &str = "MANIFEST";
const NEXT_NAME: &str = "MANIFEST.next";
/// Of the first line.
const MAGIC: &str = "trireme-manifest";
/// Longer ones are not read.
const MOST_BYTES: u64 = 64 << 20;
const MOST_LOGGERS: u32 = LogOptions::MOST_LOGGERS as u32;
/// Tables have numbers of two bytes.
const MOST_TABLES: usize = 1 << 16;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The log's own name, in hexadecimal digits.
    pub log: String,
    /// Times that the log had been opened before.
    pub generation: u32,
    /// Loggers of this generation.
    pub loggers: u32,
    /// The generations before, in order.
    pub earlier: Vec<Earlier>,
    /// The tables, in the order of their numbers.
    pub tables: Vec<LoggedTable>,
    /// What the log begins from, in the words of whoever opened it.
    pub origin: String,
    /// The checkpoint from which the log is recovered, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Checkpoint>,
}

/// All rows, and from where on the log is to be replayed over them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    /// A later one of the log has a larger number.
    pub number: u64,
    /// In which it was taken.
    pub generation: u32,
    /// The log counts from this epoch on.
    pub from_epoch: u64,
    /// And is there up to this one at least: the rows may have something of it.
    pub to_epoch: u64,
    /// By logger of the generation, the first of its files that is needed.
    pub segments: Vec<u64>,
    /// Its own files, in the order of their numbers.
    pub files: Vec<RowsFile>,
}

/// A file of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RowsFile {
    pub bytes: u64,
    pub rows: u64,
}

impl Checkpoint {
    /// The first file of a logger that is needed of a generation; `None`: nothing of the generation is.
    pub fn first_segment(&self, generation: u32, logger: u32) -> Option<u64> {
        match generation.cmp(&self.generation) {
            Ordering::Less => None,
            Ordering::Equal => self.segments.get(logger as usize).copied(),
            Ordering::Greater => Some(0),
        }
    }

    /// Whether a file of the log is needed to recover it.
    pub fn needs(&self, file: LogFileName) -> bool {
        self.first_segment(file.generation, file.logger).is_some_and(|first| file.segment >= first)
    }

    /// As it is told; how long it took it does not say.
    pub fn report(&self) -> CheckpointReport {
        CheckpointReport {
            from_epoch: self.from_epoch,
            to_epoch: self.to_epoch,
            rows: self.files.iter().map(|file| file.rows).sum(),
            bytes: self.files.iter().map(|file| file.bytes).sum(),
            files: self.files.len() as u64,
            took_ns: 0,
        }
    }
}

/// A log that a store was recovered from: it may go on.
pub(crate) struct RecoveredLog {
    pub manifest: Manifest,
    /// Up to which epoch.
    pub epoch: u64,
}

/// A generation that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Earlier {
    /// It had so many loggers.
    pub loggers: u32,
    /// The last epoch of it that counts.
    pub epoch: u64,
}

/// What of a table must be as it was, and what it takes to make it anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoggedTable {
    pub name: String,
    pub row_bytes: u64,
    /// Whether rows vary in length, up to `row_bytes`.
    #[serde(default)]
    pub rows_vary: bool,
    /// Bytes of the longest key, if keys are byte strings.
    pub key_bytes: Option<u64>,
    /// Whether keys that are numbers are in order.
    #[serde(default)]
    pub is_ordered: bool,
    /// Rows to expect when it is made.
    #[serde(default)]
    pub capacity: u64,
    /// What its rows mean, in the words of whoever made it.
    #[serde(default)]
    pub schema: String,
    /// Whether it was dropped: its number is not used again, and what the log has of it is skipped.
    #[serde(default)]
    pub is_dropped: bool,
}

impl LoggedTable {
    /// Of a table.
    pub fn of(table: &TableDescription) -> LoggedTable {
        let key_bytes = match table.indexing {
            Indexing::OrderedBytes { most } => Some(most as u64),
            Indexing::Hashed | Indexing::Ordered => None,
        };
        LoggedTable {
            name: table.name.to_owned(),
            row_bytes: table.row_bytes as u64,
            rows_vary: table.varies(),
            key_bytes,
            is_ordered: table.indexing == Indexing::Ordered,
            capacity: table.capacity,
            schema: String::new(),
            is_dropped: false,
        }
    }

    /// How its rows are found.
    pub fn indexing(&self) -> Indexing {
        match self.key_bytes {
            Some(most) => Indexing::OrderedBytes { most: most as usize },
            None if self.is_ordered => Indexing::Ordered,
            None => Indexing::Hashed,
        }
    }

    /// Whether its rows have one length.
    pub fn length(&self) -> RowLength {
        if self.rows_vary { RowLength::Varying } else { RowLength::Fixed }
    }

    /// Whether the log's records of this table are records of `other`.
    fn is_as(&self, other: &LoggedTable) -> bool {
        let of = |table: &LoggedTable| (table.row_bytes, table.rows_vary, table.key_bytes);
        self.name == other.name && of(self) == of(other)
    }

    /// Whether there can be such a table.
    fn is_possible(&self) -> bool {
        let most = if self.rows_vary { MOST_VARYING_BYTES as u64 } else { u64::from(u32::MAX) };
        self.row_bytes <= most
            && self.key_bytes.is_none_or(|most| most <= MAX_KEY_BYTES as u64)
            && self.capacity <= MOST_CAPACITY
    }

    /// In words.
    pub fn described(&self) -> String {
        let keys = match self.key_bytes {
            Some(most) => format!("byte strings of up to {most} bytes"),
            None => "numbers".to_owned(),
        };
        let most = if self.rows_vary { "up to " } else { "" };
        format!("table '{}' of rows of {most}{} bytes under {keys}", self.name, self.row_bytes)
    }
}

impl Manifest {
    /// The log's own name.
    pub fn log(&self) -> u128 {
        u128::from_str_radix(&self.log, 16).expect("checked when it was read")
    }

    /// Refuses tables that are not the log's.
    pub fn admit(&self, tables: &[LoggedTable]) -> Result<(), LogError> {
        let mismatch = |why| Err(LogError::Mismatch { why });
        for number in 0..self.tables.len().max(tables.len()) {
            let (logged, there) = (self.tables.get(number), tables.get(number));
            if !logged.zip(there).is_some_and(|(logged, there)| logged.is_as(there)) {
                let described =
                    |table: Option<&LoggedTable>| table.map_or("no table".to_owned(), LoggedTable::described);
                return mismatch(format!(
                    "number {number} is {} in the log, and {} in the store",
                    described(logged),
                    described(there)
                ));
            }
        }
        Ok(())
    }
}

/// Replaces a folder's manifest.
pub(crate) fn write(folder: &Folder, manifest: &Manifest) -> Result<(), LogError> {
    let bytes = encode(manifest);
    let path = folder.path().join(NEXT_NAME);
    folder.remove(NEXT_NAME).map_err(|why| io_error("remove", &path, &why))?;
    let mut file = folder.create(NEXT_NAME).map_err(|why| io_error("create", &path, &why))?;
    append_all(&mut file, &bytes).map_err(|why| io_error("write", &path, &why))?;
    file.sync().map_err(|why| io_error("sync", &path, &why))?;
    folder.rename(NEXT_NAME, NAME).map_err(|why| io_error("rename", &path, &why))?;
    folder.sync().map_err(|why| io_error("sync", folder.path(), &why))
}

/// What is wrong with a log whose records are there, in the file of this name, and whose manifest is not.
pub(crate) fn missing(folder: &Folder, records: &str) -> LogError {
    let why = format!("it is missing, and {records} is there");
    LogError::Corrupt { file: folder.path().join(NAME), offset: 0, why }
}

/// A folder's manifest; `None`: it has none.
pub(crate) fn read(folder: &Folder) -> Result<Option<Manifest>, LogError> {
    let path = folder.path().join(NAME);
    let mut file = match folder.open_file(NAME) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(io_error("open", &path, &why)),
    };
    let corrupt = |why| LogError::Corrupt { file: path.clone(), offset: 0, why };
    if file.len() > MOST_BYTES {
        return Err(corrupt(format!("{} bytes; up to {MOST_BYTES} are read", file.len())));
    }
    let mut bytes = vec![0; file.len() as usize];
    let read = file.read_at(0, &mut bytes).map_err(|why| io_error("read", &path, &why))?;
    decode(&bytes[..read]).map(Some).map_err(corrupt)
}

fn encode(manifest: &Manifest) -> Vec<u8> {
    let json = serde_json::to_string_pretty(manifest).expect("strings and numbers");
    let (bytes, checksum) = (json.len(), crc32fast::hash(json.as_bytes()));
    format!("{MAGIC} {VERSION} {bytes} {checksum:08x}\n{json}").into_bytes()
}

fn decode(bytes: &[u8]) -> Result<Manifest, String> {
    let end = bytes.iter().take(80).position(|&byte| byte == b'\n').ok_or("no first line")?;
    let line = std::str::from_utf8(&bytes[..end]).map_err(|_| "the first line is not text")?;
    let json = &bytes[end + 1..];
    let words: Vec<&str> = line.split(' ').collect();
    let &[magic, version, length, checksum] = &words[..] else {
        return Err(format!("the first line has {} words; it should have 4", words.len()));
    };
    if magic != MAGIC {
        return Err("not a manifest".to_owned());
    }
    if !(1..=VERSION).any(|known| version == known.to_string()) {
        return Err(format!("format version {version}; this program reads versions up to {VERSION}"));
    }
    if length != json.len().to_string() {
        return Err(format!("{} bytes; the first line says {length}", json.len()));
    }
    if checksum != format!("{:08x}", crc32fast::hash(json)) {
        return Err("the checksum does not fit".to_owned());
    }
    let manifest: Manifest = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    if u128::from_str_radix(&manifest.log, 16).is_err() {
        return Err(format!("'{}' is not the name of a log", manifest.log));
    }
    let loggers = manifest.earlier.iter().map(|earlier| earlier.loggers).chain([manifest.loggers]);
    if let Some(wrong) = loggers.into_iter().find(|loggers| !(1..=MOST_LOGGERS).contains(loggers)) {
        return Err(format!("{wrong} loggers; 1 to {MOST_LOGGERS} are allowed"));
    }
    if manifest.earlier.len() != manifest.generation as usize {
        return Err("the generations do not add up".to_owned());
    }
    if manifest.tables.len() > MOST_TABLES {
        return Err(format!("{} tables; up to {MOST_TABLES} are allowed", manifest.tables.len()));
    }
    if let Some(wrong) = manifest.tables.iter().find(|table| !table.is_possible()) {
        return Err(format!("there can be no {}", wrong.described()));
    }
    if let Some(checkpoint) = &manifest.checkpoint {
        let earlier = manifest.earlier.get(checkpoint.generation as usize);
        let loggers = earlier.map_or(manifest.loggers, |earlier| earlier.loggers);
        let is_of_a_generation = checkpoint.generation <= manifest.generation;
        if !is_of_a_generation || checkpoint.segments.len() != loggers as usize || checkpoint.from_epoch == 0
        {
            return Err("the checkpoint and the generations do not add up".to_owned());
        }
    }
    Ok(manifest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, row_bytes: u64, key_bytes: Option<u64>) -> LoggedTable {
        let (name, schema) = (name.to_owned(), String::new());
        LoggedTable {
            name,
            row_bytes,
            rows_vary: false,
            key_bytes,
            is_ordered: false,
            capacity: 10,
            schema,
            is_dropped: false,
        }
    }

    fn manifest() -> Manifest {
        Manifest {
            log: format!("{:032x}", 77u128),
            generation: 1,
            loggers: 2,
            earlier: vec![Earlier { loggers: 1, epoch: 9 }],
            tables: vec![table("rows", 8, None)],
            origin: "micro \"quoted\"\n".to_owned(),
            checkpoint: Some(Checkpoint {
                number: 3,
                generation: 1,
                from_epoch: 12,
                to_epoch: 14,
                segments: vec![2, 0],
                files: vec![RowsFile { bytes: 1000, rows: 9 }],
            }),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = encode(&manifest());
        assert_eq!(decode(&bytes), Ok(manifest()));
    }

    #[test]
    fn a_checkpoint_needs_the_log_from_its_files_on() {
        let checkpoint = manifest().checkpoint.expect("it has one");
        let needs = |name: &str| checkpoint.needs(LogFileName::read(name).expect("a name"));
        assert!(needs("log-000001-0000-00000002.trl") && !needs("log-000001-0000-00000001.trl"));
        assert!(needs("log-000001-0001-00000000.trl") && !needs("log-000000-0001-00000007.trl"));
        assert!(needs("log-000002-0005-00000000.trl") && LogFileName::read("log-1-2.trl").is_none());
    }

    #[test]
    fn no_changed_byte_goes_unnoticed() {
        let bytes = encode(&manifest());
        for at in 0..bytes.len() {
            for flip in [1, 0x80] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                assert!(decode(&changed).is_err(), "byte {at}");
            }
            assert!(decode(&bytes[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_schema_that_differs_names_both() {
        let other = LoggedTable { rows_vary: true, ..table("lines", 16, Some(20)) };
        let refused = manifest().admit(&[other]).expect_err("another table").to_string();
        assert_eq!(
            refused,
            "the log is of another store: number 0 is table 'rows' of rows of 8 bytes under numbers in the log, and table \
             'lines' of rows of up to 16 bytes under byte strings of up to 20 bytes in the store"
        );
        assert!(manifest().admit(&[]).is_err() && manifest().admit(&manifest().tables).is_ok());
    }
}
