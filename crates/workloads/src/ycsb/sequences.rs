//! The keys of inserted rows, and what a client knows of those that others insert.
//!
//! Each client inserts its own sequence of keys: `first + index * LANES + worker`, index after index. So inserted keys are
//! unique without a counter that clients share, and [`LANES`] being a prime, they spread over all partitions as loaded keys
//! do.
//!
//! The newest rows are, by common consent, the last of each sequence in the order of the workers, then the last but one of
//! each, and so on, and the loaded rows from the last one down. So all clients agree on which row is the hottest, up to
//! what they know. A client knows the end of its own sequence, of rows that have committed. It takes the others to have
//! inserted as many as itself since it started. One that inserts faster than its reader is read a little late. One that is
//! slower is caught up with: the read misses, and the client takes the sequence to end there from then on. A miss costs a
//! look-up, is protected like any other, and is no mistake.
//!
//! A store may have been run on before, by other clients, so a client does not know where sequences start. Its first
//! transactions search: each looks for the end of one sequence, by doubling and bisecting; its own first, and the others'
//! if it is to read the latest. They run in the warm-up. Until its own search has ended, accesses that would insert read.
//! A run that is cut off may leave a gap in a sequence; a transaction that later comes to a key behind it finds its row there, and
//! leaves it.

use super::TABLE;
use contract::{Abort, Key, Plan, Presence, Seat, Span, Transaction};
use std::cell::Cell;

/// Sequences that fit between each other: the next prime above 4096, which is more than there are workers.
const LANES: u64 = 4_099;
/// No sequence is longer.
const MOST_INDEX: u64 = 1 << 34;

const _: () = assert!(MOST_INDEX * LANES + (1 << 40) < crate::touches::KEY_END);

/// The key at `index` of a worker's sequence; `first` is the number of loaded rows.
#[inline]
fn key(first: u64, worker: u64, index: u64) -> u64 {
    first + index * LANES + worker
}

/// All sequences, as one client sees them.
#[derive(Clone, Debug)]
pub(super) struct Sequences {
    /// Loaded rows: inserted keys begin here.
    first: u64,
    own: u64,
    partitions: u32,
    /// Where the own sequence goes on, once that is known.
    next: Option<u64>,
    /// Own inserts that have committed.
    committed: i64,
    /// By worker: where its sequence ends, less `committed`.
    ends: Box<[i64]>,
    /// Sequences whose end was asked for, and whose end will be.
    searches: u64,
    most_searches: u64,
}

impl Sequences {
    /// `latest`: whether the others' ends are of interest.
    pub(super) fn new(records: u64, seat: Seat, latest: bool) -> Self {
        assert!(seat.workers as u64 <= LANES, "{} workers share {LANES} sequences", seat.workers);
        Sequences {
            first: records,
            own: seat.worker as u64,
            partitions: seat.partitions,
            next: None,
            committed: 0,
            ends: vec![0; seat.workers].into_boxed_slice(),
            searches: 0,
            most_searches: if latest { seat.workers as u64 } else { 1 },
        }
    }

    /// A search, while there is one to be made.
    #[inline]
    pub(super) fn next_search(&mut self) -> Option<Search> {
        if self.searches == self.most_searches {
            return None;
        }
        let worker = (self.own + self.searches) % self.ends.len() as u64;
        self.searches += 1;
        Some(Search { first: self.first, worker, partitions: self.partitions, end: Cell::new(0) })
    }

    /// The end of a sequence was found.
    pub(super) fn ends(&mut self, worker: u64, end: u64) {
        self.ends[worker as usize] = end as i64 - self.committed;
        if worker == self.own {
            self.next = Some(end);
        }
    }

    /// The key to insert next, unless that is not known yet.
    #[inline]
    pub(super) fn next_own(&mut self) -> Option<u64> {
        let index = self.next?;
        self.next = Some(index + 1);
        Some(key(self.first, self.own, index))
    }

    /// So many own inserts committed.
    #[inline]
    pub(super) fn committed(&mut self, inserts: u64) {
        self.committed += inserts as i64;
    }

    /// The key of the row that is `rank` rows older than the newest.
    #[inline]
    pub(super) fn latest(&self, rank: u64) -> u64 {
        let workers = self.ends.len() as u64;
        let (worker, depth) = (rank % workers, rank / workers);
        let end = (self.ends[worker as usize] + self.committed).max(0) as u64;
        if depth < end {
            return key(self.first, worker, end - 1 - depth);
        }
        // Beyond the sequence's first row: loaded rows, of which each sequence has its share.
        let older = (depth - end) * workers + worker;
        self.first - 1 - older % self.first
    }

