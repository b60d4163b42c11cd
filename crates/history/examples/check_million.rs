//! Times the checker on a synthetic history: `cargo run --release -p history --example check_million`.
//!
//! The history is made by a serial store of versions. Each transaction takes effect at one instant, ends soon
//! after it, and begins when its worker's last one ended, so it is strictly serializable; `--broken N` installs
//! what every N-th transaction writes two transactions later, which makes lost updates and skews.
//!
//! `--scans PERCENT` of the transactions scan as many keys as the others have operations, all in one range; then one key
//! in eight is not loaded, and the transaction that writes it inserts it.
//!
//! Options: `--transactions N --operations N --keys N --workers N --reads PERCENT --hot PERCENT --scans PERCENT
//! --broken N`.

use contract::{Direction, Key, Outcome, Scan, Span, TableId};
use history::{
    Ending, FinalVersion, History, Operation, OperationKind, ScanRecord, Version, WorkerHistory, Writer,
    check,
};
use std::ops::Bound;
use std::time::Instant;

const TABLE: TableId = TableId(0);

struct Options {
    transactions: u64,
    operations: u64,
    keys: u64,
    workers: u64,
    reads: u64,
    hot: u64,
    scans: u64,
    broken: u64,
}

fn main() {
    let mut options = Options {
        transactions: 1_000_000,
        operations: 16,
        keys: 1_000_000,
        workers: 2,
        reads: 50,
        hot: 10,
        scans: 0,
        broken: 0,
    };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    for pair in arguments.chunks(2) {
        let number = pair.get(1).and_then(|value| value.parse().ok()).expect("every option takes a number");
        match pair[0].as_str() {
            "--transactions" => options.transactions = number,
            "--operations" => options.operations = number,
            "--keys" => options.keys = number,
            "--workers" => options.workers = number,
            "--reads" => options.reads = number,
            "--hot" => options.hot = number,
            "--scans" => options.scans = number,
            "--broken" => options.broken = number,
            other => panic!("unknown option {other}"),
        }
    }
    let begun = Instant::now();
    let history = synthetic(&options);
    println!("made in {:.2} s, {} MiB", begun.elapsed().as_secs_f64(), memory_mib("VmHWM"));
    println!("{}", check(&history));
    println!("peak memory {} MiB", memory_mib("VmHWM"));
}

impl Options {
    fn first_state(&self, key: u64) -> Version {
        if self.scans > 0 && key.is_multiple_of(8) { Version::MISSING } else { Version::LOADED }
    }
}

/// A scan of the keys from `from` on, with its reads.
fn scan(from: u64, store: &[Version], operations: &mut Vec<Operation>, count: u64) -> ScanRecord {
    let to = (from + count).min(store.len() as u64);
    let (first, end) = (Key(from).bytes(), Key(to).bytes());
    let range = Scan {
        table: TABLE,
        from: Bound::Included(&first),
        to: Bound::Excluded(&end),
        direction: Direction::Forward,
        limit: usize::MAX,
        span: Span::whole(8),
        within: None,
    };
    let mut record = ScanRecord::new(&range, operations.len());
    let shown = (from..to).map(|key| (key, store[key as usize])).filter(|(_, version)| !version.is_dead());
    operations.extend(shown.map(|(key, seen)| Operation::new(OperationKind::Read, TABLE, Key(key), seen, 0)));
    record.rows = operations.len() as u32;
    record
}

fn synthetic(options: &Options) -> History {
    let mut random = fastrand::Rng::with_seed(1);
    let mut store: Vec<Version> = (0..options.keys).map(|key| options.first_state(key)).collect();
    let mut workers = vec![WorkerHistory::default(); options.workers as usize];
    let mut operations: Vec<Operation> = Vec::new();
    let mut ends_ns = vec![0; options.workers as usize];
    let mut late: Vec<(u64, usize, Version)> = Vec::new();
    for instant in 1..=options.transactions {
        late.retain(|(due, key, version)| {
            if *due <= instant {
                store[*key] = *version;
            }
            *due > instant
        });
        let worker = (instant % options.workers) as usize;
        let number = workers[worker].issued + 1;
        let is_broken = options.broken > 0 && instant % options.broken == 0;
        let mut writes = 0;
        operations.clear();
        let scans = random.u64(0..100) < options.scans;
        let scan =
            scans.then(|| scan(random.u64(0..options.keys), &store, &mut operations, options.operations));
        while !scans && operations.len() < options.operations as usize {
            let range = if random.u64(0..100) < options.hot { options.keys.min(100) } else { options.keys };
            let key = random.u64(0..range);
            if operations.iter().any(|operation| operation.key == Key(key)) {
                continue;
            }
            let seen = store[key as usize];
            if random.u64(0..100) < options.reads {
                operations.push(Operation::new(OperationKind::Read, TABLE, Key(key), seen, 0));
            } else {
                let kind = if seen.is_dead() { OperationKind::Insert } else { OperationKind::Update };
                operations.push(Operation::new(kind, TABLE, Key(key), seen, writes));
                let version =
                    Version::written(Writer { worker, transaction: number, attempt: 0, write: writes });
                writes += 1;
                if is_broken {
                    late.push((instant + 3, key as usize, version))
                } else {
                    store[key as usize] = version
                }
            }
        }
        let (began_ns, ended_ns) = (ends_ns[worker], instant * 1000 + random.u64(0..1000));
        ends_ns[worker] = ended_ns;
        let ending = Ending {
            number,
            attempts: 1,
            began_ns,
            ended_ns,
            outcome: Outcome::Commit,
            id: None,
            epoch: None,
            snapshot: None,
        };
        workers[worker].push_with_scans(ending, &operations, scan.as_slice());
    }
    let last = (0..).zip(&store).filter(|(key, version)| **version != options.first_state(*key));
    let finals = last
        .map(|(key, version)| FinalVersion {
            table: TABLE,
            key: Key(key),
            loaded: Some(options.first_state(key) == Version::LOADED),
            version: *version,
        })
        .collect();
    History { tables: vec!["micro".to_owned()], workers, finals, ..History::default() }
}

fn memory_mib(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = status
        .lines()
        .find(|found| found.starts_with(line))
        .and_then(|found| found.split_whitespace().nth(1));
    number.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}
