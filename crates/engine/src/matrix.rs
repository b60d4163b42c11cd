//! The matrix: the only place that names pairs of an architecture and a protocol, and the canaries.
//!
//! Every match is exhaustive, so a new architecture or protocol without its row does not compile.

use crate::facade::{clock, region};
use crate::physical::{Owned, Shared};
use crate::protocol::waits_for::MOST_SLOTS;
use crate::protocol::{self, Protocol};
use crate::system::{self, Dispatch, System};
use crate::testing::canary;
use contract::{
    ArchitectureName, Arrangement, CanaryName, EngineOptions, InFlight, Instances, Layout, Misfit, PairName,
    ProtocolName, Selection, Site, Support, TimestampsName,
};

/// Each partition of each table takes address space of its own.
const MOST_PARTITIONS: usize = 4_096;

/// Whether canaries are there under every architecture. Otherwise they are under shared-everything only: with all of them, half of
/// what is compiled would be canaries (`docs/results/build.md`). Debug builds have them all on the simulated machine, where exploration
/// finds them: on the hardware a message leaves few interleavings to luck.
const EVERY_CANARY: bool = cfg!(any(feature = "every-canary", all(simulated, debug_assertions)));

/// Whether a pair or a canary is supported, and if not, why.
pub(crate) fn support(selection: Selection) -> Support {
    if let Err(why) = dispatch_pair(selection.pair(), IsThere) {
        return Support::Unsupported { why };
    }
    match selection {
        Selection::Canary(architecture, canary)
            if canary.protocol() == ProtocolName::Unprotected
                && architecture != ArchitectureName::Orthrus =>
        {
            Support::Unsupported { why: "only orthrus has lock tables and plans that it breaks" }
        }
        Selection::Canary(architecture, canary)
            if !EVERY_CANARY
                && canary.protocol() != ProtocolName::Unprotected
                && architecture != ArchitectureName::SharedEverything =>
        {
            Support::Unsupported {
                why: "this build has canaries under shared-everything only, unless `--features every-canary` adds them, or a debug build explores",
            }
        }
        Selection::Pair(PairName { protocol: ProtocolName::KeyValue, .. }) => Support::SingleRecords,
        Selection::Canary(..) | Selection::Pair(_) => Support::Supported,
    }
}

/// A pair is there: nothing is done with it.
struct IsThere;

impl Dispatch for IsThere {
    type Output = ();

    fn run<S: System>(self) {}
}

/// What a pair without transactions is for.
const SINGLE_RECORDS: &str =
    "with transactions of one read or write of a row that is there, such as those of ycsb with --accesses 1";

/// How many of two workers or more may do one thing only, while at least one does the rest.
fn but_one(workers: usize, rest: &str) -> String {
    let most = match workers {
        2 => "1".to_owned(),
        _ => format!("1 to {}", workers - 1),
    };
    format!("{most}, for at least one of {workers} workers {rest}")
}

