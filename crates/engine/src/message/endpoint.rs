//! A worker's end of the streams by which it talks with its counterparts, the workers of the same rank at the other instances.
//!
//! It is polled by the worker between the turns of its fibers ([`crate::session::fibers`]): what has come goes into the mailbox of the slot that it is for, which is
//! woken; what was sent and found no room goes on. So nobody waits for room.
//!
//! *The end of a run.* A worker tells all others when the transactions of its instance's clients have ended, and serves theirs until it was told the same by each. Then it
//! ends its branches, tells all others that nothing more comes, and reads until it was told that, too: nothing is lost that was on its way, and nothing is left for the
//! next run.
//!
//! On a stream a message is its length and the number of the slot that it is for, four bytes each, and its bytes. Between processes there is a checksum before the bytes, of all three and of
//! how many messages of this run came before on the stream: what does not fit together is not of an engine like this one, or a message was lost, came twice, or came out of turn, and the instance that it came from is lost. Who has lost an instance, or has
//! a branch that has panicked, tells all others that he breaks off, and whom he has lost: all name the same.
//!
//! *What may wait.* Where a write is a call of the system, or of another library, a decision, which nobody answers, is *posted*: it goes with the first message of the worker's next transaction, or when that turns out to send none, or in the round after the
//! next if there is no transaction. Order on the stream is kept, so that it is there before whatever is sent later.
//!
//! *Who is silent.* Between processes nobody can tell one that is slow from one that is gone, or a message that is late from one that is lost, if nothing comes after it. So a worker that has sent nothing
//! to a counterpart for a while sends it a *beat*, whose number says what should have come before; and of whom nothing is heard for [`worker::patience`], not even
//! that, the instance is lost. Only whole messages are heard. Whoever was kept from listening himself listens for as long again.
//!
//! *Durable.* Where instances are processes, each with a log of its own, the first worker of each tells those of the others what is durable there ([`Log::durable_everywhere`]).
//!
//! A worker's first slots are those of its client's transactions; behind them are those of branches, by the coordinators' instances, then by
//! their slots.

use super::Grants;
use super::channel::{Channel, Channels, Link, is_closed};
use crate::durability::Log;
use crate::epoch::Epochs;
use crate::facade::clock::{self, Ticks};
use crate::facade::socket;
use crate::facade::{cpu, worker};
use crate::protocol::{SlotId, Wake, Waker};
use contract::telling::{tell, told};
use contract::{LogError, Lost};
use std::time::Duration;

/// Where a worker is in its deployment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// How many instances there are.
    pub instances: usize,
    /// Workers of each.
    pub workers: usize,
    /// Transactions that a worker has in flight.
    pub in_flight: usize,
    /// The instance.
    pub instance: usize,
    /// The worker, among those of its instance.
    pub rank: usize,
}

impl Position {
    /// Transaction slots of a worker, those of branches among them.
    pub fn slots(self) -> usize {
        self.instances * self.in_flight
    }

    /// The stream from this worker to its counterpart at another instance.
    pub fn stream_to(self, instance: usize) -> usize {
        (self.instance * self.workers + self.rank) * self.instances + instance
    }

    /// Its counterpart at another instance.
    pub fn counterpart(self, instance: usize) -> Position {
        Position { instance, ..self }
    }

    /// Which of this worker's slots runs the branches of slot `number` of a counterpart.
    fn branch_slot(self, coordinator: usize, number: usize) -> usize {
        let others = coordinator - usize::from(coordinator > self.instance);
        self.in_flight * (1 + others) + number
    }

    /// Whose branches one of this worker's slots runs: the instance, and the slot's number.
    fn coordinator_of(self, slot: usize) -> (usize, usize) {
        let others = slot / self.in_flight - 1;
        (others + usize::from(others >= self.instance), slot % self.in_flight)
    }
}

