//! Snapshots: who reads one must find all the money there, whatever goes on.
//!
//! Accounts move money between each other; others are opened (inserted) and closed (deleted) all the time, again and again under the same
//! keys; every transaction may roll back at its end. In the middle of that readers of snapshots add everything up, key by key and by
//! scans in both directions, and must come to the same sum each time, and find no row torn. Rows have one length, or vary.

use contract::{
    Abort, Client, Completion, Direction, Engine, EngineOptions, Indexing, Insertion, Key, Outcome,
    PartitionFunction, Presence, Procedure, RowLength, Scan, Seat, Selection, SnapshotPlace, Span,
    TableDescription, TableId, Transaction, Until, Workload,
};
use std::cell::{Cell, RefCell};
use std::ops::Bound;

/// Accounts that always exist.
const ACCOUNTS: u64 = 6;
/// Accounts that come and go.
const RING: u64 = 6;
const FIRST_BALANCE: u64 = 1000;
/// Bytes of a row, if they do not vary.
const ROW: usize = 40;
const MOST_BYTES: usize = 300;
const T: TableId = TableId(0);

/// How the accounts are kept.
#[derive(Clone, Copy, Debug)]
pub struct Ledger {
    /// By key, in order, or by byte strings.
    pub indexing: Indexing,
    /// Whether rows vary.
    pub length: RowLength,
}

/// Every kind.
pub const LEDGERS: [Ledger; 5] = [
    Ledger { indexing: Indexing::Hashed, length: RowLength::Fixed },
    Ledger { indexing: Indexing::Ordered, length: RowLength::Fixed },
    Ledger { indexing: Indexing::OrderedBytes { most: 24 }, length: RowLength::Fixed },
    Ledger { indexing: Indexing::Hashed, length: RowLength::Varying },
    Ledger { indexing: Indexing::OrderedBytes { most: 24 }, length: RowLength::Varying },
];

/// What its clients have done and found.
#[derive(Debug, Default)]
pub struct Found {
    /// Sums of snapshots.
    pub sums: u64,
    /// Different snapshots that a client has read.
    pub snapshots: u64,
}

impl Ledger {
    fn has_strings(self) -> bool {
        matches!(self.indexing, Indexing::OrderedBytes { .. })
    }

    /// Some are beginnings of others.
    fn bytes(self, account: u64) -> Vec<u8> {
        match self.has_strings() {
            true => [&b"account"[..], &vec![account as u8 / 3; account as usize]].concat(),
            false => Key(account).bytes().to_vec(),
        }
    }

    fn key<X: Transaction + ?Sized>(self, txn: &mut X, account: u64) -> Key {
        if self.has_strings() { txn.key(T, &self.bytes(account)) } else { Key(account) }
    }

    /// The balance, and bytes that follow from it.
    fn row(self, balance: u64) -> Vec<u8> {
        let bytes = match self.length {
            RowLength::Fixed => ROW,
            RowLength::Varying => 8 + (balance.wrapping_mul(0x9E37_79B9) >> 3) as usize % (MOST_BYTES - 7),
        };
        let mut row = balance.to_le_bytes().to_vec();
        row.resize(bytes, balance as u8 ^ 0x5A);
        row
    }

    fn balance_of(self, row: &[u8]) -> u64 {
        let balance = u64::from_le_bytes(row[..8].try_into().expect("eight bytes"));
        assert_eq!(row, self.row(balance), "a torn row");
        balance
    }

    fn balance<X: Transaction + ?Sized>(self, txn: &mut X, account: u64) -> Result<Option<u64>, Abort> {
        let key = self.key(txn, account);
        let mut balance = None;
        // An optimistic transaction may see what it will not commit with, but no torn row.
        let presence = txn.read_whole(T, key, &mut |row| balance = Some(self.balance_of(row)))?;
        assert_eq!(presence == Presence::Present, balance.is_some());
        Ok(balance)
    }

