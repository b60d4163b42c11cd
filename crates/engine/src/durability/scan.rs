//! Reading a log: blocks in order, and what is wrong where they end.
//!
//! A stream is what one logger has written in one generation, file after file. It is read from mark to mark: what is before a mark
//! whose checksum fits, all of it, is intact up to the mark's epoch.
//!
//! **Where a stream ends** there may be zeroes, which its logger had written ahead, or something that is no block. After a crash that is a tail that was torn, of which nobody
//! was told. But if some later bytes say that it had been synced, it has changed since: a later block, which says how much of its
//! file was synced before it; or a later file, which is begun only when the one before it is synced. Then the log is corrupt.

use super::format::{
    BLOCK_HEADER_BYTES, BlockHeader, FILE_HEADER_BYTES, FileHeader, Kind, MOST_PAYLOAD_BYTES, Place,
};
use super::log::io_error;
use super::manifest::{self, Manifest};
use crate::facade::disk::Folder;
use crate::facade::shared::Arc;
use contract::LogError;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

/// The folders of a log, which are there.
pub(crate) fn find_folders(paths: &[PathBuf]) -> Result<Vec<Folder>, LogError> {
    assert!(!paths.is_empty(), "a log has a folder");
    let find = |path: &PathBuf| match Folder::find(path) {
        Ok(Some(folder)) => Ok(folder),
        Ok(None) => Err(LogError::Nothing { folder: path.clone() }),
        Err(why) => Err(io_error("open", path, &why)),
    };
    paths.iter().map(find).collect()
}

/// The manifest of the log in these folders. It is corrupt if they have records and no manifest; what an opening that was cut off has left are files
/// without any, and no log.
pub(crate) fn manifest_in(folders: &[Folder]) -> Result<Manifest, LogError> {
    let first = &folders[0];
    if let Some(manifest) = manifest::read(first)? {
        return Ok(manifest);
    }
    for folder in folders {
        let names = folder.names().map_err(|why| io_error("list", folder.path(), &why))?;
        for name in names.into_iter().filter(|name| is_log_file(name)) {
            let opened = folder.open_file(&name);
            let file = opened.map_err(|why| io_error("open", &folder.path().join(&name), &why))?;
            if file.len() > FILE_HEADER_BYTES as u64 {
                return Err(manifest::missing(first, &name));
            }
        }
    }
    Err(LogError::Nothing { folder: first.path().to_owned() })
}

/// A file of a log.
#[derive(Clone, Debug)]
pub(crate) struct LogFile {
    pub folder: Folder,
    pub name: String,
    pub header: FileHeader,
}

impl LogFile {
    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }
}

/// A file that calls itself one of a log, and whose header is not one of the log's.
#[derive(Clone, Debug)]
pub(crate) struct Unreadable {
    pub path: PathBuf,
    /// What its name says.
    pub name: Option<LogFileName>,
    /// Whether there is something behind the header.
    pub is_long: bool,
    /// What is wrong with it.
    pub why: String,
}

/// The files of log `log` in these folders, by generation and logger, in the order of their numbers; and those whose header cannot
/// be read.
#[allow(clippy::type_complexity, reason = "two lists, each plain")]
pub(crate) fn files(
    folders: &[Folder],
    log: u128,
) -> Result<(BTreeMap<(u32, u32), Vec<LogFile>>, Vec<Unreadable>), LogError> {
    let (mut files, mut unreadable) = (BTreeMap::<(u32, u32), Vec<LogFile>>::new(), Vec::new());
    for folder in folders {
        let names = folder.names().map_err(|why| io_error("list", folder.path(), &why))?;
        for name in names.into_iter().filter(|name| is_log_file(name)) {
            let path = folder.path().join(&name);
            let mut file = folder.open_file(&name).map_err(|why| io_error("open", &path, &why))?;
            let mut bytes = [0; FILE_HEADER_BYTES];
            let read = file.read_at(0, &mut bytes).map_err(|why| io_error("read", &path, &why))?;
            let why = match FileHeader::decode(&bytes[..read]) {
                Ok(header) if header.log == log => {
                    let of = files.entry((header.generation, header.logger)).or_default();
                    of.push(LogFile { folder: folder.clone(), name, header });
                    continue;
                }
                Ok(header) => format!("it is of log {:032x}", header.log),
                Err(why) => why,
            };
            let is_long = file.len() > FILE_HEADER_BYTES as u64;
            unreadable.push(Unreadable { path, name: LogFileName::read(&name), is_long, why });
        }
    }
    for of in files.values_mut() {
        of.sort_by_key(|file| file.header.segment);
    }
    Ok((files, unreadable))
}

