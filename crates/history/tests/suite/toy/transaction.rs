//! A transaction of a toy engine: reads note what they saw, writes wait for the commit, which validates. Or,
//! by other rules, writes go in place.

use super::{Place, Row, Rows, Rules, Shared, Validation, World};
use contract::{Abort, AbortReason, Insertion, Key, Merge, Presence, Receipts, Span, TableId, Transaction};
use std::collections::BTreeMap;
use std::marker::PhantomData;
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
            own: BTreeMap::new(),
            arguments: Vec::new(),
            undo: Vec::new(),
            rules: PhantomData,
        }
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
            self.looked.push((place, row.tid, row.bytes.is_some()));
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
                self.felt.push((place, found));
                found
            }
        }
    }

    fn put(&mut self, world: &mut World, place: Place, row: Option<Vec<u8>>) {
        if R::IN_PLACE {
            self.undo.push((place, world.rows.get(&place).cloned()));
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
        if !self.feel(&world, place) {
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
            Validation::All => true,
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
                    .all(|(place, found)| !checked(place, *found) || is_there(place) == *found))
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

fn apply(pending: &PendingMerge, bytes: &mut Option<Vec<u8>>, arguments: &mut [Vec<u8>]) {
    if let Some(bytes) = bytes {
        (pending.merge)(
            &mut bytes[pending.span.start()..pending.span.end()],
            &mut arguments[pending.argument],
        );
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
        Ok(match self.look(&world, (table, key)) {
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
        let Some(mut bytes) = self.look(&world, (table, key)) else { return Ok(Presence::Missing) };
        change(&mut bytes[span.start()..span.end()]);
        self.put(&mut world, (table, key), Some(bytes));
        Ok(Presence::Present)
    }

    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        self.blind((table, key), Span::new(offset, bytes.len()), overwrite, bytes)
    }

    fn merge(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        merge: Merge,
        argument: &[u8],
    ) -> Result<Presence, Abort> {
        self.blind((table, key), span, merge, argument)
    }

    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        let mut world = self.begin()?;
        self.refuse_if_stale()?;
        if self.feel(&world, (table, key)) {
            return Ok(Insertion::Exists);
        }
        self.put(&mut world, (table, key), Some(row.to_vec()));
        Ok(Insertion::Inserted)
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        let mut world = self.begin()?;
        self.refuse_if_stale()?;
        if !self.feel(&world, (table, key)) {
            return Ok(Presence::Missing);
        }
        if let Some(own) = self.own.get_mut(&(table, key)) {
            own.pending.clear();
        }
        self.put(&mut world, (table, key), None);
        Ok(Presence::Present)
    }
}
