//! VLL's selective contention analysis: which of the blocked transactions conflict with nobody ahead any more (Ren, Thomson and Abadi,
//! PVLDB 6(2), 2012, section 2.5).
//!
//! A record's counters say that somebody conflicts, and not who. So a blocked transaction is known to be free only when it has come to the front
//! of the queue, though those who were in its way may have ended long before. The analysis finds out: from the front it goes through the
//! queue, and gathers in two bit arrays what those that it passes are counted in, hashed: the paper's DX of what they write, and DS of what they
//! read. A blocked transaction that writes nothing of either, and reads nothing of DX, conflicts with nobody ahead: it is free. Two records of
//! one bit look like a conflict where there is none, which does no harm.
//!
//! State, changed under the queue's latch: for each slot a list of the records in which its transaction is counted, hashed, which has
//! room for [`ROOM`]; the bit arrays, zero between two analyses; and how many are blocked.
//!
//! *Who is passed has told all.* A transaction that is counted in more than there is room for, or in what has no name that all know (an
//! insert, what a scan has met, a byte string, an upgrade), has not: nobody behind it is judged.
//!
//! *Selective*, as in the paper: it is made only if somebody is blocked, so that a worker is idle, and only from the front as far as somebody is.
//!
//! We differ: the paper's threads analyse when they have nothing else to run, and stop at the first transaction that they may. Here a
//! blocked transaction has a worker of its own, which waits. So it is made by who leaves the queue, which has the latch and knows that there is
//! something to find; and it frees all that it finds. The arrays have 128 KiB each, the paper's 100 kB.

use super::{get, set};
use crate::epoch::Line;
use crate::facade::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::index::hash::Hash;
use crate::protocol::{Mode, RecordPlace, SlotId};
use contract::Key;

/// Records that a transaction can tell.
const ROOM: usize = 127;
/// Told by a transaction that is counted in more, or in something without a name.
const NOT_ALL: u32 = u32::MAX;

const HASH_BITS: u32 = 20;

/// A record's name, hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hashed(u32);

impl Hashed {
    /// Of a record whose name is a transaction's own.
    pub const NAMELESS: Hashed = Hashed(u32::MAX);

    #[inline(always)]
    pub fn of((table, key): RecordPlace) -> Self {
        let Hash(hash) = Hash::of(Key(key.0 ^ u64::from(table.0).rotate_right(16)));
        Hashed((hash >> (u64::BITS - HASH_BITS)) as u32)
    }
}

/// The records in which a slot's transaction is counted.
struct Told {
    /// Or [`NOT_ALL`].
    records: AtomicU32,
    /// Hashed; the lowest bit says whether it writes there.
    list: [AtomicU32; ROOM],
}

impl Default for Told {
    fn default() -> Self {
        Told { records: AtomicU32::default(), list: std::array::from_fn(|_| AtomicU32::default()) }
    }
}

impl Told {
    /// The records, hashed, and how they are wanted; `None`: not all are told.
    fn all(&self) -> Option<impl Iterator<Item = (u32, Mode)>> {
        let mode = |word| if word & 1 != 0 { Mode::Exclusive } else { Mode::Shared };
        match get(&self.records) {
            NOT_ALL => None,
            records => {
                Some(self.list[..records as usize].iter().map(get).map(move |word| (word >> 1, mode(word))))
            }
        }
    }
}

const WORDS_IN_LINE: usize = 16;

/// A bit for each hash.
struct Bits(Box<[Line<[AtomicU64; WORDS_IN_LINE]>]>);

impl Bits {
    fn new() -> Self {
        let lines = (1 << HASH_BITS) / (WORDS_IN_LINE * u64::BITS as usize);
        Bits((0..lines).map(|_| Line::default()).collect())
    }

    fn word(&self, hash: u32) -> &AtomicU64 {
        let word = (hash / u64::BITS) as usize;
        &self.0[word / WORDS_IN_LINE].0[word % WORDS_IN_LINE]
    }

    // Relaxed, all of them: the queue's latch orders them.

    fn has(&self, hash: u32) -> bool {
        self.word(hash).load(Ordering::Relaxed) >> (hash % u64::BITS) & 1 != 0
    }

    fn add(&self, hash: u32) {
        let word = self.word(hash);
        word.store(word.load(Ordering::Relaxed) | 1 << (hash % u64::BITS), Ordering::Relaxed);
    }

    /// Clears a hash, and others with it.
    fn clear(&self, hash: u32) {
        self.word(hash).store(0, Ordering::Relaxed);
    }
}

