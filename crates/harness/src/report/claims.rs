//! The claims of a report: how many came out how, the paper's numbers beside ours, each claim with its verdict, and the error of the
//! model that simulated points are judged with.

use super::page::{Block, Cell};
use crate::results::Surroundings;
use crate::svg::at_both_widths;
use crate::svg::dots::{self, Dot};
use crate::sweep::claims::{Interval, Standing, Sum, Told};
use crate::text::numbers::{counted, latency, ratio, thousands};

/// How many claims came out how.
pub(super) fn finding<'a>(claims: impl IntoIterator<Item = &'a Told>) -> Vec<String> {
    Sum::of(claims).sentences()
}

/// Each claim with what came of it.
pub(super) fn table(claims: &[Told]) -> Block {
    let row = |claim: &Told| {
        let says = claim.source().unwrap_or_default();
        let standing = match &claim.standing {
            Standing::Paper => String::new(),
            other => other.to_string(),
        };
        vec![
            Cell::prose(&claim.that).noted(says),
            Cell::verdict(claim.outcome()).noted(standing),
            Cell::words(claim.measure.to_string()),
            Cell::prose(claim.reason()),
        ]
    };
    Block::Table {
        title: "Claims".to_owned(),
        note: "Below each claim the paper's own words. Medians of the repetitions, left over right, or of one side alone; \
               in brackets, what the slowest and fastest ones make of it, and of simulated points, how far it may reach \
               with the error of the model. Direction only: more is more, as claimed, but by another size. Not \
               applicable here: the claim is about more workers, or other systems, than these. Cannot be told: the \
               repetitions spread too far, the model is off by too much, or the measure is missing."
            .to_owned(),
        head: ["claim", "verdict", "measure", "found"].map(Cell::words).into(),
        rows: claims.iter().map(row).collect(),
    }
}

/// The numbers that the paper's text gives, beside ours; `None` if it gives none. Each claim goes with the name of its figure,
/// which may be empty.
pub(super) fn numbers<'a>(claims: impl IntoIterator<Item = (&'a str, &'a Told)>) -> Option<Block> {
    let dots: Vec<Dot> = claims.into_iter().filter_map(|(figure, claim)| dot(figure, claim)).collect();
    let title = "The paper's numbers beside ours".to_owned();
    let unit = "ours over the paper's, logarithmic";
    (!dots.is_empty()).then(|| Block::Figure {
        note: "Each number that the paper's text gives: a diamond at 1. The dot is ours; the bar goes from the repetition that \
               makes it least to the one that makes it most, the whisker as far as it may reach with the model's error. \
               Beside each, the paper's number and ours. Grey: the number was used for fitting."
            .to_owned(),
        legend: Vec::new(),
        svg: at_both_widths(|width| dots::draw(&dots, unit, &title, width)),
        title,
    })
}

fn dot(figure: &str, claim: &Told) -> Option<Dot> {
    let (paper, Interval { median, spread, with_error }) = (claim.paper_number?, claim.interval?);
    let [papers, ours] = [paper, median].map(|number| shown(claim, number));
    let (series, fitted) = match claim.standing {
        Standing::Fitted(_) => (GREY, " (used for fitting)"),
        _ => (0, ""),
    };
    let figure = if figure.is_empty() { String::new() } else { format!("{figure}: ") };
    Some(Dot {
        label: format!("{figure}{}{fitted}", claim.that),
        numbers: format!("{papers} and {ours}"),
        ratio: median / paper,
        spread: spread.map(|end| end / paper),
        with_error: with_error.map(|ends| ends.map(|end| end / paper)),
        series,
    })
}

/// The series that is grey.
const GREY: usize = 7;

/// A number of a claim, for people.
pub(super) fn shown(claim: &Told, number: f64) -> String {
    match (claim.right.is_some(), claim.measure.name()) {
        (false, "throughput") => format!("{}/s", thousands(number)),
        (false, name) if name.ends_with("_ns") => latency(number.round() as u64),
        _ => ratio(number),
    }
}

