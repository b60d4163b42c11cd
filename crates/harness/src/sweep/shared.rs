//! Points that several sweeps of one command have in common.
//!
//! Figures of a paper show the same runs: one their throughput, another their aborts. Where runs repeat bit for bit, what one sweep has
//! measured is what any other would measure: a sweep that comes to a point which nobody has measured yet measures it, and the others
//! take what it found. That is kept until the last of them has taken it.

use super::case::Case;
use super::cases::Cases;
use crate::options::OPTIONS;
use crate::subject::Place;
use crate::summary::Measured;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// What identifies a point, whatever experiment it is of.
type Identity = (Place, BTreeMap<String, String>);

/// See the module. One without points shares none.
#[derive(Default)]
pub struct Shared {
    points: Mutex<HashMap<Identity, Point>>,
    /// Told when a point is no longer being measured.
    changed: Condvar,
}

/// A point that more than one sweep wants.
struct Point {
    /// Sweeps that are without it.
    wanted: usize,
    state: State,
}

enum State {
    Untouched,
    Underway,
    Found(Arc<Measured>),
}

/// What a sweep that comes to a point is to do.
pub(super) enum Turn<'s> {
    /// To take what another one has found.
    Take(Arc<Measured>),
    /// To measure it, and to tell.
    Measure(Underway<'s>),
}

impl Shared {
    /// What sweeps have in common that measure these points at these places.
    pub fn among<'a>(sweeps: impl IntoIterator<Item = (&'a Cases, &'a Place)>) -> Shared {
        let mut points = HashMap::new();
        for (cases, place) in sweeps {
            for case in cases.cases.iter().filter(|case| is_by_itself(case)) {
                let fresh = || Point { wanted: 0, state: State::Untouched };
                points.entry(identity(case, place)).or_insert_with(fresh).wanted += 1;
            }
        }
        points.retain(|_, point| point.wanted > 1);
        Shared { points: Mutex::new(points), changed: Condvar::new() }
    }

    /// A sweep has a point already.
    pub(super) fn forgo(&self, case: &Case, place: &Place) {
        let (mut points, identity) = (self.points(), identity(case, place));
        if let Some(point) = points.get_mut(&identity) {
            point.wanted -= 1;
            if point.wanted == 0 {
                points.remove(&identity);
            }
        }
    }

    /// Whether another sweep is measuring it.
    pub(super) fn is_underway(&self, case: &Case, place: &Place) -> bool {
        let points = self.points();
        points.get(&identity(case, place)).is_some_and(|point| matches!(point.state, State::Underway))
    }

    /// A sweep has come to a point. Waits while another one is measuring it.
    pub(super) fn begin(&self, case: &Case, place: &Place) -> Turn<'_> {
        let identity = identity(case, place);
        let is_underway = |points: &mut HashMap<Identity, Point>| {
            points.get(&identity).is_some_and(|point| matches!(point.state, State::Underway))
        };
        let points = self.changed.wait_while(self.points(), is_underway);
        let mut points = points.expect("nobody panics with it");
        if let Some(point) = points.get_mut(&identity) {
            if let State::Found(measured) = &point.state {
                let measured = measured.clone();
                point.wanted -= 1;
                if point.wanted == 0 {
                    points.remove(&identity);
                }
                return Turn::Take(measured);
            }
            point.state = State::Underway;
        }
        Turn::Measure(Underway { shared: self, identity })
    }

    fn points(&self) -> MutexGuard<'_, HashMap<Identity, Point>> {
        self.points.lock().expect("nobody panics with it")
    }
}

/// Whether what is measured at a point depends on no other point of its sweep, as a rate in parts of a capacity does.
fn is_by_itself(case: &Case) -> bool {
    case.subject.options.percent_of_capacity.is_none()
}

/// Without the options that its system has no use for: figures of systems that have none for any do not name them.
fn identity(case: &Case, place: &Place) -> Identity {
    let mut settings = case.settings.clone();
    for option in OPTIONS.iter().filter(|option| !option.is_used_by(case.pair)) {
        settings.remove(option.name);
    }
    (place.clone(), settings)
}