/// See the module. All is done under the queue's latch.
pub(super) struct Analysis {
    told: Box<[Line<Told>]>,
    blocked: Line<AtomicU32>,
    /// The paper's DX.
    written: Bits,
    /// The paper's DS.
    read: Bits,
}

impl Analysis {
    /// Of a queue of so many slots.
    pub fn new(slots: usize) -> Self {
        let told = (0..slots).map(|_| Line::default()).collect();
        Analysis { told, blocked: Line::default(), written: Bits::new(), read: Bits::new() }
    }

    fn told(&self, SlotId(slot): SlotId) -> &Told {
        &self.told[slot as usize].0
    }

    /// The slot's transaction is counted in a record.
    pub fn tell(&self, slot: SlotId, Hashed(hash): Hashed, mode: Mode) {
        let told = self.told(slot);
        match get(&told.records) {
            NOT_ALL => {}
            records if records as usize == ROOM || Hashed(hash) == Hashed::NAMELESS => {
                set(&told.records, NOT_ALL)
            }
            records => {
                set(&told.list[records as usize], hash << 1 | u32::from(mode == Mode::Exclusive));
                set(&told.records, records + 1);
            }
        }
    }

    /// It is counted in none any more.
    pub fn forget(&self, slot: SlotId) {
        set(&self.told(slot).records, 0);
    }

    /// A transaction is blocked.
    pub fn blocked(&self) {
        set(&self.blocked.0, get(&self.blocked.0) + 1);
    }

    /// One that was blocked is not any more.
    pub fn unblocked(&self) {
        set(&self.blocked.0, get(&self.blocked.0) - 1);
    }

    /// Goes through the queue, slots from the front and whether their transactions are blocked, and calls `free` for those that may run.
    pub fn analyse(&self, queue: impl Iterator<Item = (SlotId, bool)> + Clone, mut free: impl FnMut(SlotId)) {
        let mut passed = 0;
        for (slot, is_blocked) in queue.clone() {
            if get(&self.blocked.0) == 0 {
                break;
            }
            if self.told(slot).all().is_none() {
                break;
            }
            let records = || self.told(slot).all().into_iter().flatten();
            if is_blocked && !records().any(|(hash, mode)| self.is_in_the_way(hash, mode)) {
                free(slot);
            }
            records().for_each(|(hash, mode)| self.gathered(mode).add(hash));
            passed += 1;
        }
        for (slot, _) in queue.take(passed) {
            let records = self.told(slot).all().into_iter().flatten();
            records.for_each(|(hash, mode)| self.gathered(mode).clear(hash));
        }
    }

    fn gathered(&self, mode: Mode) -> &Bits {
        match mode {
            Mode::Exclusive => &self.written,
            Mode::Shared => &self.read,
        }
    }

    /// Whether somebody ahead conflicts with who wants a record so.
    fn is_in_the_way(&self, hash: u32, mode: Mode) -> bool {
        self.written.has(hash) || mode == Mode::Exclusive && self.read.has(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BLOCKED, Counters, TxnQueue, Vll};
    use super::*;
    use crate::physical::Shared;
    use crate::protocol::{
        AheadWith, Locking, Protocol, Request, RequestWith, Requester, Verdict, Wake, Waker,
    };
    use contract::{EngineOptions, TableId};
    use std::cell::RefCell;

    const RECORDS: usize = 4;
    const SLOTS: usize = 6;

    /// The slots that were woken.
    #[derive(Default)]
    struct Woken(RefCell<Vec<(u32, Wake)>>);

    impl Waker for Woken {
        fn wake(&self, SlotId(slot): SlotId, wake: Wake) {
            self.0.borrow_mut().push((slot, wake));
        }
    }

    type Wants = Vec<(usize, Mode)>;

    /// A queue, and some records.
    struct World {
        queue: TxnQueue,
        records: [Counters<Shared>; RECORDS],
        woken: Woken,
    }

    fn name(record: usize) -> Hashed {
        Hashed::of((TableId(3), Key(record as u64)))
    }

    impl World {
        fn new(selective_contention_analysis: bool) -> Self {
            let options = EngineOptions { selective_contention_analysis, ..EngineOptions::default() };
            let counters = |_| Counters { exclusive: AtomicU32::new(0), shared: AtomicU32::new(0) };
            World {
                queue: Vll::common::<Shared>(SLOTS, 1, &options),
                records: std::array::from_fn(counters),
                woken: Woken::default(),
            }
        }

        fn request_with(&self, slot: u32, stamp: Hashed) -> Request<'_, Vll, Shared, Woken> {
            let who = Requester { slot: SlotId(slot), partition: 0, access: 0, stamp };
            RequestWith { common: &self.queue, who, waker: &self.woken }
        }

        /// A transaction begins, and is known to want these.
        fn begin(&self, slot: u32, wants: &[(usize, Mode)]) -> Verdict {
            let mut are_counted = vec![false; wants.len()];
            let ahead = wants.iter().zip(&mut are_counted).map(|(&(record, mode), is_counted)| AheadWith {
                meta: &self.records[record],
                mode,
                stamp: name(record),
                is_counted,
            });
            Vll::request_all(ahead, self.request_with(slot, Hashed::NAMELESS))
        }

        /// It ends; answers who is woken, and how.
        fn end_with(&self, slot: u32, held: &[(usize, Mode)]) -> Vec<(u32, Wake)> {
            let held = held.iter().map(|&(record, mode)| (&self.records[record], mode));
            Vll::release_all(held, self.request_with(slot, Hashed::NAMELESS));
            self.woken.0.take()
        }

        /// It ends; answers who is free from now on.
        fn end(&self, slot: u32, held: &[(usize, Mode)]) -> Vec<u32> {
            let free = |(slot, wake)| (wake == Wake::Granted).then_some(slot);
            self.end_with(slot, held).into_iter().map(|woken| free(woken).expect("free")).collect()
        }

        /// The arrays are as they were.
        fn is_clean(&self) -> bool {
            let Some(Analysis { written, read, .. }) = &self.queue.analysis else { return true };
            let words =
                [written, read].into_iter().flat_map(|Bits(lines)| lines.iter().flat_map(|line| &line.0));
            words.into_iter().all(|word| word.load(Ordering::Relaxed) == 0)
        }
    }

