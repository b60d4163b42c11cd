//! An interrupt of a measurement (SIGINT): the first one ends it once the repetition that runs has ended, and what was measured is kept;
//! the second one ends the program at once. Commands that keep a journal, such as `sweep`, do without: they are ended by the first.

use crate::output::say;
use harness::failure::INTERRUPTED;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_ASKED_FOR: AtomicBool = AtomicBool::new(false);

/// Keeps what was measured from here on, if it is interrupted.
pub fn heed() {
    let heeded = ctrlc::set_handler(|| {
        // Relaxed, here and below: a flag that orders nothing.
        if IS_ASKED_FOR.swap(true, Ordering::Relaxed) {
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

/// Whether there was an interrupt.
pub fn is_asked_for() -> bool {
    IS_ASKED_FOR.load(Ordering::Relaxed)
}
