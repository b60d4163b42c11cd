//! The workloads by name: what there is, and building one from parameters.

use crate::audit::Audited;
use crate::described::Described;
use crate::micro::Micro;
use crate::parameters::{ParameterError, Parameters, WorkloadDescription};
use crate::smallbank::SmallBank;
use crate::tatp::Tatp;
use crate::tpcc::Tpcc;
use crate::ycsb::Ycsb;

/// Every workload with its parameters.
pub fn descriptions() -> &'static [WorkloadDescription] {
    static DESCRIPTIONS: [WorkloadDescription; 6] = [
        Micro::DESCRIPTION,
        Ycsb::DESCRIPTION,
        SmallBank::DESCRIPTION,
        Tatp::DESCRIPTION,
        Tpcc::DESCRIPTION,
        Described::DESCRIPTION,
    ];
    &DESCRIPTIONS
}

/// The workload called `name`, with the parameters given and the defaults of the others.
pub fn build(name: &str, given: &Parameters) -> Result<AnyWorkload, ParameterError> {
    if name == Micro::DESCRIPTION.name {
        Micro::new(given).map(AnyWorkload::Micro)
    } else if name == Ycsb::DESCRIPTION.name {
        Ycsb::new(given).map(AnyWorkload::Ycsb)
    } else if name == SmallBank::DESCRIPTION.name {
        SmallBank::new(given).map(AnyWorkload::SmallBank)
    } else if name == Tatp::DESCRIPTION.name {
        Tatp::new(given).map(AnyWorkload::Tatp)
    } else if name == Tpcc::DESCRIPTION.name {
        Tpcc::new(given).map(AnyWorkload::Tpcc)
    } else if name == Described::DESCRIPTION.name {
        Described::new(given).map(AnyWorkload::Described)
    } else {
        Err(ParameterError::UnknownWorkload {
            given: name.to_owned(),
            allowed: descriptions().iter().map(|workload| workload.name).collect(),
        })
    }
}

/// A workload chosen at run time.
#[derive(Clone, Debug)]
pub enum AnyWorkload {
    /// The microbenchmark.
    Micro(Micro),
    /// YCSB.
    Ycsb(Ycsb),
    /// SmallBank.
    SmallBank(SmallBank),
    /// TATP.
    Tatp(Tatp),
    /// TPC-C.
    Tpcc(Tpcc),
    /// A file's.
    Described(Described),
}

/// What to do with a workload of whatever type.
pub trait WorkloadVisitor {
    /// What comes of it.
    type Output;

    /// Does it. A visitor that audits nothing may ask for a `Workload` only.
    fn visit<W: Audited>(self, workload: &W) -> Self::Output;
}

/// What to do with several workloads of whatever type, if all are of one.
pub trait WorkloadsVisitor {
    /// What comes of it.
    type Output;

    /// Does it.
    fn visit<W: Audited>(self, workloads: &[&W]) -> Self::Output;
}

impl AnyWorkload {
    /// The name on the command line, in files and in results.
    pub fn name(&self) -> &'static str {
        match self {
            AnyWorkload::Micro(_) => Micro::DESCRIPTION.name,
            AnyWorkload::Ycsb(_) => Ycsb::DESCRIPTION.name,
            AnyWorkload::SmallBank(_) => SmallBank::DESCRIPTION.name,
            AnyWorkload::Tatp(_) => Tatp::DESCRIPTION.name,
            AnyWorkload::Tpcc(_) => Tpcc::DESCRIPTION.name,
            AnyWorkload::Described(_) => Described::DESCRIPTION.name,
        }
    }

    /// Every parameter with its effective value, in the order in which they are described.
    ///
    /// Building the same workload from these gives the same workload.
    pub fn resolved(&self) -> Vec<(&'static str, String)> {
        match self {
            AnyWorkload::Micro(micro) => micro.resolved(),
            AnyWorkload::Ycsb(ycsb) => ycsb.resolved(),
            AnyWorkload::SmallBank(bank) => bank.resolved(),
            AnyWorkload::Tatp(tatp) => tatp.resolved(),
            AnyWorkload::Tpcc(tpcc) => tpcc.resolved(),
            AnyWorkload::Described(described) => described.resolved(),
        }
    }

    /// Whether each of its transactions is one read or one write of a row that is there.
    pub fn is_of_single_records(&self) -> bool {
        matches!(self, AnyWorkload::Ycsb(ycsb) if ycsb.is_of_single_records())
    }

    /// Whether its transactions delete rows. A checked run of one that does needs tombstones.
    pub fn deletes(&self) -> bool {
        match self {
            AnyWorkload::Tatp(_) | AnyWorkload::Tpcc(_) => true,
            AnyWorkload::Described(described) => described.deletes(),
            _ => false,
        }
    }

    /// Shows the workload to `visitor` by its own type.
    pub fn visit<V: WorkloadVisitor>(&self, visitor: V) -> V::Output {
        match self {
            AnyWorkload::Micro(micro) => visitor.visit(micro),
            AnyWorkload::Ycsb(ycsb) => visitor.visit(ycsb),
            AnyWorkload::SmallBank(bank) => visitor.visit(bank),
            AnyWorkload::Tatp(tatp) => visitor.visit(tatp),
            AnyWorkload::Tpcc(tpcc) => visitor.visit(tpcc),
            AnyWorkload::Described(described) => visitor.visit(described),
        }
    }

    /// Shows `workloads`, one at least, to `visitor` by their own type.
    ///
    /// # Panics
    ///
    /// If they are of several types.
    pub fn visit_all<V: WorkloadsVisitor>(workloads: &[&AnyWorkload], visitor: V) -> V::Output {
        macro_rules! all {
            ($kind:path) => {{
                let mut all = Vec::new();
                for &workload in workloads {
                    match workload {
                        $kind(workload) => all.push(workload),
                        other => panic!("{} beside {}", other.name(), workloads[0].name()),
                    }
                }
                visitor.visit(&all)
            }};
        }
        match workloads[0] {
            AnyWorkload::Micro(_) => all!(AnyWorkload::Micro),
            AnyWorkload::Ycsb(_) => all!(AnyWorkload::Ycsb),
            AnyWorkload::SmallBank(_) => all!(AnyWorkload::SmallBank),
            AnyWorkload::Tatp(_) => all!(AnyWorkload::Tatp),
            AnyWorkload::Tpcc(_) => all!(AnyWorkload::Tpcc),
            AnyWorkload::Described(_) => all!(AnyWorkload::Described),
        }
    }
}
