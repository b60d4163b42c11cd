//! Distances: what it takes to get a line from where it is, and where lines live.
//!
//! **Sockets.** The costs are the description's table, by hops between sockets: a line comes from another core, from a
//! last level, or from memory, and is read or taken. Where copies have to be given up, the farthest decides.
//!
//! **A mesh.** Every line has a home, a tile whose slice of the last level has it and whose directory knows who else does.
//! A request goes there; the slice answers, or fetches the line from the core that has it, or from memory behind it, or
//! sends word to all that have copies and waits for the farthest; then the answer goes back. A message takes the hops of
//! the shorter way round a corner, and a cycle for each of its flits: one for a request, and as many more as a line has
//! for data. (Graphite's `pr_l1_sh_l2_msi` goes these ways.)
//!
//! **Machines of a cluster** are sockets with a distance of their own between them. Memory is that of the machine whose core asks for it.
//!
//! Who has copies is known by *cluster*: a socket; on a mesh one of sixteen blocks of tiles. A *bank* is a last level
//! that fills up by itself: a socket's; on a mesh all slices together, since lines are spread over them evenly.

use super::{Line, picoseconds};
use crate::simulated::description::{Description, Layout, Mesh, Sockets};

/// Blocks of a mesh in either direction.
const BLOCKS: usize = 4;

/// Where a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// It is here, but not for the core alone.
    Here,
    /// Another core's private caches.
    Core {
        /// Which core.
        core: usize,
        /// Whether it has modified the line.
        dirty: bool,
    },
    /// A last level.
    LastLevel {
        /// Whose.
        bank: usize,
    },
    /// Main memory.
    Memory,
}

/// See the module.
pub(super) struct Network {
    clusters: Box<[u8]>,
    banks: Box<[u8]>,
    /// By bank, all banks, nearest first.
    near: Box<[Box<[u8]>]>,
    distances: Distances,
    controllers: Box<[Controller]>,
    /// What a line keeps a controller busy for.
    occupancy: u64,
    /// The hardware counter's queue, and what an increment takes.
    counter: Controller,
    increment: u64,
    salt: u64,
}

/// A memory controller's queue. Requests are made in the order of the clocks, but some are for later: behind a line that is
/// on its way, or a full store buffer. So that they keep nobody waiting until then, a queue is what was asked for and not
/// yet passed on, not a time to which the controller is booked.
#[derive(Clone, Copy, Default)]
struct Controller {
    /// What it takes to pass on all that was asked for until `since`.
    backlog: u64,
    since: u64,
}

impl Controller {
    /// Asks for something that keeps the controller busy for `occupancy`; what it waits for.
    #[inline]
    fn ask(&mut self, now: u64, occupancy: u64) -> u64 {
        let waits = self.backlog.saturating_sub(now.saturating_sub(self.since));
        self.backlog = waits + occupancy;
        self.since = self.since.max(now);
        waits
    }
}

/// Picoseconds.
enum Distances {
    Sockets {
        hops: Box<[Box<[usize]>]>,
        load_modified: Box<[u64]>,
        load_exclusive: Box<[u64]>,
        load_shared: Box<[u64]>,
        store_modified: Box<[u64]>,
        store_exclusive: Box<[u64]>,
        store_shared: Box<[u64]>,
        memory: Box<[u64]>,
        controllers_a_socket: usize,
        sockets_a_machine: usize,
    },
    Mesh {
        /// Column and row of every tile.
        places: Box<[(u8, u8)]>,
        /// Of the middle of every cluster.
        middles: Box<[(u8, u8)]>,
        hop: u64,
        flit: u64,
        data_flits: u64,
        slice: u64,
        private: u64,
        memory: u64,
    },
}

/// Mixes all bits of a number into the upper ones.
#[inline]
fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// A number below `many`, by the upper bits of `hash`.
#[inline]
fn below(hash: u64, many: usize) -> usize {
    ((u128::from(hash) * many as u128) >> 64) as usize
}

impl Network {
    pub fn new(description: &Description, seed: u64) -> Self {
        let (clusters, banks, distances) = match &description.layout {
            Layout::Sockets(sockets) => of_sockets(description, sockets),
            Layout::Mesh(mesh) => of_mesh(description, mesh),
        };
        let near = match &description.layout {
            Layout::Sockets(sockets) => sockets.hops.iter().map(|hops| nearest_first(hops)).collect(),
            Layout::Mesh(_) => vec![vec![0].into()].into(),
        };
        let memory = &description.memory;
        // A megabyte a second is a byte a microsecond, 10^6 ps.
        let occupancy = Description::LINE_BYTES * 1_000_000 / memory.bandwidth_mb_per_s;
        Network {
            clusters,
            banks,
            near,
            distances,
            controllers: vec![Controller::default(); memory.controllers].into(),
            occupancy,
            counter: Controller::default(),
            increment: picoseconds(description, 1),
            salt: mix(seed ^ 0x5EED),
        }
    }

