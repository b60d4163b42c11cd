//! A merge that panics, at commit or before: the transaction is undone, whatever else it wrote and under every pair.

use crate::supported;
use crate::writes::{Loaded, Rows, TABLES, Write};
use Write::{
    Blind, Delete, Insert, Merge, Never, Panic, PanicWhenAsked, PanicWhenPlanned, PanicWhenSent, Update,
};
use contract::{PairName, TableId};
use engine::ThisEngine;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a transaction writes beside the merge that panics, by kinds of write: alone, and several of one key.
const OTHERS: [&[Write]; 11] = [
    &[],
    &[Insert(20)],
    &[Blind(1)],
    &[Update(2)],
    &[Merge(3)],
    &[Delete(4)],
    &[Delete(5), Insert(5)],
    &[Insert(20), Merge(20)],
    &[Insert(20), Delete(20)],
    &[Blind(6), Update(6), Merge(6), Blind(6)],
    &[Insert(20), Blind(1), Update(2), Merge(3), Delete(4)],
];

/// Keys whose merge panics: one of its own, and those of other writes.
const PANICS_AT: [u64; 5] = [0, 20, 1, 2, 6];

fn writes(others: &[Write], wanted: u64) -> bool {
    others.iter().any(|write| match *write {
        Insert(key) | Blind(key) | Update(key) | Merge(key) | Delete(key) | Panic(key) => key == wanted,
        Never(_) | PanicWhenPlanned | PanicWhenAsked | PanicWhenSent => false,
    })
}

fn deletes(others: &[Write], wanted: u64) -> bool {
    others.iter().any(|write| matches!(*write, Delete(key) if key == wanted))
}

/// The transactions that panic: before the others, and after them.
fn scripts() -> impl Iterator<Item = Vec<Write>> {
    OTHERS.into_iter().flat_map(|others| {
        let has_row = |&key: &u64| key == 0 || writes(others, key) && !deletes(others, key);
        let after = PANICS_AT.into_iter().filter(has_row).map(|key| [others, &[Panic(key)]].concat());
        after.chain([[&[Panic(0)], others].concat()]).collect::<Vec<_>>()
    })
}

fn panics(loaded: &mut Loaded<ThisEngine>, table: TableId, script: &[Write]) {
    let run = catch_unwind(AssertUnwindSafe(|| loaded.run(table, &[script.to_vec()], 1)));
    let panic = run.expect_err("the panic is passed on");
    let words = panic.downcast_ref::<String>().expect("words");
    assert!(words.contains("a merge that panics"), "{words}");
}

/// Every pair, and again with snapshots if it can have them: what is written in place is then changed aside.
fn loaded() -> impl Iterator<Item = (PairName, Loaded<ThisEngine>)> {
    let plain = supported().map(|pair| (pair, Loaded::load(pair)));
    plain.chain(supported().filter_map(|pair| Some((pair, Loaded::load_with_snapshots(pair)?))))
}

#[test]
fn a_merge_that_panics_leaves_nothing_behind() {
    for (pair, mut loaded) in loaded() {
        for table in TABLES {
            let before = loaded.rows(table);
            for script in scripts() {
                panics(&mut loaded, table, &script);
                let leaks = loaded.leak_check();
                assert_eq!(leaks.held, 0, "{pair}, {script:?}");
                assert_eq!(leaks.allocated_records, leaks.linked_records, "{pair}, {script:?}");
                assert_eq!(loaded.rows(table), before, "{pair}, {script:?}");
            }
        }
    }
}

#[test]
fn without_the_panic_all_is_written() {
    for (pair, mut loaded) in loaded() {
        for table in TABLES {
            let mut expected = loaded.rows(table);
            for others in OTHERS.into_iter().filter(|others| !others.is_empty()) {
                loaded.run(table, &[others.to_vec()], 1).expect("nobody panics");
                others.iter().for_each(|write| apply(&mut expected, *write));
                assert_eq!(loaded.rows(table), expected, "{pair}, {others:?}");
                if expected.contains_key(&20) {
                    loaded.run(table, &[vec![Delete(20)]], 1).expect("nobody panics");
                    expected.remove(&20);
                }
                if !expected.contains_key(&4) {
                    loaded.run(table, &[vec![Insert(4)]], 1).expect("nobody panics");
                    apply(&mut expected, Insert(4));
                }
            }
        }
    }
}

/// What a write makes of the rows.
fn apply(rows: &mut Rows, write: Write) {
    let row = |rows: &mut Rows, key: u64, bytes: std::ops::Range<usize>, change: fn(u8) -> u8| {
        let row = &mut rows.get_mut(&key).expect("a row")[bytes];
        row.iter_mut().for_each(|byte| *byte = change(*byte));
    };
    match write {
        Insert(key) => {
            rows.insert(key, [key as u8; 16]);
        }
        Blind(key) => row(rows, key, 0..8, |_| 0xBB),
        Update(key) => row(rows, key, 8..16, |byte| byte.wrapping_add(1)),
        Merge(key) => row(rows, key, 0..16, |byte| byte.wrapping_add(1)),
        Delete(key) => {
            rows.remove(&key);
        }
        Panic(_) | PanicWhenPlanned | PanicWhenAsked | PanicWhenSent | Never(_) => {
            unreachable!("it does not panic, and ends")
        }
    }
}
