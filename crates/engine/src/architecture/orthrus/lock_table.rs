//! The lock table of a concurrency-control thread: from a key to the queue of those who hold it or want it (*orthrus* 3.1).
//!
//! One thread has it, and asks nobody; of a table that threads share ([`super::shared_lock_table`]) it is a part, which one thread has at a time. A
//! transaction asks for all that it wants here at once, and gets it in the order of arrival: a lock is granted when no lock that conflicts with it
//! is left of those that came before, held or wanted. So nobody waits here in a circle, and nobody is passed. Memory grows with the locks that are held
//! or wanted, not with the rows.
//!
//! State:
//! - A *point* is one key of a table. Its queue is a list in the order of arrival, and those that are granted are a prefix of it: what keeps one from
//!   being granted, in its queue or among the ranges, keeps all behind it as well, or it does so itself.
//! - A *range* is the keys from one to another, whether there are rows or not. It counts those before it that conflict with it, points in it and
//!   ranges that overlap it, and is granted when there are none left. The ranges of a table are a list in the order of arrival.
//! - A point looks through the ranges of its table that came before; a range looks through the points in it. For that the points of a table are in
//!   order from the first range on that is asked for there.
//!
//! Most keys have one lock, of one transaction: in a table of which nobody has asked for a range, it is granted and given back without a look at a
//! queue.
//!
//! A transaction's locks do not conflict with each other. A slot's next transaction may ask here before the last one's release has come, when it came
//! by way of another thread; so a slot has a queue of transactions, and a release is that of the oldest.

mod heads;
mod pool;

use crate::protocol::{Mode, SlotId};
use contract::{Key, TableId};
use heads::{Head, Heads};
use pool::{NONE, Pool};

/// Keys of a table that a transaction wants to lock: from one to another, both included; or one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lock {
    pub table: TableId,
    pub first: Key,
    pub last: Key,
    pub mode: Mode,
}

impl Lock {
    /// Of one key.
    pub fn of_key(table: TableId, key: Key, mode: Mode) -> Self {
        Lock { table, first: key, last: key, mode }
    }

    /// Whether it is of one key.
    #[inline(always)]
    pub fn is_point(&self) -> bool {
        self.first == self.last
    }

    /// Whether it has all keys from one to another.
    #[inline(always)]
    pub fn covers(&self, table: TableId, first: Key, last: Key) -> bool {
        self.table == table && self.first <= first && last <= self.last
    }

    /// Whether a key is in both, and one of the two is to write.
    #[inline(always)]
    fn conflicts(&self, other: &Lock) -> bool {
        let overlap = self.table == other.table && self.first <= other.last && other.first <= self.last;
        overlap && (self.mode == Mode::Exclusive || other.mode == Mode::Exclusive)
    }
}

/// A lock that is held or wanted.
struct Entry {
    lock: Lock,
    transaction: u32,
    /// Of its transaction.
    arrival: u64,
    is_granted: bool,
    /// Of its transaction's locks the next.
    sibling: u32,
    /// Of a point: its head, and its neighbours in the queue.
    head: u32,
    ahead: u32,
    behind: u32,
    /// Of a range: how many that conflict are left of those that came before.
    conflicts: u32,
}

/// Locks that one transaction has asked for at once.
struct Transaction<T> {
    arrival: u64,
    first_entry: u32,
    /// How many are not granted.
    missing: u32,
    /// The slot's next.
    next: u32,
    errand: T,
}

/// A slot's transactions, the oldest first.
#[derive(Clone, Copy)]
struct OfSlot {
    oldest: u32,
    newest: u32,
}

/// What there is of a table beside its points.
#[derive(Default)]
struct OfTable {
    /// In the order of arrival.
    ranges: Vec<u32>,
    /// Keys and heads in the order of the keys, once ranges have been asked for.
    in_order: Option<Vec<(Key, u32)>>,
}

impl OfTable {
    /// Whether nobody has ever asked for one.
    #[inline(always)]
    fn is_without_ranges(&self) -> bool {
        self.in_order.is_none()
    }

    /// The heads of the keys of a range.
    fn heads_of(&self, lock: &Lock) -> &[(Key, u32)] {
        let in_order = self.in_order.as_ref().expect("kept since the first range");
        let from = in_order.partition_point(|&(key, _)| key < lock.first);
        let length = in_order[from..].partition_point(|&(key, _)| key <= lock.last);
        &in_order[from..from + length]
    }
}

