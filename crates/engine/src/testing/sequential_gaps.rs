//! What protects missing keys, as a sequential machine: all interleavings of a few transactions over one leaf and the heir of
//! its range, in both synchronization policies.
//!
//! They find the range empty or not and look again, insert, do both, or take the leaf out of the index; each verb of the
//! protocol and each look at the index is a step. In each order: a transaction that commits has seen the range change by its own
//! insert only, somebody can always go on, nothing is held at the end, and who comes late to a dead leaf is sent away. Where requests
//! wait, one transaction after the other may take its request back, as in [`super::sequential`].

use super::canary::{EarlyRelease, NoMissValidation, UnlockedGaps, UnmarkedMisses, UnvalidatedMisses};
use super::sequential::{ByTime, MetaWords, Optimistic, TwoPhase, Wakes, started};
use super::sequential_claiming::ByVersion;
use crate::physical::{Owned, Physical, Shared};
use crate::protocol::{
    BasicTimestamp, Cicada, Claiming, DeadlockFree, DlDetect, Dreadlocks, GapMode, Hekaton, Locking, Mocc,
    Mvcc, NoWait, Occ, Protocol, Request, RequestWith, Requester, Silo, SlotId, SlotState, StampOf, TicToc,
    Timestamping, TwoVersionNoWait, Validating, Validity, Verdict, Vll, WaitDie, Wake,
};
use crate::timestamp::Halves;
use contract::EngineOptions;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Finds the leaf that is responsible for the range.
    Find,
    /// Holds its gap, or observes it.
    Hold(GapMode),
    /// Looks at the range, if the leaf still is the one.
    Look,
    /// Holds the gap exclusively.
    Upgrade,
    /// Links a key, if the leaf still is the one.
    Link,
    LookAgain,
    /// Takes the leaf out of the index, unless somebody relies on it.
    Prune,
    Commit,
}

use Step::{Commit, Find, Hold, Link, Look, LookAgain, Prune, Upgrade};

const MISS: &[Step] = &[Find, Hold(GapMode::Shared), Look, LookAgain, Commit];
const INSERT: &[Step] = &[Find, Hold(GapMode::Insert), Link, Commit];
const BOTH: &[Step] = &[Find, Hold(GapMode::Shared), Look, Upgrade, Link, LookAgain, Commit];
const PRUNE: &[Step] = &[Prune];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Runs,
    Waits,
    /// Granted what it waited for, and has not looked.
    Told,
    Ended,
}

struct Transaction {
    script: &'static [Step],
    at: usize,
    state: State,
    leaf: usize,
    held: Option<GapMode>,
    token: Option<u64>,
    seen: u64,
    own: u64,
    is_broken: bool,
}

/// How transactions protect what they have found missing, as single steps.
trait Way<P: Protocol> {
    /// Whether gaps are held.
    const LOCKS: bool;
    /// Whether a transaction sees the keys that older ones insert, and no others. A later one is younger.
    const ORDERS: bool = false;
    /// Whether it goes on if somebody younger has inserted, too.
    const KEEPS_VERSIONS: bool = false;

    fn hold<F: Physical>(_: &P::Gap<F>, _: GapMode, _: Request<'_, P, F, Wakes>) -> Verdict {
        Verdict::Granted
    }

    fn upgrade<F: Physical>(_: &P::Gap<F>, _: Request<'_, P, F, Wakes>) -> Verdict {
        Verdict::Granted
    }

    fn withdraw<F: Physical>(_: &P::Gap<F>, _: Request<'_, P, F, Wakes>) -> bool {
        unreachable!("nobody waits")
    }

