//! The table of a workload's parameters: one declaration, from which everything else follows.

/// Declares a struct of typed parameters with its [`WorkloadDescription`](super::WorkloadDescription).
///
/// The line of documentation of each parameter is its help.
macro_rules! parameters {
    ($(#[$doc:meta])* $type:ident, $workload:literal, $summary:literal;
     $(#[doc = $help:literal] $name:literal $field:ident: $value:ty = $default:literal;)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) struct $type {
            $(#[doc = $help] pub(crate) $field: $value,)+
        }

        impl $type {
            pub(crate) const DESCRIPTION: $crate::parameters::WorkloadDescription =
                $crate::parameters::WorkloadDescription {
                    name: $workload,
                    summary: $summary,
                    parameters: &[$($crate::parameters::ParameterDescription {
                        name: $name,
                        default: $default,
                        allowed: <$value as $crate::parameters::ParameterValue>::ALLOWED,
                        help: $help.trim_ascii(),
                    },)+],
                };

            /// Every name and value checked by itself; not yet whether the values go together.
            fn read(
                given: &$crate::parameters::Parameters,
            ) -> Result<Self, $crate::parameters::ParameterError> {
                given.check_names(&Self::DESCRIPTION)?;
                Ok($type { $($field: given.value($name, $default)?,)+ })
            }

            /// Every parameter with its value.
            pub(crate) fn resolved(&self) -> Vec<(&'static str, String)> {
                vec![$(($name, self.$field.to_string()),)+]
            }
        }
    };
}
pub(crate) use parameters;
