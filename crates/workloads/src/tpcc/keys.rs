//! Keys: every primary key in 64 bits, its first part on top, so that numeric order is the order of the parts; and what the
//! two secondary indexes order by.
//!
//! | part | bits | values |
//! |---|---|---|
//! | warehouse | 16 | 1 to 65,535 |
//! | district | 4 | 1 to 10 |
//! | customer | 12 | 1 to 3,000 |
//! | order | 32 | 1 to 4,294,967,295 |
//! | order line | 4 | 1 to 15 |
//! | item | 17 | 1 to 100,000 |
//! | copy of the items | 16 | 0 to 65,534 |
//! | payment | 32 | 1 to 4,294,967,295 |

use contract::{Key, PartitionFunction, PartitionId};

const DISTRICT_BITS: u32 = 4;
const CUSTOMER_BITS: u32 = 12;
const ORDER_BITS: u32 = 32;
const LINE_BITS: u32 = 4;
const ITEM_BITS: u32 = 17;
const PAYMENT_BITS: u32 = 32;

const _: () = assert!(super::DISTRICTS < 1 << DISTRICT_BITS && super::CUSTOMERS < 1 << CUSTOMER_BITS);
const _: () = assert!(super::MOST_LINES < 1 << LINE_BITS && super::UNUSED_ITEM < 1 << ITEM_BITS);
const _: () = assert!(16 + DISTRICT_BITS + CUSTOMER_BITS + ORDER_BITS <= u64::BITS);

#[inline]
const fn join(upper: Key, bits: u32, lower: u32) -> Key {
    assert!(lower as u64 >> bits == 0);
    Key((upper.0 << bits) | lower as u64)
}

#[inline]
const fn split(key: Key, bits: u32) -> (Key, u32) {
    (Key(key.0 >> bits), (key.0 & ((1 << bits) - 1)) as u32)
}

/// A warehouse.
#[inline]
pub const fn warehouse(w_id: u32) -> Key {
    assert!(w_id >> 16 == 0);
    Key(w_id as u64)
}

/// A district of a warehouse.
#[inline]
pub const fn district(w_id: u32, d_id: u32) -> Key {
    join(warehouse(w_id), DISTRICT_BITS, d_id)
}

/// A customer of a district.
#[inline]
pub const fn customer(w_id: u32, d_id: u32, c_id: u32) -> Key {
    join(district(w_id, d_id), CUSTOMER_BITS, c_id)
}

/// An order of a district, delivered or not.
#[inline]
pub const fn order(w_id: u32, d_id: u32, o_id: u32) -> Key {
    join(district(w_id, d_id), ORDER_BITS, o_id)
}

/// A line of an order.
#[inline]
pub const fn order_line(w_id: u32, d_id: u32, o_id: u32, number: u32) -> Key {
    line_of(order(w_id, d_id, o_id), number)
}

/// The same of an order that is a key.
#[inline]
pub const fn line_of(order: Key, number: u32) -> Key {
    join(order, LINE_BITS, number)
}

/// The ends of the keys that an order's lines may have.
#[inline]
pub const fn lines_of(order: Key) -> [Key; 2] {
    [join(order, LINE_BITS, 0), join(order, LINE_BITS, (1 << LINE_BITS) - 1)]
}

/// An item in one of the copies, counted from 0.
#[inline]
pub const fn item(copy: u32, i_id: u32) -> Key {
    join(Key(copy as u64), ITEM_BITS, i_id)
}

/// A warehouse's stock of an item.
#[inline]
pub const fn stock(w_id: u32, i_id: u32) -> Key {
    join(warehouse(w_id), ITEM_BITS, i_id)
}

/// A customer's payment, counted from 1.
#[inline]
pub const fn history(w_id: u32, d_id: u32, c_id: u32, payment: u32) -> Key {
    join(customer(w_id, d_id, c_id), PAYMENT_BITS, payment)
}

/// The entry of an order in the index of orders by customer; the last of a customer's is the latest.
#[inline]
pub const fn order_of_customer(w_id: u32, d_id: u32, c_id: u32, o_id: u32) -> Key {
    join(customer(w_id, d_id, c_id), ORDER_BITS, o_id)
}

/// Warehouse and district.
pub const fn of_district(key: Key) -> (u32, u32) {
    let (warehouse, d_id) = split(key, DISTRICT_BITS);
    (warehouse.0 as u32, d_id)
}

/// Warehouse, district and customer.
pub const fn of_customer(key: Key) -> (u32, u32, u32) {
    let (district, c_id) = split(key, CUSTOMER_BITS);
    let (w_id, d_id) = of_district(district);
    (w_id, d_id, c_id)
}

/// Warehouse, district and order.
pub const fn of_order(key: Key) -> (u32, u32, u32) {
    let (district, o_id) = split(key, ORDER_BITS);
    let (w_id, d_id) = of_district(district);
    (w_id, d_id, o_id)
}

