//! A machine's numbers, and the file that has them.

use super::channels;
use super::rounds::Measured;
use harness::Failure;
use machine::hardware::environment::Environment;
use machine::hardware::topology::Topology;
use machine::simulated::Description;
use machine::simulated::description::Channel;
use std::fmt::Write;

/// This machine's numbers, as its file has them.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    pub(super) cores: usize,
    pub(super) frequency_mhz: u64,
    pub(super) l1: Level,
    pub(super) l2: Level,
    pub(super) last_bytes: u64,
    pub(super) last_cycles: u64,
    pub(super) transfer_cycles: u64,
    pub(super) memory_ns: u64,
    pub(super) bandwidth_mb_per_s: u64,
    pub(super) lines_in_flight: u64,
    pub(super) atomic_cycles: u64,
    pub(super) pause_cycles: u64,
    pub(super) clock_cycles: u64,
    pub(super) stall_percent: u64,
    pub(super) work_percent: u64,
    /// By the names of their tables.
    pub(super) channels: Vec<(&'static str, Channel)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub(super) bytes: u64,
    pub(super) ways: u64,
    pub(super) cycles: u64,
}

/// What an attempt is held up by at most, as in the machine files: what one closed row of memory adds. It is not measured.
const JITTER_NS: u64 = 28;

/// The sizes of the caches, as the system tells them.
pub(super) struct Sizes {
    pub(super) l1_bytes: u64,
    pub(super) l2_bytes: u64,
    pub(super) last_bytes: u64,
}

impl Sizes {
    pub(super) fn of(environment: &Environment) -> Sizes {
        let data = |level| {
            let caches = environment.caches.iter();
            caches
                .filter(move |cache| cache.level == level && cache.kind != "Instruction")
                .max_by_key(|cache| cache.bytes)
        };
        let bytes = |level: u32, otherwise: u64| data(level).map_or(otherwise, |cache| cache.bytes);
        let l2_bytes = whole_sets(bytes(2, 1 << 20));
        // As much as the cores have of their own at least: the model's last level has what they have.
        let own = l2_bytes * Topology::of_this_machine().hardware_threads() as u64;
        Sizes { l1_bytes: whole_sets(bytes(1, 32 << 10)), l2_bytes, last_bytes: bytes(3, 2 * own).max(own) }
    }
}

impl Numbers {
    pub(super) fn of(measured: &Measured, environment: &Environment) -> Numbers {
        let whole =
            |name: &str, otherwise: f64| (measured.median(name).unwrap_or(otherwise).round() as u64).max(1);
        let sizes = Sizes::of(environment);
        let frequency_mhz = whole("frequency_mhz", 1000.0);
        let l1 = Level { bytes: sizes.l1_bytes, ways: WAYS, cycles: whole("l1_cycles", 4.0) };
        let l2_cycles = whole("l2_cycles", 14.0).max(l1.cycles + 1);
        let l2 = Level { bytes: sizes.l2_bytes, ways: WAYS, cycles: l2_cycles };
        let last_cycles = whole("last_cycles", 50.0).max(l2.cycles + 1);
        let last_level_ns = last_cycles * 1000 / frequency_mhz;
        Numbers {
            cores: Topology::of_this_machine().hardware_threads(),
            frequency_mhz,
            l1,
            l2,
            last_bytes: sizes.last_bytes,
            last_cycles,
            transfer_cycles: last_cycles,
            memory_ns: whole("memory_ns", 100.0).max(last_level_ns + 1),
            bandwidth_mb_per_s: whole("bandwidth_mb_per_s", 20_000.0),
            lines_in_flight: whole("lines_in_flight", 8.0).min(64),
            atomic_cycles: whole("atomic_cycles", 20.0),
            pause_cycles: whole("pause_cycles", 40.0),
            clock_cycles: whole("clock_cycles", 30.0),
            stall_percent: 100,
            work_percent: 100,
            channels: channels::of(measured),
        }
    }

