//! What this machine costs: the few numbers that decide how an engine behaves on it.
//!
//! They are measured by turns: a [`Bench`] measures each once in a round, in some hundred milliseconds, and a caller with more
//! to measure does it in the same rounds, so that what is compared was measured on the machine as it was then. Within a
//! round each number is the median over batches, so that a batch in which the system ran something else does not count.

use super::affinity::pin_to;
use super::clock::{self, nanoseconds, now};
use super::region::{HUGE_PAGE_BYTES, Region};
use super::rounds::Fact;
use super::topology::{HardwareThread, Topology};
use super::{cpu, memory};
use serde::Serialize;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const LINE_BYTES: usize = 64;

/// The machine in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineFacts {
    /// Rate of the counter behind `clock::now`.
    pub clock_ticks_per_second: f64,
    /// Cost of one `clock::now`.
    pub clock_read_ns: Fact,
    /// Cost of one `cpu::pause`.
    pub pause_ns: Fact,
    /// Cost of an atomic read-modify-write of a line that no other core wants, each depending on the last.
    pub read_modify_write_ns: Fact,
    /// Reading memory that no cache holds; `None` if there is no memory for it.
    pub random_read: Option<RandomRead>,
    /// One line sent to another hardware thread and back, for each distance that the machine has.
    pub line_round_trips: Vec<LineRoundTrip>,
    /// Copying memory that no cache holds, in bytes copied, on one core; `None` if there is no memory for it.
    pub copy_bytes_per_second: Option<Fact>,
}

/// Reads of random lines.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RandomRead {
    /// Size of the memory that is read.
    pub bytes: u64,
    /// How much of it huge pages backed.
    pub huge_pages_bytes: Option<u64>,
    /// Cost of a read whose address the read before it brought.
    pub dependent_ns: Fact,
    /// Cost of a read when [`RandomRead::CHAINS`] such chains are read at once.
    pub overlapped_ns: Fact,
}

/// How far two hardware threads are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distance {
    /// Siblings of one core.
    SameCore,
    /// Cores of one socket.
    SameSocket,
    /// Cores of two sockets.
    OtherSocket,
}

/// A line that is handed back and forth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LineRoundTrip {
    /// Between which hardware threads.
    pub distance: Distance,
    /// There and back.
    pub ns: Fact,
}

/// Each number once.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// As [`MachineFacts::clock_read_ns`].
    pub clock_read_ns: f64,
    /// As [`MachineFacts::pause_ns`].
    pub pause_ns: f64,
    /// As [`MachineFacts::read_modify_write_ns`].
    pub read_modify_write_ns: f64,
    /// As [`RandomRead::dependent_ns`] and [`RandomRead::overlapped_ns`].
    pub random_read_ns: Option<(f64, f64)>,
    /// As [`MachineFacts::line_round_trips`].
    pub line_round_trips_ns: Vec<(Distance, f64)>,
    /// As [`MachineFacts::copy_bytes_per_second`].
    pub copy_bytes_per_second: Option<f64>,
}

/// The memory that is read and copied, ready for any number of rounds.
pub struct Bench {
    read: Option<Chains>,
    copied: Option<(Region, Region)>,
    distances: Vec<(Distance, HardwareThread, HardwareThread)>,
}

impl Bench {
    /// Of half a gigabyte to read and a quarter to copy, or if `quick` of less; and of half of what is available at most.
    pub fn new(quick: bool) -> Bench {
        clock::calibrate();
        let (read_bytes, copy_bytes) = if quick { (128 << 20, 32 << 20) } else { (512 << 20, 128 << 20) };
        Bench {
            read: Chains::of(read_bytes),
            copied: two_regions(copy_bytes),
            distances: distances(Topology::of_this_machine()),
        }
    }

    /// Measures each number once.
    pub fn round(&mut self) -> Round {
        let there_and_back = |&(distance, one, other)| (distance, line_round_trip_ns(one, other));
        Round {
            clock_read_ns: clock_read_ns(),
            pause_ns: pause_ns(),
            read_modify_write_ns: read_modify_write_ns(),
            random_read_ns: self.read.as_mut().map(Chains::read_ns),
            copy_bytes_per_second: self.copied.as_ref().map(|(from, to)| copy_bytes_per_second(from, to)),
            // Last, for what follows in the round is compared with it.
            line_round_trips_ns: self.distances.iter().map(there_and_back).collect(),
        }
    }

    /// What a line takes there and back between the first two workers in a round; `None` if there is one core.
    pub fn between_the_first_two(&self, round: &Round) -> Option<f64> {
        let second = Topology::of_this_machine().fill_order.get(1)?;
        let place = self.distances.iter().position(|(_, _, other)| other == second)?;
        Some(round.line_round_trips_ns[place].1)
    }

