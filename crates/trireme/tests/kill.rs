//! A process that is killed while its threads commit and checkpoints are taken: whatever it had been told was durable is there, and nothing by
//! halves.
//!
//! The test runs itself again as the process that is killed. `TRIREME_KILLS` says how often; 30 by default. It counts the kills that fell into a
//! checkpoint, by the files that it leaves, and the recoveries that began from one.

use contract::Engine as _;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tempfile::tempdir;
use trireme::{Bytes, Database, Durability, Error, Index, Serde, Table};

/// Set for the process that is killed: its folder.
const FOLDER: &str = "TRIREME_KILLED_FOLDER";
/// And its level.
const LEVEL: &str = "TRIREME_KILLED_LEVEL";
/// And how many loggers it has.
const LOGGERS: &str = "TRIREME_KILLED_LOGGERS";
/// And whether one of its threads asks for checkpoints, one after the other.
const ASKS: &str = "TRIREME_KILLED_ASKS";

const ACCOUNTS: Table<u32, i64> = Table::new("accounts");
/// By thread: how often it has committed.
const DONE: Table<u32, u64> = Table::new("done");
const NOTES: Table<(u32, u64), Bytes> = Table::new("notes");
const TASKS: Table<u64, Serde<(u32, String)>> = Table::new("tasks");
const BY_THREAD: Index<u64, Serde<(u32, String)>, u32> =
    TASKS.index("by_thread", |_, (thread, _)| Some(*thread));

const THREADS: u32 = 3;
const COUNT: u32 = 8;
const CENTS: i64 = 1000;

fn open(folder: &Path, durability: Durability, loggers: usize) -> Result<Database, Error> {
    let builder = Database::builder().durability(durability).epoch(Duration::from_millis(2)).loggers(loggers);
    // A checkpoint is taken again and again, whoever asks.
    builder.checkpoint_after(100 << 10).open(folder)
}

