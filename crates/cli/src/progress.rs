//! How far a measurement has come, on standard error: a bar for a person, one line a phase for a file.
//!
//! The bar of a measurement is drawn from the clock, because nobody may disturb the workers to ask them; it is drawn
//! five times a second, which costs them less than the system's own ticks. A simulated machine can be asked, and tells its
//! own time and the transactions that have ended, of all runs of the series together, because several run side by side. With
//! `--progress` a file gets a line a second as well. Who makes many measurements in a row counts them ([`Steps`]).

use crate::engines::Machine;
use crate::output::say;
use crate::simulation;
use crate::{interrupt, nodes};
use clap::ArgMatches;
use harness::text::durations::{self, roughly};
use harness::text::numbers::{counted, thousands};
use harness::{Event, Observer};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const REDRAW: Duration = Duration::from_millis(200);

/// What fits into a terminal's line: a bar of so many cells, and what is beside it.
struct Fit {
    cells: usize,
    loading: &'static str,
    measuring: &'static str,
    steps: &'static str,
}

/// In a window as wide as most are; and on a phone, or beside something else.
const FITS: [Fit; 2] = [
    Fit {
        cells: 32,
        loading: "loading {bar:32} {human_pos} of {human_len} rows, {rows_per_s}/s",
        measuring: "measuring {cells} {left} left  {msg}  {told}",
        steps: "{wide_bar} {pos} of {len} {what}, {elapsed} passed, {eta} left  {msg}",
    },
    Fit {
        cells: 10,
        loading: "loading {bar:10} {percent} %",
        measuring: "measuring {cells} {left} left",
        steps: "{pos} of {len} {what}, {eta} left",
    },
];

/// Columns from which on there is room for all.
const WIDE: usize = 90;

impl Fit {
    fn of(columns: usize) -> &'static Fit {
        &FITS[usize::from(columns < WIDE)]
    }

    fn of_terminal() -> &'static Fit {
        Fit::of(console::Term::stderr().size_checked().map_or(WIDE, |(_, columns)| usize::from(columns)))
    }
}

/// Between two lines of `--progress`.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// Shows progress.
pub struct Progress {
    person: bool,
    /// A file gets lines while a measurement runs, too.
    lines: bool,
    simulated: bool,
    bar: Mutex<Option<ProgressBar>>,
    /// While it is there, lines are written.
    writing: Mutex<Option<Sender<()>>>,
    runs: Arc<Mutex<Runs>>,
}

/// Where a series of runs is.
struct Runs {
    all: usize,
    each: Duration,
    begun: usize,
    began: Instant,
    /// Time of a simulated machine, which passes as the host can make it pass.
    simulated: bool,
    all_began: Instant,
    /// What had been simulated when they began.
    before: (Duration, u64),
}

impl Runs {
    fn none(simulated: bool) -> Runs {
        let now = Instant::now();
        let before = (simulation::elapsed(), simulation::transactions());
        Runs { all: 0, each: Duration::ZERO, begun: 0, began: now, simulated, all_began: now, before }
    }

    /// The simulated time of all of them so far.
    fn elapsed(&self) -> Duration {
        (simulation::elapsed() - self.before.0).min(self.each * self.all as u32)
    }

    /// The part that is over, 0 to 1: a run that takes longer than it should is not over.
    fn part(&self) -> f64 {
        let parts = |time: Duration| time.as_secs_f64() / self.each.as_secs_f64().max(1e-9);
        let over = match self.begun.checked_sub(1) {
            _ if self.simulated => parts(self.elapsed()),
            Some(over) => over as f64 + parts(self.began.elapsed()).min(1.0),
            None => 0.0,
        };
        part_of(over, self.all)
    }

    /// What a simulated machine tells of itself; nothing for the hardware.
    fn told(&self) -> String {
        if !self.simulated {
            return String::new();
        }
        let microseconds = |time: Duration| thousands(time.as_secs_f64() * 1e6);
        format!(
            "simulated {} of {} us, {} transactions",
            microseconds(self.elapsed()),
            microseconds(self.each * self.all as u32),
            thousands((simulation::transactions() - self.before.1) as f64)
        )
    }

    /// A line for a file.
    fn line(&self) -> String {
        let mut line = format!("run {} of {}", self.begun, self.all);
        if self.simulated {
            line += &format!(": {}", self.told());
        }
        line + &format!(", {} left", roughly(self.left()))
    }

