//! A store's log: what its slots, its loggers and the epochs' service share.

use super::backup;
use super::checkpoint::Checkpoints;
use super::logger::Logger;
use super::manifest::{self, Manifest};
use super::redo::{Mailbox, Redo};
use crate::epoch::{Epochs, Line};
use crate::facade::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::facade::bell::Bell;
use crate::facade::clock::{self, Ticks};
use crate::facade::cpu;
use crate::facade::disk::{Folder, FolderLock};
use crate::facade::latched::Latched;
use crate::facade::worker::Service;
use crate::protocol::SlotId;
use contract::{Backup, Durability, DurabilityCanary, LogError, LogOptions, LogReport};
use std::io;
use std::path::Path;
use std::time::Duration;

/// The log of a store.
pub(crate) struct Log {
    level: Durability,
    canary: Option<DurabilityCanary>,
    /// By transaction slot.
    mailboxes: Vec<Line<Latched<Mailbox>>>,
    loggers: Vec<Logger>,
    /// Everything that committed in this epoch or before is durable.
    durable: Line<AtomicU64>,
    /// Of an instance that is a process: what the others say is durable there.
    elsewhere: Vec<Line<AtomicU64>>,
    /// The last epoch of which something was handed over.
    newest: Line<AtomicU64>,
    /// The last epoch that somebody wants to be closed early.
    wanted: Line<AtomicU64>,
    /// Who advances the epochs has it: their service, or somebody who waits.
    advancing: Line<Latched<()>>,
    /// Those who want marks to be synced, whatever the level.
    syncs_wanted: AtomicU64,
    /// How often loggers were to begin another file.
    files_wanted: AtomicU64,
    /// Whether epochs last as long as syncs at least.
    epochs_follow_disk: bool,
    /// When the epochs' service last advanced them, then.
    advanced: AtomicU64,
    takes_checkpoints: bool,
    checkpoints: Checkpoints,
    /// What slots look at between two transactions: [`FAILED`], [`WALKED`].
    notice: AtomicU32,
    failure: Latched<Option<String>>,
    epochs_bell: Bell,
    /// The first has the manifest.
    folders: Vec<Folder>,
    manifest: Latched<Manifest>,
    _locks: Vec<FolderLock>,
}

/// The log cannot be written any more.
const FAILED: u32 = 1;
/// A checkpoint wants the tables to be walked.
const WALKED: u32 = 2;

/// Looks at slots, which take part between two transactions, until an epoch is complete.
const TURNS: u32 = 1 << 8;
/// If somebody waits for that.
const TURNS_IF_WAITED_FOR: u32 = 1 << 12;

/// What a log has to say to those who run transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Notice(u32);

impl Notice {
    /// Nothing is acknowledged any more.
    #[inline(always)]
    pub fn has_failed(self) -> bool {
        self.0 & FAILED != 0
    }

    /// A checkpoint wants the tables to be walked.
    #[inline(always)]
    pub fn is_walked(self) -> bool {
        self.0 & WALKED != 0
    }
}

/// An error of the disk.
pub(crate) fn io_error(what: &'static str, path: &Path, why: &io::Error) -> LogError {
    LogError::Io { what, path: path.to_owned(), why: why.to_string() }
}

