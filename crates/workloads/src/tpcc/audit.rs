//! Reads a supplier's tables after a run, through transactions, and holds the consistency conditions against them.
//!
//! Auditors share the tables in chunks, one chunk a transaction, each within one warehouse; one that has no chunk left issues
//! empty transactions. Warehouses, districts and customers are known by their numbers. A customer's payments are
//! counted in its row; they are read until the count is reached and none follows. The districts' rows say how many orders
//! there should be: in a second round these are scanned, from the first to beyond the last, with their lines and their
//! entries among the new ones.
//!
//! Beside the twelve conditions, every customer and every order must be in its index, and there must be as many orders,
//! payments and deliveries as the clients say that they committed: a transaction that is lost whole, or done twice, leaves
//! the conditions as they were.
//!
//! An order whose own conditions hold is forgotten once it has been added to its district and its customer, so an audit
//! takes memory for the customers only.

use super::books::{Books, DistrictBook};
use super::conditions::{self, Breach};
use super::rows::{Customer, District, Entry, History, NewOrder, Order, OrderLine, Warehouse};
use super::{
    CUSTOMER, CUSTOMER_BY_NAME, DISTRICT, DISTRICTS, HISTORY, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER,
    ORDER_LINE, Tpcc, TpccClient, TransactionKind, WAREHOUSE, keys,
};
use crate::audit::{Audited, Finding};
use contract::telling::{tell, told};
use contract::{
    Abort, Client, Completion, Direction, Key, Outcome, Plan, Procedure, Scan, Seat, Span, TableDescription,
    TableId, Transaction, TransactionExt, Workload,
};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Bound;
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// Customers, or orders, that an auditor reads in one transaction.
const CHUNK: u32 = 20;

/// A read-only workload over the tables of a [`Tpcc`].
#[derive(Clone, Copy, Debug)]
pub struct Audit<'a> {
    tpcc: &'a Tpcc,
}

impl<'a> Audit<'a> {
    pub(super) fn new(tpcc: &'a Tpcc) -> Self {
        Audit { tpcc }
    }

    /// What has not been read yet: of the first round, or else of the second.
    fn left(&self, auditors: &[Auditor]) -> Vec<Chunk> {
        let done: BTreeSet<Chunk> = auditors.iter().flat_map(|auditor| &auditor.done).copied().collect();
        let left = |chunks: Vec<Chunk>| -> Vec<Chunk> {
            chunks.into_iter().filter(|chunk| !done.contains(chunk)).collect()
        };
        let first = left(self.first_round());
        if first.is_empty() { left(self.second_round(auditors)) } else { first }
    }

    fn first_round(&self) -> Vec<Chunk> {
        let (mut chunks, customers) = (vec![], self.tpcc.scale().customers());
        for w_id in 1..=self.tpcc.warehouses() {
            chunks.push(Chunk::Warehouse { w_id });
            for d_id in 1..=DISTRICTS {
                let chunk =
                    |first| Chunk::Customers { w_id, d_id, first, last: customers.min(first + CHUNK - 1) };
                chunks.extend((1..=customers).step_by(CHUNK as usize).map(chunk));
            }
        }
        chunks
    }

    /// Orders of every district, as many as its row says or as were loaded; after them there should be none.
    fn second_round(&self, auditors: &[Auditor]) -> Vec<Chunk> {
        let (mut chunks, loaded) = (vec![], self.tpcc.scale().orders());
        for w_id in 1..=self.tpcc.warehouses() {
            for d_id in 1..=DISTRICTS {
                let key = keys::district(w_id, d_id);
                let next = auditors.iter().find_map(|auditor| auditor.found.books.districts.get(&key)?.row);
                let next = next.map_or(loaded + 1, |(_, d_next_o_id)| d_next_o_id).max(1);
                let chunk =
                    |first| Chunk::Orders { w_id, d_id, first, last: (next - 1).min(first + CHUNK - 1) };
                chunks.extend((1..next).step_by(CHUNK as usize).map(chunk));
                chunks.push(Chunk::Orders { w_id, d_id, first: next, last: u32::MAX });
            }
        }
        chunks
    }

