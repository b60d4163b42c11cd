//! A logger: writes the blocks of its slots, and marks which epochs it has written all of.
//!
//! A round, which a service calls every few milliseconds and whenever an epoch is complete:
//! 1. c: the last epoch that is complete. All blocks of it, and of those before, have been handed over.
//! 2. Takes all blocks of its slots, and appends them to its file.
//! 3. If any slot, of any logger, has logged something since this logger's last mark: appends a mark "c", and syncs.
//! 4. Publishes c. The least of all loggers' is the durable epoch.
//!
//! A mark says which bytes of the file had been synced before it, and up to which epoch all loggers had synced marks: so a reader can tell a tail that was
//! torn by a crash, which nobody was told of, from bytes that have changed since they were synced.

use super::format::{BLOCK_HEADER_BYTES, BlockHeader, FILE_HEADER_BYTES, FileHeader, Kind};
use super::log::{Log, io_error};
use super::manifest::Manifest;
use super::redo::Block;
use crate::epoch::{Epochs, Line};
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::bell::Bell;
use crate::facade::clock;
use crate::facade::disk::{File, Folder};
use crate::facade::latched::Latched;
use contract::{Durability, DurabilityCanary, LogError, LogOptions, LogReport};

/// One logger.
pub(super) struct Logger {
    number: usize,
    /// Has a round begin.
    pub bell: Bell,
    durable: Line<AtomicU64>,
    /// The epoch of its last mark that is synced.
    marked: AtomicU64,
    files: Latched<Files>,
}

/// What a logger writes to. One thread at a time asks for it.
struct Files {
    folder: Folder,
    level: Durability,
    compress: bool,
    segment_bytes: u64,
    header: FileHeader,
    name: String,
    file: File,
    /// Bytes of the file that are synced.
    synced: u64,
    /// The epoch of the last mark, or that before the first.
    marked: u64,
    has_marked: bool,
    /// A compressed block.
    compressed: Vec<u8>,
    report: LogReport,
}

/// The name of a file of the log.
pub(super) fn file_name(header: &FileHeader) -> String {
    let FileHeader { generation, logger, segment, .. } = header;
    format!("log-{generation:06}-{logger:04}-{segment:08}.trl")
}

impl Logger {
    /// Logger `number`, with the first file of its generation.
    pub fn open(
        number: usize,
        options: &LogOptions,
        folders: &[Folder],
        manifest: &Manifest,
        first_epoch: u64,
    ) -> Result<Logger, LogError> {
        let folder = folders[number % folders.len()].clone();
        let header = FileHeader {
            logger: number as u32,
            loggers: options.loggers as u32,
            generation: manifest.generation,
            segment: 0,
            log: manifest.log(),
            first_epoch,
        };
        let (name, file) = begin_file(&folder, &header)?;
        let files = Files {
            folder,
            level: options.level,
            compress: options.compress,
            segment_bytes: options.segment_bytes,
            header,
            name,
            file,
            synced: 0,
            marked: first_epoch - 1,
            has_marked: false,
            compressed: Vec::new(),
            report: LogReport::default(),
        };
        Ok(Logger {
            number,
            bell: Bell::default(),
            durable: Line(AtomicU64::new(first_epoch - 1)),
            marked: AtomicU64::new(0),
            files: Latched::new(files),
        })
    }

    /// Everything of its slots that committed in this epoch or before is durable.
    pub fn durable(&self) -> u64 {
        // Acquire: pairs with the Release in `round`.
        self.durable.0.load(Ordering::Acquire)
    }

    /// The epoch of its last mark that is synced; 0 if there is none.
    pub fn marked(&self) -> u64 {
        // Acquire: pairs with the Release in `round`.
        self.marked.load(Ordering::Acquire)
    }

    /// See the module.
    pub fn round(&self, log: &Log, epochs: &Epochs) {
        if log.has_failed() {
            return;
        }
        // An Acquire: the blocks of these epochs have been handed over.
        let complete = epochs.complete();
        if log.canary() == Some(DurabilityCanary::PublishBeforeSync) {
            self.durable.0.store(complete.max(self.durable()), Ordering::Release);
            log.publish();
        }
        match self.files.with(|files| files.write_all(self.number, log, complete)) {
            Ok(marked) => {
                // Release: the sync comes before; pairs with the Acquire in `marked`.
                self.marked.store(marked, Ordering::Release);
                // Release: the sync comes before; pairs with the Acquire in `durable`.
                self.durable.0.store(complete.max(self.durable()), Ordering::Release);
                log.publish();
            }
            Err(error) => log.fail(&error),
        }
    }

    /// Adds what it has written.
    pub fn add_to(&self, report: &mut LogReport) {
        self.files.with(|files| {
            report.bytes += files.report.bytes;
            report.raw_bytes += files.report.raw_bytes;
            report.syncs += files.report.syncs;
            report.longest_sync_ns = report.longest_sync_ns.max(files.report.longest_sync_ns);
        });
    }
}

