//! Deployments: the store as several instances, and transactions that span them (*hardware-islands*).
//!
//! An instance has some of the partitions of every table, workers of its own, and all that transactions share: nobody else touches its records. A
//! transaction belongs to the instance of its client, its *home*, and runs there as any other. What it does to keys of another instance goes there in messages, to a
//! *branch*: a transaction of that instance which does what it is told. Home coordinates; the instances of the branches are participants.
//!
//! | file | what |
//! |---|---|
//! | [`coordinator`] | a transaction with branches, at home: operations, two-phase commit |
//! | [`participant`] | a slot that runs branches |
//! | [`fragment`] | what a transaction does at one instance, in one go |
//! | [`message`] | what is said |
//!
//! What carries the messages is in [`crate::message`].
//!
//! *Two-phase commit.* When the procedure has ended, the coordinator asks every branch to prepare, and each votes: it can commit, whatever happens
//! ([`crate::transaction::commit`]), or it has aborted. If all can, the coordinator commits, and tells them so; nobody answers. Who has aborted, or has only read and
//! voted for commit when it was asked to prepare, has released all it held and is not told.
//!
//! | a transaction that spans two instances | by messages | in fragments (`--one-shot on`) |
//! |---|---|---|
//! | operations away from home that ask for something | there and back, each | there and back, all together |
//! | what an update has made of a row | with the next message | |
//! | lock, where what was read is validated, if several have not voted or transactions have ids | there and back, to those that have written | there and back, to those that have written and not voted |
//! | prepare | there and back | with the fragment, where it locks all that it has touched: records locked when they are touched, or only read to be written; else there and back |
//! | the decision | there, if the branch has written | there, if the branch has written, or has voted with its fragment |
//!
//! *Serializable.* A protocol orders the transactions of one instance by a moment at which a transaction holds what it must hold. They are in one order
//! everywhere if that is the same moment at all instances:
//! - Where records are locked when they are touched, it is when the procedure has ended: no branch releases anything before it is asked to prepare, and then one that
//!   has only read may release. One that has voted with its fragment, before home had all its locks, releases nothing before the decision.
//! - Where what was read is validated (*hardware-islands* 6), every instance has locked what was written before any validates. With
//!   one branch that is so in one round: home locks, the branch locks and validates, home validates. With several there is a round before in which those that have written
//!   lock. A branch that has read nothing but what it writes need not wait for that: what it has validated is locked, and still is what it was when all instances have locked. So it votes with its fragment.
//!
//! *No deadlock.* A transaction that is prepared at one instance waits for the votes of others. So nobody waits for a lock in order to prepare: it aborts
//! ([`crate::architecture::Architecture::DECIDES_ELSEWHERE`]). Who reads may wait until a prepared transaction is decided, unless it runs in fragments, of which one may be prepared while another reads: then it aborts.
//!
//! *Durable.* A transaction has one epoch and one id at all instances, which home draws once all is locked and which go with the decision
//! ([`crate::transaction::LogPlace`]). A branch is in an epoch from its first operation on, so that no logger takes an epoch for complete in which it may yet commit. So
//! there are no records of votes and decisions: recovery cuts all logs at the same epoch, and what is of a durable one is there at all instances. Who crashed while it was
//! prepared has aborted.
//!
//! Where instances are processes, each has a log and epochs of its own. An answer tells the epoch at the participant, whose transactions commit in that or a later one; a transaction commits in the latest of
//! those that it was told and its home's, everywhere, and who follows it at an instance commits in no earlier one ([`crate::epoch::Epochs::raise`]): what a transaction depends on is of its epoch or an earlier one, as within
//! a process. Ids, by which recovery orders what is of one epoch, follow each other likewise ([`crate::commit_id`]). A commit is acknowledged when its epoch is durable at all instances ([`crate::durability::Log::durable_everywhere`]), and recovery cuts all logs at the last epoch that is durable at each.
//!
//! *Who dies.* Aborts are presumed: a participant that has voted waits for the decision, and takes for an abort that it will never come. An instance that is a process is lost
//! when its connections end, or nothing is heard from it for a while, or what comes is not the next message ([`crate::message::endpoint`]), or its log fails. Who has lost one breaks off and tells all others. Its log then fails
//! *before* it aborts the branches that stand prepared; so no epoch in which one of them may have committed elsewhere becomes durable there, and the common cut of the logs
//! comes before it. Nobody resolves anything by asking: what is in doubt is of an epoch that is not durable everywhere, and recovery leaves it out everywhere.
//!
//! | who dies | at which point | the transaction | who holds its locks until when |
//! |---|---|---|---|
//! | coordinator | before the votes are in, or before it decides | aborts at every participant | participants, until they have lost it |
//! | coordinator | the decision has come to some | commits at these, and aborts at the others; its epoch is not durable at home, so recovery leaves it out, and nobody was told of it | the others, until they have lost it |
//! | coordinator | the decision has come to all | commits; it is recovered if its epoch was durable everywhere, home included, and else left out | nobody |
//! | participant | before it votes | aborts at home: the vote never comes | home and the other branches, until home has lost it |
//! | participant | it has voted | as home decides, elsewhere; it held its epoch open, so that is not durable there, and recovery leaves it out | home, until it has decided |
//! | participant | decided | as a coordinator whose decision has come to all | nobody |
//! | another | | commits or aborts as if nothing were; then the run is over, for its epoch will not be durable everywhere | nobody |
//! | nobody: a link is cut, or a message is lost, doubled or out of turn | | as if who sent it had died | |
//! | nobody: a log fails | | as if the instance had died | |
//!
//! `cli/tests/killed_at_every_step.rs` kills a coordinator, a participant and another one at steps a few apart from the first to the last, under both protocols, by messages and in fragments
//! (`a_coordinator_that_dies_leaves_no_transaction_in_part`, `a_participant_that_dies_leaves_no_transaction_in_part`, `a_bystander_that_dies_ends_the_run_of_the_others`), and has the last two rows, too
//! (`a_link_that_is_cut_between_two_that_are_not_the_first_is_noticed_by_both`, `what_channels_lose_double_or_swap_is_noticed_and_what_they_delay_is_waited_for`,
//! `a_log_that_fails_at_one_node_ends_the_run_and_loses_nothing_that_was_acknowledged`), and those who wait for a lock of the dead (`readers_of_what_a_lost_coordinator_had_locked_come_to_their_end`);
//! `trireme crash --kill node --channel-faults` draws all of it.
//!
//! *A slot for every branch.* Each worker has a slot for each transaction slot of its counterparts, the workers of the same rank at other instances: a
//! branch never waits for one.

