//! Whole claims, from a file's text and made-up points to what is answered.

use super::{Figure, Known, Told, Verdict, tell};
use crate::folder::samples::Sample;
use crate::summary::Latency;
use crate::sweep::Experiment;
use contract::AbortReason;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn experiment_called(name: &str, axes: &str, claim: &str) -> Experiment {
    let text = format!("workload = 'micro'\n[axes]\n{axes}\n[[claims]]\nthat = 'so'\n{claim}");
    Experiment::parse(&format!("{name}.toml"), &text, 2).expect("an experiment")
}

fn experiment(axes: &str, claim: &str) -> Experiment {
    experiment_called("e", axes, claim)
}

/// Repetitions of these throughputs, with one abort for every ten commits.
fn samples(throughputs: &[f64]) -> Vec<Sample> {
    let mut aborts = [0; AbortReason::ALL.len()];
    aborts[0] = 100;
    let sample = |(number, &throughput_per_s): (usize, &f64)| Sample {
        repetition: number + 1,
        seed: 1,
        elapsed_s: 1.0,
        throughput_per_s,
        commits: 1000,
        user_rollbacks: 0,
        retried_share: 0.5,
        absent_workers: 0,
        unfinished: 0,
        littles_law: None,
        aborts,
        latency_ns: Latency { p99: 500, mean: 5000.0, ..Latency::default() },
        costs: Default::default(),
    };
    throughputs.iter().enumerate().map(sample).collect()
}

type Points = BTreeMap<Vec<String>, Vec<Sample>>;

/// Points with so many repetitions' throughputs at each place.
fn points(experiment: &Experiment, throughputs: impl Fn(&[String]) -> Vec<f64>) -> Points {
    let places = crate::sweep::combinations(experiment).into_iter();
    places.map(|place| (place.clone(), samples(&throughputs(&place)))).collect()
}

/// Points without samples are not measured yet; there are as many workers as the axis says, or two.
fn figure<'a>(experiment: &'a Experiment, points: &'a Points) -> Figure<'a> {
    let axis = experiment.axes.iter().position(|axis| axis.name == "workers");
    Figure::new(experiment, move |place| match &points[place][..] {
        [] => Known::NotYet,
        samples => Known::Measured(samples, axis.map_or(2, |axis| place[axis].parse().expect("a number"))),
    })
}

fn only(experiment: &Experiment, throughputs: impl Fn(&[String]) -> Vec<f64>) -> Told {
    let points = points(experiment, throughputs);
    tell(&figure(experiment, &points), &[]).remove(0)
}

/// What comes of `claim` if the points on one axis of systems have these throughputs.
fn told(claim: &str, systems: &[(&str, &[f64])]) -> Told {
    let names: Vec<String> = systems.iter().map(|(name, _)| format!("'{name}'")).collect();
    let experiment = experiment(&format!("system = [{}]", names.join(", ")), claim);
    let of =
        |place: &[String]| systems.iter().find(|(name, _)| *name == place[0]).expect("a system").1.to_vec();
    only(&experiment, of)
}

const A_OVER_B: &str = "left = { system = 'a' }\nright = { system = 'b' }\nmeasure = 'throughput'\n";

