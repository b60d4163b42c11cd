//! What `compare` prints: every pair of the matrix, measured or not.

use super::{Summary, Turns};
use crate::text::names;
use contract::{PairName, ProtocolName};
use serde::{Deserialize, Serialize};

/// Name and version of [`Comparison`]'s fields.
pub const COMPARISON_SCHEMA: &str = "trireme.compare/6";

/// A pair of the matrix that was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmeasured {
    /// False.
    pub supported: bool,
    /// The architecture's name.
    pub architecture: String,
    /// The protocol's name.
    pub protocol: String,
    /// Why it was not measured, in words.
    pub why: String,
}

impl Unmeasured {
    /// `pair` was not measured.
    pub fn new(pair: PairName, why: impl Into<String>) -> Unmeasured {
        Unmeasured {
            supported: false,
            architecture: pair.architecture.to_string(),
            protocol: pair.protocol.to_string(),
            why: why.into(),
        }
    }

    /// The system, for people.
    pub fn system(&self) -> String {
        names::system(&self.architecture, &self.protocol)
    }
}

/// Those with an equal reason in one line: `orthrus with any protocol: why`.
pub fn in_lines(pairs: &[Unmeasured]) -> Vec<String> {
    let mut reasons: Vec<&str> = Vec::new();
    for pair in pairs {
        if !reasons.contains(&&*pair.why) {
            reasons.push(&pair.why);
        }
    }
    reasons.into_iter().map(|why| format!("{}: {why}", systems(pairs, why))).collect()
}

/// The systems that are not measured for the reason `why`.
fn systems(pairs: &[Unmeasured], why: &str) -> String {
    let of_reason = || pairs.iter().filter(|pair| pair.why == why);
    let has = |architecture: &str, protocol: ProtocolName| {
        of_reason().any(|pair| pair.architecture == architecture && pair.protocol == protocol.name())
    };
    let is_any = |architecture: &str| {
        ProtocolName::ALL.iter().all(|&name| name == ProtocolName::Unprotected || has(architecture, name))
    };
    let mut names: Vec<String> = Vec::new();
    for pair in of_reason() {
        let name = match is_any(&pair.architecture) {
            true => format!("{} with any protocol", pair.architecture),
            false => pair.system(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// One row of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Row {
    /// Measured.
    Measured(Box<Summary>),
    /// Not measured.
    Unmeasured(Unmeasured),
}

/// What `compare --json` prints: the measured systems by throughput, best first, those without transactions after the others; then those that were
/// not measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: &'static str,
    /// The systems.
    pub rows: Vec<Row>,
    /// Of each measured system, whether it is slower than the best for certain.
    pub told_apart_from_best: Vec<bool>,
    /// Who is fastest, in words.
    pub finding: String,
    /// How the systems were taken by turns.
    pub turns: Turns,
    /// What is odd, and what to do about it.
    pub warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::ArchitectureName;

    #[test]
    fn equal_reasons_are_one_line() {
        let with = |architecture, protocol, why| Unmeasured::new(PairName { architecture, protocol }, why);
        let any = ProtocolName::ALL.iter().filter(|&&name| name != ProtocolName::Unprotected);
        let mut pairs: Vec<Unmeasured> =
            any.map(|&protocol| with(ArchitectureName::Orthrus, protocol, "it has its own")).collect();
        pairs.insert(1, with(ArchitectureName::Dora, ProtocolName::Silo, "it would migrate"));
        for architecture in [ArchitectureName::Dora, ArchitectureName::Delegation] {
            pairs.push(with(architecture, ProtocolName::Vll, "there is one queue"));
        }
        let expected = [
            "orthrus with any protocol: it has its own",
            "dora silo: it would migrate",
            "dora vll, delegation vll: there is one queue",
        ];
        assert_eq!(in_lines(&pairs), expected);
        pairs.remove(0);
        assert!(!in_lines(&pairs).concat().contains("any protocol"), "one of them has another reason");
    }
}
