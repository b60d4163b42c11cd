//! Machines of a cluster: memory of their own; lines that come from another machine are counted.

use super::machine;
use machine::simulated::atomic::{AtomicU64, Ordering};
use machine::simulated::description::Layout;
use machine::simulated::{clock, simulate, statistics, worker};
use std::sync::Mutex;

/// What nothing within a machine takes, in nanoseconds and in cycles.
const FAR: u64 = 100_000;

#[test]
fn memory_is_the_machines_own_and_lines_of_another_machine_are_counted() {
    let mut cluster = machine("westmere-ep-2x6-x4");
    // What is asked for elsewhere is to stand out.
    *cluster.memory.latency_ns.last_mut().expect("distances") = FAR;
    let Layout::Sockets(sockets) = &mut cluster.layout else { panic!("sockets") };
    *sockets.transfers.load_modified_cycles.last_mut().expect("distances") = FAR;
    const PAGE: usize = 4096 / size_of::<AtomicU64>();
    let words: Vec<AtomicU64> = (0..34 * PAGE).map(|_| AtomicU64::new(0)).collect();
    // A line of each page, whatever the allocation's first.
    let (mine, shared) = (|nth: usize| &words[nth * PAGE + 16], &words[33 * PAGE + 16]);
    let took = Mutex::new((0, 0));
    let count = simulate(&cluster, 1, || {
        worker::run(13, |me| match me {
            0 => shared.store(1, Ordering::Release),
            12 => {
                while clock::now().0 < 10_000 {
                    std::hint::spin_loop();
                }
                let timed = |line: &AtomicU64| {
                    let before = clock::now();
                    line.load(Ordering::Acquire);
                    clock::now().since(before)
                };
                let own = (0..32).map(|nth| timed(mine(nth))).max().expect("lines");
                *took.lock().expect("nobody panics") = (own, timed(shared));
            }
            _ => {}
        });
        statistics().lines.between_machines
    });
    let (own, other) = took.into_inner().expect("nobody panicked");
    assert_eq!(count, 1, "one line came from another machine");
    assert!(own < 1000, "{own} ns, so some page is another machine's");
    assert!(other > 10_000, "{other} ns of the line that another machine has written");
}