impl Log {
    /// A log in these folders. `manifest` names it; its generation's files are made. No transaction has been logged of
    /// `first_epoch` or later.
    pub fn open(
        options: &LogOptions,
        folders: &[Folder],
        locks: Vec<FolderLock>,
        manifest: &Manifest,
        first_epoch: u64,
    ) -> Result<Log, LogError> {
        assert!(options.level != Durability::None, "what is not to be durable is not logged");
        let most = LogOptions::MOST_LOGGERS;
        if !(1..=most).contains(&options.loggers) {
            let why = format!("{} loggers; 1 to {most} are allowed", options.loggers);
            return Err(LogError::Refused { why });
        }
        let logger = |number| Logger::open(number, options, folders, manifest, first_epoch);
        let loggers = (0..options.loggers).map(logger).collect::<Result<_, _>>()?;
        // The last step: without it, none of the new files count.
        manifest::write(&folders[0], manifest)?;
        Ok(Log {
            level: options.level,
            canary: options.canary,
            mailboxes: Vec::new(),
            loggers,
            durable: Line(AtomicU64::new(first_epoch - 1)),
            elsewhere: Vec::new(),
            newest: Line(AtomicU64::new(0)),
            wanted: Line(AtomicU64::new(0)),
            advancing: Line::default(),
            syncs_wanted: AtomicU64::new(0),
            files_wanted: AtomicU64::new(0),
            epochs_follow_disk: options.epochs_follow_disk,
            advanced: AtomicU64::new(0),
            takes_checkpoints: options.checkpoint_every.is_some() || options.checkpoint_bytes.is_some(),
            checkpoints: Checkpoints::new(options, folders, manifest),
            notice: AtomicU32::new(0),
            failure: Latched::new(None),
            epochs_bell: Bell::default(),
            folders: folders.to_vec(),
            manifest: Latched::new(manifest.clone()),
            _locks: locks,
        })
    }

    /// From now on there are `slots` transaction slots. What others handed over has been written.
    pub fn provide(&mut self, slots: usize) {
        self.mailboxes.resize_with(slots.max(self.mailboxes.len()), Line::default);
    }

    /// Its checkpoints.
    pub fn checkpoints(&self) -> &Checkpoints {
        &self.checkpoints
    }

