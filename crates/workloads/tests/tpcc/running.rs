//! Transactions drawn, run over a store, and what they leave there.

use crate::common::Store;
use contract::{Client, Key, Seat, TableId, Transaction, TransactionExt, Workload};
use std::collections::BTreeMap;
use workloads::tpcc::inputs::{Input, NewOrderInput, PaymentInput};
use workloads::tpcc::rows::{
    Customer, District, Entry, History, NewOrder, Order, OrderLine, Stock, Warehouse,
};
use workloads::tpcc::{
    CUSTOMER, CUSTOMER_BY_NAME, DISTRICT, HISTORY, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER, ORDER_LINE, STOCK,
    Screen, Tpcc, TpccClient, TpccTransaction, WAREHOUSE,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub fn row<R: FromBytes + IntoBytes + KnownLayout + Immutable + Copy>(
    store: &mut Store<'_, Tpcc>,
    table: TableId,
    key: Key,
) -> R {
    *R::ref_from_bytes(store.row(table, key).expect("a row")).expect("of the table")
}

pub fn with_row<R: FromBytes + IntoBytes + KnownLayout + Immutable>(
    store: &mut Store<'_, Tpcc>,
    table: TableId,
    key: Key,
    change: impl FnOnce(&mut R),
) {
    assert_eq!(store.update_row(table, key, change), Ok(Some(())));
}

pub fn lose(store: &mut Store<'_, Tpcc>, table: TableId, key: Key) {
    assert_eq!(store.delete(table, key), Ok(contract::Presence::Present));
}

/// Transactions of one client, to choose from.
pub fn drawn(tpcc: &Tpcc, seed: u64) -> impl Iterator<Item = TpccTransaction> {
    let mut client = tpcc.client(Seat::new(0, 1, seed));
    std::iter::repeat_with(move || client.next())
}

pub fn new_orders(tpcc: &Tpcc) -> impl Iterator<Item = (TpccTransaction, NewOrderInput)> {
    drawn(tpcc, 3).filter_map(|transaction| match *transaction.input() {
        Input::NewOrder(input) => Some((transaction, input)),
        _ => None,
    })
}

pub fn payments(tpcc: &Tpcc) -> impl Iterator<Item = (TpccTransaction, PaymentInput)> {
    drawn(tpcc, 3).filter_map(|transaction| match *transaction.input() {
        Input::Payment(input) => Some((transaction, input)),
        _ => None,
    })
}

pub fn show(store: &mut Store<'_, Tpcc>, transaction: &TpccTransaction) -> Screen {
    store.forget();
    transaction.show(store).expect("the store never aborts")
}

/// What is in a store, table by table.
pub fn contents(store: &Store<'_, Tpcc>) -> Vec<BTreeMap<Vec<u8>, Vec<u8>>> {
    fn of<R: FromBytes + IntoBytes + KnownLayout + Immutable + 'static>(
        store: &Store<'_, Tpcc>,
        table: TableId,
    ) -> BTreeMap<Vec<u8>, Vec<u8>> {
        store.rows_of::<R>(table).map(|(key, row)| (key.to_vec(), row.as_bytes().to_vec())).collect()
    }
    vec![
        of::<Warehouse>(store, WAREHOUSE),
        of::<District>(store, DISTRICT),
        of::<Customer>(store, CUSTOMER),
        of::<History>(store, HISTORY),
        of::<NewOrder>(store, NEW_ORDER),
        of::<Order>(store, ORDER),
        of::<OrderLine>(store, ORDER_LINE),
        of::<Stock>(store, STOCK),
        of::<Entry>(store, CUSTOMER_BY_NAME),
        of::<Entry>(store, ORDER_BY_CUSTOMER),
    ]
}

/// So many clients in turn over a store.
pub fn ran<'a>(tpcc: &'a Tpcc, clients: usize, rounds: usize) -> (Store<'a, Tpcc>, Vec<TpccClient>) {
    let mut store = Store::whole(tpcc);
    let mut all: Vec<_> = (0..clients).map(|worker| tpcc.client(Seat::new(worker, clients, 3))).collect();
    for _ in 0..rounds {
        all.iter_mut().for_each(|client| {
            store.run(client);
        });
        store.forget();
    }
    (store, all)
}

/// Customers of a district with a last name, in the order of their first names.
pub fn namesakes(store: &Store<'_, Tpcc>, w_id: u32, d_id: u32, last: &[u8; 16]) -> Vec<Customer> {
    let is_one = |row: &&Customer| row.c_w_id == w_id && row.c_d_id == d_id && row.c_last == *last;
    let mut all: Vec<Customer> =
        store.rows_of::<Customer>(CUSTOMER).map(|(_, row)| row).filter(is_one).copied().collect();
    all.sort_by_key(|row| (row.c_first, row.c_id));
    all
}
