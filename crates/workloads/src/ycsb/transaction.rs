//! YCSB's transaction: reads, scans and updates of single fields or whole rows, and inserts.

use super::sequences::{Search, Sequences};
use super::{TABLE, text};
use crate::random::choose;
use crate::touches::{Touch, Touches};
use contract::{
    Abort, Access, Direction, Key, Outcome, Plan, Presence, Procedure, Scan, Span, TableId, Transaction,
};
use std::cell::Cell;
use std::hint::black_box;
use std::ops::Bound;

/// What an access that writes does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Updates {
    ReadModifyWrite,
    Blind,
    Insert,
}

/// What an access does to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Bytes that an access touches: of a field, or of the row.
    pub(super) part_bytes: usize,
    /// Bytes of a row, which an insert writes.
    pub(super) row_bytes: usize,
    /// Fields of a row, or one whole row.
    pub(super) parts: u32,
    /// Whether reads are scans; a touch's field is then the number of rows.
    pub(super) scans: bool,
    /// Partitions of the table, all of which a scan takes part in.
    pub(super) partitions: u32,
    pub(super) updates: Updates,
    /// Whether a transaction that only reads may read a snapshot.
    pub(super) reads_snapshots: bool,
}

impl Shape {
    #[inline]
    fn span(self, touch: Touch) -> Span {
        if self.updates == Updates::Insert && touch.writes() {
            return Span::whole(self.row_bytes);
        }
        Span::new(touch.field() * self.part_bytes, self.part_bytes)
    }

    #[inline]
    fn access(self, touch: Touch) -> Access {
        if self.updates == Updates::Insert && touch.writes() { Access::Structure } else { touch.access() }
    }
}

/// Accesses to the rows that it was drawn with, or a search for the end of a sequence of inserted rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YcsbTransaction {
    pub(super) touches: Touches,
    /// Decides what updates write.
    pub(super) salt: u64,
    shape: Shape,
    /// Bit n: the nth access of the last run read a row that is not there.
    missed: Cell<u64>,
    /// Then there are no accesses.
    pub(super) search: Option<Search>,
}

const _: () = assert!(crate::touches::MOST_TOUCHES <= u64::BITS as usize, "a bit for every access");

impl YcsbTransaction {
    /// Without accesses yet, for which there is this memory.
    #[inline]
    pub(super) fn new(shape: Shape, touches: Touches) -> Self {
        YcsbTransaction { touches, salt: 0, shape, missed: Cell::new(0), search: None }
    }

    /// One that was encoded ([`Procedure::encode`]).
    pub(super) fn decode(shape: Shape, into: Touches, bytes: &[u8]) -> Option<Self> {
        let (salt, touches) = bytes.split_first_chunk()?;
        let touches = into.decode(touches)?;
        Some(YcsbTransaction { salt: u64::from_le_bytes(*salt), ..YcsbTransaction::new(shape, touches) })
    }

    /// What it found out about the sequences of inserted rows, once it has committed.
    #[inline(never)]
    pub(super) fn tell(&self, sequences: &mut Sequences) {
        if let Some(search) = &self.search {
            let (worker, end) = search.found();
            return sequences.ends(worker, end);
        }
        sequences.committed(self.touches.writes());
        let mut missed = self.missed.get();
        while missed != 0 {
            let touch = self.touches.as_slice()[missed.trailing_zeros() as usize];
            sequences.missed(touch.key().0);
            missed &= missed - 1;
        }
    }

    #[inline]
    fn read<T: Transaction + ?Sized>(&self, txn: &mut T, key: Key, span: Span) -> Result<Presence, Abort> {
        txn.read(TABLE, key, span, &mut |bytes| {
            black_box(text::digest(bytes));
        })
    }

    /// The part of each row that scans see.
    #[inline]
    fn scanned(&self) -> Span {
        let part = choose(self.salt, self.shape.parts) as usize;
        Span::new(part * self.shape.part_bytes, self.shape.part_bytes)
    }

    #[inline(never)]
    fn scan<T: Transaction + ?Sized>(&self, txn: &mut T, touch: Touch) -> Result<(), Abort> {
        let first = touch.key().bytes();
        let scan = Scan {
            table: TABLE,
            from: Bound::Included(&first),
            to: Bound::Unbounded,
            direction: Direction::Forward,
            limit: touch.field(),
            span: self.scanned(),
            within: None,
        };
        txn.scan(&scan, &mut |_, bytes| {
            black_box(text::digest(bytes));
        })?;
        Ok(())
    }

    #[inline(never)]
    fn plan_scans(&self, plan: &mut Plan) {
        if self.touches.as_slice().iter().all(|touch| touch.writes()) {
            return;
        }
        // How far they come depends on which keys there are.
        plan.leave_open();
        if self.shape.partitions > 1 {
            (0..u64::from(self.shape.partitions)).for_each(|key| plan.declare(TABLE, Key(key)));
        }
    }

    #[inline]
    fn update<T: Transaction + ?Sized>(&self, txn: &mut T, key: Key, span: Span) -> Result<Presence, Abort> {
        let excerpt = || text::excerpt(self.salt.wrapping_add(key.0), span.length());
        match self.shape.updates {
            Updates::ReadModifyWrite => {
                txn.update(TABLE, key, span, &mut |bytes| text::alter(bytes, self.salt))
            }
            Updates::Blind => txn.write(TABLE, key, span.start(), excerpt()),
            // A row that is there already was left by a run that was cut off.
            Updates::Insert => txn.insert(TABLE, key, excerpt()).map(|_| Presence::Present),
        }
    }
}

impl Procedure for YcsbTransaction {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        if let Some(search) = &self.search {
            search.run(txn)?;
            return Ok(Outcome::Commit);
        }
        let mut missed = 0;
        for (nth, touch) in self.touches.as_slice().iter().enumerate() {
            if self.shape.scans && !touch.writes() {
                self.scan(txn, *touch)?;
                continue;
            }
            let (key, span) = (touch.key(), self.shape.span(*touch));
            let presence =
                if touch.writes() { self.update(txn, key, span)? } else { self.read(txn, key, span)? };
            if presence == Presence::Missing {
                let grows = self.shape.updates == Updates::Insert;
                assert!(grows, "row {} was loaded and is never deleted", key.0);
                missed |= 1 << nth;
            }
        }
        self.missed.set(missed);
        Ok(Outcome::Commit)
    }

    fn plan<T: Transaction + ?Sized>(&self, _txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        if let Some(search) = &self.search {
            search.plan(plan);
        }
        for touch in self.touches.as_slice() {
            let is_scan = self.shape.scans && !touch.writes();
            let span = if is_scan { self.scanned() } else { self.shape.span(*touch) };
            plan.touch(TABLE, touch.key(), span, self.shape.access(*touch));
        }
        if self.shape.scans {
            self.plan_scans(plan);
        }
        Ok(())
    }

    /// Reads and updates of rows that were loaded; each is of one row.
    fn runs_in_fragments(&self, at: &mut dyn FnMut(TableId, Key)) -> bool {
        if self.search.is_some() || self.shape.scans || self.shape.updates == Updates::Insert {
            return false;
        }
        self.touches.as_slice().iter().for_each(|touch| at(TABLE, touch.key()));
        true
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.salt.to_le_bytes());
        self.touches.encode(into);
    }

    fn reads_snapshot(&self) -> bool {
        // Who follows sequences wants the latest.
        let may_be_old = self.shape.reads_snapshots && self.shape.updates != Updates::Insert;
        may_be_old && self.touches.as_slice().iter().all(|touch| !touch.writes())
    }
}
