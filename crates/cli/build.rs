//! From what the program is built: the commit and the compiler, which results name.

use std::path::Path;
use std::process::Command;

fn main() {
    let root = Path::new("../..");
    // A commit, and a change of the branch, write there. Where there is no repository, nothing is watched but this file.
    for file in ["HEAD", "logs/HEAD"].map(|name| root.join(".git").join(name)) {
        if file.exists() {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    let commit = said(Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).current_dir(root));
    let compiler =
        said(Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned())).arg("--version"));
    println!("cargo::rustc-env=TRIREME_COMMIT={}", commit.unwrap_or_else(|| "unknown".to_owned()));
    println!("cargo::rustc-env=TRIREME_COMPILER={}", compiler.unwrap_or_else(|| "unknown".to_owned()));
}

/// What a command says, in one line; `None` if it is not there, or fails.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty() && !text.contains('\n'))
}
