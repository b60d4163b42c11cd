//! The dependency graph over all transactions, and over time.
//!
//! Strict serializability adds that a transaction comes before all that began after it had ended. Spelled out
//! that would be O(n^2) edges, so time gets nodes of its own: one *moment* for every end, each before the next.
//! A transaction comes before the moment of its end, and a moment before the transactions that began between it
//! and the next. Two edges a transaction say the same, and they are computed, not stored.
//!
//! Of several hosts, whose clocks do not agree ([`contract::clocks`]), each has a timeline of its own, and there is one of all together: on that a transaction's time is as long as it may have
//! been. So within a host time orders as ever, and between hosts where it does for certain.
//!
//! Who has read a snapshot comes where the snapshot was taken, some time before it began: before all that began after it had ended,
//! but not after what had ended when it began.
//!
//! Who began in the very nanosecond in which another ended is not ordered by it: two clocks do not tell. But an
//! engine takes one reading for the end of a worker's transaction and the beginning of its next, so among the
//! transactions of a worker that runs one at a time, the next is the end's *follower*, with an edge of its own.
//!
//! The graph has no cycle if and only if the history is strictly serializable. `peel` takes away what nothing
//! comes before, until nothing is left (Kahn), or a rest in which the cycles are.

use crate::check::chain::Dependency;
use crate::check::index::{Index, NOBODY};
use crate::history::TransactionRecord;
use contract::Outcome;

/// A dependency with its key, in one word: the operation that tells the key, and the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(u32);

impl Label {
    const KINDS: [Dependency; 3] = [Dependency::Overwrote, Dependency::Observed, Dependency::Missed];

    pub fn new(dependency: Dependency, operation: u32) -> Self {
        assert!(operation < 1 << 30, "a history of more than 2^30 operations cannot be judged in one piece");
        Label(operation << 2 | dependency as u32)
    }

    pub fn dependency(self) -> Dependency {
        Label::KINDS[(self.0 & 3) as usize]
    }

    pub fn operation(self) -> u32 {
        self.0 >> 2
    }
}

/// Why one transaction must come before another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub from: u32,
    pub to: u32,
    pub label: Label,
}

const _: () = assert!(size_of::<Edge>() == 12, "twenty-four million edges fit in 288 MB");

/// Which edges to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Dependencies through data.
    Data,
    /// These, and the order of time.
    DataAndTime,
}

/// Nodes are transactions, by their number, and behind them moments.
pub(crate) struct Graph {
    transactions: u32,
    /// By transaction, its first position in `targets`; one more entry at the end.
    first: Vec<u32>,
    targets: Vec<u32>,
    labels: Vec<Label>,
    /// By transaction, the moment of its end by its own clock; [`NOBODY`] if it did not commit.
    moment_of_end: Vec<u32>,
    /// The same on the timeline of all clocks together; empty if there is one clock.
    moment_of_end_for_all: Vec<u32>,
    /// Behind the last moment of each timeline.
    ends_of_timelines: Vec<u32>,
    /// Of each timeline the committed transactions that began after some end, in the order of their beginnings, but for those that have read snapshots.
    by_begin: Vec<u32>,
    /// By moment, the first position in `by_begin` that began after it; one more entry at the end.
    first_after: Vec<u32>,
    /// By transaction, the one that its worker began in the nanosecond of its end; [`NOBODY`] if there is none.
    follower: Vec<u32>,
}

impl Graph {
    pub fn new(index: &Index<'_>, parts: Vec<Vec<Edge>>) -> Self {
        let transactions = index.transactions();
        let edges: usize = parts.iter().map(Vec::len).sum();
        assert!(edges < u32::MAX as usize, "a history with 2^32 dependencies cannot be judged in one piece");
        let first = first_positions(transactions, parts.iter().flatten().map(|edge| edge.from));
        let (mut targets, mut labels) = (vec![0; edges], vec![Label(0); edges]);
        let mut free = first.clone();
        for part in parts {
            for edge in part {
                let position = free[edge.from as usize] as usize;
                free[edge.from as usize] += 1;
                (targets[position], labels[position]) = (edge.to, edge.label);
            }
        }
        let mut graph = Graph {
            transactions,
            first,
            targets,
            labels,
            moment_of_end: vec![NOBODY; transactions as usize],
            moment_of_end_for_all: Vec::new(),
            ends_of_timelines: Vec::new(),
            by_begin: Vec::new(),
            first_after: Vec::new(),
            follower: followers(index),
        };
        graph.lay_timelines(index);
        graph
    }

