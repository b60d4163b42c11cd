//! Writes to private copies: the log keeps what will be installed at commit, once everybody is excluded from the records.
//!
//! A row that the transaction writes is to itself the committed one with its own writes applied in order ([`Txn::compose`]), of
//! which as much is built as is asked for; blind changes among them are applied to a copy, and again at commit.

use super::access_set::{Access, Kind};
use super::keys::Keys;
use super::write_log::{Bytes, Write};
use super::{Blind, HeaderOf, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::facade::atomic::{Ordering, fence};
use crate::protocol::Wake;
use crate::protocol::{Preparing, Verdict};
use crate::storage::Table;
use contract::{Abort, AbortReason, Key, Span, TableId};
use std::cmp::Ordering as Cmp;
use zerocopy::IntoBytes;

impl<A: Architecture> Txn<'_, A> {
    /// Keeps a blind change for install.
    pub(super) fn log_blind(&mut self, position: usize, span: Span, blind: Blind<'_>) {
        let (bytes, merge) = match blind {
            Blind::Replace(new) => {
                let bytes = self.log.reserve(span.start(), span.length());
                self.log.get_mut(bytes).copy_from_slice(new);
                (bytes, None)
            }
            Blind::Merge(merge, argument) => (self.log.keep_argument(argument), Some(merge)),
        };
        self.keep_for_install(Write { access: position as u32, span, bytes, merge });
    }

    #[inline(always)]
    fn keep_for_install(&mut self, write: Write) {
        let first = &mut self.accesses[write.access as usize].first_write;
        *first = (*first).min(self.log.writes().len() as u32);
        self.log.push(write);
    }

    /// Reserves a private copy of the named bytes, its content still to come.
    #[inline(always)]
    pub(super) fn reserve_copy(&mut self, span: Span) -> Bytes {
        self.log.reserve(span.start(), span.length())
    }

    /// Lets `change` loose on a private copy and keeps it for install.
    #[inline(always)]
    pub(super) fn change_copy(
        &mut self,
        position: usize,
        span: Span,
        bytes: Bytes,
        change: &mut dyn FnMut(&mut [u8]),
    ) {
        self.keep_for_install(Write { access: position as u32, span, bytes, merge: None });
        change(self.log.get_mut(bytes));
    }

    /// The transaction's own, for a part of a row.
    #[inline(always)]
    pub(super) fn scratch_for(&mut self, part: Span) -> &mut [u8] {
        part_of(&mut self.scratch, part)
    }

    /// Shows bytes of a row that the transaction writes; `copy` gets the committed ones.
    pub(super) fn see_composed(
        &mut self,
        position: usize,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
        copy: impl FnOnce(&mut Self, usize, Span) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let at = self.compose(position, span, copy)?;
        see(&self.scratch.as_bytes()[at..at + span.length()]);
        Ok(())
    }

    /// Reads and writes bytes of such a row.
    pub(super) fn change_composed(
        &mut self,
        position: usize,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
        copy: impl FnOnce(&mut Self, usize, Span) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let at = self.compose(position, span, copy)?;
        let bytes = self.reserve_copy(span);
        self.log.get_mut(bytes).copy_from_slice(&self.scratch.as_bytes()[at..at + span.length()]);
        self.change_copy(position, span, bytes, change);
        Ok(())
    }

    /// Builds this transaction's version of a part of a row that it writes, in the scratch buffer; answers where in it the part
    /// begins.
    fn compose(
        &mut self,
        position: usize,
        span: Span,
        copy: impl FnOnce(&mut Self, usize, Span) -> Result<(), Abort>,
    ) -> Result<usize, Abort> {
        let built = self.to_build(self.accesses[position], position, span);
        copy(self, position, built)?;
        for number in self.first_write_of(self.accesses[position])..self.log.writes().len() {
            let write = self.log.writes()[number];
            if write.access as usize == position && write.span.overlaps(built) {
                self.overlay(write, built);
            }
        }
        Ok(built.start() % 8 + span.start() - built.start())
    }

    /// What has to be built of a row to see a part of it: that, or if a merge has changed some of it, and must see all of
    /// what it changed, the whole row.
    fn to_build(&self, access: Access, position: usize, span: Span) -> Span {
        let writes = &self.log.writes()[self.first_write_of(access)..];
        let is_in_the_way = |write: &Write| {
            write.access as usize == position && write.merge.is_some() && write.span.overlaps(span)
        };
        match writes.iter().any(is_in_the_way) {
            true => Span::whole(self.table(access.table).shape.row_bytes),
            false => span,
        }
    }

    /// Where its writes begin in the log, or the log's end.
    fn first_write_of(&self, access: Access) -> usize {
        (access.first_write as usize).min(self.log.writes().len())
    }

    /// Applies a write to what is built of its row.
    fn overlay(&mut self, write: Write, built: Span) {
        let (start, end) = (write.span.start().max(built.start()), write.span.end().min(built.end()));
        let at = built.start() % 8 + start - built.start();
        let part = &mut self.scratch.as_mut_bytes()[at..at + end - start];
        let bytes = self.log.get(write.bytes);
        match write.merge {
            None => part.copy_from_slice(&bytes[start - write.span.start()..][..end - start]),
            Some(merge) => {
                // The real argument is for commit.
                let mut argument = bytes.to_vec();
                merge(part, &mut argument);
            }
        }
    }

    /// The last part of preparing: makes a private copy of what every merge in the log makes of its row, from which others are
    /// excluded: what the transaction wrote there before, and the merge.
    #[inline(always)]
    pub(super) fn apply_merges(&mut self) {
        if self.log.has_merges() {
            self.apply_all_merges();
        }
    }

    fn apply_all_merges(&mut self) {
        for number in 0..self.log.writes().len() {
            let write = self.log.writes()[number];
            let access = self.accesses[write.access as usize];
            // If it was deleted after the merge, nobody will know.
            let (Some(merge), Kind::Write) = (write.merge, access.kind) else { continue };
            let part = self.scratch_for(write.span);
            // SAFETY: the span was checked against the row; the transaction has prepared the record: nobody else writes it.
            unsafe { access.record.row::<HeaderOf<A>>().copy_out_racing(write.span.offset, part) };
            for earlier in self.first_write_of(access)..number {
                let earlier = self.log.writes()[earlier];
                if earlier.access == write.access && earlier.span.overlaps(write.span) {
                    self.overlay(earlier, write.span);
                }
            }
            let bytes = self.reserve_copy(write.span);
            let part = part_of(&mut self.scratch, write.span);
            merge(part, self.log.get_mut(write.bytes));
            self.log.get_mut(bytes).copy_from_slice(part);
            self.log.merged(number, bytes);
        }
    }

    /// Copies the private versions into the records, which are the transaction's alone but for racing readers; `copy_in` does so
    /// with bytes that are known.
    #[inline(always)]
    pub(super) fn install_copies(&mut self, copy_in: impl Fn(&Self, Access, u32, &[u8])) {
        if self.write_set.is_empty() {
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
            copy_in(self, access, write.span.offset, self.log.get(write.bytes));
        }
    }
}

