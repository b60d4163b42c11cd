//! Orders of customers, found by an index, durable, and there again: tickets that are awaited without a runtime, a snapshot, and a backup.
//!
//! `cargo run --release -p trireme-db --example orders`

use serde::{Deserialize, Serialize};
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use tempfile::tempdir;
use trireme::{Database, Durability, Error, Index, Serde, Table};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Order {
    customer: String,
    cents: u64,
}

const ORDERS: Table<u64, Serde<Order>> = Table::new("orders");

/// Of which customer an order is.
const BY_CUSTOMER: Index<u64, Serde<Order>, String> =
    ORDERS.index("by_customer", |_, order| Some(order.customer.clone()));

/// A task is a thread, which sleeps until it is woken.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// A day: opens what there is, takes a hundred orders, and copies it all to another folder.
fn day(number: u64, folder: &Path, backup: &Path) -> Result<(), Error> {
    // Durable as soon as who waits has synced it, not at the end of an epoch.
    let db = Database::builder().durability(Durability::Sync).snapshots(true).open(folder)?;
    let (orders, by_customer) = (db.table(ORDERS)?, db.index(BY_CUSTOMER)?);
    if let Some(recovered) = db.recovered() {
        let rows = recovered.checkpoint.map_or(0, |checkpoint| checkpoint.rows);
        println!(
            "day {number}: {rows} rows of a checkpoint and {} transactions were recovered",
            recovered.transactions
        );
    }
    let order = |id: u64| Order { customer: format!("customer {}", id % 7), cents: 100 + id };
    let first = number * 100;
    // One that is waited for.
    db.transact(|tx| tx.insert(orders, first, &order(first)))?;
    // And many that go on meanwhile; of one of them it is awaited that it is durable, and so are all before it.
    let mut last = None;
    for id in first + 1..first + 100 {
        let ((), ticket) = db.submit(|tx| tx.insert(orders, id, &order(id)))?;
        last = Some(ticket);
    }
    block_on(last.expect("there are some"))?;
    let mine = db.transact(|tx| tx.find(by_customer, "customer 3"))?;
    println!(
        "customer 3 has {} orders, of {} cents",
        mine.len(),
        mine.iter().map(|(_, order)| order.cents).sum::<u64>()
    );
    // What was there some epochs ago, to be read as long as one likes, whoever writes now. The last orders may be too new for it.
    let mut snapshot = db.snapshot()?;
    println!("a snapshot has {} orders", snapshot.range(orders, ..)?.count());
    drop(snapshot);
    let copied = db.backup_to(backup)?;
    println!("{} bytes are copied to {}", copied.bytes, backup.display());
    db.close()
}

fn main() -> Result<(), Error> {
    let folder = tempdir().expect("a folder");
    let (home, backups) =
        (folder.path().join("orders"), [folder.path().join("monday"), folder.path().join("tuesday")]);
    for (number, backup) in (0..).zip(&backups) {
        day(number, &home, backup)?;
    }
    // A backup is opened like any other.
    let monday = Database::open(&backups[0])?;
    let orders = monday.table(ORDERS)?;
    let there = monday.transact(|tx| Ok::<_, Error>(tx.range(orders, ..)?.count()))?;
    assert_eq!(there, 100);
    Ok(())
}
