//! The checker against brute force: tiny histories from interleaved executions of toy engines, weak and strong,
//! judged by trying every order of their transactions.

use crate::script::{Draft, history_of};
use contract::{Clocks, Direction, Key, Outcome, Seen, Sighting};
use history::{AnomalyKind, History, OperationKind, ScanRecord, TransactionRecord, Version, check};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Keys below this are loaded, the others not.
const LOADED_KEYS: u64 = 2;
const KEYS: u64 = 4;

type State = BTreeMap<u64, Version>;

fn first_state() -> State {
    (0..KEYS).map(|key| (key, if key < LOADED_KEYS { Version::LOADED } else { Version::MISSING })).collect()
}

/// Where a toy engine's reads look.
#[derive(Clone, Copy, Debug)]
enum Sight {
    /// At what is there, committed or not.
    Dirty,
    /// At what is committed.
    Committed,
    /// At what was committed when the transaction began, or so many commits before.
    Snapshot { lag: usize },
}

/// How strong a toy engine is.
#[derive(Clone, Copy, Debug)]
struct Strength {
    sight: Sight,
    /// Writes go in place at once, and are undone by an abort; otherwise they are installed at commit.
    in_place: bool,
    /// Commit only if all that was looked at is still so.
    validates: bool,
    /// Nobody interleaves.
    serial: bool,
    /// Rows are really deleted.
    real_deletes: bool,
    /// What a scan passed over is validated, too.
    guards_ranges: bool,
    /// A worker's transaction begins with the clock's reading at which its last one ended.
    one_reading: bool,
}

struct Running {
    draft: Draft,
    steps: u64,
    snapshot: Option<State>,
    /// Keys that it looked at from outside, with what it saw.
    looked: Vec<(u64, Version)>,
    /// Its own last versions by key, and what undoes them.
    own: State,
    undo: Vec<(u64, Version)>,
    /// Blind writes by key, to be told what they replaced: positions in its operations.
    blind: Vec<usize>,
}

impl Running {
    fn new(worker: usize, number: u32, steps: u64) -> Self {
        Running {
            draft: Draft::new(worker, number),
            steps,
            snapshot: None,
            looked: Vec::new(),
            own: State::new(),
            undo: Vec::new(),
            blind: Vec::new(),
        }
    }
}

/// One run of a toy engine.
struct Run {
    strength: Strength,
    random: fastrand::Rng,
    clock_ns: u64,
    /// The states that commits left, the first state first.
    committed: Vec<State>,
    dirty: State,
    /// By worker, its last transaction's number, and when that ended.
    numbers: [u32; 3],
    ends_ns: [Option<u64>; 3],
    running: Vec<Running>,
    done: Vec<Draft>,
}

/// What a run of a toy engine leaves: the history with its end.
fn run(strength: Strength, seed: u64) -> History {
    let mut run = Run {
        strength,
        random: fastrand::Rng::with_seed(seed),
        clock_ns: 0,
        committed: vec![first_state()],
        dirty: first_state(),
        numbers: [0; 3],
        ends_ns: [None; 3],
        running: Vec::new(),
        done: Vec::new(),
    };
    let mut to_start = run.random.u64(1..=5);
    while to_start > 0 || !run.running.is_empty() {
        run.clock_ns += 1;
        if to_start > 0 && run.starts() {
            to_start -= 1;
        } else {
            run.go_on();
        }
    }
    run.into_history()
}

impl Run {
    /// Starts a transaction if a worker is free, and chance or need wants it; answers whether it did.
    fn starts(&mut self) -> bool {
        let is_free = |worker: &usize| self.running.iter().all(|other| other.draft.worker != *worker);
        let free: Vec<usize> = (0..3).filter(is_free).collect();
        let may_start = !free.is_empty() && (self.running.is_empty() || !self.strength.serial);
        if !may_start || !(self.running.is_empty() || self.random.bool()) {
            return false;
        }
        let worker = free[self.random.usize(..free.len())];
        self.numbers[worker] += 1;
        let mut new = Running::new(worker, self.numbers[worker], self.random.u64(1..=3));
        let end_ns = self.ends_ns[worker].filter(|_| self.strength.one_reading);
        let began_ns = end_ns.unwrap_or(self.clock_ns);
        new.draft = new.draft.between(began_ns, began_ns);
        self.running.push(new);
        true
    }

