//! One key: its versions form a chain, and the chain gives the dependencies between its transactions.
//!
//! Every committed write names the version that it replaced, so the order of versions is not guessed. For a
//! version v written by W and replaced by X:
//!
//! - W -> X, because X overwrote v (ww);
//! - W -> R for every R that observed v (wr);
//! - R -> X, because R did not see X's version (rw).
//!
//! Whatever does not fit into one chain from the key's first state to its end is an anomaly by itself, and is
//! reported here: two replacements of one version, an observed version that is not in the chain, a chain that
//! does not end in what the key holds after the run.

use crate::check::accesses::Access;
use crate::check::graph::{Edge, Label};
use crate::check::index::Index;
use crate::check::nets::{Net, NetWrite, meaning_of_missing, net_of, version_in_words};
use crate::check::strangers::{self, Role};
use crate::dependencies::{Deed, DependencyKind, Tally};
use crate::verdict::{AnomalyKind, Findings};
use crate::version::Version;
use contract::{Key, TableId};

/// Why one transaction must come before another. An operation tells the key: of the second transaction, or of
/// the first for `Missed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dependency {
    /// The second replaced the first's version.
    Overwrote,
    /// The second observed the first's version.
    Observed,
    /// The first observed the version that the second replaced.
    Missed,
}

impl Dependency {
    const fn kind(self) -> DependencyKind {
        match self {
            Dependency::Overwrote => DependencyKind::WriteWrite,
            Dependency::Observed => DependencyKind::WriteRead,
            Dependency::Missed => DependencyKind::ReadWrite,
        }
    }
}

/// The state before any write, as a position in the chain; the write at `n` in `versions` is at `n + 1`.
const ROOT: u32 = 0;
/// Nothing replaced the version.
const LAST: u32 = u32::MAX;

/// Judges keys one after the other, reusing its room.
pub(crate) struct KeyJudge<'a> {
    index: &'a Index<'a>,
    pub edges: Vec<Edge>,
    pub findings: Findings,
    pub tally: Tally,
    /// The key at hand.
    place: (TableId, Key),
    found_before: u64,
    nets: Vec<Net>,
    /// The writes that stayed, by the version that they left: `(version, position in nets)`.
    versions: Vec<(Version, u32)>,
    /// By position, the position of the version that replaced it, or [`LAST`].
    next: Vec<u32>,
    /// [`Version::LOADED`] or [`Version::ABSENT`], once it is known.
    first_state: Option<Version>,
    /// The position that nothing replaced.
    end: u32,
    /// Whether every version is on the way there. If nothing else is wrong, versions that are not replaced each
    /// other in a circle, and the graph will show that.
    in_one_chain: bool,
}

impl<'a> KeyJudge<'a> {
    pub fn new(index: &'a Index<'a>) -> Self {
        KeyJudge {
            index,
            edges: Vec::new(),
            findings: Findings::default(),
            tally: Tally::default(),
            place: (TableId(0), Key(0)),
            found_before: 0,
            nets: Vec::new(),
            versions: Vec::new(),
            next: Vec::new(),
            first_state: None,
            end: ROOT,
            in_one_chain: true,
        }
    }

    /// Judges one key; `accesses` are all of its own, in the order of transactions and operations.
    pub fn judge(&mut self, accesses: &[Access]) {
        self.place = (accesses[0].table, accesses[0].key);
        self.found_before = self.findings.total();
        let missing = meaning_of_missing(self.index, accesses);
        let last = accesses.last().filter(|access| access.is_final());
        let committed = &accesses[..accesses.len() - usize::from(last.is_some())];
        let held = last.map(|last| if last.seen == Version::MISSING { missing } else { last.seen });
        self.first_state = last.and_then(Access::first_state);
        self.sum_up(committed, missing);
        self.note_deeds();
        if self.versions.is_empty() && self.only_the_first_state(held) {
            return;
        }
        self.judge_first_state();
        self.link_chain();
        self.depend();
        if let Some(held) = held
            && self.in_order()
            && self.in_one_chain
        {
            self.judge_end(held);
        }
    }