/// What leads to one counterpart and back.
struct Counterpart {
    channel: Link,
    /// What was sent, from `sent` on not yet written.
    outgoing: Vec<u8>,
    sent: usize,
    /// What was put last may wait for what is put next, until the round after this.
    is_posted: bool,
    /// Messages with a checksum that were put so far.
    put: u64,
    /// What was read, from `taken` on not yet a whole message.
    incoming: Vec<u8>,
    taken: usize,
    /// Messages that were delivered so far.
    delivered: u64,
    /// Its clients' transactions have ended.
    has_finished: bool,
    /// Nothing more comes from it.
    has_ended: bool,
    /// When something was last put, and when something was last read.
    spoke: Ticks,
    heard: Ticks,
}

/// Where what an instance logs stands.
struct Logged<'e> {
    log: &'e Log,
    epochs: &'e Epochs,
    /// What the others were told to be durable.
    told: u64,
}

impl Logged<'_> {
    /// Another instance says what is durable there; `None`: it does not.
    fn hears(&self, instance: usize, message: &[u8]) -> Option<()> {
        let durable = u64::from_le_bytes(message.try_into().ok()?);
        // Its epochs are ahead of that.
        self.epochs.raise(durable);
        self.log.hears(instance, durable);
        Some(())
    }
}

/// What is wrong with a counterpart.
enum Wrong {
    /// It has told so, and whom it has lost itself, if that is why.
    BreaksOff(Option<Lost>),
    /// The bytes are no message.
    NoMessage,
}

/// Messages that have come for a slot, behind one another, each after its length.
#[derive(Default)]
struct Mailbox {
    bytes: Vec<u8>,
    taken: usize,
}

/// See the module.
pub(crate) struct Endpoint<'e> {
    position: Position,
    channels: &'e Channels,
    /// By instance; none for this one.
    counterparts: Vec<Option<Counterpart>>,
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
    /// Whether something may wait at a counterpart, for what is put next.
    has_posted: bool,
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

/// The slots that there are not. Nothing more comes.
const END: usize = u32::MAX as usize;
/// The transactions of the sender's clients have ended.
const FINISHED: usize = END - 1;
/// The sender breaks off.
const BREAK: usize = END - 2;
/// What is durable at the sender.
const DURABLE: usize = END - 3;
/// The sender is there.
const BEAT: usize = END - 4;

/// Beats in the time after which who is silent is lost.
const BEATS_IN_PATIENCE: u32 = 8;

/// Between processes a message is not longer.
const MOST_MESSAGE_BYTES: usize = 1 << 30;

const LENGTH_BYTES: usize = size_of::<u32>();
const HEAD_BYTES: usize = 2 * LENGTH_BYTES;
const CHECKED_HEAD_BYTES: usize = HEAD_BYTES + LENGTH_BYTES;

/// The number in the first four bytes.
fn number(bytes: &[u8]) -> usize {
    let (first, _) = bytes.split_first_chunk().expect("four bytes");
    u32::from_le_bytes(*first) as usize
}

fn put_number(bytes: &mut Vec<u8>, number: usize) {
    let small = u32::try_from(number).expect("a message is shorter than 4 GiB");
    bytes.extend_from_slice(&small.to_le_bytes());
}

impl<'e> Endpoint<'e> {
    /// A worker's.
    pub fn new(channels: &'e Channels, position: Position) -> Self {
        let now = if channels.leave_process() { clock::now() } else { Ticks(0) };
        let counterpart = |instance| {
            (instance != position.instance).then(|| Counterpart {
                channel: channels.end(position, instance),
                outgoing: Vec::new(),
                is_posted: false,
                sent: 0,
                put: 0,
                incoming: Vec::new(),
                taken: 0,
                delivered: 0,
                has_finished: false,
                has_ended: false,
                spoke: now,
                heard: now,
            })
        };
        Endpoint {
            position,
            channels,
            counterparts: (0..position.instances).map(counterpart).collect(),
            ready: Vec::new(),
            polled: Vec::new(),
            next: 0,
            mailboxes: std::iter::repeat_with(Mailbox::default).take(position.slots()).collect(),
            logged: None,
            has_posted: false,
            looked: now,
            has_finished: false,
            is_closed: false,
            has_left: false,
            is_broken: false,
        }
    }

