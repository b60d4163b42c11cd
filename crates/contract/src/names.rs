//! The systems' names on the command line, in files and in results: kebab-case of the papers' names. Read are the papers' own, too: `NO_WAIT`.

use crate::header::Header;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A name that is not in its list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// What was named: "architecture", "protocol", "canary".
    pub what: &'static str,
    /// The name given.
    pub given: String,
    /// The names allowed.
    pub allowed: Vec<&'static str>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} '{}'; allowed: {}", self.what, self.given, self.allowed.join(", "))
    }
}

impl std::error::Error for UnknownName {}

/// A name as results have it: `no-wait` of `NO_WAIT`.
pub(crate) fn kebab_case(given: &str) -> String {
    given.to_ascii_lowercase().replace('_', "-")
}

macro_rules! names {
    ($(#[$doc:meta])* $type:ident, $what:literal: $($(#[$variant_doc:meta])* $variant:ident = $name:literal, $summary:literal;)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type { $($(#[$variant_doc])* #[doc = $summary] $variant,)+ }

        impl $type {
            /// Every one, in the order in which they are listed.
            pub const ALL: &'static [$type] = &[$($type::$variant),+];

            /// The name on the command line, in files and in results.
            pub const fn name(self) -> &'static str {
                match self { $($type::$variant => $name),+ }
            }

            /// One line on what it is.
            pub const fn summary(self) -> &'static str {
                match self { $($type::$variant => $summary),+ }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(given: &str) -> Result<Self, UnknownName> {
                let name = kebab_case(given);
                Self::ALL.iter().copied().find(|known| known.name() == name).ok_or_else(|| UnknownName {
                    what: $what,
                    given: given.to_owned(),
                    allowed: Self::ALL.iter().map(|known| known.name()).collect(),
                })
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    };
}

names! {
    /// How a step of a transaction reaches its record, and how it waits.
    ArchitectureName, "architecture":
    SharedEverything = "shared-everything", "any worker touches any record in place (trireme 2.1, 3.2)";
    PartitionedSerial = "partitioned-serial", "a transaction latches the partitions that it declared and runs alone in them (trireme 2.2, 3.3)";
    Delegation = "delegation", "each worker owns a partition; steps reach it as messages (trireme 2.3, 3.4)";
    AsymmetricDelegation = "asymmetric-delegation", "delegation with owners that host no transactions (trireme 5.1)";
    Dora = "dora", "each worker owns a partition; transactions migrate to it as fibers (trireme 2.4, 3.5)";
    Orthrus = "orthrus", "threads of their own lock what transactions have planned, for those that execute them (orthrus 3)";
}

names! {
    /// What a record answers to a request.
    ProtocolName, "protocol":
    NoWait = "no-wait", "two-phase locking; a conflicting request aborts (trireme 3.1)";
    TwoVersionNoWait = "2v-no-wait", "no-wait with certify locks: readers pass a writer until it commits (trireme 3.1)";
    DlDetect = "dl-detect", "two-phase locking; waits, unless that would close a cycle of waiting (trireme 3.1)";
    Dreadlocks = "dreadlocks", "two-phase locking; waits, and looks meanwhile in the others' digests whether it waits for itself (Koskinen and Herlihy, SPAA 2008; orthrus 4)";
    WaitDie = "wait-die", "two-phase locking; the older waits for the younger, the younger aborts (thousand-cores 2.1)";
    DeadlockFree = "deadlock-free", "two-phase locking; waits while it asks in the order of the keys, and aborts out of order (thousand-cores 4.2)";
    Vll = "vll", "two-phase locking; a transaction asks for all its locks at once, and gets them in the order of asking (Ren et al., PVLDB 6(2), 2012; trireme 3.2)";
    Silo = "silo", "optimistic: reads write nothing shared, validation at commit (silo 4.4)";
    Timestamp = "timestamp", "timestamp ordering: reads and writes are granted in the order of timestamps, or come too late (thousand-cores 2.2)";
    Mvcc = "mvcc", "timestamp ordering that keeps what is overwritten: reads never come too late (thousand-cores 2.2)";
    Cicada = "cicada", "optimistic and multiversion: reads write nothing shared until commit, which validates in the order of clocks (Lim et al., SIGMOD 2017)";
    Occ = "occ", "optimistic: validates at commit, by timestamps, that nothing it read has changed since it began (thousand-cores 2.2, 4.3)";
    TicToc = "tictoc", "optimistic: the order is computed at commit from what was read and written (Yu et al., SIGMOD 2016)";
    Mocc = "mocc", "optimistic, but what is hot is locked before it is read (Wang and Kimura, PVLDB 10(2), 2016)";
    Hekaton = "hekaton", "optimistic over versions: reads what was there when it began, and validates at its end that it still is (Larson et al., PVLDB 5(4), 2011)";
    KeyValue = "key-value", "no transactions: one row is read or written at a time, atomically (silo 5.2)";
    Unprotected = "none", "no protocol, where an architecture needs none";
}

names! {
    /// Protocols with one step removed. The checker must reject each of them.
    CanaryName, "canary":
    NoReadValidation = "no-read-validation", "silo that does not validate its read set";
    NoMissValidation = "no-miss-validation", "silo that does not validate the keys that it found missing";
    EarlyRelease = "early-release", "no-wait that releases a read lock right after the read";
    SkippedCertify = "skipped-certify", "2v-no-wait that installs without waiting for certify locks";
    DirtyReads = "dirty-reads", "no-wait that reads without a lock";
    EagerUpgrade = "eager-upgrade", "wait-die that upgrades a read to a write although others read";
    ForcedUpgrade = "forced-upgrade", "dreadlocks that upgrades a read to a write if it finds a deadlock, although others read";
    UnguardedUpgrade = "unguarded-upgrade", "deadlock-free that upgrades a read to a write although others read";
    UncountedReads = "uncounted-reads", "vll whose reads are not counted in their records";
    LateStart = "late-start", "occ that validates what it read against the timestamp of its end";
    UnmarkedReads = "unmarked-reads", "timestamp whose reads leave no timestamp behind";
    NewestVersion = "newest-version", "mvcc that shows the newest version to everybody";
    UnraisedReads = "unraised-reads", "cicada that validates what it read without raising its read timestamp";
    NoExtension = "no-extension", "tictoc that neither looks at reads that have expired nor extends them";
    UnheldReads = "unheld-reads", "mocc that gives back the lock of a hot record right after the read, which it does not validate";
    UnvalidatedReads = "unvalidated-reads", "hekaton that does not validate what it has read";
    UnlockedGaps = "unlocked-gaps", "no-wait that inserts between keys without a lock";
    PassedLocks = "passed-locks", "orthrus that grants a lock to read although an earlier one to write is held";
    StalePlans = "stale-plans", "orthrus whose transactions do not notice that they read what they have not planned";
    UnlockedRanges = "unlocked-ranges", "orthrus that does not lock the ranges that it reads";
}

names! {
    /// How threads exclude each other for a few instructions.
    LatchName, "latch":
    TestAndSet = "test-and-set", "an atomic exchange until it succeeds: every try takes the line";
    TestAndTestAndSet = "test-and-test-and-set", "reads until it looks free, then tries: only a release makes them all try";
    Ticket = "ticket", "first come, first served";
}

names! {
    /// In which order transactions that wait for a partition get it, under partitioned serial execution.
    PartitionLatchName, "latch of partitions":
    TestAndSet = "test-and-set", "in none: an atomic exchange until it succeeds";
    TestAndTestAndSet = "test-and-test-and-set", "in none: reads until it looks free, then tries";
    Ticket = "ticket", "first come, first served";
    Timestamp = "timestamp", "the oldest first, by its timestamp (H-STORE: thousand-cores 2.2)";
}

names! {
    /// Where workers run (*hardware-islands* 4.1, figure 2).
    BindingName, "binding":
    Cores = "cores", "each on a core of its own, if there are enough";
    Sockets = "sockets", "each on any core of the socket of that one";
    Off = "off", "where the system likes";
}

names! {
    /// How transactions of an open loop are spread over time.
    ArrivalsName, "arrivals":
    Constant = "constant", "always the same time from one to the next";
    Poisson = "poisson", "each at a moment of its own: times from one to the next are exponential, and some come close together";
}

names! {
    /// Whether a run asks its threads' processors what they count.
    CountersName, "counters":
    Auto = "auto", "where the system gives the processor's counters";
    On = "on", "the same, with a warning where it gives none";
    Off = "off", "of no thread";
}

names! {
    /// Whose cache lines are asked for before they are needed, which no system of the papers does.
    PrefetchName, "prefetch":
    Off = "off", "nobody's: a worker waits for each line that it has not";
    Planned = "planned", "those of planned keys, before a transaction runs";
    On = "on", "those of keys that a procedure names while it runs, and of records that a scan comes to, too";
}

names! {
    /// By what the instances of a deployment talk with each other (*hardware-islands* 2).
    ChannelName, "channel":
    SharedMemory = "shared-memory", "rings that one worker writes and another reads";
    Unix = "unix", "Unix domain sockets";
    Tcp = "tcp", "TCP connections, of the loopback interface unless nodes are on several hosts";
    Mpi = "mpi", "MPI, between processes that mpirun has started as trireme-mpi";
}

names! {
    /// How transactions get their timestamps (*thousand-cores* 4.3, figure 6).
    TimestampsName, "way to allocate timestamps":
    Mutex = "mutex", "a counter behind a latch";
    Atomic = "atomic", "an atomic addition for each";
    Batch8 = "batch-8", "an atomic addition for eight, which a slot then uses up";
    Batch16 = "batch-16", "an atomic addition for sixteen";
    Clock = "clock", "the core's clock, with the slot's number: nothing is shared";
    HardwareCounter = "hardware-counter", "a counter at the centre of the chip, which simulated machines have";
}

impl TimestampsName {
    /// Whether one that is drawn later is larger. What is left of a batch is older than what others have drawn since.
    pub const fn are_in_order_of_time(self) -> bool {
        !matches!(self, TimestampsName::Batch8 | TimestampsName::Batch16)
    }
}

impl PartitionLatchName {
    /// The latch of a partition that suits so many workers on a machine of so many cores.
    ///
    /// First come, first served as long as each worker has a core, as in a queue of the partition's transactions: with a latch
    /// that lets in the quickest, the worker that has just unlatched takes it again, and others wait for milliseconds. With more
    /// workers than cores the next in line may not be running, and all behind it wait for its time slice; then the latch goes
    /// to the quickest. Both are measured in `docs/results/partition-latch.md`.
    pub const fn for_workers(workers: usize, cores: usize) -> PartitionLatchName {
        if workers > cores { PartitionLatchName::TestAndTestAndSet } else { PartitionLatchName::Ticket }
    }
}

impl ProtocolName {
    /// Those whose transactions span instances: nobody waits for a lock under them while another instance waits for him.
    pub const DEPLOYED: &'static [ProtocolName] = &[ProtocolName::NoWait, ProtocolName::Silo];

    /// Whether there are transactions, of any number of operations, and serializable. Where there are none, each read or write is atomic, and that is
    /// all: nothing is ordered, checked, logged or kept for snapshots.
    pub const fn has_transactions(self) -> bool {
        !matches!(self, ProtocolName::KeyValue)
    }

    /// Whether transactions are also in the order of time: one that begins after another has ended comes after it. `timestamps`: where
    /// those come from that decide the order under some protocols.
    pub const fn is_strict(self, timestamps: TimestampsName) -> bool {
        match self {
            ProtocolName::TicToc => false,
            ProtocolName::Timestamp | ProtocolName::Mvcc | ProtocolName::Cicada => {
                timestamps.are_in_order_of_time()
            }
            _ => true,
        }
    }

    /// What a record has before its row, so that the protocol's metadata fits.
    pub const fn header(self) -> Header {
        match self {
            ProtocolName::Timestamp => Header::Wide,
            ProtocolName::Mvcc | ProtocolName::Hekaton | ProtocolName::Cicada => Header::Versioned,
            _ => Header::Narrow,
        }
    }
}

impl CanaryName {
    /// The protocol that it breaks: it runs wherever that does.
    pub const fn protocol(self) -> ProtocolName {
        match self {
            CanaryName::NoReadValidation | CanaryName::NoMissValidation => ProtocolName::Silo,
            CanaryName::EarlyRelease | CanaryName::DirtyReads | CanaryName::UnlockedGaps => {
                ProtocolName::NoWait
            }
            CanaryName::SkippedCertify => ProtocolName::TwoVersionNoWait,
            CanaryName::EagerUpgrade => ProtocolName::WaitDie,
            CanaryName::ForcedUpgrade => ProtocolName::Dreadlocks,
            CanaryName::UnguardedUpgrade => ProtocolName::DeadlockFree,
            CanaryName::UncountedReads => ProtocolName::Vll,
            CanaryName::LateStart => ProtocolName::Occ,
            CanaryName::UnmarkedReads => ProtocolName::Timestamp,
            CanaryName::NewestVersion => ProtocolName::Mvcc,
            CanaryName::UnraisedReads => ProtocolName::Cicada,
            CanaryName::NoExtension => ProtocolName::TicToc,
            CanaryName::UnheldReads => ProtocolName::Mocc,
            CanaryName::UnvalidatedReads => ProtocolName::Hekaton,
            CanaryName::PassedLocks | CanaryName::StalePlans | CanaryName::UnlockedRanges => {
                ProtocolName::Unprotected
            }
        }
    }

    /// The architecture that has it first of all.
    pub const fn architecture(self) -> ArchitectureName {
        match self.protocol() {
            ProtocolName::Unprotected => ArchitectureName::Orthrus,
            _ => ArchitectureName::SharedEverything,
        }
    }

    /// The check workload that shows what it omits: others may never come to the step.
    pub const fn shown_by(self) -> &'static str {
        match self {
            CanaryName::NoReadValidation
            | CanaryName::EarlyRelease
            | CanaryName::SkippedCertify
            | CanaryName::DirtyReads
            | CanaryName::UncountedReads
            | CanaryName::LateStart
            | CanaryName::UnmarkedReads
            | CanaryName::NewestVersion
            | CanaryName::UnraisedReads
            | CanaryName::NoExtension
            | CanaryName::UnheldReads
            | CanaryName::UnvalidatedReads
            | CanaryName::PassedLocks => "micro",
            CanaryName::EagerUpgrade | CanaryName::ForcedUpgrade | CanaryName::UnguardedUpgrade => {
                "lost-update"
            }
            CanaryName::NoMissValidation
            | CanaryName::UnlockedGaps
            | CanaryName::StalePlans
            | CanaryName::UnlockedRanges => "ranges",
        }
    }
}

/// An architecture with a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairName {
    /// How a step reaches its record.
    pub architecture: ArchitectureName,
    /// What the record answers.
    pub protocol: ProtocolName,
}

