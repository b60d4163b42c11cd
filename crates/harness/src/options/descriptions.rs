//! Every option that a measuring command takes, described once: its name, its values, who uses it, how it is read and shown.
//!
//! The command line makes its flags from this list, an experiment file sets the same names to the same values, and results are
//! compared by what it shows.

use super::{BadValue, Division, Logging, RunOptions};
use crate::text::durations;
use contract::{ArchitectureName, OpenLoop, PairName, ProtocolName, UnknownName};
use std::num::NonZeroU64;
use std::str::FromStr;

/// One option, as the command line and an experiment file name it.
pub struct OptionDescription {
    /// Its name, kebab-case.
    pub name: &'static str,
    /// What stands for its value in help.
    pub value: &'static str,
    /// What it is for, one line.
    help: &'static str,
    used_by: UsedBy,
    /// Whether it means something to a check, which ends after so many transactions, not after a time, and runs once.
    pub in_checks: bool,
    /// Reads a value; or says what is allowed.
    set: fn(&mut RunOptions, &str) -> Result<(), String>,
    get: fn(&RunOptions) -> String,
}

/// The systems to which an option makes a difference.
enum UsedBy {
    All,
    Architectures(&'static [ArchitectureName]),
    Pairs(ArchitectureName, &'static [ProtocolName]),
    Protocols(&'static [ProtocolName]),
    /// And an architecture that is told something else, in words.
    ProtocolsAnd(&'static [ProtocolName], ArchitectureName, &'static str),
    /// All but those with these protocols.
    AllBut(&'static [ProtocolName]),
}

/// Of what a system commits in a closed loop: more than all is more than it can do.
const MOST_PERCENT: u32 = 200;

/// The protocols whose requests wait in a lock's queue.
const WHOSE_REQUESTS_WAIT: &[ProtocolName] =
    &[ProtocolName::DlDetect, ProtocolName::Dreadlocks, ProtocolName::WaitDie, ProtocolName::DeadlockFree];

/// The protocols with latches of lists of requests.
const WITH_LISTS: &[ProtocolName] = &[
    ProtocolName::DlDetect,
    ProtocolName::Dreadlocks,
    ProtocolName::WaitDie,
    ProtocolName::DeadlockFree,
    ProtocolName::Vll,
];

/// The protocols whose snapshots are those of the store, every so many epochs.
const WITH_EPOCH_SNAPSHOTS: &[ProtocolName] = &[
    ProtocolName::NoWait,
    ProtocolName::TwoVersionNoWait,
    ProtocolName::DlDetect,
    ProtocolName::Dreadlocks,
    ProtocolName::WaitDie,
    ProtocolName::DeadlockFree,
    ProtocolName::Vll,
    ProtocolName::Silo,
    ProtocolName::Occ,
    ProtocolName::Mocc,
];

/// Those, and the one that shows its own versions.
const WITH_SNAPSHOTS: &[ProtocolName] = &[
    ProtocolName::NoWait,
    ProtocolName::TwoVersionNoWait,
    ProtocolName::DlDetect,
    ProtocolName::Dreadlocks,
    ProtocolName::WaitDie,
    ProtocolName::DeadlockFree,
    ProtocolName::Vll,
    ProtocolName::Silo,
    ProtocolName::Cicada,
    ProtocolName::Occ,
    ProtocolName::Mocc,
];

/// Protocols, in words.
fn either_of(protocols: &[ProtocolName]) -> String {
    protocols.iter().map(|protocol| protocol.name()).collect::<Vec<_>>().join(" or ")
}

impl OptionDescription {
    /// The option called `name`.
    pub fn named(name: &str) -> Option<&'static OptionDescription> {
        OPTIONS.iter().find(|option| option.name == name)
    }

    /// What it is for and who uses it, one line.
    pub fn help(&self) -> String {
        match self.users() {
            None => self.help.to_owned(),
            Some(users) => format!("{} ({users})", self.help),
        }
    }

    /// Whether it makes a difference to a system.
    pub fn is_used_by(&self, pair: PairName) -> bool {
        match self.used_by {
            UsedBy::All => true,
            UsedBy::Architectures(names) => names.contains(&pair.architecture),
            UsedBy::Pairs(architecture, protocols) => {
                pair.architecture == architecture && protocols.contains(&pair.protocol)
            }
            UsedBy::Protocols(protocols) => protocols.contains(&pair.protocol),
            UsedBy::ProtocolsAnd(protocols, architecture, _) => {
                protocols.contains(&pair.protocol) || pair.architecture == architecture
            }
            UsedBy::AllBut(protocols) => !protocols.contains(&pair.protocol),
        }
    }

    /// Who uses it, in words; nothing if all do.
    pub fn users(&self) -> Option<String> {
        match self.used_by {
            UsedBy::All => None,
            UsedBy::Architectures(names) => {
                Some(names.iter().map(|name| name.name()).collect::<Vec<_>>().join(", "))
            }
            UsedBy::Pairs(architecture, protocols) => {
                Some(format!("{architecture} with {}", either_of(protocols)))
            }
            UsedBy::Protocols(protocols) => Some(either_of(protocols)),
            UsedBy::ProtocolsAnd(protocols, architecture, told) => {
                Some(format!("{}; {architecture} {told}", either_of(protocols)))
            }
            UsedBy::AllBut(protocols) => {
                let others: Vec<&str> = protocols.iter().map(|protocol| protocol.name()).collect();
                Some(format!("all but {}", others.join(", ")))
            }
        }
    }

    /// Sets it.
    pub fn set(&self, options: &mut RunOptions, value: &str) -> Result<(), BadValue> {
        (self.set)(options, value).map_err(|allowed| BadValue::new(self.name, value, allowed))
    }

    /// Its value, as [`OptionDescription::set`] takes it.
    pub fn get(&self, options: &RunOptions) -> String {
        (self.get)(options)
    }
}

/// Every option of [`RunOptions`], in the order of help.
pub static OPTIONS: &[OptionDescription] = &[
    OptionDescription {
        name: "workers",
        value: "N",
        help: "Workers, each pinned to a core",
        used_by: UsedBy::All,
        in_checks: true,
        set: |options, value| assign(&mut options.workers, at_least_one(value)),
        get: |options| options.workers.to_string(),
    },
    OptionDescription {
        name: "warmup",
        value: "TIME",
        help: "Run before each counted interval",
        used_by: UsedBy::All,
        in_checks: false,
        set: |options, value| assign(&mut options.warmup, time(value)),
        get: |options| durations::show(options.warmup),
    },
    OptionDescription {
        name: "duration",
        value: "TIME",
        help: "Counted interval of one repetition",
        used_by: UsedBy::All,
        in_checks: false,
        set: |options, value| {
            let longer_than_zero = |time: std::time::Duration| match time.is_zero() {
                true => Err("longer than zero".to_owned()),
                false => Ok(time),
            };
            assign(&mut options.duration, time(value).and_then(longer_than_zero))
        },
        get: |options| durations::show(options.duration),
    },
    OptionDescription {
        name: "repeat",
        value: "N",
        help: "Repetitions; the median is reported",
        used_by: UsedBy::All,
        in_checks: false,
        set: |options, value| {
            let number = value.parse().ok().filter(|number| (1..=1000).contains(number));
            assign(&mut options.repeat, number.ok_or_else(|| "1 <= repeat <= 1000".to_owned()))
        },
        get: |options| options.repeat.to_string(),
    },
    OptionDescription {
        name: "seed",
        value: "N",
        help: "Seed of everything random",
        used_by: UsedBy::All,
        in_checks: true,
        set: |options, value| {
            assign(&mut options.engine.seed, parsed(value, "a whole number, 0 <= seed < 2^64"))
        },
        get: |options| options.engine.seed.to_string(),
    },
    OptionDescription {
        name: "rate",
        value: "N|N%|closed",
        help: "An open loop: N transactions arrive in a second at all workers together, or N percent of what the system commits in a closed one, and their latency is from their arrival",
        used_by: UsedBy::All,
        in_checks: false,
        set: |options, value| {
            let allowed = format!(
                "transactions a second, 1 to {}; a part of what the system can, 1% to {MOST_PERCENT}%; or closed",
                OpenLoop::MOST_PER_S
            );
            (options.engine.open_loop, options.percent_of_capacity) = (None, None);
            match (value, value.strip_suffix('%')) {
                ("closed", _) => options.engine.series = false,
                (_, Some(percent)) => {
                    let percent = percent.parse().ok().filter(|percent| (1..=MOST_PERCENT).contains(percent));
                    options.percent_of_capacity = Some(percent.ok_or(allowed)?);
                    options.engine.series = true;
                }
                (rate, None) => {
                    let rate =
                        rate.parse().ok().filter(|rate: &NonZeroU64| rate.get() <= OpenLoop::MOST_PER_S);
                    options.set_rate(rate.ok_or(allowed)?);
                    options.engine.series = true;
                }
            }
            Ok(())
        },
        get: |options| match (options.percent_of_capacity, options.engine.open_loop) {
            (Some(percent), _) => format!("{percent}%"),
            (None, Some(open_loop)) => open_loop.rate_per_s.to_string(),
            (None, None) => "closed".to_owned(),
        },
    },
    OptionDescription {
        name: "arrivals",
        value: "NAME",
        help: "How transactions of an open loop are spread over time: poisson, or constant",
        used_by: UsedBy::All,
        in_checks: false,
        set: |options, value| {
            options.arrivals = named(value)?;
            if let Some(open_loop) = &mut options.engine.open_loop {
                open_loop.arrivals = options.arrivals;
            }
            Ok(())
        },
        get: |options| options.arrivals.to_string(),
    },
    OptionDescription {
        name: "series",
        value: "on|off",
        help: "Count by slices of 100 ms, or of a tenth of the interval if that is shorter, too; on in an open loop",
        used_by: UsedBy::All,
        in_checks: false,
        set: |options, value| assign(&mut options.engine.series, on_or_off(value)),
        get: |options| show_on_or_off(options.engine.series),
    },
    OptionDescription {
        name: "counters",
        value: "auto|on|off",
        help: "Ask what each worker's processor counts, where the system gives that: instructions, cycles and misses by transaction; on: and warn where it does not",
        used_by: UsedBy::All,
        in_checks: false,
        set: |options, value| assign(&mut options.engine.counters, named(value)),
        get: |options| options.engine.counters.to_string(),
    },
    OptionDescription {
        name: "sample",
        value: "N",
        help: "Time one transaction in N class by class, and leave it out of the latencies; 0 times none",
        used_by: UsedBy::All,
        in_checks: false,
        set: |options, value| {
            let allowed = "a whole number, 0 <= sample < 2^32; 0 for none";
            assign(&mut options.engine.sample_one_in, parsed(value, allowed))
        },
        get: |options| options.engine.sample_one_in.to_string(),
    },
    OptionDescription {
        name: "durability",
        value: "LEVEL",
        help: "When a commit counts: none, as soon as it is installed; buffered, written; group, synced with its epoch; sync, synced at once",
        used_by: UsedBy::All,
        in_checks: false,
        set: |options, value| assign(&mut options.logging.level, value.parse()),
        get: |options| options.logging.level.to_string(),
    },
    OptionDescription {
        name: "log",
        value: "FOLDER",
        help: "Where the log is written; several between commas, for as many loggers",
        used_by: UsedBy::All,
        in_checks: false,
        set: |options, value| assign(&mut options.logging.folders, Logging::read_folders(value)),
        get: |options| options.logging.show_folders(),
    },
    OptionDescription {
        name: "loggers",
        value: "N",
        help: "Threads that write the log, each to files of its own",
        used_by: UsedBy::All,
        in_checks: false,
        set: |options, value| {
            let number = value.parse().ok().filter(|number| (1..=256).contains(number));
            assign(&mut options.logging.loggers, number.ok_or_else(|| "1 <= loggers <= 256".to_owned()))
        },
        get: |options| options.logging.loggers.to_string(),
    },
    OptionDescription {
        name: "compress",
        value: "on|off",
        help: "Compress the log (LZ4)",
        used_by: UsedBy::All,
        in_checks: false,
        set: |options, value| assign(&mut options.logging.compress, on_or_off(value)),
        get: |options| show_on_or_off(options.logging.compress),
    },
    OptionDescription {
        name: "epochs-follow-disk",
        value: "on|off",
        help: "Let an epoch last as long as a sync takes lately, if that is longer than --epoch",
        used_by: UsedBy::All,
        in_checks: false,
        set: |options, value| assign(&mut options.logging.epochs_follow_disk, on_or_off(value)),
        get: |options| show_on_or_off(options.logging.epochs_follow_disk),
    },
    OptionDescription {
        name: "checkpoint-every",
        value: "TIME|never",
        help: "Write all rows beside the log so often, so that the log before them can go",
        used_by: UsedBy::All,
        in_checks: false,
        set: |options, value| {
            let every = match value {
                "never" => Ok(None),
                value => time(value).and_then(at_least_a_microsecond).map(Some),
            };
            assign(
                &mut options.logging.checkpoint_every,
                every.map_err(|allowed| format!("{allowed}; or never")),
            )
        },
        get: |options| options.logging.checkpoint_every.map_or("never".to_owned(), durations::show),
    },
    OptionDescription {
        name: "epoch",
        value: "TIME",
        help: "How often the global epoch advances",
        used_by: UsedBy::All,
        in_checks: true,
        set: |options, value| {
            assign(&mut options.engine.epoch_interval, time(value).and_then(at_least_a_microsecond))
        },
        get: |options| durations::show(options.engine.epoch_interval),
    },
    OptionDescription {
        name: "prefetch",
        value: "off|planned|on",
        help: "Ask for cache lines before they are needed: of planned keys before a transaction runs, and of those that a procedure names while it runs or a scan comes to",
        used_by: UsedBy::Architectures(&[
            ArchitectureName::SharedEverything,
            ArchitectureName::PartitionedSerial,
            ArchitectureName::Delegation,
            ArchitectureName::AsymmetricDelegation,
            ArchitectureName::Orthrus,
        ]),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.prefetch, named(value)),
        get: |options| options.engine.prefetch.to_string(),
    },
    OptionDescription {
        name: "back-off",
        value: "FIRST..CAP",
        help: "Random wait before a retry, in ns: below FIRST, doubled up to CAP; 'off' retries at once",
        used_by: UsedBy::All,
        in_checks: true,
        set: |options, value| {
            (options.engine.back_off_first_ns, options.engine.back_off_cap_ns) = back_off(value)?;
            Ok(())
        },
        get: |options| match (options.engine.back_off_first_ns, options.engine.back_off_cap_ns) {
            (_, 0) => "off".to_owned(),
            (first, cap) => format!("{first}..{cap}"),
        },
    },
    OptionDescription {
        name: "precedence-after",
        value: "N|never",
        help: "Let a transaction go before all others once it was aborted N times, so that it ends",
        used_by: UsedBy::All,
        in_checks: true,
        set: |options, value| assign(&mut options.engine.precedence_after, at_least_one_or("never", value)),
        get: |options| show_unless_zero("never", u64::from(options.engine.precedence_after)),
    },
    OptionDescription {
        name: "deadlock-timeout",
        value: "TIME|0|never",
        help: "Abort a transaction that has waited so long for one lock; 0: it never waits",
        used_by: UsedBy::Protocols(WHOSE_REQUESTS_WAIT),
        in_checks: true,
        set: |options, value| {
            let timeout = match value {
                "never" => Ok(None),
                "0" => Ok(Some(std::time::Duration::ZERO)),
                value => time(value).and_then(at_least_a_microsecond).map(Some),
            };
            let timeout = timeout.map_err(|allowed| format!("{allowed}; or 0, or never"))?;
            options.engine.deadlock_timeout_ns = timeout.map(|timeout| timeout.as_nanos() as u64);
            Ok(())
        },
        get: |options| match options.engine.deadlock_timeout_ns {
            None => "never".to_owned(),
            Some(0) => "0".to_owned(),
            Some(ns) => durations::show(std::time::Duration::from_nanos(ns)),
        },
    },
    OptionDescription {
        name: "preclaim",
        value: "on|off",
        help: "Lock all that a transaction's plan names, in order, before it does anything (orthrus 4)",
        used_by: UsedBy::Protocols(&[ProtocolName::DeadlockFree]),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.preclaim, on_or_off(value)),
        get: |options| show_on_or_off(options.engine.preclaim),
    },
    OptionDescription {
        name: "selective-contention-analysis",
        value: "on|off",
        help: "Look for blocked transactions that conflict with nobody ahead, whenever one leaves the queue",
        used_by: UsedBy::Protocols(&[ProtocolName::Vll]),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.selective_contention_analysis, on_or_off(value)),
        get: |options| show_on_or_off(options.engine.selective_contention_analysis),
    },
    OptionDescription {
        name: "servers",
        value: "N",
        help: "Workers that own the partitions and host no transactions",
        used_by: UsedBy::Architectures(&[ArchitectureName::AsymmetricDelegation]),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.servers, at_least_one(value)),
        get: |options| options.engine.servers.to_string(),
    },
    OptionDescription {
        name: "cc-threads",
        value: "N|auto",
        help: "Workers that do concurrency control and host no transactions; auto: as many as short runs find best",
        used_by: UsedBy::Architectures(&[ArchitectureName::Orthrus]),
        in_checks: true,
        set: |options, value| {
            (options.division, options.engine.cc_threads) = match value {
                "auto" => (Division::Measured, 1),
                value => {
                    (Division::Told, at_least_one(value).map_err(|allowed| format!("{allowed}, or auto"))?)
                }
            };
            Ok(())
        },
        get: |options| match options.division {
            Division::Told => options.engine.cc_threads.to_string(),
            Division::Measured => "auto".to_owned(),
        },
    },
    OptionDescription {
        name: "forwarding",
        value: "on|off",
        help: "Let a concurrency-control thread forward a request to the next, instead of answering",
        used_by: UsedBy::Architectures(&[ArchitectureName::Orthrus]),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.forwarding, on_or_off(value)),
        get: |options| show_on_or_off(options.engine.forwarding),
    },
    OptionDescription {
        name: "locks-by-hash",
        value: "on|off",
        help: "Divide locks among concurrency-control threads, or parts of their table, by hash, not by the partition function",
        used_by: UsedBy::Architectures(&[ArchitectureName::Orthrus]),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.locks_by_hash, on_or_off(value)),
        get: |options| show_on_or_off(options.engine.locks_by_hash),
    },
    OptionDescription {
        name: "shared-lock-table",
        value: "on|off",
        help: "Let concurrency-control threads share one lock table, of which each grants a transaction all its locks",
        used_by: UsedBy::Architectures(&[ArchitectureName::Orthrus]),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.shared_lock_table, on_or_off(value)),
        get: |options| show_on_or_off(options.engine.shared_lock_table),
    },
    OptionDescription {
        name: "in-flight",
        value: "N|auto|default",
        help: "Transactions in flight per worker: by default four, and under shared-everything of one instance one; there, with auto, as many as bring most, which each worker finds out in its first ten thousand or so; until then mostly one",
        used_by: UsedBy::Architectures(&[
            ArchitectureName::SharedEverything,
            ArchitectureName::Dora,
            ArchitectureName::Orthrus,
        ]),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.in_flight, value.parse()),
        get: |options| options.engine.in_flight.to_string(),
    },
    OptionDescription {
        name: "partitions",
        value: "N|workers",
        help: "Partitions of the tables, or as many as there are workers",
        used_by: UsedBy::Architectures(&[ArchitectureName::PartitionedSerial]),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.partitions, at_least_one_or("workers", value)),
        get: |options| show_unless_zero("workers", options.engine.partitions as u64),
    },
    OptionDescription {
        name: "instances",
        value: "N|one|per-core|per-socket|per-machine",
        help: "Divide workers and tables among instances, whose transactions commit in two phases if they span several",
        used_by: UsedBy::Pairs(ArchitectureName::SharedEverything, ProtocolName::DEPLOYED),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.instances, named(value)),
        get: |options| options.engine.instances.to_string(),
    },
    OptionDescription {
        name: "channel",
        value: "NAME",
        help: "By what instances communicate: shared-memory, unix, tcp, or mpi under mpirun; with --cluster it is unix unless told, or tcp between hosts",
        used_by: UsedBy::Pairs(ArchitectureName::SharedEverything, ProtocolName::DEPLOYED),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.channel, named(value)),
        get: |options| options.engine.channel.to_string(),
    },
    OptionDescription {
        name: "readers-wait",
        value: "on|off",
        help: "Let who reads a record that another transaction has locked to commit wait for it, and not abort",
        used_by: UsedBy::Pairs(ArchitectureName::SharedEverything, &[ProtocolName::Silo]),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.readers_wait, on_or_off(value)),
        get: |options| show_on_or_off(options.engine.readers_wait),
    },
    OptionDescription {
        name: "one-shot",
        value: "on|off",
        help: "Send transactions whose parts do not depend on each other to other instances whole, not operation by operation",
        used_by: UsedBy::Pairs(ArchitectureName::SharedEverything, ProtocolName::DEPLOYED),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.one_shot, on_or_off(value)),
        get: |options| show_on_or_off(options.engine.one_shot),
    },
    OptionDescription {
        name: "split-indexes",
        value: "on|off",
        help: "Split the indexes into as many parts as there are workers that host transactions",
        used_by: UsedBy::Architectures(&[ArchitectureName::SharedEverything, ArchitectureName::Orthrus]),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.split_indexes, on_or_off(value)),
        get: |options| show_on_or_off(options.engine.split_indexes),
    },
    OptionDescription {
        name: "snapshots",
        value: "on|off",
        help: "Keep previous versions of records, and let transactions that only read, and ask for it, read a snapshot",
        used_by: UsedBy::Pairs(ArchitectureName::SharedEverything, WITH_SNAPSHOTS),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.snapshots, on_or_off(value)),
        get: |options| show_on_or_off(options.engine.snapshots),
    },
    OptionDescription {
        name: "snapshot-every",
        value: "N",
        help: "Take a snapshot every N epochs",
        used_by: UsedBy::Pairs(ArchitectureName::SharedEverything, WITH_EPOCH_SNAPSHOTS),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.snapshot_every, at_least_one(value)),
        get: |options| options.engine.snapshot_every.to_string(),
    },
    OptionDescription {
        name: "global-ids",
        value: "on|off",
        help: "Draw an id for every commit from one counter that all share (silo 5.2)",
        used_by: UsedBy::AllBut(&[
            ProtocolName::TicToc,
            ProtocolName::Timestamp,
            ProtocolName::Mvcc,
            ProtocolName::Hekaton,
            ProtocolName::Cicada,
        ]),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.global_ids, on_or_off(value)),
        get: |options| show_on_or_off(options.engine.global_ids),
    },
    OptionDescription {
        name: "overwrites",
        value: "on|off",
        help: "Write rows over what they were; off: each that is replaced goes to newly allocated memory (silo 5.7)",
        used_by: UsedBy::All,
        in_checks: true,
        set: |options, value| assign(&mut options.engine.overwrites, on_or_off(value)),
        get: |options| show_on_or_off(options.engine.overwrites),
    },
    OptionDescription {
        name: "reclaim",
        value: "on|off",
        help: "Use memory again that deletes, versions and replaced rows have left (silo 4.8)",
        used_by: UsedBy::All,
        in_checks: true,
        set: |options, value| assign(&mut options.engine.reclaim, on_or_off(value)),
        get: |options| show_on_or_off(options.engine.reclaim),
    },
    OptionDescription {
        name: "huge-pages",
        value: "on|off",
        help: "Ask the system for huge pages for tables, indexes and versions (silo 5.1); on simulated machines always on",
        used_by: UsedBy::All,
        in_checks: true,
        set: |options, value| assign(&mut options.engine.huge_pages, on_or_off(value)),
        get: |options| show_on_or_off(options.engine.huge_pages),
    },
    OptionDescription {
        name: "bind",
        value: "NAME",
        help: "Where workers run: cores, each on a core of its own; sockets, on any core of that one's socket; off, where the system likes; on hardware only",
        used_by: UsedBy::All,
        in_checks: true,
        set: |options, value| assign(&mut options.engine.bind, named(value)),
        get: |options| options.engine.bind.to_string(),
    },
    OptionDescription {
        name: "hand-over-every",
        value: "N|never",
        help: "Hand a partition to the next worker every N transactions of its owner",
        used_by: UsedBy::Architectures(&[ArchitectureName::Dora]),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.hand_over_every, at_least_one_or("never", value)),
        get: |options| show_unless_zero("never", options.engine.hand_over_every),
    },
    OptionDescription {
        name: "latch",
        value: "NAME",
        help: "Latch of lock lists, and of vll's queue: test-and-set, test-and-test-and-set, ticket",
        used_by: UsedBy::Pairs(ArchitectureName::SharedEverything, WITH_LISTS),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.latch, named(value)),
        get: |options| options.engine.latch.to_string(),
    },
    OptionDescription {
        name: "timestamps",
        value: "NAME",
        help: "Where timestamps come from: mutex, atomic, batch-8, batch-16, clock, hardware-counter (simulated machines)",
        used_by: UsedBy::ProtocolsAnd(
            &[
                ProtocolName::WaitDie,
                ProtocolName::Timestamp,
                ProtocolName::Mvcc,
                ProtocolName::Occ,
                ProtocolName::Hekaton,
                ProtocolName::Cicada,
            ],
            ArchitectureName::PartitionedSerial,
            "whose partition-latch is timestamp",
        ),
        in_checks: true,
        set: |options, value| assign(&mut options.engine.timestamps, named(value)),
        get: |options| options.engine.timestamps.to_string(),
    },
    OptionDescription {
        name: "partition-latch",
        value: "NAME|auto",
        help: "Latch of a partition: ticket, test-and-test-and-set, test-and-set, timestamp (the oldest first); auto: ticket while each worker has a core",
        used_by: UsedBy::Architectures(&[ArchitectureName::PartitionedSerial]),
        in_checks: true,
        set: |options, value| {
            let latch = match value {
                "auto" => Ok(None),
                name => named(name).map(Some).map_err(|names| format!("{names}, auto")),
            };
            assign(&mut options.engine.partition_latch, latch)
        },
        get: |options| options.engine.partition_latch.map_or("auto".to_owned(), |latch| latch.to_string()),
    },
];

