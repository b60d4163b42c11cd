//! What is compared: a store, as a program sees it that keeps rows of fixed types under integer keys in named tables, and changes
//! them in serializable transactions.
//!
//! The traits are written so that no store pays for another's form: keys are integers, of which each makes what suits it; rows are of
//! types that are their bytes; transactions are compiled for each store. So the clients of all stores are one text, and it costs each
//! what a program of its own would.
//!
//! | trait | what |
//! |---|---|
//! | [`Store`] | is opened for a [`Class`] of durability, gets its tables, gives each thread a session |
//! | [`Session`] | a thread's: runs transactions until they commit |
//! | [`Query`], [`Procedure`] | a transaction: one text for all stores |
//! | [`Reading`], [`Writing`] | what it can do |
//! | [`Ticket`] | whether a commit counts already |

pub mod canopydb;
pub mod fjall;
mod group;
pub mod heed;
pub mod redb;
pub mod sqlite;
pub mod surrealmx;
pub mod trireme;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub use group::{Group, Grouped};

/// Tables that a workload has at most.
pub const MOST_TABLES: usize = 12;

/// A type of rows: it is its bytes.
pub trait Row: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + Send + Sync + 'static {}

impl<T: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + Send + Sync + 'static> Row for T {}

/// A row of these bytes.
fn row<R: Row>(bytes: &[u8]) -> Result<R, Failed> {
    R::read_from_bytes(bytes)
        .map_err(|_| Failed::because(format!("a row of {} bytes instead of {}", bytes.len(), size_of::<R>())))
}

/// Lets time pass after so many attempts of a transaction that met others, where its store leaves that to the program: at random, after
/// the first ones up to twice as long each time, and to a millisecond in the end.
fn back_off(attempts: u64) {
    let most_us = 1 << attempts.saturating_sub(4).min(10);
    match fastrand::u64(..most_us) {
        0 => thread::yield_now(),
        us => thread::sleep(Duration::from_micros(us)),
    }
}

/// A table of rows, by its number in its workload, below [`MOST_TABLES`].
pub struct Table<R> {
    /// Its number.
    pub number: usize,
    /// Its name.
    pub name: &'static str,
    rows: PhantomData<fn() -> R>,
}

impl<R> Table<R> {
    /// The table of this number and name.
    pub const fn new(number: usize, name: &'static str) -> Table<R> {
        assert!(number < MOST_TABLES, "as many tables as a workload may have");
        Table { number, name, rows: PhantomData }
    }
}

impl<R> Clone for Table<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Table<R> {}

/// How a table is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// By keys only.
    ByKey,
    /// In the order of the keys, too.
    InOrder,
}

/// What a commit survives that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Nothing: in memory, or in files of a memory file system that are not synced.
    Memory,
    /// The end of the process: written to a file, not synced.
    Buffered,
    /// The end of the machine: synced, each commit by itself or with others.
    Group,
}

impl Class {
    /// All.
    pub const ALL: [Class; 3] = [Class::Memory, Class::Buffered, Class::Group];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Class::Memory => "memory",
            Class::Buffered => "buffered",
            Class::Group => "group",
        }
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        match self {
            Class::Memory => "a commit survives nothing",
            Class::Buffered => "a commit counts once it survives the process",
            Class::Group => "a commit counts once it survives the machine",
        }
    }
}

impl Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a store is opened with.
#[derive(Clone, Debug)]
pub struct Opening {
    /// An empty folder: on a memory file system in [`Class::Memory`], on a disk otherwise.
    pub folder: PathBuf,
    /// What a commit survives that counts.
    pub class: Class,
    /// Whether clients go on before their commits count, and wait for them later ([`Ticket`]).
    pub outstanding: bool,
    /// How often what has committed is synced, where that is not done by each commit.
    pub epoch: Duration,
    /// Rows, about.
    pub rows: u64,
    /// Bytes of a cache that holds everything.
    pub cache_bytes: usize,
}

/// Why a transaction did not commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// It met another one: the same may succeed if it is run again.
    Conflict,
    /// It has undone itself, as it was to.
    RolledBack,
    /// It never will.
    Because(String),
}

impl Failed {
    /// For a reason.
    pub fn because(why: impl Display) -> Failed {
        Failed::Because(why.to_string())
    }

