//! Draws a file's transactions.

use super::draws::Drawing;
use super::specification::{MOST_VARIABLES, Specification};
use super::transaction::DescribedTransaction;
use crate::alias::AliasTable;
use crate::random::generator;
use contract::{Client, Seat};

/// One worker's source of transactions.
#[derive(Clone, Debug)]
pub struct DescribedClient {
    specification: &'static Specification,
    kinds: AliasTable,
    drawing: Drawing,
    partitions: u32,
}

impl DescribedClient {
    pub(super) fn new(specification: &'static Specification, seat: Seat) -> Self {
        let weights: Vec<f64> = specification.kinds.iter().map(|kind| kind.weight).collect();
        DescribedClient {
            specification,
            kinds: AliasTable::new(&weights),
            drawing: Drawing::new(generator(seat), seat, &specification.tables),
            partitions: seat.partitions,
        }
    }
}

impl Client for DescribedClient {
    type Procedure = DescribedTransaction;

    fn kinds(&self) -> &'static [&'static str] {
        self.specification.names
    }

    #[inline]
    fn next(&mut self) -> DescribedTransaction {
        let kind = self.kinds.draw(self.drawing.random());
        let mut variables = [0; MOST_VARIABLES];
        self.drawing.draw(&self.specification.kinds[kind].draws, &mut variables);
        DescribedTransaction {
            specification: self.specification,
            kind,
            variables,
            partitions: self.partitions,
        }
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<DescribedTransaction> {
        DescribedTransaction::decode(self.specification, self.partitions, bytes)
    }
}
