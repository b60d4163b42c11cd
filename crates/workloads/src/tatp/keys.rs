//! Composite keys in 64 bits, subscriber on top: numeric order is the order of the parts, and a shift gives the
//! subscriber, by which every table is partitioned.

use contract::{Key, PartitionFunction, PartitionId};

/// Types of accesses, and of facilities: 1 to 4.
pub(super) const TYPES: u64 = 4;
/// Start times of forwardings: 0, 8 and 16.
pub(super) const START_TIMES: u64 = 3;
/// Hours between start times.
pub(super) const START_STEP: u64 = 8;

const TYPE_BITS: u32 = 2;
const START_BITS: u32 = 2;

/// A subscriber, or a number.
#[inline]
pub(super) fn subscriber(s_id: u64) -> Key {
    Key(s_id)
}

/// An access or a facility. `of_type` is 1 to 4.
#[inline]
pub(super) fn typed(s_id: u64, of_type: u64) -> Key {
    assert!((1..=TYPES).contains(&of_type));
    Key((s_id << TYPE_BITS) | (of_type - 1))
}

/// A forwarding. `start_time` is 0, 8 or 16.
#[inline]
pub(super) fn forwarding(s_id: u64, sf_type: u64, start_time: u64) -> Key {
    assert!(start_time.is_multiple_of(START_STEP) && start_time / START_STEP < START_TIMES);
    Key((typed(s_id, sf_type).0 << START_BITS) | (start_time / START_STEP))
}

/// The subscriber and the type of an access or a facility.
pub(super) fn of_typed(key: Key) -> (u64, u64) {
    (key.0 >> TYPE_BITS, key.0 % TYPES + 1)
}

/// The subscriber, the type and the start time of a forwarding.
pub(super) fn of_forwarding(key: Key) -> (u64, u64, u64) {
    let (s_id, sf_type) = of_typed(Key(key.0 >> START_BITS));
    (s_id, sf_type, key.0 % (1 << START_BITS) * START_STEP)
}

#[inline]
pub(super) fn partition_of_subscriber(key: Key, partitions: u32) -> PartitionId {
    PartitionFunction::Remainder.of(key, partitions)
}

#[inline]
pub(super) fn partition_of_typed(key: Key, partitions: u32) -> PartitionId {
    partition_of_subscriber(Key(key.0 >> TYPE_BITS), partitions)
}

#[inline]
pub(super) fn partition_of_forwarding(key: Key, partitions: u32) -> PartitionId {
    partition_of_subscriber(Key(key.0 >> (TYPE_BITS + START_BITS)), partitions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_their_parts_and_stay_with_their_subscriber() {
        let mut last = Key(0);
        for s_id in 1..100 {
            for of_type in 1..=TYPES {
                let facility = typed(s_id, of_type);
                assert_eq!(of_typed(facility), (s_id, of_type));
                for start_time in [0, 8, 16] {
                    let key = forwarding(s_id, of_type, start_time);
                    assert_eq!(of_forwarding(key), (s_id, of_type, start_time));
                    assert!(key > last, "{key:?}");
                    last = key;
                    for partitions in [1, 2, 7, 72] {
                        let home = partition_of_subscriber(subscriber(s_id), partitions);
                        assert_eq!(partition_of_typed(facility, partitions), home);
                        assert_eq!(partition_of_forwarding(key, partitions), home);
                    }
                }
            }
        }
    }
}
