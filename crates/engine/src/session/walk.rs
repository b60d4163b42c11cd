//! A slot's part in a checkpoint ([`crate::durability::checkpoint`]): between two transactions of its own it takes a part of the tables,
//! looks which keys come next, reads their rows in a transaction like any other, and gives the part back.
//!
//! Steps are short, some thirty rows or [`ENOUGH_BYTES`] of them, and pauses are [`PAUSES`] times as long as the steps, so that the slot's own
//! transactions go on; but not longer than [`LONGEST_PAUSE`], for where cores are scarce a step may have taken long because it waited.

use super::interval::Interval;
use super::reach::Reach;
use super::ring::Drawn;
use super::slot::Slot;
use crate::architecture::Architecture;
use crate::durability::Log;
use crate::durability::checkpoint::Part;
use crate::durability::format::{LoggedKey, Writer};
use crate::facade::clock::{self, Ticks};
use crate::facade::latched::Latched;
use crate::index::{KeyList, WalkPosition};
use crate::protocol::Attempt;
use contract::{
    Abort, Access, Key, Outcome, Plan, Presence, Procedure, RunError, Span, TableId, Transaction,
};
use std::time::Duration;

/// How long a slot does not walk after a step, in steps.
const PAUSES: u64 = 3;
/// But no longer than this.
const LONGEST_PAUSE: Duration = Duration::from_millis(1);
/// Bytes of rows after which a step reads no other: so a block has no more than these, and one row.
const ENOUGH_BYTES: usize = 64 << 10;

/// What a slot keeps for it.
pub(super) struct Walk {
    /// Not before.
    next: Ticks,
    read: Drawn<ReadRows>,
}

impl Walk {
    /// Nothing was walked.
    pub fn new() -> Walk {
        Walk {
            next: Ticks(0),
            read: Drawn {
                procedure: ReadRows::none(),
                plan: Plan::default(),
                is_planned: false,
                due: Ticks(0),
            },
        }
    }
}

/// Reads the rows of some keys.
pub(super) struct ReadRows {
    table: TableId,
    row_bytes: usize,
    has_byte_strings: bool,
    keys: KeyList,
    read: Latched<Rows>,
}

/// What the last attempt has read.
#[derive(Default)]
struct Rows {
    /// Of so many keys.
    keys: usize,
    /// As a transaction of the log.
    payload: Vec<u8>,
    rows: u64,
}

impl ReadRows {
    /// Reads nothing.
    pub fn none() -> ReadRows {
        let (keys, read) = (KeyList::default(), Latched::default());
        ReadRows { table: TableId(0), row_bytes: 0, has_byte_strings: false, keys, read }
    }

    /// Begins a step of a part: with the keys that are at hand.
    pub fn begin(&mut self, part: &mut Part) {
        (self.table, self.row_bytes, self.has_byte_strings) =
            (part.table, part.row_bytes, part.has_byte_strings);
        std::mem::swap(&mut self.keys, &mut part.keys);
    }

    /// If none are at hand, those that `walk` tells; answers whether there are any. Of a part that has not ended there may be none.
    pub fn find(&mut self, part: &mut Part, walk: impl FnOnce(&mut Part, &mut KeyList)) -> bool {
        if self.keys.is_empty() && part.position != WalkPosition::End {
            walk(part, &mut self.keys);
        }
        !self.keys.is_empty()
    }

    /// Ends a step: gives the rows that were read, and the keys whose rows were not, to the part.
    pub fn end(&mut self, part: &mut Part) {
        let Rows { mut payload, keys, rows } = self.read.with(std::mem::take);
        self.keys.take(keys);
        if rows > 0 {
            part.append(&payload, rows);
        }
        std::mem::swap(&mut self.keys, &mut part.keys);
        payload.clear();
        // Memory for a large row is not kept.
        if payload.capacity() <= 2 * ENOUGH_BYTES {
            self.read.with(|read| read.payload = payload);
        }
    }
}

impl Procedure for ReadRows {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let Rows { mut payload, .. } = self.read.with(std::mem::take);
        payload.clear();
        let mut rows = Writer::begin(&mut payload, 0, 0);
        let mut keys = 0;
        for bytes in self.keys.iter() {
            let (key, logged) = match bytes.try_into() {
                Ok(number) if !self.has_byte_strings => (Key::prefix_of(bytes), LoggedKey::Number(number)),
                _ => (txn.key(self.table, bytes), LoggedKey::String(bytes)),
            };
            // One that is gone meanwhile is in the log as deleted.
            let _: Presence = txn.read_whole(self.table, key, &mut |row| {
                rows.insert(self.table.0, logged, row.len(), |into| into.copy_from_slice(row));
            })?;
            keys += 1;
            if rows.bytes_so_far() >= ENOUGH_BYTES {
                break;
            }
        }
        let count = u64::from(rows.state().1);
        rows.end();
        self.read.with(|read| *read = Rows { keys, payload, rows: count });
        Ok(Outcome::Commit)
    }

    fn plan<T: Transaction + ?Sized>(&self, _: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        for bytes in self.keys.iter() {
            plan.touch(self.table, Key::prefix_of(bytes), Span::whole(self.row_bytes), Access::Read);
        }
        Ok(())
    }
}

impl<'e, A: Architecture, R: Reach<'e, A>> Slot<'e, A, R> {
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
        let pause = (PAUSES * now.since(began)).min(clock::ticks_of(LONGEST_PAUSE));
        walk.next = Ticks(now.0 + pause);
        self.walk = Some(walk);
        stepped
    }

    fn step(&mut self, part: &mut Part, read: &mut Drawn<ReadRows>) -> Result<(), RunError> {
        read.procedure.begin(part);
        let has_keys = read.procedure.find(part, |part, keys| {
            let mut attempts = 0;
            loop {
                self.txn.begin_reconnaissance(if attempts == 0 { Attempt::First } else { Attempt::Retry });
                let told = self.txn.walk(part.table, part.partition, &mut part.position, keys);
                self.txn.end_reconnaissance();
                if told.is_ok() {
                    break;
                }
                attempts += 1;
                self.txn.architecture.back_off(attempts);
            }
        });
        if has_keys {
            self.plan(read);
            self.prefetch_now(read);
            // None of its aborts counts, and it is not given up.
            let never = Ticks(u64::MAX);
            let apart = Interval { from: never, to: never, given_up_at: never };
            let ended = self.execute(read, apart)?;
            assert!(ended.is_some(), "it is not given up");
            // What a stopwatch saw of it is no part of the workload.
            self.txn.stopwatch.take();
        }
        read.procedure.end(part);
        Ok(())
    }
}