    /// One step of one transaction, or its end.
    fn go_on(&mut self) {
        let turn = self.random.usize(..self.running.len());
        if self.running[turn].steps > 0 {
            self.running[turn].steps -= 1;
            let (strength, committed) = (self.strength, &self.committed);
            return step(&mut self.running[turn], strength, committed, &mut self.dirty, &mut self.random);
        }
        let mut next = self.last().clone();
        let valid = self.running[turn].looked.iter().all(|(key, seen)| next[key] == *seen);
        let rolls_back = self.random.u64(0..8) == 0;
        if (self.strength.validates && !valid) || rolls_back {
            return self.undo(turn, rolls_back);
        }
        let mut ended = self.running.swap_remove(turn);
        install(&mut ended, self.strength, &mut next, &mut self.dirty);
        self.committed.push(next);
        self.end(ended.draft);
    }

    /// Undoes a transaction, which tries again unless it is over.
    fn undo(&mut self, turn: usize, rolls_back: bool) {
        for (key, before) in self.running[turn].undo.drain(..).rev() {
            self.dirty.insert(key, before);
        }
        if !rolls_back && self.running[turn].draft.ending.attempts < 3 {
            let again = &mut self.running[turn];
            again.draft.retry();
            (again.steps, again.snapshot) = (self.random.u64(1..=3), None);
            again.looked.clear();
            again.own.clear();
            again.blind.clear();
            return;
        }
        let mut ended = self.running.swap_remove(turn);
        ended.draft.roll_back();
        self.end(ended.draft);
    }

    fn end(&mut self, mut draft: Draft) {
        draft.ending.ended_ns = self.clock_ns;
        self.ends_ns[draft.worker] = Some(self.clock_ns);
        self.done.push(draft);
    }

    fn last(&self) -> &State {
        self.committed.last().expect("the first state")
    }

    fn into_history(self) -> History {
        let end = if self.strength.in_place { &self.dirty } else { self.last() };
        let finals: Vec<(u64, Version)> = end.iter().map(|(key, version)| (*key, *version)).collect();
        let mut history = history_of(&self.done, &finals);
        history.finals.iter_mut().for_each(|last| last.loaded = Some(last.key.0 < LOADED_KEYS));
        history
    }
}

/// Puts another version where one was seen, by an operation or in the end: what no engine of ours would do.
fn distort(history: &mut History, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut versions = vec![Version::LOADED, Version::MISSING];
    for (worker, recorded) in history.workers.iter().enumerate() {
        for record in &recorded.transactions {
            let draft = recorded_as_draft(history, worker, record);
            let writes = (0..draft.operations.len()).filter(|at| draft.operations[*at].kind.writes());
            versions.extend(writes.map(|position| left_by(&draft, position)));
        }
    }
    let version = versions[random.usize(..versions.len())];
    let worker = random.usize(..=history.workers.len());
    let Some(recorded) = history.workers.get_mut(worker).filter(|own| !own.operations.is_empty()) else {
        let last = random.usize(..history.finals.len());
        history.finals[last].version = version;
        return;
    };
    let position = random.usize(..recorded.operations.len());
    let operation = &mut recorded.operations[position];
    let fits = match operation.kind {
        OperationKind::Read => true,
        OperationKind::Insert => version.is_dead(),
        OperationKind::Update | OperationKind::Write => !version.is_dead(),
        OperationKind::Delete => !version.is_dead() && operation.seen != Version::PRESENT,
        OperationKind::Exists => false,
    };
    if fits {
        operation.seen = version;
    }
}

