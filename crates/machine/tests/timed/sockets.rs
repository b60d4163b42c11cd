//! Sockets on a machine with clocks: what a message takes.

use super::{machine, panic_of};
use machine::simulated::socket::{Family, Socket, poll};
use machine::simulated::{clock, simulate, worker};
use std::sync::Mutex;

/// A message there and one back between two cores that poll, in nanoseconds.
fn round_trip(on: &str, family: Family) -> u64 {
    round_trip_between(on, family, 1)
}

/// The same between core 0 and another one.
fn round_trip_between(on: &str, family: Family, with: usize) -> u64 {
    let description = machine(on);
    let (one, other) = Socket::pair_between(family, 0, with).expect("sockets");
    let ends = [Mutex::new(Some(one)), Mutex::new(Some(other))];
    let took = Mutex::new(0);
    simulate(&description, 1, || {
        worker::run(with + 1, |me| {
            let me = match me {
                0 => 0,
                _ if me == with => 1,
                _ => return,
            };
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

#[test]
fn between_machines_a_message_goes_through_the_network() {
    let of = machine("westmere-ep-2x6-x4");
    assert_eq!((of.machines, of.cores, of.cores_of_a_machine()), (4, 48, 12));
    let (within, wire) = (of.channels.tcp.expect("sockets"), of.channels.network.expect("a network"));
    let channel = wire.channel;
    let least =
        2 * (channel.send_ns(100) + wire.occupancy_ns(100) + channel.latency_ns + channel.receive_ns(100));
    for (with, least, poll_ns) in [
        (11, 2 * (within.send_ns(100) + within.latency_ns + within.receive_ns(100)), within.poll_ns),
        (12, least, channel.poll_ns),
        (47, least, channel.poll_ns),
    ] {
        let took = round_trip_between("westmere-ep-2x6-x4", Family::Tcp, with);
        let most = least + 2 * 3 * poll_ns;
        assert!((least..most).contains(&took), "core {with}: {least} <= {took} < {most}");
    }
}

/// Two workers of one machine send at once: what they send leaves one after the other.
#[test]
fn messages_of_one_machine_follow_each_other() {
    const BYTES: usize = 2_000_000;
    let of = machine("westmere-ep-2x6-x4");
    let wire = of.channels.network.expect("a network");
    let pair = |from| Socket::pair_between(Family::Tcp, from, 12 + from).expect("sockets");
    let ends: Vec<_> = (0..2).map(pair).map(|(one, other)| Mutex::new(Some((one, other)))).collect();
    let (here, there): (Vec<_>, Vec<_>) = ends
        .iter()
        .map(|pair| pair.lock().expect("nobody panics").take().expect("there"))
        .map(|(one, other)| (Mutex::new(one), Mutex::new(other)))
        .unzip();
    let took = Mutex::new(0);
    simulate(&of, 1, || {
        worker::run(14, |me| match me {
            0 | 1 => {
                let mut socket = here[me].lock().expect("nobody panics");
                let mut left = BYTES;
                while left > 0 {
                    left -= socket.write(&vec![0; left.min(20_000)]).expect("an open end");
                }
            }
            12 | 13 => {
                let begun = clock::now();
                let mut socket = there[me - 12].lock().expect("nobody panics");
                let mut come = Vec::new();
                while come.len() < BYTES {
                    socket.read(&mut come).expect("an open end");
                }
                let mut took = took.lock().expect("nobody panics");
                *took = clock::now().since(begun).max(*took);
            }
            _ => {}
        });
    });
    let took = took.into_inner().expect("nobody panicked");
    let (of_one, of_both) = (wire.occupancy_ns(BYTES as u64), wire.occupancy_ns(2 * BYTES as u64));
    assert!(took >= of_both, "{took} ns, where the card is busy for {of_both}");
    assert!(took < of_both + of_one / 2, "{took} ns, where the card is busy for {of_both}");
}

#[test]
fn machines_are_connected_by_tcp_only() {
    let why = panic_of(|| round_trip_between("westmere-ep-2x6-x4", Family::Unix, 12));
    assert!(why.contains("machines are connected by TCP only"), "{why}");
}