impl<A: Architecture<Protocol: Preparing>> Txn<'_, A> {
    /// Prepares the write set in the order of access, in which nobody is waited for but in queues; if somebody is in the way,
    /// starts again in the one order that everybody keeps to who waits, so that they do not wait in a circle.
    #[inline(always)]
    pub(super) fn prepare_write_set(&mut self) -> Result<(), Abort> {
        while self.prepared < self.write_set.len() {
            match self.prepare_next() {
                Verdict::Granted => self.has_prepared_next(),
                Verdict::Retry if A::DECIDES_ELSEWHERE => return Err(self.poison(AbortReason::Conflict)),
                Verdict::Retry => return self.prepare_in_order(),
                queued_or_aborted => match self.heed(queued_or_aborted, 0)? {
                    Wake::Granted => self.has_prepared_next(),
                    Wake::Retry => return self.prepare_in_order(),
                },
            }
        }
        Ok(())
    }

    #[cold]
    fn prepare_in_order(&mut self) -> Result<(), Abort> {
        self.unprepare_write_set();
        self.sort_write_set();
        let mut asked = 0;
        while self.prepared < self.write_set.len() {
            let verdict = self.prepare_next();
            match self.heed(verdict, asked)? {
                Wake::Granted => {
                    self.has_prepared_next();
                    asked = 0;
                }
                Wake::Retry => asked += 1,
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn prepare_next(&mut self) -> Verdict {
        let position = self.write_set[self.prepared] as usize;
        let access = self.accesses[position];
        let (record, inserted, who) = (access.record, access.is_own(), self.requester_of(position));
        self.architecture.at(access.partition, move |site| {
            ProtocolOf::<A>::prepare(site.meta(record), inserted, site.request(who))
        })
    }

    #[inline(always)]
    fn has_prepared_next(&mut self) {
        self.prepared += 1;
        self.stopwatch.holds_something();
    }

    /// Undoes what was prepared.
    #[cold]
    pub(super) fn unprepare_write_set(&mut self) {
        for number in 0..std::mem::take(&mut self.prepared) {
            let position = self.write_set[number] as usize;
            let access = self.accesses[position];
            let (record, inserted, who) = (access.record, access.is_own(), self.requester_of(position));
            self.architecture.at(access.partition, move |site| {
                ProtocolOf::<A>::unprepare(site.meta(record), inserted, site.request(who));
            });
        }
    }
}

impl<A: Architecture> Txn<'_, A> {
    /// Puts the write set into the canonical order.
    #[cold]
    pub(super) fn sort_write_set(&mut self) {
        let (accesses, tables, keys) = (&self.accesses, self.tables, &self.keys);
        self.write_set.sort_unstable_by(|&a, &b| {
            let (a, b) = (&accesses[a as usize], &accesses[b as usize]);
            canonical_order(tables, keys, (a.table, a.key), (b.table, b.key))
        });
    }
}

/// The order of records in which everybody waits: that of tables, and of keys.
pub(super) fn canonical_order(tables: &[Table], keys: &Keys, a: (TableId, Key), b: (TableId, Key)) -> Cmp {
    a.0.cmp(&b.0).then_with(|| match tables[a.0.index()].has_byte_strings() {
        // Their numbers are this transaction's own.
        true => keys.bytes(a.1).cmp(keys.bytes(b.1)),
        false => a.1.cmp(&b.1),
    })
}

/// A part of a scratch buffer that is aligned as a part of a row.
#[inline(always)]
pub(super) fn part_of(scratch: &mut [u64], part: Span) -> &mut [u8] {
    &mut scratch.as_mut_bytes()[part.start() % 8..][..part.length()]
}
