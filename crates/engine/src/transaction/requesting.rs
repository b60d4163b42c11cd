//! Asking for all that is known ahead, at once, when a transaction begins ([`crate::protocol::Vll`]).
//!
//! What was asked for and found becomes an entry of the access set, as if the transaction had touched it: so its operations
//! find what it holds, and it is released with the rest. What is not linked is asked for when the transaction comes to it.

use super::access_set::Kind;
use super::keys::Lent;
use super::{Place, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::protocol::{AheadWith, Locking, Mode, Protocol, SlotState, StampOf, Verdict, Wake};
use crate::record::RecordRef;
use contract::{Abort, AbortReason, Access, PartitionId, Plan, PlannedKey, TimeClass};

/// A record that is about to be asked for.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'e, S> {
    place: Place<'e>,
    record: RecordRef,
    mode: Mode,
    stamp: S,
    is_counted: bool,
}

/// The same by a transaction under an architecture.
pub(super) type WantedBy<'e, A> = Wanted<'e, StampOf<ProtocolOf<A>>>;

/// How a planned key is to be held; `None`: only its partition is declared.
pub(super) fn mode_of(planned: &PlannedKey) -> Option<Mode> {
    match planned.access {
        Access::Read if planned.span.length() == 0 => None,
        Access::Read => Some(Mode::Shared),
        Access::Write | Access::Structure => Some(Mode::Exclusive),
    }
}

/// Where the steps of all partitions run under the architectures that have such protocols: in place.
const ANYWHERE: PartitionId = PartitionId(0);

impl<'e, A: Architecture<Protocol: Locking>> Txn<'e, A> {
    /// Asks for what the plan and earlier attempts know, and waits until the transaction holds it.
    pub(super) fn request_all_known(&mut self, plan: &Plan) {
        let before = self.stopwatch.enter(TimeClass::Index);
        let mut wanted = std::mem::take(&mut self.wanted);
        self.find_known(plan, &mut wanted);
        self.stopwatch.enter(TimeClass::Manager);
        if !wanted.is_empty() && self.request(&mut wanted).is_err() {
            // What it was granted is out of date: its operations will find it poisoned.
            self.poison(AbortReason::Conflict);
        }
        self.wanted = wanted;
        self.stopwatch.enter(before);
    }

    /// The records of all keys that are known, each once, in the order of tables and keys.
    fn find_known(&mut self, plan: &Plan, wanted: &mut Vec<WantedBy<'e, A>>) {
        let known = ProtocolOf::<A>::known(&mut self.state);
        for planned in plan.keys() {
            if let Some(mode) = mode_of(planned) {
                known.learn((planned.table, planned.key), mode);
            }
        }
        known.tidy();
        wanted.clear();
        for number in 0..ProtocolOf::<A>::known(&mut self.state).records().len() {
            let ((table, key), mode) = ProtocolOf::<A>::known(&mut self.state).records()[number];
            let table = self.table(table);
            if table.has_byte_strings() {
                // The plan has a prefix only.
                continue;
            }
            let place = self.place(table, key);
            self.fetch_header(place, true);
            if let (Some(record), _) = self.look_up(place) {
                let stamp = self.state.stamp_for((place.table.id, key));
                wanted.push(Wanted { place, record, mode, stamp, is_counted: false });
            }
        }
    }

    /// Asks for these, and waits for them. `Err`: some have died meanwhile.
    fn request(&mut self, wanted: &mut Vec<WantedBy<'e, A>>) -> Result<(), Abort> {
        let who = self.next_requester(ANYWHERE);
        let list = Lent::new(wanted);
        let verdict =
            self.architecture.at(ANYWHERE, move |site| {
                // SAFETY: the transaction waits for the answer, and touches nothing of the list.
                let list: &mut Vec<WantedBy<'_, A>> = unsafe { list.get() };
                let records = list.iter_mut().map(|Wanted { record, mode, stamp, is_counted, .. }| {
                    AheadWith { meta: site.meta(*record), mode: *mode, stamp: *stamp, is_counted }
                });
                ProtocolOf::<A>::request_all(records, site.request(who))
            });
        for &Wanted { place, record, mode, .. } in wanted.iter().filter(|wanted| wanted.is_counted) {
            let kind = if mode == Mode::Exclusive { Kind::Write } else { Kind::Read };
            self.add(place, record, kind, None);
        }
        if verdict != Verdict::Granted {
            if self.heed(verdict, 0)? == Wake::Retry {
                // Somebody ahead has gone, and holds what it held.
                return Err(self.poison(AbortReason::Conflict));
            }
            self.look_for_the_dead(wanted)?;
        }
        Ok(())
    }

    /// Whoever was ahead may have deleted what this transaction has waited for.
    fn look_for_the_dead(&mut self, wanted: &mut Vec<WantedBy<'e, A>>) -> Result<(), Abort> {
        let list = Lent::new(wanted);
        let are_dead = self.architecture.at(ANYWHERE, move |site| {
            // SAFETY: as above.
            let list: &mut Vec<WantedBy<'_, A>> = unsafe { list.get() };
            list.iter().any(|wanted| wanted.is_counted && ProtocolOf::<A>::is_dead(site.meta(wanted.record)))
        });
        if are_dead { Err(self.poison(AbortReason::Conflict)) } else { Ok(()) }
    }

    /// A request for a record that was late was denied, or not: what is denied is known from now on.
    #[inline(always)]
    pub(super) fn heed_denial(&mut self, verdict: Verdict, place: Place<'_>, mode: Mode) {
        if ProtocolOf::<A>::REQUESTS_AHEAD
            && let (Verdict::Abort(_), Some(place)) = (verdict, Self::record_place(place))
        {
            ProtocolOf::<A>::known(&mut self.state).learn(place, mode);
        }
    }

    /// The attempt is aborted: what it holds is known from now on.
    #[cold]
    pub(super) fn learn(&mut self) {
        for position in 0..self.accesses.len() {
            let access = self.accesses[position];
            let mode = match access.kind {
                Kind::Read => Mode::Shared,
                Kind::Write | Kind::Delete => Mode::Exclusive,
                // The next attempt finds no record.
                Kind::Insert | Kind::Vanished | Kind::Absent => continue,
            };
            if !self.table(access.table).has_byte_strings() {
                ProtocolOf::<A>::known(&mut self.state).learn((access.table, access.key), mode);
            }
        }
    }

    /// Leaves what is held as it is, for ever.
    pub(super) fn abandon_requested(&mut self) {
        let who = self.next_requester(ANYWHERE);
        self.architecture.at(ANYWHERE, move |site| ProtocolOf::<A>::abandon(site.request(who)));
    }

    /// Releases all that is still held of records, at once, and all that was asked for.
    #[inline(always)]
    pub(super) fn release_requested(&mut self) {
        let who = self.next_requester(ANYWHERE);
        let accesses = Lent::new(&mut self.accesses);
        self.architecture.at(ANYWHERE, move |site| {
            // SAFETY: the transaction waits for the answer, and touches nothing of it.
            let accesses = unsafe { accesses.get() };
            let held = accesses.iter().filter_map(|access| match access.kind {
                Kind::Read => Some((site.meta(access.record), Mode::Shared)),
                Kind::Write | Kind::Insert => Some((site.meta(access.record), Mode::Exclusive)),
                Kind::Delete | Kind::Vanished | Kind::Absent => None,
            });
            ProtocolOf::<A>::release_all(held, site.request(who));
        });
    }
}
