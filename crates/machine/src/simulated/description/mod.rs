//! A machine file: the numbers of a machine that is simulated, each beside its source.
//!
//! The file is TOML. Its tables say what the literature says; a last table, `[fitted]`, overrides single numbers of
//! the others by their dotted names, and says of each on which figure it was fitted. So what was measured by others
//! and what was tuned by us stay apart, and a result can be judged on the figures that nothing was fitted on.
//!
//! | table | what |
//! |---|---|
//! | (top) | `name`, `source`, `cores`, `frequency_mhz`; `machines`, if it is a cluster of so many alike |
//! | `[sockets]` or `[mesh]` | how the cores hang together |
//! | `[caches.l1]`, `[caches.l2]`, `[caches.last]` | private levels, of which the second may be missing; the last level, shared by a socket, or a slice on every tile |
//! | `[transfers]` | sockets only: cycles to get a line, by where it is and how many hops away |
//! | `[memory]` | controllers, latency, bandwidth |
//! | `[core]` | what a core does by itself, and how much of waiting overlaps |
//! | `[contention]` | what a line that many want costs beyond its transfers |
//! | `[channels.unix]`, `[channels.tcp]` | what a message through the operating system takes; without them no sockets of this kind |
//! | `[channels.network]` | clusters only: what a message from one machine to another takes, over TCP |
//! | `[disk]` | what writing and syncing a file takes; a machine without it logs nothing |
//! | `[fitted]` | `"table.field" = { value = ..., figure = "..." }` |
//!
//! All fields but `machines`, the second private level, `sockets.links`, `[channels]` and `[disk]` must be there. What is missing, unknown, of the
//! wrong type or inconsistent is refused with its dotted name, its value and why ([`DescriptionError`]).
//!
//! **A cluster** is described by one of its machines: `cores`, `sockets.count` and `memory.controllers` are of that one in the file, and of all
//! together in a [`Description`]. Its machines share no memory: each has its own, and what one has to say to another it sends. A line that cores of
//! several ask for is one that a process has once and a cluster would have on every machine: a counter of memory that was handed out, the flag that a run is over.
//! It costs what one of the farthest socket does, and is counted ([`LineStatistics::between_machines`](super::model::LineStatistics::between_machines)).

mod check;
mod fitted;
mod reader;

use crate::site::Site;
use reader::Reader;
use std::fmt;

/// The most cores that a machine may have.
pub const MOST_CORES: usize = 1024;
/// The most sockets that a machine may have, or the machines of a cluster together.
pub const MOST_SOCKETS: usize = 8;

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Kebab-case.
    pub name: String,
    /// Where the machine is described: a paper and its section.
    pub source: String,
    /// Machines alike; 1, if it is no cluster.
    pub machines: usize,
    /// All cores, of all machines.
    pub cores: usize,
    /// Of all cores, of caches and network.
    pub frequency_mhz: u64,
    /// How the cores hang together.
    pub layout: Layout,
    /// The first private level.
    pub l1: Cache,
    /// The second private level, if there is one.
    pub l2: Option<Cache>,
    /// The last level: of each socket, or the slice of each tile.
    pub last: LastLevel,
    /// Main memory.
    pub memory: Memory,
    /// What a core does by itself.
    pub core: Core,
    /// What a line that many want costs beyond its transfers.
    pub contention: Contention,
    /// What messages through the operating system take.
    pub channels: Channels,
    /// What files take, if there is a disk: each folder is on one of its own.
    pub disk: Option<Disk>,
    /// The numbers above that were fitted.
    pub fitted: Vec<Fitted>,
}

/// How cores hang together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Sockets with links between them. Cores are numbered socket by socket, and sockets machine by machine.
    Sockets(Sockets),
    /// Tiles in rows, a core and a slice of the last level each. Cores are numbered row by row.
    Mesh(Mesh),
}

/// Sockets with links between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sockets {
    /// How many, each with as many cores.
    pub count: usize,
    /// Hops from one to another; to one of another machine one more than the most within a machine.
    pub hops: Vec<Vec<usize>>,
    /// What getting a line costs.
    pub transfers: Transfers,
}

/// Cycles that a core waits for a line, from its request to its data, by hops between sockets: 0 within the own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfers {
    /// To read a line that another core has modified.
    pub load_modified_cycles: Vec<u64>,
    /// To read a line that another core has for itself, unmodified.
    pub load_exclusive_cycles: Vec<u64>,
    /// To read a line that a last level has. Of the own socket: that cache's latency.
    pub load_shared_cycles: Vec<u64>,
    /// To own a line that another core has modified.
    pub store_modified_cycles: Vec<u64>,
    /// To own a line that another core has for itself, unmodified.
    pub store_exclusive_cycles: Vec<u64>,
    /// To own a line of which others have copies: until the farthest of them has given it up.
    pub store_shared_cycles: Vec<u64>,
}

