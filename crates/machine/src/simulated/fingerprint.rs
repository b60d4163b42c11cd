//! What tells one model of caches and memory from another: what a fixed little program costs on two fixed machines.
//!
//! An error that was measured is the error of the model that was measured. So the model has a fingerprint, and it is one of
//! behaviour: comments, names and the order of the source do not move it, but another cost of any access does. The program
//! does whatever the engine does: loads, stores, read-modify-writes, copies of rows of all lengths, latches of all kinds,
//! prefetches, fences, frames of fibers that are taken over, waiting; on lines that one core uses and on lines that all want,
//! on more memory than the caches hold, on cores of two sockets and on a mesh. Hashed are the clocks of all cores on their
//! way and at the end, and what has happened to lines.
//!
//! The machines stand here and not in `machines/`, whose numbers may be mended without another model.

use super::atomic::{AtomicU64, Ordering, fence};
use super::latch::{Latch, TestAndSet, TestAndTestAndSet, Ticket};
use super::model::LineStatistics;
use super::region::Region;
use super::{Description, clock, cpu, payload, simulate, statistics, worker};
use std::fmt;

/// Two sockets, each number another one.
const SOCKETS: &str = r#"
name = "two sockets"
source = "none: a machine that tells models apart"
cores = 8
frequency_mhz = 2000

[sockets]
count = 2

[caches.l1]
bytes = 2048
ways = 2
latency_cycles = 4

[caches.l2]
bytes = 32768
ways = 4
latency_cycles = 13

[caches.last]
bytes = 262144

[transfers]
load_modified_cycles = [111, 283]
load_exclusive_cycles = [97, 241]
load_shared_cycles = [47, 203]
store_modified_cycles = [127, 307]
store_exclusive_cycles = [103, 263]
store_shared_cycles = [89, 229]

[memory]
controllers = 2
latency_ns = [131, 193]
bandwidth_mb_per_s = 12000

[core]
lines_in_flight = 3
prefetches_in_flight = 2
buffered_stores = 4
store_cycles = 2
repeated_load_cycles = 1
atomic_cycles = 19
fence_cycles = 31
pause_cycles = 11
clock_cycles = 23
stall_percent = 70
work_percent = 130
jitter_cycles = 12

[contention]
read_interval_cycles = 5
transfer_percent = 150
"#;

/// A mesh of four by four.
const MESH: &str = r#"
name = "a mesh"
source = "none: a machine that tells models apart"
cores = 16
frequency_mhz = 1000

[mesh]
columns = 4
rows = 4
hop_cycles = 3
flit_bytes = 8

[caches.l1]
bytes = 32768
ways = 4
latency_cycles = 1

[caches.last]
bytes = 32768
latency_cycles = 9

[memory]
controllers = 4
latency_ns = [101]
bandwidth_mb_per_s = 500

[core]
lines_in_flight = 1
prefetches_in_flight = 1
buffered_stores = 1
store_cycles = 1
repeated_load_cycles = 1
atomic_cycles = 3
fence_cycles = 2
pause_cycles = 2
clock_cycles = 1
stall_percent = 90
work_percent = 310
jitter_cycles = 0

[contention]
read_interval_cycles = 7
transfer_percent = 120
"#;

/// Steps of each core.
const STEPS: u64 = 600;
/// Between two looks at the clock that are hashed.
const LOOK_EVERY: u64 = 50;

/// Memory that all cores use: more than a last level has.
const REGION_BYTES: usize = 1 << 21;
/// The part of it that they want most.
const HOT_LINES: u64 = 8;
/// Frames of a fiber that comes.
const FRAMES_BYTES: usize = 512;