#[test]
fn medians_are_compared_and_the_spread_must_not_decide() {
    use Verdict::{CannotBeTold, DirectionOnly, NotReproduced, Reproduced};
    let cases: [(&str, &[f64], &[f64], Verdict); 11] = [
        ("at_least = 1.5", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], Reproduced),
        ("at_least = 2.9", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], CannotBeTold),
        ("at_least = 3.5", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], DirectionOnly),
        ("at_least = 3.5", &[100.0, 101.0, 99.0], &[300.0, 310.0, 290.0], NotReproduced),
        ("about = 3.5", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], Reproduced),
        ("at_most = 3.5", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], Reproduced),
        ("at_most = 3", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], CannotBeTold),
        ("at_least = 0.9\nat_most = 1.1", &[100.0, 101.0], &[100.0, 101.0], Reproduced),
        ("at_least = 0.9\nat_most = 1.1", &[80.0, 81.0], &[100.0, 101.0], NotReproduced),
        ("at_least = 10", &[5.0, 5.0], &[0.0, 0.0], Reproduced),
        ("at_least = 1", &[0.0, 0.0], &[0.0, 0.0], CannotBeTold),
    ];
    for (bounds, left, right, verdict) in cases {
        let told = told(&format!("{A_OVER_B}{bounds}"), &[("a", left), ("b", right)]);
        assert_eq!(told.verdict, verdict, "{bounds}: {}", told.why);
    }
    let points: [(&str, &[f64]); 2] = [("a", &[290.0, 300.0, 310.0]), ("b", &[100.0, 100.0])];
    let seven = told(&format!("{A_OVER_B}about = 7"), &points);
    assert_eq!((seven.ratio, seven.bounds.about), (Some(3.0), Some(7.0)));
    assert_eq!(seven.why, "ratio 3.00 (2.90 to 3.10); claimed: about 7, within 25 %; a against b");
    let noisy = told(&format!("{A_OVER_B}at_least = 3"), &points);
    let expected = "ratio 3.00 (2.90 to 3.10), a spread wider than the difference; the direction holds; claimed: at \
                    least 3; a against b";
    assert_eq!(noisy.why, expected);
}

#[test]
fn what_is_missing_is_not_told() {
    let why = |claim: &str, points: &[(&str, &[f64])], verdict: Verdict| {
        let told = told(&format!("{A_OVER_B}at_least = 1\n{claim}"), points);
        assert_eq!((told.verdict, told.ratio), (verdict, None));
        told.why
    };
    let fast: &[f64] = &[3.0, 3.0];
    assert_eq!(why("", &[("a", fast), ("b", &[])], Verdict::CannotBeTold), "b is not measured yet");
    assert_eq!(
        why("", &[("a", &[1.0]), ("b", &[1.0])], Verdict::CannotBeTold),
        "one repetition has no spread; use repeat 3 or more"
    );
    assert_eq!(
        why("fewest_workers = 16", &[("a", fast), ("b", fast)], Verdict::NotApplicable),
        "it is about 16 workers or more; here: 2 workers"
    );
    assert_eq!(
        why("about_workers = 72", &[("a", fast), ("b", fast)], Verdict::NotApplicable),
        "it is about 72 workers; here: 2 workers"
    );
    let any = told(
        &format!("{A_OVER_B}at_least = 1\nabout_workers = 72\nfewest_workers = 1"),
        &[("a", fast), ("b", &[1.0, 1.0])],
    );
    assert_eq!((any.verdict, any.about_workers), (Verdict::Reproduced, Some(72)));
    assert_eq!(any.why, "ratio 3.00 (3.00 to 3.00); claimed: at least 1, of 72 workers, here 2; a against b");
    let experiment = experiment("system = ['a', 'b']", &format!("{A_OVER_B}at_least = 1"));
    let left_out = tell(&Figure::new(&experiment, |_| Known::LeftOut("not built")), &[]).remove(0);
    assert_eq!(
        (left_out.verdict, &*left_out.why),
        (Verdict::NotApplicable, "a is left out: not built; b is left out: not built")
    );
}

#[test]
fn a_value_alone_may_be_claimed() {
    let alone = |claim: &str| told(&format!("left = {{ system = 'a' }}\n{claim}"), &[("a", &[5.0, 5.0])]);
    let rate = alone("measure = 'abort_rate'\nat_least = 0.1\nat_most = 0.1");
    assert_eq!((rate.verdict, rate.ratio, rate.right), (Verdict::Reproduced, Some(0.1), None));
    assert_eq!(alone("measure = 'p99_ns'\nat_most = 499").verdict, Verdict::NotReproduced);
    let mean = alone("measure = 'mean_ns'\nabout = 5_500");
    assert_eq!(mean.verdict, Verdict::Reproduced, "{}", mean.why);
    assert_eq!(alone("measure = 'abort_rate_conflict'\nat_least = 0.1").verdict, Verdict::Reproduced);
    assert_eq!(alone("measure = 'abort_rate_deadlock'\nat_most = 0").verdict, Verdict::Reproduced);
}

/// Throughput is the product of the numbers on the axes.
fn product(place: &[String]) -> Vec<f64> {
    let value = place.iter().filter_map(|value| value.parse::<f64>().ok()).product();
    vec![value, value]
}