    fn left(&self) -> Duration {
        let part = self.part();
        if self.simulated {
            // As long as what is over took.
            return self.all_began.elapsed().mul_f64((1.0 - part) / part.max(1e-3));
        }
        (self.each * self.all as u32).mul_f64(1.0 - part)
    }
}

impl Progress {
    /// For the reader of standard error, of runs on `machine`; `matches` say whether a file wants to know more.
    pub fn on(machine: Machine, matches: &ArgMatches) -> Progress {
        let simulated = matches!(machine, Machine::Simulated(_));
        Progress {
            person: io::stderr().is_terminal() && nodes::speaks(),
            lines: matches.get_flag("progress"),
            simulated,
            bar: Mutex::new(None),
            writing: Mutex::new(None),
            runs: Arc::new(Mutex::new(Runs::none(simulated))),
        }
    }

    fn show(&self, bar: ProgressBar) {
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        bar.enable_steady_tick(REDRAW);
        *lock(&self.bar) = Some(bar);
    }

    fn clear(&self) {
        if let Some(bar) = lock(&self.bar).take() {
            bar.finish_and_clear();
        }
        *lock(&self.writing) = None;
    }

    /// Writes a line a second until [`Progress::clear`].
    fn write_lines(&self) {
        let (sender, receiver) = mpsc::channel();
        let runs = self.runs.clone();
        thread::spawn(move || {
            while receiver.recv_timeout(LINE_EVERY) == Err(RecvTimeoutError::Timeout) {
                let line = lock(&runs).line();
                say(&line);
            }
        });
        *lock(&self.writing) = Some(sender);
    }

    fn line(&self, text: &str) {
        match &*lock(&self.bar) {
            Some(bar) => bar.suspend(|| say(text)),
            None => say(text),
        }
    }

    fn load(&self, rows: u64) {
        if self.person {
            let style =
                ProgressStyle::with_template(Fit::of_terminal().loading).expect("a well-formed template");
            let rate = |state: &ProgressState, text: &mut dyn Write| {
                let _ = write!(text, "{}", thousands(state.per_sec()));
            };
            self.show(
                ProgressBar::new(rows).with_style(style.with_key("rows_per_s", rate).progress_chars("━━╌")),
            );
        } else {
            self.line(&format!("loading {} rows", thousands(rows as f64)));
        }
    }

    fn is_measuring(&self) -> bool {
        lock(&self.runs).all > 0
    }

    fn measure(&self, runs: usize, each: Duration) {
        *lock(&self.runs) = Runs { all: runs, each, ..Runs::none(self.simulated) };
        if self.person {
            let (bar, left, told) = (self.runs.clone(), self.runs.clone(), self.runs.clone());
            let fit = Fit::of_terminal();
            let style = ProgressStyle::with_template(fit.measuring)
                .expect("a well-formed template")
                .with_key("cells", move |_: &ProgressState, text: &mut dyn Write| {
                    let full = (lock(&bar).part() * fit.cells as f64).round() as usize;
                    let _ = write!(text, "{}{}", "━".repeat(full), "╌".repeat(fit.cells - full));
                })
                .with_key("left", move |_: &ProgressState, text: &mut dyn Write| {
                    let _ = write!(text, "{:>9}", roughly(lock(&left).left()));
                })
                .with_key("told", move |_: &ProgressState, text: &mut dyn Write| {
                    let _ = write!(text, "{}", lock(&told).told());
                });
            self.show(ProgressBar::new(runs as u64).with_style(style));
        } else if self.simulated {
            self.line(&format!("simulating: {} of {}", counted(runs, "run"), durations::show(each)));
        } else {
            let (runs, all) = (counted(runs, "run"), roughly(each * runs as u32));
            self.line(&format!("measuring: {runs} of {}, about {all}", durations::show(each)));
        }
        if self.lines && !self.person {
            self.write_lines();
        }
    }

    fn run(&self, system: &str, repetition: usize, of: usize) {
        {
            let mut runs = lock(&self.runs);
            runs.begun += 1;
            runs.began = Instant::now();
        }
        if let Some(bar) = &*lock(&self.bar) {
            bar.set_message(format!("{system}, repetition {repetition} of {of}"));
        }
    }
}

