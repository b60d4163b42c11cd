//! A disk that has no more room, under a database whose threads wait, or await: nobody waits for ever, everybody is told, and what had been
//! durable is there.
//!
//! The test runs itself again, as a process whose files cannot be longer than [`MOST_BLOCKS`].

mod shared;

use shared::block_on;
use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::tempdir;
use trireme::{Bytes, Database, Durability, Error, Table};

/// Set for the process whose disk is full: its folder.
const FOLDER: &str = "TRIREME_FULL_FOLDER";
/// And its level.
const LEVEL: &str = "TRIREME_FULL_LEVEL";
/// And how many loggers it has.
const LOGGERS: &str = "TRIREME_FULL_LOGGERS";
/// As the shell counts them: of 512 bytes, or of 1,024.
const MOST_BLOCKS: u64 = 600;

const NOTES: Table<(u64, u64), Bytes> = Table::new("notes");

const WAIT: u64 = 4;
const AWAIT: u64 = 2;

/// Commits until the log has stopped, and tells on its standard output what was durable.
#[test]
#[ignore = "only as the process whose disk is full"]
fn fills() -> Result<(), Error> {
    let Some(folder) = env::var_os(FOLDER) else { return Ok(()) };
    let durability = env::var(LEVEL).expect("set together").parse().expect("a level");
    let loggers = env::var(LOGGERS).expect("set together").parse().expect("a number");
    let builder = Database::builder().durability(durability).loggers(loggers).checkpoint_after(u64::MAX);
    let db = builder.epoch(Duration::from_millis(2)).open(Path::new(&folder))?;
    let notes = db.table(NOTES)?;
    let ended = AtomicU64::new(0);
    let work = |thread: u64| {
        let mut durable = 0;
        let why = loop {
            let text = vec![thread as u8; 500 + (durable % 7) as usize * 100];
            let committed = db.submit(|tx| tx.insert(notes, (thread, durable), &text));
            let told = committed.and_then(|((), ticket)| match thread < WAIT {
                true => ticket.wait(),
                false => block_on(ticket),
            });
            match told {
                Ok(()) => durable += 1,
                Err(why) => break why,
            }
        };
        assert!(matches!(why, Error::LogStopped { .. }), "{why:?}");
        ended.fetch_add(1, Ordering::Relaxed);
        println!("durable {thread} {durable}");
    };
    let began = Instant::now();
    thread::scope(|scope| {
        (0..WAIT + AWAIT).for_each(|thread| drop(scope.spawn(move || work(thread))));
        while ended.load(Ordering::Relaxed) < WAIT + AWAIT {
            if began.elapsed() > Duration::from_secs(60) {
                eprintln!("somebody waits for ever: {} have ended", ended.load(Ordering::Relaxed));
                std::process::abort();
            }
            thread::sleep(Duration::from_millis(1));
        }
    });
    let closed = db.close();
    assert!(matches!(closed, Err(Error::LogStopped { .. })), "{closed:?}");
    println!("closed");
    Ok(())
}

#[test]
fn a_disk_that_is_full_is_told_to_everybody_who_waits() -> Result<(), Error> {
    for durability in [Durability::Buffered, Durability::Group, Durability::Sync] {
        for loggers in [1, 2] {
            let folder = tempdir().expect("a folder");
            let this = env::current_exe().expect("this test");
            let output = Command::new("sh")
                .args(["-c", "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"", "sh"])
                .arg(MOST_BLOCKS.to_string())
                .arg(this)
                .args(["--exact", "fills", "--ignored", "--nocapture"])
                .env(FOLDER, folder.path())
                .env(LEVEL, durability.name())
                .env(LOGGERS, loggers.to_string())
                .output()
                .expect("there is a shell");
            let told = String::from_utf8_lossy(&output.stdout);
            let words = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{durability}, {loggers} loggers:\n{told}\n{words}");
            assert!(told.contains("closed"), "{told}");
            let db = Database::builder().durability(durability).loggers(loggers).open(folder.path())?;
            let notes = db.table(NOTES)?;
            let (mut threads, mut all_durable) = (0, 0);
            for line in told.lines().filter_map(|line| line.split_once("durable ")) {
                let numbers: Vec<u64> = line.1.split(' ').filter_map(|word| word.parse().ok()).collect();
                let [thread, durable] = numbers[..] else { panic!("{told}") };
                all_durable += durable;
                let there =
                    db.transact(|tx| Ok::<_, Error>(tx.range(notes, (thread, 0)..(thread + 1, 0))?.count()))?;
                // One more may be there, of which nobody was told.
                assert!(
                    there as u64 == durable || there as u64 == durable + 1,
                    "{durability}, {loggers} loggers: thread {thread} was told of {durable}, and {there} are there"
                );
                threads += 1;
            }
            assert_eq!(threads, WAIT + AWAIT, "{told}");
            // A thread that others do not let run may come too late for any.
            assert!(all_durable > 0, "{told}");
        }
    }
    Ok(())
}
