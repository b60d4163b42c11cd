//! Scans.
//!
//! A scan goes from leaf to leaf. It holds, or observes, a leaf's gap, and copies the leaf's entries; if the leaf was the one
//! responsible both before and after, no key comes to the part of the range that it is responsible for until the
//! transaction ends. Then it goes through the records in order, and locks or observes each as a read does, so that none of
//! them goes. It stops at the limit: what lies beyond is not protected.
//!
//! - What the transaction has touched before it shows as the transaction sees it: with what it wrote, without what it
//!   deleted.
//! - A record that dies before it was locked is passed over: its key is missing, and stays so, because the gap is held.
//! - Another's insert that is not committed is waited for, or conflicts, as its record is held; an optimistic transaction
//!   remembers the record as absent, and validates that.
//! - Several partitions are merged: each has a [`Cursor`], and the least of their next keys comes next.
//! - Where steps travel, records are locked in batches ([`super::batch`]).
//!
//! A leaf is copied by its owner, into a buffer of the client's, whose address travels in the step.

use super::access::{Access as _, AccessOf};
use super::access_set::{Gap, Token};
use super::gaps::{Denied, GapPlace};
use super::keys::Lent;
use super::{Place, ProtocolOf, Txn};
use crate::architecture::{Architecture, SiteOf};
use crate::index::hash::Hash;
use crate::index::ordered::{self, LeafCopy, LeafRef};
use crate::index::{GapId, Index, OrderedPolicy};
use crate::protocol::{GapMode, Locking, Requester, StampOf, Verdict};
use crate::record::RecordRef;
use crate::work;
use contract::{Abort, Direction, Key, PartitionId, Presence, Scan, TableId, TimeClass};
use std::ops::{Bound, Range};

pub(super) type Leaf = ordered::Leaf<OrderedPolicy>;

/// Where a scan is in one partition.
pub(crate) struct Cursor {
    partition: PartitionId,
    /// The leaf that was read last, its entries within the range, and which of them is next.
    copy: LeafCopy,
    within: usize,
    next: usize,
    /// Entries before it the scan will come to for certain.
    ahead: usize,
    /// Gaps that the transaction had when the scan began, and the last one that the cursor has added.
    gaps_before: usize,
    last_gap: Option<usize>,
    /// Where it goes on after that leaf, if it does.
    onward: Bound<()>,
    bound: Vec<u8>,
    is_at_end: bool,
}

/// What a step is asked to copy, in the client's memory.
struct Copying<'a, S: Copy> {
    table: TableId,
    partition: PartitionId,
    bound: Bound<&'a [u8]>,
    until: Option<&'a [u8]>,
    direction: Direction,
    /// Entries at most.
    most: usize,
    /// What the transaction holds.
    gaps: &'a [Gap],
    /// The requester of one gap more.
    who: Requester<S>,
    copy: &'a mut LeafCopy,
}

/// What came of it.
#[derive(Clone, Copy)]
enum Copied {
    /// The leaf's gap was held before.
    Held,
    /// It is from now on.
    HeldFromNowOn(LeafRef),
    /// It is held to insert only, and nothing was copied.
    HeldToInsert(LeafRef),
}

/// The last key that a scan may want, included or not.
pub(super) fn end_of<'a>(scan: &Scan<'a>) -> Option<&'a [u8]> {
    let end = match scan.direction {
        Direction::Forward => scan.to,
        Direction::Backward => scan.from,
    };
    match end {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}

impl Cursor {
    fn new() -> Self {
        let (partition, copy, onward) = (PartitionId(0), LeafCopy::default(), Bound::Unbounded);
        Cursor {
            partition,
            copy,
            within: 0,
            next: 0,
            ahead: 0,
            gaps_before: 0,
            last_gap: None,
            onward,
            bound: Vec::new(),
            is_at_end: true,
        }
    }

    /// The partition that it goes through.
    pub(super) fn partition(&self) -> PartitionId {
        self.partition
    }

    /// Where it goes on, and what it copies leaves into.
    pub(super) fn bound_and_copy(&mut self) -> (Bound<&[u8]>, &mut LeafCopy) {
        (self.onward.map(|()| self.bound.as_slice()), &mut self.copy)
    }

    /// The leaf that was read last.
    pub(super) fn leaf(&self) -> LeafRef {
        self.copy.leaf()
    }

    /// Before the first key of the range.
    fn start(&mut self, scan: &Scan<'_>, partition: PartitionId, gaps: usize) {
        let first = match scan.direction {
            Direction::Forward => scan.from,
            Direction::Backward => scan.to,
        };
        (self.partition, self.within, self.next, self.is_at_end) = (partition, 0, 0, false);
        (self.gaps_before, self.last_gap) = (gaps, None);
        self.copy.begin();
        self.go_on_at(first);
    }

