//! Draws SmallBank's transactions, and keeps the bank's books of what came in and what went out.

use super::customers::Customers;
use super::parameters::{Amounts, Mix, SmallBankParameters};
use super::transaction::{Kind, SmallBankTransaction};
use crate::alias::AliasTable;
use crate::random::{Chance, generator};
use contract::telling::{tell, told};
use contract::{Client, Completion, Outcome, Seat};
use fastrand::Rng;

/// One worker's source of transactions.
#[derive(Clone, Debug)]
pub struct SmallBankClient {
    rng: Rng,
    kinds: AliasTable,
    customers: Customers,
    deposit_cents: i64,
    /// How often TransactSavings brings money.
    saves: Chance,
    brought_in: i64,
}

impl SmallBankClient {
    pub(super) fn new(parameters: &SmallBankParameters, seat: Seat) -> Self {
        let shares = match parameters.mix {
            Mix::HStore => Kind::ALL.map(|kind| if kind == Kind::SendPayment { 25.0 } else { 15.0 }),
            Mix::Original => Kind::ALL.map(|kind| if kind == Kind::SendPayment { 0.0 } else { 20.0 }),
        };
        let (deposit_cents, saves) = match parameters.amounts {
            Amounts::Balanced => (5_00, Chance::percent(50.0)),
            Amounts::HStore => (1_30, Chance::percent(0.0)),
        };
        SmallBankClient {
            rng: generator(seat),
            kinds: AliasTable::new(&shares),
            customers: Customers::new(parameters, seat),
            deposit_cents,
            saves,
            brought_in: 0,
        }
    }

    /// Cents that the committed transactions brought into the bank, less those that they took out of it.
    pub fn brought_in(&self) -> i64 {
        self.brought_in
    }

    #[inline]
    fn cents(&mut self, kind: Kind) -> i64 {
        match kind {
            Kind::Balance | Kind::Amalgamate => 0,
            Kind::DepositChecking => self.deposit_cents,
            Kind::TransactSavings if self.saves.happens(self.rng.u64(..)) => 20_20,
            Kind::TransactSavings => -20_20,
            Kind::WriteCheck | Kind::SendPayment => 5_00,
        }
    }
}

impl Client for SmallBankClient {
    type Procedure = SmallBankTransaction;

    fn kinds(&self) -> &'static [&'static str] {
        &Kind::NAMES
    }

    #[inline]
    fn next(&mut self) -> SmallBankTransaction {
        let kind = Kind::ALL[self.kinds.draw(self.rng.u64(..))];
        let circle = self.customers.circle(&mut self.rng);
        let first = circle.first(&mut self.rng);
        let second = if kind.has_second() { circle.second(first, &mut self.rng) } else { first };
        SmallBankTransaction::new(kind, first, second, self.cents(kind))
    }

    #[inline]
    fn finished(&mut self, transaction: SmallBankTransaction, completion: &Completion<'_>) {
        if completion.outcome == Outcome::Commit {
            self.brought_in += transaction.brought_in();
        }
    }

    fn tell(&self, into: &mut Vec<u8>) {
        tell(&self.brought_in, into);
    }

    fn hear(&mut self, heard: &[u8]) -> Option<()> {
        self.brought_in = told(heard)?;
        Some(())
    }
}
