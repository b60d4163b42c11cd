//! Scans of a snapshot.
//!
//! A scan goes in *strides*: a leaf in each partition, as far as all of these leaves are responsible for the keys, and what the
//! graveyards have of that range. They are looked into last: a record that the scan has not met, because it was deleted before,
//! was buried before that. What was met is shown in the order of the keys. A key that has both a record and a tomb was inserted again
//! after it was deleted: the graveyard tells what the record does not.
//!
//! Records and tombs that were met may be looked at while the slot's epoch lasts. Behind each stride they are forgotten, and the slot
//! goes on to the global epoch: so a scan may take as long as it likes.

use super::scan::end_of;
use super::{Aside, Txn, values};
use crate::architecture::Architecture;
use crate::facade::atomic::{Ordering, fence};
use crate::index::ordered::LeafCopy;
use crate::record::RecordRef;
use crate::record::value::WORD;
use crate::storage::Table;
use crate::versions::Graveyard;
use crate::work;
use contract::{Abort, Direction, PartitionId, Scan, TimeClass};
use std::ops::{Bound, Range};

/// Where a stride begins, if it is not where the scan does, in memory that is used again.
#[derive(Default)]
struct Edge {
    key: Vec<u8>,
    /// Whether the key itself is in the stride.
    is_in: bool,
}

impl Edge {
    fn bound(&self) -> Bound<&[u8]> {
        if self.is_in { Bound::Included(&self.key) } else { Bound::Excluded(&self.key) }
    }

    /// The other side of it.
    fn before(&self) -> Bound<&[u8]> {
        if self.is_in { Bound::Excluded(&self.key) } else { Bound::Included(&self.key) }
    }

    /// Whether it comes before a bound at which a scan goes on.
    fn is_before(&self, bound: Bound<&[u8]>, direction: Direction) -> bool {
        let (key, is_in) = parts(bound);
        // At one key, the edge that has it in the next stride is the earlier one.
        let order = match direction {
            Direction::Forward => self.key.as_slice().cmp(key),
            Direction::Backward => key.cmp(&self.key),
        };
        order.then(is_in.cmp(&self.is_in)).is_le()
    }

    fn set(&mut self, bound: Bound<&[u8]>) {
        let (key, is_in) = parts(bound);
        self.key.clear();
        self.key.extend_from_slice(key);
        self.is_in = is_in;
    }
}

fn parts(bound: Bound<&[u8]>) -> (&[u8], bool) {
    match bound {
        Bound::Included(key) => (key, true),
        Bound::Excluded(key) => (key, false),
        Bound::Unbounded => unreachable!("a scan goes on at a key"),
    }
}

/// What is left of a scan that goes on at a bound.
fn rest_of<'a>(scan: &Scan<'a>, bound: Bound<&'a [u8]>) -> Scan<'a> {
    match scan.direction {
        Direction::Forward => Scan { from: bound, ..*scan },
        Direction::Backward => Scan { to: bound, ..*scan },
    }
}

/// What a stride has met: a record, or a tomb.
struct Met {
    key: Range<usize>,
    is_tomb: bool,
    what: RecordRef,
}

/// What a scan has at hand.
#[derive(Default)]
pub(super) struct Stride {
    leaf: LeafCopy,
    tombs: LeafCopy,
    met: Vec<Met>,
    keys: Vec<u8>,
    here: Edge,
    next: Edge,
}

impl Stride {
    fn meet(keys: &mut Vec<u8>, met: &mut Vec<Met>, key: &[u8], is_tomb: bool, what: RecordRef) {
        let start = keys.len();
        keys.extend_from_slice(key);
        met.push(Met { key: start..keys.len(), is_tomb, what });
    }

