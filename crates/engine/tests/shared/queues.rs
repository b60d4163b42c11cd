//! Several workers' transactions over queues in an ordered table, with invariants that any phantom breaks.
//!
//! A queue is a range of keys. Transactions push at one end, take from the other, put in and take out in the middle, always by
//! what a scan has shown them; leaves are split and emptied all the time. They count the queue before and after: what came
//! in between is their own. No queue ever has more than [`MOST`] that were pushed, because who pushes has counted before: two that
//! pushed side by side would show. Others move an element without having looked, or look at a part of a queue, perhaps an
//! empty one, again and again. Values move between elements and accounts, and are all there at the end.

use contract::{
    Abort, Arrangement, Client, Completion, Direction, Engine, EngineOptions, Indexing, Insertion, Key,
    Outcome, PartitionFunction, PartitionId, Plan, Presence, Procedure, RowLength, Scan, Seat, Selection,
    Span, TableDescription, TableId, Transaction, TransactionExt, Until, Workload,
};
use std::cell::{Cell, RefCell};
use std::ops::Bound;

const ACCOUNTS: u64 = 4;
const FIRST_BALANCE: u64 = 1_000;
const QUEUES: u64 = 3;
/// Elements that are loaded, and those that there may be from number [`TAIL`] on.
const LOADED: u64 = 13;
const MOST: usize = 10;
/// Numbers of elements in the middle.
const PLACES: u64 = 40;
/// The first number of those that are pushed.
const TAIL: u64 = 50;

/// Partitions at most.
const MOST_PARTITIONS: u64 = 16;

const A: TableId = TableId(0);
const Q: TableId = TableId(1);

type Row = [u64; 2];

/// The queues' table.
#[derive(Clone, Copy)]
struct Queues(Indexing);

impl Queues {
    fn has_byte_strings(self) -> bool {
        matches!(self.0, Indexing::OrderedBytes { .. })
    }

    /// The key of an element; of number 0, the start of the queue.
    fn bytes(self, queue: u64, number: u64) -> Vec<u8> {
        if !self.has_byte_strings() {
            return Key(queue << 32 | number).bytes().to_vec();
        }
        let tail = vec![b'x'; number as usize % 3 * 4];
        [&[queue as u8][..], b"queue", &(number as u32).to_be_bytes(), &tail].concat()
    }

    /// The number of an element.
    fn number(self, key: &[u8]) -> u64 {
        let at = if self.has_byte_strings() { 6 } else { 4 };
        u64::from(u32::from_be_bytes(key[at..at + 4].try_into().expect("four bytes")))
    }

    fn prefix(self, queue: u64) -> Key {
        Key::prefix_of(&self.bytes(queue, 0))
    }

    fn name<X: Transaction + ?Sized>(self, txn: &mut X, queue: u64, number: u64) -> Key {
        let bytes = self.bytes(queue, number);
        if self.has_byte_strings() { txn.key(Q, &bytes) } else { Key::prefix_of(&bytes) }
    }
}

struct Clerk {
    queues: Queues,
    random: fastrand::Rng,
    broken: Vec<String>,
    audit: bool,
    total: u64,
}

struct Errand {
    queues: Queues,
    seed: u64,
    audit: bool,
    complaint: RefCell<Option<String>>,
    total: Cell<u64>,
}

/// What a scan is asked for: of several queues, which are in several partitions, the elements from number `from` of the first
/// to `to` of the last; 0: to its end.
#[derive(Clone)]
struct Part {
    queues: std::ops::Range<u64>,
    from: u64,
    to: u64,
    direction: Direction,
    limit: usize,
}

/// What a scan showed: numbers of elements and their values.
type Seen = Vec<(u64, u64)>;

fn pushed(seen: &Seen) -> usize {
    seen.iter().filter(|element| element.0 >= TAIL).count()
}

impl Errand {
    fn complain(&self, what: impl Into<String>) {
        *self.complaint.borrow_mut() = Some(what.into());
    }

    /// The elements of a queue from number `from` on.
    fn look<X: Transaction + ?Sized>(
        &self,
        txn: &mut X,
        queue: u64,
        from: u64,
        direction: Direction,
        limit: usize,
    ) -> Result<Seen, Abort> {
        self.look_at(txn, &Part { queues: queue..queue + 1, from, to: 0, direction, limit })
    }

