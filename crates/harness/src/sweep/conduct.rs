//! Measuring the points that are not there yet, one after the other.
//!
//! Points that differ in their system only are taken together, by turns within each repetition, as a comparison's systems are
//! ([`crate::measure`]): a *round*. Where the machine repeats bit for bit a round is one point, and its repetitions run side by
//! side, each over a store of its own; and what other sweeps of the same command have found at it is taken from them ([`super::shared`]).
//!
//! Elsewhere, points of the same workload and layout share one loaded store as long as it has the rows that were loaded: after a
//! round that inserted or deleted, the next one gets a new store, so that what is measured does not depend on which
//! points came before. The points of a round are kept before the next one starts, and the report is drawn again, so that it
//! can be watched. Where all points are there already, what stood around them when they were measured stays.

use super::case::Case;
use super::cases::Cases;
use super::claims;
use super::experiment::Experiment;
use super::files;
use super::journal::{self, Finished, Header};
use super::points::{Conducted, Points};
use super::shared::{Shared, Turn};
use super::siblings::Sibling;
use crate::failure::Failure;
use crate::folder::samples::{self, Sample};
use crate::folder::{Folder, parameters};
use crate::journal::Journal;
use crate::measure::{After, Stores};
use crate::observer::{Event, Observer};
use crate::report;
use crate::results::Surroundings;
use crate::subject::Place;
use crate::summary::{Measured, Summary};
use contract::Engine;
use std::time::Instant;
use workloads::audit::Audited;
use workloads::{AnyWorkload, WorkloadsVisitor};

/// Conducts `experiment`, or goes on with it. `shared`: what it has in common with others that are conducted meanwhile.
pub fn conduct<E: Engine>(
    experiment: &Experiment,
    cases: &Cases,
    folder: &Folder,
    surroundings: &Surroundings,
    place: &Place,
    shared: &Shared,
    observer: &dyn Observer,
) -> Result<Conducted, Failure> {
    let (journal, finished) = journal::open(folder.path(), &Header::new(&experiment.name, place))?;
    refuse_strangers(experiment, cases, folder, &finished)?;
    let siblings = Sibling::all::<E>(experiment, folder.path(), place);
    let folder_of = folder.path().to_owned();
    let points = Points { experiment, cases, surroundings, place, folder: folder_of, finished, siblings };
    for case in cases.cases.iter().filter(|case| points.finished(case).is_some()) {
        shared.forgo(case, place);
    }
    let mut sweep = Sweep { points, folder, shared, observer, journal };
    let rounds = sweep.rounds(E::REPEATS);
    sweep.write_parameters()?;
    if !rounds.is_empty() || !folder.path().join("environment.json").exists() {
        folder.write_json("environment.json", &surroundings.environment)?;
    }
    sweep.announce();
    let before = sweep.points.finished.len();
    if !rounds.is_empty() {
        let of = |rounds: &Vec<Vec<usize>>| &cases.cases[rounds[0][0]].workload;
        let workloads: Vec<&AnyWorkload> = rounds.iter().map(of).collect();
        let rounds = Rounds::<E> { sweep: &mut sweep, rounds, engine: Default::default() };
        AnyWorkload::visit_all(&workloads, rounds)?;
    }
    // Others may have been at work meanwhile.
    sweep.points.siblings = Sibling::all::<E>(experiment, folder.path(), place);
    let measured_now = sweep.points.finished.len() - before;
    Ok(Conducted { measured_now, ..sweep.write_results()? })
}