    /// Meets what is in a stride, the first, or the one that begins `here`. Answers whether another one follows, which begins at `next`.
    fn fill(&mut self, table: &Table, partitions: Range<u32>, scan: &Scan<'_>, is_first: bool) -> bool {
        let Stride { leaf, tombs, met, keys, here, next } = self;
        let first = match scan.direction {
            _ if !is_first => here.bound(),
            Direction::Forward => scan.from,
            Direction::Backward => scan.to,
        };
        met.clear();
        keys.clear();
        let mut goes_on = false;
        for partition in partitions.clone().map(PartitionId) {
            let index = table.partition(partition).index.ordered();
            leaf.begin();
            index.read_leaf_seeing((first, end_of(scan)), scan.direction, scan.limit, leaf, |_| ());
            leaf.entries().for_each(|(key, record)| Self::meet(keys, met, key, false, record));
            // Otherwise every leaf behind the scan would be walked through, that says no more of where it ends.
            let is_at_end = leaf.len().checked_sub(1).is_some_and(|last| !scan.covers(leaf.entry(last).0));
            if let Some(bound) = leaf.next_bound()
                && !(is_at_end || rest_of(scan, bound).is_empty())
                && !(goes_on && next.is_before(bound, scan.direction))
            {
                next.set(bound);
                goes_on = true;
            }
        }
        let stride = match (goes_on, scan.direction) {
            (false, _) => *scan,
            (true, Direction::Forward) => Scan { to: next.before(), ..*scan },
            (true, Direction::Backward) => Scan { from: next.before(), ..*scan },
        };
        let is_in = |key: &[u8]| scan.covers(key) && stride.covers(key);
        // Acquire: pairs with the Release of whoever unlinked a record, having buried its last version before.
        fence(Ordering::Acquire);
        for partition in partitions.map(PartitionId) {
            // None: the protocol's own versions make the snapshots, and deleted records stay linked.
            let Some(graveyard) = &table.partition(partition).graveyard else { continue };
            graveyard.for_each_from(first, scan.direction, tombs, |key, tomb| {
                let is_in = is_in(key);
                if is_in {
                    Self::meet(keys, met, key, true, tomb);
                }
                is_in
            });
        }
        met.retain(|met| is_in(&keys[met.key.clone()]));
        met.sort_unstable_by(|one, other| {
            let order = keys[one.key.clone()].cmp(&keys[other.key.clone()]);
            let order = if scan.direction == Direction::Forward { order } else { order.reverse() };
            order.then(one.is_tomb.cmp(&other.is_tomb))
        });
        goes_on
    }
}

impl<'e, A: Architecture> Txn<'e, A> {
    pub(super) fn scan_aside(
        &mut self,
        aside: Aside,
        scan: &Scan<'_>,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<usize, Abort> {
        if aside != Aside::Snapshot {
            return Err(aside.refuse());
        }
        let table = self.table(scan.table);
        if table.varies() {
            let scan = Scan { span: WORD, ..*scan };
            let mut see = |key: &[u8], word: &[u8]| values::show(word, &mut |row| see(key, row));
            return Ok(self.scan_of_snapshot(table, &scan, &mut see));
        }
        table.check(scan.span);
        Ok(self.scan_of_snapshot(table, scan, see))
    }

    fn scan_of_snapshot(
        &mut self,
        table: &'e Table,
        scan: &Scan<'_>,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> usize {
        assert!(table.is_ordered(), "table '{}' is not ordered, and is scanned", table.description.name);
        if scan.is_empty() || scan.limit == 0 {
            return 0;
        }
        let partitions = self.partitions_of(scan);
        // Out of the transaction meanwhile.
        let mut stride = self.stride.take().unwrap_or_default();
        let (mut shown, mut is_first) = (0, true);
        loop {
            self.refresh_epoch();
            self.stopwatch.enter(TimeClass::Index);
            let goes_on = stride.fill(table, partitions.clone(), scan, is_first);
            self.stopwatch.enter(TimeClass::Useful);
            shown += self.show_stride(table, scan, &stride, scan.limit - shown, see);
            if !goes_on || shown == scan.limit {
                break;
            }
            std::mem::swap(&mut stride.here, &mut stride.next);
            is_first = false;
        }
        self.stride = Some(stride);
        shown
    }

    /// Shows the rows of a stride, `left` at most; answers how many.
    fn show_stride(
        &mut self,
        table: &Table,
        scan: &Scan<'_>,
        stride: &Stride,
        left: usize,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> usize {
        let mut shown = 0;
        let mut last = None;
        for Met { key, is_tomb, what } in &stride.met {
            if shown == left {
                break;
            }
            let key = &stride.keys[key.clone()];
            if last == Some(key) {
                // The record has shown it.
                continue;
            }
            work::operation(scan.span.length());
            let mut see = |row: &[u8]| see(key, row);
            let is_shown = match is_tomb {
                false => self.show_of_snapshot(table, *what, scan.span, &mut see),
                true => self.show_version(Graveyard::last_of(*what, self.snapshot), scan.span, &mut see),
            };
            if is_shown {
                last = Some(key);
                shown += 1;
            }
        }
        shown
    }
}
