//! A transaction of a toy engine: reads note what they saw, writes wait for the commit, which validates. Or,
//! by other rules, writes go in place.

use super::{Place, Row, Rows, Rules, Shared, Validation, World};
use contract::{
    Abort, AbortReason, Direction, Insertion, Key, Merge, Presence, Receipts, Scan, Span, TableId,
    Transaction,
};
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::ops::Bound;
use std::sync::MutexGuard;

struct PendingMerge {
    span: Span,
    merge: Merge,
    argument: usize,
}

/// What a transaction did to one key, until it commits.
#[derive(Default)]
struct Own {
    /// The key as the transaction sees it, once it had to look; `Some(None)` after a delete.
    row: Option<Option<Vec<u8>>>,
    /// Blind changes since.
    pending: Vec<PendingMerge>,
}

pub struct ToyTransaction<'a, R> {
    shared: &'a Shared,
    worker: usize,
    stale: bool,
    snapshot: Option<Rows>,
    pub poisoned: bool,
    /// Keys that it looked at, with the tid that it saw and whether there was a row.
    looked: Vec<(Place, u64, bool)>,
    /// Keys of which it only learnt whether there is a row.
    felt: Vec<(Place, bool)>,
    /// What it scanned: from where to where, and the keys that had rows there, its own changes left out.
    scanned: Vec<(Bound<Place>, Bound<Place>, Vec<Place>)>,
    /// Keys that are byte strings, by the numbers that it gave, less the first.
    numbered: Vec<Vec<u8>>,
    own: BTreeMap<Place, Own>,
    arguments: Vec<Vec<u8>>,
    undo: Vec<(Place, Option<Row>)>,
    rules: PhantomData<R>,
}

impl<R> Receipts for ToyTransaction<'_, R> {
    fn argument(&self, nth: usize) -> &[u8] {
        &self.arguments[nth]
    }
}

impl<'a, R: Rules> ToyTransaction<'a, R> {
    pub fn new(shared: &'a Shared, worker: usize, may_be_stale: bool) -> Self {
        let mut world = shared.world.lock().expect("no worker panicked");
        let stale = may_be_stale && world.random.u8(0..3) == 0;
        let snapshot = if stale { world.past.front().cloned() } else { None };
        drop(world);
        ToyTransaction {
            shared,
            worker,
            stale,
            snapshot,
            poisoned: false,
            looked: Vec::new(),
            felt: Vec::new(),
            scanned: Vec::new(),
            numbered: Vec::new(),
            own: BTreeMap::new(),
            arguments: Vec::new(),
            undo: Vec::new(),
            rules: PhantomData,
        }
    }

    /// The first number that it gives; workers have different ones.
    fn first_number(&self) -> usize {
        1000 * (self.worker + 1)
    }

    fn place(&self, table: TableId, key: Key) -> Place {
        let bytes = if self.shared.strings[table.index()] {
            self.numbered[key.0 as usize - self.first_number()].clone()
        } else {
            key.bytes().to_vec()
        };
        (table, bytes)
    }

    fn abort<T>(&mut self, reason: AbortReason) -> Result<T, Abort> {
        self.poisoned = !R::FORGETS_POISON;
        Err(Abort(reason))
    }