    /// The same, of an instance that is a process, and has this log.
    pub fn logging(self, log: &'e Log, epochs: &'e Epochs) -> Self {
        // What others are told of is marked in this run.
        Endpoint { logged: Some(Logged { log, epochs, told: log.durable() }), ..self }
    }

    /// Where its worker is.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether its counterparts are in other processes.
    pub fn leaves_process(&self) -> bool {
        self.channels.leave_process()
    }

    /// How long a worker may go on with transactions that want nothing of other instances before it polls what those want of it. Rings are polled after
    /// each, which costs next to nothing; sockets by calls of the system.
    pub fn polling_interval(&self) -> Duration {
        let mut counterparts = self.counterparts.iter().flatten();
        if counterparts.any(|counterpart| counterpart.channel.socket().is_some()) {
            POLLING_INTERVAL
        } else {
            Duration::ZERO
        }
    }

    /// Sends to the branch of slot `number` at another instance.
    pub fn send_to_branch(&mut self, instance: usize, number: usize, message: &[u8]) {
        let slot = self.position.counterpart(instance).branch_slot(self.position.instance, number);
        self.send(instance, slot, message);
    }

    /// The same of a message that nobody waits for to answer it. Where a write takes long, it goes with the next message there, if one follows at once ([`Endpoint::send_posted`]).
    pub fn post_to_branch(&mut self, instance: usize, number: usize, message: &[u8]) {
        let slot = self.position.counterpart(instance).branch_slot(self.position.instance, number);
        let to = self.counterparts[instance].as_mut().expect("nobody writes to its own instance");
        if !to.channel.is_slow_to_write() {
            return self.send(instance, slot, message);
        }
        to.spoke = self.looked;
        to.put(slot, message, self.channels.leave_process());
        to.is_posted = true;
        self.has_posted = true;
    }