    /// A slot's side.
    pub fn slot(&self, slot: SlotId) -> Redo<'_> {
        Redo::new(self, &self.mailboxes[slot.0 as usize].0)
    }

    /// Replaces the manifest by what `change` makes of it; durable when this returns. If that cannot be done, nobody knows which manifest the
    /// folder has: the log stops, and the manifest stays as it is.
    pub fn change_manifest(&self, change: impl FnOnce(&mut Manifest)) -> Result<(), LogError> {
        self.manifest.with(|current| {
            self.goes_on()?;
            let mut next = current.clone();
            change(&mut next);
            let written = manifest::write(&self.folders[0], &next);
            match &written {
                Ok(()) => *current = next,
                Err(error) => self.fail(error),
            }
            written
        })
    }

    /// What the log is of.
    pub fn manifest(&self) -> Manifest {
        self.manifest.with(|manifest| manifest.clone())
    }

    /// When a commit is acknowledged.
    pub fn level(&self) -> Durability {
        self.level
    }

    /// A step that is left out.
    pub(super) fn canary(&self) -> Option<DurabilityCanary> {
        self.canary
    }

    /// Everything that committed in this epoch or before is durable.
    #[inline]
    pub fn durable(&self) -> u64 {
        // Acquire: what a client does because of it comes after; pairs with the Release in `publish`.
        self.durable.0.load(Ordering::Acquire)
    }

    /// The store is that of instance `own` of so many, each a process with a log of its own.
    pub fn is_of_instances(&mut self, own: usize, instances: usize) {
        if self.elsewhere.len() != instances {
            // Nothing is known of the others, and nothing is to be waited for here.
            let unknown = |instance| if instance == own { u64::MAX } else { 0 };
            self.elsewhere = (0..instances).map(|instance| Line(AtomicU64::new(unknown(instance)))).collect();
        }
    }

    /// Whether it is that of an instance that is a process. Then epochs are marked in which nothing was logged, too: at another instance something may have been, which counts if all have the
    /// mark; and marks say what is durable everywhere, so that it is noticed if another log has lost its end.
    pub(super) fn is_of_one_instance(&self) -> bool {
        !self.elsewhere.is_empty()
    }

    /// Everything that committed at another instance in this epoch or before is durable there.
    pub fn hears(&self, instance: usize, durable: u64) {
        // Release: pairs with the Acquire in `durable_everywhere`.
        self.elsewhere[instance].0.store(durable, Ordering::Release);
    }

    /// Everything that committed in this epoch or before is durable, at all instances.
    #[inline]
    pub fn durable_everywhere(&self) -> u64 {
        if self.canary == Some(DurabilityCanary::LocalAcknowledgement) {
            return self.durable();
        }
        // Acquire: as in `durable`.
        let elsewhere = self.elsewhere.iter().map(|durable| durable.0.load(Ordering::Acquire));
        elsewhere.fold(self.durable(), u64::min)
    }

    /// A block of this epoch is about to be handed over.
    pub(super) fn has_news_of(&self, epoch: u64) {
        // Relaxed: the slot's move to another epoch, a Release, comes after, and a logger asks after it has found the epoch
        // complete, an Acquire.
        if self.newest.0.load(Ordering::Relaxed) < epoch {
            self.newest.0.fetch_max(epoch, Ordering::Relaxed);
        }
    }

    /// The last epoch of which something was handed over.
    pub(super) fn newest(&self) -> u64 {
        // Relaxed: see `has_news_of`.
        self.newest.0.load(Ordering::Relaxed)
    }

    /// Slots of a logger.
    pub(super) fn mailboxes_of(&self, logger: usize) -> impl Iterator<Item = (u32, &Latched<Mailbox>)> {
        let slots = (0..).zip(&self.mailboxes).skip(logger).step_by(self.loggers.len());
        slots.map(|(slot, mailbox)| (slot, &mailbox.0))
    }

    /// The least of the epochs that the loggers have marked and synced; 0 if one has marked none.
    pub(super) fn marked(&self) -> u64 {
        self.loggers.iter().map(Logger::marked).min().expect("a log has a logger")
    }

    /// A logger has made another epoch durable.
    pub(super) fn publish(&self) {
        let least = self.loggers.iter().map(Logger::durable).min().expect("a log has a logger");
        // Release: pairs with the Acquire in `durable`; and the other loggers' syncs come before, by the Acquire in
        // `Logger::durable`.
        self.durable.0.fetch_max(least, Ordering::Release);
    }

    /// The log cannot be written any more. The first reason is kept.
    #[cold]
    pub fn fail(&self, error: &LogError) {
        self.failure.with(|failure| {
            failure.get_or_insert_with(|| error.to_string());
        });
        // Release: the reason is there; pairs with the Acquire in `has_failed`.
        self.notice.fetch_or(FAILED, Ordering::Release);
    }

    /// Has slots walk the tables between their transactions, or no longer.
    pub(super) fn walk(&self, is_walked: bool) {
        // Release: the parts are there; pairs with the Acquire in `notice`.
        match is_walked {
            true => self.notice.fetch_or(WALKED, Ordering::Release),
            false => self.notice.fetch_and(!WALKED, Ordering::Release),
        };
    }

    /// What slots should know between two transactions.
    #[inline]
    pub fn notice(&self) -> Notice {
        // Acquire: pairs with the Releases in `fail` and `walk`.
        Notice(self.notice.load(Ordering::Acquire))
    }

    /// From now on, and until [`Log::want_no_syncs`], loggers sync their marks, whatever the level.
    pub(super) fn want_syncs(&self) {
        // Release: pairs with the Acquire in `wants_syncs`.
        self.syncs_wanted.fetch_add(1, Ordering::Release);
    }

    /// Of those who wanted marks to be synced, one does no longer.
    pub(super) fn want_no_syncs(&self) {
        // Relaxed: who syncs once more does no harm.
        self.syncs_wanted.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether loggers are to sync their marks.
    pub(super) fn wants_syncs(&self) -> bool {
        // Acquire: pairs with the Release in `want_syncs`.
        self.level.syncs() || self.syncs_wanted.load(Ordering::Acquire) > 0
    }

    /// Has every logger begin another file; answers for the how manieth time.
    pub(super) fn want_files(&self) -> u64 {
        // Relaxed, here and below: a counter; what a logger answers it publishes itself.
        self.files_wanted.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How often files were wanted.
    pub(super) fn files_wanted(&self) -> u64 {
        self.files_wanted.load(Ordering::Relaxed)
    }

    /// Once all loggers have begun another file for the `number`th time: the last epoch of anything in those before, and the files'
    /// numbers.
    pub(super) fn files_begun(&self, number: u64) -> Option<(u64, Vec<u64>)> {
        let begun: Option<Vec<_>> = self.loggers.iter().map(|logger| logger.has_begun(number)).collect();
        let (newest, files): (Vec<u64>, Vec<u64>) = begun?.into_iter().unzip();
        Some((newest.into_iter().max().expect("a log has a logger"), files))
    }

    /// Whether the log cannot be written any more.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.notice().has_failed()
    }

    /// Why not.
    pub fn failure(&self) -> Option<String> {
        self.failure.with(|failure| failure.clone())
    }

    /// An error if the log cannot be written any more.
    fn goes_on(&self) -> Result<(), LogError> {
        self.failure().map_or(Ok(()), |why| Err(LogError::Refused { why }))
    }

    /// Has an epoch closed now, instead of at the end of its time.
    pub fn close(&self, epoch: u64) {
        // Relaxed: the bell orders it.
        if self.wanted.0.fetch_max(epoch, Ordering::Relaxed) < epoch {
            self.epochs_bell.ring();
        }
    }

    /// Ends epochs up to one that somebody wants closed, if no transaction lasts that keeps it from that: once those that did have ended, nobody
    /// waits for the time of an epoch.
    pub fn close_waited_for(&self, epochs: &Epochs) {
        // Relaxed: see `close`.
        let wanted = self.wanted.0.load(Ordering::Relaxed);
        if epochs.complete() < wanted {
            self.complete(epochs, wanted, 3);
        }
    }

    /// Closes an epoch, and does what the services would: writes all of it, in the thread that calls. If the epoch is not soon complete, has
    /// the services do that.
    pub fn write_through(&self, epochs: &Epochs, epoch: u64) {
        match self.complete(epochs, epoch, TURNS_IF_WAITED_FOR) {
            true => self.loggers.iter().for_each(|logger| logger.round(self, epochs)),
            false => self.close(epoch),
        }
    }

    /// Writes and syncs all that has committed, in the thread that calls, whatever the level; nobody runs.
    pub fn sync(&self, epochs: &Epochs) -> Result<(), LogError> {
        self.want_syncs();
        let wanted = epochs.serialization_point();
        // A logger that has not yet seen that syncs are wanted may mark the first epoch, but no other.
        while self.marked() < wanted && !self.has_failed() {
            let epoch = epochs.serialization_point();
            self.has_news_of(epoch);
            self.complete(epochs, epoch, TURNS);
            self.loggers.iter().for_each(|logger| logger.round(self, epochs));
        }
        self.want_no_syncs();
        self.goes_on()
    }

    /// Ends epochs until `last` is complete, or not soon; whether it is.
    fn complete(&self, epochs: &Epochs, last: u64, turns: u32) -> bool {
        let mut spin = cpu::Spin::new();
        for _ in 0..turns {
            if epochs.complete() >= last {
                return true;
            }
            if epochs.current() <= last {
                self.advancing.0.with(|()| epochs.advance());
            }
            if epochs.complete() < last {
                spin.pause();
            }
        }
        epochs.complete() >= last
    }

    /// The epochs' service: ends an epoch, or several if somebody wants a later one closed, and wakes the loggers once it is complete, if
    /// something was logged. Loggers look again later for slots that do not take part soon.
    fn advance(&self, epochs: &Epochs) {
        // Relaxed: see `close`.
        let wanted = self.wanted.0.load(Ordering::Relaxed);
        // As far as other instances, and not further, or they would go after this one.
        let wanted = wanted.max(epochs.floor().saturating_sub(1));
        let is_waited_for = epochs.complete() < wanted;
        if self.epochs_follow_disk && !is_waited_for && !self.is_time_to_advance() {
            return;
        }
        let turns = if is_waited_for { TURNS_IF_WAITED_FOR } else { TURNS };
        self.complete(epochs, epochs.current().max(wanted), turns);
        let durable = self.durable();
        if self.newest() > durable && epochs.complete() > durable {
            self.loggers.iter().for_each(|logger| logger.bell.ring());
        }
    }

    /// Whether as much time has passed as a sync of the slowest logger takes.
    fn is_time_to_advance(&self) -> bool {
        let now = clock::now();
        let sync_ns = self.loggers.iter().map(Logger::sync_ns).max().unwrap_or(0);
        // Relaxed, both: the epochs' service's own.
        let since = now.since(Ticks(self.advanced.load(Ordering::Relaxed)));
        let is_time = clock::nanoseconds(since) >= sync_ns;
        if is_time {
            self.advanced.store(now.0, Ordering::Relaxed);
        }
        is_time
    }

    /// Everything that was handed over is durable, when this returns; nobody runs. Panics never; see [`Log::failure`].
    pub fn finish(&self, epochs: &mut Epochs) {
        // Nobody runs: every epoch that was is complete after these.
        epochs.provide(0);
        self.loggers.iter().for_each(|logger| logger.round(self, epochs));
        self.checkpoints.finish(self, epochs);
        self.loggers.iter().for_each(Logger::leave);
    }

    /// Bytes that its loggers have written.
    pub(super) fn bytes_written(&self) -> u64 {
        self.loggers.iter().map(Logger::bytes_written).sum()
    }

    /// Copies the last checkpoint and the log from that on to a folder: see [`super::backup`]. An error if no checkpoint was taken.
    pub fn back_up(&self, to: &Path) -> Result<Backup, LogError> {
        self.checkpoints.while_it_is_last(|| backup::copy(self, &self.folders, to))
    }

    /// What the log has taken.
    pub fn report(&self) -> LogReport {
        let mut report = LogReport { durable_epoch: self.durable(), ..LogReport::default() };
        self.loggers.iter().for_each(|logger| logger.add_to(&mut report));
        self.checkpoints.add_to(&mut report);
        report
    }
}

