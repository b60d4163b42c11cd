//! Which accesses, facilities and forwardings subscribers have.
//!
//! The standard gives a quarter of the subscribers one access each, a quarter two, three and four; facilities likewise,
//! independently; and a quarter of the facilities no forwarding, one, two and three. Types and start times are distinct and
//! drawn at random. Here the quarters are exact in every group: four subscribers have one, two, three and four accesses in
//! a random order, and the twenty facilities of eight subscribers have zero to three forwardings, five facilities each. So
//! the number of rows is known without counting, and a row's key is found by a walk through its group. Of a last group that
//! is not whole there are the first subscribers.

use super::keys::{self, START_STEP, START_TIMES, TYPES};
use crate::random::mix;
use contract::Key;
use fastrand::Rng;

/// Subscribers of a group of accesses or facilities.
const TYPED_GROUP: u64 = 4;
/// Accesses, or facilities, of such a group.
const TYPED_ROWS: u64 = 1 + 2 + 3 + 4;
/// Subscribers of a group of forwardings.
const FORWARDING_GROUP: u64 = 8;
/// Facilities of such a group.
const FORWARDING_FACILITIES: usize = 20;
/// Forwardings of such a group.
const FORWARDING_ROWS: u64 = 30;

const _: () = assert!(FORWARDING_GROUP / TYPED_GROUP * TYPED_ROWS == FORWARDING_FACILITIES as u64);
const _: () = assert!(FORWARDING_FACILITIES as u64 / 4 * (1 + 2 + 3) == FORWARDING_ROWS);

/// What is drawn, so that one draw knows nothing of another.
#[derive(Clone, Copy)]
enum Drawn {
    AccessCounts = 1,
    AccessTypes,
    FacilityCounts,
    FacilityTypes,
    ForwardingCounts,
    StartTimes,
}

fn generator(drawn: Drawn, of: u64) -> Rng {
    Rng::with_seed(mix(of.wrapping_mul(8).wrapping_add(drawn as u64)))
}

/// Rows of accesses of so many subscribers.
pub(super) fn accesses(subscribers: u64) -> u64 {
    typed_rows(subscribers, access_types)
}

/// Rows of facilities of so many subscribers.
pub(super) fn facilities(subscribers: u64) -> u64 {
    typed_rows(subscribers, facility_types)
}

/// Rows of forwardings of so many subscribers.
pub(super) fn forwardings(subscribers: u64) -> u64 {
    let whole = subscribers / FORWARDING_GROUP;
    let rest = whole * FORWARDING_GROUP + 1..=subscribers;
    whole * FORWARDING_ROWS + rest.map(|s_id| forwardings_of(s_id).count() as u64).sum::<u64>()
}

/// The key of access `row`.
pub(super) fn access_key(row: u64) -> Key {
    typed_key(row, access_types)
}

/// The key of facility `row`.
pub(super) fn facility_key(row: u64) -> Key {
    typed_key(row, facility_types)
}

/// The key of forwarding `row`.
pub(super) fn forwarding_key(row: u64) -> Key {
    let first = row / FORWARDING_ROWS * FORWARDING_GROUP + 1;
    let mut group = (first..first + FORWARDING_GROUP).flat_map(forwardings_of);
    group.nth((row % FORWARDING_ROWS) as usize).expect("a group has its rows")
}

fn typed_rows(subscribers: u64, types: fn(u64) -> Few) -> u64 {
    let whole = subscribers / TYPED_GROUP;
    let rest = whole * TYPED_GROUP + 1..=subscribers;
    whole * TYPED_ROWS + rest.map(|s_id| types(s_id).count() as u64).sum::<u64>()
}

fn typed_key(row: u64, types: fn(u64) -> Few) -> Key {
    let first = row / TYPED_ROWS * TYPED_GROUP + 1;
    let of_subscriber = |s_id| types(s_id).map(move |nth| keys::typed(s_id, nth + 1));
    let mut group = (first..first + TYPED_GROUP).flat_map(of_subscriber);
    group.nth((row % TYPED_ROWS) as usize).expect("a group has its rows")
}

/// Distinct small numbers, ascending.
struct Few {
    /// Bit n: n is among them.
    bits: u64,
}

impl Few {
    /// `count` of `0..of`, at random.
    fn draw(count: u64, of: u64, mut rng: Rng) -> Self {
        let mut bits = 0u64;
        while u64::from(bits.count_ones()) < count {
            bits |= 1 << rng.u64(0..of);
        }
        Few { bits }
    }
}

impl Iterator for Few {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.bits == 0 {
            return None;
        }
        let least = u64::from(self.bits.trailing_zeros());
        self.bits &= self.bits - 1;
        Some(least)
    }
}

/// Types of a subscriber's accesses, less one.
fn access_types(s_id: u64) -> Few {
    types(s_id, Drawn::AccessCounts, Drawn::AccessTypes)
}

/// Types of a subscriber's facilities, less one.
fn facility_types(s_id: u64) -> Few {
    types(s_id, Drawn::FacilityCounts, Drawn::FacilityTypes)
}

fn types(s_id: u64, counts: Drawn, types: Drawn) -> Few {
    let mut count = [1, 2, 3, 4];
    generator(counts, (s_id - 1) / TYPED_GROUP).shuffle(&mut count);
    Few::draw(count[((s_id - 1) % TYPED_GROUP) as usize], TYPES, generator(types, s_id))
}

/// A subscriber's forwardings.
fn forwardings_of(s_id: u64) -> impl Iterator<Item = Key> {
    let group = (s_id - 1) / FORWARDING_GROUP;
    let mut counts: [u64; FORWARDING_FACILITIES] = std::array::from_fn(|nth| nth as u64 % 4);
    generator(Drawn::ForwardingCounts, group).shuffle(&mut counts);
    let before = (group * FORWARDING_GROUP + 1..s_id).map(|s_id| facility_types(s_id).count()).sum();
    facility_types(s_id).zip(counts.into_iter().skip(before)).flat_map(move |(nth, count)| {
        let sf_type = nth + 1;
        let start_times = generator(Drawn::StartTimes, keys::typed(s_id, sf_type).0);
        let times = Few::draw(count, START_TIMES, start_times);
        times.map(move |time| keys::forwarding(s_id, sf_type, time * START_STEP))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rows_are_the_subscribers_own_in_order() {
        for subscribers in [1, 3, 4, 7, 8, 100, 1001] {
            type Table = (fn(u64) -> u64, fn(u64) -> Key, fn(Key) -> u64);
            let tables: [Table; 3] = [
                (accesses, access_key, |key| keys::of_typed(key).0),
                (facilities, facility_key, |key| keys::of_typed(key).0),
                (forwardings, forwarding_key, |key| keys::of_forwarding(key).0),
            ];
            for (rows, key, subscriber) in tables {
                let all: Vec<Key> = (0..rows(subscribers)).map(key).collect();
                assert!(all.is_sorted_by(|one, next| one < next), "distinct and ascending");
                assert!(all.iter().all(|key| (1..=subscribers).contains(&subscriber(*key))));
                let next = subscriber(key(rows(subscribers)));
                assert!(next > subscribers, "the next row is another subscriber's");
            }
        }
    }

    #[test]
    fn a_forwarding_belongs_to_a_facility() {
        let facilities: BTreeSet<Key> = (0..facilities(800)).map(facility_key).collect();
        for key in (0..forwardings(800)).map(forwarding_key) {
            let (s_id, sf_type, _) = keys::of_forwarding(key);
            assert!(facilities.contains(&keys::typed(s_id, sf_type)));
        }
    }
}