    pub(super) fn text(&self, environment: &Environment) -> String {
        let Numbers { cores, frequency_mhz, l1, l2, last_bytes, last_cycles, transfer_cycles, .. } = self;
        let processor = environment.cpu_model.as_deref().unwrap_or("an unknown processor").replace('"', "'");
        let mut text = String::new();
        let mut line = |line: &str| {
            let _ = writeln!(text, "{line}");
        };
        line(
            "# The machine on which `trireme doctor --calibrate` wrote this. Measured, but for three numbers that were",
        );
        line(
            "# fitted: the transfers, on a line there and back between two threads; work_percent and stall_percent, on one",
        );
        line(
            "# worker of shared-everything no-wait over micro of 2,000 and 20,000 rows. One socket, whatever there is.",
        );
        line("");
        line("name = \"local\"");
        line(&format!("source = \"trireme doctor --calibrate, on {processor}\""));
        line(&format!("cores = {cores}\nfrequency_mhz = {frequency_mhz}\n"));
        line("[sockets]\ncount = 1\n");
        for (name, level) in [("l1", l1), ("l2", l2)] {
            line(&format!(
                "[caches.{name}]\nbytes = {}\nways = {}\nlatency_cycles = {}\n",
                level.bytes, level.ways, level.cycles
            ));
        }
        line(&format!("[caches.last]\nbytes = {last_bytes}\n\n[transfers]"));
        for (name, cycles) in [
            ("load_modified", transfer_cycles),
            ("load_exclusive", transfer_cycles),
            ("load_shared", last_cycles),
            ("store_modified", transfer_cycles),
            ("store_exclusive", transfer_cycles),
            ("store_shared", transfer_cycles),
        ] {
            line(&format!("{name}_cycles = [{cycles}]"));
        }
        line(&format!(
            "\n[memory]\ncontrollers = 1\nlatency_ns = [{}]\nbandwidth_mb_per_s = {}\n",
            self.memory_ns, self.bandwidth_mb_per_s
        ));
        let in_flight = self.lines_in_flight;
        line(&format!(
            "[core]\nlines_in_flight = {in_flight}\nprefetches_in_flight = {in_flight}\nbuffered_stores = 64\n\
             store_cycles = 1\nrepeated_load_cycles = 1\natomic_cycles = {}\nfence_cycles = {}\npause_cycles = {}\n\
             clock_cycles = {}\nstall_percent = {}\nwork_percent = {}\njitter_cycles = {}\n",
            self.atomic_cycles,
            self.atomic_cycles,
            self.pause_cycles,
            self.clock_cycles,
            self.stall_percent,
            self.work_percent,
            JITTER_NS * self.frequency_mhz / 1000
        ));
        line("[contention]\nread_interval_cycles = 1\ntransfer_percent = 100");
        text + &channels::text(&self.channels)
    }

    pub(super) fn description(&self, environment: &Environment) -> Result<Description, Failure> {
        Description::parse(&self.text(environment)).map_err(|error| Failure::Input {
            place: "this machine, as it was measured".to_owned(),
            what: error.to_string(),
        })
    }
}

/// As all levels of one processor family have, or nearly.
pub(super) const WAYS: u64 = 8;

/// The largest size not above `bytes` that is a power of two of sets.
pub(super) fn whole_sets(bytes: u64) -> u64 {
    let set_bytes = WAYS * Description::LINE_BYTES;
    (1 << (bytes / set_bytes).max(1).ilog2()) * set_bytes
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Of a machine with two cores.
    pub(in crate::calibrate) fn numbers() -> Numbers {
        Numbers {
            cores: 2,
            frequency_mhz: 3000,
            l1: Level { bytes: 32 << 10, ways: WAYS, cycles: 4 },
            l2: Level { bytes: 1 << 20, ways: WAYS, cycles: 14 },
            last_bytes: 32 << 20,
            last_cycles: 50,
            transfer_cycles: 50,
            memory_ns: 100,
            bandwidth_mb_per_s: 20_000,
            lines_in_flight: 16,
            atomic_cycles: 8,
            pause_cycles: 40,
            clock_cycles: 30,
            stall_percent: 100,
            work_percent: 100,
            channels: Vec::new(),
        }
    }

    #[test]
    fn what_is_written_is_a_machine() {
        let environment = Environment::of_this_machine();
        let description = numbers().description(&environment).expect("a machine");
        assert_eq!((description.cores, description.core.work_percent), (2, 100));
    }

    #[test]
    fn sets_are_powers_of_two() {
        assert_eq!(whole_sets(32 << 10), 32 << 10);
        assert_eq!(whole_sets(48 << 10), 32 << 10);
        assert_eq!(whole_sets(1), 512);
    }
}
