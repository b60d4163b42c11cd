//! Ours and Ignite over one workload, by turns: each over a store of its own, which stays loaded; in each repetition all run once, and
//! each repetition begins with another one. Each store is audited at the end.

use crate::Ignite;
use crate::isolation::{Isolation, SERIALIZABLE};
use crate::limits;
use contract::{
    AnyType, ArchitectureName, ChannelName, Engine, Instances, Key, Layout, PairName, ProtocolName, Seat,
    Selection, TableDescription, TableId, Workload,
};
use harness::measure::Session;
use harness::results::{CompareResult, Surroundings, System};
use harness::summary::{Check, Group, Measured, Turns, Unmeasured, in_lines};
use harness::{Event, Failure, Observer, RunOptions, Subject};
use workloads::audit::Audited;
use workloads::{AnyWorkload, WorkloadVisitor};

/// What is compared.
pub struct Agenda<'a> {
    /// The workload, and how all are measured.
    pub subject: &'a Subject,
    /// The same workload.
    pub workload: &'a AnyWorkload,
    /// Nodes of Ignite, and instances of ours.
    pub nodes: usize,
    /// How Ignite is measured: as the others are, but that its back-off may be another.
    pub over_ignite: RunOptions,
    /// Who is told.
    pub observer: &'a dyn Observer,
}

impl<'a> Agenda<'a> {
    /// Measures ours and Ignite, and ranks them.
    pub fn carry_out(&self, surroundings: &'a Surroundings) -> Result<CompareResult<'a>, Failure> {
        limits::admit(self.workload)?;
        limits::admit_sizes(self.subject.options.workers, self.nodes)?;
        let unmeasured: Vec<Unmeasured> = self.undivided().into_iter().collect();
        for line in in_lines(&unmeasured) {
            self.observer.tell(Event::Note(&format!("not measured: {line}")));
        }
        let (systems, turns) = self.workload.visit(self)?;
        Ok(CompareResult::ranking(self.subject, surroundings, (systems, turns), unmeasured))
    }

    /// Ours in as many instances as there are nodes, if workers cannot be divided among them.
    fn undivided(&self) -> Option<Unmeasured> {
        let (workers, nodes) = (self.subject.options.workers, self.nodes);
        if workers.is_multiple_of(nodes) {
            return None;
        }
        let why = format!(
            "--workers {workers} --nodes {nodes}: each of {nodes} instances has as many workers as the others, at least one"
        );
        let unmeasured = Unmeasured::new(ours(ProtocolName::Silo), why);
        Some(Unmeasured { architecture: architecture(nodes), ..unmeasured })
    }

    /// The subject with so many instances, or nodes.
    fn over(&self, instances: usize, options: &RunOptions) -> Subject {
        let mut subject = Subject { options: options.clone(), ..self.subject.clone() };
        subject.options.engine.instances = Instances::of(instances);
        subject.options.engine.channel = ChannelName::Tcp;
        subject
    }

    fn entrants<'w, W: Audited>(
        &self,
        workload: &'w Compiled<'w, W>,
    ) -> Result<Vec<Box<dyn Entrant + 'w>>, Failure> {
        let mut entrants: Vec<Box<dyn Entrant + 'w>> = Vec::new();
        // Of one node the like is measured already.
        let deployed =
            (self.nodes > 1 && self.undivided().is_none()).then_some((ProtocolName::Silo, self.nodes));
        for (protocol, instances) in
            [(ProtocolName::NoWait, 1), (ProtocolName::Silo, 1)].into_iter().chain(deployed)
        {
            let system = Contender::<::engine::ThisEngine, _>::load(
                workload,
                Selection::Pair(ours(protocol)),
                (
                    self.over(instances, &self.subject.options),
                    (architecture(instances), protocol.to_string()),
                ),
                self.observer,
            )?;
            entrants.push(Box::new(system));
        }
        let name = (crate::name(self.nodes), Isolation::OptimisticSerializable.name().to_owned());
        let ignite = Contender::<Ignite, _>::load(
            workload,
            SERIALIZABLE,
            (self.over(self.nodes, &self.over_ignite), name),
            self.observer,
        )?;
        entrants.push(Box::new(ignite));
        Ok(entrants)
    }
}

fn ours(protocol: ProtocolName) -> PairName {
    PairName { architecture: ArchitectureName::SharedEverything, protocol }
}

/// What stands for our architecture's name, for people.
fn architecture(instances: usize) -> String {
    let name = ArchitectureName::SharedEverything;
    if instances == 1 { name.to_string() } else { format!("{name} ({instances} instances, tcp)") }
}

