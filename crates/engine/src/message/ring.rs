//! Rings: one for every ordered pair of workers that talk, [`LINES`] messages of one cache line each.
//!
//! State. A message is a line: the word that says whose turn it is ([`super::turn`]), and [`BODY_BYTES`] bytes for what
//! is sent, and for the answer.
//!
//! The sender has a cursor of its own, and so has the receiver; nobody reads the other's. A post moves both on by one
//! line. A call moves neither: its sender waits, and when the answer is there the line is the sender's again. So a
//! worker that calls time after time uses one line, which both have at hand, and nothing else has to pass between the
//! two than that line, there and back.
//!
//! Invariants:
//! - First in, first out: the receiver looks at one line, its cursor's, and moves on only past a post it has taken.
//! - The line at the sender's cursor is the receiver's only if the ring is full of posts; a call always finds room once
//!   the oldest post is taken. A sender that finds the ring full must serve its own inbox meanwhile, or let others run.
//!
//! A receiver looks only at rings that were opened: it keeps a bit for every sender, set when the pair first talks.
//! Memory: 1 KiB a pair, of address space for all of them and of memory when they first talk.

use super::turn::{Failed, Kind, Turn};
use crate::epoch::Line;
use crate::facade::atomic::{AtomicU64, Ordering, poll};
use crate::facade::region::Region;
use crate::facade::{cpu, payload};

/// Bytes of a message beside its state.
pub(crate) const BODY_BYTES: usize = 56;
/// Messages of a ring.
pub(crate) const LINES: usize = 16;

/// One message. Zeroed bytes are an empty one.
#[repr(C, align(64))]
struct Message {
    turn: Turn,
    body: [AtomicU64; BODY_BYTES / 8],
}

const RING_BYTES: usize = LINES * size_of::<Message>();

const _: () = {
    assert!(size_of::<Message>() == 64, "a message is a cache line");
    assert!(RING_BYTES <= 1024, "the memory that is stated for a pair");
};

impl Message {
    /// Where `T` lies in the body.
    fn body<T>(&self) -> *mut T {
        const { assert!(size_of::<T>() <= BODY_BYTES && align_of::<T>() <= 8, "a message holds 56 bytes") };
        self.body.as_ptr().cast_mut().cast()
    }
}

/// Senders that have opened a ring to one receiver, a bit each.
struct Opened(Box<[Line<AtomicU64>]>);

/// The rings of all pairs of `workers` workers.
pub(crate) struct Rings {
    region: Region,
    workers: usize,
    opened: Box<[Opened]>,
}

impl Rings {
    /// Address space for the rings of `workers` workers; memory comes when a pair first talks.
    pub fn new(workers: usize) -> Self {
        let opened = || Opened((0..workers.div_ceil(64)).map(|_| Line::default()).collect());
        Rings {
            region: Region::reserve(workers * workers * RING_BYTES)
                .expect("address space of 1 KiB for every pair of workers"),
            workers,
            opened: std::iter::repeat_with(opened).take(workers).collect(),
        }
    }

    /// The ring from `from` to `to`.
    fn offset(&self, from: usize, to: usize) -> usize {
        assert!(from < self.workers && to < self.workers);
        // A receiver's rings lie side by side.
        (to * self.workers + from) * RING_BYTES
    }

    fn message(&self, from: usize, to: usize, cursor: u8) -> &Message {
        let offset = self.offset(from, to) + usize::from(cursor) % LINES * size_of::<Message>();
        // SAFETY: the offset lies in the region, by the assertion in `offset`; its memory is zeroed, lives as long as
        // `self`, and is only ever accessed as messages, whose fields have interior mutability.
        unsafe { &*self.region.base().byte_add(offset).cast::<Message>() }
    }

    /// Makes the ring known to its receiver.
    #[cold]
    fn open(&self, from: usize, to: usize) {
        let offset = self.offset(from, to);
        self.region.fault_in(offset..offset + RING_BYTES);
        // Release: nothing but zeroes is published; the messages have orderings of their own.
        self.opened[to].0[from / 64].0.fetch_or(1 << (from % 64), Ordering::Release);
    }
}

/// One worker's end of the rings that it sends through.
pub(crate) struct Outbox<'e> {
    rings: &'e Rings,
    me: usize,
    cursors: Box<[u8]>,
    opened: Box<[bool]>,
}

impl<'e> Outbox<'e> {
    /// Worker `me`'s.
    pub fn new(rings: &'e Rings, me: usize) -> Self {
        let workers = rings.workers;
        Outbox { rings, me, cursors: vec![0; workers].into(), opened: vec![false; workers].into() }
    }

