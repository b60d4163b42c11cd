//! How long each stage takes.

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
    /// The first heat; each further one is twice as long.
    pub first: Length,
    /// No heat is longer, and the final's repetitions are as long.
    pub longest: Length,
    /// A point of an axis.
    pub point: Length,
    /// By how much a system must lead at a point of an axis, of which one short run tells, to lead for certain: a factor.
    pub margin: f64,
}

impl Pace {
    /// The machine at hand: half a minute, with few rows to load.
    pub fn on_hardware() -> Pace {
        let of = |warmup_ms, duration_ms, repeat| Length {
            warmup: Duration::from_millis(warmup_ms),
            duration: Duration::from_millis(duration_ms),
            repeat,
        };
        Pace { first: of(20, 40, 1), longest: of(100, 300, 3), point: of(50, 150, 1), margin: 1.15 }
    }

    /// A simulated machine: so much of its time that all its cores together have about equally many transactions, however many they are.
    pub fn simulated(cores: usize) -> Pace {
        let share = |core_us: u64| Duration::from_micros((core_us / cores as u64).max(20));
        let of =
            |warmup, duration, repeat| Length { warmup: share(warmup), duration: share(duration), repeat };
        Pace { first: of(700, 700, 1), longest: of(1400, 2000, 3), point: of(1000, 1400, 1), margin: 1.1 }
    }

    /// The heat of a number, from 0.
    pub fn heat(&self, number: usize) -> Length {
        let factor = 1u32 << number.min(16);
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
