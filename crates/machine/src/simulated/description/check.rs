//! What makes a machine consistent, and one that the model can do.

use super::{
    Cache, Channels, Description, DescriptionError, Layout, MOST_CORES, MOST_SOCKETS, Mesh, Sockets,
};

type Checked = Result<(), DescriptionError>;

fn ensure(holds: bool, field: impl Into<String>, value: impl ToString, why: impl Into<String>) -> Checked {
    if holds {
        return Ok(());
    }
    Err(DescriptionError { field: field.into(), value: value.to_string(), why: why.into() })
}

/// Refuses what is inconsistent. Of a cluster it is told one of the machines, and how many there are.
pub(super) fn check(description: &Description) -> Checked {
    let cores = description.cores;
    ensure((1..=MOST_CORES).contains(&cores), "cores", cores, format!("is to be 1 to {MOST_CORES}"))?;
    let mhz = description.frequency_mhz;
    ensure((100..=10_000).contains(&mhz), "frequency_mhz", mhz, "is to be 100 to 10,000")?;
    caches(description)?;
    match &description.layout {
        Layout::Sockets(sockets) => check_sockets(description, sockets)?,
        Layout::Mesh(mesh) => check_mesh(description, mesh)?,
    }
    memory(description)?;
    channels(description)?;
    cluster(description)?;
    disk(description)?;
    core(description)
}

fn cluster(description: &Description) -> Checked {
    let (machines, sockets) = (description.machines, description.sockets());
    ensure(machines >= 1, "machines", machines, "is to be 1 or more")?;
    let is_mesh = matches!(description.layout, Layout::Mesh(_));
    ensure(machines == 1 || !is_mesh, "machines", machines, "is to be 1 on a mesh")?;
    let Some(wire) = description.channels.network else {
        return ensure(
            machines == 1,
            "channels.network",
            "",
            "is missing: machines have a network between them",
        );
    };
    ensure(machines > 1, "channels.network", "", "is there without `machines`, two or more")?;
    ensure(description.disk.is_none(), "disk", "", "is not to be there: a cluster's machines have none yet")?;
    let most = (MOST_SOCKETS / sockets).min(MOST_CORES / description.cores);
    let why = format!("is to be 1 to {most}: {MOST_SOCKETS} sockets and {MOST_CORES} cores together");
    ensure(machines <= most, "machines", machines, why)?;
    let bandwidth = wire.bandwidth_mb_per_s;
    let why = "is to be 1 to 1000000";
    ensure((1..=1_000_000).contains(&bandwidth), "channels.network.bandwidth_mb_per_s", bandwidth, why)
}

fn channels(description: &Description) -> Checked {
    let most = 1_000_000;
    let Channels { unix, tcp, network } = description.channels;
    let network = network.map(|wire| wire.channel);
    for (name, channel) in [("unix", unix), ("tcp", tcp), ("network", network)] {
        let Some(channel) = channel else { continue };
        for (field, value) in [
            ("send_ns", channel.send_ns),
            ("receive_ns", channel.receive_ns),
            // Who polls for ever is to see time pass.
            ("poll_ns", channel.poll_ns),
            ("latency_ns", channel.latency_ns),
            ("copy_mb_per_s", channel.copy_mb_per_s),
        ] {
            let field = format!("channels.{name}.{field}");
            ensure((1..=most).contains(&value), field, value, format!("is to be 1 to {most}"))?;
        }
    }
    Ok(())
}

fn disk(description: &Description) -> Checked {
    let Some(disk) = description.disk else { return Ok(()) };
    let most = 1_000_000;
    for (name, value) in [
        ("call_ns", disk.call_ns),
        ("copy_mb_per_s", disk.copy_mb_per_s),
        ("sync_us", disk.sync_us),
        ("bandwidth_mb_per_s", disk.bandwidth_mb_per_s),
    ] {
        ensure((1..=most).contains(&value), format!("disk.{name}"), value, format!("is to be 1 to {most}"))?;
    }
    Ok(())
}

fn caches(description: &Description) -> Checked {
    let private = |name: &str, cache: &Cache| {
        let field = |field: &str| format!("caches.{name}.{field}");
        ensure((1..=64).contains(&cache.ways), field("ways"), cache.ways, "is to be 1 to 64")?;
        let set_bytes = cache.ways * Description::LINE_BYTES;
        let sets = cache.bytes / set_bytes;
        let whole = sets.is_power_of_two() && sets * set_bytes == cache.bytes && sets <= 1 << 16;
        let why = format!("is to be a power of two of sets, {set_bytes} bytes each, at most 65,536");
        ensure(whole, field("bytes"), cache.bytes, why)?;
        ensure(cache.latency_cycles >= 1, field("latency_cycles"), 0, "takes no time")
    };
    private("l1", &description.l1)?;
    if let Some(l2) = &description.l2 {
        private("l2", l2)?;
        let (larger, slower) =
            (l2.bytes > description.l1.bytes, l2.latency_cycles > description.l1.latency_cycles);
        ensure(larger, "caches.l2.bytes", l2.bytes, "is not larger than the first level")?;
        ensure(slower, "caches.l2.latency_cycles", l2.latency_cycles, "is not slower than the first level")?;
    }
    // The last level is inclusive: it has what its cores have.
    let (last, private) = (&description.last, description.private());
    let (sharing, field) = match &description.layout {
        Layout::Sockets(sockets) => {
            (description.cores / sockets.count.max(1), "transfers.load_shared_cycles")
        }
        Layout::Mesh(_) => (1, "caches.last.latency_cycles"),
    };
    let least = private.bytes * sharing as u64;
    let why = format!("is smaller than the private caches of its cores, {least} bytes together");
    ensure(last.bytes >= least, "caches.last.bytes", last.bytes, why)?;
    let lines = last.bytes / Description::LINE_BYTES;
    let whole = lines * Description::LINE_BYTES == last.bytes && lines >= 64;
    ensure(whole, "caches.last.bytes", last.bytes, "is to be a whole number of lines, at least 64")?;
    let slower = last.latency_cycles > private.latency_cycles;
    ensure(slower, field, last.latency_cycles, "is not slower than the private caches")
}