/// How a system uses its workers, which run on these sites.
pub(crate) fn arrange(
    selection: Selection,
    workers: usize,
    options: &EngineOptions,
    sites: &[Site],
) -> Result<Arrangement, Misfit> {
    let architecture = selection.architecture();
    let misfit = |option, value: usize, allowed: String| Misfit { option, value: value.to_string(), allowed };
    if options.timestamps == TimestampsName::HardwareCounter && !clock::HAS_HARDWARE_COUNTER {
        let elsewhere = TimestampsName::ALL.iter().filter(|&&way| way != TimestampsName::HardwareCounter);
        let allowed = elsewhere.map(|way| way.name()).collect::<Vec<_>>().join(", ");
        return Err(Misfit {
            option: "timestamps",
            value: options.timestamps.to_string(),
            allowed: format!("{allowed} on this machine; simulated machines have such a counter"),
        });
    }
    if selection.pair().protocol == ProtocolName::Hekaton && !options.timestamps.are_in_order_of_time() {
        let ways = TimestampsName::ALL.iter().filter(|way| way.are_in_order_of_time());
        let ways = ways.filter(|&&way| way != TimestampsName::HardwareCounter || clock::HAS_HARDWARE_COUNTER);
        let ways = ways.map(|way| way.name()).collect::<Vec<_>>().join(", ");
        let allowed = format!("{ways} under hekaton, where who draws later must get more");
        return Err(Misfit { option: "timestamps", value: options.timestamps.to_string(), allowed });
    }
    if !options.huge_pages && !region::HAS_PAGES {
        let allowed = "on, on simulated machines, whose memory has no pages".to_owned();
        return Err(Misfit { option: "huge-pages", value: "off".to_owned(), allowed });
    }
    if support(selection) == Support::SingleRecords && !options.single_records {
        let (option, value) = ("protocol", selection.pair().protocol.to_string());
        return Err(Misfit { option, value, allowed: SINGLE_RECORDS.to_owned() });
    }
    let instances = match architecture {
        ArchitectureName::SharedEverything => options.instances_among(workers, sites)?,
        _ => 1,
    };
    let (partitions, clients) = match architecture {
        ArchitectureName::SharedEverything if instances > 1 => {
            if let Some(misfit) = misfit_of_instances(selection, workers, instances, options) {
                return Err(misfit);
            }
            (workers, workers)
        }
        ArchitectureName::SharedEverything => {
            if let Some(misfit) = misfit_of_interleaving(workers, options) {
                return Err(misfit);
            }
            (if options.split_indexes { workers } else { 1 }, workers)
        }
        ArchitectureName::PartitionedSerial if options.partitions > MOST_PARTITIONS => {
            let allowed = format!("1 to {MOST_PARTITIONS}");
            return Err(misfit("partitions", options.partitions, allowed));
        }
        ArchitectureName::PartitionedSerial if options.partitions > 0 => (options.partitions, workers),
        ArchitectureName::PartitionedSerial | ArchitectureName::Delegation => (workers, workers),
        ArchitectureName::AsymmetricDelegation => {
            if workers < 2 {
                let allowed = "at least 2 under asymmetric-delegation, a server and a client".to_owned();
                return Err(misfit("workers", workers, allowed));
            }
            if !(1..workers).contains(&options.servers) {
                let allowed = but_one(workers, "hosts transactions");
                return Err(misfit("servers", options.servers, allowed));
            }
            (options.servers, workers - options.servers)
        }
        ArchitectureName::Dora => {
            let who =
                if workers == 1 { "1 worker has".to_owned() } else { format!("{workers} workers have") };
            let why = format!("for {who} at most {MOST_SLOTS} transactions in flight");
            if let Some(misfit) = misfit_of_fibers(workers, options, &why) {
                return Err(misfit);
            }
            (workers, workers)
        }
        ArchitectureName::Orthrus => {
            if workers < 2 {
                let allowed =
                    "at least 2 under orthrus, one for concurrency control and one that executes".to_owned();
                return Err(misfit("workers", workers, allowed));
            }
            if !(1..workers).contains(&options.cc_threads) {
                let allowed = but_one(workers, "executes transactions");
                return Err(misfit("cc-threads", options.cc_threads, allowed));
            }
            if options.shared_lock_table && !options.forwarding {
                let allowed =
                    "on with --shared-lock-table on, where one thread grants all that a transaction asks for"
                        .to_owned();
                return Err(Misfit { option: "forwarding", value: "off".to_owned(), allowed });
            }
            let hosts = workers - options.cc_threads;
            let why = format!(
                "for workers that execute, here {hosts}, have at most {MOST_SLOTS} transactions in flight"
            );
            if let Some(misfit) = misfit_of_fibers(hosts, options, &why) {
                return Err(misfit);
            }
            (if options.split_indexes { hosts } else { 1 }, hosts)
        }
    };
    let every = if has_snapshots(selection) { options.snapshots_of_layout() } else { 0 };
    let layout = Layout::of(partitions as u32).with_instances(instances as u32);
    let layout = layout.for_protocol(selection.pair().protocol);
    let layout = layout.with_snapshots(every).with_huge_pages(options.huge_pages);
    let homes = match architecture {
        ArchitectureName::Orthrus if partitions == 1 && !options.locks_by_hash => options.cc_threads,
        _ => partitions,
    };
    Ok(Arrangement { layout, clients, homes: homes as u32 })
}