#[test]
fn axes_that_are_not_named_are_shared() {
    let axes = "workers = [1, 2, 10]\ntheta = [0.5, 1, 4]";
    let of = |claim: &str| only(&experiment(axes, claim), product);
    let shared = of("left = { workers = 'most' }\nright = { workers = 'least' }\nmeasure = 'throughput'\n\
                     at_least = 10\nat_most = 10");
    assert_eq!(shared.verdict, Verdict::Reproduced, "{}", shared.why);
    assert!(shared.why.ends_with("; of 3 comparisons this one is the worst"), "{}", shared.why);
    let worst = of("left = { workers = { not = 1 } }\nright = { workers = 1 }\nmeasure = 'throughput'\n\
                    at_least = 5");
    assert_eq!((worst.verdict, worst.ratio), (Verdict::DirectionOnly, Some(2.0)), "{}", worst.why);
    assert!(worst.why.contains("workers 2, theta 0.5 against workers 1, theta 0.5"), "{}", worst.why);
    let here =
        of("left = { workers = 'most' }\nright = { workers = 'least' }\nat = { theta = { above = 0.5 } }\n\
                   measure = 'throughput'\nabout = 10");
    assert!(here.why.ends_with("; of 2 comparisons this one is the worst"), "{}", here.why);
    assert_eq!((here.verdict, &*here.at), (Verdict::Reproduced, "theta above 0.5"));
    let absent = of("left = { workers = 4 }\nright = { workers = 1 }\nmeasure = 'throughput'\nat_least = 2");
    assert_eq!(
        (absent.verdict, &*absent.why),
        (Verdict::NotApplicable, "there is no point at workers 4; here: 1, 2, 10")
    );
    let same = of("left = { theta = 4.0 }\nright = { theta = 'most' }\nmeasure = 'throughput'\nat_least = 2");
    assert_eq!(same.verdict, Verdict::NotApplicable);
    assert!(same.why.starts_with("both sides are the point workers 1, theta 4; both"), "{}", same.why);
}

#[test]
fn comparisons_that_the_claim_is_not_about_are_left_aside() {
    let claim = "left = { theta = 1 }\nright = { theta = 2 }\nmeasure = 'throughput'\nat_most = 0.5\nfewest_workers = 8";
    let some = only(&experiment("workers = [1, 2, 10]\ntheta = [1, 2]", claim), product);
    assert_eq!(some.verdict, Verdict::Reproduced);
    let why = "ratio 0.500 (0.500 to 0.500); claimed: at most 0.5; workers 10, theta 1 against workers 10, theta 2; \
               besides, it is about 8 workers or more; here: 1 worker";
    assert_eq!(some.why, why);
}

#[test]
fn growth_is_divided_by_the_axis() {
    let of = |bound: &str, axes: &str| {
        let claim = format!(
            "left = {{ workers = 'most' }}\nright = {{ workers = 1 }}\nmeasure = 'throughput'\nper = 'workers'\n{bound}"
        );
        only(&experiment(axes, &claim), |place| {
            let workers: f64 = place[0].parse().expect("a number");
            vec![workers.sqrt(), workers.sqrt()]
        })
    };
    let linear = of("at_least = 0.8", "workers = [1, 2, 64]");
    assert_eq!((linear.verdict, linear.ratio), (Verdict::DirectionOnly, Some(0.125)));
    let why = "ratio 8.00 over 64.0 times the workers: 0.125 (0.125 to 0.125); claimed: at least 0.8, by the number of workers; \
               workers 64 against workers 1";
    assert_eq!(linear.why, why);
    assert_eq!(linear.claimed, "at least 0.8, by the number of workers");
    assert_eq!(of("at_most = 0.2", "workers = [1, 64]").verdict, Verdict::Reproduced);
}

