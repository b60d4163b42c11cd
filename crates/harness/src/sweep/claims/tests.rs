//! Whole claims, from a file's text and made-up points to what is answered.

use super::{Asked, Figure, Known, Standing, Sum, Told, Trust, Verdict};
use crate::folder::samples::Sample;
use crate::summary::Latency;
use crate::sweep::Experiment;
use crate::validation::{KindErrors, ModelError, ModelErrors, SystemKind};
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
        latency_ns: Some(Latency { p99: 500, max: 9000, mean: 5000.0, ..Latency::default() }),
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

/// Points without samples are not measured yet; there are as many workers as the axis says, or two, and as many instances as the axis says, or one.
fn figure<'a>(experiment: &'a Experiment, points: &'a Points) -> Figure<'a> {
    let axis = experiment.axes.iter().position(|axis| axis.name == "workers");
    let deployed = experiment.axes.iter().position(|axis| axis.name == "instances");
    Figure::new(experiment, move |place| match &points[place][..] {
        [] => Known::NotYet,
        samples => {
            let on = |axis: Option<usize>| axis.map(|axis| place[axis].parse().expect("a number"));
            Known::Measured(samples, on(axis).unwrap_or(2), SystemKind::of(on(deployed).unwrap_or(1)))
        }
    })
}

/// What is told of measured points.
fn tell(figure: &Figure<'_>, others: &[Figure<'_>]) -> Vec<Told> {
    super::tell(figure, others, Trust::Measured)
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
    assert_eq!(why("", &[("a", fast), ("b", &[])], Verdict::CannotBeTold), "not measured yet: b");
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
    assert_eq!(alone("measure = 'p99_ns'\nat_least = 0\nat_most = 499").verdict, Verdict::NotReproduced);
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
    assert_eq!((absent.verdict, &*absent.why), (Verdict::CannotBeTold, "not measured yet: a"));
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
    let reads = experiment_called("fig-2a", SE_OVER, "left = {}\nmeasure = 'abort_rate'\nat_least = 0");
    let many = points(&reads, two_lines);
    let together = tell(&figure(&updates, &few), &[figure(&reads, &many)]).remove(0);
    assert_eq!(together.verdict, Verdict::Reproduced, "{}", together.why);
    assert!(together.why.contains("se, workers 1 against fig-2a: se, workers 1"), "{}", together.why);
    let other_axes = experiment_called(
        "fig-2a",
        "system = ['se']\ntheta = [0]",
        "left = {}\nmeasure = 'abort_rate'\nat_least = 0",
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
        [_, workers] if workers == "1" => Known::Measured(&sampled, 1, SystemKind::OneInstance),
        _ => Known::Measured(&unsampled, 2, SystemKind::OneInstance),
    });
    let told = tell(&figure, &[]).remove(0);
    assert_eq!(told.verdict, Verdict::CannotBeTold);
    assert_eq!(
        told.why,
        "a, workers 2 has no lock_hold_ns in 1 of 2 repetitions; b, workers 2 has no lock_hold_ns in 1 of 2 \
         repetitions; a longer --duration may sample it, if the system has it at all; of 2 comparisons 1 cannot be told"
    );
}

/// On the paper's machine every claim is about points that its file has, and about the figures that it names; and who ascribes a
/// claim to the paper says where it stands, and its words.
#[test]
fn every_claim_of_the_papers_figures_speaks_on_the_papers_machine() {
    for (paper, cores) in [("trireme", 72), ("silo", 32), ("thousand-cores", 1024)] {
        let experiments = experiments_of(paper, cores);
        let mut sampled = samples(&[1.0, 1.0]);
        for sample in &mut sampled {
            sample.costs.lock_hold_ns = Some(100.0);
            sample.costs.round_trip_ns = Some(100.0);
            sample.costs.version_space = Some(0.03);
        }
        let known = Known::Measured(&sampled, cores, SystemKind::OneInstance);
        let all = || experiments.iter().map(|experiment| Figure::new(experiment, |_| known));
        let others: Vec<Figure<'_>> = all().collect();
        for figure in all() {
            let name = &figure.experiment.name;
            assert!(!figure.experiment.claims.is_empty(), "{name} claims nothing");
            for other in &figure.experiment.beside {
                assert!(experiments.iter().any(|known| known.name == *other), "{name} stands beside {other}");
            }
            for told in tell(&figure, &others) {
                // A system that the engine lacks would be left out; these points are made up for all.
                assert!(told.why.contains("; claimed: "), "{name}: {}: {}", told.that, told.why);
                assert_eq!(told.part, None, "{name}: {}", told.that);
                let is_ours = told.standing == Standing::Ours;
                assert_eq!(told.section.is_some(), !is_ours, "{name}: {}", told.that);
                assert_eq!(told.says.is_some(), !is_ours, "{name}: {}", told.that);
            }
        }
    }
}

