//! Polling: the core is not resumed for each of its looks, and nothing is different but that.

use super::{machine, panic_of};
use machine::simulated::atomic::{AtomicU64, Ordering, poll};
use machine::simulated::{Description, clock, cpu, simulate, statistics, trace_hash, worker};

/// Words that share a line.
#[repr(align(64))]
#[derive(Default)]
struct Line([AtomicU64; 8]);

/// A worker's words, one for each that sends to it.
struct Inbox {
    lines: Box<[Line]>,
    /// Where there are several in a line, most looks are of the line that the look before was of.
    words_a_line: usize,
}

impl Inbox {
    fn new(words: usize, words_a_line: usize) -> Inbox {
        let lines = (0..words.div_ceil(words_a_line)).map(|_| Line::default()).collect();
        Inbox { lines, words_a_line }
    }

    fn words(&self) -> usize {
        self.lines.len() * self.words_a_line
    }

    fn word(&self, from: usize) -> &AtomicU64 {
        &self.lines[from / self.words_a_line].0[from % self.words_a_line]
    }
}

/// How a worker finds the first of its words that is not zero: its position, and what it held.
type Look = fn(&Inbox) -> Option<(usize, u64)>;

fn by_polling(inbox: &Inbox) -> Option<(usize, u64)> {
    let words = inbox.words();
    (0..words).step_by(64).find_map(|first| {
        let mut bits = !0 >> (64 - (words - first).min(64));
        let found = poll(&mut bits, |number| inbox.word(first + number), |value| value != 0);
        found.map(|(number, value)| (first + number, value))
    })
}

fn one_by_one(inbox: &Inbox) -> Option<(usize, u64)> {
    (0..inbox.words()).find_map(|position| match inbox.word(position).load(Ordering::Acquire) {
        0 => None,
        value => Some((position, value)),
    })
}

/// Everybody sends to others, and takes what has come, until all has. All that tells two runs apart, and the switches between cores.
fn run(machine: &Description, inbox: (usize, usize), seed: u64, look: Look) -> (String, u64) {
    const MESSAGES: u64 = 40;
    let (workers, words_a_line) = inbox;
    simulate(machine, seed, || {
        let inboxes: Vec<Inbox> = (0..workers).map(|_| Inbox::new(workers, words_a_line)).collect();
        // Larger than a small machine's last level.
        let other: Vec<Line> = (0..1 << 12).map(|_| Line::default()).collect();
        let taken = Line::default();
        let taken = &taken.0[0];
        let ends = worker::run(workers, |me| {
            let mut draw = fastrand::Rng::with_seed(me as u64);
            let (mut sent, mut sum) = (0, 0);
            while sent < MESSAGES || taken.load(Ordering::Relaxed) < MESSAGES * workers as u64 {
                let to = inboxes[draw.usize(..workers)].word(me);
                if sent < MESSAGES && to.load(Ordering::Relaxed) == 0 {
                    to.store(draw.u64(1..1000), Ordering::Release);
                    sent += 1;
                }
                if draw.u8(..4) == 0 {
                    cpu::prefetch_read((&raw const inboxes[me].lines[0]).cast());
                }
                if draw.u8(..8) == 0 {
                    sum += other[draw.usize(..other.len())].0[0].load(Ordering::Relaxed);
                }
                while let Some((from, value)) = look(&inboxes[me]) {
                    inboxes[me].word(from).store(0, Ordering::Release);
                    cpu::work(value);
                    sum += value;
                    taken.fetch_add(1, Ordering::Relaxed);
                }
                cpu::pause();
            }
            (sum, clock::now().0)
        });
        let it = statistics();
        let counts = (it.events, it.repeated_loads, it.pauses, it.parks, it.lines);
        (format!("{:016x} {ends:?} {counts:?}", trace_hash()), it.switches)
    })
}

#[test]
fn it_is_as_if_each_look_were_a_load() {
    let large = machine("haswell-ex-4x18");
    // Lines leave its last level all the time.
    let mut small = large.clone();
    small.last.bytes = 64 << 10;
    for level in [&mut small.l1, small.l2.as_mut().expect("it has one")] {
        (level.bytes, level.ways) = (level.bytes / 16, 2);
    }
    let machines = [("large", large), ("small", small), ("mesh", machine("graphite-mesh-64"))];
    for (name, machine) in machines {
        for (workers, words_a_line) in [(3, 1), (3, 8), (64, 1), (64, 8)] {
            for seed in [1, 2] {
                let inbox = (workers, words_a_line);
                let (polled, switches) = run(&machine, inbox, seed, by_polling);
                let (loaded, most_switches) = run(&machine, inbox, seed, one_by_one);
                assert_eq!(
                    polled, loaded,
                    "{name}, {workers} workers, {words_a_line} words a line, seed {seed}"
                );
                if inbox == (64, 1) {
                    assert!(switches < most_switches, "{name}: {switches} of {most_switches} switches");
                }
            }
        }
    }
}

#[test]
fn who_sets_up_polls_too() {
    let (inbox, empty) = (Inbox::new(3, 8), Inbox::new(0, 8));
    inbox.word(2).store(7, Ordering::Relaxed);
    assert_eq!(by_polling(&inbox), Some((2, 7)));
    simulate(&machine("haswell-ex-4x18"), 1, || {
        assert_eq!(by_polling(&inbox), Some((2, 7)));
        assert_eq!(by_polling(&empty), None);
    });
}

/// The others are in the middle of looks when one panics, and those that never end are unwound there.
#[test]
fn a_panic_unwinds_those_that_poll() {
    let message = panic_of(|| {
        simulate(&machine("haswell-ex-4x18"), 1, || {
            let inbox = Inbox::new(16, 1);
            worker::run(8, |me| {
                if me == 3 {
                    cpu::work(100_000);
                    panic!("the fourth has had enough");
                }
                while by_polling(&inbox).is_none() {
                    cpu::work(1);
                }
            });
        });
    });
    assert!(message.contains("core 3: the fourth has had enough"), "{message}");
}

#[test]
fn who_names_the_words_touches_nothing_that_others_see() {
    let message = panic_of(|| {
        simulate(&machine("haswell-ex-4x18"), 1, || {
            let (inbox, other) = (Inbox::new(64, 1), Line::default());
            worker::run(4, |_| {
                let word = |number| {
                    other.0[0].load(Ordering::Relaxed);
                    inbox.word(number)
                };
                poll(&mut !0, word, |value| value != 0)
            });
        });
    });
    assert!(message.contains("a core runs that has not begun"), "{message}");
}
