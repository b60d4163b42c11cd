//! HEKATON as a sequential machine: all interleavings of a few transactions over two records, in both synchronization policies; as
//! [`super::sequential`], which has the scripts.
//!
//! A read is a look and a copy; a commit says that it prepares, draws its end, tells it, validates, locks, and installs one record
//! after the other. Each is a step. Where releases travel, the slot forgets its end before anything is published. In each order of the
//! steps somebody can always go on; nothing is held at the end; who only reads commits; and what the committed transactions have read,
//! and what is left, agrees with a serial order in which who begins after another has ended comes after it.
//!
//! Worlds of three have coarser steps, or there were too many orders.

use super::canary::{UnannouncedEnds, UnvalidatedReads};
use super::sequential::{MetaWords, Op, Wakes, worlds};
use crate::physical::{Owned, Physical, Shared};
use crate::protocol::{Answer, Claiming, Hekaton, RequestWith, Requester, SlotId};
use crate::timestamp::{Halves, Timestamp};
use contract::{EngineOptions, Presence};
use std::cell::{Cell, RefCell};

/// The way of protocols that claim, for `sequential_gaps`.
pub(super) struct ByVersion;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Operation(usize),
    /// Copies what a read was granted.
    Copy(usize),
    Prepare,
    Draw,
    /// Tells the end.
    Tell,
    Validate,
    Lock,
    /// Of this record, if it is written.
    Install(usize),
    Committed,
    Aborted,
}

struct Transaction {
    script: Vec<Op>,
    phase: Phase,
    begin: u64,
    end: u64,
    /// The version that was seen of each record.
    tokens: [Option<u64>; 2],
    claimed: [bool; 2],
    /// Records read from others, and whose version it was.
    seen: Vec<(usize, u64)>,
    /// Was told to ask again, and nobody else has made a step since.
    stalled: bool,
    /// Steps that all had made when it began, and when it had ended.
    from: u64,
    until: u64,
}

impl Transaction {
    fn of(script: &[Op]) -> Self {
        Transaction {
            script: script.to_vec(),
            phase: Phase::Operation(0),
            begin: 0,
            end: 0,
            tokens: [None; 2],
            claimed: [false; 2],
            seen: Vec::new(),
            stalled: false,
            from: 0,
            until: 0,
        }
    }

    fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Committed | Phase::Aborted)
    }

    fn only_reads(&self) -> bool {
        self.script.iter().all(|op| matches!(op, Op::Read(_)))
    }
}

struct World<P: Claiming, F: Physical> {
    common: P::Common<F>,
    metas: [Box<MetaWords>; 2],
    values: [Cell<u64>; 2],
    /// Every version of each record, with its timestamp.
    versions: [RefCell<Vec<(u64, u64)>>; 2],
    drawn: Cell<u64>,
    steps: Cell<u64>,
    /// What somebody has seen that cannot be.
    wrong: Cell<Option<&'static str>>,
    /// Whether steps are taken together that nobody else's comes between.
    is_coarse: bool,
}

impl<P: Claiming, F: Physical> World<P, F> {
    fn of(slots: usize) -> Self {
        World {
            common: P::common(slots, 1, &EngineOptions::default()),
            metas: [Box::default(), Box::default()],
            values: [Cell::new(0), Cell::new(0)],
            versions: [RefCell::new(vec![(0, 0)]), RefCell::new(vec![(0, 0)])],
            drawn: Cell::new(0),
            steps: Cell::new(0),
            wrong: Cell::new(None),
            is_coarse: slots > 2,
        }
    }

    fn meta(&self, record: usize) -> &P::Meta<F> {
        const { assert!(size_of::<P::Meta<F>>() <= size_of::<MetaWords>() && align_of::<P::Meta<F>>() <= 8) };
        // SAFETY: as many zeroed bytes, 8-aligned, that live with `self`: valid metadata, which has interior mutability, and
        // the box is never touched otherwise.
        unsafe { &*(&raw const *self.metas[record]).cast() }
    }

