//! Indexes: from a key to its record.

pub(crate) mod hash;
