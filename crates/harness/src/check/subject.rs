//! What can be checked: the measured workloads, and two that are made for checks.

use super::{Outcome, Trial};
use crate::failure::Failure;
use contract::{Engine, Workload};
use std::marker::PhantomData;
use workloads::{AnyWorkload, WorkloadVisitor};

/// A workload made for checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// Keys that come and go.
    Membership,
    /// Lists that tell their own history.
    ListAppend,
}

impl Own {
    /// Every one.
    pub const ALL: [Own; 2] = [Own::Membership, Own::ListAppend];

    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Own::Membership => "membership",
            Own::ListAppend => "list-append",
        }
    }

    /// What it is, in one line.
    pub const fn summary(self) -> &'static str {
        match self {
            Own::Membership => "for check only: keys that are inserted once or deleted once, and looked for",
            Own::ListAppend => {
                "for check only: lists that are read and appended to, so that values tell their history"
            }
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

impl Trial<'_> {
    /// Runs `workload`, and judges it.
    pub fn check<E: Engine>(&self, workload: &CheckWorkload) -> Result<Outcome, Failure> {
        match workload {
            CheckWorkload::Measured(workload) => workload.visit(Stamped::<E>(self, PhantomData)),
            CheckWorkload::Own(Own::Membership) => self.of_membership::<E>(),
            CheckWorkload::Own(Own::ListAppend) => self.of_lists::<E>(),
        }
    }
}

struct Stamped<'t, 'a, E>(&'t Trial<'a>, PhantomData<E>);

impl<E: Engine> WorkloadVisitor for Stamped<'_, '_, E> {
    type Output = Result<Outcome, Failure>;

    fn visit<W: Workload>(self, workload: &W) -> Self::Output {
        self.0.of_workload::<E, W>(workload)
    }
}