    fn add<X: Transaction + ?Sized>(self, txn: &mut X, account: u64, amount: i64) -> Result<(), Abort> {
        let key = self.key(txn, account);
        if self.length == RowLength::Fixed {
            // Two writes, so that one that stands alone would show.
            let _ = txn.update(T, key, Span::whole(ROW), &mut |row| {
                let balance = u64::from_le_bytes(row[..8].try_into().expect("eight bytes"));
                row[..8].copy_from_slice(&balance.wrapping_add_signed(amount).to_le_bytes());
            })?;
            let _ = txn.update(T, key, Span::whole(ROW), &mut |row| {
                let balance = u64::from_le_bytes(row[..8].try_into().expect("eight bytes"));
                row.copy_from_slice(&self.row(balance));
            })?;
            return Ok(());
        }
        let Some(balance) = self.balance(txn, account)? else { return Ok(()) };
        let _ = txn.replace(T, key, &self.row(balance))?;
        let _ = txn.replace(T, key, &self.row(balance.wrapping_add_signed(amount)))?;
        Ok(())
    }

    /// The same without reading what was there, if the rows let it.
    fn add_blindly<X: Transaction + ?Sized>(
        self,
        txn: &mut X,
        account: u64,
        amount: i64,
    ) -> Result<(), Abort> {
        if self.length != RowLength::Fixed {
            return self.add(txn, account, amount);
        }
        let key = self.key(txn, account);
        let _ = txn.merge(T, key, Span::whole(ROW), add_in_place, &amount.to_le_bytes())?;
        Ok(())
    }
}

/// Adds to a row of fixed length.
fn add_in_place(row: &mut [u8], amount: &mut [u8]) {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
    let balance = word(row).wrapping_add(word(amount));
    let ledger = Ledger { indexing: Indexing::Hashed, length: RowLength::Fixed };
    row.copy_from_slice(&ledger.row(balance));
}

/// See the module.
pub struct Teller {
    ledger: Ledger,
    random: fastrand::Rng,
    broken: Vec<String>,
    found: Found,
    last: Option<u64>,
    number: u64,
    /// Whether it does nothing but sum up.
    only_sums: bool,
}

pub struct Transfer {
    ledger: Ledger,
    seed: u64,
    sums: bool,
    complaint: RefCell<Option<String>>,
    runs: Cell<u32>,
}

impl Transfer {
    fn sum<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        self.runs.set(self.runs.get() + 1);
        let ledger = self.ledger;
        let mut sums = Vec::new();
        let keyed = |txn: &mut X| {
            (0..ACCOUNTS + RING)
                .try_fold(0, |sum, account| Ok(ledger.balance(txn, account)?.unwrap_or(0) + sum))
        };
        sums.push(keyed(txn)?);
        if ledger.indexing != Indexing::Hashed {
            for direction in [Direction::Forward, Direction::Backward] {
                sums.push(self.scanned(txn, direction, usize::MAX)?);
                // The same, two rows at a time.
                sums.push(self.scanned(txn, direction, 2)?);
            }
        }
        sums.push(keyed(txn)?);
        if sums.iter().any(|&sum| sum != ACCOUNTS * FIRST_BALANCE) {
            *self.complaint.borrow_mut() =
                Some(format!("{} in all, and a snapshot with {sums:?}", ACCOUNTS * FIRST_BALANCE));
        }
        Ok(Outcome::Commit)
    }

    /// Adds up what scans of `limit` rows each show.
    fn scanned<X: Transaction + ?Sized>(
        &self,
        txn: &mut X,
        direction: Direction,
        limit: usize,
    ) -> Result<u64, Abort> {
        let (mut sum, mut last): (u64, Option<Vec<u8>>) = (0, None);
        loop {
            let beyond = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let (from, to) = match direction {
                Direction::Forward => (beyond, Bound::Unbounded),
                Direction::Backward => (Bound::Unbounded, beyond),
            };
            let span = Span::whole(if self.ledger.length == RowLength::Fixed { ROW } else { 0 });
            let scan = Scan { table: T, from, to, direction, limit, span, within: None };
            let mut keys: Vec<Vec<u8>> = Vec::new();
            let shown = txn.scan(&scan, &mut |key, row| {
                keys.push(key.to_vec());
                sum += self.ledger.balance_of(row);
            })?;
            assert_eq!(shown, keys.len());
            let in_order = |pair: &[Vec<u8>]| (pair[0] < pair[1]) == (direction == Direction::Forward);
            assert!(keys.windows(2).all(in_order), "{keys:?}");
            if shown < limit {
                return Ok(sum);
            }
            last = keys.pop();
        }
    }
}

