//! The papers' benchmarks as stored procedures, generic over the transaction that runs them.
//!
//! | question | file |
//! |---|---|
//! | which workloads are there, and how is one built? | [`catalogue`] |
//! | how are parameters declared and checked? | [`parameters`] |
//! | *trireme* 4.1's microbenchmark | [`micro`] |
//! | YCSB | [`ycsb`] |
//! | exact zipfian ranks | [`zipf`], `alias` |
//! | seeds and draws in the measured loop | `random` |
//! | a transaction's records, inline | `touches` |
//!
//! A client draws each transaction whole before it runs, so that retries repeat it and its plan is exact. A
//! seed and a seat decide all that a client draws.
//!
//! To add a workload: its file, its `parameters!` table, and a line in each `match` of [`catalogue`].
#![forbid(unsafe_code)]

mod alias;
pub mod catalogue;
pub mod micro;
pub mod parameters;
mod random;
mod touches;
pub mod ycsb;
pub mod zipf;

pub use catalogue::{AnyWorkload, WorkloadVisitor, build, descriptions};
pub use micro::Micro;
pub use parameters::{ParameterDescription, ParameterError, Parameters, WorkloadDescription};
pub use ycsb::Ycsb;
