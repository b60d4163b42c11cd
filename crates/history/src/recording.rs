//! The transaction that a checked procedure sees: it passes every operation on to the engine, keeps the stamps
//! at the ends of the rows, and notes what was seen and what was replaced.
//!
//! | the procedure asks for | the engine is asked for |
//! |---|---|
//! | read | a read from the span's start to the stamp's end |
//! | update | an update of the same bytes, whose closure also puts the new stamp |
//! | update, seeing | an update as above, seeing the same |
//! | write | a merge of the same bytes: it puts the stamp when nothing can come between any more, and leaves the version that it replaced in its argument; with tombstones a read of the stamp goes before it |
//! | merge | an update: a function pointer cannot travel in an argument |
//! | read whole | the same |
//! | replace | a write; if rows vary in length, a read and a replacement, with the stamp behind the row |
//! | insert | an insert; with tombstones, if that answers `Exists`, a read of the stamp, and an update over a tombstone |
//! | delete | a delete; with tombstones an update of the stamp alone |
//! | scan | a scan of the same bytes and all up to the stamp's end; if the limit was used up by tombstones, further ones behind the last key shown, for a tombstone is no row to the procedure |
//! | key | the same; the history has a name for the key that outlasts the transaction |
//!
//! Where rows vary in length every update, of a stamp or of a tombstone, is a read and a replacement.
//!
//! A closure may run more than once, and on values that a later step proves stale; what its last run saw counts. A scan,
//! though, shows every row once.

use crate::checked::Deletes;
use crate::log::Log;
use crate::operation::OperationKind;
use crate::scanned::ScanRecord;
use crate::version::{Stamp, Version};
use contract::{Abort, Direction, Insertion, Key, Merge, Presence, Scan, Span, TableId, Transaction};
use std::ops::Bound;

/// See the module.
pub(crate) struct Recording<'a, T: Transaction + ?Sized> {
    pub txn: &'a mut T,
    pub log: &'a mut Log,
}

