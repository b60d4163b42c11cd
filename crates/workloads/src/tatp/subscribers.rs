//! Draws subscribers: `(rnd(0..=A) | rnd(1..=P)) % P + 1`, or evenly.

use super::parameters::{Distribution, Origin, TatpParameters};
use crate::locality::Rows;
use contract::Seat;
use fastrand::Rng;

/// The subscribers that a client draws from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subscribers {
    rows: Rows,
    /// Whether only those of the home partition are drawn.
    home: bool,
    /// How many there are to draw from: the standard's P.
    many: u64,
    /// The standard's A; 0 draws evenly.
    mask: u64,
}

impl Subscribers {
    pub(super) fn new(parameters: &TatpParameters, seat: Seat) -> Self {
        let subscribers = parameters.subscribers.get();
        let rows = Rows::new(1, subscribers + 1, seat);
        let home = parameters.from == Origin::Home && rows.local() > 0;
        let many = if home { rows.local() } else { subscribers };
        let mask = match parameters.distribution {
            Distribution::NonUniform => mask(many),
            Distribution::Uniform => 0,
        };
        Subscribers { rows, home, many, mask }
    }

    /// An `s_id`.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        let nth = (rng.u64(0..=self.mask) | rng.u64(1..=self.many)) % self.many;
        if self.home { self.rows.local_row(nth) } else { nth + 1 }
    }
}

/// The standard's A for so many subscribers.
fn mask(subscribers: u64) -> u64 {
    match subscribers {
        0..=1_000_000 => 65_535,
        1_000_001..=10_000_000 => 1_048_575,
        _ => 2_097_151,
    }
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn the_mask_has_three_steps() {
        let at = [1, 1_000_000, 1_000_001, 10_000_000, 10_000_001].map(mask);
        assert_eq!(at, [65_535, 65_535, 1_048_575, 1_048_575, 2_097_151]);
    }
}
