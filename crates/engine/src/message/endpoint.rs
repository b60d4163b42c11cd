//! A worker's end of the streams by which it talks with its counterparts, the workers of the same rank at the other instances.
//!
//! It is polled by the worker between the turns of its fibers ([`crate::session::fibers`]): what has come goes into the mailbox of the slot that it is for, which is
//! woken; what was sent and found no room goes on. So nobody waits for room.
//!
//! When the run is over each tells all others that nothing more comes from it, and reads until it was told the same: nothing is lost that was on its way.
//!
//! On a stream a message is its length and the number of the slot that it is for, four bytes each, and its bytes.
//!
//! A worker's first slots are those of its client's transactions; behind them are those of branches, by the coordinators' instances, then by
//! their slots.

use super::Grants;
use super::channel::{Channel, Channels};
use crate::facade::{cpu, socket};
use crate::protocol::{SlotId, Wake, Waker};

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
struct Counterpart<'e> {
    channel: Channel<'e>,
    /// What was sent, from `sent` on not yet written.
    outgoing: Vec<u8>,
    sent: usize,
    /// What was read, from `taken` on not yet a whole message.
    incoming: Vec<u8>,
    taken: usize,
    /// Nothing more comes from it.
    has_ended: bool,
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
    counterparts: Vec<Option<Counterpart<'e>>>,
    /// By instance: whether something has come, if several are asked for that at once.
    ready: Vec<bool>,
    /// The instance to look at next.
    next: usize,
    /// By slot of the worker.
    mailboxes: Vec<Mailbox>,
    is_closed: bool,
    /// Whether the slots were told that a branch has panicked.
    is_broken: bool,
}

/// Streams that are looked at between two transactions: as many lines as are there at once.
const STREAMS_AT_ONCE: usize = 8;

/// The slot that nothing is for: nothing more comes.
const END: usize = u32::MAX as usize;

const LENGTH_BYTES: usize = size_of::<u32>();
const HEAD_BYTES: usize = 2 * LENGTH_BYTES;

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
        let counterpart = |instance| {
            (instance != position.instance).then(|| Counterpart {
                channel: channels.end(position, instance),
                outgoing: Vec::new(),
                sent: 0,
                incoming: Vec::new(),
                taken: 0,
                has_ended: false,
            })
        };
        Endpoint {
            position,
            channels,
            counterparts: (0..position.instances).map(counterpart).collect(),
            ready: Vec::new(),
            next: 0,
            mailboxes: std::iter::repeat_with(Mailbox::default).take(position.slots()).collect(),
            is_closed: false,
            is_broken: false,
        }
    }

    /// Where its worker is.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Sends to the branch of slot `number` at another instance.
    pub fn send_to_branch(&mut self, instance: usize, number: usize, message: &[u8]) {
        let slot = self.position.counterpart(instance).branch_slot(self.position.instance, number);
        self.send(instance, slot, message);
    }

    /// Sends to the transaction whose branch slot `number` runs.
    pub fn send_to_coordinator(&mut self, number: usize, message: &[u8]) {
        let (instance, slot) = self.position.coordinator_of(number);
        self.send(instance, slot, message);
    }

    fn send(&mut self, instance: usize, slot: usize, message: &[u8]) {
        let to = self.counterparts[instance].as_mut().expect("nobody writes to its own instance");
        put_number(&mut to.outgoing, message.len());
        put_number(&mut to.outgoing, slot);
        to.outgoing.extend_from_slice(message);
        to.flush();
    }

    /// Reads and writes what there is; whether there was anything. Of many streams it looks at some, and at the others when it is called again: what a worker does
    /// between its transactions does not grow with the instances. Of sockets it asks all, in one call.
    pub fn communicate(&mut self, grants: &Grants) -> bool {
        let all = self.counterparts.len();
        let some = if self.poll() { all } else { all.min(STREAMS_AT_ONCE) };
        self.look_at(some, grants)
    }

    fn communicate_with_all(&mut self, grants: &Grants) -> bool {
        self.poll();
        self.look_at(self.counterparts.len(), grants)
    }

    /// Looks at so many of the counterparts, from where it last stopped on.
    fn look_at(&mut self, some: usize, grants: &Grants) -> bool {
        let (mut has_moved, position, all) = (false, self.position, self.counterparts.len());
        let first = position.rank * position.slots();
        let (mailboxes, ready) = (&mut self.mailboxes, &self.ready);
        for _ in 0..some {
            let instance = self.next;
            self.next = (instance + 1) % all;
            let Some(counterpart) = &mut self.counterparts[instance] else { continue };
            has_moved |= counterpart.flush();
            if ready.get(instance) == Some(&false) || counterpart.channel.read(&mut counterpart.incoming) == 0
            {
                continue;
            }
            has_moved = true;
            counterpart.deliver(|slot, message| {
                mailboxes[slot].put(message);
                grants.wake(SlotId((first + slot) as u32), Wake::Granted);
            });
        }
        if self.channels.is_broken() && !self.is_broken {
            self.is_broken = true;
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
        let sockets =
            self.counterparts.iter().flatten().filter_map(|counterpart| counterpart.channel.socket());
        if sockets.clone().nth(1).is_none() {
            return false;
        }
        socket::poll(sockets, &mut self.ready).unwrap_or_else(|error| panic!("polling sockets: {error}"));
        // There is none to this instance itself.
        self.ready.insert(self.position.instance, false);
        true
    }

    /// Whether all that was sent is on its way.
    pub fn is_flushed(&self) -> bool {
        self.counterparts.iter().flatten().all(|counterpart| counterpart.outgoing.is_empty())
    }

    /// Tells all others that nothing more comes from here.
    fn end(&mut self) {
        let here = self.position.instance;
        for instance in (0..self.counterparts.len()).filter(|instance| *instance != here) {
            self.send(instance, END, b"");
        }
    }

    /// All transactions of all instances have ended: takes what they sent, until each has ended, and wakes the slots that wait for branches.
    pub fn close(&mut self, grants: &Grants) {
        self.end();
        let mut spin = cpu::Spin::new();
        let has_ended = |counterpart: &Counterpart<'_>| counterpart.has_ended;
        while !(self.is_broken || self.is_flushed() && self.counterparts.iter().flatten().all(has_ended)) {
            if !self.communicate_with_all(grants) {
                spin.pause();
            }
        }
        self.is_closed = true;
        self.wake_all(grants);
    }

    /// A branch has panicked.
    #[cold]
    pub fn break_off(&self) {
        self.channels.break_off();
    }

    /// Whether one has, so that nobody may answer any more.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Whether that was so.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Takes the next message for a slot, if one has come.
    pub fn take(&mut self, slot: usize, into: &mut Vec<u8>) -> bool {
        self.mailboxes[slot].take(into)
    }
}

