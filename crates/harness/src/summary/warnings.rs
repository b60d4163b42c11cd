//! Odd numbers, and what to do about them.

use super::Summary;
use crate::options::{OPTIONS, OptionDescription, RunOptions};
use crate::subject::Subject;
use crate::text::durations;
use crate::text::numbers::{counted, percent, thousands};
use contract::PairName;
use std::time::Duration;

/// A spread of the repetitions, as a part of the median, over which a number is not to be trusted.
pub const MOST_SPREAD: f64 = 0.10;

/// Fewer sampled transactions than this do not tell where the time goes.
const FEWEST_SAMPLES: u64 = 100;

/// So far from 1 may Little's law be for other reasons than that something is missing, and so much farther where few transactions
/// ended: those that are under way at either end of the interval are a part of them.
const LITTLES_LAW_MARGIN: f64 = 0.1;

/// And at most so much farther for transactions that are long.
const MOST_FOR_LONG_ONES: f64 = 0.1;

/// A transaction is long if it takes more than this part of the interval.
const LONG: f64 = 0.1;

/// A shorter interval than this is decided by chance.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

/// What is odd about the circumstances, whatever was measured.
pub fn of_circumstances(subject: &Subject) -> Vec<String> {
    let mut warnings = Vec::new();
    let (options, place) = (&subject.options, &subject.place);
    if place.debug_build {
        warnings.push("debug build: its numbers say nothing; build with --release".to_owned());
    }
    if !place.simulated && options.workers > place.cores {
        warnings.push(format!(
            "{} workers share {}: they wait for each other's time slices; use --workers {}",
            options.workers,
            counted(place.cores, "core"),
            place.cores
        ));
    }
    if !place.simulated && options.duration < SHORTEST_INTERVAL {
        warnings.push(format!(
            "an interval of {} is decided by chance; use --duration 1s or longer",
            durations::show(options.duration)
        ));
    }
    if options.repeat == 1 {
        warnings.push("one repetition has no spread; use --repeat 3 or more".to_owned());
    }
    warnings
}

/// Options that were chosen, and that the system does not use.
pub fn of_options(pair: PairName, options: &RunOptions) -> Vec<String> {
    let defaults = RunOptions::for_run(options.workers);
    let is_idle = |option: &&OptionDescription| {
        !option.is_used_by(pair) && option.get(options) != option.get(&defaults)
    };
    let idle = OPTIONS.iter().filter(is_idle).map(|option| {
        let (name, value) = (option.name, option.get(options));
        let users = option.users().unwrap_or_default();
        format!("--{name} {value} makes no difference to {pair}; it is used by {users}")
    });
    idle.collect()
}

/// What is odd about one system's numbers.
pub fn of_numbers(summary: &Summary) -> Vec<String> {
    let spread = too_much_spread(summary).map(|spread| {
        format!("the repetitions spread over {} of the median; {}", percent(spread), quiet(summary.simulated))
    });
    spread.into_iter().chain(other_than_spread(summary)).collect()
}

/// What is odd about several systems' numbers: the spread, which often strikes all of them, in one warning.
pub fn of_systems(summaries: &[&Summary]) -> Vec<String> {
    let spreading: Vec<String> = summaries
        .iter()
        .filter_map(|summary| Some(format!("{} ({})", summary.system(), percent(too_much_spread(summary)?))))
        .collect();
    let mut warnings = Vec::new();
    if !spreading.is_empty() {
        warnings.push(format!(
            "{SPREAD} more than {} of the median: {}; {}",
            percent(MOST_SPREAD),
            spreading.join(", "),
            quiet(summaries.iter().any(|summary| summary.simulated))
        ));
    }
    for summary in summaries {
        let named = |warning| format!("{}: {warning}", summary.system());
        warnings.extend(other_than_spread(summary).into_iter().map(named));
    }
    warnings
}

const SPREAD: &str = "the repetitions spread over";
const FEW_SAMPLES: &str = "the time shares rest on";

