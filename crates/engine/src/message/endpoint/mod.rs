//! A worker's end of the streams by which it talks with its counterparts, the workers of the same rank at the other instances.
//!
//! | file | what |
//! |---|---|
//! | [`position`] | where a worker is, and which of its slots run whose branches |
//! | [`counterpart`] | what leads to one counterpart and back: messages on a stream, their checksums |
//! | [`mailbox`] | what has come for a slot |
//! | [`end_of_run`] | who tells whom that nothing more comes |
//! | [`silence`] | who has told nothing for so long that it is lost |
//! | [`durable`] | what is durable at the others |
//!
//! It is polled by the worker between the turns of its fibers, or between two transactions by the fiber that runs, if no other has anything to do ([`crate::session::fibers`]): what has come goes into the mailbox of the slot that it is for, which is
//! woken; what was sent and found no room goes on. So nobody waits for room. Who has local transactions only polls once in a *polling interval*: sockets are polled by calls of the system, which take longer than
//! such a transaction.
//!
//! *What may wait.* Where a write is a call of the system, or of another library, some messages are *posted*: they go with the first message of the transaction that the worker begins next, or when that turns out to send none, or when the worker polls next. A decision is
//! posted, which nobody answers; and an answer, if a fiber is about to begin a transaction. So a worker that is asked while it is about to ask writes once: a decision, an answer and its question. Order on the stream is kept.
//!
//! *Who is lost.* Who has lost an instance, or has a branch that has panicked, tells all others that he breaks off, and whom he has lost: all name the same.

mod counterpart;
mod durable;
mod end_of_run;
mod mailbox;
mod position;
mod silence;

use super::Grants;
use super::channel::{Channel, Channels};
use crate::durability::Log;
use crate::epoch::Epochs;
use crate::facade::clock::{self, Ticks};
use crate::facade::socket;
use crate::protocol::{SlotId, Wake, Waker};
use contract::telling::tell;
use contract::{LogError, Lost};
use counterpart::{BEAT, BREAK, Counterpart, DURABLE, Wrong};
use durable::Logged;
use mailbox::Mailbox;
pub(crate) use position::Position;
use std::time::Duration;

/// See the module.
pub(crate) struct Endpoint<'e> {
    position: Position,
    channels: &'e Channels,
    /// By instance; none for this one.
    counterparts: Vec<Option<Counterpart>>,
    /// How many of them the system is asked about.
    sockets: usize,
    /// Whether a write to one of them takes long.
    is_slow: bool,
    /// By instance: whether something has come, if several are asked for that at once.
    ready: Vec<bool>,
    /// The same by socket.
    polled: Vec<bool>,
    /// The instance to look at next.
    next: usize,
    /// By slot of the worker.
    mailboxes: Vec<Mailbox>,
    /// Of an instance that is a process: where what is logged stands.
    logged: Option<Logged<'e>>,
    /// Counterparts to which something is posted.
    posted: usize,
    /// When the clock was last looked at.
    looked: Ticks,
    has_finished: bool,
    is_closed: bool,
    /// Whether all others were told that nothing more comes.
    has_left: bool,
    /// Whether the slots were told that a branch has panicked, or an instance is lost.
    is_broken: bool,
}

/// The time after which a worker with sockets polls them, however many local transactions it has: a fraction of what a message is on its way.
const POLLING_INTERVAL: Duration = Duration::from_nanos(1500);

/// Streams that are looked at between two transactions: as many lines as are there at once.
const STREAMS_AT_ONCE: usize = 8;

