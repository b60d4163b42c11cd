//! How long eight bytes take to another process and back: of MPI alone, by its blocking calls, and over a [channel](crate::channel), whose ends look until something has come.

use crate::channel::MpiChannel;
use crate::world::Mpi;
use cluster::fabric::Fabric;
use engine::Channel;
use rsmpi::point_to_point::{Destination, Source};
use rsmpi::topology::Communicator;
use std::io;
use std::process::ExitCode;
use std::time::Instant;

/// Messages there and back of a repetition.
const ROUNDS: u32 = 100_000;
const REPETITIONS: usize = 5;
const BYTES: usize = 8;
/// A tag that no worker has: none is of so high a rank.
const TAG: i32 = 30_000;

/// Measures both between the first two processes; at the first it says what came of it. And that all have come to the end.
pub fn measure(mpi: &'static Mpi) -> (ExitCode, bool) {
    if mpi.nodes() != 2 {
        if mpi.number() == 0 {
            eprintln!("error: ping-pong: {} processes; allowed: mpirun -n 2", mpi.nodes());
        }
        return (ExitCode::from(2), true);
    }
    let raw = median(|| by_mpi(mpi));
    let over_channel = mpi.keep(0, 1 - mpi.number()).and_then(|end| {
        let mut channel = end.channel();
        // The first one's failure is said; the other one's ends the first.
        over(mpi, &mut channel)?;
        let mut failed = Ok(());
        let times = median(|| match over(mpi, &mut channel) {
            Ok(ns) => ns,
            Err(error) => {
                failed = Err(error);
                f64::NAN
            }
        });
        failed.map(|()| times)
    });
    match over_channel {
        Err(error) => {
            eprintln!("error: ping-pong: {error}");
            (ExitCode::FAILURE, false)
        }
        Ok(over_channel) => {
            if mpi.number() == 0 {
                println!(
                    "{BYTES} bytes there and back, {REPETITIONS} times {ROUNDS}: median (least to most)"
                );
                for (what, [median, least, most]) in
                    [("MPI_Send, MPI_Recv", raw), ("over a channel", over_channel)]
                {
                    println!("{what:<20} {median:>7.0} ns ({least:.0} to {most:.0})");
                }
            }
            (ExitCode::SUCCESS, true)
        }
    }
}

/// The median, the least and the most of several; one before them does not count.
fn median(mut once: impl FnMut() -> f64) -> [f64; 3] {
    once();
    let mut times: Vec<f64> = std::iter::repeat_with(once).take(REPETITIONS).collect();
    times.sort_by(f64::total_cmp);
    [times[REPETITIONS / 2], times[0], times[REPETITIONS - 1]]
}

fn per_round(began: Instant) -> f64 {
    began.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
}

/// Nanoseconds there and back.
fn by_mpi(mpi: &Mpi) -> f64 {
    let other = mpi.talking().process_at_rank(1 - mpi.number() as i32);
    let mut bytes = [0u8; BYTES];
    let began = Instant::now();
    for _ in 0..ROUNDS {
        if mpi.number() == 0 {
            other.send_with_tag(&bytes[..], TAG);
        }
        other.receive_into_with_tag(&mut bytes[..], TAG);
        if mpi.number() == 1 {
            other.send_with_tag(&bytes[..], TAG);
        }
    }
    per_round(began)
}

fn over(mpi: &Mpi, channel: &mut MpiChannel) -> io::Result<f64> {
    let mut come = Vec::with_capacity(BYTES);
    let began = Instant::now();
    for _ in 0..ROUNDS {
        if mpi.number() == 0 {
            write(channel)?;
        }
        come.clear();
        while come.len() < BYTES {
            channel.read(&mut come)?;
        }
        if mpi.number() == 1 {
            write(channel)?;
        }
    }
    Ok(per_round(began))
}

fn write(channel: &mut MpiChannel) -> io::Result<()> {
    while channel.write(&[7; BYTES])? == 0 {}
    Ok(())
}
