//! What YCSB can be asked to do.

use super::text;
use crate::parameters::{
    ParameterError, ParameterValue, Parameters, Percent, choice, count, number, parameters, whole,
};
use crate::touches::{FIELD_END, KEY_END, MOST_TOUCHES};
use contract::transaction::MOST_RECORDS;
use std::fmt;

parameters! {
    /// YCSB's parameters.
    YcsbParameters, "ycsb", "zipfian accesses to 1000-byte rows, sixteen a transaction (trireme 4.1)";
    /// Rows in the table.
    "records" records: Records = "1000000";
    /// Fields of a row.
    "fields" fields: Fields = "10";
    /// Bytes of a field; a row has at most 8192.
    "field-bytes" field_bytes: FieldBytes = "100";
    /// Accesses of a transaction; beside mix E one, unless it is given.
    "accesses" accesses: Accesses = "16";
    /// Skew of the keys: 0 is uniform, 0.6 the papers' medium contention, 0.8 high.
    "theta" theta: Theta = "0.8";
    /// Rows of the hot set, the first keys (orthrus 4.1); theta is then the skew of the others.
    "hot-records" hot_records: HotRecords = "0";
    /// Accesses of a transaction on rows of the hot set, its first ones.
    "hot" hot: Hot = "0";
    /// Which rows are the popular ones: the first ones for ever, or the latest.
    "distribution" distribution: Distribution = "zipfian";
    /// A standard mix: A 50 % reads, B 95 %, C 100 %, D 95 % of the latest, E 95 % scans, F 50 % with read-modify-write; or none.
    "mix" mix: Mix = "none";
    /// Accesses that read, in percent; the others update.
    "reads" reads: Percent = "50";
    /// What reads is a percentage of: accesses, transactions, or workers (trireme figure 6d).
    "split" split: Split = "access";
    /// Rows that a read scans at most, from its key on; 0 for reads of one row. Mix E says 100.
    "scan-rows" scan_rows: ScanRows = "0";
    /// Rows of a scan: from 1 to scan-rows alike, or mostly few.
    "scan-lengths" scan_lengths: ScanLengths = "uniform";
    /// How rows are found: by key only, or in order, too, as scans need it.
    "index" index: Index = "hash";
    /// How an access updates; mixes A and B say blind, D and E say insert.
    "update" update: Update = "read-modify-write";
    /// What an access touches: one random field, or the whole row.
    "touch" touch: Extent = "field";
    /// Order of the accesses: as drawn, or by primary key.
    "order" order: Order = "drawn";
    /// Whether the keys of a transaction all differ: one that it has already is drawn again; no: a key may come twice.
    "distinct" distinct: Distinct = "no";
    /// Partitions that a transaction touches, or threads that have its locks, its home among them; or any, for no locality (thousand-cores 5.5).
    "touched-partitions" touched_partitions: TouchedPartitions = "any";
    /// Transactions that touch so many partitions, in percent; the others touch their home only.
    "multi-partition" multi_partition: Percent = "100";
    /// What transactions that only read read, of a store that has snapshots: the newest one, or the present, as all others.
    "read-only" read_only: ReadOnly = "snapshot";
}

count!(
    /// Rows in the table.
    Records, 1 to 1_000_000_000_000
);
count!(
    /// Fields of a row.
    Fields, 1 to 1_000
);
count!(
    /// Bytes of a field.
    FieldBytes, 1 to 8_192
);
count!(
    /// Accesses of a transaction.
    Accesses, 1 to 64
);
count!(
    /// Rows in the hot set.
    HotRecords, 0 to 1_000_000_000_000
);
count!(
    /// Hot accesses of a transaction.
    Hot, 0 to 64
);
count!(
    /// Rows of a scan.
    ScanRows, 0 to 10_000
);
choice!(
    /// How long scans are.
    ScanLengths:
    /// Every length is as likely.
    Uniform = "uniform",
    /// Short ones are more likely, with YCSB's skew of 0.99.
    Zipfian = "zipfian",
);
choice!(
    /// How rows are found.
    Index:
    /// By key.
    Hash = "hash",
    /// By key, and in the order of keys.
    Ordered = "ordered",
);
choice!(
    /// Which rows are popular.
    Distribution:
    /// Those with the least keys.
    Zipfian = "zipfian",
    /// Those inserted last.
    Latest = "latest",
);
choice!(
    /// A share of reads and a kind of update, by its name in YCSB.
    Mix:
    /// No mix of YCSB.
    None = "none",
    /// Update heavy.
    A = "A",
    /// Read mostly.
    B = "B",
    /// Read only.
    C = "C",
    /// Read latest.
    D = "D",
    /// Short ranges.
    E = "E",
    /// Read-modify-write.
    F = "F",
);
choice!(
    /// What is split into reading and updating.
    Split:
    /// Each access by itself.
    Access = "access",
    /// Transactions: all accesses of one do the same.
    Transaction = "transaction",
    /// Workers: all transactions of one do the same.
    Worker = "worker",
);
choice!(
    /// How an access updates.
    Update:
    /// The new bytes depend on the old.
    ReadModifyWrite = "read-modify-write",
    /// The old bytes are not read.
    Blind = "blind",
    /// There are none: a new row.
    Insert = "insert",
);
choice!(
    /// What an access touches.
    Extent:
    /// One field, each as likely.
    Field = "field",
    /// All fields.
    Row = "row",
);
choice!(
    /// The order of a transaction's accesses.
    Order:
    /// As they were drawn.
    Drawn = "drawn",
    /// Ascending keys.
    Key = "key",
);
choice!(
    /// Whether a transaction's keys differ.
    Distinct:
    /// They may repeat.
    No = "no",
    /// They differ.
    Yes = "yes",
);

