//! Zipfian ranks: P(rank) is proportional to 1 / (rank + 1)^theta over `0..ranks`, exactly, in constant time.
//!
//! YCSB and its descendants draw by the formula of Gray et al. (SIGMOD 1994), which is right for the first
//! two ranks and wrong for the others, and which sums over the whole table before the first draw. Here the
//! distribution is the true one, by rejection from a hat that is constant on bins (Devroye, *Non-Uniform
//! Random Variate Generation*, 1986, chapters II.3 and VIII):
//!
//! - Bins widen with the rank, sixteen to an octave: sixteen of one rank, sixteen of two, sixteen of four,
//!   ...; a hundred million ranks make 360.
//! - The hat over a bin is the weight of its first rank, its heaviest. The bin is drawn by the mass of its
//!   hat, from an alias table.
//! - The rank is drawn evenly within the bin. Widths are powers of two, so that is a shift, without bias.
//! - The rank is kept with the ratio of its weight to the hat, `((first + 1) / (rank + 1))^theta`. A bin's
//!   last rank is less than 1/16 above its first, so the ratio exceeds (16/17)^theta: one comparison settles
//!   at least 94 % of the draws, and only the rest raise to a power.
//! - The last bin may reach beyond the table; ranks out there are rejected too.
//!
//! Exact means up to the rounding of `f64` and to 2^-48 of a slot of the alias table. For a hundred million
//! ranks the table takes 4 KiB and is built in microseconds.
//!
//! Rank 0 is the hottest. Workloads use the rank as the key, unscattered, as the papers' engines do: hot keys
//! are the first ones, and partitioning by remainder spreads them evenly.

use crate::alias::{AliasTable, MOST_ITEMS};
use fastrand::Rng;
use std::fmt;

/// Bins in an octave, as a power of two.
const OCTAVE_BITS: u32 = 4;
/// Bins in an octave.
const OCTAVE: u64 = 1 << OCTAVE_BITS;
/// The most ranks: beyond, `f64` does not tell all of them apart.
const MOST_RANKS: u64 = 1 << f64::MANTISSA_DIGITS;

const _: () =
    assert!(OCTAVE * f64::MANTISSA_DIGITS as u64 <= MOST_ITEMS as u64, "the alias table holds all bins");

/// A zipfian distribution over the ranks `0..ranks`.
#[derive(Clone, Debug)]
pub struct Zipf {
    ranks: u64,
    theta: f64,
    bins: AliasTable,
    /// By the bin's place in its octave: a rank is kept for certain if its random number is below this, of
    /// 2^64.
    certain: [u64; OCTAVE as usize],
}

impl Zipf {
    /// The distribution over `0..ranks` with skew `theta`: 0 is uniform, the papers' contention is 0.6 to
    /// 0.9.
    pub fn new(ranks: u64, theta: f64) -> Result<Self, ZipfError> {
        if !(0.0..1.0).contains(&theta) {
            return Err(ZipfError::Theta(theta));
        }
        if !(1..=MOST_RANKS).contains(&ranks) {
            return Err(ZipfError::Ranks(ranks));
        }
        let weights: Vec<f64> = (0..=Bin::of(ranks - 1).0)
            .map(|bin| Bin(bin).width() as f64 * weight(Bin(bin).first(), theta))
            .collect();
        let certain = std::array::from_fn(|place| {
            let first = (OCTAVE + place as u64) as f64;
            ((first / (first + 1.0)).powf(theta) * 2f64.powi(64)) as u64
        });
        Ok(Zipf { ranks, theta, bins: AliasTable::new(&weights), certain })
    }

    /// A rank of `0..ranks`.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let bin = Bin(self.bins.draw(rng.u64(..)) as u64);
            let rank = bin.first() + bin.offset(rng.u64(..));
            let random = rng.u64(..);
            let kept = random < self.certain[bin.place()] || self.is_kept(bin.first(), rank, random);
            if kept && rank < self.ranks {
                return rank;
            }
        }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u64 {
        self.ranks
    }

    /// The skew.
    pub fn theta(&self) -> f64 {
        self.theta
    }

    /// The ratio of weights against `random` of 2^64, worked out.
    #[cold]
    fn is_kept(&self, first: u64, rank: u64, random: u64) -> bool {
        let uniform = (random >> 11) as f64 / (1u64 << 53) as f64;
        rank == first || uniform < ((first + 1) as f64 / (rank + 1) as f64).powf(self.theta)
    }
}