impl<'e> Endpoint<'e> {
    /// A worker's.
    pub fn new(channels: &'e Channels, position: Position) -> Self {
        let now = if channels.leave_process() { clock::now() } else { Ticks(0) };
        let counterpart = |instance| {
            let is_other = instance != position.instance;
            is_other.then(|| Counterpart::new(channels.end(position, instance), now))
        };
        let counterparts: Vec<Option<Counterpart>> = (0..position.instances).map(counterpart).collect();
        let sockets = counterparts.iter().flatten().filter(|it| it.channel.socket().is_some()).count();
        let is_slow = counterparts.iter().flatten().any(|it| it.channel.is_slow_to_write());
        Endpoint {
            position,
            channels,
            counterparts,
            sockets,
            is_slow,
            ready: Vec::new(),
            polled: Vec::new(),
            next: 0,
            mailboxes: std::iter::repeat_with(Mailbox::default).take(position.slots()).collect(),
            logged: None,
            posted: 0,
            looked: now,
            has_finished: false,
            is_closed: false,
            has_left: false,
            is_broken: false,
        }
    }

    /// The same, of an instance that is a process, and has this log.
    pub fn logging(self, log: &'e Log, epochs: &'e Epochs) -> Self {
        Endpoint { logged: Some(Logged::new(log, epochs)), ..self }
    }

    /// Where its worker is.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether its counterparts are in other processes.
    pub fn leaves_process(&self) -> bool {
        self.channels.leave_process()
    }

    /// Whether writes take so long, and polls, that fewer of both are worth turns of fibers. Rings are as fast as these.
    #[inline]
    pub fn is_slow(&self) -> bool {
        self.is_slow
    }

    /// How long a worker may go on with transactions that want nothing of other instances before it polls what those want of it. Rings are polled after
    /// each, which costs next to nothing; sockets by calls of the system.
    pub fn polling_interval(&self) -> Duration {
        if self.sockets > 0 { POLLING_INTERVAL } else { Duration::ZERO }
    }

    /// Sends to the branch of slot `number` at another instance.
    pub fn send_to_branch(&mut self, instance: usize, number: usize, message: &[u8]) {
        let slot = self.position.counterpart(instance).branch_slot(self.position.instance, number);
        self.send(instance, slot, message);
    }

    /// The same of a message that nobody waits for to answer it: it is posted.
    pub fn post_to_branch(&mut self, instance: usize, number: usize, message: &[u8]) {
        let slot = self.position.counterpart(instance).branch_slot(self.position.instance, number);
        self.post(instance, slot, message);
    }

    /// Where a write takes long, the message goes with the next one there, if one follows at once ([`Endpoint::send_posted`]).
    fn post(&mut self, instance: usize, slot: usize, message: &[u8]) {
        let to = self.counterparts[instance].as_mut().expect("nobody writes to its own instance");
        if !to.channel.is_slow_to_write() {
            return self.send(instance, slot, message);
        }
        to.spoke = self.looked;
        to.put(slot, message, self.channels.leave_process());
        self.posted += usize::from(!std::mem::replace(&mut to.is_posted, true));
    }

    /// Whether something waits for what a transaction sends that is about to begin.
    #[inline]
    pub fn has_posted(&self) -> bool {
        self.posted > 0
    }

    /// What was posted goes: the next transaction sends nothing now, or has sent it, or none takes it along.
    #[inline]
    pub fn send_posted(&mut self) {
        if std::mem::take(&mut self.posted) > 0 {
            for (instance, counterpart) in self.counterparts.iter_mut().enumerate() {
                if let Some(counterpart) = counterpart.as_mut().filter(|to| to.is_posted) {
                    counterpart.flush(instance, self.channels);
                }
            }
        }
    }

    /// Sends to the transaction whose branch slot `number` runs.
    pub fn send_to_coordinator(&mut self, number: usize, message: &[u8]) {
        let (instance, slot) = self.position.coordinator_of(number);
        self.send(instance, slot, message);
    }

    /// The same where a transaction is about to begin: it is posted.
    pub fn post_to_coordinator(&mut self, number: usize, message: &[u8]) {
        let (instance, slot) = self.position.coordinator_of(number);
        self.post(instance, slot, message);
    }

    fn send(&mut self, instance: usize, slot: usize, message: &[u8]) {
        let channels = self.channels;
        let to = self.counterparts[instance].as_mut().expect("nobody writes to its own instance");
        to.spoke = self.looked;
        to.put(slot, message, channels.leave_process());
        self.posted -= usize::from(to.is_posted);
        to.flush(instance, channels);
    }