    fn look_at<X: Transaction + ?Sized>(&self, txn: &mut X, part: &Part) -> Result<Seen, Abort> {
        let mut seen = Vec::new();
        let Part { queues, from, to, direction, limit } = part.clone();
        let first = self.queues.bytes(queues.start, from);
        let last = match to {
            0 => self.queues.bytes(queues.end, 0),
            to => self.queues.bytes(queues.end - 1, to),
        };
        let scan = Scan {
            table: Q,
            from: Bound::Included(&first),
            to: Bound::Excluded(&last),
            direction,
            limit,
            span: Span::whole(size_of::<Row>()),
            within: (queues.end - queues.start == 1).then(|| self.queues.prefix(queues.start)),
        };
        let shown = txn.scan(&scan, &mut |key, row| {
            let word = |n: usize| u64::from_ne_bytes(row[n * 8..][..8].try_into().expect("eight bytes"));
            assert_eq!(word(0), !word(1), "a torn row of {key:?}");
            seen.push((self.queues.number(key), word(0)));
        })?;
        assert_eq!(shown, seen.len());
        Ok(seen)
    }

    fn count<X: Transaction + ?Sized>(&self, txn: &mut X, queue: u64) -> Result<Seen, Abort> {
        let seen = self.look(txn, queue, 0, Direction::Forward, usize::MAX)?;
        if pushed(&seen) > MOST {
            self.complain(format!("{} elements were pushed", pushed(&seen)));
        }
        Ok(seen)
    }

    fn pay<X: Transaction + ?Sized>(&self, txn: &mut X, account: u64, amount: i64) -> Result<(), Abort> {
        let _ = txn.update_row::<Row, _>(A, Key(account), |row| {
            row[0] = row[0].wrapping_add_signed(amount);
            row[1] = !row[0];
        })?;
        Ok(())
    }

    /// Puts an element in that a scan has not shown.
    fn put<X: Transaction + ?Sized>(&self, txn: &mut X, queue: u64, number: u64) -> Result<(), Abort> {
        let key = self.queues.name(txn, queue, number);
        if txn.insert_row(Q, key, &[3u64, !3u64])? == Insertion::Exists {
            self.complain("met a key that no scan had shown");
        }
        self.pay(txn, number % ACCOUNTS, -3)
    }

    /// Takes an element out that a scan has shown.
    fn take<X: Transaction + ?Sized>(
        &self,
        txn: &mut X,
        queue: u64,
        element: (u64, u64),
    ) -> Result<(), Abort> {
        let key = self.queues.name(txn, queue, element.0);
        if txn.delete(Q, key)? == Presence::Missing {
            self.complain("a key that a scan had shown was gone");
        }
        self.pay(txn, element.0 % ACCOUNTS, element.1 as i64)
    }

