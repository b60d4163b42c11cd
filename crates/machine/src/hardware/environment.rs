//! What a result must say of the machine that it comes from.

use super::counters::{self, Refusal};
use super::memory::{available_bytes_under, kib_field};
use super::topology::{Cache, Topology};
use serde::{Serialize, Serializer};
use std::fs;
use std::path::Path;

/// The machine, its system, and the settings that move measurements. `None` where the system does not tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Environment {
    /// The processor's name for itself.
    pub cpu_model: Option<String>,
    /// Architecture that the binary was built for.
    pub cpu_architecture: &'static str,
    /// Sockets with usable processors.
    pub sockets: usize,
    /// Cores with usable processors.
    pub cores: usize,
    /// Usable processors.
    pub hardware_threads: usize,
    /// Caches of the first usable processor.
    pub caches: Vec<Cache>,
    /// All memory.
    pub memory_bytes: Option<u64>,
    /// Memory that can be taken now.
    pub memory_available_bytes: Option<u64>,
    /// Name of the system.
    pub system: String,
    /// Release of its kernel.
    pub kernel: String,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// Whether simultaneous multithreading is on: `on`, `off`, `notsupported`, ...
    pub smt: Option<String>,
    /// Whether cores may clock higher while others rest.
    pub turbo: Option<bool>,
    /// When memory gets huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// Whether the clock's counter ticks at one rate in all states: `constant_tsc` and `nonstop_tsc`.
    pub tsc_invariant: Option<bool>,
    /// Why the system gives no counters of the processor's ([`super::counters`]); `None`: it gives them. Written in words.
    #[serde(rename = "hardware_counters", serialize_with = "in_words")]
    pub counters_refusal: Option<Refusal>,
    /// Whether the machine is a virtual one.
    pub hypervisor: Option<bool>,
}

impl Environment {
    /// This machine's.
    pub fn of_this_machine() -> Environment {
        Environment::read(Path::new("/"), Topology::of_this_machine())
    }

    /// With the files of the system under `root`.
    pub fn read(root: &Path, topology: &Topology) -> Environment {
        let text = |file: &str| fs::read_to_string(root.join(file)).ok();
        let setting = |file: &str| text(file).map(|text| text.trim().to_owned());
        let cpuinfo = text("proc/cpuinfo").unwrap_or_default();
        let flags = cpuinfo_field(&cpuinfo, "flags");
        let flag = |name: &str| Some(flags?.split(' ').any(|flag| flag == name));
        let first_cpu = topology.fill_order.first().map_or(0, |thread| thread.cpu);
        let cpus = "sys/devices/system/cpu";
        Environment {
            cpu_model: cpuinfo_field(&cpuinfo, "model name").map(str::to_owned),
            cpu_architecture: std::env::consts::ARCH,
            sockets: topology.sockets(),
            cores: topology.cores(),
            hardware_threads: topology.hardware_threads(),
            caches: topology.caches.clone(),
            memory_bytes: text("proc/meminfo").and_then(|meminfo| kib_field(&meminfo, "MemTotal:")),
            memory_available_bytes: available_bytes_under(root),
            system: rustix::system::uname().sysname().to_string_lossy().into_owned(),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            governor: setting(&format!("{cpus}/cpu{first_cpu}/cpufreq/scaling_governor")),
            smt: setting(&format!("{cpus}/smt/control")),
            turbo: turbo(
                setting(&format!("{cpus}/intel_pstate/no_turbo")),
                setting(&format!("{cpus}/cpufreq/boost")),
            ),
            transparent_huge_pages: text("sys/kernel/mm/transparent_hugepage/enabled")
                .as_deref()
                .and_then(chosen)
                .map(str::to_owned),
            tsc_invariant: flag("constant_tsc")
                .zip(flag("nonstop_tsc"))
                .map(|(constant, nonstop)| constant && nonstop),
            hypervisor: flag("hypervisor"),
            counters_refusal: counters::refusal(),
        }
    }
}

fn in_words<S: Serializer>(refusal: &Option<Refusal>, serializer: S) -> Result<S::Ok, S::Error> {
    match refusal {
        None => serializer.serialize_str("given"),
        Some(refusal) => serializer.collect_str(&format_args!("not given: {refusal}")),
    }
}

/// The first processor's field of `/proc/cpuinfo`: `model name : AMD EPYC`.
fn cpuinfo_field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (field, value) = line.split_once(':')?;
        (field.trim() == name).then(|| value.trim())
    })
}

/// From the two files in which drivers tell of it, of which at most one exists.
fn turbo(no_turbo: Option<String>, boost: Option<String>) -> Option<bool> {
    no_turbo.map(|no| no == "0").or(boost.map(|boost| boost == "1"))
}

/// The chosen one of a setting in the notation `always [madvise] never`.
fn chosen(setting: &str) -> Option<&str> {
    setting.split_once('[')?.1.split_once(']').map(|(chosen, _)| chosen)
}
