//! A network between programs ([`super::process`]): connections on which things go wrong, as a seed says, and what becomes of those of a host that dies.
//!
//! **Trouble.** Of what is written at once, a *piece*, one in so many is lost, comes late, comes before the piece that was written ahead of it, or comes twice; the writer is not told. What is
//! late keeps what was written behind it waiting. A piece is a message, or several, or a part of one: whoever reads finds the bytes of a stream with some of
//! them missing, twice, or out of turn. TCP does none of this, short of a defect of its checksum; it is what a protocol that numbers its messages must notice.
//!
//! **A host that dies** leaves its connections in one of three ways ([`Ending`]). On a network that is cut nothing comes any more, and nobody is told.

use super::socket::{Pipe, Socket, lock};
use fastrand::Rng;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// What goes wrong with what is written at once: one in so many; 0: never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// It never comes.
    pub lose_one_in: u32,
    /// It comes later, by up to [`Faults::delay_ns`].
    pub delay_one_in: u32,
    /// It comes before what was written ahead of it, if that has not come yet.
    pub reorder_one_in: u32,
    /// It comes twice.
    pub duplicate_one_in: u32,
    /// The longest delay, in nanoseconds.
    pub delay_ns: u64,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suffered {
    /// Pieces that were lost.
    pub lost: u64,
    /// Those that were delayed.
    pub delayed: u64,
    /// Those that came out of turn.
    pub reordered: u64,
    /// Those that came twice.
    pub duplicated: u64,
}

impl Suffered {
    /// Whether a stream is not what was written.
    pub fn is_visible(self) -> bool {
        self.lost + self.reordered + self.duplicated > 0
    }
}

/// How the connections of a host that dies end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// What it had sent still comes, and then their end: its process was killed, and its system goes on.
    Closed,
    /// The same, but the last of what it had sent is lost, on each connection as much as is drawn.
    Reset,
    /// Nothing comes any more, not even their end: the power is gone, or the network.
    Silent,
}

/// What may go wrong on one way of a connection.
#[derive(Debug)]
pub(super) struct Trouble(Arc<Mutex<Weather>>);

#[derive(Debug)]
struct Weather {
    faults: Faults,
    random: Rng,
    suffered: Suffered,
}

impl Trouble {
    /// Sends a piece, or not.
    pub(super) fn send(&mut self, sent: &mut VecDeque<(u64, Vec<u8>)>, comes_at: u64, piece: &[u8]) {
        let weather = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Weather { faults, random, suffered } = weather;
        let mut happens = |one_in: u32| one_in > 0 && random.u32(..one_in) == 0;
        if happens(faults.lose_one_in) {
            suffered.lost += 1;
            return;
        }
        let (is_late, is_twice) = (happens(faults.delay_one_in), happens(faults.duplicate_one_in));
        let is_early = happens(faults.reorder_one_in) && !sent.is_empty();
        let delay = if is_late { random.u64(..=faults.delay_ns) } else { 0 };
        suffered.delayed += u64::from(is_late);
        suffered.duplicated += u64::from(is_twice);
        suffered.reordered += u64::from(is_early);
        (0..=u8::from(is_twice)).for_each(|_| sent.push_back((comes_at + delay, piece.to_vec())));
        if is_early {
            let last = sent.len() - 1 - usize::from(is_twice);
            // The times stay: what is read is the order.
            let ahead = std::mem::take(&mut sent[last - 1].1);
            let own = std::mem::replace(&mut sent[last].1, ahead);
            sent[last - 1].1 = own;
        }
    }
}

/// One way of a connection.
#[derive(Debug)]
struct Way {
    from: usize,
    to: usize,
    pipe: Arc<Mutex<Pipe>>,
}

/// Connections between hosts, which their numbers name.
#[derive(Debug)]
pub struct Network {
    weather: Arc<Mutex<Weather>>,
    ways: Mutex<Vec<Way>>,
}

impl Network {
    /// One on which this goes wrong; all that is drawn follows from the seed.
    pub fn new(faults: Faults, seed: u64) -> Network {
        let weather = Weather { faults, random: Rng::with_seed(seed), suffered: Suffered::default() };
        Network { weather: Arc::new(Mutex::new(weather)), ways: Mutex::default() }
    }

    /// The two ends of a connection between these hosts.
    pub fn connect(&self, one: usize, other: usize) -> (Socket, Socket) {
        let pipe = || Pipe::troubled(Some(Trouble(Arc::clone(&self.weather))));
        let (ends, [there, back]) = Socket::over(pipe(), pipe());
        let mut ways = self.ways();
        ways.push(Way { from: one, to: other, pipe: there });
        ways.push(Way { from: other, to: one, pipe: back });
        ends
    }

    /// From now on nothing comes from one of these hosts to the other, either way, and neither is told.
    pub fn cut(&self, one: usize, other: usize) {
        let between = |way: &&Way| (way.from, way.to) == (one, other) || (way.from, way.to) == (other, one);
        self.ways().iter().filter(between).for_each(|way| lock(&way.pipe).cut());
    }

