//! The microbenchmark's row and its transaction.

use super::TABLE;
use crate::touches::Touches;
use contract::{Abort, Key, Outcome, Plan, Procedure, Span, TableId, Transaction, TransactionExt};
use std::hint::black_box;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Attributes of a row.
pub(super) const ATTRIBUTES: usize = 10;

/// Ten integers. Attribute `i` starts as the key plus `i` and grows with every update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Row {
    attributes: [u64; ATTRIBUTES],
}

const _: () = assert!(size_of::<Row>() == 80);

impl Row {
    /// The row as it is loaded.
    pub(super) fn loaded(key: Key) -> Self {
        Row { attributes: std::array::from_fn(|place| key.0.wrapping_add(place as u64)) }
    }

    /// The sum of the attributes.
    #[inline]
    pub(super) fn sum(&self) -> u64 {
        self.attributes.iter().fold(0, |sum, attribute| sum.wrapping_add(*attribute))
    }

    /// The update: one more in every attribute.
    #[inline]
    pub(super) fn grow(&mut self) {
        for attribute in &mut self.attributes {
            *attribute = attribute.wrapping_add(1);
        }
    }

    /// Whether every attribute has grown as often as the first.
    pub(super) fn is_whole(&self) -> bool {
        (0..ATTRIBUTES).all(|place| self.attributes[place].wrapping_sub(self.attributes[0]) == place as u64)
    }
}

/// Reads and updates of the rows that it was drawn with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MicroTransaction {
    pub(super) touches: Touches,
}

impl Procedure for MicroTransaction {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        for touch in self.touches.as_slice() {
            let found = if touch.writes() {
                txn.update_row(TABLE, touch.key(), Row::grow)?
            } else {
                txn.read_row(TABLE, touch.key(), |row: &Row| {
                    black_box(row.sum());
                })?
            };
            assert!(found.is_some(), "row {} was loaded and is never deleted", touch.key().0);
        }
        Ok(Outcome::Commit)
    }

    fn plan<T: Transaction + ?Sized>(&self, _txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        for touch in self.touches.as_slice() {
            plan.touch(TABLE, touch.key(), Span::whole(size_of::<Row>()), touch.access());
        }
        Ok(())
    }

    fn runs_in_fragments(&self, at: &mut dyn FnMut(TableId, Key)) -> bool {
        self.touches.as_slice().iter().for_each(|touch| at(TABLE, touch.key()));
        true
    }

    fn encode(&self, into: &mut Vec<u8>) {
        self.touches.encode(into);
    }
}
