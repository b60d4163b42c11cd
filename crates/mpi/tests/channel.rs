//! The channel between two processes. This program starts itself twice, under `mpirun`; both do every check, one after the other, each over an end of its own.

mod common;

use cluster::fabric::Fabric;
use engine::Channel;
use std::env;
use std::thread;
use std::time::{Duration, Instant};
use trireme_mpi::channel::{MpiChannel, PIECE_BYTES};
use trireme_mpi::world::Mpi;

/// What both processes do, with an end of a rank.
type Check = fn(&'static Mpi, usize);

const CHECKS: &[(&str, Check)] = &[
    ("bytes come in order, both ways at once", in_order),
    ("a message of any length comes whole", long),
    ("an end that nobody reads is full, and nobody waits at it", full),
    ("what is behind a run's end is the next one's", next_run),
    ("the end is known behind what was written before it", end),
    ("workers of one process talk at once, each with its own counterpart", workers),
];

fn main() {
    if env::var_os("OMPI_COMM_WORLD_RANK").is_none() {
        if env::args().any(|word| word == "--list") {
            return;
        }
        let own = env::current_exe().expect("a program");
        let (status, out, said) = common::ended(common::mpirun(2, &own), Duration::from_secs(180));
        print!("{out}");
        assert!(status.success(), "{status}: {said}");
        assert_eq!(out.matches(" ... ok").count(), CHECKS.len(), "{out}{said}");
        return;
    }
    let mpi = Mpi::enter().expect("an MPI with threads");
    // The ranks of workers of different checks are apart.
    for ((name, check), rank) in CHECKS.iter().zip((0..).step_by(10)) {
        check(mpi, rank);
        mpi.exchange(name.as_bytes()).expect("both are there");
        if mpi.number() == 0 {
            println!("test {name} ... ok");
        }
    }
    mpi.leave();
}

/// Byte `at` of what a process writes.
fn byte(number: usize, at: usize) -> u8 {
    (at.wrapping_mul(2_654_435_761) >> 7) as u8 ^ number as u8
}

fn bytes(number: usize, of: std::ops::Range<usize>) -> Vec<u8> {
    of.map(|at| byte(number, at)).collect()
}

fn is_within_time(began: Instant) {
    assert!(began.elapsed() < Duration::from_secs(60), "nothing comes");
}

/// Writes so many bytes, offering some at a time, and reads as many; both processes at once.
fn talk(channel: &mut MpiChannel, number: usize, all: usize, offered: impl Fn(usize) -> usize) {
    let own = bytes(number, 0..all);
    let (mut written, mut come, began) = (0, Vec::new(), Instant::now());
    while written < all || come.len() < all {
        let offer = &own[written..all.min(written + offered(written))];
        if !offer.is_empty() {
            written += channel.write(offer).expect("an open end");
        }
        channel.read(&mut come).expect("an open end");
        is_within_time(began);
    }
    assert!(come == bytes(1 - number, 0..all), "other bytes, or another order");
}

fn channel(mpi: &'static Mpi, rank: usize) -> MpiChannel {
    mpi.keep(rank, 1 - mpi.number()).expect("buffers").channel()
}

fn in_order(mpi: &'static Mpi, rank: usize) {
    talk(&mut channel(mpi, rank), mpi.number(), 1 << 20, |written| {
        1 + written % 97 + written % (2 * PIECE_BYTES)
    });
}

fn long(mpi: &'static Mpi, rank: usize) {
    talk(&mut channel(mpi, rank), mpi.number(), 4 << 20, |_| 4 << 20);
}

fn full(mpi: &'static Mpi, rank: usize) {
    /// More than MPI has room for.
    const ALL: usize = 8 << 20;
    let mut channel = channel(mpi, rank);
    let own = bytes(0, 0..ALL);
    mpi.exchange(b"begin").expect("both are there");
    if mpi.number() == 1 {
        // Nothing is read meanwhile, and MPI is not called.
        thread::sleep(Duration::from_secs(1));
        let (mut come, began) = (Vec::new(), Instant::now());
        while come.len() < ALL {
            channel.read(&mut come).expect("an open end");
            is_within_time(began);
        }
        return assert!(come == own, "other bytes, or another order");
    }
    let (mut written, mut has_been_full, mut slowest, began) = (0, false, Duration::ZERO, Instant::now());
    while written < ALL {
        let offer = &own[written..ALL.min(written + 64 * PIECE_BYTES)];
        let before = Instant::now();
        let taken = channel.write(offer).expect("an open end");
        slowest = slowest.max(before.elapsed());
        has_been_full |= taken < offer.len();
        written += taken;
        is_within_time(began);
    }
    assert!(has_been_full, "all of it found room");
    assert!(slowest < Duration::from_millis(900), "{slowest:?} for a write");
}

fn next_run(mpi: &'static Mpi, rank: usize) {
    let end = mpi.keep(rank, 1 - mpi.number()).expect("buffers");
    for run in 0..3u8 {
        let mut channel = end.channel();
        let (mut come, began) = (Vec::new(), Instant::now());
        assert_eq!(channel.write(&[run; 100]).expect("an open end"), 100);
        // A run takes what is its own: the other end's next run may have begun.
        while come.len() < 100 {
            channel.read(&mut come).expect("an open end");
            is_within_time(began);
        }
        assert_eq!(come, [run; 100]);
    }
}

fn end(mpi: &'static Mpi, rank: usize) {
    let mut channel = channel(mpi, rank);
    let (mut come, began) = (Vec::new(), Instant::now());
    if mpi.number() == 0 {
        assert_eq!(channel.write(b"the last").expect("an open end"), 8);
        channel.shut_down();
        assert!(channel.write(b"more").is_err() && channel.read(&mut come).is_err(), "it is shut");
        return;
    }
    while channel.read(&mut come).is_ok() {
        is_within_time(began);
    }
    assert_eq!(come, b"the last");
    assert!(channel.read(&mut come).is_err(), "it stays at its end");
}

fn workers(mpi: &'static Mpi, rank: usize) {
    thread::scope(|scope| {
        for worker in 0..4 {
            let mut channel = channel(mpi, rank + worker);
            scope.spawn(move || talk(&mut channel, mpi.number(), 1 << 18, |_| 1 + worker * 500));
        }
    });
}