/// A hash of numbers: FNV-1a of 64 bits, which no version of a compiler changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Of nothing.
    pub const fn new() -> Fingerprint {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }

    /// With one number more.
    #[must_use]
    pub fn and(self, number: u64) -> Fingerprint {
        let byte = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Fingerprint(number.to_le_bytes().into_iter().fold(self.0, byte))
    }

    /// With several more.
    #[must_use]
    pub fn and_all(self, numbers: impl IntoIterator<Item = u64>) -> Fingerprint {
        numbers.into_iter().fold(self, Fingerprint::and)
    }
}

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        Fingerprint::new()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The model's, in some milliseconds.
///
/// Panics inside of a simulation or of an exploration.
pub fn of_model() -> Fingerprint {
    let machine = |text| Description::parse(text).expect("a machine");
    [machine(SOCKETS), machine(MESH)]
        .iter()
        .fold(Fingerprint::new(), |fingerprint, machine| fingerprint.and_all(behaviour(machine)))
}

/// The clocks of all cores, and what has happened to lines.
fn behaviour(machine: &Description) -> Vec<u64> {
    simulate(machine, 1, || {
        let region = Region::reserve(REGION_BYTES).expect("two megabytes");
        let latches = Latches::default();
        let base = region.base().expose_provenance();
        let clocks = worker::run(machine.cores, |core| Core::new(core as u64, base, &latches).run());
        let mut numbers: Vec<u64> = clocks.into_iter().flatten().collect();
        numbers.extend(of_lines(&statistics().lines));
        numbers
    })
}

/// The numbers one by one: a new count does not make a new model.
fn of_lines(lines: &LineStatistics) -> [u64; 13] {
    [
        lines.l1_hits,
        lines.l2_hits,
        lines.last_level_hits,
        lines.transfers_within,
        lines.transfers_across,
        lines.memory_reads,
        lines.write_backs,
        lines.upgrades,
        lines.taken,
        lines.invalidations,
        lines.prefetches,
        lines.line_queue_ps,
        lines.memory_queue_ps,
    ]
}

/// Each on a line of its own.
#[derive(Default)]
struct Latches {
    test_and_set: Apart<TestAndSet>,
    test_and_test_and_set: Apart<TestAndTestAndSet>,
    ticket: Apart<Ticket>,
}

#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

/// What one core does.
struct Core<'a> {
    number: u64,
    base: usize,
    latches: &'a Latches,
    drawn: u64,
}

