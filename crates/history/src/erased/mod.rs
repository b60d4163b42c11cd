//! Types erased at the procedure's boundary.
//!
//! An engine compiles its systems anew for every type of client. Measured workloads want that; checks do not, and there
//! are many of them; nor do simulated machines, which take far longer than a call. So their clients and procedures travel
//! behind pointers ([`client`]), and all of them together cost one compilation of each system. A call of the transaction
//! is then a call through a pointer, and a procedure is an allocation.

mod client;
mod transaction;

pub use client::run_erased;
pub use transaction::Erased;
