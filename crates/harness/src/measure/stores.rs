//! Systems by turns: in every repetition each of them runs once, and each repetition starts with another one.
//!
//! A store serves all systems of one [`Layout`] as long as none can tell it from a newly loaded one ([`Session::is_as_new`]): once
//! one of them has inserted or deleted, or updated rows that decide what transactions do, it is audited and loaded anew for the next
//! one, which would otherwise run over what the others left behind. A system that is alone over its store goes on over it. A store that is as
//! new serves the next workload, too, if that loads the same tables ([`Stores::turn_to`]). Stores of different layouts lie side by side in
//! memory, so that systems that want different ones take turns, too. Where memory does not have room for all of them, systems are taken in
//! groups, one after the other, and results say so: what is compared across groups was measured at different times.
//!
//! A machine that repeats bit for bit has nothing that turns would even out; there, repetitions run apart (`apart.rs`).

use super::{After, Session, apart, capacity, division, layouts};
use crate::failure::Failure;
use crate::observer::{Event, Observer};
use crate::options::{Division, RunOptions};
use crate::summary::{Check, Group, Measured, Turns};
use contract::{Durability, Engine, Layout, LoadError, Measurement, PairName, Selection};
use workloads::audit::Audited;

/// The loaded stores of one workload, or of one after another.
pub struct Stores<'a, E: Engine, W: Audited> {
    workload: &'a W,
    sessions: Vec<Session<'a, E, W>>,
}

impl<'a, E: Engine, W: Audited> Stores<'a, E, W> {
    /// None are loaded yet.
    pub fn of(workload: &'a W) -> Self {
        Stores { workload, sessions: Vec::new() }
    }

    /// Serves another workload from now on, with the stores that are as if newly loaded for it; forgets the others.
    pub fn turn_to(&mut self, workload: &'a W) {
        self.forget_changed();
        if !std::ptr::eq(workload, self.workload) {
            self.sessions.retain(|session| workload.loads_as(session.workload()));
            self.sessions.iter_mut().for_each(|session| session.turn_to(workload));
            self.workload = workload;
        }
    }

    /// Forgets the stores that are not as good as newly loaded, so that what runs next does not depend on what ran before; and those
    /// that are logged, for what runs next may be logged otherwise, or not.
    pub fn forget_changed(&mut self) {
        self.sessions.retain(|session| session.is_as_new() && !session.has_log());
    }

    /// Runs the repetitions of `systems`: by turns, or apart. What an audit finds concerns all systems of its store.
    pub fn measure(
        &mut self,
        systems: &mut [&mut Measured],
        options: &RunOptions,
        after: After,
        observer: &dyn Observer,
    ) -> Result<Turns, Failure> {
        let divided = self.divide(systems, options, observer)?;
        let options = divided.as_ref().unwrap_or(options);
        self.find_capacities(systems, options, observer)?;
        self.measure_as_told(systems, options, after, observer)
    }

    fn measure_as_told(
        &mut self,
        systems: &mut [&mut Measured],
        options: &RunOptions,
        after: After,
        observer: &dyn Observer,
    ) -> Result<Turns, Failure> {
        match E::REPEATS {
            true => apart::measure(self.workload, &mut self.sessions, systems, options, after, observer),
            false => self.measure_by_turns(systems, options, after, observer),
        }
    }

    /// Chooses how many workers do concurrency control, if that is left to short runs and there is a system that has such; answers the options
    /// with that number.
    fn divide(
        &mut self,
        systems: &mut [&mut Measured],
        options: &RunOptions,
        observer: &dyn Observer,
    ) -> Result<Option<RunOptions>, Failure> {
        let divided = systems.iter_mut().find(|system| division::is_divided(system.pair));
        let Some(system) = divided.filter(|_| options.division == Division::Measured) else {
            return Ok(None);
        };
        let pair = system.pair;
        let chosen = division::choose(options.workers - 1, |cc_threads| {
            let mut tried = Measured::nothing_yet(pair);
            let trial = division::trial(options, cc_threads);
            self.measure_as_told(&mut [&mut tried], &trial, After::Nothing, observer)?;
            Ok(tried.repetitions.first().map(Measurement::throughput_per_s))
        })?;
        observer.tell(Event::Note(&format!("cc-threads under {}: {chosen}", pair.shown())));
        self.forget_trials(options);
        let options = division::told(options, chosen.cc_threads);
        system.cc_threads_chosen = Some(chosen);
        Ok(Some(options))
    }

