//! `reproduce`: figures of the papers, on the machines of the papers, judged claim by claim.
//!
//! A figure is an experiment below `experiments/`, the folder being the paper's name; its machine is simulated from the
//! file that describes the paper's. Points that are there already are not simulated again, so an interrupted line goes
//! on when it is typed again. Figures are simulated side by side, and so are the seeds of their points, a host core each. A point that
//! several figures have in common is simulated once.
//!
//! A line that names one figure means what it says: points that are there with other options, or of another machine, are refused. One that asks for many (`--all`, a paper) takes each figure
//! that has begun as it lies, with the options it was begun with, and goes on with them; what the line says is for the others. What is no point of the figure, by its file, is refused there, too.
//!
//! What is there is laid down as a site ([`site`]); with `--html` nothing is simulated for it, and what was not measured yet stands there without a verdict.

mod figures;
mod site;

pub use figures::{elsewhere, name_of};

use super::sweep::{Conduct, Known, prepare};
use crate::arguments::{json, out, progress, typed};
use crate::engines::{self, Machine};
use crate::progress::Steps;
use crate::side_by_side::side_by_side;
use crate::{answer, output, surroundings, validated};
use clap::{Arg, ArgAction, ArgMatches, Command};
use figures::{Figure, figures, machine_of, papers};
use harness::folder::Folder;
use harness::folder::parameters::Written;
use harness::observer::Silent;
use harness::results::Surroundings;
use harness::sweep::claims::Sum;
use harness::sweep::{Cases, Conducted, Experiment, Points as Finished, Shared, journal};
use harness::{Event, Failure, Observer, Place, RunOptions};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is simulated of a point, unless the line says otherwise. Where many cores want one line, those that wait for it make
/// it slower, so that more come to wait, and it takes some milliseconds until that has settled.
const TIMES: [(&str, &str); 2] = [("warmup", "2ms"), ("duration", "2ms")];

/// Options of the line that take the place of the figures'.
const OPTIONS: [&str; 4] = ["repeat", "warmup", "duration", "workers"];

const RESULTS: &str = "results/reproduce";

/// What can be typed.
pub fn arguments() -> Command {
    let named = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    Command::new("reproduce")
        .about("Simulate a figure of a paper on the paper's machine, and judge its claims")
        .after_help(
            "Exits with 0 if the figures were drawn, whatever became of their claims. What is simulated is judged with the \
             error of the model, of machines/validated.json.\n\nThe site begins with index.html in the folder of the results: an index, a page a paper, a page a figure. \
             'trireme reproduce --all --html' lays it down at once from what is there, in a fresh checkout, too: a figure that was not measured yet stands in it with its \
             claims, the paper's numbers and the line that measures it, and has no verdict. 'trireme reproduce --all' simulates what is missing first, which takes hours.\n\n\
             With --all, and with a paper's name, a figure that has results in the folder keeps the options and the machine that they were simulated with; what is typed is for the others. \
             A figure that is named alone is as the line says, and refused where results of other options are.\n\nA figure takes minutes of processor time: with --repeat 3 --warmup 500us \
             --duration 1ms thousand-cores/fig-6 took 102 s and thousand-cores/fig-7b 521 s; those of orthrus take some \
             minutes each, too. Points are simulated side by side, a host core each, and a line that was interrupted goes on when it \
             is typed again.",
        )
        .arg(
            Arg::new("figure")
                .value_name("FIGURE")
                .help("Such as trireme/fig-2a, or a paper's name for all of its figures"),
        )
        .arg(
            Arg::new("all")
                .long("all")
                .action(ArgAction::SetTrue)
                .conflicts_with("figure")
                .help("Every figure of every paper: those that are not there yet are simulated, but not with --html"),
        )
        .arg(Arg::new("html").long("html").action(ArgAction::SetTrue).help(
            "Lay down the site of what was simulated already, with the times and repetitions that it was simulated with, and simulate nothing; what is missing stands there as \
             not measured yet. Without --html it is simulated first",
        ))
        .arg(named(
            "on",
            "MACHINE",
            "The file of a simulated machine, or 'hardware' [default: the paper's machine]",
        ))
        .arg(named(
            "repeat",
            "N",
            "Seeds of each point; the median is reported. With 1 no claim can be told, for one seed has no spread: claims want 3 \
             [default: 3]",
        ))
        .arg(named("warmup", "TIME", "Simulated before each counted interval [default: 2ms]"))
        .arg(named("duration", "TIME", "Simulated and counted, of each seed [default: 2ms]"))
        .arg(named("workers", "N", "Of all points, in place of the figure's; not of a figure that sweeps them [default: the figure's]"))
        .arg(out("Folder of the results [default: results/reproduce]").global(false))
        .arg(progress())
        .arg(json())
}

