//! Experiments whose results lie beside these: what a claim that compares with another figure is told by.
//!
//! A sweep into `results/sweep-fig-3a` finds `fig-2a` in `results/sweep-fig-2a`, one into `gallery/fig-3a` in
//! `gallery/fig-2a`: the folder of the same name but for the experiment's. What lies there counts if it was measured in
//! the same place; whatever else is the matter with it, the claim is told as one whose points are missing. Nothing there
//! is written, and it may be unfinished.

use super::cases::Cases;
use super::claims::{Figure, Known};
use super::experiment::Experiment;
use super::journal::{self, Finished, Header};
use crate::options::RunOptions;
use crate::subject::Place;
use crate::summary::Summary;
use crate::validation::SystemKind;
use contract::Engine;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// An experiment with its finished points.
pub(super) struct Sibling {
    experiment: Experiment,
    cases: Cases,
    finished: Vec<Finished>,
}

impl Sibling {
    /// Those that the claims of `experiment` need, as far as they are there beside `folder`.
    pub(super) fn all<E: Engine>(experiment: &Experiment, folder: &Path, place: &Place) -> Vec<Sibling> {
        let needed: BTreeSet<&str> = experiment.claims.iter().filter_map(|claim| claim.needs()).collect();
        let read =
            |needed: &str| Sibling::read::<E>(needed, &beside(folder, &experiment.name, needed)?, place);
        needed.into_iter().filter_map(read).collect()
    }

    fn read<E: Engine>(name: &str, folder: &Path, place: &Place) -> Option<Sibling> {
        let finished = journal::read(folder, &Header::new(name, place)).ok()?;
        let again = Experiment::read(&folder.join("parameters.toml"), place.cores).ok()?;
        let experiment = Experiment { name: name.to_owned(), ..again };
        let cases = Cases::resolve::<E>(&experiment, &RunOptions::for_compare(place.cores), place).ok()?;
        Some(Sibling { experiment, cases, finished })
    }

    pub(super) fn figure(&self) -> Figure<'_> {
        figure(&self.experiment, &self.cases, &self.finished)
    }
}

/// What is known of the points of `experiment`.
pub(super) fn figure<'a>(
    experiment: &'a Experiment,
    cases: &'a Cases,
    finished: &'a [Finished],
) -> Figure<'a> {
    let known = |at: &[String]| match cases.cases.iter().find(|case| case.at == at) {
        None => Known::LeftOut(cases.reason_at(at).expect("every point is a case or left out")),
        Some(case) => match finished.iter().find(|point| point.settings == case.settings) {
            Some(point) => {
                let Summary { workers, instances, .. } = point.summary;
                Known::Measured(&point.samples, workers, SystemKind::of(instances))
            }
            None => Known::NotYet,
        },
    };
    Figure::new(experiment, known)
}

/// `None` if the folder's name does not say whose results it has.
fn beside(folder: &Path, own: &str, needed: &str) -> Option<PathBuf> {
    let name = folder.file_name()?.to_str()?;
    let rest = name.strip_suffix(own)?;
    Some(folder.with_file_name(format!("{rest}{needed}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_are_named_alike() {
        let of = |folder: &str| beside(Path::new(folder), "fig-3a", "fig-2a");
        assert_eq!(of("results/sweep-fig-3a"), Some(PathBuf::from("results/sweep-fig-2a")));
        assert_eq!(of("gallery/fig-3a/"), Some(PathBuf::from("gallery/fig-2a")));
        assert_eq!(of("out"), None);
    }
}