    fn go_on_at(&mut self, bound: Bound<&[u8]>) {
        self.bound.clear();
        self.onward = bound.map(|bytes| self.bound.extend_from_slice(bytes));
    }

    /// Whether there is a next entry in the copy.
    #[inline(always)]
    fn has_head(&self) -> bool {
        self.next < self.within
    }

    /// The next entry, if there is one in the copy.
    #[inline(always)]
    pub(super) fn head(&self) -> Option<(&[u8], RecordRef)> {
        self.has_head().then(|| self.copy.entry(self.next))
    }

    /// The records of the copy that the scan has not shown.
    #[inline(always)]
    pub(super) fn records_left(&self) -> impl Iterator<Item = RecordRef> {
        self.copy.records(self.next..self.within)
    }

    /// Looks ahead from the next entry on.
    pub(super) fn begin_to_look_ahead(&mut self) {
        self.ahead = self.next;
    }

    /// The entry to look at next, if there is one in the copy.
    pub(super) fn ahead(&self) -> Option<(&[u8], RecordRef)> {
        (self.ahead < self.within).then(|| self.copy.entry(self.ahead))
    }

    /// The entries that the scan will come to, as far as it has looked.
    pub(super) fn entries_ahead(&self) -> impl Iterator<Item = (&[u8], RecordRef)> {
        (self.next..self.ahead).map(|nth| self.copy.entry(nth))
    }

    /// The scan will come to that entry, too. Answers whether another leaf, which was not read yet, comes next.
    pub(super) fn look_further(&mut self) -> bool {
        self.ahead += 1;
        self.ahead == self.within && !self.is_at_end
    }

    /// A leaf was copied.
    fn turn_over(&mut self, scan: &Scan<'_>) {
        (self.next, self.within) = (0, self.copy.len());
        while self.within > 0 && !scan.covers(self.copy.entry(self.within - 1).0) {
            self.within -= 1;
            self.is_at_end = true;
        }
        let left = self.copy.next_bound().map(|next| match scan.direction {
            Direction::Forward => Scan { from: next, ..*scan },
            Direction::Backward => Scan { to: next, ..*scan },
        });
        match left {
            Some(left) if !self.is_at_end && !left.is_empty() => {
                let next = if scan.direction == Direction::Forward { left.from } else { left.to };
                self.bound.clear();
                self.onward = next.map(|bytes| self.bound.extend_from_slice(bytes));
            }
            _ => self.is_at_end = true,
        }
    }
}

/// The cursor whose head, the entry at which it stands, comes first.
#[inline(always)]
pub(super) fn first_of(
    cursors: &[Cursor],
    direction: Direction,
    head: impl Fn(&Cursor) -> Option<(&[u8], RecordRef)>,
) -> Option<usize> {
    if let [only] = cursors {
        return head(only).map(|_| 0);
    }
    let heads = cursors.iter().enumerate().filter_map(|(n, cursor)| Some((head(cursor)?.0, n)));
    let first = match direction {
        Direction::Forward => heads.min(),
        Direction::Backward => heads.max(),
    };
    first.map(|(_, n)| n)
}

impl<'e, A: Architecture> Txn<'e, A> {
    pub(super) fn scan_rows(
        &mut self,
        scan: &Scan<'_>,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<usize, Abort> {
        let table = self.table(scan.table);
        if table.varies() {
            return self.scan_values(scan, see);
        }
        table.check(scan.span);
        self.scan_spans(scan, see)
    }

    /// The partitions in which keys of a scan may be.
    pub(super) fn partitions_of(&self, scan: &Scan<'_>) -> Range<u32> {
        let table = self.table(scan.table);
        match scan.within {
            Some(key) => {
                let PartitionId(only) = table.partition_of(key);
                only..only + 1
            }
            None => self.architecture.within().unwrap_or(0..table.partitions().len() as u32),
        }
    }

    /// Shows bytes of what the records of a range have for their rows.
    pub(super) fn scan_spans(
        &mut self,
        scan: &Scan<'_>,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<usize, Abort> {
        let table = self.table(scan.table);
        assert!(table.is_ordered(), "table '{}' is not ordered, and is scanned", table.description.name);
        if scan.is_empty() || scan.limit == 0 {
            return Ok(0);
        }
        let partitions = self.partitions_of(scan);
        // Out of the transaction meanwhile, and back in also if it aborts.
        let mut cursors = std::mem::take(&mut self.cursors);
        let several = partitions.len();
        if cursors.len() < several {
            cursors.resize_with(several, Cursor::new);
        }
        for (cursor, partition) in cursors.iter_mut().zip(partitions) {
            cursor.start(scan, PartitionId(partition), self.gaps.len());
        }
        let shown = self.merge(scan, &mut cursors[..several], see);
        self.cursors = cursors;
        self.stopwatch.enter(TimeClass::Useful);
        shown
    }

