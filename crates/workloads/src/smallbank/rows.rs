//! What the bank writes down: names and balances.

use crate::random::mix;
use contract::TableId;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The least that an account is opened with, in cents.
const LEAST_CENTS: i64 = 1_000_000;
/// The most that an account is opened with, in cents.
const MOST_CENTS: i64 = 5_000_000;

/// A customer's number under the customer's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Account {
    pub(super) customer: u64,
    pub(super) name: [u8; 64],
}

impl Account {
    /// The customer's number, spelt, is the name.
    pub(super) fn of(customer: u64) -> Self {
        let mut name = [b'0'; 64];
        let mut rest = customer;
        for digit in name.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        Account { customer, name }
    }
}

/// A savings or a checking account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Balance {
    pub(super) customer: u64,
    pub(super) cents: i64,
}

impl Balance {
    /// As it is loaded: from 10,000.00 to 50,000.00, as if drawn.
    pub(super) fn opened(table: TableId, customer: u64) -> Self {
        let random = mix(customer.wrapping_mul(4).wrapping_add(u64::from(table.0)));
        let choices = (MOST_CENTS - LEAST_CENTS + 1) as u64;
        Balance { customer, cents: LEAST_CENTS + (random % choices) as i64 }
    }

    /// Adds `cents`, or takes them; answers what is there then. Wraps, for what an optimistic protocol shows may be of two
    /// times at once.
    #[inline]
    pub(super) fn add(&mut self, cents: i64) -> i64 {
        self.cents = self.cents.wrapping_add(cents);
        self.cents
    }

    /// Takes everything; answers what that was.
    #[inline]
    pub(super) fn empty(&mut self) -> i64 {
        std::mem::take(&mut self.cents)
    }
}

#[cfg(test)]
mod tests {
    use super::{Account, Balance, LEAST_CENTS, MOST_CENTS};
    use contract::TableId;

    #[test]
    fn names_spell_numbers() {
        let name = Account::of(1_203).name;
        assert_eq!(name[60..], *b"1203");
        assert!(name[..60].iter().all(|digit| *digit == b'0'));
    }

    #[test]
    fn accounts_are_opened_with_what_h_store_says() {
        let cents = |table| (0..10_000).map(move |customer| Balance::opened(TableId(table), customer).cents);
        for table in [1, 2] {
            assert!(cents(table).all(|cents| (LEAST_CENTS..=MOST_CENTS).contains(&cents)));
            let mean = cents(table).sum::<i64>() / 10_000;
            assert!((2_950_000..3_050_000).contains(&mean), "{mean}");
        }
        assert!(cents(1).zip(cents(2)).filter(|(savings, checking)| savings == checking).count() < 3);
    }
}
