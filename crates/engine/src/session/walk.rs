//! A slot's part in a checkpoint ([`crate::durability::checkpoint`]): between two transactions of its own it takes a part of the tables,
//! looks which keys come next, reads their rows in a transaction like any other, and gives the part back.
//!
//! Steps are short, some thirty rows, and pauses are [`PAUSES`] times as long as the steps, so that the slot's own transactions go on.

use super::interval::Interval;
use super::ring::Drawn;
use super::slot::Slot;
use crate::architecture::Architecture;
use crate::durability::Log;
use crate::durability::checkpoint::Part;
use crate::durability::format::{LoggedKey, Writer};
use crate::facade::clock::{self, Ticks};
use crate::protocol::Attempt;
use crate::transaction::KeyList;
use contract::{
    Abort, Access, Key, Outcome, Plan, Presence, Procedure, RunError, Span, TableId, Transaction,
};
use std::cell::RefCell;

/// How long a slot does not walk after a step, in steps.
const PAUSES: u64 = 3;

/// What a slot keeps for it.
pub(super) struct Walk {
    /// Not before.
    next: Ticks,
    read: Drawn<ReadRows>,
}

impl Walk {
    /// Nothing was walked.
    pub fn new() -> Walk {
        Walk { next: Ticks(0), read: Drawn { procedure: ReadRows::none(), plan: Plan::default() } }
    }
}

/// Reads the rows of some keys.
pub(super) struct ReadRows {
    table: TableId,
    row_bytes: usize,
    has_byte_strings: bool,
    pub keys: KeyList,
    /// As transactions of the log, and how many.
    rows: RefCell<(Vec<u8>, u64)>,
}

impl ReadRows {
    /// Reads nothing.
    pub fn none() -> ReadRows {
        let (keys, rows) = (KeyList::default(), RefCell::default());
        ReadRows { table: TableId(0), row_bytes: 0, has_byte_strings: false, keys, rows }
    }

    /// Is going to read rows of a part.
    pub fn of(&mut self, part: &Part) {
        (self.table, self.row_bytes, self.has_byte_strings) =
            (part.table, part.row_bytes, part.has_byte_strings);
    }

    /// Gives the rows that it has read to their part.
    pub fn hand_to(&self, part: &mut Part) {
        let mut rows = self.rows.borrow_mut();
        part.append(&rows.0, rows.1);
        rows.0.clear();
    }
}

impl Procedure for ReadRows {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let mut read = std::mem::take(&mut *self.rows.borrow_mut());
        read.0.clear();
        let mut rows = Writer::begin(&mut read.0, 0, 0);
        for bytes in self.keys.iter() {
            let (key, logged) = match bytes.try_into() {
                Ok(number) if !self.has_byte_strings => (Key::prefix_of(bytes), LoggedKey::Number(number)),
                _ => (txn.key(self.table, bytes), LoggedKey::String(bytes)),
            };
            // One that is gone meanwhile is in the log as deleted.
            let _: Presence = txn.read_whole(self.table, key, &mut |row| {
                rows.insert(self.table.0, logged, row.len(), |into| into.copy_from_slice(row));
            })?;
        }
        read.1 = u64::from(rows.state().1);
        rows.end();
        *self.rows.borrow_mut() = read;
        Ok(Outcome::Commit)
    }

    fn plan<T: Transaction + ?Sized>(&self, _: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        for bytes in self.keys.iter() {
            plan.touch(self.table, Key::prefix_of(bytes), Span::whole(self.row_bytes), Access::Read);
        }
        Ok(())
    }
}

impl<A: Architecture> Slot<'_, A> {
    /// Does a step, if the last one was long enough ago and there is a part to be walked. In fibers, away from home.
    #[cold]
    pub fn walk(&mut self, log: &Log) -> Result<(), RunError> {
        let began = clock::now();
        if self.walk.as_ref().is_some_and(|walk| began < walk.next) {
            return Ok(());
        }
        let Some(mut part) = log.checkpoints().take_part() else { return Ok(()) };
        let mut walk = self.walk.take().unwrap_or_else(|| Box::new(Walk::new()));
        let stepped = self.step(&mut part, &mut walk.read);
        log.checkpoints().give_back(part);
        let now = clock::now();
        walk.next = Ticks(now.0 + PAUSES * now.since(began));
        self.walk = Some(walk);
        stepped
    }

    fn step(&mut self, part: &mut Part, read: &mut Drawn<ReadRows>) -> Result<(), RunError> {
        let procedure = &mut read.procedure;
        procedure.of(part);
        let mut attempts = 0;
        loop {
            self.txn.begin_reconnaissance(if attempts == 0 { Attempt::First } else { Attempt::Retry });
            let told = self.txn.walk(part.table, part.partition, &mut part.position, &mut procedure.keys);
            self.txn.end_reconnaissance();
            if told.is_ok() {
                break;
            }
            attempts += 1;
            self.txn.architecture.back_off(attempts);
        }
        if read.procedure.keys.is_empty() {
            return Ok(());
        }
        self.plan(read);
        self.prefetch_now(read);
        // None of its aborts counts, and it is not given up.
        let never = Ticks(u64::MAX);
        let apart = Interval { from: never, to: never, given_up_at: never };
        let ended = self.execute(read, apart)?;
        assert!(ended.is_some(), "it is not given up");
        // What a stopwatch saw of it is no part of the workload.
        self.txn.stopwatch.take();
        read.procedure.hand_to(part);
        Ok(())
    }
}