#[test]
fn the_best_of_several_is_one_point() {
    let claim =
        "left = { best_of = { system = ['a', 'b'] } }\nright = { system = 'c' }\nmeasure = 'throughput'\n";
    let points: [(&str, &[f64]); 3] = [("a", &[1.0, 1.0]), ("b", &[6.0, 6.0]), ("c", &[2.0, 2.0])];
    let best = told(&format!("{claim}about = 3"), &points);
    assert_eq!((best.verdict, best.ratio), (Verdict::Reproduced, Some(3.0)));
    assert!(best.why.ends_with("; the best of a or b against c"), "{}", best.why);
    assert_eq!(best.left, "the best of system a or b");
    let absent = told(&format!("{claim}about = 3"), &[("a", &[]), ("b", &[6.0, 6.0]), ("c", &[2.0, 2.0])]);
    assert_eq!((absent.verdict, &*absent.why), (Verdict::CannotBeTold, "a is not measured yet"));
}

const SE_OVER: &str = "system = ['se', 'dl']\nworkers = [1, 2, 18, 36, 54, 72]";

/// `se` grows with the workers up to 18, `dl` as their square root.
fn two_lines(place: &[String]) -> Vec<f64> {
    let workers: f64 = place[1].parse().expect("a number");
    let value = if place[0] == "se" { workers.min(18.0) } else { 3.0 * workers.sqrt() };
    vec![value, value * 1.01]
}

#[test]
fn lines_have_shapes() {
    let of = |claim: &str| only(&experiment(SE_OVER, &format!("{claim}\nover = 'workers'")), two_lines);
    let se = "left = { system = 'se' }\nmeasure = 'throughput'\n";
    let level = of(&format!("{se}shape = 'levels off'\nbetween = [18, 36]"));
    assert_eq!(
        (level.verdict, level.ratio, level.over.as_deref()),
        (Verdict::Reproduced, None, Some("workers"))
    );
    let why = "level from 18 on; claimed: levels off between 18 and 36 over workers; se has 1.00 at 1, 2.01 at 2, 18.1 at \
               18, 18.1 at 36, 18.1 at 54, 18.1 at 72";
    assert_eq!(level.why, why);
    let all = of("left = {}\nmeasure = 'throughput'\nshape = 'rises'");
    assert_eq!(all.verdict, Verdict::Reproduced, "{}", all.why);
    assert!(all.why.ends_with("; of 2 comparisons this one is the worst"), "{}", all.why);
    let part = of(
        "left = { system = 'se' }\nat = { workers = { from = 18 } }\nmeasure = 'throughput'\nshape = 'flat'",
    );
    assert_eq!(part.verdict, Verdict::Reproduced, "{}", part.why);
    let ratio = "left = { system = 'se' }\nright = { system = 'dl' }\nmeasure = 'throughput'\n";
    let overtaken = of(&format!("{ratio}shape = 'crosses'\nends = 'behind'\nbetween = [36, 72]"));
    assert_eq!(overtaken.verdict, Verdict::NotReproduced, "{}", overtaken.why);
    let overtakes = "shape = 'crosses'\nends = 'ahead'\nbetween = [2, 18]";
    let left = format!(
        "left = {{ system = 'se' }}\nright = {{ system = 'dl' }}\nat = {{ workers = {{ to = 18 }} }}\n\
                        measure = 'throughput'\n{overtakes}"
    );
    let overtaking = of(&left);
    assert_eq!(overtaking.verdict, Verdict::Reproduced, "{}", overtaking.why);
    assert!(overtaking.why.contains("it crosses between 2 and 18"), "{}", overtaking.why);
}

#[test]
fn a_line_that_ends_too_early_has_no_shape() {
    let of = |claim: &str, axes: &str| {
        let claim = format!("left = {{ system = 'se' }}\nmeasure = 'throughput'\nover = 'workers'\n{claim}");
        let told = only(&experiment(axes, &claim), two_lines);
        assert_eq!(told.verdict, Verdict::NotApplicable);
        told.why
    };
    let two = "system = ['se', 'dl']\nworkers = [1, 2]";
    assert_eq!(of("shape = 'levels off'\nbetween = [36, 54]", two), "se over workers ends at 2");
    assert_eq!(of("shape = 'peaks'", two), "se over workers has 2 points only");
    assert_eq!(of("shape = 'flat'\nabout_workers = 72", two), "it is about 72 workers; here: 2 workers");
    let one = "system = ['se', 'dl']\nworkers = [1]";
    assert_eq!(of("shape = 'rises'", one), "se over workers has 1 point only");
}