/// A new file with its header, both durable.
fn begin_file(folder: &Folder, header: &FileHeader) -> Result<(String, File), LogError> {
    let name = file_name(header);
    let path = folder.path().join(&name);
    let mut file = folder.create(&name).map_err(|why| io_error("create", &path, &why))?;
    append_all(&mut file, &header.encode()).map_err(|why| io_error("write", &path, &why))?;
    file.sync().map_err(|why| io_error("sync", &path, &why))?;
    folder.sync().map_err(|why| io_error("sync", folder.path(), &why))?;
    Ok((name, file))
}

/// Appends all of the bytes.
pub(super) fn append_all(file: &mut File, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match file.append(bytes) {
            Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Files {
    /// Answers the epoch of the last mark that is synced.
    fn write_all(&mut self, logger: usize, log: &Log, complete: u64) -> Result<u64, LogError> {
        let newest = log.newest();
        for (slot, mailbox) in log.mailboxes_of(logger) {
            for block in mailbox.with(|mailbox| std::mem::take(&mut mailbox.full)) {
                let bytes = self.write(slot, block)?;
                mailbox.with(|mailbox| mailbox.give_back(bytes));
            }
        }
        if complete > self.marked && newest > self.marked {
            self.mark(complete, log.marked())?;
        }
        Ok(if self.level.syncs() && self.has_marked { self.marked } else { 0 })
    }

    /// Appends a block; gives its memory back.
    fn write(&mut self, slot: u32, block: Block) -> Result<Vec<u8>, LogError> {
        let Block { mut bytes, first_epoch, last_epoch } = block;
        let raw_bytes = (bytes.len() - BLOCK_HEADER_BYTES) as u32;
        let mut header = BlockHeader {
            kind: Kind::Transactions,
            compressed: false,
            stored_bytes: raw_bytes,
            raw_bytes,
            first_epoch,
            last_epoch,
            synced: self.synced,
            slot,
        };
        self.report.raw_bytes += header.file_bytes();
        if self.compress {
            let payload = &bytes[BLOCK_HEADER_BYTES..];
            let room = BLOCK_HEADER_BYTES + lz4_flex::block::get_maximum_output_size(payload.len());
            self.compressed.resize(room, 0);
            let into = &mut self.compressed[BLOCK_HEADER_BYTES..];
            let stored = lz4_flex::block::compress_into(payload, into).expect("there is room");
            if stored < payload.len() {
                (header.compressed, header.stored_bytes) = (true, stored as u32);
                let mut compressed = std::mem::take(&mut self.compressed);
                let sealed = &mut compressed[..BLOCK_HEADER_BYTES + stored];
                header.seal(sealed);
                let appended = self.append(sealed);
                self.compressed = compressed;
                return appended.map(|()| bytes);
            }
        }
        header.seal(&mut bytes);
        self.append(&bytes)?;
        Ok(bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        self.report.bytes += bytes.len() as u64;
        append_all(&mut self.file, bytes)
            .map_err(|why| io_error("write", &self.folder.path().join(&self.name), &why))
    }

    /// Marks that all up to this epoch is written, makes it durable, and goes on with another file if this is full.
    fn mark(&mut self, epoch: u64, by_all: u64) -> Result<(), LogError> {
        let mut block = [0; BLOCK_HEADER_BYTES + 8];
        block[BLOCK_HEADER_BYTES..].copy_from_slice(&by_all.to_le_bytes());
        let header = BlockHeader {
            kind: Kind::Mark,
            compressed: false,
            stored_bytes: 8,
            raw_bytes: 8,
            first_epoch: epoch,
            last_epoch: epoch,
            synced: self.synced,
            slot: 0,
        };
        header.seal(&mut block);
        self.report.raw_bytes += header.file_bytes();
        self.append(&block)?;
        if self.level.syncs() {
            self.sync()?;
        }
        (self.marked, self.has_marked) = (epoch, true);
        if self.file.len() >= self.segment_bytes {
            if !self.level.syncs() {
                // So that a reader who finds the next file knows that this one was whole.
                self.sync()?;
            }
            self.header.segment += 1;
            (self.name, self.file) = begin_file(&self.folder, &self.header)?;
            self.synced = FILE_HEADER_BYTES as u64;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), LogError> {
        let began = clock::now();
        self.file.sync().map_err(|why| io_error("sync", &self.folder.path().join(&self.name), &why))?;
        self.synced = self.file.len();
        self.report.syncs += 1;
        let took = clock::nanoseconds(clock::now().since(began));
        self.report.longest_sync_ns = self.report.longest_sync_ns.max(took);
        Ok(())
    }
}
