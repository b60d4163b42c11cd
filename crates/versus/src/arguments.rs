//! What can be typed.

use clap::{Parser, Subcommand, ValueEnum};
use harness::text::durations;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use versus::conduct::Agenda;
use versus::contender::{StoreName, WorkloadName};
use versus::folders;
use versus::report;
use versus::results::Results;
use versus::store::Class;
use versus::summary;
use versus::workload::scans::SCANNED;

/// Measures Trireme's database beside other embedded stores: the same transactions, at equal durability and isolation.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 110, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// Something else than measuring.
    #[command(subcommand)]
    pub instead: Option<Instead>,
    /// Stores, separated by commas; all by default.
    #[arg(long, value_enum, value_delimiter = ',')]
    stores: Vec<StoreName>,
    /// Workloads; all by default.
    #[arg(long, value_enum, value_delimiter = ',')]
    workloads: Vec<WorkloadName>,
    /// Classes of durability; all by default.
    #[arg(long, value_enum, value_delimiter = ',')]
    classes: Vec<Class>,
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2], value_parser = from_one)]
    threads: Vec<usize>,
    /// Numbers of commits that a thread may have in flight, where they are waited for; 1: it waits for each.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 1024], value_parser = from_one)]
    in_flight: Vec<usize>,
    /// Rows of a table.
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// Rounds of each cell, by turns between the stores.
    #[arg(long, default_value_t = 5, value_parser = from_one)]
    rounds: usize,
    /// Of a round, before what counts.
    #[arg(long, default_value = "500ms", value_parser = duration)]
    warmup: Duration,
    /// Of a round, what counts.
    #[arg(long, default_value = "2s", value_parser = duration)]
    duration: Duration,
    /// How often what has committed is synced, where that is not done by each commit.
    #[arg(long, default_value = "10ms", value_parser = duration)]
    epoch: Duration,
    /// On a disk: where stores have their files.
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    folder: PathBuf,
    /// On a memory file system: where stores that need files have them in the class `memory`.
    #[arg(long, default_value = "/dev/shm")]
    memory_folder: PathBuf,
    /// Which memory has huge pages, where the system gives them to who asks (`madvise`).
    #[arg(long, value_enum, default_value_t = HugePages::Asked)]
    huge_pages: HugePages,
    /// Writes the results here, too.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Writes a page to be opened in a browser here.
    #[arg(long)]
    page: Option<PathBuf>,
}

/// What is done instead of measuring.
#[derive(Debug, Subcommand)]
pub enum Instead {
    /// Prints the tables of documents from what was kept by `--json`.
    Summary {
        /// What was kept.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

impl Instead {
    /// What is printed.
    pub fn text(&self) -> Result<String, String> {
        let Instead::Summary { files } = self;
        let of_file = |path: &PathBuf| {
            let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let results: Results =
                serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(summary::of_results(&results))
        };
        files.iter().map(of_file).collect()
    }
}

/// Which memory has huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HugePages {
    /// What asks for them: Trireme's, and with `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` what the others allocate.
    Asked,
    /// None.
    None,
}

fn from_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("a number from 1".to_owned()),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    durations::parse(text)
        .filter(|duration| !duration.is_zero())
        .ok_or("a duration, such as 500ms or 2s".to_owned())
}

/// What was named, or everything.
fn or_all<T: clap::ValueEnum + Clone>(named: &[T]) -> Vec<T> {
    if named.is_empty() { T::value_variants().to_vec() } else { named.to_vec() }
}

impl Arguments {
    /// What is to be measured; otherwise what is allowed.
    pub fn agenda(&self) -> Result<Agenda, String> {
        if self.rows < SCANNED {
            return Err(format!("--rows {}: {SCANNED} at least", self.rows));
        }
        Ok(Agenda {
            stores: or_all(&self.stores),
            workloads: or_all(&self.workloads),
            classes: or_all(&self.classes),
            threads: self.threads.clone(),
            in_flight: self.in_flight.clone(),
            rows: self.rows,
            rounds: self.rounds,
            warmup: self.warmup,
            duration: self.duration,
            epoch: self.epoch,
            memory_folder: self.memory_folder.clone(),
            folder: self.folder.clone(),
        })
    }

    /// Sees to it that memory has no huge pages, if it is to have none, before there is any to speak of; why not, if that cannot be.
    pub fn settle_pages(&self) -> Result<(), String> {
        if self.huge_pages == HugePages::Asked {
            return Ok(());
        }
        #[cfg(target_os = "linux")]
        // SAFETY: takes numbers and no pointer, and only tells the system which pages to use for this process.
        let refused = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) } != 0;
        #[cfg(not(target_os = "linux"))]
        let refused = true;
        if refused {
            Err("--huge-pages none: the system does not let this be said".to_owned())
        } else {
            Ok(())
        }
    }

    /// What is to be known of the folders before numbers are read.
    pub fn warnings(&self, agenda: &Agenda) -> Vec<String> {
        folders::warnings(&agenda.classes, &self.folder, &self.memory_folder)
    }

    /// Writes what is to be kept.
    pub fn keep(&self, results: &Results, agenda: &Agenda) -> Result<(), String> {
        if let Some(path) = &self.json {
            let text = serde_json::to_string_pretty(results).expect("results are numbers and words");
            write(path, &text)?;
        }
        if let Some(path) = &self.page {
            write(path, &report::of_results(results, agenda))?;
        }
        Ok(())
    }
}

/// What was typed, after what in the environment decides how memory is allocated.
pub fn command() -> String {
    let tunables = std::env::var("GLIBC_TUNABLES");
    let tunables = tunables.map(|tunables| format!("GLIBC_TUNABLES={tunables} ")).unwrap_or_default();
    let typed: Vec<String> = std::env::args().skip(1).collect();
    format!("{tunables}versus {}", typed.join(" ")).trim_end().to_owned()
}

/// Writes it whole, or not at all.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let beside = path.with_extension("part");
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        // On a full disk a torn part is only in the way.
        let _ = fs::remove_file(&beside);
        format!("{}: {error}", path.display())
    })
}