    fn writes(record: usize) -> Wants {
        vec![(record, Mode::Exclusive)]
    }

    fn reads(record: usize) -> Wants {
        vec![(record, Mode::Shared)]
    }

    #[test]
    fn who_conflicts_with_nobody_ahead_runs_before_the_front_has_ended() {
        for is_analysed in [true, false] {
            let world = World::new(is_analysed);
            assert_eq!(world.begin(0, &writes(0)), Verdict::Granted);
            assert_eq!(world.begin(1, &writes(1)), Verdict::Granted);
            assert_eq!(world.begin(2, &writes(1)), Verdict::Queued);
            let woken = world.end(1, &writes(1));
            let rest = world.end(0, &writes(0));
            let expected = if is_analysed { (vec![2], vec![]) } else { (vec![], vec![2]) };
            assert_eq!((woken, rest), expected);
            assert!(world.is_clean());
        }
    }

    #[test]
    fn readers_are_found_together_and_writers_one_after_the_other() {
        let world = World::new(true);
        assert_eq!(world.begin(0, &writes(0)), Verdict::Granted);
        assert_eq!(world.begin(1, &writes(1)), Verdict::Granted);
        for (slot, wants) in [(2, reads(1)), (3, reads(1)), (4, writes(1)), (5, writes(1))] {
            assert_eq!(world.begin(slot, &wants), Verdict::Queued);
        }
        assert_eq!(world.end(1, &writes(1)), [2, 3]);
        assert_eq!(world.end(3, &reads(1)), [0; 0]);
        assert_eq!(world.end(2, &reads(1)), [4]);
        assert_eq!(world.end(4, &writes(1)), [5]);
        assert_eq!(world.end(0, &writes(0)), [0; 0]);
        assert_eq!(world.end(5, &writes(1)), [0; 0]);
        assert!(world.is_clean());
    }

    #[test]
    fn what_is_asked_for_late_is_in_the_way_too() {
        let world = World::new(true);
        assert_eq!(world.begin(0, &writes(0)), Verdict::Granted);
        // It is behind, and what it asks for late nobody wants yet.
        assert_eq!(world.begin(1, &writes(1)), Verdict::Granted);
        let late =
            |record| Vll::acquire(&world.records[record], Mode::Shared, world.request_with(1, name(record)));
        assert_eq!(late(2), Verdict::Granted);
        assert_eq!(world.begin(2, &[(2, Mode::Exclusive), (3, Mode::Exclusive)]), Verdict::Queued);
        assert_eq!(world.begin(3, &writes(3)), Verdict::Queued);
        assert_eq!(world.end(0, &writes(0)), [0; 0]);
        assert_eq!(world.end(1, &[(1, Mode::Exclusive), (2, Mode::Shared)]), [2]);
        assert_eq!(world.end(2, &[(2, Mode::Exclusive), (3, Mode::Exclusive)]), [3]);
        assert!(world.is_clean());
    }

