//! Systems' names for people, from those in results: a build may find names there that it does not know, and shows them as they are.

use contract::{ArchitectureName, CanaryName, PairName, ProtocolName};

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

/// The value of `architecture`, `protocol` or `system` in an experiment's file as results have it: `no-wait` of `NO_WAIT`. Any other setting's, and
/// what is no name, is as it was.
pub fn as_in_results(setting: &str, value: String) -> String {
    let word = |word: &str| {
        let architecture = word.parse().map(ArchitectureName::name);
        let name = architecture.or_else(|_| word.parse().map(ProtocolName::name));
        name.map_or_else(|_| word.to_owned(), str::to_owned)
    };
    match setting {
        "architecture" | "protocol" | "system" => value.split(' ').map(word).collect::<Vec<_>>().join(" "),
        _ => value,
    }
}

/// As [`pair`], of a name that may be a canary's: then the pair that it breaks.
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
    fn a_systems_names_are_as_in_results() {
        let of = |setting: &str, value: &str| as_in_results(setting, value.to_owned());
        assert_eq!(of("protocol", "DL_DETECT"), "dl-detect");
        assert_eq!(of("system", "ORTHRUS cc-threads=2"), "orthrus cc-threads=2");
        assert_eq!(of("system", "Shared_Everything 2V_NO_WAIT"), "shared-everything 2v-no-wait");
        assert_eq!(
            (of("system", "HYDRA none"), of("mix", "NONE")),
            ("HYDRA none".to_owned(), "NONE".to_owned())
        );
    }

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
