//! The checkpointer: what a service does, step by step, for one checkpoint after the other ([`super`]).

use super::files::{RowsFiles, remove_outdated};
use super::{Checkpoints, Rows};
use crate::durability::log::Log;
use crate::durability::manifest::{Checkpoint, Manifest};
use crate::epoch::Epochs;
use crate::facade::atomic::Ordering;
use crate::facade::clock::{self, Ticks};
use crate::facade::disk::Folder;
use contract::{CheckpointReport, DurabilityCanary, LogError, LogOptions};
use std::time::Duration;

/// Bytes after which rows go on in another file: what a thread that recovers has in memory at once.
const FILE_BYTES: u64 = 64 << 20;

/// See the module.
pub(crate) struct Checkpointer {
    folders: Vec<Folder>,
    compress: bool,
    file_bytes: u64,
    every: Option<Duration>,
    /// After so many bytes of the log, and as many as the last one has.
    after_bytes: Option<u64>,
    /// Bytes of the log when the last one began.
    bytes_before: u64,
    /// When the last one began, or the first round was.
    last_began: Option<Ticks>,
    /// Of those asked for, so many have begun.
    begun: u64,
    next_number: u64,
    phase: Phase,
    /// Of the last one.
    last_bytes: u64,
}

/// How far a checkpoint is.
enum Phase {
    /// None is taken.
    Resting,
    /// Loggers begin other files, for the time of this number.
    BeginningFiles(u64),
    /// Epochs before `from_epoch`, of which the files before those have something, become complete.
    Completing { from_epoch: u64, segments: Vec<u64> },
    /// The tables are walked.
    Walking { checkpoint: Checkpoint, files: Box<RowsFiles> },
    /// Its files are synced; the log is not yet, as far as the rows need it.
    Closing(Checkpoint),
}

impl Checkpointer {
    /// Of a log with this manifest in these folders.
    pub fn new(options: &LogOptions, folders: &[Folder], manifest: &Manifest) -> Checkpointer {
        Checkpointer {
            folders: folders.to_vec(),
            compress: options.compress,
            file_bytes: options.segment_bytes.min(FILE_BYTES),
            every: options.checkpoint_every,
            after_bytes: options.checkpoint_bytes,
            bytes_before: 0,
            last_began: None,
            begun: 0,
            next_number: manifest.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.number + 1),
            phase: Phase::Resting,
            last_bytes: 0,
        }
    }

    /// Goes on as far as it can.
    pub fn round(&mut self, shared: &Checkpoints, log: &Log, epochs: &Epochs) {
        if log.has_failed() {
            return;
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Resting);
        match self.step(phase, shared, log, epochs) {
            Ok(phase) => self.phase = phase,
            Err(error) => {
                log.walk(false);
                log.fail(&error);
            }
        }
    }

    fn step(
        &mut self,
        phase: Phase,
        shared: &Checkpoints,
        log: &Log,
        epochs: &Epochs,
    ) -> Result<Phase, LogError> {
        Ok(match phase {
            Phase::Resting => match self.is_due(shared, log) {
                true => {
                    // What the rows have must be synced before they count.
                    log.want_syncs();
                    Phase::BeginningFiles(log.want_files())
                }
                false => Phase::Resting,
            },
            Phase::BeginningFiles(number) => match log.files_begun(number) {
                Some((newest, segments)) => Phase::Completing { from_epoch: newest + 1, segments },
                None => Phase::BeginningFiles(number),
            },
            Phase::Completing { from_epoch, segments } if epochs.complete() + 1 >= from_epoch => {
                let checkpoint = Checkpoint {
                    number: self.next_number,
                    generation: log.manifest().generation,
                    from_epoch,
                    to_epoch: 0,
                    segments,
                    files: Vec::new(),
                };
                self.next_number += 1;
                let files = Box::new(RowsFiles::new(
                    &self.folders,
                    log.manifest().log(),
                    &checkpoint,
                    self.file_bytes,
                    self.compress,
                ));
                shared.begin_walk();
                log.walk(true);
                Phase::Walking { checkpoint, files }
            }
            Phase::Completing { .. } => phase,
            Phase::Walking { checkpoint, mut files } => {
                let has_ended = shared.have_all_ended();
                for Rows { mut bytes, rows } in shared.full.with(std::mem::take) {
                    files.append(&mut bytes, rows)?;
                    shared.recycle(bytes);
                }
                if !has_ended {
                    return Ok(Phase::Walking { checkpoint, files });
                }
                log.walk(false);
                // All that the rows have was committed in this epoch or before.
                let to_epoch = epochs.serialization_point();
                log.has_news_of(to_epoch);
                Phase::Closing(Checkpoint { to_epoch, files: files.end()?, ..checkpoint })
            }
            Phase::Closing(checkpoint) => {
                let is_durable = log.marked() >= checkpoint.to_epoch
                    || log.canary() == Some(DurabilityCanary::UndurableCheckpoint);
                match is_durable {
                    true => self.close(checkpoint, shared, log)?,
                    false => Phase::Closing(checkpoint),
                }
            }
        })
    }

    /// Whether another one is to begin; if so, it has.
    fn is_due(&mut self, shared: &Checkpoints, log: &Log) -> bool {
        let now = clock::now();
        let began = *self.last_began.get_or_insert(now);
        // Acquire: pairs with the Release in `want`.
        let wanted = shared.wanted.load(Ordering::Acquire);
        let is_time = self.every.is_some_and(|every| now.since(began) >= clock::ticks_of(every));
        let is_much = self.after_bytes.is_some_and(|bytes| {
            let logged = log.bytes_written() - self.bytes_before;
            logged >= bytes.max(self.last_bytes)
        });
        // Who has said of no tables what they are has none walked, and an empty checkpoint would take their log away.
        let has_tables = shared.beginnings.with(|beginnings| beginnings.is_some());
        let is_due = has_tables && (is_time || is_much || wanted > self.begun);
        if is_due {
            (self.last_began, self.begun) = (Some(now), wanted);
            self.bytes_before = log.bytes_written();
        }
        is_due
    }

    /// The checkpoint counts from now on, and what was before it goes.
    fn close(&mut self, checkpoint: Checkpoint, shared: &Checkpoints, log: &Log) -> Result<Phase, LogError> {
        let report = checkpoint.report();
        log.change_manifest(|manifest| manifest.checkpoint = Some(checkpoint))?;
        remove_outdated(&self.folders, &log.manifest())?;
        log.want_no_syncs();
        let began = self.last_began.expect("it has begun");
        let took_ns = clock::nanoseconds(clock::now().since(began));
        let report = CheckpointReport { took_ns, ..report };
        self.last_bytes = report.bytes;
        shared
            .told
            .with(|told| (told.checkpoints, told.last_checkpoint) = (told.checkpoints + 1, Some(report)));
        // Release: pairs with the Acquire in `taken`.
        shared.taken.store(self.begun, Ordering::Release);
        Ok(Phase::Resting)
    }

    /// See [`Checkpoints::finish`].
    pub fn finish(&mut self, shared: &Checkpoints, log: &Log, epochs: &Epochs) {
        if matches!(self.phase, Phase::Closing(_)) {
            self.round(shared, log, epochs);
        }
        log.walk(false);
        let phase = std::mem::replace(&mut self.phase, Phase::Resting);
        if !matches!(phase, Phase::Resting) {
            log.want_no_syncs();
        }
        if matches!(phase, Phase::Walking { .. })
            && !log.has_failed()
            && let Err(error) = remove_outdated(&self.folders, &log.manifest())
        {
            log.fail(&error);
        }
    }
}
