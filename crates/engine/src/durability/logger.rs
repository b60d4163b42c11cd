//! A logger: writes the blocks of its slots, and marks which epochs it has written all of.
//!
//! A round, which a service calls every few milliseconds and whenever an epoch is complete, or who waits for that under
//! [`Durability::Buffered`] and [`Durability::Sync`]:
//! 1. c: the last epoch that is complete. All blocks of it, and of those before, have been handed over.
//! 2. Takes all blocks of its slots, and appends them to its file: small ones together, with the mark.
//! 3. If any slot, of any logger, has logged something since this logger's last mark, or other instances may have: appends a mark "c", and syncs; under `buffered` only while
//!    somebody wants that ([`Log::want_syncs`]): a checkpoint, or a change of the manifest.
//! 4. Publishes c. The least of all loggers' is the durable epoch.
//! 5. If a checkpoint wants it: goes on with another file, so that it can say which files have only what was before.
//!
//! Where a commit waits for a sync of its own, under `sync`, the file has zeroes ahead of what is appended ([`AHEAD_BYTES`]). A sync then writes
//! down what replaced them, and not that the file has grown, too: it takes two thirds of the time on ext4. They are taken back when the
//! file is left; what a process that ended has left of them is the end of the log ([`super::scan`]).
//!
//! A mark says which bytes of the file had been synced before it, and up to which epoch all loggers had synced marks: so a reader can tell a tail that was
//! torn by a crash, which nobody was told of, from bytes that have changed since they were synced.

use super::block::Sealer;
use super::format::{BLOCK_HEADER_BYTES, BlockHeader, FILE_HEADER_BYTES, FileHeader, Kind, Place};
use super::log::{Log, io_error};
use super::manifest::Manifest;
use super::redo::Block;
use super::scan::LogFileName;
use crate::epoch::{Epochs, Line};
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::bell::Bell;
use crate::facade::clock;
use crate::facade::disk::{File, Folder};
use crate::facade::latched::Latched;
use contract::{Durability, DurabilityCanary, LogError, LogOptions, LogReport};

/// Zeroes that a file has ahead.
const AHEAD_BYTES: u64 = 256 << 10;

/// Blocks are gathered until they have so many bytes, and then written.
const GATHERED_BYTES: usize = 16 << 10;

/// One logger.
pub(super) struct Logger {
    number: usize,
    /// Has a round begin.
    pub bell: Bell,
    durable: Line<AtomicU64>,
    /// The epoch of its last mark that is synced.
    marked: AtomicU64,
    /// How often it has begun another file because that was wanted ([`Log::want_files`]).
    begun: AtomicU64,
    /// The number of the file that it began then, and the last epoch of anything before.
    first_file: AtomicU64,
    newest_before: AtomicU64,
    /// How long its syncs take, lately, in nanoseconds.
    sync_ns: AtomicU64,
    /// What it has written. Whoever asks does not wait for a sync.
    report: Latched<LogReport>,
    files: Latched<Files>,
}

