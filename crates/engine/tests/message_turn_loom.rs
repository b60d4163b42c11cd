//! Messages under `loom`: the word that hands a line to and fro, compiled against loom's atomics, around bodies that
//! loom watches for races.
//!
//! A sender posts more messages than the ring has lines, and then calls; the receiver must see them whole and in order,
//! and the sender its answer. `loom` tries every order that the orderings allow, and fails at any access to a body that
//! is not ordered after the last.

mod facade {
    pub mod atomic {
        pub use loom::sync::atomic::{AtomicU64, Ordering};
    }
}

#[allow(dead_code, reason = "the ring uses all of it")]
#[path = "../src/message/turn.rs"]
mod turn;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use turn::{Kind, Turn};

const LINES: usize = 2;

struct Message {
    turn: Turn,
    body: UnsafeCell<u64>,
}

// SAFETY: the turn says who may touch the body, and loom checks that it does.
unsafe impl Sync for Message {}

impl Message {
    fn put(&self, value: u64) {
        // SAFETY: the line is the caller's by its turn.
        self.body.with_mut(|body| unsafe { *body = value });
    }

    fn get(&self) -> u64 {
        // SAFETY: the line is the caller's by its turn.
        self.body.with(|body| unsafe { *body })
    }
}

fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        match look() {
            Some(found) => return found,
            None => thread::yield_now(),
        }
    }
}

#[test]
fn messages_come_whole_and_in_order_and_answers_come_back() {
    loom::model(|| {
        let message = || Message { turn: Turn::default(), body: UnsafeCell::new(0) };
        let ring: Arc<[Message; LINES]> = Arc::new(std::array::from_fn(|_| message()));
        let receiver = {
            let ring = ring.clone();
            thread::spawn(move || {
                let (mut cursor, mut seen) = (0, Vec::new());
                loop {
                    let line = &ring[cursor % LINES];
                    match wait_for(|| line.turn.taken()) {
                        Kind::Post => {
                            seen.push(line.get());
                            line.turn.done();
                            cursor += 1;
                        }
                        Kind::Call => {
                            let asked = line.get();
                            line.put(asked * 10);
                            line.turn.answer();
                            return seen;
                        }
                    }
                }
            })
        };
        let mut cursor = 0;
        for n in 1..=3 {
            let line = &ring[cursor % LINES];
            wait_for(|| line.turn.is_senders().then_some(()));
            line.put(n);
            line.turn.hand_over(Kind::Post);
            cursor += 1;
        }
        let line = &ring[cursor % LINES];
        wait_for(|| line.turn.is_senders().then_some(()));
        line.put(7);
        line.turn.hand_over(Kind::Call);
        assert_eq!(wait_for(|| line.turn.answered()), Ok(()));
        assert_eq!(line.get(), 70);
        assert_eq!(receiver.join().expect("it returns"), [1, 2, 3]);
    });
}

#[test]
fn a_call_over_which_its_receiver_panics_gives_the_line_back() {
    loom::model(|| {
        let line = Arc::new(Message { turn: Turn::default(), body: UnsafeCell::new(0) });
        let receiver = {
            let line = line.clone();
            thread::spawn(move || {
                wait_for(|| line.turn.taken());
                line.put(0);
                line.turn.fail();
                wait_for(|| line.turn.taken());
                line.put(line.get() + 1);
                line.turn.answer();
            })
        };
        line.put(1);
        line.turn.hand_over(Kind::Call);
        assert!(wait_for(|| line.turn.answered()).is_err());
        assert!(line.turn.is_senders());
        line.put(2);
        line.turn.hand_over(Kind::Call);
        assert_eq!(wait_for(|| line.turn.answered()), Ok(()));
        assert_eq!(line.get(), 3);
        receiver.join().expect("it returns");
    });
}
