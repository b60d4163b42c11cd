//! Draws TATP's transactions.

use super::keys::{START_STEP, START_TIMES, TYPES};
use super::parameters::TatpParameters;
use super::subscribers::Subscribers;
use super::transaction::{Kind, TatpTransaction};
use crate::alias::AliasTable;
use crate::random::generator;
use contract::{Client, Seat};
use fastrand::Rng;

/// One worker's source of transactions.
#[derive(Clone, Debug)]
pub struct TatpClient {
    rng: Rng,
    kinds: AliasTable,
    subscribers: Subscribers,
}

impl TatpClient {
    pub(super) fn new(parameters: &TatpParameters, seat: Seat) -> Self {
        TatpClient {
            rng: generator(seat),
            kinds: AliasTable::new(&Kind::ALL.map(Kind::percent)),
            subscribers: Subscribers::new(parameters, seat),
        }
    }
}

impl Client for TatpClient {
    type Procedure = TatpTransaction;

    fn kinds(&self) -> &'static [&'static str] {
        &Kind::NAMES
    }

    /// Draws all arguments, whichever transaction it is: what they are does not depend on the mix.
    #[inline]
    fn next(&mut self) -> TatpTransaction {
        let rng = &mut self.rng;
        TatpTransaction {
            kind: Kind::ALL[self.kinds.draw(rng.u64(..))],
            subscriber: self.subscribers.draw(rng),
            of_type: rng.u8(1..=TYPES as u8),
            start_time: rng.u8(0..START_TIMES as u8) * START_STEP as u8,
            end_time: rng.u8(1..=24),
            value: rng.u64(..),
        }
    }
}
