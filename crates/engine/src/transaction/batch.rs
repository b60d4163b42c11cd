//! Batches: what a scan will come to is locked by a step a partition, not by a step a record.
//!
//! Where steps run in place, a scan locks each record as it comes to it. Where they travel, that is a message, or a migration,
//! a record. So when a scan comes to a record of a partition that is elsewhere, it asks for this and the next ones together:
//!
//! 1. It goes through the copied leaves as it will show them, merged, without looking at the records, until it has seen as many
//!    as it may still show, or a cursor's leaf is at its end and another one follows, whose keys nobody knows yet. Each of these
//!    records the scan will come to: an entry shows one row at most. So none is locked that the scan does not show or find dead.
//! 2. Of every partition that has some of them, those here first, one step locks them in order, but for those that the
//!    transaction has touched before. It stops at the first that is not granted at once.
//! 3. What was granted is in the access set from then on, as if it had been read, and the scan shows it from there, from
//!    wherever it is. A request that was queued is waited for; a record that has died is left to the scan, which passes it over.
//!
//! Cost: as many steps as partitions and leaves, and a second merge. Who is always here ([`Architecture::is_here`]) has none of it.

use super::access_set::Kind;
use super::keys::Lent;
use super::locking::Lockable;
use super::scan::{Cursor, first_of};
use super::{Place, ProtocolOf, Txn};
use crate::architecture::{Architecture, SiteOf};
use crate::protocol::{Locking, Mode, Requester, StampOf, Verdict, Wake};
use crate::record::RecordRef;
use contract::{Abort, PartitionId, Scan, TimeClass};

/// A record that a scan will come to.
pub(super) struct Ahead<'e> {
    place: Place<'e>,
    record: RecordRef,
}

/// What a step is asked to lock.
struct Batch<'a, S: Copy> {
    records: &'a [Ahead<'a>],
    /// The requester of the first.
    who: Requester<S>,
}

/// What came of it.
#[derive(Clone, Copy)]
struct Answer {
    /// How many were granted, one after the other.
    granted: usize,
    /// Of the last that was asked.
    verdict: Verdict,
}

/// Looks ahead through the merged cursors, as far as the scan is certain to come if it may show `left` rows more.
fn look_ahead(cursors: &mut [Cursor], scan: &Scan<'_>, left: usize) {
    for cursor in &mut *cursors {
        cursor.begin_to_look_ahead();
    }
    for _ in 0..left {
        let Some(first) = first_of(cursors, scan.direction, Cursor::ahead) else { return };
        if cursors[first].look_further() {
            return;
        }
    }
}

impl<A: Architecture<Protocol: Locking>> Txn<'_, A> {
    /// The scan has come to the head of the cursor `first`: locks it, and those that come next, unless it is here or was touched
    /// before.
    #[inline(always)]
    pub(super) fn lock_ahead(
        &mut self,
        scan: &Scan<'_>,
        cursors: &mut [Cursor],
        first: usize,
        left: usize,
    ) -> Result<(), Abort> {
        if self.architecture.is_here(cursors[first].partition()) {
            return Ok(());
        }
        self.lock_from(scan, cursors, first, left)
    }

    fn lock_from(
        &mut self,
        scan: &Scan<'_>,
        cursors: &mut [Cursor],
        first: usize,
        left: usize,
    ) -> Result<(), Abort> {
        let (head, _) = cursors[first].head().expect("the scan has come to it");
        let head = self.met_at(scan, cursors[first].partition(), head);
        if self.find_own(head).is_some() {
            return Ok(());
        }
        look_ahead(cursors, scan, left);
        while let Some(next) = self.next_batch(cursors) {
            self.lock_batch(scan, &cursors[next])?;
            cursors[next].begin_to_look_ahead();
        }
        self.stopwatch.enter(TimeClass::Useful);
        Ok(())
    }

    /// A cursor that has looked ahead: one here if there is one.
    fn next_batch(&self, cursors: &[Cursor]) -> Option<usize> {
        let has = |cursor: &Cursor| cursor.entries_ahead().next().is_some();
        let is_here = |cursor: &Cursor| has(cursor) && self.architecture.is_here(cursor.partition());
        cursors.iter().position(is_here).or_else(|| cursors.iter().position(has))
    }

    /// Locks what a cursor has looked ahead to.
    fn lock_batch(&mut self, scan: &Scan<'_>, cursor: &Cursor) -> Result<(), Abort> {
        let partition = cursor.partition();
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        for (bytes, record) in cursor.entries_ahead() {
            let place = self.met_at(scan, partition, bytes);
            if self.find_own(place).is_none() {
                batch.push(Ahead { place, record });
            }
        }
        let locked = if batch.is_empty() { Ok(()) } else { self.lock_all(partition, &batch) };
        self.batch = batch;
        locked
    }

    fn lock_all(&mut self, partition: PartitionId, batch: &[Ahead<'_>]) -> Result<(), Abort> {
        let is_here = self.architecture.is_here(partition);
        self.stopwatch.enter(if is_here { TimeClass::Manager } else { TimeClass::Wait });
        let mut request = Batch { records: batch, who: self.next_requester(partition) };
        let request = Lent::new(&mut request);
        let Answer { granted, verdict } = self.architecture.at(partition, move |site| {
            // SAFETY: the transaction waits for the answer, and touches nothing of the request.
            lock_in_order::<A>(site, unsafe { request.get() })
        });
        self.stopwatch.enter(TimeClass::Manager);
        for &Ahead { place, record } in &batch[..granted] {
            self.add(place, record, Kind::Read, None);
        }
        let Some(&Ahead { place, record }) = batch.get(granted) else { return Ok(()) };
        if verdict == Verdict::Retry {
            return Ok(());
        }
        let who = self.next_requester(partition);
        if self.heed_lock(verdict, 0, Lockable::Record(record), who)? == Wake::Granted {
            self.add(place, record, Kind::Read, None);
        }
        Ok(())
    }
}

/// Locks records one after the other, up to the first that is not granted.
fn lock_in_order<A: Architecture<Protocol: Locking>>(
    site: &SiteOf<'_, A>,
    batch: &Batch<'_, StampOf<ProtocolOf<A>>>,
) -> Answer {
    for (number, ahead) in batch.records.iter().enumerate() {
        let who = batch.who.later(number);
        let verdict = ProtocolOf::<A>::acquire(site.meta(ahead.record), Mode::Shared, site.request(who));
        if verdict != Verdict::Granted {
            return Answer { granted: number, verdict };
        }
    }
    Answer { granted: batch.records.len(), verdict: Verdict::Granted }
}
