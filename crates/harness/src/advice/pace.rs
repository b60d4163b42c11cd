//! How long each stage takes.
//!
//! Where commits are logged they are acknowledged by the epoch, so that a run that is shorter sees none or few of them, and all of those at once. On hardware the shortest runs are as long as an epoch. A simulated machine's
//! are much shorter: where a level was asked for, its disk has short epochs, and all of its runs are of whole ones ([`Pace::of_epochs`]).

use super::halving::REDUCTION_FACTOR;
use std::time::Duration;

/// How long something runs, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Not counted.
    pub warmup: Duration,
    /// Counted.
    pub duration: Duration,
    /// Repetitions.
    pub repeat: usize,
}

/// The lengths of an advice's stages on one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// The first heat; each further one is three times as long, as far as `longest` lets it.
    pub first: Length,
    /// No heat is longer, and the final's repetitions are as long.
    pub longest: Length,
    /// A point of an axis.
    pub point: Length,
    /// Epochs for which a level of durability is measured, in as many repetitions as a point: whole ones, for commits are acknowledged by the epoch.
    pub epochs: u32,
    /// No further point of an axis is measured once all before it has taken longer; `None` on a machine that repeats bit for bit, whose advice does not depend on how fast it is simulated.
    pub before_points: Option<Duration>,
}

/// One epoch more or less at an end of ten is a tenth of what is counted.
const EPOCHS: u32 = 10;

/// Epochs of the first heat and of a point of an axis, where a level was asked for on a simulated disk.
const FEW_EPOCHS: u32 = 4;

/// Epochs before those that are counted: until then what is acknowledged in one has begun in another.
pub(super) const EPOCHS_BEFORE: u32 = 3;

/// Fewer tell nothing: one more or less at an end would be all.
pub(super) const LEAST_EPOCHS: u32 = 2;

/// All workers of a simulated machine together have so much time at most in an epoch: with more its simulation takes minutes.
const MOST_WORKERS_TIME: Duration = Duration::from_millis(20);

/// Whether it takes minutes to simulate `workers` for some epochs.
pub(super) fn takes_minutes(epoch: Duration, workers: usize) -> bool {
    epoch * workers as u32 > MOST_WORKERS_TIME
}

impl Pace {
    /// The machine at hand: a minute, with few rows to load.
    pub fn on_hardware() -> Pace {
        let of = |warmup_ms, duration_ms, repeat| Length {
            warmup: Duration::from_millis(warmup_ms),
            duration: Duration::from_millis(duration_ms),
            repeat,
        };
        Pace {
            first: of(20, 40, 1),
            longest: of(60, 200, 3),
            point: of(20, 60, 3),
            epochs: EPOCHS,
            before_points: Some(Duration::from_secs(60)),
        }
    }

    /// A simulated machine: so much of its time that all its cores together have about equally many transactions, however many they are.
    pub fn simulated(cores: usize) -> Pace {
        let share = |core_us: u64| Duration::from_micros((core_us / cores as u64).max(20));
        let of =
            |warmup, duration, repeat| Length { warmup: share(warmup), duration: share(duration), repeat };
        Pace {
            first: of(1400, 1400, 1),
            longest: of(2000, 2400, 3),
            point: of(800, 1000, 2),
            epochs: EPOCHS,
            before_points: None,
        }
    }

    /// All runs so many times as long.
    pub fn times(self, factor: f64) -> Pace {
        let of = |length: Length| Length {
            warmup: whole_us(length.warmup.mul_f64(factor)),
            duration: whole_us(length.duration.mul_f64(factor)),
            ..length
        };
        Pace {
            first: of(self.first),
            longest: of(self.longest),
            point: of(self.point),
            epochs: (f64::from(self.epochs) * factor).round() as u32,
            before_points: self.before_points.map(|most| most.mul_f64(factor.max(1.0))),
        }
    }

    /// All runs as long as before or longer, and of whole epochs; the same as before if `workers` of a simulated machine would take minutes for that.
    #[must_use]
    pub fn of_epochs(self, epoch: Duration, workers: usize) -> Pace {
        if takes_minutes(epoch, workers) {
            return self;
        }
        let most = self.epochs.max(LEAST_EPOCHS);
        let of = |length: Length, least: u32| {
            let as_before = length.duration.as_nanos().div_ceil(epoch.as_nanos()) as u32;
            let warmup = length.warmup.max(epoch * EPOCHS_BEFORE);
            Length { warmup, duration: epoch * as_before.max(least), ..length }
        };
        let few = FEW_EPOCHS.min(most);
        Pace {
            first: of(self.first, few),
            longest: of(self.longest, most),
            point: of(self.point, few),
            ..self
        }
    }

    /// The heat of a number, from 0.
    pub fn heat(&self, number: usize) -> Length {
        let factor = (REDUCTION_FACTOR as u32).pow(number.min(10) as u32);
        Length {
            warmup: (self.first.warmup * factor).min(self.longest.warmup),
            duration: (self.first.duration * factor).min(self.longest.duration),
            repeat: self.first.repeat,
        }
    }

    /// The final.
    pub fn last(&self) -> Length {
        self.longest
    }
}

/// So that a line has short numbers.
fn whole_us(duration: Duration) -> Duration {
    Duration::from_micros((duration.as_micros() as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heats_grow_until_they_are_as_long_as_the_final() {
        let pace = Pace::on_hardware();
        let ms = |heat| pace.heat(heat).duration.as_millis();
        assert_eq!([ms(0), ms(1), ms(2), ms(3), ms(60)], [40, 120, 200, 200, 200]);
        assert_eq!(pace.heat(9).repeat, 1);
        let twice = pace.times(2.0);
        assert_eq!((twice.first.duration.as_millis(), twice.last().repeat, twice.epochs), (80, 3, 20));
        assert_eq!(twice.before_points, Some(Duration::from_secs(120)));
        assert_eq!(Pace::simulated(72).first.duration, Duration::from_micros(20));
        assert_eq!(Pace::simulated(4).times(0.5).first.duration, Duration::from_micros(175));
    }

    #[test]
    fn runs_are_of_whole_epochs_where_a_simulated_disk_has_them() {
        let us = Duration::from_micros;
        let (short, epoch) = (Pace::simulated(32), us(150));
        assert!(short.longest.duration < epoch, "shorter than one");
        let pace = short.of_epochs(epoch, 32);
        let epochs = |heat| pace.heat(heat).duration.as_micros() / 150;
        assert_eq!([epochs(0), epochs(1), epochs(2)], [4, 10, 10], "as many as levels have, at most");
        let lengths = [pace.first, pace.longest, pace.point];
        assert!(lengths.iter().all(|length| length.warmup == us(450)), "{pace:?}");
        assert_eq!((pace.point.duration, pace.point.repeat), (us(600), short.point.repeat));
        let least = short.times(0.1).of_epochs(epoch, 32);
        assert_eq!((least.first.duration, least.longest.duration), (us(300), us(300)), "two at least");
        // What is long enough is rounded up.
        assert_eq!(short.times(100.0).of_epochs(epoch, 32).first.duration, us(4350));
        assert_eq!(short.of_epochs(us(15_000), 32), short, "that would take minutes");
    }
}