fn experiments_of(paper: &str, cores: usize) -> Vec<Experiment> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments").join(paper);
    let files = fs::read_dir(folder).expect("the experiments").flatten().map(|file| file.path());
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| Experiment::read(&path, cores).unwrap_or_else(|failure| panic!("{failure}")))
        .collect()
}

/// A model that is off by 1.4 in a value, by 1.3 between systems and by 1.2 along an axis.
fn off() -> ModelErrors {
    let throughput = ModelError { value: 1.4, between_systems: 1.3, along: 1.2 };
    ModelErrors {
        measured_on: "2026-11-22".to_owned(),
        host: "two cores".to_owned(),
        most_workers: 2,
        ..ModelErrors::supposed([("throughput", throughput)])
    }
}

/// What is told of simulated points.
fn simulated(axes: &str, claim: &str, throughputs: impl Fn(&[String]) -> Vec<f64>) -> Told {
    let (experiment, errors) = (experiment(axes, claim), off());
    let points = points(&experiment, throughputs);
    super::tell(&figure(&experiment, &points), &[], Trust::Simulated(Ok(&errors))).remove(0)
}

/// Two systems at one and at four workers; b has nine tenths of a, which has twice as much with four.
fn nine_tenths(place: &[String]) -> Vec<f64> {
    let value = if place[0] == "a" { 100.0 } else { 90.0 } * if place[1] == "1" { 1.0 } else { 2.0 };
    vec![value * 0.99, value, value * 1.01]
}

const A_AND_B: &str = "system = ['a', 'b']\nworkers = [1, 4]";

#[test]
fn a_difference_within_the_models_error_cannot_be_told() {
    let of = |claim: &str| simulated(A_AND_B, &format!("{claim}\nmeasure = 'throughput'"), nine_tenths);
    let ahead = "left = { system = 'a' }\nright = { system = 'b' }\nat = { workers = 4 }\nat_least = 1";
    assert_eq!(
        only(&experiment(A_AND_B, &format!("{ahead}\nmeasure = 'throughput'")), nine_tenths).verdict,
        Verdict::Reproduced
    );
    let told = of(ahead);
    assert_eq!((told.verdict, told.direction_holds), (Verdict::CannotBeTold, false));
    let why = "ratio 1.11 (1.09 to 1.13; with the model's error of 1.30 between systems 0.838 to 1.47), an error wider \
               than the difference; claimed: at least 1; a, workers 4 against b, workers 4";
    assert_eq!(told.why, why);
    let error = told.error.as_ref().expect("a model's error");
    assert_eq!((error.of, error.factor, error.workers), (Asked::BetweenSystems, 1.3, 4));
    assert!(
        told.whole_reason().ends_with(
            " (error validated on 2026-11-22, two cores, with up to 2 workers; at 4 it is at least this)"
        ),
        "{}",
        told.whole_reason()
    );
    let interval = told.interval.expect("a number");
    assert!(interval.spread[0] > 1.0 && interval.with_error.expect("an error")[0] < 1.0);
}

#[test]
fn each_comparison_has_the_error_of_its_kind() {
    let asked = |claim: &str| {
        let told = simulated(A_AND_B, &format!("{claim}\nmeasure = 'throughput'"), nine_tenths);
        told.error.map(|error| (error.of, (error.factor * 100.0).round()))
    };
    let value = "left = { system = 'a', workers = 1 }\nabout = 100";
    assert_eq!(asked(value), Some((Asked::Value, 140.0)));
    let between = "left = { system = 'a' }\nright = { system = 'b' }\nat = { workers = 1 }\nat_least = 1";
    assert_eq!(asked(between), Some((Asked::BetweenSystems, 130.0)));
    let along = "left = { workers = 4 }\nright = { workers = 1 }\nat = { system = 'a' }\nat_least = 1";
    assert_eq!(asked(along), Some((Asked::Along, 120.0)));
    let growth = "left = { workers = 4 }\nright = { workers = 1 }\nper = 'workers'\nat_least = 0.1";
    assert_eq!(asked(growth), Some((Asked::Along, 120.0)));
    let both = "left = { system = 'a', workers = 4 }\nright = { system = 'b', workers = 1 }\nat_least = 1";
    assert_eq!(asked(both), Some((Asked::BetweenAndAlong, 156.0)));
    let best = "left = { best_of = { system = ['a', 'b'] } }\nright = { system = 'b' }\nat_least = 1";
    assert_eq!(asked(best), Some((Asked::BetweenSystems, 130.0)));
    let line = "left = { system = 'a' }\nover = 'workers'\nshape = 'rises'";
    assert_eq!(asked(line), Some((Asked::Along, 120.0)));
    let crosses = "left = { system = 'a' }\nright = { system = 'b' }\nover = 'workers'\nshape = 'crosses'\nends = 'ahead'";
    assert_eq!(asked(crosses), Some((Asked::BetweenSystems, 130.0)));
}

