//! Draws the customers of a transaction from the hot set or from the others, and from the client's home or from elsewhere.

use super::parameters::{Remote, SmallBankParameters};
use crate::locality::Rows;
use crate::random::Chance;
use contract::Seat;
use fastrand::Rng;

/// The customers, seen from a client's seat.
#[derive(Clone, Copy, Debug)]
pub(super) struct Customers {
    hot: Circle,
    others: Circle,
    is_hot: Chance,
}

impl Customers {
    pub(super) fn new(parameters: &SmallBankParameters, seat: Seat) -> Self {
        let (hot, all) = (parameters.hot_customers.get(), parameters.customers.get());
        let circle = |rows| Circle {
            rows,
            remote: match parameters.remote {
                Remote::Any => None,
                Remote::Second(percent) => Some(Chance::percent(percent.0)),
            },
        };
        Customers {
            hot: circle(Rows::new(0, hot, seat)),
            others: circle(Rows::new(hot, all, seat)),
            is_hot: Chance::percent(parameters.hot.0),
        }
    }

    /// The set that all of a transaction's customers come from.
    #[inline]
    pub(super) fn circle(&self, rng: &mut Rng) -> Circle {
        if self.is_hot.happens(rng.u64(..)) { self.hot } else { self.others }
    }
}

/// One of the two sets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circle {
    rows: Rows,
    /// How often a second customer is remote; `None`: nobody looks where customers are.
    remote: Option<Chance>,
}

impl Circle {
    #[inline]
    pub(super) fn first(&self, rng: &mut Rng) -> u64 {
        match self.remote {
            None => self.rows.draw(rng),
            Some(_) if self.rows.local() > 0 => self.rows.draw_local(rng),
            Some(_) => self.rows.draw_remote(rng),
        }
    }

    /// Another than `first`. There is one: every set has two.
    #[inline]
    pub(super) fn second(&self, first: u64, rng: &mut Rng) -> u64 {
        // One customer at home is the first, so that the second is from elsewhere.
        let is_remote = self.remote.map(|chance| {
            let wanted = chance.happens(rng.u64(..)) && self.rows.remote() > 0;
            wanted || self.rows.local() < 2
        });
        loop {
            let second = match is_remote {
                None => self.rows.draw(rng),
                Some(true) => self.rows.draw_remote(rng),
                Some(false) => self.rows.draw_local(rng),
            };
            if second != first {
                return second;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Chance, Circle, Rows};
    use contract::Seat;
    use fastrand::Rng;
    use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        /// Every set of two or more gives two, on the sides that are asked for where they have them.
        #[test]
        fn two_customers_are_always_found(
            first in 0..9u64, customers in 2..40u64, partitions in 1..50u32, worker in 0..50usize, remote in 0..3,
        ) {
            let seat = Seat::new(worker, 50, 1).over(partitions);
            let rows = Rows::new(first, first + customers, seat);
            let remote = [None, Some(Chance::percent(0.0)), Some(Chance::percent(100.0))][remote as usize];
            let circle = Circle { rows, remote };
            let is_home = |customer: u64| customer % u64::from(partitions) == u64::from(seat.home().0);
            let mut rng = Rng::with_seed(customers);
            for _ in 0..20 {
                let one = circle.first(&mut rng);
                let other = circle.second(one, &mut rng);
                prop_assert!(one != other);
                prop_assert!((first..first + customers).contains(&one) && (first..first + customers).contains(&other));
                if let Some(chance) = remote {
                    prop_assert_eq!(is_home(one), rows.local() > 0);
                    let wanted = chance.happens(0) && rows.remote() > 0;
                    prop_assert_eq!(is_home(other), !wanted && rows.local() > 1);
                }
            }
        }
    }
}