impl Counterpart<'_> {
    /// Writes what there is room for; whether there was anything.
    fn flush(&mut self) -> bool {
        if self.outgoing.is_empty() {
            return false;
        }
        let written = self.channel.write(&self.outgoing[self.sent..]);
        self.sent += written;
        if self.sent == self.outgoing.len() {
            self.outgoing.clear();
            self.sent = 0;
        }
        written > 0
    }

    /// Hands over the messages that have come whole, each with its slot.
    fn deliver(&mut self, mut deliver: impl FnMut(usize, &[u8])) {
        loop {
            let left = &self.incoming[self.taken..];
            if left.len() < HEAD_BYTES {
                break;
            }
            let (length, slot) = (number(left), number(&left[LENGTH_BYTES..]));
            let Some(message) = left[HEAD_BYTES..].get(..length) else { break };
            match slot {
                END => self.has_ended = true,
                slot => deliver(slot, message),
            }
            self.taken += HEAD_BYTES + length;
        }
        if self.taken == self.incoming.len() {
            self.incoming.clear();
            self.taken = 0;
        }
    }
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
    use crate::message::stream::RING_BYTES;
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

    /// Who closes has all that was sent before, and tells every slot.
    #[test]
    fn a_run_ends_with_everybodys_last_word() {
        let position = Position { instances: 2, workers: 1, in_flight: 1, instance: 0, rank: 0 };
        let channels = Channels::open(ChannelName::SharedMemory, position);
        let grants = Grants::new(position.slots(), None);
        let mut one = Endpoint::new(&channels, position);
        let mut other = Endpoint::new(&channels, Position { instance: 1, ..position });
        one.send_to_branch(1, 0, b"the last");
        one.end();
        assert!(!other.is_closed() && !grants.is_decided(SlotId(0)));
        other.close(&grants);
        assert!(other.is_closed() && grants.is_decided(SlotId(0)));
        let mut message = Vec::new();
        assert!(other.take(other.position.branch_slot(0, 0), &mut message));
        assert_eq!(message, b"the last");
    }
}
