//! A checked run over Ignite, as of any system: every row ends in a stamp, every transaction keeps a log, and the checker judges both.

use crate::Ignite;
use crate::isolation::{CANARY, Isolation, SERIALIZABLE};
use crate::limits;
use contract::Site;
use harness::check::{CheckSummary, CheckWorkload, Trial};
use harness::{Failure, Observer, Subject};

/// What is checked.
pub struct Agenda<'a> {
    /// The workload, and how it is run; its instances are nodes.
    pub subject: &'a Subject,
    /// The same workload.
    pub workload: &'a CheckWorkload,
    /// Transactions, of all workers together.
    pub transactions: u64,
    /// Whether reads are left unvalidated, which the checker must find.
    pub canary: bool,
    /// Who is told.
    pub observer: &'a dyn Observer,
}

impl Agenda<'_> {
    /// Runs it, and judges it.
    pub fn carry_out(&self) -> Result<CheckSummary, Failure> {
        limits::admit_check(self.workload)?;
        let Agenda { subject, transactions, observer, .. } = *self;
        let nodes = subject.options.engine.instances_among(subject.options.workers, &[Site::ONLY])?;
        limits::admit_sizes(subject.options.workers, nodes)?;
        let selection = if self.canary { CANARY } else { SERIALIZABLE };
        let isolation = Isolation::of(selection).expect("one of the two that there are");
        harness::check::admit(subject.options.workers, transactions)?;
        let trial = Trial { selection, subject, transactions, observer };
        let (summary, _) = trial.check::<Ignite>(self.workload)?;
        Ok(CheckSummary {
            architecture: crate::name(nodes),
            protocol: isolation.name().to_owned(),
            ..summary
        })
    }
}