    fn draw(&self) -> u64 {
        self.drawn.set(self.drawn.get() + 1);
        self.drawn.get()
    }

    /// The version of a record at a time, which is not the newest.
    fn older(&self, record: usize, time: u64) -> u64 {
        let versions = self.versions[record].borrow();
        versions.iter().rfind(|(since, _)| *since <= time).expect("a loaded one").0
    }

    /// Makes a step of transaction `number`, whose writes all bear `number + 1`.
    fn step(&self, number: usize, txn: &mut Transaction) {
        self.steps.set(self.steps.get() + 1);
        loop {
            self.fine_step(number, txn);
            let goes_on = matches!(txn.phase, Phase::Copy(_) | Phase::Draw | Phase::Tell | Phase::Install(_));
            if !self.is_coarse || txn.stalled || !goes_on {
                break;
            }
        }
        txn.until = self.steps.get();
    }

    fn fine_step(&self, number: usize, txn: &mut Transaction) {
        let slot = SlotId(number as u32);
        match txn.phase {
            Phase::Operation(at) => self.operation(slot, txn, at),
            Phase::Copy(at) => self.copy(txn, at),
            Phase::Prepare => {
                P::prepare::<F>(&self.common, slot);
                txn.phase = Phase::Draw;
            }
            Phase::Draw => {
                txn.end = self.draw();
                txn.phase = Phase::Tell;
            }
            Phase::Tell => {
                P::tell_end::<F>(&self.common, slot, txn.end);
                txn.phase = Phase::Validate;
            }
            Phase::Validate => self.validate(slot, txn),
            Phase::Lock => {
                for record in (0..2).filter(|&record| txn.claimed[record]) {
                    P::lock::<F>(self.meta(record), 1, txn.end);
                }
                if F::RELEASES_TRAVEL {
                    P::forget_end::<F>(&self.common, slot);
                }
                txn.phase = Self::next_to_install(txn, 0);
            }
            Phase::Install(record) => {
                self.values[record].set(number as u64 + 1);
                self.versions[record].borrow_mut().push((txn.end, number as u64 + 1));
                P::publish::<F>(self.meta(record), Presence::Present, txn.end);
                txn.phase = Self::next_to_install(txn, record + 1);
                if txn.phase == Phase::Committed && !F::RELEASES_TRAVEL {
                    P::forget_end::<F>(&self.common, slot);
                }
            }
            Phase::Committed | Phase::Aborted => unreachable!("not runnable"),
        }
    }

    fn next_to_install(txn: &Transaction, from: usize) -> Phase {
        (from..2).find(|&record| txn.claimed[record]).map_or(Phase::Committed, Phase::Install)
    }

    fn operation(&self, slot: SlotId, txn: &mut Transaction, at: usize) {
        if txn.begin == 0 {
            (txn.begin, txn.from) = (self.draw(), self.steps.get());
        }
        let record = txn.script[at].record();
        if txn.claimed[record] {
            // Its own from now on, and to itself what it has written.
            return txn.phase = Self::after_operation(txn, at);
        }
        match txn.script[at] {
            Op::Read(_) => {
                let seen = match P::look::<F>(self.meta(record), &self.common, txn.begin) {
                    Answer::Present(token) => token,
                    Answer::Older => self.older(record, txn.begin),
                    Answer::Wait => return txn.stalled = true,
                    Answer::Absent(_) | Answer::Unlinked | Answer::Abort(_) => {
                        unreachable!("no record goes here")
                    }
                };
                self.has_seen(txn, record, seen);
                txn.tokens[record] = Some(seen);
                txn.phase = Phase::Copy(at);
            }
            Op::Write(_) => {
                let stamp = Halves::of(Timestamp(txn.begin));
                let who = Requester { slot, partition: 0, access: record as u32, stamp };
                let request = RequestWith { common: &self.common, who, waker: &Wakes::default() };
                match P::claim::<F>(self.meta(record), Presence::Present, request) {
                    Answer::Present(token) => {
                        self.has_seen(txn, record, token);
                        txn.claimed[record] = true;
                        txn.phase = Self::after_operation(txn, at);
                    }
                    Answer::Wait => txn.stalled = true,
                    // The first writer wins.
                    Answer::Older | Answer::Abort(_) => self.abort(slot, txn),
                    Answer::Absent(_) | Answer::Unlinked => unreachable!("no record goes here"),
                }
            }
        }
    }

