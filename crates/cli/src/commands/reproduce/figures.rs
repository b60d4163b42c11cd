//! The papers, their figures and their machines.

use crate::arguments::typed;
use crate::engines::Machine;
use crate::shipped;
use clap::ArgMatches;
use harness::Failure;
use std::env;
use std::path::{Path, PathBuf};

const EXPERIMENTS: &str = shipped::EXPERIMENTS;

/// The machine on which each paper measured, unless the figure's file says otherwise.
const PAPERS: [(&str, &str); 6] = [
    ("trireme", "haswell-ex-4x18"),
    ("orthrus", "westmere-ex-8x10"),
    ("silo", "nehalem-ex-4x8"),
    ("hardware-islands", "westmere-ex-8x10"),
    ("thousand-cores", "graphite-mesh-1024"),
    // Nobody's: ours, of what came after. 72 cores.
    ("successors", "haswell-ex-4x18"),
];

/// A figure of a paper.
#[derive(Clone)]
pub struct Figure {
    /// `trireme/fig-2a`.
    pub name: String,
    /// `trireme`.
    pub paper: String,
    /// Its experiment.
    pub file: PathBuf,
}

/// The papers that figures are of, in their order.
pub fn papers() -> impl Iterator<Item = &'static str> {
    PAPERS.iter().map(|(paper, _)| *paper)
}

/// The title of a paper, and who wrote it and where it appeared: the head of the file that lies beside its figures.
pub fn head_of(paper: &str) -> (String, String) {
    let text = shipped::text_of(&Path::new(EXPERIMENTS).join(paper).join("README.md")).unwrap_or_default();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let title = first.split('*').nth(1).unwrap_or(first.trim_start_matches("# "));
    let source = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let source = source.split(" One file a figure").next().unwrap_or_default();
    (title.to_owned(), source.trim_end_matches(':').to_owned())
}

/// The figures that are asked for.
pub fn figures(matches: &ArgMatches) -> Result<Vec<Figure>, Failure> {
    let (all, asked) = (all_figures(), typed(matches, "figure"));
    let Some(asked) = asked else {
        return match matches.get_flag("all") {
            true => Ok(all),
            false => Err(refuse("'trireme reproduce' needs a figure, or --all", "", &all)),
        };
    };
    // As 'trireme list experiments' has it, too.
    let name = name_of(Path::new(asked));
    let asked = name.as_deref().unwrap_or(asked);
    let is_asked = |figure: &&Figure| figure.name == asked || figure.paper == asked;
    match all.iter().any(|figure| is_asked(&figure)) {
        true => Ok(all.into_iter().filter(|figure| is_asked(&figure)).collect()),
        false => Err(refuse(&format!("figure {asked} is not there"), asked, &all)),
    }
}

/// Names what is there: the figures of the paper that is asked for, or all.
fn refuse(what: &str, asked: &str, all: &[Figure]) -> Failure {
    let elsewhere = Path::new(EXPERIMENTS).join(format!("{asked}.toml"));
    if shipped::text_of(&elsewhere).is_ok() {
        let file = elsewhere.display();
        return Failure::Usage(format!("{asked} is of no paper; 'trireme sweep {file}' measures it"));
    }
    let is_near = |figure: &&Figure| {
        asked.split('/').next() == Some(&figure.paper)
            || figure.name.split('/').next_back().is_some_and(|last| last.starts_with(asked))
    };
    let mut near: Vec<&str> = all.iter().filter(is_near).map(|figure| figure.name.as_str()).collect();
    if near.is_empty() {
        near = all.iter().map(|figure| figure.name.as_str()).collect();
    }
    let mut papers: Vec<&str> = all.iter().map(|figure| figure.paper.as_str()).collect();
    papers.dedup();
    Failure::Usage(format!(
        "{what}; allowed: those {}: {}; or all of a paper: {}",
        looked_for_in(),
        near.join(", "),
        papers.join(", ")
    ))
}

/// Where the experiments are, as a person finds them.
fn looked_for_in() -> String {
    match Path::new(EXPERIMENTS).is_dir() {
        true => format!("in {}", env::current_dir().unwrap_or_default().join(EXPERIMENTS).display()),
        false => "that travel inside the program".to_owned(),
    }
}

/// The name by which a file's figure is reproduced, if a paper has it.
pub fn name_of(file: &Path) -> Option<String> {
    let mut parts = file.strip_prefix(EXPERIMENTS).ok()?.components();
    let paper = parts.next()?.as_os_str().to_str()?;
    PAPERS.iter().find(|(name, _)| *name == paper)?;
    Some(format!("{paper}/{}", file.file_stem()?.to_str()?))
}

/// The line that reproduces the figure of `file`, if a paper has it, and its machine.
pub fn elsewhere(file: &Path) -> Option<(String, Machine)> {
    let file = file.canonicalize().ok()?;
    let is_it = |figure: &Figure| figure.file.canonicalize().is_ok_and(|known| known == file);
    let figure = all_figures().into_iter().find(is_it)?;
    Some((format!("trireme reproduce {}", figure.name), machine_of(&figure).ok()?))
}

/// Every experiment below a paper's folder, in the order of names.
pub fn all_figures() -> Vec<Figure> {
    let mut figures = Vec::new();
    for (paper, _) in PAPERS {
        let of_paper = Path::new(EXPERIMENTS).join(paper);
        let files = shipped::files_below(EXPERIMENTS, "toml");
        for file in files.into_iter().filter(|file| file.parent() == Some(&of_paper)) {
            let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            figures.push(Figure { name: format!("{paper}/{stem}"), paper: paper.to_owned(), file });
        }
    }
    figures.sort_by(|one, other| one.name.cmp(&other.name));
    figures
}

/// The machine on which the paper measured it.
pub fn machine_of(figure: &Figure) -> Result<Machine, Failure> {
    // How many cores there are no name depends on.
    let of_figure = shipped::experiment(&figure.file, 1)?.papers_machine;
    let of_paper = PAPERS.iter().find(|(paper, _)| *paper == figure.paper);
    let (_, of_paper) = of_paper.expect("figures are looked for there");
    let name = of_figure.as_deref().unwrap_or(of_paper);
    Machine::named(Some(&format!("machines/{name}.toml")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_paper_has_a_title() {
        for paper in papers() {
            let (title, source) = head_of(paper);
            assert!(!title.is_empty() && !source.is_empty() && !title.contains('*'), "{paper}: {title}");
        }
        assert_eq!(head_of("silo").0, "Speedy Transactions in Multicore In-Memory Databases");
        assert_eq!(head_of("silo").1, "Tu, Zheng, Kohler, Liskov and Madden, SOSP 2013.");
    }

    #[test]
    fn every_paper_has_a_machine() {
        for (paper, machine) in PAPERS {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../machines/{machine}.toml"));
            let text =
                fs::read_to_string(&file).unwrap_or_else(|error| panic!("{paper}: {machine}: {error}"));
            machine::simulated::Description::parse(&text)
                .unwrap_or_else(|error| panic!("{machine}: {error}"));
        }
    }
}
