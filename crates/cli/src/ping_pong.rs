//! Eight bytes there and back over a pair of sockets, at both ends of which a thread looks again until they have come.
//!
//! There is one text of it: `doctor` tells what a message takes there and back ([`round_trip_ns`]), calibration times every call of it besides, and on the simulated machine
//! it has to take what was measured.

use machine::hardware::clock::{nanoseconds, now};
use machine::hardware::socket::{Family, Socket};
use machine::hardware::worker;
use std::sync::Mutex;

/// Messages there and back of a batch, and batches.
pub const MESSAGES: usize = 50;
const BATCHES: usize = 11;

/// There is room for more than one.
pub const MESSAGE: [u8; 8] = [7; 8];

/// One of two ends through so many messages there and back. `write` sends one, and `read` appends what has come, if anything has.
pub fn exchange<End>(
    end: &mut End,
    (begins, messages): (bool, usize),
    mut write: impl FnMut(&mut End),
    mut read: impl FnMut(&mut End, &mut Vec<u8>),
) {
    let mut come = Vec::new();
    for turn in 0..2 * messages {
        if begins == (turn % 2 == 0) {
            write(end);
            continue;
        }
        come.clear();
        while come.len() < MESSAGE.len() {
            read(end, &mut come);
        }
    }
}

/// What `batch` finds at the end that begins, in each of some batches between the first two workers; it is told whether it begins. `None`: the system gives no such sockets.
pub fn batches<T: Send>(family: Family, batch: impl Fn(&mut Socket, bool) -> T + Sync) -> Option<Vec<T>> {
    let (one, other) = Socket::pair(family).ok()?;
    let ends = [Mutex::new(one), Mutex::new(other)];
    let found = worker::run(2, |me| {
        let mut end = ends[me].lock().expect("each has its own end");
        (0..BATCHES).map(|_| batch(&mut end, me == 0)).collect::<Vec<T>>()
    });
    found.into_iter().next()
}

/// There and back, in ns: the median of the batches' means. No call is timed by itself. `None`: the system gives no such sockets.
pub fn round_trip_ns(family: Family) -> Option<f64> {
    let batch = |end: &mut Socket, begins| {
        let began = now();
        let read = |end: &mut Socket, come: &mut Vec<u8>| {
            receive(end, come);
        };
        exchange(end, (begins, MESSAGES), send, read);
        nanoseconds(now().since(began)) as f64 / MESSAGES as f64
    };
    median(batches(family, batch)?)
}

/// A call that sends.
pub fn send(end: &mut Socket) {
    end.write(&MESSAGE).expect("the other end is open");
}

/// A call that receives, or finds nothing: how many bytes it found.
pub fn receive(end: &mut Socket, come: &mut Vec<u8>) -> usize {
    end.read(come).expect("the other end is open")
}

/// `None` of nothing.
pub fn median(mut all: Vec<f64>) -> Option<f64> {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_over_sockets_takes_longer_than_a_system_call() {
        for family in [Family::Unix, Family::Tcp] {
            let ns = round_trip_ns(family).expect("sockets");
            assert!(ns > 100.0, "{family:?}: {ns}");
        }
    }
}