/// What a logger writes to. One thread at a time asks for it.
struct Files {
    folder: Folder,
    sealer: Sealer,
    segment_bytes: u64,
    header: FileHeader,
    name: String,
    file: File,
    /// To be appended to it.
    gathered: Vec<u8>,
    /// Zeroes that it has ahead.
    ahead: u64,
    /// Bytes of the file that are synced.
    synced: u64,
    /// The epoch of the last mark, or that before the first.
    marked: u64,
    has_marked: bool,
    /// The epoch of the last mark that is synced; 0 if there is none.
    mark_synced: u64,
    /// The last epoch of a block, or that before the first.
    newest: u64,
    /// See [`Logger::sync_ns`].
    sync_ns: u64,
    report: LogReport,
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
            sealer: Sealer::new(options.compress),
            segment_bytes: options.segment_bytes,
            header,
            name,
            file,
            gathered: Vec::new(),
            ahead: if options.level == Durability::Sync { AHEAD_BYTES } else { 0 },
            synced: 0,
            marked: first_epoch - 1,
            has_marked: false,
            mark_synced: 0,
            newest: first_epoch - 1,
            sync_ns: 0,
            report: LogReport::default(),
        };
        Ok(Logger {
            number,
            bell: Bell::default(),
            durable: Line(AtomicU64::new(first_epoch - 1)),
            marked: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            first_file: AtomicU64::new(0),
            newest_before: AtomicU64::new(0),
            sync_ns: AtomicU64::new(0),
            report: Latched::default(),
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

    /// Once it has begun another file for the `number`th time that this was wanted: the last epoch of anything in those before, and the
    /// file's number.
    pub fn has_begun(&self, number: u64) -> Option<(u64, u64)> {
        // Acquire: pairs with the Release in `round`.
        let has_begun = self.begun.load(Ordering::Acquire) >= number;
        // Relaxed, both: as said.
        has_begun
            .then(|| (self.newest_before.load(Ordering::Relaxed), self.first_file.load(Ordering::Relaxed)))
    }

    /// See the module. Whether the log has failed is settled while the files are held: what is lost with blocks that could not be written, or not
    /// synced, no later round may mark.
    pub fn round(&self, log: &Log, epochs: &Epochs) {
        let complete = self.files.with(|files| self.write_complete(files, log, epochs));
        self.publish(log, complete);
    }

    /// A round, unless another thread is at one: a service does not wait for somebody else's sync, it comes again.
    pub fn try_round(&self, log: &Log, epochs: &Epochs) {
        let complete = self.files.try_with(|files| self.write_complete(files, log, epochs));
        self.publish(log, complete.flatten());
    }

    fn publish(&self, log: &Log, complete: Option<u64>) {
        if let Some(complete) = complete {
            // Release: the sync comes before; pairs with the Acquire in `durable`.
            self.durable.0.fetch_max(complete, Ordering::Release);
            log.publish();
        }
    }

    /// Answers the epoch up to which all is written, and synced; `None`: the log has failed.
    fn write_complete(&self, files: &mut Files, log: &Log, epochs: &Epochs) -> Option<u64> {
        /// A round; one that does not come to its end has lost what it had taken from the slots.
        struct Round<'a>(&'a Log);
        impl Drop for Round<'_> {
            fn drop(&mut self) {
                self.0
                    .fail(&LogError::Refused { why: "a thread panicked while it wrote the log".to_owned() });
            }
        }
        if log.has_failed() {
            return None;
        }
        let round = Round(log);
        // An Acquire: the blocks of these epochs have been handed over.
        let complete = epochs.complete();
        if log.has_failed() {
            // An epoch may be complete because a branch was aborted whose coordinator is lost: at other instances it may count. Whoever aborts it has failed the log before.
            std::mem::forget(round);
            return None;
        }
        if log.canary() == Some(DurabilityCanary::PublishBeforeSync) {
            self.publish(log, Some(complete));
        }
        let written = self.write_files(files, log, complete);
        std::mem::forget(round);
        match written {
            Ok(()) => Some(complete),
            Err(error) => {
                log.fail(&error);
                None
            }
        }
    }

    fn write_files(&self, files: &mut Files, log: &Log, complete: u64) -> Result<(), LogError> {
        let marked = files.write_all(self.number, log, complete)?;
        self.begin_if_wanted(files, log.files_wanted())?;
        self.report.with(|report| *report = files.report);
        // Relaxed: a measure.
        self.sync_ns.store(files.sync_ns, Ordering::Relaxed);
        // Release: the sync comes before; pairs with the Acquire in `marked`.
        self.marked.fetch_max(marked, Ordering::Release);
        Ok(())
    }

    fn begin_if_wanted(&self, files: &mut Files, wanted: u64) -> Result<(), LogError> {
        // Relaxed: written by who has the files.
        if self.begun.load(Ordering::Relaxed) < wanted {
            if files.file.len() > FILE_HEADER_BYTES as u64 {
                files.begin_another()?;
            }
            self.first_file.store(files.header.segment, Ordering::Relaxed);
            self.newest_before.store(files.newest, Ordering::Relaxed);
            // Release: the two are there; pairs with the Acquire in `has_begun`.
            self.begun.store(wanted, Ordering::Release);
        }
        Ok(())
    }

    /// How long its syncs take, in nanoseconds: each counts a quarter, and those before it the rest.
    pub fn sync_ns(&self) -> u64 {
        // Relaxed: a measure.
        self.sync_ns.load(Ordering::Relaxed)
    }

    /// Bytes that it has written.
    pub fn bytes_written(&self) -> u64 {
        self.report.with(|report| report.bytes)
    }

    /// Takes back what its file has ahead, if that can be done: a reader takes it for the end of the log.
    pub fn leave(&self) {
        let _ = self.files.with(Files::trim);
    }

    /// Adds what it has written.
    pub fn add_to(&self, report: &mut LogReport) {
        let own = self.report.with(|own| *own);
        report.bytes += own.bytes;
        report.raw_bytes += own.raw_bytes;
        report.syncs += own.syncs;
        report.longest_sync_ns = report.longest_sync_ns.max(own.longest_sync_ns);
    }
}

/// A new file with its header, both durable.
fn begin_file(folder: &Folder, header: &FileHeader) -> Result<(String, File), LogError> {
    let name = LogFileName::of(header).to_string();
    let file = begin_durable(folder, &name, &header.encode())?;
    Ok((name, file))
}

