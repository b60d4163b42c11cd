//! A transaction of ours as one of Ignite's.
//!
//! Each entry is asked for once, within the transaction, and kept here; reads and changes go to what is kept, and what was changed is sent when
//! the transaction commits, a request for each table. So nothing is locked before commit under either isolation, and entries are locked in
//! the order of tables and keys. Ignite's transactions know no blind write that tells whether there is a row: whoever writes has read.
//!
//! What is planned ahead ([`Procedure::plan`](contract::Procedure::plan)) can be asked for ahead, all of a table in one request: then the
//! transaction has read it, whether or not it uses it.

use crate::row::{Group, Row, row};
use crate::store::Table;
use crate::wire::{Connection, Failed, TransactionId};
use contract::{
    Abort, AbortReason, Direction, Insertion, Key, Merge, Plan, Presence, Receipts, Scan, Span, TableId,
    Transaction,
};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;

/// The place of an entry: its table, and its key there.
type Place = (u16, u64);

/// What is known of an entry.
struct Entry {
    content: Content,
    changed: bool,
}

/// What an entry holds.
enum Content {
    Row(Option<Row>),
    Group(Group),
}

/// A transaction that has begun.
pub struct IgniteTransaction<'a> {
    connection: &'a mut Connection,
    tables: &'a [Table],
    id: TransactionId,
    entries: BTreeMap<Place, Entry>,
    /// The byte strings of which this transaction spoke; their numbers are their positions.
    names: Vec<(TableId, Vec<u8>)>,
    receipts: Left,
    /// Whether nobody changes rows meanwhile, so that all tables can be scanned.
    is_quiet: bool,
    failed: Option<Failed>,
}

/// What merges left in their arguments.
#[derive(Default)]
pub struct Left(Vec<Vec<u8>>);

impl Receipts for Left {
    fn argument(&self, nth: usize) -> &[u8] {
        &self.0[nth]
    }
}

/// What an operation does with a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Look,
    Change,
}

impl<'a> IgniteTransaction<'a> {
    /// The transaction `id` of `connection`.
    pub fn new(
        connection: &'a mut Connection,
        tables: &'a [Table],
        id: TransactionId,
        is_quiet: bool,
    ) -> Self {
        IgniteTransaction {
            connection,
            tables,
            id,
            entries: BTreeMap::new(),
            names: Vec::new(),
            receipts: Left::default(),
            is_quiet,
            failed: None,
        }
    }

    /// Asks for what is planned.
    pub fn fetch(&mut self, plan: &Plan) -> Result<(), Abort> {
        let is_grouped = |table: TableId| self.tables[table.index()].is_grouped();
        let named = plan.keys().iter();
        // Of rows whose keys are numbers, those that only say where they would be are left out: they may be missing.
        let named = named.filter(|planned| is_grouped(planned.table) || planned.span.len > 0);
        let mut places: Vec<Place> = named.map(|planned| (planned.table.0, planned.key.0)).collect();
        places.sort_unstable();
        places.dedup();
        self.ask_for(&places)
    }

    /// Commits what was done; answers what merges left.
    pub fn commit(mut self) -> Result<Left, Failed> {
        if let Some(failed) = self.failed.take() {
            // It cannot be, whatever the procedure says.
            return Err(self.rolled_back(failed));
        }
        match self.write() {
            Ok(()) => {}
            Err(failed) => return Err(self.rolled_back(failed)),
        }
        self.connection.end(self.id, true)?;
        Ok(self.receipts)
    }

    /// Undoes what was done; answers why it could not go on, if that is so.
    pub fn roll_back(mut self) -> Option<Failed> {
        let failed = self.failed.take();
        match self.connection.end(self.id, false) {
            Err(worse @ Failed::Otherwise(_)) => Some(worse),
            _ => failed,
        }
    }

    fn rolled_back(mut self, failed: Failed) -> Failed {
        self.failed = Some(failed);
        self.roll_back().expect("it failed")
    }

    /// Sends what was changed, table by table.
    fn write(&mut self) -> Result<(), Failed> {
        for (id, table) in (0..).zip(self.tables) {
            let changed = self.entries.range((id, 0)..=(id, u64::MAX)).filter(|(_, entry)| entry.changed);
            let (mut put, mut removed) = (Vec::new(), Vec::new());
            for ((_, key), entry) in changed {
                match &entry.content {
                    Content::Row(Some(row)) => put.push((*key, Cow::Borrowed(&row[..]))),
                    Content::Group(group) if !group.0.is_empty() => {
                        put.push((*key, Cow::Owned(group.bytes())))
                    }
                    Content::Row(None) | Content::Group(_) => removed.push(*key),
                }
            }
            if !put.is_empty() {
                let entries: Vec<(u64, &[u8])> = put.iter().map(|(key, bytes)| (*key, &bytes[..])).collect();
                self.connection.put_all(table.cache, Some(self.id), &entries)?;
            }
            if !removed.is_empty() {
                self.connection.remove_all(table.cache, Some(self.id), &removed)?;
            }
        }
        Ok(())
    }

