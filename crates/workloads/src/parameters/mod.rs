//! Parameters of workloads: text from the command line or an experiment's file, checked against one table.
//!
//! A workload declares its parameters once, in a `parameters!` table of names, types, defaults and help. From
//! it come the typed values, the flags, the keys of experiments, `trireme list workloads`, and every error
//! message.

mod table;
mod value;

pub(crate) use table::parameters;
pub(crate) use value::{ParameterValue, Percent, choice, count, number, whole};

use std::fmt;

/// One parameter of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterDescription {
    /// Name on the command line (after `--`), in files and in results.
    pub name: &'static str,
    /// The value where none is given.
    pub default: &'static str,
    /// The values allowed, in words.
    pub allowed: &'static str,
    /// What it decides, in one line.
    pub help: &'static str,
}

/// A workload and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadDescription {
    /// Name on the command line, in files and in results.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Its parameters, in the order in which they are listed.
    pub parameters: &'static [ParameterDescription],
}

/// Parameters as a person gave them: names and values, in order, not yet checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    given: Vec<(String, String)>,
}

impl Parameters {
    /// None given.
    pub fn new() -> Self {
        Parameters::default()
    }

    /// Gives `name` the value `value`, in place of an earlier one.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let (name, value) = (name.into(), value.into());
        match self.given.iter_mut().find(|(known, _)| *known == name) {
            Some((_, earlier)) => *earlier = value,
            None => self.given.push((name, value)),
        }
    }

    /// The value given to `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Names and values, in the order in which the names were first given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.given.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Refuses names that the workload does not have.
    pub(crate) fn check_names(&self, workload: &WorkloadDescription) -> Result<(), ParameterError> {
        let known = |name: &str| workload.parameters.iter().any(|parameter| parameter.name == name);
        match self.iter().find(|(name, _)| !known(name)) {
            None => Ok(()),
            Some((given, _)) => Err(ParameterError::UnknownParameter {
                workload: workload.name,
                given: given.to_owned(),
                allowed: workload.parameters.iter().map(|parameter| parameter.name).collect(),
            }),
        }
    }

    /// The value of `name`, or what `default` says.
    pub(crate) fn value<V: ParameterValue>(
        &self,
        name: &'static str,
        default: &str,
    ) -> Result<V, ParameterError> {
        let text = self.get(name).unwrap_or(default);
        V::parse(text).ok_or_else(|| ParameterError::BadValue {
            parameter: name,
            value: text.to_owned(),
            allowed: V::ALLOWED,
        })
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Parameters {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(given: I) -> Self {
        let mut parameters = Parameters::new();
        for (name, value) in given {
            parameters.set(name, value);
        }
        parameters
    }
}

/// Parameters that make no workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterError {
    /// There is no workload of this name.
    UnknownWorkload {
        /// The name given.
        given: String,
        /// The names of workloads.
        allowed: Vec<&'static str>,
    },
    /// The workload has no parameter of this name.
    UnknownParameter {
        /// The workload.
        workload: &'static str,
        /// The name given.
        given: String,
        /// The names of the workload's parameters.
        allowed: Vec<&'static str>,
    },
    /// A value that is out of range, or is none at all.
    BadValue {
        /// The parameter.
        parameter: &'static str,
        /// The value given.
        value: String,
        /// The values allowed, in words.
        allowed: &'static str,
    },
    /// A file that a parameter names says something that is not allowed, or cannot be read.
    Input {
        /// The file.
        place: String,
        /// What is wrong with it, and what is allowed.
        what: String,
    },
    /// Two values that are allowed, but not together.
    Conflict {
        /// The parameter to change, as a suggestion.
        parameter: &'static str,
        /// Its value.
        value: String,
        /// The parameter that it conflicts with.
        with: &'static str,
        /// That one's value.
        with_value: String,
        /// What is allowed, in words.
        allowed: &'static str,
    },
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterError::UnknownWorkload { given, allowed } => {
                write!(f, "unknown workload '{given}'; allowed: {}", allowed.join(", "))
            }
            ParameterError::UnknownParameter { workload, given, allowed } => {
                write!(f, "workload {workload} has no parameter '{given}'; allowed: {}", allowed.join(", "))
            }
            ParameterError::BadValue { parameter, value, allowed } => {
                write!(f, "bad value '{value}' for '{parameter}'; allowed: {allowed}")
            }
            ParameterError::Input { place, what } => write!(f, "{place}: {what}"),
            ParameterError::Conflict { parameter, value, with, with_value, allowed } => {
                write!(
                    f,
                    "value '{value}' for '{parameter}' does not go with '{with_value}' for '{with}'; \
                     allowed: {allowed}"
                )
            }
        }
    }
}

impl std::error::Error for ParameterError {}

#[cfg(test)]
mod tests {
    use super::Parameters;

    #[test]
    fn a_later_value_replaces_an_earlier_one_in_its_place() {
        let mut parameters: Parameters = [("a", "1"), ("b", "2")].into_iter().collect();
        parameters.set("a", "3");
        parameters.set("c", "4");
        assert_eq!(parameters.iter().collect::<Vec<_>>(), [("a", "3"), ("b", "2"), ("c", "4")]);
        assert_eq!((parameters.get("c"), parameters.get("d")), (Some("4"), None));
    }
}
