//! anomalies: small scenarios by name, each a few given procedures over the same few keys.
//!
//! A scenario is played in rounds, each on fresh keys. What its procedures saw, and what they left, must be what
//! *some* serial order of them would have given: the judge plays every order on a sequential store and compares
//! (`judge.rs`). A round's keys follow each other, so roles may scan among them. So no scenario says what is allowed; its procedures do. Stamps are not involved, which makes this a
//! check of the checker too.
//!
//! Players must meet, or the rounds would pass each other by: before every few rounds a team's players announce
//! themselves in rows of their own and look until all have come (`workload.rs`). The meeting goes through the engine
//! like everything else, so scenarios run on the simulated machine as they do on the hardware.

mod judge;
mod play;
mod range_roles;
mod roles;
mod scenarios;
mod workload;

pub use judge::{Judgement, run_scenario};
pub use play::{MISSING, Play, Seen};
pub use scenarios::scenarios;
pub use workload::{PlayProcedure, Player, ScenarioWorkload};

use contract::{Abort, Indexing, Outcome};

/// A procedure of a scenario.
pub type Role = fn(&mut Play<'_>) -> Result<Outcome, Abort>;

/// A few procedures over the same few keys.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// On the command line: kebab-case.
    pub name: &'static str,
    /// One line: who does what, and what must not come of it.
    pub description: &'static str,
    /// How the rows are found; [`Indexing::Ordered`] where a role scans.
    pub indexing: Indexing,
    /// What loading leaves at each key of a round; `None` for no row.
    pub loaded: &'static [Option<i64>],
    /// The procedures, one worker each.
    pub roles: &'static [(&'static str, Role)],
}

impl Scenario {
    /// The scenario of this name.
    pub fn named(name: &str) -> Option<&'static Scenario> {
        scenarios().iter().find(|scenario| scenario.name == name)
    }

    /// Keys of a round.
    pub fn keys(&self) -> usize {
        self.loaded.len()
    }

    /// Workers that it needs; more come in further teams, and those that are left over rest.
    pub fn workers(&self) -> usize {
        self.roles.len()
    }
}
