//! Whose sentence a claim is: the paper's, or one that was used for fitting, or a question of ours.
//!
//! Only the paper's are counted as reproduced or not. What a parameter of the machine, or a choice of ours, was fitted on
//! comes out because it was made to: it is counted by itself, with the reason. Questions of ours are shown and answered, and
//! counted by themselves, too.

use serde::Serialize;
use std::fmt;

/// Whose sentence a claim is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "class", content = "why", rename_all = "kebab-case")]
pub enum Standing {
    /// The paper's; nothing was chosen so that it comes out.
    #[default]
    Paper,
    /// The paper's, but something was chosen so that it comes out; what, in words.
    Fitted(String),
    /// A question of ours.
    Ours,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Standing::Paper => "the paper's",
            Standing::Fitted(_) => "used for fitting",
            Standing::Ours => "a question of ours",
        })
    }
}