fn check_sockets(description: &Description, sockets: &Sockets) -> Checked {
    let (count, cores) = (sockets.count, description.cores);
    let why = format!("is to be 1 to {MOST_SOCKETS}");
    ensure((1..=MOST_SOCKETS).contains(&count), "sockets.count", count, why)?;
    let why = format!("is no multiple of the {count} sockets");
    ensure(cores.is_multiple_of(count), "cores", cores, why)?;
    let (distances, last) = (sockets.diameter() + 1, description.last.latency_cycles);
    for (name, row) in sockets.transfers.rows() {
        let field = format!("transfers.{name}");
        let shown = format!("{row:?}");
        let why = format!("is to have a number for each of 0 to {} hops", distances - 1);
        ensure(row.len() == distances, &*field, &shown, why)?;
        ensure(row.is_sorted(), &*field, &shown, "falls with distance")?;
        ensure(row[0] >= last, &*field, &shown, "is faster than the last level's own latency")?;
    }
    let memory = &description.memory.latency_ns;
    let why = format!("is to have a number for each of 0 to {} hops", distances - 1);
    ensure(memory.len() == distances, "memory.latency_ns", format!("{memory:?}"), why)
}

fn check_mesh(description: &Description, mesh: &Mesh) -> Checked {
    let (tiles, cores) = (mesh.columns.saturating_mul(mesh.rows), description.cores);
    let why = format!("is not the number of tiles, {} times {}", mesh.columns, mesh.rows);
    ensure(tiles == cores, "cores", cores, why)?;
    ensure(mesh.hop_cycles >= 1, "mesh.hop_cycles", mesh.hop_cycles, "takes no time")?;
    let flits = (1..=Description::LINE_BYTES).contains(&mesh.flit_bytes);
    ensure(flits, "mesh.flit_bytes", mesh.flit_bytes, "is to be 1 to 64")?;
    let memory = &description.memory.latency_ns;
    ensure(memory.len() == 1, "memory.latency_ns", format!("{memory:?}"), "is to be one number on a mesh")
}

fn memory(description: &Description) -> Checked {
    let memory = &description.memory;
    let shown = format!("{:?}", memory.latency_ns);
    ensure(memory.latency_ns.is_sorted(), "memory.latency_ns", &shown, "falls with distance")?;
    let last_ns = description.last.latency_cycles * 1000 / description.frequency_mhz;
    let why = "is not slower than the last level";
    ensure(memory.latency_ns[0] > last_ns, "memory.latency_ns", &shown, why)?;
    let (controllers, sockets) = (memory.controllers, description.sockets());
    let every = controllers >= 1 && controllers.is_multiple_of(sockets) && controllers <= description.cores;
    let why = format!("is to be a multiple of the {sockets} sockets, and at most one a core");
    ensure(every, "memory.controllers", controllers, why)?;
    let megabytes = memory.bandwidth_mb_per_s;
    ensure(
        (1..=10_000_000).contains(&megabytes),
        "memory.bandwidth_mb_per_s",
        megabytes,
        "is to be 1 to 10^7",
    )
}

fn core(description: &Description) -> Checked {
    let core = &description.core;
    for (field, value, allowed) in [
        ("lines_in_flight", core.lines_in_flight, 1..=64),
        ("prefetches_in_flight", core.prefetches_in_flight, 0..=64),
        ("buffered_stores", core.buffered_stores, 0..=128),
        ("store_cycles", core.store_cycles, 1..=1000),
        ("repeated_load_cycles", core.repeated_load_cycles, 1..=1000),
        ("atomic_cycles", core.atomic_cycles, 1..=1000),
        ("fence_cycles", core.fence_cycles, 0..=1000),
        // Who waits without time passing would wait for ever.
        ("pause_cycles", core.pause_cycles, 1..=10_000),
        ("clock_cycles", core.clock_cycles, 1..=10_000),
        ("stall_percent", core.stall_percent, 1..=100),
        ("work_percent", core.work_percent, 0..=10_000),
        ("jitter_cycles", core.jitter_cycles, 0..=10_000),
    ] {
        let why = format!("is to be {} to {}", allowed.start(), allowed.end());
        ensure(allowed.contains(&value), format!("core.{field}"), value, why)?;
    }
    let contention = &description.contention;
    let (interval, percent) = (contention.read_interval_cycles, contention.transfer_percent);
    ensure(interval <= 1000, "contention.read_interval_cycles", interval, "is to be at most 1000")?;
    let why = "is to be 100 to 1000";
    ensure((100..=1000).contains(&percent), "contention.transfer_percent", percent, why)
}
