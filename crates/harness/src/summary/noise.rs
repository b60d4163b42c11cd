//! A verdict on the noise of what was measured, and what to do.

use super::Summary;
use super::warnings::MOST_SPREAD;
use crate::text::numbers::percent;

/// Repetitions that spread over less than this part of the median tell small differences.
const QUIET: f64 = 0.02;

/// Of all that was measured together, in a sentence: by the repetitions that spread most.
pub fn verdict<'a>(summaries: impl IntoIterator<Item = &'a Summary>) -> Option<String> {
    let by_spread = |one: &&Summary, other: &&Summary| one.spread().total_cmp(&other.spread());
    let summaries: Vec<&Summary> = summaries.into_iter().collect();
    let worst = summaries.iter().copied().max_by(by_spread)?;
    if worst.repetitions < 2 {
        return Some("Noise: unknown, for one repetition has no spread; use --repeat 3 or more.".to_owned());
    }
    // A median of nothing has no parts.
    if summaries.iter().any(|summary| summary.throughput_per_s == 0.0 && summary.throughput_max > 0.0) {
        return Some(
            "Noise: unknown, for most repetitions of a system committed nothing; use a longer --duration."
                .to_owned(),
        );
    }
    let spread = worst.spread();
    let most = if summaries.len() > 1 { " at most" } else { "" };
    let over = format!("repetitions spread over {} of the median{most}", percent(spread));
    Some(match () {
        () if spread <= QUIET => format!("Noise: little; {over}."),
        () if spread <= MOST_SPREAD => {
            format!("Noise: some; {over}, so believe no smaller difference unless it comes again by turns.")
        }
        () if worst.simulated => {
            format!("Noise: much; {over}: the interval holds too little, use a longer --duration.")
        }
        () => format!(
            "Noise: too much; {over}: see what 'trireme doctor' finds, quiet the machine, or use a longer --duration and more repetitions."
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::some_summary;
    use super::*;

    #[test]
    fn the_worst_decides_and_each_verdict_says_what_to_do() {
        let of = |min, max| Summary { throughput_min: min, throughput_max: max, ..some_summary() };
        let (quiet, some, loud) = (of(945.0, 955.0), of(920.0, 980.0), of(700.0, 1000.0));
        let told = |of: &[&Summary]| verdict(of.iter().copied()).expect("a verdict");
        assert!(told(&[&quiet]).starts_with("Noise: little"));
        assert!(told(&[&quiet, &some]).starts_with("Noise: some"));
        let mut seldom = of(0.0, 1000.0);
        seldom.throughput_per_s = 0.0;
        assert!(told(&[&quiet, &seldom]).starts_with("Noise: unknown"));
        let too_much = told(&[&loud, &quiet, &some]);
        assert!(too_much.starts_with("Noise: too much") && too_much.contains("31.6 %"), "{too_much}");
        assert!(told(&[&Summary { simulated: true, ..loud }]).ends_with("use a longer --duration."));
        assert!(told(&[&Summary { repetitions: 1, ..quiet }]).contains("--repeat 3"));
        assert_eq!(verdict([]), None);
    }
}
