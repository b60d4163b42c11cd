//! What came of it, cell by cell, as it is kept.

use crate::contender::{Contender, StoreName, WorkloadName};
use crate::measure::{Round, histogram};
use crate::store::{Class, Failed};
use serde::{Deserialize, Serialize};

/// All cells.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// What was typed, after what in the environment decides how memory is allocated.
    pub command: String,
    /// What is to be known before the numbers are read.
    pub warnings: Vec<String>,
    /// In the order in which they were measured.
    pub cells: Vec<Cell>,
    /// Whether it was ended early.
    pub is_interrupted: bool,
}

impl Results {
    /// Whether a store failed, or its tables were not as they should be.
    pub fn has_failed(&self) -> bool {
        self.cells.iter().flat_map(|cell| &cell.stores).any(|store| store.failure.is_some())
    }

    /// Cells of the same class, number of commits in flight and rows.
    pub fn groups(&self) -> Vec<Vec<&Cell>> {
        let kind = |cell: &Cell| (cell.class, cell.in_flight, cell.rows);
        let mut groups: Vec<Vec<&Cell>> = Vec::new();
        for cell in &self.cells {
            match groups.iter_mut().find(|group| kind(group[0]) == kind(cell)) {
                Some(group) => group.push(cell),
                None => groups.push(vec![cell]),
            }
        }
        groups
    }
}

/// The same asked of all stores.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// What a commit survives that counts.
    pub class: Class,
    /// Commits that a thread has in flight.
    pub in_flight: usize,
    /// What was asked.
    pub workload: WorkloadName,
    /// By how many threads.
    pub threads: usize,
    /// Rows of a table.
    pub rows: u64,
    /// What came of it.
    pub stores: Vec<Measured>,
}

impl Cell {
    /// The stores that have numbers, the fastest first, and then the others.
    pub fn ranked(&self) -> Vec<&Measured> {
        let mut stores: Vec<&Measured> = self.stores.iter().collect();
        stores.sort_by(|a, b| b.throughput().total_cmp(&a.throughput()));
        stores
    }

    /// The best median of those that are not ours.
    pub fn best_of_others(&self) -> Option<f64> {
        let others = self.stores.iter().filter(|store| !store.store.is_ours());
        others.filter_map(|store| store.throughput_per_s).max_by(f64::total_cmp)
    }
}

/// What came of one store's rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The store.
    pub store: StoreName,
    /// Another one that is the same program here, and was measured in its place.
    pub same_as: Option<StoreName>,
    /// Commits a second, of each round.
    pub rounds: Vec<f64>,
    /// Their median; `None`: there is none.
    pub throughput_per_s: Option<f64>,
    /// Half of the commits counted after so many nanoseconds, of all rounds.
    pub p50_ns: u64,
    /// All but one in a hundred.
    pub p99_ns: u64,
    /// Attempts in vain for each commit.
    pub retries_per_commit: f64,
    /// Bytes of memory that the process took more when it was opened and loaded; `None`: nothing is loaded.
    pub memory_bytes: Option<u64>,
    /// Bytes of its files after the last round.
    pub disk_bytes: u64,
    /// Why it has failed, if it has.
    pub failure: Option<String>,
}

impl Measured {
    /// Of these rounds.
    pub fn new(
        store: StoreName,
        workload: WorkloadName,
        rounds: Vec<Result<Round, Failed>>,
        contender: &dyn Contender,
    ) -> Measured {
        let mut latency = histogram();
        let (mut retries, mut failure) = (0, None);
        let mut throughputs = Vec::new();
        for round in rounds {
            match round {
                Ok(round) => {
                    latency.add(&round.latency).expect("both have the same bounds");
                    retries += round.retries;
                    throughputs.push(round.throughput);
                }
                Err(failed) => failure = Some(failed.to_string()),
            }
        }
        Measured {
            store,
            same_as: None,
            throughput_per_s: median(&throughputs),
            rounds: throughputs,
            p50_ns: latency.value_at_quantile(0.5),
            p99_ns: latency.value_at_quantile(0.99),
            retries_per_commit: retries as f64 / latency.len().max(1) as f64,
            memory_bytes: workload.loads().then(|| contender.memory_bytes()),
            disk_bytes: contender.disk_bytes(),
            failure,
        }
    }

    /// It could not be opened or loaded.
    pub fn not_opened(store: StoreName, failure: &Failed) -> Measured {
        Measured { failure: Some(failure.to_string()), ..Measured::none(store) }
    }

    /// It is the same program as another one, which was measured.
    pub fn same_as(store: StoreName, other: StoreName) -> Measured {
        Measured { same_as: Some(other), ..Measured::none(store) }
    }

    fn none(store: StoreName) -> Measured {
        Measured {
            store,
            same_as: None,
            rounds: Vec::new(),
            throughput_per_s: None,
            p50_ns: 0,
            p99_ns: 0,
            retries_per_commit: 0.0,
            memory_bytes: None,
            disk_bytes: 0,
            failure: None,
        }
    }

    /// The median, or none.
    fn throughput(&self) -> f64 {
        self.throughput_per_s.unwrap_or(-1.0)
    }

    /// The slowest and the fastest round.
    pub fn spread(&self) -> (f64, f64) {
        let least = self.rounds.iter().copied().min_by(f64::total_cmp).unwrap_or_default();
        let most = self.rounds.iter().copied().max_by(f64::total_cmp).unwrap_or_default();
        (least, most)
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