    /// Every operation begins so: somebody else may come before it, and it may abort for no reason.
    fn begin(&mut self) -> Result<MutexGuard<'a, World>, Abort> {
        if self.poisoned {
            return self.abort(AbortReason::Conflict);
        }
        let mut world = if R::INTERLEAVED {
            self.shared.pass(self.worker)
        } else {
            self.shared.world.lock().expect("no worker panicked")
        };
        if world.random.u8(0..50) == 0 {
            drop(world);
            return self.abort(AbortReason::Deadlock);
        }
        Ok(world)
    }

    fn refuse_if_stale(&mut self) -> Result<(), Abort> {
        if self.stale && self.snapshot.is_some() { self.abort(AbortReason::Conflict) } else { Ok(()) }
    }

    /// The key as the transaction sees it, looking outside if it must.
    fn look(&mut self, world: &World, place: Place) -> Option<Vec<u8>> {
        if self.own.get(&place).is_none_or(|own| own.row.is_none()) {
            let rows = self.snapshot.as_ref().unwrap_or(&world.rows);
            let row = rows.get(&place).cloned().unwrap_or_default();
            self.looked.push((place.clone(), row.tid, row.bytes.is_some()));
            if !self.own.contains_key(&place) {
                return row.bytes;
            }
            let own = self.own.get_mut(&place).expect("asked above");
            let mut bytes = row.bytes;
            for pending in own.pending.drain(..) {
                apply(&pending, &mut bytes, &mut self.arguments);
            }
            own.row = Some(bytes);
        }
        self.own[&place].row.clone().expect("looked above")
    }

    /// Whether the key has a row, looking no closer.
    fn feel(&mut self, world: &World, place: Place) -> bool {
        match self.own.get(&place) {
            Some(Own { row: Some(row), .. }) => row.is_some(),
            Some(_) => true,
            None => {
                let found = world.rows.get(&place).is_some_and(|row| row.bytes.is_some());
                self.felt.push((place.clone(), found));
                found
            }
        }
    }

    fn put(&mut self, world: &mut World, place: Place, row: Option<Vec<u8>>) {
        if R::IN_PLACE {
            self.undo.push((place.clone(), world.rows.get(&place).cloned()));
            world.last_tid += 1;
            let tid = world.last_tid;
            world.rows.insert(place, Row { bytes: row, tid });
        } else {
            self.own.entry(place).or_default().row = Some(row);
        }
    }

    fn blind(&mut self, place: Place, span: Span, merge: Merge, argument: &[u8]) -> Result<Presence, Abort> {
        let mut world = self.begin()?;
        self.refuse_if_stale()?;
        if !self.feel(&world, place.clone()) {
            return Ok(Presence::Missing);
        }
        self.arguments.push(argument.to_vec());
        let pending = PendingMerge { span, merge, argument: self.arguments.len() - 1 };
        if R::IN_PLACE {
            let mut bytes = world.rows[&place].bytes.clone();
            apply(&pending, &mut bytes, &mut self.arguments);
            self.put(&mut world, place, bytes);
        } else {
            let own = self.own.entry(place).or_default();
            match &mut own.row {
                Some(row) => apply(&pending, row, &mut self.arguments),
                None => own.pending.push(pending),
            }
        }
        Ok(Presence::Present)
    }

    fn is_valid(&self, world: &World) -> bool {
        let checked = |place: &Place, found: bool| match R::VALIDATION {
            Validation::All | Validation::AllButRanges => true,
            Validation::OwnWrites => self.own.contains_key(place),
            Validation::AllButMisses => found || self.own.contains_key(place),
            Validation::Nothing => false,
        };
        let tid = |place| world.rows.get(place).map_or(0, |row| row.tid);
        let is_there = |place| world.rows.get(place).is_some_and(|row: &Row| row.bytes.is_some());
        self.snapshot.is_some()
            || R::IN_PLACE
            || (self.looked.iter().all(|(place, seen, found)| !checked(place, *found) || tid(place) == *seen)
                && self
                    .felt
                    .iter()
                    .all(|(place, found)| !checked(place, *found) || is_there(place) == *found)
                && (R::VALIDATION != Validation::All || self.are_ranges_valid(world)))
    }

    fn are_ranges_valid(&self, world: &World) -> bool {
        self.scanned.iter().all(|(from, to, seen)| present(&world.rows, from, to) == *seen)
    }

    /// What a scan shows: the keys that have rows in a range, with its own changes and without those, in order.
    fn keys_in(&self, world: &World, from: &Bound<Place>, to: &Bound<Place>) -> (Vec<Place>, Vec<Place>) {
        let outside = present(self.snapshot.as_ref().unwrap_or(&world.rows), from, to);
        let mut keys: BTreeSet<Place> = outside.iter().cloned().collect();
        for (place, own) in self.own.range((from.clone(), to.clone())) {
            match &own.row {
                Some(Some(_)) => drop(keys.insert(place.clone())),
                Some(None) => drop(keys.remove(place)),
                None => {}
            }
        }
        (keys.into_iter().collect(), outside)
    }

    /// Whether it committed.
    pub fn commit(&mut self) -> bool {
        if self.poisoned {
            return false;
        }
        let Ok(mut world) = self.begin() else { return false };
        if !self.is_valid(&world) {
            return false;
        }
        if R::STALE {
            let now = world.rows.clone();
            world.past.push_back(now);
            if world.past.len() > 5 {
                world.past.pop_front();
            }
        }
        world.last_tid += 1;
        let tid = world.last_tid;
        for (place, own) in std::mem::take(&mut self.own) {
            if R::DROPS_WRITES && world.random.u8(0..20) == 0 {
                continue;
            }
            let mut bytes = match own.row {
                Some(row) => row,
                None => world.rows.get(&place).and_then(|row| row.bytes.clone()),
            };
            for pending in &own.pending {
                apply(pending, &mut bytes, &mut self.arguments);
            }
            world.rows.insert(place, Row { bytes, tid });
        }
        true
    }

    pub fn undo(&mut self) {
        if R::FORGETS_UNDO {
            return;
        }
        let mut world = self.shared.world.lock().expect("no worker panicked");
        for (place, before) in self.undo.drain(..).rev() {
            match before {
                Some(row) => world.rows.insert(place, row),
                None => world.rows.remove(&place),
            };
        }
    }
}

/// The keys that have rows between two ends.
fn present(rows: &Rows, from: &Bound<Place>, to: &Bound<Place>) -> Vec<Place> {
    let there = rows.range((from.clone(), to.clone())).filter(|(_, row)| row.bytes.is_some());
    there.map(|(place, _)| place.clone()).collect()
}