/// The order, and the line's number.
pub const fn of_order_line(key: Key) -> (Key, u32) {
    split(key, LINE_BITS)
}

/// The copy, and the item.
pub const fn of_item(key: Key) -> (u32, u32) {
    let (copy, i_id) = split(key, ITEM_BITS);
    (copy.0 as u32, i_id)
}

/// The warehouse, and the item.
pub const fn of_stock(key: Key) -> (u32, u32) {
    of_item(key)
}

/// The customer, and the number of the payment.
pub const fn of_history(key: Key) -> (Key, u32) {
    split(key, PAYMENT_BITS)
}

/// Warehouse, district, customer and order.
pub const fn of_order_of_customer(key: Key) -> (u32, u32, u32, u32) {
    let (customer, o_id) = split(key, ORDER_BITS);
    let (w_id, d_id, c_id) = of_customer(customer);
    (w_id, d_id, c_id, o_id)
}

/// Bytes of an entry of the index of customers by name.
pub const NAME_KEY_BYTES: usize = 2 + 1 + 16 + 16 + 2;

/// The entry of a customer in the index by warehouse, district, last name, first name and number: compared as bytes, entries
/// are in that order. Names are filled up with zeros, which come before every letter.
#[inline]
pub fn customer_by_name(
    w_id: u32,
    d_id: u32,
    last: &[u8; 16],
    first: &[u8; 16],
    c_id: u32,
) -> [u8; NAME_KEY_BYTES] {
    let mut key = [0; NAME_KEY_BYTES];
    key[..2].copy_from_slice(&(w_id as u16).to_be_bytes());
    key[2] = d_id as u8;
    key[3..19].copy_from_slice(last);
    key[19..35].copy_from_slice(first);
    key[35..].copy_from_slice(&(c_id as u16).to_be_bytes());
    key
}

/// The least and the greatest entry that customers of a last name may have.
#[inline]
pub fn customers_named(w_id: u32, d_id: u32, last: &[u8; 16]) -> [[u8; NAME_KEY_BYTES]; 2] {
    let bound = |byte, c_id| customer_by_name(w_id, d_id, last, &[byte; 16], c_id);
    [bound(0, 0), bound(u8::MAX, u32::from(u16::MAX))]
}

/// Warehouse 1 is in the first partition.
#[inline]
pub fn partition_of_warehouse(key: Key, partitions: u32) -> PartitionId {
    PartitionFunction::Remainder.of(Key(key.0 - 1), partitions)
}

/// With its warehouse.
#[inline]
pub fn partition_of_district(key: Key, partitions: u32) -> PartitionId {
    partition_of_warehouse(split(key, DISTRICT_BITS).0, partitions)
}

/// With its warehouse.
#[inline]
pub fn partition_of_customer(key: Key, partitions: u32) -> PartitionId {
    partition_of_district(split(key, CUSTOMER_BITS).0, partitions)
}

/// With its customer's warehouse.
#[inline]
pub fn partition_of_history(key: Key, partitions: u32) -> PartitionId {
    partition_of_customer(split(key, PAYMENT_BITS).0, partitions)
}

/// With its warehouse.
#[inline]
pub fn partition_of_order(key: Key, partitions: u32) -> PartitionId {
    partition_of_district(split(key, ORDER_BITS).0, partitions)
}

/// With its warehouse.
#[inline]
pub fn partition_of_order_line(key: Key, partitions: u32) -> PartitionId {
    partition_of_order(split(key, LINE_BITS).0, partitions)
}

/// An entry of the index of customers by name begins with its warehouse.
#[inline]
pub fn partition_of_name(prefix: Key, partitions: u32) -> PartitionId {
    partition_of_warehouse(Key(prefix.0 >> 48), partitions)
}

/// The first copy is in the first partition, as the first warehouse is.
#[inline]
pub fn partition_of_item(key: Key, partitions: u32) -> PartitionId {
    PartitionFunction::Remainder.of(split(key, ITEM_BITS).0, partitions)
}

