//! The exports, read back and held against the format: dense indices, times that do not go back, and every
//! invocation of a process ended by it before its next.

use crate::list_append;
use crate::mixed::Mixed;
use crate::script::{Draft, history_of};
use crate::toy::{self, Toy};
use contract::{Indexing, RowLength};
use history::{Checked, Deletes, ElleLayout, History, Version, check, run_checked, write_elle_registers};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// The events of a well-formed export: `(process, type, micro-operations)`.
fn well_formed(lines: &str) -> Vec<(u64, String, Vec<Value>)> {
    let mut open: BTreeMap<u64, Value> = BTreeMap::new();
    let mut last_ns = 0;
    let mut events = Vec::new();
    for (index, line) in lines.lines().enumerate() {
        let event: Value = serde_json::from_str(line).expect("a line is a JSON object");
        assert_eq!(event["index"], index, "indices are dense");
        assert_eq!(event["f"], "txn");
        let time_ns = event["time"].as_u64().expect("nanoseconds");
        assert!(time_ns >= last_ns, "time goes back at {index}");
        last_ns = time_ns;
        let process = event["process"].as_u64().expect("a number");
        let operations = event["value"].as_array().expect("micro-operations").clone();
        let shape = |operations: &[Value]| -> Vec<(Value, Value)> {
            operations.iter().map(|operation| (operation[0].clone(), operation[1].clone())).collect()
        };
        assert!(
            operations.iter().all(|operation| operation.as_array().is_some_and(|parts| parts.len() == 3))
        );
        let kind = event["type"].as_str().expect("a name").to_owned();
        match kind.as_str() {
            "invoke" => {
                let reads = operations.iter().filter(|operation| operation[0] == "r");
                assert!(reads.into_iter().all(|read| read[2].is_null()), "nobody knows ahead what is read");
                assert!(
                    open.insert(process, event["value"].clone()).is_none(),
                    "process {process} overlaps itself"
                );
            }
            "ok" | "fail" => {
                let invoked = open.remove(&process).expect("what ends was invoked");
                assert_eq!(shape(invoked.as_array().expect("checked above")), shape(&operations));
            }
            other => panic!("unknown type {other}"),
        }
        events.push((process, kind, operations));
    }
    assert!(open.is_empty(), "every invocation ended");
    events
}

#[test]
fn lists_are_exported_for_elle() {
    let run = list_append::run::<toy::Optimistic>(RowLength::Fixed, 1);
    let mut bytes = Vec::new();
    run.history.write_elle(ElleLayout::Lines, &mut bytes).expect("memory has room");
    let events = well_formed(&String::from_utf8(bytes.clone()).expect("JSON is text"));
    let ok: Vec<_> = events.iter().filter(|(_, kind, _)| kind == "ok").collect();
    assert_eq!(ok.len() as u64, run.verdict.transactions);
    assert!(events.iter().any(|(_, kind, _)| kind == "fail"), "aborted attempts are told");
    assert!(events.iter().all(|(process, ..)| *process < 3), "a process is a worker");
    // No value is appended twice, and what is read was appended by somebody who committed.
    let appended = |kind: &'static str| {
        events
            .iter()
            .filter(move |(_, found, _)| found == kind)
            .flat_map(|(.., operations)| operations)
            .filter(|operation| operation[0] == "append")
            .map(|operation| (operation[1].as_u64(), operation[2].as_u64()))
    };
    let (committed, failed): (BTreeSet<_>, BTreeSet<_>) =
        (appended("ok").collect(), appended("fail").collect());
    assert_eq!(committed.len(), appended("ok").count());
    assert!(committed.is_disjoint(&failed));
    let mut values_read = 0;
    for read in ok.iter().flat_map(|(.., operations)| operations).filter(|operation| operation[0] == "r") {
        for value in read[2].as_array().expect("a list that was read") {
            assert!(committed.contains(&(read[1].as_u64(), value.as_u64())));
            values_read += 1;
        }
    }
    assert!(values_read > 1000);
    // The same as an array.
    let mut array = Vec::new();
    run.history.write_elle(ElleLayout::Array, &mut array).expect("memory has room");
    let array: Vec<Value> = serde_json::from_slice(&array).expect("one JSON array");
    let lines = String::from_utf8(bytes).expect("JSON is text");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
    assert_eq!(array, lines);
}

