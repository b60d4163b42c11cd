//! The model of simulated machines, as far as a validation is of one model and of no other: what accesses cost, and what the
//! engine says of the computation between them.

use machine::simulated::fingerprint;

/// Another one wherever the same run would cost something else on the same machine file.
pub fn fingerprint() -> String {
    fingerprint::of_model().and_all(engine_simulated::work::estimates()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness::validation::ModelErrors;
    use std::path::Path;

    #[test]
    fn the_model_is_the_one_that_was_validated() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(ModelErrors::COMMITTED);
        let validated = ModelErrors::read(&file).expect("the error of the model is committed");
        assert_eq!(
            validated.model_fingerprint,
            fingerprint(),
            "the model has changed since it was validated on {}: on a quiet machine, run `trireme doctor --calibrate` and \
             `{}`, and commit {}",
            validated.measured_on,
            validated.command,
            ModelErrors::COMMITTED
        );
    }
}
