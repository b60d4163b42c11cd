//! How many transactions a worker has in flight.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Transactions that a worker has begun and not ended, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InFlight {
    /// What suits the architecture: one under shared-everything, as in the papers' systems, and four where a transaction that waits
    /// is suspended anyhow.
    #[default]
    Default,
    /// So many, at least one.
    Told(usize),
    /// Shared-everything: as many as bring most, which each worker finds out while it runs.
    Auto,
}

impl InFlight {
    /// What is allowed, in words.
    const ALLOWED: &str = "a whole number of at least 1 and less than 2^64, auto, or default";

    /// Where a transaction that waits is suspended anyhow. There, nothing but a number is a choice.
    pub fn in_fibers(self) -> usize {
        match self {
            InFlight::Told(number) => number,
            InFlight::Default | InFlight::Auto => 4,
        }
    }

    /// Under shared-everything, where a worker may have so many.
    pub fn interleaved(self, most: usize) -> usize {
        match self {
            InFlight::Default => 1,
            InFlight::Told(number) => number,
            InFlight::Auto => most,
        }
    }
}

impl From<usize> for InFlight {
    fn from(number: usize) -> Self {
        assert!(number > 0, "nothing in flight");
        InFlight::Told(number)
    }
}

impl fmt::Display for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InFlight::Default => f.pad("default"),
            InFlight::Told(number) => number.fmt(f),
            InFlight::Auto => f.pad("auto"),
        }
    }
}

impl FromStr for InFlight {
    type Err = String;

    /// The error says what is allowed.
    fn from_str(given: &str) -> Result<Self, String> {
        match given {
            "default" => Ok(InFlight::Default),
            "auto" => Ok(InFlight::Auto),
            number => match number.parse() {
                Ok(number) if number > 0 => Ok(InFlight::Told(number)),
                _ => Err(Self::ALLOWED.to_owned()),
            },
        }
    }
}

impl Serialize for InFlight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            InFlight::Told(number) => serializer.serialize_u64(*number as u64),
            word => serializer.serialize_str(&word.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for InFlight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            Number(usize),
            Word(String),
        }
        let given = match Given::deserialize(deserializer)? {
            Given::Number(number) => number.to_string(),
            Given::Word(word) => word,
        };
        given.parse().map_err(|allowed| D::Error::custom(format!("in flight '{given}'; allowed: {allowed}")))
    }
}
