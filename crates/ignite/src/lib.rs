//! Apache Ignite under the contract of our transactions: for users who outgrow one host, and for whoever wants to know what that costs.
//!
//! The workloads' procedures, the harness and the checker are those that run over our engine; [`Ignite`] is an
//! [`Engine`](contract::Engine) to them. `docs/beyond-one-host.md` says what was measured, and when to move.
//!
//! | question | file |
//! |---|---|
//! | how are nodes started, and stopped in every case? | [`nodes`], `node/Node.java`, `node/pom.xml` |
//! | what is said on the wire? | [`wire`] |
//! | what is a table, a row, a range there? | [`store`], [`row`] |
//! | what is a transaction of ours there? | [`transaction`], [`isolation`] |
//! | who tries again? a program of one's own does by | [`session`] |
//! | who runs clients, and counts? | [`worker`], [`engine`] |
//! | which workloads are refused, and why? | [`limits`] |
//! | how are they measured beside ours, and judged? | [`compare`], [`check`], [`table`] |
#![forbid(unsafe_code)]

pub mod check;
pub mod compare;
pub mod engine;
pub mod isolation;
pub mod limits;
pub mod nodes;
pub mod row;
pub mod session;
pub mod store;
pub mod table;
pub mod transaction;
pub mod wire;
pub mod worker;

pub use self::engine::Ignite;

/// What stands for an architecture's name, for people.
pub(crate) fn name(nodes: usize) -> String {
    if nodes == 1 { "ignite (1 node)".to_owned() } else { format!("ignite ({nodes} nodes)") }
}
