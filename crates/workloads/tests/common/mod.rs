//! A store of one transaction at a time that writes down what is touched.

#![allow(dead_code)] // Each test binary uses its part.

use contract::{
    Abort, Access, Client, Completion, Insertion, Key, Merge, Outcome, Plan, Presence, Procedure, Receipts,
    Seat, Span, TableId, Transaction, Workload,
};
use std::collections::HashMap;
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

/// A workload's tables, loaded row by row as they are touched.
pub struct Store<'a, W> {
    workload: &'a W,
    /// Rows in words, so that they are aligned to eight bytes.
    rows: HashMap<(TableId, Key), Option<Vec<u64>>>,
    pub log: Vec<Touched>,
}

impl<'a, W: Workload> Store<'a, W> {
    pub fn new(workload: &'a W) -> Self {
        Store { workload, rows: HashMap::new(), log: vec![] }
    }

    /// The row's bytes; `None` if it was never loaded or was deleted.
    pub fn row(&mut self, table: TableId, key: Key) -> Option<&mut [u8]> {
        let description = self.workload.tables().swap_remove(table.index());
        let row = self.rows.entry((table, key)).or_insert_with(|| {
            (key.0 < description.rows).then(|| {
                let mut row = vec![0u64; description.row_bytes.div_ceil(8)];
                self.workload.fill(table, key, &mut row.as_mut_bytes()[..description.row_bytes]);
                row
            })
        });
        row.as_mut().map(|row| &mut row.as_mut_bytes()[..description.row_bytes])
    }

    /// Runs one transaction of `client` to its end, as an engine does.
    pub fn run(&mut self, client: &mut W::Client) {
        let procedure = client.next();
        let outcome = procedure.run(self).expect("the store never aborts");
        let completion = Completion { outcome, began_ns: 0, ended_ns: 1, attempts: 1, receipts: &NoReceipts };
        client.finished(procedure, &completion);
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

    fn insert(&mut self, _: TableId, _: Key, _: &[u8]) -> Result<Insertion, Abort> {
        unreachable!("these workloads do not insert")
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        Ok(self.rows.insert((table, key), None).map_or(Presence::Missing, |_| Presence::Present))
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