fn install(ended: &mut Running, strength: Strength, next: &mut State, dirty: &mut State) {
    if !strength.in_place {
        // A blind write learns only now what it replaces: the first one to a key what is there, a later one
        // the transaction's own.
        let mut current = next.clone();
        for position in 0..ended.draft.operations.len() {
            let operation = ended.draft.operations[position];
            if ended.blind.contains(&position) {
                ended.draft.operations[position].seen = current[&operation.key.0];
            }
            if operation.kind.writes() {
                current.insert(operation.key.0, left_by(&ended.draft, position));
            }
        }
    }
    for (key, version) in &ended.own {
        next.insert(*key, *version);
        if !strength.in_place {
            dirty.insert(*key, *version);
        }
    }
}

/// The version that an operation left, as the store holds it.
fn left_by(draft: &Draft, position: usize) -> Version {
    let operation = draft.operations[position];
    let mut writer = draft.next_version().writer().expect("a version of a transaction");
    writer.write = u32::from(operation.write);
    match (operation.kind, operation.seen) {
        (OperationKind::Delete, Version::PRESENT) => Version::MISSING,
        (OperationKind::Delete, _) => Version::written(writer).dead(),
        _ => Version::written(writer),
    }
}

fn step(
    txn: &mut Running,
    strength: Strength,
    committed: &[State],
    dirty: &mut State,
    random: &mut fastrand::Rng,
) {
    if txn.snapshot.is_none() {
        let lag = if let Sight::Snapshot { lag } = strength.sight { lag } else { 0 };
        txn.snapshot = Some(committed[committed.len().saturating_sub(1 + lag)].clone());
    }
    let view = match strength.sight {
        Sight::Dirty => dirty.clone(),
        Sight::Committed => committed.last().expect("the first state").clone(),
        Sight::Snapshot { .. } => txn.snapshot.clone().expect("set above"),
    };
    if random.u64(0..5) == 0 {
        return scan(txn, strength, &view, random);
    }
    let key = random.u64(0..KEYS);
    let own = txn.own.get(&key).copied();
    let outside = view[&key];
    let seen = own.unwrap_or(outside);
    // With real deletes a key may be inserted or deleted, not both: loaded keys go, the others come.
    let really = strength.real_deletes;
    let choice = random.u64(0..5);
    let look = |txn: &mut Running| {
        if own.is_none() {
            txn.looked.push((key, outside));
        }
    };
    if choice == 3 && !seen.is_dead() && own.is_none() {
        // Looking while not looking: the presence is an observation in a strong engine's eyes.
        txn.blind.push(txn.draft.operations.len());
        txn.draft.write(key, dirty[&key]);
    } else if seen.is_dead() {
        look(txn);
        match choice {
            0 | 1 if !really || key >= LOADED_KEYS => drop(txn.draft.insert(key, seen)),
            _ => return txn.draft.read(key, seen),
        }
    } else {
        look(txn);
        match choice {
            0 | 1 => drop(txn.draft.update(key, seen)),
            2 if !really => drop(txn.draft.delete(key, seen)),
            2 if key < LOADED_KEYS => drop(txn.draft.delete(key, Version::PRESENT)),
            4 if really => return txn.draft.exists(key),
            _ => return txn.draft.read(key, seen),
        }
    }
    let left = left_by(&txn.draft, txn.draft.operations.len() - 1);
    txn.own.insert(key, left);
    if strength.in_place {
        txn.undo.push((key, dirty[&key]));
        dirty.insert(key, left);
    }
}