    /// Whether nothing was wrong with the key so far.
    fn in_order(&self) -> bool {
        self.findings.total() == self.found_before
    }

    /// Every transaction's net effect, and the versions that stayed.
    fn sum_up(&mut self, committed: &[Access], missing: Version) {
        self.nets.clear();
        self.versions.clear();
        for own in committed.chunk_by(|one, other| one.transaction == other.transaction) {
            let net = net_of(self.index, own, missing, &mut self.findings);
            if let Some(write) = net.write {
                self.versions.push((write.left, self.nets.len() as u32));
            }
            self.nets.push(net);
        }
        self.versions.sort_unstable();
        self.next.clear();
        self.next.resize(self.versions.len() + 1, LAST);
        self.end = ROOT;
    }

    /// Notes what the transactions did to the key, for what could have happened.
    fn note_deeds(&mut self) {
        let (table, _) = self.place;
        for net in &self.nets {
            self.tally.did(
                table.index(),
                Deed {
                    observed_row: net.observed.map(|version| !version.is_dead()),
                    replaced_row: net.write.map(|write| write.replaced != Version::ABSENT),
                },
            );
        }
    }

    /// Whether all that anybody saw of the key is its first state: most keys of a large table.
    fn only_the_first_state(&self, held: Option<Version>) -> bool {
        let mut seen = self.nets.iter().filter_map(|net| net.observed).chain(held);
        let Some(first) = self.first_state.or_else(|| seen.next()) else { return true };
        (first == Version::LOADED || first == Version::ABSENT) && seen.all(|version| version == first)
    }

    /// A key was either loaded or not. Who saw it otherwise saw what an aborted transaction had done.
    fn judge_first_state(&mut self) {
        let sight = |net: &Net| [net.observed, net.write.map(|write| write.replaced)];
        let saw = |state| self.nets.iter().any(|net| sight(net).contains(&Some(state)));
        if self.first_state.is_none() {
            let likely = [Version::LOADED, Version::ABSENT];
            self.first_state = likely.into_iter().find(|state| saw(*state));
        }
        let came = |net: &Net| net.write.is_some_and(|write| write.replaced == Version::ABSENT);
        match self.first_state {
            Some(Version::LOADED) => {
                let what = "found no row, though one was loaded and nobody who committed removed it";
                self.blame(Version::ABSENT, AnomalyKind::AbortedRead, what);
            }
            Some(_) => {
                let what = "found a loaded row, though none was loaded";
                self.blame(Version::LOADED, AnomalyKind::CorruptValue, what);
                if !self.nets.iter().any(came) {
                    let what = "found a row, though none was loaded and nobody who committed inserted one";
                    self.blame(Version::PRESENT, AnomalyKind::AbortedRead, what);
                }
            }
            None => {}
        }
    }

    /// Reports all who saw the key in a state in which it never was.
    fn blame(&mut self, state: Version, kind: AnomalyKind, what: &str) {
        for net in 0..self.nets.len() {
            let Net { transaction, observed, write, .. } = self.nets[net];
            if observed == Some(state) || write.is_some_and(|write| write.replaced == state) {
                self.found(kind, &[transaction], |key, names| format!("{key}: {} {what}", names[0]));
            }
        }
    }

    /// Links every version to the one that replaced it.
    fn link_chain(&mut self) {
        let is_real_delete = |write: NetWrite| write.replaced == Version::PRESENT && write.left.is_dead();
        for position in 1..self.next.len() as u32 {
            let net = self.net_at(position);
            let write = self.write_at(position);
            match self.position(write.replaced) {
                _ if is_real_delete(write) => {}
                Some(replaced) if replaced == position => self.report_foresight(net, write.replaced),
                Some(replaced) => self.link(replaced, position),
                // What it also observed is reported where observations are.
                None if net.observed == Some(write.replaced) => {}
                None => self.report_stranger(Some(net.transaction), write.replaced, Role::Replaced),
            }
        }
        // A real delete does not know what it replaced: the last row that there was, for none comes after it.
        let (last_row, _) = self.walk(|version| !version.is_dead());
        for position in 1..self.next.len() as u32 {
            if is_real_delete(self.write_at(position)) {
                self.link(last_row, position);
            }
        }
        let (end, linked) = self.walk(|_| true);
        (self.end, self.in_one_chain) = (end, linked == self.versions.len());
    }