    /// Finds what each system commits in a closed loop, if the rate of an open one is a part of that.
    fn find_capacities(
        &mut self,
        systems: &mut [&mut Measured],
        options: &RunOptions,
        observer: &dyn Observer,
    ) -> Result<(), Failure> {
        if options.percent_of_capacity.is_none() {
            return Ok(());
        }
        let mut systems: Vec<&mut &mut Measured> =
            systems.iter_mut().filter(|system| system.capacity_per_s.is_none()).collect();
        if systems.is_empty() {
            return Ok(());
        }
        let mut tried: Vec<Measured> =
            systems.iter().map(|system| Measured::nothing_yet(system.pair)).collect();
        let trial = capacity::trial(options);
        self.measure_as_told(&mut tried.iter_mut().collect::<Vec<_>>(), &trial, After::Nothing, observer)?;
        for (system, tried) in systems.iter_mut().zip(&tried) {
            system.capacity_per_s = capacity::of(&tried.repetitions);
            if let Some(per_s) = system.capacity_per_s {
                let (name, rate) = (system.pair.shown(), options.get("rate"));
                observer.tell(Event::Note(&capacity::note(&name, per_s, &rate)));
            }
        }
        self.forget_trials(options);
        Ok(())
    }

    /// What follows depends on no trial; and none was logged.
    fn forget_trials(&mut self, options: &RunOptions) {
        match options.logging.level {
            Durability::None => self.forget_changed(),
            _ => self.sessions.clear(),
        }
    }

    fn measure_by_turns(
        &mut self,
        systems: &mut [&mut Measured],
        options: &RunOptions,
        after: After,
        observer: &dyn Observer,
    ) -> Result<Turns, Failure> {
        let pairs: Vec<PairName> = systems.iter().map(|system| system.pair).collect();
        let mut waiting = layouts::<E>(&pairs, options)?;
        let mut turns = Turns::default();
        while !waiting.is_empty() && !observer.is_interrupted() {
            let ready = self.load(&mut waiting, observer)?;
            let mut group: Vec<(Layout, &mut Measured)> = Vec::new();
            for system in systems.iter_mut() {
                let layout = super::layout_of::<E>(system.pair, options)?;
                if ready.contains(&layout) {
                    group.push((layout, system));
                }
            }
            self.take_turns(&mut group, options, after, observer)?;
            if after == After::Audit {
                self.audit(&mut group, options)?;
            }
            let systems = group.iter().map(|(_, system)| system.pair.to_string()).collect();
            turns.groups.push(Group { systems, stores: ready.len() });
        }
        Ok(turns)
    }

    /// Loads stores of the layouts that are waited for, as many as there is room for, one at least, and keeps those that are there
    /// already; takes them off `waiting` and answers which. A store that nobody waits for is forgotten.
    fn load(&mut self, waiting: &mut Vec<Layout>, observer: &dyn Observer) -> Result<Vec<Layout>, Failure> {
        self.sessions.retain(|session| waiting.contains(&session.layout()));
        let mut ready = Vec::new();
        while let Some(&layout) = waiting.first() {
            let is_loaded = self.sessions.iter().any(|session| session.layout() == layout);
            if !ready.is_empty() && !is_loaded && !self.has_room() {
                break;
            }
            if !is_loaded {
                match Session::load(self.workload, layout, observer) {
                    Ok(session) => self.sessions.push(session),
                    Err(Failure::Load(LoadError::Memory { .. })) if !self.sessions.is_empty() => {
                        if !ready.is_empty() {
                            break;
                        }
                        // Only what somebody waits for later is in the way.
                        self.sessions.clear();
                        continue;
                    }
                    Err(failure) => return Err(failure),
                }
            }
            ready.push(waiting.remove(0));
        }
        Ok(ready)
    }

