//! Canaries: protocols with one step removed, which the checker must reject. A checker that never fails proves
//! nothing.
//!
//! A canary states the steps of a real protocol that are broken, everything else is the real protocol's: so each file here holds
//! exactly what is wrong with it. It is a [`Defect`] of a protocol that locks, a [`Flaw`] of one that validates, a [`Lapse`] of one that goes
//! by timestamps, a [`Slip`] of one that claims, or denies one of the [`Rules`](crate::protocol::Rules) of lock tables.

mod claiming;
mod dirty_reads;
mod eager_upgrade;
mod early_release;
mod forced_upgrade;
#[cfg(test)]
mod hasty_withdrawal;
mod late_start;
mod locking;
#[cfg(test)]
mod looks_once;
#[cfg(test)]
mod lost_grants;
#[cfg(test)]
mod lost_wake_up;
mod newest_version;
mod no_extension;
mod no_miss_validation;
mod no_read_validation;
mod passed_locks;
mod skipped_certify;
mod stale_plans;
mod timestamping;
#[cfg(test)]
mod unannounced_ends;
mod uncounted_reads;
mod unguarded_upgrade;
mod unheld_reads;
mod unlocked_gaps;
mod unlocked_ranges;
#[cfg(test)]
mod unmarked_misses;
mod unmarked_reads;
mod unraised_reads;
#[cfg(test)]
mod unvalidated_misses;
mod unvalidated_reads;
mod validating;
#[cfg(test)]
mod waits_out_of_order;

pub(crate) use claiming::{Slip, Slipped};
pub(crate) use locking::{Broken, Defect};
pub(crate) use timestamping::{Amiss, Lapse};
pub(crate) use validating::{Flaw, Flawed};

use crate::protocol::{
    BasicTimestamp, Cicada, DeadlockFree, Dreadlocks, Hekaton, LockTables, Mocc, Mvcc, NoWait, Occ, Silo,
    TicToc, TwoVersionNoWait, Vll, WaitDie,
};

/// NO_WAIT that reads without a lock.
pub(crate) type DirtyReads = Broken<NoWait, dirty_reads::DirtyReads>;
/// WAIT_DIE that upgrades a read to a write although others read.
pub(crate) type EagerUpgrade = Broken<WaitDie, eager_upgrade::EagerUpgrade>;
/// NO_WAIT that releases a read lock right after it was granted.
pub(crate) type EarlyRelease = Broken<NoWait, early_release::EarlyRelease>;
/// DREADLOCKS that upgrades a read to a write if it finds a deadlock, although others read.
pub(crate) type ForcedUpgrade = Broken<Dreadlocks, forced_upgrade::ForcedUpgrade>;
/// A protocol that waits, and gives up what it waited for even if it was granted meanwhile. Runs without a timeout never do.
#[cfg(test)]
pub(crate) type HastyWithdrawal<B> = Broken<B, hasty_withdrawal::HastyWithdrawal>;
/// OCC that validates what it read against the timestamp of its end.
pub(crate) type LateStart = Flawed<Occ, late_start::LateStart>;
/// TICTOC that neither looks at reads that have expired nor extends them.
pub(crate) type NoExtension = Flawed<TicToc, no_extension::NoExtension>;
/// How DREADLOCKS would look that looks once.
#[cfg(test)]
pub(crate) use looks_once::LooksOnce;
/// ORTHRUS that tells nobody of a grant for which they had to wait. No checker can reject it: its runs do not end.
#[cfg(test)]
pub(crate) type LostGrants = LockTables<lost_grants::LostGrants>;
/// A protocol that waits, grants what it releases, and wakes nobody. No checker can reject it: its runs do not end.
#[cfg(test)]
pub(crate) type LostWakeUp<B> = Broken<B, lost_wake_up::LostWakeUp>;
/// SILO that does not validate the keys that it found missing.
pub(crate) type NoMissValidation = Flawed<Silo, no_miss_validation::NoMissValidation>;
/// SILO that does not validate its read set.
pub(crate) type NoReadValidation = Flawed<Silo, no_read_validation::NoReadValidation>;
/// ORTHRUS that grants a lock to read although an earlier one to write is held.
pub(crate) type PassedLocks = LockTables<passed_locks::PassedLocks>;
/// ORTHRUS whose transactions read what they have not locked.
pub(crate) type StalePlans = LockTables<stale_plans::StalePlans>;
/// ORTHRUS that does not lock the ranges that it reads.
pub(crate) type UnlockedRanges = LockTables<unlocked_ranges::UnlockedRanges>;
/// 2V_NO_WAIT that installs while readers read.
pub(crate) type SkippedCertify = Broken<TwoVersionNoWait, skipped_certify::SkippedCertify>;
/// VLL whose reads are not counted.
pub(crate) type UncountedReads = Broken<Vll, uncounted_reads::UncountedReads>;
/// DEADLOCK_FREE that upgrades a read to a write although others read.
pub(crate) type UnguardedUpgrade = Broken<DeadlockFree, unguarded_upgrade::UnguardedUpgrade>;
/// MOCC that neither keeps the lock of a record that it reads, each of which it takes for hot, nor validates the read.
pub(crate) type UnheldReads = Flawed<Mocc, unheld_reads::UnheldReads>;
/// NO_WAIT whose inserts do not hold the gaps of their keys.
pub(crate) type UnlockedGaps = Broken<NoWait, unlocked_gaps::UnlockedGaps>;
/// DEADLOCK_FREE that waits out of order, too. No checker can reject it: its runs do not end.
#[cfg(test)]
pub(crate) type WaitsOutOfOrder = Broken<DeadlockFree, waits_out_of_order::WaitsOutOfOrder>;
/// TIMESTAMP whose misses leave no timestamp behind.
#[cfg(test)]
pub(crate) type UnmarkedMisses = Amiss<BasicTimestamp, unmarked_misses::UnmarkedMisses>;
/// TIMESTAMP whose reads leave no timestamp behind.
pub(crate) type UnmarkedReads = Amiss<BasicTimestamp, unmarked_reads::UnmarkedReads>;
/// CICADA that validates what it read without raising its read timestamp.
pub(crate) type UnraisedReads = Amiss<Cicada, unraised_reads::UnraisedReads>;
/// HEKATON that does not validate what it has read.
pub(crate) type UnvalidatedReads = Slipped<Hekaton, unvalidated_reads::UnvalidatedReads>;
/// HEKATON that draws its end without saying that it prepares.
#[cfg(test)]
pub(crate) type UnannouncedEnds = Slipped<Hekaton, unannounced_ends::UnannouncedEnds>;
/// HEKATON that does not validate the keys that it found missing.
#[cfg(test)]
pub(crate) type UnvalidatedMisses = Slipped<Hekaton, unvalidated_misses::UnvalidatedMisses>;
/// MVCC that shows the newest version to everybody.
pub(crate) type NewestVersion = Amiss<Mvcc, newest_version::NewestVersion>;