    #[inline]
    pub fn cluster_of(&self, core: usize) -> usize {
        usize::from(self.clusters[core])
    }

    #[inline]
    pub fn bank_of(&self, core: usize) -> usize {
        usize::from(self.banks[core])
    }

    /// The banks, the core's own first.
    #[inline]
    pub fn banks_by_distance(&self, core: usize) -> &[u8] {
        &self.near[self.bank_of(core)]
    }

    /// Whether two sockets are of different machines.
    #[inline]
    pub fn are_apart(&self, one: usize, other: usize) -> bool {
        match self.distances {
            Distances::Sockets { sockets_a_machine, .. } => {
                one / sockets_a_machine != other / sockets_a_machine
            }
            Distances::Mesh { .. } => false,
        }
    }

    #[inline]
    fn controller_of(&self, cluster: usize, line: Line) -> usize {
        // On a mesh the controller nearest to the line's home is found by the hash that finds its home.
        let by_line = mix(line.0 ^ self.salt);
        match self.distances {
            Distances::Sockets { controllers_a_socket, .. } => {
                self.socket_of_memory(cluster, line) * controllers_a_socket
                    + below(by_line, controllers_a_socket)
            }
            Distances::Mesh { .. } => below(by_line, self.controllers.len()),
        }
    }

    /// Where the page is that the line is in, in the machine of this cluster of cores.
    fn socket_of_memory(&self, cluster: usize, line: Line) -> usize {
        const LINES_A_PAGE: u64 = 64;
        match self.distances {
            Distances::Sockets { sockets_a_machine, .. } => {
                let first = cluster / sockets_a_machine * sockets_a_machine;
                first + below(mix((line.0 / LINES_A_PAGE) ^ self.salt ^ 0xFA6E), sockets_a_machine)
            }
            Distances::Mesh { .. } => 0,
        }
    }

    /// What a line waits for its controller that is asked for at time `now`, for a core of this cluster.
    pub fn occupy_controller(&mut self, cluster: usize, line: Line, now: u64) -> u64 {
        let controller = self.controller_of(cluster, line);
        self.controllers[controller].ask(now, self.occupancy)
    }

    /// What it takes to have the hardware counter incremented, and the number back: a cycle at the counter, behind those who came
    /// before, and the way there and back. It is at the centre of a mesh (*thousand-cores* 4.3), or beside the last level of the first
    /// socket.
    pub fn count(&mut self, core: usize, now: u64) -> u64 {
        let there = match &self.distances {
            Distances::Sockets { hops, load_shared, .. } => load_shared[hops[self.cluster_of(core)][0]] / 2,
            Distances::Mesh { places, hop, flit, .. } => {
                let &(columns, rows) = places.last().expect("a tile");
                let (x, y) = places[core];
                flit + hop * u64::from(x.abs_diff(columns / 2) + y.abs_diff(rows / 2))
            }
        };
        2 * there + self.counter.ask(now + there, self.increment) + self.increment
    }

    /// What it takes to read the line.
    pub fn load(&self, core: usize, line: Line, source: Source) -> u64 {
        match &self.distances {
            Distances::Sockets { hops, load_modified, load_exclusive, load_shared, memory, .. } => {
                let hops = |to: usize| hops[self.cluster_of(core)][to];
                match source {
                    Source::Here => load_shared[0],
                    Source::Core { core: other, dirty: true } => load_modified[hops(self.cluster_of(other))],
                    Source::Core { core: other, dirty: false } => {
                        load_exclusive[hops(self.cluster_of(other))]
                    }
                    Source::LastLevel { bank } => load_shared[hops(bank)],
                    Source::Memory => memory[hops(self.socket_of_memory(self.cluster_of(core), line))],
                }
            }
            Distances::Mesh { .. } => self.over_mesh(core, line, source, 0),
        }
    }

    /// What it takes to have the line for oneself, of which the clusters in the set `sharers` have copies.
    pub fn own(&self, core: usize, line: Line, source: Source, sharers: u16) -> u64 {
        match &self.distances {
            Distances::Sockets { hops, store_modified, store_exclusive, store_shared, .. } => {
                let row = &hops[self.cluster_of(core)];
                let given_up = || {
                    let hops = set_bits(sharers).map(|cluster| row[cluster]).max();
                    store_shared[hops.unwrap_or(0)]
                };
                match source {
                    Source::Here => given_up(),
                    Source::Core { core: other, dirty } => {
                        let hops = row[self.cluster_of(other)];
                        if dirty { store_modified[hops] } else { store_exclusive[hops] }
                    }
                    Source::LastLevel { .. } | Source::Memory if sharers != 0 => {
                        given_up().max(self.load(core, line, source))
                    }
                    Source::LastLevel { .. } | Source::Memory => self.load(core, line, source),
                }
            }
            Distances::Mesh { .. } => self.over_mesh(core, line, source, sharers),
        }
    }