/// Scans some keys either way, with a limit or none. Tombstones are shown, and do not count.
fn scan(txn: &mut Running, strength: Strength, view: &State, random: &mut fastrand::Rng) {
    let from = random.u64(0..KEYS);
    let to = (from + random.u64(0..KEYS)).min(KEYS - 1);
    let (direction, limit) = (
        if random.bool() { Direction::Forward } else { Direction::Backward },
        if random.bool() { usize::MAX } else { random.usize(1..=2) },
    );
    let mut keys: Vec<u64> = (from..=to).collect();
    if direction == Direction::Backward {
        keys.reverse();
    }
    let (mut shown, mut alive) = (Vec::new(), 0);
    for key in keys {
        let seen = txn.own.get(&key).copied().unwrap_or(view[&key]);
        if !txn.own.contains_key(&key) && (seen != Version::MISSING || strength.guards_ranges) {
            txn.looked.push((key, seen));
        }
        if seen != Version::MISSING {
            shown.push((key, seen));
            alive += usize::from(!seen.is_dead());
        }
        if alive == limit {
            return txn.draft.scan_until(from, to, direction, &shown);
        }
    }
    txn.draft.scan_as(from, to, direction, &shown);
}

/// Whether some order of the committed transactions, none before one that had ended when it began, explains all
/// that they saw, and the end. A worker here runs one transaction at a time.
fn brute_force(history: &History) -> bool {
    let mut committed: Vec<(usize, usize)> = Vec::new();
    for (worker, recorded) in history.workers.iter().enumerate() {
        for (position, record) in recorded.transactions.iter().enumerate() {
            if record.outcome == Outcome::Commit {
                committed.push((worker, position));
            }
        }
    }
    let mut order = Vec::new();
    search(history, &committed, &mut order, &first_state())
}

fn search(history: &History, committed: &[(usize, usize)], order: &mut Vec<usize>, state: &State) -> bool {
    if order.len() == committed.len() {
        return history.finals.iter().all(|last| state[&last.key.0] == last.version);
    }
    let record = |which: usize| {
        let (worker, position) = committed[which];
        (worker, history.workers[worker].transactions[position])
    };
    let comes_before = |(one_worker, one): (usize, TransactionRecord),
                        (worker, next): (usize, TransactionRecord)| {
        let clocks = &history.clocks;
        let in_time = match clocks.of_client(one_worker) == clocks.of_client(worker) {
            true => one.ended_ns < next.began_ns,
            false => {
                let ended = clocks.by_first(one_worker, one.ended_ns);
                ended.end() < clocks.by_first(worker, next.began_ns).start()
            }
        };
        in_time || (one_worker == worker && one.number < next.number)
    };
    (0..committed.len()).any(|next| {
        let waits = (0..committed.len())
            .any(|other| !order.contains(&other) && comes_before(record(other), record(next)));
        if order.contains(&next) || waits {
            return false;
        }
        let Some(after) = replay(history, record(next), state) else { return false };
        order.push(next);
        let found = search(history, committed, order, &after);
        order.pop();
        found
    })
}

/// The state after the transaction, if it sees in `state` what it saw in the run.
fn replay(history: &History, (worker, record): (usize, TransactionRecord), state: &State) -> Option<State> {
    let mut state = state.clone();
    let draft = recorded_as_draft(history, worker, &record);
    for position in 0..=draft.operations.len() {
        let mut scans = draft.scans.iter().filter(|scan| scan.first == position as u64);
        if !scans.all(|scan| passed_nothing_over(&draft, scan, &state)) {
            return None;
        }
        let Some(&operation) = draft.operations.get(position) else { break };
        let current = state[&operation.key.0];
        let same =
            if operation.seen == Version::PRESENT { !current.is_dead() } else { current == operation.seen };
        let lied_to = operation.kind == OperationKind::Write && current.is_dead();
        if !same || lied_to {
            return None;
        }
        if operation.kind.writes() {
            state.insert(operation.key.0, left_by(&draft, position));
        }
    }
    Some(state)
}

/// Whether every key that a scan covered and did not show has no row in `state`.
fn passed_nothing_over(draft: &Draft, scan: &ScanRecord, state: &State) -> bool {
    let shown = &draft.operations[scan.first as usize..][..scan.rows as usize];
    state.iter().all(|(key, version)| {
        !scan.covers(&Key(*key).bytes())
            || *version == Version::MISSING
            || shown.iter().any(|row| row.key.0 == *key)
    })
}

