//! The facade on the machine at hand.

mod clock;
mod environment;
mod facts;
mod growing;
mod latch;
mod load;
mod memory;
mod payload;
mod topology;
mod worker;

use std::fs;
use std::path::{Path, PathBuf};

/// A made-up tree of files as the system shows them, in a folder of its own.
fn tree(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(&root).expect("a folder for the test");
    for (file, content) in files {
        let file = root.join(file);
        fs::create_dir_all(file.parent().expect("a file has a folder")).expect("a folder for the test");
        fs::write(file, content).expect("a file for the test");
    }
    root
}
