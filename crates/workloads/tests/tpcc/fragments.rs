//! Transactions in fragments: where other warehouses' rows are out of reach, a fragment does to its own what the whole transaction does to them.

use crate::common::Store;
use crate::running::{contents, drawn};
use crate::tpcc;
use contract::{
    Abort, Client, Insertion, Key, Merge, PartitionId, Presence, Procedure, Scan, Seat, Span, TableId,
    Transaction, Workload,
};
use std::collections::BTreeMap;
use workloads::tpcc::inputs::{Input, Who};
use workloads::tpcc::{
    CUSTOMER, CUSTOMER_BY_NAME, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER, ORDER_LINE,
    STOCK, Tpcc, WAREHOUSE,
};
use zerocopy::IntoBytes;

const WAREHOUSES: u32 = 2;

/// What a fragment sees of a store, as an engine shows it: of other partitions zeros, and no rows.
struct Part<'s, 'a> {
    store: &'s mut Store<'a, Tpcc>,
    tpcc: &'a Tpcc,
    here: PartitionId,
}

fn partition(tpcc: &Tpcc, table: TableId, key: Key) -> PartitionId {
    tpcc.tables()[table.index()].partition.of(key, WAREHOUSES)
}

impl Part<'_, '_> {
    fn is_here(&self, table: TableId, key: Key) -> bool {
        // Only scans name byte strings, and those say where they stay.
        partition(self.tpcc, table, key) == self.here
    }
}

impl Transaction for Part<'_, '_> {
    fn read(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        if self.is_here(table, key) {
            return self.store.read(table, key, span, see);
        }
        see(&ZEROS.as_bytes()[..span.length()]);
        Ok(Presence::Present)
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        if self.is_here(table, key) {
            return self.store.update(table, key, span, change);
        }
        change(&mut ZEROS.clone().as_mut_bytes()[..span.length()]);
        Ok(Presence::Present)
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
        let _ = self.read(table, key, shown, see)?;
        self.update(table, key, span, change)
    }

    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        match self.is_here(table, key) {
            true => self.store.write(table, key, offset, bytes),
            false => Ok(Presence::Present),
        }
    }

    fn merge(&mut self, _: TableId, _: Key, _: Span, _: Merge, _: &[u8]) -> Result<Presence, Abort> {
        unreachable!("TPC-C does not merge")
    }

    fn read_whole(&mut self, _: TableId, _: Key, _: &mut dyn FnMut(&[u8])) -> Result<Presence, Abort> {
        unreachable!("TPC-C's rows have one length")
    }

    fn replace(&mut self, _: TableId, _: Key, _: &[u8]) -> Result<Presence, Abort> {
        unreachable!("TPC-C replaces no row")
    }

    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        match self.is_here(table, key) {
            true => self.store.insert(table, key, row),
            false => Ok(Insertion::Inserted),
        }
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        match self.is_here(table, key) {
            true => self.store.delete(table, key),
            false => Ok(Presence::Present),
        }
    }

    fn key(&mut self, table: TableId, bytes: &[u8]) -> Key {
        self.store.key(table, bytes)
    }

    fn scan(&mut self, scan: &Scan<'_>, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        let within = scan.within.expect("TPC-C scans stay in a partition");
        match self.is_here(scan.table, within) {
            true => self.store.scan(scan, see),
            false => Ok(0),
        }
    }
}

/// Zeros, aligned as rows are, and more than any has bytes.
const ZEROS: [u64; 128] = [0; 128];

/// What is in a store of a partition, table by table.
fn contents_of(tpcc: &Tpcc, store: &Store<'_, Tpcc>, here: PartitionId) -> Vec<Vec<(Vec<u8>, Vec<u8>)>> {
    let tables = [
        WAREHOUSE,
        DISTRICT,
        CUSTOMER,
        HISTORY,
        NEW_ORDER,
        ORDER,
        ORDER_LINE,
        STOCK,
        CUSTOMER_BY_NAME,
        ORDER_BY_CUSTOMER,
    ];
    let all = contents(store).into_iter().zip(tables);
    let of = |(rows, table): (BTreeMap<Vec<u8>, Vec<u8>>, TableId)| {
        let is_here = |(key, _): &(Vec<u8>, Vec<u8>)| partition(tpcc, table, Key::prefix_of(key)) == here;
        rows.into_iter().filter(is_here).collect()
    };
    all.map(of).collect()
}

#[test]
fn a_fragment_does_to_its_warehouse_what_the_whole_does() {
    let tpcc = tpcc(&[
        ("warehouses", "2"),
        ("items", "50"),
        ("customers", "20"),
        ("remote-payments", "60"),
        ("remote-items", "20"),
    ]);
    let (mut new_orders, mut by_id, mut by_name) = (0, 0, 0);
    for (number, transaction) in drawn(&tpcc, 3).enumerate().take(3_000) {
        let mut touched = Vec::new();
        if !transaction.runs_in_fragments(&mut |table, key| {
            if table != ITEM {
                touched.push(partition(&tpcc, table, key));
            }
        }) {
            continue;
        }
        let (table, key) = transaction.home_of_fragments().expect("a warehouse");
        let home = partition(&tpcc, table, key);
        let Some(elsewhere) = touched.iter().find(|other| **other != home) else { continue };
        let count = match transaction.input() {
            Input::NewOrder(_) => &mut new_orders,
            Input::Payment(payment) => match payment.who {
                Who::Id(_) => &mut by_id,
                Who::LastName(_) => &mut by_name,
            },
            other => panic!("{other:?} runs in fragments"),
        };
        if *count == 8 {
            continue;
        }
        *count += 1;
        let (mut whole, mut parts) = (Store::whole(&tpcc), Store::whole(&tpcc));
        let loaded = contents_of(&tpcc, &parts, home);
        whole.begin();
        let _ = transaction.run(&mut whole).expect("the store never aborts");
        let mut bytes = Vec::new();
        transaction.encode(&mut bytes);
        let twin = tpcc.client(Seat::new(1, 2, 4)).decode(&bytes).expect("encoded just now");
        assert_eq!(twin.input(), transaction.input());
        parts.begin();
        let mut part = Part { store: &mut parts, tpcc: &tpcc, here: *elsewhere };
        let _ = twin.run(&mut part).expect("the store never aborts");
        let [done, wanted] = [&parts, &whole].map(|store| contents_of(&tpcc, store, *elsewhere));
        assert!(done == wanted, "transaction {number}: {:?}", transaction.input());
        assert!(wanted != contents_of(&tpcc, &Store::whole(&tpcc), *elsewhere), "it changes something there");
        assert!(contents_of(&tpcc, &parts, home) == loaded, "{number} reached beyond its partition");
    }
    assert_eq!((new_orders, by_id, by_name), (8, 8, 8));
}
