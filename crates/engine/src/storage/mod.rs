//! Tables and stores: [`crate::record`]s in arenas, reached through the indexes of [`table`]s.

pub(crate) mod allocation_cache;
mod fill;
mod link;
pub(crate) mod store;
pub(crate) mod table;
pub(crate) mod tombs;

pub(crate) use allocation_cache::AllocationCache;
pub(crate) use link::Linker;
pub use store::Store;
pub(crate) use table::{Partition, Table};