/// Tiles in rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mesh {
    /// Tiles of a row.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
    /// From one tile to the next, router and link.
    pub hop_cycles: u64,
    /// What a link takes in a cycle: a message takes as many more cycles as it has flits.
    pub flit_bytes: u64,
}

/// A private cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Size.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u64,
    /// From address to data.
    pub latency_cycles: u64,
}

/// The last level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastLevel {
    /// Of a socket, or of a tile's slice.
    pub bytes: u64,
    /// On a mesh, of the slice itself, without the way there. On sockets `transfers.load_shared_cycles` says it.
    pub latency_cycles: u64,
}

/// Main memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Of all sockets, or of the mesh.
    pub controllers: usize,
    /// From a miss in the last level to the data, by hops between sockets; on a mesh, at the controller.
    pub latency_ns: Vec<u64>,
    /// Of one controller, in MB (10^6 bytes) a second.
    pub bandwidth_mb_per_s: u64,
}

/// What a core does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// Lines of one copy that are on their way at a time: 1 for a core that waits for each.
    pub lines_in_flight: u64,
    /// Prefetches that are on their way at a time; 0: prefetching does nothing.
    pub prefetches_in_flight: u64,
    /// Stores that wait for their lines at a time; 0: a store is waited for.
    pub buffered_stores: u64,
    /// A store into a line that the core owns, or into the store buffer.
    pub store_cycles: u64,
    /// A load of the line that the load before was of.
    pub repeated_load_cycles: u64,
    /// An atomic read-modify-write of a line that the core owns.
    pub atomic_cycles: u64,
    /// A full fence with an empty store buffer.
    pub fence_cycles: u64,
    /// The hint that a core spins.
    pub pause_cycles: u64,
    /// Reading the clock.
    pub clock_cycles: u64,
    /// Of the time that a load from a last level or from memory takes, the part that the core waits: an out-of-order core
    /// goes on meanwhile with what does not depend on it. 100 for a core in order.
    pub stall_percent: u64,
    /// Computation between accesses is told to the machine in cycles of a wide core of today: what it takes here, in
    /// percent of those.
    pub work_percent: u64,
    /// The most that an attempt of a transaction is held up by what a machine does besides, such as refreshing memory: a
    /// random time from none to this. 0: cores that retry in step stay in step.
    pub jitter_cycles: u64,
}

/// What a line that many want costs beyond its transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contention {
    /// Between two reads of a line from one last level.
    pub read_interval_cycles: u64,
    /// A transfer between cores that had to wait for another transfer of the line takes so many percent of one that
    /// had not. 100: no more.
    pub transfer_percent: u64,
}

/// What messages through the operating system take, by how they go; `None`: they do not go so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    /// Unix domain sockets.
    pub unix: Option<Channel>,
    /// TCP, within the machine.
    pub tcp: Option<Channel>,
    /// TCP, from one machine of a cluster to another.
    pub network: Option<Wire>,
}

/// What a message from one machine to another takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Its calls, and its way.
    pub channel: Channel,
    /// Of each machine's card, in MB (10^6 bytes) a second: messages that a machine sends follow each other.
    pub bandwidth_mb_per_s: u64,
}

impl Wire {
    /// Of a frame: the headers of Ethernet, IP and TCP, with preamble and gap.
    const HEADER_BYTES: u64 = 78;
    /// What a frame carries.
    const FRAME_BYTES: u64 = 1448;

    /// How long so many bytes that are sent at once keep a card busy, in nanoseconds.
    pub fn occupancy_ns(&self, bytes: u64) -> u64 {
        let frames = bytes.div_ceil(Wire::FRAME_BYTES);
        (bytes + frames * Wire::HEADER_BYTES) * 1000 / self.bandwidth_mb_per_s
    }
}

/// What a message through the operating system takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// A call that sends, beside copying.
    pub send_ns: u64,
    /// A call that receives something, beside copying.
    pub receive_ns: u64,
    /// A call that looks whether something has come.
    pub poll_ns: u64,
    /// From the end of the call that sends until it has come.
    pub latency_ns: u64,
    /// Copying into the system's memory and out of it, in MB (10^6 bytes) a second.
    pub copy_mb_per_s: u64,
}

impl Channel {
    /// How long a call takes that sends so many bytes, in nanoseconds.
    pub fn send_ns(&self, bytes: u64) -> u64 {
        self.send_ns + bytes * 1000 / self.copy_mb_per_s
    }

