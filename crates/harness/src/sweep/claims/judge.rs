//! From measured points to a verdict: every left point is compared with the right points that it belongs to, and the
//! comparison that speaks most against the claim decides.

use super::measure::{NoRange, Range};
use super::untold::{self, Untold};
use super::{Bounds, Claim, Selection, Told, Verdict};
use crate::folder::samples::Sample;
use crate::sweep::cases::combinations;
use crate::sweep::experiment::{Axis, Experiment};
use crate::text::numbers::ratio;

/// What is known of a point when the claims are told.
#[derive(Clone, Copy)]
pub enum Known<'a> {
    /// Its repetitions, and its number of workers.
    Measured(&'a [Sample], usize),
    /// It has no numbers yet.
    NotYet,
    /// It is not measured at all.
    LeftOut,
}

/// Tells every claim of `experiment` by what is `known` of the points at their places on the axes.
pub fn tell<'a>(experiment: &Experiment, known: impl Fn(&[String]) -> Known<'a>) -> Vec<Told> {
    let places = combinations(experiment);
    let told = |claim: &Claim| {
        let judge = Judge { claim, axes: &experiment.axes, known: &known };
        let (verdict, ratio, why) = match judge.decide(&places) {
            Ok(Decided { verdict, ratio, why }) => (verdict, Some(ratio), why),
            Err(why) => (Verdict::CannotBeToldHere, None, why),
        };
        Told {
            that: claim.that.clone(),
            measure: claim.measure,
            left: claim.left.to_string(),
            right: claim.right.as_ref().map(Selection::to_string),
            bounds: claim.bounds,
            verdict,
            ratio: ratio.filter(|ratio| ratio.is_finite()),
            why,
        }
    };
    experiment.claims.iter().map(told).collect()
}

/// A comparison with numbers, or the one that decides for a claim.
struct Decided {
    verdict: Verdict,
    /// The value itself if there is no right side; infinite if right is 0.
    ratio: f64,
    why: String,
}

/// A left point's place, and the right one's if there is a right side.
type Sides<'p> = (&'p [String], Option<&'p [String]>);

struct Judge<'a, K> {
    claim: &'a Claim,
    axes: &'a [Axis],
    known: &'a K,
}

impl<'a, 'k, K: Fn(&[String]) -> Known<'k>> Judge<'a, K> {
    /// By all comparisons; `Err` says why it cannot be told.
    fn decide(&self, places: &[Vec<String>]) -> Result<Decided, String> {
        let pairs = self.pairs(places)?;
        let (mut told, mut untold) = (Vec::new(), Vec::new());
        for &(left_at, right_at) in &pairs {
            match self.compare(left_at, right_at) {
                Ok(decided) => told.push(decided),
                Err(reasons) => untold.push(reasons),
            }
        }
        let of_several = |what: &str| match pairs.len() {
            1 => String::new(),
            all => format!("; of {all} comparisons {what}"),
        };
        match worst(self.claim.bounds, told) {
            Some(mut worst) if worst.verdict == Verdict::DoesNotHold || untold.is_empty() => {
                worst.why += &of_several("this one is the worst");
                Ok(worst)
            }
            _ if untold.is_empty() => Err("there are no such points".to_owned()),
            _ => {
                let cannot = of_several(&format!("{} cannot be told", untold.len()));
                Err(untold::in_words(self.claim, untold.into_iter().flatten()) + &cannot)
            }
        }
    }