    fn run_audit<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        let mut total = 0;
        for account in 0..ACCOUNTS {
            total += txn.read_row::<Row, _>(A, Key(account), |row| row[0])?.expect("accounts stay");
        }
        let all = self.look_at(
            txn,
            &Part { queues: 0..QUEUES, from: 0, to: 0, direction: Direction::Backward, limit: usize::MAX },
        )?;
        self.total.set(all.iter().fold(total, |total, (_, value)| total.wrapping_add(*value)));
        Ok(Outcome::Commit)
    }

    /// Changes a queue by what scans show; answers by how much it grew.
    fn change<X: Transaction + ?Sized>(
        &self,
        txn: &mut X,
        queue: u64,
        before: &Seen,
        random: &mut fastrand::Rng,
    ) -> Result<isize, Abort> {
        let mut grown = 0;
        match random.u8(0..5) {
            0 => {
                for _ in 0..random.usize(1..12).min(MOST.saturating_sub(pushed(before))) {
                    let last = self.look(txn, queue, 0, Direction::Backward, 1)?;
                    let next = last.first().map_or(TAIL, |(number, _)| TAIL.max(number + 1));
                    self.put(txn, queue, next)?;
                    grown += 1;
                }
            }
            1 => {
                for _ in 0..random.usize(1..12) {
                    let first = self.look(txn, queue, 0, Direction::Forward, 1)?;
                    let Some(&first) = first.first() else { break };
                    self.take(txn, queue, first)?;
                    grown -= 1;
                }
            }
            2 => {
                let first = random.u64(1..PLACES);
                for number in first..first + random.u64(1..10) {
                    if before.iter().all(|element| element.0 != number) {
                        self.put(txn, queue, number)?;
                        grown += 1;
                    }
                }
            }
            3 => {
                let from = random.u64(0..PLACES);
                let some = self.look(txn, queue, from, Direction::Forward, random.usize(1..20))?;
                for &element in &some {
                    self.take(txn, queue, element)?;
                    grown -= 1;
                }
            }
            _ => {
                for (&(number, _), amount) in before.iter().zip([1, -1i64]).take(before.len() / 2 * 2) {
                    let key = self.queues.name(txn, queue, number);
                    let seen = txn.update_row::<Row, _>(Q, key, |row| {
                        row[0] = row[0].wrapping_add_signed(amount);
                        row[1] = !row[0];
                    })?;
                    if seen.is_none() {
                        self.complain("a key that a scan had shown was gone");
                    }
                }
            }
        }
        Ok(grown)
    }

    fn look_again_and_again<X: Transaction + ?Sized>(
        &self,
        txn: &mut X,
        several: std::ops::Range<u64>,
        random: &mut fastrand::Rng,
    ) -> Result<Outcome, Abort> {
        let from = random.u64(0..PLACES);
        let part = Part {
            from,
            to: if random.bool() { 0 } else { from + random.u64(1..6) },
            direction: if random.bool() { Direction::Forward } else { Direction::Backward },
            limit: if random.bool() { usize::MAX } else { random.usize(1..20) },
            queues: several,
        };
        let first = self.look_at(txn, &part)?;
        for _ in 0..3 {
            if self.look_at(txn, &part)? != first {
                self.complain("what was scanned twice was not the same");
            }
        }
        Ok(Outcome::Commit)
    }

    /// Moves an element to another place, perhaps in another queue, without having looked.
    fn move_blindly<X: Transaction + ?Sized>(
        &self,
        txn: &mut X,
        queue: u64,
        other: u64,
        random: &mut fastrand::Rng,
    ) -> Result<Outcome, Abort> {
        let (from, to) = (random.u64(1..PLACES), random.u64(1..PLACES));
        let (from, to) = (self.queues.name(txn, queue, from), self.queues.name(txn, other, to));
        let mut value = 0;
        let seen = txn.read_row::<Row, _>(Q, from, |row| value = row[0])?;
        if seen.is_none() || txn.insert_row(Q, to, &[value, !value])? == Insertion::Exists {
            return Ok(Outcome::Rollback);
        }
        if txn.delete(Q, from)? == Presence::Missing {
            self.complain("a key that was read was gone");
        }
        Ok(Outcome::Commit)
    }

    /// Lets time pass, so that others come between.
    fn dawdle<X: Transaction + ?Sized>(&self, txn: &mut X, queue: u64) -> Result<(), Abort> {
        for _ in 0..10 {
            let _ = txn.read_row::<Row, _>(A, Key(queue), |_| ())?;
        }
        Ok(())
    }

    fn queues_of(random: &mut fastrand::Rng) -> (u64, std::ops::Range<u64>) {
        let queue = random.u64(0..QUEUES);
        let first = random.u64(0..QUEUES);
        (queue, first..random.u64(first..QUEUES) + 1)
    }
}

impl Procedure for Errand {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        *self.complaint.borrow_mut() = None;
        if self.audit {
            return self.run_audit(txn);
        }
        let mut random = fastrand::Rng::with_seed(self.seed);
        let (queue, several) = Self::queues_of(&mut random);
        match random.u8(0..6) {
            0 => return self.look_again_and_again(txn, several, &mut random),
            1 | 2 => return self.move_blindly(txn, several.start, queue, &mut random),
            _ => {}
        }
        let before = self.count(txn, queue)?;
        let grown = self.change(txn, queue, &before, &mut random)?;
        if grown > 0 {
            self.dawdle(txn, queue)?;
        }
        let after = self.count(txn, queue)?;
        if after.len() as isize != before.len() as isize + grown {
            self.complain(format!("{} elements, {grown} more, and then {}", before.len(), after.len()));
        }
        Ok(if random.u8(0..8) == 0 { Outcome::Rollback } else { Outcome::Commit })
    }

    fn plan<X: Transaction + ?Sized>(&self, txn: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        let (queue, several) = Self::queues_of(&mut fastrand::Rng::with_seed(self.seed));
        (0..ACCOUNTS).for_each(|account| plan.declare(A, Key(account)));
        let several = if self.audit { 0..QUEUES } else { several };
        // A scan of several queues is one of all partitions, also of those that have none.
        let all = if several.end - several.start > 1 { 0..MOST_PARTITIONS } else { several };
        all.chain([queue]).for_each(|queue| plan.declare(Q, self.queues.prefix(queue)));
        // A look may scan, too, and leaves nothing behind.
        let _ = self.look(txn, queue, 0, Direction::Forward, 3)?;
        Ok(())
    }
}