/// See the module. With each transaction goes an errand, which is told when all that it asked for is granted.
pub(crate) struct LockTable<T> {
    heads: Heads,
    entries: Pool<Entry>,
    transactions: Pool<Transaction<T>>,
    slots: Box<[OfSlot]>,
    tables: Box<[OfTable]>,
    arrivals: u64,
    /// Whether a lock to read waits for those before it. A canary's does not.
    readers_wait: bool,
}

/// Locks of each slot for which there is room from the beginning, as there is in its lock set: the table does not grow while time is measured.
const LOCKS_A_SLOT: usize = 128;
/// The least and the most for which there is room from the beginning.
const LEAST_ROOM: usize = 1 << 10;
const MOST_ROOM: usize = 1 << 14;

impl<T: Copy> LockTable<T> {
    /// For transactions of so many slots, over so many tables. `readers_wait`: whether locks to read wait for those that came before.
    pub fn new(slots: usize, tables: usize, readers_wait: bool) -> Self {
        let room = (LOCKS_A_SLOT * slots).next_power_of_two().clamp(LEAST_ROOM, MOST_ROOM);
        LockTable {
            heads: Heads::with_room(room),
            entries: Pool::with_room(room),
            transactions: Pool::with_room(slots),
            slots: vec![OfSlot { oldest: NONE, newest: NONE }; slots].into(),
            tables: std::iter::repeat_with(OfTable::default).take(tables).collect(),
            arrivals: 0,
            readers_wait,
        }
    }

    /// Whether nobody holds or wants anything.
    pub fn is_empty(&self) -> bool {
        self.transactions.in_use() == 0 && self.entries.in_use() == 0 && self.heads.count() == 0
    }

    /// Locks that are held or wanted.
    #[cfg(test)]
    fn locks(&self) -> usize {
        self.entries.in_use()
    }

    /// The slot's transaction asks for `locks`, in which each key is a point once at most, and points come before ranges. Answers whether it has them all; otherwise a
    /// release tells its errand.
    pub fn request(&mut self, slot: SlotId, locks: &[Lock], errand: T) -> bool {
        let arrival = self.arrivals;
        self.arrivals += 1;
        let transaction = Transaction { arrival, first_entry: NONE, missing: 0, next: NONE, errand };
        let transaction = self.transactions.put(transaction);
        let of_slot = &mut self.slots[slot.0 as usize];
        match of_slot.newest {
            NONE => of_slot.oldest = transaction,
            newest => {
                assert!(self.transactions[newest].missing == 0, "a slot runs one transaction at a time");
                self.transactions[newest].next = transaction;
            }
        }
        of_slot.newest = transaction;
        // Ranges first: they count the points that came before.
        let ranges = locks.iter().rev().take_while(|lock| !lock.is_point()).count();
        let (points, ranges) = locks.split_at(locks.len() - ranges);
        for &lock in ranges {
            self.request_range(transaction, lock);
        }
        for &lock in points {
            self.request_point(transaction, lock);
        }
        self.transactions[transaction].missing == 0
    }

    /// The slot's oldest transaction gives back all that it has here. `granted` is told the errands of those who have all that they asked for,
    /// now.
    pub fn release(&mut self, slot: SlotId, mut granted: impl FnMut(T)) {
        let of_slot = &mut self.slots[slot.0 as usize];
        let transaction = of_slot.oldest;
        assert!(transaction != NONE, "slot {} releases what it has not asked for", slot.0);
        let Transaction { next, missing, first_entry, .. } = self.transactions[transaction];
        assert!(missing == 0, "slot {} releases what it does not hold", slot.0);
        of_slot.oldest = next;
        if next == NONE {
            of_slot.newest = NONE;
        }
        let mut entry = first_entry;
        while entry != NONE {
            let sibling = self.entries[entry].sibling;
            match self.entries[entry].lock.is_point() {
                true => self.release_point(entry, &mut granted),
                false => self.release_range(entry, &mut granted),
            }
            self.entries.give_back(entry);
            entry = sibling;
        }
        self.transactions.give_back(transaction);
    }

    /// A new entry, the transaction's, not granted.
    #[inline(always)]
    fn add(&mut self, transaction: u32, lock: Lock, head: u32, conflicts: u32) -> u32 {
        let Transaction { arrival, first_entry: sibling, .. } = self.transactions[transaction];
        let entry = self.entries.put(Entry {
            lock,
            transaction,
            arrival,
            is_granted: false,
            sibling,
            head,
            ahead: NONE,
            behind: NONE,
            conflicts,
        });
        self.transactions[transaction].first_entry = entry;
        entry
    }

