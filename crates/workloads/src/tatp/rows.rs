//! The columns of the four tables, and what they are loaded with.

use super::{ACCESS_INFO, CALL_FORWARDING, NUMBER, SPECIAL_FACILITY, SUBSCRIBER, keys};
use crate::random::mix;
use contract::{Key, TableId};
use fastrand::Rng;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Digits of a telephone number.
pub(super) const DIGITS: usize = 15;

/// A subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Subscriber {
    pub(super) s_id: u64,
    pub(super) msc_location: u32,
    pub(super) vlr_location: u32,
    pub(super) sub_nbr: [u8; DIGITS],
    /// 0 or 1.
    pub(super) bit: [u8; 10],
    /// 0 to 15.
    pub(super) hex: [u8; 10],
    pub(super) byte2: [u8; 10],
    unused: [u8; 3],
}

/// One of a subscriber's ways of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct AccessInfo {
    pub(super) s_id: u64,
    pub(super) ai_type: u8,
    pub(super) data1: u8,
    pub(super) data2: u8,
    pub(super) data3: [u8; 3],
    pub(super) data4: [u8; 5],
    unused: [u8; 5],
}

/// One of a subscriber's services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct SpecialFacility {
    pub(super) s_id: u64,
    pub(super) sf_type: u8,
    /// 0 or 1.
    pub(super) is_active: u8,
    pub(super) error_cntrl: u8,
    pub(super) data_a: u8,
    pub(super) data_b: [u8; 5],
    unused: [u8; 7],
}

/// Where calls of a facility go for some hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct CallForwarding {
    pub(super) s_id: u64,
    pub(super) sf_type: u8,
    /// 0, 8 or 16.
    pub(super) start_time: u8,
    /// 1 to 24.
    pub(super) end_time: u8,
    pub(super) numberx: [u8; DIGITS],
    unused: [u8; 6],
}

impl Subscriber {
    fn loaded(s_id: u64, rng: &mut Rng) -> Self {
        Subscriber {
            s_id,
            msc_location: rng.u32(1..),
            vlr_location: rng.u32(1..),
            sub_nbr: digits(s_id),
            bit: std::array::from_fn(|_| rng.u8(0..=1)),
            hex: std::array::from_fn(|_| rng.u8(0..=15)),
            byte2: std::array::from_fn(|_| rng.u8(..)),
            unused: [0; 3],
        }
    }
}

impl AccessInfo {
    fn loaded(key: Key, rng: &mut Rng) -> Self {
        let (s_id, ai_type) = keys::of_typed(key);
        AccessInfo {
            s_id,
            ai_type: ai_type as u8,
            data1: rng.u8(..),
            data2: rng.u8(..),
            data3: letters(rng),
            data4: letters(rng),
            unused: [0; 5],
        }
    }
}

impl SpecialFacility {
    fn loaded(key: Key, rng: &mut Rng) -> Self {
        let (s_id, sf_type) = keys::of_typed(key);
        SpecialFacility {
            s_id,
            sf_type: sf_type as u8,
            is_active: u8::from(rng.u8(0..100) < 85),
            error_cntrl: rng.u8(..),
            data_a: rng.u8(..),
            data_b: letters(rng),
            unused: [0; 7],
        }
    }
}

impl CallForwarding {
    fn loaded(key: Key, rng: &mut Rng) -> Self {
        let (s_id, sf_type, start_time) = keys::of_forwarding(key);
        let end_time = start_time + rng.u64(1..=keys::START_STEP);
        CallForwarding::new(s_id, sf_type, start_time, end_time, rng.u64(..))
    }

    /// Calls go to a number that `number` decides.
    pub(super) fn new(s_id: u64, sf_type: u64, start_time: u64, end_time: u64, number: u64) -> Self {
        CallForwarding {
            s_id,
            sf_type: sf_type as u8,
            start_time: start_time as u8,
            end_time: end_time as u8,
            numberx: digits(number),
            unused: [0; 6],
        }
    }
}

/// Writes the row as it is loaded.
pub(super) fn fill(table: TableId, key: Key, row: &mut [u8]) {
    let rng = &mut Rng::with_seed(mix(mix(key.0).wrapping_add(u64::from(table.0))));
    match table {
        SUBSCRIBER => row.copy_from_slice(Subscriber::loaded(key.0, rng).as_bytes()),
        NUMBER => row.copy_from_slice(key.0.as_bytes()),
        ACCESS_INFO => row.copy_from_slice(AccessInfo::loaded(key, rng).as_bytes()),
        SPECIAL_FACILITY => row.copy_from_slice(SpecialFacility::loaded(key, rng).as_bytes()),
        CALL_FORWARDING => row.copy_from_slice(CallForwarding::loaded(key, rng).as_bytes()),
        TableId(other) => unreachable!("table {other} of five"),
    }
}

/// The last fifteen digits of `number`, zeros in front.
fn digits(mut number: u64) -> [u8; DIGITS] {
    let mut digits = [0; DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    digits
}

fn letters<const COUNT: usize>(rng: &mut Rng) -> [u8; COUNT] {
    std::array::from_fn(|_| rng.u8(b'A'..=b'Z'))
}