/// Whether a system has snapshots ([`crate::versions`]). Where partitions have owners, nobody else may read their indexes. TICTOC's order
/// is one of logical time, and that of TIMESTAMP, MVCC and CICADA the one in which transactions begin, and not that of epochs: a transaction
/// that read what another then replaced may commit in a later epoch than that one and come before it, so that what an epoch and those before
/// it wrote is no prefix of the serial order. Nor is the order of HEKATON's ends that of the epochs which were read beside them. MVCC and
/// HEKATON have versions of their own, and need no snapshot for a reader not to abort; what CICADA's transactions that only read are shown
/// are its own versions, too ([`crate::horizon`]).
pub(crate) fn has_snapshots(selection: Selection) -> bool {
    use ProtocolName as P;
    let PairName { architecture, protocol } = selection.pair();
    match protocol {
        P::NoWait
        | P::TwoVersionNoWait
        | P::DlDetect
        | P::Dreadlocks
        | P::WaitDie
        | P::Vll
        | P::DeadlockFree
        | P::Silo
        | P::Occ
        | P::Mocc => architecture == ArchitectureName::SharedEverything,
        P::Timestamp | P::Mvcc | P::Hekaton | P::Cicada | P::TicToc | P::KeyValue | P::Unprotected => false,
    }
}

/// The most workers that an architecture allows.
pub(crate) fn most_workers(architecture: ArchitectureName) -> usize {
    match architecture {
        // A slot each, and the waits-for graph has a bit for every slot.
        ArchitectureName::SharedEverything
        | ArchitectureName::PartitionedSerial
        | ArchitectureName::Delegation
        | ArchitectureName::AsymmetricDelegation
        | ArchitectureName::Dora
        | ArchitectureName::Orthrus => MOST_SLOTS,
    }
}

/// Why a system runs with so many workers as no deployment of these instances ([`crate::deployment`]), if so.
fn misfit_of_instances(
    selection: Selection,
    workers: usize,
    instances: usize,
    options: &EngineOptions,
) -> Option<Misfit> {
    let misfit = |option, value: String, allowed| Some(Misfit { option, value, allowed });
    let asked = options.instances.to_string();
    let protocol = selection.pair().protocol;
    if matches!(selection, Selection::Canary(..)) {
        return misfit("instances", asked, "1 with --canary".to_owned());
    }
    if !ProtocolName::DEPLOYED.contains(&protocol) {
        let names = ProtocolName::DEPLOYED.iter().map(|deployed| deployed.name());
        let names = names.collect::<Vec<_>>().join(" or ");
        let allowed = format!(
            "1 under {protocol}; several with {names}, under which nobody waits for a lock while another instance waits for him"
        );
        return misfit("instances", asked, allowed);
    }
    if !workers.is_multiple_of(instances) {
        let fits = (1..=workers).filter(|instances| workers.is_multiple_of(*instances));
        let fits = fits.map(|instances| instances.to_string()).collect::<Vec<_>>().join(", ");
        return misfit("instances", asked, format!("{fits}: each has as many of the {workers} workers"));
    }
    if options.snapshots {
        let allowed = "'off' with several instances, whose snapshots would be of different times".to_owned();
        return misfit("snapshots", "on".to_owned(), allowed);
    }
    let why = format!(
        "for an instance has at most {MOST_SLOTS} transactions in flight, those of others among them"
    );
    misfit_of_fibers(workers, options, &why)
}

/// How many transactions so many workers may have in flight each, of [`MOST_SLOTS`] in all.
fn most_in_flight(workers: usize) -> usize {
    (MOST_SLOTS / workers.max(1)).max(1)
}

