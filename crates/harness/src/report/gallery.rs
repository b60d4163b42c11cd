//! The page of `reproduce`: every figure of the papers that was simulated, each with its throughput and its claims, and the
//! way to its own report.

use super::page::{Block, Page};
use super::sweep::{Arrangement, SweepReport, THROUGHPUT, claims, figure, finding};
use super::{footer, render};
use crate::results::Surroundings;
use crate::sweep::claims::Told;
use crate::text::numbers::counted;

/// One figure of the gallery.
pub struct Exhibit<'a> {
    /// Its name, `trireme/fig-2a`: the way to its own report.
    pub name: String,
    /// What its own report is made from.
    pub report: SweepReport<'a>,
    /// What of its machine was fitted, and on which figure; in words.
    pub fitted: String,
}

/// The page.
pub fn of_gallery(exhibits: &[Exhibit<'_>], surroundings: &Surroundings) -> String {
    let told: Vec<Told> = exhibits.iter().flat_map(|exhibit| exhibit.report.claims.iter().cloned()).collect();
    render(&Page {
        title: "Figures, reproduced".to_owned(),
        command: surroundings.command.clone(),
        lead: format!("{} of the papers, on machines described by files.", counted(exhibits.len(), "figure")),
        finding: finding(&told).into_iter().collect(),
        claim: None,
        simulated: exhibits.iter().any(|exhibit| exhibit.report.place.simulated),
        warnings: Vec::new(),
        blocks: exhibits.iter().flat_map(blocks).collect(),
        footer: footer(&surroundings.began),
    })
}

fn blocks(exhibit: &Exhibit<'_>) -> Vec<Block> {
    let report = &exhibit.report;
    let experiment = report.experiment;
    let layout = Arrangement::of(experiment);
    let text = [experiment.claim.as_deref().unwrap_or_default().trim(), &exhibit.fitted];
    let heading = Block::Heading {
        title: format!("{}: {}", exhibit.name, experiment.title),
        href: format!("{}/report.html", exhibit.name),
        text: text.into_iter().filter(|text| !text.is_empty()).map(str::to_owned).collect(),
    };
    let panels = layout.panels(report);
    let figures = panels.iter().filter_map(|panel| figure(report, &layout, panel, &THROUGHPUT));
    let told = (!report.claims.is_empty()).then(|| claims(report.claims));
    std::iter::once(heading).chain(figures).chain(told).collect()
}
