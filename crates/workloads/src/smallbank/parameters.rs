//! What SmallBank can be asked to do.

use crate::parameters::{ParameterError, ParameterValue, Parameters, Percent, choice, count, parameters};
use std::fmt;

parameters! {
    /// SmallBank's parameters.
    SmallBankParameters, "smallbank", "six short transactions on customers' two accounts (Alomari et al., ICDE 2008)";
    /// Customers of the bank: rows in each of its three tables.
    "customers" customers: Customers = "1000000";
    /// Customers in the hot set: the first ones.
    "hot-customers" hot_customers: HotCustomers = "1000";
    /// Transactions on customers of the hot set, in percent.
    "hot" hot: Percent = "90";
    /// Shares of the transactions: H-Store's six, or the original five, all alike.
    "mix" mix: Mix = "h-store";
    /// What is moved: about as much in as out, or H-Store's amounts, which drain the accounts.
    "amounts" amounts: Amounts = "balanced";
    /// Second customers of other partitions, in percent, the first being of the client's; or any, for no locality.
    "remote" remote: Remote = "any";
}

count!(
    /// Customers of the bank. A second one for a payment is always found.
    Customers, 2 to 1_000_000_000
);
count!(
    /// Customers in the hot set.
    HotCustomers, 0 to 1_000_000_000
);
choice!(
    /// Shares of the transactions.
    Mix:
    /// Fifteen percent each, SendPayment twenty-five.
    HStore = "h-store",
    /// A fifth each, no SendPayment.
    Original = "original",
);
choice!(
    /// How much is moved.
    Amounts:
    /// As much comes in as goes out.
    Balanced = "balanced",
    /// More goes out.
    HStore = "h-store",
);

/// Where a transaction's customers come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Remote {
    /// The first from home, the second so often from elsewhere.
    Second(Percent),
    /// From anywhere.
    Any,
}

impl ParameterValue for Remote {
    const ALLOWED: &'static str = "a percentage from 0 to 100, or any";

    fn parse(text: &str) -> Option<Self> {
        if text == "any" { Some(Remote::Any) } else { Percent::parse(text).map(Remote::Second) }
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remote::Second(percent) => percent.fmt(f),
            Remote::Any => f.write_str("any"),
        }
    }
}

impl SmallBankParameters {
    /// Checked values that go together: a set that is drawn from has two customers.
    pub(super) fn resolve(given: &Parameters) -> Result<Self, ParameterError> {
        let parameters = SmallBankParameters::read(given)?;
        let SmallBankParameters { customers, hot_customers, hot, .. } = parameters;
        let conflict = |with, with_value: String, allowed| {
            Err(ParameterError::Conflict {
                parameter: "hot-customers",
                value: hot_customers.to_string(),
                with,
                with_value,
                allowed,
            })
        };
        if hot_customers.get() > customers.get() {
            return conflict(
                "customers",
                customers.to_string(),
                "at most as many hot customers as customers",
            );
        }
        if hot.0 > 0.0 && hot_customers.get() < 2 {
            return conflict("hot", hot.to_string(), "at least two hot customers, or hot=0");
        }
        if hot.0 < 100.0 && customers.get() - hot_customers.get() < 2 {
            return conflict(
                "customers",
                customers.to_string(),
                "at least two customers that are not hot, or hot=100",
            );
        }
        Ok(parameters)
    }
}