    /// Grants an entry; answers whether it was the last that its transaction missed.
    fn grant(&mut self, entry: u32) -> bool {
        let Entry { transaction, ref mut is_granted, .. } = self.entries[entry];
        assert!(!*is_granted, "granted twice");
        *is_granted = true;
        let missing = &mut self.transactions[transaction].missing;
        *missing -= 1;
        *missing == 0
    }

    #[inline(always)]
    fn request_point(&mut self, transaction: u32, lock: Lock) {
        assert!(lock.is_point(), "points come before ranges");
        match self.heads.find(lock.table, lock.first) {
            None if self.tables[lock.table.index()].is_without_ranges() => {
                self.grant_alone(transaction, lock)
            }
            head => self.queue_up(transaction, lock, head),
        }
    }

    /// Grants a point that nobody else holds or wants.
    #[inline(always)]
    fn grant_alone(&mut self, transaction: u32, lock: Lock) {
        let number = self.heads.insert(Head::of(lock.table, lock.first));
        let entry = self.add(transaction, lock, number, 0);
        self.entries[entry].is_granted = true;
        let head = &mut self.heads[number];
        (head.first, head.last, head.granted) = (entry, entry, 1);
        match lock.mode {
            Mode::Shared => head.shared = 1,
            Mode::Exclusive => (head.exclusive, head.is_exclusive) = (1, true),
        }
    }

    /// Asks for a point behind those who have asked before.
    fn queue_up(&mut self, transaction: u32, lock: Lock, head: Option<u32>) {
        let number = head.unwrap_or_else(|| self.new_head(lock.table, lock.first));
        let entry = self.add(transaction, lock, number, 0);
        // Until it is granted.
        self.transactions[transaction].missing += 1;
        let arrival = self.entries[entry].arrival;
        let head = &mut self.heads[number];
        let last = head.last;
        match lock.mode {
            Mode::Shared => head.shared += 1,
            Mode::Exclusive => head.exclusive += 1,
        }
        head.last = entry;
        if head.first_wanted == NONE {
            head.first_wanted = entry;
        }
        match last {
            NONE => head.first = entry,
            last => {
                assert!(self.entries[last].arrival != arrival, "a transaction asks for a key once");
                self.entries[last].behind = entry;
                self.entries[entry].ahead = last;
            }
        }
        // Whether it is granted says the transaction's count.
        self.promote(number, &mut |_| ());
    }

    /// A head for a key that has none.
    fn new_head(&mut self, table: TableId, key: Key) -> u32 {
        let number = self.heads.insert(Head::of(table, key));
        if let Some(in_order) = &mut self.tables[table.index()].in_order {
            let at = in_order.partition_point(|&(other, _)| other < key);
            in_order.insert(at, (key, number));
        }
        number
    }

    /// A queue is empty.
    #[inline(always)]
    fn remove_head(&mut self, number: u32) {
        let Head { table, key, .. } = self.heads[number];
        if let Some(in_order) = &mut self.tables[table.index()].in_order {
            let at = in_order.partition_point(|&(other, _)| other < key);
            assert!(in_order[at] == (key, number), "every head is in order");
            in_order.remove(at);
        }
        self.heads.remove(number);
    }

    /// Grants what may be granted of a queue.
    fn promote(&mut self, number: u32, granted: &mut impl FnMut(T)) {
        loop {
            let Head { first_wanted: entry, granted: holders, is_exclusive, .. } = self.heads[number];
            if entry == NONE {
                return;
            }
            let mode = self.entries[entry].lock.mode;
            let is_free = holders == 0 || mode == Mode::Shared && !is_exclusive;
            let waits = self.readers_wait || mode == Mode::Exclusive;
            if waits && (!is_free || self.waits_for_range(entry)) {
                return;
            }
            let behind = self.entries[entry].behind;
            let head = &mut self.heads[number];
            head.first_wanted = behind;
            head.granted += 1;
            head.is_exclusive = mode == Mode::Exclusive;
            if self.grant(entry) {
                granted(self.transactions[self.entries[entry].transaction].errand);
            }
        }
    }

    /// Whether a range conflicts with a point that came before it.
    fn waits_for_range(&self, entry: u32) -> bool {
        let Entry { ref lock, arrival, .. } = self.entries[entry];
        let ranges = &self.tables[lock.table.index()].ranges;
        ranges
            .iter()
            .map(|&range| &self.entries[range])
            .any(|range| range.arrival < arrival && range.lock.conflicts(lock))
    }

