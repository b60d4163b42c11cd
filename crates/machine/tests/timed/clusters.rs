//! Machines of a cluster: memory of their own; lines that come from another machine are counted.

use super::machine;
use machine::simulated::atomic::{AtomicU64, Ordering};
use machine::simulated::{clock, simulate, statistics, worker};
use std::sync::Mutex;

#[test]
fn a_line_of_another_machine_is_counted_and_memory_is_the_machines_own() {
    let cluster = machine("westmere-ep-2x6-x4");
    let lines: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
    // A line each, whatever the allocation's first.
    let (mine, shared) = (&lines[16], &lines[40]);
    let took = Mutex::new((0, 0));
    let (count, times) = simulate(&cluster, 1, || {
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
                *took.lock().expect("nobody panics") = (timed(mine), timed(shared));
            }
            _ => {}
        });
        (statistics().lines.between_machines, *took.lock().expect("nobody panics"))
    });
    let (own, other) = times;
    assert_eq!(count, 1, "one line came from another machine");
    let [_, .., farthest_ns] = cluster.memory.latency_ns[..] else { panic!("several distances") };
    assert!(
        own <= 2 * farthest_ns && other <= 2 * farthest_ns,
        "{own} and {other} ns, memory at most {farthest_ns}"
    );
}