const ONE_AND_TWO: &str = "system = ['a', 'b']\ninstances = [1, 2]";

#[test]
fn deployments_are_judged_by_their_own_error_and_until_there_is_one_by_that_of_one_instance() {
    let throughput = ModelError { value: 3.0, between_systems: 2.6, along: 2.2 };
    let own = KindErrors {
        errors: [("throughput".to_owned(), throughput)].into_iter().collect(),
        ..KindErrors::default()
    };
    let told = |claim: &str, deployments: Option<KindErrors>| {
        let experiment = experiment(ONE_AND_TWO, &format!("{claim}\nmeasure = 'throughput'"));
        let errors = ModelErrors { deployments, ..off() };
        let points = points(&experiment, nine_tenths);
        let told = super::tell(&figure(&experiment, &points), &[], Trust::Simulated(Ok(&errors))).remove(0);
        told.error.expect("a model's error")
    };
    let used = |claim: &str, deployments: Option<KindErrors>| {
        let error = told(claim, deployments);
        (error.of, (error.factor * 100.0).round(), error.kind, error.measured_kind)
    };
    let (one, several) = (SystemKind::OneInstance, SystemKind::Deployments);
    let between = |instances| {
        format!(
            "left = {{ system = 'a' }}\nright = {{ system = 'b' }}\nat = {{ instances = {instances} }}\nat_least = 1"
        )
    };
    assert_eq!(used(&between(1), Some(own.clone())), (Asked::BetweenSystems, 130.0, one, one));
    assert_eq!(used(&between(2), Some(own.clone())), (Asked::BetweenSystems, 260.0, several, several));
    assert_eq!(used(&between(2), None), (Asked::BetweenSystems, 130.0, several, one));
    // One of the two is enough; and one on a line.
    let along = "left = { instances = 2 }\nright = { instances = 1 }\nat = { system = 'a' }\nat_least = 1";
    assert_eq!(used(along, Some(own.clone())), (Asked::Along, 220.0, several, several));
    let line = "left = { system = 'a' }\nover = 'instances'\nshape = 'rises'";
    assert_eq!(used(line, Some(own.clone())), (Asked::Along, 220.0, several, several));
    let says = "; deployments were not validated for this: it is the error of systems of one instance";
    assert!(told(&between(2), None).in_words().ends_with(says), "{}", told(&between(2), None).in_words());
    assert!(!told(&between(2), Some(own)).in_words().contains("not validated"));
}

#[test]
fn the_points_of_a_line_are_off_against_each_other_by_the_error_along_it() {
    let of = |growth: f64| {
        let line = "left = { system = 'a' }\nmeasure = 'throughput'\nover = 'workers'\nshape = 'rises'";
        let steps = move |place: &[String]| {
            let value = if place[1] == "1" { 1.0 } else { growth };
            vec![value, value]
        };
        simulated(A_AND_B, line, steps)
    };
    let rises = of(1.4);
    assert_eq!(rises.verdict, Verdict::Reproduced, "{}", rises.why);
    assert!(
        rises.why.starts_with("no step goes the other way, with the model's error of 1.20 along an axis;"),
        "{}",
        rises.why
    );
    let hardly = of(1.25);
    assert_eq!(hardly.verdict, Verdict::CannotBeTold, "a tenth is the same: 1.25 is less than 1.1 of 1.2");
    assert!(hardly.why.contains("which is wider than what there is to see"), "{}", hardly.why);
}

