//! A small table, and transactions over it that do as they are told: update two rows of different partitions, take their time,
//! or make a mistake.

use contract::{
    Abort, AbortReason, Client, Completion, Indexing, Key, Outcome, PartitionFunction, Plan, Presence,
    Procedure, RowLength, Seat, Span, TableDescription, TableId, Transaction, Workload,
};
use std::sync::Mutex;
use std::time::{Duration, Instant};

pub const ROWS: u64 = 30;
pub const T: TableId = TableId(0);

/// What the first worker's transactions do wrong. The other workers' are sound.
#[derive(Clone, Copy, PartialEq)]
pub enum Mistake {
    /// Every plan says nothing.
    NoPlan,
    /// Every plan omits the second key.
    WrongPlan,
    /// The first plan does.
    StalePlan,
    /// The tenth transaction panics after it has written.
    Panic,
    /// The client panics as it draws the tenth.
    PanicAtDraw,
    /// It panics as it is told that the tenth has ended.
    PanicAtEnd,
    /// The tenth transaction aborts however often it is tried, as one does that meets another for ever.
    Endless,
}

/// The workload.
pub struct Rows {
    pub mistake: Option<Mistake>,
    /// How long each transaction holds its rows.
    pub pace: Duration,
    /// Whether the first transactions of two workers touch other rows.
    pub apart: bool,
}

impl Rows {
    /// Sound transactions, but for the first worker's.
    pub fn with(mistake: Mistake) -> Rows {
        Rows { mistake: Some(mistake), pace: Duration::ZERO, apart: false }
    }

    /// Sound transactions that take so long.
    pub fn taking(pace: Duration) -> Rows {
        Rows { mistake: None, pace, apart: false }
    }

    /// The same, of which the first ten of two workers do not meet.
    pub fn taking_apart(pace: Duration) -> Rows {
        Rows { apart: true, ..Rows::taking(pace) }
    }
}

pub struct RowsClient {
    mistake: Option<Mistake>,
    pace: Duration,
    drawn: u64,
    /// When each transaction that committed began and ended, by the engine's clock.
    pub committed_ns: Vec<(u64, u64)>,
}

pub struct Touch {
    mistake: Option<Mistake>,
    pace: Duration,
    number: u64,
    plans: Mutex<u32>,
}

impl Touch {
    /// Two keys of different partitions.
    fn keys(&self) -> [Key; 2] {
        [Key(self.number % ROWS), Key((self.number + 1) % ROWS)]
    }
}

impl Procedure for Touch {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for key in self.keys() {
            let presence =
                txn.update(T, key, Span::whole(8), &mut |bytes| bytes[0] = bytes[0].wrapping_add(1))?;
            assert_eq!(presence, Presence::Present);
        }
        let began = Instant::now();
        while began.elapsed() < self.pace {
            std::hint::spin_loop();
        }
        if self.mistake == Some(Mistake::Endless) && self.number == 10 {
            return Err(Abort(AbortReason::Conflict));
        }
        assert!(self.mistake != Some(Mistake::Panic) || self.number != 10, "one that panics");
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        let mut plans = self.plans.lock().expect("one worker");
        *plans += 1;
        let [first, second] = self.keys();
        if self.mistake == Some(Mistake::NoPlan) {
            return Ok(());
        }
        plan.declare(T, first);
        match self.mistake {
            Some(Mistake::WrongPlan) => {}
            Some(Mistake::StalePlan) if *plans == 1 => {}
            _ => plan.declare(T, second),
        }
        Ok(())
    }
}

impl Client for RowsClient {
    type Procedure = Touch;

    fn next(&mut self) -> Touch {
        self.drawn += 1;
        assert!(self.mistake != Some(Mistake::PanicAtDraw) || self.drawn != 10, "one that panics");
        Touch { mistake: self.mistake, pace: self.pace, number: self.drawn, plans: Mutex::new(0) }
    }

    fn finished(&mut self, touch: Touch, completion: &Completion<'_>) {
        assert!(self.mistake != Some(Mistake::PanicAtEnd) || touch.number != 10, "one that panics");
        if completion.outcome == Outcome::Commit {
            self.committed_ns.push((completion.began_ns, completion.ended_ns));
        }
    }
}

impl Workload for Rows {
    type Client = RowsClient;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "rows",
            row_bytes: 8,
            length: RowLength::Fixed,
            kept_bytes: 8,
            rows: ROWS,
            capacity: ROWS,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, seat: Seat) -> RowsClient {
        let mistake = self.mistake.filter(|_| seat.worker == 0);
        let drawn = if self.apart { seat.worker as u64 * ROWS / 2 } else { 0 };
        RowsClient { mistake, pace: self.pace, drawn, committed_ns: Vec::new() }
    }
}