    /// Reads and writes what there is; whether there was anything. Of many streams it looks at some, and at the others when it is called again: what a worker does
    /// between its transactions does not grow with the instances. Of sockets it asks all, in one call. Where all are rings, a worker calls this
    /// after each local transaction: if nothing has come, it is a load for each ring that it looks at, and little else.
    #[inline]
    pub fn communicate(&mut self, grants: &Grants) -> bool {
        self.tell_durable();
        let has_posted = self.has_posted();
        self.send_posted();
        let all = self.counterparts.len();
        let some = if self.poll() { all } else { all.min(STREAMS_AT_ONCE) };
        let has_moved = self.look_at(some, grants);
        self.look_at_clock();
        has_moved || has_posted
    }

    /// Looks at so many of the counterparts, from where it last stopped on.
    #[inline]
    fn look_at(&mut self, some: usize, grants: &Grants) -> bool {
        let (mut has_moved, channels) = (false, self.channels);
        for _ in 0..some {
            let instance = self.next;
            self.next = if instance + 1 == self.counterparts.len() { 0 } else { instance + 1 };
            let Some(counterpart) = &mut self.counterparts[instance] else { continue };
            self.posted -= usize::from(counterpart.is_posted);
            has_moved |= counterpart.flush(instance, channels);
            if self.ready.get(instance) != Some(&false) && counterpart.read(instance, channels) {
                self.deliver(instance, grants);
                has_moved = true;
            }
        }
        if channels.is_broken() && !self.is_broken {
            self.break_off_with_others(grants);
        }
        has_moved
    }

    /// Puts what has been read of a counterpart into mailboxes.
    fn deliver(&mut self, instance: usize, grants: &Grants) {
        let (channels, position) = (self.channels, self.position);
        let first = position.rank * position.slots();
        let (mailboxes, logged) = (&mut self.mailboxes, &self.logged);
        let counterpart = self.counterparts[instance].as_mut().expect("something was read of it");
        let before = counterpart.delivered;
        let delivered = counterpart.deliver(channels.leave_process(), |slot, message| {
            if slot == BEAT {
                return Some(());
            }
            if slot == DURABLE {
                return logged.as_ref()?.hears(instance, message);
            }
            mailboxes.get_mut(slot).map(|mailbox| {
                mailbox.put(message);
                grants.wake(SlotId((first + slot) as u32), Wake::Granted);
            })
        });
        if counterpart.delivered != before {
            // Bytes that never become a message are no sign of life.
            counterpart.heard = self.looked;
        }
        match delivered {
            Ok(()) => {}
            // Of this instance it may have heard nothing.
            Err(Wrong::BreaksOff(Some(lost))) if lost.instance != position.instance => {
                channels.lose(lost.instance, lost.why);
            }
            Err(Wrong::BreaksOff(_)) => channels.lose(instance, Lost::BREAKS_OFF.to_owned()),
            Err(Wrong::NoMessage) => channels.lose(instance, "what it sent is no message".to_owned()),
        }
    }

    /// A branch has panicked, or an instance is lost: the others are told, and whoever waits here.
    #[cold]
    fn break_off_with_others(&mut self, grants: &Grants) {
        self.is_broken = true;
        if self.channels.leave_process() {
            let mut lost = Vec::new();
            self.channels.with_lost(|of| of.iter().for_each(|of| tell(of, &mut lost)));
            self.tell_all(BREAK, &lost);
        }
        if let Some(Logged { log, .. }) = &self.logged {
            // What is not durable there never will be.
            log.fail(&LogError::Refused { why: "another instance has dropped out".to_owned() });
        }
        self.wake_all(grants);
    }

    fn wake_all(&self, grants: &Grants) {
        let first = self.position.rank * self.position.slots();
        (first..first + self.position.slots())
            .for_each(|slot| grants.wake(SlotId(slot as u32), Wake::Granted));
    }

