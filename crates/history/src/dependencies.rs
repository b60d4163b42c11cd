//! How much happened in a history: the dependencies between its transactions, counted by kind.
//!
//! A history in which nobody depends on anybody is serializable whatever the protocol does, so a verdict says as much as
//! there were dependencies, above all between transactions of different workers. A transaction that observed a version and
//! replaced it depends on the version's writer twice: it read what that one wrote, and it overwrote it.
//!
//! Not every mix of operations can have every kind, so it is also counted what was done, table by table. Of one table:
//!
//! | kind | can be, if somebody |
//! |---|---|
//! | write-read | wrote rows, and somebody looked at them |
//! | write-write | replaced or removed a row, or a tombstone |
//! | read-write | looked at a row without writing it, and somebody replaced or removed one; or missed one, and somebody inserted one |

use serde::Serialize;
use std::ops::AddAssign;

/// A kind of dependency, by its name in the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DependencyKind {
    /// The second observed what the first wrote.
    WriteRead,
    /// The second replaced what the first wrote.
    WriteWrite,
    /// The second replaced what the first observed.
    ReadWrite,
}

impl DependencyKind {
    /// Every kind.
    pub const ALL: [DependencyKind; 3] =
        [DependencyKind::WriteRead, DependencyKind::WriteWrite, DependencyKind::ReadWrite];

    /// The name in reports and files.
    pub const fn name(self) -> &'static str {
        match self {
            DependencyKind::WriteRead => "write-read",
            DependencyKind::WriteWrite => "write-write",
            DependencyKind::ReadWrite => "read-write",
        }
    }
}

/// Dependencies of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DependencyCount {
    /// Whether what the transactions did to some table can bring about this kind at all.
    pub possible: bool,
    /// Those between different transactions.
    pub all: u64,
    /// Those of them between transactions of different workers.
    pub between_workers: u64,
}

impl AddAssign for DependencyCount {
    fn add_assign(&mut self, other: DependencyCount) {
        self.possible |= other.possible;
        self.all += other.all;
        self.between_workers += other.between_workers;
    }
}

/// Dependencies between the committed transactions of a history, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Dependencies {
    /// The second observed what the first wrote.
    pub write_read: DependencyCount,
    /// The second replaced what the first wrote.
    pub write_write: DependencyCount,
    /// The second replaced what the first observed.
    pub read_write: DependencyCount,
}

impl Dependencies {
    /// Those of a kind.
    pub const fn of(&self, kind: DependencyKind) -> DependencyCount {
        match kind {
            DependencyKind::WriteRead => self.write_read,
            DependencyKind::WriteWrite => self.write_write,
            DependencyKind::ReadWrite => self.read_write,
        }
    }

    fn of_mut(&mut self, kind: DependencyKind) -> &mut DependencyCount {
        match kind {
            DependencyKind::WriteRead => &mut self.write_read,
            DependencyKind::WriteWrite => &mut self.write_write,
            DependencyKind::ReadWrite => &mut self.read_write,
        }
    }
}

impl AddAssign for Dependencies {
    fn add_assign(&mut self, other: Dependencies) {
        DependencyKind::ALL.into_iter().for_each(|kind| *self.of_mut(kind) += other.of(kind));
    }
}

/// What was done to one table. A transaction counts once for each key.
#[derive(Clone, Copy, Debug, Default)]
struct Mix {
    /// Looked at a row and left it.
    looked: u64,
    /// Missed a row and left it so.
    missed: u64,
    /// Looked, and wrote.
    changed: u64,
    /// Replaced or removed a row, or a tombstone.
    replaced: u64,
    /// Inserted the key's first row.
    inserted: u64,
}

impl Mix {
    fn can_have(&self, kind: DependencyKind) -> bool {
        let Mix { looked, missed, changed, replaced, inserted } = *self;
        match kind {
            DependencyKind::WriteRead => looked + changed > 0 && replaced + inserted > 0,
            DependencyKind::WriteWrite => replaced > 0,
            DependencyKind::ReadWrite => looked > 0 && replaced > 0 || missed > 0 && inserted > 0,
        }
    }
}

/// What one transaction did to one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deed {
    /// Whether it observed a row, or that there was none; `None` if it did not look.
    pub observed_row: Option<bool>,
    /// Whether the key had had a row or a tombstone before it wrote; `None` if it did not write.
    pub replaced_row: Option<bool>,
}

/// Counts while keys are judged.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counts: Dependencies,
    /// By table.
    mixes: Vec<Mix>,
}

impl Tally {
    /// A dependency between different transactions.
    pub fn depends(&mut self, kind: DependencyKind, between_workers: bool) {
        let count = self.counts.of_mut(kind);
        count.all += 1;
        count.between_workers += u64::from(between_workers);
    }

    /// What a transaction did to a key of the table at this position.
    pub fn did(&mut self, table: usize, deed: Deed) {
        if self.mixes.len() <= table {
            self.mixes.resize(table + 1, Mix::default());
        }
        let mix = &mut self.mixes[table];
        match (deed.observed_row, deed.replaced_row) {
            (Some(true), None) => mix.looked += 1,
            (Some(false), None) => mix.missed += 1,
            (Some(_), Some(_)) => mix.changed += 1,
            (None, _) => {}
        }
        match deed.replaced_row {
            Some(true) => mix.replaced += 1,
            Some(false) => mix.inserted += 1,
            None => {}
        }
    }

    /// Takes over what another part of the checker counted.
    pub fn absorb(&mut self, other: Tally) {
        self.counts += other.counts;
        if self.mixes.len() < other.mixes.len() {
            self.mixes.resize(other.mixes.len(), Mix::default());
        }
        for (mix, other) in self.mixes.iter_mut().zip(other.mixes) {
            mix.looked += other.looked;
            mix.missed += other.missed;
            mix.changed += other.changed;
            mix.replaced += other.replaced;
            mix.inserted += other.inserted;
        }
    }

    /// All that was counted, and which kinds there could be.
    pub fn into_dependencies(self) -> Dependencies {
        let mut counts = self.counts;
        for kind in DependencyKind::ALL {
            counts.of_mut(kind).possible = self.mixes.iter().any(|mix| mix.can_have(kind));
        }
        counts
    }
}
