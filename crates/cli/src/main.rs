//! The `trireme` command; all of it is in the library ([`cli`]), which other programs run over networks of theirs.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    cli::main()
}
