//! What the checker found, for people and for files.

use crate::dependencies::Dependencies;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

macro_rules! kinds {
    ($($variant:ident = $name:literal, $summary:literal;)+) => {
        /// The names of what can be wrong with a history. In brackets the field's names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum AnomalyKind { $(#[doc = $summary] $variant,)+ }

        impl AnomalyKind {
            /// Every kind, in the order in which they are reported.
            pub const ALL: &'static [AnomalyKind] = &[$(AnomalyKind::$variant),+];

            /// The name in reports and files.
            pub const fn name(self) -> &'static str {
                match self { $(AnomalyKind::$variant => $name),+ }
            }

            /// One line on what it is.
            pub const fn summary(self) -> &'static str {
                match self { $(AnomalyKind::$variant => $summary),+ }
            }
        }
    };
}

kinds! {
    CorruptValue = "corrupt value", "a value that names a version nobody wrote, or contradicts the chain of versions";
    AbortedRead = "aborted read", "a committed transaction saw what an aborted one wrote (G1a)";
    DirtyRead = "dirty read", "a committed transaction saw a version that its writer replaced itself (G1b)";
    DirtyWrite = "dirty write", "another write came between two writes of one transaction, or a cycle of overwriting (G0)";
    LostUpdate = "lost update", "two transactions replaced the same version, or a committed write vanished (P4)";
    CircularInformationFlow = "circular information flow", "transactions that each saw what the next one wrote (G1c)";
    InternalInconsistency = "internal inconsistency", "a transaction did not see its own write, or saw it before it wrote";
    NonRepeatableRead = "non-repeatable read", "one transaction saw two versions of a key, neither its own (P2)";
    DisorderlyScan = "disorderly scan", "a scan showed a row twice, out of order or from beyond its range";
    Phantom = "phantom", "a cycle through a key that was found missing or passed over by a scan, inserted or deleted (P3)";
    ReadSkew = "read skew", "a transaction saw one effect of another and missed an earlier one (A5A, G-single)";
    WriteSkew = "write skew", "transactions that each missed what the next one wrote (A5B, G2-item)";
    WrongSnapshot = "wrong snapshot", "a snapshot shows what was committed after it, or does not show what was committed before it";
    DisorderedIds = "disordered ids", "the ids that the engine gave two transactions contradict the order in which one depends on the other";
    StaleRead = "stale read", "serializable, but not in the order in which the transactions followed each other";
}

impl fmt::Display for AnomalyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for AnomalyKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A transaction as reports name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct TransactionName {
    /// Its number in the history, unique over all workers.
    pub number: u32,
    /// The worker that ran it.
    pub worker: usize,
    /// Its number among its worker's, from 1.
    pub transaction: u32,
    /// Which attempt counted, from 1.
    pub attempt: u32,
}

impl fmt::Display for TransactionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TransactionName { number, worker, transaction: _, attempt } = self;
        write!(f, "T{number} (worker {worker}, {attempt}{} attempt)", ordinal_suffix(*attempt))
    }
}

fn ordinal_suffix(number: u32) -> &'static str {
    match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, Serialize)]
pub struct Anomaly {
    /// Its name.
    pub kind: AnomalyKind,
    /// The transactions in it, in the order of the cycle if it is one.
    pub transactions: Vec<TransactionName>,
    /// What happened.
    pub words: String,
}

/// The most anomalies of one kind that a verdict describes; the others are only counted.
pub const MOST_DESCRIBED: usize = 8;

/// What the checker found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verdict {
    /// Committed transactions that were judged.
    pub transactions: u64,
    /// Their operations.
    pub operations: u64,
    /// Edges of the graph of dependencies between them, real time not counted. An observed version that its observer
    /// replaced gives one.
    pub edges: u64,
    /// The dependencies by kind.
    pub dependencies: Dependencies,
    /// Anomalies found, by kind. Cycles lie in each other in so many ways that one is counted only if it
    /// has a transaction that no cycle counted before has.
    pub counts: BTreeMap<AnomalyKind, u64>,
    /// The first few of each kind.
    pub anomalies: Vec<Anomaly>,
    /// Whether the search for further cycles was cut short; what was found stands.
    pub more: bool,
    /// How long it took.
    #[serde(rename = "elapsed_s", serialize_with = "in_seconds")]
    pub elapsed: Duration,
}

fn in_seconds<S: serde::Serializer>(elapsed: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(elapsed.as_secs_f64())
}

impl Verdict {
    /// Whether the history is strictly serializable.
    pub fn is_strictly_serializable(&self) -> bool {
        self.counts.is_empty()
    }

    /// Whether the history is serializable, in whatever order: what is stale only is not counted.
    pub fn is_serializable(&self) -> bool {
        self.counts.keys().all(|kind| *kind == AnomalyKind::StaleRead)
    }

