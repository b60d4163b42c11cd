//! A store owns its epochs: what one run retires, a later one uses again.

use crate::supported;
use crate::writes::{LOADED, Loaded, TABLES, WORKERS, Write};
use contract::LeakCheck;
use engine::ThisEngine;

/// Runs, each too short for an epoch to pass or a worker to look at its garbage.
const RUNS: usize = 120;
const INSERTS: u64 = 5;

#[test]
fn what_one_run_retires_a_later_one_uses_again() {
    for pair in supported() {
        for table in TABLES {
            let mut loaded = Loaded::<ThisEngine>::load(pair);
            let come_and_go = [vec![Write::Insert(20)], vec![Write::Delete(20)]];
            let mut run = || {
                loaded.run(table, &come_and_go, 2 * INSERTS).expect("nobody panics");
                loaded.leak_check()
            };
            let first = run();
            for _ in 1..RUNS {
                let last = run();
                assert_eq!(last.memory_bytes, first.memory_bytes, "{pair}: a chunk has been taken");
                assert_eq!(last.allocated_records, last.linked_records, "{pair}");
            }
        }
    }
}

/// A row that is replaced and not overwritten waits for its epoch; nothing else is different.
#[test]
fn replaced_rows_are_freed_when_their_epoch_has_passed() {
    let scripts = [
        vec![Write::Update(3), Write::Blind(4), Write::Merge(5), Write::Insert(20)],
        vec![Write::Delete(20)],
    ];
    for pair in supported() {
        for table in TABLES {
            let run = |overwrites| {
                let mut loaded = Loaded::<ThisEngine>::load(pair);
                loaded.options.overwrites = overwrites;
                loaded.run(table, &scripts, 2 * INSERTS).expect("nobody panics");
                let waiting = loaded.leak_check().unlinked_bytes;
                let rows = loaded.rows(table);
                (waiting, loaded.leak_check(), rows)
            };
            let (replaced, after, rows) = run(false);
            let (none, after_overwriting, overwritten) = run(true);
            // Sixteen bytes each of three rows.
            assert_eq!((replaced, none), (3 * 16 * INSERTS, 0), "{pair}");
            // A later run begins when all epochs of the one before have passed.
            assert_eq!(after.unlinked_bytes, 0, "{pair}");
            assert_eq!(rows, overwritten, "{pair}");
            let records = |leaks: LeakCheck| (leaks.linked_records, leaks.allocated_records, leaks.held);
            assert_eq!(records(after), records(after_overwriting), "{pair}");
        }
    }
}

#[test]
fn what_is_not_reclaimed_is_not_used_again() {
    for pair in supported() {
        for table in TABLES {
            let mut loaded = Loaded::<ThisEngine>::load(pair);
            (loaded.options.overwrites, loaded.options.reclaim) = (false, false);
            let mut record_bytes = 0;
            for nth in 1..=RUNS as u64 {
                // Another key each time: where deletes leave tombstones, an insert of the same key uses its record again.
                // All of one partition.
                let come_and_go: Vec<Vec<Write>> = (LOADED..)
                    .step_by(WORKERS)
                    .take(INSERTS as usize)
                    .flat_map(|key| [vec![Write::Update(3), Write::Insert(key)], vec![Write::Delete(key)]])
                    .collect();
                loaded.run(table, &come_and_go, 2 * INSERTS).expect("nobody panics");
                if nth == 1 {
                    record_bytes = loaded.record_bytes;
                }
                let leaks = loaded.leak_check();
                assert_eq!(leaks.unlinked_bytes, nth * INSERTS * 16, "{pair}");
                assert_eq!(leaks.allocated_records, leaks.linked_records, "{pair}: lost is not leaked");
            }
            assert!(loaded.record_bytes > record_bytes, "{pair}: {} bytes of records", loaded.record_bytes);
            loaded.options.reclaim = true;
            loaded.rows(table);
            assert_eq!(loaded.leak_check().unlinked_bytes, 0, "{pair}: lost until a run reclaims");
        }
    }
}