    fn release<F: Physical>(_: &P::Gap<F>, _: GapMode, _: Request<'_, P, F, Wakes>) {}

    fn retire<F: Physical>(gap: &P::Gap<F>, heir: &P::Gap<F>, common: &P::Common<F>) -> bool;

    fn observe<F: Physical>(_: &P::Gap<F>) -> Option<u64> {
        None
    }

    fn advance<F: Physical>(_: &P::Gap<F>, _: &P::Meta<F>) -> Option<(u64, u64)> {
        None
    }

    fn validate<F: Physical>(_: &P::Gap<F>, _: u64) -> bool {
        true
    }

    /// Leaves a timestamp.
    fn rely<F: Physical>(_: &P::Gap<F>, _: StampOf<P>) {}

    /// Whether somebody younger relies on the gap, so that an insert aborts.
    fn is_too_late<F: Physical>(_: &P::Gap<F>, _: StampOf<P>) -> bool {
        false
    }
}

impl<P: Timestamping> Way<P> for ByTime {
    const LOCKS: bool = false;
    const ORDERS: bool = true;
    const KEEPS_VERSIONS: bool = P::KEEPS_VERSIONS;

    fn retire<F: Physical>(gap: &P::Gap<F>, heir: &P::Gap<F>, _: &P::Common<F>) -> bool {
        P::inherit_gap::<F>(gap, heir);
        true
    }

    fn rely<F: Physical>(gap: &P::Gap<F>, by: Halves) {
        P::rely::<F>(gap, by);
    }

    fn is_too_late<F: Physical>(gap: &P::Gap<F>, by: Halves) -> bool {
        P::relied_on::<F>(gap) > by.time()
    }
}

impl<P: Locking> Way<P> for TwoPhase {
    const LOCKS: bool = true;

    fn withdraw<F: Physical>(gap: &P::Gap<F>, request: Request<'_, P, F, Wakes>) -> bool {
        P::withdraw_gap::<F>(gap, request)
    }

    fn hold<F: Physical>(gap: &P::Gap<F>, mode: GapMode, request: Request<'_, P, F, Wakes>) -> Verdict {
        P::hold_gap::<F>(gap, mode, request)
    }

    fn upgrade<F: Physical>(gap: &P::Gap<F>, request: Request<'_, P, F, Wakes>) -> Verdict {
        P::upgrade_gap::<F>(gap, GapMode::Shared, request)
    }

    fn release<F: Physical>(gap: &P::Gap<F>, mode: GapMode, request: Request<'_, P, F, Wakes>) {
        P::release_gap::<F>(gap, mode, request);
    }

    fn retire<F: Physical>(gap: &P::Gap<F>, _: &P::Gap<F>, common: &P::Common<F>) -> bool {
        P::retire_gap::<F>(gap, common)
    }
}

impl<P: Validating> Way<P> for Optimistic {
    const LOCKS: bool = false;

    fn retire<F: Physical>(gap: &P::Gap<F>, heir: &P::Gap<F>, _: &P::Common<F>) -> bool {
        P::retire_gap::<F>(gap);
        P::inherit_gap::<F>(gap, heir);
        true
    }

    fn observe<F: Physical>(gap: &P::Gap<F>) -> Option<u64> {
        Some(P::observe_gap::<F>(gap))
    }

    fn advance<F: Physical>(gap: &P::Gap<F>, record: &P::Meta<F>) -> Option<(u64, u64)> {
        Some(P::advance_gap::<F>(gap, record))
    }

    fn validate<F: Physical>(gap: &P::Gap<F>, token: u64) -> bool {
        let id = P::after_gap(token);
        match P::validate_gap::<F>(gap, token, id) {
            Validity::Valid => true,
            Validity::Invalid => false,
            Validity::Expired => P::extend_gap::<F>(gap, token, id),
        }
    }
}

impl<P: Claiming> Way<P> for ByVersion {
    const LOCKS: bool = false;

    fn retire<F: Physical>(gap: &P::Gap<F>, _: &P::Gap<F>, _: &P::Common<F>) -> bool {
        P::retire_gap::<F>(gap);
        true
    }

    fn observe<F: Physical>(gap: &P::Gap<F>) -> Option<u64> {
        Some(P::observe_gap::<F>(gap))
    }