/// A point that a sweep measures. If it fails, whoever comes to the point next measures it.
pub(super) struct Underway<'s> {
    shared: &'s Shared,
    identity: Identity,
}

impl Underway<'_> {
    /// It was measured.
    pub fn found(self, measured: &Measured) {
        let mut points = self.shared.points();
        if let Some(point) = points.get_mut(&self.identity) {
            point.wanted -= 1;
            point.state = State::Found(Arc::new(measured.clone()));
            if point.wanted == 0 {
                points.remove(&self.identity);
            }
        }
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        let mut points = self.shared.points();
        if let Some(point) = points.get_mut(&self.identity)
            && matches!(point.state, State::Underway)
        {
            point.state = State::Untouched;
        }
        drop(points);
        self.shared.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use crate::folder::Folder;
    use crate::mock::Mock;
    use crate::observer::{Event, Observer};
    use crate::options::RunOptions;
    use crate::results::Surroundings;
    use crate::sweep::{Conducted, Experiment, conduct};
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    type Engine = Mock<true, 0>;

    const TEXT: &str = "workload = 'ycsb'\n[base]\nrecords = 100\nrepeat = 2\n\
                        [axes]\nprotocol = ['silo', 'no-wait']\ntheta = [0, 0.5]";
    const SILO: &str = "workload = 'ycsb'\n[base]\nrecords = 100\nrepeat = 2\nprotocol = 'silo'\n\
                        [axes]\ntheta = [0.5, 0.9]";

    fn place() -> Place {
        Place::hardware(2)
    }

    fn resolved(text: &str) -> (Experiment, Cases) {
        let experiment = Experiment::parse("t.toml", text, 2).expect("an experiment");
        let cases = Cases::resolve::<Engine>(&experiment, &RunOptions::for_compare(2), &place());
        (experiment, cases.expect("cases"))
    }

    /// Repetitions.
    #[derive(Default)]
    struct Runs(AtomicUsize);

    impl Observer for Runs {
        fn tell(&self, event: Event<'_>) {
            if let Event::RunBegins { .. } = event {
                // Relaxed: a counter.
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn swept(
        folder: &Path,
        (experiment, cases): &(Experiment, Cases),
        shared: &Shared,
    ) -> Result<(Conducted, usize), Failure> {
        let surroundings = Surroundings::new("trireme sweep t.toml".to_owned(), &());
        let (folder, runs) = (Folder::create(folder)?, Runs::default());
        let conducted =
            conduct::<Engine>(experiment, cases, &folder, &surroundings, &place(), shared, &runs)?;
        Ok((conducted, runs.0.into_inner()))
    }

    fn among(sweeps: &[&(Experiment, Cases)]) -> (Shared, Place) {
        let place = place();
        (Shared::among(sweeps.iter().map(|(_, cases)| (cases, &place))), place)
    }

    #[test]
    fn a_point_of_two_sweeps_is_measured_once() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let (all, silo) = (resolved(TEXT), resolved(SILO));
        let (shared, _) = among(&[&all, &silo]);
        assert_eq!(shared.points().len(), 1, "theta 0.5 under SILO");
        let (first, runs) = swept(&scratch.path().join("all"), &all, &shared).expect("a sweep");
        assert_eq!(runs, 4 * 2);
        let (conducted, runs) = swept(&scratch.path().join("silo"), &silo, &shared).expect("a sweep");
        assert_eq!((runs, conducted.points.len(), conducted.measured_now), (2, 2, 2));
        assert!(shared.points().is_empty(), "nobody wants it any more");
        let summary = |conducted: &Conducted, at: &[(&str, &str)]| {
            let is_there =
                |axes: &BTreeMap<String, String>| at.iter().all(|&(axis, value)| axes[axis] == value);
            let point = conducted.points.iter().find(|point| is_there(&point.at)).expect("a point");
            serde_json::to_string(&point.summary).expect("JSON")
        };
        let of_first = summary(&first, &[("protocol", "silo"), ("theta", "0.5")]);
        assert_eq!(summary(&conducted, &[("theta", "0.5")]), of_first, "found once");
        let lies = |file: &str| {
            let file = scratch.path().join(file);
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        };
        let of_first = lies("all/latency/protocol=silo,theta=0.5.csv");
        assert_eq!(lies("silo/latency/theta=0.5.csv"), of_first);
        assert!(lies("silo/latency/theta=0.5.hlog").contains("Tag="), "a histogram a repetition");
        let (again, runs) = swept(&scratch.path().join("silo"), &silo, &shared).expect("a sweep");
        assert_eq!((runs, again.measured_now), (0, 0));
    }

    #[test]
    fn sweeps_side_by_side_share_their_work() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let text = TEXT.replace("[0, 0.5]", "[0, 0.1, 0.2, 0.3, 0.4, 0.5]");
        let (one, other) = (resolved(&text), resolved(&text));
        let (shared, _) = among(&[&one, &other]);
        let (runs, ends) = (AtomicUsize::new(0), ["one", "other"].map(|name| scratch.path().join(name)));
        thread::scope(|scope| {
            for (sweep, folder) in [&one, &other].into_iter().zip(&ends) {
                let (runs, shared) = (&runs, &shared);
                scope.spawn(move || {
                    let (conducted, its) = swept(folder, sweep, shared).expect("a sweep");
                    assert_eq!(conducted.points.len(), 12);
                    // Relaxed: a counter.
                    runs.fetch_add(its, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(runs.into_inner(), 12 * 2);
    }

    #[test]
    fn who_fails_leaves_the_point_to_the_next_one() {
        let (one, other) = (resolved(SILO), resolved(SILO));
        let (shared, place) = among(&[&one, &other]);
        let case = &one.1.cases[0];
        let Turn::Measure(underway) = shared.begin(case, &place) else { panic!("nobody has measured it") };
        assert!(shared.is_underway(case, &place));
        thread::scope(|scope| {
            let next = scope.spawn(|| match shared.begin(case, &place) {
                Turn::Measure(underway) => underway.found(&Measured::nothing_yet(case.pair)),
                Turn::Take(_) => panic!("it was not measured"),
            });
            drop(underway);
            next.join().expect("it has measured");
        });
        assert!(matches!(shared.begin(case, &place), Turn::Take(_)));
        assert!(!shared.points().contains_key(&identity(case, &place)), "taken");
        // A sweep that has a point already does not wait for it.
        let last = &one.1.cases[1];
        shared.forgo(last, &place);
        let Turn::Measure(underway) = shared.begin(last, &place) else { panic!("nobody has measured it") };
        underway.found(&Measured::nothing_yet(last.pair));
        assert!(shared.points().is_empty(), "nobody else wants it");
    }

    #[test]
    fn what_differs_is_not_shared() {
        let (one, other) = (resolved(SILO), resolved(&SILO.replace("records = 100", "records = 200")));
        assert!(among(&[&one, &other]).0.points().is_empty(), "other rows");
        let (there, elsewhere) = (place(), Place::hardware(64));
        let shared = Shared::among([(&one.1, &there), (&one.1, &elsewhere)]);
        assert!(shared.points().is_empty(), "another machine");
        let with_latch = |protocol: &str, latch: &str| {
            let text =
                SILO.replace("protocol = 'silo'", &format!("protocol = '{protocol}'\nlatch = '{latch}'"));
            resolved(&text)
        };
        let of_two_latches = |protocol: &str| {
            let [one, other] = ["ticket", "test-and-set"].map(|latch| with_latch(protocol, latch));
            among(&[&one, &other]).0.points().len()
        };
        assert_eq!(of_two_latches("silo"), 2, "SILO has no latches");
        assert_eq!(of_two_latches("dl-detect"), 0);
    }
}
