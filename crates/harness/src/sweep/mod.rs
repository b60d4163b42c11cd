//! Sweeps: one experiment file, many points, every finished point kept.
//!
//! # The experiment file
//!
//! ```toml
//! title = "Read-only transactions on one socket"   # heading of the report
//! paper = "trireme, figure 2c"                     # where the experiment comes from
//! claim = "No protocol that writes shared memory on reads scales; silo does."
//! workload = "micro"
//! x = "workers"                                    # axis of the plots; the first numeric one if left out
//! time_at = 64                                     # where on it the report shows the classes of time; the last if left out
//!
//! [base]                                           # any option of `run`, or of the workload
//! architecture = "shared-everything"
//! duration = "1s"
//! writes = "none"
//!
//! [axes]                                           # the same names with lists of values
//! protocol = ["no-wait", "silo"]
//! workers = { from = 1, to = "cores", times = 2 }  # or `step = 1`; or `of = [1, 2, 4], to = "cores"`, a list's part
//!                                                  # up to the machine's cores: what is cut off is remembered
//!
//! [[claims]]                                       # what the points are to bear out ([`claims`])
//! that = "Silo's reads scale better than NO_WAIT's"
//! left = { protocol = "silo" }
//! right = { protocol = "no-wait" }
//! at = { workers = "most" }
//! measure = "throughput"
//! at_least = 1.5                                   # left / right
//! ```
//!
//! `beside = ["latches"]`, above the tables, names experiments that the gallery shows beside this one.
//!
//! `system` stands for `architecture` and `protocol` together where not all of their combinations are wanted:
//! `system = ["shared-everything silo", "delegation no-wait", "partitioned-serial"]`. An architecture with one protocol
//! needs no second word. Behind these may stand what only this system is told, in place of what is said for all:
//! `"shared-everything dl-detect deadlock-timeout=100us"`.
//!
//! The points are all combinations of the axes' values. What is not named has the command's default. A point whose
//! architecture does not have its protocol, or does not fit its options, is left out, and the report says why
//! ([`crate::measure::fit`]). Names and values are checked before anything is measured; two points that come to the
//! same are refused.
//!
//! # What is kept
//!
//! A point is one line of `points.jsonl` in the result folder, appended and synced before the next point starts
//! ([`journal`]); one sweep at a time may write it. Its latencies and its series have files of their own (`files`), which are written before that line. The same sweep into the same folder skips the points that are
//! there: a point is known by its *resolved* settings (workload, every effective parameter and option, architecture,
//! protocol), so a new title or a further value of an axis continues, while a changed base does not: finished points
//! that the file no longer asks for are refused rather than mixed with others. `parameters.toml` in the folder is an
//! experiment file too.
//!
//! A claim that compares with another experiment is told if that one's results lie beside these, measured in the same
//! place (`siblings`).

mod case;
mod cases;
pub mod claims;
mod conduct;
mod estimate;
mod experiment;
mod files;
pub mod journal;
mod points;
mod ranges;
mod shared;
mod siblings;

pub use case::Case;
pub use cases::Cases;
pub(crate) use cases::combinations;
pub use conduct::conduct;
pub use estimate::{Estimate, estimate};
pub use experiment::{Axis, Cut, Experiment, Setting};
pub use files::export_log;
pub use points::{Conducted, PointResult, Points, known, named, taken, warnings};
pub use shared::Shared;
