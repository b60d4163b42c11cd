//! Stacks from slabs: many of them, and an overflow that is found.

use corosensei::Coroutine;
use corosensei::stack::Stack as _;
use machine::simulated::stack::Stack;
use std::process::Command;

#[test]
fn ten_thousand_coroutines_take_few_mappings() {
    let mappings = || std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count());
    let before = mappings();
    let coroutine = |n: u64| {
        let stack = Stack::new(64 << 10).expect("a stack");
        Coroutine::<(), (), u64, Stack>::with_stack(stack, move |coroutine, ()| {
            coroutine.suspend(());
            n
        })
    };
    let mut coroutines: Vec<_> = (0..10_000).map(coroutine).collect();
    coroutines.iter_mut().for_each(|coroutine| _ = coroutine.resume(()));
    let taken = mappings() - before;
    assert!(taken < 1_000, "{taken} mappings");
    let sum: u64 =
        coroutines.iter_mut().map(|coroutine| coroutine.resume(()).as_return().expect("it ends")).sum();
    assert_eq!(sum, 10_000 * 9_999 / 2);
}

#[test]
fn an_overflow_ends_the_process() {
    const ASKED: &str = "MACHINE_TEST_OVERFLOWS";
    if std::env::var_os(ASKED).is_some() {
        let stack = Stack::new(64 << 10).expect("a stack");
        let lowest = std::ptr::with_exposed_provenance_mut::<u64>(stack.limit().get());
        // SAFETY: a word of the stack, which nobody uses. What an overflowing coroutine would do.
        unsafe { lowest.write(0) };
        drop(stack);
        unreachable!("the process ends before");
    }
    let output = Command::new(std::env::current_exe().expect("a test has a binary"))
        .args(["--exact", "stacks::an_overflow_ends_the_process", "--nocapture"])
        .env(ASKED, "1")
        .output()
        .expect("the test's binary runs");
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(printed.contains("a coroutine's stack of 65536 bytes has overflowed"), "{printed}");
    assert!(!output.status.success());
}
