//! Ranges that are only read are not locked, and the transactions that scan them do not miss that: phantoms.

use crate::protocol::Rules;

pub(crate) enum UnlockedRanges {}

impl Rules for UnlockedRanges {
    const LOCKS_RANGES: bool = false;
}
