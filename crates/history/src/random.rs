//! The random numbers of this crate's own workloads: a seed and a seat decide all that a client draws.

use contract::Seat;
use fastrand::Rng;

/// The generator of the client at `seat`.
pub(crate) fn generator(seat: Seat) -> Rng {
    Rng::with_seed(seat.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seat.worker as u64))
}
