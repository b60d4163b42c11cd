//! A service with many threads: each answers requests, and tells its client once the request is durable, without waiting for that
//! itself.
//!
//! `cargo run --release -p trireme-db --example service [THREADS] [SECONDS] [FOLDER]`; without a folder in memory.

use std::collections::VecDeque;
use std::env;
use std::thread;
use std::time::{Duration, Instant};
use trireme::{Database, Error, Table, Ticket};

const ROWS: u64 = 1_000_000;
/// Found by their keys only.
const COUNTERS: Table<u64, u64> = Table::new("counters").hashed(ROWS);
/// Keys that a request reads, half of which it changes.
const KEYS: usize = 10;

fn main() -> Result<(), Error> {
    let mut arguments = env::args().skip(1);
    let mut number = |default| arguments.next().and_then(|word| word.parse().ok()).unwrap_or(default);
    let (threads, seconds) = (number(4u64), number(2u64));
    let db = match arguments.next() {
        Some(folder) => Database::open(folder)?,
        None => Database::in_memory()?,
    };
    let counters = db.table(COUNTERS)?;
    for first in (0..ROWS).step_by(1000) {
        let (_, _ticket) =
            db.submit(|tx| (first..first + 1000).try_for_each(|row| tx.upsert(counters, row, &0)))?;
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    let serve = |thread: u64| -> Result<(u64, Duration), Error> {
        let mut random = thread + 1;
        let mut next = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % ROWS
        };
        let (mut answered, mut slowest) = (0, Duration::ZERO);
        let mut unanswered: VecDeque<(Instant, Ticket)> = VecDeque::new();
        while Instant::now() < end {
            let keys: [u64; KEYS] = std::array::from_fn(|_| next());
            let (_sum, ticket) = db.submit(|tx| {
                let mut sum = 0;
                for (position, &key) in keys.iter().enumerate() {
                    sum += match position % 2 {
                        0 => tx.get(counters, key)?,
                        _ => tx.update(counters, key, |count| {
                            *count += 1;
                            *count
                        })?,
                    }
                    .expect("loaded");
                }
                Ok::<_, Error>(sum)
            })?;
            unanswered.push_back((Instant::now(), ticket));
            while unanswered.front().is_some_and(|(_, ticket)| ticket.is_durable()) {
                let (since, _) = unanswered.pop_front().expect("there is one");
                slowest = slowest.max(since.elapsed());
                answered += 1;
            }
        }
        for (since, ticket) in unanswered {
            ticket.wait()?;
            slowest = slowest.max(since.elapsed());
            answered += 1;
        }
        Ok((answered, slowest))
    };
    let served = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || serve(thread))).collect();
        running.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Result<Vec<_>, _>>()
    })?;
    let answered: u64 = served.iter().map(|(answered, _)| answered).sum();
    let slowest = served.iter().map(|(_, slowest)| *slowest).max().unwrap_or_default();
    println!(
        "{} requests a second on {threads} threads, each durable {slowest:?} after it committed at the latest",
        answered / seconds
    );
    let aborts: Vec<String> = db
        .stats()
        .aborts()
        .filter(|(_, count)| *count > 0)
        .map(|(reason, count)| format!("{count} {}", reason.name()))
        .collect();
    println!(
        "attempts that were aborted: {}",
        if aborts.is_empty() { "none".to_owned() } else { aborts.join(", ") }
    );
    db.close()
}
