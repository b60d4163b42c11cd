//! How often, and for how long, an aborted transaction is run again.

use std::time::Duration;

/// How often, and for how long, [`Database::transact`](crate::Database::transact) runs a transaction that is aborted. Between two attempts it backs off, for a
/// random time that grows; a transaction that was aborted very often goes before all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts at most, from 1; `None`: until it commits.
    pub attempts: Option<u32>,
    /// No attempt begins so long after the first; `None`: however long it takes.
    pub deadline: Option<Duration>,
}

impl RetryPolicy {
    /// Until it commits.
    pub const FOREVER: RetryPolicy = RetryPolicy { attempts: None, deadline: None };

    /// Only once.
    pub const ONCE: RetryPolicy = RetryPolicy::attempts(1);

    /// So often at most.
    pub const fn attempts(attempts: u32) -> RetryPolicy {
        RetryPolicy { attempts: Some(attempts), deadline: None }
    }

    /// For so long at most.
    pub const fn within(deadline: Duration) -> RetryPolicy {
        RetryPolicy { attempts: None, deadline: Some(deadline) }
    }

    /// Whether a transaction that has had so many attempts, the first of them so long ago, may have another.
    pub(crate) fn allows_another(self, attempts: u32, elapsed: impl FnOnce() -> Duration) -> bool {
        self.attempts.is_none_or(|most| attempts < most)
            && self.deadline.is_none_or(|deadline| elapsed() < deadline)
    }
}
