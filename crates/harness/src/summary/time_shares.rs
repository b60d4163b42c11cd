//! Where the time goes, by class.

use contract::{TimeClass, TimeShare};
use serde::{Deserialize, Serialize};

/// Parts of the whole, 0 to 1, by [`TimeClass`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeShares {
    /// [`TimeClass::Useful`].
    pub useful: f64,
    /// [`TimeClass::Abort`].
    pub abort: f64,
    /// [`TimeClass::Timestamp`].
    pub timestamp: f64,
    /// [`TimeClass::Index`].
    pub index: f64,
    /// [`TimeClass::Wait`].
    pub wait: f64,
    /// [`TimeClass::Manager`].
    pub manager: f64,
}

impl TimeShares {
    /// The classes' parts of what was sampled.
    pub fn of(time: &TimeShare) -> TimeShares {
        TimeShares {
            useful: time.share(TimeClass::Useful),
            abort: time.share(TimeClass::Abort),
            timestamp: time.share(TimeClass::Timestamp),
            index: time.share(TimeClass::Index),
            wait: time.share(TimeClass::Wait),
            manager: time.share(TimeClass::Manager),
        }
    }

    /// One class's part.
    pub fn get(&self, class: TimeClass) -> f64 {
        match class {
            TimeClass::Useful => self.useful,
            TimeClass::Abort => self.abort,
            TimeClass::Timestamp => self.timestamp,
            TimeClass::Index => self.index,
            TimeClass::Wait => self.wait,
            TimeClass::Manager => self.manager,
        }
    }
}
