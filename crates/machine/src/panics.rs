//! Passing a panic on with a word on where it happened.

use std::any::Any;

/// The panic's payload with `context` before its message; a payload without a message is left as it is.
pub(crate) fn with_context(panic: Box<dyn Any + Send>, context: &str) -> Box<dyn Any + Send> {
    match message(&*panic) {
        Some(message) => Box::new(format!("{context}: {message}")),
        None => panic,
    }
}

/// The panic's message, if it has one.
pub(crate) fn message(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied())
}