/// Why so many workers, where a transaction that waits is suspended anyhow, do not have as many in flight as they are told, if so.
fn misfit_of_fibers(workers: usize, options: &EngineOptions, why: &str) -> Option<Misfit> {
    let most = most_in_flight(workers);
    let fits = options.in_flight != InFlight::Auto && options.in_flight.in_fibers() <= most;
    let allowed = match options.in_flight {
        InFlight::Auto => format!("1 to {most}; auto is for shared-everything of one instance"),
        InFlight::Default | InFlight::Told(_) => format!("1 to {most}, {why}"),
    };
    (!fits).then(|| Misfit { option: "in-flight", value: options.in_flight.to_string(), allowed })
}

/// The same under shared-everything.
fn misfit_of_interleaving(workers: usize, options: &EngineOptions) -> Option<Misfit> {
    let most = most_in_flight(workers);
    (options.in_flight.interleaved(1) > most).then(|| Misfit {
        option: "in-flight",
        value: options.in_flight.to_string(),
        allowed: format!(
            "1 to {most}, or auto, for {workers} workers have at most {MOST_SLOTS} transactions in flight"
        ),
    })
}

/// How many workers each instance has in a run with these options, over a store that was laid out for them; `None`: it is no deployment.
pub(crate) fn workers_of_an_instance(
    selection: Selection,
    layout: Layout,
    clients: usize,
    options: &EngineOptions,
) -> Option<usize> {
    let is_asked_for =
        selection.architecture() == ArchitectureName::SharedEverything && options.instances != Instances::ONE;
    // Who looks at a quiescent store is alone.
    let is_deployed = is_asked_for && layout.instances > 1 && clients == layout.partitions as usize;
    is_deployed.then(|| clients / layout.instances as usize)
}

/// As [`run`], for a deployment, of whose instances each has so many workers.
pub(crate) fn run_deployed<D: Dispatch>(selection: Selection, workers: usize, dispatch: D) -> D::Output {
    use ProtocolName as P;
    let Selection::Pair(PairName { protocol, .. }) = selection else {
        panic!("{selection:?} is not deployed in instances")
    };
    match (protocol, workers) {
        (P::NoWait, 1) => dispatch.run::<system::Deployed<protocol::NoWait, Owned>>(),
        (P::NoWait, _) => dispatch.run::<system::Deployed<protocol::NoWait, Shared>>(),
        (P::Silo, 1) => dispatch.run::<system::Deployed<protocol::Silo, Owned>>(),
        (P::Silo, _) => dispatch.run::<system::Deployed<protocol::Silo, Shared>>(),
        (protocol, _) => panic!("{protocol} is not deployed in instances"),
    }
}

/// As [`run_deployed`], for instances of one worker, whose transactions touch what is at home as cheaply as can be; gives `dispatch` back for larger ones.
pub(crate) fn run_deployed_alone<D: Dispatch>(
    selection: Selection,
    workers: usize,
    dispatch: D,
) -> Result<D::Output, D> {
    match workers {
        1 => match selection.pair().protocol {
            ProtocolName::NoWait => Ok(dispatch.run::<system::Deployed<protocol::NoWait, Owned>>()),
            ProtocolName::Silo => Ok(dispatch.run::<system::Deployed<protocol::Silo, Owned>>()),
            _ => Err(dispatch),
        },
        _ => Err(dispatch),
    }
}

/// Hands the selected system to `dispatch`. Panics if it is not supported.
pub(crate) fn run<D: Dispatch>(selection: Selection, dispatch: D) -> D::Output {
    match selection {
        Selection::Pair(pair) => {
            dispatch_pair(pair, dispatch).unwrap_or_else(|why| panic!("{pair} is not supported: {why}"))
        }
        Selection::Canary(architecture, canary) => run_canary(architecture, canary, dispatch),
    }
}

