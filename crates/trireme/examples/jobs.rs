//! A queue of jobs with a secondary index: workers take those that wait, the most urgent first, and each is done once.
//!
//! `cargo run -p trireme-db --example jobs`

use serde::{Deserialize, Serialize};
use std::thread;
use trireme::{Database, Error, Index, Serde, Table};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum State {
    Waiting,
    Done { by: u32 },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Job {
    urgency: u8,
    what: String,
    state: State,
}

const JOBS: Table<u64, Serde<Job>> = Table::new("jobs");

/// Those that wait, the most urgent first. A job that is done is not in it.
const WAITING: Index<u64, Serde<Job>, u8> =
    JOBS.index("waiting", |_, job| (job.state == State::Waiting).then_some(u8::MAX - job.urgency));

fn main() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let (jobs, waiting) = (db.table(JOBS)?, db.index(WAITING)?);
    db.transact(|tx| {
        for number in 0..200u64 {
            let urgency = (number * 37 % 10) as u8;
            tx.insert(jobs, number, &Job { urgency, what: format!("job {number}"), state: State::Waiting })?;
        }
        Ok::<_, Error>(())
    })?;
    let work = |worker: u32| -> Result<u32, Error> {
        let mut done = 0;
        loop {
            let taken = db.transact(|tx| {
                let Some((number, mut job)) = tx.find_between(waiting, .., 1)?.pop() else { return Ok(None) };
                job.state = State::Done { by: worker };
                tx.upsert(jobs, number, &job)?;
                Ok::<_, Error>(Some(job))
            })?;
            match taken {
                Some(job) if done == 0 => {
                    println!("worker {worker} begins with '{}', urgency {}", job.what, job.urgency)
                }
                Some(_) => {}
                None => return Ok(done),
            }
            done += 1;
        }
    };
    let done: u32 = thread::scope(|scope| {
        let workers: Vec<_> = (1..=4).map(|worker| scope.spawn(move || work(worker))).collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).sum::<Result<u32, Error>>()
    })?;
    let left = db.transact(|tx| tx.find_between(waiting, .., usize::MAX))?.len();
    println!("{done} jobs are done, {left} wait");
    Ok(())
}
