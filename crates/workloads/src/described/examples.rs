//! The examples of the repository, which travel inside the program: outside of the repository they are there, too, under the same
//! names. A file on the disk goes before the one inside.

use std::fs;
use std::io::{self, ErrorKind};

/// Path and text of each example.
pub const EXAMPLES: [(&str, &str); 4] = [
    ("examples/workloads/bank.toml", include_str!("../../../../examples/workloads/bank.toml")),
    ("examples/workloads/queue.toml", include_str!("../../../../examples/workloads/queue.toml")),
    ("examples/workloads/shop.toml", include_str!("../../../../examples/workloads/shop.toml")),
    ("examples/workloads/telecom.toml", include_str!("../../../../examples/workloads/telecom.toml")),
];

/// The text of a file: that on the disk, or of an example the one inside.
pub(super) fn text_of(file: &str) -> io::Result<String> {
    match fs::read(file).and_then(in_utf8) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let example = EXAMPLES.iter().find(|(path, _)| *path == file);
            example.map(|(_, text)| (*text).to_owned()).ok_or(error)
        }
        read => read,
    }
}

/// Text, or the line at which it is none.
fn in_utf8(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let what = format!("line {line}: it is not UTF-8; allowed: text in UTF-8");
        io::Error::new(ErrorKind::InvalidData, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// A file that was added would not travel along.
    #[test]
    fn all_examples_travel_along() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let there = fs::read_dir(root.join("examples/workloads")).expect("examples");
        let there: BTreeSet<String> = there
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .map(|name| format!("examples/workloads/{name}"))
            .collect();
        assert_eq!(there, EXAMPLES.iter().map(|(path, _)| (*path).to_owned()).collect());
    }
}
