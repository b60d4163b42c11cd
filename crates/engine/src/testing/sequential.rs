//! Every protocol as a sequential machine: all interleavings of a few transactions over two records, in both synchronization policies.
//!
//! A transaction here is a list of reads and writes; each operation, each preparation, the validation, the installation
//! and the release is a step, and a step is not interrupted. All orders of the steps are tried, depth first. In each:
//! somebody can always go on (no deadlock is overlooked, no wake-up is lost), what the committed transactions read and
//! what is left agree with some serial order, and no metadata is held at the end.
//!
//! Where requests wait, one transaction after the other is made impatient: to take its queued request back, waiting or told already,
//! is a step that it can make whenever its turn comes. The others still get on, without its help.
//!
//! Where who waits looks whether it waits for itself, a look is a step, too: one between any two steps of others, and as many as there are
//! transactions, of each that waits, when nothing else can be done.
//!
//! How transactions access records under a protocol is a [`Way`]. What only some of them do is apart:
//!
//! | file | ways |
//! |---|---|
//! | [`locked`] | [`TwoPhase`]; [`Ahead`] and [`Analysed`], which ask for all that they know at once; [`Certifying`] |
//! | [`validated`] | [`Optimistic`]; [`MostlyOptimistic`], which locks what is hot |
//! | [`timestamped`] | [`ByTime`] |
//! | [`validated_by_time`] | [`ByTimeAtLast`], by time, too, but at commit |

mod locked;
mod timestamped;
mod validated;
mod validated_by_time;

use super::canary::{
    DirtyReads, EagerUpgrade, ForcedUpgrade, HastyWithdrawal, LateStart, NewestVersion, NoExtension,
    NoReadValidation, SkippedCertify, UncountedReads, UnguardedUpgrade, UnheldReads, UnmarkedReads,
    UnraisedReads, WaitsOutOfOrder,
};
use crate::physical::{Owned, Physical, Shared};
use crate::protocol::{
    Ahead as AskedAhead, Answer, Attempt, BasicTimestamp, Cicada, DeadlockFree, DlDetect, Dreadlocks,
    Held as Protection, Locking, Mocc, Mode, Mvcc, NoWait, Occ, Protocol, RecordPlace, Request, RequestWith,
    Requester, Silo, SlotId, SlotState, StampOf, TicToc, TwoVersionNoWait, Verdict, Vll, WaitDie, Wake,
    Waker,
};
use crate::timestamp::Timestamp;
use contract::{EngineOptions, Key, TableId};
use locked::{Ahead, Analysed, Certifying};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use validated::MostlyOptimistic;
use validated_by_time::ByTimeAtLast;

pub(super) use locked::TwoPhase;
pub(super) use timestamped::ByTime;
pub(super) use validated::Optimistic;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Read(usize),
    Write(usize),
}

impl Op {
    const ALL: [Op; 4] = [Op::Read(0), Op::Read(1), Op::Write(0), Op::Write(1)];

    pub fn record(self) -> usize {
        match self {
            Op::Read(record) | Op::Write(record) => record,
        }
    }

