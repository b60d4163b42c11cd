//! What the microbenchmark can be asked to do.

use crate::parameters::{
    ParameterError, ParameterValue, Parameters, Percent, choice, count, parameters, whole,
};
use crate::touches::{KEY_END, MOST_TOUCHES};
use std::fmt;

parameters! {
    /// The microbenchmark's parameters.
    MicroParameters, "micro", "ten operations a transaction, two of them on a few hot rows (trireme 4.1)";
    /// Rows in the table.
    "records" records: Records = "2000000";
    /// Rows in the hot set: the first keys.
    "hot-records" hot_records: HotRecords = "16";
    /// Operations of a transaction on rows of the hot set.
    "hot" hot: Hot = "2";
    /// Where hot rows are drawn from: anywhere in the hot set, or from its rows outside the client's partition.
    "hot-from" hot_from: HotFrom = "anywhere";
    /// Operations of a transaction, all on distinct rows.
    "operations" operations: Operations = "10";
    /// Cold operations on rows of other partitions than the client's, the others being local; or any, for no locality; or any-but-one: one is local, and the others are any.
    "remote" remote: Remote = "0";
    /// Transactions whose cold operations are remote as told, those of the others being local; hot rows lie anywhere, so that with instances only `hot 0` makes the others local as a whole.
    "multi-partition" multi_partition: Percent = "100";
    /// Operations that update: none, all, or so many percent; or home, those on rows of the client's partition.
    "writes" writes: Writes = "none";
    /// Order of the operations: hot rows first, random, or by primary key (trireme figure 3c).
    "order" order: Order = "hot-first";
}

count!(
    /// Rows in the table.
    Records, 1 to 1_000_000_000_000
);
count!(
    /// Rows in the hot set.
    HotRecords, 0 to 1_000_000_000_000
);
count!(
    /// Hot operations of a transaction.
    Hot, 0 to 64
);
count!(
    /// Operations of a transaction.
    Operations, 1 to 64
);
choice!(
    /// Where a transaction's hot rows are drawn from.
    HotFrom:
    /// The whole hot set.
    Anywhere = "anywhere",
    /// The hot rows of other partitions than the client's home.
    Remote = "remote",
);
choice!(
    /// The order of a transaction's operations.
    Order:
    /// Hot rows, then cold ones, each as drawn.
    HotFirst = "hot-first",
    /// Any permutation.
    Random = "random",
    /// Ascending keys.
    Key = "key",
);

const _: () = assert!(Operations::MOST == MOST_TOUCHES as u64 && Hot::MOST == MOST_TOUCHES as u64);
const _: () = assert!(Records::MOST < KEY_END);

/// Where a transaction's cold rows are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remote {
    /// So many from other partitions than the client's home, the rest from there.
    Operations(u64),
    /// From anywhere.
    Any,
    /// One from home, the others from anywhere.
    AnyButOne,
}

impl ParameterValue for Remote {
    const ALLOWED: &'static str = "a whole number from 0 to 64, any or any-but-one";

    fn parse(text: &str) -> Option<Self> {
        match text {
            "any" => Some(Remote::Any),
            "any-but-one" => Some(Remote::AnyButOne),
            _ => whole(text).filter(|operations| *operations <= Operations::MOST).map(Remote::Operations),
        }
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remote::Operations(operations) => write!(f, "{operations}"),
            Remote::Any => f.write_str("any"),
            Remote::AnyButOne => f.write_str("any-but-one"),
        }
    }
}

/// The part of operations that update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Writes {
    /// So many, whatever their rows.
    Percent(Percent),
    /// Those on rows of the client's home partition.
    Home,
}

impl ParameterValue for Writes {
    const ALLOWED: &'static str = "none | all | home | a percentage from 0 to 100";

    fn parse(text: &str) -> Option<Self> {
        match text {
            "none" => Some(Writes::Percent(Percent(0.0))),
            "all" => Some(Writes::Percent(Percent(100.0))),
            "home" => Some(Writes::Home),
            _ => Percent::parse(text).map(Writes::Percent),
        }
    }
}

impl fmt::Display for Writes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Writes::Percent(Percent(0.0)) => f.write_str("none"),
            Writes::Percent(Percent(100.0)) => f.write_str("all"),
            Writes::Percent(percent) => percent.fmt(f),
            Writes::Home => f.write_str("home"),
        }
    }
}

impl MicroParameters {
    /// Checked values that go together: every draw of distinct rows can succeed.
    pub(super) fn resolve(given: &Parameters) -> Result<Self, ParameterError> {
        let parameters = MicroParameters::read(given)?;
        let MicroParameters { records, hot_records, hot, operations, .. } = parameters;
        if hot_records.get() > records.get() {
            return Err(ParameterError::Conflict {
                parameter: "hot-records",
                value: hot_records.to_string(),
                with: "records",
                with_value: records.to_string(),
                allowed: "at most as many hot records as records",
            });
        }
        if hot.get() > operations.get() {
            return Err(ParameterError::Conflict {
                parameter: "hot",
                value: hot.to_string(),
                with: "operations",
                with_value: operations.to_string(),
                allowed: "at most as many hot operations as operations",
            });
        }
        if hot.get() > hot_records.get() {
            return Err(ParameterError::Conflict {
                parameter: "hot",
                value: hot.to_string(),
                with: "hot-records",
                with_value: hot_records.to_string(),
                allowed: "at most as many hot operations as hot records, which a transaction does not repeat",
            });
        }
        if parameters.cold() > parameters.cold_records() {
            return Err(ParameterError::Conflict {
                parameter: "operations",
                value: operations.to_string(),
                with: "records",
                with_value: records.to_string(),
                allowed: "at most as many cold operations (operations less hot) as cold records \
                          (records less hot-records), which a transaction does not repeat",
            });
        }
        if let Remote::Operations(remote) = parameters.remote
            && remote > parameters.cold()
        {
            return Err(ParameterError::Conflict {
                parameter: "remote",
                value: remote.to_string(),
                with: "operations",
                with_value: operations.to_string(),
                allowed: "at most as many remote operations as cold ones (operations less hot)",
            });
        }
        if parameters.multi_partition.0 < 100.0 && parameters.remote == Remote::Operations(0) {
            return Err(ParameterError::Conflict {
                parameter: "multi-partition",
                value: parameters.multi_partition.to_string(),
                with: "remote",
                with_value: parameters.remote.to_string(),
                allowed: "100, or remote=N, any or any-but-one: what those touch",
            });
        }
        Ok(parameters)
    }

    /// Operations of a transaction on cold rows.
    pub(super) fn cold(&self) -> u64 {
        self.operations.get() - self.hot.get()
    }

    /// Rows that are not hot.
    pub(super) fn cold_records(&self) -> u64 {
        self.records.get() - self.hot_records.get()
    }
}