    fn link(&mut self, replaced: u32, by: u32) {
        let first = self.next[replaced as usize];
        if first == LAST {
            self.next[replaced as usize] = by;
            return;
        }
        let writers = [self.net_at(first).transaction, self.net_at(by).transaction];
        let version = version_in_words(self.index, self.version_at(replaced));
        self.found(AnomalyKind::LostUpdate, &writers, |key, names| {
            format!(
                "{key}: {} and {} both replaced {version}, so one of their writes is lost",
                names[0], names[1]
            )
        });
    }

    /// The dependencies that the chain gives.
    fn depend(&mut self) {
        for position in 1..self.next.len() as u32 {
            let next = self.next[position as usize];
            if next != LAST {
                let (from, to) = (self.net_at(position).transaction, self.net_at(next).transaction);
                self.edge(from, to, self.write_at(next).operation, Dependency::Overwrote);
            }
        }
        for net in 0..self.nets.len() {
            let net = self.nets[net];
            match net.observed {
                None => {}
                Some(Version::PRESENT) => self.depend_on_presence(net),
                Some(version) => match self.position(version) {
                    Some(position) => self.depend_on_version(net, version, position),
                    None => self.report_stranger(Some(net.transaction), version, Role::Observed),
                },
            }
        }
    }

    /// Who observed a version comes after its writer, and before the writer of the next version.
    fn depend_on_version(&mut self, net: Net, version: Version, position: u32) {
        self.judge_stamp(net, version, position);
        if position != ROOT && self.net_at(position).transaction == net.transaction {
            if net.write.is_some_and(|write| write.replaced != version) {
                self.report_foresight(net, version);
            }
            return;
        }
        let overwrote = net.write.is_some_and(|write| write.replaced == version);
        if position != ROOT {
            let writer = self.net_at(position).transaction;
            if overwrote {
                // That it overwrote the version is an edge already, and says the same to the graph.
                self.count(writer, net.transaction, DependencyKind::WriteRead);
            } else {
                self.edge(writer, net.transaction, net.look, Dependency::Observed);
            }
        }
        let next = self.next[position as usize];
        if next != LAST {
            self.edge(net.transaction, self.net_at(next).transaction, net.look, Dependency::Missed);
        }
    }

    /// Who only learnt that a row is there comes after the insert that brought it, and before the delete that
    /// took it.
    fn depend_on_presence(&mut self, net: Net) {
        let first = self.next[ROOT as usize];
        if first != LAST && self.first_state == Some(Version::ABSENT) {
            self.edge(self.net_at(first).transaction, net.transaction, net.look, Dependency::Observed);
        }
        if self.end != ROOT && self.version_at(self.end).is_dead() {
            self.edge(net.transaction, self.net_at(self.end).transaction, net.look, Dependency::Missed);
        }
    }

    /// A transaction met the version that it was yet to leave: a cycle of one, which the graph does not hold.
    fn report_foresight(&mut self, net: Net, version: Version) {
        let version = version_in_words(self.index, version);
        self.found(AnomalyKind::InternalInconsistency, &[net.transaction], |key, names| {
            format!("{key}: {} met {version}, its own, before it had written", names[0])
        });
    }

    fn edge(&mut self, from: u32, to: u32, operation: u32, dependency: Dependency) {
        // Who overwrote what it had observed itself does not come before itself.
        if from != to {
            self.count(from, to, dependency.kind());
            self.edges.push(Edge { from, to, label: Label::new(dependency, operation) });
        }
    }

