//! YCSB's transaction: reads and updates of single fields or whole rows.

use super::{TABLE, text};
use crate::touches::Touches;
use contract::{Abort, Outcome, Plan, Presence, Procedure, Span, Transaction};
use std::hint::black_box;

/// What an access does to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Bytes that an access touches: of a field, or of the row.
    pub(super) part_bytes: usize,
    /// Whether updates write without reading.
    pub(super) blind: bool,
}

impl Shape {
    #[inline]
    fn span(self, part: usize) -> Span {
        Span::new(part * self.part_bytes, self.part_bytes)
    }
}

/// Accesses to the rows that it was drawn with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YcsbTransaction {
    pub(super) touches: Touches,
    /// Decides what updates write.
    pub(super) salt: u64,
    pub(super) shape: Shape,
}

impl Procedure for YcsbTransaction {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        for touch in self.touches.as_slice() {
            let (key, span) = (touch.key(), self.shape.span(touch.field()));
            let presence = if !touch.writes() {
                txn.read(TABLE, key, span, &mut |bytes| {
                    black_box(text::digest(bytes));
                })?
            } else if self.shape.blind {
                txn.write(
                    TABLE,
                    key,
                    span.start(),
                    text::excerpt(self.salt.wrapping_add(key.0), span.length()),
                )?
            } else {
                txn.update(TABLE, key, span, &mut |bytes| text::alter(bytes, self.salt))?
            };
            assert!(presence == Presence::Present, "row {} was loaded and is never deleted", key.0);
        }
        Ok(Outcome::Commit)
    }

    fn plan<T: Transaction + ?Sized>(&self, _look: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        for touch in self.touches.as_slice() {
            plan.touch(TABLE, touch.key(), self.shape.span(touch.field()), touch.access());
        }
        Ok(())
    }
}
