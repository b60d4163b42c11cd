//! Where rows live: [`record`]s, behind their [`header`]s, in [`arena`]s, reached through the indexes of [`table`]s.

pub(crate) mod allocation_cache;
pub(crate) mod arena;
mod fill;
pub(crate) mod header;
pub(crate) mod ready;
pub(crate) mod record;
pub(crate) mod store;
pub(crate) mod table;

pub(crate) use allocation_cache::AllocationCache;
pub(crate) use record::RecordRef;
pub use store::Store;
pub(crate) use table::{Partition, Table};
