//! Several workers' transactions with invariants that any isolation failure breaks.
//!
//! Two kinds of accounts share a total. Accounts of the first kind always exist and move money between each other and
//! a ring of accounts that are opened (inserted) and closed (deleted) all the time; every transaction may roll back at
//! its end; half of them name their keys ahead. A reader that sums what it can see of a few accounts checks that a key which it
//! found missing stays so, and that what it read twice is the same. At the end the money is all there, and nothing else is.

use contract::Transaction;
use contract::{
    Abort, Arrangement, Client, Completion, Engine, EngineOptions, Indexing, Insertion, Key, Outcome,
    PartitionFunction, Plan, Presence, Procedure, RowLength, Seat, Selection, Span, TableDescription,
    TableId, TransactionExt, Until, Workload,
};

const ACCOUNTS: u64 = 8;
/// Keys that come and go.
const RING: u64 = 8;
const FIRST_BALANCE: u64 = 1000;
const T: TableId = TableId(0);

/// How the accounts are found, and how many transactions in four name their keys ahead.
#[derive(Clone, Copy)]
struct Bank {
    indexing: Indexing,
    ahead: u64,
}

struct Teller {
    random: fastrand::Rng,
    ahead: u64,
    /// Set when an invariant of a committed transaction was broken.
    broken: Vec<String>,
    /// Read everything, once.
    audit: bool,
    total: u64,
}

struct Transfer {
    seed: u64,
    names_ahead: bool,
    audit: bool,
    complaint: std::cell::RefCell<Option<String>>,
    total: std::cell::Cell<u64>,
}

/// Money, the same to be seen torn, and what never changes.
type Balance = [u64; 3];

/// The last word of an account's row.
fn name_of(key: u64) -> u64 {
    !key
}

impl Transfer {
    fn balance<X: Transaction + ?Sized>(txn: &mut X, key: u64) -> Result<Option<u64>, Abort> {
        txn.read_row::<Balance, _>(T, Key(key), |balance| {
            // The second word always mirrors the first: a torn row shows.
            (balance[0], balance[1])
        })
        .map(|seen| {
            seen.map(|(balance, mirror)| {
                // A fragment is shown zeros of what is elsewhere.
                assert!(balance == !mirror || (balance, mirror) == (0, 0), "a torn row of key {key}");
                balance
            })
        })
    }

    fn add<X: Transaction + ?Sized>(txn: &mut X, key: u64, amount: i64) -> Result<Option<()>, Abort> {
        let change = &mut |bytes: &mut [u8]| {
            let (balance, mirror) = bytes.split_at_mut(8);
            let sum = u64::from_ne_bytes((&*balance).try_into().expect("a word")).wrapping_add_signed(amount);
            balance.copy_from_slice(&sum.to_ne_bytes());
            mirror.copy_from_slice(&(!sum).to_ne_bytes());
        };
        let mut name = None;
        let see = &mut |bytes: &[u8]| name = Some(u64::from_ne_bytes(bytes.try_into().expect("a word")));
        let presence = txn.update_seeing(T, Key(key), Span::new(0, 16), change, Span::new(16, 8), see)?;
        Ok((presence == Presence::Present).then(|| {
            // A fragment is shown zeros of what is elsewhere.
            assert!([Some(name_of(key)), Some(0)].contains(&name), "{name:?} in the row of key {key}");
        }))
    }

    /// Says what will be touched, in the order in which it is: others may delete what is met now, and insert it again, before it is looked up.
    fn name_ahead<X: Transaction + ?Sized>(&self, txn: &mut X, numbers: &[u64]) {
        if self.names_ahead {
            let keys: Vec<Key> = numbers.iter().copied().map(Key).collect();
            txn.ahead(T, &keys);
        }
    }

    fn run_audit<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        let mut total = 0;
        self.name_ahead(txn, &Vec::from_iter(0..ACCOUNTS + RING));
        for key in 0..ACCOUNTS + RING {
            total += Self::balance(txn, key)?.unwrap_or(0);
        }
        self.total.set(total);
        Ok(Outcome::Commit)
    }
}

