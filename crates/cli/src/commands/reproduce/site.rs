//! The site: an index of the papers, a page for each paper, and the report of each figure, with ways between them.
//!
//! It shows the figures that were asked for now, and those of earlier lines, which have a page in the folder. A figure that was not measured yet has a page that says what is
//! claimed of it, and which line measures it.

use super::figures::{Figure, all_figures, head_of, papers};
use super::{Prepared, RESULTS, times};
use crate::arguments::quoted;
use crate::engines::{self, Machine};
use harness::Failure;
use harness::folder::Folder;
use harness::report::page::Way;
use harness::report::{Exhibit, Listed, Paper, Waiting, of_paper, of_site, of_sweep, of_unmeasured};
use harness::results::Surroundings;
use harness::sweep::{Points, estimate, journal};
use std::path::Path;

const INDEX: &str = "index.html";
const REPORT: &str = "report.html";

/// Writes the site into `folder`, in which the figures lie.
pub fn lay_down(asked: &[Prepared], surroundings: &Surroundings, folder: &Path) -> Result<(), Failure> {
    let earlier = earlier(asked, surroundings, folder);
    let all: Vec<&Prepared> = asked.iter().chain(&earlier).collect();
    let site = Folder::create(folder)?;
    let mut listed = Vec::new();
    for paper in papers() {
        let figures = all.iter().copied().filter(|figure| figure.figure.paper == paper);
        let mut figures: Vec<&Prepared> = figures.collect();
        figures.sort_by(|one, other| one.figure.name.cmp(&other.figure.name));
        if !figures.is_empty() {
            listed.push(lay_paper_down(paper, &figures, surroundings, &site)?);
        }
    }
    // Pages say "simulated" beside numbers that are: where there are none, nothing is.
    let is_some_measured = listed.iter().flat_map(|paper| &paper.figures).any(|figure| figure.finished > 0);
    let simulated = is_some_measured && all.iter().all(|figure| figure.place.simulated);
    site.write(INDEX, &of_site(&listed, surroundings, simulated))
}

/// What earlier lines have left in the folder. What cannot be read is not shown.
fn earlier(asked: &[Prepared], surroundings: &Surroundings, folder: &Path) -> Vec<Prepared> {
    let is_asked = |name: &str| asked.iter().any(|other| other.figure.name == name);
    let others = all_figures().into_iter().filter(|figure| !is_asked(&figure.name));
    let is_there = |figure: &Figure| {
        let of_figure = folder.join(&figure.name);
        [journal::FILE_NAME, REPORT].iter().any(|name| of_figure.join(name).exists())
    };
    let there = others.filter(is_there);
    let prepared = there.filter_map(|figure| Prepared::as_laid_down(&figure, None, folder, times).ok());
    prepared.filter(|figure| figure.points(surroundings).is_ok()).collect()
}

/// A paper's page, and the reports of its figures.
fn lay_paper_down(
    paper: &str,
    figures: &[&Prepared],
    surroundings: &Surroundings,
    site: &Folder,
) -> Result<Paper, Failure> {
    let (title, source) = head_of(paper);
    let (mut exhibits, mut listed) = (Vec::new(), Vec::new());
    let then: Vec<Surroundings> = figures.iter().map(|figure| figure.surroundings(surroundings)).collect();
    let points = figures.iter().zip(&then).map(|(figure, then)| figure.points(then));
    let points = points.collect::<Result<Vec<Points<'_>>, Failure>>()?;
    for (figure, points) in figures.iter().zip(&points) {
        let name = &figure.figure.name;
        let conducted = points.conducted();
        listed.push(Listed {
            name: name.rsplit('/').next().unwrap_or(name).to_owned(),
            title: conducted.title,
            finished: conducted.points.len(),
            points: figure.cases.cases.len(),
            claims: conducted.claims,
        });
        let trail = vec![Way::to("All papers", "../../index.html"), Way::to(paper, "../index.html")];
        let report = points.reported(trail);
        let line = line(name, figure.on.as_deref(), site.path());
        let page = match points.is_empty() {
            true => of_unmeasured(&report, &Waiting { line: line.clone(), takes: figure.takes() }),
            false => of_sweep(&report),
        };
        site.write(&format!("{name}/{REPORT}"), &page)?;
        exhibits.push(Exhibit { name: name.clone(), fitted: fitted(figure.machine), line, report });
    }
    let page = of_paper(&title, &exhibits, surroundings, vec![Way::to("All papers", "../index.html")]);
    site.write(&format!("{paper}/{INDEX}"), &page)?;
    // Each has its own, if they are of several machines: what is there of a figure says of which.
    let are_of_one = figures.iter().all(|other| other.place == figures[0].place);
    let on = figures[0].on.as_deref().filter(|_| are_of_one);
    Ok(Paper { line: line(paper, on, site.path()), name: paper.to_owned(), title, source, figures: listed })
}

/// The line that measures what is missing of a figure, or of a paper, into the site's folder; `on`: what it says of the machine.
fn line(name: &str, on: Option<&str>, folder: &Path) -> String {
    let mut line = format!("trireme reproduce {name}");
    if let Some(on) = on {
        line += &format!(" --on {}", quoted(on));
    }
    if folder != Path::new(RESULTS) {
        line += &format!(" --out {}", quoted(&folder.to_string_lossy()));
    }
    line
}

impl Prepared {
    /// What stood around its points when they were simulated, with what is known of the model's error now.
    fn surroundings(&self, now: &Surroundings) -> Surroundings {
        let then = Surroundings::laid_down(&self.folder);
        let then = then.unwrap_or_else(|| Surroundings::new(now.command.clone(), &now.environment));
        then.validated(now.validated.clone())
    }

    /// About how long its points take that are missing, with the cores here.
    fn takes(&self) -> String {
        estimate(&self.experiment, &self.cases, &self.place, &self.folder, engines::cores()).shown()
    }
}

/// Which of a machine's numbers are not the literature's.
fn fitted(machine: Machine) -> String {
    let Machine::Simulated(description) = machine else { return String::new() };
    let fitted: Vec<String> =
        description.fitted.iter().map(|fitted| format!("{}, on {}", fitted.field, fitted.figure)).collect();
    match fitted.is_empty() {
        true => format!("Machine {}: nothing of it is fitted.", description.name),
        false => format!("Machine {}: fitted: {}; nothing else.", description.name, fitted.join("; ")),
    }
}