    fn lay_timelines(&mut self, index: &Index<'_>) {
        let clocks = &index.history.clocks;
        let mut of_own = std::mem::take(&mut self.moment_of_end);
        for clock in 0..clocks.number() {
            let by_own = |worker: usize, record: &TransactionRecord| {
                (clocks.of_client(worker) == clock).then_some((record.began_ns, record.ended_ns))
            };
            self.lay_timeline(index, by_own, &mut of_own);
        }
        self.moment_of_end = of_own;
        if !clocks.are_one() {
            let for_certain = |worker: usize, record: &TransactionRecord| {
                let began = clocks.by_first(worker, record.began_ns);
                Some((*began.start(), *clocks.by_first(worker, record.ended_ns).end()))
            };
            let mut of_all = vec![NOBODY; self.transactions as usize];
            self.lay_timeline(index, for_certain, &mut of_all);
            self.moment_of_end_for_all = of_all;
        }
        self.first_after.push(self.by_begin.len() as u32);
    }

    /// Lays one behind those that are there. `time`: of a worker's transaction, when it began and ended, if it is on it; `moment_of_end`: where its moment is noted.
    fn lay_timeline(
        &mut self,
        index: &Index<'_>,
        time: impl Fn(usize, &TransactionRecord) -> Option<(u64, u64)>,
        moment_of_end: &mut [u32],
    ) {
        let (mut begins, mut ends) = (Vec::new(), Vec::new());
        for transaction in 0..self.transactions {
            let (worker, record) = index.record(transaction);
            if record.outcome != Outcome::Commit {
                continue;
            }
            if let Some((began_ns, ended_ns)) = time(worker, record) {
                if !record.has_read_snapshot() {
                    begins.push((began_ns, transaction));
                }
                ends.push((ended_ns, transaction));
            }
        }
        begins.sort_unstable();
        ends.sort_unstable();
        let Some(&(first_end_ns, _)) = ends.first() else { return };
        let mut left = begins.into_iter().filter(|(began_ns, _)| *began_ns > first_end_ns).peekable();
        for (ended_ns, transaction) in ends {
            moment_of_end[transaction as usize] = self.first_after.len() as u32;
            // Who began in the very nanosecond of the end is not ordered by time.
            while let Some((_, began)) = left.next_if(|(began_ns, _)| *began_ns <= ended_ns) {
                self.by_begin.push(began);
            }
            self.first_after.push(self.by_begin.len() as u32);
        }
        self.by_begin.extend(left.map(|(_, began)| began));
        self.ends_of_timelines.push(self.first_after.len() as u32);
    }

    /// The next moment of the same timeline.
    fn moment_after(&self, moment: u32) -> Option<u32> {
        let is_last = self.ends_of_timelines.binary_search(&(moment + 1)).is_ok();
        (!is_last).then_some(moment + 1)
    }

    /// The moments at which a transaction ended.
    fn moments_of_end(&self, transaction: u32) -> impl Iterator<Item = u32> {
        let of =
            |moments: &[u32]| moments.get(transaction as usize).copied().filter(|moment| *moment != NOBODY);
        [of(&self.moment_of_end), of(&self.moment_of_end_for_all)].into_iter().flatten()
    }

    /// Transactions and moments.
    pub fn nodes(&self) -> u32 {
        self.transactions + self.moments()
    }

    fn moments(&self) -> u32 {
        self.first_after.len() as u32 - 1
    }

    pub fn is_moment(&self, node: u32) -> bool {
        node >= self.transactions
    }

    /// Dependencies through data.
    pub fn edges(&self) -> u64 {
        self.targets.len() as u64
    }

    fn targets_of(&self, transaction: u32) -> std::ops::Range<usize> {
        self.first[transaction as usize] as usize..self.first[transaction as usize + 1] as usize
    }

    /// The transactions that began between a moment and the next.
    fn began_after(&self, moment: u32) -> &[u32] {
        let range =
            self.first_after[moment as usize] as usize..self.first_after[moment as usize + 1] as usize;
        &self.by_begin[range]
    }