impl Procedure for Transfer {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        *self.complaint.borrow_mut() = None;
        if self.audit {
            return self.run_audit(txn);
        }
        let mut random = fastrand::Rng::with_seed(self.seed);
        let (account, other, ring) = Self::accounts(&mut random);
        let kind = random.u8(0..6);
        match kind {
            0 | 1 => self.name_ahead(txn, &[account, other]),
            2 => self.name_ahead(txn, &[ring, account]),
            3 => self.name_ahead(txn, &[ring, other]),
            _ => self.name_ahead(txn, &[account, ring, other, Self::next_in_ring(ring)]),
        }
        match kind {
            0 | 1 => {
                let _ = Self::add(txn, account, -1)?;
                let _ = Self::add(txn, other, 1)?;
            }
            2 => {
                // Open an account with money from another; if it is open, put the money in.
                let before = Self::balance(txn, ring)?;
                let _ = Self::add(txn, account, -3)?;
                match txn.insert_row(T, Key(ring), &[3u64, !3u64, name_of(ring)])? {
                    Insertion::Inserted if before.is_some() => self.complain("inserted a key that was there"),
                    Insertion::Inserted => {}
                    Insertion::Exists if before.is_none() => self.complain("met a key that was missing"),
                    Insertion::Exists => drop(Self::add(txn, ring, 3)?),
                }
            }
            3 => {
                // Close an account.
                let Some(balance) = Self::balance(txn, ring)? else { return Ok(Outcome::Rollback) };
                if txn.delete(T, Key(ring))? == Presence::Missing {
                    self.complain("a key that was read was gone when it was deleted");
                }
                let _ = Self::add(txn, other, balance as i64)?;
                if Self::balance(txn, ring)?.is_some() {
                    self.complain("read a key that it had deleted");
                }
            }
            _ => {
                // Look twice, at keys present and missing.
                let keys = [account, ring, other, Self::next_in_ring(ring)];
                let mut first = [None; 4];
                for (seen, &key) in first.iter_mut().zip(&keys) {
                    *seen = Self::balance(txn, key)?;
                }
                for (seen, &key) in first.iter().zip(&keys) {
                    if Self::balance(txn, key)? != *seen {
                        self.complain("what was read twice was not the same");
                    }
                }
            }
        }
        Ok(if random.u8(0..8) == 0 { Outcome::Rollback } else { Outcome::Commit })
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        let (account, other, ring) = Self::accounts(&mut fastrand::Rng::with_seed(self.seed));
        if self.audit {
            (0..ACCOUNTS + RING).for_each(|key| plan.declare(T, Key(key)));
        } else {
            for key in [account, other, ring, Self::next_in_ring(ring)] {
                plan.declare(T, Key(key));
            }
        }
        Ok(())
    }

    fn runs_in_fragments(&self, at: &mut dyn FnMut(TableId, Key)) -> bool {
        if self.audit {
            (0..ACCOUNTS + RING).for_each(|key| at(T, Key(key)));
            return true;
        }
        let mut random = fastrand::Rng::with_seed(self.seed);
        let (account, other, ring) = Self::accounts(&mut random);
        match random.u8(0..6) {
            0 | 1 => [account, other].iter().for_each(|key| at(T, Key(*key))),
            2 => [account, ring].iter().for_each(|key| at(T, Key(*key))),
            // What the other account is paid was read.
            3 => return false,
            _ => {
                let keys = [account, ring, other, Self::next_in_ring(ring)];
                keys.iter().for_each(|key| at(T, Key(*key)));
            }
        }
        true
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.seed.to_le_bytes());
        into.push(u8::from(self.audit));
    }
}

impl Transfer {
    /// What the seed makes of it: an account, another, and one of the ring.
    fn accounts(random: &mut fastrand::Rng) -> (u64, u64, u64) {
        let account = random.u64(0..ACCOUNTS);
        let other = (account + random.u64(1..ACCOUNTS)) % ACCOUNTS;
        (account, other, ACCOUNTS + random.u64(0..RING))
    }

    fn next_in_ring(ring: u64) -> u64 {
        ACCOUNTS + (ring + 1) % RING
    }

    fn complain(&self, what: &str) {
        *self.complaint.borrow_mut() = Some(what.to_owned());
    }
}

impl Client for Teller {
    type Procedure = Transfer;

