//! Machine files: the ones of the repository are read, and spoilt ones are refused with the field and why.

use machine::simulated::description::{Description, Layout};
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../machines")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(format!("{name}.toml"))).expect("a machine of the repository")
}

#[test]
fn every_machine_of_the_repository_is_read() {
    let files = std::fs::read_dir(folder()).expect("the folder of machines");
    let mut names: Vec<String> = files
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 6, "{names:?}");
    for name in names {
        let machine = Description::parse(&text(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(machine.name, name);
        assert!(machine.fitted.is_empty() || machine.fitted.iter().all(|fitted| !fitted.figure.is_empty()));
    }
}

#[test]
fn machines_are_what_the_papers_say() {
    let machine = |name: &str| Description::parse(&text(name)).expect("a machine");
    let trireme = machine("haswell-ex-4x18");
    assert_eq!((trireme.cores, trireme.sockets(), trireme.frequency_mhz), (72, 4, 2500));
    let orthrus = machine("westmere-ex-8x10");
    assert_eq!((orthrus.cores, orthrus.sockets()), (80, 8));
    let Layout::Sockets(sockets) = &orthrus.layout else { panic!("sockets") };
    assert_eq!(sockets.diameter(), 2);
    assert!(sockets.hops.iter().all(|row| row.iter().filter(|&&hops| hops == 1).count() == 3));
    assert_eq!(machine("nehalem-ex-4x8").cores, 32);
    let islands = machine("westmere-ep-2x6");
    assert_eq!((islands.cores, islands.sockets(), islands.frequency_mhz), (12, 2, 2800));
    assert!(
        islands.channels.tcp.is_some() && orthrus.channels.unix.is_some() && trireme.channels.tcp.is_none()
    );
    let cluster = machine("westmere-ep-2x6-x4");
    assert_eq!(
        (cluster.machines, cluster.cores, cluster.sockets(), cluster.memory.controllers),
        (4, 48, 8, 8)
    );
    let Layout::Sockets(sockets) = &cluster.layout else { panic!("sockets") };
    assert_eq!(sockets.hops[0], [0, 1, 2, 2, 2, 2, 2, 2]);
    assert_eq!(sockets.hops[5], [2, 2, 2, 2, 1, 0, 2, 2]);
    // The rest is one of its machines.
    assert_eq!(cluster.memory.latency_ns, [65, 106, 106]);
    assert_eq!(
        (cluster.core, cluster.last, cluster.channels.tcp),
        (islands.core, islands.last, islands.channels.tcp)
    );
    let eight = machine("westmere-ep-1x12-x8");
    assert_eq!((eight.machines, eight.cores, eight.sockets(), eight.memory.controllers), (8, 96, 8, 16));
    let Layout::Sockets(sockets) = &eight.layout else { panic!("sockets") };
    assert_eq!(sockets.hops[0], [0, 1, 1, 1, 1, 1, 1, 1]);
    let two = machine("westmere-ep-1x6-x2");
    assert_eq!((two.machines, two.cores, two.sockets(), two.memory.controllers), (2, 12, 2, 2));
    for other in [eight, two] {
        assert_eq!((other.core, other.channels), (cluster.core, cluster.channels), "{}", other.name);
    }
    for cores in [64, 256, 1024] {
        let mesh = machine(&format!("graphite-mesh-{cores}"));
        assert_eq!((mesh.cores, mesh.l2, mesh.memory.controllers), (cores, None, cores));
    }
}

/// What the file says when `from` is replaced by `to`.
fn spoilt(name: &str, from: &str, to: &str) -> String {
    let whole = text(name);
    assert!(whole.contains(from), "{name} has no {from}");
    Description::parse(&whole.replacen(from, to, 1)).expect_err(to).to_string()
}

#[test]
fn spoilt_machines_are_refused_with_field_value_and_reason() {
    let haswell = |from, to| spoilt("haswell-ex-4x18", from, to);
    let mesh = |from, to| spoilt("graphite-mesh-64", from, to);
    for (error, expected) in [
        (haswell("cores = 72", ""), "cores: is missing"),
        (
            haswell("cores = 72", "cores = 72\nmachines = 2"),
            "channels.network: is missing: machines have a network",
        ),
        (haswell("cores = 72", "cores = 72\nmachines = 0"), "machines = 0: is to be 1 or more"),
        (mesh("cores = 64", "cores = 64\nmachines = 2"), "machines = 2: is to be 1 on a mesh"),
        (
            spoilt(
                "westmere-ep-2x6-x4",
                "[channels.network]",
                "[disk]\ncall_ns = 1000\ncopy_mb_per_s = 5000\nsync_us = 100\nbandwidth_mb_per_s = 500\n\n[channels.network]",
            ),
            "disk: is not to be there: a cluster's machines have none yet",
        ),
        (spoilt("westmere-ep-2x6-x4", "machines = 4", ""), "channels.network: is there without `machines`"),
        (
            spoilt("westmere-ep-2x6-x4", "machines = 4", "machines = 5"),
            "machines = 5: is to be 1 to 4: 8 sockets and 1024 cores together",
        ),
        (
            spoilt("westmere-ep-2x6-x4", "bandwidth_mb_per_s = 1250", "bandwidth_mb_per_s = 0"),
            "channels.network.bandwidth_mb_per_s = 0: is to be 1 to 1000000",
        ),
        (
            spoilt("westmere-ep-2x6", "poll_ns = 400", "poll_ns = 0"),
            "channels.unix.poll_ns = 0: is to be 1 to 1000000",
        ),
        (spoilt("westmere-ep-2x6", "poll_ns = 400", ""), "channels.unix.poll_ns: is missing"),
        (spoilt("westmere-ep-2x6", "[channels.tcp]", "[channels.mpi]"), "channels.mpi = "),
        (haswell("cores = 72", "cores = 0"), "cores = 0: is to be 1 to 1024"),
        (haswell("cores = 72", "cores = 70"), "cores = 70: is no multiple of the 4 sockets"),
        (haswell("cores = 72", "cores = \"many\""), "cores = \"many\": is to be a whole number"),
        (haswell("cores = 72", "cores = -1"), "cores = -1: is to be a whole number"),
        (haswell("frequency_mhz = 2500", "frequency_mhz = 0"), "frequency_mhz = 0: is to be 100 to 10,000"),
        (haswell("name = \"haswell-ex-4x18\"", "name = \"\""), "name = \"\": is to be a text"),
        (haswell("count = 4", "count = 9"), "sockets.count = 9: is to be 1 to 8"),
        (
            haswell("count = 4", "count = 4\nlinks = [[0, 1], [2, 3]]"),
            "sockets.links: no way from socket 0 to 2",
        ),
        (
            haswell("count = 4", "count = 4\nlinks = [[0, 7]]"),
            "sockets.links = [0, 7]: there are sockets 0 to 3",
        ),
        (
            haswell("bytes = 32768", "bytes = 30000"),
            "caches.l1.bytes = 30000: is to be a power of two of sets",
        ),
        (
            haswell("bytes = 262144", "bytes = 32768"),
            "caches.l2.bytes = 32768: is not larger than the first level",
        ),
        (
            haswell("latency_cycles = 12", "latency_cycles = 3"),
            "caches.l2.latency_cycles = 3: is not slower than the first level",
        ),
        (
            haswell("bytes = 47185920", "bytes = 1048576"),
            "caches.last.bytes = 1048576: is smaller than the private caches of its cores, 4718592 bytes together",
        ),
        (
            haswell("load_shared_cycles = [53, 215]", "load_shared_cycles = [5, 215]"),
            "transfers.load_shared_cycles = 5: is not slower than the private caches",
        ),
        (
            haswell("load_modified_cycles = [133, 283]", "load_modified_cycles = [133, 100]"),
            "transfers.load_modified_cycles = [133, 100]: falls with distance",
        ),
        (
            haswell("store_shared_cycles = [111, 260]", "store_shared_cycles = [111]"),
            "transfers.store_shared_cycles = [111]: is to have a number for each of 0 to 1 hops",
        ),
        (
            haswell("store_exclusive_cycles = [111, 260]", "store_exclusive_cycles = [20, 260]"),
            "transfers.store_exclusive_cycles = [20, 260]: is faster than the last level's own latency",
        ),
        (
            haswell("latency_ns = [135, 197]", "latency_ns = [10, 197]"),
            "memory.latency_ns = [10, 197]: is not slower",
        ),
        (
            haswell("controllers = 8", "controllers = 6"),
            "memory.controllers = 6: is to be a multiple of the 4 sockets",
        ),
        (
            haswell("bandwidth_mb_per_s = 51000", "bandwidth_mb_per_s = 0"),
            "memory.bandwidth_mb_per_s = 0: is to be 1 to 10^7",
        ),
        (
            haswell("lines_in_flight = 10", "lines_in_flight = 0"),
            "core.lines_in_flight = 0: is to be 1 to 64",
        ),
        (haswell("pause_cycles = 9", "pause_cycles = 0"), "core.pause_cycles = 0: is to be 1 to 10000"),
        (
            haswell("jitter_cycles = 70", "jitter_cycles = 10001"),
            "core.jitter_cycles = 10001: is to be 0 to 10000",
        ),
        (
            haswell("transfer_percent = 100", "transfer_percent = 50"),
            "contention.transfer_percent = 50: is to be 100 to 1000",
        ),
        (haswell("[contention]", "[contention]\nsoup = 3"), "contention.soup = 3: is no field of a machine"),
        (haswell("[contention]", "[soup]"), "contention: is missing"),
        (haswell("[sockets]", "[sockets"), "no machine file: TOML parse error"),
        (mesh("columns = 8", "columns = 7"), "cores = 64: is not the number of tiles, 7 times 8"),
        (mesh("flit_bytes = 8", "flit_bytes = 0"), "mesh.flit_bytes = 0: is to be 1 to 64"),
        (
            mesh("latency_ns = [100]", "latency_ns = [100, 200]"),
            "memory.latency_ns = [100, 200]: is to be one number",
        ),
        (mesh("latency_cycles = 8", ""), "caches.last.latency_cycles: is missing"),
        (
            mesh("controllers = 64", "controllers = 65"),
            "memory.controllers = 65: is to be a multiple of the 1 sockets",
        ),
    ] {
        assert!(error.starts_with(expected), "expected {expected}\n     got {error}");
    }
}

#[test]
fn fitted_numbers_override_the_literatures_and_name_their_figure() {
    let with = |fitted: &str| Description::parse(&format!("{}\n[fitted]\n{fitted}", text("nehalem-ex-4x8")));
    let machine = with(
        "\"core.lines_in_flight\" = { value = 2, figure = \"trireme/fig-2b\" }\n\
         \"transfers.load_shared_cycles\" = { value = [60, 300], figure = \"trireme/fig-2b\" }",
    )
    .expect("a machine");
    assert_eq!((machine.core.lines_in_flight, machine.last.latency_cycles), (2, 60));
    assert_eq!(machine.fitted.len(), 2);
    assert_eq!(machine.fitted[0].figure, "trireme/fig-2b");
    let refused = |fitted: &str| with(fitted).expect_err(fitted).to_string();
    for (error, expected) in [
        (
            refused("\"core.soup\" = { value = 2, figure = \"x\" }"),
            "fitted.core.soup = 2: overrides no number of the literature",
        ),
        (
            refused("\"core.lines_in_flight\" = { value = 2 }"),
            "fitted.core.lines_in_flight = 2: does not say by `figure` what it was fitted on",
        ),
        (
            refused("\"core.lines_in_flight\" = { figure = \"x\" }"),
            "fitted.core.lines_in_flight: has no value",
        ),
        (
            refused("\"core.lines_in_flight\" = { value = 200, figure = \"x\" }"),
            "core.lines_in_flight = 200: is to be 1 to 64",
        ),
        (
            refused("\"core.lines_in_flight\" = 2"),
            "fitted.core.lines_in_flight = 2: is to be { value = ..., figure = \"...\" }",
        ),
    ] {
        assert_eq!(error, expected);
    }
    // The literature's number has to be right, too, where a fitted one takes its place.
    let fitted = "[fitted]\n\"core.stall_percent\" = { value = 70, figure = \"trireme/fig-2b\" }";
    let spoilt = |percent: u64| {
        let text =
            text("nehalem-ex-4x8").replace("stall_percent = 100", &format!("stall_percent = {percent}"));
        Description::parse(&format!("{text}\n{fitted}"))
    };
    assert_eq!(spoilt(90).expect("a machine").core.stall_percent, 70);
    let error = spoilt(500).expect_err("it is beyond 100").to_string();
    assert_eq!(error, "core.stall_percent = 500: is to be 1 to 100");
}