/// How many services a store needs: one for its epochs, one for each logger, and one for checkpoints if they are taken.
pub(crate) fn services(log: Option<&Log>) -> usize {
    1 + log.map_or(0, |log| log.loggers.len() + usize::from(log.takes_checkpoints))
}

/// What service `number` does: advances the epochs, has its logger write, or goes on with a checkpoint.
pub(crate) fn do_service(number: usize, epochs: &Epochs, log: Option<&Log>) {
    match (number.checked_sub(1), log) {
        (None, None) => epochs.advance(),
        (None, Some(log)) => log.advance(epochs),
        (Some(number), Some(log)) => match log.loggers.get(number) {
            Some(logger) => logger.try_round(log, epochs),
            None => log.checkpoints.round(log, epochs),
        },
        (Some(_), None) => unreachable!("without a log there are no loggers"),
    }
}

/// Service `number`, of which `work` is [`do_service`].
pub(crate) fn service<'a>(
    number: usize,
    log: Option<&'a Log>,
    epoch_interval: Duration,
    work: &'a (dyn Fn() + Sync),
) -> Service<'a> {
    let Some((number, log)) = number.checked_sub(1).zip(log) else {
        return Service {
            name: "epochs",
            period: epoch_interval,
            bell: log.map(|log| &log.epochs_bell),
            work,
        };
    };
    // A logger takes blocks that are full before their epoch ends, so that slots need not wait for theirs, and wake nobody.
    let period = (epoch_interval / 8).max(Duration::from_micros(10)).min(Duration::from_millis(5));
    match log.loggers.get(number) {
        Some(logger) => Service { name: "logger", period, bell: Some(&logger.bell), work },
        None => Service { name: "checkpoints", period, bell: None, work },
    }
}

/// Runs `run` with the services that a store needs.
pub(crate) fn serving<R>(
    epochs: &Epochs,
    log: Option<&Log>,
    epoch_interval: Duration,
    run: impl FnOnce(&[Service<'_>]) -> R,
) -> R {
    let works: Vec<_> = (0..services(log)).map(|number| move || do_service(number, epochs, log)).collect();
    let services: Vec<Service<'_>> =
        (0..).zip(&works).map(|(number, work)| service(number, log, epoch_interval, work)).collect();
    run(&services)
}