    /// What there must be once `clients` have run over what was loaded.
    fn expected(&self, clients: &[TpccClient]) -> Counts {
        let (scale, districts) = (self.tpcc.scale(), u64::from(self.tpcc.warehouses() * DISTRICTS));
        let committed = |kind| clients.iter().map(|client| client.committed(kind)).sum::<u64>();
        let skipped: u64 = clients.iter().map(TpccClient::skipped_deliveries).sum();
        Counts {
            orders: districts * u64::from(scale.orders()) + committed(TransactionKind::NewOrder),
            payments: districts * u64::from(scale.customers()) + committed(TransactionKind::Payment),
            deliveries: u64::from(DISTRICTS) * committed(TransactionKind::Delivery) - skipped,
        }
    }

    fn judge(&self, clients: &[TpccClient], auditors: &[Auditor]) -> Result<(), Violation> {
        let found = self.judge_tables(auditors)?;
        let (expected, found) = (self.expected(clients), Counts::of(&found.books));
        if expected == found { Ok(()) } else { Err(Violation::Counts { expected, found }) }
    }

    /// What all have read.
    fn found(&self, auditors: &[Auditor]) -> Found {
        let mut found = Found::default();
        auditors.iter().for_each(|auditor| found.add(&auditor.found));
        found.books.close(self.tpcc.scale());
        found
    }

    /// What must hold whoever ran.
    fn judge_tables(&self, auditors: &[Auditor]) -> Result<Found, Violation> {
        let left = self.left(auditors).len();
        if left > 0 {
            return Err(Violation::Incomplete { left });
        }
        let found = self.found(auditors);
        let breaches = conditions::breaches_of(&found.books);
        if !breaches.is_empty() {
            return Err(Violation::Inconsistent(breaches));
        }
        if let Some(first) = found.first_lost {
            return Err(Violation::NotIndexed { entries: found.lost_entries, first });
        }
        Ok(found)
    }
}

impl Audited for Tpcc {
    type Audit<'a> = Audit<'a>;

    type Compilation = contract::OwnType;

    fn audit(&self) -> Option<Audit<'_>> {
        Some(Audit::new(self))
    }
}

impl crate::audit::Audit<TpccClient> for Audit<'_> {
    fn assign(&self, auditors: &mut [Auditor]) -> u64 {
        assert!(!auditors.is_empty(), "an audit without auditors");
        let (left, count) = (self.left(auditors), auditors.len());
        for (nth, auditor) in auditors.iter_mut().enumerate() {
            auditor.chunks = left.iter().skip(nth).step_by(count).copied().collect();
            // The last is issued first.
            auditor.chunks.reverse();
        }
        left.len().div_ceil(count) as u64
    }

    fn verdict(&self, clients: &[TpccClient], auditors: &[Auditor]) -> Result<(), Finding> {
        Ok(self.judge(clients, auditors)?)
    }

    fn conditions(&self, auditors: &[Auditor]) -> Vec<(String, Result<(), Finding>)> {
        if !self.left(auditors).is_empty() {
            return Vec::new();
        }
        let breaches = conditions::breaches_of(&self.found(auditors).books);
        let verdict = |nth: usize| match breaches.iter().find(|breach| breach.condition == nth) {
            None => Ok(()),
            Some(breach) => Err(breach.clone().into()),
        };
        conditions::names().map(|(nth, name)| (format!("condition-{nth}-{name}"), verdict(nth))).collect()
    }

    fn verdict_of_anybody(&self, auditors: &[Auditor]) -> Result<(), Finding> {
        self.judge_tables(auditors)?;
        Ok(())
    }
}

impl Workload for Audit<'_> {
    type Client = Auditor;

    fn tables(&self) -> Vec<TableDescription> {
        self.tpcc.tables()
    }

    fn loaded_key(&self, table: TableId, row: u64) -> Key {
        self.tpcc.loaded_key(table, row)
    }

    fn loaded_bytes(&self, table: TableId, key: Key, bytes: &mut Vec<u8>) {
        self.tpcc.loaded_bytes(table, key, bytes);
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        self.tpcc.fill(table, key, row);
    }

    fn client(&self, _seat: Seat) -> Auditor {
        Auditor::default()
    }
}

/// Some rows that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Chunk {
    /// A warehouse and its districts.
    Warehouse { w_id: u32 },
    /// [`CHUNK`] customers of a district, and what they paid.
    Customers { w_id: u32, d_id: u32, first: u32, last: u32 },
    /// Orders of a district, with their lines and their entries among the new ones.
    Orders { w_id: u32, d_id: u32, first: u32, last: u32 },
}

