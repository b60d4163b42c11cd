//! Random numbers in the measured loop.
//!
//! Clients draw from wyrand ([`fastrand::Rng`]): the state moves by an addition, so that successive draws
//! overlap in the pipeline, about a nanosecond each. Its streams are one cycle of 2^64 entered at different
//! places, the seed being the place; [`generator`] therefore mixes the seat well, so that neighbours start
//! far apart.

use contract::Seat;
use fastrand::Rng;

/// The generator of the client at `seat`: seats of a run have distinct ones, and so have runs of distinct
/// seeds.
pub(crate) fn generator(seat: Seat) -> Rng {
    Rng::with_seed(mix(mix(seat.seed).wrapping_add(seat.worker as u64)))
}

/// A bijection of 64 bits in which every input bit moves every output bit: the step of SplitMix64
/// (Steele, Lea and Flood, OOPSLA 2014).
#[inline]
pub(crate) const fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Something that happens with a fixed probability, to within 2^-32; never and always are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chance {
    /// Of 2^32.
    below: u64,
}

impl Chance {
    /// `percent` in a hundred. Panics outside 0 to 100.
    pub(crate) fn percent(percent: f64) -> Self {
        assert!((0.0..=100.0).contains(&percent), "{percent} percent");
        Chance { below: (percent / 100.0 * (1u64 << 32) as f64).round() as u64 }
    }

    /// Never or always, decided now.
    #[inline]
    pub(crate) fn settled(self, random: u64) -> Self {
        Chance { below: u64::from(self.happens(random)) << 32 }
    }

    /// Whether it happens, by the upper half of `random`; the lower half is left for another decision.
    #[inline]
    pub(crate) fn happens(self, random: u64) -> bool {
        random >> 32 < self.below
    }
}

/// One of `0..choices`, by the lower half of `random`. Uneven by at most `choices` in 2^32.
#[inline]
pub(crate) fn choose(random: u64, choices: u32) -> u32 {
    (((random & u64::from(u32::MAX)) * u64::from(choices)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn seats_and_seeds_draw_unlike_numbers() {
        let first = |seed, worker| generator(Seat::new(worker, 64, seed)).u64(..);
        let firsts: HashSet<u64> =
            (0..64).flat_map(|seed| (0..64).map(move |worker| first(seed, worker))).collect();
        assert_eq!(firsts.len(), 64 * 64, "no seat shares its stream's start with another");
    }

    #[test]
    fn neighbouring_seats_agree_in_half_of_their_bits() {
        let mut same = 0;
        for worker in 0..1000 {
            let at = |worker| generator(Seat::new(worker, 1001, 7)).u64(..);
            same += (!(at(worker) ^ at(worker + 1))).count_ones();
        }
        assert!((31_000..33_000).contains(&same), "{same} of 64000 bits agree");
    }

    #[test]
    fn never_and_always_are_exact() {
        assert!(!Chance::percent(0.0).happens(0));
        assert!(Chance::percent(100.0).happens(u64::MAX));
        let half = Chance::percent(50.0);
        assert!(half.happens((1 << 63) - 1) && !half.happens(1 << 63));
        assert_eq!(half.settled(0), Chance::percent(100.0));
        assert_eq!(half.settled(u64::MAX), Chance::percent(0.0));
    }

    #[test]
    fn choices_cover_their_range() {
        assert_eq!(choose(0, 10), 0);
        assert_eq!(choose(u64::MAX, 10), 9);
        assert_eq!(choose(0xffff_ffff_0000_0000, 10), 0, "the upper half plays no part");
    }
}
