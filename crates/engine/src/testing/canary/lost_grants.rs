//! A release grants locks to those who wait for them and tells none of them: they wait for ever. No history shows it, for the run does not end,
//! which the watchdog tells.

use crate::protocol::Rules;

pub(crate) enum LostGrants {}

impl Rules for LostGrants {
    const TELLS_WHO_WAITED: bool = false;
}