/// With its warehouse.
#[inline]
pub fn partition_of_stock(key: Key, partitions: u32) -> PartitionId {
    partition_of_warehouse(split(key, ITEM_BITS).0, partitions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert_eq, proptest};

    /// Names are as `names` and `text` make them: letters and digits, then zeros.
    fn padded(name: &str) -> [u8; 16] {
        let mut padded = [0; 16];
        padded[..name.len()].copy_from_slice(name.as_bytes());
        padded
    }

    type Parts = (u32, u32, u32, u32, u32);

    proptest! {
        #[test]
        fn numeric_order_is_the_order_of_the_parts(
            one in (1..65_536u32, 1..11u32, 1..3_001u32, 1..=u32::MAX, 1..16u32),
            two in (1..65_536u32, 1..11u32, 1..3_001u32, 1..=u32::MAX, 1..16u32),
            tied in 0..4usize,
        ) {
            // Often the first parts are equal, so that the later ones decide.
            let mut two = two;
            if tied > 0 { two.0 = one.0; }
            if tied > 1 { two.1 = one.1; }
            if tied > 2 { two.2 = one.2; two.3 = one.3; }
            let both = |key: fn(Parts) -> Key| (key(one), key(two));
            let ((w, d, c, o, l), (w2, d2, c2, o2, l2)) = (one, two);
            let (a, b) = both(|(w, d, ..)| district(w, d));
            prop_assert_eq!(a.cmp(&b), (w, d).cmp(&(w2, d2)));
            let (a, b) = both(|(w, d, c, ..)| customer(w, d, c));
            prop_assert_eq!(a.cmp(&b), (w, d, c).cmp(&(w2, d2, c2)));
            let (a, b) = both(|(w, d, _, o, _)| order(w, d, o));
            prop_assert_eq!(a.cmp(&b), (w, d, o).cmp(&(w2, d2, o2)));
            let (a, b) = both(|(w, d, _, o, l)| order_line(w, d, o, l));
            prop_assert_eq!(a.cmp(&b), (w, d, o, l).cmp(&(w2, d2, o2, l2)));
            let (a, b) = both(|(w, d, c, o, _)| order_of_customer(w, d, c, o));
            prop_assert_eq!(a.cmp(&b), (w, d, c, o).cmp(&(w2, d2, c2, o2)));
            let (a, b) = both(|(w, d, c, o, _)| history(w, d, c, o));
            prop_assert_eq!(a.cmp(&b), (w, d, c, o).cmp(&(w2, d2, c2, o2)));
            let (a, b) = both(|(w, _, c, ..)| stock(w, c));
            prop_assert_eq!(a.cmp(&b), (w, c).cmp(&(w2, c2)));
        }

        #[test]
        fn keys_come_apart_again_and_stay_with_their_warehouse(
            (w, d, c, o, l) in (1..65_536u32, 1..11u32, 1..3_001u32, 1..=u32::MAX, 1..16u32),
            i in 1..100_002u32, partitions in 1..1_025u32,
        ) {
            prop_assert_eq!(of_district(district(w, d)), (w, d));
            prop_assert_eq!(of_customer(customer(w, d, c)), (w, d, c));
            prop_assert_eq!(of_order(order(w, d, o)), (w, d, o));
            prop_assert_eq!(of_order_line(order_line(w, d, o, l)), (order(w, d, o), l));
            prop_assert_eq!(of_stock(stock(w, i)), (w, i));
            prop_assert_eq!(of_item(item(c, i)), (c, i));
            prop_assert_eq!(of_history(history(w, d, c, o)), (customer(w, d, c), o));
            prop_assert_eq!(of_order_of_customer(order_of_customer(w, d, c, o)), (w, d, c, o));

            let home = partition_of_warehouse(warehouse(w), partitions);
            prop_assert_eq!(home, PartitionId((w - 1) % partitions));
            prop_assert_eq!(partition_of_district(district(w, d), partitions), home);
            prop_assert_eq!(partition_of_customer(customer(w, d, c), partitions), home);
            prop_assert_eq!(partition_of_history(history(w, d, c, o), partitions), home);
            prop_assert_eq!(partition_of_order(order(w, d, o), partitions), home);
            prop_assert_eq!(partition_of_order_line(order_line(w, d, o, l), partitions), home);
            prop_assert_eq!(partition_of_stock(stock(w, i), partitions), home);
            prop_assert_eq!(partition_of_history(order_of_customer(w, d, c, o), partitions), home);
            let name = customer_by_name(w, d, &[b'A'; 16], &[b'B'; 16], c);
            prop_assert_eq!(partition_of_name(Key::prefix_of(&name), partitions), home);
            prop_assert_eq!(partition_of_item(item(w - 1, i), partitions), home);
        }

        #[test]
        fn entries_by_name_are_in_the_order_of_their_parts(
            (w, d, c) in (1..4u32, 1..3u32, 1..3_001u32), (w2, d2, c2) in (1..4u32, 1..3u32, 1..3_001u32),
            last in "[A-C]{1,3}", last2 in "[A-C]{1,3}", first in "[a-b]{1,3}", first2 in "[a-b]{1,3}",
        ) {
            let entry = |w, d, c, last: &str, first: &str| customer_by_name(w, d, &padded(last), &padded(first), c);
            let (one, two) = (entry(w, d, c, &last, &first), entry(w2, d2, c2, &last2, &first2));
            prop_assert_eq!(one.cmp(&two), (w, d, &last, &first, c).cmp(&(w2, d2, &last2, &first2, c2)));
            let [least, greatest] = customers_named(w2, d2, &padded(&last2));
            prop_assert_eq!((least..=greatest).contains(&one), (w, d, &last) == (w2, d2, &last2));
        }
    }
}
