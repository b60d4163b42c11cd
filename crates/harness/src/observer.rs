//! Who is told how far a measurement has come. The command line draws it; tests and libraries may not care.

use std::time::Duration;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// Tables of so many rows are being loaded.
    LoadBegins {
        /// Rows of all tables.
        rows: u64,
    },
    /// So many further rows are loaded. Comes from several threads.
    Loaded {
        /// Since the last such event.
        rows: u64,
    },
    /// The tables are loaded.
    LoadEnds,
    /// A series of runs begins.
    MeasureBegins {
        /// How many.
        runs: usize,
        /// What each takes.
        each: Duration,
    },
    /// The next run begins.
    RunBegins {
        /// The system, for people.
        system: &'a str,
        /// Its repetition, from 1.
        repetition: usize,
        /// Of so many.
        of: usize,
    },
    /// The runs are over.
    MeasureEnds,
    /// A sweep begins its next point.
    PointBegins {
        /// Its number, from 1.
        number: usize,
        /// Of so many.
        of: usize,
        /// Its place on the axes, for people.
        place: &'a str,
    },
    /// Something that a person should know, once.
    Note(&'a str),
}

/// Is told.
pub trait Observer: Sync {
    /// `event` happened.
    fn tell(&self, event: Event<'_>);

    /// Whether no further run is to begin: what has been measured is kept.
    fn is_interrupted(&self) -> bool {
        false
    }
}

/// Does not care.
pub struct Silent;

impl Observer for Silent {
    fn tell(&self, _: Event<'_>) {}
}
