//! TPC-C.
//!
//! | what is tested | file |
//! |---|---|
//! | what is loaded, what is drawn | [`population`], [`inputs`] |
//! | the twelve consistency conditions | [`conditions`], over [`supplier`]'s tables |
//! | what each transaction reads, writes and shows | [`new_order`], [`payment`], [`other_transactions`], by [`running`] |
//! | what fragments do | [`fragments`] |
//! | what plans declare | [`plans`] |
//! | thousands of transactions, and their audit | [`audit`] |

mod audit;
#[path = "../common/mod.rs"]
mod common;
mod conditions;
mod fragments;
mod inputs;
mod new_order;
mod other_transactions;
mod payment;
mod plans;
mod population;
mod running;
mod supplier;

use common::parameters;
use workloads::tpcc::Tpcc;

fn tpcc(given: &[(&str, &str)]) -> Tpcc {
    Tpcc::new(&parameters(given)).expect("valid parameters")
}