impl Observer for Progress {
    fn tell(&self, event: Event<'_>) {
        match event {
            // A part of a run that loads a store of its own, and not worth a bar.
            Event::LoadBegins { .. } | Event::Loaded { .. } | Event::LoadEnds if self.is_measuring() => {}
            Event::LoadBegins { rows } => self.load(rows),
            Event::Loaded { rows } => {
                if let Some(bar) = &*lock(&self.bar) {
                    bar.inc(rows);
                }
            }
            Event::MeasureBegins { runs, each } => self.measure(runs, each),
            Event::RunBegins { system, repetition, of } => self.run(system, repetition, of),
            Event::LoadEnds => self.clear(),
            Event::MeasureEnds => {
                *lock(&self.runs) = Runs::none(self.simulated);
                self.clear();
            }
            Event::PointBegins { number, of, place } => {
                self.line(&format!("point {number} of {of}: {place}"));
            }
            Event::Note(text) => self.line(text),
        }
    }

    fn is_interrupted(&self) -> bool {
        interrupt::is_asked_for()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// How many of many steps are done: a bar for a person, and for a file a line where one begins. With `--progress` a file gets one
/// where it ends, too, with the time left.
pub struct Steps {
    bar: ProgressBar,
    /// What they are called.
    what: &'static str,
    person: bool,
    /// A file gets a line for every one that is done.
    lines: bool,
}

impl Steps {
    /// So many of them, so called; `matches` say whether a file wants to know more.
    pub fn of(steps: usize, what: &'static str, matches: &ArgMatches) -> Steps {
        let template = Fit::of_terminal().steps.replace("{what}", what);
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr_with_hz(5));
        let style = ProgressStyle::with_template(&template).expect("a template without mistakes");
        let (person, lines) = (io::stderr().is_terminal(), matches.get_flag("progress"));
        Steps { bar: bar.with_style(style), what, person, lines }
    }

    /// A step begins, or several at once.
    pub fn begin(&self, step: &str) {
        match self.person {
            true => self.bar.set_message(step.to_owned()),
            false => say(step),
        }
    }

    /// So many are done, the last of which is called `last`.
    pub fn end(&self, steps: usize, last: &str) {
        self.bar.inc(steps as u64);
        if self.lines && !self.person {
            let (done, of) = (self.bar.position(), self.bar.length().unwrap_or_default());
            let (passed, left) = (roughly(self.bar.elapsed()), roughly(self.bar.eta()));
            say(&format!("{done} of {of} {}, the last of {last}; {passed} passed, {left} left", self.what));
        }
    }

    /// What a person should know, once.
    pub fn note(&self, text: &str) {
        self.bar.suspend(|| say(text));
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The part of `all` that `over` are; a sum of times that was rounded is not more than all.
fn part_of(over: f64, all: usize) -> f64 {
    (over / all.max(1) as f64).min(1.0)
}

/// What a panicking thread left is as good as before: only a picture is drawn from it.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a template comes to at its longest, but for the bar.
    fn longest(template: &str, cells: usize) -> usize {
        let long = [
            ("{bar:10}", cells),
            ("{cells}", cells),
            ("{percent}", 3),
            ("{left}", 9),
            ("{pos}", 5),
            ("{len}", 5),
            ("{what}", 8),
            ("{eta}", 5),
        ];
        let text = long
            .iter()
            .fold(template.to_owned(), |text, (key, length)| text.replace(key, &"x".repeat(*length)));
        assert!(!text.contains('{'), "{text}");
        text.chars().count()
    }

    /// What is left is a time: never below zero, however many runs of however many microseconds are over.
    #[test]
    fn all_runs_are_all_whatever_is_rounded() {
        let mut rounded = 0;
        for all in 1..60 {
            for each in (1..600).map(Duration::from_micros) {
                let over = (each * all as u32).as_secs_f64() / each.as_secs_f64();
                rounded += usize::from(over > all as f64);
                assert!((1.0 - part_of(over, all)) >= 0.0, "{all} runs of {each:?}");
            }
        }
        assert!(rounded > 0, "some are");
    }

    #[test]
    fn forty_columns_are_enough() {
        for columns in [20, 40, 80] {
            let fit = Fit::of(columns);
            for template in [fit.loading, fit.measuring, fit.steps] {
                assert!(longest(template, fit.cells) <= 39, "{template}");
            }
        }
        assert_eq!(Fit::of(120).cells, 32);
    }
}
