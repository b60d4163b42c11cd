//! By whose clocks clients are told when their transactions began and ended, and what is known of these clocks.
//!
//! A host has one clock. Those of several hosts count from moments of their own, and each at a rate of its own, so that their readings say nothing of each other. What one is like
//! is found out by asking it (Cristian, *Probabilistic clock synchronization*, 1989): who reads his own clock, asks the other one, and reads his own again when the answer is there, knows that
//! the other one was read in between. That holds however long the answer took; the shorter, the more it says. Nobody sets a clock.
//!
//! Each clock is asked before a run and after it, by whoever has the first one. In between, a clock of one rate is at a straight line between the two answers, and so is each bound of
//! what is known of it. Rates are not quite constant: for that there is a margin ([`WANDER_PER_MILLION`]). So a reading of another clock is an interval of the first one ([`Clocks::by_first`]), and of
//! two transactions of several hosts one came before the other for certain if its interval did.

use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// While a run lasts, a clock's rate, as another one sees it, is nowhere further from its mean in these millionths. Oscillators drift by less than one when it gets a degree warmer.
pub const WANDER_PER_MILLION: u64 = 10;

/// For what readings in whole nanoseconds leave out.
const ROUNDING_NS: i128 = 2;

/// A reading of a clock, and between which readings of the first one it was made. All in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// By the clock itself.
    pub own_ns: u64,
    /// By the first clock, not before.
    pub earliest_ns: u64,
    /// By the first clock, not after.
    pub latest_ns: u64,
}

impl Sighting {
    /// How far apart the bounds are.
    pub fn width_ns(&self) -> u64 {
        self.latest_ns.saturating_sub(self.earliest_ns)
    }
}

/// A clock, as it was seen from the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Before the run.
    pub before: Sighting,
    /// After it.
    pub after: Sighting,
}

impl Seen {
    /// The readings of the first clock between which this one's reading was; of one outside of the run nothing is known.
    fn by_first(&self, own_ns: u64) -> RangeInclusive<u64> {
        let Seen { before, after } = self;
        if !(before.own_ns..=after.own_ns).contains(&own_ns) {
            return 0..=u64::MAX;
        }
        let (passed, left) = (own_ns - before.own_ns, after.own_ns - own_ns);
        let margin = i128::from(passed.min(left) * WANDER_PER_MILLION / 1_000_000) + ROUNDING_NS;
        let between = |from: u64, to: u64| {
            let (from, to) = (i128::from(from), i128::from(to));
            from + (to - from) * i128::from(passed) / i128::from((passed + left).max(1))
        };
        let reading = |ns: i128| u64::try_from(ns.max(0)).unwrap_or(u64::MAX);
        let earliest = between(before.earliest_ns, after.earliest_ns) - margin;
        let latest = between(before.latest_ns, after.latest_ns) + margin;
        reading(earliest)..=reading(latest)
    }
}

/// The clocks of a run's clients. By default one for all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// By client, the number of its clock; of clients that it has no entry for: 0, the first.
    of_clients: Vec<usize>,
    /// By clock, from 1 on.
    others: Vec<Seen>,
}

impl Clocks {
    /// The number of each client's clock, from 0, the first; and all clocks but the first.
    ///
    /// Panics if a client has a clock that is not among them.
    pub fn new(of_clients: Vec<usize>, others: Vec<Seen>) -> Clocks {
        assert!(of_clients.iter().all(|clock| *clock <= others.len()), "a clock that nobody has seen");
        Clocks { of_clients, others }
    }

    /// Whether all have one.
    pub fn are_one(&self) -> bool {
        self.others.is_empty()
    }

    /// How many there are.
    pub fn number(&self) -> usize {
        1 + self.others.len()
    }

    /// A client's.
    pub fn of_client(&self, client: usize) -> usize {
        self.of_clients.get(client).copied().unwrap_or(0)
    }

    /// The readings of the first clock between which this reading of a client's was.
    pub fn by_first(&self, client: usize, own_ns: u64) -> RangeInclusive<u64> {
        match self.of_client(client) {
            0 => own_ns..=own_ns,
            other => self.others[other - 1].by_first(own_ns),
        }
    }

    /// How far apart the two can be at most, anywhere in the run, in nanoseconds; 0 if there is one clock.
    pub fn widest_ns(&self) -> u64 {
        let widest = |seen: &Seen| {
            let middle = seen.before.own_ns.midpoint(seen.after.own_ns);
            let at = |own_ns| seen.by_first(own_ns);
            [seen.before.own_ns, middle, seen.after.own_ns]
                .map(|own_ns| at(own_ns).end() - at(own_ns).start())
        };
        self.others.iter().flat_map(widest).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that was `ahead` of the first one at 0, and gains so many millionths, asked at a moment of the first one's; the answers took so long, there and back.
    fn sighted(ahead: u64, gains: u64, at: u64, (there, back): (u64, u64)) -> Sighting {
        let read = at + there;
        Sighting { own_ns: reading(ahead, gains, read), earliest_ns: at, latest_ns: read + back }
    }

    fn reading(ahead: u64, gains: u64, at: u64) -> u64 {
        ahead + at + at * gains / 1_000_000
    }

    #[test]
    fn a_reading_is_within_its_bounds_whatever_the_clock_is_like() {
        for (ahead, gains) in [(0, 0), (7_200_000_000_000, 80), (3, 250)] {
            for (before, after) in [((5, 20_000), (90_000, 1)), ((40_000, 40_000), (0, 0))] {
                let seen = Seen {
                    before: sighted(ahead, gains, 1_000_000, before),
                    after: sighted(ahead, gains, 60_000_000_000, after),
                };
                let clocks = Clocks::new(vec![0, 1], vec![seen]);
                assert!(!clocks.are_one() && clocks.number() == 2);
                for at in (1_100_000..60_000_000_000_u64).step_by(977_777_777) {
                    let bounds = clocks.by_first(1, reading(ahead, gains, at));
                    assert!(
                        bounds.contains(&at),
                        "{at} of a clock {ahead} ahead that gains {gains}: {bounds:?}"
                    );
                    assert!(bounds.end() - bounds.start() <= clocks.widest_ns());
                    assert_eq!(clocks.by_first(0, at), at..=at);
                }
                assert!(clocks.widest_ns() < 1_000_000, "{}", clocks.widest_ns());
            }
        }
    }

    /// By how far it went astray in the middle of a minute.
    #[test]
    fn a_rate_that_wanders_is_within_the_margin() {
        let still = |own_ns, ns| Sighting { own_ns, earliest_ns: ns, latest_ns: ns };
        let minute = 60_000_000_000;
        let seen = Seen { before: still(0, 0), after: still(minute, minute) };
        let astray = minute / 2 / 1_000_000 * WANDER_PER_MILLION;
        assert!(seen.by_first(minute / 2).contains(&(minute / 2 + astray)));
        assert!(!seen.by_first(minute / 2).contains(&(minute / 2 + 2 * astray)));
    }

    #[test]
    fn outside_of_the_run_nothing_is_known() {
        let seen = Seen { before: sighted(9, 0, 1000, (1, 1)), after: sighted(9, 0, 2000, (1, 1)) };
        assert_eq!(seen.by_first(1005), 0..=u64::MAX);
        assert_eq!(seen.by_first(2011), 0..=u64::MAX);
        assert!(seen.by_first(1010).contains(&1001));
    }

    #[test]
    fn one_clock_is_exact() {
        let one = Clocks::default();
        assert!(one.are_one() && one.widest_ns() == 0);
        assert_eq!((one.of_client(5), one.by_first(5, 77)), (0, 77..=77));
    }
}
