//! A store owns its epochs: what one run retires, a later one uses again.

use crate::supported;
use crate::writes::{Loaded, TABLES, Write};
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
