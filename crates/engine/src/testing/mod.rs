//! What the engine is tested and measured by, and never runs on: apart from what it tests.
//!
//! | file | what |
//! |---|---|
//! | [`canary`] | protocols with one step removed, which the checker must reject |
//! | `sequential`, `sequential_gaps` | every protocol as a sequential machine: all interleavings of a few transactions |
//! | `sequential_claiming` | HEKATON likewise, with steps of its own |
//! | `sequential_single` | KEY_VALUE likewise: all interleavings of three operations |
//! | `accounts` | a workload for systems that are not of the matrix |
//! | `broken_off` | transactions that panic while they install |
//! | `interleaved` | shared-everything in fibers: an architecture that is none of the matrix |
//! | `watchdog` | protocols that wake nobody: the watchdog ends their runs |
//! | `wide_header` | a protocol with more metadata a record than others |
//! | [`seam`] | a transaction that stands prepared while another wants what it wrote |
//! | [`inner_steps`] | single steps of the engine, for benches and for `doctor` |
//! | [`single_records`] | a store without transactions, with a step left out |
//! | [`second_owner`] | two workers in a partition that has one owner, which must be noticed |

#[cfg(test)]
mod accounts;
#[cfg(test)]
mod broken_off;
pub(crate) mod canary;
pub mod inner_steps;
#[cfg(test)]
mod interleaved;
pub mod seam;
pub mod second_owner;
#[cfg(test)]
mod sequential;
#[cfg(test)]
mod sequential_claiming;
#[cfg(test)]
mod sequential_gaps;
#[cfg(test)]
mod sequential_single;
pub mod single_records;
#[cfg(test)]
mod watchdog;
#[cfg(test)]
mod wide_header;