impl Chunk {
    fn w_id(self) -> u32 {
        match self {
            Chunk::Warehouse { w_id } | Chunk::Customers { w_id, .. } | Chunk::Orders { w_id, .. } => w_id,
        }
    }
}

/// Reads its share of the tables.
#[derive(Debug, Default)]
pub struct Auditor {
    /// To be read; the last one next.
    chunks: Vec<Chunk>,
    done: Vec<Chunk>,
    found: Found,
}

impl Client for Auditor {
    type Procedure = AuditTransaction;

    fn next(&mut self) -> AuditTransaction {
        AuditTransaction { chunk: self.chunks.pop(), found: RefCell::default() }
    }

    fn finished(&mut self, transaction: AuditTransaction, completion: &Completion<'_>) {
        if let (Some(chunk), Outcome::Commit) = (transaction.chunk, completion.outcome) {
            let mut found = transaction.found.into_inner();
            found.books.settle();
            self.found.add(&found);
            self.done.push(chunk);
        }
    }

    fn tell(&self, into: &mut Vec<u8>) {
        tell(&(&self.chunks, &self.done, &self.found), into);
    }

    fn hear(&mut self, heard: &[u8]) -> Option<()> {
        (self.chunks, self.done, self.found) = told(heard)?;
        Some(())
    }
}

/// Reads one chunk.
#[derive(Debug)]
pub struct AuditTransaction {
    chunk: Option<Chunk>,
    /// In the last run.
    found: RefCell<Found>,
}

impl Procedure for AuditTransaction {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let mut found = Found::default();
        match self.chunk {
            None => (),
            Some(Chunk::Warehouse { w_id }) => found.read_warehouse(txn, w_id)?,
            Some(Chunk::Customers { w_id, d_id, first, last }) => {
                for c_id in first..=last {
                    found.read_customer(txn, w_id, d_id, c_id)?;
                }
            }
            Some(Chunk::Orders { w_id, d_id, first, last }) => {
                found.read_orders(txn, [first, last].map(|o_id| keys::order(w_id, d_id, o_id)))?;
            }
        }
        *self.found.borrow_mut() = found;
        Ok(Outcome::Commit)
    }

    /// A chunk is within the partition of its warehouse.
    fn plan<T: Transaction + ?Sized>(&self, _txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        if let Some(chunk) = self.chunk {
            plan.declare(WAREHOUSE, keys::warehouse(chunk.w_id()));
        }
        Ok(())
    }
}

/// What was found in some chunks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Found {
    books: Books,
    /// Customers and orders that their indexes do not have.
    lost_entries: u64,
    /// One of them.
    first_lost: Option<String>,
}

impl Found {
    fn add(&mut self, other: &Found) {
        self.books.add(&other.books);
        self.lost_entries += other.lost_entries;
        if self.first_lost.is_none() {
            self.first_lost.clone_from(&other.first_lost);
        }
    }

    fn read_warehouse<T: Transaction + ?Sized>(&mut self, txn: &mut T, w_id: u32) -> Result<(), Abort> {
        if let Some(row) = txn.read_row(WAREHOUSE, keys::warehouse(w_id), |row: &Warehouse| *row)? {
            self.books.add_warehouse(&row);
        }
        for d_id in 1..=DISTRICTS {
            if let Some(row) = txn.read_row(DISTRICT, keys::district(w_id, d_id), |row: &District| *row)? {
                self.books.add_district(&row);
            }
        }
        Ok(())
    }

    fn read_customer<T: Transaction + ?Sized>(
        &mut self,
        txn: &mut T,
        w_id: u32,
        d_id: u32,
        c_id: u32,
    ) -> Result<(), Abort> {
        let key = keys::customer(w_id, d_id, c_id);
        let Some(row) = txn.read_row(CUSTOMER, key, |row: &Customer| *row)? else {
            return Ok(());
        };
        self.books.add_customer(&row);
        for payment in 1.. {
            let history = keys::history(w_id, d_id, c_id, payment);
            match txn.read_row(HISTORY, history, |row: &History| *row)? {
                Some(row) => self.books.add_history(&row),
                None if payment > row.c_payment_cnt => break,
                None => (),
            }
        }
        let name = keys::customer_by_name(w_id, d_id, &row.c_last, &row.c_first, c_id);
        let entry = txn.key(CUSTOMER_BY_NAME, &name);
        self.look_for(txn, CUSTOMER_BY_NAME, entry, key, || format!("customer ({w_id}, {d_id}, {c_id})"))
    }

