//! Judging a scenario: is there a serial order that explains a round?
//!
//! The roles are played on a sequential store in every order (there are 24 at most), and what each was answered
//! and what was left is compared with the round. Equal rounds are judged once.

use super::Scenario;
use super::play::{Answer, KeyName, MISSING, Play, ROW_BYTES, ROWS, Seen, number_of, row_of};
use super::workload::{Played, Player, ScenarioWorkload};
use crate::checked_run::{CheckedRunError, Setting};
use crate::final_read::{FinalRead, FinalRows};
use contract::{
    Abort, Clocks, Direction, Engine, Insertion, Key, Merge, Outcome, Presence, Scan, Span, TableId,
    Transaction, Workload,
};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use serde::Serialize;
use std::fmt;

/// Violations that a judgement describes; the others are only counted.
const MOST_DESCRIBED: usize = 4;

/// What came of a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// Its name.
    pub scenario: &'static str,
    /// Rounds that all roles played.
    pub rounds: u64,
    /// Those in which roles ran at the same time. Few of them prove little.
    pub overlapping: u64,
    /// Rounds that no serial order explains.
    pub violations: u64,
    /// The first few of them.
    pub examples: Vec<String>,
}

impl Judgement {
    /// Whether every round can be explained.
    pub fn is_serializable(&self) -> bool {
        self.violations == 0
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Judgement { scenario, rounds, overlapping, violations, examples } = self;
        write!(f, "{scenario}: {rounds} rounds, {overlapping} of them overlapping, ")?;
        if self.is_serializable() {
            return f.write_str("each as in some serial order");
        }
        write!(f, "{violations} as in NO serial order")?;
        examples.iter().try_for_each(|example| write!(f, "\n  {example}"))
    }
}

/// Loads, plays, reads back and judges. The setting must have as many workers as the scenario has roles, or more.
pub fn run_scenario<E: Engine>(
    scenario: &'static Scenario,
    setting: &Setting,
    rounds: u64,
) -> Result<Judgement, CheckedRunError> {
    let workload = ScenarioWorkload::new(scenario, setting.workers, rounds);
    let mut store = setting.load::<E, _>(&workload, &|_| {})?;
    let clients = setting.clients::<E, _>(&workload);
    let run = setting.run::<E, _>(&mut store, clients)?;
    let read = workload.final_read(&run.clients);
    let rows = read.rows(setting.read_back::<E>(&mut store, &read));
    Ok(workload.judge(&run.clients, &run.clocks, &rows))
}

/// By key of the round.
type State = Vec<i64>;

/// What is compared: by role what it was answered and how it ended, and what was left.
type Story = (Vec<(Seen, bool)>, State);

impl ScenarioWorkload {
    /// Reads back the keys of all rounds that all roles played.
    pub fn final_read(&self, players: &[Player]) -> FinalRead {
        let mut keys = Vec::new();
        for team in 0..self.teams() {
            for round in 0..self.rounds_of(team, players) {
                let first = self.first_key(team, round);
                let end = self.first_key(team, round + 1);
                keys.extend((first..end).map(|key| (ROWS, Key(key))));
            }
        }
        FinalRead::of_rows(self.tables(), keys)
    }

    /// Judges the rounds that the players of a finished run played, and what they left.
    pub fn judge(&self, players: &[Player], clocks: &Clocks, rows: &FinalRows) -> Judgement {
        let left: HashMap<u64, i64, FixedState> =
            rows.iter().map(|(_, key, row)| (key.0, row.map_or(MISSING, number_of))).collect();
        let mut judgement = Judgement {
            scenario: self.scenario().name,
            rounds: 0,
            overlapping: 0,
            violations: 0,
            examples: Vec::new(),
        };
        let mut judged: HashMap<Story, bool, FixedState> = HashMap::default();
        for team in 0..self.teams() {
            for round in 0..self.rounds_of(team, players) {
                let played = self.played(team, round, players, clocks);
                let first = self.first_key(team, round);
                let end = self.first_key(team, round + 1);
                let state = (first..end).map(|key| left[&key]).collect();
                let told =
                    played.iter().map(|played| (played.seen, played.outcome == Outcome::Commit)).collect();
                let story = (told, state);
                judgement.rounds += 1;
                judgement.overlapping += u64::from(overlap(&played));
                let explained =
                    *judged.entry(story.clone()).or_insert_with(|| is_explained(self.scenario(), &story));
                if !explained {
                    judgement.violations += 1;
                    if judgement.examples.len() < MOST_DESCRIBED {
                        judgement.examples.push(in_words(self.scenario(), team, round, &story));
                    }
                }
            }
        }
        judgement
    }

    fn team(&self, team: usize, players: &[Player]) -> impl Iterator<Item = usize> {
        (0..players.len()).filter(move |player| !players[*player].rests && players[*player].team == team)
    }

    /// Rounds that all of a team's roles played.
    fn rounds_of(&self, team: usize, players: &[Player]) -> u64 {
        let rounds = self.team(team, players).map(|player| players[player].played.len() as u64);
        rounds.min().unwrap_or(0)
    }

