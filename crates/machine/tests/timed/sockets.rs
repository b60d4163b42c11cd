//! Sockets on a machine with clocks: what a message takes.

use super::{machine, panic_of};
use machine::simulated::socket::{Family, Socket, poll};
use machine::simulated::{clock, simulate, worker};
use std::sync::Mutex;

/// A message there and one back between two cores that poll, in nanoseconds.
fn round_trip(on: &str, family: Family) -> u64 {
    let description = machine(on);
    let (one, other) = Socket::pair(family).expect("sockets");
    let ends = [Mutex::new(Some(one)), Mutex::new(Some(other))];
    let took = Mutex::new(0);
    simulate(&description, 1, || {
        worker::run(2, |me| {
            let mut socket = ends[me].lock().expect("nobody panics").take().expect("taken once");
            let (mut come, mut ready) = (Vec::new(), Vec::new());
            let mut receive = |socket: &mut Socket| {
                loop {
                    poll(std::iter::once(&*socket), &mut ready).expect("an open end");
                    if ready == [true] {
                        return socket.read(&mut come).expect("an open end");
                    }
                }
            };
            if me == 0 {
                let before = clock::now();
                assert_eq!(socket.write(&[7; 100]).expect("an open end"), 100);
                assert_eq!(receive(&mut socket), 100);
                *took.lock().expect("nobody panics") = clock::now().since(before);
            } else {
                assert_eq!(receive(&mut socket), 100);
                assert_eq!(socket.write(&[8; 100]).expect("an open end"), 100);
            }
        });
    });
    took.into_inner().expect("nobody panicked")
}

#[test]
fn a_message_takes_what_the_file_says() {
    let of = machine("westmere-ex-8x10").channels;
    for (family, channel) in [(Family::Unix, of.unix), (Family::Tcp, of.tcp)] {
        let channel = channel.expect("the machine has such sockets");
        let took = round_trip("westmere-ex-8x10", family);
        let least = 2 * (channel.send_ns(100) + channel.latency_ns + channel.receive_ns(100));
        // Who polls sees it up to two looks later.
        let most = least + 2 * 3 * channel.poll_ns;
        assert!((least..most).contains(&took), "{family:?}: {least} <= {took} < {most}");
    }
}

#[test]
fn a_machine_whose_file_says_nothing_of_them_has_none() {
    let why = panic_of(|| round_trip("haswell-ex-4x18", Family::Unix));
    assert!(why.contains("its file has no table [channels.unix]"), "{why}");
}