    /// The next transaction sends nothing now, or has sent it: what was posted goes.
    #[inline]
    pub fn send_posted(&mut self) {
        if std::mem::take(&mut self.has_posted) {
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

    fn send(&mut self, instance: usize, slot: usize, message: &[u8]) {
        let channels = self.channels;
        let to = self.counterparts[instance].as_mut().expect("nobody writes to its own instance");
        to.spoke = self.looked;
        to.put(slot, message, channels.leave_process());
        to.flush(instance, channels);
    }

    /// Reads and writes what there is; whether there was anything. Of many streams it looks at some, and at the others when it is called again: what a worker does
    /// between its transactions does not grow with the instances. Of sockets it asks all, in one call.
    pub fn communicate(&mut self, grants: &Grants) -> bool {
        self.tell_durable();
        let all = self.counterparts.len();
        let some = if self.poll() { all } else { all.min(STREAMS_AT_ONCE) };
        let has_moved = self.look_at(some, grants);
        self.look_at_clock();
        has_moved
    }

    /// Tells those who have heard nothing for a while that this worker is there, and loses those who have told nothing for long.
    fn look_at_clock(&mut self) {
        if !self.channels.leave_process() || self.is_broken {
            return;
        }
        let now = clock::now();
        let patience = clock::ticks_of(worker::patience());
        let beat = patience / u64::from(BEATS_IN_PATIENCE);
        let was_away = now.since(std::mem::replace(&mut self.looked, now)) > patience / 2;
        for instance in 0..self.counterparts.len() {
            let Some(counterpart) = self.counterparts[instance].as_mut().filter(|other| !other.has_ended)
            else {
                continue;
            };
            if was_away {
                counterpart.heard = now;
            }
            if now.since(counterpart.heard) > patience {
                let silence = worker::patience();
                self.channels.lose(instance, format!("nothing was heard from it for {silence:?}"));
            } else if now.since(counterpart.spoke) > beat && !self.has_left {
                counterpart.spoke = now;
                self.send(instance, BEAT, b"");
            }
        }
    }

    /// Tells the first workers of other instances what is durable here, if that is more than before. If the log has failed, so that nothing more will be, this instance drops out.
    fn tell_durable(&mut self) {
        let Position { instance, rank, .. } = self.position;
        let Some(logged) = self.logged.as_mut().filter(|_| rank == 0 && !self.is_broken) else { return };
        if logged.log.has_failed() {
            self.channels.lose(instance, logged.log.failure().unwrap_or_default());
            return;
        }
        let durable = logged.log.durable();
        if std::mem::replace(&mut logged.told, durable) != durable {
            self.tell_all(DURABLE, &durable.to_le_bytes());
        }
    }

    fn communicate_with_all(&mut self, grants: &Grants) -> bool {
        self.poll();
        self.look_at(self.counterparts.len(), grants)
    }

    /// Looks at so many of the counterparts, from where it last stopped on.
    fn look_at(&mut self, some: usize, grants: &Grants) -> bool {
        let (mut has_moved, position, all) = (false, self.position, self.counterparts.len());
        let (channels, first) = (self.channels, position.rank * position.slots());
        let (mailboxes, ready, logged) = (&mut self.mailboxes, &self.ready, &self.logged);
        for _ in 0..some {
            let instance = self.next;
            self.next = (instance + 1) % all;
            let Some(counterpart) = &mut self.counterparts[instance] else { continue };
            // Who has just posted something is about to begin the next transaction; whoever has none now comes here again at once.
            has_moved |= std::mem::take(&mut counterpart.is_posted) || counterpart.flush(instance, channels);
            if ready.get(instance) == Some(&false) || !counterpart.read(instance, channels) {
                continue;
            }
            has_moved = true;
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
        if channels.is_broken() && !self.is_broken {
            self.is_broken = true;
            if channels.leave_process() {
                let mut lost = Vec::new();
                channels.with_lost(|of| of.iter().for_each(|of| tell(of, &mut lost)));
                self.tell_all(BREAK, &lost);
            }
            if let Some(Logged { log, .. }) = &self.logged {
                // What is not durable there never will be.
                log.fail(&LogError::Refused { why: "another instance has dropped out".to_owned() });
            }
            self.wake_all(grants);
        }
        has_moved
    }

    fn wake_all(&self, grants: &Grants) {
        let first = self.position.rank * self.position.slots();
        (first..first + self.position.slots())
            .for_each(|slot| grants.wake(SlotId(slot as u32), Wake::Granted));
    }

    /// Asks of all sockets at once whether something has come, if there are several: one call of the system, not one for each. Whether there are.
    fn poll(&mut self) -> bool {
        let socket = |counterpart: &Option<Counterpart>| {
            counterpart.as_ref().is_some_and(|it| it.channel.socket().is_some())
        };
        let sockets =
            self.counterparts.iter().flatten().filter_map(|counterpart| counterpart.channel.socket());
        if sockets.clone().nth(1).is_none() {
            return false;
        }
        socket::poll(sockets, &mut self.polled).unwrap_or_else(|error| panic!("polling sockets: {error}"));
        let mut polled = self.polled.iter();
        self.ready.clear();
        // Who has no socket is looked at.
        let of = |it: &Option<Counterpart>| !socket(it) || *polled.next().expect("one for each socket");
        self.ready.extend(self.counterparts.iter().map(of));
        true
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

    /// The transactions of this instance's clients have ended: tells all others, once. Whether all of theirs have, or somebody has broken off.
    pub fn all_have_finished(&mut self) -> bool {
        if !std::mem::replace(&mut self.has_finished, true) {
            self.tell_all(FINISHED, b"");
        }
        self.is_broken || self.counterparts.iter().flatten().all(|counterpart| counterpart.has_finished)
    }

    /// All transactions of all instances have ended: wakes the slots that wait for branches, to end.
    pub fn close(&mut self, grants: &Grants) {
        self.is_closed = true;
        self.wake_all(grants);
    }

    /// All branches have ended: takes what the others sent, until nothing more comes.
    pub fn leave(&mut self, grants: &Grants) {
        if !self.is_broken {
            self.tell_all(END, b"");
        }
        self.has_left = true;
        let mut spin = cpu::Spin::new();
        let has_ended = |counterpart: &Counterpart| counterpart.has_ended;
        while !(self.is_broken || self.is_flushed() && self.counterparts.iter().flatten().all(has_ended)) {
            if !self.communicate_with_all(grants) {
                spin.pause();
                self.look_at_clock();
            }
        }
        if self.is_broken && self.channels.leave_process() {
            // What could not be sent any more, that this instance breaks off perhaps, is told by the connections' end.
            self.counterparts.iter().flatten().for_each(|counterpart| counterpart.channel.shut_down());
        }
    }

    /// A branch has panicked.
    #[cold]
    pub fn break_off(&self) {
        self.channels.break_off();
    }

    /// Whether one has, or an instance is lost, so that nobody may answer any more.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Whether all transactions have ended, or an instance that is a process is lost.
    pub fn serves_no_more(&self) -> bool {
        self.is_closed || self.is_broken && self.channels.leave_process()
    }

    /// Takes the next message for a slot, if one has come.
    pub fn take(&mut self, slot: usize, into: &mut Vec<u8>) -> bool {
        self.mailboxes[slot].take(into)
    }
}

impl Counterpart {
    /// Lets a message go with what is flushed next.
    fn put(&mut self, slot: usize, message: &[u8], is_checked: bool) {
        assert!(
            !is_checked || message.len() <= MOST_MESSAGE_BYTES,
            "a message of {} bytes: allowed: {MOST_MESSAGE_BYTES} at most",
            message.len()
        );
        put_number(&mut self.outgoing, message.len());
        put_number(&mut self.outgoing, slot);
        if is_checked {
            let head = &self.outgoing[self.outgoing.len() - HEAD_BYTES..];
            let sum = checksum(self.put, head, message);
            put_number(&mut self.outgoing, sum);
            self.put += 1;
        }
        self.outgoing.extend_from_slice(message);
    }

    /// Reads what has come; whether there was anything.
    fn read(&mut self, instance: usize, channels: &Channels) -> bool {
        match self.channel.read(&mut self.incoming) {
            Ok(bytes) => bytes > 0,
            // Between runs, and within a process where a worker was unwound, or has seen the end of the run before this one.
            Err(error) if is_closed(&error) && (self.has_ended || !channels.leave_process()) => false,
            Err(error) => failed(instance, &error, channels),
        }
    }

    /// Writes what there is room for; whether there was anything.
    fn flush(&mut self, instance: usize, channels: &Channels) -> bool {
        self.is_posted = false;
        if self.outgoing.is_empty() {
            return false;
        }
        let written = match self.channel.write(&self.outgoing[self.sent..]) {
            Ok(written) => written,
            Err(error) => {
                if !is_closed(&error) {
                    failed(instance, &error, channels);
                }
                // Nobody reads it any more: a worker was unwound, or an instance is lost, or has broken off. Which, is said by what it had sent and by its end, which are
                // read.
                self.outgoing.len() - self.sent
            }
        };
        self.sent += written;
        if self.sent == self.outgoing.len() {
            self.outgoing.clear();
            self.sent = 0;
        }
        written > 0
    }

    /// Hands over the messages that have come whole, each with its slot; it answers `None` for one that there is not.
    fn deliver(
        &mut self,
        is_checked: bool,
        mut deliver: impl FnMut(usize, &[u8]) -> Option<()>,
    ) -> Result<(), Wrong> {
        let head_bytes = if is_checked { CHECKED_HEAD_BYTES } else { HEAD_BYTES };
        loop {
            let left = &self.incoming[self.taken..];
            if left.len() < head_bytes {
                break;
            }
            let (length, slot) = (number(left), number(&left[LENGTH_BYTES..]));
            let Some(message) = left[head_bytes..].get(..length) else {
                // Of a length that is none nobody would ever see the end.
                if is_checked && length > MOST_MESSAGE_BYTES {
                    return Err(Wrong::NoMessage);
                }
                break;
            };
            let fits =
                || checksum(self.delivered, &left[..HEAD_BYTES], message) == number(&left[HEAD_BYTES..]);
            if is_checked && !fits() {
                return Err(Wrong::NoMessage);
            }
            self.delivered += 1;
            match slot {
                END => self.has_ended = true,
                FINISHED => self.has_finished = true,
                BREAK => return Err(Wrong::BreaksOff(told(message))),
                slot => deliver(slot, message).ok_or(Wrong::NoMessage)?,
            }
            self.taken += head_bytes + length;
        }
        if self.taken > self.incoming.len() / 2 {
            self.incoming.drain(..self.taken);
            self.taken = 0;
        }
        Ok(())
    }
}

/// A channel that does not work: the other process is gone. Instances of one process end together; there it is a defect.
#[cold]
fn failed(instance: usize, error: &std::io::Error, channels: &Channels) -> bool {
    assert!(channels.leave_process(), "a channel to another instance: {error}");
    let why = if is_closed(error) { "its process has ended".to_owned() } else { error.to_string() };
    channels.lose(instance, why);
    false
}

/// Of a message's head and bytes, and of its number on its stream.
fn checksum(nth: u64, head: &[u8], message: &[u8]) -> usize {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&nth.to_le_bytes());
    hasher.update(head);
    hasher.update(message);
    hasher.finalize() as usize
}

impl Mailbox {
    fn put(&mut self, message: &[u8]) {
        put_number(&mut self.bytes, message.len());
        self.bytes.extend_from_slice(message);
    }

    fn take(&mut self, into: &mut Vec<u8>) -> bool {
        let left = &self.bytes[self.taken..];
        if left.is_empty() {
            return false;
        }
        let length = number(left);
        into.clear();
        into.extend_from_slice(&left[LENGTH_BYTES..][..length]);
        self.taken += LENGTH_BYTES + length;
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::channel::Part;
    use crate::message::channel::stream::RING_BYTES;
    use contract::ChannelName;

    const POSITION: Position = Position { instances: 4, workers: 2, in_flight: 3, instance: 0, rank: 1 };

    #[test]
    fn every_slot_has_one_for_its_branches_at_every_other_instance() {
        for instance in 0..POSITION.instances {
            let here = Position { instance, ..POSITION };
            let mut taken = vec![false; here.slots()];
            for coordinator in (0..POSITION.instances).filter(|other| *other != instance) {
                for number in 0..POSITION.in_flight {
                    let slot = here.branch_slot(coordinator, number);
                    assert!(slot >= POSITION.in_flight && !std::mem::replace(&mut taken[slot], true));
                    assert_eq!(here.coordinator_of(slot), (coordinator, number));
                }
            }
            assert_eq!(taken.iter().filter(|taken| !**taken).count(), POSITION.in_flight);
        }
    }

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

    const TWO: Position = Position { instances: 2, workers: 1, in_flight: 1, instance: 0, rank: 0 };

    /// Who serves until all have finished has all that was sent before, and tells every slot; who leaves leaves nothing behind.
    #[test]
    fn a_run_ends_with_everybodys_last_word() {
        let channels = Channels::open(ChannelName::SharedMemory, TWO);
        let grants = Grants::new(TWO.slots(), None);
        let mut one = Endpoint::new(&channels, TWO);
        let mut other = Endpoint::new(&channels, Position { instance: 1, ..TWO });
        assert!(!other.all_have_finished());
        one.send_to_branch(1, 0, b"the last");
        assert!(!one.all_have_finished(), "it has not looked");
        assert!(one.communicate(&grants) && one.all_have_finished());
        assert!(other.communicate(&grants) && other.all_have_finished());
        other.close(&grants);
        assert!(other.serves_no_more() && grants.is_decided(SlotId(0)));
        let mut message = Vec::new();
        assert!(other.take(other.position.branch_slot(0, 0), &mut message));
        assert_eq!(message, b"the last");
        // Sent after the other has finished, and asked for by nobody.
        other.send_to_coordinator(1, b"late");
        other.tell_all(END, b"");
        one.leave(&grants);
        while other.communicate(&grants) {}
        let has_ended =
            |endpoint: &Endpoint<'_>| endpoint.counterparts.iter().flatten().all(|other| other.has_ended);
        assert!(has_ended(&one) && has_ended(&other));
        assert!(!one.communicate(&grants) && !other.communicate(&grants));
    }

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
    fn two_parts() -> [Channels; 2] {
        let (one, other) = socket::Socket::pair(socket::Family::Unix).expect("sockets");
        let part = |instance, links| Channels::of_part(Part { instance, instances: 2, links: vec![links] });
        [part(0, vec![None, Some(one.into())]), part(1, vec![Some(other.into()), None])]
    }

    /// It goes with the next message, when a transaction begins, or in the round after the next.
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
        assert!(one.communicate(&grants) && !one.is_flushed(), "it is to come here again at once");
        assert!(next(&mut other).is_empty());
        one.send_to_branch(1, 0, b"the next");
        assert_eq!(next(&mut other), [b"decided".as_slice(), b"the next"]);
        one.post_to_branch(1, 0, b"decided");
        one.send_posted();
        assert_eq!(next(&mut other), [b"decided"]);
        one.post_to_branch(1, 0, b"decided");
        assert!(one.communicate(&grants) && one.communicate(&grants) && one.is_flushed());
        assert_eq!(next(&mut other), [b"decided"]);
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

    /// A byte that changed on its way.
    #[test]
    fn what_is_between_processes_has_a_checksum() {
        let [here, there] = two_parts();
        let grants = Grants::new(TWO.slots(), None);
        let mut one = Endpoint::new(&here, TWO);
        let mut other = Endpoint::new(&there, Position { instance: 1, ..TWO });
        let to = other.counterparts[0].as_mut().expect("a counterpart");
        to.put(0, b"an answer", true);
        *to.outgoing.last_mut().expect("bytes") ^= 1;
        other.communicate(&grants);
        while !one.is_broken() {
            one.communicate(&grants);
        }
        assert!(!one.take(0, &mut Vec::new()));
    }

    /// What comes of three messages whose bytes a channel carries as `carry` says: what is delivered before the instance is lost.
    fn carried(carry: impl Fn(&[Vec<u8>; 3]) -> Vec<u8>) -> (Vec<Vec<u8>>, bool) {
        let [here, there] = two_parts();
        let grants = Grants::new(TWO.slots(), None);
        let mut one = Endpoint::new(&here, TWO);
        let mut other = Endpoint::new(&there, Position { instance: 1, ..TWO });
        let to = other.counterparts[0].as_mut().expect("a counterpart");
        let messages = [b"first", b"other", b"third"].map(|message| {
            to.put(0, message, true);
            std::mem::take(&mut to.outgoing)
        });
        // A byte at a time: what is late is waited for.
        let mut delivered = Vec::new();
        for byte in carry(&messages) {
            other.counterparts[0].as_mut().expect("a counterpart").outgoing = vec![byte];
            other.communicate(&grants);
            one.communicate(&grants);
            let mut message = Vec::new();
            while one.take(0, &mut message) {
                delivered.push(message.clone());
            }
        }
        (delivered, one.is_broken())
    }

    #[test]
    fn messages_that_are_lost_or_doubled_or_out_of_turn_lose_the_instance() {
        let [first, second, third] = ["first", "other", "third"].map(|message| message.as_bytes().to_vec());
        let all = carried(|messages| messages.concat());
        assert_eq!(all, (vec![first.clone(), second.clone(), third], false), "late, but whole and in order");
        let doubled = carried(|[one, other, third]| [&one[..], one, other, third].concat());
        assert_eq!(doubled, (vec![first.clone()], true), "doubled");
        let lost = carried(|[one, _, third]| [&one[..], third].concat());
        assert_eq!(lost, (vec![first.clone()], true), "lost");
        let swapped = carried(|[one, other, third]| [&one[..], third, other].concat());
        assert_eq!(swapped, (vec![first.clone()], true), "out of turn");
        let cut = carried(|[one, other, third]| [&one[..], &other[..other.len() - 1], third].concat());
        assert_eq!(cut, (vec![first], true), "cut short");
    }
}
