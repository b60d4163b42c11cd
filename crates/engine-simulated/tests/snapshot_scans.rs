//! What a scan of a snapshot costs, counted by the simulated machine: that of its range, and nothing of what lies behind it.

use contract::{
    Abort, ArchitectureName, Client, Completion, Direction, Engine, EngineOptions, Indexing, Key, Outcome,
    PairName, PartitionFunction, Plan, Procedure, ProtocolName, RowLength, Scan, Seat, Selection,
    SnapshotPlace, Span, TableDescription, TableId, Transaction, Until, Workload,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Schedule, accesses, explore};
use std::cell::Cell;
use std::ops::Bound;

/// Rows of a group: keys that differ in their last byte.
const GROUP: u64 = 256;
/// Rows that are loaded in order fill leaves of fifteen, so that of fifteen groups one ends where a leaf does.
const GROUPS: u64 = 64;
/// Rows that a scan shows, of two or three leaves: a group has seventeen.
const SCANNED: u64 = 16;

/// Scans in one group after the other.
struct Groups {
    direction: Direction,
}

struct GroupsClient {
    next: u64,
    direction: Direction,
    /// Of each scan.
    loads: Vec<u64>,
}

struct ScanGroup {
    group: u64,
    direction: Direction,
    loads: Cell<u64>,
}

impl Procedure for ScanGroup {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        // Where the scan ends, a group does; leaves behind it begin otherwise than that key.
        let first = self.group * GROUP
            + match self.direction {
                Direction::Forward => GROUP - SCANNED,
                Direction::Backward => 0,
            };
        let [from, to] = [first, first + SCANNED - 1].map(|key| Key(key).bytes());
        let scan = Scan {
            table: TableId(0),
            from: Bound::Included(&from),
            to: Bound::Included(&to),
            direction: self.direction,
            limit: usize::MAX,
            span: Span::whole(8),
            within: None,
        };
        let before = accesses();
        assert_eq!(txn.scan(&scan, &mut |_, _| ())? as u64, SCANNED);
        self.loads.set((accesses() - before).loads);
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, _: &mut Plan) -> Result<(), Abort> {
        Ok(())
    }

    fn reads_snapshot(&self) -> bool {
        true
    }
}

impl Client for GroupsClient {
    type Procedure = ScanGroup;

    fn next(&mut self) -> ScanGroup {
        self.next += 1;
        ScanGroup { group: self.next - 1, direction: self.direction, loads: Cell::new(0) }
    }

    fn finished(&mut self, scan: ScanGroup, completion: &Completion<'_>) {
        assert!(matches!(completion.snapshot, Some(SnapshotPlace::Read(_))), "{:?}", completion.snapshot);
        self.loads.push(scan.loads.get());
    }
}

impl Workload for Groups {
    type Client = GroupsClient;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "rows",
            row_bytes: 8,
            length: RowLength::Fixed,
            kept_bytes: 8,
            rows: GROUPS * GROUP,
            capacity: GROUPS * GROUP,
            indexing: Indexing::Ordered,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, _: Seat) -> GroupsClient {
        GroupsClient { next: 0, direction: self.direction, loads: Vec::new() }
    }
}

/// What each scan has loaded.
fn loads_of_scans(direction: Direction) -> Vec<u64> {
    let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Silo };
    explore(Schedule::RoundRobin, || {
        let options = EngineOptions { snapshots: true, sample_one_in: 0, ..EngineOptions::default() };
        let workload = Groups { direction };
        let layout = ThisEngine::arrange(pair, 1, &options).expect("fits").layout;
        let mut store = ThisEngine::load(&workload, layout, &|_| ()).expect("a small table");
        let client = workload.client(Seat::new(0, 1, 1));
        let until = Until::Transactions(GROUPS);
        let mut run =
            ThisEngine::run_checked(&mut store, Selection::Pair(pair), vec![client], until, &options)
                .expect("it only reads");
        run.clients.remove(0).loads
    })
}

#[test]
fn a_scan_of_a_snapshot_reads_nothing_behind_its_range() {
    for direction in [Direction::Forward, Direction::Backward] {
        let loads = loads_of_scans(direction);
        assert_eq!(loads.len() as u64, GROUPS);
        let [least, most] =
            [loads.iter().min(), loads.iter().max()].map(|loads| *loads.expect("there are scans"));
        println!("{direction:?}: {least} to {most} loads of a scan");
        assert!(0 < least && most < 3 * least, "{direction:?}: {loads:?}");
    }
}
