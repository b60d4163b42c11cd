//! Rounds by turns: for each class of durability, number of commits in flight and workload, all stores are opened and loaded, and
//! run round after round, beginning with another store each time, so that a machine that grows slower is so for all. Of stores that are the
//! same program in a workload, the first is run.

use crate::contender::{self, Contender, Setting, StoreName, WorkloadName, shown};
use crate::measure::{Plan, Round};
use crate::results::{Cell, Measured, Results};
use crate::store::{Class, Failed};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Stores.
    pub stores: Vec<StoreName>,
    /// Workloads.
    pub workloads: Vec<WorkloadName>,
    /// Classes of durability.
    pub classes: Vec<Class>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Numbers of commits that a thread has in flight, where they are waited for.
    pub in_flight: Vec<usize>,
    /// Rows of a table.
    pub rows: u64,
    /// Rounds of each cell.
    pub rounds: usize,
    /// Of a round, before what counts.
    pub warmup: Duration,
    /// Of a round, what counts.
    pub duration: Duration,
    /// How often what has committed is synced, where that is not done by each commit.
    pub epoch: Duration,
    /// On a memory file system.
    pub memory_folder: PathBuf,
    /// On a disk.
    pub folder: PathBuf,
}

/// A store that has been opened and loaded, or why not.
type Entered = Result<Box<dyn Contender>, Failed>;

/// Who is told how it goes, and what ends it.
pub struct Course<'a> {
    /// Is told what is about to be done.
    pub tell: &'a dyn Fn(&str),
    /// After each round.
    pub round_done: &'a dyn Fn(),
    /// After each workload in a class, with all results until then.
    pub keep: &'a dyn Fn(&Results),
    /// Ends it early, with the rounds that are done.
    pub stop: &'a AtomicBool,
}

/// What stores are opened for together.
struct Group {
    class: Class,
    in_flight: usize,
    workload: WorkloadName,
}

impl Agenda {
    /// Rounds, all together.
    pub fn rounds_in_all(&self) -> u64 {
        let of_group = |group: Group| self.threads.len() * self.rounds * self.programs(group.workload).len();
        self.groups().into_iter().map(of_group).sum::<usize>() as u64
    }

    /// The stores of which none is the same program as another one.
    fn programs(&self, workload: WorkloadName) -> Vec<StoreName> {
        let is_first = |store: &&StoreName| self.measured_for(**store, workload) == **store;
        self.stores.iter().filter(is_first).copied().collect()
    }

    /// The store that is run in the place of one: the first that is the same program.
    fn measured_for(&self, store: StoreName, workload: WorkloadName) -> StoreName {
        let is_same = |other: &&StoreName| other.in_workload(workload) == store.in_workload(workload);
        self.stores.iter().copied().find(|other| is_same(&other)).unwrap_or(store)
    }

    fn groups(&self) -> Vec<Group> {
        let mut groups = Vec::new();
        for &class in &self.classes {
            // In memory a commit counts at once.
            let in_flight = if class == Class::Memory { &[1] } else { &self.in_flight[..] };
            for &in_flight in in_flight {
                let matters = |workload: &&WorkloadName| in_flight == 1 || workload.writes();
                let workloads = self.workloads.iter().filter(matters);
                groups.extend(workloads.map(|&workload| Group { class, in_flight, workload }));
            }
        }
        groups
    }

    /// Measures it. What is kept before its end says that it was interrupted.
    pub fn carry_out(&self, course: &Course<'_>) -> Results {
        let mut results = Results { is_interrupted: true, ..Results::default() };
        // Relaxed, here and below: the flag is all that is told.
        for group in self.groups() {
            if course.stop.load(Ordering::Relaxed) {
                break;
            }
            results.cells.extend(self.measure(&group, course));
            (course.keep)(&results);
        }
        results.is_interrupted = course.stop.load(Ordering::Relaxed);
        results
    }

    fn measure(&self, group: &Group, course: &Course<'_>) -> Vec<Cell> {
        let &Course { tell, round_done, stop, .. } = course;
        let &Group { class, in_flight, workload } = group;
        let (rows, epoch) = (self.rows, self.epoch);
        let folder = if class == Class::Memory { &self.memory_folder } else { &self.folder };
        let setting = Setting { class, in_flight, folder: folder.clone(), epoch, rows };
        let mut entered: Vec<(StoreName, Entered)> = Vec::new();
        for store in self.programs(workload) {
            if stop.load(Ordering::Relaxed) {
                return Vec::new();
            }
            tell(&format!("{class} {}: loading {}", shown(&workload), shown(&store)));
            entered.push((store, contender::enter(store, workload, &setting)));
        }
        let mut cells = Vec::new();
        for &threads in &self.threads {
            let mut measured: Vec<Vec<Result<Round, Failed>>> = vec![Vec::new(); entered.len()];
            for nth in 0..self.rounds * entered.len() {
                let (round, turn) = (nth / entered.len(), nth % entered.len());
                let place = (turn + round) % entered.len();
                let (store, contender) = &mut entered[place];
                let has_failed = measured[place].iter().any(Result::is_err);
                round_done();
                tell(&format!("{class} {}, threads {threads}: {}", shown(&workload), shown(store)));
                let Ok(contender) = contender else { continue };
                if has_failed || stop.load(Ordering::Relaxed) {
                    continue;
                }
                let plan = Plan {
                    clients: threads,
                    in_flight,
                    warmup: self.warmup,
                    duration: self.duration,
                    seed: round as u64 + 1,
                };
                let came = contender.round(threads, plan, stop);
                // A round that was cut short counts only if it failed.
                if came.is_err() || !stop.load(Ordering::Relaxed) {
                    measured[place].push(came);
                }
            }
            let programs = entered.iter().zip(measured).map(|((store, contender), rounds)| match contender {
                Ok(contender) => Measured::new(*store, workload, rounds, &**contender),
                Err(failure) => Measured::not_opened(*store, failure),
            });
            let mut programs = programs.peekable();
            let of_store = |&store: &StoreName| {
                let is_it = |measured: &Measured| measured.store == store;
                let same = || Measured::same_as(store, self.measured_for(store, workload));
                programs.next_if(is_it).unwrap_or_else(same)
            };
            let stores = self.stores.iter().map(of_store).collect();
            cells.push(Cell { class, in_flight, workload, threads, rows, stores });
        }
        cells
    }
}
