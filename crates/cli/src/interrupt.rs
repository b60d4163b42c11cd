//! An interrupt of a measurement (SIGINT): the first one ends it once the repetition that runs has ended, and what was measured is kept;
//! the second one ends the program at once. Commands that keep a journal, such as `sweep`, do without: they are ended by the first.

use crate::output::say;
use crate::{by_turns, nodes};
use cluster::Group;
use harness::failure::INTERRUPTED;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static IS_ASKED_FOR: AtomicBool = AtomicBool::new(false);

/// The second one has come: whatever fails from now on does so because of it.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Keeps what was measured from here on, if it is interrupted.
pub fn heed() {
    if nodes::is_started_for_a_run() {
        return;
    }
    let heeded = ctrlc::set_handler(|| {
        // Relaxed, here and below: a flag that orders nothing.
        if IS_ASKED_FOR.swap(true, Ordering::Relaxed) {
            IS_ENDING.store(true, Ordering::Relaxed);
            if let Some(group) = Group::get() {
                nodes::end_children(group);
            }
            by_turns::end_child();
            exit(i32::from(INTERRUPTED));
        }
        say(
            "\ninterrupted: ends with the repetition that runs, and keeps what was measured; once more ends at once",
        );
    });
    if let Err(error) = heeded {
        say(&format!("warning: an interrupt will not keep what was measured: {error}"));
    }
}

/// Never comes back once the second interrupt ends the program: what it ends is not told as a failure.
pub fn give_way() {
    while IS_ENDING.load(Ordering::Relaxed) {
        thread::park();
    }
}

/// Goes on: who sits at the terminal tells the first node, which tells the others, or ends.
pub fn ignore() {
    if let Err(error) = ctrlc::set_handler(|| ()) {
        say(&format!("warning: an interrupt will end this node by itself: {error}"));
    }
}

/// Whether there was an interrupt; of several nodes, at the first. All of them ask this at the same place of their way.
pub fn is_asked_for() -> bool {
    let own = IS_ASKED_FOR.load(Ordering::Relaxed);
    match Group::get() {
        None => own,
        // If one is lost, what runs next says so.
        Some(group) => group.from_first("interrupted?", vec![u8::from(own)]).is_ok_and(|said| said == [1]),
    }
}