/// A new file that begins with `header`, durable with its name.
pub(super) fn begin_durable(folder: &Folder, name: &str, header: &[u8]) -> Result<File, LogError> {
    let path = folder.path().join(name);
    let mut file = folder.create(name).map_err(|why| io_error("create", &path, &why))?;
    append_all(&mut file, header).map_err(|why| io_error("write", &path, &why))?;
    file.sync().map_err(|why| io_error("sync", &path, &why))?;
    folder.sync().map_err(|why| io_error("sync", folder.path(), &why))?;
    Ok(file)
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
        if complete > self.marked && (newest > self.marked || log.is_of_one_instance()) {
            self.mark(complete, log)?;
        }
        self.write_gathered()?;
        Ok(self.mark_synced)
    }

    /// Appends a block; gives its memory back.
    fn write(&mut self, slot: u32, block: Block) -> Result<Vec<u8>, LogError> {
        let Block { mut bytes, first_epoch, last_epoch } = block;
        let header = BlockHeader {
            kind: Kind::Transactions,
            compressed: false,
            stored_bytes: 0,
            raw_bytes: 0,
            first_epoch,
            last_epoch,
            synced: self.synced,
            slot,
        };
        self.report.raw_bytes += bytes.len() as u64;
        self.newest = self.newest.max(last_epoch);
        let mut sealer = std::mem::replace(&mut self.sealer, Sealer::new(false));
        let appended = self.append(sealer.seal(self.place(), header, &mut bytes));
        self.sealer = sealer;
        appended.map(|()| bytes)
    }

    /// Where the next block will stand.
    fn place(&self) -> Place {
        Place::of(&self.header.encode(), self.file.len() + self.gathered.len() as u64)
    }

    /// Appends a block, now or with those that follow.
    fn append(&mut self, block: &[u8]) -> Result<(), LogError> {
        self.report.bytes += block.len() as u64;
        if self.gathered.len() + block.len() > GATHERED_BYTES {
            self.write_gathered()?;
        }
        if block.len() > GATHERED_BYTES {
            return self.write_now(block);
        }
        self.gathered.extend_from_slice(block);
        Ok(())
    }

    /// Appends what was gathered.
    fn write_gathered(&mut self) -> Result<(), LogError> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let mut gathered = std::mem::take(&mut self.gathered);
        let written = self.write_now(&gathered);
        gathered.clear();
        self.gathered = gathered;
        written
    }

    fn write_now(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        let length = bytes.len() as u64;
        // Of much that is written at once the length is little.
        if self.file.zeroes_ahead() < length && length < self.ahead {
            self.file.zero_ahead(self.ahead);
        }
        append_all(&mut self.file, bytes).map_err(|why| self.io_error("write", &why))
    }

    fn trim(&mut self) -> Result<(), LogError> {
        self.file.trim().map_err(|why| self.io_error("trim", &why))
    }

    fn io_error(&self, what: &'static str, why: &std::io::Error) -> LogError {
        io_error(what, &self.folder.path().join(&self.name), why)
    }

    /// Marks that all up to this epoch is written, makes it durable, and goes on with another file if this is full.
    fn mark(&mut self, epoch: u64, log: &Log) -> Result<(), LogError> {
        let by_all = log.marked();
        let mut block = [0; BLOCK_HEADER_BYTES + 16];
        let (attested, everywhere) = block[BLOCK_HEADER_BYTES..].split_at_mut(8);
        attested.copy_from_slice(&by_all.to_le_bytes());
        // Under `buffered` nobody promises that what others have told survives a crash of their machines: a log that has lost its end then is no corrupt one. And before the
        // generation's first epoch nothing is known of it: a logger that has no mark yet has lost none.
        let is_known = |epoch: &u64| log.level().syncs() && *epoch >= self.header.first_epoch;
        let known = Some(log.durable_everywhere()).filter(is_known).unwrap_or(0);
        everywhere.copy_from_slice(&known.to_le_bytes());
        let payload = if log.is_of_one_instance() { 16 } else { 8 };
        let block = &mut block[..BLOCK_HEADER_BYTES + payload];
        let header = BlockHeader {
            kind: Kind::Mark,
            compressed: false,
            stored_bytes: payload as u32,
            raw_bytes: payload as u32,
            first_epoch: epoch,
            last_epoch: epoch,
            synced: self.synced,
            slot: 0,
        };
        header.seal(self.place(), block);
        self.report.raw_bytes += header.file_bytes();
        self.append(block)?;
        self.write_gathered()?;
        (self.marked, self.has_marked) = (epoch, true);
        if log.wants_syncs() {
            self.sync()?;
        }
        if self.file.len() >= self.segment_bytes {
            self.begin_another()?;
        }
        Ok(())
    }

    /// Goes on with another file. This one is synced, so that a reader who finds the next one knows that it was whole.
    fn begin_another(&mut self) -> Result<(), LogError> {
        let is_trimmed = self.file.zeroes_ahead() > 0;
        self.trim()?;
        if is_trimmed || self.synced < self.file.len() {
            self.sync()?;
        }
        self.header.segment += 1;
        (self.name, self.file) = begin_file(&self.folder, &self.header)?;
        self.synced = FILE_HEADER_BYTES as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), LogError> {
        let began = clock::now();
        self.file.sync().map_err(|why| self.io_error("sync", &why))?;
        self.synced = self.file.len();
        self.mark_synced = if self.has_marked { self.marked } else { 0 };
        self.report.syncs += 1;
        let took = clock::nanoseconds(clock::now().since(began));
        self.report.longest_sync_ns = self.report.longest_sync_ns.max(took);
        self.sync_ns = (3 * self.sync_ns + took) / 4;
        Ok(())
    }
}