/// As [`run`], for a pair whose transactions read in their own thread; gives `dispatch` back for one whose reads are messages or
/// migrations, beside which a call through a pointer costs nothing, and for one without transactions, which most clients have no use for.
pub(crate) fn run_reading_in_thread<D: Dispatch>(pair: PairName, dispatch: D) -> Result<D::Output, D> {
    use ArchitectureName as A;
    let PairName { architecture, protocol } = pair;
    let supported = match architecture {
        A::SharedEverything => return shared_everything_transactions(protocol, dispatch),
        A::PartitionedSerial => partitioned_serial_pair(protocol, dispatch),
        A::Delegation | A::AsymmetricDelegation => return delegation_validated(protocol, dispatch),
        A::Dora => return Err(dispatch),
        A::Orthrus => orthrus_pair(protocol, dispatch),
    };
    Ok(supported.unwrap_or_else(|why| panic!("{pair} is not supported: {why}")))
}

/// The list of all pairs: hands the system to `dispatch`, or says why there is none.
fn dispatch_pair<D: Dispatch>(
    PairName { architecture, protocol }: PairName,
    dispatch: D,
) -> Result<D::Output, &'static str> {
    match architecture {
        ArchitectureName::SharedEverything => shared_everything_pair(protocol, dispatch),
        ArchitectureName::PartitionedSerial => partitioned_serial_pair(protocol, dispatch),
        ArchitectureName::Delegation | ArchitectureName::AsymmetricDelegation => {
            delegation_pair(protocol, dispatch)
        }
        ArchitectureName::Dora => dora_pair(protocol, dispatch),
        ArchitectureName::Orthrus => orthrus_pair(protocol, dispatch),
    }
}

const BARE: &str =
    "key-value is the bare store beneath shared-everything silo, which it is compared with (silo 5.2)";
const ONE_QUEUE: &str = "vll's transactions ask for all their locks in one critical section, at one queue that all threads share; a queue for each \
     owner of a partition (Ren et al., section 2.3) is not built";
const UNPROTECTED: &str = "transactions run side by side and would not be serializable";

fn shared_everything_pair<D: Dispatch>(
    protocol: ProtocolName,
    dispatch: D,
) -> Result<D::Output, &'static str> {
    use ProtocolName as P;
    let dispatch = match shared_everything_transactions(protocol, dispatch) {
        Ok(output) => return Ok(output),
        Err(dispatch) => dispatch,
    };
    match protocol {
        P::KeyValue => Ok(shared_everything::<protocol::KeyValue, D>(dispatch)),
        P::NoWait
        | P::TwoVersionNoWait
        | P::DlDetect
        | P::Dreadlocks
        | P::WaitDie
        | P::Vll
        | P::DeadlockFree
        | P::Timestamp
        | P::Mvcc
        | P::Cicada
        | P::Occ
        | P::TicToc
        | P::Mocc
        | P::Hekaton
        | P::Silo => unreachable!("dispatched above"),
        P::Unprotected => Err(UNPROTECTED),
    }
}

/// Shared-everything with a protocol that has transactions.
fn shared_everything_transactions<D: Dispatch>(protocol: ProtocolName, dispatch: D) -> Result<D::Output, D> {
    use ProtocolName as P;
    Ok(match protocol {
        P::NoWait => shared_everything::<protocol::NoWait, D>(dispatch),
        P::TwoVersionNoWait => shared_everything::<protocol::TwoVersionNoWait, D>(dispatch),
        P::DlDetect => shared_everything::<protocol::DlDetect, D>(dispatch),
        P::Dreadlocks => shared_everything::<protocol::Dreadlocks, D>(dispatch),
        P::WaitDie => shared_everything::<protocol::WaitDie, D>(dispatch),
        P::Vll => shared_everything::<protocol::Vll, D>(dispatch),
        P::DeadlockFree => shared_everything::<protocol::DeadlockFree, D>(dispatch),
        P::Timestamp => shared_everything::<protocol::BasicTimestamp, D>(dispatch),
        P::Mvcc => shared_everything::<protocol::Mvcc, D>(dispatch),
        P::Cicada => shared_everything::<protocol::Cicada, D>(dispatch),
        P::Occ => shared_everything::<protocol::Occ, D>(dispatch),
        P::TicToc => shared_everything::<protocol::TicToc, D>(dispatch),
        P::Mocc => shared_everything::<protocol::Mocc, D>(dispatch),
        P::Hekaton => shared_everything::<protocol::Hekaton, D>(dispatch),
        P::Silo => shared_everything::<protocol::Silo, D>(dispatch),
        P::KeyValue | P::Unprotected => return Err(dispatch),
    })
}