/// What a rank weighs, unnormalised.
fn weight(rank: u64, theta: f64) -> f64 {
    ((rank + 1) as f64).powf(-theta)
}

/// A run of `2^octave` ranks. Bin `16 * octave + place` begins at rank `((16 + place) << octave) - 16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bin(u64);

impl Bin {
    /// The bin that `rank` lies in.
    fn of(rank: u64) -> Self {
        let octave = (rank + OCTAVE).ilog2() - OCTAVE_BITS;
        Bin(u64::from(octave) * OCTAVE + ((rank + OCTAVE) >> octave) - OCTAVE)
    }

    #[inline]
    fn octave(self) -> u32 {
        (self.0 >> OCTAVE_BITS) as u32
    }

    #[inline]
    fn place(self) -> usize {
        (self.0 & (OCTAVE - 1)) as usize
    }

    #[inline]
    fn first(self) -> u64 {
        ((OCTAVE + (self.0 & (OCTAVE - 1))) << self.octave()) - OCTAVE
    }

    fn width(self) -> u64 {
        1 << self.octave()
    }

    /// An even choice of `0..width`: as many of the upper random bits as the octave has. In two shifts,
    /// because octave 0 takes none and a shift by 64 is not one.
    #[inline]
    fn offset(self, random: u64) -> u64 {
        (random >> 1) >> (63 - self.octave())
    }
}

/// A distribution that does not exist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ZipfError {
    /// The skew is outside [0, 1), the range of the papers.
    Theta(f64),
    /// There is nothing to draw from, or more than `f64` can tell apart.
    Ranks(u64),
}

impl fmt::Display for ZipfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ZipfError::Theta(theta) => write!(f, "bad zipfian theta {theta}; allowed: 0 <= theta < 1"),
            ZipfError::Ranks(ranks) => {
                write!(f, "bad number of zipfian ranks {ranks}; allowed: 1 to {MOST_RANKS}")
            }
        }
    }
}

impl std::error::Error for ZipfError {}

#[cfg(test)]
mod tests {
    use super::{Bin, MOST_RANKS, Zipf, weight};
    use proptest::prelude::{any, prop_assert, proptest};

    #[test]
    fn bins_tile_the_ranks() {
        let mut next = 0;
        for bin in (0..800).map(Bin) {
            assert_eq!(bin.first(), next, "{bin:?} begins where the last one ended");
            next += bin.width();
            assert_eq!(Bin::of(bin.first()), bin);
            assert_eq!(Bin::of(next - 1), bin);
            assert_eq!(bin.offset(0), 0);
            assert_eq!(bin.offset(u64::MAX), bin.width() - 1);
        }
    }

    #[test]
    fn certain_is_below_every_ratio_of_its_bins() {
        for theta in [0.0, 0.5, 0.99] {
            let zipf = Zipf::new(1_000_000_000, theta).expect("in range");
            for bin in (0..Bin::of(999_999_999).0).map(Bin) {
                let last = bin.first() + bin.width() - 1;
                let ratio = weight(last, theta) / weight(bin.first(), theta);
                assert!(
                    zipf.certain[bin.place()] as f64 <= ratio * 2f64.powi(64) * (1.0 + 1e-15),
                    "{bin:?} at {theta}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn draws_stay_in_range(ranks in 1u64..=MOST_RANKS, theta in 0.0f64..1.0, seed in any::<u64>()) {
            let zipf = Zipf::new(ranks, theta).expect("in range");
            let mut rng = fastrand::Rng::with_seed(seed);
            for _ in 0..100 {
                prop_assert!(zipf.draw(&mut rng) < ranks);
            }
        }
    }

    #[test]
    fn errors_name_the_value_and_what_is_allowed() {
        for theta in [-0.1, 1.0, 1.5, f64::NAN, f64::INFINITY] {
            let error = Zipf::new(10, theta).expect_err("out of range").to_string();
            assert_eq!(error, format!("bad zipfian theta {theta}; allowed: 0 <= theta < 1"));
        }
        let error = Zipf::new(0, 0.5).expect_err("nothing to draw").to_string();
        assert_eq!(error, "bad number of zipfian ranks 0; allowed: 1 to 9007199254740992");
        assert!(Zipf::new(MOST_RANKS + 1, 0.5).is_err());
    }
}