fn recorded_as_draft(history: &History, worker: usize, record: &TransactionRecord) -> Draft {
    let mut draft = Draft::new(worker, record.number);
    draft.ending.attempts = record.attempts;
    let recorded = &history.workers[worker];
    let position = recorded.transactions.iter().position(|other| other.number == record.number);
    draft.scans = recorded.scans_of(position.expect("a transaction of this worker")).to_vec();
    draft.scans.iter_mut().for_each(|scan| scan.first -= record.first);
    draft.operations = history.workers[worker].operations_of(record).to_vec();
    draft
}

/// A history, a line a transaction.
fn told(history: &History) -> String {
    let mut lines = String::new();
    for (worker, recorded) in history.workers.iter().enumerate() {
        for record in &recorded.transactions {
            lines += &format!("w{worker}.t{}.a{}", record.number, record.attempts - 1);
            lines += &format!(" {}..{} {:?}:", record.began_ns, record.ended_ns, record.outcome);
            for operation in recorded.operations_of(record) {
                lines += &format!(" {:?} {} {:?},", operation.kind, operation.key.0, operation.seen);
            }
            for scan in recorded_as_draft(history, worker, record).scans {
                lines += &format!(" [{}; {}]: {},", scan.first, scan.rows, history.range_in_words(&scan));
            }
            lines.push('\n');
        }
    }
    for last in &history.finals {
        lines += &format!("{} holds {:?}\n", last.key.0, last.version);
    }
    lines
}

/// The same on two or three hosts, whose clocks are ahead of the first one's by some nanoseconds or by hours, and of which as much is known as short or long answers tell.
fn on_several_hosts(history: &History, seed: u64) -> History {
    const BEGAN: u64 = 1000;
    const ENDED: u64 = 100_000;
    let mut random = fastrand::Rng::with_seed(seed);
    let hosts = random.usize(2..=3);
    let mut of_workers: Vec<usize> = history.workers.iter().map(|_| random.usize(0..hosts)).collect();
    of_workers[0] = 0;
    let (mut history, mut clocks) = (history.clone(), Vec::new());
    for clock in 1..hosts {
        let ahead = [0, 3, 40, 7_200_000_000_000][random.usize(0..4)];
        let mut sighting = |at: u64| Sighting {
            own_ns: at + ahead,
            earliest_ns: at - random.u64(0..15),
            latest_ns: at + random.u64(0..15),
        };
        clocks.push(Seen { before: sighting(BEGAN), after: sighting(ENDED) });
        let there = history.workers.iter_mut().zip(&of_workers).filter(|(_, of)| **of == clock);
        for record in there.flat_map(|(worker, _)| &mut worker.transactions) {
            record.began_ns += ahead;
            record.ended_ns += ahead;
        }
    }
    for record in history.workers.iter_mut().flat_map(|worker| &mut worker.transactions) {
        record.began_ns += BEGAN;
        record.ended_ns += BEGAN;
        assert!(record.ended_ns % 7_200_000_000_000 < ENDED);
    }
    history.clocks = Clocks::new(of_workers, clocks);
    history
}