/// Reproduces.
pub fn reproduce(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    let on =
        typed(matches, "on").map(|on| Machine::named(Some(on)).map(|machine| (on, machine))).transpose()?;
    for name in OPTIONS {
        // Where figures keep their own nobody else looks at it.
        let mut options = RunOptions::for_compare(1);
        typed(matches, name).and_then(|value| options.set(name, value)).transpose()?;
    }
    let (asked, folder) = (figures(matches)?, PathBuf::from(typed(matches, "out").unwrap_or(RESULTS)));
    let is_only_shown = matches.get_flag("html");
    let are_many = matches.get_flag("all") || papers().any(|paper| typed(matches, "figure") == Some(paper));
    let prepare = |figure: &Figure| match (is_only_shown, are_many) {
        (true, _) => Prepared::as_laid_down(figure, on, &folder, times),
        (false, true) => {
            // What was begun keeps its machine, too.
            let on = on.filter(|_| Written::of(&folder.join(&figure.name)).is_none());
            Prepared::as_laid_down(figure, on, &folder, |machine| options(matches, machine))
        }
        (false, false) => Prepared::new(figure, on, &folder, |machine| options(matches, machine)),
    };
    let prepared = asked.iter().map(prepare).collect::<Result<Vec<_>, Failure>>()?;
    let surroundings = surroundings::of_line(line);
    let surroundings = validated::beside(surroundings, prepared.iter().map(|one| one.machine));
    let conducted = if is_only_shown {
        told(&prepared, &surroundings)?
    } else {
        // Results of something else are refused before anything is simulated.
        told(&prepared, &surroundings)?;
        prepared.iter().filter_map(|figure| figure.keeps(matches)).for_each(|kept| output::say(&kept));
        let conducted = simulate_all(&prepared, &surroundings, matches)?;
        told_again(&prepared, conducted, &surroundings)?
    };
    site::lay_down(&prepared, &surroundings, &folder)?;

    // As on the site: what was not run is not judged.
    let is_there = |conducted: &&Conducted| !conducted.points.is_empty();
    let sum = Sum::of(conducted.iter().filter(is_there).flat_map(|figure| &figure.claims));
    if matches.get_flag("json") {
        output::print_json(&Reproduction { schema: SCHEMA, sum, figures: &conducted })?;
    } else {
        for (one, conducted) in prepared.iter().zip(&conducted).filter(|(_, conducted)| is_there(conducted)) {
            output::print(&answer::of_figure(&one.figure.name, &one.place, conducted, &one.folder))?;
        }
        let missing = conducted.len() - conducted.iter().filter(is_there).count();
        output::print(&answer::of_sum(&sum, missing))?;
        if is_only_shown && missing > 0 {
            output::print("Without --html the same line simulates them.\n")?;
        }
        output::print(&format!("site: {}\n", folder.join("index.html").display()))?;
    }
    let checks = conducted.iter().flat_map(|figure| &figure.points).flat_map(|point| &point.summary.checks);
    Ok(super::verdict(checks.into_iter().all(|check| check.passed)))
}

/// Name and version of [`Reproduction`]'s fields.
const SCHEMA: &str = "trireme.reproduction/1";

/// What `reproduce --json` prints.
#[derive(Serialize)]
struct Reproduction<'a> {
    schema: &'static str,
    /// The claims of all figures that were run, by standing and verdict.
    sum: Sum,
    figures: &'a [Conducted],
}

