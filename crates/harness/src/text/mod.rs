//! How numbers, durations and dates are written for people: the same in tables, in the report and in messages.

pub mod dates;
pub mod durations;
pub mod numbers;
