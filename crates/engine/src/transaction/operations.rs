//! The operations of a transaction, as the contracts name them: each is checked against the table's shape, and goes the way of the
//! transaction's own rows, of the protocol's access, or of what is read aside of it.

use super::access::Access as _;
use super::{AccessOf, Blind, Txn};
use crate::architecture::Architecture;
use crate::work;
use contract::{Abort, Insertion, Key, Merge, Presence, Scan, Span, TableId, Transaction};

impl<A: Architecture> Transaction for Txn<'_, A> {
    #[inline]
    fn read(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let its = self.table(table);
        its.check(span);
        match self.aside {
            None if A::MAY_INTERLEAVE && self.waits_for_lines_of(its) => {
                self.read_fetching(table, key, span, see)
            }
            None => self.read_span::<false>(its, key, span, see),
            Some(aside) => self.read_aside(aside, its, key, span, see),
        }
    }

    #[inline]
    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        let its = self.table(table);
        if A::MAY_INTERLEAVE && self.waits_for_lines_of(its) {
            return self.update_fetching(table, key, span, change);
        }
        self.update_span::<false>(its, key, span, change)
    }

    #[inline]
    fn update_seeing(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
        shown: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.alive()?;
        let table = self.table(table);
        table.check(span);
        table.check(shown);
        work::operation(span.length() + shown.length());
        let place = self.place(table, key);
        if let Some(position) = self.find_own(place) {
            return match self.read_own(position, shown, see)? {
                Presence::Present => self.update_own(position, span, change),
                Presence::Missing => Ok(Presence::Missing),
            };
        }
        self.enter(place)?;
        self.fetch_apart(place, span.with(shown), true);
        AccessOf::<A>::update_seeing(self, place, (span, change), (shown, see))
    }

    #[inline]
    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        let span = Span::new(offset, bytes.len());
        if A::MAY_INTERLEAVE && self.waits_for_lines_of(self.table(table)) {
            return self.blind_fetching(table, key, span, Blind::Replace(bytes));
        }
        self.blind::<false>(table, key, span, Blind::Replace(bytes))
    }

    fn merge(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        merge: Merge,
        argument: &[u8],
    ) -> Result<Presence, Abort> {
        self.blind::<true>(table, key, span, Blind::Merge(merge, argument))
    }

    fn read_whole(
        &mut self,
        table: TableId,
        key: Key,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let table = self.table(table);
        match self.aside {
            None => self.read_row(table, key, see),
            Some(aside) => self.read_row_aside(aside, table, key, see),
        }
    }

    fn replace(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Presence, Abort> {
        self.alive()?;
        let table = self.table(table);
        table.check_row(row.len());
        work::operation(row.len());
        self.replace_row(self.place(table, key), row)
    }

    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        self.alive()?;
        self.insert_row(table, key, row)
    }

    #[inline]
    fn ahead(&mut self, table: TableId, keys: &[Key]) {
        if self.heeds_hints {
            self.prefetch(table, keys);
        }
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        self.alive()?;
        self.delete_row(table, key)
    }

    fn key(&mut self, table: TableId, bytes: &[u8]) -> Key {
        self.table(table).check_key(bytes);
        self.keys.intern(bytes)
    }

    fn scan(&mut self, scan: &Scan<'_>, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        match self.aside {
            None => self.scan_rows(scan, see),
            Some(aside) => self.scan_aside(aside, scan, see),
        }
    }
}
