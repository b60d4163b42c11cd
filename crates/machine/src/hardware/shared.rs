//! What several parts own together, none of them alone.

pub use std::sync::Arc;
