//! What is durable: where instances are processes, each with a log of its own, the first worker of each tells those of the others what is durable there
//! ([`Log::durable_everywhere`]).

use super::counterpart::DURABLE;
use super::{Endpoint, Position};
use crate::durability::Log;
use crate::epoch::Epochs;

/// Where what an instance logs stands.
pub(super) struct Logged<'e> {
    pub log: &'e Log,
    epochs: &'e Epochs,
    /// What the others were told to be durable.
    told: u64,
}

impl<'e> Logged<'e> {
    /// Where this log stands when a run begins.
    pub fn new(log: &'e Log, epochs: &'e Epochs) -> Self {
        // What others are told of is marked in this run.
        Logged { log, epochs, told: log.durable() }
    }

    /// Another instance says what is durable there; `None`: it does not.
    pub fn hears(&self, instance: usize, message: &[u8]) -> Option<()> {
        let durable = u64::from_le_bytes(message.try_into().ok()?);
        // Its epochs are ahead of that.
        self.epochs.raise(durable);
        self.log.hears(instance, durable);
        Some(())
    }
}

impl Endpoint<'_> {
    /// Tells the first workers of other instances what is durable here, if that is more than before. If the log has failed, so that nothing more will be, this instance drops out.
    #[inline]
    pub(super) fn tell_durable(&mut self) {
        if self.logged.is_some() {
            self.tell_what_is_durable();
        }
    }

    fn tell_what_is_durable(&mut self) {
        let Position { instance, rank, .. } = self.position;
        let Some(logged) = self.logged.as_mut().filter(|_| rank == 0 && !self.is_broken) else { return };
        if logged.log.has_failed() {
            self.channels.lose(instance, logged.log.failure().unwrap_or_default());
            return;
        }
        let durable = logged.log.durable();
        if std::mem::replace(&mut logged.told, durable) != durable {
            self.tell_all(DURABLE, &durable.to_le_bytes());
        }
    }
}