fn assign<T>(to: &mut T, value: Result<T, String>) -> Result<(), String> {
    *to = value?;
    Ok(())
}

fn parsed<T: FromStr>(value: &str, allowed: &str) -> Result<T, String> {
    value.parse().map_err(|_| allowed.to_owned())
}

fn at_least_one<T: FromStr + Default + PartialEq>(value: &str) -> Result<T, String> {
    let number = value.parse().ok().filter(|number| *number != T::default());
    number.ok_or_else(|| from_one::<T>(value))
}

/// A number of at least one, or 0 for `word`.
fn at_least_one_or<T: FromStr + Default + PartialEq>(word: &str, value: &str) -> Result<T, String> {
    if value == word {
        return Ok(T::default());
    }
    at_least_one(value).map_err(|allowed| format!("{allowed}, or {word}"))
}

/// What is allowed where `value` is not; of a number that is too large, how large it may be.
fn from_one<T>(value: &str) -> String {
    let is_a_number =
        value.bytes().all(|digit| digit.is_ascii_digit()) && value.bytes().any(|digit| digit != b'0');
    match is_a_number {
        true => format!("a whole number, at least 1 and less than 2^{}", u8::BITS as usize * size_of::<T>()),
        false => "a whole number, at least 1".to_owned(),
    }
}