    #[inline(always)]
    fn release_point(&mut self, entry: u32, granted: &mut impl FnMut(T)) {
        let Entry { ref lock, head, ahead, behind, .. } = self.entries[entry];
        let is_alone = ahead == NONE && behind == NONE;
        match is_alone && self.tables[lock.table.index()].is_without_ranges() {
            true => self.heads.remove(head),
            false => self.leave_queue(entry, granted),
        }
    }

    /// A point's lock is gone, for which others may wait.
    fn leave_queue(&mut self, entry: u32, granted: &mut impl FnMut(T)) {
        let Entry { lock, head: number, ahead, behind, arrival, .. } = self.entries[entry];
        let head = &mut self.heads[number];
        match lock.mode {
            Mode::Shared => head.shared -= 1,
            Mode::Exclusive => {
                head.exclusive -= 1;
                head.is_exclusive = false;
            }
        }
        head.granted -= 1;
        match ahead {
            NONE => head.first = behind,
            ahead => self.entries[ahead].behind = behind,
        }
        match behind {
            NONE => self.heads[number].last = ahead,
            behind => self.entries[behind].ahead = ahead,
        }
        self.leave_ranges(&lock, arrival, granted);
        match self.heads[number].first {
            NONE => self.remove_head(number),
            _ => self.promote(number, granted),
        }
    }

    /// A lock is gone that came at `arrival`: ranges that came later do not wait for it any more.
    fn leave_ranges(&mut self, lock: &Lock, arrival: u64, granted: &mut impl FnMut(T)) {
        for nth in 0..self.tables[lock.table.index()].ranges.len() {
            let number = self.tables[lock.table.index()].ranges[nth];
            let range = &mut self.entries[number];
            if range.arrival <= arrival || !range.lock.conflicts(lock) || range.is_granted {
                continue;
            }
            range.conflicts -= 1;
            if range.conflicts == 0 && self.grant(number) {
                granted(self.transactions[self.entries[number].transaction].errand);
            }
        }
    }

    fn request_range(&mut self, transaction: u32, lock: Lock) {
        self.keep_in_order(lock.table);
        let arrival = self.transactions[transaction].arrival;
        let OfTable { ranges, .. } = &self.tables[lock.table.index()];
        let earlier = ranges.iter().filter(|&&range| {
            let range = &self.entries[range];
            range.arrival < arrival && range.lock.conflicts(&lock)
        });
        let ranges = earlier.count() as u32;
        let points = self.tables[lock.table.index()].heads_of(&lock).iter().map(|&(_, head)| {
            let Head { shared, exclusive, .. } = self.heads[head];
            if lock.mode == Mode::Exclusive { shared + exclusive } else { exclusive }
        });
        let waits = self.readers_wait || lock.mode == Mode::Exclusive;
        let conflicts = if waits { ranges + points.sum::<u32>() } else { 0 };
        let entry = self.add(transaction, lock, NONE, conflicts);
        // Until it is granted.
        self.transactions[transaction].missing += 1;
        self.tables[lock.table.index()].ranges.push(entry);
        if conflicts == 0 {
            self.grant(entry);
        }
    }

    /// From now on the points of a table are in order.
    fn keep_in_order(&mut self, table: TableId) {
        let of_table = &mut self.tables[table.index()];
        if of_table.in_order.is_none() {
            let heads = self.heads.numbers().map(|number| (number, &self.heads[number]));
            let heads = heads.filter(|(_, head)| head.table == table);
            let mut in_order = Vec::with_capacity(self.heads.room());
            in_order.extend(heads.map(|(number, head)| (head.key, number)));
            in_order.sort_unstable();
            of_table.in_order = Some(in_order);
            of_table.ranges.reserve(self.heads.room());
        }
    }

    fn release_range(&mut self, entry: u32, granted: &mut impl FnMut(T)) {
        let Entry { lock, arrival, .. } = self.entries[entry];
        let ranges = &mut self.tables[lock.table.index()].ranges;
        let at = ranges.iter().position(|&range| range == entry).expect("every range is in its table's list");
        ranges.remove(at);
        self.leave_ranges(&lock, arrival, granted);
        // Queues stay while they are looked through.
        for nth in 0..self.tables[lock.table.index()].heads_of(&lock).len() {
            let (_, head) = self.tables[lock.table.index()].heads_of(&lock)[nth];
            self.promote(head, granted);
        }
    }
}

#[cfg(test)]
mod tests;
