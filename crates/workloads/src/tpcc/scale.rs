//! How large a warehouse is. The standard has one size (clauses 1.2.1, 4.3.3), and it is the default; a smaller one is for
//! machines that cannot hold it, simulated ones above all. *thousand-cores* 5.6 reduced its 1,024 warehouses to 26 MB each for
//! the same reason, which "does not affect our measurements because the number of tuples accessed by each transaction is
//! independent of the database size".
//!
//! Two numbers are free, and the others follow as the standard relates them:
//!
//! | | standard | of `items` and `customers` |
//! |---|---|---|
//! | items, and stocks of a warehouse | 100,000 | `items` |
//! | customers of a district | 3,000 | `customers` |
//! | its orders, one a customer | 3,000 | `customers` |
//! | those not yet delivered, the last 30 % | 900 | `customers` x 3 / 10, rounded up |
//! | its order lines, ten an order | 30,000 | 10 x `customers` |
//! | last names | 1,000 | 1,000, or `customers` where they are fewer |
//! | year-to-date of a district, what its customers paid | 30,000.00 | 10.00 x `customers` |
//!
//! What a smaller size changes: fewer items meet more often, and more of a warehouse stays in the caches. What it does not:
//! the rows that a transaction touches, and the contended ones, which are the warehouses and the districts. Inputs stay as
//! uneven as they were (`nurand`).

use super::names;
use super::parameters::TpccParameters;

/// The standard's items, each in every warehouse's stock; no scale has more.
pub const ITEMS: u32 = 100_000;
/// The standard's customers of a district; no scale has more.
pub const CUSTOMERS: u32 = 3_000;

/// Lines that an order has, in the mean.
const LINES_OF_AN_ORDER: u32 = 10;

/// How large a warehouse is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    items: u32,
    customers: u32,
}

impl Scale {
    /// Clause 1.2.1.
    pub const STANDARD: Scale = Scale { items: ITEMS, customers: CUSTOMERS };

    pub(super) fn of(parameters: &TpccParameters) -> Self {
        Scale { items: parameters.items.get() as u32, customers: parameters.customers.get() as u32 }
    }

    /// Items on sale.
    pub const fn items(self) -> u32 {
        self.items
    }

    /// Customers of a district.
    pub const fn customers(self) -> u32 {
        self.customers
    }

    /// Orders that a district is loaded with: one a customer.
    pub const fn orders(self) -> u32 {
        self.customers
    }

    /// The first order that is loaded undelivered.
    pub const fn first_new_order(self) -> u32 {
        self.orders() * 7 / 10 + 1
    }

    /// Lines that a district is loaded with.
    pub const fn lines(self) -> u32 {
        LINES_OF_AN_ORDER * self.orders()
    }

    /// Last names of customers: with fewer customers than names, each has a name alone.
    pub const fn last_names(self) -> u32 {
        if self.customers < names::LAST_NAMES { self.customers } else { names::LAST_NAMES }
    }
}

#[cfg(test)]
mod tests {
    use super::Scale;

    #[test]
    fn the_standard_has_its_numbers() {
        let standard = Scale::STANDARD;
        assert_eq!((standard.items(), standard.customers(), standard.orders()), (100_000, 3_000, 3_000));
        assert_eq!(
            (standard.first_new_order(), standard.lines(), standard.last_names()),
            (2_101, 30_000, 1_000)
        );
    }

    #[test]
    fn the_least_has_orders_of_both_kinds() {
        let least = Scale { items: 10, customers: 10 };
        assert_eq!(
            (least.orders(), least.first_new_order(), least.lines(), least.last_names()),
            (10, 8, 100, 10)
        );
    }
}
