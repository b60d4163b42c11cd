//! What a scan of a snapshot costs, counted by the simulated machine: that of its range, and nothing of what lies behind it.

use contract::{
    Abort, ArchitectureName, Client, Direction, Engine, EngineOptions, Indexing, Key, Outcome, PairName,
    Plan, Procedure, ProtocolName, RowLength, Scan, Seat, Selection, Span, TableDescription, TableId,
    Transaction, Until, Workload,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Schedule, accesses, explore};
use std::ops::Bound;

/// Rows of a group: keys that differ in their last byte.
const GROUP: u64 = 256;

/// Scans of one group after the other.
struct Groups {
    groups: u64,
    direction: Direction,
}

struct GroupsClient {
    next: u64,
    direction: Direction,
}

struct ScanGroup {
    group: u64,
    direction: Direction,
}

impl Procedure for ScanGroup {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        // Its last key, and not the next group's first: leaves behind it begin otherwise than the end of the scan.
        let [from, to] = [0, GROUP - 1].map(|nth| Key(self.group * GROUP + nth).bytes());
        let scan = Scan {
            table: TableId(0),
            from: Bound::Included(&from),
            to: Bound::Included(&to),
            direction: self.direction,
            limit: usize::MAX,
            span: Span::whole(8),
            within: None,
        };
        assert_eq!(txn.scan(&scan, &mut |_, _| ())? as u64, GROUP);
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
        ScanGroup { group: self.next - 1, direction: self.direction }
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
            rows: self.groups * GROUP,
            capacity: self.groups * GROUP,
            indexing: Indexing::Ordered,
            partition: TableDescription::partition_by_remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, _: Seat) -> GroupsClient {
        GroupsClient { next: 0, direction: self.direction }
    }
}

/// Loads of a scan of a group, the mean over so many groups, which are all there are.
fn loads_of_a_scan(groups: u64, direction: Direction) -> u64 {
    let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Silo };
    explore(Schedule::RoundRobin, || {
        let options = EngineOptions { snapshots: true, sample_one_in: 0, ..EngineOptions::default() };
        let workload = Groups { groups, direction };
        let layout = ThisEngine::arrange(pair, 1, &options).expect("fits").layout;
        let mut store = ThisEngine::load(&workload, layout, &|_| ()).expect("a small table");
        let client = workload.client(Seat::new(0, 1, 1));
        let before = accesses();
        let until = Until::Transactions(groups);
        ThisEngine::run_checked(&mut store, Selection::Pair(pair), vec![client], until, &options)
            .expect("it only reads");
        (accesses() - before).loads / groups
    })
}

#[test]
fn a_scan_of_a_snapshot_reads_nothing_behind_its_range() {
    for direction in [Direction::Forward, Direction::Backward] {
        let [few, many] = [8, 128].map(|groups| loads_of_a_scan(groups, direction));
        // A level of the tree more, and a sixteenth of what a run costs by itself.
        assert!(many < few + few / 2, "{direction:?}: {few} loads of a scan among 8, {many} among 128");
    }
}
