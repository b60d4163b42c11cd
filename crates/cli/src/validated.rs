//! How far the model of simulated machines is off, as claims about simulated points are judged: by the committed file that
//! `validate` wrote, as long as the model is the one that was validated.

use crate::engines::Machine;
use crate::{model, shipped};
use harness::failure::words;
use harness::results::Surroundings;
use harness::validation::ModelErrors;
use std::path::Path;

/// The model's error beside what stands around the numbers, if any of `machines` is simulated.
pub fn beside(surroundings: Surroundings, mut machines: impl Iterator<Item = Machine>) -> Surroundings {
    match machines.any(|machine| matches!(machine, Machine::Simulated(_))) {
        true => surroundings.validated(of_this_model()),
        false => surroundings,
    }
}

/// The error; or why nobody knows it.
fn of_this_model() -> Result<ModelErrors, String> {
    let file = Path::new(ModelErrors::COMMITTED);
    let text = shipped::text_of(file).map_err(|error| format!("{}: {}", file.display(), words(&error)))?;
    let errors = ModelErrors::parse(&text).map_err(|what| format!("{}: {what}", file.display()))?;
    admit(errors, &model::fingerprint())
}

/// Refuses the error of a model that is another one by now.
fn admit(errors: ModelErrors, present: &str) -> Result<ModelErrors, String> {
    match errors.model_fingerprint == present {
        true => Ok(errors),
        false => Err(format!(
            "{} is of the model {}, which was validated on {}; this one is {present}, and {} measures it",
            ModelErrors::COMMITTED,
            errors.model_fingerprint,
            errors.measured_on,
            errors.command
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_of_the_model_that_was_validated() {
        let errors = ModelErrors { model_fingerprint: "a".to_owned(), ..ModelErrors::supposed([]) };
        assert!(admit(errors.clone(), "a").is_ok());
        let other = admit(errors, "b").expect_err("another model");
        assert_eq!(
            other,
            "machines/validated.json is of the model a, which was validated on 1970-01-01; this one is b, and none measures it"
        );
    }
}
