//! Of what kind a system is, as far as the model is asked something else of it: one instance costs what its cores' lines cost; a deployment what
//! its messages cost, too. So the error of each kind is measured by itself.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One instance, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One, whatever the architecture.
    OneInstance,
    /// Several, which send each other messages (*hardware-islands*).
    Deployments,
}

impl Kind {
    /// Of a system of so many instances.
    pub fn of(instances: usize) -> Kind {
        if instances > 1 { Kind::Deployments } else { Kind::OneInstance }
    }

    /// That of a comparison with one of the `other` kind: if a deployment takes part, it is of deployments.
    #[must_use]
    pub fn beside(self, other: Kind) -> Kind {
        self.max(other)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::OneInstance => "one instance",
            Kind::Deployments => "deployments",
        })
    }
}