/// How long is simulated of a point if nothing was typed. On the hardware it is as long as the figure says.
fn times(machine: Machine) -> Options<'static> {
    match machine {
        Machine::Simulated(_) => TIMES.to_vec(),
        Machine::Hardware | Machine::Cluster(_) => Vec::new(),
    }
}

/// What was typed, and how long a simulation takes if nothing was.
fn options(matches: &ArgMatches, machine: Machine) -> Options<'_> {
    let times = times(machine);
    let default = |name| times.iter().find(|(other, _)| *other == name).map(|(_, time)| *time);
    let value = |name| Some((name, typed(matches, name).or_else(|| default(name))?));
    OPTIONS.into_iter().filter_map(value).collect()
}

/// Options of [`OPTIONS`] with what they say.
type Options<'o> = Vec<(&'static str, &'o str)>;

/// What `--on` says, and the machine that it means.
type On<'o> = (&'o str, Machine);

/// A figure, ready to be simulated.
struct Prepared {
    figure: Figure,
    machine: Machine,
    /// What `--on` says where a line is to simulate it; `None`: nothing, for the machine is the paper's.
    on: Option<String>,
    place: Place,
    experiment: Experiment,
    cases: Cases,
    folder: PathBuf,
}

impl Prepared {
    /// To be simulated below `folder`: on the paper's machine, unless `on` says another one, and with `options` of that.
    fn new<'o>(
        figure: &Figure,
        on: Option<On<'_>>,
        folder: &Path,
        options: impl FnOnce(Machine) -> Options<'o>,
    ) -> Result<Prepared, Failure> {
        let machine = on.map_or_else(|| machine_of(figure), |(_, machine)| Ok(machine))?;
        Prepared::of(figure, (on.map(|(typed, _)| typed), machine), &options(machine), folder)
    }

    /// As it was simulated into `folder`: on that machine, unless `on` says another one, and with those options. If nothing is there, as [`Prepared::new`] has it.
    fn as_laid_down<'o>(
        figure: &Figure,
        on: Option<On<'_>>,
        folder: &Path,
        options: impl FnOnce(Machine) -> Options<'o>,
    ) -> Result<Prepared, Failure> {
        let own = folder.join(&figure.name);
        let Some(written) = Written::of(&own) else { return Prepared::new(figure, on, folder, options) };
        let on = match on {
            Some((typed, machine)) => (Some(typed), machine),
            None => {
                let named = written.machine.as_deref();
                let machine = Machine::named(named)
                    .map_err(|failure| Failure::Usage(format!("{}: {failure}", own.display())))?;
                let is_papers = machine_of(figure)?.place() == machine.place();
                ((!is_papers).then_some(named.unwrap_or("hardware")), machine)
            }
        };
        let value = |name| Some((name, written.base.get(name)?.as_str()));
        let options: Options<'_> = OPTIONS.into_iter().filter_map(value).collect();
        Prepared::of(figure, on, &options, folder)
    }

    fn of(
        figure: &Figure,
        (on, machine): (Option<&str>, Machine),
        options: &[(&str, &str)],
        folder: &Path,
    ) -> Result<Prepared, Failure> {
        let (experiment, cases) = prepare(&figure.file, machine, options)?;
        let (place, folder) = (machine.place(), folder.join(&figure.name));
        let on = on.map(str::to_owned);
        Ok(Prepared { figure: figure.clone(), machine, on, place, experiment, cases, folder })
    }

    /// In words, the options that it keeps although others were typed.
    fn keeps(&self, matches: &ArgMatches) -> Option<String> {
        let common = self.cases.common();
        let kept = |name: &'static str| {
            let mut asked = self.machine.defaults(RunOptions::for_compare);
            asked.set(name, typed(matches, name)?)?.ok()?;
            common.get(name).filter(|own| asked.get(name) != **own).map(|own| format!("{name} {own}"))
        };
        let kept: Vec<String> = OPTIONS.into_iter().filter_map(kept).collect();
        let name = &self.figure.name;
        (!kept.is_empty())
            .then(|| format!("{name}: keeps what its results were begun with: {}", kept.join(", ")))
    }

    /// What is there of it.
    fn points<'a>(&'a self, surroundings: &'a Surroundings) -> Result<Finished<'a>, Failure> {
        let Prepared { experiment, cases, folder, place, .. } = self;
        self.machine.run(Known { experiment, cases, folder, surroundings, place })
    }
}