/// What to do about a spread: a simulated machine is as quiet as can be.
const fn quiet(simulated: bool) -> &'static str {
    if simulated { "use a longer --duration" } else { "quiet the machine, or use a longer --duration" }
}

fn too_much_spread(summary: &Summary) -> Option<f64> {
    let too_much = summary.repetitions > 1 && summary.spread() > MOST_SPREAD;
    too_much.then(|| summary.spread())
}

fn other_than_spread(summary: &Summary) -> Vec<String> {
    let mut warnings = Vec::new();
    if !summary.has_transactions() {
        warnings.push(format!(
            "{} has no transactions: each read or write is atomic, and nothing is serializable beyond it",
            summary.protocol
        ));
    }
    if summary.commits == 0 {
        warnings.push(
            "nothing committed in the interval; use a longer --duration, or look for a livelock in the aborts"
                .to_owned(),
        );
    } else if summary.throughput_min == 0.0 {
        warnings.push(
            "a repetition committed nothing; use a longer --duration, or look for a livelock in the aborts"
                .to_owned(),
        );
    }
    if summary.commits > 0 && summary.engine.sample_one_in > 0 && summary.time_samples < FEWEST_SAMPLES {
        warnings.push(format!(
            "{FEW_SAMPLES} {} sampled transactions; use a longer --duration",
            thousands(summary.time_samples as f64)
        ));
    }
    if summary.absent_workers > 0 {
        warnings.push(format!(
            "of {} {} {ABSENT}: {}; use a longer --duration, or fewer --workers",
            counted(summary.workers, "worker"),
            summary.absent_workers,
            if summary.simulated { "they waited" } else { "they waited, or the system did not let them run" }
        ));
    }
    if summary.unfinished > 0 {
        warnings.push(format!(
            "{} {UNFINISHED}; their latencies count as what they had taken by then; look at the abort rate, or use --back-off",
            thousands(summary.unfinished as f64)
        ));
    }
    warnings.extend(off_littles_law(summary).map(|ratio| {
        format!(
            "{LITTLE} {} of the time of all transactions in flight, not for all of it{}; use a longer --duration",
            percent(ratio),
            meaningless([summary].into_iter())
        )
    }));
    for check in summary.checks.iter().filter(|check| !check.passed) {
        warnings.push(format!("the check {} failed: {}; do not use these numbers", check.name, check.detail));
    }
    warnings
}

const ABSENT: &str = "ended no transaction in the interval";
const LITTLE: &str = "by Little's law throughput and latency account for";
const MEANINGLESS: &str =
    ", and does not hold where transactions take more than a tenth of the interval, as some did";
const UNFINISHED: &str =
    "transactions that began in the interval were given up when they had not ended long after it";

/// The slowest transaction, as a part of the interval.
fn longest(summary: &Summary) -> f64 {
    summary.latency_ns.as_ref().map_or(0, |of| of.max) as f64 / 1e9 / summary.duration_s.max(1e-9)
}

/// What Little's law is worth where transactions are long.
fn meaningless<'a>(mut off: impl Iterator<Item = &'a Summary>) -> &'static str {
    if off.any(|summary| longest(summary) > LONG) { MEANINGLESS } else { "" }
}

/// The farthest repetition's ratio, if it is too far.
fn off_littles_law(summary: &Summary) -> Option<f64> {
    let ratio = summary.littles_law?;
    let by_slot = summary.commits as f64 / summary.repetitions.max(1) as f64 / summary.slots.max(1) as f64;
    // What runs at either end of the interval is in one of the two numbers only.
    let for_long_ones = (2.0 * longest(summary)).min(MOST_FOR_LONG_ONES);
    let margin = LITTLES_LAW_MARGIN + 2.0 / by_slot.max(1.0) + for_long_ones;
    ((ratio - 1.0).abs() > margin).then_some(ratio)
}