#[test]
fn stamped_runs_are_exported_as_registers() {
    let checked = Checked::new(
        Mixed { keys: 16, operations: Mixed::EVERYTHING, indexing: Indexing::Hashed, blind: false },
        Deletes::Tombstones,
    );
    let setting = toy::setting(3, 200, 1);
    let run = run_checked::<Toy<toy::Optimistic>, _>(&checked, &setting, &|_| {}).expect("loads");
    let mut bytes = Vec::new();
    write_elle_registers(&run.history, ElleLayout::Lines, &mut bytes).expect("memory has room");
    let events = well_formed(&String::from_utf8(bytes).expect("JSON is text"));
    let mut written = BTreeSet::new();
    for (_, kind, operations) in &events {
        for write in operations.iter().filter(|operation| operation[0] == "w" && kind != "invoke") {
            let key = write[1].as_str().expect("with two tables a key is a string");
            assert!(key.starts_with("thirteen:") || key.starts_with("twenty-four:"), "{key}");
            assert!(
                written.insert((write[1].to_string(), write[2].as_u64().expect("a version"))),
                "written twice"
            );
        }
    }
    for (.., operations) in events.iter().filter(|(_, kind, _)| kind == "ok") {
        for read in operations.iter().filter(|operation| operation[0] == "r" && !operation[2].is_null()) {
            let value = read[2].as_u64().expect("a version");
            assert!(written.contains(&(read[1].to_string(), value)), "{read} was written by nobody");
        }
    }
    assert!(written.len() > 100);
}

/// What the events of an export say of their transactions.
fn values(history: &History) -> Vec<String> {
    let mut bytes = Vec::new();
    write_elle_registers(history, ElleLayout::Lines, &mut bytes).expect("memory has room");
    let text = String::from_utf8(bytes).expect("JSON is text");
    well_formed(&text);
    let value =
        |line: &str| line.split_once("\"value\":").expect("a value").1.trim_end_matches('}').to_owned();
    text.lines().map(value).collect()
}

#[test]
fn a_history_of_three_transactions_is_exported_like_this() {
    let mut writer = Draft::new(0, 1).between(10, 20);
    writer.update(5, Version::LOADED);
    writer.retry();
    writer.update(5, Version::LOADED);
    writer.delete(6, Version::PRESENT);
    let mut reader = Draft::new(1, 1).between(15, 30);
    reader.read(6, Version::MISSING);
    reader.read(7, Version::MISSING);
    let mut failed = Draft::new(1, 2).between(30, 40);
    failed.insert(7, Version::MISSING);
    failed.roll_back();
    let (update, delete, insert) = (1_u64 | 1 << 47, 1_u64 | 1 << 37 | 1 << 47, 2_u64 | 1 << 26);
    assert_eq!(
        values(&history_of(&[writer, reader, failed], &[])),
        [
            // Of the first attempt, whose operations are not kept, there is nothing.
            &format!("[[\"r\",5,null],[\"w\",5,{update}],[\"w\",6,{delete}]]"),
            "[[\"r\",6,null],[\"r\",7,null]]",
            &format!("[[\"r\",5,null],[\"w\",5,{update}],[\"w\",6,{delete}]]"),
            &format!("[[\"r\",6,{delete}],[\"r\",7,null]]"),
            &format!("[[\"r\",7,null],[\"w\",7,{insert}]]"),
            &format!("[[\"r\",7,null],[\"w\",7,{insert}]]"),
        ]
    );
}

#[test]
fn a_row_that_one_transaction_inserted_and_deleted_was_never_there() {
    let mut before = Draft::new(0, 1).between(10, 20);
    before.read(5, Version::MISSING);
    let mut passing = Draft::new(0, 2).between(30, 40);
    passing.read(5, Version::MISSING);
    let inserted = passing.insert(5, Version::MISSING);
    passing.update(5, inserted);
    passing.delete(5, Version::PRESENT);
    passing.read(5, Version::MISSING);
    let mut after = Draft::new(0, 3).between(50, 60);
    let stays = after.insert(5, Version::MISSING);
    let mut failed = Draft::new(0, 4).between(70, 80);
    failed.insert(6, Version::MISSING);
    failed.delete(6, Version::PRESENT);
    failed.roll_back();
    let history = history_of(&[before, passing, after, failed], &[(5, stays)]);
    assert!(check(&history).is_strictly_serializable());
    let missing = "[[\"r\",5,null]]".to_owned();
    let insert = format!("[[\"r\",5,null],[\"w\",5,{}]]", stays.0);
    // What a rolled back transaction wrote is told all the same, for others might have seen it.
    let rolled_back = format!("[[\"r\",6,null],[\"w\",6,4],[\"w\",6,{}]]", 4_u64 | 1 << 37);
    let expected = [missing.clone(), missing, insert, rolled_back];
    assert_eq!(values(&history), expected.map(|value| [value.clone(), value]).concat());
}