/// Refuses a folder whose finished points are not among the experiment's.
fn refuse_strangers(
    experiment: &Experiment,
    cases: &Cases,
    folder: &Folder,
    finished: &[Finished],
) -> Result<(), Failure> {
    let is_stranger = |point: &&Finished| !cases.cases.iter().any(|case| case.settings == point.settings);
    let strangers: Vec<&Finished> = finished.iter().filter(is_stranger).collect();
    let Some(first) = strangers.first() else { return Ok(()) };
    let differences = |case: &Case| -> Vec<String> {
        let differs = |(name, now): (&String, &String)| match first.settings.get(name) {
            Some(then) if then == now => None,
            Some(then) => Some(format!("{name} was {then}, now {now}")),
            None => Some(format!("{name} was not there, now {now}")),
        };
        case.settings.iter().filter_map(differs).collect()
    };
    let nearest = cases.cases.iter().map(differences).min_by_key(Vec::len);
    Err(Failure::Usage(format!(
        "--out {}: {} of its {} finished points are not points of {} ({}); use another --out, or take the change back",
        folder.path().display(),
        strangers.len(),
        finished.len(),
        experiment.path,
        nearest.map_or("it has none".to_owned(), |differences| differences.join(", ")),
    )))
}

struct Sweep<'a> {
    points: Points<'a>,
    folder: &'a Folder,
    shared: &'a Shared,
    observer: &'a dyn Observer,
    journal: Journal,
}

impl Sweep<'_> {
    fn announce(&self) {
        let (done, all) = (self.points.finished.len(), self.points.cases.cases.len());
        let note = match done {
            0 => format!("{all} points; an interrupted sweep goes on where it was when it is run again"),
            _ if done == all => format!("all {all} points are there already; nothing is measured again"),
            _ => format!("{done} of {all} points are there already; going on with the others"),
        };
        self.observer.tell(Event::Note(&note));
        for pair in &self.points.cases.left_out {
            let note = format!("{} is left out: {}", pair.system(), pair.why);
            self.observer.tell(Event::Note(&note));
        }
    }

    /// The unfinished points by rounds, and the rounds by the workload that must be loaded for them, as positions among the cases.
    fn rounds(&self, repeats: bool) -> Vec<Vec<Vec<usize>>> {
        let cases = &self.points.cases.cases;
        let is_one_round = |one: usize, other: usize| {
            let but_system = |case: &Case| -> Vec<(String, String)> {
                let is_system = |name: &str| ["architecture", "protocol"].contains(&name);
                case.settings.clone().into_iter().filter(|(name, _)| !is_system(name)).collect()
            };
            !repeats && but_system(&cases[one]) == but_system(&cases[other])
        };
        let mut workloads: Vec<Vec<Vec<usize>>> = Vec::new();
        for (position, case) in
            cases.iter().enumerate().filter(|(_, case)| self.points.finished(case).is_none())
        {
            let of_workload = |rounds: &&mut Vec<Vec<usize>>| {
                cases[rounds[0][0]].subject.parameters == case.subject.parameters
            };
            match workloads.iter_mut().find(of_workload) {
                None => workloads.push(vec![vec![position]]),
                Some(rounds) => match rounds.iter_mut().find(|round| is_one_round(round[0], position)) {
                    Some(round) => round.push(position),
                    None => rounds.push(vec![position]),
                },
            }
        }
        workloads
    }

    fn measure<E: Engine, W: Audited>(
        &mut self,
        stores: &mut Stores<'_, E, W>,
        round: &[usize],
    ) -> Result<(), Failure> {
        let cases: Vec<&Case> = round.iter().map(|&position| &self.points.cases.cases[position]).collect();
        for (ahead, case) in cases.iter().enumerate() {
            self.observer.tell(Event::PointBegins {
                number: self.points.finished.len() + 1 + ahead,
                of: self.points.cases.cases.len(),
                place: &self.label(case),
            });
        }
        let underway = match E::REPEATS {
            true => match self.shared.begin(cases[0], self.points.place) {
                Turn::Take(measured) => {
                    self.observer.tell(Event::MeasureEnds);
                    return self.keep(cases[0], &measured);
                }
                Turn::Measure(underway) => Some(underway),
            },
            false => None,
        };
        let begun = |case: &&Case| Measured {
            capacity_per_s: self.points.capacity(case),
            ..Measured::nothing_yet(case.pair)
        };
        let mut measured: Vec<Measured> = cases.iter().map(begun).collect();
        let mut systems: Vec<&mut Measured> = measured.iter_mut().collect();
        let began = Instant::now();
        stores.measure(&mut systems, &cases[0].subject.options, After::Audit, self.observer)?;
        if let Some(underway) = underway {
            underway.found(&measured[0]);
        }
        let (each, points) =
            (began.elapsed() / cases.len() as u32, cases.iter().map(|case| self.label(case)));
        files::keep_took(self.folder, &points.collect::<Vec<_>>(), each)?;
        cases.iter().zip(&measured).try_for_each(|(case, measured)| self.keep(case, measured))
    }

    /// The next one of these rounds: the first that no other sweep is measuring, or else the first, to wait for it.
    fn next_of(&self, rounds: &[(usize, Vec<usize>)]) -> usize {
        let is_free = |(_, round): &(usize, Vec<usize>)| {
            !self.shared.is_underway(&self.points.cases.cases[round[0]], self.points.place)
        };
        rounds.iter().position(is_free).unwrap_or(0)
    }

    /// Writes what was measured down. The line in the journal is the last thing: it says that the rest is there.
    fn keep(&mut self, case: &Case, measured: &Measured) -> Result<(), Failure> {
        let summary = Summary::of(&case.subject, measured);
        files::keep(self.folder, self.points.experiment, case, (measured, &summary))?;
        let point = Finished {
            settings: case.settings.clone(),
            summary,
            samples: Sample::all(&measured.repetitions, &case.subject.options),
        };
        self.journal.append(&point)?;
        self.points.finished.push(point);
        self.write_report()
    }

    fn label(&self, case: &Case) -> String {
        files::label(self.points.experiment, case)
    }

    fn write_parameters(&self) -> Result<(), Failure> {
        let Experiment { title, paper, claim, workload, x, axes, .. } = self.points.experiment;
        let mut base = self.points.cases.common();
        base.remove("workload");
        if axes.iter().any(|axis| axis.name == "system") {
            base.retain(|name, _| !["architecture", "protocol"].contains(&name.as_str()));
        }
        let followers = self.points.experiment.base.iter().filter(|setting| setting.follows);
        let machine = self.points.place.written();
        let again = parameters::Again {
            command: &self.points.surroundings.command,
            title,
            paper: paper.as_deref(),
            claim: claim.as_deref(),
            machine: machine.as_deref(),
            workload: &workload.value,
            x: x.as_ref().map(|x| x.value.as_str()),
            base: &base,
            followers: followers.map(|setting| (setting.name.as_str(), setting.value.as_str())).collect(),
            axes: axes.iter().map(|axis| (axis.name.as_str(), axis.toml())).collect(),
        };
        self.folder.write("parameters.toml", &(again.toml() + &claims::toml(&self.points.experiment.claims)))
    }

    fn write_report(&self) -> Result<(), Failure> {
        self.folder.write("report.html", &report::of_sweep(&self.points.reported(Vec::new())))
    }

    fn write_results(&self) -> Result<Conducted, Failure> {
        let conducted = self.points.conducted();
        let labelled = self
            .points
            .of_cases()
            .map(|(case, point)| (files::labels(self.points.experiment, case), &point.samples[..]));
        self.folder.write("samples.csv", &samples::csv(labelled))?;
        self.folder.write_json("summary.json", &conducted)?;
        self.write_report()?;
        Ok(conducted)
    }
}

