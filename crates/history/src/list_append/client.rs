//! The transactions of list-append, and what they note: the lists that they read, per attempt.

use super::{
    EntryKind, LIST_CAPACITY, LISTS, List, ListAppend, ListEntry, ListWorker, MOST_OPERATIONS, appended,
    values,
};
use crate::history::{Ending, TransactionRecord};
use crate::random::generator;
use crate::version::Version;
use contract::telling::{tell, told};
use contract::{
    Abort, Access, Client, Completion, Key, Outcome, Plan, Presence, Procedure, RowLength, Seat, Span,
    Transaction, TransactionExt,
};
use std::cell::Cell;
use std::collections::VecDeque;
use zerocopy::FromBytes;

/// One worker's transactions.
#[derive(Debug)]
pub struct ListAppendClient {
    workload: ListAppend,
    seat: Seat,
    random: fastrand::Rng,
    /// The first list of the window.
    first: u64,
    /// By position in the window, whether its list was seen full.
    full: VecDeque<bool>,
    record: ListWorker,
    #[expect(
        clippy::vec_box,
        reason = "a log moves into a procedure and back: by its address, not its bytes"
    )]
    pool: Vec<Box<ListLog>>,
}

impl ListAppendClient {
    pub(super) fn new(workload: ListAppend, seat: Seat) -> Self {
        ListAppendClient {
            full: VecDeque::from(vec![false; workload.window as usize]),
            workload,
            seat,
            random: generator(seat),
            first: 0,
            record: ListWorker::default(),
            pool: Vec::new(),
        }
    }

    pub(super) fn into_record(self) -> ListWorker {
        self.record
    }

    fn draw(&mut self) -> ListOperation {
        let start = self.random.usize(0..self.full.len());
        let has_room = |position: &usize| !self.full[*position];
        let position = (start..self.full.len()).chain(0..start).find(has_room).unwrap_or(start);
        let appends = self.random.u32(0..100) >= self.workload.reads_percent;
        ListOperation { key: self.first + position as u64, appends }
    }

    /// Moves the window past lists that are full. All workers see the same lists fill up, so their windows stay
    /// together however far one worker is ahead of another.
    fn pass_full_lists(&mut self, log: &ListLog) {
        for entry in log.entries.iter().filter(|entry| entry.is_full) {
            // A list that the window has passed since the transaction began is of no interest.
            if let Some(position) = entry.key.checked_sub(self.first) {
                self.full[position as usize] = true;
            }
        }
        while self.full[0] && self.first + (self.full.len() as u64) < self.workload.keys {
            self.full.pop_front();
            self.full.push_back(false);
            self.first += 1;
        }
    }
}

impl Client for ListAppendClient {
    type Procedure = ListAppendProcedure;

    fn next(&mut self) -> ListAppendProcedure {
        self.record.issued += 1;
        let mut operations = [ListOperation::default(); MOST_OPERATIONS];
        let count = self.random.usize(self.workload.operations.clone());
        operations[..count].iter_mut().for_each(|operation| *operation = self.draw());
        let mut log = self.pool.pop().unwrap_or_default();
        log.attempts = 0;
        ListAppendProcedure {
            worker: self.seat.worker,
            transaction: self.record.issued,
            operations,
            count,
            length: self.workload.length,
            log: Cell::new(Some(log)),
        }
    }

    fn finished(&mut self, procedure: ListAppendProcedure, completion: &Completion<'_>) {
        let log = procedure.log.into_inner().expect("a procedure that ended holds its log");
        let ending = Ending {
            number: procedure.transaction,
            attempts: log.attempts,
            began_ns: completion.began_ns,
            ended_ns: completion.ended_ns,
            outcome: completion.outcome,
            id: completion.id,
            epoch: completion.epoch,
            snapshot: completion.snapshot,
        };
        let record = TransactionRecord::new(ending, self.record.entries.len(), log.entries.len());
        self.record.transactions.push(record);
        let base = self.record.values.len() as u64;
        self.record.values.extend_from_slice(&log.values);
        self.pass_full_lists(&log);
        self.record
            .entries
            .extend(log.entries.iter().map(|entry| ListEntry { first: base + entry.first, ..*entry }));
        self.pool.push(log);
    }

