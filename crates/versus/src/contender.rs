//! A store with a workload: opened, loaded, run in rounds, and checked after each.

use crate::measure::{self, Plan, Round};
use crate::store::canopydb::Canopydb;
use crate::store::fjall::Fjall;
use crate::store::heed::Heed;
use crate::store::redb::Redb;
use crate::store::sqlite::Sqlite;
use crate::store::surrealmx::SurrealMx;
use crate::store::trireme::Trireme;
use crate::store::{Class, Failed, Opening, Settings, Store};
use crate::workload::inserts::Inserts;
use crate::workload::reads::Reads;
use crate::workload::scans::Scans;
use crate::workload::tpcc::Tpcc;
use crate::workload::transfers::Transfers;
use crate::workload::updates::Updates;
use crate::workload::{Tally, Workload};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;

/// A store by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum StoreName {
    /// Trireme, all tables in the order of their keys.
    Trireme,
    /// Trireme, hashed tables where they are used by key only.
    TriremeHashed,
    /// Trireme, transactions telling their keys ahead where they know them.
    TriremePrefetch,
    /// The same, with hashed tables where they are used by key only.
    TriremeHashedPrefetch,
    /// redb.
    Redb,
    /// fjall.
    Fjall,
    /// LMDB, by heed.
    Heed,
    /// SurrealMX.
    Surrealmx,
    /// canopydb.
    Canopydb,
    /// SQLite, by rusqlite.
    Sqlite,
}

impl StoreName {
    /// Whether it is Trireme.
    pub fn is_ours(self) -> bool {
        use StoreName::*;
        matches!(self, Trireme | TriremeHashed | TriremePrefetch | TriremeHashedPrefetch)
    }

    /// The first of those that are the same program in a workload. A variant of Trireme is another one if there are tables that it hashes,
    /// or keys that it tells ahead.
    pub fn in_workload(self, workload: WorkloadName) -> StoreName {
        use StoreName::*;
        let (is_hashed, prefetches) = match self {
            Trireme => (false, false),
            TriremeHashed => (true, false),
            TriremePrefetch => (false, true),
            TriremeHashedPrefetch => (true, true),
            Redb | Fjall | Heed | Surrealmx | Canopydb | Sqlite => return self,
        };
        match (is_hashed && workload.has_tables_by_key(), prefetches && workload.tells_keys()) {
            (false, false) => Trireme,
            (true, false) => TriremeHashed,
            (false, true) => TriremePrefetch,
            (true, true) => TriremeHashedPrefetch,
        }
    }

    /// Its name in documents: what it is known by, or what the variant is.
    pub fn title(self) -> &'static str {
        match self {
            StoreName::Trireme => "ordered",
            StoreName::TriremeHashed => "hashed",
            StoreName::TriremePrefetch => "ordered, prefetched",
            StoreName::TriremeHashedPrefetch => "hashed, prefetched",
            StoreName::Redb => "redb",
            StoreName::Fjall => "fjall",
            StoreName::Heed => "LMDB",
            StoreName::Surrealmx => "SurrealMX",
            StoreName::Canopydb => "canopydb",
            StoreName::Sqlite => "SQLite",
        }
    }
}

/// A workload by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadName {
    /// Point reads, one in twenty an update.
    Reads,
    /// Five reads and five read-modify-writes.
    Updates,
    /// An amount from one row to another.
    Transfers,
    /// A hundred rows in the order of their keys.
    Scans,
    /// A new row of 1 KiB.
    Inserts,
    /// TPC-C's NewOrder or Payment.
    Tpcc,
}

impl WorkloadName {
    /// Whether it writes, so that it matters who waits for what.
    pub fn writes(self) -> bool {
        self != WorkloadName::Scans
    }

    /// Whether rows are there before it begins, so that there is something to say of the memory that they take.
    pub fn loads(self) -> bool {
        self != WorkloadName::Inserts
    }

    /// Whether it has tables that are used by key only, so that they may be hashed.
    pub fn has_tables_by_key(self) -> bool {
        !matches!(self, WorkloadName::Scans | WorkloadName::Inserts)
    }

    /// Whether its transactions tell their keys ahead ([`Reading::prefetch`](crate::store::Reading::prefetch)).
    pub fn tells_keys(self) -> bool {
        matches!(self, WorkloadName::Updates | WorkloadName::Transfers | WorkloadName::Tpcc)
    }
}

/// The name that an option's value has.
pub fn shown(value: &impl ValueEnum) -> String {
    value.to_possible_value().expect("no value is hidden").get_name().to_owned()
}

/// What stores are opened for.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What a commit survives that counts.
    pub class: Class,
    /// Commits of a client that may be waited for while it goes on.
    pub in_flight: usize,
    /// Where folders of stores are made.
    pub folder: PathBuf,
    /// How often what has committed is synced, where that is not done by each commit.
    pub epoch: Duration,
    /// Rows of a table.
    pub rows: u64,
}

/// A store with a workload.
pub trait Contender {
    /// Runs a round and checks the tables after it.
    fn round(&mut self, threads: usize, plan: Plan, stop: &AtomicBool) -> Result<Round, Failed>;

    /// Bytes of memory that the process took more when it was opened and loaded for the first time.
    fn memory_bytes(&self) -> u64;

    /// Bytes that its files take.
    fn disk_bytes(&self) -> u64;
}

