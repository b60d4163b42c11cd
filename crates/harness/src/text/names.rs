//! Systems' names for people, from those in results: a build may find names there that it does not know, and shows them as they are.

use contract::{CanaryName, PairName};

/// A system's name for people ([`PairName::shown`]).
pub fn system(architecture: &str, protocol: &str) -> String {
    pair(architecture, protocol).map_or_else(|| format!("{architecture} {protocol}"), PairName::shown)
}

/// The protocol in a column beside its architecture ([`PairName::protocol_shown`]).
pub fn protocol<'a>(architecture: &str, protocol: &'a str) -> &'a str {
    pair(architecture, protocol).map_or(protocol, |pair| pair.protocol_shown())
}

/// The pair, unless another build knew other names.
pub fn pair(architecture: &str, protocol: &str) -> Option<PairName> {
    Some(PairName { architecture: architecture.parse().ok()?, protocol: protocol.parse().ok()? })
}

/// The same of a name that may be a canary's: then the pair that it breaks.
pub fn pair_or_broken(architecture: &str, protocol_or_canary: &str) -> Option<PairName> {
    let broken = |canary: CanaryName| {
        Some(PairName { architecture: architecture.parse().ok()?, protocol: canary.protocol() })
    };
    pair(architecture, protocol_or_canary).or_else(|| broken(protocol_or_canary.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_shown_as_it_is() {
        assert_eq!(system("orthrus", "none"), "orthrus");
        assert_eq!(protocol("orthrus", "none"), "(planned locks)");
        assert_eq!(system("partitioned-serial", "none"), "partitioned-serial none");
        assert_eq!((system("hydra", "none"), protocol("hydra", "none")), ("hydra none".to_owned(), "none"));
        assert_eq!(protocol("shared-everything", "no-read-validation"), "no-read-validation", "a canary");
        let broken = pair_or_broken("orthrus", "passed-locks").map(PairName::shown);
        assert_eq!(broken.as_deref(), Some("orthrus"));
    }
}
