//! A lock to read is granted although an earlier one to write is held: dirty reads, and reads of different moments.

use crate::protocol::Rules;

pub(crate) enum PassedLocks {}

impl Rules for PassedLocks {
    const READERS_WAIT: bool = false;
}
