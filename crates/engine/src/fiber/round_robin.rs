//! The turns of fibers that stay at their worker: one after the other, each until it suspends itself.
//!
//! A fiber mostly stops because lines that it has asked for are on their way, and a round later they are there. So the one that runs next is
//! the one that has waited longest, and a turn costs a look at what it waits for and the switch itself: some ten nanoseconds, of which a line
//! that comes from memory costs many times as much. (AMAC has such a ring, of hand-made state machines: Kocberber, Falsafi and Grot,
//! PVLDB 9(4), 2015; with coroutines: Jonathan et al., PVLDB 11(11), 2018; of whole transactions: He, Lu and Wang, *CoroBase*, PVLDB 14(3),
//! 2020.)
//!
//! A fiber that waits for others (a grant, a time, another transaction's commit) is passed over until it may go on. If none got on in a round,
//! the worker pauses.
//!
//! The first fibers only are admitted to begin transactions, as many as it pleases who calls; those beyond that end what they run, and then
//! rest.

use super::{Fiber, Suspension};
use crate::facade::clock::{self, Ticks};
use crate::message::Grants;
use crate::protocol::SlotId;
use crate::work;

/// See the module.
pub(crate) struct RoundRobin<'e> {
    me: usize,
    grants: &'e Grants,
    places: Vec<Place>,
    /// Fibers that have not ended.
    living: usize,
    rounds: u32,
}

struct Place {
    fiber: Fiber,
    waits: Waits,
}

/// What a fiber waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// Its turn.
    Turn,
    /// The time.
    Time(Ticks),
    /// Its grant word, until a time at most.
    Grant(SlotId, Option<Ticks>),
    /// A transaction of its client's, or to be admitted.
    Client,
    /// It has ended.
    Never,
}

impl Waits {
    /// Whether it has come, or is to be looked at.
    fn is_over(self, grants: &Grants, rounds: u32, now: &mut Option<Ticks>) -> bool {
        let mut is_past = |until: Ticks| *now.get_or_insert_with(clock::now) >= until;
        match self {
            Waits::Turn => true,
            Waits::Time(until) => is_past(until),
            Waits::Grant(slot, until) => {
                grants.is_decided(slot) || until.is_some_and(is_past) || rounds.is_multiple_of(LOOK_EVERY)
            }
            Waits::Client | Waits::Never => false,
        }
    }
}

/// What came of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// A fiber got on.
    Ran,
    /// None did: those that are there wait, the first of them until then, if until a time at all.
    Waits(Option<Ticks>),
    /// None has a transaction.
    NothingNow,
    /// All have ended.
    Ended,
}

/// Rounds between two in which those that wait for a grant look whether they wait for ever.
const LOOK_EVERY: u32 = 1024;

impl<'e> RoundRobin<'e> {
    /// Of worker `me`'s fibers, none of which has begun.
    pub fn new(me: usize, grants: &'e Grants, fibers: Vec<Fiber>) -> Self {
        let living = fibers.len();
        let places = fibers.into_iter().map(|fiber| Place { fiber, waits: Waits::Client }).collect();
        RoundRobin { me, grants, places, living, rounds: 0 }
    }

    /// Lets every fiber make what it needs, until it is between two transactions for the first time. Nothing is measured yet.
    pub fn open(&mut self) {
        for place in &mut self.places {
            let suspended = place.fiber.resume(self.me);
            assert!(matches!(suspended, Some(Suspension::Idle)), "a fiber that was opened: {suspended:?}");
        }
    }

    /// Gives each fiber that can go on its turn, of those that have no transaction the first `admitted`.
    #[inline(always)]
    pub fn round(&mut self, admitted: usize) -> Round {
        let (mut ran, mut now) = (false, None);
        self.rounds = self.rounds.wrapping_add(1);
        for (number, place) in self.places.iter_mut().enumerate() {
            let waits = place.waits;
            if waits != Waits::Turn
                && !(waits.is_over(self.grants, self.rounds, &mut now)
                    || waits == Waits::Client && number < admitted)
            {
                continue;
            }
            work::switch();
            let suspension = place.fiber.resume(self.me);
            if let Some(Suspension::Fetch) = suspension {
                (place.waits, ran) = (Waits::Turn, true);
                continue;
            }
            (place.waits, ran) = match suspension {
                Some(Suspension::Fetch | Suspension::Idle) => (Waits::Turn, true),
                Some(Suspension::Park(slot, until)) => (Waits::Grant(slot, until), true),
                Some(Suspension::Sleep(until)) => (Waits::Time(until), true),
                // It has only looked.
                Some(Suspension::Look(until)) => (Waits::Time(until), ran),
                Some(Suspension::NothingNow) => (Waits::Client, ran),
                Some(Suspension::Migrate { .. }) => unreachable!("its fibers stay where they are"),
                Some(Suspension::Await(_)) => unreachable!("its fibers serve nobody"),
                None => {
                    self.living -= 1;
                    (Waits::Never, true)
                }
            };
        }
        if ran { Round::Ran } else { self.nobody_ran() }
    }

    #[cold]
    fn nobody_ran(&self) -> Round {
        if self.living == 0 {
            return Round::Ended;
        }
        if self.places.iter().all(|place| matches!(place.waits, Waits::Client | Waits::Never)) {
            return Round::NothingNow;
        }
        let untils = self.places.iter().map(|place| match place.waits {
            Waits::Time(until) => Some(until),
            Waits::Grant(_, until) => until,
            Waits::Turn | Waits::Client | Waits::Never => None,
        });
        // Who has only looked may look again at once.
        Round::Waits(untils.flatten().min().filter(|&until| until > clock::now()))
    }
}