    /// How long a call takes that receives so many bytes, in nanoseconds.
    pub fn receive_ns(&self, bytes: u64) -> u64 {
        self.receive_ns + bytes * 1000 / self.copy_mb_per_s
    }
}

/// A disk, behind a system that keeps what is written in memory until it is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// A call of the system, beside what it is for.
    pub call_ns: u64,
    /// Copying what is written into the system's memory, in MB (10^6 bytes) a second.
    pub copy_mb_per_s: u64,
    /// From the call that syncs to the answer of an idle disk, beside the bytes.
    pub sync_us: u64,
    /// Of the disk, in MB (10^6 bytes) a second.
    pub bandwidth_mb_per_s: u64,
}

impl Disk {
    /// How long a call takes that writes so many bytes, in nanoseconds.
    pub fn write_ns(&self, bytes: u64) -> u64 {
        self.call_ns + bytes * 1000 / self.copy_mb_per_s
    }

    /// How long an idle disk takes to sync so many bytes, in nanoseconds.
    pub fn sync_ns(&self, bytes: u64) -> u64 {
        1000 * self.sync_us + bytes * 1000 / self.bandwidth_mb_per_s
    }
}

/// A number that was fitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// Its dotted name.
    pub field: String,
    /// On which figure: `trireme/fig-2b`.
    pub figure: String,
}

/// A machine file that is no machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescriptionError {
    /// The field's dotted name; empty if the file is not even TOML.
    pub field: String,
    /// What it holds; empty if it is missing.
    pub value: String,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.field.is_empty(), self.value.is_empty()) {
            (true, _) => write!(f, "no machine file: {}", self.why),
            (false, true) => write!(f, "{}: {}", self.field, self.why),
            (false, false) => write!(f, "{} = {}: {}", self.field, self.value, self.why),
        }
    }
}

impl std::error::Error for DescriptionError {}

impl Description {
    /// Bytes of a cache line, of every machine.
    pub const LINE_BYTES: u64 = 64;

    /// The machine of a file's text.
    pub fn parse(text: &str) -> Result<Description, DescriptionError> {
        let mut file: toml::Table = text.parse().map_err(|error: toml::de::Error| DescriptionError {
            field: String::new(),
            value: String::new(),
            why: error.to_string().trim_end().to_owned(),
        })?;
        // What the file says itself must be right, too, where something fitted takes its place.
        let mut unfitted = file.clone();
        unfitted.remove("fitted");
        check::check(&Description::read(unfitted)?)?;
        let fitted = fitted::apply(&mut file)?;
        let mut description = Description { fitted, ..Description::read(file)? };
        check::check(&description)?;
        description.multiply();
        Ok(description)
    }

    /// From one of the machines to the whole cluster.
    fn multiply(&mut self) {
        if self.machines == 1 {
            return;
        }
        self.cores *= self.machines;
        self.memory.controllers *= self.machines;
        let Layout::Sockets(sockets) = &mut self.layout else {
            unreachable!("checked: a mesh is no cluster")
        };
        let (of_one, apart) = (sockets.count, sockets.diameter() + 1);
        sockets.count *= self.machines;
        let hops = |from: usize, to: usize| match from / of_one == to / of_one {
            true => sockets.hops[from % of_one][to % of_one],
            false => apart,
        };
        sockets.hops =
            (0..sockets.count).map(|from| (0..sockets.count).map(|to| hops(from, to)).collect()).collect();
        let farthest = |row: &mut Vec<u64>| {
            row.push(row.last().copied().expect("checked: a number for each of the hops"))
        };
        sockets.transfers.rows_mut().into_iter().for_each(farthest);
        farthest(&mut self.memory.latency_ns);
    }

