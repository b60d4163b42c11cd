//! Polling: the core is not resumed for each of its looks, and nothing is different but that.

use super::{machine, panic_of};
use machine::simulated::atomic::{AtomicU64, Ordering, poll};
use machine::simulated::{clock, cpu, simulate, statistics, trace_hash, worker};

/// Words that share a line.
#[repr(align(64))]
#[derive(Default)]
struct Line([AtomicU64; 8]);

/// A worker's words, one for each that sends to it: most looks are of the line that the look before was of.
struct Inbox(Box<[Line]>);

impl Inbox {
    fn new(workers: usize) -> Inbox {
        Inbox((0..workers.div_ceil(8)).map(|_| Line::default()).collect())
    }

    fn word(&self, from: usize) -> &AtomicU64 {
        &self.0[from / 8].0[from % 8]
    }

    fn get(&self, from: usize) -> Option<&AtomicU64> {
        self.0.get(from / 8).map(|line| &line.0[from % 8])
    }
}

/// How a worker finds the first of its words that is not zero: its position, and what it held.
type Look = fn(&Inbox) -> Option<(usize, u64)>;

fn by_polling(inbox: &Inbox) -> Option<(usize, u64)> {
    let mut looked = 0;
    let next = || {
        looked += 1;
        inbox.get(looked - 1)
    };
    let value = poll(next, |value| value != 0)?;
    Some((looked - 1, value))
}

fn one_by_one(inbox: &Inbox) -> Option<(usize, u64)> {
    let mut words = inbox.0.iter().flat_map(|line| &line.0).enumerate();
    words.find_map(|(position, word)| match word.load(Ordering::Acquire) {
        0 => None,
        value => Some((position, value)),
    })
}

/// Everybody sends to others, and takes what has come, until all has. All that tells two runs apart.
fn run(name: &str, workers: usize, seed: u64, look: Look) -> String {
    const MESSAGES: u64 = 40;
    simulate(&machine(name), seed, || {
        let inboxes: Vec<Inbox> = (0..workers).map(|_| Inbox::new(workers)).collect();
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
                    cpu::prefetch_read((&raw const inboxes[me].0[0]).cast());
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
        let counts = (it.events, it.repeated_loads, it.switches, it.pauses, it.parks, it.lines);
        format!("{:016x} {ends:?} {counts:?}", trace_hash())
    })
}

#[test]
fn it_is_as_if_each_look_were_a_load() {
    for (name, workers) in [("haswell-ex-4x18", 72), ("graphite-mesh-64", 64), ("haswell-ex-4x18", 3)] {
        for seed in [1, 2] {
            let polled = run(name, workers, seed, by_polling);
            assert_eq!(
                polled,
                run(name, workers, seed, one_by_one),
                "{name}, {workers} workers, seed {seed}"
            );
        }
    }
}

#[test]
fn who_sets_up_polls_too() {
    let (inbox, empty) = (Inbox::new(3), Inbox::new(0));
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
            let inbox = Inbox::new(16);
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
            let (inbox, other) = (Inbox::new(64), Line::default());
            worker::run(4, |_| {
                let mut looked = 0;
                let next = || {
                    looked += 1;
                    other.0[0].load(Ordering::Relaxed);
                    inbox.get(looked - 1)
                };
                poll(next, |value| value != 0)
            });
        });
    });
    assert!(message.contains("a core runs that has not begun"), "{message}");
}
