//! What a report is made of: the template knows these blocks and nothing of measurements.

use crate::svg::legend_mark;
use serde::Serialize;

/// A whole report.
#[derive(Serialize)]
pub struct Page {
    /// The pages above it, the topmost first; none if it stands alone.
    pub trail: Vec<Way>,
    /// What was run.
    pub title: String,
    /// The line that was typed.
    pub command: String,
    /// How it was measured, in one sentence.
    pub lead: String,
    /// What came of it, in a few sentences.
    pub finding: Vec<String>,
    /// Where the experiment comes from and what it checks.
    pub claim: Option<Claim>,
    /// Whether the numbers are of a simulated machine: every figure and table says so.
    pub simulated: bool,
    /// What is odd, and what to do about it.
    pub warnings: Vec<String>,
    /// The page's sections.
    pub blocks: Vec<Block>,
    /// When, and by which version.
    pub footer: String,
}

/// The way to another page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    /// What it is called.
    pub name: String,
    /// Where it is, seen from this page.
    pub href: String,
}

impl Way {
    /// To the page called `name`.
    pub fn to(name: impl Into<String>, href: impl Into<String>) -> Way {
        Way { name: name.into(), href: href.into() }
    }
}

/// What an experiment checks.
#[derive(Serialize)]
pub struct Claim {
    /// Where it comes from.
    pub paper: Option<String>,
    /// In words.
    pub text: Option<String>,
}

/// A section.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Block {
    /// A few large numbers.
    Tiles {
        /// Each with a name.
        tiles: Vec<Tile>,
    },
    /// A figure with its legend.
    Figure {
        /// Heading.
        title: String,
        /// What to see in it.
        note: String,
        /// Its legend; empty for none.
        legend: Vec<Key>,
        /// The image, at both widths.
        svg: String,
    },
    /// A table.
    Table {
        /// Heading.
        title: String,
        /// What to see in it.
        note: String,
        /// Heads of the columns.
        head: Vec<Cell>,
        /// Rows of as many cells.
        rows: Vec<Vec<Cell>>,
    },
    /// Names with values.
    Facts {
        /// Heading.
        title: String,
        /// In order.
        facts: Vec<(String, String)>,
    },
    /// The head of the sections that follow, with the way to more.
    Heading {
        /// What they are about.
        title: String,
        /// Where there is more of it.
        href: String,
        /// Paragraphs.
        text: Vec<String>,
    },
    /// A sentence where a figure would be empty.
    Remark {
        /// Heading.
        title: String,
        /// The sentence.
        text: String,
    },
}

/// A large number.
#[derive(Serialize)]
pub struct Tile {
    /// What it is.
    pub name: String,
    /// Written out.
    pub value: String,
    /// Its unit, or what else is to be said.
    pub note: String,
}

impl Tile {
    /// `value` under `name`.
    pub fn new(name: impl Into<String>, value: String, note: String) -> Tile {
        Tile { name: name.into(), value, note }
    }
}

/// An entry of a legend.
#[derive(Serialize)]
pub struct Key {
    /// An SVG image, or nothing for a patch of colour.
    pub mark: String,
    /// The class of the patch, or nothing.
    pub patch: String,
    /// What it stands for.
    pub name: String,
}

impl Key {
    /// The entry of a line.
    pub fn of_series(series: usize, name: impl Into<String>) -> Key {
        Key { mark: legend_mark(series), patch: String::new(), name: name.into() }
    }

    /// The entry of a part of a bar.
    pub fn of_part(class: &str, part: usize, name: impl Into<String>) -> Key {
        Key { mark: String::new(), patch: format!("{class}-{part}"), name: name.into() }
    }
}

/// A cell of a table.
#[derive(Serialize)]
pub struct Cell {
    /// Its text.
    pub text: String,
    /// Where the text leads to, or nothing.
    pub href: String,
    /// Below it, smaller; or nothing.
    pub note: String,
    /// `number` for right-aligned digits, `prose` or `verdict` for words that may wrap, or nothing.
    pub class: &'static str,
}

impl Cell {
    /// Words.
    pub fn words(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), href: String::new(), note: String::new(), class: "" }
    }

    /// Words that may take several lines.
    pub fn prose(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), href: String::new(), note: String::new(), class: "prose" }
    }

    /// Words that take several lines where there is no room for one.
    pub fn verdict(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), href: String::new(), note: String::new(), class: "verdict" }
    }

    /// The same with a note below it.
    pub fn noted(self, note: impl Into<String>) -> Cell {
        Cell { note: note.into(), ..self }
    }

    /// Words that lead to another page.
    pub fn way(way: Way) -> Cell {
        Cell { href: way.href, ..Cell::words(way.name) }
    }

    /// A number.
    pub fn number(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), href: String::new(), note: String::new(), class: "number" }
    }
}