    /// The same one way, once so many pieces more were written there.
    pub fn cut_after(&self, from: usize, to: usize, pieces: u64) {
        let there = |way: &&Way| (way.from, way.to) == (from, to);
        self.ways().iter().filter(there).for_each(|way| lock(&way.pipe).cut_after(pieces));
    }

    /// A host dies.
    pub fn end(&self, host: usize, ending: Ending) {
        for way in self.ways().iter().filter(|way| way.from == host || way.to == host) {
            let pipe = &mut *lock(&way.pipe);
            match ending {
                Ending::Silent => pipe.cut(),
                Ending::Reset if way.from == host => {
                    let kept = self.weather().random.usize(..=pipe.pieces());
                    pipe.close_behind(kept);
                }
                Ending::Closed | Ending::Reset => pipe.close_behind(pipe.pieces()),
            }
        }
    }

    /// What has gone wrong so far.
    pub fn suffered(&self) -> Suffered {
        self.weather().suffered
    }

    fn ways(&self) -> std::sync::MutexGuard<'_, Vec<Way>> {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn weather(&self) -> std::sync::MutexGuard<'_, Weather> {
        self.weather.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of ten pieces.
    fn carried(faults: Faults) -> (Vec<u8>, Suffered) {
        let network = Network::new(faults, 3);
        let (mut one, mut other) = network.connect(0, 1);
        (0..10).for_each(|number| assert_eq!(one.write(&[number; 3]).expect("open"), 3));
        let mut come = Vec::new();
        other.read(&mut come).expect("open");
        (come.into_iter().step_by(3).collect(), network.suffered())
    }

    #[test]
    fn pieces_are_lost_and_come_twice_and_out_of_turn() {
        let all: Vec<u8> = (0..10).collect();
        assert_eq!(carried(Faults::default()), (all.clone(), Suffered::default()));
        let (come, suffered) = carried(Faults { lose_one_in: 3, ..Faults::default() });
        assert!(suffered.lost > 0 && come.len() as u64 == 10 - suffered.lost && come.is_sorted());
        let (come, suffered) = carried(Faults { duplicate_one_in: 3, ..Faults::default() });
        assert!(suffered.duplicated > 0 && come.len() as u64 == 10 + suffered.duplicated && come.is_sorted());
        let (mut come, suffered) = carried(Faults { reorder_one_in: 3, ..Faults::default() });
        assert!(suffered.reordered > 0 && !come.is_sorted());
        come.sort_unstable();
        assert_eq!(come, all);
    }

    #[test]
    fn what_is_late_keeps_what_is_behind_it_waiting() {
        use crate::simulated::{Schedule, cpu, explore, worker};
        let network = Network::new(Faults { delay_one_in: 4, delay_ns: 5_000, ..Faults::default() }, 1);
        let ends = explore(Schedule::RoundRobin, || {
            worker::run(1, |_| {
                let (mut one, mut other) = network.connect(0, 1);
                (0..40).for_each(|number| assert_eq!(one.write(&[number]).expect("open"), 1));
                let (mut come, mut looks) = (Vec::new(), 0);
                while come.len() < 40 {
                    other.read(&mut come).expect("open");
                    looks += 1;
                    cpu::pause();
                }
                (come, looks)
            })
        });
        let (come, looks) = &ends[0];
        assert!(network.suffered().delayed > 0, "nothing was late");
        assert!(come.is_sorted() && *looks > 10, "{come:?}, {looks} looks");
    }

    #[test]
    fn a_host_that_dies_is_told_of_or_is_silent() {
        for ending in [Ending::Closed, Ending::Reset, Ending::Silent] {
            let network = Network::new(Faults::default(), 1);
            let (mut dead, mut other) = network.connect(0, 1);
            let (mut third, mut fourth) = network.connect(1, 2);
            (0..10).for_each(|number| assert_eq!(dead.write(&[number]).expect("open"), 1));
            network.end(0, ending);
            let mut come = Vec::new();
            let told = loop {
                match other.read(&mut come) {
                    Ok(0) => break false,
                    Ok(_) => {}
                    Err(_) => break true,
                }
            };
            let kept = match ending {
                Ending::Closed => come.len() == 10,
                Ending::Reset => come.len() < 10,
                Ending::Silent => come.is_empty(),
            };
            assert!(kept && told == (ending != Ending::Silent), "{ending:?}: {come:?}");
            assert_eq!(other.write(b"x").is_err(), ending != Ending::Silent, "{ending:?}");
            third.write(b"x").expect("between others");
            assert_eq!(fourth.read(&mut come).expect("between others"), 1);
        }
        let network = Network::new(Faults::default(), 1);
        let (mut one, mut other) = network.connect(0, 1);
        network.cut(1, 0);
        one.write(b"x").expect("nobody is told");
        drop(one);
        assert_eq!(other.read(&mut Vec::new()).expect("nobody is told"), 0);
    }
}