impl WorkloadVisitor for &Agenda<'_> {
    type Output = Result<(Vec<System>, Turns), Failure>;

    fn visit<W: Audited>(self, workload: &W) -> Self::Output {
        let compiled = Compiled(workload);
        let mut entrants = self.entrants(&compiled)?;
        let (systems, options) = (entrants.len(), &self.subject.options);
        self.observer
            .tell(Event::MeasureBegins { runs: systems * options.repeat, each: options.repetition() });
        for repetition in 0..options.repeat {
            for position in 0..systems {
                let entrant = &mut entrants[(position + repetition) % systems];
                let (system, of) = (entrant.system(), options.repeat);
                self.observer.tell(Event::RunBegins { system: &system, repetition: repetition + 1, of });
                entrant.repetition(repetition)?;
            }
        }
        self.observer.tell(Event::MeasureEnds);
        entrants.iter_mut().try_for_each(|entrant| entrant.audit())?;
        let names = entrants.iter().map(|entrant| entrant.system()).collect();
        let turns = Turns { groups: vec![Group { systems: names, stores: systems }], ..Turns::default() };
        Ok((entrants.into_iter().map(|entrant| entrant.close()).collect(), turns))
    }
}

/// A system over its store.
trait Entrant {
    /// Its name, for people.
    fn system(&self) -> String;

    fn repetition(&mut self, number: usize) -> Result<(), Failure>;

    fn audit(&mut self) -> Result<(), Failure>;

    fn close(self: Box<Self>) -> System;
}

struct Contender<'a, E: Engine, W: Audited> {
    session: Session<'a, E, W>,
    selection: Selection,
    subject: Subject,
    /// The architecture's and the protocol's.
    name: (String, String),
    measured: Measured,
}

impl<'a, E: Engine, W: Audited> Contender<'a, E, W> {
    fn load(
        workload: &'a W,
        selection: Selection,
        (subject, name): (Subject, (String, String)),
        observer: &dyn Observer,
    ) -> Result<Self, Failure> {
        let options = &subject.options;
        let layout: Layout = E::arrange(selection, options.workers, &options.engine_options(0))?.layout;
        let session = Session::load(workload, layout, observer)?;
        Ok(Contender { session, selection, measured: Measured::nothing_yet(selection.pair()), subject, name })
    }
}

impl<E: Engine, W: Audited> Entrant for Contender<'_, E, W> {
    fn system(&self) -> String {
        format!("{} {}", self.name.0, self.name.1)
    }

    fn repetition(&mut self, number: usize) -> Result<(), Failure> {
        let (measurement, checks) = self.session.repetition(self.selection, &self.subject.options, number)?;
        self.measured.repetitions.push(measurement);
        self.measured.memory = self.session.memory();
        Check::join(&mut self.measured.checks, checks);
        Ok(())
    }

    fn audit(&mut self) -> Result<(), Failure> {
        let audited = self.session.audit(self.selection, &self.subject.options)?;
        Check::join(&mut self.measured.checks, audited.into_iter().collect());
        Ok(())
    }

    fn close(self: Box<Self>) -> System {
        let mut system = System::of(&self.subject, &self.measured);
        (system.summary.architecture, system.summary.protocol) = self.name;
        system
    }
}

/// A workload for which our engine is not compiled anew: beside what takes milliseconds nobody sees that, and it takes minutes.
struct Compiled<'a, W>(&'a W);

impl<W: Workload> Workload for Compiled<'_, W> {
    type Client = W::Client;

    fn tables(&self) -> Vec<TableDescription> {
        self.0.tables()
    }

    fn loaded_key(&self, table: TableId, row: u64) -> Key {
        self.0.loaded_key(table, row)
    }

    fn loaded_bytes(&self, table: TableId, key: Key, bytes: &mut Vec<u8>) {
        self.0.loaded_bytes(table, key, bytes);
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        self.0.fill(table, key, row);
    }

    fn fill_varying(&self, table: TableId, key: Key, row: &mut Vec<u8>) {
        self.0.fill_varying(table, key, row);
    }

    fn client(&self, seat: Seat) -> W::Client {
        self.0.client(seat)
    }

    fn is_data_dependent(&self) -> bool {
        self.0.is_data_dependent()
    }
}

impl<W: Audited> Audited for Compiled<'_, W> {
    type Audit<'b>
        = W::Audit<'b>
    where
        Self: 'b;

    type Compilation = AnyType;

    fn audit(&self) -> Option<W::Audit<'_>> {
        self.0.audit()
    }
}