fn strengths() -> impl Strategy<Value = Strength> {
    let sight = prop_oneof![
        Just(Sight::Dirty),
        Just(Sight::Committed),
        (0_usize..3).prop_map(|lag| Sight::Snapshot { lag }),
    ];
    (sight, any::<[bool; 6]>()).prop_map(
        |(sight, [in_place, validates, serial, real_deletes, guards_ranges, one_reading])| Strength {
            sight,
            in_place,
            validates,
            serial,
            real_deletes,
            guards_ranges,
            one_reading,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_checker_agrees_with_brute_force(strength in strengths(), seed in any::<u64>()) {
        let history = run(strength, seed);
        let verdict = check(&history);
        prop_assert_eq!(verdict.is_strictly_serializable(), brute_force(&history), "{}\n{}", verdict, told(&history));
    }

    /// And who is right by one clock is right by several.
    #[test]
    fn the_checker_agrees_with_brute_force_on_several_hosts(strength in strengths(), seed in any::<u64>()) {
        let history = run(strength, seed);
        let apart = on_several_hosts(&history, seed);
        let verdict = check(&apart);
        prop_assert_eq!(verdict.is_strictly_serializable(), brute_force(&apart), "{}\n{}", verdict, told(&apart));
        let together = check(&history);
        prop_assert!(verdict.is_strictly_serializable() || !together.is_strictly_serializable(), "{}", verdict);
    }

    #[test]
    fn the_checker_agrees_with_brute_force_on_what_no_engine_does(
        strength in strengths(),
        seed in any::<u64>(),
        distortion in any::<u64>(),
    ) {
        let mut history = run(strength, seed);
        distort(&mut history, distortion);
        let verdict = check(&history);
        prop_assert_eq!(verdict.is_strictly_serializable(), brute_force(&history), "{}\n{}", verdict, told(&history));
    }
}

/// The oracle is worth something only if it sees enough of both.
#[test]
fn toy_engines_make_histories_of_both_kinds() {
    let (mut good, mut bad) = (0, 0);
    for seed in 0..3000 {
        let weak = Strength {
            sight: Sight::Committed,
            in_place: seed % 2 == 0,
            validates: seed % 3 == 0,
            serial: false,
            real_deletes: seed % 5 == 0,
            guards_ranges: seed % 4 == 0,
            one_reading: seed % 7 == 0,
        };
        if brute_force(&run(weak, seed)) { good += 1 } else { bad += 1 }
    }
    assert!(good > 300 && bad > 300, "{good} accepted, {bad} rejected");
}

/// On several hosts time still tells something, and would tell what is wrong if their clocks were taken for one.
#[test]
fn time_orders_within_hosts_and_between_them() {
    let (mut stale, mut unordered, mut taken_for_one) = (0, 0, 0);
    for seed in 0..1000 {
        let sight = Sight::Snapshot { lag: seed as usize % 3 };
        let strength = Strength {
            sight,
            in_place: false,
            validates: false,
            serial: true,
            real_deletes: false,
            guards_ranges: true,
            one_reading: false,
        };
        let history = run(strength, seed);
        let mut apart = on_several_hosts(&history, seed);
        let only_stale = |history: &History| {
            let verdict = check(history);
            !verdict.is_strictly_serializable() && verdict.holds(false)
        };
        stale += u64::from(only_stale(&apart));
        unordered += u64::from(only_stale(&history) && check(&apart).is_strictly_serializable());
        let is_right = check(&apart).is_strictly_serializable();
        apart.clocks = Clocks::default();
        taken_for_one += u64::from(is_right && only_stale(&apart));
    }
    let all = (stale, unordered, taken_for_one);
    assert!(stale > 15 && unordered > 15 && taken_for_one > 15, "{all:?}");
}

/// Among them are some that err in nothing but what their scans passed over.
#[test]
fn toy_engines_that_guard_no_ranges_make_phantoms() {
    let unguarded = |guards_ranges| Strength {
        sight: Sight::Committed,
        in_place: false,
        validates: true,
        serial: false,
        real_deletes: true,
        guards_ranges,
        one_reading: false,
    };
    // Blind writes to a row that went are phantoms, too, but not of a scan.
    let is_of_a_scan = |verdict: &history::Verdict| {
        verdict.count(AnomalyKind::Phantom) > 0 && verdict.to_string().contains("scan of micro")
    };
    let phantoms = |strength| (0..3000).map(|seed| check(&run(strength, seed))).filter(is_of_a_scan).count();
    assert_eq!(phantoms(unguarded(true)), 0);
    let without = phantoms(unguarded(false));
    assert!(without > 10, "{without} of 3000 runs");
}