    fn advance<F: Physical>(gap: &P::Gap<F>, _: &P::Meta<F>) -> Option<(u64, u64)> {
        Some(P::advance_gap::<F>(gap))
    }

    fn validate<F: Physical>(gap: &P::Gap<F>, token: u64) -> bool {
        P::is_gap_valid::<F>(gap, token)
    }
}

fn stamp_of<P: Protocol>(number: usize) -> StampOf<P> {
    started::<P>(number).stamp()
}

struct World<P: Protocol, W, F: Physical> {
    way: PhantomData<W>,
    /// A record that is linked.
    record: Box<MetaWords>,
    common: P::Common<F>,
    gaps: [Box<u64>; 2],
    /// The leaf responsible for the range: the heir, once the first has died.
    current: Cell<usize>,
    /// Keys in the range: who has inserted each, and whether that has committed.
    keys: RefCell<Vec<(usize, bool)>>,
    woken: Wakes,
}

impl<P: Protocol, W: Way<P>, F: Physical> World<P, W, F> {
    fn record(&self) -> &P::Meta<F> {
        const { assert!(size_of::<P::Meta<F>>() <= size_of::<MetaWords>() && align_of::<P::Meta<F>>() <= 8) };
        // SAFETY: as in `gap`.
        unsafe { &*(&raw const *self.record).cast() }
    }

    fn gap(&self, leaf: usize) -> &P::Gap<F> {
        const { assert!(size_of::<P::Gap<F>>() == 8 && align_of::<P::Gap<F>>() <= 8) };
        // SAFETY: eight zeroed bytes, 8-aligned, that live with `self`: valid metadata, which has interior mutability, and
        // the box is never touched otherwise.
        unsafe { &*(&raw const *self.gaps[leaf]).cast() }
    }

    fn request(&self, number: usize) -> Request<'_, P, F, Wakes> {
        let stamp = stamp_of::<P>(number);
        let who = Requester { slot: SlotId(number as u32), partition: 0, access: 1, stamp };
        RequestWith { common: &self.common, who, waker: &self.woken }
    }

    fn step(&self, number: usize, txn: &mut Transaction) {
        if txn.state != State::Runs {
            return self.withdraw(number, txn);
        }
        let is_current = txn.leaf == self.current.get();
        match txn.script[txn.at] {
            Find => txn.leaf = self.current.get(),
            Hold(mode) if W::LOCKS => {
                let (gap, request) = (self.gap(txn.leaf), self.request(number));
                let verdict = W::hold::<F>(gap, mode, request);
                return self.heed(number, txn, verdict);
            }
            Hold(GapMode::Shared) if W::ORDERS => W::rely::<F>(self.gap(txn.leaf), stamp_of::<P>(number)),
            Hold(GapMode::Shared) => txn.token = W::observe::<F>(self.gap(txn.leaf)),
            Hold(_) => {}
            Look if !is_current => return self.start_again(number, txn),
            Look if W::ORDERS && self.is_to_wait(number) => return self.end(number, txn),
            Look => txn.seen = self.seen_by(number),
            Upgrade if W::LOCKS => {
                let (gap, request) = (self.gap(txn.leaf), self.request(number));
                let verdict = W::upgrade::<F>(gap, request);
                return self.heed(number, txn, verdict);
            }
            Upgrade => {}
            Link if W::LOCKS && !is_current => return self.start_again(number, txn),
            Link => return self.link(number, txn),
            // Somebody younger was there before: too late.
            LookAgain if W::ORDERS && !W::KEEPS_VERSIONS && self.has_younger(number) => {
                return self.end(number, txn);
            }
            LookAgain => txn.is_broken = self.seen_by(number) != txn.seen + txn.own,
            Prune => {
                if W::retire::<F>(self.gap(0), self.gap(1), &self.common) {
                    self.current.set(1);
                }
                return self.end(number, txn);
            }
            Commit => return self.commit(number, txn),
        }
        txn.at += 1;
    }

