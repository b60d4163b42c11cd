//! Playing a scenario: teams of workers, one role each, that meet before every few rounds.

use super::Scenario;
use super::play::{Play, ROW_BYTES, ROWS, Seen, row_of};
use contract::telling::{tell, told};
use contract::{
    Abort, Access, Client, Completion, Erased, Indexing, Key, Outcome, PartitionFunction, Plan, Procedure,
    RowLength, Seat, Span, TableDescription, TableId, Transaction, Workload,
};
use std::cell::Cell;

/// One row a worker: the last meeting that it came to.
const MEETINGS: TableId = TableId(1);
/// Rounds that are played between two meetings: a role that is slower than the others must not be left behind.
const ROUNDS_PER_MEETING: u64 = 2;

/// A player who has a core to itself should be looking when the last one comes; one who shares it should let the
/// others on. An engine draws transactions in bursts, in which all but one of a player's are rests: so many looks are
/// some hundred transactions.
const LOOKS_PER_YIELD: u64 = 16;

/// A scenario, for a number of workers and rounds.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioWorkload {
    scenario: &'static Scenario,
    workers: usize,
    rounds: u64,
}

impl ScenarioWorkload {
    /// `rounds` rounds for every whole team among `workers` workers.
    ///
    /// Panics if there are fewer workers than roles.
    pub fn new(scenario: &'static Scenario, workers: usize, rounds: u64) -> Self {
        let roles = scenario.workers();
        assert!(
            workers >= roles,
            "scenario {} needs {roles} workers, and there are {workers}",
            scenario.name
        );
        ScenarioWorkload { scenario, workers, rounds }
    }

    /// The scenario.
    pub fn scenario(&self) -> &'static Scenario {
        self.scenario
    }

    /// Transactions of each worker within which most rounds are played; how long players look for each other
    /// depends on the machine.
    pub fn transactions_per_worker(&self) -> u64 {
        self.rounds * 12
    }

    pub(super) fn teams(&self) -> usize {
        self.workers / self.scenario.workers()
    }

    fn loaded(&self) -> impl Iterator<Item = (usize, i64)> {
        (0..).zip(self.scenario.loaded).filter_map(|(key, number)| Some((key, (*number)?)))
    }

    /// The first key of a team's round.
    pub(super) fn first_key(&self, team: usize, round: u64) -> u64 {
        (team as u64 * self.rounds + round) * self.scenario.keys() as u64
    }
}

impl Workload for ScenarioWorkload {
    type Client = Player;

    fn tables(&self) -> Vec<TableDescription> {
        let rounds = self.teams() as u64 * self.rounds;
        let table = |name, indexing, row_bytes, rows, capacity| TableDescription {
            name,
            row_bytes,
            length: RowLength::Fixed,
            kept_bytes: row_bytes,
            rows,
            capacity,
            indexing,
            partition: PartitionFunction::Remainder,
        };
        let (workers, loaded) = (self.workers as u64, self.loaded().count() as u64);
        let Scenario { indexing, .. } = *self.scenario;
        let capacity = rounds * self.scenario.keys() as u64;
        vec![
            table("row", indexing, ROW_BYTES, rounds * loaded, capacity),
            table("meeting", Indexing::Hashed, 8, workers, workers),
        ]
    }

    fn loaded_key(&self, table: TableId, row: u64) -> Key {
        if table != ROWS {
            return Key(row);
        }
        let loaded = self.loaded().count() as u64;
        let (key, _) = self.loaded().nth((row % loaded) as usize).expect("a remainder is below its divisor");
        Key(row / loaded * self.scenario.keys() as u64 + key as u64)
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        if table == ROWS {
            let number = self.scenario.loaded[key.0 as usize % self.scenario.keys()]
                .expect("only loaded keys are filled");
            row.copy_from_slice(&row_of(number));
        }
    }

    fn client(&self, seat: Seat) -> Player {
        assert_eq!(seat.workers, self.workers, "the workload was made for another number of workers");
        let roles = self.scenario.workers();
        let (team, role) = (seat.worker / roles, seat.worker % roles);
        Player {
            workload: *self,
            team,
            role,
            partitions: seat.partitions,
            seed: seat.seed,
            rests: team >= self.teams(),
            is_busy: false,
            announced: 0,
            met: 0,
            looks: 0,
            played: Vec::with_capacity(self.rounds as usize),
        }
    }
}

/// How a role's round went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Played {
    pub outcome: Outcome,
    pub seen: Seen,
    pub began_ns: u64,
    pub ended_ns: u64,
}

/// One worker's part in a scenario.
#[derive(Debug)]
pub struct Player {
    workload: ScenarioWorkload,
    pub(super) team: usize,
    pub(super) role: usize,
    partitions: u32,
    seed: u64,
    /// Left over, without a team.
    pub(super) rests: bool,
    /// Whether a transaction is in flight: a player does one thing after the other.
    is_busy: bool,
    /// The last meeting that it told the others of.
    announced: u64,
    /// The last meeting to which all came.
    met: u64,
    /// How often it looked whether all have come.
    looks: u64,
    /// By round.
    pub(super) played: Vec<Played>,
}

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// Nothing: a further transaction while the first is in flight, or all rounds are over.
    Rest,
    /// Tell the others of a meeting.
    Announce { meeting: u64 },
    /// See whether all have come.
    Look { meeting: u64 },
    /// Play a round, whose keys are planned, or not.
    Play { round: u64, is_planned: bool },
}

