//! Odd numbers, and what to do about them.

use super::Summary;
use crate::options::RunOptions;
use crate::subject::Subject;
use crate::text::durations;
use crate::text::numbers::{counted, percent, thousands};
use contract::InFlight;
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

/// What is odd about one system's numbers.
pub fn of_numbers(summary: &Summary) -> Vec<String> {
    let spread = too_much_spread(summary).map(|spread| {
        format!("the repetitions spread over {} of the median; {}", percent(spread), quiet(summary.simulated))
    });
    spread.into_iter().chain(other_than_spread(summary)).collect()
}

/// What is odd about several systems' numbers: each warning once, with those that it is about.
pub fn of_systems(summaries: &[&Summary]) -> Vec<String> {
    let named = summaries.iter().map(|summary| (summary.system(), *summary)).collect();
    let systems = Several { of: Of::Systems, named };
    let others = systems.equal(other_than_spread).into_iter().chain(systems.summed_up());
    systems.spreading().into_iter().chain(others).collect()
}

const SPREAD: &str = "the repetitions spread over";
const FEW_SAMPLES: &str = "the time shares rest on";

/// Whose interval was so short that chance has decided.
pub fn of_short(summaries: &[&Summary]) -> Vec<String> {
    let is_short =
        |summary: &&&Summary| !summary.simulated && summary.duration_s < SHORTEST_INTERVAL.as_secs_f64();
    let shortest = summaries.iter().filter(is_short).map(|summary| summary.duration_s).min_by(f64::total_cmp);
    let warning = |seconds: f64| {
        let shown = durations::show(Duration::from_secs_f64(seconds));
        format!(
            "an interval of {shown} is decided by chance; measure again what matters, or use a larger --effort"
        )
    };
    shortest.map(warning).into_iter().collect()
}

/// What to do about a spread: a simulated machine is as quiet as can be.
const fn quiet(simulated: bool) -> &'static str {
    if simulated { "use a longer --duration" } else { "quiet the machine, or use a longer --duration" }
}

/// The spread, if it is too much.
pub fn too_much_spread(summary: &Summary) -> Option<f64> {
    let too_much = summary.repetitions > 1 && summary.spread() > MOST_SPREAD;
    too_much.then(|| summary.spread())
}

/// Whether too few transactions were sampled, of those that there were.
fn has_few_samples(summary: &Summary) -> bool {
    summary.commits > 0 && summary.engine.sample_one_in > 0 && summary.time_samples < FEWEST_SAMPLES
}

const BEHIND: &str = "more transactions arrived than could be done";