    /// Each left point with the right points that share what is not named, or alone if there is no right side.
    fn pairs<'p>(&self, places: &'p [Vec<String>]) -> Result<Vec<Sides<'p>>, String> {
        let left = self.claim.left.among(self.axes)?;
        let right = self.claim.right.as_ref().map(|right| right.among(self.axes)).transpose()?;
        let mut pairs = Vec::new();
        for left_at in places.iter().filter(|place| left.has(place)) {
            let Some(right) = &right else {
                pairs.push((&left_at[..], None));
                continue;
            };
            let shares = |place: &&Vec<String>| {
                (0..self.axes.len()).all(|axis| left.names(axis) || place[axis] == left_at[axis])
            };
            let right_at = places.iter().filter(|place| right.has(place)).filter(shares);
            pairs.extend(right_at.map(|right_at| (&left_at[..], Some(&right_at[..]))));
        }
        Ok(pairs)
    }

    /// One left point with one right point, or with the bounds themselves.
    fn compare(&self, left_at: &[String], right_at: Option<&[String]>) -> Result<Decided, Vec<Untold>> {
        if right_at == Some(left_at) {
            return Err(vec![Untold::SamePoint(self.name(left_at))]);
        }
        let sides = (self.range_at(left_at), right_at.map(|at| self.range_at(at)).transpose());
        let ((left, workers), right) = match sides {
            (Ok(left), Ok(right)) => (left, right),
            (left, right) => return Err(left.err().into_iter().chain(right.err()).collect()),
        };
        let workers = right.map_or(workers, |(_, others)| workers.max(others));
        if workers < self.claim.fewest_workers {
            return Err(vec![Untold::FewWorkers(workers)]);
        }
        let range = match right {
            None => left,
            Some((right, _)) if left.median == 0.0 && right.median == 0.0 => {
                return Err(vec![Untold::ZeroOverZero]);
            }
            Some((right, _)) => left.over(right),
        };
        Ok(self.told(range, left_at, right_at))
    }

    /// The measure at a point, and the point's workers.
    fn range_at(&self, at: &[String]) -> Result<(Range, usize), Untold> {
        let (samples, workers) = match (self.known)(at) {
            Known::Measured(samples, workers) => (samples, workers),
            Known::NotYet => return Err(Untold::NotYet(self.name(at))),
            Known::LeftOut => return Err(Untold::LeftOut(self.name(at))),
        };
        match Range::of(self.claim.measure, samples) {
            Ok(range) => Ok((range, workers)),
            Err(NoRange::OneRepetition) => Err(Untold::OneRepetition),
            Err(NoRange::Lacking(repetitions)) => {
                Err(Untold::Lacking { at: self.name(at), repetitions, of: samples.len() })
            }
        }
    }

    fn told(&self, range: Range, left_at: &[String], right_at: Option<&[String]>) -> Decided {
        let bounds = self.claim.bounds;
        let verdict = Verdict::of(range, bounds);
        let spread = match verdict {
            Verdict::CannotBeToldHere => ", a spread wider than the difference",
            Verdict::Holds | Verdict::DoesNotHold => "",
        };
        let (what, place) = match right_at {
            Some(right_at) => ("ratio", format!("{} against {}", self.name(left_at), self.name(right_at))),
            None => ("value", self.name(left_at)),
        };
        let [low, median, high] = [range.low, range.median, range.high].map(number);
        let why = format!("{what} {median} ({low} to {high}){spread}; claimed: {bounds}; {place}");
        Decided { verdict, ratio: range.median, why }
    }

    /// The point at `at`, for people.
    fn name(&self, at: &[String]) -> String {
        let one = |(axis, value): (&Axis, &String)| match axis.name.as_str() {
            "system" | "architecture" | "protocol" => value.clone(),
            other => format!("{other} {value}"),
        };
        self.axes.iter().zip(at).map(one).collect::<Vec<_>>().join(", ")
    }
}

/// The one that decides: against the claim before untold before for it, and then the one nearest to being against it.
fn worst(bounds: Bounds, told: Vec<Decided>) -> Option<Decided> {
    let rank = |decided: &Decided| match decided.verdict {
        Verdict::DoesNotHold => 0,
        Verdict::CannotBeToldHere => 1,
        Verdict::Holds => 2,
    };
    let for_it = |decided: &Decided| if bounds.at_least.is_some() { decided.ratio } else { -decided.ratio };
    told.into_iter()
        .min_by(|one, other| rank(one).cmp(&rank(other)).then(for_it(one).total_cmp(&for_it(other))))
}

