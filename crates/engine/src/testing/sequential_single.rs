//! KEY_VALUE as a sequential machine: all interleavings of three operations on one record, in both synchronization policies.
//!
//! An operation is a list of steps: a read observes, copies two words, and looks again; a write latches, copies a word, writes two, and publishes; one
//! that rolls back latches and unlatches. In each order of the steps somebody can always go on, a read shows a whole row, which was so
//! between its beginning and its end, no write is lost, and no latch is left. Orders that lead to the same [`State`] go on alike: one of them does.

use super::single_records::{Mutated, NoLatch, OneLook};
use crate::physical::{Owned, Physical, Shared};
use crate::protocol::{KeyValue, Latching};
use std::collections::{HashMap, HashSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Role {
    Read,
    Write,
    RollBack,
}

impl Role {
    const ALL: [Role; 3] = [Role::Read, Role::Write, Role::RollBack];
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Player {
    role: Role,
    /// The step that comes next; `None`: it has ended.
    at: Option<usize>,
    /// Was told to ask again, and nobody else has made a step since.
    is_stalled: bool,
    /// Writes that were published when it began.
    began: Option<u64>,
    version: u64,
    copy: [u64; 2],
}

/// A record, whose row is two words that are the same: the number of its writes.
struct World<P: Latching, F: Physical> {
    meta: P::Meta<F>,
    row: [u64; 2],
    published: u64,
}

impl<P: Latching, F: Physical> World<P, F> {
    /// Makes a player's next step.
    fn step(&mut self, player: &mut Player) -> Result<(), &'static str> {
        let at = player.at.expect("who has ended makes no step");
        let began = *player.began.get_or_insert(self.published);
        player.at = Some(at + 1);
        match (player.role, at) {
            (Role::Read, 0) => match P::observe::<F>(&self.meta) {
                Some(version) => player.version = version,
                None => player.ask_again(),
            },
            (Role::Read, 1 | 2) => player.copy[at - 1] = self.row[at - 1],
            (Role::Read, _) if !P::is_still::<F>(&self.meta, player.version) => player.at = Some(0),
            (Role::Read, _) => {
                player.at = None;
                if player.copy[0] != player.copy[1] {
                    return Err("a torn row");
                }
                if !(began..=self.published).contains(&player.copy[0]) {
                    return Err("a row of another time");
                }
            }
            (Role::Write | Role::RollBack, 0) => {
                if !P::latch::<F>(&self.meta) {
                    player.ask_again();
                }
            }
            (Role::RollBack, _) => {
                P::unlatch::<F>(&self.meta);
                player.at = None;
            }
            (Role::Write, 1) => player.copy = self.row,
            (Role::Write, 2 | 3) => self.row[at - 2] = player.copy[at - 2] + 1,
            (Role::Write, _) => {
                P::publish::<F>(&self.meta);
                self.published += 1;
                player.at = None;
            }
        }
        Ok(())
    }
}

/// All that decides how a world goes on. A record's metadata is a latch and a version: which it is, is seen when it is not latched, and else
/// follows from the number of writes ([`play_all`] asserts that).
#[derive(PartialEq, Eq, Hash)]
struct State {
    observed: Option<u64>,
    row: [u64; 2],
    published: u64,
    players: [Player; 3],
}

impl State {
    fn of<P: Latching, F: Physical>(world: &World<P, F>, players: &[Player; 3]) -> State {
        let observed = P::observe::<F>(&world.meta);
        State { observed, row: world.row, published: world.published, players: *players }
    }
}

impl Player {
    fn ask_again(&mut self) {
        self.at = Some(0);
        self.is_stalled = true;
    }
}

/// One order of the steps: in each state, `choose` takes one of so many players that can go on, or none if it has had enough.
fn play<P: Latching, F: Physical>(
    roles: [Role; 3],
    choose: &mut dyn FnMut(State, usize) -> Option<usize>,
) -> Result<(), &'static str>
where
    P::Meta<F>: Default,
{
    let mut world = World::<P, F> { meta: P::Meta::<F>::default(), row: [0; 2], published: 0 };
    let mut players = roles.map(|role| Player {
        role,
        at: Some(0),
        is_stalled: false,
        began: None,
        version: 0,
        copy: [0; 2],
    });
    while players.iter().any(|player| player.at.is_some()) {
        let can_go_on = |player: &Player| player.at.is_some() && !player.is_stalled;
        let ready: Vec<usize> = (0..players.len()).filter(|&number| can_go_on(&players[number])).collect();
        if ready.is_empty() {
            return Err("nobody can go on");
        }
        let Some(choice) = choose(State::of(&world, &players), ready.len()) else { return Ok(()) };
        let chosen = ready[choice];
        world.step(&mut players[chosen])?;
        if !players[chosen].is_stalled {
            players.iter_mut().for_each(|player| player.is_stalled = false);
        }
    }
    if !P::is_quiescent::<F>(&world.meta) {
        return Err("a latch is left");
    }
    let writes = roles.iter().filter(|role| matches!(role, Role::Write)).count() as u64;
    if world.row == [writes; 2] { Ok(()) } else { Err("a lost write") }
}

/// All orders, depth first, until one is found wanting; how many states they led to.
fn play_all<P: Latching, F: Physical>(roles: [Role; 3]) -> Result<usize, &'static str>
where
    P::Meta<F>: Default,
{
    // What was chosen at each step, of how many.
    let mut path: Vec<(usize, usize)> = Vec::new();
    let mut states = HashSet::new();
    let mut versions: HashMap<u64, u64> = HashMap::new();
    loop {
        let mut depth = 0;
        play::<P, F>(roles, &mut |state, of| {
            if let Some(version) = state.observed {
                let first = *versions.entry(state.published).or_insert(version);
                assert_eq!(version, first, "after {} writes", state.published);
            }
            if depth == path.len() {
                if !states.insert(state) {
                    return None;
                }
                path.push((0, of));
            }
            depth += 1;
            Some(path[depth - 1].0)
        })?;
        while path.last().is_some_and(|&(chosen, of)| chosen + 1 == of) {
            path.pop();
        }
        match path.last_mut() {
            Some((chosen, _)) => *chosen += 1,
            None => return Ok(states.len()),
        }
    }
}

/// Every three operations, in both policies.
fn outcomes<P: Latching>() -> Vec<Result<usize, &'static str>>
where
    P::Meta<Shared>: Default,
    P::Meta<Owned>: Default,
{
    let mut outcomes = Vec::new();
    for (number, &first) in Role::ALL.iter().enumerate() {
        for (other, &second) in Role::ALL.iter().enumerate().skip(number) {
            for &third in &Role::ALL[other..] {
                outcomes.push(play_all::<P, Shared>([first, second, third]));
                outcomes.push(play_all::<P, Owned>([first, second, third]));
            }
        }
    }
    outcomes
}

#[test]
fn single_operations_are_atomic_in_every_order() {
    let states: Vec<usize> =
        outcomes::<KeyValue>().into_iter().map(|outcome| outcome.expect("as it is to be")).collect();
    println!("{states:?} states");
    assert!(states.iter().sum::<usize>() > 5_000, "{states:?}");
}

#[test]
fn a_step_left_out_is_found() {
    assert!(outcomes::<Mutated<NoLatch>>().contains(&Err("a lost write")));
    assert!(outcomes::<Mutated<OneLook>>().contains(&Err("a torn row")));
}
