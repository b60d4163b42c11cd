//! Writing to standard output and standard error. A reader who has seen enough and closed the pipe is no error.

use crate::nodes;
use harness::Failure;
use serde::Serialize;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Writes `text` to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    if !nodes::speaks() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::write(Path::new("standard output"))(error))
        }
        _ => Ok(()),
    }
}

/// Writes one JSON value, indented, to standard output.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(&(serde_json::to_string_pretty(value).expect("results have text keys") + "\n"))
}

/// Says on standard error what went wrong, in one line.
pub fn complain(what: &str) {
    say(&format!("error: {what}"));
}

/// Says something on standard error. Nobody may be listening.
pub fn say(what: &str) {
    if nodes::speaks() {
        let _ = writeln!(io::stderr(), "{what}");
    }
}