    fn has_seen(&self, txn: &Transaction, record: usize, version: u64) {
        if txn.tokens[record].is_some_and(|before| before != version) {
            self.wrong.set(Some("at one time two versions"));
        }
    }

    fn after_operation(txn: &Transaction, at: usize) -> Phase {
        match (at + 1 < txn.script.len(), txn.claimed.contains(&true)) {
            (true, _) => Phase::Operation(at + 1),
            (false, true) => Phase::Prepare,
            (false, false) => Phase::Committed,
        }
    }

    /// Copies what is there, if it still is what was granted, or what was kept of it.
    fn copy(&self, txn: &mut Transaction, at: usize) {
        let record = txn.script[at].record();
        let token = txn.tokens[record].expect("a read was granted");
        let value = match P::still_is::<F>(self.meta(record), token) {
            true => self.values[record].get(),
            false => {
                let versions = self.versions[record].borrow();
                versions.iter().find(|(since, _)| *since == token).expect("it is kept").1
            }
        };
        txn.seen.push((record, value));
        txn.phase = Self::after_operation(txn, at);
    }

    fn validate(&self, slot: SlotId, txn: &mut Transaction) {
        for record in (0..2).filter(|&record| !txn.claimed[record]) {
            let Some(seen) = txn.tokens[record] else { continue };
            let now = match P::look_at_end::<F>(self.meta(record), &self.common, txn.end, seen) {
                Answer::Present(now) => now,
                Answer::Older => self.older(record, txn.end),
                Answer::Wait => return txn.stalled = true,
                Answer::Absent(_) | Answer::Unlinked | Answer::Abort(_) => {
                    unreachable!("no record goes here")
                }
            };
            if now != seen {
                return self.abort(slot, txn);
            }
        }
        txn.phase = Phase::Lock;
    }

    fn abort(&self, slot: SlotId, txn: &mut Transaction) {
        P::forget_end::<F>(&self.common, slot);
        for record in (0..2).filter(|&record| txn.claimed[record]) {
            P::withdraw::<F>(self.meta(record));
        }
        txn.phase = Phase::Aborted;
    }

    /// Runs the scripts in the order that `choices` says, and the first runnable beyond it; answers how many could have run at
    /// each step, and what went wrong.
    fn run(scripts: &[Vec<Op>], choices: &[usize]) -> (Vec<usize>, Result<(), &'static str>) {
        let world = Self::of(scripts.len());
        let mut txns: Vec<_> = scripts.iter().map(|script| Transaction::of(script)).collect();
        let mut alternatives = Vec::new();
        loop {
            let is_runnable = |&number: &usize| !txns[number].has_ended() && !txns[number].stalled;
            let runnable = (0..txns.len()).filter(is_runnable).count();
            if runnable == 0 {
                break;
            }
            let choice = choices.get(alternatives.len()).copied().unwrap_or(0);
            alternatives.push(runnable);
            let number = (0..txns.len()).filter(is_runnable).nth(choice).expect("so many are runnable");
            world.step(number, &mut txns[number]);
            if !txns[number].stalled {
                txns.iter_mut().for_each(|txn| txn.stalled = false);
            }
        }
        (alternatives, world.judge(&txns))
    }