impl Client for Clerk {
    type Procedure = Errand;

    fn next(&mut self) -> Errand {
        Errand {
            queues: self.queues,
            seed: self.random.u64(..),
            audit: self.audit,
            complaint: RefCell::new(None),
            total: Cell::new(0),
        }
    }

    fn finished(&mut self, errand: Errand, completion: &Completion<'_>) {
        if completion.outcome == Outcome::Commit {
            self.broken.extend(errand.complaint.into_inner());
            self.total = errand.total.get();
        }
    }
}

impl Workload for Queues {
    type Client = Clerk;

    fn tables(&self) -> Vec<TableDescription> {
        let accounts = TableDescription {
            name: "accounts",
            row_bytes: size_of::<Row>(),
            length: RowLength::Fixed,
            kept_bytes: size_of::<Row>(),
            rows: ACCOUNTS,
            capacity: ACCOUNTS,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        };
        let partition: fn(Key, u32) -> PartitionId = match self.has_byte_strings() {
            true => |key, partitions| PartitionId((key.0 >> 56) as u32 % partitions),
            false => |key, partitions| PartitionId((key.0 >> 32) as u32 % partitions),
        };
        let queues = TableDescription {
            name: "queues",
            rows: QUEUES * LOADED,
            capacity: QUEUES * MOST as u64,
            indexing: self.0,
            partition: PartitionFunction::By(partition),
            ..accounts.clone()
        };
        vec![accounts, queues]
    }

    fn loaded_key(&self, table: TableId, row: u64) -> Key {
        if table == A { Key(row) } else { Key(((row / LOADED) << 32) | (row % LOADED * 3 + 1)) }
    }

    fn loaded_bytes(&self, _: TableId, key: Key, bytes: &mut Vec<u8>) {
        bytes.extend(self.bytes(key.0 >> 32, key.0 & 0xFFFF_FFFF));
    }

    fn fill(&self, _: TableId, _: Key, row: &mut [u8]) {
        row[..8].copy_from_slice(&FIRST_BALANCE.to_ne_bytes());
        row[8..].copy_from_slice(&(!FIRST_BALANCE).to_ne_bytes());
    }

    fn client(&self, seat: Seat) -> Clerk {
        let random = fastrand::Rng::with_seed(seat.seed * 1000 + seat.worker as u64);
        Clerk { queues: *self, random, broken: Vec::new(), audit: false, total: 0 }
    }
}

/// What broke, if anything, when `workers` ran over queues in a table of this kind.
pub fn queues_run<E: Engine>(
    selection: Selection,
    indexing: Indexing,
    workers: usize,
    seed: u64,
    transactions: u64,
    options: &EngineOptions,
) -> Result<(), String> {
    let workload = Queues(indexing);
    let Arrangement { layout, clients, .. } = E::arrange(selection, workers, options).expect("fits");
    let mut store = E::load(&workload, layout, &|_| ()).map_err(|error| error.to_string())?;
    let seat = |worker| Seat::new(worker, clients, seed).over(layout.partitions);
    let clients = (0..clients).map(|worker| workload.client(seat(worker))).collect();
    let until = Until::Transactions(transactions);
    let run = E::run_checked(&mut store, selection, clients, until, options).expect("plans are right");
    for (worker, client) in run.clients.iter().enumerate() {
        if let Some(broken) = client.broken.first() {
            return Err(format!("worker {worker}: {broken} ({} times)", client.broken.len()));
        }
    }
    let mut auditor = workload.client(Seat::new(0, 1, seed));
    auditor.audit = true;
    let until = Until::Transactions(1);
    let audit =
        E::run_checked(&mut store, selection, vec![auditor], until, options).expect("plans are right");
    let (total, expected) = (audit.clients[0].total, (ACCOUNTS + QUEUES * LOADED) * FIRST_BALANCE);
    if total != expected {
        return Err(format!("{expected} in all, {total} at the end"));
    }
    let leaks = E::leak_check(&store);
    if leaks.held != 0 || leaks.linked_records != leaks.allocated_records {
        return Err(format!("left behind: {leaks:?}"));
    }
    Ok(())
}
