//! The first page of the site that `reproduce` lays down: the papers, their figures, and what came of their claims.

use super::page::{Block, Cell, Page, Way};
use super::unmeasured::NOT_YET;
use super::{laid_down, render};
use crate::results::Surroundings;
use crate::sweep::claims::{Sum, Told, Verdict};
use crate::text::numbers::counted;

/// A paper with its figures.
pub struct Paper {
    /// Its name, `trireme`: the folder of its page.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Who wrote it, and where it appeared.
    pub source: String,
    /// Its figures.
    pub figures: Vec<Listed>,
    /// The line that measures what is missing of them.
    pub line: String,
}

/// A figure, as far as it was simulated.
pub struct Listed {
    /// Its name within the paper, `fig-2a`: the folder of its report.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Points that are finished.
    pub finished: usize,
    /// All of its points.
    pub points: usize,
    /// Its claims, by what is known.
    pub claims: Vec<Told>,
}

impl Listed {
    /// Its claims, if there is something to judge them by.
    fn judged(&self) -> &[Told] {
        if self.finished == 0 { &[] } else { &self.claims }
    }
}

/// The page.
pub fn of_site(papers: &[Paper], surroundings: &Surroundings, simulated: bool) -> String {
    let figures = || papers.iter().flat_map(|paper| &paper.figures);
    let shown = figures().filter(|figure| figure.finished > 0).count();
    render(&Page {
        trail: Vec::new(),
        title: "The papers, reproduced".to_owned(),
        command: surroundings.command.clone(),
        lead: format!(
            "{} of {} were run, each on a machine that a file describes; every claim of the papers' text that can be told from a figure is judged. \
             What was not measured yet has no verdict: its page says what is claimed, and which line measures it.",
            shown,
            counted(figures().count(), "figure")
        ),
        finding: Sum::of(figures().flat_map(Listed::judged)).sentences(),
        claim: None,
        simulated,
        warnings: Vec::new(),
        blocks: papers.iter().flat_map(of_paper).collect(),
        footer: laid_down(surroundings),
    })
}

fn of_paper(paper: &Paper) -> [Block; 2] {
    let mut sentences = Sum::of(paper.figures.iter().flat_map(Listed::judged)).sentences();
    let missing = paper.figures.iter().filter(|figure| figure.finished == 0).count();
    if missing > 0 {
        let which = match missing == paper.figures.len() {
            true => "None of its figures was run yet".to_owned(),
            false => format!("Not run yet: {}", counted(missing, "figure")),
        };
        sentences.push(format!("{which}: {} runs what is missing.", paper.line));
    }
    let heading = Block::Heading {
        title: paper.title.clone(),
        href: format!("{}/index.html", paper.name),
        text: [paper.source.clone()].into_iter().chain(sentences).filter(|text| !text.is_empty()).collect(),
    };
    let verdicts = Verdict::ALL.map(|verdict| Cell::number(verdict.to_string()));
    let head = ["figure", "what it shows"].map(Cell::words);
    let numbers = ["points", "claims"].map(Cell::number);
    let table = Block::Table {
        title: format!("Figures of {}", paper.name),
        note: "The claims of the paper itself; those that something was fitted on, and questions of ours, are on the paper's page."
            .to_owned(),
        head: head.into_iter().chain(numbers).chain(verdicts).collect(),
        rows: paper.figures.iter().map(|figure| row(paper, figure)).collect(),
    };
    [heading, table]
}

fn row(paper: &Paper, figure: &Listed) -> Vec<Cell> {
    let (all, judged) = (Sum::of(&figure.claims).paper.claims, Sum::of(figure.judged()).paper);
    let name = Cell::way(Way::to(&figure.name, format!("{}/{}/report.html", paper.name, figure.name)));
    let points = match figure.finished {
        all if all == figure.points => all.to_string(),
        some => format!("{some} of {}", figure.points),
    };
    let count = |number: usize| Cell::number(if number == 0 { String::new() } else { number.to_string() });
    let verdicts = Verdict::ALL.map(|verdict| count(judged.of(verdict).claims));
    // Below the title, for a column of its own would push the verdicts out of the window.
    let not_yet = if figure.finished == 0 { NOT_YET } else { "" };
    let firsts = [name, Cell::prose(&figure.title).noted(not_yet), Cell::number(points), count(all)];
    firsts.into_iter().chain(verdicts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_a_way_to_it_whether_it_was_run_or_not() {
        let figure = |name: &str, finished| Listed {
            name: name.to_owned(),
            title: "What <it> shows".to_owned(),
            finished,
            points: 4,
            claims: Vec::new(),
        };
        let paper = Paper {
            name: "trireme".to_owned(),
            title: "Analyzing".to_owned(),
            source: "Appuswamy et al.".to_owned(),
            figures: vec![figure("fig-2a", 4), figure("fig-2b", 3), figure("fig-2c", 0)],
            line: "trireme reproduce trireme".to_owned(),
        };
        let html = of_site(&[paper], &Surroundings::new("trireme reproduce --all".to_owned(), &()), true);
        for words in [
            "<a href=\"trireme&#x2f;index.html\">Analyzing</a>",
            "<a href=\"trireme&#x2f;fig-2a&#x2f;report.html\">fig-2a</a>",
            "<td class=\"number\">3 of 4</td>",
            "<a href=\"trireme&#x2f;fig-2c&#x2f;report.html\">fig-2c</a>",
            "<p class=\"aside\">not measured yet</p></td><td class=\"number\">0 of 4</td>",
            "Not run yet: 1 figure: trireme reproduce trireme runs what is missing.",
            "What &lt;it&gt; shows",
            "2 of 3 figures were run",
        ] {
            assert!(html.contains(words), "{words}: {html}");
        }
    }
}