/// Commits until it is killed, and tells on its standard output what is durable.
#[test]
#[ignore = "only as the process that is killed"]
fn killed() -> Result<(), Error> {
    let Some(folder) = env::var_os(FOLDER) else { return Ok(()) };
    let durability = env::var(LEVEL).expect("set together").parse().expect("a level");
    let loggers = env::var(LOGGERS).expect("set together").parse().expect("a number");
    let asks: bool = env::var(ASKS).expect("set together").parse().expect("whether");
    let db = open(Path::new(&folder), durability, loggers)?;
    let (accounts, done, notes, tasks) =
        (db.table(ACCOUNTS)?, db.table(DONE)?, db.table(NOTES)?, db.table(TASKS)?);
    db.index(BY_THREAD)?;
    let work = |thread: u32| -> Result<(), Error> {
        for round in 0u64.. {
            let (from, to) = (((round * 7 + u64::from(thread)) % 8) as u32, (round * 3 % 8) as u32);
            let (count, ticket) = db.submit(|tx| {
                tx.update(accounts, from, |cents| *cents -= 1)?;
                tx.update(accounts, to, |cents| *cents += 1)?;
                let count = tx.get(done, thread)?.unwrap_or(0) + 1;
                tx.upsert(done, thread, &count)?;
                tx.insert(notes, (thread, count), &vec![thread as u8; (count % 300) as usize])?;
                if count > 50 {
                    tx.remove(notes, (thread, count - 50))?;
                }
                tx.upsert(tasks, count % 40, &(thread, format!("{count}")))?;
                Ok::<_, Error>(count)
            })?;
            if round % 5 == 0 {
                ticket.wait()?;
                // One write a line, so that lines are whole.
                let line = format!("durable {thread} {count}\n");
                std::io::stdout().write_all(line.as_bytes()).expect("somebody reads");
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        if asks {
            scope.spawn(|| while db.checkpoint().is_ok() {});
        }
        let running: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        running.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })
}

/// Runs the process in a folder, kills it a while after something was durable, and answers what each thread was told.
fn kill_one(
    folder: &Path,
    durability: Durability,
    loggers: usize,
    asks: bool,
    after: Duration,
) -> [u64; THREADS as usize] {
    let mut process = Command::new(env::current_exe().expect("this test"))
        .args(["--exact", "killed", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(LEVEL, durability.name())
        .env(LOGGERS, loggers.to_string())
        .env(ASKS, asks.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs again");
    let output = process.stdout.take().expect("piped");
    let (first, began) = mpsc::channel();
    let reading = thread::spawn(move || {
        let mut told = [0; THREADS as usize];
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // The test runner's words may be on the same line.
            let Some((_, words)) = line.split_once("durable ") else { continue };
            let numbers: Vec<u64> = words.split(' ').filter_map(|word| word.parse().ok()).collect();
            if let [thread, count] = numbers[..] {
                told[thread as usize] = count;
                // Nobody asks but for the first.
                let _ = first.send(());
            }
        }
        told
    });
    began.recv_timeout(Duration::from_secs(60)).expect("something is durable");
    thread::sleep(after);
    process.kill().expect("it runs");
    process.wait().expect("it has ended");
    reading.join().expect("no panic")
}

/// Whether a checkpoint was being taken: there are files of one that the manifest does not name, or no longer.
fn is_within_a_checkpoint(folder: &Path) -> bool {
    let inspected = engine::ThisEngine::inspect_log(&[folder.to_owned()]).expect("a log");
    let is_named = |path: &Path| inspected.checkpoint_files.iter().any(|file| file.path == path);
    let paths = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let is_of_one = |path: &Path| path.extension().is_some_and(|extension| extension == "trc");
    paths.into_iter().any(|path| is_of_one(&path) && !is_named(&path))
}

#[test]
fn what_was_durable_survives_kills() -> Result<(), Error> {
    let kills: u64 = env::var("TRIREME_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(30);
    let (mut killed, mut within_checkpoint, mut from_checkpoint) = (0, 0, 0);
    for (level, durability) in
        [Durability::Buffered, Durability::Group, Durability::Sync].into_iter().enumerate()
    {
        let folder = tempdir().expect("a folder");
        let db = open(folder.path(), durability, 1)?;
        let accounts = db.table(ACCOUNTS)?;
        db.transact(|tx| (0..COUNT).try_for_each(|account| tx.insert(accounts, account, &CENTS)))?;
        drop(db);
        // Each goes on with what the one before has left.
        for kill in 0..kills.div_ceil(3) {
            let after = Duration::from_millis((kill * 37 + level as u64 * 11) % 120);
            // Of the threads that wait one writes, or two loggers do.
            let loggers = 1 + (kill % 2) as usize;
            let told = kill_one(folder.path(), durability, loggers, kill % 4 >= 2, after);
            assert!(told.iter().any(|&count| count > 0), "nothing was durable before it was killed");
            within_checkpoint += u64::from(is_within_a_checkpoint(folder.path()));
            let db = open(folder.path(), durability, loggers)?;
            killed += 1;
            from_checkpoint += u64::from(db.recovered().is_some_and(|log| log.checkpoint.is_some()));
            let (accounts, done, notes, tasks) =
                (db.table(ACCOUNTS)?, db.table(DONE)?, db.table(NOTES)?, db.table(TASKS)?);
            let by_thread = db.index(BY_THREAD)?;
            db.verify()?;
            db.transact(|tx| {
                let sum =
                    tx.range(accounts, ..)?.map(|row| row.map(|(_, cents)| cents)).sum::<Result<i64, _>>()?;
                assert_eq!(sum, i64::from(COUNT) * CENTS);
                let mut entries = 0;
                for thread in 0..THREADS {
                    let count = tx.get(done, thread)?.unwrap_or(0);
                    let told = told[thread as usize];
                    assert!(count >= told, "thread {thread} was told of {told}, and {count} are there");
                    let rows =
                        tx.range(notes, (thread, 0)..(thread + 1, 0))?.collect::<Result<Vec<_>, _>>()?;
                    let first = count.saturating_sub(49).max(1);
                    let expected = (first..=count)
                        .map(|note| ((thread, note), vec![thread as u8; (note % 300) as usize]));
                    assert!(rows.into_iter().eq(expected), "notes of thread {thread} up to {count}");
                    entries += tx.find(by_thread, thread)?.len();
                }
                assert_eq!(entries, tx.range(tasks, ..)?.count());
                Ok::<_, Error>(())
            })?;
        }
    }
    println!(
        "{killed} kills, {within_checkpoint} of them within a checkpoint; {from_checkpoint} recoveries from one"
    );
    assert!(killed < 30 || within_checkpoint > 0, "no kill fell into a checkpoint");
    assert!(2 * from_checkpoint > killed, "{from_checkpoint} of {killed} recoveries began from a checkpoint");
    Ok(())
}