impl Procedure for Transfer {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        if self.sums {
            return self.sum(txn);
        }
        let ledger = self.ledger;
        let mut random = fastrand::Rng::with_seed(self.seed);
        let account = random.u64(0..ACCOUNTS);
        let other = (account + random.u64(1..ACCOUNTS)) % ACCOUNTS;
        let ring = ACCOUNTS + random.u64(0..RING);
        match random.u8(0..4) {
            0 => {
                ledger.add(txn, account, -1)?;
                ledger.add(txn, other, 1)?;
            }
            1 => {
                ledger.add_blindly(txn, account, -1)?;
                ledger.add_blindly(txn, other, 1)?;
            }
            2 => {
                ledger.add(txn, account, -3)?;
                let key = ledger.key(txn, ring);
                if txn.insert(T, key, &ledger.row(3))? == Insertion::Exists {
                    ledger.add(txn, ring, 3)?;
                }
            }
            _ => {
                let Some(balance) = ledger.balance(txn, ring)? else { return Ok(Outcome::Rollback) };
                let key = ledger.key(txn, ring);
                if random.bool() {
                    // What is written before it is deleted nobody sees.
                    ledger.add(txn, ring, 7)?;
                }
                let _ = txn.delete(T, key)?;
                ledger.add(txn, other, balance as i64)?;
                if random.bool() {
                    // It is opened again.
                    ledger.add(txn, account, -2)?;
                    let _ = txn.insert(T, key, &ledger.row(2))?;
                }
            }
        }
        Ok(if random.u8(0..5) == 0 { Outcome::Rollback } else { Outcome::Commit })
    }

    fn reads_snapshot(&self) -> bool {
        self.sums
    }
}

impl Client for Teller {
    type Procedure = Transfer;

    fn next(&mut self) -> Transfer {
        self.number += 1;
        Transfer {
            ledger: self.ledger,
            seed: self.random.u64(..),
            sums: self.only_sums || self.number.is_multiple_of(4),
            complaint: RefCell::new(None),
            runs: Cell::new(0),
        }
    }

    fn finished(&mut self, procedure: Transfer, completion: &Completion<'_>) {
        if !procedure.sums {
            let is_placed = matches!(completion.snapshot, Some(SnapshotPlace::ShownBy(_)));
            assert_eq!(is_placed, completion.outcome == Outcome::Commit);
            return;
        }
        assert_eq!(
            (procedure.runs.get(), completion.attempts),
            (1, 1),
            "nothing aborts who reads a snapshot"
        );
        let Some(SnapshotPlace::Read(snapshot)) = completion.snapshot else {
            panic!("a sum is one of a snapshot: {:?}", completion.snapshot)
        };
        assert!(self.last <= Some(snapshot), "snapshots do not go back");
        self.found.sums += 1;
        self.found.snapshots += u64::from(self.last != Some(snapshot));
        self.last = Some(snapshot);
        let words = |complaint| format!("snapshot {snapshot}: {complaint}");
        self.broken.extend(procedure.complaint.into_inner().map(words));
    }
}

impl Workload for Ledger {
    type Client = Teller;