fn partitioned_serial_pair<D: Dispatch>(
    protocol: ProtocolName,
    dispatch: D,
) -> Result<D::Output, &'static str> {
    use ProtocolName as P;
    match protocol {
        P::Unprotected => Ok(dispatch.run::<system::Serial>()),
        P::NoWait
        | P::TwoVersionNoWait
        | P::DlDetect
        | P::Dreadlocks
        | P::WaitDie
        | P::Vll
        | P::DeadlockFree
        | P::Timestamp
        | P::Mvcc
        | P::Cicada
        | P::Silo
        | P::Occ
        | P::TicToc
        | P::KeyValue
        | P::Hekaton
        | P::Mocc => Err(
            "a transaction has its partitions to itself: there is nothing for a protocol to do (trireme 3.3)",
        ),
    }
}

fn orthrus_pair<D: Dispatch>(protocol: ProtocolName, dispatch: D) -> Result<D::Output, &'static str> {
    use ProtocolName as P;
    match protocol {
        P::Unprotected => Ok(dispatch.run::<system::Orthrus<protocol::LockTables>>()),
        P::NoWait
        | P::TwoVersionNoWait
        | P::DlDetect
        | P::Dreadlocks
        | P::WaitDie
        | P::Vll
        | P::DeadlockFree
        | P::Timestamp
        | P::Mvcc
        | P::Cicada
        | P::Silo
        | P::Occ
        | P::TicToc
        | P::KeyValue
        | P::Hekaton
        | P::Mocc => Err(
            "its concurrency-control threads have a protocol of their own: planned locks, first come, first served (orthrus 3.2)",
        ),
    }
}

fn delegation_pair<D: Dispatch>(protocol: ProtocolName, dispatch: D) -> Result<D::Output, &'static str> {
    use ProtocolName as P;
    let dispatch = match delegation_validated(protocol, dispatch) {
        Ok(output) => return Ok(output),
        Err(dispatch) => dispatch,
    };
    Ok(match protocol {
        P::NoWait => delegation::<protocol::NoWait, D>(dispatch),
        P::TwoVersionNoWait => delegation::<protocol::TwoVersionNoWait, D>(dispatch),
        P::DlDetect => delegation::<protocol::DlDetect, D>(dispatch),
        P::Dreadlocks => delegation::<protocol::Dreadlocks, D>(dispatch),
        P::WaitDie => delegation::<protocol::WaitDie, D>(dispatch),
        P::DeadlockFree => delegation::<protocol::DeadlockFree, D>(dispatch),
        P::Timestamp => delegation::<protocol::BasicTimestamp, D>(dispatch),
        P::Mvcc => delegation::<protocol::Mvcc, D>(dispatch),
        P::Hekaton | P::Cicada | P::Mocc | P::TicToc | P::Occ | P::Silo => unreachable!("dispatched above"),
        P::Vll => return Err(ONE_QUEUE),
        P::KeyValue => return Err(BARE),
        P::Unprotected => return Err(UNPROTECTED),
    })
}

