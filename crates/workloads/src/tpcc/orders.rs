//! The orders that a district is loaded with: whose each is, and how many lines it has.
//!
//! Customers. `o_c_id` is a permutation of the district's customers (clause 4.3.3.1). It is worked out for one order at a
//! time: a four-round Feistel network permutes the numbers of 12 bits, and is applied again where it leads out of the
//! customers (Black and Rogaway, *Ciphers with Arbitrary Finite Domains*, 2002). Of fewer customers it permutes fewer bits.
//!
//! Lines. The standard draws 5 to 15 for each order. Here eleven orders have 5 to 15, each once and in random order, and the
//! last ones of a district, fewer than eleven, those next to ten: of the standard's 3,000 orders the last eight have 6 to 9
//! and 11 to 14. So a district has [`Scale::lines`] exactly, the ten an order that the standard expects, and a row's place
//! tells its order.

use super::{Scale, keys};
use crate::random::mix;
use contract::Key;
use fastrand::Rng;

/// Orders that have 5 to 15 lines between them.
const GROUP: u32 = 11;
/// Lines of such a group.
const GROUP_LINES: u32 = 110;

/// The customer of an order.
pub(super) fn customer(scale: Scale, w_id: u32, d_id: u32, o_id: u32) -> u32 {
    let (district, half_bits) = (keys::district(w_id, d_id), half_bits(scale.customers()));
    let mut number = o_id - 1;
    loop {
        number = permute(district, half_bits, number);
        if number < scale.customers() {
            return number + 1;
        }
    }
}

/// Half of the bits of a customer's number.
fn half_bits(customers: u32) -> u32 {
    customers.next_power_of_two().ilog2().div_ceil(2)
}

/// A permutation of the numbers of twice as many bits, another for every district.
fn permute(district: Key, half_bits: u32, number: u32) -> u32 {
    let half = (1 << half_bits) - 1;
    let (mut left, mut right) = (number >> half_bits, number & half);
    for round in 0..4 {
        let mixed = mix(mix(district.0).wrapping_add(u64::from(right << 2 | round)));
        (left, right) = (right, left ^ (mixed as u32 & half));
    }
    left << half_bits | right
}

/// The number of lines of an order.
pub(super) fn lines(scale: Scale, w_id: u32, d_id: u32, o_id: u32) -> u8 {
    let (group, place) = ((o_id - 1) / GROUP, (o_id - 1) % GROUP);
    group_lines(scale, w_id, d_id, group)[place as usize]
}

/// The order and the number of a district's `nth` line.
pub(super) fn line(scale: Scale, w_id: u32, d_id: u32, nth: u32) -> (u32, u32) {
    let (group, mut left) = (nth / GROUP_LINES, nth % GROUP_LINES);
    let mut o_id = group * GROUP + 1;
    for lines in group_lines(scale, w_id, d_id, group) {
        if left < u32::from(lines) {
            break;
        }
        left -= u32::from(lines);
        o_id += 1;
    }
    (o_id, left + 1)
}

/// The numbers of lines of a group; zeros where it is not whole.
fn group_lines(scale: Scale, w_id: u32, d_id: u32, group: u32) -> [u8; GROUP as usize] {
    let mut rng = Rng::with_seed(mix(keys::order(w_id, d_id, group).0));
    let mut lines = [0; GROUP as usize];
    let orders = (scale.orders() - group * GROUP).min(GROUP) as usize;
    next_to_ten(&mut lines[..orders]);
    rng.shuffle(&mut lines[..orders]);
    lines
}

/// Ten in the mean, no two alike: as many above ten as below, and ten itself if they are odd.
fn next_to_ten(lines: &mut [u8]) {
    let (count, half) = (lines.len(), lines.len() / 2);
    for (nth, lines) in lines.iter_mut().enumerate() {
        let skipped = usize::from(count % 2 == 0 && nth >= half);
        *lines = (10 - half + nth + skipped) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameters;
    use crate::tpcc::Tpcc;
    use std::collections::BTreeSet;

    const STANDARD: Scale = Scale::STANDARD;

    fn of(customers: u32) -> Scale {
        let given: Parameters = [("customers", customers.to_string())].into_iter().collect();
        Tpcc::new(&given).expect("allowed").scale()
    }

    #[test]
    fn every_customer_has_one_order() {
        let of_district = |scale: Scale, w_id, d_id| {
            (1..=scale.orders()).map(|o_id| customer(scale, w_id, d_id, o_id)).collect::<Vec<_>>()
        };
        for scale in [STANDARD, of(10), of(16), of(17), of(100), of(999), of(2048)] {
            for d_id in 1..=10 {
                let customers: BTreeSet<u32> = of_district(scale, 7, d_id).into_iter().collect();
                assert_eq!(customers, (1..=scale.customers()).collect(), "{scale:?}");
            }
        }
        let of = |w_id, d_id| of_district(STANDARD, w_id, d_id);
        let same = of(7, 1).iter().zip(of(7, 2)).filter(|(one, other)| **one == *other).count();
        assert!(same < 10, "{same} of 3000 agree between districts");
        let fixed = of(7, 1).iter().zip(1..).filter(|(customer, order)| **customer == *order).count();
        assert!(fixed < 10, "{fixed} of 3000 stay where they were");
    }

    /// Whatever is left of the orders behind the groups of eleven.
    #[test]
    fn lines_are_those_of_the_orders_one_after_the_other() {
        for scale in (22..33).map(of).chain([STANDARD, of(10)]) {
            let mut nth = 0;
            for o_id in 1..=scale.orders() {
                let lines = u32::from(lines(scale, 3, 4, o_id));
                assert!((5..=15).contains(&lines), "{scale:?}");
                for number in 1..=lines {
                    assert_eq!(line(scale, 3, 4, nth), (o_id, number), "{scale:?}");
                    nth += 1;
                }
            }
            assert_eq!(nth, scale.lines());
        }
    }

    #[test]
    fn every_number_of_lines_is_as_likely() {
        let mut counts = [0; 16];
        (1..=STANDARD.orders()).for_each(|o_id| counts[usize::from(lines(STANDARD, 1, 1, o_id))] += 1);
        assert!(counts[5..].iter().all(|count| (272..=273).contains(count)), "{counts:?}");
        let first: BTreeSet<u8> = (1..=10).map(|d_id| lines(STANDARD, 1, d_id, 1)).collect();
        assert!(first.len() > 3, "districts differ: {first:?}");
    }

    #[test]
    fn a_group_is_next_to_ten() {
        let of = |count: usize| {
            let mut lines = vec![0; count];
            next_to_ten(&mut lines);
            lines
        };
        assert_eq!(of(11), (5..=15).collect::<Vec<u8>>());
        assert_eq!(of(8), [6, 7, 8, 9, 11, 12, 13, 14], "the last of the standard's");
        assert_eq!((of(1), of(2), of(3)), (vec![10], vec![9, 11], vec![9, 10, 11]));
    }
}
