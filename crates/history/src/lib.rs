//! Histories: recording what transactions saw and wrote, and judging whether that is strictly serializable.
//!
//! The checker judges from values, never from what the engine claims. In a checked run every row ends in a
//! *stamp*: the version of its last write, which names the writing attempt, and the version that it replaced.
//! Reads name their writer, the versions of a key form a chain, and chains and real time give a graph of
//! dependencies, in which a cycle is an anomaly.
//!
//! # A checked run
//!
//! [`Checked`] wraps any workload and is a workload itself. In one call:
//!
//! ```
//! use contract::{Engine, Workload};
//! use history::{Checked, Deletes, CheckedRunError, Setting, run_checked};
//!
//! fn judge<E: Engine, W: Workload>(workload: W, setting: &Setting) -> Result<bool, CheckedRunError> {
//!     let checked = Checked::new(workload, Deletes::Tombstones);
//!     let run = run_checked::<E, W>(&checked, setting, &|_| {})?;
//!     println!("{}", run.verdict);
//!     Ok(run.verdict.is_strictly_serializable())
//! }
//! ```
//!
//! Or step by step, for a harness that shows progress and measures on the way: `E::load` with the [`Checked`],
//! `E::run` with its clients, [`Checked::history`] with the clients that come back, `E::run` again with a
//! [`FinalRead`], [`FinalRead::versions`] into [`History::finals`], and [`check()`]. A store is checked once: stamps of
//! an earlier run would be versions that nobody of this run wrote.
//!
//! # Workloads that check themselves
//!
//! | workload | what it is for |
//! |---|---|
//! | [`list_append`] | reads that tell the order of versions by themselves, without stamps; Elle reads it too |
//! | [`membership`] | keys that appear or disappear once, with real deletes: run it in a [`Checked`]; as `ranges` it scans, too |
//! | [`anomalies`] | small scenarios by name, judged by playing them in every serial order |
//!
//! # Where to look
//!
//! | question | file |
//! |---|---|
//! | how does a value name its writer? | `version.rs` |
//! | what is recorded, and when? | `checked.rs`, `recording.rs`, `log.rs` |
//! | what is a history? | `history.rs`, `operation.rs`, `scanned.rs` |
//! | what is a row called whose key is a byte string? | `key_names.rs` |
//! | how is it judged? | `check/mod.rs` and the steps that it lists |
//! | what does a scan say of rows that it did not show? | `check/scans.rs` |
//! | did enough happen for that to mean something? | `dependencies.rs` |
//! | what can be wrong, and how is it said? | `verdict.rs`, `check/naming.rs` |
//! | how do others read it? | `elle.rs` |
//!
//! # What is deliberately absent
//!
//! Nothing here asks the engine for versions, commit order or timestamps. What a transaction saw that rolled back
//! by its own will is not judged. Keys that a scan covered and of which nobody knows a row are not reads of it. A row whose payload is torn while its stamp is whole is not noticed by the
//! stamps; [`anomalies`] has rows that show it.
#![forbid(unsafe_code)]

pub mod anomalies;
mod check;
mod checked;
mod checked_run;
pub mod churn;
mod dependencies;
mod elle;
mod final_read;
mod history;
mod key_names;
mod layout;
pub mod list_append;
mod log;
pub mod membership;
mod operation;
mod random;
mod recording;
mod scanned;
mod verdict;
mod version;

pub use check::check;
pub use checked::{Checked, CheckedClient, CheckedProcedure, Deletes};
pub use checked_run::{CheckedRun, CheckedRunError, Setting, run_checked};
pub use dependencies::{Dependencies, DependencyCount, DependencyKind};
pub use elle::{ElleLayout, write_elle_registers};
pub use final_read::{FinalRead, FinalReader, FinalRows, ReadBatch};
pub use history::{Ending, FinalVersion, History, KeyInWords, TransactionRecord, WorkerHistory};
pub use key_names::KeyNames;
pub use operation::{Operation, OperationKind};
pub use scanned::{ScanEnd, ScanRecord};
pub use verdict::{Anomaly, AnomalyKind, MOST_DESCRIBED, TransactionName, Verdict};
pub use version::{MOST_ATTEMPTS, MOST_TRANSACTIONS, MOST_WORKERS, MOST_WRITES, Stamp, Version, Writer};
