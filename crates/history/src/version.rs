//! Versions: how a value names the transaction that wrote it.
//!
//! Every write of a checked run carries a number that no other write of the run carries, whether its attempt
//! commits or not. The number is taken apart again to find who wrote a value, so the checker needs no table of
//! numbers issued:
//!
//! | bits | field | most |
//! |---|---|---|
//! | 0..26 | transaction: the worker's n-th, from 1 | 67,108,863 a worker |
//! | 26..37 | worker | 2,046 |
//! | 37..47 | write: the attempt's n-th, from 0 | 1,023 an attempt |
//! | 47..63 | attempt: the transaction's n-th, from 0 | 65,535 a transaction; then from 0 again |
//! | 63 | dead: the version says that the key has no row | |
//!
//! Fields that usually stay small stand high, so that usual numbers fit in 53 bits and survive a JSON reader.
//! Zero is nobody's number: memory that nobody wrote does not pass for a version.

use serde::{Deserialize, Serialize};
use std::fmt;

const TRANSACTION_BITS: u32 = 26;
const WORKER_BITS: u32 = 11;
const WRITE_BITS: u32 = 10;
const ATTEMPT_BITS: u32 = 16;
const WORKER_SHIFT: u32 = TRANSACTION_BITS;
const WRITE_SHIFT: u32 = WORKER_SHIFT + WORKER_BITS;
const ATTEMPT_SHIFT: u32 = WRITE_SHIFT + WRITE_BITS;
const DEAD: u64 = 1 << 63;

const _: () = assert!(ATTEMPT_SHIFT + ATTEMPT_BITS == 63, "the four fields fill what the dead bit leaves");

/// The most workers whose writes can be told apart. The last number is kept for the reserved versions.
pub const MOST_WORKERS: usize = (1 << WORKER_BITS) - 1;
/// The most transactions a worker.
pub const MOST_TRANSACTIONS: u32 = (1 << TRANSACTION_BITS) - 1;
/// The most writes an attempt.
pub const MOST_WRITES: u32 = 1 << WRITE_BITS;
/// Attempts of a transaction whose writes can be told apart: later ones are numbered from 0 again.
pub const MOST_ATTEMPTS: u32 = 1 << ATTEMPT_BITS;

/// What a value says of its writer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(transparent)]
pub struct Version(pub u64);

/// A version taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer {
    /// The worker that ran the writing transaction.
    pub worker: usize,
    /// The transaction's number among its worker's, from 1.
    pub transaction: u32,
    /// The attempt's number among the transaction's, from 0.
    pub attempt: u32,
    /// The write's number among the attempt's, from 0.
    pub write: u32,
}

impl Version {
    /// The content that loading gave to a row.
    pub const LOADED: Version = Version(!DEAD);
    /// A row was there, and its version was not looked at.
    pub const PRESENT: Version = Version(!DEAD - 1);
    /// No row was there, and none had left a version: the key was never inserted, or its row was really deleted.
    pub const MISSING: Version = Version(u64::MAX - 1);
    /// The state of a key before its first insert; the checker's own reading of [`Version::MISSING`].
    pub(crate) const ABSENT: Version = Version(u64::MAX);

    /// The version that a write leaves.
    ///
    /// Panics if a number exceeds its field: a run that large cannot be checked in one piece.
    pub fn written(writer: Writer) -> Version {
        let Writer { worker, transaction, attempt, write } = writer;
        assert!(worker < MOST_WORKERS, "a checked run has at most {MOST_WORKERS} workers");
        assert!(
            (1..=MOST_TRANSACTIONS).contains(&transaction),
            "a checked run has at most {MOST_TRANSACTIONS} transactions a worker"
        );
        assert!(write < MOST_WRITES, "a checked attempt has at most {MOST_WRITES} writes");
        Version(
            u64::from(transaction)
                | (worker as u64) << WORKER_SHIFT
                | u64::from(write) << WRITE_SHIFT
                | u64::from(attempt % MOST_ATTEMPTS) << ATTEMPT_SHIFT,
        )
    }

    /// Who wrote it; `None` for the reserved versions and for numbers that nobody can have.
    pub fn writer(self) -> Option<Writer> {
        let field = |shift: u32, bits: u32| (self.0 >> shift) & ((1 << bits) - 1);
        let writer = Writer {
            worker: field(WORKER_SHIFT, WORKER_BITS) as usize,
            transaction: field(0, TRANSACTION_BITS) as u32,
            attempt: field(ATTEMPT_SHIFT, ATTEMPT_BITS) as u32,
            write: field(WRITE_SHIFT, WRITE_BITS) as u32,
        };
        (writer.worker < MOST_WORKERS && writer.transaction > 0).then_some(writer)
    }