    fn merge(
        &mut self,
        scan: &Scan<'_>,
        cursors: &mut [Cursor],
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<usize, Abort> {
        if let [only] = cursors {
            return self.go_through(scan, only, see);
        }
        let mut shown = 0;
        for cursor in &mut *cursors {
            self.fetch_leaf(scan, cursor);
            self.fill(scan, cursor, scan.limit)?;
        }
        while shown < scan.limit {
            let Some(first) = first_of(cursors, scan.direction, Cursor::head) else {
                AccessOf::<A>::come_to_end(self, scan)?;
                break;
            };
            AccessOf::<A>::come_to(self, scan, cursors, first, scan.limit - shown)?;
            let cursor = &mut cursors[first];
            shown += usize::from(self.show(scan, cursor, see)? == Presence::Present);
            cursor.next += 1;
            if shown < scan.limit {
                self.fill(scan, cursor, scan.limit - shown)?;
            }
        }
        Ok(shown)
    }

    /// The same of one partition.
    fn go_through(
        &mut self,
        scan: &Scan<'_>,
        cursor: &mut Cursor,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<usize, Abort> {
        let mut shown = 0;
        self.fetch_leaf(scan, cursor);
        loop {
            self.fill(scan, cursor, scan.limit - shown)?;
            if !cursor.has_head() {
                AccessOf::<A>::come_to_end(self, scan)?;
                return Ok(shown);
            }
            while cursor.has_head() {
                AccessOf::<A>::come_to(self, scan, std::slice::from_mut(cursor), 0, scan.limit - shown)?;
                shown += usize::from(self.show(scan, cursor, see)? == Presence::Present);
                cursor.next += 1;
                if shown == scan.limit {
                    return Ok(shown);
                }
            }
        }
    }

    /// Reads leaves until the cursor has an entry, or is at its end.
    fn fill(&mut self, scan: &Scan<'_>, cursor: &mut Cursor, most: usize) -> Result<(), Abort> {
        while !cursor.has_head() && !cursor.is_at_end {
            self.enter_for(scan, cursor)?;
            self.stopwatch.enter(TimeClass::Index);
            AccessOf::<A>::copy_leaf(self, scan, cursor, most)?;
            cursor.turn_over(scan);
            self.remember_leaf(scan, cursor);
            self.prefetch_shown(scan, cursor, most);
            self.fetch_shown(scan, cursor, most);
        }
        Ok(())
    }

    /// What the scan shows is mostly looked up next, if it is: the leaf is where to look.
    #[inline]
    fn remember_leaf(&mut self, scan: &Scan<'_>, cursor: &Cursor) {
        let is_ascending = scan.direction == Direction::Forward;
        if is_ascending
            && let Some((bytes, _)) = cursor.head()
            && !self.table(scan.table).has_byte_strings()
        {
            *self.nearby.at(scan.table, cursor.partition, Key::prefix_of(bytes)) = cursor.copy.finger();
        }
    }

    /// Observes the gap of the leaf that a cursor has copied, unless the transaction has before.
    ///
    /// Leaves that a scan goes through are one after the other. One that it comes to again is the last, which has got its neighbour's
    /// range; or it has got that of the last, too, whose token tells. So a long scan does not look through all gaps of its own.
    pub(super) fn observe_leaf(&mut self, scan: &Scan<'_>, cursor: &mut Cursor, token: Token) {
        let gap = GapPlace { table: scan.table, partition: cursor.partition, id: GapId::Leaf(cursor.leaf()) };
        if self.find_gap_among(gap, cursor.gaps_before, cursor.last_gap).is_none() {
            cursor.last_gap = Some(self.gaps.len());
            self.add_gap(gap, GapMode::Shared, token);
        }
    }

    /// Before something of the cursor's partition is touched.
    fn enter_for(&mut self, scan: &Scan<'_>, cursor: &Cursor) -> Result<(), Abort> {
        let key = scan.within.unwrap_or(Key::prefix_of(&cursor.bound));
        self.enter(Place {
            table: self.table(scan.table),
            key,
            partition: cursor.partition,
            hash: Hash::of(key),
        })
    }

    pub(super) fn copy_leaf<R>(
        &self,
        scan: &Scan<'_>,
        cursor: &mut Cursor,
        most: usize,
        before: impl FnMut(&Leaf) -> R,
    ) -> R {
        let index = self.table(scan.table).partition(cursor.partition).index.ordered();
        let bounds = (cursor.onward.map(|()| cursor.bound.as_slice()), end_of(scan));
        index.read_leaf_seeing(bounds, scan.direction, most, &mut cursor.copy, before)
    }

    /// The place of a key that the scan has met in a partition.
    #[inline(always)]
    pub(super) fn met_at(&mut self, scan: &Scan<'_>, partition: PartitionId, bytes: &[u8]) -> Place<'e> {
        let table = self.table(scan.table);
        let key = match table.has_byte_strings() {
            true => self.keys.intern(bytes),
            false => Key::prefix_of(bytes),
        };
        Place { table, key, partition, hash: Hash::of(key) }
    }

    /// Shows the cursor's next row, if the transaction finds that it has one.
    fn show(
        &mut self,
        scan: &Scan<'_>,
        cursor: &Cursor,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Presence, Abort> {
        let (bytes, record) = cursor.head().expect("a cursor that was chosen has a head");
        let span = scan.span;
        let place = self.met_at(scan, cursor.partition, bytes);
        work::operation(span.length());
        if let Some(position) = self.find_own(place) {
            return self.read_own(position, span, &mut |row| see(bytes, row));
        }
        self.enter(place)?;
        self.stopwatch.enter(TimeClass::Manager);
        AccessOf::<A>::show(self, place, record, span, &mut |row| see(bytes, row))
    }
}

impl<A: Architecture<Protocol: Locking>> Txn<'_, A> {
    /// Copies the leaf at which a cursor is, its gap held.
    pub(super) fn copy_leaf_held(
        &mut self,
        scan: &Scan<'_>,
        cursor: &mut Cursor,
        most: usize,
    ) -> Result<(), Abort> {
        let (table, partition) = (scan.table, cursor.partition);
        let gap = |leaf| GapPlace { table, partition, id: GapId::Leaf(leaf) };
        let mut asked = 0;
        loop {
            let mut request = Copying {
                table,
                partition,
                bound: cursor.onward.map(|()| cursor.bound.as_slice()),
                until: end_of(scan),
                direction: scan.direction,
                most,
                who: self.gap_requester(partition, self.gaps.len()),
                gaps: &self.gaps,
                copy: &mut cursor.copy,
            };
            let request = Lent::new(&mut request);
            let copied = self.architecture.at(partition, move |site| {
                // SAFETY: the transaction waits for the answer, and touches nothing of the request.
                copy_held::<A>(site, unsafe { request.get() })
            });
            match copied {
                Ok(Copied::Held) => return Ok(()),
                Ok(Copied::HeldFromNowOn(leaf)) => {
                    self.add_gap(gap(leaf), GapMode::Shared, Token(0));
                    return Ok(());
                }
                Ok(Copied::HeldToInsert(leaf)) => {
                    self.hold_gap(gap(leaf), GapMode::Shared)?;
                }
                Err(Denied { leaf, verdict }) => {
                    self.heed_gap(gap(leaf), GapMode::Shared, verdict, asked)?;
                    asked += 1;
                }
            }
        }
    }
}

/// Holds the gap of the leaf at a bound, unless it is held, and copies the leaf.
fn copy_held<A: Architecture<Protocol: Locking>>(
    site: &SiteOf<'_, A>,
    request: &mut Copying<'_, StampOf<ProtocolOf<A>>>,
) -> Result<Copied, Denied> {
    let index: &Index = &site.partition(request.table, request.partition).index;
    let tree = index.ordered();
    loop {
        let leaf = tree.leaf_for(request.bound, request.direction);
        let gap = site.gap(request.table, request.partition, GapId::Leaf(leaf));
        let address = index.gap_address(GapId::Leaf(leaf));
        let held = request.gaps.iter().rfind(|gap| gap.address == address).map(|gap| gap.mode);
        match held {
            Some(GapMode::Insert) => return Ok(Copied::HeldToInsert(leaf)),
            Some(GapMode::Shared | GapMode::Exclusive) => {}
            None => {
                let verdict = ProtocolOf::<A>::hold_gap(gap, GapMode::Shared, site.request(request.who));
                if verdict != Verdict::Granted {
                    return Err(Denied { leaf, verdict });
                }
            }
        }
        let bounds = (request.bound, request.until);
        tree.read_leaf_seeing(bounds, request.direction, request.most, request.copy, |_| ());
        let is_same = request.copy.leaf() == leaf;
        match held {
            Some(_) if is_same => return Ok(Copied::Held),
            None if is_same => return Ok(Copied::HeldFromNowOn(leaf)),
            Some(_) => {}
            None => ProtocolOf::<A>::release_gap(gap, GapMode::Shared, site.request(request.who)),
        }
    }
}
