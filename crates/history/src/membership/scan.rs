//! The scans of `ranges`, and what no engine may answer to one.
//!
//! A scan goes over members next to each other, all families of them, with ends in or out, either way, with a limit or
//! none. Stable keys have rows from the first to the last, so a scan that covers one shows it; a key that the transaction
//! inserted or found it shows, and one that it deleted or missed it does not.

use super::{Family, MEMBERS, Member, Membership};
use contract::{Abort, Direction, Key, Scan, Span, Transaction};
use std::ops::Bound;
use zerocopy::FromBytes;

/// Members that a scan goes over at most.
const MOST_MEMBERS: u64 = 5;

/// One scan to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sweep {
    from: Bound<Key>,
    to: Bound<Key>,
    direction: Direction,
    limit: usize,
}

/// By key whether it has a row, as far as the transaction knows by its other operations.
pub(super) type Known = Vec<(Key, bool)>;

/// What came of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Swept {
    pub rows: u64,
    pub impossible: u64,
}

impl Sweep {
    pub fn draw(random: &mut fastrand::Rng, workload: &Membership, member: u64) -> Self {
        let any =
            |random: &mut fastrand::Rng| [Family::Stable, Family::Doomed, Family::Fresh][random.usize(0..3)];
        let end = |random: &mut fastrand::Rng, key| {
            if random.bool() { Bound::Included(key) } else { Bound::Excluded(key) }
        };
        let first = workload.key(any(random), member);
        let last = (member + random.u64(0..MOST_MEMBERS)).min(workload.keys_per_family() - 1);
        let last = workload.key(any(random), last);
        Sweep {
            from: end(random, first.min(last)),
            to: end(random, first.max(last)),
            direction: if random.bool() { Direction::Forward } else { Direction::Backward },
            limit: if random.bool() { usize::MAX } else { random.usize(1..=4) },
        }
    }

    /// Scans, and counts what cannot be.
    pub fn perform<T: Transaction + ?Sized>(self, txn: &mut T, known: &Known) -> Result<Swept, Abort> {
        let (from, to) = (self.from.map(Key::bytes), self.to.map(Key::bytes));
        let scan = Scan {
            table: MEMBERS,
            from: from.as_ref().map(|key| &key[..]),
            to: to.as_ref().map(|key| &key[..]),
            direction: self.direction,
            limit: self.limit,
            span: Span::whole(size_of::<Member>()),
            within: None,
        };
        let mut shown: Vec<Key> = Vec::new();
        let mut impossible = 0;
        let told = txn.scan(&scan, &mut |key, row| {
            let is_own = Member::read_from_bytes(row).is_ok_and(|member| *key == Key(member.key).bytes());
            impossible += u64::from(!is_own || !scan.covers(key));
            shown.push(Key::prefix_of(key));
        })?;
        let in_order = |pair: &[Key]| match self.direction {
            Direction::Forward => pair[0] < pair[1],
            Direction::Backward => pair[0] > pair[1],
        };
        impossible += shown.windows(2).filter(|pair| !in_order(pair)).count() as u64;
        impossible += u64::from(told != shown.len() || told > self.limit);
        impossible += self.passed_over(&scan, &shown);
        let contradicts =
            |(key, there): &&(Key, bool)| self.covered(&scan, &shown, *key) && shown.contains(key) != *there;
        impossible += known.iter().filter(contradicts).count() as u64;
        Ok(Swept { rows: shown.len() as u64, impossible })
    }

    /// Whether a key lies in what the scan covered: up to the last row shown, if the limit ended it.
    fn covered(self, scan: &Scan<'_>, shown: &[Key], key: Key) -> bool {
        let reached = match (shown.last(), self.direction) {
            (Some(last), Direction::Forward) if shown.len() >= self.limit => key <= *last,
            (Some(last), Direction::Backward) if shown.len() >= self.limit => key >= *last,
            _ => true,
        };
        reached && scan.covers(&key.bytes())
    }

    /// Stable keys that the scan covered and did not show.
    fn passed_over(self, scan: &Scan<'_>, shown: &[Key]) -> u64 {
        let number = |end| match end {
            Bound::Included(Key(number)) | Bound::Excluded(Key(number)) => number,
            Bound::Unbounded => unreachable!("a sweep has two ends"),
        };
        let all = number(self.from)..=number(self.to);
        let stable = all.map(Key).filter(|key| Membership::family(*key) == Family::Stable);
        stable.filter(|key| self.covered(scan, shown, *key) && !shown.contains(key)).count() as u64
    }
}