/// Delegation with a protocol that reads without locks, or most of what it reads, in its own thread.
fn delegation_validated<D: Dispatch>(protocol: ProtocolName, dispatch: D) -> Result<D::Output, D> {
    use ProtocolName as P;
    match protocol {
        P::Occ => Ok(delegation::<protocol::Occ, D>(dispatch)),
        P::TicToc => Ok(delegation::<protocol::TicToc, D>(dispatch)),
        P::Mocc => Ok(delegation::<protocol::Mocc, D>(dispatch)),
        P::Hekaton => Ok(delegation::<protocol::Hekaton, D>(dispatch)),
        P::Silo => Ok(delegation::<protocol::Silo, D>(dispatch)),
        P::Cicada => Ok(delegation::<protocol::Cicada, D>(dispatch)),
        P::NoWait
        | P::TwoVersionNoWait
        | P::DlDetect
        | P::Dreadlocks
        | P::WaitDie
        | P::Vll
        | P::DeadlockFree
        | P::KeyValue
        | P::Timestamp
        | P::Mvcc
        | P::Unprotected => Err(dispatch),
    }
}

fn dora_pair<D: Dispatch>(protocol: ProtocolName, dispatch: D) -> Result<D::Output, &'static str> {
    use ProtocolName as P;
    Ok(match protocol {
        P::NoWait => dora::<protocol::NoWait, D>(dispatch),
        P::TwoVersionNoWait => dora::<protocol::TwoVersionNoWait, D>(dispatch),
        P::DlDetect => dora::<protocol::DlDetect, D>(dispatch),
        P::Dreadlocks => dora::<protocol::Dreadlocks, D>(dispatch),
        P::WaitDie => dora::<protocol::WaitDie, D>(dispatch),
        P::DeadlockFree => dora::<protocol::DeadlockFree, D>(dispatch),
        P::Timestamp => dora::<protocol::BasicTimestamp, D>(dispatch),
        P::Mvcc => dora::<protocol::Mvcc, D>(dispatch),
        P::Silo => {
            return Err(
                "silo's reads touch no metadata, so migrating to it would cost without need, and its longer validation \
                 does not scale under updates (trireme 3.5)",
            );
        }
        P::Occ => {
            return Err(
                "occ's reads touch no metadata, so migrating to it would cost without need, and latching what was read at commit would \
                 be a second migration to each record (as silo: trireme 3.5)",
            );
        }
        P::TicToc => {
            return Err(
                "tictoc's reads touch no metadata, so migrating to it would cost without need, and every extension at commit \
                 would be one migration more (as silo: trireme 3.5)",
            );
        }
        P::Vll => return Err(ONE_QUEUE),
        P::Cicada => {
            return Err(
                "cicada's reads touch no metadata, so migrating to it would cost without need, and raising the timestamp of what was read at \
                 commit would be a second migration to each record (as silo: trireme 3.5)",
            );
        }
        P::KeyValue => return Err(BARE),
        P::Mocc => {
            return Err(
                "mocc's reads of what is not hot touch no metadata, so migrating to it would cost without need, and what is hot would \
                 be migrated to twice, to lock it and to give it back (as silo: trireme 3.5)",
            );
        }
        P::Hekaton => {
            return Err(
                "hekaton's reads touch no metadata, so migrating to it would cost without need, and locking what was claimed at commit \
                 would be a second migration to each record that is written (as silo: trireme 3.5)",
            );
        }
        P::Unprotected => return Err(UNPROTECTED),
    })
}

