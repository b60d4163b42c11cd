//! From values to pixels: linear and logarithmic scales with ticks at round values.

/// From values to places between 0 and 1, evenly or evenly in the logarithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
    /// Where labelled ticks stand.
    pub ticks: Vec<f64>,
    /// Where unlabelled lines stand: between the powers of ten of a logarithmic scale.
    pub minor_ticks: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Linear,
    Logarithmic,
}

impl Scale {
    /// From 0 to a round value not below `high`, with about `ticks` ticks.
    pub fn from_zero(high: f64, ticks: usize) -> Scale {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        let step = nice_step(high / ticks.max(1) as f64);
        let steps = (high / step - 1e-9).ceil().max(1.0) as usize;
        let ticks: Vec<f64> = (0..=steps).map(|n| n as f64 * step).collect();
        let high = steps as f64 * step;
        Scale { kind: Kind::Linear, low: 0.0, high, ticks, minor_ticks: Vec::new() }
    }

    /// Exactly from the smallest to the largest of `values`, with a tick at each.
    pub fn through(values: &[f64]) -> Scale {
        Scale::spanning(Kind::Linear, values)
    }

    /// As [`Scale::through`], evenly in the logarithm. The values must be positive.
    pub fn through_logarithmic(values: &[f64]) -> Scale {
        assert!(values.iter().all(|&value| value > 0.0), "logarithms of positive values");
        Scale::spanning(Kind::Logarithmic, values)
    }

    fn spanning(kind: Kind, values: &[f64]) -> Scale {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Scale { kind, low, high, ticks: values.to_vec(), minor_ticks: Vec::new() }
    }

    /// From the power of ten not above `low` to a tick not below `high`, with ticks at the powers of ten. Where these
    /// are few, 2 and 5 times each get one too.
    pub fn powers_of_ten(low: f64, high: f64) -> Scale {
        let low = if low.is_finite() && low > 0.0 { low } else { 1.0 };
        let high = if high.is_finite() { high.max(low) } else { low };
        let first = (low.log10() + 1e-9).floor() as i32;
        let last = (high.log10() - 1e-9).ceil().max(f64::from(first) + 1.0) as i32;
        let factors: &[f64] = if last - first <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let within = |factors: &[f64]| -> Vec<f64> {
            let end = 10f64.powi(last) * 1.000_001;
            let decades = first..=last;
            let ticks = decades.flat_map(|n| factors.iter().map(move |factor| factor * 10f64.powi(n)));
            ticks.filter(|&tick| tick <= end).collect()
        };
        Scale {
            kind: Kind::Logarithmic,
            low: 10f64.powi(first),
            high: 10f64.powi(last),
            ticks: within(factors),
            minor_ticks: within(&[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]),
        }
    }

    /// The same scale, but long enough for `high`.
    pub fn reaching(self, high: f64) -> Scale {
        Scale { high: self.high.max(high), ..self }
    }

    /// Whether `value` lies between both ends.
    pub fn has(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The end of the scale.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// Where `value` lies, 0 at the low end and 1 at the high end; 0.5 if there is one value only.
    pub fn part(&self, value: f64) -> f64 {
        let position = |value: f64| match self.kind {
            Kind::Linear => value,
            Kind::Logarithmic => value.max(self.low * 1e-3).log10(),
        };
        let (low, high) = (position(self.low), position(self.high));
        if high > low { (position(value) - low) / (high - low) } else { 0.5 }
    }
}

/// The smallest of 1, 2, 2.5 and 5 times a power of ten that is not below `step`.
pub fn nice_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| factor * power >= step * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        let cases =
            [(1.0, 1.0), (1.1, 2.0), (2.1, 2.5), (3.0, 5.0), (7.0, 10.0), (0.03, 0.05), (123.0, 200.0)];
        for (step, nice) in cases {
            let found = nice_step(step);
            assert!((found - nice).abs() < 1e-9 * nice, "{step}: {found}");
        }
    }

    #[test]
    fn a_scale_from_zero_ends_at_or_above_the_highest_value() {
        for high in [0.001, 0.9, 1.0, 3.7, 99.0, 100.0, 123_456.0, 2.0e7] {
            let scale = Scale::from_zero(high, 5);
            assert!(scale.high() >= high * (1.0 - 1e-9), "{high}: {scale:?}");
            assert!((3..=8).contains(&scale.ticks.len()), "{high}: {scale:?}");
            assert_eq!(scale.part(0.0), 0.0);
            assert!((scale.part(scale.high()) - 1.0).abs() < 1e-12);
        }
        assert_eq!(Scale::from_zero(100.0, 5).ticks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    }

    #[test]
    fn nothing_measured_still_has_a_scale() {
        for high in [0.0, f64::NAN, f64::INFINITY, -1.0] {
            assert_eq!(Scale::from_zero(high, 4).high(), 1.0);
        }
    }

    #[test]
    fn powers_of_ten_span_the_values() {
        let scale = Scale::powers_of_ten(340.0, 2.0e6);
        assert_eq!(scale.ticks, [100.0, 1e3, 1e4, 1e5, 1e6, 1e7]);
        assert!((scale.part(1e4) - 0.4).abs() < 1e-12);
        let few = Scale::powers_of_ten(100.0, 900.0);
        assert_eq!(few.ticks, [100.0, 200.0, 500.0, 1000.0]);
        assert_eq!(Scale::powers_of_ten(100.0, 100.0).ticks.first(), Some(&100.0));
    }

    #[test]
    fn one_value_stands_in_the_middle() {
        assert_eq!(Scale::through(&[2.0]).part(2.0), 0.5);
        assert_eq!(Scale::through_logarithmic(&[1.0, 2.0, 4.0]).part(2.0), 0.5);
    }
}
