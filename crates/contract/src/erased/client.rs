//! Clients and procedures of any type as one type.

use super::Erased;
use crate::{Abort, Client, Completion, Outcome, Plan, Procedure, RunError, RunOutcome, Transaction};
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
    let erased = clients.into_iter().map(|client| ErasedClient(Box::new(client))).collect();
    let RunOutcome { clients, measurement } = run(erased)?;
    let found_again =
        |client: ErasedClient| *client.0.into_any().downcast().expect("the client that was erased");
    Ok(RunOutcome { clients: clients.into_iter().map(found_again).collect(), measurement })
}

/// [`Client`] without its associated type.
trait AnyClient: Send {
    fn next(&mut self) -> ErasedProcedure;

    fn finished(&mut self, procedure: ErasedProcedure, completion: &Completion<'_>);

    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<C: Client> AnyClient for C {
    fn next(&mut self) -> ErasedProcedure {
        ErasedProcedure(Box::new(Client::next(self)))
    }

    fn finished(&mut self, procedure: ErasedProcedure, completion: &Completion<'_>) {
        let procedure = procedure.0.into_any().downcast().expect("a procedure of this client");
        Client::finished(self, *procedure, completion);
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// [`Procedure`] over `dyn Transaction`.
trait AnyProcedure: Send {
    fn run(&self, txn: &mut dyn Transaction) -> Result<Outcome, Abort>;

    fn plan(&self, txn: &mut dyn Transaction, plan: &mut Plan) -> Result<(), Abort>;

    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<P: Procedure + 'static> AnyProcedure for P {
    fn run(&self, txn: &mut dyn Transaction) -> Result<Outcome, Abort> {
        Procedure::run(self, txn)
    }

    fn plan(&self, txn: &mut dyn Transaction, plan: &mut Plan) -> Result<(), Abort> {
        Procedure::plan(self, txn, plan)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Client for ErasedClient {
    type Procedure = ErasedProcedure;

    fn next(&mut self) -> ErasedProcedure {
        self.0.next()
    }

    fn finished(&mut self, procedure: ErasedProcedure, completion: &Completion<'_>) {
        self.0.finished(procedure, completion);
    }
}

impl Procedure for ErasedProcedure {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        self.0.run(&mut Erased(txn))
    }

    fn plan<T: Transaction + ?Sized>(&self, txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        self.0.plan(&mut Erased(txn), plan)
    }
}
