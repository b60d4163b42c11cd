//! What leads to one counterpart and back: messages on two streams of bytes.
//!
//! On a stream a message is its length and the number of the slot that it is for, four bytes each, and its bytes. Between processes there is a checksum before the bytes, of all three and of
//! how many messages of this run came before on the stream: what does not fit together is not of an engine like this one, or a message was lost, came twice, or came out of turn, and the instance that it came from is lost.
//!
//! Slots that there are not tell what is for the worker itself, such as that nothing more comes.

use crate::facade::clock::Ticks;
use crate::message::channel::{Channel, Channels, Link, is_closed};
use contract::Lost;
use contract::telling::told;

/// See the module.
pub(super) struct Counterpart {
    pub channel: Link,
    /// What was sent, from `sent` on not yet written.
    pub outgoing: Vec<u8>,
    sent: usize,
    /// What was put last waits for what is put next.
    pub is_posted: bool,
    /// Messages with a checksum that were put so far.
    put: u64,
    /// What was read, from `taken` on not yet a whole message.
    incoming: Vec<u8>,
    taken: usize,
    /// Messages that were delivered so far.
    pub delivered: u64,
    /// Its clients' transactions have ended.
    pub has_finished: bool,
    /// Nothing more comes from it.
    pub has_ended: bool,
    /// When something was last put, and when something was last read.
    pub spoke: Ticks,
    pub heard: Ticks,
}

/// What is wrong with a counterpart.
pub(super) enum Wrong {
    /// It has told so, and whom it has lost itself, if that is why.
    BreaksOff(Option<Lost>),
    /// The bytes are no message.
    NoMessage,
}

/// The slots that there are not. Nothing more comes.
pub(super) const END: usize = u32::MAX as usize;
/// The transactions of the sender's clients have ended.
pub(super) const FINISHED: usize = END - 1;
/// The sender breaks off.
pub(super) const BREAK: usize = END - 2;
/// What is durable at the sender.
pub(super) const DURABLE: usize = END - 3;
/// The sender is there.
pub(super) const BEAT: usize = END - 4;

/// Between processes a message is not longer.
const MOST_MESSAGE_BYTES: usize = 1 << 30;

pub(super) const LENGTH_BYTES: usize = size_of::<u32>();
const HEAD_BYTES: usize = 2 * LENGTH_BYTES;
const CHECKED_HEAD_BYTES: usize = HEAD_BYTES + LENGTH_BYTES;

/// The number in the first four bytes.
pub(super) fn number(bytes: &[u8]) -> usize {
    let (first, _) = bytes.split_first_chunk().expect("four bytes");
    u32::from_le_bytes(*first) as usize
}

/// Puts a number behind them, in four.
pub(super) fn put_number(bytes: &mut Vec<u8>, number: usize) {
    let small = u32::try_from(number).expect("a message is shorter than 4 GiB");
    bytes.extend_from_slice(&small.to_le_bytes());
}

impl Counterpart {
    /// Behind a channel to it, over which nothing has gone.
    pub fn new(channel: Link, now: Ticks) -> Self {
        Counterpart {
            channel,
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
        }
    }

    /// Lets a message go with what is flushed next.
    pub fn put(&mut self, slot: usize, message: &[u8], is_checked: bool) {
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
    #[inline]
    pub fn read(&mut self, instance: usize, channels: &Channels) -> bool {
        match self.channel.read(&mut self.incoming) {
            Ok(bytes) => bytes > 0,
            // Between runs, and within a process where a worker was unwound, or has seen the end of the run before this one.
            Err(error) if is_closed(&error) && (self.has_ended || !channels.leave_process()) => false,
            Err(error) => failed(instance, &error, channels),
        }
    }

    /// Writes what there is room for; whether there was anything.
    #[inline]
    pub fn flush(&mut self, instance: usize, channels: &Channels) -> bool {
        self.is_posted = false;
        !self.outgoing.is_empty() && self.write(instance, channels)
    }

    fn write(&mut self, instance: usize, channels: &Channels) -> bool {
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
    pub fn deliver(
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

#[cfg(test)]
mod tests {
    use super::super::tests::{TWO, two_parts};
    use super::super::{Endpoint, Position};
    use crate::message::Grants;

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