    #[test]
    fn nobody_is_judged_behind_who_has_not_told_all() {
        let nameless = |world: &World| {
            let request = world.request_with(0, Hashed::NAMELESS);
            assert_eq!(Vll::acquire(&world.records[3], Mode::Shared, request), Verdict::Granted);
        };
        let many = |world: &World| {
            let analysis = world.queue.analysis.as_ref().expect("it is asked for");
            (0..ROOM).for_each(|record| analysis.tell(SlotId(0), name(100 + record), Mode::Shared));
        };
        for hides in [nameless, many] as [fn(&World); 2] {
            let world = World::new(true);
            assert_eq!(world.begin(0, &writes(0)), Verdict::Granted);
            hides(&world);
            assert_eq!(world.begin(1, &writes(1)), Verdict::Granted);
            assert_eq!(world.begin(2, &writes(1)), Verdict::Queued);
            assert_eq!(world.end(1, &writes(1)), [0; 0], "it may conflict with what is not told");
            assert_eq!(world.end(0, &writes(0)), [2], "it is in front");
            assert!(world.is_clean());
            // Who has not told all before may do so again.
            assert_eq!(world.begin(0, &writes(0)), Verdict::Granted);
            assert_eq!(world.begin(3, &writes(0)), Verdict::Queued);
            assert_eq!(world.begin(4, &writes(2)), Verdict::Granted);
            assert_eq!(world.begin(5, &writes(2)), Verdict::Queued);
            assert_eq!(world.end(4, &writes(2)), [5]);
        }
    }

    #[test]
    fn nothing_is_analysed_in_a_broken_queue() {
        let world = World::new(true);
        assert_eq!(world.begin(0, &writes(0)), Verdict::Granted);
        assert_eq!(world.begin(1, &writes(1)), Verdict::Granted);
        assert_eq!(world.begin(2, &writes(2)), Verdict::Granted);
        assert_eq!(world.begin(3, &writes(1)), Verdict::Queued);
        Vll::abandon::<Shared>(world.request_with(1, Hashed::NAMELESS));
        assert_eq!(world.end_with(2, &writes(2)), [], "record 1 is held by nobody in the queue");
        assert_eq!(world.end_with(0, &writes(0)), [(3, Wake::Retry)]);
    }

    /// Any transactions in any order: who is blocked is woken when it conflicts with nobody ahead, and not before.
    #[test]
    fn who_is_free_is_who_conflicts_with_nobody_ahead() {
        struct InQueue {
            slot: u32,
            wants: Wants,
            is_blocked: bool,
        }
        let conflict = |one: &Wants, other: &Wants| {
            let both = |a: &(usize, Mode), b: &(usize, Mode)| {
                a.0 == b.0 && (a.1 == Mode::Exclusive || b.1 == Mode::Exclusive)
            };
            one.iter().any(|a| other.iter().any(|b| both(a, b)))
        };
        let mut random = fastrand::Rng::with_seed(7);
        let world = World::new(true);
        let (mut queue, mut ahead_of_the_front) = (Vec::<InQueue>::new(), 0);
        for _ in 0..20_000 {
            let slot = random.u32(0..SLOTS as u32);
            match queue.iter().position(|entry| entry.slot == slot) {
                None => {
                    let mode = |random: &mut fastrand::Rng| {
                        if random.bool() { Mode::Shared } else { Mode::Exclusive }
                    };
                    let first = random.usize(0..RECORDS);
                    let mut wants = vec![(first, mode(&mut random))];
                    if random.bool() {
                        wants.push(((first + 1) % RECORDS, mode(&mut random)));
                    }
                    let is_blocked = queue.iter().any(|entry| conflict(&entry.wants, &wants));
                    let expected = if is_blocked { Verdict::Queued } else { Verdict::Granted };
                    assert_eq!(world.begin(slot, &wants), expected);
                    queue.push(InQueue { slot, wants, is_blocked });
                }
                Some(place) if !queue[place].is_blocked => {
                    let InQueue { wants, .. } = queue.remove(place);
                    let mut expected = Vec::new();
                    for at in 0..queue.len() {
                        let is_hindered =
                            queue[..at].iter().any(|entry| conflict(&entry.wants, &queue[at].wants));
                        if queue[at].is_blocked && !is_hindered {
                            queue[at].is_blocked = false;
                            expected.push(queue[at].slot);
                            ahead_of_the_front += usize::from(at > 0);
                        }
                    }
                    assert_eq!(world.end(slot, &wants), expected);
                }
                Some(_) => assert_eq!(get(&world.queue.place(SlotId(slot)).state), BLOCKED),
            }
            assert!(world.is_clean());
        }
        assert!(ahead_of_the_front > 1_000, "{ahead_of_the_front} were found behind the front");
    }
}
