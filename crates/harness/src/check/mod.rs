//! A checked run: every transaction writes down what it saw and wrote, and the checker judges it afterwards.
//!
//! The run is made as a measured one is, through the same engine and the same procedures; only the rows are 16
//! bytes longer and every transaction keeps a log, so its speed says nothing. Some workloads are made for checks:
//! `membership`, whose keys come and go, `list-append`, whose values tell their own history, and the scenarios, small
//! plays by the anomalies' names that must end as in some serial order.

mod borrowed;
pub mod defaults;
pub mod exploration;
pub mod happened;
mod recorded;
mod summary;
mod trial;
mod workload;

pub(crate) use borrowed::Borrowed;
pub use happened::Conclusion;
pub use recorded::Recorded;
pub use summary::{CheckSummary, SCHEMA};
pub use trial::{Outcome, Trial};
pub use workload::{CheckWorkload, Own};

use crate::failure::Failure;
use crate::options::BadValue;
use crate::text::numbers::counted;
use history::{MOST_TRANSACTIONS, MOST_WORKERS};

/// Refuses a checked run that its history could not hold; `workers` host transactions.
pub fn admit(workers: usize, transactions: u64) -> Result<(), Failure> {
    let most = u64::from(MOST_TRANSACTIONS).saturating_mul(workers as u64);
    if workers > MOST_WORKERS {
        let allowed = format!("1 <= workers <= {MOST_WORKERS} in a check");
        return Err(BadValue::new("workers", workers, allowed).into());
    }
    if !(1..=most).contains(&transactions) {
        let allowed = format!("1 <= transactions <= {most} with {}", counted(workers, "worker"));
        return Err(BadValue::new("transactions", transactions, allowed).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_that_cannot_be_held_is_refused() {
        let refused = admit(1, 0).expect_err("none").to_string();
        assert!(refused.starts_with("--transactions 0: allowed: 1 <= transactions <= "), "{refused}");
        assert!(admit(MOST_WORKERS + 1, 1).is_err());
        assert!(admit(1, u64::MAX).is_err());
        assert!(admit(2, 100_000).is_ok());
    }
}