impl<T: Transaction + ?Sized> Transaction for Recording<'_, T> {
    fn read(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let wide = self.log.layouts.table(table).widened(span);
        let mut found = None;
        let presence = self.txn.read(table, key, wide, &mut |bytes| {
            let stamp = Stamp::of(bytes);
            found = Some(stamp);
            if !stamp.version.is_dead() {
                see(&bytes[..span.length()]);
            }
        })?;
        Ok(self.looked(table, key, stamp_shown(presence, found)))
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        let wide = self.log.layouts.table(table).widened(span);
        let version = self.log.next_version();
        let mut found = None;
        let presence = self.txn.update(table, key, wide, &mut |bytes| {
            let stamp = Stamp::of(bytes);
            found = Some(stamp);
            if !stamp.version.is_dead() {
                change(&mut bytes[..span.length()]);
                Stamp { version, replaced: stamp.version }.put(bytes);
            }
        })?;
        Ok(self.replaced(OperationKind::Update, table, key, stamp_shown(presence, found)))
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
        let wide = self.log.layouts.table(table).widened(span);
        let version = self.log.next_version();
        let mut found = None;
        // Whether there is a row for the procedure the stamp tells, which may be seen later.
        let mut seen = std::mem::take(&mut self.log.scratch);
        let change = &mut |bytes: &mut [u8]| {
            let stamp = Stamp::of(bytes);
            found = Some(stamp);
            if !stamp.version.is_dead() {
                change(&mut bytes[..span.length()]);
                Stamp { version, replaced: stamp.version }.put(bytes);
            }
        };
        let presence = self.txn.update_seeing(table, key, wide, change, shown, &mut |bytes| {
            seen.clear();
            // Aligned as in the row.
            seen.resize(shown.start() % 8, 0);
            seen.extend_from_slice(bytes);
        });
        if presence == Ok(Presence::Present) && found.is_some_and(|stamp| !stamp.version.is_dead()) {
            see(&seen[shown.start() % 8..]);
        }
        self.log.scratch = seen;
        Ok(self.replaced(OperationKind::Update, table, key, stamp_shown(presence?, found)))
    }

    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        let wide = self.log.layouts.table(table).widened(Span::new(offset, bytes.len()));
        if self.log.deletes == Deletes::Tombstones && self.read_stamp(table, key)? == Presence::Missing {
            return Ok(Presence::Missing);
        }
        let mut argument = std::mem::take(&mut self.log.scratch);
        argument.clear();
        argument.extend_from_slice(&self.log.next_version().0.to_le_bytes());
        argument.extend_from_slice(&Version::PRESENT.0.to_le_bytes());
        argument.extend_from_slice(bytes);
        let presence = self.txn.merge(table, key, wide, replace_and_stamp, &argument);
        self.log.scratch = argument;
        match presence? {
            Presence::Present => {
                let unknown = Version::PRESENT;
                self.log.wrote(OperationKind::Write, table, key, unknown, unknown);
                Ok(Presence::Present)
            }
            Presence::Missing => Ok(self.looked(table, key, None)),
        }
    }

    fn merge(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        merge: Merge,
        argument: &[u8],
    ) -> Result<Presence, Abort> {
        let mut left = std::mem::take(&mut self.log.scratch);
        let presence = self.update(table, key, span, &mut |bytes| {
            left.clear();
            left.extend_from_slice(argument);
            merge(bytes, &mut left);
        });
        if presence == Ok(Presence::Present) {
            self.log.merged(&left);
        }
        self.log.scratch = left;
        presence
    }

    fn read_whole(
        &mut self,
        table: TableId,
        key: Key,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let layout = self.log.layouts.table(table);
        let mut found = None;
        let presence = self.txn.read_whole(table, key, &mut |row| {
            let stamp = Stamp::of(row);
            found = Some(stamp);
            if !stamp.version.is_dead() {
                see(layout.shown(row));
            }
        })?;
        Ok(self.looked(table, key, stamp_shown(presence, found)))
    }

    fn replace(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Presence, Abort> {
        let layout = self.log.layouts.table(table);
        layout.assert_whole(row);
        if !layout.varies {
            return self.write(table, key, 0, row);
        }
        let version = self.log.next_version();
        let found = self.rewrite(table, key, |_, replaced, next| {
            let is_alive = !replaced.is_dead();
            if is_alive {
                layout.stamped(row, Stamp { version, replaced }, next);
            }
            is_alive
        })?;
        Ok(self.replaced(OperationKind::Update, table, key, found))
    }

    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        let layout = self.log.layouts.table(table);
        layout.assert_whole(row);
        let mut stamped = std::mem::take(&mut self.log.scratch);
        let stamp = Stamp { version: self.log.next_version(), replaced: Version::MISSING };
        layout.stamped(row, stamp, &mut stamped);
        let insertion = self.insert_stamped(table, key, &stamped);
        self.log.scratch = stamped;
        insertion
    }

    fn ahead(&mut self, table: TableId, keys: &[Key]) {
        self.txn.ahead(table, keys);
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        match self.log.deletes {
            Deletes::None => panic!("a workload checked with Deletes::None deleted {key:?} of {table:?}"),
            Deletes::Tombstones => self.bury(table, key),
            Deletes::Real => match self.txn.delete(table, key)? {
                Presence::Present => {
                    let unknown = Version::PRESENT;
                    self.log.wrote(OperationKind::Delete, table, key, unknown, unknown);
                    Ok(Presence::Present)
                }
                Presence::Missing => Ok(self.looked(table, key, None)),
            },
        }
    }

    fn key(&mut self, table: TableId, bytes: &[u8]) -> Key {
        let number = self.txn.key(table, bytes);
        self.log.alias(table, number, bytes);
        number
    }

    fn scan(&mut self, scan: &Scan<'_>, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        let wide = self.log.layouts.table(scan.table).widened(scan.span);
        if scan.limit == 0 {
            // It covers nothing, and says nothing.
            return self.txn.scan(scan, see);
        }
        let mut record = ScanRecord::new(scan, self.log.operations().len());
        let (mut shown, mut last) = (0, Vec::new());
        loop {
            let behind = Bound::Excluded(&last[..]);
            let (from, to) = match (record.rows, scan.direction) {
                (0, _) => (scan.from, scan.to),
                (_, Direction::Forward) => (behind, scan.to),
                (_, Direction::Backward) => (scan.from, behind),
            };
            let rest = Scan { from, to, limit: scan.limit - shown, span: wide, ..*scan };
            let Part { rows, alive, end } = self.scan_part(&rest, scan.span.length(), see)?;
            record.rows += u32::try_from(rows).expect("a scan shows fewer than 2^32 rows");
            shown += alive;
            let is_over = rows < rest.limit;
            last = end;
            if is_over || shown == scan.limit {
                // A row from beyond the range is an anomaly, not the end of what was covered.
                if !is_over && scan.covers(&last) {
                    record.end_at(&last);
                }
                self.log.scanned(record);
                return Ok(shown);
            }
        }
    }
}

