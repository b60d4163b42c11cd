//! Histories written by hand.

use contract::{CommitId, Direction, Key, Outcome, Scan, SnapshotPlace, Span, TableId};
use history::{
    Ending, FinalVersion, History, Operation, OperationKind, ScanRecord, Version, WorkerHistory, Writer,
};
use std::ops::Bound;

pub const TABLE: TableId = TableId(0);

/// A transaction that is being written down.
#[derive(Clone, Debug)]
pub struct Draft {
    pub ending: Ending,
    pub worker: usize,
    pub operations: Vec<Operation>,
    pub scans: Vec<ScanRecord>,
    writes: u32,
}

impl Draft {
    /// The worker's `number`-th transaction, committed in its first attempt, at the same time as all others.
    pub fn new(worker: usize, number: u32) -> Self {
        let ending = Ending {
            number,
            attempts: 1,
            began_ns: 0,
            ended_ns: 100,
            outcome: Outcome::Commit,
            id: None,
            epoch: None,
            snapshot: None,
        };
        Draft { ending, worker, operations: Vec::new(), scans: Vec::new(), writes: 0 }
    }

    pub fn between(mut self, began_ns: u64, ended_ns: u64) -> Self {
        (self.ending.began_ns, self.ending.ended_ns) = (began_ns, ended_ns);
        self
    }

    /// The engine says this of its place in the serial order.
    pub fn with_id(mut self, id: u64) -> Self {
        self.ending.id = Some(CommitId(id));
        self
    }

    /// The engine says this of the snapshots.
    pub fn at(mut self, place: SnapshotPlace) -> Self {
        self.ending.snapshot = Some(place);
        self
    }

    /// Begins another attempt, and forgets what the last one did.
    pub fn retry(&mut self) {
        self.ending.attempts += 1;
        self.operations.clear();
        self.scans.clear();
        self.writes = 0;
    }

    pub fn roll_back(&mut self) {
        self.ending.outcome = Outcome::Rollback;
    }

    pub fn read(&mut self, key: u64, seen: Version) {
        self.operations.push(Operation::new(OperationKind::Read, TABLE, Key(key), seen, 0));
    }

    /// A scan of the keys from `from` to `to`, both included, that showed these versions and was not ended by a limit.
    pub fn scan(&mut self, from: u64, to: u64, shown: &[(u64, Version)]) {
        self.scan_as(from, to, Direction::Forward, shown);
    }

    /// A scan that showed these versions, in the order in which it did; not ended by a limit.
    pub fn scan_as(&mut self, from: u64, to: u64, direction: Direction, shown: &[(u64, Version)]) {
        let (from, to) = (Key(from).bytes(), Key(to).bytes());
        let scan = Scan {
            table: TABLE,
            from: Bound::Included(&from),
            to: Bound::Included(&to),
            direction,
            limit: usize::MAX,
            span: Span::whole(8),
            within: None,
        };
        let mut record = ScanRecord::new(&scan, self.operations.len());
        record.rows = shown.len() as u32;
        self.scans.push(record);
        shown.iter().for_each(|(key, seen)| self.read(*key, *seen));
    }

    /// The same, ended by a limit at the last row shown.
    pub fn scan_until(&mut self, from: u64, to: u64, direction: Direction, shown: &[(u64, Version)]) {
        self.scan_as(from, to, direction, shown);
        let (last, _) = shown.last().expect("a limit ends a scan at a row");
        self.scans.last_mut().expect("made above").end_at(&Key(*last).bytes());
    }

    pub fn exists(&mut self, key: u64) {
        self.operations.push(Operation::new(OperationKind::Exists, TABLE, Key(key), Version::PRESENT, 0));
    }

    pub fn update(&mut self, key: u64, seen: Version) -> Version {
        self.change(OperationKind::Update, key, seen)
    }

    pub fn write(&mut self, key: u64, replaced: Version) -> Version {
        self.change(OperationKind::Write, key, replaced)
    }

    pub fn insert(&mut self, key: u64, seen: Version) -> Version {
        self.change(OperationKind::Insert, key, seen)
    }

    pub fn delete(&mut self, key: u64, seen: Version) -> Version {
        self.change(OperationKind::Delete, key, seen).dead()
    }

    /// The version that the next write will leave.
    pub fn next_version(&self) -> Version {
        let Ending { number, attempts, .. } = self.ending;
        let writer =
            Writer { worker: self.worker, transaction: number, attempt: attempts - 1, write: self.writes };
        Version::written(writer)
    }

    fn change(&mut self, kind: OperationKind, key: u64, seen: Version) -> Version {
        let version = self.next_version();
        self.operations.push(Operation::new(kind, TABLE, Key(key), seen, self.writes));
        self.writes += 1;
        version
    }
}

/// The history of these transactions, of a table named micro.
pub fn history_of(drafts: &[Draft], finals: &[(u64, Version)]) -> History {
    let mut workers =
        vec![WorkerHistory::default(); drafts.iter().map(|draft| draft.worker + 1).max().unwrap_or(0)];
    for draft in drafts {
        workers[draft.worker].push_with_scans(draft.ending, &draft.operations, &draft.scans);
    }
    let last = |(key, version): &(u64, Version)| FinalVersion {
        table: TABLE,
        key: Key(*key),
        loaded: None,
        version: *version,
    };
    History {
        tables: vec!["micro".to_owned()],
        workers,
        finals: finals.iter().map(last).collect(),
        ..History::default()
    }
}