    /// Asks of all sockets at once whether something has come, if there are several: one call of the system, not one for each. Whether there are.
    #[inline]
    fn poll(&mut self) -> bool {
        if self.sockets > 1 {
            self.poll_sockets();
        }
        self.sockets > 1
    }

    fn poll_sockets(&mut self) {
        let socket = |counterpart: &Option<Counterpart>| {
            counterpart.as_ref().is_some_and(|it| it.channel.socket().is_some())
        };
        let sockets =
            self.counterparts.iter().flatten().filter_map(|counterpart| counterpart.channel.socket());
        socket::poll(sockets, &mut self.polled).unwrap_or_else(|error| panic!("polling sockets: {error}"));
        let mut polled = self.polled.iter();
        self.ready.clear();
        // Who has no socket is looked at.
        let of = |it: &Option<Counterpart>| !socket(it) || *polled.next().expect("one for each socket");
        self.ready.extend(self.counterparts.iter().map(of));
    }

    /// Whether all that was sent is on its way, or will never be.
    pub fn is_flushed(&self) -> bool {
        // Who is lost in silence takes nothing any more.
        let is_lost = self.is_broken && self.channels.leave_process();
        is_lost || self.counterparts.iter().flatten().all(|counterpart| counterpart.outgoing.is_empty())
    }

    fn tell_all(&mut self, what: usize, message: &[u8]) {
        let here = self.position.instance;
        for instance in (0..self.counterparts.len()).filter(|instance| *instance != here) {
            self.send(instance, what, message);
        }
    }

    /// Whether a message has come for a slot.
    pub fn has(&self, slot: usize) -> bool {
        self.mailboxes[slot].has_some()
    }