/// The rounds of each workload.
struct Rounds<'s, 'a, E> {
    sweep: &'s mut Sweep<'a>,
    rounds: Vec<Vec<Vec<usize>>>,
    engine: std::marker::PhantomData<E>,
}

impl<E: Engine> WorkloadsVisitor for Rounds<'_, '_, E> {
    type Output = Result<(), Failure>;

    fn visit<W: Audited>(self, workloads: &[&W]) -> Result<(), Failure> {
        let of_workload =
            |(of, rounds): (usize, Vec<Vec<usize>>)| rounds.into_iter().map(move |round| (of, round));
        let mut rounds: Vec<(usize, Vec<usize>)> =
            self.rounds.into_iter().enumerate().flat_map(of_workload).collect();
        // What a machine that repeats finds does not depend on the order: what one store serves comes together, the systems of one
        // layout over all workloads for which tables are loaded alike.
        if E::REPEATS {
            let cases = &self.sweep.points.cases.cases;
            let pair = |round: &[usize]| cases.iter().position(|case| case.pair == cases[round[0]].pair);
            let loaded = |of: usize| workloads.iter().position(|first| workloads[of].loads_as(first));
            rounds.sort_by_cached_key(|(of, round)| (loaded(*of).unwrap_or(*of), pair(round)));
        }
        let mut stores = Stores::<E, W>::of(workloads[0]);
        while !rounds.is_empty() {
            let (of, round) = rounds.remove(self.sweep.next_of(&rounds));
            stores.turn_to(workloads[of]);
            self.sweep.measure(&mut stores, &round)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::{Mock, MockEngine};
    use crate::options::RunOptions;
    use crate::sweep::journal::FILE_NAME;
    use std::fs;
    use std::path::Path;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const TEXT: &str = "title = 'T'\nworkload = 'ycsb'\n[base]\nrecords = 100\nrepeat = 2\n\
                        [axes]\nprotocol = ['silo', 'no-wait']\ntheta = [0, 0.5]\nworkers = [1, 2]";

    /// The points that were measured, and how often tables were loaded.
    #[derive(Default)]
    struct Points(Mutex<Vec<String>>, AtomicUsize);

    impl Observer for Points {
        fn tell(&self, event: Event<'_>) {
            match event {
                Event::PointBegins { place, .. } => {
                    self.0.lock().expect("no test panics with it").push(place.to_owned());
                }
                // Relaxed: a counter.
                Event::LoadBegins { .. } => drop(self.1.fetch_add(1, Ordering::Relaxed)),
                _ => {}
            }
        }
    }

    fn sweep(folder: &Path, text: &str) -> Result<(Conducted, Vec<String>), Failure> {
        let (conducted, points, _) = sweep_and_loads(folder, text)?;
        Ok((conducted, points))
    }

    fn sweep_and_loads(folder: &Path, text: &str) -> Result<(Conducted, Vec<String>, usize), Failure> {
        sweep_of::<MockEngine>(folder, text)
    }

    fn sweep_of<E: Engine>(folder: &Path, text: &str) -> Result<(Conducted, Vec<String>, usize), Failure> {
        let place = Place::hardware(2);
        let experiment = Experiment::parse("t.toml", text, 2)?;
        let cases = Cases::resolve::<E>(&experiment, &RunOptions::for_compare(2), &place)?;
        let surroundings = Surroundings::new("trireme sweep t.toml".to_owned(), &());
        let (folder, points) = (Folder::create(folder)?, Points::default());
        let conducted =
            conduct::<E>(&experiment, &cases, &folder, &surroundings, &place, &Shared::default(), &points)?;
        Ok((conducted, points.0.into_inner().expect("no test panics with it"), points.1.into_inner()))
    }

    #[test]
    fn where_runs_repeat_points_of_one_system_come_together_over_one_store() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let sweep = |name: &str, text: &str| sweep_of::<Mock<true, 0>>(&scratch.path().join(name), text);
        let (conducted, points, loads) = sweep("alike", TEXT).expect("a sweep");
        assert_eq!((conducted.points.len(), points.len(), loads), (8, 8, 1));
        let is_sorted = points.is_sorted_by_key(|place| place.contains("no-wait"));
        assert!(is_sorted, "SILO's points, and then NO_WAIT's: {points:?}");
        let of_two_sizes =
            TEXT.replace("records = 100\n", "").replace("theta = [0, 0.5]", "records = [100, 200]");
        let (_, _, loads) = sweep("of two sizes", &of_two_sizes).expect("a sweep");
        assert_eq!(loads, 2, "other rows are loaded");
    }

    #[test]
    fn a_point_gets_a_new_store_once_the_last_one_has_changed_it() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let loads = |name: &str, mix: &str| {
            let text = TEXT.replace("records = 100", &format!("records = 100\nmix = '{mix}'"));
            let (conducted, _, loads) = sweep_and_loads(&scratch.path().join(name), &text).expect("a sweep");
            assert_eq!(conducted.points.len(), 8);
            loads
        };
        assert_eq!(loads("updates", "A"), 1, "for every theta the same rows");
        assert_eq!(loads("inserts", "D"), 16, "one for each repetition of each system");
    }