#[test]
fn without_a_known_error_nothing_simulated_can_be_told() {
    let claim = "left = { system = 'a' }\nright = { system = 'b' }\nmeasure = 'throughput'\nat_most = 0.01";
    let experiment = experiment(A_AND_B, claim);
    let points = points(&experiment, nine_tenths);
    let trust = Trust::Simulated(Err("machines/validated.toml is of another model"));
    let told = super::tell(&figure(&experiment, &points), &[], trust).remove(0);
    assert_eq!((told.verdict, &told.error), (Verdict::CannotBeTold, &None));
    assert!(
        told.why.starts_with(
            "ratio 1.11 (1.09 to 1.13), by a model of unknown error: machines/validated.toml is of another model; claimed: "
        ),
        "{}",
        told.why
    );
    let lines = "left = { system = 'a' }\nmeasure = 'abort_rate'\nover = 'workers'\nshape = 'flat'";
    let lines = simulated(A_AND_B, lines, nine_tenths);
    assert_eq!(lines.verdict, Verdict::CannotBeTold);
    assert!(
        lines.why.contains("by a model of unknown error: it was not validated for the abort rate;"),
        "{}",
        lines.why
    );
}

const CUT: &str = "system = ['a', 'b']\nworkers = { of = [1, 2, 4, 9], to = 'cores' }";

/// a is ahead of b, whatever the workers.
fn ahead(place: &[String]) -> Vec<f64> {
    let value = if place[0] == "a" { 3.0 } else { 1.0 } * place[1].parse::<f64>().expect("a number");
    vec![value, value]
}

#[test]
fn a_verdict_of_part_of_the_points_is_another_one() {
    let on = |cores: usize, claim: &str| {
        let text = format!(
            "workload = 'micro'\n[axes]\n{CUT}\n[[claims]]\nthat = 'so'\n{claim}\nmeasure = 'throughput'"
        );
        only(&Experiment::parse("e.toml", &text, cores).expect("an experiment"), ahead)
    };
    let both = "left = { system = 'a' }\nright = { system = 'b' }\nat_least = 1";
    let however = format!("{both}\nat = {{ workers = {{ not = 1 }} }}");
    let small = on(2, &however);
    assert_eq!(
        small.outcome(),
        "reproduced, at 1 of the 3 numbers of workers that the paper has (2; not 4, 9: this machine has 2 cores)"
    );
    assert_eq!(on(9, &however).outcome(), "reproduced");
    assert_eq!(on(16, &however).part, None, "all of the list is there");
    assert_eq!(
        on(3, both).outcome(),
        "reproduced, at 2 of the 4 numbers of workers that the paper has (1, 2, and 3; not 4, 9: this machine has 3 cores)"
    );
    let most = format!("{both}\nat = {{ workers = 'most' }}");
    assert_eq!(
        on(2, &most).outcome(),
        "reproduced, with workers 2 where the paper has 9: this machine has 2 cores"
    );
    let growth = "left = { workers = { not = 1 } }\nright = { workers = 1 }\nper = 'workers'\nat_least = 1";
    assert_eq!(on(2, growth).part.expect("a part").not, ["4", "9"]);
    let rises = "left = {}\nover = 'workers'\nshape = 'rises'";
    assert_eq!(on(2, rises).part.expect("a part").at, ["1", "2"]);
    let few = format!("{both}\nat = {{ workers = [1, 2] }}");
    assert_eq!(on(2, &few).part, None, "the claim is about no more");
    let some = format!("{both}\nabout_workers = 9\nfewest_workers = 4");
    let some = on(4, &some);
    assert_eq!(some.part.expect("a part").not, ["9"], "and of fewer than four it does not speak");
}

#[test]
fn fewer_workers_than_the_papers_are_a_part_without_an_axis_too() {
    let claim = |workers: &str| {
        let claim = format!(
            "left = {{ theta = 1 }}\nright = {{ theta = 2 }}\nmeasure = 'throughput'\nat_most = 1\n{workers}"
        );
        only(&experiment("theta = [1, 2]", &claim), product)
    };
    assert_eq!(
        claim("about_workers = 72\nfewest_workers = 2").outcome(),
        "reproduced, with workers 2 where the paper has 72"
    );
    assert_eq!(claim("about_workers = 2").outcome(), "reproduced");
    assert_eq!(claim("about_workers = 72").outcome(), "not applicable here", "and nothing was judged");
}

