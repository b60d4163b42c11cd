//! The report's figures, drawn as SVG by ourselves: no script, no network, no font but the reader's.
//!
//! A figure is drawn at the width at which it will be seen, so that its text has its true size: once wide and once
//! narrow, and the page's style shows the one that fits ([`Width`]). Colours are classes of the page's style, so that
//! one figure serves a light and a dark page; a series differs by marker and dash too, for those who cannot tell the
//! colours apart.

pub mod bars;
mod canvas;
pub mod dots;
pub mod lines;
pub mod scale;
pub mod stacks;

pub use canvas::{Anchor, Canvas, escape};

/// Series that have a colour, a marker and a dash of their own; further ones begin again.
pub const SERIES: usize = 8;

/// At which width a figure is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// On a desk.
    Wide,
    /// On a phone.
    Narrow,
}

impl Width {
    /// In pixels.
    pub fn pixels(self) -> f64 {
        match self {
            Width::Wide => 960.0,
            Width::Narrow => 340.0,
        }
    }

    /// The class by which the page's style shows or hides the figure.
    pub fn class(self) -> &'static str {
        match self {
            Width::Wide => "wide",
            Width::Narrow => "narrow",
        }
    }
}

/// A figure at both widths.
pub fn at_both_widths(draw: impl Fn(Width) -> String) -> String {
    draw(Width::Wide) + &draw(Width::Narrow)
}

/// The mark of a series in a legend: its line with its marker.
pub fn legend_mark(series: usize) -> String {
    let mut canvas = Canvas::new(30.0, 14.0);
    canvas.polyline(&[(1.0, 7.0), (29.0, 7.0)], series);
    canvas.marker(15.0, 7.0, series);
    canvas.finish("mark", "")
}