    /// Of SmallBank, rows stay and balances change, on which it depends who is turned down.
    #[test]
    fn a_point_gets_a_new_store_once_the_last_one_has_changed_what_its_transactions_look_at() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let text = "workload = 'smallbank'\n[base]\ncustomers = 100\nhot-customers = 10\nrepeat = 2\n\
                    [axes]\nprotocol = ['silo', 'no-wait']\nworkers = [1, 2]";
        let loads =
            |name: &str, text: &str| sweep_and_loads(&scratch.path().join(name), text).expect("a sweep").2;
        assert_eq!(loads("by turns", text), 8, "one for each repetition of each system");
        let alone = text.replace("'silo', 'no-wait'", "'silo'");
        assert_eq!(loads("alone", &alone), 2, "one for each point");
    }

    #[test]
    fn a_sweep_goes_on_wherever_it_was_cut() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = scratch.path();
        let (conducted, measured) = sweep(folder, TEXT).expect("a sweep");
        assert_eq!((conducted.points.len(), measured.len()), (8, 8));
        let journal = fs::read_to_string(folder.join(FILE_NAME)).expect("a journal");
        let lines: Vec<&str> = journal.split_inclusive('\n').collect();
        assert_eq!(lines.len(), 9, "the header and eight points");
        for kept in 0..=8 {
            let torn = lines.get(kept + 1).map_or("", |line| &line[..line.len() / 2]);
            fs::write(folder.join(FILE_NAME), lines[..=kept].concat() + torn).expect("cut");
            let (conducted, measured) = sweep(folder, TEXT).expect("the rest");
            assert_eq!((conducted.points.len(), measured.len()), (8, 8 - kept), "{measured:?}");
        }
        let samples = fs::read_to_string(folder.join("samples.csv")).expect("samples");
        assert_eq!(samples.lines().count(), 1 + 8 * 2, "each point once");
        assert!(samples.starts_with("architecture,protocol,theta,workers,repetition,"));
        assert_eq!(fs::read_dir(folder.join("latency")).expect("a folder").count(), 2 * 8);
        assert!(folder.join("latency/protocol=silo,theta=0.5,workers=2.csv").exists());
    }

    #[test]
    fn latencies_and_series_of_a_point_are_there_before_it_is() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = scratch.path();
        let text = TEXT.replace("repeat = 2", "repeat = 2\nseries = 'on'");
        sweep(folder, &text).expect("a sweep");
        let journal = fs::read_to_string(folder.join(FILE_NAME)).expect("a journal");
        let lines: Vec<&str> = journal.split_inclusive('\n').collect();
        let files = |name: &str| {
            let files = fs::read_dir(folder.join(name)).expect("a folder");
            let mut names: Vec<_> = files.map(|file| file.expect("a file").file_name()).collect();
            names.sort();
            names
        };
        let (series, latency) = (files("series"), files("latency"));
        assert_eq!((series.len(), latency.len()), (8, 2 * 8), "{series:?} {latency:?}");
        // A crash between a point's files and its line: what is there again is what was there.
        fs::write(folder.join(FILE_NAME), lines[..4].concat() + &lines[4][..20]).expect("cut");
        fs::remove_file(folder.join("series/protocol=no-wait,theta=0.5,workers=2.csv")).expect("removed");
        let (_, measured) = sweep(folder, &text).expect("the rest");
        assert_eq!(measured.len(), 5);
        assert_eq!((files("series"), files("latency")), (series, latency));
        let of_one = fs::read_to_string(folder.join("series/protocol=silo,theta=0.5,workers=2.csv"))
            .expect("the series of a point");
        assert!(of_one.starts_with("architecture,protocol,theta,workers,repetition,from_s,"), "{of_one}");
        assert!(of_one.contains("\nshared-everything,silo,0.5,2,2,0.900000,1.000000,"), "{of_one}");
        assert_eq!(of_one.lines().count(), 1 + 2 * 10);
        let report = fs::read_to_string(folder.join("report.html")).expect("a report");
        assert_eq!(report.matches("&#x2f;protocol=silo,theta=0.5,workers=2.csv\">series</a>").count(), 1);
        assert!(!fs::read_to_string(folder.join("took.json")).expect("times").is_empty());

        // All points, and a tag for each repetition; of those that have none, so many are missing.
        let experiment = Experiment::parse("t.toml", &text, 2).expect("an experiment");
        let place = Place::hardware(2);
        let cases = Cases::resolve::<MockEngine>(&experiment, &RunOptions::for_compare(2), &place);
        let cases = cases.unwrap_or_else(|failure| panic!("{failure}"));
        let out = Folder::create(folder).expect("it is there");
        assert_eq!(files::export_log(&out, &experiment, &cases).expect("written"), 0);
        let log = fs::read_to_string(folder.join("latency.hlog")).expect("a log");
        let histograms = crate::folder::hlog::tests::read(&log);
        assert_eq!(histograms.len(), 8 * 2);
        assert_eq!(histograms[0].0, "protocol=silo/theta=0/workers=1/repetition=1");
        assert!(histograms.iter().all(|(_, of)| !of.is_empty()));
        assert_eq!(
            log.matches(": service times, from the beginning").count(),
            8,
            "each point says what it has"
        );
        fs::remove_file(folder.join("latency/protocol=silo,theta=0,workers=1.hlog")).expect("removed");
        assert_eq!(files::export_log(&out, &experiment, &cases).expect("written"), 1);
    }

    #[test]
    fn an_experiment_may_grow_but_not_change() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = scratch.path();
        sweep(folder, TEXT).expect("a sweep");
        let renamed = TEXT.replace("'T'", "'Another title'").replace("[0, 0.5]", "[0, 0.5, 0.9]");
        let (conducted, measured) = sweep(folder, &renamed).expect("only four points are new");
        assert_eq!((conducted.points.len(), measured.len()), (12, 4));
        let changed = sweep(folder, &renamed.replace("records = 100", "records = 200"));
        let refused = changed.expect_err("another table").to_string();
        assert!(refused.contains("12 of its 12 finished points are not points of t.toml"), "{refused}");
        assert!(refused.contains("records was 100, now 200"), "{refused}");
        let (_, measured) = sweep(folder, &renamed).expect("the change was taken back");
        assert!(measured.is_empty());
    }

    #[test]
    fn what_lies_in_the_folder_runs_again() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = scratch.path();
        let (first, _) = sweep(folder, TEXT).expect("a sweep");
        let again = fs::read_to_string(folder.join("parameters.toml")).expect("an experiment");
        let (conducted, measured) = sweep(folder, &again).expect("the same points");
        assert!(measured.is_empty(), "{measured:?}");
        assert_eq!(conducted.points.len(), first.points.len());
    }

    #[test]
    fn claims_are_told_and_one_that_is_not_reproduced_is_a_result() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = scratch.path();
        // The fake silo aborts every fourth transaction, the fake no-wait none.
        let claim = |that: &str, measure: &str, bounds: &str| {
            format!(
                "\n[[claims]]\nthat = '{that}'\nleft = {{ protocol = 'silo' }}\n\
                 right = {{ protocol = 'no-wait' }}\nmeasure = '{measure}'\n{bounds}\n"
            )
        };
        let text = [
            TEXT.to_owned(),
            claim("alike", "throughput", "at_least = 0.9\nat_most = 1.1"),
            claim("fewer aborts", "abort_rate", "at_most = 0.5"),
            claim("more aborts", "abort_rate", "at_least = 2"),
            claim("many workers", "throughput", "at_most = 2\nfewest_workers = 64"),
        ]
        .concat();
        let verdicts = |conducted: &Conducted| -> Vec<String> {
            conducted.claims.iter().map(|claim| claim.verdict.to_string()).collect()
        };
        let expected = ["reproduced", "not reproduced", "reproduced", "not applicable here"];
        let (first, _) = sweep(folder, &text).expect("a sweep");
        assert_eq!(verdicts(&first), expected);
        let summary = fs::read_to_string(folder.join("summary.json")).expect("a summary");
        assert!(summary.contains("\"verdict\": \"not-reproduced\""), "{summary}");
        let report = fs::read_to_string(folder.join("report.html")).expect("a report");
        assert!(
            report.contains("Of 4 claims: 2 reproduced, 1 not reproduced, 1 not applicable here."),
            "the finding"
        );
        assert!(
            report.contains("<td class=\"prose\">fewer aborts</td><td class=\"verdict\">not reproduced</td>"),
            "the table"
        );
        let again = fs::read_to_string(folder.join("parameters.toml")).expect("an experiment");
        let (again, measured) = sweep(folder, &again).expect("the same points");
        assert_eq!((verdicts(&again), measured.len()), (verdicts(&first), 0));
        // Another claim over the same points measures nothing.
        let (_, measured) = sweep(folder, TEXT).expect("the same points without claims");
        assert!(measured.is_empty());
    }

    #[test]
    fn a_claim_takes_the_points_that_lie_beside() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let claim = "\n[[claims]]\nthat = 'as there'\nleft = { protocol = 'silo' }\n\
                     right = { experiment = 'other' }\nmeasure = 'throughput'\nabout = 1\n";
        let told = || {
            let (conducted, _) =
                sweep(&scratch.path().join("sweep-t"), &(TEXT.to_owned() + claim)).expect("a sweep");
            (conducted.claims[0].verdict.to_string(), conducted.claims[0].why.clone())
        };
        assert_eq!(
            told(),
            ("not applicable here".to_owned(), "it needs the points of other, too".to_owned())
        );
        let beside = scratch.path().join("sweep-other");
        sweep(&beside, TEXT).expect("a sweep");
        let journal = beside.join(FILE_NAME);
        let (verdict, why) = told();
        assert_eq!(verdict, "reproduced", "{why}");
        assert!(why.contains("against other: silo, theta 0"), "{why}");
        let text = fs::read_to_string(&journal).expect("a journal");
        fs::write(&journal, text.replacen("\"cores\":2", "\"cores\":3", 1)).expect("from elsewhere");
        assert_eq!(told().0, "not applicable here", "of another machine");
    }

    #[test]
    fn systems_are_an_axis_and_lie_in_the_folder() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = scratch.path();
        let text = "workload = 'ycsb'\n[base]\nrecords = 100\nrepeat = 1\n\
                    [axes]\nsystem = ['delegation no-wait', 'asymmetric-delegation no-wait']";
        let (_, measured) = sweep(folder, text).expect("a sweep");
        assert_eq!(measured, ["system=delegation no-wait", "system=asymmetric-delegation no-wait"]);
        assert!(folder.join("latency/system=delegation-no-wait.csv").exists());
        let samples = fs::read_to_string(folder.join("samples.csv")).expect("samples");
        assert!(samples.starts_with("architecture,protocol,repetition,"), "{samples}");
        let again = fs::read_to_string(folder.join("parameters.toml")).expect("an experiment");
        let (_, measured) = sweep(folder, &again).expect("the same points");
        assert!(measured.is_empty(), "{again}");
    }

    /// Who compares two results finds a row by its labels: systems that differ by an option only have one each.
    #[test]
    fn options_of_systems_tell_their_rows_apart() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = scratch.path();
        let text = "workload = 'ycsb'\n[base]\nrecords = 100\nrepeat = 1\n\
                    [axes]\nsystem = ['shared-everything silo back-off=off', 'shared-everything silo prefetch=off', 'shared-everything silo']";
        sweep(folder, text).expect("a sweep");
        let samples = fs::read_to_string(folder.join("samples.csv")).expect("samples");
        assert!(samples.starts_with("architecture,protocol,back-off,prefetch,repetition,"), "{samples}");
        let rows: std::collections::BTreeSet<String> = samples
            .lines()
            .skip(1)
            .map(|line| line.split(',').take(4).collect::<Vec<_>>().join(","))
            .collect();
        assert_eq!(rows.len(), 3, "{rows:?}");
        assert!(rows.iter().any(|row| row.starts_with("shared-everything,silo,off,")), "{rows:?}");
    }
}