/// Whether a file calls itself one of a log.
pub(crate) fn is_log_file(name: &str) -> bool {
    name.starts_with("log-") && name.ends_with(".trl")
}

/// What the name of a log's file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogFileName {
    pub generation: u32,
    pub logger: u32,
    pub segment: u64,
}

impl LogFileName {
    /// Of a file's name, if it is one.
    pub fn read(name: &str) -> Option<LogFileName> {
        let numbers = name.strip_prefix("log-")?.strip_suffix(".trl")?;
        let mut numbers = numbers.split('-');
        let (generation, logger, segment) = (numbers.next()?, numbers.next()?, numbers.next()?);
        let (generation, logger, segment) =
            (generation.parse().ok()?, logger.parse().ok()?, segment.parse().ok()?);
        numbers.next().is_none().then_some(LogFileName { generation, logger, segment })
    }

    /// Of a file with this header.
    pub fn of(header: &FileHeader) -> LogFileName {
        let FileHeader { generation, logger, segment, .. } = *header;
        LogFileName { generation, logger, segment }
    }
}

impl fmt::Display for LogFileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "log-{:06}-{:04}-{:08}.trl", self.generation, self.logger, self.segment)
    }
}

/// Transactions of one block.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    bytes: Arc<Vec<u8>>,
    range: Range<usize>,
    pub last_epoch: u64,
}

impl Payload {
    /// Of a block with this header, whose payload is stored there; an error in words.
    pub fn of(header: &BlockHeader, bytes: &Arc<Vec<u8>>, stored: Range<usize>) -> Result<Payload, String> {
        let last_epoch = header.last_epoch;
        if !header.compressed {
            return Ok(Payload { bytes: Arc::clone(bytes), range: stored, last_epoch });
        }
        let bytes = uncompressed(header, &bytes[stored])?;
        Ok(Payload { range: 0..bytes.len(), bytes: Arc::new(bytes), last_epoch })
    }

    /// The bytes, uncompressed.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

/// Where a stream ends, and why.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub file: PathBuf,
    pub offset: u64,
    /// What is there in place of a block; `None`: the end of the last file.
    pub wrong: Option<String>,
    /// How it is known that this had been synced: it is corrupt, not torn.
    pub synced: Option<String>,
}

/// What one logger has written in one generation.
pub(crate) struct Stream {
    files: VecDeque<LogFile>,
    /// The file that is being read.
    path: PathBuf,
    segment: u64,
    bytes: Arc<Vec<u8>>,
    /// Of its first block.
    place: Place,
    at: usize,
    /// The epoch of the last mark, up to which everything is intact; at first that before the generation's first.
    pub marked: u64,
    /// An epoch that all loggers had marked and synced, as the marks say.
    pub attested: u64,
    /// An epoch up to which everything was durable at all instances, each a process with a log of its own, as the marks say.
    pub everywhere: u64,
    /// Bytes read.
    pub read: u64,
    pub end: Option<End>,
    /// Transactions that no mark follows, once the stream has ended.
    pub after_last_mark: Vec<Payload>,
    /// Whether checksums are looked at.
    pub is_checked: bool,
}

impl Stream {
    /// Of one file by itself, whichever it is.
    pub fn of_file(file: LogFile) -> Result<Stream, LogError> {
        let segment = file.header.segment;
        let mut stream = Stream::unread(vec![file]);
        stream.next_file(segment)?;
        Ok(stream)
    }

    /// Of these files, which are at least one, from number `first` on.
    pub fn open(files: Vec<LogFile>, first: u64) -> Result<Stream, LogError> {
        let mut stream = Stream::unread(files);
        stream.next_file(first)?;
        Ok(stream)
    }

    fn unread(files: Vec<LogFile>) -> Stream {
        let header = files[0].header;
        let marked = header.first_epoch.saturating_sub(1);
        Stream {
            files: files.into(),
            path: PathBuf::new(),
            segment: 0,
            bytes: Arc::default(),
            place: Place::of(&header.encode(), FILE_HEADER_BYTES as u64),
            at: 0,
            marked,
            attested: 0,
            everywhere: 0,
            read: 0,
            end: None,
            after_last_mark: Vec::new(),
            is_checked: true,
        }
    }

