//! A store of one transaction at a time that writes down what is touched.

#![allow(dead_code)] // Each test binary uses its part.

use contract::{
    Abort, Access, Client, Completion, Insertion, Key, Merge, Outcome, Plan, Presence, Procedure, Receipts,
    Seat, Span, TableDescription, TableId, Transaction, Workload,
};
use std::collections::{HashMap, HashSet};
use workloads::Parameters;
use zerocopy::IntoBytes;

pub fn parameters(given: &[(&str, &str)]) -> Parameters {
    given.iter().copied().collect()
}

pub fn seat(worker: usize) -> Seat {
    Seat::new(worker, 4, 42)
}

/// What was done to a row: table, key, bytes, access.
pub type Touched = (u16, u64, (usize, usize), Access);

/// A table and a key.
type Place = (TableId, Key);
/// A row's words, if there is one.
type Row = Option<Vec<u64>>;

/// A workload's tables, loaded row by row as they are touched, or whole.
pub struct Store<'a, W> {
    workload: &'a W,
    tables: Vec<TableDescription>,
    /// Whether keys are rows that are loaded when they are first touched; otherwise all rows are there.
    lazy: bool,
    /// Rows in words, so that they are aligned to eight bytes.
    rows: HashMap<Place, Row>,
    /// What rows were before the transaction under way changed them, oldest first.
    undo: Vec<(Place, Row)>,
    pub log: Vec<Touched>,
}

impl<'a, W: Workload> Store<'a, W> {
    pub fn new(workload: &'a W) -> Self {
        Store {
            workload,
            tables: workload.tables(),
            lazy: true,
            rows: HashMap::new(),
            undo: vec![],
            log: vec![],
        }
    }

    /// With every row loaded, whatever its key.
    pub fn whole(workload: &'a W) -> Self {
        let mut store = Store { lazy: false, ..Store::new(workload) };
        for (table, description) in workload.tables().iter().enumerate() {
            let table = TableId(table as u16);
            for row in 0..description.rows {
                let key = workload.loaded_key(table, row);
                let row = store.loaded(table, key);
                assert!(store.rows.insert((table, key), Some(row)).is_none(), "{key:?} of {table:?} twice");
            }
        }
        store
    }

    fn loaded(&self, table: TableId, key: Key) -> Vec<u64> {
        let bytes = self.tables[table.index()].row_bytes;
        let mut row = vec![0u64; bytes.div_ceil(8)];
        self.workload.fill(table, key, &mut row.as_mut_bytes()[..bytes]);
        row
    }

    /// The row's bytes; `None` if it was never loaded or was deleted.
    pub fn row(&mut self, table: TableId, key: Key) -> Option<&mut [u8]> {
        let bytes = self.tables[table.index()].row_bytes;
        if self.lazy && !self.rows.contains_key(&(table, key)) {
            let row = (key.0 < self.tables[table.index()].rows).then(|| self.loaded(table, key));
            self.rows.insert((table, key), row);
        }
        self.rows.get_mut(&(table, key))?.as_mut().map(|row| &mut row.as_mut_bytes()[..bytes])
    }

    /// The keys that a table holds, in no order.
    pub fn keys(&self, table: TableId) -> impl Iterator<Item = Key> {
        self.rows.iter().filter(move |((of, _), row)| *of == table && row.is_some()).map(|((_, key), _)| *key)
    }

    /// Runs one transaction of `client` to its end, as an engine does.
    pub fn run(&mut self, client: &mut W::Client) -> Outcome {
        let procedure = client.next();
        let outcome = self.attempt(&procedure);
        let completion = Completion { outcome, began_ns: 0, ended_ns: 1, attempts: 1, receipts: &NoReceipts };
        client.finished(procedure, &completion);
        outcome
    }

    /// Runs `procedure`, and undoes it if it says so.
    pub fn attempt(&mut self, procedure: &impl Procedure) -> Outcome {
        self.undo.clear();
        let outcome = procedure.run(self).expect("the store never aborts");
        if outcome == Outcome::Rollback {
            while let Some((key, row)) = self.undo.pop() {
                self.rows.insert(key, row);
            }
        }
        outcome
    }

    fn remember(&mut self, table: TableId, key: Key) {
        let row = self.row(table, key).is_some().then(|| self.rows[&(table, key)].clone()).flatten();
        self.undo.push(((table, key), row));
    }

    fn touch(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        access: Access,
        see: impl FnOnce(&mut [u8]),
    ) -> Result<Presence, Abort> {
        self.log.push((table.0, key.0, (span.start(), span.end()), access));
        if access == Access::Write {
            self.remember(table, key);
        }
        Ok(match self.row(table, key) {
            None => Presence::Missing,
            Some(row) => {
                see(&mut row[span.start()..span.end()]);
                Presence::Present
            }
        })
    }
}

