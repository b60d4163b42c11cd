//! The transactions of membership as a worker draws them, and the window that they are drawn from.

use super::scan::Sweep;
use super::{
    Action, Family, MOST_OPERATIONS, MemberOperation, Membership, MembershipProcedure,
    TRANSACTIONS_PER_FOLLOW, Tally,
};
use crate::random::generator;
use contract::telling::{tell, told};
use contract::{Client, Completion, Outcome, Seat};
use std::cell::Cell;
use std::collections::VecDeque;

/// One worker's transactions.
#[derive(Debug)]
pub struct MembershipClient {
    workload: Membership,
    partitions: u32,
    random: fastrand::Rng,
    issued: u64,
    /// The first member of the window.
    first: u64,
    /// By position in the window, whether the fresh key was seen there, and the doomed one gone.
    over: VecDeque<[bool; 2]>,
    tally: Tally,
}

impl MembershipClient {
    pub(super) fn new(workload: Membership, seat: Seat) -> Self {
        assert!(workload.window > 0, "the window has keys");
        MembershipClient {
            workload,
            partitions: seat.partitions,
            random: generator(seat),
            issued: 0,
            first: 0,
            over: VecDeque::from(vec![[false; 2]; workload.window as usize]),
            tally: Tally::default(),
        }
    }

    /// What its committed transactions met.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    fn draw(&mut self) -> MemberOperation {
        let member = self.first + self.random.u64(0..self.workload.window);
        if self.workload.scan_percent > 0 && self.random.u32(0..100) < self.workload.scan_percent {
            let sweep = Sweep::draw(&mut self.random, &self.workload, member);
            let key = self.workload.key(Family::Stable, member);
            return MemberOperation { action: Action::Scan(sweep), family: Family::Stable, member, key };
        }
        let any = [Family::Stable, Family::Doomed, Family::Fresh][self.random.usize(0..3)];
        let (action, family) = match self.random.u32(0..100) {
            0..40 => (Action::Read, any),
            40..52 => (Action::Update, any),
            52..60 => (Action::Write, any),
            60..75 => (Action::Insert, Family::Fresh),
            75..80 => (Action::Insert, Family::Stable),
            80..85 => (Action::InsertAndDelete, Family::Fresh),
            _ => (Action::Delete, Family::Doomed),
        };
        MemberOperation { action, family, member, key: self.workload.key(family, member) }
    }

    /// Moves the window past members whose fresh key came and whose doomed key went.
    fn pass_what_is_over(&mut self, procedure: &MembershipProcedure) {
        let there = procedure.there.get();
        for (operation, there) in procedure.operations[..procedure.count].iter().zip(there) {
            // A member that the window has passed since the transaction began is of no interest.
            let Some(position) = operation.member.checked_sub(self.first) else { continue };
            match operation.family {
                Family::Stable => {}
                Family::Doomed => self.over[position as usize][1] |= !there,
                Family::Fresh => self.over[position as usize][0] |= there,
            }
        }
        while self.over[0] == [true; 2] && self.first < self.workload.transactions {
            self.move_to(self.first + 1);
        }
    }

    fn move_to(&mut self, first: u64) {
        while self.first < first.min(self.workload.transactions) {
            self.over.pop_front();
            self.over.push_back([false; 2]);
            self.first += 1;
        }
    }
}

impl Client for MembershipClient {
    type Procedure = MembershipProcedure;

    fn next(&mut self) -> MembershipProcedure {
        let count = self.random.usize(1..=MOST_OPERATIONS);
        let operations = std::array::from_fn(|_| self.draw());
        let rolls_back = self.random.u32(0..100) < self.workload.rollback_percent;
        self.issued += 1;
        let follows = self.issued.is_multiple_of(TRANSACTIONS_PER_FOLLOW);
        let front = follows.then_some(self.first);
        MembershipProcedure {
            front: Cell::new(front),
            operations,
            count,
            rolls_back,
            partitions: self.partitions,
            tally: Cell::default(),
            there: Cell::default(),
        }
    }

    fn finished(&mut self, procedure: MembershipProcedure, completion: &Completion<'_>) {
        if let Some(front) = procedure.front.get() {
            self.move_to(front);
        } else if completion.outcome == Outcome::Commit {
            self.tally.add(procedure.tally.get());
            self.pass_what_is_over(&procedure);
        }
    }

    fn tell(&self, into: &mut Vec<u8>) {
        tell(&self.tally, into);
    }

    fn hear(&mut self, heard: &[u8]) -> Option<()> {
        self.tally = told(heard)?;
        Some(())
    }
}