#[test]
fn the_end_of_a_file_name_decides_the_layout() {
    for (name, layout) in [
        ("history.json", ElleLayout::Array),
        ("runs/of.today/history.JSON", ElleLayout::Array),
        ("history.jsonl", ElleLayout::Lines),
        ("history", ElleLayout::Lines),
        ("dir.json/history.txt", ElleLayout::Lines),
        (".json", ElleLayout::Lines),
    ] {
        assert_eq!(ElleLayout::of_file(Path::new(name)), layout, "{name}");
    }
}

#[test]
fn an_empty_history_is_an_empty_export() {
    for (layout, text) in [(ElleLayout::Lines, ""), (ElleLayout::Array, "[]\n")] {
        let mut bytes = Vec::new();
        write_elle_registers(&history_of(&[], &[]), layout, &mut bytes).expect("memory has room");
        assert_eq!(String::from_utf8(bytes).expect("JSON is text"), text);
    }
}

#[test]
fn transactions_of_one_worker_that_overlap_are_processes_of_their_own() {
    let drafts = [(1, 0, 10), (2, 5, 15), (3, 10, 20), (4, 12, 13)]
        .map(|(number, began, ended)| Draft::new(0, number).between(began, ended));
    let mut bytes = Vec::new();
    write_elle_registers(&history_of(&drafts, &[]), ElleLayout::Lines, &mut bytes).expect("memory has room");
    let events = well_formed(&String::from_utf8(bytes).expect("JSON is text"));
    let processes: BTreeSet<u64> = events.iter().map(|(process, ..)| *process).collect();
    assert_eq!(processes, BTreeSet::from([0, 1, 2]));
}

/// A disk with little room.
struct Full {
    room: usize,
}

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.room {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.room -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported() {
    let run = list_append::run::<toy::Serial>(RowLength::Fixed, 1);
    let mut bytes = Vec::new();
    run.history.write_elle(ElleLayout::Lines, &mut bytes).expect("memory has room");
    for room in [0, bytes.len() / 2, bytes.len() - 1] {
        let written = run.history.write_elle(ElleLayout::Lines, Full { room });
        assert_eq!(written.expect_err("the disk is full").kind(), io::ErrorKind::StorageFull);
    }
    run.history.write_elle(ElleLayout::Lines, Full { room: bytes.len() }).expect("just enough room");
}

#[test]
fn scans_are_exported_as_reads_of_what_they_covered() {
    let (mut a, mut b) = (Draft::new(0, 1), Draft::new(1, 1));
    let five = b.insert(5, Version::MISSING);
    a.scan(3, 7, &[(3, Version::LOADED)]);
    a.scan(6, 9, &[]);
    let mut bytes = Vec::new();
    let history = history_of(&[a, b], &[(5, five)]);
    write_elle_registers(&history, ElleLayout::Lines, &mut bytes).expect("memory has room");
    let events = well_formed(&String::from_utf8(bytes).expect("JSON is text"));
    let (_, _, operations) =
        events.iter().find(|(process, kind, _)| *process == 0 && kind == "ok").expect("it committed");
    let reads: Vec<_> = operations.iter().map(|read| (read[1].as_u64(), read[2].is_null())).collect();
    assert_eq!(reads, [(Some(3), true), (Some(5), true)]);
}

#[test]
fn keys_that_are_byte_strings_are_exported_as_strings() {
    let workload = Mixed {
        keys: 16,
        operations: Mixed::SCANS,
        indexing: Indexing::OrderedBytes { most: 24 },
        blind: false,
    };
    let checked = Checked::new(workload, Deletes::Tombstones);
    let run =
        run_checked::<Toy<toy::Optimistic>, _>(&checked, &toy::setting(3, 100, 1), &|_| {}).expect("loads");
    let mut bytes = Vec::new();
    write_elle_registers(&run.history, ElleLayout::Lines, &mut bytes).expect("memory has room");
    for (.., operations) in well_formed(&String::from_utf8(bytes).expect("JSON is text")) {
        for operation in operations {
            let key = operation[1].as_str().expect("a string");
            assert!(
                key.starts_with("thirteen:a long way to ") || key.starts_with("twenty-four:a long way to "),
                "{key}"
            );
        }
    }
}