choice!(
    /// What transactions that only read read, where there are snapshots.
    ReadOnly:
    /// The newest one.
    Snapshot = "snapshot",
    /// The present.
    Present = "present",
);

const _: () = assert!(Accesses::MOST == MOST_TOUCHES as u64 && FieldBytes::MOST == text::MOST_BYTES as u64);
/// What is said of scans that are too long together.
const SCANS_ALLOWED: &str =
    "scans of a transaction (accesses times scan-rows) of at most 32768 rows together";

const _: () = assert!(MOST_RECORDS == 32_768, "SCANS_ALLOWED says so");
const _: () = assert!(Records::MOST < KEY_END && Fields::MOST < FIELD_END && ScanRows::MOST < FIELD_END);

/// The skew of the keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Theta(f64);

impl Theta {
    pub(super) fn get(self) -> f64 {
        self.0
    }
}

impl ParameterValue for Theta {
    const ALLOWED: &'static str = "0 <= theta < 1";

    fn parse(text: &str) -> Option<Self> {
        number(text).filter(|theta| (0.0..1.0).contains(theta)).map(|theta| Theta(theta.abs()))
    }
}

impl fmt::Display for Theta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many partitions a transaction touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TouchedPartitions {
    /// So many, or all, if there are fewer.
    Touched(u64),
    /// Whichever its keys are in.
    Any,
}

impl ParameterValue for TouchedPartitions {
    const ALLOWED: &'static str = "a whole number from 1 to 64, or any";

    fn parse(text: &str) -> Option<Self> {
        if text == "any" {
            return Some(TouchedPartitions::Any);
        }
        whole(text).filter(|touched| (1..=Accesses::MOST).contains(touched)).map(TouchedPartitions::Touched)
    }
}

impl fmt::Display for TouchedPartitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TouchedPartitions::Touched(touched) => write!(f, "{touched}"),
            TouchedPartitions::Any => f.write_str("any"),
        }
    }
}

/// What a mix stands for.
struct Definition {
    reads: Percent,
    /// How the rest updates, if that matters.
    update: Option<Update>,
    distribution: Distribution,
    /// Whether reads are scans.
    scans: bool,
}

impl Mix {
    fn definition(self) -> Option<Definition> {
        let (reads, update, distribution) = match self {
            Mix::None => return None,
            Mix::A => (50.0, Some(Update::Blind), Distribution::Zipfian),
            Mix::B => (95.0, Some(Update::Blind), Distribution::Zipfian),
            Mix::C => (100.0, None, Distribution::Zipfian),
            Mix::D => (95.0, Some(Update::Insert), Distribution::Latest),
            Mix::E => (95.0, Some(Update::Insert), Distribution::Zipfian),
            Mix::F => (50.0, Some(Update::ReadModifyWrite), Distribution::Zipfian),
        };
        Some(Definition { reads: Percent(reads), update, distribution, scans: self == Mix::E })
    }

    /// The mix that this is, by whatever parameters it was asked for.
    fn of(parameters: &YcsbParameters) -> Self {
        let is = |mix: &Mix| {
            mix.definition().is_some_and(|its| {
                its.reads == parameters.reads
                    && its.distribution == parameters.distribution
                    && its.scans == parameters.scans()
                    && its.update.is_none_or(|update| update == parameters.update)
            })
        };
        [Mix::A, Mix::B, Mix::C, Mix::D, Mix::E, Mix::F].into_iter().find(is).unwrap_or(Mix::None)
    }
}