    fn next(&mut self) -> Transfer {
        let seed = self.random.u64(..);
        Transfer {
            seed,
            names_ahead: seed >> 32 & 3 < self.ahead,
            audit: self.audit,
            complaint: std::cell::RefCell::new(None),
            total: std::cell::Cell::new(0),
        }
    }

    fn finished(&mut self, procedure: Transfer, completion: &Completion<'_>) {
        // What a rolled-back transaction saw counts too under the locking protocols, but an optimistic one never
        // validates it.
        if completion.outcome == Outcome::Commit {
            self.broken.extend(procedure.complaint.into_inner());
            self.total = procedure.total.get();
        }
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<Transfer> {
        let (seed, audit) = bytes.split_first_chunk()?;
        let seed = u64::from_le_bytes(*seed);
        Some(Transfer {
            seed,
            names_ahead: seed >> 32 & 3 < self.ahead,
            audit: audit == [1],
            complaint: std::cell::RefCell::new(None),
            total: std::cell::Cell::new(0),
        })
    }
}

impl Workload for Bank {
    type Client = Teller;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "accounts",
            row_bytes: size_of::<Balance>(),
            length: RowLength::Fixed,
            kept_bytes: size_of::<Balance>(),
            rows: ACCOUNTS,
            capacity: ACCOUNTS + RING,
            indexing: self.indexing,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, key: Key, row: &mut [u8]) {
        let words: Balance = [FIRST_BALANCE, !FIRST_BALANCE, name_of(key.0)];
        for (bytes, word) in row.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
    }

    fn client(&self, seat: Seat) -> Teller {
        let random = fastrand::Rng::with_seed(seat.seed * 1000 + seat.worker as u64);
        Teller { random, ahead: self.ahead, broken: Vec::new(), audit: false, total: 0 }
    }
}

/// What broke, if anything, when `workers` ran over one bank.
pub fn bank_run<E: Engine>(
    selection: Selection,
    workers: usize,
    seed: u64,
    transactions: u64,
    options: &EngineOptions,
) -> Result<(), String> {
    let bank = Bank { indexing: Indexing::Hashed, ahead: 2 };
    run_over::<E>(bank, selection, (workers, seed, transactions), options)
}

/// The same of accounts that are found so, where all transactions name their keys ahead.
pub fn bank_run_ahead<E: Engine>(
    selection: Selection,
    indexing: Indexing,
    (workers, seed, transactions): (usize, u64, u64),
    options: &EngineOptions,
) -> Result<(), String> {
    run_over::<E>(Bank { indexing, ahead: 4 }, selection, (workers, seed, transactions), options)
}

fn run_over<E: Engine>(
    bank: Bank,
    selection: Selection,
    (workers, seed, transactions): (usize, u64, u64),
    options: &EngineOptions,
) -> Result<(), String> {
    let Arrangement { layout, clients, .. } = E::arrange(selection, workers, options).expect("fits");
    let mut store = E::load(&bank, layout, &|_| ()).map_err(|error| error.to_string())?;
    let seat = |worker| Seat::new(worker, clients, seed).over(layout.partitions);
    let clients = (0..clients).map(|worker| bank.client(seat(worker))).collect();
    let until = Until::Transactions(transactions);
    let run = E::run_checked(&mut store, selection, clients, until, options).expect("plans are right");
    for (worker, client) in run.clients.iter().enumerate() {
        if let Some(broken) = client.broken.first() {
            return Err(format!("worker {worker}: {broken} ({} times)", client.broken.len()));
        }
    }
    let mut auditor = bank.client(Seat::new(0, 1, seed));
    auditor.audit = true;
    let until = Until::Transactions(1);
    let audit =
        E::run_checked(&mut store, selection, vec![auditor], until, options).expect("plans are right");
    let total = audit.clients[0].total;
    if total != ACCOUNTS * FIRST_BALANCE {
        return Err(format!("{} in all, {total} at the end", ACCOUNTS * FIRST_BALANCE));
    }
    let leaks = E::leak_check(&store);
    if leaks.held != 0 || leaks.linked_records != leaks.allocated_records {
        return Err(format!("left behind: {leaks:?}"));
    }
    Ok(())
}