    /// Goes on with the next file, which should be number `segment`.
    fn next_file(&mut self, segment: u64) -> Result<(), LogError> {
        let file = self.files.pop_front().expect("the caller has looked");
        let path = file.path();
        if file.header.segment != segment {
            let why = format!("it is file number {}, and number {segment} is missing", file.header.segment);
            return Err(LogError::Corrupt { file: path, offset: 24, why });
        }
        let mut reader = file.folder.open_file(&file.name).map_err(|why| io_error("open", &path, &why))?;
        let mut bytes = vec![0; reader.len() as usize];
        let read = reader.read_at(0, &mut bytes).map_err(|why| io_error("read", &path, &why))?;
        bytes.truncate(read);
        self.read += read as u64;
        (self.path, self.bytes, self.at) = (path, Arc::new(bytes), FILE_HEADER_BYTES);
        self.place = Place::of(&file.header.encode(), self.at as u64);
        self.segment = segment;
        Ok(())
    }

    /// Reads on to the next mark, and adds the transactions before it. `None`: there is none, and [`Stream::end`] says where and
    /// why the stream ends.
    pub fn next_mark(&mut self, payloads: &mut Vec<Payload>) -> Result<Option<u64>, LogError> {
        if self.end.is_some() {
            return Ok(None);
        }
        loop {
            if self.at == self.bytes.len() {
                if self.files.is_empty() {
                    self.ends(None);
                    return Ok(None);
                }
                self.next_file(self.segment + 1)?;
                continue;
            }
            let rest = &self.bytes[self.at..];
            let place = self.place.at(self.at as u64);
            let (header, payload) = match BlockHeader::decode_if(place, rest, self.is_checked) {
                Ok(block) => block,
                Err(why) => {
                    let is_end = self.files.is_empty() && rest.iter().all(|&byte| byte == 0);
                    self.ends((!is_end).then_some(why));
                    return Ok(None);
                }
            };
            let from = self.at + BLOCK_HEADER_BYTES;
            match header.kind {
                Kind::Mark => {
                    let Some(by_all) = payload.first_chunk() else {
                        self.ends(Some(format!("a mark of {} bytes", payload.len())));
                        return Ok(None);
                    };
                    self.attested = self.attested.max(u64::from_le_bytes(*by_all));
                    if let Some(everywhere) = payload[by_all.len()..].first_chunk() {
                        self.everywhere = self.everywhere.max(u64::from_le_bytes(*everywhere));
                    }
                    self.marked = self.marked.max(header.last_epoch);
                    self.at += header.file_bytes() as usize;
                    payloads.append(&mut self.after_last_mark);
                    return Ok(Some(self.marked));
                }
                Kind::Transactions => {
                    match Payload::of(&header, &self.bytes, from..from + payload.len()) {
                        Ok(payload) => self.after_last_mark.push(payload),
                        Err(why) => {
                            self.ends(Some(why));
                            return Ok(None);
                        }
                    }
                    self.at += header.file_bytes() as usize;
                }
                Kind::Rows => {
                    self.ends(Some("a block of rows".to_owned()));
                    return Ok(None);
                }
            }
        }
    }

    /// The stream ends here.
    fn ends(&mut self, wrong: Option<String>) {
        let synced = wrong.is_some().then(|| self.how_known_to_be_synced()).flatten();
        self.end = Some(End { file: self.path.clone(), offset: self.at as u64, wrong, synced });
    }

    fn how_known_to_be_synced(&self) -> Option<String> {
        if let Some(next) = self.files.front() {
            return Some(format!("file {} was begun after this one was synced", next.name));
        }
        let later = self.at + 1..self.bytes.len();
        let attests = |at: usize| {
            let block = BlockHeader::decode(self.place.at(at as u64), &self.bytes[at..]).ok()?.0;
            (block.synced > self.at as u64).then_some((at, block.synced))
        };
        let (at, synced) = later.into_iter().find_map(attests)?;
        Some(format!("byte {at} says that {synced} bytes had been synced"))
    }
}

/// A block's payload; an error in words.
pub(crate) fn uncompressed(header: &BlockHeader, payload: &[u8]) -> Result<Vec<u8>, String> {
    // No more than LZ4 can make of what is there, whatever the header says.
    let most = payload.len().saturating_mul(255).min(MOST_PAYLOAD_BYTES);
    let raw_bytes = header.raw_bytes as usize;
    if raw_bytes > most {
        return Err(format!("a block of {} bytes that says it is one of {raw_bytes}", payload.len()));
    }
    let mut bytes = vec![0; raw_bytes];
    match lz4_flex::block::decompress_into(payload, &mut bytes) {
        Ok(read) if read == raw_bytes => Ok(bytes),
        Ok(read) => Err(format!("a block of {read} bytes that says it is one of {raw_bytes}")),
        Err(error) => Err(format!("a block that cannot be decompressed: {error}")),
    }
}
