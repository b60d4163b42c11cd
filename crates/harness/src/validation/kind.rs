//! Of what kind a system is, as far as the model is asked something else of it: one instance costs what its cores' lines cost; a deployment what
//! its messages cost, too. So the error of each kind is measured by itself.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One instance, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SystemKind {
    /// One, whatever the architecture.
    OneInstance,
    /// Several, which send each other messages (*hardware-islands*).
    Deployments,
}

impl SystemKind {
    /// Of a system of so many instances.
    pub fn of(instances: usize) -> SystemKind {
        if instances > 1 { SystemKind::Deployments } else { SystemKind::OneInstance }
    }

    /// That of a comparison with one of the `other` kind: if a deployment takes part, it is of deployments.
    #[must_use]
    pub fn beside(self, other: SystemKind) -> SystemKind {
        self.max(other)
    }
}

impl fmt::Display for SystemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SystemKind::OneInstance => "one instance",
            SystemKind::Deployments => "deployments",
        })
    }
}