fn number(value: f64) -> String {
    if value.is_infinite() { "infinity".to_owned() } else { ratio(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Latency;
    use contract::AbortReason;

    fn experiment(axes: &str, claim: &str) -> Experiment {
        let text = format!("workload = 'micro'\n[axes]\n{axes}\n[[claims]]\nthat = 'so'\n{claim}");
        Experiment::parse("e.toml", &text, 2).expect("an experiment")
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
            aborts,
            latency_ns: Latency { p99: 500, ..Latency::default() },
            costs: Default::default(),
        };
        throughputs.iter().enumerate().map(sample).collect()
    }

    /// What comes of `claim` if the points on one axis of systems have these throughputs.
    fn told(claim: &str, points: &[(&str, &[f64])]) -> Told {
        let names: Vec<String> = points.iter().map(|(name, _)| format!("'{name}'")).collect();
        let experiment = experiment(&format!("system = [{}]", names.join(", ")), claim);
        let all: Vec<(&str, Vec<Sample>)> =
            points.iter().map(|(name, throughputs)| (*name, samples(throughputs))).collect();
        let mut told = tell(&experiment, |at| {
            let (_, samples) = all.iter().find(|(name, _)| *name == at[0]).expect("a point of the axis");
            if samples.is_empty() { Known::NotYet } else { Known::Measured(samples, 2) }
        });
        assert_eq!(told.len(), 1);
        told.remove(0)
    }

    const A_OVER_B: &str = "left = { system = 'a' }\nright = { system = 'b' }\nmeasure = 'throughput'\n";

    #[test]
    fn medians_are_compared_and_the_spread_must_not_decide() {
        use Verdict::{CannotBeToldHere, DoesNotHold, Holds};
        let cases: [(&str, &[f64], &[f64], Verdict); 9] = [
            ("at_least = 1.5", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], Holds),
            ("at_least = 2.9", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], CannotBeToldHere),
            ("at_least = 3.5", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], DoesNotHold),
            ("at_most = 3.5", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], Holds),
            ("at_most = 3", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], CannotBeToldHere),
            ("at_least = 0.9\nat_most = 1.1", &[100.0, 101.0], &[100.0, 101.0], Holds),
            ("at_least = 0.9\nat_most = 1.1", &[80.0, 81.0], &[100.0, 101.0], DoesNotHold),
            ("at_least = 10", &[5.0, 5.0], &[0.0, 0.0], Holds),
            ("at_least = 1", &[0.0, 0.0], &[0.0, 0.0], CannotBeToldHere),
        ];
        for (bounds, left, right, verdict) in cases {
            let told = told(&format!("{A_OVER_B}{bounds}"), &[("a", left), ("b", right)]);
            assert_eq!(told.verdict, verdict, "{bounds}: {}", told.why);
        }
        let told = told(
            &format!("{A_OVER_B}at_least = 3.5"),
            &[("a", &[290.0, 300.0, 310.0]), ("b", &[100.0, 100.0])],
        );
        assert_eq!(told.ratio, Some(3.0));
        assert_eq!(told.why, "ratio 3.00 (2.90 to 3.10); claimed: at least 3.5; a against b");
    }

    #[test]
    fn what_is_missing_is_not_told() {
        let why = |claim: &str, points: &[(&str, &[f64])]| {
            let told = told(&format!("{A_OVER_B}at_least = 1\n{claim}"), points);
            assert_eq!((told.verdict, told.ratio), (Verdict::CannotBeToldHere, None));
            told.why
        };
        assert_eq!(why("", &[("a", &[1.0, 2.0]), ("b", &[])]), "b is not measured yet");
        assert_eq!(
            why("", &[("a", &[1.0]), ("b", &[1.0])]),
            "one repetition has no spread; use repeat 3 or more"
        );
        assert_eq!(
            why("fewest_workers = 16", &[("a", &[3.0, 3.0]), ("b", &[1.0, 1.0])]),
            "it is about 16 workers or more; here: 2 workers"
        );
        let experiment = experiment("system = ['a', 'b']", &format!("{A_OVER_B}at_least = 1"));
        let left_out = tell(&experiment, |_| Known::LeftOut).remove(0);
        assert_eq!(
            (left_out.verdict, &*left_out.why),
            (Verdict::CannotBeToldHere, "a is left out; b is left out")
        );
    }

    #[test]
    fn a_value_alone_may_be_claimed() {
        let alone = |claim: &str| told(&format!("left = {{ system = 'a' }}\n{claim}"), &[("a", &[5.0, 5.0])]);
        let rate = alone("measure = 'abort_rate'\nat_least = 0.1\nat_most = 0.1");
        assert_eq!((rate.verdict, rate.ratio, rate.right), (Verdict::Holds, Some(0.1), None));
        assert_eq!(alone("measure = 'p99_ns'\nat_most = 499").verdict, Verdict::DoesNotHold);
    }

    /// Points whose throughput is the product of their numbers on the axes.
    fn product(experiment: &Experiment) -> Told {
        let all: Vec<(Vec<String>, Vec<Sample>)> = combinations(experiment)
            .into_iter()
            .map(|at| {
                let value = at.iter().filter_map(|value| value.parse::<f64>().ok()).product();
                (at, samples(&[value, value]))
            })
            .collect();
        let known = |at: &[String]| {
            Known::Measured(&all.iter().find(|(place, _)| place == at).expect("a point").1, 2)
        };
        tell(experiment, known).remove(0)
    }

    #[test]
    fn axes_that_are_not_named_are_shared() {
        let axes = "workers = [1, 2, 10]\ntheta = [0.5, 1, 4]";
        let of = |claim: &str| product(&experiment(axes, claim));
        let shared =
            of("left = { workers = 'most' }\nright = { workers = 'least' }\nmeasure = 'throughput'\n\
                         at_least = 10\nat_most = 10");
        assert_eq!(shared.verdict, Verdict::Holds, "{}", shared.why);
        assert!(shared.why.ends_with("; of 3 comparisons this one is the worst"), "{}", shared.why);
        let worst = of("left = { workers = [2, 10] }\nright = { workers = 1 }\nmeasure = 'throughput'\n\
                        at_least = 5");
        assert_eq!((worst.verdict, worst.ratio), (Verdict::DoesNotHold, Some(2.0)), "{}", worst.why);
        assert!(worst.why.contains("workers 2, theta 0.5 against workers 1, theta 0.5"), "{}", worst.why);
        let absent =
            of("left = { workers = 4 }\nright = { workers = 1 }\nmeasure = 'throughput'\nat_least = 2");
        assert_eq!(absent.why, "there is no point at workers 4");
        let same =
            of("left = { theta = 4.0 }\nright = { theta = 'most' }\nmeasure = 'throughput'\nat_least = 2");
        assert!(same.why.starts_with("both sides are the point workers 1, theta 4; both"), "{}", same.why);
    }
    #[test]
    fn every_point_that_lacks_the_measure_is_named() {
        let axes = "system = ['a', 'b']\nworkers = [1, 2]";
        let experiment = experiment(
            axes,
            "left = { system = 'a' }\nright = { system = 'b' }\nmeasure = 'lock_hold_ns'\nat_least = 1",
        );
        let mut unsampled = samples(&[1.0, 1.0]);
        let mut sampled = unsampled.clone();
        for sample in &mut sampled {
            sample.costs.lock_hold_ns = Some(100.0);
        }
        unsampled[0].costs.lock_hold_ns = Some(100.0);
        let told = tell(&experiment, |at| match at {
            [_, workers] if workers == "1" => Known::Measured(&sampled, 1),
            _ => Known::Measured(&unsampled, 2),
        });
        assert_eq!(told[0].verdict, Verdict::CannotBeToldHere);
        assert_eq!(
            told[0].why,
            "a, workers 2 has no lock_hold_ns in 1 of 2 repetitions; b, workers 2 has no lock_hold_ns in 1 of 2 \
             repetitions; a longer --duration may sample it, if the system has it at all; of 2 comparisons 1 cannot be told"
        );
    }
}
