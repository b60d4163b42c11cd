//! What keeps a store that is open going, beside those who run transactions: epochs that advance, loggers, and the checkpoints and backups that
//! are asked for. They belong to the store, not to a run; whoever has the store brings the threads.

use crate::durability::log;
use crate::facade::shared::Arc;
use crate::facade::worker;
use crate::session::lent::Runtime;
use contract::{Backup, LogError, LogReport};
use std::path::Path;

/// What keeps an open store going, beside those who run transactions.
pub struct Services {
    pub(super) runtime: Arc<Runtime>,
}

impl Services {
    /// How many services there are, each of which somebody has to do: one that advances the epochs, and one for every logger.
    pub fn count(&self) -> usize {
        log::services(self.runtime.log.as_ref())
    }

    /// Does service `number` on the thread that calls, until `has_ended` says so, which is asked whenever the thread is unparked. After
    /// each of its rounds `done` is called.
    pub fn serve(&self, number: usize, has_ended: &dyn Fn() -> bool, done: &(dyn Fn() + Sync)) {
        let Runtime { epochs, log, options, .. } = &*self.runtime;
        let work = || {
            if let Some(log) = log {
                log.close_waited_for(epochs);
            }
            log::do_service(number, epochs, log.as_ref());
            done();
        };
        worker::serve(log::service(number, log.as_ref(), options.epoch_interval, &work), has_ended);
    }

    /// Everything that committed in this epoch or before is durable; 0 if nothing is logged.
    pub fn durable_epoch(&self) -> u64 {
        self.runtime.log.as_ref().map_or(0, log::Log::durable)
    }

    /// Closes an epoch and writes all of it in the thread that calls, unless a transaction lasts: then it closes early, and is written by those
    /// who serve.
    pub fn write_through(&self, epoch: u64) {
        if let Some(log) = &self.runtime.log {
            log.write_through(&self.runtime.epochs, epoch);
        }
    }

    /// Has an epoch end early, and be written by those who serve.
    pub fn close_early(&self, epoch: u64) {
        if let Some(log) = &self.runtime.log {
            log.close(epoch);
        }
    }

    /// Nothing more becomes durable: who serves cannot go on.
    pub fn stop(&self, why: &str) {
        if let Some(log) = &self.runtime.log {
            log.fail(&LogError::Refused { why: why.to_owned() });
        }
    }

    /// Why the log cannot be written any more, if so: nothing more becomes durable.
    pub fn failure(&self) -> Option<String> {
        let log = self.runtime.log.as_ref()?;
        if log.has_failed() { log.failure() } else { None }
    }

    /// Whether a checkpoint is being taken that slots are to walk for ([`Slot::walk`](super::Slot::walk)).
    pub fn is_walked(&self) -> bool {
        self.runtime.log.as_ref().is_some_and(|log| log.notice().is_walked())
    }

    /// Asks for a checkpoint of all that has committed by now: it was taken once [`Services::checkpoints_taken`] is as much as the answer.
    /// `None`: nothing is logged.
    pub fn want_checkpoint(&self) -> Option<u64> {
        self.runtime.log.as_ref().map(|log| log.checkpoints().want())
    }

    /// How many of the checkpoints that were asked for were taken.
    pub fn checkpoints_taken(&self) -> u64 {
        self.runtime.log.as_ref().map_or(0, |log| log.checkpoints().taken())
    }

    /// While `read` reads the log's files, the checkpoint that is being taken, if one is, waits, so that none of them is removed.
    pub fn while_no_file_goes<R>(&self, read: impl FnOnce() -> R) -> R {
        match &self.runtime.log {
            Some(log) => log.checkpoints().while_it_is_last(read),
            None => read(),
        }
    }

    /// Copies the last checkpoint, and the log from that on, to a folder that is empty or is made. An error if none was taken.
    pub fn back_up(&self, to: &Path) -> Result<Backup, LogError> {
        let no_log = || LogError::Refused { why: "what is in memory only has no log to copy".to_owned() };
        self.runtime.log.as_ref().ok_or_else(no_log)?.back_up(to)
    }

    /// What the log has taken, if there is one.
    pub fn log_report(&self) -> Option<LogReport> {
        self.runtime.log.as_ref().map(log::Log::report)
    }
}
