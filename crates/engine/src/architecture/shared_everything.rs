//! Shared-everything: any worker touches any record, in place (*trireme* 2.1, 3.2).
//!
//! A step is a call. A denied request waits by spinning on the grant word of its transaction slot, which the transaction that
//! releases the record writes.
//!
//! Its metadata must be of a [`Concurrent`] synchronization policy. Metadata that one thread owns does not compile:
//!
//! ```compile_fail,E0277
//! fn concurrent<F: engine::physical::Concurrent>() {}
//! concurrent::<engine::physical::Owned>();
//! ```
//!
//! while shared metadata does, with any latch:
//!
//! ```
//! fn concurrent<F: engine::physical::Concurrent>() {}
//! concurrent::<engine::physical::Shared>();
//! ```

use super::watchdog::{self, Watch};
use super::{Architecture, BackOff, SharedState, Site, SiteOf, Waited, look};
use crate::facade::clock::{self, Ticks};
use crate::facade::cpu;
use crate::message::Grants;
use crate::physical::Concurrent;
use crate::protocol::{Protocol, SlotId};
use crate::storage::Table;

/// One worker of shared-everything.
pub(crate) struct SharedEverything<'e, P: Protocol, F: Concurrent> {
    site: Site<'e, P, F, Grants>,
    back_off: BackOff,
    spin: cpu::Spin,
}

impl<'e, P: Protocol, F: Concurrent> SharedEverything<'e, P, F> {
    /// A worker over these tables.
    pub fn new(tables: &'e [Table], state: &'e SharedState<P, F>, back_off: BackOff) -> Self {
        // SAFETY: the run has this one state, and metadata is of a policy that lets any thread touch it.
        let site = unsafe { state.site(tables) };
        SharedEverything { site, back_off, spin: cpu::Spin::new() }
    }
}

impl<P: Protocol, F: Concurrent> Architecture for SharedEverything<'_, P, F> {
    type Protocol = P;
    type Physical = F;
    type Waker = Grants;

    #[inline(always)]
    fn site(&self) -> &SiteOf<'_, Self> {
        &self.site
    }

    fn wait(&mut self, slot: SlotId, until: Option<Ticks>) -> Waited {
        let (mut spin, mut watch) = (cpu::Spin::new(), Watch::new());
        loop {
            if let Some(waited) = look(slot, until, &self.site) {
                watch.over(slot, self.site.waker);
                return waited;
            }
            match until {
                Some(until) => spin.pause_until(until),
                None => spin.pause(),
            }
            watch.paused(slot, &self.site);
        }
    }

    fn back_off(&mut self, attempt: u32) {
        watchdog::aborted(self.site.waker);
        let until = self.back_off.until(attempt);
        if clock::now() >= until {
            return cpu::give_way();
        }
        let mut spin = cpu::Spin::new();
        loop {
            match attempt > BackOff::ATTEMPTS_BEFORE_YIELDING {
                true => spin.pause_until(until),
                false => cpu::pause_until(until),
            }
            if clock::now() >= until {
                return;
            }
        }
    }

    fn pause(&mut self, asked: u32) {
        // Many that ask for one record, each under its bucket's latch, may keep the one that would unlink it from that latch: on a
        // machine without noise for ever. A random time parts them.
        const ASKS_A_STEP: u32 = 32;
        if asked >= ASKS_A_STEP {
            return self.back_off(asked / ASKS_A_STEP);
        }
        if asked == 0 {
            self.spin = cpu::Spin::new();
        }
        self.spin.pause();
    }
}