/// What was simulated already: perhaps nothing.
fn told(figures: &[Prepared], surroundings: &Surroundings) -> Result<Vec<Conducted>, Failure> {
    figures.iter().map(|figure| Ok(figure.points(surroundings)?.conducted())).collect()
}

/// Simulates the figures, as many at a time as there are cores; then measures those of the hardware, one after the other.
fn simulate_all(
    figures: &[Prepared],
    surroundings: &Surroundings,
    matches: &ArgMatches,
) -> Result<Vec<Conducted>, Failure> {
    let points = figures.iter().map(|one| one.cases.cases.len()).sum();
    let steps = Steps::of(points, "points", matches);
    let is_simulated = |number: &usize| matches!(figures[*number].machine, Machine::Simulated(_));
    let (simulated, measured): (Vec<usize>, Vec<usize>) = (0..figures.len()).partition(is_simulated);
    let shared = simulated.iter().map(|&number| (&figures[number].cases, &figures[number].place));
    let shared = Shared::among(shared);
    let conduct = |number: usize| {
        let figure = &figures[number];
        let points = Points { figure: &figure.figure.name, steps: &steps, begun: AtomicUsize::new(0) };
        simulate(figure, surroundings, &shared, &points).map(|conducted| (number, conducted))
    };
    let at_once = |numbers: &[usize], threads| -> Result<Vec<_>, Failure> {
        side_by_side(numbers.len(), threads, |at| conduct(numbers[at])).into_iter().collect()
    };
    let mut conducted = at_once(&simulated, engines::cores())?;
    conducted.extend(at_once(&measured, 1)?);
    conducted.sort_by_key(|(number, _)| *number);
    Ok(conducted.into_iter().map(|(_, conducted)| conducted).collect())
}

/// Figures that are compared with others are told once more, when the others are there: nothing is simulated again.
fn told_again(
    figures: &[Prepared],
    conducted: Vec<Conducted>,
    surroundings: &Surroundings,
) -> Result<Vec<Conducted>, Failure> {
    let again = |(figure, conducted): (&Prepared, Conducted)| match figure
        .experiment
        .claims
        .iter()
        .any(|claim| claim.needs().is_some())
    {
        true => simulate(figure, surroundings, &Shared::default(), &Silent),
        false => Ok(conducted),
    };
    figures.iter().zip(conducted).map(again).collect()
}

fn simulate(
    figure: &Prepared,
    surroundings: &Surroundings,
    shared: &Shared,
    observer: &dyn Observer,
) -> Result<Conducted, Failure> {
    let folder = Folder::create_to_go_on(&figure.folder, journal::FILE_NAME)?;
    let Prepared { experiment, cases, place, .. } = figure;
    Conduct { experiment, cases, folder: &folder, surroundings, place, shared, observer }
        .watched(figure.machine)
}

/// Tells of a figure's points.
struct Points<'a> {
    figure: &'a str,
    steps: &'a Steps,
    /// Those that have begun and not ended.
    begun: AtomicUsize,
}

impl Observer for Points<'_> {
    fn tell(&self, event: Event<'_>) {
        let Points { figure, steps, begun } = self;
        match event {
            Event::PointBegins { number, of, place } => {
                // Relaxed: a counter; a figure's events come one after the other.
                begun.fetch_add(1, Ordering::Relaxed);
                steps.begin(&format!("{figure}, point {number} of {of}: {place}"));
            }
            Event::MeasureEnds => steps.end(begun.swap(0, Ordering::Relaxed), figure),
            Event::Note(text) => steps.note(&format!("{figure}: {text}")),
            _ => {}
        }
    }
}