    fn tell(&self, into: &mut Vec<u8>) {
        tell(&self.record, into);
    }

    fn hear(&mut self, heard: &[u8]) -> Option<()> {
        self.record = told(heard)?;
        Some(())
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct ListOperation {
    key: u64,
    appends: bool,
}

/// What the attempt under way read.
#[derive(Debug, Default)]
struct ListLog {
    attempts: u32,
    entries: Vec<ListEntry>,
    values: Vec<u64>,
}

impl ListLog {
    /// Notes a list that was read; if the closure runs again, the last time counts.
    fn note(&mut self, first: usize, list: impl Iterator<Item = u64>) -> Version {
        self.values.truncate(first);
        self.values.extend(list);
        self.values[first..].last().map_or(Version::LOADED, |value| Version(*value))
    }
}

/// One transaction of list-append.
pub struct ListAppendProcedure {
    worker: usize,
    transaction: u32,
    operations: [ListOperation; MOST_OPERATIONS],
    count: usize,
    length: RowLength,
    log: Cell<Option<Box<ListLog>>>,
}

impl Procedure for ListAppendProcedure {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let mut log = self.log.take().expect("a procedure runs once at a time");
        log.attempts = log.attempts.saturating_add(1);
        log.entries.clear();
        log.values.clear();
        let performed = (0..self.count as u16).try_for_each(|position| self.perform(txn, &mut log, position));
        self.log.set(Some(log));
        performed.map(|()| Outcome::Commit)
    }

    fn plan<T: Transaction + ?Sized>(&self, _txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        for operation in &self.operations[..self.count] {
            let access = if operation.appends { Access::Write } else { Access::Read };
            plan.touch(LISTS, Key(operation.key), Span::whole(size_of::<List>()), access);
        }
        Ok(())
    }

    fn reads_snapshot(&self) -> bool {
        self.operations[..self.count].iter().all(|operation| !operation.appends)
    }
}

impl ListAppendProcedure {
    fn perform<T: Transaction + ?Sized>(
        &self,
        txn: &mut T,
        log: &mut ListLog,
        position: u16,
    ) -> Result<(), Abort> {
        let ListOperation { key, appends } = self.operations[usize::from(position)];
        let first = log.values.len();
        let mut seen = Version::MISSING;
        let mut appended_here = false;
        let value = appended(self.worker, self.transaction, log.attempts - 1, position);
        let whole = Span::whole(size_of::<List>());
        let presence = match (self.length, appends) {
            (RowLength::Fixed, true) => txn.update(LISTS, Key(key), whole, &mut |row| {
                let list = List::mut_from_bytes(row).expect("rows are aligned to 8 bytes");
                seen = log.note(first, list.values().iter().copied());
                appended_here = list.append(value.0);
            })?,
            (RowLength::Fixed, false) => txn.read(LISTS, Key(key), whole, &mut |row| {
                let list = List::ref_from_bytes(row).expect("rows are aligned to 8 bytes");
                seen = log.note(first, list.values().iter().copied());
            })?,
            (RowLength::Varying, true) => txn.change_whole(LISTS, Key(key), |row| {
                seen = log.note(first, values(row));
                appended_here = log.values.len() - first < LIST_CAPACITY;
                let fresh = value.0.to_le_bytes();
                [row, if appended_here { &fresh } else { &[] }].concat()
            })?,
            (RowLength::Varying, false) => {
                txn.read_whole(LISTS, Key(key), &mut |row| seen = log.note(first, values(row)))?
            }
        };
        let kind = match presence {
            Presence::Missing => EntryKind::Missed,
            Presence::Present if appended_here => EntryKind::Append,
            Presence::Present => EntryKind::Read,
        };
        let is_full = log.values.len() - first + usize::from(appended_here) >= LIST_CAPACITY;
        if kind != EntryKind::Read {
            log.values.truncate(first);
        }
        if kind == EntryKind::Missed {
            seen = Version::MISSING;
        }
        let count = (log.values.len() - first) as u32;
        log.entries.push(ListEntry { key, first: first as u64, count, position, kind, seen, is_full });
        Ok(())
    }
}

const _: () = assert!(size_of::<List>().is_multiple_of(8));