/// What one scan of the engine showed.
struct Part {
    rows: usize,
    /// Those of them that are no tombstones.
    alive: usize,
    /// The last key shown.
    end: Vec<u8>,
}

impl<T: Transaction + ?Sized> Recording<'_, T> {
    /// Notes a look at `found`, and says whether the procedure finds a row there.
    fn looked(&mut self, table: TableId, key: Key, found: Option<Stamp>) -> Presence {
        let seen = found.unwrap_or(Stamp { version: Version::MISSING, replaced: Version::MISSING });
        self.log.looked(OperationKind::Read, table, key, seen.version, seen.replaced);
        if seen.version.is_dead() { Presence::Missing } else { Presence::Present }
    }

    /// Notes that `found` was replaced, if a row was there.
    fn replaced(&mut self, kind: OperationKind, table: TableId, key: Key, found: Option<Stamp>) -> Presence {
        match found {
            Some(stamp) if !stamp.version.is_dead() => {
                self.log.wrote(kind, table, key, stamp.version, stamp.replaced);
                Presence::Present
            }
            dead => self.looked(table, key, dead),
        }
    }

    /// Scans rows with their stamps, and shows the first `bytes` bytes of those that are no tombstones, or all, if they vary in length.
    fn scan_part(
        &mut self,
        part: &Scan<'_>,
        bytes: usize,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Part, Abort> {
        let log = &mut *self.log;
        let layout = log.layouts.table(part.table);
        let (mut rows, mut alive, mut end) = (0, 0, Vec::new());
        let told = self.txn.scan(part, &mut |key, row| {
            let stamp = Stamp::of(row);
            log.saw_in_scan(part.table, key, stamp);
            rows += 1;
            end.clear();
            end.extend_from_slice(key);
            if !stamp.version.is_dead() {
                alive += 1;
                see(key, if layout.varies { layout.shown(row) } else { &row[..bytes] });
            }
        })?;
        assert_eq!(told, rows, "the engine showed another number of rows than it told");
        assert!(
            rows <= part.limit,
            "the engine showed {rows} rows, and was asked for {} at most",
            part.limit
        );
        Ok(Part { rows, alive, end })
    }

    fn read_stamp(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        let layout = self.log.layouts.table(table);
        let mut found = None;
        let see = &mut |bytes: &[u8]| found = Some(Stamp::of(bytes));
        let presence = match layout.varies {
            true => self.txn.read_whole(table, key, see)?,
            false => self.txn.read(table, key, layout.stamp(), see)?,
        };
        Ok(self.looked(table, key, stamp_shown(presence, found)))
    }

    /// Reads a row that varies in length, and replaces it by what `make` puts in the empty buffer that it is given with the row and
    /// its version, if it answers that it should be. What was found.
    fn rewrite(
        &mut self,
        table: TableId,
        key: Key,
        mut make: impl FnMut(&[u8], Version, &mut Vec<u8>) -> bool,
    ) -> Result<Option<Stamp>, Abort> {
        let (mut found, mut next, mut is_made) = (None, Vec::new(), false);
        let presence = self.txn.read_whole(table, key, &mut |row| {
            let stamp = Stamp::of(row);
            found = Some(stamp);
            next.clear();
            is_made = make(row, stamp.version, &mut next);
        })?;
        let found = stamp_shown(presence, found);
        if found.is_some() && is_made && self.txn.replace(table, key, &next)? == Presence::Missing {
            // The row went between two looks of one transaction: what the log says of it then, the checker judges.
            return Ok(None);
        }
        Ok(found)
    }

    fn insert_stamped(&mut self, table: TableId, key: Key, stamped: &[u8]) -> Result<Insertion, Abort> {
        let missing = Version::MISSING;
        match (self.txn.insert(table, key, stamped)?, self.log.deletes) {
            (Insertion::Inserted, _) => {
                self.log.wrote(OperationKind::Insert, table, key, missing, missing);
                Ok(Insertion::Inserted)
            }
            (Insertion::Exists, Deletes::Tombstones) => self.insert_over_tombstone(table, key, stamped),
            (Insertion::Exists, Deletes::None | Deletes::Real) => {
                let unknown = Version::PRESENT;
                self.log.looked(OperationKind::Exists, table, key, unknown, unknown);
                Ok(Insertion::Exists)
            }
        }
    }

    /// The engine has a row; it may be a tombstone. Looks first, so that an insert that answers `Exists`
    /// writes nothing.
    fn insert_over_tombstone(
        &mut self,
        table: TableId,
        key: Key,
        stamped: &[u8],
    ) -> Result<Insertion, Abort> {
        if self.read_stamp(table, key)? == Presence::Present {
            return Ok(Insertion::Exists);
        }
        let version = self.log.next_version();
        let layout = self.log.layouts.table(table);
        let found = match layout.varies {
            true => self.rewrite(table, key, |_, replaced, next| {
                next.extend_from_slice(stamped);
                Stamp { version, replaced }.put(next);
                replaced.is_dead()
            })?,
            false => {
                let mut found = None;
                let presence = self.txn.update(table, key, layout.whole(), &mut |bytes| {
                    let stamp = Stamp::of(bytes);
                    found = Some(stamp);
                    if stamp.version.is_dead() {
                        bytes.copy_from_slice(stamped);
                        Stamp { version, replaced: stamp.version }.put(bytes);
                    }
                })?;
                stamp_shown(presence, found)
            }
        };
        match found {
            Some(stamp) if stamp.version.is_dead() => {
                self.log.wrote(OperationKind::Insert, table, key, stamp.version, stamp.replaced);
                Ok(Insertion::Inserted)
            }
            // The row went, or came back, between two looks of one transaction. The log says so, and if the
            // engine lets that commit, the checker calls it a non-repeatable read.
            other => {
                let _ = self.looked(table, key, other);
                Ok(Insertion::Exists)
            }
        }
    }

    /// A delete that leaves a tombstone.
    fn bury(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        let version = self.log.next_version().dead();
        let layout = self.log.layouts.table(table);
        if layout.varies {
            let found = self.rewrite(table, key, |row, replaced, next| {
                next.extend_from_slice(row);
                Stamp { version, replaced }.put(next);
                !replaced.is_dead()
            })?;
            return Ok(self.replaced(OperationKind::Delete, table, key, found));
        }
        let mut found = None;
        let presence = self.txn.update(table, key, layout.stamp(), &mut |bytes| {
            let stamp = Stamp::of(bytes);
            found = Some(stamp);
            if !stamp.version.is_dead() {
                Stamp { version, replaced: stamp.version }.put(bytes);
            }
        })?;
        Ok(self.replaced(OperationKind::Delete, table, key, stamp_shown(presence, found)))
    }
}

/// What the closure was shown, held against what the operation answered.
fn stamp_shown(presence: Presence, found: Option<Stamp>) -> Option<Stamp> {
    match presence {
        Presence::Present => {
            assert!(found.is_some(), "the engine answered Present without showing the row");
            found
        }
        // An optimistic engine may have shown a row before it found out that the key is missing.
        Presence::Missing => None,
    }
}

/// The merge behind a blind write. `argument` is the new version, room for the one that it replaces, and the bytes.
fn replace_and_stamp(current: &mut [u8], argument: &mut [u8]) {
    let (versions, bytes) = argument.split_at_mut(16);
    current[..bytes.len()].copy_from_slice(bytes);
    let replaced = Stamp::of(current).version;
    versions[8..].copy_from_slice(&replaced.0.to_le_bytes());
    let version = Version(crate::version::word(&versions[..8]));
    Stamp { version, replaced }.put(current);
}