    /// Takes the next message for a slot, if one has come.
    pub fn take(&mut self, slot: usize, into: &mut Vec<u8>) -> bool {
        self.mailboxes[slot].take(into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::channel::Part;
    use crate::message::channel::stream::RING_BYTES;
    use contract::ChannelName;

    const POSITION: Position = Position { instances: 4, workers: 2, in_flight: 3, instance: 0, rank: 1 };

    /// Messages longer than a ring, there and back, each to its slot.
    #[test]
    fn messages_come_whole_and_in_order() {
        let channels = Channels::open(ChannelName::SharedMemory, POSITION);
        let grants = Grants::new(POSITION.workers * POSITION.slots(), None);
        let mut one = Endpoint::new(&channels, POSITION);
        let mut other = Endpoint::new(&channels, Position { instance: 2, ..POSITION });
        let long: Vec<u8> = (0..2 * RING_BYTES + 5).map(|n| n as u8).collect();
        one.send_to_branch(2, 1, b"first");
        one.send_to_branch(2, 1, &long);
        one.send_to_branch(2, 2, b"of another");
        assert!(!one.is_flushed());
        while one.communicate(&grants) | other.communicate(&grants) {}
        assert!(one.is_flushed());
        let mut message = Vec::new();
        let mut next =
            |endpoint: &mut Endpoint<'_>, slot| endpoint.take(slot, &mut message).then(|| message.clone());
        let (first, second) = (other.position.branch_slot(0, 1), other.position.branch_slot(0, 2));
        assert_eq!(next(&mut other, first).as_deref(), Some(&b"first"[..]));
        assert_eq!(next(&mut other, first), Some(long));
        assert_eq!(next(&mut other, first), None);
        assert_eq!(next(&mut other, second).as_deref(), Some(&b"of another"[..]));
        other.send_to_coordinator(second, b"");
        while one.communicate(&grants) | other.communicate(&grants) {}
        assert_eq!(next(&mut one, 2).as_deref(), Some(&b""[..]));
        let slot = |number| SlotId((POSITION.rank * POSITION.slots() + number) as u32);
        assert!(grants.is_decided(slot(2)) && !grants.is_decided(slot(0)));
    }

    pub(super) const TWO: Position =
        Position { instances: 2, workers: 1, in_flight: 1, instance: 0, rank: 0 };

    /// Who can be asked by a call of the system only is asked once in a while, and who can be looked at is looked at always.
    #[test]
    fn sockets_have_a_polling_interval_and_rings_have_none() {
        let interval = |name| Endpoint::new(&Channels::open(name, TWO), TWO).polling_interval();
        assert_eq!(interval(ChannelName::SharedMemory), Duration::ZERO);
        for name in [ChannelName::Unix, ChannelName::Tcp] {
            assert_eq!(interval(name), POLLING_INTERVAL, "{name}");
        }
        const { assert!(!POLLING_INTERVAL.is_zero()) };
    }

    /// Two processes' ends, within this one.
    pub(super) fn two_parts() -> [Channels; 2] {
        let (one, other) = socket::Socket::pair(socket::Family::Unix).expect("sockets");
        let part = |instance, links| Channels::of_part(Part { instance, instances: 2, links: vec![links] });
        [part(0, vec![None, Some(one.into())]), part(1, vec![Some(other.into()), None])]
    }

    /// It goes with the next message, when a transaction begins, or when the worker polls.
    #[test]
    fn what_is_posted_waits_for_what_is_sent_next_and_no_longer() {
        let [here, there] = two_parts();
        let grants = Grants::new(TWO.slots(), None);
        let mut one = Endpoint::new(&here, TWO);
        let mut other = Endpoint::new(&there, Position { instance: 1, ..TWO });
        let branch = other.position.branch_slot(0, 0);
        let next = |one: &mut Endpoint<'_>| {
            let (mut come, mut message) = (Vec::new(), Vec::new());
            one.communicate(&grants);
            while one.take(branch, &mut message) {
                come.push(std::mem::take(&mut message));
            }
            come
        };
        one.post_to_branch(1, 0, b"decided");
        assert!(one.has_posted() && !one.is_flushed());
        assert!(next(&mut other).is_empty());
        one.send_to_branch(1, 0, b"the next");
        assert_eq!(next(&mut other), [b"decided".as_slice(), b"the next"]);
        one.post_to_branch(1, 0, b"decided");
        one.send_posted();
        assert_eq!(next(&mut other), [b"decided"]);
        one.post_to_branch(1, 0, b"decided");
        assert!(one.communicate(&grants) && one.is_flushed() && !one.has_posted());
        assert_eq!(next(&mut other), [b"decided"]);
        other.post_to_coordinator(branch, b"an answer");
        assert!(!one.communicate(&grants) && !one.has(0));
        other.send_to_branch(0, 0, b"a question");
        assert!(one.communicate(&grants) && one.has(0) && one.has(branch), "both have come at once");
    }

    #[test]
    fn an_instance_that_breaks_off_or_sends_what_is_no_message_is_lost() {
        let because_of = |instance| {
            let mut message = Vec::new();
            tell(&Lost::new(instance, "its process has ended"), &mut message);
            message
        };
        for (sent, instance, why) in [
            (Some((BREAK, vec![])), 1, Lost::BREAKS_OFF),
            (Some((BREAK, because_of(2))), 2, "its process has ended"),
            (Some((BREAK, because_of(0))), 1, Lost::BREAKS_OFF),
            (Some((7, vec![])), 1, "what it sent is no message"),
            (None, 1, "its process has ended"),
        ] {
            let [here, there] = two_parts();
            let grants = Grants::new(TWO.slots(), None);
            let mut one = Endpoint::new(&here, TWO);
            let mut other = Endpoint::new(&there, Position { instance: 1, ..TWO });
            other.send_to_coordinator(1, b"an answer");
            one.communicate(&grants);
            let mut message = Vec::new();
            assert!(one.take(0, &mut message) && message == b"an answer" && !one.is_broken());
            match sent {
                Some((slot, message)) => other.send(0, slot, &message),
                None => drop(other),
            }
            assert!(!one.all_have_finished());
            while !one.is_broken() {
                one.communicate(&grants);
            }
            assert!(one.all_have_finished(), "nobody waits for it");
            drop(one);
            assert_eq!(here.into_lost(), Some(Lost::new(instance, why)));
        }
    }
}