impl<W: Workload> Transaction for Store<'_, W> {
    fn read(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.touch(table, key, span, Access::Read, |bytes| see(bytes))
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        self.touch(table, key, span, Access::Write, change)
    }

    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        self.touch(table, key, Span::new(offset, bytes.len()), Access::Write, |row| {
            row.copy_from_slice(bytes)
        })
    }

    fn merge(&mut self, _: TableId, _: Key, _: Span, _: Merge, _: &[u8]) -> Result<Presence, Abort> {
        unreachable!("these workloads do not merge")
    }

    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        assert_eq!(row.len(), self.tables[table.index()].row_bytes, "rows are inserted whole");
        self.log.push((table.0, key.0, (0, row.len()), Access::Structure));
        if self.row(table, key).is_some() {
            return Ok(Insertion::Exists);
        }
        self.remember(table, key);
        let mut words = vec![0u64; row.len().div_ceil(8)];
        words.as_mut_bytes()[..row.len()].copy_from_slice(row);
        self.rows.insert((table, key), Some(words));
        Ok(Insertion::Inserted)
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        let bytes = self.tables[table.index()].row_bytes;
        self.log.push((table.0, key.0, (0, bytes), Access::Structure));
        if self.row(table, key).is_none() {
            return Ok(Presence::Missing);
        }
        self.remember(table, key);
        self.rows.insert((table, key), None);
        Ok(Presence::Present)
    }
}

struct NoReceipts;

impl Receipts for NoReceipts {
    fn argument(&self, nth: usize) -> &[u8] {
        unreachable!("argument {nth} of a transaction without merges")
    }
}

/// What the next transaction of `client` plans and what it touches, of which the second is returned once both
/// agree and once a run through the trait object touches the same.
pub fn touched_as_planned<W: Workload>(workload: &W, client: &mut W::Client) -> Vec<Touched> {
    let procedure = client.next();
    let (mut store, mut plan) = (Store::new(workload), Plan::default());
    procedure.plan(&mut store, &mut plan).expect("the store never aborts");
    assert_eq!(store.log, [], "planning looks at nothing");
    let planned: Vec<Touched> = plan
        .keys()
        .iter()
        .map(|key| (key.table.0, key.key.0, (key.span.start(), key.span.end()), key.access))
        .collect();

    assert_eq!(procedure.run(&mut store), Ok(Outcome::Commit));
    assert_eq!(store.log, planned);

    let mut again = Store::new(workload);
    let erased: &mut dyn Transaction = &mut again;
    assert_eq!(procedure.run(erased), Ok(Outcome::Commit));
    assert_eq!(again.log, planned, "a retry repeats the transaction");
    planned
}

/// What `procedure` plans: tables, keys, bytes, accesses.
pub fn planned<W: Workload>(store: &mut Store<'_, W>, procedure: &impl Procedure) -> Vec<Touched> {
    let mut plan = Plan::default();
    procedure.plan(store, &mut plan).expect("the store never aborts");
    plan.keys()
        .iter()
        .map(|key| (key.table.0, key.key.0, (key.span.start(), key.span.end()), key.access))
        .collect()
}

/// Panics unless every partition that `touched` lies in is one that `planned` names, whatever the number of partitions.
pub fn assert_declared<W: Workload>(workload: &W, touched: &[Touched], planned: &[Touched]) {
    let tables = workload.tables();
    for partitions in [1, 2, 3, 8, 72] {
        let partition =
            |touched: &Touched| (tables[usize::from(touched.0)].partition)(Key(touched.1), partitions);
        let declared: HashSet<_> = planned.iter().map(partition).collect();
        for one in touched {
            assert!(
                declared.contains(&partition(one)),
                "{one:?} is in none of the partitions of {planned:?}"
            );
        }
    }
}

/// The touches of `count` transactions of the client in seat 0.
pub fn transactions<W: Workload>(workload: &W, count: usize) -> Vec<Vec<Touched>> {
    let mut client = workload.client(seat(0));
    (0..count).map(|_| touched_as_planned(workload, &mut client)).collect()
}

/// How many standard deviations `hits` of `trials` are off a share of `percent`.
pub fn deviation(hits: usize, trials: usize, percent: f64) -> f64 {
    let (trials, share) = (trials as f64, percent / 100.0);
    (hits as f64 - trials * share).abs() / (trials * share * (1.0 - share)).sqrt()
}