    fn tables(&self) -> Vec<TableDescription> {
        let row_bytes = if self.length == RowLength::Fixed { ROW } else { MOST_BYTES };
        vec![TableDescription {
            name: "accounts",
            row_bytes,
            length: self.length,
            kept_bytes: row_bytes,
            rows: ACCOUNTS,
            capacity: ACCOUNTS + RING,
            indexing: self.indexing,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn loaded_bytes(&self, _: TableId, key: Key, bytes: &mut Vec<u8>) {
        bytes.extend(self.bytes(key.0));
    }

    fn fill(&self, _: TableId, _: Key, row: &mut [u8]) {
        row.copy_from_slice(&self.row(FIRST_BALANCE));
    }

    fn fill_varying(&self, _: TableId, _: Key, row: &mut Vec<u8>) {
        row.extend(self.row(FIRST_BALANCE));
    }

    fn client(&self, seat: Seat) -> Teller {
        let random = fastrand::Rng::with_seed(seat.seed * 1000 + seat.worker as u64);
        let (broken, found) = (Vec::new(), Found::default());
        Teller {
            ledger: *self,
            random,
            broken,
            found,
            last: None,
            number: seat.worker as u64,
            only_sums: false,
        }
    }
}

/// What broke, if anything, when `workers` ran over a ledger, twice; else what they found.
pub fn ledger_run<E: Engine>(
    ledger: Ledger,
    selection: Selection,
    workers: usize,
    transactions: u64,
    options: &EngineOptions,
) -> Result<Found, String> {
    let layout = E::arrange(selection, workers, options).expect("fits").layout;
    assert_eq!(layout.snapshot_every, options.snapshot_every);
    let mut store = E::load(&ledger, layout, &|_| ()).map_err(|error| error.to_string())?;
    let mut all = Found::default();
    for run in 0..2 {
        let seat = |worker| Seat::new(worker, workers, 2 * options.seed + run).over(layout.partitions);
        let clients = (0..workers).map(|worker| ledger.client(seat(worker))).collect();
        let until = Until::Transactions(transactions);
        let run = E::run_checked(&mut store, selection, clients, until, options).expect("it runs");
        for (worker, client) in run.clients.iter().enumerate() {
            if let Some(broken) = client.broken.first() {
                return Err(format!("worker {worker}: {broken} ({} times)", client.broken.len()));
            }
            all.sums += client.found.sums;
            all.snapshots += client.found.snapshots;
        }
        let leaks = E::leak_check(&store);
        if leaks.held != 0
            || leaks.linked_records != leaks.allocated_records
            || leaks.linked_values != leaks.allocated_values
        {
            return Err(format!("left behind: {leaks:?}"));
        }
    }
    Ok(all)
}

/// What is left of the versions that `workers` made when they ran over a ledger: nothing, if nobody needs them.
pub fn versions_are_freed<E: Engine>(
    ledger: Ledger,
    selection: Selection,
    workers: usize,
    transactions: u64,
    options: &EngineOptions,
) {
    let layout = E::arrange(selection, workers, options).expect("fits").layout;
    let mut store = E::load(&ledger, layout, &|_| ()).expect("a small table");
    let mut run = |only_sums, transactions| {
        let client = |worker| {
            let seat = Seat::new(worker, workers, options.seed).over(layout.partitions);
            Teller { only_sums, ..ledger.client(seat) }
        };
        let (clients, until) = ((0..workers).map(client).collect(), Until::Transactions(transactions));
        let run = E::run_checked(&mut store, selection, clients, until, options).expect("it runs");
        assert!(run.clients.iter().all(|client| client.broken.is_empty()), "{:?}", run.clients[0].broken);
        E::leak_check(&store)
    };
    let leaks = run(false, transactions);
    assert!(leaks.version_bytes > 0 && leaks.most_version_bytes >= leaks.version_bytes, "{leaks:?}");
    assert_eq!(leaks.lineage_bytes, 16 * leaks.linked_records);
    // How many epochs pass in a run is the machine's business.
    for _ in 0..10_000 {
        if run(true, 64).version_bytes == 0 {
            return;
        }
    }
    panic!("versions that nobody needs: {:?}", E::leak_check(&store));
}
