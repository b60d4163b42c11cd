//! The orders that a district is loaded with: whose each is, and how many lines it has.
//!
//! Customers. `o_c_id` is a permutation of the district's customers (clause 4.3.3.1). It is worked out for one order at a
//! time: a four-round Feistel network permutes the numbers of 12 bits, and is applied again where it leads out of the
//! customers (Black and Rogaway, *Ciphers with Arbitrary Finite Domains*, 2002).
//!
//! Lines. The standard draws 5 to 15 for each order. Here eleven orders have 5 to 15, each once and in random order, and the
//! last eight of a district 6 to 9 and 11 to 14. So a district has [`LINES`] exactly, the ten an order that the standard
//! expects, and a row's place tells its order.

use super::{CUSTOMERS, LINES, ORDERS, keys};
use crate::random::mix;
use contract::Key;
use fastrand::Rng;

/// Orders that have 5 to 15 lines between them.
const GROUP: u32 = 11;
/// Lines of such a group.
const GROUP_LINES: u32 = 110;
/// Lines of the orders of the last group, which is not whole.
const LAST_GROUP: [u8; 8] = [6, 7, 8, 9, 11, 12, 13, 14];
const WHOLE_GROUPS: u32 = ORDERS / GROUP;

const _: () = assert!(ORDERS == CUSTOMERS, "every customer has one order");
const _: () = assert!(ORDERS % GROUP == LAST_GROUP.len() as u32);
const _: () = assert!(WHOLE_GROUPS * GROUP_LINES + 80 == LINES, "the last group has ten lines an order, too");

/// Half of the bits of a customer's number.
const HALF_BITS: u32 = 6;

/// The customer of an order.
pub(super) fn customer(w_id: u32, d_id: u32, o_id: u32) -> u32 {
    let district = keys::district(w_id, d_id);
    let mut number = o_id - 1;
    loop {
        number = permute(district, number);
        if number < CUSTOMERS {
            return number + 1;
        }
    }
}

/// A permutation of `0..4096`, another for every district.
fn permute(district: Key, number: u32) -> u32 {
    let half = (1 << HALF_BITS) - 1;
    let (mut left, mut right) = (number >> HALF_BITS, number & half);
    for round in 0..4 {
        let mixed = mix(mix(district.0).wrapping_add(u64::from(right << 2 | round)));
        (left, right) = (right, left ^ (mixed as u32 & half));
    }
    left << HALF_BITS | right
}

/// The number of lines of an order.
pub(super) fn lines(w_id: u32, d_id: u32, o_id: u32) -> u8 {
    let (group, place) = ((o_id - 1) / GROUP, (o_id - 1) % GROUP);
    group_lines(w_id, d_id, group)[place as usize]
}

/// The order and the number of a district's `nth` line.
pub(super) fn line(w_id: u32, d_id: u32, nth: u32) -> (u32, u32) {
    let (group, mut left) = (nth / GROUP_LINES, nth % GROUP_LINES);
    let mut o_id = group * GROUP + 1;
    for lines in group_lines(w_id, d_id, group) {
        if left < u32::from(lines) {
            break;
        }
        left -= u32::from(lines);
        o_id += 1;
    }
    (o_id, left + 1)
}

/// The numbers of lines of a group; zeros where it is not whole.
fn group_lines(w_id: u32, d_id: u32, group: u32) -> [u8; GROUP as usize] {
    let mut rng = Rng::with_seed(mix(keys::order(w_id, d_id, group).0));
    let mut lines = [0; GROUP as usize];
    if group < WHOLE_GROUPS {
        lines = std::array::from_fn(|nth| nth as u8 + 5);
        rng.shuffle(&mut lines);
    } else {
        lines[..LAST_GROUP.len()].copy_from_slice(&LAST_GROUP);
        rng.shuffle(&mut lines[..LAST_GROUP.len()]);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_customer_has_one_order() {
        let of = |w_id, d_id| (1..=ORDERS).map(|o_id| customer(w_id, d_id, o_id)).collect::<Vec<_>>();
        for d_id in 1..=10 {
            assert_eq!(of(7, d_id).into_iter().collect::<BTreeSet<_>>(), (1..=CUSTOMERS).collect());
        }
        let same = of(7, 1).iter().zip(of(7, 2)).filter(|(one, other)| **one == *other).count();
        assert!(same < 10, "{same} of 3000 agree between districts");
        let fixed = of(7, 1).iter().zip(1..).filter(|(customer, order)| **customer == *order).count();
        assert!(fixed < 10, "{fixed} of 3000 stay where they were");
    }

    #[test]
    fn lines_are_those_of_the_orders_one_after_the_other() {
        let mut nth = 0;
        for o_id in 1..=ORDERS {
            let lines = u32::from(lines(3, 4, o_id));
            assert!((5..=15).contains(&lines));
            for number in 1..=lines {
                assert_eq!(line(3, 4, nth), (o_id, number));
                nth += 1;
            }
        }
        assert_eq!(nth, LINES);
    }

    #[test]
    fn every_number_of_lines_is_as_likely() {
        let mut counts = [0; 16];
        (1..=ORDERS).for_each(|o_id| counts[usize::from(lines(1, 1, o_id))] += 1);
        assert!(counts[5..].iter().all(|count| (272..=273).contains(count)), "{counts:?}");
        let first: BTreeSet<u8> = (1..=10).map(|d_id| lines(1, d_id, 1)).collect();
        assert!(first.len() > 3, "districts differ: {first:?}");
    }
}
