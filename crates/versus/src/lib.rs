//! Trireme's database beside the stores that people embed: the same transactions, at equal durability and isolation.
//!
//! | question | where |
//! |---|---|
//! | what is a store? | [`store`], one file each, with its settings for each class of durability |
//! | what is asked of it? | [`workload`], one file each, with what must hold in the end |
//! | how is it measured? | [`measure`]: a round; [`contender`]: a store's rounds; [`conduct`]: all stores' by turns |
//! | what came of it? | [`results`] |
//! | what does a reader see? | [`table`], [`summary`], [`report`] |

pub mod conduct;
pub mod contender;
pub mod folders;
pub mod measure;
pub mod report;
pub mod results;
pub mod store;
pub mod summary;
pub mod table;
pub mod workload;
