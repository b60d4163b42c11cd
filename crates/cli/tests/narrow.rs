//! What `run` prints in a window: no line is longer than the window is wide, and no word is lost. Elsewhere nothing is broken.
#![cfg(target_os = "linux")]

mod common;

use common::{fresh_folder, run, trireme};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

/// By kind of transactions, and with more than one warning.
const LINE: &str = "run smallbank --customers 1000 --hot-customers 100 --protocol silo --on westmere-ep-2x6 --workers 2 --warmup 50us --duration 200us --repeat 1 --counters on --out out";

/// Standard output of `line` in a window of so many columns.
fn in_window(folder: &Path, columns: u16, line: &str) -> String {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = openpt(flags).expect("a terminal");
    grantpt(&controller).and_then(|()| unlockpt(&controller)).expect("a terminal of our own");
    let terminal = ioctl_tiocgptpeer(&controller, flags).expect("its other side");
    tcsetwinsize(&terminal, Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })
        .expect("a size");
    let mut command = trireme(folder);
    command.args(line.split(' ')).stdin(Stdio::null()).stdout(terminal).stderr(Stdio::null());
    let mut child = command.spawn().expect("the binary runs");
    drop(command);
    let (mut shown, mut bytes) = (Vec::new(), [0; 4096]);
    let mut controller = File::from(controller);
    // It ends with an error, once the last who wrote has gone.
    while let Ok(read @ 1..) = controller.read(&mut bytes) {
        shown.extend(&bytes[..read]);
    }
    assert!(child.wait().expect("it ends").success());
    String::from_utf8(shown).expect("text").replace("\r\n", "\n")
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn what_run_prints_fits_the_window() {
    let length = |line: &str| line.chars().count();
    let of = |columns: Option<u16>| {
        let folder = fresh_folder("narrow");
        match columns {
            Some(columns) => in_window(&folder, columns, LINE),
            None => {
                let ran = run(&folder, &words(LINE));
                assert_eq!(ran.code, Some(0), "{}", ran.err);
                ran.out
            }
        }
    };
    let whole = of(None);
    assert!(whole.lines().any(|line| length(line) > 110), "{whole}");
    assert!(whole.matches("\nwarning: ").count() > 1, "{whole}");
    for columns in [40, 60, 100] {
        // A simulated run repeats.
        let shown = of(Some(columns));
        assert_eq!(words(&shown), words(&whole), "{columns}");
        let long = shown.lines().filter(|line| length(line) > usize::from(columns) && words(line).len() > 1);
        assert_eq!(long.collect::<Vec<_>>(), [""; 0], "{columns} columns\n{shown}");
    }
    assert_eq!(of(Some(500)), whole);
}