/// Hands a canary to `dispatch`, under any architecture that has the protocol that it breaks.
fn run_canary<D: Dispatch>(architecture: ArchitectureName, canary: CanaryName, dispatch: D) -> D::Output {
    if let Support::Unsupported { why } = support(Selection::Canary(architecture, canary)) {
        panic!("{canary} under {architecture}: {why}");
    }
    match canary {
        CanaryName::NoReadValidation => validating::<canary::NoReadValidation, D>(architecture, dispatch),
        CanaryName::NoMissValidation => validating::<canary::NoMissValidation, D>(architecture, dispatch),
        CanaryName::EarlyRelease => asking::<canary::EarlyRelease, D>(architecture, dispatch),
        CanaryName::SkippedCertify => asking::<canary::SkippedCertify, D>(architecture, dispatch),
        CanaryName::DirtyReads => asking::<canary::DirtyReads, D>(architecture, dispatch),
        CanaryName::EagerUpgrade => asking::<canary::EagerUpgrade, D>(architecture, dispatch),
        CanaryName::UncountedReads => shared::<canary::UncountedReads, D>(architecture, dispatch),
        CanaryName::UnguardedUpgrade => asking::<canary::UnguardedUpgrade, D>(architecture, dispatch),
        CanaryName::ForcedUpgrade => asking::<canary::ForcedUpgrade, D>(architecture, dispatch),
        CanaryName::LateStart => validating::<canary::LateStart, D>(architecture, dispatch),
        CanaryName::UnmarkedReads => asking::<canary::UnmarkedReads, D>(architecture, dispatch),
        CanaryName::NewestVersion => asking::<canary::NewestVersion, D>(architecture, dispatch),
        CanaryName::UnraisedReads => validating::<canary::UnraisedReads, D>(architecture, dispatch),
        CanaryName::NoExtension => validating::<canary::NoExtension, D>(architecture, dispatch),
        CanaryName::UnheldReads => validating::<canary::UnheldReads, D>(architecture, dispatch),
        CanaryName::UnvalidatedReads => validating::<canary::UnvalidatedReads, D>(architecture, dispatch),
        CanaryName::UnlockedGaps => asking::<canary::UnlockedGaps, D>(architecture, dispatch),
        CanaryName::PassedLocks => dispatch.run::<system::Orthrus<canary::PassedLocks>>(),
        CanaryName::StalePlans => dispatch.run::<system::Orthrus<canary::StalePlans>>(),
        CanaryName::UnlockedRanges => dispatch.run::<system::Orthrus<canary::UnlockedRanges>>(),
    }
}

/// A broken protocol that shared-everything alone has.
fn shared<P: Protocol, D: Dispatch>(architecture: ArchitectureName, dispatch: D) -> D::Output
where
    P::Common<Shared>: Send + Sync,
{
    match architecture {
        ArchitectureName::SharedEverything => shared_everything::<P, D>(dispatch),
        _ => unreachable!("{architecture} does not have the canary"),
    }
}

/// A broken protocol that locks, or goes by timestamps.
fn asking<P: Protocol, D: Dispatch>(architecture: ArchitectureName, dispatch: D) -> D::Output
where
    P::Common<Shared>: Send + Sync,
    P::Common<Owned>: Sync,
{
    match architecture {
        ArchitectureName::Dora if EVERY_CANARY => dora::<P, D>(dispatch),
        _ => validating::<P, D>(architecture, dispatch),
    }
}

/// A broken protocol that validates, which DORA does not have.
fn validating<P: Protocol, D: Dispatch>(architecture: ArchitectureName, dispatch: D) -> D::Output
where
    P::Common<Shared>: Send + Sync,
    P::Common<Owned>: Sync,
{
    match architecture {
        ArchitectureName::SharedEverything => shared_everything::<P, D>(dispatch),
        ArchitectureName::Delegation | ArchitectureName::AsymmetricDelegation if EVERY_CANARY => {
            delegation::<P, D>(dispatch)
        }
        _ => unreachable!("{architecture} does not have the canary"),
    }
}

fn shared_everything<P: Protocol, D: Dispatch>(dispatch: D) -> D::Output
where
    P::Common<Shared>: Send + Sync,
{
    dispatch.run::<system::SharedEverything<P, Shared>>()
}

fn delegation<P: Protocol, D: Dispatch>(dispatch: D) -> D::Output
where
    P::Common<Owned>: Sync,
{
    dispatch.run::<system::Delegation<P>>()
}

fn dora<P: Protocol, D: Dispatch>(dispatch: D) -> D::Output
where
    P::Common<Owned>: Sync,
{
    dispatch.run::<system::Dora<P>>()
}
