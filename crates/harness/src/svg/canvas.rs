//! The few shapes that the figures are made of.

use super::SERIES;
use std::fmt::Write;

/// Which point of a text stands at its coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// An SVG image in the making. Coordinates are pixels from the top left.
pub struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

/// Size of all text, in pixels.
pub const TEXT: f64 = 13.0;

impl Canvas {
    /// An empty image.
    pub fn new(width: f64, height: f64) -> Canvas {
        Canvas { width, height, body: String::new() }
    }

    /// A rectangle with slightly rounded corners. `tip` is shown on hovering; empty for none.
    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, class: &str, tip: &str) {
        let width = width.max(0.0);
        let _ = write!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="2" class="{class}">"#
        );
        self.tip(tip);
        self.body.push_str("</rect>");
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let _ = write!(
            self.body,
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" class="{class}"/>"#,
            from.0, from.1, to.0, to.1
        );
    }

    /// A line of text whose baseline is at `y`.
    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = write!(
            self.body,
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" class="{class}">{}</text>"#,
            escape(text)
        );
    }

    /// The line of a series through `points`.
    pub fn polyline(&mut self, points: &[(f64, f64)], series: usize) {
        let mut coordinates = String::new();
        for (x, y) in points {
            let _ = write!(coordinates, "{x:.1},{y:.1} ");
        }
        let series = series % SERIES;
        let _ = write!(
            self.body,
            r#"<polyline points="{}" class="series stroke-{series}"/>"#,
            coordinates.trim_end()
        );
    }

    /// A series' marker.
    pub fn marker(&mut self, x: f64, y: f64, series: usize) {
        self.marker_with_tip(x, y, series, "");
    }

    /// A series' marker, with `tip` shown on hovering.
    pub fn marker_with_tip(&mut self, x: f64, y: f64, series: usize, tip: &str) {
        let path = match series % SERIES {
            0 => circle(4.0),
            1 => polygon(&[(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)]),
            2 => polygon(&[(0.0, -5.0), (5.0, 4.0), (-5.0, 4.0)]),
            3 => polygon(&[(0.0, -5.5), (5.5, 0.0), (0.0, 5.5), (-5.5, 0.0)]),
            4 => polygon(&[(0.0, 5.0), (5.0, -4.0), (-5.0, -4.0)]),
            5 => circle(2.6),
            6 => polygon(&[(-5.0, -2.0), (5.0, -2.0), (5.0, 2.0), (-5.0, 2.0)]),
            _ => polygon(&[(-2.0, -5.0), (2.0, -5.0), (2.0, 5.0), (-2.0, 5.0)]),
        };
        let class = series % SERIES;
        let _ = write!(
            self.body,
            r#"<path d="{path}" transform="translate({x:.1} {y:.1})" class="marker fill-{class}">"#
        );
        self.tip(tip);
        self.body.push_str("</path>");
    }

    /// A hollow diamond: a number of the paper's. `tip` is shown on hovering.
    pub fn diamond(&mut self, x: f64, y: f64, class: &str, tip: &str) {
        let path = polygon(&[(0.0, -6.0), (6.0, 0.0), (0.0, 6.0), (-6.0, 0.0)]);
        let _ =
            write!(self.body, r#"<path d="{path}" transform="translate({x:.1} {y:.1})" class="{class}">"#);
        self.tip(tip);
        self.body.push_str("</path>");
    }

    /// A hollow ring around a series' marker. `tip` is shown on hovering.
    pub fn ring(&mut self, x: f64, y: f64, class: &str, tip: &str) {
        let path = circle(9.0);
        let _ =
            write!(self.body, r#"<path d="{path}" transform="translate({x:.1} {y:.1})" class="{class}">"#);
        self.tip(tip);
        self.body.push_str("</path>");
    }

    fn tip(&mut self, tip: &str) {
        if !tip.is_empty() {
            let _ = write!(self.body, "<title>{}</title>", escape(tip));
        }
    }

    /// The image. `label` is what a screen reader says of it.
    pub fn finish(self, class: &str, label: &str) -> String {
        let Canvas { width, height, body } = self;
        let role = if label.is_empty() {
            r#"aria-hidden="true""#.to_owned()
        } else {
            format!(r#"role="img" aria-label="{}""#, escape(label))
        };
        format!(
            r#"<svg class="{class}" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" {role}>{body}</svg>"#
        )
    }
}

/// About how wide a text is, rather too wide than too narrow.
pub fn text_width(text: &str) -> f64 {
    let width = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | '.' | ',' | ':' | ' ' | '-' | '·' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | 'µ' => 0.95,
        _ => 0.64,
    };
    text.chars().map(width).sum::<f64>() * TEXT
}

fn circle(radius: f64) -> String {
    format!("M-{radius} 0a{radius} {radius} 0 1 0 {0} 0a{radius} {radius} 0 1 0 -{0} 0z", 2.0 * radius)
}

fn polygon(corners: &[(f64, f64)]) -> String {
    let corners: Vec<String> = corners.iter().map(|(x, y)| format!("{x} {y}")).collect();
    format!("M{}z", corners.join("L"))
}

/// `text` inside an element or a quoted attribute.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_out() {
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.text(0.0, 0.0, Anchor::Start, "ink", "<script>&\"");
        let image = canvas.finish("figure", "a \"label\"");
        assert!(image.contains("&lt;script&gt;&amp;&quot;") && !image.contains("<script"));
        assert!(image.contains("aria-label=\"a &quot;label&quot;\""));
    }

    #[test]
    fn every_series_has_a_marker_of_its_own() {
        let markers: std::collections::BTreeSet<String> = (0..SERIES)
            .map(|series| {
                let mut canvas = Canvas::new(10.0, 10.0);
                canvas.marker(5.0, 5.0, series);
                let image = canvas.finish("", "");
                image.split("d=\"").nth(1).and_then(|path| path.split('"').next()).expect("a path").to_owned()
            })
            .collect();
        assert_eq!(markers.len(), SERIES);
    }

    #[test]
    fn a_rectangle_is_never_negative() {
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.rect(0.0, 0.0, -3.0, 1.0, "bar", "tip");
        assert!(canvas.finish("", "").contains(r#"width="0.0""#));
    }
}