    /// The same write, as a version that says that the key has no row.
    #[must_use]
    pub const fn dead(self) -> Version {
        Version(self.0 | DEAD)
    }

    /// Whether it says that the key has no row.
    pub const fn is_dead(self) -> bool {
        self.0 & DEAD != 0
    }

    /// Whether it names one version, and not only that there is a row or none.
    pub const fn is_named(self) -> bool {
        self.0 != Version::PRESENT.0 && self.0 != Version::MISSING.0
    }

    /// Sixteen bits of it, never all zero, to tell two halves of one stamp from halves of two.
    pub(crate) const fn fold(self) -> u16 {
        let mixed = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 48) as u16 | 1
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Version::LOADED => f.write_str("loaded"),
            Version::PRESENT => f.write_str("present"),
            Version::MISSING => f.write_str("missing"),
            Version::ABSENT => f.write_str("absent"),
            _ => match self.writer() {
                Some(Writer { worker, transaction, attempt, write }) => {
                    let dead = if self.is_dead() { "dead " } else { "" };
                    write!(f, "{dead}w{worker}.t{transaction}.a{attempt}.{write}")
                }
                None => write!(f, "nobody's {:#x}", self.0),
            },
        }
    }
}

/// The last bytes of a checked row: its version, and the version that this one replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The row's version.
    pub version: Version,
    /// The version before it.
    pub replaced: Version,
}

impl Stamp {
    /// Bytes that it takes.
    pub const BYTES: usize = 16;
    /// What loading leaves.
    pub const LOADED: Stamp = Stamp { version: Version::LOADED, replaced: Version::LOADED };

    /// The stamp at the end of `row`, which may be the tail of a row.
    pub fn of(row: &[u8]) -> Stamp {
        let stamp = row.last_chunk::<{ Stamp::BYTES }>().expect("a checked row ends in a stamp");
        Stamp { version: Version(word(&stamp[..8])), replaced: Version(word(&stamp[8..])) }
    }

    /// Overwrites the stamp at the end of `row`.
    pub fn put(self, row: &mut [u8]) {
        let stamp = row.last_chunk_mut::<{ Stamp::BYTES }>().expect("a checked row ends in a stamp");
        stamp[..8].copy_from_slice(&self.version.0.to_le_bytes());
        stamp[8..].copy_from_slice(&self.replaced.0.to_le_bytes());
    }
}

/// Eight bytes as a number.
pub(crate) fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("a word is eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_gives_its_writer_back() {
        let most = Writer {
            worker: MOST_WORKERS - 1,
            transaction: MOST_TRANSACTIONS,
            attempt: MOST_ATTEMPTS - 1,
            write: MOST_WRITES - 1,
        };
        for writer in [Writer { worker: 0, transaction: 1, attempt: 0, write: 0 }, most] {
            let version = Version::written(writer);
            assert_eq!(version.writer(), Some(writer));
            assert_eq!(version.dead().writer(), Some(writer));
            assert!(version.dead().is_dead() && !version.is_dead());
        }
    }

    #[test]
    fn reserved_versions_have_no_writer() {
        for version in [Version::LOADED, Version::PRESENT, Version::MISSING, Version::ABSENT, Version(0)] {
            assert_eq!(version.writer(), None);
        }
        assert!(Version::MISSING.is_dead() && Version::ABSENT.is_dead());
        assert!(!Version::LOADED.is_dead() && !Version::PRESENT.is_dead());
    }

    #[test]
    #[should_panic(expected = "at most 1024 writes")]
    fn too_many_writes_are_refused() {
        let _ = Version::written(Writer { worker: 0, transaction: 1, attempt: 0, write: MOST_WRITES });
    }

    #[test]
    fn a_stamp_is_the_end_of_its_row() {
        let mut row = [7_u8; 40];
        let stamp = Stamp { version: Version(0x1234), replaced: Version(0x5678) };
        stamp.put(&mut row);
        assert_eq!(Stamp::of(&row), stamp);
        assert_eq!(Stamp::of(&row[24..]), stamp);
        assert!(row[..24].iter().all(|byte| *byte == 7));
    }
}
