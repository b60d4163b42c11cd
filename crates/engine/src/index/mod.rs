//! Indexes: from a key to its record.

pub(crate) mod hash;
pub(crate) mod ordered;
