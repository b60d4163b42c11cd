//! Histories for other people's checkers, in the format of Elle and Jepsen.
//!
//! One JSON object an event, in the order of time:
//!
//! ```json
//! {"index":0,"type":"invoke","process":0,"time":17,"f":"txn","value":[["append",5,1],["r",5,null]]}
//! {"index":1,"type":"ok","process":0,"time":29,"f":"txn","value":[["append",5,1],["r",5,[1]]]}
//! ```
//!
//! Every `invoke` is followed by one `ok` or `fail` of the same process. A process is a worker; if a worker has
//! several transactions in flight, each further one is a process of its own, numbered `worker + n * workers`.
//! Attempts that aborted come as transactions that failed, at the instant at which their transaction began: when
//! they really ran nobody recorded, and Elle asks of a failed transaction only what it tried to write.
//! Times are of the first clock; of workers with another one they are bounds, so that who follows another here did so for certain.

use crate::check::{leaves_nothing, left_by, real_deletes, spelled_out};
use crate::history::{History, TransactionRecord};
use crate::operation::{Operation, OperationKind};
use crate::version::Version;
use contract::{Clocks, Key, Outcome, TableId};
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// How the events are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElleLayout {
    /// JSON lines: one object a line. For Jepsen's tools, and for everybody's.
    Lines,
    /// One JSON array, an object a line inside it: what `elle-cli` reads from a `.json` file.
    Array,
}

impl ElleLayout {
    /// The layout that readers expect of a file of this name: an array if it ends in `.json`, else lines.
    pub fn of_file(path: &Path) -> Self {
        let is_json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        if is_json { ElleLayout::Array } else { ElleLayout::Lines }
    }
}

/// What an event says of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// An attempt begins; what it will read is not known.
    Invoke { attempt: u32 },
    /// The transaction committed.
    Ok { attempt: u32 },
    /// An attempt aborted, or the transaction rolled back.
    Fail { attempt: u32 },
}

impl Phase {
    pub fn attempt(self) -> u32 {
        match self {
            Phase::Invoke { attempt } | Phase::Ok { attempt } | Phase::Fail { attempt } => attempt,
        }
    }

    pub fn is_ok(self) -> bool {
        matches!(self, Phase::Ok { .. })
    }

    fn name(self) -> &'static str {
        match self {
            Phase::Invoke { .. } => "invoke",
            Phase::Ok { .. } => "ok",
            Phase::Fail { .. } => "fail",
        }
    }
}

/// What stands third in a micro-operation.
pub(crate) enum MicroOperation<'a> {
    Null,
    Value(u64),
    List(&'a [u64]),
}

/// Writes the micro-operations of one event.
pub(crate) struct MicroOperations<'a> {
    writer: &'a mut dyn Write,
    is_first: bool,
}

impl MicroOperations<'_> {
    pub fn write(&mut self, name: &str, key: &dyn fmt::Display, value: MicroOperation<'_>) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.is_first) { "" } else { "," };
        write!(self.writer, "{comma}[\"{name}\",{key},")?;
        match value {
            MicroOperation::Null => write!(self.writer, "null")?,
            MicroOperation::Value(value) => write!(self.writer, "{value}")?,
            MicroOperation::List(values) => {
                write!(self.writer, "[")?;
                for (position, value) in values.iter().enumerate() {
                    let comma = if position == 0 { "" } else { "," };
                    write!(self.writer, "{comma}{value}")?;
                }
                write!(self.writer, "]")?;
            }
        }
        write!(self.writer, "]")
    }
}

struct Event<'a> {
    time_ns: u64,
    process: usize,
    worker: usize,
    record: &'a TransactionRecord,
    phase: Phase,
}

/// Which attempts an export tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempts {
    /// All; those that aborted as transactions that failed.
    All,
    /// The one by which each transaction ended.
    Last,
}

/// Writes all events of the workers' transactions; `write_operations` writes what an event says of its
/// transaction.
pub(crate) fn write_events(
    records: &[&[TransactionRecord]],
    clocks: &Clocks,
    attempts: Attempts,
    layout: ElleLayout,
    writer: impl Write,
    mut write_operations: impl FnMut(usize, &TransactionRecord, Phase, &mut MicroOperations<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut writer = BufWriter::new(writer);
    let (before, between, after) = match layout {
        ElleLayout::Lines => ("", "\n", "\n"),
        ElleLayout::Array => ("[", ",\n", "]\n"),
    };
    let events = events(records, clocks, attempts);
    if events.is_empty() && layout == ElleLayout::Lines {
        return writer.flush();
    }
    write!(writer, "{before}")?;
    for (index, event) in events.into_iter().enumerate() {
        let separator = if index == 0 { "" } else { between };
        let (kind, process, time_ns) = (event.phase.name(), event.process, event.time_ns);
        write!(writer, "{separator}{{\"index\":{index},\"type\":\"{kind}\",\"process\":{process},")?;
        write!(writer, "\"time\":{time_ns},\"f\":\"txn\",\"value\":[")?;
        let mut operations = MicroOperations { writer: &mut writer, is_first: true };
        write_operations(event.worker, event.record, event.phase, &mut operations)?;
        write!(writer, "]}}")?;
    }
    write!(writer, "{after}")?;
    writer.flush()
}

/// A transaction, and between which readings of the first clock it ran: of a worker with another clock, as far apart as they may have been.
#[derive(Clone, Copy)]
struct Span<'a> {
    began_ns: u64,
    ended_ns: u64,
    record: &'a TransactionRecord,
}

