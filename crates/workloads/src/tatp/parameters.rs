//! What TATP can be asked to do.

use crate::parameters::{ParameterError, Parameters, choice, count, parameters};

parameters! {
    /// TATP's parameters.
    TatpParameters, "tatp", "seven short transactions on subscribers of a mobile network (TATP 1.0)";
    /// Subscribers of the network; the standard counts them in hundreds of thousands.
    "subscribers" subscribers: Subscribers = "100000";
    /// How subscribers are drawn: by the standard's non-uniform function, or all alike.
    "distribution" distribution: Distribution = "non-uniform";
    /// Where subscribers are drawn from: anywhere, or the client's own partition.
    "from" from: Origin = "anywhere";
}

count!(
    /// Subscribers of the network.
    Subscribers, 1 to 1_000_000_000
);
choice!(
    /// How subscribers are drawn.
    Distribution:
    /// Some more often than others.
    NonUniform = "non-uniform",
    /// All alike.
    Uniform = "uniform",
);
choice!(
    /// Where subscribers are drawn from.
    Origin:
    /// Any partition.
    Anywhere = "anywhere",
    /// The client's home partition.
    Home = "home",
);

impl TatpParameters {
    /// Checked values. All of them go together.
    pub(super) fn resolve(given: &Parameters) -> Result<Self, ParameterError> {
        TatpParameters::read(given)
    }
}
