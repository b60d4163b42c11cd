//! Where rows live: [`record`]s in [`arena`]s, reached through the indexes of [`table`]s.

pub(crate) mod arena;
pub(crate) mod record;
pub(crate) mod store;
pub(crate) mod table;

pub(crate) use record::RecordRef;
pub use store::Store;
pub(crate) use table::{Partition, Table};