    /// What `rounds` say together.
    ///
    /// Panics if there are none.
    pub fn facts(&self, rounds: &[Round]) -> MachineFacts {
        let of = |number: fn(&Round) -> f64| Fact::of(rounds.iter().map(number)).expect("a round");
        let some = |number: fn(&Round) -> Option<f64>| Fact::of(rounds.iter().filter_map(number));
        let dependent = some(|round| Some(round.random_read_ns?.0));
        let overlapped = some(|round| Some(round.random_read_ns?.1));
        let memory = self.read.as_ref().map(|chains| &chains.region);
        let trip = |(place, &(distance, _, _)): (usize, &(Distance, HardwareThread, HardwareThread))| {
            let ns =
                Fact::of(rounds.iter().map(|round| round.line_round_trips_ns[place].1)).expect("a round");
            LineRoundTrip { distance, ns }
        };
        MachineFacts {
            clock_ticks_per_second: clock::ticks_per_second(),
            clock_read_ns: of(|round| round.clock_read_ns),
            pause_ns: of(|round| round.pause_ns),
            read_modify_write_ns: of(|round| round.read_modify_write_ns),
            random_read: memory.zip(dependent.zip(overlapped)).map(
                |(region, (dependent_ns, overlapped_ns))| RandomRead {
                    bytes: region.len() as u64,
                    huge_pages_bytes: memory::huge_pages_bytes_of(region),
                    dependent_ns,
                    overlapped_ns,
                },
            ),
            line_round_trips: self.distances.iter().enumerate().map(trip).collect(),
            copy_bytes_per_second: some(|round| round.copy_bytes_per_second),
        }
    }
}

/// Cost of one `clock::now`.
pub fn clock_read_ns() -> f64 {
    median_ns(50, 1_000, || {
        black_box(now());
    })
}

/// Cost of one `cpu::pause`.
pub fn pause_ns() -> f64 {
    median_ns(50, 1_000, cpu::pause)
}

/// Cost of an uncontended atomic read-modify-write.
pub fn read_modify_write_ns() -> f64 {
    let word = AtomicU64::new(0);
    median_ns(50, 1_000, || {
        black_box(&word).fetch_add(1, Ordering::Relaxed);
    })
}

impl RandomRead {
    /// Reads on their way at once in [`RandomRead::overlapped_ns`].
    pub const CHAINS: usize = 16;
}

/// Chains of reads through random lines of a region.
struct Chains {
    region: Region,
    lines: usize,
    places: [u64; RandomRead::CHAINS],
}

impl Chains {
    /// Through `bytes` bytes of memory, rounded down to a power of two and to half of what is available.
    fn of(bytes: usize) -> Option<Chains> {
        let lines = 1 << (affordable(bytes)? / LINE_BYTES).ilog2();
        let region = Region::reserve(lines * LINE_BYTES).ok()?;
        region.fault_in(0..region.len());
        let ring = Ring::over(&region, lines);
        ring.tie();
        let places = std::array::from_fn(|n| ring.line_at((n * lines / RandomRead::CHAINS) as u64));
        Some(Chains { region, lines, places })
    }

    /// Cost of a read after the other, and of one of as many as there are chains.
    fn read_ns(&mut self) -> (f64, f64) {
        const STEPS: u32 = 2_000;
        let (ring, places) = (Ring::over(&self.region, self.lines), &mut self.places);
        let dependent_ns = median_ns(50, STEPS, || places[0] = ring.after(places[0]));
        let overlapped_ns = median_ns(50, STEPS, || {
            for place in &mut *places {
                *place = ring.after(*place);
            }
        });
        black_box(places);
        (dependent_ns, overlapped_ns / RandomRead::CHAINS as f64)
    }
}

/// Cost of a read of a random line of `bytes` bytes after another, rounded as for [`RandomRead`]; `None` if there is no
/// memory for it.
pub fn random_read_ns(bytes: usize) -> Option<f64> {
    Chains::of(bytes).map(|mut chains| chains.read_ns().0)
}

/// All lines of a region in one random cycle: each holds the number of the next.
struct Ring<'a> {
    words: &'a [AtomicU64],
    lines: u64,
}

impl<'a> Ring<'a> {
    const WORDS_PER_LINE: usize = LINE_BYTES / size_of::<u64>();

    /// `lines` is a power of two, of at least 4.
    fn over(region: &'a Region, lines: usize) -> Self {
        assert!(lines.is_power_of_two() && lines >= 4 && lines * LINE_BYTES <= region.len());
        // SAFETY: the region's memory, aligned, zeroed and live for 'a; atomics may be shared.
        let words = unsafe { std::slice::from_raw_parts(region.base().cast(), lines * Self::WORDS_PER_LINE) };
        Ring { words, lines: lines as u64 }
    }

    /// Writes into each line which one is next.
    fn tie(&self) {
        for n in 0..self.lines {
            let next = self.line_at((n + 1) % self.lines);
            self.word(self.line_at(n)).store(next, Ordering::Relaxed);
        }
    }

    /// The `n`th line of the cycle: each step is a bijection of the numbers below a power of two.
    fn line_at(&self, n: u64) -> u64 {
        let half = self.lines.ilog2() / 2;
        let mask = self.lines - 1;
        let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
        let mixed = (mixed ^ (mixed >> half)).wrapping_mul(0xd6e8_feb8_6659_fd93) & mask;
        mixed ^ (mixed >> half)
    }

