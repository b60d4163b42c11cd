//! Simulations: clocks, their order, repeatability, spinning cores, elided memory.

mod clocks;
mod clusters;
mod elision;
mod polls;
mod repeatable;
mod sockets;
mod spinning;
mod stacks;

use machine::simulated::Description;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A machine of the repository.
fn machine(name: &str) -> Description {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines");
    let text = std::fs::read_to_string(format!("{folder}/{name}.toml")).expect("a machine of the repository");
    Description::parse(&text).expect("a machine")
}

/// The message of the panic in which `f` must end.
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(f()))).expect_err("it panics");
    let fixed = panic.downcast_ref::<&str>().map(|&message| message.to_owned());
    fixed.or_else(|| panic.downcast_ref::<String>().cloned()).expect("with a message")
}