    /// Takes the queued request back, unless it was granted meanwhile.
    fn withdraw(&self, number: usize, txn: &mut Transaction) {
        P::has_waited::<F>(&self.common, SlotId(number as u32));
        if W::withdraw::<F>(self.gap(txn.leaf), self.request(number)) {
            return self.end(number, txn);
        }
        assert_eq!(txn.state, State::Told, "neither taken back nor granted");
        Self::granted(txn);
    }

    /// Nothing else can be done: who waits looks, again and again, until one finds that it waits for itself. Answers whether one did.
    fn look_on(&self, txns: &mut [Transaction]) -> bool {
        let count = txns.len();
        let finds = |number: usize| P::waits_for_itself::<F>(&self.common, SlotId(number as u32));
        let victim = (0..count)
            .cycle()
            .take(count * count)
            .find(|&number| txns[number].state == State::Waits && finds(number));
        let Some(victim) = victim else { return false };
        self.withdraw(victim, &mut txns[victim]);
        self.deliver(txns, None);
        true
    }

    /// Whether somebody older has inserted a key and is to be decided.
    fn is_to_wait(&self, number: usize) -> bool {
        self.keys.borrow().iter().any(|&(by, done)| by < number && !done)
    }

    /// Whether somebody younger has inserted a key, and has committed.
    fn has_younger(&self, number: usize) -> bool {
        self.keys.borrow().iter().any(|&(by, done)| by > number && done)
    }

    /// How many keys a transaction sees.
    fn seen_by(&self, number: usize) -> u64 {
        self.keys.borrow().iter().filter(|&&(by, _)| !W::ORDERS || by <= number).count() as u64
    }

    fn link(&self, number: usize, txn: &mut Transaction) {
        if W::ORDERS && W::is_too_late::<F>(self.gap(self.current.get()), stamp_of::<P>(number)) {
            return self.end(number, txn);
        }
        txn.at += 1;
        self.keys.borrow_mut().push((number, false));
        txn.own += 1;
        let current = self.current.get();
        let advanced = W::advance::<F>(self.gap(current), self.record());
        if let Some((before, after)) = advanced.filter(|_| txn.leaf == current)
            && txn.token == Some(before)
        {
            txn.token = Some(after);
        }
    }

    fn heed(&self, number: usize, txn: &mut Transaction, verdict: Verdict) {
        match verdict {
            Verdict::Granted => Self::granted(txn),
            Verdict::Queued => txn.state = State::Waits,
            // The leaf is dead, and another one has its range.
            Verdict::Retry => self.start_again(number, txn),
            Verdict::Abort(_) => self.end(number, txn),
        }
    }

    fn granted(txn: &mut Transaction) {
        txn.held = match txn.script[txn.at] {
            Hold(mode) => Some(mode),
            _ => Some(GapMode::Exclusive),
        };
        txn.at += 1;
        txn.state = State::Runs;
    }

    fn start_again(&self, number: usize, txn: &mut Transaction) {
        self.let_go(number, txn);
        (txn.at, txn.token) = (0, None);
    }

    fn let_go(&self, number: usize, txn: &mut Transaction) {
        if let Some(mode) = txn.held.take() {
            let (gap, request) = (self.gap(txn.leaf), self.request(number));
            W::release::<F>(gap, mode, request);
        }
    }

    fn commit(&self, number: usize, txn: &mut Transaction) {
        let is_valid = |token| W::validate::<F>(self.gap(txn.leaf), token);
        assert!(!txn.is_broken || !txn.token.is_none_or(is_valid), "a phantom");
        self.keys.borrow_mut().iter_mut().filter(|(by, _)| *by == number).for_each(|(_, done)| *done = true);
        self.end(number, txn);
    }

    fn end(&self, number: usize, txn: &mut Transaction) {
        if W::ORDERS {
            self.keys.borrow_mut().retain(|&(by, done)| by != number || done);
        }
        self.let_go(number, txn);
        txn.state = State::Ended;
    }