    /// By role, how a round went, and between which readings of the first clock it ran for certain.
    fn played(&self, team: usize, round: u64, players: &[Player], clocks: &Clocks) -> Vec<Played> {
        let of_role = |player: usize| {
            let played = players[player].played[round as usize];
            let began_ns = *clocks.by_first(player, played.began_ns).end();
            let ended_ns = *clocks.by_first(player, played.ended_ns).start();
            (players[player].role, Played { began_ns, ended_ns, ..played })
        };
        let mut by_role: Vec<(usize, Played)> = self.team(team, players).map(of_role).collect();
        by_role.sort_by_key(|(role, _)| *role);
        by_role.into_iter().map(|(_, played)| played).collect()
    }
}

/// Whether any two of these ran at the same time: each had begun, at the latest, before the other ended, at the earliest.
fn overlap(played: &[Played]) -> bool {
    (0..played.len()).any(|one| {
        played[one + 1..]
            .iter()
            .any(|other| other.began_ns <= played[one].ended_ns && played[one].began_ns <= other.ended_ns)
    })
}

fn in_words(scenario: &Scenario, team: usize, round: u64, (told, state): &Story) -> String {
    let mut words = format!("round {round} of team {team}:");
    for ((name, _), (seen, committed)) in scenario.roles.iter().zip(told) {
        let ended = if *committed { "committed" } else { "rolled back" };
        words += &format!(" {name} was answered [{seen}] and {ended};");
    }
    let holds = |(key, number): (usize, &i64)| format!("{} is {}", KeyName(key), Answer(*number));
    let mut left: Vec<String> = state.iter().enumerate().map(holds).collect();
    let last = left.pop().expect("a round has keys");
    words + &format!(" in the end {} and {last}", left.join(", "))
}

/// Whether some order of the roles tells this story.
fn is_explained(scenario: &Scenario, story: &Story) -> bool {
    let first: State = scenario.loaded.iter().map(|number| number.unwrap_or(MISSING)).collect();
    let mut order: Vec<usize> = Vec::new();
    search(scenario, story, &first, &mut order)
}

fn search(scenario: &Scenario, story: &Story, state: &State, played: &mut Vec<usize>) -> bool {
    if played.len() == scenario.roles.len() {
        return *state == story.1;
    }
    (0..scenario.roles.len()).any(|role| {
        if played.contains(&role) {
            return false;
        }
        let mut store = SerialStore { state: state.clone() };
        let (answered, outcome) = {
            let mut play = Play::new(&mut store, 0, scenario.keys());
            let outcome = scenario.roles[role].1(&mut play).expect("a serial store never aborts");
            (play.seen(), outcome)
        };
        if (answered, outcome == Outcome::Commit) != story.0[role] {
            return false;
        }
        played.push(role);
        let next = if outcome == Outcome::Commit { &store.state } else { state };
        let found = search(scenario, story, next, played);
        played.pop();
        found
    })
}

/// The keys of one round, played on by one role at a time.
struct SerialStore {
    state: State,
}

impl SerialStore {
    fn change(&mut self, key: Key, span: Span, change: &mut dyn FnMut(&mut [u8])) -> Presence {
        let number = &mut self.state[key.0 as usize];
        if *number == MISSING {
            return Presence::Missing;
        }
        let mut row = row_of(*number);
        change(&mut row[span.start()..span.end()]);
        *number = number_of(&row);
        Presence::Present
    }
}

impl Transaction for SerialStore {
    fn read(
        &mut self,
        _: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        Ok(self.change(key, span, &mut |row| see(row)))
    }

    fn update(
        &mut self,
        _: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        Ok(self.change(key, span, change))
    }

    fn write(&mut self, _: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        Ok(self.change(key, Span::new(offset, bytes.len()), &mut |row| row.copy_from_slice(bytes)))
    }

    fn merge(
        &mut self,
        _: TableId,
        key: Key,
        span: Span,
        merge: Merge,
        argument: &[u8],
    ) -> Result<Presence, Abort> {
        Ok(self.change(key, span, &mut |row| merge(row, &mut argument.to_vec())))
    }

    fn read_whole(&mut self, _: TableId, key: Key, see: &mut dyn FnMut(&[u8])) -> Result<Presence, Abort> {
        Ok(self.change(key, Span::whole(ROW_BYTES), &mut |row| see(row)))
    }

    fn replace(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Presence, Abort> {
        self.write(table, key, 0, row)
    }

    fn insert(&mut self, _: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        let number = &mut self.state[key.0 as usize];
        if *number != MISSING {
            return Ok(Insertion::Exists);
        }
        *number = number_of(row);
        Ok(Insertion::Inserted)
    }

    fn delete(&mut self, _: TableId, key: Key) -> Result<Presence, Abort> {
        let number = std::mem::replace(&mut self.state[key.0 as usize], MISSING);
        Ok(if number == MISSING { Presence::Missing } else { Presence::Present })
    }
    fn key(&mut self, _: TableId, _: &[u8]) -> Key {
        unreachable!("a scenario's keys are numbers")
    }

    fn scan(&mut self, scan: &Scan<'_>, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        let rows = (0..).zip(&self.state).filter(|(_, number)| **number != MISSING);
        let mut rows: Vec<_> = rows.map(|(key, number)| (Key(key).bytes(), row_of(*number))).collect();
        rows.retain(|(key, _)| scan.covers(key));
        if scan.direction == Direction::Backward {
            rows.reverse();
        }
        rows.truncate(scan.limit);
        rows.iter().for_each(|(key, row)| see(key, &row[scan.span.start()..scan.span.end()]));
        Ok(rows.len())
    }
}