    /// A read of `key` found nothing: another's sequence ends there at the latest.
    #[inline(never)]
    pub(super) fn missed(&mut self, key: u64) {
        let (worker, index) = ((key - self.first) % LANES, (key - self.first) / LANES);
        // Of the own one the end is known; what is missing there is still on its way.
        if worker != self.own {
            let end = &mut self.ends[worker as usize];
            *end = (*end).min(index as i64 - self.committed);
        }
    }
}

/// Looks for the end of a worker's sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Search {
    first: u64,
    worker: u64,
    partitions: u32,
    /// What its last run found: the least index that is missing.
    end: Cell<u64>,
}

impl Search {
    /// The worker, and the end of its sequence.
    pub(super) fn found(&self) -> (u64, u64) {
        (self.worker, self.end.get())
    }

    pub(super) fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<(), Abort> {
        // Below `low` all rows are there; at `high` there is none.
        let (mut low, mut high) = (0, 1);
        while self.is_there(txn, high - 1)? {
            (low, high) = (high, high * 2);
            assert!(high < MOST_INDEX, "a sequence without end");
        }
        high -= 1;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.is_there(txn, middle)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.end.set(low);
        Ok(())
    }

    /// A sequence lies in all partitions: declares a key of each. Which keys are looked at depends on which there are.
    pub(super) fn plan(&self, plan: &mut Plan) {
        plan.leave_open();
        (0..u64::from(self.partitions)).for_each(|key| plan.declare(TABLE, Key(key)));
    }

    fn is_there<T: Transaction + ?Sized>(&self, txn: &mut T, index: u64) -> Result<bool, Abort> {
        let key = Key(key(self.first, self.worker, index));
        Ok(txn.read(TABLE, key, Span::new(0, 1), &mut |_| ())? == Presence::Present)
    }
}

#[cfg(test)]
mod tests {
    use super::{Sequences, key};
    use contract::Seat;
    use std::collections::BTreeSet;

    fn sequences() -> Sequences {
        let mut sequences = Sequences::new(100, Seat::new(1, 3, 7), true);
        let searches: Vec<u64> =
            std::iter::from_fn(|| sequences.next_search()).map(|search| search.worker).collect();
        assert_eq!(searches, [1, 2, 0], "the own one first");
        sequences
    }

    #[test]
    fn ranks_go_back_from_the_ends() {
        let mut sequences = sequences();
        assert_eq!(sequences.next_own(), None, "not known yet");
        for (worker, end) in [(0, 2), (1, 1), (2, 0)] {
            sequences.ends(worker, end);
        }
        let latest = |sequences: &Sequences| (0..9).map(|rank| sequences.latest(rank)).collect::<Vec<_>>();
        let of = |worker, index| key(100, worker, index);
        // 0's last and 1's only one; 2 has none, so that the newest loaded rows stand in.
        assert_eq!(latest(&sequences)[..4], [of(0, 1), of(1, 0), 97, of(0, 0)]);
        assert_eq!(latest(&sequences).into_iter().collect::<BTreeSet<_>>().len(), 9, "all differ");

        assert_eq!(sequences.next_own(), Some(of(1, 1)));
        sequences.committed(1);
        assert_eq!(latest(&sequences)[..3], [of(0, 2), of(1, 1), of(2, 0)], "the others go on as well");
        sequences.missed(of(2, 0));
        sequences.missed(of(1, 1));
        assert_eq!(latest(&sequences)[1..3], [of(1, 1), 97], "2 has not; the own one is known");
        sequences.committed(1);
        assert_eq!(latest(&sequences)[..3], [of(0, 3), of(1, 2), of(2, 0)]);
    }

    #[test]
    fn every_rank_is_a_row_that_was_loaded_or_inserted() {
        let mut sequences = sequences();
        for (worker, end) in [(0, 5), (1, 40), (2, 0)] {
            sequences.ends(worker, end);
        }
        let keys: Vec<u64> = (0..100).map(|rank| sequences.latest(rank)).collect();
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 100);
        let is_row = |key: &u64| {
            let (worker, index) =
                ((key.wrapping_sub(100)) % super::LANES, key.wrapping_sub(100) / super::LANES);
            *key < 100 || (worker < 3 && index < [5, 40, 0][worker as usize])
        };
        assert!(keys.iter().all(is_row), "{keys:?}");
    }
}
