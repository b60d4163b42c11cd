//! The papers' benchmarks as stored procedures, generic over the transaction that runs them.
//!
//! | question | file |
//! |---|---|
//! | which workloads are there, and how is one built? | [`catalogue`] |
//! | how are parameters declared and checked? | [`parameters`] |
//! | *trireme* 4.1's microbenchmark | [`micro`] |
//! | YCSB | [`ycsb`] |
//! | SmallBank | [`smallbank`] |
//! | TATP | [`tatp`] |
//! | TPC-C | [`tpcc`] |
//! | a workload of one's own, of a file | [`described`] |
//! | did a run leave in the tables what it should have? | [`audit`] |
//! | exact zipfian ranks | [`zipf`], `alias` |
//! | rows by where they lie: near the client, elsewhere, anywhere | `locality` |
//! | seeds and draws in the measured loop | `random` |
//! | a transaction's records, inline | `touches` |
//!
//! A client draws each transaction whole before it runs, so that retries repeat it and its plan is exact. A
//! seed and a seat decide all that a client draws.
//!
//! To add a workload: its file, its `parameters!` table, its audit or [`audit::Unaudited`], and a line in each `match` of
//! [`catalogue`].
#![forbid(unsafe_code)]

mod alias;
pub mod audit;
pub mod catalogue;
pub mod described;
mod locality;
pub mod micro;
pub mod parameters;
mod random;
pub mod smallbank;
pub mod tatp;
mod touches;
pub mod tpcc;
pub mod ycsb;
pub mod zipf;

pub use catalogue::{AnyWorkload, WorkloadVisitor, WorkloadsVisitor, build, descriptions};
pub use described::Described;
pub use micro::Micro;
pub use parameters::{ParameterDescription, ParameterError, Parameters, WorkloadDescription};
pub use smallbank::SmallBank;
pub use tatp::Tatp;
pub use tpcc::Tpcc;
pub use ycsb::Ycsb;