impl PairName {
    /// Every pair, supported or not.
    pub fn all() -> impl Iterator<Item = PairName> {
        let pairs = |&architecture| {
            ProtocolName::ALL.iter().map(move |&protocol| PairName { architecture, protocol })
        };
        ArchitectureName::ALL.iter().flat_map(pairs)
    }

    /// Its name for people, which is none that can be typed where the typed one would mislead: ORTHRUS has no protocol to choose, and
    /// concurrency control all the same.
    pub fn shown(self) -> String {
        match self.is_planned() {
            true => self.architecture.to_string(),
            false => self.to_string(),
        }
    }

    /// The protocol in a column beside its architecture. What is in brackets is no protocol's name.
    pub const fn protocol_shown(self) -> &'static str {
        if self.is_planned() { "(planned locks)" } else { self.protocol.name() }
    }

    /// Whether lock tables lock what a transaction has planned before it begins (*orthrus* 3.2).
    const fn is_planned(self) -> bool {
        matches!((self.architecture, self.protocol), (ArchitectureName::Orthrus, ProtocolName::Unprotected))
    }
}

impl fmt::Display for PairName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.architecture, self.protocol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_the_papers_spell_them() {
        for (given, protocol) in [
            ("no-wait", ProtocolName::NoWait),
            ("NO_WAIT", ProtocolName::NoWait),
            ("2V_NO_WAIT", ProtocolName::TwoVersionNoWait),
            ("TicToc", ProtocolName::TicToc),
        ] {
            assert_eq!(given.parse(), Ok(protocol));
        }
        assert_eq!("ORTHRUS".parse(), Ok(ArchitectureName::Orthrus));
        assert_eq!("Passed_Locks".parse(), Ok(CanaryName::PassedLocks));
        let unknown = "NO WAIT".parse::<ProtocolName>().expect_err("no name");
        assert_eq!(unknown.given, "NO WAIT", "as it was given");
        for name in ProtocolName::ALL.iter().map(|name| name.name()) {
            assert_eq!(kebab_case(name), name);
        }
    }
}
