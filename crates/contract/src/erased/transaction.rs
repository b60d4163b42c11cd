//! A transaction of any type as `dyn Transaction`, so that procedures can be plain functions in a table.

use crate::{Abort, Insertion, Key, Merge, Presence, Scan, Span, TableId, Transaction};

/// Passes every operation on. A `&mut T` with `T: ?Sized` cannot become a `&mut dyn Transaction`; this can.
pub struct Erased<'a, T: ?Sized>(pub &'a mut T);

impl<T: Transaction + ?Sized> Transaction for Erased<'_, T> {
    fn read(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.0.read(table, key, span, see)
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        self.0.update(table, key, span, change)
    }

    fn update_seeing(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
        shown: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.0.update_seeing(table, key, span, change, shown, see)
    }

    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        self.0.write(table, key, offset, bytes)
    }

    fn merge(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        merge: Merge,
        argument: &[u8],
    ) -> Result<Presence, Abort> {
        self.0.merge(table, key, span, merge, argument)
    }

    fn read_whole(
        &mut self,
        table: TableId,
        key: Key,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.0.read_whole(table, key, see)
    }

    fn replace(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Presence, Abort> {
        self.0.replace(table, key, row)
    }

    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        self.0.insert(table, key, row)
    }

    fn ahead(&mut self, table: TableId, keys: &[Key]) {
        self.0.ahead(table, keys);
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        self.0.delete(table, key)
    }
    fn key(&mut self, table: TableId, bytes: &[u8]) -> Key {
        self.0.key(table, bytes)
    }

    fn scan(&mut self, scan: &Scan<'_>, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        self.0.scan(scan, see)
    }
}
