//! Clients and procedures of any type as one type.
//!
//! A procedure travels in a box. The client takes the boxes of procedures that have ended back and fills them again, so that in
//! the measured loop nothing is allocated.

use super::Erased;
use crate::{
    Abort, Arrival, Client, Completion, Key, Outcome, Plan, Procedure, RunError, RunOutcome, TableId,
    Transaction,
};
use std::any::Any;

/// Any client.
pub struct ErasedClient(Box<dyn AnyClient>);

/// Any client's procedure.
pub struct ErasedProcedure(Box<dyn AnyProcedure>);

/// Runs clients as `run` does, their type erased on the way there and found again on the way back.
pub fn erased<C: Client>(
    clients: Vec<C>,
    run: impl FnOnce(Vec<ErasedClient>) -> Result<RunOutcome<ErasedClient>, RunError>,
) -> Result<RunOutcome<C>, RunError> {
    let boxed = |client| ErasedClient(Box::new(Recycling { client, spare: Vec::new() }));
    let erased = clients.into_iter().map(boxed).collect();
    let RunOutcome { clients, measurement, log_failure, clocks } = run(erased)?;
    let found_again = |client: ErasedClient| {
        let recycling: Box<Recycling<C>> =
            client.0.into_any().downcast().expect("the client that was erased");
        recycling.client
    };
    let clients = clients.into_iter().map(found_again).collect();
    Ok(RunOutcome { clients, measurement, log_failure, clocks })
}

/// [`Client`] without its associated type.
trait AnyClient: Send {
    fn arrival(&mut self) -> Arrival;

    fn kinds(&self) -> &'static [&'static str];

    fn next(&mut self) -> ErasedProcedure;

    fn finished(&mut self, procedure: ErasedProcedure, completion: &Completion<'_>);

    fn durable(&mut self, epoch: u64);

    fn decode(&mut self, bytes: &[u8]) -> Option<ErasedProcedure>;

    fn take_back(&mut self, fragment: ErasedProcedure);

    fn tell(&self, into: &mut Vec<u8>);

    fn hear(&mut self, told: &[u8]) -> Option<()>;

    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

/// A client with the boxes that are free.
struct Recycling<C: Client> {
    client: C,
    spare: Vec<Box<Filled<C::Procedure>>>,
}

/// What a box holds: a procedure until it has ended.
struct Filled<P>(Option<P>);

impl<P> Filled<P> {
    fn procedure(&self) -> &P {
        self.0.as_ref().expect("a procedure that has not ended")
    }
}

impl<C: Client> Recycling<C> {
    fn fill(&mut self, procedure: C::Procedure) -> ErasedProcedure {
        let filled = Filled(Some(procedure));
        match self.spare.pop() {
            Some(mut spare) => {
                *spare = filled;
                ErasedProcedure(spare)
            }
            None => ErasedProcedure(Box::new(filled)),
        }
    }

    fn empty(&mut self, procedure: ErasedProcedure) -> C::Procedure {
        let mut filled: Box<Filled<C::Procedure>> =
            procedure.0.into_any().downcast().expect("a procedure of this client");
        let procedure = filled.0.take().expect("a procedure that has not ended");
        self.spare.push(filled);
        procedure
    }
}

impl<C: Client> AnyClient for Recycling<C> {
    fn arrival(&mut self) -> Arrival {
        self.client.arrival()
    }

    fn kinds(&self) -> &'static [&'static str] {
        self.client.kinds()
    }

    fn next(&mut self) -> ErasedProcedure {
        let next = self.client.next();
        self.fill(next)
    }

    fn finished(&mut self, procedure: ErasedProcedure, completion: &Completion<'_>) {
        let procedure = self.empty(procedure);
        self.client.finished(procedure, completion);
    }

    fn durable(&mut self, epoch: u64) {
        self.client.durable(epoch);
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<ErasedProcedure> {
        let fragment = self.client.decode(bytes)?;
        Some(self.fill(fragment))
    }

    fn take_back(&mut self, fragment: ErasedProcedure) {
        let fragment = self.empty(fragment);
        self.client.take_back(fragment);
    }

    fn tell(&self, into: &mut Vec<u8>) {
        self.client.tell(into);
    }

    fn hear(&mut self, told: &[u8]) -> Option<()> {
        self.client.hear(told)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// [`Procedure`] over `dyn Transaction`.
trait AnyProcedure: Send {
    fn run(&self, txn: &mut dyn Transaction) -> Result<Outcome, Abort>;

    fn plan(&self, txn: &mut dyn Transaction, plan: &mut Plan) -> Result<(), Abort>;

    fn kind(&self) -> usize;

    fn reads_snapshot(&self) -> bool;

    fn runs_in_fragments(&self, at: &mut dyn FnMut(TableId, Key)) -> bool;

    fn home_of_fragments(&self) -> Option<(TableId, Key)>;

    fn encode(&self, into: &mut Vec<u8>);

    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<P: Procedure + 'static> AnyProcedure for Filled<P> {
    fn run(&self, txn: &mut dyn Transaction) -> Result<Outcome, Abort> {
        self.procedure().run(txn)
    }

    fn plan(&self, txn: &mut dyn Transaction, plan: &mut Plan) -> Result<(), Abort> {
        self.procedure().plan(txn, plan)
    }

    fn kind(&self) -> usize {
        self.procedure().kind()
    }

    fn reads_snapshot(&self) -> bool {
        self.procedure().reads_snapshot()
    }

    fn runs_in_fragments(&self, at: &mut dyn FnMut(TableId, Key)) -> bool {
        self.procedure().runs_in_fragments(at)
    }

    fn home_of_fragments(&self) -> Option<(TableId, Key)> {
        self.procedure().home_of_fragments()
    }

    fn encode(&self, into: &mut Vec<u8>) {
        self.procedure().encode(into);
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Client for ErasedClient {
    type Procedure = ErasedProcedure;

    fn arrival(&mut self) -> Arrival {
        self.0.arrival()
    }

    fn kinds(&self) -> &'static [&'static str] {
        self.0.kinds()
    }

    fn next(&mut self) -> ErasedProcedure {
        self.0.next()
    }

    fn finished(&mut self, procedure: ErasedProcedure, completion: &Completion<'_>) {
        self.0.finished(procedure, completion);
    }

    fn durable(&mut self, epoch: u64) {
        self.0.durable(epoch);
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<ErasedProcedure> {
        self.0.decode(bytes)
    }

    fn take_back(&mut self, fragment: ErasedProcedure) {
        self.0.take_back(fragment);
    }

    fn tell(&self, into: &mut Vec<u8>) {
        self.0.tell(into);
    }

    fn hear(&mut self, told: &[u8]) -> Option<()> {
        self.0.hear(told)
    }
}

impl Procedure for ErasedProcedure {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        self.0.run(&mut Erased(txn))
    }

    fn plan<T: Transaction + ?Sized>(&self, txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        self.0.plan(&mut Erased(txn), plan)
    }

    fn kind(&self) -> usize {
        self.0.kind()
    }

    fn reads_snapshot(&self) -> bool {
        self.0.reads_snapshot()
    }

    fn runs_in_fragments(&self, at: &mut dyn FnMut(TableId, Key)) -> bool {
        self.0.runs_in_fragments(at)
    }

    fn home_of_fragments(&self) -> Option<(TableId, Key)> {
        self.0.home_of_fragments()
    }

    fn encode(&self, into: &mut Vec<u8>) {
        self.0.encode(into);
    }
}