    fn word(&self, line: u64) -> &AtomicU64 {
        &self.words[line as usize * Self::WORDS_PER_LINE]
    }

    #[inline]
    fn after(&self, line: u64) -> u64 {
        self.word(line).load(Ordering::Relaxed)
    }
}

/// The distances that a machine has, with two hardware threads at each.
fn distances(topology: &Topology) -> Vec<(Distance, HardwareThread, HardwareThread)> {
    let Some((&one, others)) = topology.fill_order.split_first() else { return Vec::new() };
    let distance_to = |other: &HardwareThread| match (one.socket == other.socket, one.core == other.core) {
        (true, true) => Distance::SameCore,
        (true, false) => Distance::SameSocket,
        (false, _) => Distance::OtherSocket,
    };
    let wanted = [Distance::SameCore, Distance::SameSocket, Distance::OtherSocket];
    let nearest = |distance| others.iter().find(|other| distance_to(other) == distance);
    wanted.into_iter().filter_map(|distance| Some((distance, one, *nearest(distance)?))).collect()
}

/// The time in which a line goes from one hardware thread to another and back.
pub fn line_round_trip_ns(one: HardwareThread, other: HardwareThread) -> f64 {
    #[repr(align(128))]
    struct Line(AtomicU64);
    const STOP: u64 = u64::MAX;
    let ball = Line(AtomicU64::new(0));
    // Acquire and Release in both pair with each other: what is measured is a message.
    let wait_for = |expected: &dyn Fn(u64) -> bool| {
        let mut tries = 0u32;
        loop {
            let seen = ball.0.load(Ordering::Acquire);
            if expected(seen) {
                return seen;
            }
            tries += 1;
            // Without `pause`, which takes as long as the line; but the other thread may not be running.
            if tries.is_multiple_of(10_000) {
                thread::yield_now();
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            pin_to(other.cpu);
            // Odd numbers come, even ones go back.
            loop {
                let came = wait_for(&|seen| seen % 2 == 1);
                if came == STOP {
                    return;
                }
                ball.0.store(came + 1, Ordering::Release);
            }
        });
        let measured = scope.spawn(|| {
            pin_to(one.cpu);
            let mut sent = 0;
            let median = median_ns(100, 200, || {
                ball.0.store(sent + 1, Ordering::Release);
                sent += 2;
                wait_for(&|seen| seen == sent);
            });
            ball.0.store(STOP, Ordering::Release);
            median
        });
        measured.join().expect("measuring does not panic")
    })
}

/// Two regions of `bytes` bytes, or of as much as there is memory for.
fn two_regions(bytes: usize) -> Option<(Region, Region)> {
    let bytes = affordable(2 * bytes)? / 2;
    let (from, to) = (Region::reserve(bytes).ok()?, Region::reserve(bytes).ok()?);
    from.fault_in(0..bytes);
    to.fault_in(0..bytes);
    Some((from, to))
}

/// Bytes copied in a second from one region to another one of its size, on one core.
fn copy_bytes_per_second(from: &Region, to: &Region) -> f64 {
    let bytes = from.len().min(to.len());
    let ns = median_ns(3, 1, || {
        // SAFETY: two mappings of `bytes` bytes each, which nobody else knows of.
        unsafe { std::ptr::copy_nonoverlapping(from.base(), black_box(to.base()), bytes) }
    });
    bytes as f64 / ns * 1e9
}

/// `bytes`, or half of what is available if that is less; `None` if that is too little to tell anything.
fn affordable(bytes: usize) -> Option<usize> {
    let available = usize::try_from(memory::available_bytes() / 2).unwrap_or(usize::MAX);
    Some(bytes.min(available)).filter(|&bytes| bytes >= HUGE_PAGE_BYTES)
}

/// Nanoseconds of one `f`: the median over `batches` of `times` each, or over as many as half a second
/// allows.
fn median_ns(batches: usize, times: u32, mut f: impl FnMut()) -> f64 {
    let limit = clock::ticks_of(std::time::Duration::from_millis(500));
    let begun = now();
    let mut ns = Vec::with_capacity(batches);
    while ns.len() < batches && (ns.is_empty() || now().since(begun) < limit) {
        let start = now();
        for _ in 0..times {
            f();
        }
        ns.push(nanoseconds(now().since(start)) as f64 / f64::from(times));
    }
    ns.sort_by(f64::total_cmp);
    ns[ns.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES, Region, Ring};

    #[test]
    fn the_ring_visits_every_line_once() {
        for lines in [4, 64, 4096, 1 << 15] {
            let region = Region::reserve(lines * LINE_BYTES).expect("a few pages");
            let ring = Ring::over(&region, lines);
            ring.tie();
            let (mut line, mut seen) = (0, vec![false; lines]);
            for _ in 0..lines {
                assert!(!std::mem::replace(&mut seen[line as usize], true));
                line = ring.after(line);
            }
            assert_eq!(line, 0);
        }
    }
}
