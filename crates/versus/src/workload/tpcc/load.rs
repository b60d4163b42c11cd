//! The tables as they are at first: clause 4.3.3, without orders, which neither transaction reads.

use super::super::load_rows;
use super::Tpcc;
use super::rows::*;
use crate::store::{Access, Failed, Session, Store};
use fastrand::Rng;

/// What each district has got at first; a warehouse has got what its districts have.
pub const DISTRICT_YTD: u64 = 3_000_000;

/// Makes the tables.
pub fn create<S: Store>(scale: &Tpcc, store: &mut S) -> Result<(), Failed> {
    let &Tpcc { warehouses, items, customers } = scale;
    let districts = warehouses * DISTRICTS;
    store.create(WAREHOUSE, Access::ByKey, warehouses)?;
    store.create(DISTRICT, Access::ByKey, districts)?;
    store.create(CUSTOMER, Access::ByKey, districts * customers)?;
    store.create(NAMESAKE, Access::InOrder, districts * customers)?;
    store.create(HISTORY, Access::ByKey, districts * customers)?;
    store.create(ITEM, Access::ByKey, items)?;
    store.create(STOCK, Access::ByKey, warehouses * items)?;
    store.create(ORDER, Access::InOrder, districts * customers)?;
    store.create(NEW_ORDER, Access::InOrder, districts * customers)?;
    store.create(ORDER_LINE, Access::InOrder, districts * customers * 10)
}

/// A number of a row's own.
fn drawn(number: u64) -> Rng {
    Rng::with_seed(number)
}

/// Fills them.
pub fn load<S: Session>(scale: &Tpcc, session: &mut S) -> Result<(), Failed> {
    let &Tpcc { warehouses, items, customers } = scale;
    let districts = warehouses * DISTRICTS;
    load_rows(session, WAREHOUSE, warehouses, |number| {
        let tax = drawn(number).u64(..=2_000);
        (number + 1, Warehouse { ytd: DISTRICTS * DISTRICT_YTD, tax, text: [b'w'; 80] })
    })?;
    load_rows(session, DISTRICT, districts, |number| {
        let tax = drawn(number).u64(..=2_000);
        (key_of_district(number), District { ytd: DISTRICT_YTD, tax, next_order: 1, text: [b'd'; 80] })
    })?;
    load_rows(session, CUSTOMER, districts * customers, |number| {
        let mut rng = drawn(number);
        let row = Customer {
            balance: -1_000,
            paid: 1_000,
            payments: 1,
            discount: rng.u64(..=5_000),
            has_bad_credit: u64::from(rng.u8(..10) == 0),
            text: [b'c'; 120],
            data: [b' '; 496],
        };
        (customer(key_of_district(number / customers), number % customers + 1), row)
    })?;
    load_rows(session, NAMESAKE, districts * customers, |number| {
        let nth = number % customers;
        let mut rng = drawn(number);
        // Each name once, then as they come.
        let name = if nth < LAST_NAMES { nth } else { super::non_uniform(&mut rng, 255, 0, LAST_NAMES - 1) };
        let key = namesake(key_of_district(number / customers), name, nth + 1);
        (key, Namesake { first: rng.u64(..), customer: nth + 1 })
    })?;
    load_rows(session, ITEM, items, |number| {
        let mut rng = drawn(number);
        (number + 1, Item { price: rng.u64(100..=10_000), image: rng.u64(1..=10_000), text: [b'i'; 72] })
    })?;
    load_rows(session, STOCK, warehouses * items, |number| {
        let row = Stock {
            quantity: drawn(number).u64(10..=100),
            ytd: 0,
            orders: 0,
            remote: 0,
            districts: [[b's'; 24]; DISTRICTS as usize],
            data: [b's'; 48],
        };
        (stock(number / items + 1, number % items + 1), row)
    })
}

/// The key of a district by its number among all.
fn key_of_district(number: u64) -> u64 {
    district(number / DISTRICTS + 1, number % DISTRICTS + 1)
}