    /// From the core to the line's home, to the other cores concerned and back, and to the core.
    fn over_mesh(&self, core: usize, line: Line, source: Source, sharers: u16) -> u64 {
        let Distances::Mesh { places, middles, hop, flit, data_flits, slice, private, memory } =
            &self.distances
        else {
            unreachable!("asked of a mesh only")
        };
        let home = places[below(mix(line.0 ^ self.salt), places.len())];
        let way = |from: (u8, u8), to: (u8, u8)| {
            hop * (u64::from(from.0.abs_diff(to.0)) + u64::from(from.1.abs_diff(to.1)))
        };
        let (request, data) = (*flit, flit * data_flits);
        let there = way(places[core], home);
        let fetched = match source {
            Source::Here | Source::LastLevel { .. } => 0,
            Source::Core { core: other, .. } => request + 2 * way(home, places[other]) + private + data,
            Source::Memory => *memory,
        };
        let farthest = set_bits(sharers).map(|cluster| way(home, middles[cluster])).max();
        let given_up = farthest.map_or(0, |farthest| 2 * (farthest + request));
        let answer = if source == Source::Here { request } else { data };
        request + there + slice + fetched.max(given_up) + there + answer
    }
}

fn set_bits(set: u16) -> impl Iterator<Item = usize> {
    let mut left = set;
    std::iter::from_fn(move || {
        let next = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (next < u16::BITS).then_some(next as usize)
    })
}

fn nearest_first(hops: &[usize]) -> Box<[u8]> {
    let mut order: Vec<usize> = (0..hops.len()).collect();
    order.sort_by_key(|&socket| hops[socket]);
    order.into_iter().map(|socket| socket as u8).collect()
}

type Parts = (Box<[u8]>, Box<[u8]>, Distances);

fn of_sockets(description: &Description, sockets: &Sockets) -> Parts {
    let row = |cycles: &[u64]| cycles.iter().map(|&cycles| picoseconds(description, cycles)).collect();
    let cores_a_socket = description.cores / sockets.count;
    let sockets_of_cores: Box<[u8]> =
        (0..description.cores).map(|core| (core / cores_a_socket) as u8).collect();
    let transfers = &sockets.transfers;
    let distances = Distances::Sockets {
        hops: sockets.hops.iter().map(|row| row.clone().into()).collect(),
        load_modified: row(&transfers.load_modified_cycles),
        load_exclusive: row(&transfers.load_exclusive_cycles),
        load_shared: row(&transfers.load_shared_cycles),
        store_modified: row(&transfers.store_modified_cycles),
        store_exclusive: row(&transfers.store_exclusive_cycles),
        store_shared: row(&transfers.store_shared_cycles),
        memory: description.memory.latency_ns.iter().map(|&ns| ns * 1000).collect(),
        controllers_a_socket: description.memory.controllers / sockets.count,
        sockets_a_machine: sockets.count / description.machines,
    };
    (sockets_of_cores.clone(), sockets_of_cores, distances)
}

fn of_mesh(description: &Description, mesh: &Mesh) -> Parts {
    let places: Box<[(u8, u8)]> = (0..description.cores)
        .map(|tile| ((tile % mesh.columns) as u8, (tile / mesh.columns) as u8))
        .collect();
    let block = |at: u8, tiles: usize| usize::from(at) * BLOCKS / tiles;
    let cluster = |&(x, y): &(u8, u8)| (block(y, mesh.rows) * BLOCKS + block(x, mesh.columns)) as u8;
    let clusters = places.iter().map(cluster).collect();
    let middle = |block: usize, tiles: usize| ((2 * block + 1) * tiles / (2 * BLOCKS)) as u8;
    let middles = (0..BLOCKS * BLOCKS)
        .map(|cluster| (middle(cluster % BLOCKS, mesh.columns), middle(cluster / BLOCKS, mesh.rows)))
        .collect();
    let distances = Distances::Mesh {
        places,
        middles,
        hop: picoseconds(description, mesh.hop_cycles),
        flit: picoseconds(description, 1),
        data_flits: 1 + Description::LINE_BYTES.div_ceil(mesh.flit_bytes),
        slice: picoseconds(description, description.last.latency_cycles),
        private: picoseconds(description, description.private().latency_cycles),
        memory: description.memory.latency_ns[0] * 1000,
    };
    (clusters, vec![0; description.cores].into(), distances)
}
