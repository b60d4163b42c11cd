use super::tree;
use machine::hardware::topology::{HardwareThread, Topology};
use machine::hardware::worker::cores;
use std::path::PathBuf;

const SOCKETS: usize = 4;
const CORES: usize = 18;
const FIRST_SIBLINGS: usize = SOCKETS * CORES;

/// How the processors of the 4 x 18 machine are numbered: all first siblings, socket by socket, then all
/// second.
fn socket_and_core(cpu: usize) -> (usize, usize) {
    // The cores' numbers have gaps, as those of such machines have.
    const CORE_IDS: [usize; CORES] = [0, 1, 2, 3, 4, 8, 9, 10, 11, 16, 17, 18, 19, 20, 24, 25, 26, 27];
    let place = cpu % FIRST_SIBLINGS;
    (place / CORES, CORE_IDS[place % CORES])
}

/// A tree of 4 sockets of 18 cores of 2 hardware threads, with processors 5 and 80 offline.
fn four_sockets(name: &str) -> PathBuf {
    const CPUS: &str = "devices/system/cpu";
    let mut files = vec![(format!("{CPUS}/online"), "0-4,6-79,81-143\n".to_owned())];
    for cpu in (0..2 * FIRST_SIBLINGS).filter(|cpu| ![5, 80].contains(cpu)) {
        let (socket, core) = socket_and_core(cpu);
        files.push((format!("{CPUS}/cpu{cpu}/topology/physical_package_id"), format!("{socket}\n")));
        files.push((format!("{CPUS}/cpu{cpu}/topology/core_id"), format!("{core}\n")));
    }
    let caches = [
        ("1", "Data", "32K", "0,72"),
        ("1", "Instruction", "32K", "0,72"),
        ("3", "Unified", "45M", "0-17,72-89"),
    ];
    for (index, (level, kind, size, shared)) in caches.into_iter().enumerate() {
        let values = [
            ("level", level),
            ("type", kind),
            ("size", size),
            ("coherency_line_size", "64"),
            ("shared_cpu_list", shared),
        ];
        files.extend(
            values.map(|(file, value)| {
                (format!("{CPUS}/cpu0/cache/index{index}/{file}"), format!("{value}\n"))
            }),
        );
    }
    let files: Vec<_> = files.iter().map(|(file, content)| (file.as_str(), content.as_str())).collect();
    tree(name, &files)
}

#[test]
fn cores_fill_socket_by_socket_and_then_their_second_threads() {
    let topology = Topology::read(&four_sockets("four-sockets"), |_| true).expect("a tree");
    let order = &topology.fill_order;
    assert_eq!((topology.sockets(), topology.cores(), topology.hardware_threads()), (4, 72, 142));
    let cpus =
        |range: std::ops::Range<usize>| order[range].iter().map(|thread| thread.cpu).collect::<Vec<_>>();
    // Core 5 of the tree lost its first thread, so that its second one is the first that is usable.
    assert_eq!(cpus(0..18), [0, 1, 2, 3, 4, 77, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]);
    assert_eq!(cpus(18..72), (18..72).collect::<Vec<_>>());
    // Second threads; those of the cores that lost one are missing.
    let second: Vec<usize> = (72..144).filter(|cpu| ![77, 80].contains(cpu)).collect();
    assert_eq!(cpus(72..142), second);
    assert_eq!(order[141], HardwareThread { cpu: 143, socket: 3, core: 27, sibling: 1 });
}

#[test]
fn only_allowed_processors_are_used() {
    let sys = four_sockets("affinity");
    // Half of socket 1, with both siblings, and a processor that is offline.
    let allowed = |cpu: usize| (18..27).contains(&cpu) || (90..99).contains(&cpu) || cpu == 5;
    let topology = Topology::read(&sys, allowed).expect("a tree");
    assert_eq!((topology.sockets(), topology.cores(), topology.hardware_threads()), (1, 9, 18));
    assert!(topology.fill_order.iter().all(|thread| thread.socket == 1));
    assert!(Topology::read(&sys, |_| false).is_none());
}

#[test]
fn caches_are_read() {
    let caches = Topology::read(&four_sockets("caches"), |_| true).expect("a tree").caches;
    let summary: Vec<_> =
        caches.iter().map(|cache| (cache.level, cache.kind.as_str(), cache.bytes, cache.shared_by)).collect();
    assert_eq!(
        summary,
        [(1, "Data", 32 << 10, 2), (1, "Instruction", 32 << 10, 2), (3, "Unified", 45 << 20, 36)]
    );
    assert!(caches.iter().all(|cache| cache.line_bytes == 64));
}

#[test]
fn a_processor_of_which_nothing_is_said_is_a_core() {
    let files = [
        ("devices/system/cpu/online", "0-2"),
        ("devices/system/cpu/cpu1/topology/physical_package_id", "-1\n"),
    ];
    let root = tree("bare", &files);
    let topology = Topology::read(&root, |_| true).expect("a tree");
    assert_eq!((topology.sockets(), topology.cores(), topology.hardware_threads()), (1, 3, 3));
    assert!(Topology::read(&root.join("no such folder"), |_| true).is_none());
}

#[test]
fn this_machine_has_a_core() {
    let topology = Topology::of_this_machine();
    assert_eq!(topology.hardware_threads(), cores());
    assert!(topology.sockets() >= 1 && topology.cores() >= topology.sockets());
    let mut cpus: Vec<usize> = topology.fill_order.iter().map(|thread| thread.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    assert_eq!(cpus.len(), cores(), "each processor once");
}
