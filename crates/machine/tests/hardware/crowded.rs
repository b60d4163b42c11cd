//! Workers that wait for each other beside threads that compute.

use machine::hardware::cpu::Spin;
use machine::hardware::topology::Topology;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Threads that want a core all the time, for each core.
const OTHERS_A_CORE: usize = 3;

/// Two threads throw a ball to each other, each waiting as workers do, while others compute. Yielding, they throw it thirty
/// times in two seconds on a kernel that holds who yields to have used its time up.
#[test]
fn those_who_wait_get_on_beside_those_who_compute() {
    const AT_LEAST: u64 = 300;
    let (ball, has_ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let others = OTHERS_A_CORE * Topology::of_this_machine().hardware_threads();
    thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(|| {
                while !has_ended.load(Ordering::Relaxed) {
                    black_box(());
                }
            });
        }
        for player in 0..2 {
            let (ball, has_ended) = (&ball, &has_ended);
            scope.spawn(move || {
                let mut spin = Spin::new();
                while !has_ended.load(Ordering::Relaxed) {
                    // Relaxed: the ball is all there is.
                    if ball.load(Ordering::Relaxed) % 2 == player {
                        ball.fetch_add(1, Ordering::Relaxed);
                        spin = Spin::new();
                    }
                    spin.pause();
                }
            });
        }
        thread::sleep(Duration::from_secs(2));
        has_ended.store(true, Ordering::Relaxed);
    });
    let thrown = ball.into_inner();
    assert!(thrown >= AT_LEAST, "{thrown} times in two seconds");
}