    /// From here on nothing goes on.
    fn fail<T>(&mut self, failed: Failed) -> Result<T, Abort> {
        self.failed = Some(failed);
        Err(self.abort().expect("it has failed"))
    }

    fn abort(&self) -> Option<Abort> {
        self.failed.as_ref().map(|failed| match failed {
            Failed::Aborted(reason) => Abort(*reason),
            // It ends the run, and is not counted.
            Failed::Otherwise(_) => Abort(AbortReason::Conflict),
        })
    }

    /// Sees to it that these entries are known. Sorted.
    fn ask_for(&mut self, places: &[Place]) -> Result<(), Abort> {
        if let Some(abort) = self.abort() {
            return Err(abort);
        }
        for of_table in places.chunk_by(|one, other| one.0 == other.0) {
            let (id, table) = (of_table[0].0, &self.tables[usize::from(of_table[0].0)]);
            let keys = of_table.iter().filter(|place| !self.entries.contains_key(place));
            let keys: Vec<u64> = keys.map(|(_, key)| *key).collect();
            if keys.is_empty() {
                continue;
            }
            let is_grouped = table.is_grouped();
            for key in &keys {
                let content = if is_grouped { Content::Group(Group::default()) } else { Content::Row(None) };
                self.entries.insert((id, *key), Entry { content, changed: false });
            }
            let (entries, mut broken) = (&mut self.entries, false);
            let got = self.connection.get_all(table.cache, Some(self.id), &keys, |key, bytes| {
                let content = match is_grouped {
                    false => Some(Content::Row(Some(row(bytes)))),
                    true => Group::of(bytes).map(Content::Group),
                };
                match (content, entries.get_mut(&(id, key))) {
                    (Some(content), Some(entry)) => entry.content = content,
                    _ => broken = true,
                }
            });
            match got {
                Err(failed) => return self.fail(failed),
                Ok(()) if broken => {
                    let why = format!("a node sent what is no entry of table '{}'", table.description.name);
                    return self.fail(Failed::Otherwise(why));
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Shows the row of a key, if there is one.
    fn row<R>(
        &mut self,
        table: TableId,
        key: Key,
        purpose: Use,
        touch: impl FnOnce(&mut Option<Row>) -> R,
    ) -> Result<R, Abort> {
        let is_grouped = self.tables[table.index()].is_grouped();
        let place = match is_grouped {
            false => (table.0, key.0),
            true => (table.0, Group::key_of(&self.names[key.0 as usize].1)),
        };
        self.ask_for(&[place])?;
        let entry = self.entries.get_mut(&place).expect("asked for");
        let touch = |row: &mut Option<Row>| {
            let was_there = row.is_some();
            let result = touch(row);
            (result, purpose == Use::Change && (was_there || row.is_some()))
        };
        let (result, changed) = match &mut entry.content {
            Content::Row(row) => touch(row),
            Content::Group(group) => {
                let name = &self.names[key.0 as usize].1;
                let mut row = group.0.remove(name);
                let result = touch(&mut row);
                if let Some(row) = row {
                    group.0.insert(name.clone(), row);
                }
                result
            }
        };
        entry.changed |= changed;
        Ok(result)
    }

    /// As [`Self::row`], of bytes of a row that is there.
    fn bytes<R>(
        &mut self,
        table: TableId,
        key: Key,
        (span, purpose): (Span, Use),
        touch: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<Option<R>, Abort> {
        let name = self.tables[table.index()].description.name;
        self.row(table, key, purpose, |row| {
            row.as_mut().map(|row| {
                let bytes = row.get_mut(span.start()..span.end());
                touch(bytes.unwrap_or_else(|| panic!("table '{name}': {span:?} is not within a row")))
            })
        })
    }

    /// The keys of a scan's rows in order, of a table whose keys are byte strings, with the rows.
    fn scan_group(&mut self, scan: &Scan<'_>) -> Result<Vec<(Vec<u8>, Row)>, Abort> {
        let name = self.tables[scan.table.index()].description.name;
        let (first, last) = scan.ends();
        assert!(
            first == last && !matches!((scan.from, scan.to), (Bound::Unbounded, _) | (_, Bound::Unbounded)),
            "table '{name}': a scan from {first:?} to {last:?}; allowed: within keys that begin with the same eight bytes"
        );
        let place = (scan.table.0, first.0);
        self.ask_for(&[place])?;
        let Content::Group(group) = &self.entries[&place].content else {
            unreachable!("entries of this table are groups")
        };
        let covered = group.0.range::<[u8], _>((scan.from, scan.to));
        Ok(covered.map(|(key, row)| (key.clone(), row.clone())).collect())
    }

    /// The same of a table whose keys are numbers, while nobody changes it.
    fn scan_quiet(&mut self, scan: &Scan<'_>) -> Result<Vec<(Vec<u8>, Row)>, Abort> {
        let table = &self.tables[scan.table.index()];
        assert!(
            self.is_quiet,
            "table '{}' is scanned by transactions, and its keys are numbers: Ignite validates entries, not what is between them",
            table.description.name
        );
        let keys = match table.quiet_keys(self.connection) {
            Ok(keys) => keys,
            Err(failed) => return self.fail(failed),
        };
        let (first, last) = scan.ends();
        let (first, last) =
            (keys.partition_point(|key| *key < first.0), keys.partition_point(|key| *key <= last.0));
        let covered = keys[first..last].iter().filter(|key| scan.covers(&Key(**key).bytes()));
        let places: Vec<Place> = covered.map(|key| (scan.table.0, *key)).collect();
        self.ask_for(&places)?;
        let found = places.iter().filter_map(|place| match &self.entries[place].content {
            Content::Row(row) => Some((Key(place.1).bytes().to_vec(), row.clone()?)),
            Content::Group(_) => unreachable!("entries of this table are rows"),
        });
        Ok(found.collect())
    }
}

fn presence<T>(found: Option<T>) -> Presence {
    if found.is_some() { Presence::Present } else { Presence::Missing }
}

impl Transaction for IgniteTransaction<'_> {
    fn read(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.bytes(table, key, (span, Use::Look), |bytes| see(bytes)).map(presence)
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        self.bytes(table, key, (span, Use::Change), change).map(presence)
    }

    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        let span = Span::new(offset, bytes.len());
        self.bytes(table, key, (span, Use::Change), |row| row.copy_from_slice(bytes)).map(presence)
    }

    fn merge(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        merge: Merge,
        argument: &[u8],
    ) -> Result<Presence, Abort> {
        let mut argument = argument.to_vec();
        let merged = self.bytes(table, key, (span, Use::Change), |bytes| merge(bytes, &mut argument))?;
        if merged.is_some() {
            self.receipts.0.push(argument);
        }
        Ok(presence(merged))
    }

    fn read_whole(
        &mut self,
        table: TableId,
        key: Key,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.row(table, key, Use::Look, |row| row.as_deref().map(see)).map(presence)
    }

    fn replace(&mut self, table: TableId, key: Key, new: &[u8]) -> Result<Presence, Abort> {
        self.row(table, key, Use::Change, |found| found.as_mut().map(|found| *found = row(new))).map(presence)
    }

    fn insert(&mut self, table: TableId, key: Key, new: &[u8]) -> Result<Insertion, Abort> {
        let is_there = self.row(table, key, Use::Look, |found| found.is_some())?;
        if is_there {
            return Ok(Insertion::Exists);
        }
        self.row(table, key, Use::Change, |found| *found = Some(row(new)))?;
        Ok(Insertion::Inserted)
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        self.row(table, key, Use::Change, Option::take).map(presence)
    }

    fn key(&mut self, table: TableId, bytes: &[u8]) -> Key {
        let is_it = |(of, name): &(TableId, Vec<u8>)| *of == table && name == bytes;
        let known = self.names.iter().position(is_it);
        Key(known.unwrap_or_else(|| {
            assert!(self.tables[table.index()].is_grouped(), "a table whose keys are numbers");
            self.names.push((table, bytes.to_vec()));
            self.names.len() - 1
        }) as u64)
    }

    fn scan(&mut self, scan: &Scan<'_>, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        if scan.is_empty() {
            return Ok(0);
        }
        let table = &self.tables[scan.table.index()];
        let is_varying = table.description.varies();
        let mut rows = if table.is_grouped() { self.scan_group(scan)? } else { self.scan_quiet(scan)? };
        if scan.direction == Direction::Backward {
            rows.reverse();
        }
        rows.truncate(scan.limit);
        for (key, row) in &rows {
            see(key, if is_varying { row } else { &row[scan.span.start()..scan.span.end()] });
        }
        Ok(rows.len())
    }
}