impl YcsbParameters {
    /// Checked values that go together, a mix worked into what it stands for.
    pub(super) fn resolve(given: &Parameters) -> Result<Self, ParameterError> {
        let mut parameters = YcsbParameters::read(given)?;
        parameters.apply_mix(given)?;
        parameters.apply_scans(given)?;
        let YcsbParameters { records, fields, field_bytes, accesses, distinct, .. } = parameters;
        if fields.get() * field_bytes.get() > text::MOST_BYTES as u64 {
            return Err(ParameterError::Conflict {
                parameter: "field-bytes",
                value: field_bytes.to_string(),
                with: "fields",
                with_value: fields.to_string(),
                allowed: "rows (fields times field-bytes) of at most 8192 bytes",
            });
        }
        if distinct == Distinct::Yes && accesses.get() > records.get() {
            return Err(ParameterError::Conflict {
                parameter: "accesses",
                value: accesses.to_string(),
                with: "records",
                with_value: records.to_string(),
                allowed: "at most as many accesses as records, or distinct=no",
            });
        }
        parameters.check_hot_set()?;
        parameters.check_partitions()?;
        if parameters.most_scanned() > MOST_RECORDS as u64 {
            return Err(ParameterError::Conflict {
                parameter: "scan-rows",
                value: parameters.scan_rows.to_string(),
                with: "accesses",
                with_value: accesses.to_string(),
                allowed: SCANS_ALLOWED,
            });
        }
        Ok(parameters)
    }

    /// What a transaction draws of the hot set and of the others there must be; and only single rows of the loaded ones are drawn so.
    fn check_hot_set(&self) -> Result<(), ParameterError> {
        let YcsbParameters { records, accesses, hot_records, hot, .. } = *self;
        let conflict = |parameter, value: &dyn fmt::Display, with, with_value: &dyn fmt::Display, allowed| {
            let (value, with_value) = (value.to_string(), with_value.to_string());
            Err(ParameterError::Conflict { parameter, value, with, with_value, allowed })
        };
        if hot.get() == 0 && hot_records.get() == 0 {
            return Ok(());
        }
        if hot.get() == 0 {
            let allowed = "a hot access at least, or hot-records=0";
            return conflict("hot", &hot, "hot-records", &hot_records, allowed);
        }
        let differs = self.distinct == Distinct::Yes;
        let cold = accesses.get().saturating_sub(hot.get());
        if hot.get() > accesses.get() {
            return conflict("hot", &hot, "accesses", &accesses, "at most as many hot accesses as accesses");
        }
        if hot_records.get() < if differs { hot.get() } else { 1 } {
            let allowed = "a hot record at least, and with distinct=yes as many as hot accesses";
            return conflict("hot-records", &hot_records, "hot", &hot, allowed);
        }
        if records.get().saturating_sub(hot_records.get()) < if differs { cold.max(1) } else { 1 } {
            let allowed = "fewer hot records than records, by a record at least, and with distinct=yes by as many as accesses that are not hot";
            return conflict("hot-records", &hot_records, "records", &records, allowed);
        }
        if self.scans() {
            return conflict(
                "scan-rows",
                &self.scan_rows,
                "hot-records",
                &hot_records,
                "0, or hot-records=0",
            );
        }
        if self.inserts() {
            let allowed = "read-modify-write or blind, or hot-records=0";
            return conflict("update", &self.update, "hot-records", &hot_records, allowed);
        }
        if self.distribution == Distribution::Latest {
            let allowed = "zipfian, or hot-records=0";
            return conflict("distribution", &self.distribution, "hot-records", &hot_records, allowed);
        }
        Ok(())
    }

    /// Only reads and updates of single rows of the loaded ones are drawn by partition, one in each at least.
    fn check_partitions(&self) -> Result<(), ParameterError> {
        let TouchedPartitions::Touched(touched) = self.touched_partitions else {
            return match self.multi_partition {
                Percent(100.0) => Ok(()),
                percent => Err(self.contradicts_partitions(
                    "multi-partition",
                    percent,
                    "100, or touched-partitions=N: how many those touch",
                )),
            };
        };
        if self.scans() {
            return Err(self.contradicts_partitions(
                "scan-rows",
                self.scan_rows,
                "0, or touched-partitions=any",
            ));
        }
        if self.inserts() {
            let allowed = "read-modify-write or blind, or touched-partitions=any";
            return Err(self.contradicts_partitions("update", self.update, allowed));
        }
        if self.distribution == Distribution::Latest {
            let allowed = "zipfian, or touched-partitions=any";
            return Err(self.contradicts_partitions("distribution", self.distribution, allowed));
        }
        if touched > self.accesses.get() {
            let allowed = "at least as many accesses as partitions";
            return Err(self.contradicts_partitions("accesses", self.accesses, allowed));
        }
        Ok(())
    }

