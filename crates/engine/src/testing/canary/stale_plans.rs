//! A transaction reads what it has not locked, because its plan was out of date, and does not notice.

use crate::protocol::Rules;

pub(crate) enum StalePlans {}

impl Rules for StalePlans {
    const NOTICES_UNPLANNED: bool = false;
}
