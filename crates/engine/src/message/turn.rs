//! Whose turn it is with a message: the word that hands a line of a ring to and fro between its sender and its receiver.
//!
//! | state | the line belongs to | and holds |
//! |---|---|---|
//! | EMPTY | the sender | nothing |
//! | CALL | the receiver | a request that is answered in the same line |
//! | POST | the receiver | a request without an answer |
//! | ANSWERED | the sender | the answer |
//! | FAILED | the sender | nothing: the receiver panicked over the request |
//!
//! The worker that has the line writes its body and then the word, with Release; the one that gets it reads the word, with Acquire,
//! and then the body. So the body needs no atomics.
//!
//! This file uses the machine only through `crate::facade::atomic`, so that its test compiles it against `loom`.

use crate::facade::atomic::{AtomicU64, Ordering};

const EMPTY: u64 = 0;
const CALL: u64 = 1;
const POST: u64 = 2;
const ANSWERED: u64 = 3;
const FAILED: u64 = 4;

/// What a sender hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It waits for an answer.
    Call,
    /// It does not.
    Post,
}

/// The receiver panicked over a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

/// The word. Zeroed bytes are the sender's turn.
#[repr(transparent)]
#[derive(Default)]
pub struct Turn(AtomicU64);

impl Turn {
    /// To the sender: whether the line is its own.
    #[inline(always)]
    pub fn is_senders(&self) -> bool {
        // Acquire: the receiver is done with the body; pairs with the Release in `answer`, `done` and `fail`.
        !matches!(self.0.load(Ordering::Acquire), CALL | POST)
    }

    /// By the sender, whose line it is: hands it over.
    #[inline(always)]
    pub fn hand_over(&self, kind: Kind) {
        let state = match kind {
            Kind::Call => CALL,
            Kind::Post => POST,
        };
        // Release: the body is there; pairs with the Acquire in `taken`.
        self.0.store(state, Ordering::Release);
    }

    /// To the receiver: what it was handed, if it was.
    #[inline(always)]
    pub fn taken(&self) -> Option<Kind> {
        // Acquire: pairs with the Release in `hand_over`.
        Turn::handed_over(self.0.load(Ordering::Acquire))
    }

    /// The same, if the word holds that, and was loaded with Acquire.
    #[inline(always)]
    pub fn handed_over(word: u64) -> Option<Kind> {
        match word {
            CALL => Some(Kind::Call),
            POST => Some(Kind::Post),
            _ => None,
        }
    }

    /// What a receiver of many polls.
    #[inline(always)]
    pub fn word(&self) -> &AtomicU64 {
        &self.0
    }

    /// By the receiver of a call: hands the line back with an answer in it.
    #[inline(always)]
    pub fn answer(&self) {
        // Release: the answer is there; pairs with the Acquire in `is_answered`.
        self.0.store(ANSWERED, Ordering::Release);
    }

    /// By the receiver of a post: hands the line back.
    #[inline(always)]
    pub fn done(&self) {
        // Release: the body has been read; pairs with the Acquire in `is_senders`.
        self.0.store(EMPTY, Ordering::Release);
    }

    /// By the receiver of a call over which it panicked: hands the line back without an answer.
    #[cold]
    pub fn fail(&self) {
        // Release: as in `done`.
        self.0.store(FAILED, Ordering::Release);
    }

    /// To the sender of a call: what came of it, once the line is its own again.
    #[inline(always)]
    pub fn answered(&self) -> Option<Result<(), Failed>> {
        // Acquire: pairs with the Release in `answer` and `fail`.
        match self.0.load(Ordering::Acquire) {
            ANSWERED => Some(Ok(())),
            FAILED => Some(Err(Failed)),
            _ => None,
        }
    }
}
