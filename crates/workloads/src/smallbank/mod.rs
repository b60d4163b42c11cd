//! SmallBank (Alomari, Cahill, Fekete and Roehm, ICDE 2008): a bank's customers, each with a savings and a checking
//! account, and six short transactions on them.
//!
//! | transaction | share | what it does | rolls back by itself |
//! |---|---|---|---|
//! | Balance | 15 % | reads both accounts of a customer | |
//! | DepositChecking | 15 % | adds to a checking account | |
//! | TransactSavings | 15 % | adds to or takes from a savings account | if that would overdraw it |
//! | Amalgamate | 15 % | moves all that one customer has to another's checking account | |
//! | WriteCheck | 15 % | takes from a checking account, and 1.00 more if the customer's two do not cover it | |
//! | SendPayment | 25 % | moves from a checking account to another's | if the first does not hold it |
//!
//! These are H-Store's shares, kept by OLTP-Bench; `mix=original` are the paper's five transactions, without SendPayment
//! and as likely as each other. Every transaction first looks its customers up by name, as the paper's do: a name spells
//! the customer's number, so the plan knows the accounts before the look-up does.
//!
//! A transaction's customers are `hot` in a hundred times from the hot set, which is the first `hot-customers`, and
//! otherwise from the rest; 90 % on a thousand customers are the paper's. Within a set all are as likely.
//!
//! Amounts. H-Store's (`amounts=h-store`: deposits of 1.30, withdrawals of 20.20 from savings, checks and payments of 5.00)
//! drain the accounts: the longer a run, the more of it are rollbacks. By default deposits are of 5.00 as checks are, and
//! TransactSavings brings as often as it takes, so that what comes in and what goes out are about equal. Even so Amalgamate
//! gathers the money of the hot set in few hands, and rollbacks grow more frequent during the first transactions of a
//! customer before they settle.
//!
//! Money is counted in cents. Invariant: it only moves, but for what committed transactions brought in and took out, and
//! that each client adds up ([`SmallBankClient::brought_in`]); [`Audit`] counts the bank's money and compares.
//!
//! Locality. A customer's rows lie in the partition of the customer's number's remainder. By default nobody looks at that
//! (`remote=any`); with a percentage, a transaction's first customer is of the client's home partition, and the second, if
//! there is one, so often of another. Where a set has too few customers on one side, the other side makes up for it.

mod audit;
mod client;
mod customers;
mod parameters;
mod rows;
mod transaction;

pub use audit::{Audit, AuditTransaction, Auditor, Violation};
pub use client::SmallBankClient;
pub use transaction::SmallBankTransaction;

use crate::parameters::{ParameterError, Parameters, WorkloadDescription};
use contract::{Indexing, Key, PartitionFunction, RowLength, Seat, TableDescription, TableId, Workload};
use parameters::SmallBankParameters;
use rows::{Account, Balance};
use zerocopy::IntoBytes;

/// A customer's number by name.
const ACCOUNTS: TableId = TableId(0);
/// Balances by a customer's number.
const SAVINGS: TableId = TableId(1);
/// Balances by a customer's number.
const CHECKING: TableId = TableId(2);

/// SmallBank.
#[derive(Clone, Debug)]
pub struct SmallBank {
    parameters: SmallBankParameters,
}

impl SmallBank {
    /// Its name and its parameters.
    pub const DESCRIPTION: WorkloadDescription = SmallBankParameters::DESCRIPTION;

    /// The bank as `given` wants it.
    pub fn new(given: &Parameters) -> Result<Self, ParameterError> {
        Ok(SmallBank { parameters: SmallBankParameters::resolve(given)? })
    }

    /// Every parameter with its effective value.
    pub fn resolved(&self) -> Vec<(&'static str, String)> {
        self.parameters.resolved()
    }

    /// The cents that all accounts must hold together once `clients` have run over a fresh bank.
    pub fn expected_cents(&self, clients: &[SmallBankClient]) -> i64 {
        let accounts = [SAVINGS, CHECKING];
        let opened = (0..self.customers())
            .flat_map(|customer| accounts.map(|table| Balance::opened(table, customer).cents));
        opened.sum::<i64>() + clients.iter().map(SmallBankClient::brought_in).sum::<i64>()
    }

    /// A workload over the same tables that reads every account and checks the invariant.
    pub fn audit(&self) -> Audit<'_> {
        Audit::new(self)
    }

    fn customers(&self) -> u64 {
        self.parameters.customers.get()
    }
}

impl Workload for SmallBank {
    type Client = SmallBankClient;

    fn tables(&self) -> Vec<TableDescription> {
        let rows = self.customers();
        let table = |name, row_bytes| TableDescription {
            name,
            row_bytes,
            length: RowLength::Fixed,
            kept_bytes: row_bytes,
            rows,
            capacity: rows,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        };
        vec![
            // Nobody looks at the names behind the numbers.
            TableDescription { kept_bytes: size_of::<u64>(), ..table("accounts", size_of::<Account>()) },
            table("savings", size_of::<Balance>()),
            table("checking", size_of::<Balance>()),
        ]
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        match table {
            ACCOUNTS => row.copy_from_slice(Account::of(key.0).as_bytes()),
            _ => row.copy_from_slice(Balance::opened(table, key.0).as_bytes()),
        }
    }

    fn client(&self, seat: Seat) -> SmallBankClient {
        SmallBankClient::new(&self.parameters, seat)
    }
}
