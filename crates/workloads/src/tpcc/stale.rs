//! What cannot be, unless something that was read before is stale.
//!
//! An order that an index or NEW-ORDER names has a row and lines, and the number that a district's row gives is nobody's
//! else. A protocol that lets a transaction go on from what it has not validated yet may show the one before and the other
//! after another transaction's commit. It will not let it commit, so it is over now.

use contract::{Abort, AbortReason, Insertion, Presence};

/// What must be there.
#[inline]
pub(super) fn present<R>(found: Option<R>) -> Result<R, Abort> {
    found.ok_or(Abort(AbortReason::ReadValidation))
}

/// A row that must be there.
#[inline]
pub(super) fn found(presence: Presence) -> Result<(), Abort> {
    match presence {
        Presence::Present => Ok(()),
        Presence::Missing => Err(Abort(AbortReason::ReadValidation)),
    }
}

/// A row that must not have been there.
#[inline]
pub(super) fn added(insertion: Insertion) -> Result<(), Abort> {
    match insertion {
        Insertion::Inserted => Ok(()),
        Insertion::Exists => Err(Abort(AbortReason::ReadValidation)),
    }
}