impl<'a> Core<'a> {
    fn new(number: u64, base: usize, latches: &'a Latches) -> Core<'a> {
        Core { number, base, latches, drawn: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// Answers its clock on the way and at the end.
    fn run(mut self) -> Vec<u64> {
        let mut clocks = Vec::new();
        for step in 0..STEPS {
            self.step();
            if step % LOOK_EVERY == 0 {
                clocks.push(clock::now().0);
            }
        }
        clocks.push(clock::now().0);
        clocks
    }

    fn step(&mut self) {
        let (line, other) = (self.line(), self.line());
        match self.draw(16) {
            0 => _ = self.word(line).load(Ordering::Acquire),
            1 => self.word(line).store(self.number, Ordering::Relaxed),
            2 => self.word(line).store(self.number, Ordering::Release),
            3 => _ = self.word(line).fetch_add(1, Ordering::AcqRel),
            4 => {
                // Twice the same line, then another one.
                let _ = self.word(line).load(Ordering::Relaxed) + self.word(line).load(Ordering::Relaxed);
                let _ = self.word(other).load(Ordering::Relaxed);
            }
            5 | 6 => self.copy_out(line),
            7 | 8 => self.copy_in(line),
            9 => self.latched(&self.latches.test_and_set.0),
            10 => self.latched(&self.latches.test_and_test_and_set.0),
            11 => self.latched(&self.latches.ticket.0),
            12 => {
                let (read, write) = (self.at(line), self.at(other));
                cpu::prefetch_read(read);
                cpu::prefetch_write(write);
                cpu::work(self.draw(100));
                let _ = self.word(line).load(Ordering::Relaxed);
            }
            13 => {
                fence(Ordering::SeqCst);
                cpu::work(self.draw(300));
                cpu::jitter();
            }
            14 => cpu::take_over(self.at(line), FRAMES_BYTES),
            _ => {
                let end = clock::now().0 + self.draw(200);
                while clock::now().0 < end {
                    cpu::pause_until(clock::Ticks(end));
                }
            }
        }
    }

    fn latched(&self, latch: &impl Latch) {
        latch.lock();
        let shared = self.word(0);
        shared.store(shared.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        cpu::work(20);
        latch.unlock();
    }

    fn copy_out(&mut self, line: u64) {
        let mut row = [0; 1000];
        let bytes = 1 + self.draw(1000) as usize;
        // SAFETY: the line and as many after it are of the region, whose words all cores copy as racing ones.
        unsafe { payload::copy_out_racing(self.at(line), &mut row[..bytes]) }
    }

    fn copy_in(&mut self, line: u64) {
        let row = [self.number as u8; 1000];
        let bytes = 1 + self.draw(1000) as usize;
        // SAFETY: as above.
        unsafe { payload::copy_in_racing(self.at(line), &row[..bytes]) }
    }

    /// A line of the hot ones, of the core's own, or of all of which a row fits in behind.
    fn line(&mut self) -> u64 {
        const LINES: u64 = (REGION_BYTES / 64) as u64 - 16;
        match self.draw(4) {
            0 => self.draw(HOT_LINES),
            1 => HOT_LINES + 16 * self.number + self.draw(16),
            _ => self.draw(LINES),
        }
    }

    fn at(&self, line: u64) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.base + line as usize * 64)
    }

    fn word(&self, line: u64) -> &AtomicU64 {
        // SAFETY: an aligned word of the region, which outlives the cores, and which is accessed by atomics and racing copies.
        unsafe { &*self.at(line).cast::<AtomicU64>() }
    }

    /// Below `most`: a generator of our own, for another version of a library makes no other model.
    fn draw(&mut self, most: u64) -> u64 {
        self.drawn ^= self.drawn << 13;
        self.drawn ^= self.drawn >> 7;
        self.drawn ^= self.drawn << 17;
        (self.drawn >> 11) % most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The machines of a text in which one number is another one, with the line that is changed. Twice as much, or half of
    /// it where a machine has no more than its all; cores and what they are arranged in stay.
    fn changed(text: &str) -> Vec<(String, Description)> {
        let mut machines = Vec::new();
        for (position, line) in text.lines().enumerate() {
            let Some((name, value)) = line.split_once(" = ") else { continue };
            let list = value.starts_with('[');
            let Ok(numbers) =
                value.trim_matches(['[', ']']).split(", ").map(str::parse).collect::<Result<Vec<u64>, _>>()
            else {
                continue;
            };
            if ["cores", "count", "columns", "rows"].contains(&name) {
                continue;
            }
            for one in 0..numbers.len() {
                let mut numbers = numbers.clone();
                let halved = name.ends_with("percent") || name == "ways" || name == "controllers";
                numbers[one] = if halved { numbers[one] / 2 } else { (numbers[one] * 2).max(1) };
                let value = if list { format!("{numbers:?}") } else { numbers[0].to_string() };
                let changed = format!("{name} = {value}");
                let mut lines: Vec<&str> = text.lines().collect();
                lines[position] = &changed;
                if let Ok(machine) = Description::parse(&lines.join("\n")) {
                    machines.push((changed, machine));
                }
            }
        }
        machines
    }

    #[test]
    fn it_is_the_same_twice() {
        assert_eq!(of_model(), of_model());
        assert_eq!(Fingerprint::new().to_string(), "cbf29ce484222325");
        assert_ne!(Fingerprint::new().and(1).and(2), Fingerprint::new().and(2).and(1));
    }

    /// The program reaches everything that a machine file can say: no number of it is without effect, but for the ways of a
    /// first level before a second one, of which the model makes nothing.
    #[test]
    fn every_number_of_a_machine_moves_it() {
        for (text, at_least, without_effect) in [(SOCKETS, 33, &["ways = 1"][..]), (MESH, 20, &[])] {
            let before = behaviour(&Description::parse(text).expect("a machine"));
            let all = changed(text);
            assert!(all.len() >= at_least, "{} numbers were tried", all.len());
            let same = all.iter().filter(|(_, machine)| behaviour(machine) == before);
            assert_eq!(same.map(|(what, _)| what.as_str()).collect::<Vec<_>>(), without_effect);
        }
    }
}