    fn judge(&self, txns: &[Transaction]) -> Result<(), &'static str> {
        if let Some(wrong) = self.wrong.get() {
            return Err(wrong);
        }
        if !txns.iter().all(Transaction::has_ended) {
            return Err("some wait for ever");
        }
        if (0..2).any(|record| !P::is_quiescent::<F>(self.meta(record))) {
            return Err("a record is still held");
        }
        if txns.iter().any(|txn| txn.only_reads() && txn.phase == Phase::Aborted) {
            return Err("one that only reads aborts");
        }
        let committed: Vec<usize> = (0..txns.len()).filter(|&n| txns[n].phase == Phase::Committed).collect();
        let left = [self.values[0].get(), self.values[1].get()];
        if is_in_order(txns, &committed, [0, 0], left) { Ok(()) } else { Err("not strictly serializable") }
    }
}

/// Whether some serial order of `rest`, which is one of time, too, reads the same from `values` on, and leaves what is left.
fn is_in_order(txns: &[Transaction], rest: &[usize], values: [u64; 2], left: [u64; 2]) -> bool {
    if rest.is_empty() {
        return values == left;
    }
    rest.iter().any(|&next| {
        let txn = &txns[next];
        let may_be_first = rest.iter().all(|&other| txns[other].until >= txn.from);
        let reads_so = txn.seen.iter().all(|&(record, version)| values[record] == version);
        let mut after = values;
        for record in (0..2).filter(|&record| txn.claimed[record]) {
            after[record] = next as u64 + 1;
        }
        let others: Vec<usize> = rest.iter().copied().filter(|&other| other != next).collect();
        may_be_first && reads_so && is_in_order(txns, &others, after, left)
    })
}

/// Tries every interleaving; the first that goes wrong, and how many there are.
fn explore<P: Claiming, F: Physical>(scripts: &[Vec<Op>]) -> Result<u64, String> {
    let mut choices = Vec::new();
    for tried in 1.. {
        let (alternatives, result) = World::<P, F>::run(scripts, &choices);
        result.map_err(|wrong| format!("{scripts:?} in order {choices:?}: {wrong}"))?;
        choices.resize(alternatives.len(), 0);
        // The next in depth-first order: the last step that had another choice takes it.
        loop {
            let Some(last) = choices.pop() else { return Ok(tried) };
            if last + 1 < alternatives[choices.len()] {
                choices.push(last + 1);
                break;
            }
        }
    }
    unreachable!("the count does not end")
}

/// The worlds of all protocols, and one in which who is older is installed later than who is younger, and one looks at both.
fn all_worlds() -> Vec<Vec<Vec<Op>>> {
    let mut worlds = worlds();
    worlds.push(vec![vec![Op::Write(0)], vec![Op::Write(1)], vec![Op::Read(0), Op::Read(1)]]);
    worlds.push(vec![vec![Op::Read(0), Op::Write(1)], vec![Op::Write(0)], vec![Op::Read(1), Op::Read(0)]]);
    worlds
}

#[test]
fn hekaton_is_strictly_serializable_never_stuck_and_who_reads_commits() {
    let mut tried = 0;
    for scripts in all_worlds() {
        tried += explore::<Hekaton, Shared>(&scripts).unwrap_or_else(|wrong| panic!("shared: {wrong}"));
        tried += explore::<Hekaton, Owned>(&scripts).unwrap_or_else(|wrong| panic!("owned: {wrong}"));
    }
    println!("{tried} interleavings");
    assert!(tried > 500_000, "{tried} interleavings are too few to mean anything");
}

#[test]
fn without_validation_it_is_not() {
    let wrong = all_worlds().iter().find_map(|scripts| explore::<UnvalidatedReads, Shared>(scripts).err());
    let words = wrong.expect("write skew");
    assert!(words.ends_with("not strictly serializable"), "{words}");
}

#[test]
fn without_saying_that_it_prepares_it_is_not() {
    let wrong = all_worlds().iter().find_map(|scripts| explore::<UnannouncedEnds, Shared>(scripts).err());
    assert!(wrong.is_some(), "who looks between the draw and the telling sees half of a transaction");
}