/// The error that claims about simulated points are judged with, said once.
pub(super) fn model_error(surroundings: &Surroundings) -> Block {
    let text = match &surroundings.validated {
        Err(why) => format!("Nobody knows it: {why}. So no claim about simulated points can be told."),
        Ok(validated) => {
            let of = |(measure, error): (&String, &crate::validation::ModelError)| {
                format!(
                    "{}: by {:.2} in value, by {:.2} between two systems, by {:.2} along an axis of one",
                    measure.replace('_', " "),
                    error.value,
                    error.between_systems,
                    error.along
                )
            };
            let errors: Vec<String> = validated.errors.iter().map(of).collect();
            let workers = counted(validated.most_workers, "worker");
            let deployments = match &validated.deployments {
                None => "Deployments of several instances were not validated: they are judged by the same errors, and their verdicts \
                         say so."
                    .to_owned(),
                Some(own) => {
                    let errors: Vec<String> = own.errors.iter().map(of).collect();
                    format!(
                        "Deployments of several instances ({}), and what is compared with them, have errors of their own: {}.",
                        own.deployed,
                        if errors.is_empty() { "none, for too little was compared".to_owned() } else { errors.join("; ") }
                    )
                }
            };
            format!(
                "Simulated points are judged with the error of the model beside the spread of the seeds. It was measured on \
                 {}, on {}, with up to {} ({}). It is off by so many times, typically: {}. Beyond {} \
                 nobody has measured: the error there is at least this. {deployments}",
                validated.measured_on,
                validated.host,
                workers,
                validated.command,
                errors.join("; "),
                workers
            )
        }
    };
    Block::Remark { title: "The model's error".to_owned(), text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Experiment;
    use crate::sweep::claims::{Figure, Known, Trust, tell};
    use crate::validation::{KindErrors, ModelError, ModelErrors};

    /// Of a claim without points.
    fn told(claim: &str) -> Told {
        let text = format!(
            "workload = 'micro'\n[axes]\nworkers = [1, 2]\n[[claims]]\nthat = 'so'\nleft = {{}}\n{claim}"
        );
        let experiment = Experiment::parse("e.toml", &text, 2).expect("an experiment");
        tell(&Figure::new(&experiment, |_| Known::NotYet), &[], Trust::Measured).remove(0)
    }

    fn interval(median: f64) -> Option<Interval> {
        Some(Interval { median, spread: [median * 0.9, median * 1.1], with_error: None })
    }

    #[test]
    fn a_number_of_the_text_has_a_row_and_what_was_fitted_is_grey() {
        let claim = told("measure = 'mean_ns'\nabout = 5_000");
        assert!(dot("", &claim).is_none(), "nothing was measured");
        let claim = Told { interval: interval(20_000.0), ..claim };
        let row = dot("fig-4c", &claim).expect("a row");
        assert_eq!(
            (&*row.label, &*row.numbers, row.ratio, row.series),
            ("fig-4c: so", "5.00 µs and 20.0 µs", 4.0, 0)
        );
        let fitted = Told { standing: Standing::Fitted("by it".to_owned()), ..claim.clone() };
        assert_eq!(dot("", &fitted).expect("a row").label, "so (used for fitting)");
        let none = Told { paper_number: None, ..claim };
        assert!(numbers([("", &none)]).is_none() && numbers([("", &fitted)]).is_some());
    }

    #[test]
    fn the_papers_words_stand_below_the_claim() {
        let claim =
            told("section = '4.2.1'\nsays = 'by 7x'\nours = true\nmeasure = 'abort_rate'\nat_most = 1");
        let Block::Table { rows, .. } = table(&[claim]) else { panic!("a table") };
        assert_eq!(rows[0][0].note, "4.2.1: \u{201c}by 7x\u{201d}");
        assert_eq!(rows[0][1].note, "a question of ours");
    }

    #[test]
    fn the_error_is_named_with_its_day_and_host_and_its_reach() {
        let some = Surroundings::new("trireme reproduce".to_owned(), &());
        let Block::Remark { text, .. } = model_error(&some) else { panic!("a remark") };
        assert!(text.starts_with("Nobody knows it: no validation was read. So no claim"), "{text}");
        let error = ModelError { value: 1.44, between_systems: 1.3, along: 1.2 };
        let errors = ModelErrors { host: "a host".to_owned(), ..ModelErrors::supposed([("mean_ns", error)]) };
        let Block::Remark { text, .. } = model_error(&some.validated(Ok(errors.clone()))) else {
            panic!("a remark")
        };
        for words in [
            "on 1970-01-01, on a host, with up to 1 worker (none)",
            "mean ns: by 1.44 in value, by 1.30 between two systems, by 1.20 along an axis of one",
            "Beyond 1 worker nobody has measured: the error there is at least this.",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(text.ends_with("Deployments of several instances were not validated: they are judged by the same errors, and their verdicts say so."));
        let own = KindErrors {
            deployed: "apart".to_owned(),
            errors: [("mean_ns".to_owned(), ModelError { value: 2.5, ..error })].into_iter().collect(),
            ..KindErrors::default()
        };
        let errors = ModelErrors { deployments: Some(own), ..errors };
        let some = Surroundings::new("trireme reproduce".to_owned(), &());
        let Block::Remark { text, .. } = model_error(&some.validated(Ok(errors))) else { panic!("a remark") };
        assert!(
            text.contains(
                "(apart), and what is compared with them, have errors of their own: mean ns: by 2.50 in value"
            ),
            "{text}"
        );
    }
}
