//! Draws YCSB's transactions.

use super::parameters::{Distinct, Extent, Order, Split, Update, YcsbParameters};
use super::transaction::{Shape, YcsbTransaction};
use crate::random::{Chance, choose, generator};
use crate::touches::{Touch, Touches};
use crate::zipf::Zipf;
use contract::{Client, Seat};
use fastrand::Rng;

/// One worker's source of transactions. The keys drawn depend on neither the share of reads nor what is
/// touched.
#[derive(Clone, Debug)]
pub struct YcsbClient {
    rng: Rng,
    keys: Zipf,
    accesses: u64,
    write: Chance,
    /// Whether a transaction's accesses all do the same.
    uniform: bool,
    shape: Shape,
    /// What an access chooses from: the fields, or one whole row.
    parts: u32,
    order: Order,
    distinct: bool,
}

impl YcsbClient {
    pub(super) fn new(parameters: &YcsbParameters, keys: Zipf, seat: Seat) -> Self {
        let (parts, part_bytes) = match parameters.touch {
            Extent::Field => (parameters.fields.get() as u32, parameters.field_bytes.get() as usize),
            Extent::Row => (1, parameters.row_bytes()),
        };
        let writes = match parameters.split {
            Split::Access | Split::Transaction => 100.0 - parameters.reads.0,
            Split::Worker => percent_of_writers(seat, 100.0 - parameters.reads.0),
        };
        YcsbClient {
            rng: generator(seat),
            keys,
            accesses: parameters.accesses.get(),
            write: Chance::percent(writes),
            uniform: parameters.split == Split::Transaction,
            shape: Shape { part_bytes, blind: parameters.update == Update::Blind },
            parts,
            order: parameters.order,
            distinct: parameters.distinct == Distinct::Yes,
        }
    }

    #[inline]
    fn draw_key(&mut self, touches: &Touches) -> u64 {
        loop {
            let key = self.keys.draw(&mut self.rng);
            if !self.distinct || !touches.hold(key) {
                return key;
            }
        }
    }
}

impl Client for YcsbClient {
    type Procedure = YcsbTransaction;

    #[inline]
    fn next(&mut self) -> YcsbTransaction {
        let mut touches = Touches::new();
        let write = if self.uniform { self.write.settled(self.rng.u64(..)) } else { self.write };
        for _ in 0..self.accesses {
            let key = self.draw_key(&touches);
            let random = self.rng.u64(..);
            touches.push(Touch::new(key, choose(random, self.parts), write.happens(random)));
        }
        if self.order == Order::Key {
            touches.sort_by_key();
        }
        YcsbTransaction { touches, salt: self.rng.u64(..), shape: self.shape }
    }
}

/// All or nothing: the first workers update, as many as `percent` of them comes nearest to.
fn percent_of_writers(seat: Seat, percent: f64) -> f64 {
    let writers = (seat.workers as f64 * percent / 100.0).round() as usize;
    if seat.worker < writers { 100.0 } else { 0.0 }
}