#[test]
fn another_figures_points_are_needed_and_taken() {
    let claim = "left = { system = 'se' }\nat = { workers = [1, 36] }\nmeasure = 'throughput'\n";
    let updates = experiment_called(
        "fig-3a",
        SE_OVER,
        &format!("{claim}right = {{ experiment = 'fig-2a' }}\nat_most = 0.1"),
    );
    assert_eq!(updates.claims[0].needs(), Some("fig-2a"));
    let few = points(&updates, |place| two_lines(place).iter().map(|value| value / 20.0).collect());
    let alone = tell(&figure(&updates, &few), &[]).remove(0);
    assert_eq!((alone.verdict, &*alone.why), (Verdict::NotApplicable, "it needs the points of fig-2a, too"));
    let reads = experiment_called("fig-2a", SE_OVER, "left = {}\nmeasure = 'throughput'\nat_least = 0");
    let many = points(&reads, two_lines);
    let together = tell(&figure(&updates, &few), &[figure(&reads, &many)]).remove(0);
    assert_eq!(together.verdict, Verdict::Reproduced, "{}", together.why);
    assert!(together.why.contains("se, workers 1 against fig-2a: se, workers 1"), "{}", together.why);
    let other_axes = experiment_called(
        "fig-2a",
        "system = ['se']\ntheta = [0]",
        "left = {}\nmeasure = 'throughput'\nat_least = 0",
    );
    let many = points(&other_axes, |_| vec![1.0, 1.0]);
    let apart = tell(&figure(&updates, &few), &[figure(&other_axes, &many)]).remove(0);
    assert_eq!(
        (apart.verdict, &*apart.why),
        (Verdict::NotApplicable, "theta is on one side only; the claim would have to name it")
    );
}

#[test]
fn every_point_that_lacks_the_measure_is_named() {
    let experiment = experiment(
        "system = ['a', 'b']\nworkers = [1, 2]",
        "left = { system = 'a' }\nright = { system = 'b' }\nmeasure = 'lock_hold_ns'\nat_least = 1",
    );
    let mut unsampled = samples(&[1.0, 1.0]);
    let mut sampled = unsampled.clone();
    for sample in &mut sampled {
        sample.costs.lock_hold_ns = Some(100.0);
    }
    unsampled[0].costs.lock_hold_ns = Some(100.0);
    let figure = Figure::new(&experiment, |at| match at {
        [_, workers] if workers == "1" => Known::Measured(&sampled, 1),
        _ => Known::Measured(&unsampled, 2),
    });
    let told = tell(&figure, &[]).remove(0);
    assert_eq!(told.verdict, Verdict::CannotBeTold);
    assert_eq!(
        told.why,
        "a, workers 2 has no lock_hold_ns in 1 of 2 repetitions; b, workers 2 has no lock_hold_ns in 1 of 2 \
         repetitions; a longer --duration may sample it, if the system has it at all; of 2 comparisons 1 cannot be told"
    );
}

/// On the paper's machine every claim is about points that its file has, and about the figures that it names.
#[test]
fn every_claim_of_the_papers_figures_speaks_on_the_papers_machine() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/trireme");
    let files = fs::read_dir(folder).expect("the experiments").flatten().map(|file| file.path());
    let experiments: Vec<Experiment> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| Experiment::read(&path, 72).expect("an experiment"))
        .collect();
    let mut sampled = samples(&[1.0, 1.0]);
    for sample in &mut sampled {
        sample.costs.lock_hold_ns = Some(100.0);
        sample.costs.round_trip_ns = Some(100.0);
    }
    let all =
        || experiments.iter().map(|experiment| Figure::new(experiment, |_| Known::Measured(&sampled, 72)));
    let others: Vec<Figure<'_>> = all().collect();
    for figure in all() {
        let name = &figure.experiment.name;
        assert!(!figure.experiment.claims.is_empty(), "{name} claims nothing");
        for told in tell(&figure, &others) {
            // A system that the engine lacks would be left out; these points are made up for all.
            assert!(told.why.contains("; claimed: "), "{name}: {}: {}", told.that, told.why);
        }
    }
}
