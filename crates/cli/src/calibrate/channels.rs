//! What a message through the operating system takes: the tables `[channels.unix]` and `[channels.tcp]` of this machine's file.
//!
//! Two threads send eight bytes there and back ([`ping_pong`]). In some such batches every call is timed: what one costs
//! that sends, one that receives, and one that finds nothing. The round trip itself is the one that `doctor` tells, in which no call is timed. A way is a
//! call that sends, the latency, half a call that finds nothing (in the midst of which the message comes, on average), and a call that receives: so
//! the latency is what is left of half a round trip, and 1 ns at least. Copying is what a call takes longer with many bytes than with few, by one thread.

use super::rounds::Measured;
use crate::ping_pong::{self, MESSAGE, MESSAGES, median};
use machine::hardware::clock::{nanoseconds, now};
use machine::hardware::socket::{Family, Socket};
use machine::hardware::topology::Topology;
use machine::simulated::description::Channel;
use std::fmt::Write;

/// What is measured of a family, in the order that [`channel`] takes.
type Names = [&'static str; 5];

/// The families with the names of their tables, and of their numbers.
const FAMILIES: [(Family, &str, Names); 2] = [
    (
        Family::Unix,
        "unix",
        ["unix_send_ns", "unix_receive_ns", "unix_poll_ns", "unix_round_trip_ns", "unix_copy_mb_per_s"],
    ),
    (
        Family::Tcp,
        "tcp",
        ["tcp_send_ns", "tcp_receive_ns", "tcp_poll_ns", "tcp_round_trip_ns", "tcp_copy_mb_per_s"],
    ),
];

/// Of a message, and of one that takes longer for its bytes.
const FEW_BYTES: usize = MESSAGE.len();
const MANY_BYTES: usize = 8 << 10;

/// Every number of a round; none where there is one core, or where the system gives no such sockets.
pub(super) fn measure_round() -> Vec<(&'static str, f64)> {
    if Topology::of_this_machine().hardware_threads() < 2 {
        return Vec::new();
    }
    let of = |(family, _, names): &(Family, &str, Names)| {
        let [send, receive, poll] = calls_ns(*family)?;
        let numbers = [send, receive, poll, ping_pong::round_trip_ns(*family)?, copy_mb_per_s(*family)?];
        Some(names.iter().copied().zip(numbers).collect::<Vec<_>>())
    };
    FAMILIES.iter().filter_map(of).flatten().collect()
}

/// The channels of the machine file, with the names of their tables.
pub(super) fn of(measured: &Measured) -> Vec<(&'static str, Channel)> {
    let of = |(_, table, names): &(Family, &'static str, Names)| {
        let [send, receive, poll, trip, copy] = names.map(|name| measured.median(name));
        Some((*table, channel([send?, receive?, poll?, trip?, copy?])))
    };
    FAMILIES.iter().filter_map(of).collect()
}

/// Times of calls and of a round trip in ns, and MB a second.
fn channel([send, receive, poll, round_trip, copy]: [f64; 5]) -> Channel {
    let whole = |number: f64| (number.round() as u64).clamp(1, MOST);
    let latency = round_trip / 2.0 - send - receive - poll / 2.0;
    Channel {
        send_ns: whole(send),
        receive_ns: whole(receive),
        poll_ns: whole(poll),
        latency_ns: whole(latency),
        copy_mb_per_s: whole(copy),
    }
}

/// What a machine file takes.
const MOST: u64 = 1_000_000;

/// The tables.
pub(super) fn text(channels: &[(&'static str, Channel)]) -> String {
    let mut text = String::new();
    for (name, Channel { send_ns, receive_ns, poll_ns, latency_ns, copy_mb_per_s }) in channels {
        let _ = write!(
            text,
            "\n[channels.{name}]\nsend_ns = {send_ns}\nreceive_ns = {receive_ns}\npoll_ns = {poll_ns}\nlatency_ns = {latency_ns}\n\
             copy_mb_per_s = {copy_mb_per_s}\n"
        );
    }
    text
}

/// Calls of one kind.
#[derive(Clone, Copy, Default)]
struct Calls {
    ticks: u64,
    count: u64,
}

impl Calls {
    /// One more, that began then.
    fn add(&mut self, ticks: u64) {
        self.ticks += ticks;
        self.count += 1;
    }

    /// The mean; `None` of none.
    fn mean_ns(self) -> Option<f64> {
        (self.count > 0).then(|| nanoseconds(self.ticks) as f64 / self.count as f64)
    }
}

/// A call that sends, one that receives and one that finds nothing, in ns: medians of the batches' means.
fn calls_ns(family: Family) -> Option<[f64; 3]> {
    let batches = ping_pong::batches(family, timed)?;
    let median = |kind: usize| median(batches.iter().filter_map(|batch| batch[kind].mean_ns()).collect());
    Some([median(0)?, median(1)?, median(2)?])
}

/// One of the two ends through a batch of messages.
fn timed(end: &mut Socket, begins: bool) -> [Calls; 3] {
    let [mut sends, mut receives, mut polls] = [Calls::default(); 3];
    let write = |end: &mut Socket| {
        let began = now();
        ping_pong::send(end);
        sends.add(now().since(began));
    };
    let read = |end: &mut Socket, come: &mut Vec<u8>| {
        let began = now();
        let found = ping_pong::receive(end, come);
        let calls = if found == 0 { &mut polls } else { &mut receives };
        calls.add(now().since(began));
    };
    ping_pong::exchange(end, (begins, MESSAGES), write, read);
    [sends, receives, polls]
}

/// Copying into the system's memory and out of it.
fn copy_mb_per_s(family: Family) -> Option<f64> {
    let (mut one, mut other) = Socket::pair(family).ok()?;
    let mut there_ns = |bytes: usize| {
        let (message, mut come, mut times) = (vec![7; bytes], Vec::new(), Vec::new());
        for _ in 0..MESSAGES {
            come.clear();
            let began = now();
            let mut written = 0;
            while come.len() < bytes {
                written += one.write(&message[written..]).ok()?;
                other.read(&mut come).ok()?;
            }
            times.push(nanoseconds(now().since(began)) as f64);
        }
        median(times)
    };
    let (few_ns, many_ns) = (there_ns(FEW_BYTES)?, there_ns(MANY_BYTES)?);
    // Each byte is copied twice. Where many take no longer than few, nothing is to be seen of it.
    let copied = 2.0 * (MANY_BYTES - FEW_BYTES) as f64;
    Some((copied * 1000.0 / (many_ns - few_ns).max(1.0)).min(MOST as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::numbers::tests::numbers;
    use machine::hardware::environment::Environment;
    use machine::simulated::{clock, simulate, socket, worker};
    use std::sync::Mutex;

    const UNIX: [f64; 5] = [610.0, 240.0, 90.0, 2840.0, 5000.0];

    #[test]
    fn the_latency_is_what_is_left_of_half_a_round_trip() {
        let Channel { send_ns, receive_ns, poll_ns, latency_ns, copy_mb_per_s } = channel(UNIX);
        assert_eq!([send_ns, receive_ns, poll_ns, copy_mb_per_s], [610, 240, 90, 5000]);
        assert_eq!(latency_ns, 1420 - 610 - 240 - 45);
        assert_eq!(channel([1000.0, 1000.0, 0.2, 10.0, 5e9]).latency_ns, 1, "nothing is left");
        assert_eq!(channel([1000.0, 1000.0, 0.2, 10.0, 5e9]).copy_mb_per_s, MOST);
    }

    #[test]
    fn what_is_measured_is_a_table_of_each_family() {
        let names = FAMILIES.map(|(_, table, names)| (table, names));
        let round: Vec<_> = names.iter().flat_map(|(_, names)| names.iter().copied().zip(UNIX)).collect();
        let channels = of(&Measured::of(&[round.clone(), round.clone()]));
        assert_eq!(channels, names.map(|(table, _)| (table, channel(UNIX))));
        let without = of(&Measured::of(&[round[1..].to_vec()]));
        assert_eq!(
            without.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["tcp"],
            "one number is missing"
        );
    }

    /// The numbers are of this machine: that they are there, and none is less than any system takes.
    #[test]
    fn each_call_takes_more_than_20_ns_and_copying_has_a_speed() {
        for (family, name, _) in FAMILIES {
            let [send, receive, poll] = calls_ns(family).expect("sockets");
            assert!(send > 20.0 && receive > 20.0 && poll > 20.0, "{name}: {send} {receive} {poll}");
            assert!(copy_mb_per_s(family).is_some_and(|speed| speed > 1.0), "{name}");
        }
    }

    /// The round trip that was measured comes out of the simulated machine, but for the phase of the calls that find nothing.
    #[test]
    fn a_message_takes_as_long_on_the_simulated_machine_as_was_measured() {
        let mut numbers = numbers();
        numbers.channels =
            vec![("unix", channel(UNIX)), ("tcp", channel([900.0, 300.0, 100.0, 6360.0, 5000.0]))];
        let description = numbers.description(&Environment::of_this_machine()).expect("a machine");
        for (family, measured_ns, poll_ns) in [(Family::Unix, 2840.0, 90.0), (Family::Tcp, 6360.0, 100.0)] {
            let simulated_ns = simulated_round_trip_ns(&description, family);
            assert!((simulated_ns - measured_ns).abs() <= 2.0 * poll_ns, "{family:?}: {simulated_ns}");
        }
    }

    fn simulated_round_trip_ns(description: &machine::simulated::Description, family: Family) -> f64 {
        const TRIPS: usize = 200;
        simulate(description, 1, || {
            let (one, other) = socket::Socket::pair(family).expect("sockets");
            let ends = [Mutex::new(one), Mutex::new(other)];
            let took = worker::run(2, |me| {
                let mut end = ends[me].lock().expect("each has its own end");
                let began = clock::now();
                let write = |end: &mut socket::Socket| {
                    end.write(&MESSAGE).expect("an open end");
                };
                let read = |end: &mut socket::Socket, come: &mut Vec<u8>| {
                    end.read(come).expect("an open end");
                };
                ping_pong::exchange(&mut *end, (me == 0, TRIPS), write, read);
                clock::nanoseconds(clock::now().since(began))
            });
            took[0] as f64 / TRIPS as f64
        })
    }
}