/// All events in the order of time, and those of one process in the order in which they happened.
fn events<'a>(records: &[&'a [TransactionRecord]], clocks: &Clocks, attempts: Attempts) -> Vec<Event<'a>> {
    let mut events = Vec::new();
    for (worker, own) in records.iter().enumerate() {
        let span = |record: &'a TransactionRecord| Span {
            began_ns: *clocks.by_first(worker, record.began_ns).start(),
            ended_ns: *clocks.by_first(worker, record.ended_ns).end(),
            record,
        };
        for (lane, one_after_the_other) in lanes(own.iter().map(span).collect()).into_iter().enumerate() {
            let process = worker + lane * records.len();
            for Span { began_ns, ended_ns, record } in one_after_the_other {
                let mut push =
                    |time_ns, phase| events.push(Event { time_ns, process, worker, record, phase });
                let last = record.attempts - 1;
                let first = if attempts == Attempts::All { 0 } else { last };
                for attempt in first..last {
                    push(began_ns, Phase::Invoke { attempt });
                    push(began_ns, Phase::Fail { attempt });
                }
                push(began_ns, Phase::Invoke { attempt: last });
                match record.outcome {
                    Outcome::Commit => push(ended_ns, Phase::Ok { attempt: last }),
                    Outcome::Rollback => push(ended_ns, Phase::Fail { attempt: last }),
                }
            }
        }
    }
    // Stable: within one instant a process's events stay as they were pushed.
    events.sort_by_key(|event| event.time_ns);
    events
}

/// Deals transactions of one worker into as few lanes as it takes, so that in a lane none overlap.
fn lanes(mut spans: Vec<Span<'_>>) -> Vec<Vec<Span<'_>>> {
    spans.sort_by_key(|span| (span.began_ns, span.ended_ns, span.record.number));
    let mut lanes: Vec<Vec<Span<'_>>> = Vec::new();
    for span in spans {
        let has_ended = |lane: &Vec<Span<'_>>| lane.last().is_some_and(|last| last.ended_ns <= span.began_ns);
        match lanes.iter_mut().find(|lane| has_ended(lane)) {
            Some(lane) => lane.push(span),
            None => lanes.push(vec![span]),
        }
    }
    lanes
}

/// Writes a history of stamped rows as Elle's rw-register histories are written: `["w", key, version]` and
/// `["r", key, version]`, `null` for a state that nobody wrote. A delete writes a version like any other. Keys
/// are numbers if there is one table, else strings, `"table:key"`; keys that are byte strings are strings in any case, what
/// is not printable ASCII escaped. Aborted attempts are not told, because their operations are not kept; rolled back
/// transactions are.
///
/// Registers have no ranges. A committed scan becomes a read of every key that it covered and of which the history knows a
/// row, `null` for those that it did not show: so the reader finds phantoms among these keys, and calls them by the names
/// that it has for registers. Of a scan that rolled back there are the rows that it showed.
///
/// A register never becomes nobody's again. So of a row that one transaction inserted and really deleted there is
/// only that it was missing before.
pub fn write_elle_registers(history: &History, layout: ElleLayout, writer: impl Write) -> io::Result<()> {
    let spelled = spelled_out(history);
    let history = &*spelled;
    let records: Vec<&[TransactionRecord]> =
        history.workers.iter().map(|worker| worker.transactions.as_slice()).collect();
    let deletes = real_deletes(history);
    write_events(&records, &history.clocks, Attempts::Last, layout, writer, |worker, record, phase, out| {
        let operations = history.workers[worker].operations_of(record);
        let commits = record.outcome == Outcome::Commit;
        let may_leave_nothing = commits && operations.iter().any(Operation::is_real_delete);
        for (position, operation) in operations.iter().enumerate() {
            let place = (operation.table, operation.key);
            let key = RegisterKey { history, table: operation.table, key: operation.key };
            if may_leave_nothing && leaves_nothing(operations, place) {
                if operations[..position].iter().all(|earlier| (earlier.table, earlier.key) != place) {
                    out.write("r", &key, MicroOperation::Null)?;
                }
                continue;
            }
            let seen = match operation.seen {
                Version::MISSING => deletes.get(&place).copied(),
                seen => Some(seen),
            };
            let looked = !matches!(operation.kind, OperationKind::Write | OperationKind::Exists);
            if looked && seen != Some(Version::PRESENT) {
                let value = if phase.is_ok() { register_value(seen) } else { MicroOperation::Null };
                out.write("r", &key, value)?;
            }
            if operation.kind.writes() {
                out.write("w", &key, register_value(Some(left_by(worker, record, operation))))?;
            }
        }
        Ok(())
    })
}

/// A version as a register's value. The dead bit is left out: no version is both dead and alive.
fn register_value(version: Option<Version>) -> MicroOperation<'static> {
    match version {
        Some(version) if version.writer().is_some() => MicroOperation::Value(version.0 & !(1 << 63)),
        _ => MicroOperation::Null,
    }
}

struct RegisterKey<'a> {
    history: &'a History,
    table: TableId,
    key: Key,
}

impl fmt::Display for RegisterKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_one = self.history.tables.len() <= 1;
        let key = match self.history.names.bytes(self.table, self.key) {
            None if has_one => return write!(f, "{}", self.key.0),
            None => self.key.0.to_string(),
            Some(bytes) => bytes.escape_ascii().to_string(),
        };
        let name = if has_one { key } else { format!("{}:{key}", self.history.tables[self.table.index()]) };
        let quoted = serde_json::to_string(&name).map_err(|_| fmt::Error)?;
        f.write_str(&quoted)
    }
}