    /// Whether there is room for one more store, and for all of them to grow.
    fn has_room(&self) -> bool {
        let taken: u64 = self.sessions.iter().map(|session| session.memory().bytes).sum();
        let largest = self.sessions.iter().map(|session| session.memory().bytes).max().unwrap_or(0);
        E::available_bytes() >= taken + 2 * largest
    }

    fn session(&mut self, layout: Layout) -> &mut Session<'a, E, W> {
        let found = self.sessions.iter_mut().find(|session| session.layout() == layout);
        found.expect("the stores of a group are loaded")
    }

    fn take_turns(
        &mut self,
        group: &mut [(Layout, &mut Measured)],
        options: &RunOptions,
        after: After,
        observer: &dyn Observer,
    ) -> Result<(), Failure> {
        let runs = group.len() * options.repeat;
        observer.tell(Event::MeasureBegins { runs, each: options.repetition() });
        let systems = group.len();
        let of_round = |repetition| (0..systems).map(move |position| (repetition, position));
        for (repetition, position) in (0..options.repeat).flat_map(of_round) {
            if observer.is_interrupted() {
                break;
            }
            let turn = (position + repetition) % systems;
            self.renew(group, group[turn].0, options, after, observer)?;
            let (layout, system) = &mut group[turn];
            let name = system.pair.shown();
            let (number, of) = (repetition + 1, options.repeat);
            observer.tell(Event::RunBegins { system: &name, repetition: number, of });
            let session = self.session(*layout);
            let (measurement, checks) =
                session.repetition(Selection::Pair(system.pair), &system.told(options), repetition)?;
            system.repetitions.push(measurement);
            system.memory = session.memory();
            system.log = session.log_report()?;
            Check::join(&mut system.checks, checks);
        }
        observer.tell(Event::MeasureEnds);
        Ok(())
    }

    /// Before a system runs over the store of `layout`: another one where others have changed it.
    fn renew(
        &mut self,
        group: &mut [(Layout, &mut Measured)],
        layout: Layout,
        options: &RunOptions,
        after: After,
        observer: &dyn Observer,
    ) -> Result<(), Failure> {
        let is_shared = group.iter().filter(|(of, _)| *of == layout).count() > 1;
        if !is_shared || self.session(layout).is_as_new() {
            return Ok(());
        }
        if after == After::Audit {
            let mut those: Vec<(Layout, &mut Measured)> = group
                .iter_mut()
                .filter(|(of, _)| *of == layout)
                .map(|(of, system)| (*of, &mut **system))
                .collect();
            self.audit(&mut those, options)?;
        }
        // The old one is gone before the new one takes its memory.
        self.sessions.retain(|session| session.layout() != layout);
        self.sessions.push(Session::load(self.workload, layout, observer)?);
        Ok(())
    }

    /// Audits each store, as the system reads it that ran last over it.
    fn audit(&mut self, group: &mut [(Layout, &mut Measured)], options: &RunOptions) -> Result<(), Failure> {
        let mut audited = Vec::new();
        for position in (0..group.len()).rev() {
            let (layout, pair) = (group[position].0, group[position].1.pair);
            if audited.contains(&layout) {
                continue;
            }
            audited.push(layout);
            let checks = self.session(layout).audit(Selection::Pair(pair), options)?;
            for (_, system) in group.iter_mut().filter(|(of, _)| *of == layout) {
                Check::join(&mut system.checks, checks.clone());
            }
        }
        Ok(())
    }
}
