//! Commit and abort.
//!
//! Commit is the same three phases for every protocol; those that a protocol has no use for vanish:
//! 1. prepare the write set: certify or lock it;
//! 2. validate what was read, apply merges to private copies, and choose the transaction's id;
//! 3. install private copies, and give everything back.
//!
//! A phase that fails aborts. Nothing before phase 3 is visible to others except what locks hide, and nothing in
//! phase 3 can fail: merges, which are the workload's and may panic, are behind it.

use super::access_set::{Access, Kind};
use super::{MetaOf, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::facade::atomic::{Ordering, fence};
use crate::protocol::{Mode, Protocol, Reads, Verdict, Writes};
use contract::{Abort, AbortReason, TimeClass};
use zerocopy::IntoBytes;

impl<A: Architecture> Txn<'_, A> {
    /// Makes the transaction's effects visible, or aborts it.
    #[inline(always)]
    pub fn commit(&mut self) -> Result<(), Abort> {
        self.stopwatch.enter(TimeClass::Manager);
        match self.try_commit() {
            Ok(id) => {
                self.install(id);
                self.give_back();
                self.prune_emptied();
                self.forget();
                self.release_all();
                Ok(())
            }
            Err(abort) => {
                self.abort();
                Err(abort)
            }
        }
    }

    /// Undoes the transaction's effects by the procedure's will; an abort if it is poisoned.
    pub fn roll_back(&mut self) -> Result<(), Abort> {
        let alive = self.alive();
        self.abort();
        alive
    }

    /// Ends a look, which has read and not written.
    #[inline(always)]
    pub fn end_reconnaissance(&mut self) {
        if !self.accesses.is_empty() || !self.gaps.is_empty() || self.poisoned.is_some() {
            self.abort();
        } else {
            self.release_all();
        }
    }

    /// Undoes the transaction's effects; after a failed operation, or by the procedure's will.
    #[cold]
    pub fn abort(&mut self) {
        self.stopwatch.enter(TimeClass::Manager);
        if ProtocolOf::<A>::WRITES == Writes::InPlace {
            self.undo();
        } else {
            self.unprepare();
        }
        for position in 0..self.accesses.len() {
            let access = self.accesses[position];
            match access.kind {
                Kind::Insert | Kind::Vanished => self.remove(position, access),
                // A delete that is not to be.
                Kind::Delete => self.release(position, Access { kind: Kind::Write, ..access }),
                _ => self.release(position, access),
            }
        }
        self.release_gaps();
        self.prune_emptied();
        self.forget();
        self.release_all();
        self.poisoned = None;
    }

    #[inline(always)]
    fn try_commit(&mut self) -> Result<u64, Abort> {
        self.alive()?;
        if ProtocolOf::<A>::WRITES != Writes::InPlace && !self.write_set.is_empty() {
            self.prepare_write_set()?;
        }
        if ProtocolOf::<A>::READS == Reads::Validated {
            let epoch = self.epochs.serialization_point();
            self.validate_read_set()?;
            self.apply_merges();
            self.stopwatch.enter(TimeClass::Timestamp);
            let id = self.choose_id(epoch);
            self.stopwatch.enter(TimeClass::Manager);
            return Ok(id);
        }
        self.apply_merges();
        Ok(0)
    }

    /// Prepares the write set in the order of access, in which nobody is waited for; if somebody is in the way, starts again
    /// in the one order that everybody keeps to who waits, so that they do not wait in a circle.
    #[inline(always)]
    fn prepare_write_set(&mut self) -> Result<(), Abort> {
        while self.prepared < self.write_set.len() {
            match self.prepare_next() {
                Verdict::Granted => self.prepared += 1,
                Verdict::Retry => return self.prepare_in_order(),
                Verdict::Abort(reason) => return Err(self.poison(reason)),
                Verdict::Queued => unreachable!("nobody queues at commit"),
            }
        }
        Ok(())
    }

    #[cold]
    fn prepare_in_order(&mut self) -> Result<(), Abort> {
        self.unprepare();
        self.prepared = 0;
        let (accesses, tables, keys) = (&self.accesses, self.tables, &self.keys);
        self.write_set.sort_unstable_by(|&a, &b| {
            let (a, b) = (&accesses[a as usize], &accesses[b as usize]);
            let keys = || match tables[a.table.index()].has_byte_strings() {
                // Their numbers are this transaction's own.
                true => keys.bytes(a.key).cmp(keys.bytes(b.key)),
                false => a.key.cmp(&b.key),
            };
            a.table.cmp(&b.table).then_with(keys)
        });
        let mut asked = 0;
        while self.prepared < self.write_set.len() {
            match self.prepare_next() {
                Verdict::Granted => (self.prepared, asked) = (self.prepared + 1, 0),
                Verdict::Retry => {
                    self.pause(asked);
                    asked += 1;
                }
                Verdict::Abort(reason) => return Err(self.poison(reason)),
                Verdict::Queued => unreachable!("nobody queues at commit"),
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn prepare_next(&mut self) -> Verdict {
        let access = self.accesses[self.write_set[self.prepared] as usize];
        let inserted = matches!(access.kind, Kind::Insert | Kind::Vanished);
        self.architecture.at(access.partition, move |_| {
            ProtocolOf::<A>::prepare(access.record.meta::<MetaOf<A>>(), inserted)
        })
    }

    #[cold]
    fn unprepare(&mut self) {
        for &position in &self.write_set[..self.prepared] {
            let access = self.accesses[position as usize];
            let inserted = matches!(access.kind, Kind::Insert | Kind::Vanished);
            self.architecture.at(access.partition, move |_| {
                ProtocolOf::<A>::unprepare(access.record.meta::<MetaOf<A>>(), inserted);
            });
        }
    }

    #[inline(always)]
    fn validate_read_set(&mut self) -> Result<(), Abort> {
        let read = self.accesses.iter().find(|access| {
            let meta = access.record.meta::<MetaOf<A>>();
            let mine = !matches!(access.kind, Kind::Read | Kind::Absent);
            access.token.is_some_and(|token| !ProtocolOf::<A>::validate(meta, token.0, mine))
        });
        if read.is_some() {
            return Err(self.poison(AbortReason::ReadValidation));
        }
        let missing = self.gaps.iter().find(|gap| {
            let index = &self.tables[gap.table.index()].partition(gap.partition).index;
            !ProtocolOf::<A>::validate_missing(index.gap::<MetaOf<A>>(gap.id), gap.token.0)
        });
        if missing.is_some() {
            return Err(self.poison(AbortReason::Phantom));
        }
        Ok(())
    }

    /// Larger than every version read or overwritten, and than the slot's last id.
    #[inline(always)]
    fn choose_id(&mut self, epoch: u64) -> u64 {
        if self.write_set.is_empty() {
            return 0;
        }
        let read = self.accesses.iter().filter_map(|access| access.token.map(|token| token.0));
        let written = self.write_set.iter().map(|&position| {
            ProtocolOf::<A>::version(self.accesses[position as usize].record.meta::<MetaOf<A>>())
        });
        let above = read.chain(written).fold(self.last_id, u64::max);
        self.last_id = ProtocolOf::<A>::transaction_id(above, epoch);
        self.last_id
    }

    /// Makes a private copy of what every merge in the log makes of its row, which the transaction has prepared: what it wrote
    /// there before, and the merge.
    #[inline(always)]
    fn apply_merges(&mut self) {
        if ProtocolOf::<A>::WRITES != Writes::InPlace && self.log.has_merges() {
            self.apply_all_merges();
        }
    }

    fn apply_all_merges(&mut self) {
        for number in 0..self.log.writes().len() {
            let write = self.log.writes()[number];
            let access = self.accesses[write.access as usize];
            // If it was deleted after the merge, nobody will know.
            let (Some(merge), Kind::Write) = (write.merge, access.kind) else { continue };
            let part = &mut self.scratch.as_mut_bytes()[write.span.start() % 8..][..write.span.length()];
            // SAFETY: the span was checked against the row; the transaction has prepared the record, so nobody else writes it.
            unsafe { access.record.copy_out_racing(write.span.offset, part) };
            for earlier in access.first_write as usize..number {
                let earlier = self.log.writes()[earlier];
                if earlier.access == write.access && earlier.span.overlaps(write.span) {
                    self.overlay(earlier, write.span);
                }
            }
            let part = &mut self.scratch.as_mut_bytes()[write.span.start() % 8..][..write.span.length()];
            merge(part, self.log.get_mut(write.bytes));
            let bytes = self.reserve_copy(write.span);
            let part = &self.scratch.as_bytes()[write.span.start() % 8..][..write.span.length()];
            self.log.get_mut(bytes).copy_from_slice(part);
            self.log.merged(number, bytes);
        }
    }

    /// Copies the private versions into the records.
    #[inline(always)]
    fn install(&mut self, id: u64) {
        if ProtocolOf::<A>::WRITES == Writes::InPlace || self.write_set.is_empty() {
            return;
        }
        // Release: the locks come before the copies; pairs with the Acquire fence of a racing reader's copy.
        fence(Ordering::Release);
        for number in 0..self.log.writes().len() {
            let write = self.log.writes()[number];
            let access = self.accesses[write.access as usize];
            if access.kind != Kind::Write {
                // Deleted after it was written.
                continue;
            }
            assert!(write.merge.is_none(), "merges are applied before anything is installed");
            self.copy_in(access, write.span.offset, write.bytes);
        }
        if ProtocolOf::<A>::WRITES == Writes::AtCommit {
            for number in 0..self.write_set.len() {
                let access = self.accesses[self.write_set[number] as usize];
                if matches!(access.kind, Kind::Write | Kind::Insert) {
                    self.architecture.post(access.partition, move |_| {
                        ProtocolOf::<A>::publish(access.record.meta::<MetaOf<A>>(), id);
                    });
                }
            }
        }
    }

    #[inline(always)]
    fn copy_in(&self, access: Access, offset: u32, bytes: super::Bytes) {
        let bytes = self.log.get(bytes);
        match ProtocolOf::<A>::READS {
            // SAFETY: the span was checked against the row; the transaction holds the record, so it is the only writer.
            Reads::Validated => unsafe { access.record.copy_in_racing(offset, bytes) },
            // SAFETY: as above, and nobody reads it either.
            Reads::Locked | Reads::Alone => unsafe { access.record.copy_in(offset, bytes) },
        }
    }

    /// Gives back what the transaction holds, newest first, and removes what it deleted.
    #[inline(always)]
    fn give_back(&mut self) {
        if ProtocolOf::<A>::READS == Reads::Locked {
            for position in (0..self.accesses.len()).rev() {
                let access = self.accesses[position];
                match access.kind {
                    Kind::Delete | Kind::Vanished => self.remove(position, access),
                    _ => self.release(position, access),
                }
            }
            self.release_gaps();
        } else {
            for number in 0..self.write_set.len() {
                let position = self.write_set[number] as usize;
                let access = self.accesses[position];
                if matches!(access.kind, Kind::Delete | Kind::Vanished) {
                    self.remove(position, access);
                }
            }
        }
    }

    #[inline(always)]
    fn release(&mut self, position: usize, access: Access) {
        if ProtocolOf::<A>::READS != Reads::Locked {
            return;
        }
        let mode = match access.kind {
            Kind::Read => Mode::Shared,
            Kind::Write | Kind::Insert => Mode::Exclusive,
            Kind::Absent => unreachable!("a locking protocol finds records with rows"),
            Kind::Delete | Kind::Vanished => unreachable!("removed"),
        };
        let (who, record) = (self.requester(access.partition, position), access.record);
        self.architecture.post(access.partition, move |site| {
            ProtocolOf::<A>::release(site.common, record.meta::<MetaOf<A>>(), mode, who, site.waker);
        });
    }

    /// Puts back what was overwritten in place, latest first.
    fn undo(&mut self) {
        for number in (0..self.log.writes().len()).rev() {
            let write = self.log.writes()[number];
            let access = self.accesses[write.access as usize];
            // SAFETY: the span was checked against the row; the record is still held exclusively.
            unsafe { access.record.copy_in(write.span.offset, self.log.get(write.bytes)) };
        }
    }

    /// Nothing is held any more, once what was sent off has arrived.
    #[inline(always)]
    pub(super) fn release_all(&mut self) {
        if A::MIGRATES {
            let before = self.stopwatch.enter(TimeClass::Wait);
            self.architecture.release_all();
            self.stopwatch.enter(before);
        } else {
            self.architecture.release_all();
        }
        self.stopwatch.holds_nothing();
    }

    #[inline(always)]
    fn forget(&mut self) {
        self.accesses.clear();
        self.gaps.clear();
        self.write_set.clear();
        self.prepared = 0;
    }
}
