//! The site: an index of the papers, a page for each paper, and the report of each figure, with ways between them.
//!
//! It shows all that lies in the folder: the figures that were asked for now, and those of earlier lines.

use super::Prepared;
use super::figures::{all_figures, head_of, papers};
use crate::engines::Machine;
use harness::Failure;
use harness::folder::Folder;
use harness::report::page::Way;
use harness::report::{Exhibit, Listed, Paper, of_paper, of_site, of_sweep};
use harness::results::Surroundings;
use harness::sweep::{Points, journal};
use std::path::Path;

const INDEX: &str = "index.html";

/// Writes the site into `folder`, in which the figures lie.
pub fn lay_down(asked: &[Prepared], surroundings: &Surroundings, folder: &Path) -> Result<(), Failure> {
    let earlier = earlier(asked, folder);
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
    let simulated = all.iter().all(|figure| figure.place.simulated);
    site.write(INDEX, &of_site(&listed, surroundings, simulated))
}

/// What earlier lines have left in the folder. What cannot be read is not shown.
fn earlier(asked: &[Prepared], folder: &Path) -> Vec<Prepared> {
    let is_asked = |name: &str| asked.iter().any(|other| other.figure.name == name);
    let others = all_figures().into_iter().filter(|figure| !is_asked(&figure.name));
    let there = others.filter(|figure| folder.join(&figure.name).join(journal::FILE_NAME).exists());
    there.filter_map(|figure| Prepared::as_laid_down(&figure, None, folder).ok()).collect()
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
        if points.is_empty() {
            continue;
        }
        let trail = vec![Way::to("All papers", "../../index.html"), Way::to(paper, "../index.html")];
        let report = points.reported(trail);
        site.write(&format!("{name}/report.html"), &of_sweep(&report))?;
        exhibits.push(Exhibit { name: name.clone(), fitted: fitted(figure.machine), report });
    }
    let page = of_paper(&title, &exhibits, surroundings, vec![Way::to("All papers", "../index.html")]);
    site.write(&format!("{paper}/{INDEX}"), &page)?;
    Ok(Paper { name: paper.to_owned(), title, source, figures: listed })
}

impl Prepared {
    /// What stood around its points when they were simulated, with what is known of the model's error now.
    fn surroundings(&self, now: &Surroundings) -> Surroundings {
        let then = Surroundings::laid_down(&self.folder);
        let then = then.unwrap_or_else(|| Surroundings::new(now.command.clone(), &now.environment));
        then.validated(now.validated.clone())
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