impl Client for Player {
    type Procedure = PlayProcedure;

    fn next(&mut self) -> PlayProcedure {
        let round = self.played.len() as u64;
        let meeting = round / ROUNDS_PER_MEETING + 1;
        let act = if self.rests || self.is_busy || round == self.workload.rounds {
            Act::Rest
        } else if self.announced < meeting {
            Act::Announce { meeting }
        } else if self.met < meeting {
            self.looks += 1;
            if self.looks.is_multiple_of(LOOKS_PER_YIELD) {
                // Somebody who has not come may wait for this very core. Where cores are simulated, nothing happens.
                std::thread::yield_now();
            }
            Act::Look { meeting }
        } else {
            // A run may have one round only.
            Act::Play { round, is_planned: (self.seed + round).is_multiple_of(2) }
        };
        self.is_busy |= act != Act::Rest;
        let Player { workload, team, role, partitions, .. } = *self;
        PlayProcedure {
            workload,
            team,
            role,
            partitions,
            act,
            seen: Cell::default(),
            all_came: Cell::new(false),
        }
    }

    fn finished(&mut self, procedure: PlayProcedure, completion: &Completion<'_>) {
        match procedure.act {
            Act::Rest => return,
            Act::Announce { meeting } => self.announced = meeting,
            Act::Look { meeting } if procedure.all_came.get() => self.met = meeting,
            Act::Look { .. } => {}
            Act::Play { .. } => {
                let Completion { outcome, began_ns, ended_ns, .. } = *completion;
                self.played.push(Played { outcome, seen: procedure.seen.get(), began_ns, ended_ns });
            }
        }
        self.is_busy = false;
    }

    fn tell(&self, into: &mut Vec<u8>) {
        let played = self.played.iter();
        let told: Vec<_> =
            played.map(|role| (role.outcome, role.seen.answers(), role.began_ns, role.ended_ns)).collect();
        tell(&told, into);
    }

    fn hear(&mut self, heard: &[u8]) -> Option<()> {
        let heard: Vec<(_, Vec<i64>, _, _)> = told(heard)?;
        let played = heard.into_iter().map(|(outcome, answers, began_ns, ended_ns)| {
            Some(Played { outcome, seen: Seen::of(&answers)?, began_ns, ended_ns })
        });
        self.played = played.collect::<Option<_>>()?;
        Some(())
    }
}

/// A role's round, or a part of a meeting.
#[derive(Debug)]
pub struct PlayProcedure {
    workload: ScenarioWorkload,
    team: usize,
    role: usize,
    partitions: u32,
    act: Act,
    seen: Cell<Seen>,
    all_came: Cell<bool>,
}

impl PlayProcedure {
    fn worker(&self, role: usize) -> Key {
        Key((self.team * self.workload.scenario.workers() + role) as u64)
    }

    fn others(&self) -> impl Iterator<Item = Key> {
        let roles = self.workload.scenario.workers();
        (0..roles).filter(|role| *role != self.role).map(|role| self.worker(role))
    }

    fn look<T: Transaction + ?Sized>(&self, txn: &mut T, meeting: u64) -> Result<bool, Abort> {
        let mut all_came = true;
        for other in self.others() {
            let mut came = 0;
            let _ = txn.read(MEETINGS, other, Span::whole(8), &mut |row| came = crate::version::word(row))?;
            all_came &= came >= meeting;
        }
        Ok(all_came)
    }
}

impl Procedure for PlayProcedure {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        match self.act {
            Act::Rest => Ok(Outcome::Commit),
            Act::Announce { meeting } => {
                let _ = txn.write(MEETINGS, self.worker(self.role), 0, &meeting.to_le_bytes())?;
                Ok(Outcome::Commit)
            }
            Act::Look { meeting } => {
                self.all_came.set(self.look(txn, meeting)?);
                Ok(Outcome::Commit)
            }
            Act::Play { round, .. } => {
                let mut erased = Erased(txn);
                let scenario = self.workload.scenario;
                let first = self.workload.first_key(self.team, round);
                let mut play = Play::new(&mut erased, first, scenario.keys());
                let (_, role) = scenario.roles[self.role];
                let outcome = role(&mut play)?;
                self.seen.set(play.seen());
                Ok(outcome)
            }
        }
    }

    fn plan<T: Transaction + ?Sized>(&self, _txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        match self.act {
            Act::Rest => {}
            Act::Announce { .. } => {
                plan.touch(MEETINGS, self.worker(self.role), Span::whole(8), Access::Write)
            }
            Act::Look { .. } => {
                self.others().for_each(|other| plan.touch(MEETINGS, other, Span::whole(8), Access::Read));
            }
            Act::Play { round, is_planned } => {
                let first = self.workload.first_key(self.team, round);
                for key in first..self.workload.first_key(self.team, round + 1) {
                    match is_planned {
                        // More than some roles touch; what they do to a key depends on what they see.
                        true => plan.touch(ROWS, Key(key), Span::whole(ROW_BYTES), Access::Structure),
                        // Who asks ahead for what is planned would run one role after the other.
                        false => plan.declare(ROWS, Key(key)),
                    }
                }
                if self.workload.scenario.indexing != Indexing::Hashed {
                    // A scan goes through all partitions, and the key of this number is in the partition of this number.
                    (0..self.partitions).for_each(|part| plan.declare(ROWS, Key(u64::from(part))));
                }
            }
        }
        Ok(())
    }
}
