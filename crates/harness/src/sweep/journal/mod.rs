//! `points.jsonl`: one line a finished point, durable before the next point starts ([`crate::journal`]).
//!
//! The first line says what the folder is ([`Header`]); every further line is a [`Finished`] point. A journal whose lines are of
//! another [`SCHEMA`], or were measured elsewhere, is refused (`header`).

mod header;

pub use header::{Header, SCHEMA};

use crate::failure::Failure;
use crate::journal::{self, Journal};
use crate::summary::Summary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The journal's name in a result folder.
pub const FILE_NAME: &str = "points.jsonl";

/// A finished point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// Its resolved settings, which identify it.
    pub settings: BTreeMap<String, String>,
    /// What was measured.
    pub summary: Summary,
    /// The repetitions, as `samples.csv` shows them.
    pub samples: Vec<crate::folder::samples::Sample>,
}

/// Opens the journal of `folder`, or begins one, and hands over the points that are there.
pub fn open(folder: &Path, header: &Header) -> Result<(Journal, Vec<Finished>), Failure> {
    Journal::open(folder, FILE_NAME, header)
}

/// The finished points of the journal in `folder`, which may be written meanwhile, if it goes on under `header`.
pub fn read(folder: &Path, header: &Header) -> Result<Vec<Finished>, Failure> {
    journal::read(folder, FILE_NAME, header)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::subject::Place;
    use crate::summary::tests::some_summary;

    pub(crate) fn header() -> Header {
        Header { schema: SCHEMA.to_owned(), experiment: "e".to_owned(), place: Place::hardware(2) }
    }

    pub(crate) fn point(workers: usize) -> Finished {
        let settings = BTreeMap::from([("workers".to_owned(), workers.to_string())]);
        Finished { settings, summary: some_summary(), samples: Vec::new() }
    }

    pub(crate) fn scratch() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder for the test")
    }
}
