//! A worker's scheduler: which of the fibers that are here runs next.
//!
//! | queue | fibers that | run |
//! |---|---|---|
//! | ready | came from another worker, or were granted what they waited for | first: they hold locks |
//! | retrying | have slept after an abort | next: they hold nothing |
//! | idle | are at home between two transactions | last, the one that ran last first: its stack is in the cache |
//! | sleeping, parked | wait for a time, for a grant | not yet |
//! | outbound | found the ring to where they go full | elsewhere |
//!
//! So a transaction is begun only when nothing that was begun can go on, and one that was aborted does not take the
//! thread from one that holds the lock it wants.

use super::{FiberRef, Suspension};
use crate::architecture::Grants;
use crate::facade::clock::{self, Ticks};
use crate::message::{Inbox, Outbox, Rings};
use crate::protocol::SlotId;
use std::collections::VecDeque;

/// See the module.
pub(crate) struct Scheduler<'e> {
    me: usize,
    inbox: Inbox<'e>,
    outbox: Outbox<'e>,
    grants: &'e Grants,
    ready: VecDeque<FiberRef>,
    retrying: VecDeque<FiberRef>,
    idle: Vec<FiberRef>,
    sleeping: Vec<(Ticks, FiberRef)>,
    parked: Vec<(SlotId, FiberRef)>,
    outbound: VecDeque<(usize, FiberRef)>,
    /// Fibers of this home that have not ended.
    living: usize,
}

impl<'e> Scheduler<'e> {
    /// Worker `me`'s, for `fibers` that are at home here, none of which has begun; there are `all` in the run.
    pub fn new(me: usize, rings: &'e Rings, grants: &'e Grants, fibers: Vec<FiberRef>, all: usize) -> Self {
        Scheduler {
            me,
            inbox: Inbox::new(rings, me),
            outbox: Outbox::new(rings, me),
            grants,
            ready: VecDeque::with_capacity(all),
            retrying: VecDeque::with_capacity(all),
            living: fibers.len(),
            idle: fibers,
            sleeping: Vec::with_capacity(all),
            parked: Vec::with_capacity(all),
            outbound: VecDeque::with_capacity(all),
        }
    }

    /// Whether fibers of this home live.
    pub fn has_living(&self) -> bool {
        self.living > 0
    }

    /// Runs the fiber whose turn it is until it suspends itself; whether there was one.
    #[inline]
    pub fn turn(&mut self) -> bool {
        self.receive();
        self.send_off();
        self.wake();
        let next = self.ready.pop_front().or_else(|| self.retrying.pop_front()).or_else(|| self.idle.pop());
        let Some(fiber) = next else { return false };
        match fiber.resume(self.me) {
            Some(Suspension::Migrate(to)) => self.send(to, fiber),
            Some(Suspension::Park(slot)) => self.parked.push((slot, fiber)),
            Some(Suspension::Sleep(until)) => self.sleeping.push((until, fiber)),
            Some(Suspension::Idle) => self.idle.push(fiber),
            None => self.living -= 1,
        }
        true
    }

    /// Takes in the fibers that came from other workers.
    #[inline(always)]
    fn receive(&mut self) {
        let ready = &mut self.ready;
        self.inbox.serve(|taken| {
            // SAFETY: schedulers of a run send fibers and nothing else.
            ready.push_back(unsafe { taken.body::<FiberRef>() });
            taken.done();
        });
    }

    #[inline(always)]
    fn send(&mut self, to: usize, fiber: FiberRef) {
        if self.outbox.has_room(to) {
            self.outbox.post(to, fiber);
        } else {
            self.outbound.push_back((to, fiber));
        }
    }

    /// Sends fibers whose ring was full.
    #[inline(always)]
    fn send_off(&mut self) {
        for _ in 0..self.outbound.len() {
            let (to, fiber) = self.outbound.pop_front().expect("counted");
            self.send(to, fiber);
        }
    }

    /// Finds those that have waited long enough.
    #[inline(always)]
    fn wake(&mut self) {
        let (grants, ready) = (self.grants, &mut self.ready);
        self.parked.retain(|&(slot, fiber)| {
            let decided = grants.is_decided(slot);
            if decided {
                ready.push_back(fiber);
            }
            !decided
        });
        if !self.sleeping.is_empty() {
            let (now, retrying) = (clock::now(), &mut self.retrying);
            self.sleeping.retain(|&(until, fiber)| {
                let over = now >= until;
                if over {
                    retrying.push_back(fiber);
                }
                !over
            });
        }
    }
}
