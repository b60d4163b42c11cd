//! Regions that have room to grow.

use machine::hardware::memory::{address_space_among, is_short};
use machine::hardware::region::Region;

#[test]
fn address_space_is_shared_out() {
    assert_eq!(address_space_among(1 << 20), 1 << 26);
    assert!(address_space_among(0) >= address_space_among(1 << 20));
}

#[test]
fn room_to_grow_costs_no_memory() {
    let region = Region::reserve(1 << 36).expect("64 GiB of address space");
    region.fault_in((1 << 36) - (1 << 20)..1 << 36);
    assert!(!is_short());
}
