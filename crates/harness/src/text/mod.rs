//! How numbers, durations, dates and systems' names are written for people: the same in tables, in the report and in messages.

pub mod dates;
pub mod durations;
pub mod names;
pub mod numbers;