/// What is done for a type of stores that is known by its name.
macro_rules! of_store {
    ($name:expr, $S:ident => $done:expr) => {
        match $name {
            StoreName::Trireme => {
                type $S = Trireme<false, false>;
                $done
            }
            StoreName::TriremeHashed => {
                type $S = Trireme<true, false>;
                $done
            }
            StoreName::TriremePrefetch => {
                type $S = Trireme<false, true>;
                $done
            }
            StoreName::TriremeHashedPrefetch => {
                type $S = Trireme<true, true>;
                $done
            }
            StoreName::Redb => {
                type $S = Redb;
                $done
            }
            StoreName::Fjall => {
                type $S = Fjall;
                $done
            }
            StoreName::Heed => {
                type $S = Heed;
                $done
            }
            StoreName::Surrealmx => {
                type $S = SurrealMx;
                $done
            }
            StoreName::Canopydb => {
                type $S = Canopydb;
                $done
            }
            StoreName::Sqlite => {
                type $S = Sqlite;
                $done
            }
        }
    };
}

/// With which settings a store belongs to each class.
pub fn settings(store: StoreName) -> Settings {
    of_store!(store, S => S::SETTINGS)
}

/// Opens a store for a workload, and loads it.
pub fn enter(
    store: StoreName,
    workload: WorkloadName,
    setting: &Setting,
) -> Result<Box<dyn Contender>, Failed> {
    of_store!(store, S => enter_store::<S>(workload, setting))
}

/// The same, of a type of stores.
pub fn enter_store<S: Store>(
    workload: WorkloadName,
    setting: &Setting,
) -> Result<Box<dyn Contender>, Failed> {
    let rows = setting.rows;
    match workload {
        WorkloadName::Reads => Entered::<S, _>::new(Reads { rows }, setting),
        WorkloadName::Updates => Entered::<S, _>::new(Updates { rows }, setting),
        WorkloadName::Transfers => Entered::<S, _>::new(Transfers { rows }, setting),
        WorkloadName::Scans => Entered::<S, _>::new(Scans { rows }, setting),
        WorkloadName::Inserts => Entered::<S, _>::new(Inserts { rows }, setting),
        WorkloadName::Tpcc => Entered::<S, _>::new(Tpcc::of_rows(rows), setting),
    }
}

/// Clients at most, where a commit in flight takes one.
const MOST_CLIENTS: usize = 256;

struct Entered<S, W> {
    workload: W,
    setting: Setting,
    /// Dropped in this order.
    open: Option<(S, TempDir)>,
    tally: Tally,
    /// Whether a round has run since it was loaded.
    is_used: bool,
    /// When it was opened for the first time: later on, memory that was freed before is taken again.
    memory_bytes: Option<u64>,
    disk_bytes: u64,
}

impl<S: Store, W: Workload> Entered<S, W> {
    #[allow(clippy::new_ret_no_self, reason = "what it is remains behind the contract")]
    fn new(workload: W, setting: &Setting) -> Result<Box<dyn Contender>, Failed> {
        let setting = setting.clone();
        let tally = Tally::default();
        let mut entered = Entered::<S, W> {
            workload,
            setting,
            open: None,
            tally,
            is_used: false,
            memory_bytes: None,
            disk_bytes: 0,
        };
        entered.open()?;
        Ok(Box::new(entered))
    }

    /// Opens a new store and loads it.
    fn open(&mut self) -> Result<(), Failed> {
        self.open = None;
        let before = resident_bytes();
        let Setting { class, in_flight, ref folder, epoch, rows } = self.setting;
        fs::create_dir_all(folder).map_err(Failed::because)?;
        let folder =
            tempfile::Builder::new().prefix("versus-").tempdir_in(folder).map_err(Failed::because)?;
        let cache_bytes = (rows as usize).saturating_mul(512).max(1 << 30);
        let opening = Opening {
            folder: folder.path().to_owned(),
            class,
            outstanding: in_flight > 1,
            epoch,
            rows,
            cache_bytes,
        };
        let mut store = S::open(&opening)?;
        self.workload.create(&mut store)?;
        self.workload.load(&mut store.session()?)?;
        self.memory_bytes.get_or_insert_with(|| resident_bytes().saturating_sub(before));
        self.disk_bytes = file_bytes(folder.path());
        (self.open, self.tally, self.is_used) = (Some((store, folder)), Tally::default(), false);
        Ok(())
    }
}

impl<S: Store, W: Workload> Contender for Entered<S, W> {
    fn round(&mut self, threads: usize, plan: Plan, stop: &AtomicBool) -> Result<Round, Failed> {
        if W::GROWS && self.is_used {
            self.open()?;
        }
        self.is_used = true;
        // Elsewhere a commit that is not waited for by a ticket counts when it returns.
        let takes_clients = self.setting.class == Class::Group && !S::HAS_TICKETS;
        let plan = match takes_clients {
            true => {
                let clients = (threads * plan.in_flight).min(MOST_CLIENTS.max(threads));
                Plan { clients, in_flight: 1, ..plan }
            }
            false => Plan { clients: threads, ..plan },
        };
        let (store, folder) = self.open.as_ref().expect("it is open");
        let round = measure::round(store, &self.workload, plan, &mut self.tally, stop)?;
        self.workload.check(self.tally, &mut store.session()?)?;
        self.disk_bytes = file_bytes(folder.path());
        Ok(round)
    }

    fn memory_bytes(&self) -> u64 {
        self.memory_bytes.expect("it was opened")
    }

    fn disk_bytes(&self) -> u64 {
        self.disk_bytes
    }
}

/// Bytes of memory that the process has; 0 if the system does not say. What was freed goes back to the system first.
fn resident_bytes() -> u64 {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes a number and no pointer, and may be called from any thread at any time.
    unsafe {
        libc::malloc_trim(0);
    }
    let words = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = words.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    resident.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib << 10)
}

/// Bytes that the files below a folder take on their disk.
fn file_bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => file_bytes(&entry.path()),
        Ok(metadata) => metadata.blocks() * 512,
        // It was removed meanwhile.
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}
