//! SmallBank's six transactions.

use super::rows::{Account, Balance};
use super::{ACCOUNTS, CHECKING, SAVINGS};
use contract::{Abort, Access, Key, Outcome, Plan, Procedure, Span, TableId, Transaction, TransactionExt};
use std::cell::Cell;
use std::hint::black_box;

/// What an overdraft costs, in cents.
const PENALTY_CENTS: i64 = 1_00;

/// Which of the six.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Balance,
    DepositChecking,
    TransactSavings,
    Amalgamate,
    WriteCheck,
    SendPayment,
}

impl Kind {
    pub(super) const ALL: [Kind; 6] = [
        Kind::Balance,
        Kind::DepositChecking,
        Kind::TransactSavings,
        Kind::Amalgamate,
        Kind::WriteCheck,
        Kind::SendPayment,
    ];

    /// Their names in results, in that order.
    pub(super) const NAMES: [&str; 6] =
        ["balance", "deposit-checking", "transact-savings", "amalgamate", "write-check", "send-payment"];

    /// Whether there is a second customer.
    #[inline]
    pub(super) fn has_second(self) -> bool {
        matches!(self, Kind::Amalgamate | Kind::SendPayment)
    }

    /// What it does with the first customer's savings and checking accounts.
    fn accesses(self) -> [Option<Access>; 2] {
        use Access::{Read, Write};
        match self {
            Kind::Balance => [Some(Read), Some(Read)],
            Kind::DepositChecking | Kind::SendPayment => [None, Some(Write)],
            Kind::TransactSavings => [Some(Write), None],
            Kind::Amalgamate => [Some(Write), Some(Write)],
            Kind::WriteCheck => [Some(Read), Some(Write)],
        }
    }
}

/// One of the six transactions, with its customers and its amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallBankTransaction {
    kind: Kind,
    /// Their numbers, which their names spell; the second is another than the first if there is one.
    first: u64,
    second: u64,
    cents: i64,
    /// Cents that its last run brought into the bank; negative if it took some out.
    brought_in: Cell<i64>,
}

impl SmallBankTransaction {
    #[inline]
    pub(super) fn new(kind: Kind, first: u64, second: u64, cents: i64) -> Self {
        SmallBankTransaction { kind, first, second, cents, brought_in: Cell::new(0) }
    }

    #[inline]
    pub(super) fn brought_in(&self) -> i64 {
        self.brought_in.get()
    }

    fn balance<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let customer = look_up(txn, self.first)?;
        let savings = read(txn, SAVINGS, customer)?;
        let checking = read(txn, CHECKING, customer)?;
        black_box(savings.wrapping_add(checking));
        Ok(Outcome::Commit)
    }

    fn deposit_checking<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let customer = look_up(txn, self.first)?;
        change(txn, CHECKING, customer, |balance| balance.add(self.cents))?;
        self.brought_in.set(self.cents);
        Ok(Outcome::Commit)
    }

    /// Changes first and looks then, so that rolling back has something to undo.
    fn transact_savings<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let customer = look_up(txn, self.first)?;
        let left = change(txn, SAVINGS, customer, |balance| balance.add(self.cents))?;
        self.brought_in.set(self.cents);
        Ok(if left < 0 { Outcome::Rollback } else { Outcome::Commit })
    }

    fn amalgamate<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let from = look_up(txn, self.first)?;
        let to = look_up(txn, self.second)?;
        let savings = change(txn, SAVINGS, from, Balance::empty)?;
        let checking = change(txn, CHECKING, from, Balance::empty)?;
        change(txn, CHECKING, to, |balance| balance.add(savings.wrapping_add(checking)))?;
        Ok(Outcome::Commit)
    }

    fn write_check<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let customer = look_up(txn, self.first)?;
        let savings = read(txn, SAVINGS, customer)?;
        let taken = change(txn, CHECKING, customer, |checking| {
            let is_covered = savings.wrapping_add(checking.cents) >= self.cents;
            let taken = if is_covered { self.cents } else { self.cents + PENALTY_CENTS };
            checking.add(-taken);
            taken
        })?;
        self.brought_in.set(-taken);
        Ok(Outcome::Commit)
    }

    fn send_payment<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let from = look_up(txn, self.first)?;
        let to = look_up(txn, self.second)?;
        if change(txn, CHECKING, from, |balance| balance.add(-self.cents))? < 0 {
            return Ok(Outcome::Rollback);
        }
        change(txn, CHECKING, to, |balance| balance.add(self.cents))?;
        Ok(Outcome::Commit)
    }
}

/// The customer's number, by name.
fn look_up<T: Transaction + ?Sized>(txn: &mut T, name: u64) -> Result<u64, Abort> {
    let offset = std::mem::offset_of!(Account, customer);
    let customer = txn.read_at(ACCOUNTS, Key(name), offset, |customer: &u64| *customer)?;
    Ok(customer.expect("customers never leave the bank"))
}

fn read<T: Transaction + ?Sized>(txn: &mut T, table: TableId, customer: u64) -> Result<i64, Abort> {
    let cents = txn.read_row(table, Key(customer), |balance: &Balance| balance.cents)?;
    Ok(cents.expect("a customer has both accounts"))
}

fn change<T: Transaction + ?Sized>(
    txn: &mut T,
    table: TableId,
    customer: u64,
    change: impl FnOnce(&mut Balance) -> i64,
) -> Result<i64, Abort> {
    Ok(txn.update_row(table, Key(customer), change)?.expect("a customer has both accounts"))
}

impl Procedure for SmallBankTransaction {
    #[inline]
    fn kind(&self) -> usize {
        self.kind as usize
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        match self.kind {
            Kind::Balance => self.balance(txn),
            Kind::DepositChecking => self.deposit_checking(txn),
            Kind::TransactSavings => self.transact_savings(txn),
            Kind::Amalgamate => self.amalgamate(txn),
            Kind::WriteCheck => self.write_check(txn),
            Kind::SendPayment => self.send_payment(txn),
        }
    }

    /// The names say which accounts it will be.
    fn plan<T: Transaction + ?Sized>(&self, _txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        let mut look_up =
            |name| plan.touch(ACCOUNTS, Key(name), Span::new(0, size_of::<u64>()), Access::Read);
        look_up(self.first);
        if self.kind.has_second() {
            look_up(self.second);
        }
        let mut touch = |table, customer, access| {
            plan.touch(table, Key(customer), Span::whole(size_of::<Balance>()), access);
        };
        for (table, access) in [SAVINGS, CHECKING].into_iter().zip(self.kind.accesses()) {
            access.into_iter().for_each(|access| touch(table, self.first, access));
        }
        if self.kind.has_second() {
            touch(CHECKING, self.second, Access::Write);
        }
        Ok(())
    }

    fn reads_snapshot(&self) -> bool {
        self.kind == Kind::Balance
    }
}

const _: () = assert!(std::mem::offset_of!(Account, customer) == 0, "the plan names the first eight bytes");
