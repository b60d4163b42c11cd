use super::tree;
use machine::hardware::memory::{available_bytes, available_bytes_under, huge_pages_bytes_of};
use machine::hardware::region::{HUGE_PAGE_BYTES, Pages, Region, WORTH_A_HUGE_PAGE_BYTES};
use std::slice;

fn bytes(region: &Region) -> &[u8] {
    // SAFETY: the region's memory, initialised with zeroes, written by nobody else in these tests.
    unsafe { slice::from_raw_parts(region.base(), region.len()) }
}

#[test]
fn a_region_is_zeroed_aligned_and_as_long_as_asked_for() {
    for len in [0, 1, 4096, HUGE_PAGE_BYTES - 1, HUGE_PAGE_BYTES, 3 * HUGE_PAGE_BYTES + 5] {
        let region = Region::reserve(len).expect("a few MiB");
        assert_eq!(region.len(), len);
        assert_eq!(region.is_empty(), len == 0);
        assert!(region.base().addr().is_multiple_of(HUGE_PAGE_BYTES));
        assert!(bytes(&region).iter().all(|&byte| byte == 0));
    }
}

#[test]
fn faulting_in_keeps_what_is_there() {
    let region = Region::reserve(5 * HUGE_PAGE_BYTES).expect("10 MiB");
    let marks: Vec<usize> = (0..region.len()).step_by(12_345).collect();
    for &at in &marks {
        // SAFETY: `at < len`.
        unsafe { region.base().add(at).write(at as u8 | 1) };
    }
    region.fault_in(100..100);
    region.fault_in(4097..HUGE_PAGE_BYTES + 17);
    region.fault_in(0..region.len());
    for (at, &byte) in bytes(&region).iter().enumerate() {
        let expected = if at.is_multiple_of(12_345) { at as u8 | 1 } else { 0 };
        assert_eq!(byte, expected, "at {at}");
    }
}

#[test]
#[should_panic(expected = "of 4096 bytes")]
fn faulting_in_stays_inside() {
    Region::reserve(4096).expect("a page").fault_in(0..4097);
}

#[test]
fn a_region_larger_than_memory_is_only_address_space() {
    // A system that does not overcommit (`vm.overcommit_memory` 2) refuses, in words.
    let Ok(region) = Region::reserve(1 << 40) else { return };
    // SAFETY: inside of the region.
    unsafe { region.base().add(region.len() - 1).write(7) };
}

#[test]
fn more_than_the_address_space_is_refused_in_words() {
    for len in [1 << 60, usize::MAX - HUGE_PAGE_BYTES, usize::MAX] {
        let error = Region::reserve(len).expect_err("no machine has so many addresses");
        assert_eq!(error.bytes, len);
        assert!(error.to_string().starts_with(&format!("the system refused a mapping of {len} bytes: ")));
    }
}

#[test]
fn regions_are_used_from_several_threads() {
    let region = Region::reserve(1 << 20).expect("1 MiB");
    std::thread::scope(|scope| {
        for quarter in 0..4 {
            let region = &region;
            scope.spawn(move || {
                let start = quarter * (region.len() / 4);
                region.fault_in(start..start + region.len() / 4);
            });
        }
    });
}

#[test]
fn huge_pages_are_counted_by_region() {
    let region = Region::reserve(8 * HUGE_PAGE_BYTES).expect("16 MiB");
    let Some(before) = huge_pages_bytes_of(&region) else { return };
    assert_eq!(before, 0, "nothing was touched yet");
    region.fault_in(0..region.len());
    // The system may have none to give.
    let after = huge_pages_bytes_of(&region).expect("it told before");
    assert!(after <= region.len() as u64 && after.is_multiple_of(HUGE_PAGE_BYTES as u64), "{after}");
}

#[test]
fn a_region_of_which_little_is_expected_has_small_pages_until_it_grows() {
    const BYTES: usize = 8 * HUGE_PAGE_BYTES;
    let region = Region::reserve_to_grow(BYTES, WORTH_A_HUGE_PAGE_BYTES - 1, Pages::Huge).expect("16 MiB");
    if huge_pages_bytes_of(&region).is_none() {
        return;
    }
    region.fault_in(0..HUGE_PAGE_BYTES);
    assert_eq!(huge_pages_bytes_of(&region), Some(0));
    region.fault_in(HUGE_PAGE_BYTES..BYTES);
    let grown = huge_pages_bytes_of(&region).expect("it told before");
    let at_once = Region::reserve_to_grow(BYTES, WORTH_A_HUGE_PAGE_BYTES, Pages::Huge).expect("16 MiB");
    at_once.fault_in(0..BYTES);
    let at_once = huge_pages_bytes_of(&at_once).expect("it told before");
    // The system may have none to give, or few.
    assert!(at_once == 0 || grown > 0, "{grown}, and {at_once} where as much was expected");
}

#[test]
fn a_region_that_is_to_have_small_pages_has_them_however_much_is_used() {
    const BYTES: usize = 8 * HUGE_PAGE_BYTES;
    let region = Region::reserve_to_grow(BYTES, BYTES, Pages::Small).expect("16 MiB");
    region.fault_in(0..BYTES);
    assert!(huge_pages_bytes_of(&region).is_none_or(|bytes| bytes == 0));
}

#[test]
fn available_memory_is_what_the_narrowest_limit_leaves() {
    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:  2000 kB\nMemAvailable:   1000 kB\n");
    let available = |name, files: &[_]| available_bytes_under(&tree(&format!("memory-{name}"), files));
    assert_eq!(available("no-files", &[]), None);
    assert_eq!(available("no-groups", &[MEMINFO]), Some(1000 << 10));

    let in_a_group = ("proc/self/cgroup", "0::/a/b\n");
    let unlimited = [
        MEMINFO,
        in_a_group,
        ("sys/fs/cgroup/a/b/memory.max", "max\n"),
        ("sys/fs/cgroup/a/b/memory.current", "5\n"),
    ];
    assert_eq!(available("unlimited", &unlimited), Some(1000 << 10));

    // The group around ours is limited; a part of what it uses are files that can be dropped.
    let limited = [
        ("sys/fs/cgroup/a/memory.max", "500000\n"),
        ("sys/fs/cgroup/a/memory.current", "300000\n"),
        ("sys/fs/cgroup/a/memory.stat", "anon 200000\ninactive_file 100000\n"),
    ];
    assert_eq!(available("limited", &[&unlimited[..], &limited].concat()), Some(300_000));

    // Version 1, with a path from outside of the container.
    let version_1 = [
        MEMINFO,
        ("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/host/x\n0::/\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "400000\n"),
        ("sys/fs/cgroup/memory/memory.usage_in_bytes", "390000\n"),
        ("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 1000\n"),
    ];
    assert_eq!(available("version-1", &version_1), Some(11_000));

    // More in use than allowed.
    let full = [
        MEMINFO,
        ("proc/self/cgroup", "0::/"),
        ("sys/fs/cgroup/memory.max", "1\n"),
        ("sys/fs/cgroup/memory.current", "9\n"),
    ];
    assert_eq!(available("full", &full), Some(0));
    assert!(available_bytes() > 0);
}
