//! Measuring, sweeps, result folders and the report: everything between a loaded engine and a reader.
//!
//! The harness is generic over [`contract::Engine`], so it is compiled once for every engine, and over nothing else:
//! nothing it does depends on which architecture or protocol runs. What it prints for a person goes through
//! [`observer`]; it writes only into a result folder.
//!
//! | question | file |
//! |---|---|
//! | how is it measured? | [`options`], [`subject`] |
//! | how are systems run? | [`measure`] |
//! | are two systems told apart? | [`confidence`] |
//! | is a later result slower than an earlier one? | [`diff`] |
//! | what is one system's result? | [`summary`], and what is odd about it: [`summary::warnings`] |
//! | how do many points become one experiment? | [`sweep`] |
//! | is a run serializable? | [`check`] |
//! | what lies in a result folder? | [`results`], [`folder`]: one file per form |
//! | how is it read again? | [`laid_down`] |
//! | how does who was interrupted go on? | [`journal`] |
//! | what does a reader see? | [`report`], [`svg`], [`text`] |
//! | what went wrong? | [`failure`] |
#![forbid(unsafe_code)]

pub mod check;
pub mod confidence;
pub mod crash;
pub mod diff;
pub mod failure;
pub mod folder;
pub mod journal;
pub mod laid_down;
pub mod measure;
pub mod observer;
pub mod options;
pub mod report;
pub mod results;
pub mod subject;
pub mod summary;
pub mod svg;
pub mod sweep;
pub mod text;
pub mod validation;

#[cfg(test)]
mod mock;

pub use failure::Failure;
pub use observer::{Event, Observer};
pub use options::{BadValue, RunOptions};
pub use subject::{Place, Subject};