fn show_unless_zero(word: &str, number: u64) -> String {
    match number {
        0 => word.to_owned(),
        number => number.to_string(),
    }
}

fn on_or_off(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("on, off".to_owned()),
    }
}

fn show_on_or_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn time(value: &str) -> Result<std::time::Duration, String> {
    durations::parse(value).ok_or_else(|| durations::ALLOWED.to_owned())
}

fn at_least_a_microsecond(time: std::time::Duration) -> Result<std::time::Duration, String> {
    match time >= std::time::Duration::from_micros(1) {
        true => Ok(time),
        false => Err("at least 1us".to_owned()),
    }
}

fn named<T: FromStr<Err = UnknownName>>(value: &str) -> Result<T, String> {
    value.parse().map_err(|unknown: UnknownName| unknown.allowed.join(", "))
}

/// The two bounds of `FIRST..CAP`.
pub(super) fn back_off(value: &str) -> Result<(u64, u64), String> {
    if value == "off" {
        return Ok((0, 0));
    }
    let bounds =
        value.split_once("..").and_then(|(first, cap)| Some((first.parse().ok()?, cap.parse().ok()?)));
    // A first bound of zero would stay zero however often it is doubled.
    bounds.filter(|&(first, cap)| 1 <= first && first <= cap).ok_or_else(|| {
        "FIRST..CAP in nanoseconds with 1 <= FIRST <= CAP, such as 500..32000, or off".to_owned()
    })
}
