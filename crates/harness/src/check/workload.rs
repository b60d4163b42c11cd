//! What can be checked: the measured workloads, and those that are made for checks.

use super::happened::HOSTS_NEEDED;
use super::{Outcome, Trial};
use crate::failure::Failure;
use contract::{Engine, RowLength, Workload};
use history::Deletes;
use history::anomalies::{Scenario, scenarios};
use history::membership::Membership;
use std::marker::PhantomData;
use workloads::{AnyWorkload, WorkloadVisitor};

/// A workload made for checks.
#[derive(Clone, Copy, Debug)]
pub enum Own {
    /// Keys that come and go.
    Membership,
    /// The same, and ranges of them are scanned.
    Ranges,
    /// Lists that tell their own history.
    ListAppend,
    /// The same, in rows that vary in length.
    GrowingLists,
    /// A small play by an anomaly's name.
    Scenario(&'static Scenario),
}

impl Own {
    /// Every one.
    pub fn all() -> impl Iterator<Item = Own> {
        [Own::Membership, Own::Ranges, Own::ListAppend, Own::GrowingLists]
            .into_iter()
            .chain(scenarios().iter().map(Own::Scenario))
    }

    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Own::Membership => "membership",
            Own::Ranges => "ranges",
            Own::ListAppend => "list-append",
            Own::GrowingLists => "growing-lists",
            Own::Scenario(scenario) => scenario.name,
        }
    }

    /// What it is, in one line.
    pub const fn summary(self) -> &'static str {
        match self {
            Own::Membership => "keys that are inserted once or deleted once, and looked for",
            Own::Ranges => "the same keys, scanned range by range while they come and go",
            Own::ListAppend => "lists that are read and appended to, so that their values tell their history",
            Own::GrowingLists => "the same lists, in rows that are replaced by longer ones",
            Own::Scenario(scenario) => scenario.description,
        }
    }

    /// Workers that it needs at least, to host transactions that meet.
    pub fn workers(self) -> usize {
        match self {
            Own::Membership | Own::Ranges | Own::ListAppend | Own::GrowingLists => HOSTS_NEEDED,
            Own::Scenario(scenario) => scenario.workers(),
        }
    }
}

/// What a check runs.
#[derive(Clone, Debug)]
pub enum CheckWorkload {
    /// A measured workload.
    Measured(Box<AnyWorkload>),
    /// One made for checks.
    Own(Own),
}

impl CheckWorkload {
    /// Whether a run of it leaves a history for other checkers: a scenario is judged by what its players saw.
    pub fn has_history(&self) -> bool {
        !matches!(self, CheckWorkload::Own(Own::Scenario(_)))
    }
}

impl Trial<'_> {
    /// Runs `workload`, and judges it.
    pub fn check<E: Engine>(&self, workload: &CheckWorkload) -> Result<Outcome, Failure> {
        match workload {
            CheckWorkload::Measured(workload) => {
                let deletes = if workload.deletes() { Deletes::Tombstones } else { Deletes::None };
                workload.visit(Stamped::<E> { trial: self, deletes, engine: PhantomData })
            }
            CheckWorkload::Own(Own::Membership) => self.of_membership::<E>(Membership::default()),
            CheckWorkload::Own(Own::Ranges) => self.of_membership::<E>(Membership::ranges()),
            CheckWorkload::Own(Own::ListAppend) => self.of_lists::<E>(RowLength::Fixed),
            CheckWorkload::Own(Own::GrowingLists) => self.of_lists::<E>(RowLength::Varying),
            CheckWorkload::Own(Own::Scenario(scenario)) => self.of_scenario::<E>(scenario),
        }
    }
}

struct Stamped<'t, 'a, E> {
    trial: &'t Trial<'a>,
    deletes: Deletes,
    engine: PhantomData<E>,
}

impl<E: Engine> WorkloadVisitor for Stamped<'_, '_, E> {
    type Output = Result<Outcome, Failure>;

    fn visit<W: Workload>(self, workload: &W) -> Self::Output {
        self.trial.of_workload::<E, W>(workload, self.deletes)
    }
}