    fn count(&mut self, from: u32, to: u32, kind: DependencyKind) {
        let worker = |transaction| self.index.record(transaction).0;
        let between_workers = worker(from) != worker(to);
        self.tally.depends(kind, between_workers);
    }

    /// A stamp's second half must say what its writer says: otherwise the two halves were read apart.
    fn judge_stamp(&mut self, net: Net, version: Version, position: u32) {
        let told = match (position, version) {
            (ROOT, Version::LOADED) => Version::LOADED.fold(),
            (ROOT, _) => return,
            _ => self.write_at(position).told,
        };
        if net.fold != 0 && net.fold != told {
            let version = version_in_words(self.index, version);
            self.found(AnomalyKind::CorruptValue, &[net.transaction], |key, names| {
                format!("{key}: {} saw a torn stamp, one half of it from {version}", names[0])
            });
        }
    }

    /// What the key holds after the run must be the last version.
    fn judge_end(&mut self, held: Version) {
        let Some(position) = self.position(held) else {
            return self.report_stranger(None, held, Role::Held);
        };
        if position != self.end {
            let end = self.net_at(self.end).transaction;
            let held = version_in_words(self.index, held);
            self.found(AnomalyKind::LostUpdate, &[end], |key, names| {
                format!("{key}: what {} wrote vanished, for after the run the key holds {held}", names[0])
            });
        } else if position == ROOT && self.first_state.is_some_and(|state| state != held) {
            let what = if held.is_dead() {
                "no row, though nobody who committed removed it"
            } else {
                "a row, though nobody who committed inserted one"
            };
            self.found(AnomalyKind::AbortedRead, &[], |key, _| {
                format!("{key}: after the run there is {what}")
            });
        }
    }

    /// From the root along the chain as far as `on` lets: the last position, and how many writes lie on the way.
    /// It ends: every write is linked behind one position at most, and the root behind none.
    fn walk(&self, on: impl Fn(Version) -> bool) -> (u32, usize) {
        let (mut position, mut linked) = (ROOT, 0);
        while let next = self.next[position as usize]
            && next != LAST
            && on(self.version_at(next))
        {
            position = next;
            linked += 1;
        }
        (position, linked)
    }

    fn position(&self, version: Version) -> Option<u32> {
        match version {
            Version::LOADED | Version::ABSENT => Some(ROOT),
            _ => self.versions.binary_search_by_key(&version, |(left, _)| *left).ok().map(|at| at as u32 + 1),
        }
    }

    fn version_at(&self, position: u32) -> Version {
        match position {
            ROOT => self.first_state.unwrap_or(Version::LOADED),
            _ => self.versions[position as usize - 1].0,
        }
    }

    fn net_at(&self, position: u32) -> Net {
        let (_, net) = self.versions[position as usize - 1];
        self.nets[net as usize]
    }

    fn write_at(&self, position: u32) -> NetWrite {
        self.net_at(position).write.expect("a version was written")
    }

    fn found(
        &mut self,
        kind: AnomalyKind,
        transactions: &[u32],
        words: impl FnOnce(&str, &[String]) -> String,
    ) {
        let (index, (table, key)) = (self.index, self.place);
        self.findings.found(kind, || {
            let names: Vec<_> = transactions.iter().map(|transaction| index.name(*transaction)).collect();
            let in_words: Vec<String> = names.iter().map(ToString::to_string).collect();
            let words = words(&index.history.key_in_words(table, key).to_string(), &in_words);
            (names, words)
        });
    }

    fn report_stranger(&mut self, transaction: Option<u32>, version: Version, role: Role) {
        let stranger = strangers::trace(self.index, self.place, version, role);
        let transactions: Vec<u32> = transaction.into_iter().chain(stranger.writer).collect();
        self.found(stranger.kind, &transactions, |key, names| match role {
            Role::Observed => format!("{key}: {} saw {}", names[0], stranger.words),
            Role::Replaced => format!("{key}: {} wrote over {}", names[0], stranger.words),
            Role::Held => format!("{key}: after the run it holds {}", stranger.words),
        });
    }
}