#[test]
fn the_worst_number_is_named() {
    let claim = "left = { system = 'a' }\nright = { system = 'b' }\nat = { workers = { not = 1 } }\n\
                 measure = 'throughput'\nat_least = 1";
    let worst_at_four = |place: &[String]| {
        let value = if place[0] == "a" && place[1] != "4" { 3.0 } else { 1.0 };
        vec![value, value * 1.001]
    };
    let told = only(&experiment("system = ['a', 'b']\nworkers = [1, 2, 4, 9]", claim), worst_at_four);
    assert_eq!(told.verdict, Verdict::CannotBeTold);
    assert!(
        told.why.ends_with("a, workers 4 against b, workers 4; of 3 comparisons this one is the worst"),
        "{}",
        told.why
    );
}

#[test]
fn claims_are_counted_by_their_standing() {
    let one = |standing: &str, bound: &str| {
        let claim = format!("{A_OVER_B}{bound}\n{standing}");
        told(&claim, &[("a", &[3.0, 3.0]), ("b", &[1.0, 1.0])])
    };
    let fitted = one("fitted = 'the latch was chosen by it'\nexplanation = 'as it is'", "about = 3");
    assert_eq!(fitted.standing, Standing::Fitted("the latch was chosen by it".to_owned()));
    assert_eq!((fitted.verdict, fitted.paper_number), (Verdict::Reproduced, Some(3.0)));
    assert!(
        fitted.reason().ends_with(
            ". Used for fitting, and not counted: the latch was chosen by it. Explanation: as it is"
        ),
        "what is reproduced is explained, too: {}",
        fitted.reason()
    );
    let spread = told(
        &format!("{A_OVER_B}about = 3\nexplanation = 'as it is'"),
        &[("a", &[1.0, 9.0]), ("b", &[1.0, 1.0])],
    );
    assert_eq!(spread.verdict, Verdict::CannotBeTold);
    assert_eq!(spread.explanation, None, "nothing came out: {}", spread.reason());
    let ours = one("ours = true", "about = 3");
    assert_eq!((ours.standing.clone(), ours.paper_number), (Standing::Ours, None));
    let mut part = one("", "at_least = 1");
    part.part = Some(super::Part {
        axis: "workers".to_owned(),
        at: vec!["2".to_owned()],
        beside: Vec::new(),
        not: vec!["4".to_owned()],
        cores: None,
    });
    let all = [fitted, ours, part, one("", "at_least = 1"), one("", "at_most = 1"), one("", "about = 7")];
    let sum = Sum::of(&all);
    assert_eq!((sum.paper.claims, sum.fitted.claims, sum.ours.claims), (4, 1, 1));
    assert_eq!(sum.paper.of(Verdict::Reproduced).claims, 2);
    assert_eq!(sum.paper.of(Verdict::Reproduced).in_part, 1);
    assert_eq!(
        sum.sentences(),
        [
            "Of 4 claims: 2 reproduced (of them 1 at part of its points only), 1 direction only, \
             1 not reproduced.",
            "Not counted, of 1 claim used for fitting: 1 reproduced.",
            "Not counted, of 1 question of ours: 1 reproduced.",
        ]
    );
    let json = serde_json::to_value(&sum).expect("text keys");
    assert_eq!(json["paper"]["reproduced"]["claims"], 2);
    assert_eq!(json["paper"]["cannot-be-told"]["claims"], 0);
    assert_eq!(json["fitted"]["claims"], 1);
}

#[test]
fn the_papers_number_stands_beside_ours() {
    let of = |bounds: &str| {
        let told = told(&format!("{A_OVER_B}{bounds}"), &[("a", &[30.0, 31.0]), ("b", &[10.0, 10.0])]);
        (told.paper_number, told.interval.map(|interval| interval.spread))
    };
    assert_eq!(of("about = 7"), (Some(7.0), Some([3.0, 3.1])));
    assert_eq!(of("at_least = 1\npaper_number = 7"), (Some(7.0), Some([3.0, 3.1])));
    assert_eq!(of("at_least = 1").0, None, "a bound of ours is not the paper's number");
    assert_eq!(of("about = 1").0, None, "and that two are alike is none");
    let peak =
        "left = { system = 'a' }\nmeasure = 'throughput'\nover = 'workers'\nshape = 'peaks'\nabout = 8";
    let peak = only(&experiment("system = ['a', 'b']\nworkers = [1, 2, 4]", peak), |place| {
        let value = if place[1] == "2" { 7.0 } else { 1.0 };
        vec![value, value]
    });
    assert_eq!((peak.paper_number, peak.interval.map(|interval| interval.median)), (Some(8.0), Some(7.0)));
}