    fn deliver(&self, txns: &mut [Transaction], impatient: Option<usize>) {
        for (slot, wake) in self.woken.0.take() {
            assert_eq!(wake, Wake::Granted, "a leaf that somebody waits for does not die");
            let txn = &mut txns[slot.0 as usize];
            assert_eq!(txn.state, State::Waits, "woke a transaction that does not wait");
            P::has_waited::<F>(&self.common, slot);
            match impatient == Some(slot.0 as usize) {
                true => txn.state = State::Told,
                false => Self::granted(txn),
            }
        }
    }

    /// Runs the scripts in the order that `choices` says, and the first that can run beyond it; answers how many could have
    /// at each step. `impatient`: the transaction that may take back what it waits for.
    fn run(scripts: &[&'static [Step]], choices: &[usize], impatient: Option<usize>) -> Vec<usize> {
        let world = World::<P, W, F> {
            way: PhantomData,
            record: Box::default(),
            common: P::common(scripts.len(), 1, &EngineOptions::default()),
            gaps: [Box::new(0), Box::new(0)],
            current: Cell::new(0),
            keys: RefCell::default(),
            woken: Wakes::default(),
        };
        let start = |&script: &&'static [Step]| Transaction {
            script,
            at: 0,
            state: State::Runs,
            leaf: 0,
            held: None,
            token: None,
            seen: 0,
            own: 0,
            is_broken: false,
        };
        let mut txns: Vec<_> = scripts.iter().map(start).collect();
        let mut alternatives = Vec::new();
        loop {
            let is_runnable = |&number: &usize| match txns[number].state {
                State::Runs => true,
                State::Waits | State::Told => impatient == Some(number),
                State::Ended => false,
            };
            let runnable: Vec<usize> = (0..txns.len()).filter(is_runnable).collect();
            if runnable.is_empty() {
                if !P::LOOKS_WHILE_WAITING || !world.look_on(&mut txns) {
                    break;
                }
                continue;
            }
            let number = runnable[choices.get(alternatives.len()).copied().unwrap_or(0)];
            alternatives.push(runnable.len());
            world.step(number, &mut txns[number]);
            world.deliver(&mut txns, impatient);
        }
        assert!(txns.iter().all(|txn| txn.state == State::Ended), "some wait for ever");
        world.look_behind();
        alternatives
    }

    /// Nothing is held, and a dead leaf is nobody's.
    fn look_behind(&self) {
        let current = self.current.get();
        assert!(P::is_gap_quiescent::<F>(self.gap(current)), "a gap is still held");
        if W::LOCKS && current == 1 {
            for mode in [GapMode::Shared, GapMode::Insert] {
                let late = W::hold::<F>(self.gap(0), mode, self.request(0));
                assert_eq!(late, Verdict::Retry, "a dead leaf is held in mode {mode:?}");
            }
        }
    }
}