    /// Whether the history is serializable, strictly if that is asked for.
    pub fn holds(&self, strictly: bool) -> bool {
        if strictly { self.is_strictly_serializable() } else { self.is_serializable() }
    }

    /// Anomalies found of a kind.
    pub fn count(&self, kind: AnomalyKind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} committed transactions, {} operations, {} dependencies, judged in {:.2} s: ",
            self.transactions,
            self.operations,
            self.edges,
            self.elapsed.as_secs_f64()
        )?;
        if self.is_strictly_serializable() {
            return f.write_str("strictly serializable");
        }
        f.write_str(if self.is_serializable() {
            "serializable, NOT strictly"
        } else {
            "NOT strictly serializable"
        })?;
        for (position, (kind, count)) in self.counts.iter().enumerate() {
            let separator = if position == 0 { ": " } else { ", " };
            write!(f, "{separator}{kind} ({}{count})", if self.more { "at least " } else { "" })?;
        }
        for anomaly in &self.anomalies {
            write!(f, "\n  {}: {}", anomaly.kind, anomaly.words)?;
        }
        let described = self.anomalies.len() as u64;
        let all: u64 = self.counts.values().sum();
        if all > described {
            write!(f, "\n  and {} more", all - described)?;
        }
        Ok(())
    }
}

/// Anomalies as they are found: all counted, the first few of each kind described.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub counts: BTreeMap<AnomalyKind, u64>,
    pub anomalies: Vec<Anomaly>,
}

impl Findings {
    /// Counts an anomaly, and describes it if few of its kind were before it.
    pub fn found(&mut self, kind: AnomalyKind, describe: impl FnOnce() -> (Vec<TransactionName>, String)) {
        let count = self.counts.entry(kind).or_insert(0);
        *count += 1;
        if *count <= MOST_DESCRIBED as u64 {
            let (transactions, words) = describe();
            self.anomalies.push(Anomaly { kind, transactions, words });
        }
    }

    /// Anomalies found so far.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Takes over what another part of the checker found.
    pub fn absorb(&mut self, other: Findings) {
        for (kind, count) in other.counts {
            *self.counts.entry(kind).or_insert(0) += count;
        }
        self.anomalies.extend(other.anomalies);
    }

    /// In the order of the kinds, a few of each.
    pub fn into_parts(mut self) -> (BTreeMap<AnomalyKind, u64>, Vec<Anomaly>) {
        self.anomalies.sort_by_key(|anomaly| anomaly.kind);
        let mut described = 0;
        let mut last = None;
        self.anomalies.retain(|anomaly| {
            described = if last == Some(anomaly.kind) { described + 1 } else { 1 };
            last = Some(anomaly.kind);
            described <= MOST_DESCRIBED
        });
        (self.counts, self.anomalies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_counted_in_words() {
        let name = |attempt| TransactionName { number: 7, worker: 2, transaction: 1, attempt }.to_string();
        assert_eq!(name(1), "T7 (worker 2, 1st attempt)");
        assert_eq!(name(2), "T7 (worker 2, 2nd attempt)");
        assert_eq!(name(3), "T7 (worker 2, 3rd attempt)");
        assert_eq!(name(11), "T7 (worker 2, 11th attempt)");
        assert_eq!(name(112), "T7 (worker 2, 112th attempt)");
        assert_eq!(name(21), "T7 (worker 2, 21st attempt)");
    }

    #[test]
    fn a_verdict_describes_a_few_of_each_kind_and_counts_all() {
        let mut findings = Findings::default();
        for _ in 0..2 {
            let mut part = Findings::default();
            for _ in 0..20 {
                part.found(AnomalyKind::WriteSkew, || (Vec::new(), "words".to_owned()));
            }
            part.found(AnomalyKind::LostUpdate, || (Vec::new(), "other words".to_owned()));
            findings.absorb(part);
        }
        let (counts, anomalies) = findings.into_parts();
        assert_eq!(counts[&AnomalyKind::WriteSkew], 40);
        assert_eq!(anomalies.len(), MOST_DESCRIBED + 2);
        let verdict = Verdict { counts, anomalies, ..Verdict::default() };
        let words = verdict.to_string();
        assert!(words.contains("lost update (2), write skew (40)"), "{words}");
        assert!(words.ends_with("and 32 more"), "{words}");
        assert!(!verdict.is_strictly_serializable() && !verdict.is_serializable());
    }

    #[test]
    fn what_is_only_stale_is_serializable() {
        let verdict = Verdict { counts: [(AnomalyKind::StaleRead, 3)].into(), ..Verdict::default() };
        assert!(verdict.holds(false) && !verdict.holds(true));
        assert!(verdict.to_string().contains("serializable, NOT strictly: stale read (3)"), "{verdict}");
    }
}
