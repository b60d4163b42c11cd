//! Types erased at the procedure's boundary.
//!
//! An engine compiles its systems anew for every type of client. Measured workloads want that; checks, audits and canaries do
//! not, and there are many of them; nor do simulated machines, which take far longer than a call. So their clients and procedures
//! travel behind pointers, and all of them together cost one compilation of each system, in the engine's own crate
//! ([`crate::Engine::run_erased`]). A call of the transaction is then a call through a pointer, and a procedure is an allocation.

mod client;
mod transaction;

pub use client::{ErasedClient, ErasedProcedure, erased};
pub use transaction::Erased;