/// What is odd at the points of a sweep: each warning once, with the number of points that have it.
pub fn of_points(points: &[&Summary]) -> Vec<String> {
    let all = points.len();
    let at = |count: usize| match count {
        count if count == all => String::new(),
        1 => format!("at one of {all} points: "),
        count => format!("at {count} of {all} points: "),
    };
    let mut seen: Vec<(&str, usize)> = Vec::new();
    let others = points.iter().flat_map(|summary| &summary.warnings);
    let is_summed_up = |warning: &str| {
        [SPREAD, FEW_SAMPLES, LITTLE].iter().any(|begins| warning.starts_with(begins))
            || warning.contains(ABSENT)
            || warning.contains(UNFINISHED)
    };
    for warning in others.filter(|warning| !is_summed_up(warning)) {
        match seen.iter_mut().find(|(known, _)| known == warning) {
            Some((_, count)) => *count += 1,
            None => seen.push((warning, 1)),
        }
    }
    let mut warnings: Vec<String> = seen.into_iter().map(|(warning, count)| at(count) + warning).collect();
    let spreads: Vec<f64> = points.iter().filter_map(|summary| too_much_spread(summary)).collect();
    if let Some(worst) = spreads.iter().copied().reduce(f64::max) {
        warnings.push(format!(
            "{}{SPREAD} more than {} of the median, at worst {}; {}",
            at(spreads.len()),
            percent(MOST_SPREAD),
            percent(worst),
            quiet(points.iter().any(|summary| summary.simulated))
        ));
    }
    let is_few = |summary: &&&Summary| {
        summary.commits > 0 && summary.engine.sample_one_in > 0 && summary.time_samples < FEWEST_SAMPLES
    };
    let few: Vec<u64> = points.iter().filter(is_few).map(|summary| summary.time_samples).collect();
    if let Some(least) = few.iter().min() {
        warnings.push(format!(
            "{}{FEW_SAMPLES} fewer than {FEWEST_SAMPLES} sampled transactions, at worst {least}; use a longer --duration",
            at(few.len())
        ));
    }
    let off: Vec<f64> = points.iter().filter_map(|summary| off_littles_law(summary)).collect();
    if let (Some(least), Some(most)) =
        (off.iter().copied().reduce(f64::min), off.iter().copied().reduce(f64::max))
    {
        warnings.push(format!(
            "{}{LITTLE} {} to {} of the time of all transactions in flight, not for all of it{}; use a longer --duration",
            at(off.len()),
            percent(least),
            percent(most),
            meaningless(points.iter().copied().filter(|summary| off_littles_law(summary).is_some()))
        ));
    }
    let absent: Vec<(usize, usize)> = points
        .iter()
        .filter(|summary| summary.absent_workers > 0)
        .map(|summary| (summary.absent_workers, summary.workers))
        .collect();
    if let Some((most, of)) = absent.iter().max_by_key(|(absent, workers)| absent * 10_000 / workers) {
        warnings.push(format!(
            "{}some workers {ABSENT}, at worst {most} of {of}; use a longer --duration, or fewer --workers",
            at(absent.len())
        ));
    }
    let unfinished: Vec<u64> =
        points.iter().map(|summary| summary.unfinished).filter(|count| *count > 0).collect();
    if let Some(most) = unfinished.iter().max() {
        warnings.push(format!(
            "{}{UNFINISHED}, at worst {}; their latencies count as what they had taken by then",
            at(unfinished.len()),
            thousands(*most as f64)
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::some_summary;
    use contract::{ArchitectureName, ProtocolName};

    #[test]
    fn an_option_that_the_system_does_not_use_is_named() {
        let pair = |architecture| PairName { architecture, protocol: ProtocolName::Silo };
        let mut options = RunOptions::for_run(2);
        options.set("servers", "2").expect("an option").expect("a value");
        assert_eq!(of_options(pair(ArchitectureName::AsymmetricDelegation), &options), [""; 0]);
        let expected = "--servers 2 makes no difference to dora silo; it is used by asymmetric-delegation";
        assert_eq!(of_options(pair(ArchitectureName::Dora), &options), [expected]);
    }

    #[test]
    fn the_spread_of_many_points_is_one_warning() {
        let spread = some_summary();
        let mut steady = some_summary();
        steady.warnings = vec!["odd".to_owned()];
        (steady.throughput_min, steady.throughput_max) = (950.0, 950.0);
        let expected =
            "at 2 of 3 points: the repetitions spread over more than 10.0 % of the median, at worst 10.5 %";
        let warnings = of_points(&[&spread, &steady, &spread]);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert_eq!(warnings[0], "at one of 3 points: odd");
        assert!(warnings[1].starts_with(expected), "{}", warnings[1]);
        assert!(of_points(&[]).is_empty());
    }

    #[test]
    fn what_many_points_have_in_common_is_one_warning_each() {
        let odd = |absent_workers, unfinished, ratio| {
            let mut summary =
                Summary { absent_workers, unfinished, littles_law: Some(ratio), ..some_summary() };
            (summary.throughput_min, summary.throughput_max) = (950.0, 950.0);
            summary.warnings = of_numbers(&summary);
            summary
        };
        let points = [odd(1, 0, 1.0), odd(2, 5, 1.0), odd(0, 3, 0.5), odd(0, 0, 2.0)];
        let warnings = of_points(&points.iter().collect::<Vec<_>>());
        let expected = [
            "at 2 of 4 points: by Little's law throughput and latency account for 50.0 % to 200 % of the time of all",
            "at 2 of 4 points: some workers ended no transaction in the interval, at worst 2 of 2;",
            "at 2 of 4 points: transactions that began in the interval were given up when they had not ended long after it, at \
             worst 5;",
        ];
        assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
        for (warning, expected) in warnings.iter().zip(expected) {
            assert!(warning.starts_with(expected), "{warning}");
        }
    }

    #[test]
    fn workers_that_did_not_run_and_latencies_that_are_missing_are_told() {
        let sound = Summary { throughput_min: 1000.0, throughput_max: 1000.0, ..some_summary() };
        assert_eq!(of_numbers(&sound), [""; 0]);
        let said = |summary: Summary| of_numbers(&summary).join("\n");
        let absent = said(Summary { absent_workers: 2, ..sound.clone() });
        assert!(absent.starts_with("of 2 workers 2 ended no transaction in the interval"), "{absent}");
        let given_up = said(Summary { unfinished: 3, ..sound.clone() });
        assert!(
            given_up.starts_with("3 transactions that began in the interval were given up"),
            "{given_up}"
        );
        // Figure 4c of trireme, as it was: 300 microseconds where Little's law asks for 363.
        let short = said(Summary { littles_law: Some(300.0 / 363.0), ..sound.clone() });
        assert!(
            short.starts_with("by Little's law throughput and latency account for 82.6 % of the time"),
            "{short}"
        );
        // Of few transactions those at the ends of the interval are many.
        let few = Summary { littles_law: Some(300.0 / 363.0), commits: 18, ..sound };
        assert!(!said(few).contains("Little"));
    }

    #[test]
    fn long_transactions_do_not_silence_littles_law() {
        let said = |ratio, of_interval: f64| {
            let mut summary = Summary {
                littles_law: Some(ratio),
                throughput_min: 1000.0,
                throughput_max: 1000.0,
                ..some_summary()
            };
            summary.latency_ns.as_mut().expect("latencies").max =
                (summary.duration_s * of_interval * 1e9) as u64;
            of_numbers(&summary).join("\n")
        };
        let long = said(0.5, 2.0);
        assert!(long.contains("account for 50.0 %") && long.contains(MEANINGLESS), "{long}");
        let shorter = said(0.5, 0.03);
        assert!(shorter.contains("account for 50.0 %") && !shorter.contains(MEANINGLESS), "{shorter}");
        // It widens the margin a little.
        assert_eq!([said(0.86, 0.03), said(0.86, 2.0)], ["", ""]);
        assert!(said(0.86, 0.0).contains("account for 86.0 %"));
    }

    #[test]
    fn the_spread_of_several_systems_is_one_warning() {
        let warnings = of_systems(&[&some_summary(), &some_summary()]);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert_eq!(warnings[0].matches("shared-everything silo (10.5 %)").count(), 2, "{warnings:?}");
    }
}