    fn message(&self, to: usize) -> &'e Message {
        self.rings.message(self.me, to, self.cursors[to])
    }

    /// Whether a message to `to` finds room now.
    #[inline(always)]
    pub fn has_room(&self, to: usize) -> bool {
        self.message(to).turn.is_senders()
    }

    #[inline(always)]
    fn send<T: Copy + Send>(&mut self, to: usize, body: T, kind: Kind) {
        if !self.opened[to] {
            self.rings.open(self.me, to);
            self.opened[to] = true;
        }
        let message = self.message(to);
        assert!(self.has_room(to), "sent into a full ring");
        // SAFETY: the line is the sender's, so nobody else touches the body, which is large enough and aligned.
        unsafe { payload::put(message.body::<T>(), body) };
        message.turn.hand_over(kind);
    }

    /// Sends a request without an answer, given that there is room.
    #[inline(always)]
    pub fn post<T: Copy + Send>(&mut self, to: usize, body: T) {
        self.send(to, body, Kind::Post);
        self.cursors[to] = (self.cursors[to] + 1) % LINES as u8;
        // The next line was the receiver's last; by the time that it is needed it is here.
        cpu::prefetch_write((&raw const *self.message(to)).cast());
    }

    /// Whether everything that was posted has been taken.
    pub fn is_drained(&self) -> bool {
        let last = |cursor: u8| (cursor + LINES as u8 - 1) % LINES as u8;
        let mut opened = (0..self.rings.workers).filter(|&to| self.opened[to]);
        opened.all(|to| self.rings.message(self.me, to, last(self.cursors[to])).turn.is_senders())
    }

    /// Sends a request whose answer is waited for, given that there is room.
    #[inline(always)]
    pub fn call<T: Copy + Send>(&mut self, to: usize, body: T) {
        self.send(to, body, Kind::Call);
    }

    /// The answer to the call that was sent to `to`, once it is there; or that `to` panicked over it.
    ///
    /// # Safety
    /// The receiver answers that call with an `R`, and it is the last message that was sent to `to`.
    #[inline(always)]
    pub unsafe fn answer<R: Copy + Send>(&self, to: usize) -> Option<Result<R, Failed>> {
        let message = self.message(to);
        // SAFETY: once answered the line is the sender's, and the caller vouches for what is in it.
        let take = |()| unsafe { payload::take(message.body::<R>()) };
        Some(message.turn.answered()?.map(take))
    }
}

/// A message that its receiver has come to.
pub(crate) struct Taken<'e> {
    message: &'e Message,
    cursor: &'e mut u8,
    /// Whether the sender waits for an answer.
    pub is_call: bool,
}

impl Taken<'_> {
    /// What was sent.
    ///
    /// # Safety
    /// It is a `T`.
    #[inline(always)]
    pub unsafe fn body<T: Copy>(&self) -> T {
        // SAFETY: the line is the receiver's, and the caller vouches for what is in it.
        unsafe { payload::take(self.message.body::<T>()) }
    }

    /// Answers a call.
    #[inline(always)]
    pub fn answer<R: Copy + Send>(self, answer: R) {
        assert!(self.is_call, "nobody waits for an answer to a post");
        // SAFETY: the line is the receiver's, so nobody else touches the body, which is large enough and aligned.
        unsafe { payload::put(self.message.body::<R>(), answer) };
        self.message.turn.answer();
        std::mem::forget(self);
    }

    /// Done with a post: its line may be used again.
    #[inline(always)]
    pub fn done(mut self) {
        assert!(!self.is_call, "the sender of a call waits for an answer");
        self.hand_back();
        std::mem::forget(self);
    }

    #[inline(always)]
    fn hand_back(&mut self) {
        *self.cursor = (*self.cursor + 1) % LINES as u8;
        self.message.turn.done();
    }
}

/// The receiver panics over the request: it is over, and its sender, if it waits, is told.
impl Drop for Taken<'_> {
    #[cold]
    fn drop(&mut self) {
        if self.is_call {
            self.message.turn.fail();
        } else {
            self.hand_back();
        }
    }
}

/// One worker's end of the rings that others send to it through.
pub(crate) struct Inbox<'e> {
    rings: &'e Rings,
    me: usize,
    cursors: Box<[u8]>,
}

impl<'e> Inbox<'e> {
    /// Worker `me`'s.
    pub fn new(rings: &'e Rings, me: usize) -> Self {
        Inbox { rings, me, cursors: vec![0; rings.workers].into() }
    }

    /// Hands what has come to `serve`, from every sender in turn, at most a ring's worth of each; answers how many.
    #[inline(always)]
    pub fn serve(&mut self, mut serve: impl FnMut(Taken<'_>)) -> u64 {
        let mut served = 0;
        for (word, opened) in self.rings.opened[self.me].0.iter().enumerate() {
            // Acquire: pairs with the Release in `open`.
            let mut senders = opened.0.load(Ordering::Acquire);
            while let Some((sender, kind)) = self.first_of(&mut senders, word * 64) {
                serve(self.taken(sender, kind));
                served += 1;
                for _ in 1..LINES {
                    let Some(taken) = self.take(sender) else { break };
                    serve(taken);
                    served += 1;
                }
            }
        }
        served
    }

    /// The message from a sender that is looked at next.
    #[inline(always)]
    fn message(&self, from: usize) -> &Message {
        self.rings.message(from, self.me, self.cursors[from])
    }

    /// The first of `senders`, a bit each from `first` on, of whom something has come, and what; that one and those before it are taken out.
    #[inline(always)]
    fn first_of(&self, senders: &mut u64, first: usize) -> Option<(usize, Kind)> {
        let mut sender = first;
        let next = || {
            if *senders == 0 {
                return None;
            }
            sender = first + senders.trailing_zeros() as usize;
            *senders &= *senders - 1;
            Some(self.message(sender).turn.word())
        };
        let word = poll(next, |word| Turn::handed_over(word).is_some())?;
        Some((sender, Turn::handed_over(word).expect("it is wanted")))
    }

    #[inline(always)]
    fn take(&mut self, from: usize) -> Option<Taken<'_>> {
        let kind = self.message(from).turn.taken()?;
        Some(self.taken(from, kind))
    }

    #[inline(always)]
    fn taken(&mut self, from: usize, kind: Kind) -> Taken<'_> {
        let cursor = &mut self.cursors[from];
        let message = self.rings.message(from, self.me, *cursor);
        Taken { message, cursor, is_call: kind == Kind::Call }
    }
}