/// The ends of a scan as places: a table's first key is the empty one, and behind its last is the next table.
fn ends(scan: &Scan<'_>) -> (Bound<Place>, Bound<Place>) {
    let place = |bytes: &[u8]| (scan.table, bytes.to_vec());
    let from = match scan.from {
        Bound::Unbounded => Bound::Included((scan.table, Vec::new())),
        end => end.map(place),
    };
    let to = match scan.to {
        Bound::Unbounded => Bound::Excluded((TableId(scan.table.0 + 1), Vec::new())),
        end => end.map(place),
    };
    (from, to)
}

fn apply(pending: &PendingMerge, bytes: &mut Option<Vec<u8>>, arguments: &mut [Vec<u8>]) {
    if let Some(bytes) = bytes {
        (pending.merge)(
            &mut bytes[pending.span.start()..pending.span.end()],
            &mut arguments[pending.argument],
        );
    }
}

impl<R: Rules> ToyTransaction<'_, R> {
    /// Replaces a row by another one, or by none.
    fn put_if_there(&mut self, table: TableId, key: Key, row: Option<Vec<u8>>) -> Result<Presence, Abort> {
        let mut world = self.begin()?;
        self.refuse_if_stale()?;
        let place = self.place(table, key);
        if !self.feel(&world, place.clone()) {
            return Ok(Presence::Missing);
        }
        if let Some(own) = self.own.get_mut(&place) {
            own.pending.clear();
        }
        self.put(&mut world, place, row);
        Ok(Presence::Present)
    }
}

fn overwrite(current: &mut [u8], argument: &mut [u8]) {
    current.copy_from_slice(argument);
}

impl<R: Rules> Transaction for ToyTransaction<'_, R> {
    fn read(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let world = self.begin()?;
        let place = self.place(table, key);
        Ok(match self.look(&world, place) {
            Some(bytes) => {
                see(&bytes[span.start()..span.end()]);
                Presence::Present
            }
            None => Presence::Missing,
        })
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        let mut world = self.begin()?;
        self.refuse_if_stale()?;
        let place = self.place(table, key);
        let Some(mut bytes) = self.look(&world, place.clone()) else { return Ok(Presence::Missing) };
        change(&mut bytes[span.start()..span.end()]);
        self.put(&mut world, place, Some(bytes));
        Ok(Presence::Present)
    }

    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        self.blind(self.place(table, key), Span::new(offset, bytes.len()), overwrite, bytes)
    }

    fn merge(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        merge: Merge,
        argument: &[u8],
    ) -> Result<Presence, Abort> {
        self.blind(self.place(table, key), span, merge, argument)
    }

    fn read_whole(
        &mut self,
        table: TableId,
        key: Key,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let world = self.begin()?;
        let place = self.place(table, key);
        Ok(match self.look(&world, place) {
            Some(bytes) => {
                see(&bytes);
                Presence::Present
            }
            None => Presence::Missing,
        })
    }

    fn replace(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Presence, Abort> {
        self.put_if_there(table, key, Some(row.to_vec()))
    }

    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        let mut world = self.begin()?;
        self.refuse_if_stale()?;
        let place = self.place(table, key);
        if self.feel(&world, place.clone()) {
            return Ok(Insertion::Exists);
        }
        self.put(&mut world, place, Some(row.to_vec()));
        Ok(Insertion::Inserted)
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        self.put_if_there(table, key, None)
    }

    fn key(&mut self, table: TableId, bytes: &[u8]) -> Key {
        assert!(self.shared.strings[table.index()], "the keys of {table:?} are numbers");
        let known = self.numbered.iter().position(|known| known == bytes);
        let position = known.unwrap_or_else(|| {
            self.numbered.push(bytes.to_vec());
            self.numbered.len() - 1
        });
        Key((self.first_number() + position) as u64)
    }

    fn scan(&mut self, scan: &Scan<'_>, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        let mut world = self.begin()?;
        if scan.is_empty() || scan.limit == 0 {
            return Ok(0);
        }
        let (mut from, mut to) = ends(scan);
        let (mut keys, _) = self.keys_in(&world, &from, &to);
        if scan.direction == Direction::Backward {
            keys.reverse();
        }
        if keys.len() >= scan.limit {
            keys.truncate(scan.limit);
            let end = match scan.direction {
                Direction::Forward => &mut to,
                Direction::Backward => &mut from,
            };
            *end = Bound::Included(keys[scan.limit - 1].clone());
        }
        let (_, outside) = self.keys_in(&world, &from, &to);
        self.scanned.push((from, to, outside));
        if R::STUMBLES && keys.len() > 1 && world.random.u8(0..20) == 0 {
            let last = keys.len() - 1;
            keys[last] = keys[last - 1].clone();
        }
        for place in &keys {
            let row = self.look(&world, place.clone()).expect("a key of a scan has a row");
            see(&place.1, &row[scan.span.start()..scan.span.end()]);
        }
        Ok(keys.len())
    }
}