    fn mode(self) -> Mode {
        match self {
            Op::Read(_) => Mode::Shared,
            Op::Write(_) => Mode::Exclusive,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Operation(usize),
    /// Copies what a read was granted.
    Copy(usize),
    Waiting(usize),
    /// Granted what it waited for, and has not looked.
    Told(usize),
    Prepare(usize),
    Validate,
    /// Asks for what it has read of a record, at commit.
    Confirm(usize),
    /// Locks what it has written.
    Lock,
    Install,
    Committed,
    Aborted,
}

/// What a transaction has of a record.
#[derive(Clone, Copy, Default)]
struct Held {
    mode: Option<Mode>,
    token: Option<u64>,
    /// What the record was before this transaction wrote it in place.
    undo: Option<u64>,
    written: bool,
    prepared: bool,
    /// How it is locked beside being validated.
    protection: Option<Protection>,
    /// Since before it was read.
    is_protected: bool,
    /// Has an accepted write.
    accepted: bool,
}

struct Transaction<S> {
    script: Vec<Op>,
    state: S,
    has_begun: bool,
    phase: Phase,
    held: [Held; 2],
    /// Records read from others, and whose version it was.
    seen: Vec<(usize, u64)>,
    id: u64,
    /// Was told to ask again, and nobody else has made a step since.
    stalled: bool,
}

/// How transactions access records: the way of a protocol, as single steps.
pub(super) trait Way<P: Protocol> {
    /// Whether records and gaps are locked when they are accessed.
    const LOCKS: bool;
    /// Whether writes go to the record at once.
    const IN_PLACE: bool;
    /// Whether what was read is prepared, too.
    const PREPARES_READS: bool = false;
    /// Whether records are asked by the transaction's timestamp.
    const ORDERS: bool = false;

    fn ask_by_time<F: Physical>(_: &P::Meta<F>, _: Mode, _: StampOf<P>) -> Answer {
        unreachable!("no timestamps")
    }

    fn still_is<F: Physical>(_: &P::Meta<F>, _: u64) -> bool {
        true
    }

    /// Whether records are looked at when they are accessed, and asked at commit.
    const LOOKS: bool = false;

    fn look<F: Physical>(_: &P::Meta<F>, _: StampOf<P>) -> Answer {
        unreachable!("no looks")
    }

    fn was_read_after<F: Physical>(_: &P::Meta<F>, _: StampOf<P>) -> bool {
        false
    }

    /// Before what it wrote is copied in.
    fn lock_written<F: Physical>(_: &P::Meta<F>) {}

    /// Whether old versions are kept.
    const KEEPS_VERSIONS: bool = false;

    fn time(_: StampOf<P>) -> u64 {
        0
    }

    /// What a transaction wrote has committed, or not.
    fn decide<F: Physical>(_: &P::Meta<F>, _: bool, _: StampOf<P>) {}

    fn ask<F: Physical>(_: &P::Meta<F>, _: Mode, _: Option<Mode>, _: Request<'_, P, F, Wakes>) -> Verdict {
        Verdict::Granted
    }

    fn withdraw<F: Physical>(_: &P::Meta<F>, _: Request<'_, P, F, Wakes>) -> bool {
        unreachable!("nobody waits")
    }

    fn release<F: Physical>(_: &P::Meta<F>, _: Mode, _: Request<'_, P, F, Wakes>) {}

    /// A token, where reads are validated; `None`: ask again.
    fn observe<F: Physical>(_: &P::Meta<F>) -> Option<Option<u64>> {
        Some(None)
    }

    fn is_same(_: u64, _: u64) -> bool {
        true
    }

    fn prepare<F: Physical>(_: &P::Meta<F>, _: Request<'_, P, F, Wakes>) -> Verdict {
        Verdict::Granted
    }

    fn unprepare<F: Physical>(_: &P::Meta<F>, _: Request<'_, P, F, Wakes>) {}

    /// The least id after a token, or after a prepared record.
    fn after<F: Physical>(_: Option<u64>, _: Option<&P::Meta<F>>) -> u64 {
        0
    }

    fn choose_id(_: &mut P::Slot, _: u64, _: impl FnOnce() -> Timestamp) -> u64 {
        0
    }

    fn validate<F: Physical>(_: &P::Meta<F>, _: u64, _: bool, _: &P::Slot, _: u64) -> bool {
        true
    }

    fn publish<F: Physical>(_: &P::Meta<F>, _: u64) {}

    // Locks that are asked for together.

    /// Operations of a transaction that are known when it begins; `None`: nothing is asked for ahead.
    const KNOWN: Option<usize> = None;

    /// What a run is told.
    fn options() -> EngineOptions {
        EngineOptions::default()
    }

    fn request_all<'m, F: Physical>(
        _: impl Iterator<Item = AskedAhead<'m, P, F>>,
        _: Request<'_, P, F, Wakes>,
    ) -> Verdict {
        Verdict::Granted
    }

    fn release_all<'m, F: Physical>(
        _: impl Iterator<Item = (&'m P::Meta<F>, Mode)>,
        _: Request<'_, P, F, Wakes>,
    ) {
    }

    // Locks beside validation.

    /// Whether there are any.
    const PROTECTS: bool = false;

    /// Before a world begins.
    fn warm<F: Physical>(_: &P::Meta<F>, _record: usize) {}

    /// Locks a record that is about to be read or written, if it is hot; `None`: it is not.
    fn protect<F: Physical>(_: &P::Meta<F>, _: Mode) -> Option<Verdict> {
        None
    }

    /// Prepares a record that may be locked already.
    fn lock<F: Physical>(
        meta: &P::Meta<F>,
        _: Option<Protection>,
        request: Request<'_, P, F, Wakes>,
    ) -> Verdict {
        Self::prepare::<F>(meta, request)
    }

    fn give_back<F: Physical>(_: &P::Meta<F>, _: Protection) {}
}

/// Where a record is in the order that all transactions know.
fn place(record: usize) -> RecordPlace {
    (TableId(0), Key(record as u64))
}

/// Metadata of the largest header.
pub(super) type MetaWords = [u64; 4];

struct World<P: Protocol, W, F: Physical> {
    common: P::Common<F>,
    metas: [Box<MetaWords>; 2],
    values: [Cell<u64>; 2],
    /// Every version of each record, with its timestamp, where they are kept.
    versions: [RefCell<Vec<(u64, u64)>>; 2],
    woken: Wakes,
    /// The last timestamp.
    drawn: Cell<u64>,
    way: PhantomData<W>,
}

#[derive(Default)]
pub(super) struct Wakes(pub RefCell<Vec<(SlotId, Wake)>>);

impl Waker for Wakes {
    fn wake(&self, slot: SlotId, wake: Wake) {
        self.0.borrow_mut().push((slot, wake));
    }
}

impl<P: Protocol, W: Way<P>, F: Physical> World<P, W, F> {
    fn meta(&self, record: usize) -> &P::Meta<F> {
        const { assert!(size_of::<P::Meta<F>>() <= size_of::<MetaWords>() && align_of::<P::Meta<F>>() <= 8) };
        // SAFETY: as many zeroed bytes, 8-aligned, that live with `self`: valid metadata, which has interior mutability, and
        // the box is never touched otherwise.
        unsafe { &*(&raw const *self.metas[record]).cast() }
    }

    fn request(&self, number: usize, txn: &Transaction<P::Slot>, record: usize) -> Request<'_, P, F, Wakes> {
        let (slot, access) = (SlotId(number as u32), record as u32);
        let stamp = txn.state.stamp_for(place(record));
        let who = Requester { slot, partition: 0, access, stamp };
        RequestWith { common: &self.common, who, waker: &self.woken }
    }

    /// Makes one step of transaction `number`, whose writes all bear `number + 1`.
    fn step(&self, number: usize, txn: &mut Transaction<P::Slot>, impatient: Option<usize>) {
        match txn.phase {
            Phase::Waiting(at) if impatient != Some(number) => self.look(number, txn, at),
            Phase::Operation(at) if W::LOOKS => self.operation_by_look(number, txn, at),
            Phase::Prepare(at) if W::LOOKS => self.ask_for_write(number, txn, at),
            Phase::Confirm(at) => self.ask_for_read(number, txn, at),
            Phase::Operation(at) if W::ORDERS => self.operation_by_time(number, txn, at),
            Phase::Operation(at) => self.operation(number, txn, at),
            Phase::Copy(at) => self.copy(number, txn, at),
            Phase::Lock => self.lock(txn),
            Phase::Prepare(at) => self.prepare(number, txn, at),
            Phase::Validate => self.validate(number, txn),
            Phase::Install => self.install(number, txn),
            Phase::Waiting(at) | Phase::Told(at) => self.withdraw(number, txn, at),
            Phase::Committed | Phase::Aborted => unreachable!("not runnable"),
        }
    }

    fn draw(&self) -> Timestamp {
        self.drawn.set(self.drawn.get() + 1);
        Timestamp(self.drawn.get())
    }

    fn operation(&self, number: usize, txn: &mut Transaction<P::Slot>, at: usize) {
        if !std::mem::replace(&mut txn.has_begun, true) {
            txn.state.begin(Attempt::First, || self.draw());
            if let Some(known) = W::KNOWN {
                return self.request_known(number, txn, known);
            }
        }
        let op = txn.script[at];
        let record = op.record();
        let mode = op.mode();
        let held = txn.held[record].mode;
        let covered = held == Some(mode) || held == Some(Mode::Exclusive);
        if W::LOCKS && !covered {
            let (meta, request) = (self.meta(record), self.request(number, txn, record));
            match W::ask::<F>(meta, mode, held, request) {
                Verdict::Granted => {}
                Verdict::Queued => return txn.phase = Phase::Waiting(at),
                Verdict::Retry => return txn.stalled = true,
                Verdict::Abort(_) => return self.abort(number, txn),
            }
        }
        if txn.held[record].protection.is_none() {
            match W::protect::<F>(self.meta(record), mode) {
                None | Some(Verdict::Abort(_)) => {}
                Some(Verdict::Granted) => {
                    // What was read before, without the lock or under one that was given back, is still to be validated.
                    txn.held[record].protection = Some(mode.into());
                    txn.held[record].is_protected = txn.held[record].token.is_none();
                }
                Some(_) => return self.wait_in_order(txn, record),
            }
        }
        self.granted(number, txn, at);
    }

    /// The lock of an operation, if it has one, is held: does it.
    fn granted(&self, number: usize, txn: &mut Transaction<P::Slot>, at: usize) {
        let record = txn.script[at].record();
        if W::LOCKS {
            txn.state.holds(place(record));
        }
        let held = &mut txn.held[record];
        match txn.script[at] {
            Op::Read(_) => {
                let Some(token) = W::observe::<F>(self.meta(record)) else {
                    return txn.stalled = true;
                };
                // Read again, it must be the version that was read.
                if let (Some(seen), Some(now)) = (held.token, token)
                    && !W::is_same(seen, now)
                {
                    return self.abort(number, txn);
                }
                held.token = held.token.or(token);
                if W::LOCKS && held.mode.is_none() {
                    held.mode = Some(Mode::Shared);
                }
                if !held.written {
                    txn.seen.push((record, self.values[record].get()));
                }
            }
            Op::Write(_) => {
                if W::LOCKS {
                    held.mode = Some(Mode::Exclusive);
                }
                if W::IN_PLACE && held.undo.is_none() {
                    held.undo = Some(self.values[record].replace(number as u64 + 1));
                }
                held.written = true;
            }
        }
        txn.phase = if at + 1 < txn.script.len() {
            Phase::Operation(at + 1)
        } else if W::IN_PLACE {
            Phase::Install
        } else {
            Self::next_to_prepare(txn, 0)
        };
    }

    fn install(&self, number: usize, txn: &mut Transaction<P::Slot>) {
        for record in 0..2 {
            if txn.held[record].written && !W::IN_PLACE {
                self.values[record].set(number as u64 + 1);
            }
            if txn.held[record].prepared && !txn.held[record].written {
                W::unprepare::<F>(self.meta(record), self.request(number, txn, record));
            } else if txn.held[record].prepared {
                W::publish::<F>(self.meta(record), txn.id);
                txn.held[record].protection = None;
            } else if txn.held[record].accepted {
                let time = W::time(txn.state.stamp());
                self.versions[record].borrow_mut().push((time, number as u64 + 1));
                W::decide::<F>(self.meta(record), true, txn.state.stamp());
            }
        }
        self.release(number, txn);
        txn.phase = Phase::Committed;
    }

    fn abort(&self, number: usize, txn: &mut Transaction<P::Slot>) {
        assert!(W::KNOWN.is_none_or(|known| known < txn.script.len()), "aborted, and all was known");
        for (record, held) in txn.held.iter().enumerate() {
            if let Some(before) = held.undo {
                self.values[record].set(before);
            }
            if held.prepared {
                W::unprepare::<F>(self.meta(record), self.request(number, txn, record));
            }
        }
        self.withdraw_writes(txn);
        self.release(number, txn);
        txn.phase = Phase::Aborted;
    }

    fn release(&self, number: usize, txn: &mut Transaction<P::Slot>) {
        if W::KNOWN.is_some() {
            let held = txn.held.iter().enumerate();
            let held = held.filter_map(|(record, held)| held.mode.map(|mode| (self.meta(record), mode)));
            return W::release_all::<F>(held, self.request(number, txn, 0));
        }
        for (record, held) in txn.held.iter().enumerate() {
            if let Some(mode) = held.mode {
                W::release::<F>(self.meta(record), mode, self.request(number, txn, record));
            }
            if let Some(held) = held.protection {
                W::give_back::<F>(self.meta(record), held);
            }
        }
    }

    fn deliver(&self, txns: &mut [Transaction<P::Slot>], impatient: Option<usize>) {
        for (slot, wake) in self.woken.0.take() {
            assert_eq!(wake, Wake::Granted, "no record dies here");
            let number = slot.0 as usize;
            let Phase::Waiting(at) = txns[number].phase else {
                panic!("woke a transaction that does not wait")
            };
            P::has_waited::<F>(&self.common, slot);
            match impatient == Some(number) {
                true => txns[number].phase = Phase::Told(at),
                false => self.granted(number, &mut txns[number], at),
            }
        }
    }
}

/// The state of a slot whose first transaction begins, which is the youngest of `number` and one.
pub(super) fn started<P: Protocol>(number: usize) -> P::Slot {
    let mut state = P::Slot::new();
    state.begin(Attempt::First, || Timestamp(number as u64 + 1));
    state
}

/// Runs the scripts in the order that `choices` says, and the first runnable beyond it; answers how many could have run at
/// each step, and what went wrong. `impatient`: the transaction that may take back what it waits for.
fn run<P: Protocol, W: Way<P>, F: Physical>(
    scripts: &[Vec<Op>],
    choices: &[usize],
    impatient: Option<usize>,
) -> (Vec<usize>, Result<(), String>) {
    let world = World::<P, W, F> {
        way: PhantomData,
        common: P::common(scripts.len(), 1, &W::options()),
        metas: [Box::default(), Box::default()],
        values: [Cell::new(0), Cell::new(0)],
        versions: [RefCell::new(vec![(0, 0)]), RefCell::new(vec![(0, 0)])],
        woken: Wakes::default(),
        drawn: Cell::new(0),
    };
    (0..2).for_each(|record| W::warm::<F>(world.meta(record), record));
    let start = |script: &Vec<Op>| Transaction {
        script: script.clone(),
        state: P::Slot::new(),
        has_begun: false,
        phase: Phase::Operation(0),
        held: [Held::default(); 2],
        seen: Vec::new(),
        id: 0,
        stalled: false,
    };
    let mut txns: Vec<_> = scripts.iter().map(start).collect();
    let mut alternatives = Vec::new();
    loop {
        let is_runnable = |&number: &usize| match txns[number].phase {
            Phase::Waiting(_) if impatient == Some(number) => true,
            Phase::Waiting(_) => P::LOOKS_WHILE_WAITING && !txns[number].stalled,
            Phase::Committed | Phase::Aborted => false,
            _ => !txns[number].stalled,
        };
        let runnable: Vec<usize> = (0..txns.len()).filter(is_runnable).collect();
        if runnable.is_empty() {
            if !P::LOOKS_WHILE_WAITING || !world.look_on(&mut txns) {
                break;
            }
            txns.iter_mut().for_each(|txn| txn.stalled = false);
            continue;
        }
        let choice = choices.get(alternatives.len()).copied().unwrap_or(0);
        alternatives.push(runnable.len());
        let number = runnable[choice];
        world.step(number, &mut txns[number], impatient);
        world.deliver(&mut txns, impatient);
        if !txns[number].stalled {
            txns.iter_mut().for_each(|txn| txn.stalled = false);
        }
    }
    if txns.iter().any(|txn| !matches!(txn.phase, Phase::Committed | Phase::Aborted)) {
        return (alternatives, Err("some wait for ever".to_owned()));
    }
    let held = (0..2).any(|record| !P::is_quiescent::<F>(world.meta(record)));
    if held {
        return (alternatives, Err("a record is still held".to_owned()));
    }
    let left = [world.values[0].get(), world.values[1].get()];
    let result =
        if is_serializable(&txns, left) { Ok(()) } else { Err(format!("not serializable: {left:?}")) };
    (alternatives, result)
}

/// Whether some serial order of the committed transactions reads and leaves the same.
fn is_serializable<S>(txns: &[Transaction<S>], left: [u64; 2]) -> bool {
    fn extend<S>(txns: &[Transaction<S>], rest: &[usize], values: [u64; 2], left: [u64; 2]) -> bool {
        if rest.is_empty() {
            return values == left;
        }
        rest.iter().any(|&next| {
            let txn = &txns[next];
            let reads_so = txn.seen.iter().all(|&(record, version)| values[record] == version);
            let mut after = values;
            for op in &txn.script {
                if let Op::Write(record) = op {
                    after[*record] = next as u64 + 1;
                }
            }
            let others: Vec<usize> = rest.iter().copied().filter(|&other| other != next).collect();
            reads_so && extend(txns, &others, after, left)
        })
    }
    let committed: Vec<usize> = (0..txns.len()).filter(|&n| txns[n].phase == Phase::Committed).collect();
    extend(txns, &committed, [0, 0], left)
}

/// Tries every interleaving; the first that goes wrong, and how many there are.
fn explore<P: Protocol, W: Way<P>, F: Physical>(
    scripts: &[Vec<Op>],
    impatient: Option<usize>,
) -> Result<u64, String> {
    let mut choices = Vec::new();
    for tried in 1.. {
        let (alternatives, result) = run::<P, W, F>(scripts, &choices, impatient);
        result
            .map_err(|wrong| format!("{scripts:?} in order {choices:?}, impatient {impatient:?}: {wrong}"))?;
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

/// All pairs of transactions of two operations, and some triples of the known dangerous shapes.
pub(super) fn worlds() -> Vec<Vec<Vec<Op>>> {
    let scripts: Vec<Vec<Op>> =
        Op::ALL.iter().flat_map(|&first| Op::ALL.map(|second| vec![first, second])).collect();
    let mut worlds: Vec<Vec<Vec<Op>>> = scripts
        .iter()
        .flat_map(|one| scripts.iter().map(move |two| vec![one.clone(), two.clone()]))
        .collect();
    let upgrade = vec![Op::Read(0), Op::Write(0)];
    let skew = |a, b| vec![Op::Read(a), Op::Write(b)];
    let both = vec![Op::Write(0), Op::Write(1)];
    worlds.push(vec![upgrade.clone(), upgrade.clone(), vec![Op::Read(0)]]);
    worlds.push(vec![skew(0, 1), skew(1, 0), vec![Op::Write(0)]]);
    worlds.push(vec![both, vec![Op::Read(1), Op::Read(0)], vec![Op::Write(1)]]);
    worlds
}

fn accepts<P: Protocol, W: Way<P>>() {
    let mut tried = 0;
    for scripts in worlds() {
        tried += explore::<P, W, Shared>(&scripts, None).unwrap_or_else(|wrong| panic!("shared: {wrong}"));
        tried += explore::<P, W, Owned>(&scripts, None).unwrap_or_else(|wrong| panic!("owned: {wrong}"));
    }
    assert!(tried > 5_000, "{tried} interleavings are too few to mean anything");
}

/// Explores every world with every transaction impatient in turn; the first that goes wrong, and how many there are.
fn explore_impatience<P: Locking, F: Physical>() -> Result<u64, String> {
    let impatient =
        |scripts: Vec<Vec<Op>>| (0..scripts.len()).map(move |number| (scripts.clone(), Some(number)));
    worlds()
        .into_iter()
        .flat_map(impatient)
        .map(|(scripts, impatient)| explore::<P, TwoPhase, F>(&scripts, impatient))
        .sum()
}

fn accepts_impatience<P: Locking>() {
    let shared = explore_impatience::<P, Shared>().unwrap_or_else(|wrong| panic!("shared: {wrong}"));
    let owned = explore_impatience::<P, Owned>().unwrap_or_else(|wrong| panic!("owned: {wrong}"));
    assert!(shared + owned > 10_000, "{shared} and {owned} interleavings are too few to mean anything");
}

fn rejects<P: Protocol, W: Way<P>>() {
    assert!(
        worlds().iter().any(|scripts| explore::<P, W, Shared>(scripts, None).is_err()),
        "no interleaving shows the defect"
    );
}

#[test]
fn no_wait_is_serializable() {
    accepts::<NoWait, TwoPhase>();
}

#[test]
fn two_version_no_wait_is_serializable() {
    accepts::<TwoVersionNoWait, Certifying>();
}

#[test]
fn dl_detect_is_serializable_and_never_stuck() {
    accepts::<DlDetect, TwoPhase>();
}

#[test]
fn dreadlocks_is_serializable_and_never_stuck() {
    accepts::<Dreadlocks, TwoPhase>();
}

#[test]
fn silo_is_serializable() {
    accepts::<Silo, Optimistic>();
}

#[test]
fn occ_is_serializable() {
    accepts::<Occ, Optimistic>();
}

#[test]
fn wait_die_is_serializable_and_never_stuck() {
    accepts::<WaitDie, TwoPhase>();
}

#[test]
fn deadlock_free_is_serializable_and_never_stuck() {
    accepts::<DeadlockFree, TwoPhase>();
}

/// Whatever a transaction knows of itself: nothing, its first operation, or all; then it is never aborted.
#[test]
fn vll_is_serializable_and_never_stuck_whatever_is_known() {
    accepts::<Vll, Ahead<0>>();
    accepts::<Vll, Ahead<1>>();
    accepts::<Vll, Ahead<2>>();
}

/// Somebody who has nothing to do with the others is ahead of them, and its end has the queue analysed; or one of the others has ended before.
#[test]
fn vll_is_serializable_and_never_stuck_whoever_is_found_to_be_in_nobodys_way() {
    let ahead = vec![Op::Write(0)];
    let changes = vec![Op::Read(1), Op::Write(1)];
    let looks_twice = vec![Op::Read(1), Op::Read(1)];
    let three = |one: &Vec<Op>, two: &Vec<Op>| vec![ahead.clone(), one.clone(), two.clone()];
    let worlds = [
        three(&changes, &changes),
        three(&looks_twice, &changes),
        three(&looks_twice, &looks_twice),
        vec![changes.clone(), changes.clone(), vec![Op::Read(0), Op::Write(1)]],
    ];
    for scripts in worlds {
        explore::<Vll, Analysed<1>, Shared>(&scripts, None).unwrap_or_else(|wrong| panic!("{wrong}"));
        explore::<Vll, Analysed<2>, Owned>(&scripts, None).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
    accepts::<Vll, Analysed<0>>();
    accepts::<Vll, Analysed<1>>();
    accepts::<Vll, Analysed<2>>();
}

#[test]
fn who_waits_out_of_order_is_stuck() {
    let wrong =
        worlds().iter().find_map(|scripts| explore::<WaitsOutOfOrder, TwoPhase, Owned>(scripts, None).err());
    let words = wrong.expect("a deadlock");
    assert!(words.ends_with("some wait for ever"), "{words}");
}

#[test]
fn timestamp_is_serializable_and_never_stuck() {
    accepts::<BasicTimestamp, ByTime>();
}

#[test]
fn mvcc_is_serializable_and_never_stuck() {
    accepts::<Mvcc, ByTime>();
}

#[test]
fn cicada_is_serializable_and_never_stuck() {
    accepts::<Cicada, ByTimeAtLast>();
}

#[test]
fn tictoc_is_serializable() {
    accepts::<TicToc, Optimistic>();
}

#[test]
fn who_takes_a_request_back_leaves_no_trace() {
    accepts_impatience::<DlDetect>();
    accepts_impatience::<Dreadlocks>();
    accepts_impatience::<WaitDie>();
    accepts_impatience::<DeadlockFree>();
}

/// A request that was granted meanwhile is given up, and its lock stays held.
#[test]
fn who_takes_back_what_was_granted_does() {
    for wrong in [
        explore_impatience::<HastyWithdrawal<DlDetect>, Shared>(),
        explore_impatience::<HastyWithdrawal<WaitDie>, Owned>(),
    ] {
        let words = wrong.expect_err("a defect");
        assert!(words.ends_with("some wait for ever") || words.ends_with("still held"), "{words}");
    }
}

#[test]
fn mocc_is_serializable_and_never_stuck_whatever_is_hot() {
    accepts::<Mocc, Optimistic>();
    accepts::<Mocc, MostlyOptimistic<0b00>>();
    accepts::<Mocc, MostlyOptimistic<0b01>>();
    accepts::<Mocc, MostlyOptimistic<0b10>>();
    accepts::<Mocc, MostlyOptimistic<0b11>>();
}

#[test]
fn canaries_are_not() {
    rejects::<EagerUpgrade, TwoPhase>();
    rejects::<ForcedUpgrade, TwoPhase>();
    rejects::<UncountedReads, Ahead<0>>();
    rejects::<UncountedReads, Ahead<2>>();
    rejects::<UnguardedUpgrade, TwoPhase>();
    rejects::<UnmarkedReads, ByTime>();
    rejects::<NewestVersion, ByTime>();
    rejects::<UnraisedReads, ByTimeAtLast>();
    rejects::<LateStart, Optimistic>();
    rejects::<NoExtension, Optimistic>();
    rejects::<DirtyReads, TwoPhase>();
    rejects::<NoReadValidation, Optimistic>();
    rejects::<SkippedCertify, Certifying>();
    rejects::<UnheldReads, MostlyOptimistic<0b11>>();
}