    /// No row has this key.
    pub fn missing<R>(table: Table<R>, key: u64) -> Failed {
        Failed::Because(format!("table {} has no row {key}", table.name))
    }
}

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Conflict => f.write_str("it met another transaction"),
            Failed::RolledBack => f.write_str("it has undone itself"),
            Failed::Because(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Failed {}

/// Whether a commit counts.
pub trait Ticket: Send {
    /// Whether it counts already.
    fn counts(&self) -> bool;

    /// Waits until it does.
    fn wait(self) -> Result<(), Failed>;
}

/// What came of a transaction.
#[derive(Debug)]
pub struct Committed<T, K> {
    /// What it answered.
    pub value: T,
    /// How often it was begun.
    pub attempts: u64,
    /// Whether it counts.
    pub ticket: K,
}

/// With which settings a store belongs to a class, in words.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// To [`Class::Memory`].
    pub memory: &'static str,
    /// To [`Class::Buffered`], if each commit is waited for.
    pub buffered: &'static str,
    /// To the same, if there are several in flight.
    pub buffered_in_flight: &'static str,
    /// To [`Class::Group`], if each commit is waited for.
    pub group: &'static str,
    /// To the same, if there are several in flight.
    pub group_in_flight: &'static str,
}

/// A store that is open: a handle.
pub trait Store: Clone + Send + Sync + 'static {
    /// What a thread runs transactions with.
    type Session: Session;

    /// Whether clients can go on before their commits count. Otherwise there are as many more clients.
    const HAS_TICKETS: bool;
    /// With which settings it belongs to each class.
    const SETTINGS: Settings;

    /// Opens a new one; `Err` says why not, if it cannot be opened so.
    fn open(opening: &Opening) -> Result<Self, Failed>;

    /// Adds a table, before there are sessions.
    fn create<R: Row>(&mut self, table: Table<R>, access: Access, rows: u64) -> Result<(), Failed>;

    /// A session for a thread.
    fn session(&self) -> Result<Self::Session, Failed>;
}

/// What a thread runs transactions with, one at a time.
pub trait Session: Send {
    /// Whether a commit counts.
    type Ticket: Ticket;

    /// Runs a transaction that only reads, until it commits.
    fn read<Q: Query>(&mut self, query: &mut Q) -> Result<Committed<Q::Output, ()>, Failed>;

    /// Runs a transaction until it commits: it is run again when it meets another.
    fn write<P: Procedure>(
        &mut self,
        procedure: &mut P,
    ) -> Result<Committed<P::Output, Self::Ticket>, Failed>;
}

/// A transaction that only reads, as one text for all stores.
pub trait Query {
    /// What it answers.
    type Output;

    /// Runs it. It may be run more than once.
    fn run<T: Reading>(&mut self, tx: &mut T) -> Result<Self::Output, Failed>;
}

/// A transaction, as one text for all stores.
pub trait Procedure {
    /// What it answers.
    type Output;

    /// Runs it. It may be run more than once.
    fn run<T: Writing>(&mut self, tx: &mut T) -> Result<Self::Output, Failed>;
}

/// What a transaction that reads can do.
pub trait Reading {
    /// Says that rows of these keys are used next. A store that makes nothing of that does nothing.
    fn prefetch<R: Row>(&mut self, _: Table<R>, _: impl IntoIterator<Item = u64>) -> Result<(), Failed> {
        Ok(())
    }

    /// The row of a key.
    fn get<R: Row>(&mut self, table: Table<R>, key: u64) -> Result<Option<R>, Failed>;

    /// Shows the rows whose keys are from `first` to `last`, in their order. Answers how many.
    fn scan<R: Row>(
        &mut self,
        table: Table<R>,
        first: u64,
        last: u64,
        see: impl FnMut(u64, &R),
    ) -> Result<u64, Failed>;

    /// The row of a key that has one.
    fn find<R: Row>(&mut self, table: Table<R>, key: u64) -> Result<R, Failed> {
        self.get(table, key)?.ok_or_else(|| Failed::missing(table, key))
    }
}

/// What a transaction that writes can do.
pub trait Writing: Reading {
    /// Sets the row of a key, whether or not it has one.
    fn put<R: Row>(&mut self, table: Table<R>, key: u64, row: &R) -> Result<(), Failed>;

    /// Changes the row of a key that has one; what `change` answers. A store that finds a row once for both, to read and to write it, does.
    fn update<R: Row, T>(
        &mut self,
        table: Table<R>,
        key: u64,
        change: impl FnOnce(&mut R) -> T,
    ) -> Result<T, Failed> {
        let mut row = self.find(table, key)?;
        let changed = change(&mut row);
        self.put(table, key, &row)?;
        Ok(changed)
    }

    /// Adds a row under a key that has none.
    fn insert<R: Row>(&mut self, table: Table<R>, key: u64, row: &R) -> Result<(), Failed> {
        self.put(table, key, row)
    }
}