    /// From the first to the last of `ends`.
    fn read_orders<T: Transaction + ?Sized>(&mut self, txn: &mut T, ends: [Key; 2]) -> Result<(), Abort> {
        let mut orders: Vec<Order> = vec![];
        scan_rows(txn, ORDER, ends, |row: &Order| orders.push(*row))?;
        let [first, last] = ends;
        let lines = [keys::lines_of(first)[0], keys::lines_of(last)[1]];
        scan_rows(txn, ORDER_LINE, lines, |row: &OrderLine| self.books.add_order_line(row))?;
        scan_rows(txn, NEW_ORDER, ends, |row: &NewOrder| self.books.add_new_order(row))?;
        for row in orders {
            self.books.add_order(&row);
            let Order { o_w_id, o_d_id, o_c_id, o_id, .. } = row;
            let entry = keys::order_of_customer(o_w_id, o_d_id, o_c_id, o_id);
            let order = keys::order(o_w_id, o_d_id, o_id);
            let named = || format!("order ({o_w_id}, {o_d_id}, {o_id})");
            self.look_for(txn, ORDER_BY_CUSTOMER, entry, order, named)?;
        }
        Ok(())
    }

    /// An index must say `key` at `entry`.
    fn look_for<T: Transaction + ?Sized>(
        &mut self,
        txn: &mut T,
        index: TableId,
        entry: Key,
        key: Key,
        named: impl FnOnce() -> String,
    ) -> Result<(), Abort> {
        if txn.read_row(index, entry, |entry: &Entry| Key(entry.key))? != Some(key) {
            self.lost_entries += 1;
            self.first_lost.get_or_insert_with(named);
        }
        Ok(())
    }
}

/// Shows the rows with keys from the first to the last of `ends`, which are in one partition.
fn scan_rows<R, T>(txn: &mut T, table: TableId, ends: [Key; 2], mut see: impl FnMut(&R)) -> Result<(), Abort>
where
    R: FromBytes + KnownLayout + Immutable,
    T: Transaction + ?Sized,
{
    let [first, last] = ends.map(Key::bytes);
    let scan = Scan {
        table,
        from: Bound::Included(&first),
        to: Bound::Included(&last),
        direction: Direction::Forward,
        limit: usize::MAX,
        span: Span::whole(size_of::<R>()),
        within: Some(ends[0]),
    };
    txn.scan(&scan, &mut |_, row| see(R::ref_from_bytes(row).expect("a row, aligned")))?;
    Ok(())
}

/// What transactions come to, all in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Rows of ORDER.
    pub orders: u64,
    /// Rows of HISTORY.
    pub payments: u64,
    /// Orders delivered since loading: the sum of `c_delivery_cnt`.
    pub deliveries: u64,
}

impl Counts {
    fn of(books: &Books) -> Self {
        let sum = |count: fn(&DistrictBook) -> u64| books.districts.values().map(count).sum();
        Counts {
            orders: sum(|district| district.orders),
            payments: sum(|district| district.payments),
            deliveries: sum(|district| district.deliveries),
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} orders, {} payments, {} deliveries", self.orders, self.payments, self.deliveries)
    }
}

/// Tables that are not what committed transactions made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The audit was stopped early.
    Incomplete {
        /// Chunks that were not read.
        left: usize,
    },
    /// Consistency conditions do not hold.
    Inconsistent(Vec<Breach>),
    /// Customers or orders are not in their index, or it leads elsewhere.
    NotIndexed {
        /// How many.
        entries: u64,
        /// One of them.
        first: String,
    },
    /// Transactions are missing, or there are too many.
    Counts {
        /// What the committed transactions make.
        expected: Counts,
        /// What there is.
        found: Counts,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Incomplete { left } => write!(f, "{left} parts of the tables were not read"),
            Violation::Inconsistent(breaches) => {
                for (nth, breach) in breaches.iter().enumerate() {
                    write!(f, "{}{breach}", if nth == 0 { "" } else { "; " })?;
                }
                Ok(())
            }
            Violation::NotIndexed { entries, first } => {
                write!(f, "{entries} rows are not in their index, {first} for one")
            }
            Violation::Counts { expected, found } => {
                write!(f, "there are {found}, where the committed transactions make {expected}")
            }
        }
    }
}

impl std::error::Error for Violation {}