/// Whether a system does less than is asked of it; in words.
fn behind(summary: &Summary) -> Option<String> {
    let arrivals = summary.arrivals.as_ref().filter(|_| summary.is_behind())?;
    Some(format!(
        "{BEHIND}: {} a second, of which {} committed; {} waited at the end of an interval",
        thousands(arrivals.rate_per_s as f64),
        thousands(summary.throughput_per_s),
        thousands(arrivals.queued as f64)
    ))
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
    if has_few_samples(summary) {
        warnings.push(format!(
            "{FEW_SAMPLES} {} sampled transactions; use a longer --duration",
            thousands(summary.time_samples as f64)
        ));
    }
    warnings.extend(still_finding_out(summary).map(|tried| {
        format!(
            "--in-flight auto tries the numbers over a worker's first {} transactions or so: it may have been finding out for {} of the interval; \
             use a longer --warmup, or tell it a number",
            thousands(TRIAL),
            percent(tried)
        )
    }));
    if summary.absent_workers > 0 {
        warnings.push(format!(
            "of {} {} {ABSENT}: {}; use a longer --duration, or fewer --workers",
            counted(summary.workers, "worker"),
            summary.absent_workers,
            if summary.simulated { "they waited" } else { "they waited, or the system did not let them run" }
        ));
    }
    if let Some(behind) = behind(summary) {
        warnings.push(format!("{behind}; response times grow as long as it goes on, lower --rate"));
    } else if summary.unfinished > 0 {
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

/// Transactions of a worker after which it has found out how many it has in flight, about.
const TRIAL: f64 = 10_000.0;

/// Such a part of the interval may be spent finding out.
const MOST_TRIED: f64 = 0.2;

/// The part of the interval's transactions in which a worker may still have been finding out how many it has in flight, where it is large: what its warm-up had
/// not the time for.
fn still_finding_out(summary: &Summary) -> Option<f64> {
    let _ = summary.costs.in_flight_found?;
    let by_worker = summary.commits as f64 / (summary.repetitions.max(1) * summary.workers.max(1)) as f64;
    let before = by_worker * summary.warmup_s / summary.duration_s.max(1e-9);
    Some(((TRIAL - before) / by_worker.max(1.0)).min(1.0)).filter(|tried| *tried > MOST_TRIED)
}

/// That a check of so many transactions ended while the workers were finding out how many they have in flight, if it did.
pub fn of_short_check(options: &RunOptions, transactions: u64) -> Option<String> {
    let by_worker = transactions / options.workers.max(1) as u64;
    (options.engine.in_flight == InFlight::Auto && (by_worker as f64) < TRIAL).then(|| {
        format!(
            "--in-flight auto tries the numbers over a worker's first {} transactions or so, and has mostly one in flight until then: here a worker has {by_worker}; \
             ask for more --transactions, or tell it a number",
            thousands(TRIAL)
        )
    })
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

/// What is odd at the points of a sweep, of which each has a name: each warning once, with the number of points that have it.
pub fn of_points(points: &[(String, &Summary)]) -> Vec<String> {
    let points = Several { of: Of::Points, named: points.to_vec() };
    let mut warnings = points.equal(|summary| summary.warnings.clone());
    warnings.extend(points.spreading());
    warnings.extend(points.summed_up());
    warnings
}

/// What several are.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Systems,
    Points,
}

/// More points than these are counted only.
const MOST_NAMED: usize = 3;

/// Several systems, or points, with their names.
struct Several<'a> {
    of: Of,
    named: Vec<(String, &'a Summary)>,
}

impl Several<'_> {
    /// What those of which `odd` tells something have, with who they are, as words before a warning; `None` if there are none.
    fn having<T>(&self, odd: impl Fn(&Summary) -> Option<T>) -> Option<(String, Vec<T>)> {
        let told: Vec<Option<T>> = self.named.iter().map(|(_, summary)| odd(summary)).collect();
        let who = self.who(&told.iter().map(Option::is_some).collect::<Vec<_>>());
        let told: Vec<T> = told.into_iter().flatten().collect();
        (!told.is_empty()).then_some((who, told))
    }

    /// That repetitions of some spread, which is one warning, however many they are.
    fn spreading(&self) -> Option<String> {
        let (who, spreads) = self.having(too_much_spread)?;
        let worst = percent(spreads.iter().copied().fold(0.0, f64::max));
        let worst = if spreads.len() == 1 { format!("by {worst}") } else { format!("at worst {worst}") };
        Some(format!(
            "{who}{SPREAD} more than {} of the median, {worst}; {}",
            percent(MOST_SPREAD),
            quiet(self.named.iter().any(|(_, summary)| summary.simulated))
        ))
    }

    /// Those that are marked, as words before a warning.
    fn who(&self, marked: &[bool]) -> String {
        let names = |wanted: bool| {
            let named = self.named.iter().zip(marked).filter(|(_, is_marked)| **is_marked == wanted);
            named.map(|((name, _), _)| name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let (all, count) = (marked.len(), marked.iter().filter(|is_marked| **is_marked).count());
        match (self.of, count) {
            (Of::Points, count) if count == all => String::new(),
            (Of::Points, 1) => format!("at one of {all} points ({}): ", names(true)),
            (Of::Points, count) if count <= MOST_NAMED => {
                format!("at {count} of {all} points ({}): ", names(true).replace(", ", "; "))
            }
            (Of::Points, count) => format!("at {count} of {all} points: "),
            (Of::Systems, 1) => format!("{}: ", names(true)),
            (Of::Systems, count) if count == all => format!("all {all} systems: "),
            (Of::Systems, count) if 2 * count > all => {
                format!("{count} of {all} systems (all but {}): ", names(false))
            }
            (Of::Systems, count) => format!("{count} of {all} systems ({}): ", names(true)),
        }
    }

    /// The warnings of each that are not summed up, equal ones once.
    fn equal(&self, of: impl Fn(&Summary) -> Vec<String>) -> Vec<String> {
        let of_each: Vec<Vec<String>> = self.named.iter().map(|(_, summary)| of(summary)).collect();
        let is_summed_up = |warning: &str| {
            [SPREAD, FEW_SAMPLES, LITTLE].iter().any(|begins| warning.starts_with(begins))
                || warning.contains(ABSENT)
                || warning.contains(UNFINISHED)
                || warning.contains(BEHIND)
        };
        let mut seen: Vec<&String> = Vec::new();
        for warning in of_each.iter().flatten().filter(|warning| !is_summed_up(warning)) {
            if !seen.contains(&warning) {
                seen.push(warning);
            }
        }
        let who = |warning| self.who(&of_each.iter().map(|of| of.contains(warning)).collect::<Vec<_>>());
        seen.into_iter().map(|warning| who(warning) + warning).collect()
    }

    /// What each has in numbers of its own, in one warning a kind.
    fn summed_up(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some((who, few)) =
            self.having(|summary| has_few_samples(summary).then_some(summary.time_samples))
        {
            let least = few.into_iter().min().expect("one at least");
            warnings.push(format!(
                "{who}{FEW_SAMPLES} fewer than {FEWEST_SAMPLES} sampled transactions, at worst {least}; use a longer --duration"
            ));
        }
        if let Some((who, off)) = self.having(off_littles_law) {
            let off_ones = self.named.iter().map(|(_, summary)| *summary);
            warnings.push(format!(
                "{who}{LITTLE} {} to {} of the time of all transactions in flight, not for all of it{}; use a longer --duration",
                percent(off.iter().copied().fold(f64::INFINITY, f64::min)),
                percent(off.iter().copied().fold(0.0, f64::max)),
                meaningless(off_ones.filter(|summary| off_littles_law(summary).is_some()))
            ));
        }
        let absent = |summary: &Summary| {
            (summary.absent_workers > 0).then_some((summary.absent_workers, summary.workers))
        };
        if let Some((who, absent)) = self.having(absent) {
            let worst = absent.iter().max_by_key(|(absent, workers)| absent * 10_000 / workers);
            let (most, of) = worst.expect("one at least");
            warnings.push(format!(
                "{who}some workers {ABSENT}, at worst {most} of {of}; use a longer --duration, or fewer --workers"
            ));
        }
        let of_arrived = |summary: &Summary| {
            behind(summary)?;
            Some(summary.throughput_per_s / summary.arrivals.as_ref()?.rate_per_s as f64)
        };
        if let Some((who, done)) = self.having(of_arrived) {
            let least = done.into_iter().fold(f64::INFINITY, f64::min);
            warnings.push(format!(
                "{who}{BEHIND}, at worst {} of them; response times grow as long as it goes on",
                percent(least)
            ));
        }
        let unfinished = |summary: &Summary| {
            Some(summary.unfinished).filter(|count| *count > 0 && behind(summary).is_none())
        };
        if let Some((who, unfinished)) = self.having(unfinished) {
            let most = unfinished.into_iter().max().expect("one at least");
            warnings.push(format!(
                "{who}{UNFINISHED}, at worst {}; their latencies count as what they had taken by then",
                thousands(most as f64)
            ));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::some_summary;

    fn named<'a>(summaries: &[&'a Summary]) -> Vec<(String, &'a Summary)> {
        summaries.iter().enumerate().map(|(number, summary)| (format!("at {number}"), *summary)).collect()
    }

    #[test]
    fn what_many_systems_have_in_common_is_one_warning_each() {
        let of = |protocol: &str, time_samples, commits| {
            let mut summary =
                Summary { protocol: protocol.to_owned(), time_samples, commits, ..some_summary() };
            (summary.throughput_min, summary.throughput_max) = (950.0, 950.0);
            summary
        };
        let systems =
            [of("silo", 3, 9), of("no-wait", 500, 0), of("occ", 7, 9), of("vll", 99, 9), of("mocc", 500, 0)];
        let told = |systems: &[Summary]| of_systems(&systems.iter().collect::<Vec<_>>());
        let begins = [
            "2 of 5 systems (shared-everything no-wait, shared-everything mocc): nothing committed in the interval;",
            "3 of 5 systems (all but shared-everything no-wait, shared-everything mocc): the time shares rest on fewer than 100 \
             sampled transactions, at worst 3;",
        ];
        let warnings = told(&systems);
        assert_eq!(warnings.len(), begins.len(), "{warnings:?}");
        for (warning, begins) in warnings.iter().zip(begins) {
            assert!(warning.starts_with(begins), "{warning}");
        }
        let (all, one) = (told(&[of("silo", 3, 9), of("occ", 2, 9)]), told(&systems[..2]));
        assert!(all.len() == 1 && all[0].starts_with("all 2 systems: the time shares"), "{all:?}");
        assert!(one[1].starts_with("shared-everything silo: the time shares"), "{one:?}");
    }

    #[test]
    fn who_finds_out_how_many_are_in_flight_needs_transactions_for_it() {
        let of = |in_flight_found, commits, warmup_s| {
            let mut summary =
                Summary { commits, workers: 2, repetitions: 3, warmup_s, duration_s: 1.0, ..some_summary() };
            summary.costs.in_flight_found = in_flight_found;
            still_finding_out(&summary)
        };
        assert_eq!(of(None, 6, 1.0), None, "it is told");
        assert_eq!(of(Some(2.5), 6 * 9_000, 0.0), Some(1.0));
        assert_eq!(of(Some(2.5), 6 * 10_000, 0.5), Some(0.5), "half of it was done in the warm-up");
        assert_eq!(of(Some(2.5), 6 * 10_000, 1.0), None, "all of it was");
        assert_eq!(of(Some(2.5), 6 * 100_000, 0.0), None, "a tenth of the interval");
        let some = Summary { commits: 6, ..some_summary() };
        let warns = |summary: &Summary| {
            other_than_spread(summary).iter().any(|told| told.starts_with("--in-flight auto"))
        };
        assert!(!warns(&some));
        let mut finding = some;
        finding.costs.in_flight_found = Some(1.0);
        assert!(warns(&finding));
    }

    #[test]
    fn the_spread_of_many_points_is_one_warning() {
        let spread = some_summary();
        let mut steady = some_summary();
        steady.warnings = vec!["odd".to_owned()];
        (steady.throughput_min, steady.throughput_max) = (950.0, 950.0);
        let expected = "at 2 of 3 points (at 0; at 2): the repetitions spread over more than 10.0 % of the median, at worst 10.5 %";
        let warnings = of_points(&named(&[&spread, &steady, &spread]));
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert_eq!(warnings[0], "at one of 3 points (at 1): odd");
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
        let warnings = of_points(&named(&points.iter().collect::<Vec<_>>()));
        let expected = [
            "at 2 of 4 points (at 2; at 3): by Little's law throughput and latency account for 50.0 % to 200 % of the time of all",
            "at 2 of 4 points (at 0; at 1): some workers ended no transaction in the interval, at worst 2 of 2;",
            "at 2 of 4 points (at 1; at 2): transactions that began in the interval were given up when they had not ended long after it, at \
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
        let expected =
            "all 2 systems: the repetitions spread over more than 10.0 % of the median, at worst 10.5 %";
        assert!(warnings[0].starts_with(expected), "{warnings:?}");
        let one = of_systems(&[&some_summary()]);
        assert!(one[0].starts_with("shared-everything silo: ") && one[0].contains("by 10.5 %"), "{one:?}");
    }
}