    fn read(file: toml::Table) -> Result<Description, DescriptionError> {
        let mut top = Reader::new(file);
        let (name, source) = (top.text("name")?, top.text("source")?);
        let (cores, frequency_mhz) = (top.count("cores")?, top.number("frequency_mhz")?);
        let machines = if top.has("machines") { top.count("machines")? } else { 1 };
        let mut caches = top.table("caches")?;
        let l1 = Cache::read(caches.table("l1")?)?;
        let l2 = caches.optional_table("l2")?.map(Cache::read).transpose()?;
        let mut last = caches.table("last")?;
        let on_a_mesh = top.has("mesh");
        let last_bytes = last.number("bytes")?;
        let layout = if on_a_mesh {
            Layout::Mesh(Mesh::read(top.table("mesh")?)?)
        } else {
            let transfers = Transfers::read(top.table("transfers")?)?;
            Layout::Sockets(Sockets::read(top.table("sockets")?, transfers)?)
        };
        let latency_cycles = match &layout {
            Layout::Mesh(_) => last.number("latency_cycles")?,
            Layout::Sockets(sockets) => sockets.transfers.load_shared_cycles.first().copied().unwrap_or(0),
        };
        last.end()?;
        caches.end()?;
        let memory = Memory::read(top.table("memory")?)?;
        let core = Core::read(top.table("core")?)?;
        let contention = Contention::read(top.table("contention")?)?;
        let channels = top.optional_table("channels")?.map(Channels::read).transpose()?.unwrap_or_default();
        let disk = top.optional_table("disk")?.map(Disk::read).transpose()?;
        top.end()?;
        let last = LastLevel { bytes: last_bytes, latency_cycles };
        let fitted = Vec::new();
        Ok(Description {
            name,
            source,
            machines,
            cores,
            frequency_mhz,
            layout,
            l1,
            l2,
            last,
            memory,
            core,
            contention,
            channels,
            disk,
            fitted,
        })
    }

    /// Sockets; 1 for a mesh.
    pub fn sockets(&self) -> usize {
        match &self.layout {
            Layout::Sockets(sockets) => sockets.count,
            Layout::Mesh(_) => 1,
        }
    }

    /// Cores of each machine.
    pub fn cores_of_a_machine(&self) -> usize {
        self.cores / self.machines
    }

    /// Where each core is.
    pub fn sites(&self) -> Vec<Site> {
        let cores_of_a_socket = self.cores / self.sockets();
        let site =
            |core| Site { machine: core / self.cores_of_a_machine(), socket: core / cores_of_a_socket };
        (0..self.cores).map(site).collect()
    }

    /// The largest private cache.
    pub fn private(&self) -> Cache {
        self.l2.unwrap_or(self.l1)
    }
}

impl Cache {
    fn read(mut table: Reader) -> Result<Cache, DescriptionError> {
        let (bytes, ways) = (table.number("bytes")?, table.number("ways")?);
        let latency_cycles = table.number("latency_cycles")?;
        table.end()?;
        Ok(Cache { bytes, ways, latency_cycles })
    }

    /// Lines that it holds.
    pub fn lines(&self) -> u64 {
        self.bytes / Description::LINE_BYTES
    }
}

impl Sockets {
    fn read(mut table: Reader, transfers: Transfers) -> Result<Sockets, DescriptionError> {
        let count = table.count("count")?;
        let links = table.optional_pairs("links")?;
        if let Some((_, broken)) = links
            .iter()
            .flatten()
            .find_map(|&(a, b)| (a >= count || b >= count || a == b).then(|| (a, format!("[{a}, {b}]"))))
        {
            return Err(table.error("links", broken, format!("there are sockets 0 to {}", count.max(1) - 1)));
        }
        let hops = hops(count, links.as_deref());
        if let Some(alone) = hops.iter().flatten().position(|&hops| hops == usize::MAX) {
            let (from, to) = (alone / count, alone % count);
            return Err(table.error("links", String::new(), format!("no way from socket {from} to {to}")));
        }
        table.end()?;
        Ok(Sockets { count, hops, transfers })
    }

    /// The most hops between two sockets.
    pub fn diameter(&self) -> usize {
        self.hops.iter().flatten().copied().max().unwrap_or(0)
    }
}

/// Hops between all pairs: the shortest ways over `links`, or one everywhere without them.
fn hops(count: usize, links: Option<&[(usize, usize)]>) -> Vec<Vec<usize>> {
    let mut hops = vec![vec![if links.is_some() { usize::MAX } else { 1 }; count]; count];
    (0..count).for_each(|socket| hops[socket][socket] = 0);
    for &(a, b) in links.unwrap_or(&[]) {
        (hops[a][b], hops[b][a]) = (1, 1);
    }
    for over in 0..count {
        for from in 0..count {
            for to in 0..count {
                let way = hops[from][over].saturating_add(hops[over][to]);
                hops[from][to] = hops[from][to].min(way);
            }
        }
    }
    hops
}

impl Transfers {
    fn read(mut table: Reader) -> Result<Transfers, DescriptionError> {
        let transfers = Transfers {
            load_modified_cycles: table.numbers("load_modified_cycles")?,
            load_exclusive_cycles: table.numbers("load_exclusive_cycles")?,
            load_shared_cycles: table.numbers("load_shared_cycles")?,
            store_modified_cycles: table.numbers("store_modified_cycles")?,
            store_exclusive_cycles: table.numbers("store_exclusive_cycles")?,
            store_shared_cycles: table.numbers("store_shared_cycles")?,
        };
        table.end()?;
        Ok(transfers)
    }

