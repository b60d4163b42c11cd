//! Sockets, cores, hardware threads and caches, and the order in which workers fill them.
//!
//! The papers fill one socket after the other, so that a run of few workers measures one socket, and give
//! every worker a physical core (*trireme* 4, *silo* 5.1: without hyper-threading). So the first hardware
//! threads of all cores come first, socket by socket, and then the second ones, socket by socket: workers
//! share a core only when there are more of them than cores. Read from `/sys/devices/system/cpu` on Linux;
//! elsewhere a single socket of as many cores as the system tells.

use serde::Serialize;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;

/// A logical processor, the place of a pinned worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HardwareThread {
    /// The system's number of it.
    pub cpu: usize,
    /// The system's number of its socket.
    pub socket: usize,
    /// The system's number of its core, unique within a socket.
    pub core: usize,
    /// Its place among the usable hardware threads of the core, from 0.
    pub sibling: usize,
}

/// A cache as the first processor sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Capacity.
    pub bytes: u64,
    /// Bytes of a line.
    pub line_bytes: u64,
    /// Logical processors that share it.
    pub shared_by: usize,
}

/// The machine as far as we may use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Topology {
    /// The usable hardware threads, in the order in which workers fill them.
    pub fill_order: Vec<HardwareThread>,
    /// Caches of the first of them.
    pub caches: Vec<Cache>,
}

impl Topology {
    /// This machine's, restricted to the processors that the process may run on; read once.
    pub fn of_this_machine() -> &'static Topology {
        static TOPOLOGY: OnceLock<Topology> = OnceLock::new();
        TOPOLOGY.get_or_init(|| {
            let allowed = super::affinity::allowed_cpus();
            let may_run_on = |cpu: usize| allowed.as_ref().is_none_or(|cpus| cpus.contains(&cpu));
            Topology::read(Path::new("/sys"), may_run_on).unwrap_or_else(Topology::unknown)
        })
    }

    /// Reads the tree under `sys`, keeping the online processors that `allowed` accepts. `None` if there is
    /// no such tree or nothing is left.
    pub fn read(sys: &Path, allowed: impl Fn(usize) -> bool) -> Option<Topology> {
        let cpus = sys.join("devices/system/cpu");
        let online = parse_list(&fs::read_to_string(cpus.join("online")).ok()?)?;
        let mut threads: Vec<HardwareThread> =
            online.into_iter().filter(|&cpu| allowed(cpu)).map(|cpu| hardware_thread(&cpus, cpu)).collect();
        number_siblings(&mut threads);
        threads.sort_by_key(|thread| (thread.sibling, thread.socket, thread.core, thread.cpu));
        let first = threads.first()?;
        let caches = caches(&cpus.join(format!("cpu{}/cache", first.cpu)));
        Some(Topology { fill_order: threads, caches })
    }

    /// One socket, one thread a core, no caches known.
    fn unknown() -> Topology {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let thread = |cpu| HardwareThread { cpu, socket: 0, core: cpu, sibling: 0 };
        Topology { fill_order: (0..cores).map(thread).collect(), caches: Vec::new() }
    }

    /// Number of usable hardware threads.
    pub fn hardware_threads(&self) -> usize {
        self.fill_order.len()
    }

    /// Number of cores with a usable hardware thread.
    pub fn cores(&self) -> usize {
        self.fill_order.iter().filter(|thread| thread.sibling == 0).count()
    }

    /// Number of sockets with a usable hardware thread.
    pub fn sockets(&self) -> usize {
        // The order goes socket by socket, and every core has a first thread.
        let first_threads = self.fill_order.partition_point(|thread| thread.sibling == 0);
        self.fill_order[..first_threads].chunk_by(|a, b| a.socket == b.socket).count()
    }
}

/// What the tree says of one processor; one that it says nothing of is a core of its own in socket 0.
fn hardware_thread(cpus: &Path, cpu: usize) -> HardwareThread {
    let topology = cpus.join(format!("cpu{cpu}/topology"));
    // Machines that do not know their sockets say -1, which does not parse.
    HardwareThread {
        cpu,
        socket: number(&topology.join("physical_package_id")).unwrap_or(0),
        core: number(&topology.join("core_id")).unwrap_or(cpu),
        sibling: 0,
    }
}

/// Numbers the hardware threads of each core, by the system's numbers.
fn number_siblings(threads: &mut [HardwareThread]) {
    threads.sort_by_key(|thread| (thread.socket, thread.core, thread.cpu));
    for core in threads.chunk_by_mut(|a, b| (a.socket, a.core) == (b.socket, b.core)) {
        for (sibling, thread) in core.iter_mut().enumerate() {
            thread.sibling = sibling;
        }
    }
}

fn caches(folder: &Path) -> Vec<Cache> {
    let cache = |index: usize| {
        let folder = folder.join(format!("index{index}"));
        Some(Cache {
            level: number(&folder.join("level"))?,
            kind: fs::read_to_string(folder.join("type")).ok()?.trim().to_owned(),
            bytes: parse_size(&fs::read_to_string(folder.join("size")).ok()?)?,
            line_bytes: number(&folder.join("coherency_line_size")).unwrap_or(64),
            shared_by: parse_list(&fs::read_to_string(folder.join("shared_cpu_list")).ok()?)?.len(),
        })
    };
    (0..).map_while(cache).collect()
}

fn number<T: FromStr>(file: &Path) -> Option<T> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// A list of processors in the system's notation: `0-3,8,10-11`.
fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut list = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        list.extend(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?);
    }
    Some(list)
}

/// A size in the system's notation: `32K`, `1M`, `512`.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = |letter, shift| Some((text.strip_suffix(letter)?, shift));
    let (digits, shift) = unit('K', 10).or(unit('M', 20)).or(unit('G', 30)).unwrap_or((text, 0));
    Some(digits.parse::<u64>().ok()? << shift)
}