    fn contradicts_partitions(
        &self,
        parameter: &'static str,
        value: impl fmt::Display,
        allowed: &'static str,
    ) -> ParameterError {
        let (value, with_value) = (value.to_string(), self.touched_partitions.to_string());
        ParameterError::Conflict { parameter, value, with: "touched-partitions", with_value, allowed }
    }

    /// The most rows that one transaction can meet in its scans.
    fn most_scanned(&self) -> u64 {
        let asked = self.accesses.get() * self.scan_rows.get();
        match self.inserts() {
            true => asked,
            false => asked.min(self.records.get()),
        }
    }

    /// The bytes of a row.
    pub(super) fn row_bytes(&self) -> usize {
        (self.fields.get() * self.field_bytes.get()) as usize
    }

    /// Whether reads are scans.
    pub(super) fn scans(&self) -> bool {
        self.scan_rows.get() > 0
    }

    /// Whether transactions insert rows.
    pub(super) fn inserts(&self) -> bool {
        self.update == Update::Insert && self.reads.0 < 100.0
    }

    /// Whether a transaction is one read or one update of a row that was loaded.
    pub(super) fn is_of_single_records(&self) -> bool {
        self.accesses.get() == 1 && !self.scans() && !self.inserts()
    }

    /// Takes from the mix what was not given beside it, and refuses what contradicts it.
    fn apply_mix(&mut self, given: &Parameters) -> Result<(), ParameterError> {
        if let Some(Definition { reads, update, distribution, scans }) = self.mix.definition() {
            if given.get("reads").is_some() && self.reads != reads {
                return self.contradicts_mix("reads", self.reads, "the reads of the mix, or mix=none");
            }
            if given.get("distribution").is_some() && self.distribution != distribution {
                let allowed = "the distribution of the mix, or mix=none";
                return self.contradicts_mix("distribution", self.distribution, allowed);
            }
            (self.reads, self.distribution) = (reads, distribution);
            if given.get("scan-rows").is_some() && self.scans() != scans {
                let allowed =
                    if scans { "scans of a row at least, or mix=none" } else { "0, mix=E, or mix=none" };
                return self.contradicts_mix("scan-rows", self.scan_rows, allowed);
            }
            if scans {
                self.apply_mix_of_scans(given);
            }
            if given.get("update").is_none() {
                self.update = update.unwrap_or(self.update);
            } else if self.mix == Mix::F && self.update != Update::ReadModifyWrite {
                let allowed = "update=read-modify-write, or mix=A";
                return self.contradicts_mix("update", self.update, allowed);
            } else if matches!(self.mix, Mix::D | Mix::E) && self.update != Update::Insert {
                return self.contradicts_mix("update", self.update, "update=insert, or mix=none");
            }
        }
        self.mix = Mix::of(self);
        Ok(())
    }

    /// YCSB's own operations: one a transaction, of 100 rows at most.
    fn apply_mix_of_scans(&mut self, given: &Parameters) {
        if given.get("scan-rows").is_none() {
            self.scan_rows = ScanRows(100);
        }
        if given.get("accesses").is_none() {
            self.accesses = Accesses(1);
        }
    }

    /// What is scanned has an order.
    fn apply_scans(&mut self, given: &Parameters) -> Result<(), ParameterError> {
        if !self.scans() {
            return Ok(());
        }
        if given.get("index").is_some() && self.index == Index::Hash {
            return Err(ParameterError::Conflict {
                parameter: "index",
                value: self.index.to_string(),
                with: "scan-rows",
                with_value: self.scan_rows.to_string(),
                allowed: "index=ordered, or scan-rows=0",
            });
        }
        self.index = Index::Ordered;
        Ok(())
    }

    fn contradicts_mix(
        &self,
        parameter: &'static str,
        value: impl fmt::Display,
        allowed: &'static str,
    ) -> Result<(), ParameterError> {
        let (value, with_value) = (value.to_string(), self.mix.to_string());
        Err(ParameterError::Conflict { parameter, value, with: "mix", with_value, allowed })
    }
}