mod coordinator;
mod fragment;
mod message;
mod participant;

use crate::architecture::Instance;
use crate::facade::worker;
use crate::physical::Physical;
use crate::protocol::Protocol;
use crate::session::{Fragments, InSlots, Run};
use crate::transaction::Txn;
use contract::{EngineOptions, PrefetchName, Site};
use coordinator::Coordinator;

/// Where workers run on this machine, in their order.
pub(crate) fn sites() -> Vec<Site> {
    let site = |worker::Site { machine, socket }| Site { machine, socket };
    worker::sites().into_iter().map(site).collect()
}

impl<'e, P: Protocol, F: Physical> InSlots<'e> for Instance<'e, P, F>
where
    P::Common<F>: Sync,
{
    type Reach = Coordinator;

    fn reach(&self, options: &EngineOptions) -> Coordinator {
        Coordinator::new(self.instances(), options)
    }

    fn serve_branches(txn: &mut Txn<'e, Self>, fragments: impl Fragments, run: Run<'e>) {
        txn.readers_wait = run.options.readers_wait;
        if let Some(log) = run.log {
            txn.log_to(log);
        }
        txn.heed_hints_if(run.options.prefetch == PrefetchName::On);
        participant::serve(txn, fragments, run.ids, run.options.deployment_canary);
    }
}
