//! Shared-everything: any worker touches any record, in place (*trireme* 2.1, 3.2).
//!
//! A step is a call. A denied request waits by spinning on the grant word of its transaction slot, which whoever
//! releases the record writes; the word has a cache line of its own.
//!
//! Its metadata must be of a [`Concurrent`] flavour. Metadata that one thread owns does not compile:
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

use super::{Architecture, BackOff, CAPTURE_BYTES, Site};
use crate::epoch::Line;
use crate::facade::atomic::{AtomicU32, Ordering};
use crate::facade::{clock, cpu};
use crate::physical::Concurrent;
use crate::protocol::{Protocol, SlotId, Wake, Waker};
use crate::storage::Table;
use contract::PartitionId;

/// What the workers share beside the tables.
pub(crate) struct SharedState<P: Protocol, F: Concurrent> {
    common: P::Common<F>,
    grants: Grants,
}

impl<P: Protocol, F: Concurrent> SharedState<P, F> {
    /// For `slots` transaction slots.
    pub fn new(slots: usize) -> Self {
        SharedState { common: P::common(slots), grants: Grants::new(slots) }
    }
}

/// A word for every slot: what its queued request was told.
pub(crate) struct Grants(Box<[Line<AtomicU32>]>);

const UNDECIDED: u32 = 0;
const GRANTED: u32 = 1;
const AGAIN: u32 = 2;

impl Grants {
    fn new(slots: usize) -> Self {
        Grants((0..slots).map(|_| Line(AtomicU32::new(UNDECIDED))).collect())
    }

    fn wait(&self, slot: SlotId) -> Wake {
        let word = &self.0[slot.0 as usize].0;
        let mut spin = cpu::Spin::new();
        loop {
            // Acquire: what the releasing transaction wrote; pairs with the Release in `wake`.
            let wake = match word.load(Ordering::Acquire) {
                UNDECIDED => {
                    spin.pause();
                    continue;
                }
                GRANTED => Wake::Granted,
                _ => Wake::Again,
            };
            // Relaxed: the next request of this slot is queued under a latch that orders it.
            word.store(UNDECIDED, Ordering::Relaxed);
            return wake;
        }
    }
}

impl Waker for Grants {
    fn wake(&self, slot: SlotId, wake: Wake) {
        let told = match wake {
            Wake::Granted => GRANTED,
            Wake::Again => AGAIN,
        };
        // Release: pairs with the Acquire in `wait`.
        self.0[slot.0 as usize].0.store(told, Ordering::Release);
    }
}

/// One worker of shared-everything.
pub(crate) struct SharedEverything<'e, P: Protocol, F: Concurrent> {
    site: Site<'e, P, F, Grants>,
    back_off: BackOff,
    spin: cpu::Spin,
}

impl<'e, P: Protocol, F: Concurrent> SharedEverything<'e, P, F> {
    /// A worker over these tables.
    pub fn new(tables: &'e [Table], state: &'e SharedState<P, F>, back_off: BackOff) -> Self {
        SharedEverything {
            site: Site { tables, common: &state.common, waker: &state.grants },
            back_off,
            spin: cpu::Spin::new(),
        }
    }
}

impl<P: Protocol, F: Concurrent> Architecture for SharedEverything<'_, P, F> {
    type Protocol = P;
    type Physical = F;
    type Waker = Grants;

    #[inline(always)]
    fn at<R>(&mut self, _: PartitionId, step: impl FnOnce(&Site<'_, P, F, Grants>) -> R) -> R {
        step(&self.site)
    }

    #[inline(always)]
    fn post<S>(&mut self, _: PartitionId, step: S)
    where
        S: FnOnce(&Site<'_, P, F, Grants>) + Copy + 'static,
    {
        const { assert!(size_of::<S>() <= CAPTURE_BYTES, "a posted step fits in a message") };
        step(&self.site);
    }

    fn wait(&mut self, slot: SlotId) -> Wake {
        self.site.waker.wait(slot)
    }

    fn back_off(&mut self, attempt: u32) {
        // Whoever was in the way is running, and soon done; after so many attempts it may be waiting for this very core.
        const ATTEMPTS_BEFORE_YIELDING: u32 = 10;
        let (began, ticks) = (clock::now(), self.back_off.ticks(attempt));
        let mut spin = cpu::Spin::new();
        while clock::now().since(began) < ticks {
            if attempt > ATTEMPTS_BEFORE_YIELDING { spin.pause() } else { cpu::pause() }
        }
    }

    fn pause(&mut self, asked: u32) {
        if asked == 0 {
            self.spin = cpu::Spin::new();
        }
        self.spin.pause();
    }
}