/// Tries every interleaving; answers how many there are.
fn explore<P: Protocol, W: Way<P>, F: Physical>(
    scripts: &[&'static [Step]],
    impatient: Option<usize>,
) -> u64 {
    let mut choices = Vec::new();
    for tried in 1.. {
        let alternatives = World::<P, W, F>::run(scripts, &choices, impatient);
        choices.resize(alternatives.len(), 0);
        // The next in depth-first order: the last step that had another choice takes it.
        loop {
            let Some(last) = choices.pop() else { return tried };
            if last + 1 < alternatives[choices.len()] {
                choices.push(last + 1);
                break;
            }
        }
    }
    unreachable!("the count does not end")
}

const WORLDS: &[&[&[Step]]] = &[
    &[MISS, INSERT],
    &[MISS, BOTH],
    &[BOTH, BOTH],
    &[BOTH, INSERT],
    &[MISS, PRUNE],
    &[INSERT, INSERT, PRUNE],
    &[MISS, INSERT, PRUNE],
    &[BOTH, INSERT, PRUNE],
    &[MISS, BOTH, PRUNE],
    // The inserter is the older.
    &[INSERT, MISS],
    &[INSERT, MISS, PRUNE],
    &[INSERT, BOTH, PRUNE],
];

fn accepts<P: Protocol, W: Way<P>>() {
    let both = |scripts| explore::<P, W, Shared>(scripts, None) + explore::<P, W, Owned>(scripts, None);
    let tried: u64 = WORLDS.iter().copied().map(both).sum();
    assert!(tried > 5_000, "{tried} interleavings are too few to mean anything");
}

fn accepts_impatience<P: Locking>() {
    let tried: u64 = WORLDS
        .iter()
        .flat_map(|scripts| (0..scripts.len()).map(move |number| (*scripts, Some(number))))
        .map(|(scripts, impatient)| {
            explore::<P, TwoPhase, Shared>(scripts, impatient)
                + explore::<P, TwoPhase, Owned>(scripts, impatient)
        })
        .sum();
    assert!(tried > 10_000, "{tried} interleavings are too few to mean anything");
}

#[test]
fn no_wait_lets_no_phantom_in() {
    accepts::<NoWait, TwoPhase>();
}

#[test]
fn two_version_no_wait_lets_no_phantom_in() {
    accepts::<TwoVersionNoWait, TwoPhase>();
}

#[test]
fn dl_detect_lets_no_phantom_in() {
    accepts::<DlDetect, TwoPhase>();
}

#[test]
fn dreadlocks_lets_no_phantom_in() {
    accepts::<Dreadlocks, TwoPhase>();
}

#[test]
fn vll_lets_no_phantom_in() {
    accepts::<Vll, TwoPhase>();
}

#[test]
fn wait_die_lets_no_phantom_in() {
    accepts::<WaitDie, TwoPhase>();
}

#[test]
fn deadlock_free_lets_no_phantom_in() {
    accepts::<DeadlockFree, TwoPhase>();
}

#[test]
fn who_takes_a_request_back_lets_no_phantom_in() {
    accepts_impatience::<DlDetect>();
    accepts_impatience::<Dreadlocks>();
    accepts_impatience::<WaitDie>();
}

#[test]
fn timestamp_lets_no_phantom_in() {
    accepts::<BasicTimestamp, ByTime>();
}

#[test]
fn mvcc_lets_no_phantom_in() {
    accepts::<Mvcc, ByTime>();
}

#[test]
fn hekaton_lets_no_phantom_in() {
    accepts::<Hekaton, ByVersion>();
}

#[test]
fn cicada_lets_no_phantom_in() {
    accepts::<Cicada, ByTime>();
}

#[test]
fn tictoc_lets_no_phantom_in() {
    accepts::<TicToc, Optimistic>();
}

#[test]
fn silo_lets_no_phantom_in() {
    accepts::<Silo, Optimistic>();
    accepts::<Occ, Optimistic>();
    accepts::<Mocc, Optimistic>();
}

#[test]
#[should_panic = "a phantom"]
fn misses_that_are_not_validated_let_them_in() {
    accepts::<NoMissValidation, Optimistic>();
}

#[test]
#[should_panic = "a phantom"]
fn misses_that_are_not_looked_at_again_let_them_in() {
    accepts::<UnvalidatedMisses, ByVersion>();
}

#[test]
#[should_panic = "a phantom"]
fn inserts_that_heed_nobody_let_them_in() {
    accepts::<UnlockedGaps, TwoPhase>();
}

#[test]
#[should_panic = "a phantom"]
fn misses_that_leave_no_timestamp_let_them_in() {
    accepts::<UnmarkedMisses, ByTime>();
}

#[test]
#[should_panic = "a phantom"]
fn misses_that_are_not_held_let_them_in() {
    accepts::<EarlyRelease, TwoPhase>();
}