    fn rows_mut(&mut self) -> [&mut Vec<u64>; 6] {
        [
            &mut self.load_modified_cycles,
            &mut self.load_exclusive_cycles,
            &mut self.load_shared_cycles,
            &mut self.store_modified_cycles,
            &mut self.store_exclusive_cycles,
            &mut self.store_shared_cycles,
        ]
    }

    /// Every row with its name.
    pub fn rows(&self) -> [(&'static str, &[u64]); 6] {
        [
            ("load_modified_cycles", &self.load_modified_cycles),
            ("load_exclusive_cycles", &self.load_exclusive_cycles),
            ("load_shared_cycles", &self.load_shared_cycles),
            ("store_modified_cycles", &self.store_modified_cycles),
            ("store_exclusive_cycles", &self.store_exclusive_cycles),
            ("store_shared_cycles", &self.store_shared_cycles),
        ]
    }
}

impl Mesh {
    fn read(mut table: Reader) -> Result<Mesh, DescriptionError> {
        let mesh = Mesh {
            columns: table.count("columns")?,
            rows: table.count("rows")?,
            hop_cycles: table.number("hop_cycles")?,
            flit_bytes: table.number("flit_bytes")?,
        };
        table.end()?;
        Ok(mesh)
    }
}

impl Memory {
    fn read(mut table: Reader) -> Result<Memory, DescriptionError> {
        let memory = Memory {
            controllers: table.count("controllers")?,
            latency_ns: table.numbers("latency_ns")?,
            bandwidth_mb_per_s: table.number("bandwidth_mb_per_s")?,
        };
        table.end()?;
        Ok(memory)
    }
}

impl Core {
    fn read(mut table: Reader) -> Result<Core, DescriptionError> {
        let core = Core {
            lines_in_flight: table.number("lines_in_flight")?,
            prefetches_in_flight: table.number("prefetches_in_flight")?,
            buffered_stores: table.number("buffered_stores")?,
            store_cycles: table.number("store_cycles")?,
            repeated_load_cycles: table.number("repeated_load_cycles")?,
            atomic_cycles: table.number("atomic_cycles")?,
            fence_cycles: table.number("fence_cycles")?,
            pause_cycles: table.number("pause_cycles")?,
            clock_cycles: table.number("clock_cycles")?,
            stall_percent: table.number("stall_percent")?,
            work_percent: table.number("work_percent")?,
            jitter_cycles: table.number("jitter_cycles")?,
        };
        table.end()?;
        Ok(core)
    }
}

impl Channels {
    fn read(mut table: Reader) -> Result<Channels, DescriptionError> {
        let channels = Channels {
            unix: table.optional_table("unix")?.map(Channel::read).transpose()?,
            tcp: table.optional_table("tcp")?.map(Channel::read).transpose()?,
            network: table.optional_table("network")?.map(Wire::read).transpose()?,
        };
        table.end()?;
        Ok(channels)
    }
}

impl Channel {
    fn read(mut table: Reader) -> Result<Channel, DescriptionError> {
        let channel = Channel::read_from(&mut table)?;
        table.end()?;
        Ok(channel)
    }

    fn read_from(table: &mut Reader) -> Result<Channel, DescriptionError> {
        Ok(Channel {
            send_ns: table.number("send_ns")?,
            receive_ns: table.number("receive_ns")?,
            poll_ns: table.number("poll_ns")?,
            latency_ns: table.number("latency_ns")?,
            copy_mb_per_s: table.number("copy_mb_per_s")?,
        })
    }
}

impl Wire {
    fn read(mut table: Reader) -> Result<Wire, DescriptionError> {
        let channel = Channel::read_from(&mut table)?;
        let bandwidth_mb_per_s = table.number("bandwidth_mb_per_s")?;
        table.end()?;
        Ok(Wire { channel, bandwidth_mb_per_s })
    }
}

impl Disk {
    fn read(mut table: Reader) -> Result<Disk, DescriptionError> {
        let disk = Disk {
            call_ns: table.number("call_ns")?,
            copy_mb_per_s: table.number("copy_mb_per_s")?,
            sync_us: table.number("sync_us")?,
            bandwidth_mb_per_s: table.number("bandwidth_mb_per_s")?,
        };
        table.end()?;
        Ok(disk)
    }
}

impl Contention {
    fn read(mut table: Reader) -> Result<Contention, DescriptionError> {
        let contention = Contention {
            read_interval_cycles: table.number("read_interval_cycles")?,
            transfer_percent: table.number("transfer_percent")?,
        };
        table.end()?;
        Ok(contention)
    }
}