    /// The `nth` node that comes after `node`, and by which dependency; `None` beyond the last.
    pub fn successor(&self, node: u32, nth: usize, scope: Scope) -> Option<(u32, Option<Label>)> {
        let node_of = |moment: u32| self.transactions + moment;
        if !self.is_moment(node) {
            let targets = self.targets_of(node);
            return match targets.clone().nth(nth) {
                Some(position) => Some((self.targets[position], Some(self.labels[position]))),
                None if scope == Scope::Data => None,
                None => {
                    let follower = Some(self.follower[node as usize]).filter(|follower| *follower != NOBODY);
                    let by_time = self.moments_of_end(node).map(node_of).chain(follower);
                    by_time.map(|successor| (successor, None)).nth(nth - targets.len())
                }
            };
        }
        let moment = node - self.transactions;
        let began = self.began_after(moment);
        match began.get(nth) {
            Some(transaction) => Some((*transaction, None)),
            None if nth == began.len() => self.moment_after(moment).map(|next| (node_of(next), None)),
            None => None,
        }
    }

    /// Takes away every node that nothing left comes before. `None` if nothing stays, else by node whether it
    /// stays.
    pub fn peel(&self) -> Option<Vec<bool>> {
        let mut before = vec![0_u32; self.nodes() as usize];
        let followers = self.follower.iter().filter(|follower| **follower != NOBODY);
        for target in self.targets.iter().chain(&self.by_begin).chain(followers) {
            before[*target as usize] += 1;
        }
        // A moment comes after the end that it stands for, and after the moment before it.
        for moment in 0..self.moments() {
            before[(self.transactions + moment) as usize] = 2;
        }
        let behind_last = self.moments();
        for first in [0].iter().chain(&self.ends_of_timelines).filter(|first| **first < behind_last) {
            before[(self.transactions + first) as usize] = 1;
        }
        let mut free: Vec<u32> = (0..self.nodes()).filter(|node| before[*node as usize] == 0).collect();
        let mut taken = 0;
        while let Some(node) = free.pop() {
            taken += 1;
            let mut release = |successor: u32| {
                let left = &mut before[successor as usize];
                *left -= 1;
                if *left == 0 {
                    free.push(successor);
                }
            };
            if self.is_moment(node) {
                let moment = node - self.transactions;
                self.began_after(moment).iter().copied().for_each(&mut release);
                if self.moment_after(moment).is_some() {
                    release(node + 1);
                }
            } else {
                self.targets[self.targets_of(node)].iter().copied().for_each(&mut release);
                self.moments_of_end(node).map(|moment| self.transactions + moment).for_each(&mut release);
                let follower = self.follower[node as usize];
                if follower != NOBODY {
                    release(follower);
                }
            }
        }
        let nodes = self.nodes();
        (taken < nodes).then(|| before.into_iter().map(|left| left > 0).collect())
    }
}

/// By transaction its follower. Only workers that run one transaction at a time have any: of two that overlap
/// elsewhere, the one recorded first may have begun last.
fn followers(index: &Index<'_>) -> Vec<u32> {
    let mut followers = vec![NOBODY; index.transactions() as usize];
    for (worker, recorded) in index.history.workers.iter().enumerate() {
        let records = &recorded.transactions;
        if !records.is_sorted_by(|one, next| one.ended_ns <= next.began_ns) {
            continue;
        }
        let mut committed =
            (0..records.len()).filter(|position| records[*position].outcome == Outcome::Commit).peekable();
        while let Some(position) = committed.next() {
            if let Some(&next) = committed.peek()
                && records[next].began_ns == records[position].ended_ns
                && !records[next].has_read_snapshot()
            {
                followers[index.number(worker, position) as usize] = index.number(worker, next);
            }
        }
    }
    followers
}

/// Counts `of` by transaction, and turns the counts into first positions.
fn first_positions(transactions: u32, of: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut first = vec![0_u32; transactions as usize + 1];
    for transaction in of {
        first[transaction as usize + 1] += 1;
    }
    for transaction in 0..transactions as usize {
        first[transaction + 1] += first[transaction];
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_gives_its_parts_back() {
        for dependency in Label::KINDS {
            let label = Label::new(dependency, (1 << 30) - 1);
            assert_eq!((label.dependency(), label.operation()), (dependency, (1 << 30) - 1));
        }
    }
}
