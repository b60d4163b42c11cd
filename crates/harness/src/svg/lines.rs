//! Lines over a common axis, with whiskers: sweeps and latency by percentile.

use super::canvas::{Anchor, Canvas, text_width};
use super::scale::Scale;
use super::{SERIES, Width};

/// One line.
#[derive(Clone, Debug)]
pub struct Line {
    /// Whose colour, marker and dash it has.
    pub series: usize,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// A point of a line.
#[derive(Clone, Debug)]
pub struct Point {
    /// On the lower axis.
    pub x: f64,
    /// On the left axis.
    pub y: f64,
    /// From the least to the most, if it varies.
    pub whisker: Option<(f64, f64)>,
    /// Shown on hovering over its marker; a point without a tip has no marker.
    pub tip: String,
}

/// What a mark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A number of the paper's, beside the lines: a hollow diamond.
    Paper,
    /// The point of this series at which it bends: a ring around its marker.
    Knee(usize),
}

/// Something to be seen beside the lines, or on them.
#[derive(Clone, Debug)]
pub struct Mark {
    /// What it stands for.
    pub sign: Sign,
    /// On the lower axis.
    pub x: f64,
    /// On the left axis; not drawn where that does not reach.
    pub y: f64,
    /// Shown on hovering.
    pub tip: String,
}

/// An axis with its scale.
pub struct Axis {
    /// From values to places.
    pub scale: Scale,
    /// What the ticks say, in their order.
    pub labels: Vec<String>,
    /// What is measured, with its unit.
    pub title: String,
}

const TOP: f64 = 30.0;
const BOTTOM: f64 = 50.0;
const WHISKER_STEP: f64 = 3.5;

/// The figure, `height` pixels high.
pub fn draw(
    lines: &[Line],
    marks: &[Mark],
    [x, y]: [&Axis; 2],
    label: &str,
    height: f64,
    width: Width,
) -> String {
    let labels = y.labels.iter().map(|label| text_width(label)).fold(0.0, f64::max);
    // Half of the first and the last label of the lower axis hang over its ends.
    let hang = |label: Option<&String>| label.map_or(0.0, |label| text_width(label) / 2.0);
    let plot = Plot {
        left: (labels + 12.0).max(hang(x.labels.first())) + 6.0,
        right: width.pixels() - hang(x.labels.last()).max(12.0),
        top: TOP,
        bottom: height - BOTTOM,
        x,
        y,
    };
    let mut canvas = Canvas::new(width.pixels(), height);
    plot.grid(&mut canvas);
    // Whiskers at one place stand side by side.
    let middle = (lines.len() as f64 - 1.0) / 2.0;
    for (nth, line) in lines.iter().enumerate() {
        plot.whiskers(&mut canvas, line, (nth as f64 - middle) * WHISKER_STEP);
    }
    for line in lines {
        plot.line(&mut canvas, line);
    }
    for mark in marks.iter().filter(|mark| y.scale.has(mark.y)) {
        let (x, y) = (plot.at_x(mark.x), plot.at_y(mark.y));
        match mark.sign {
            Sign::Paper => canvas.diamond(x, y, "paper", &mark.tip),
            Sign::Knee(series) => canvas.ring(x, y, &format!("knee stroke-{}", series % SERIES), &mark.tip),
        }
    }
    canvas.finish(&format!("figure {}", width.class()), label)
}

struct Plot<'a> {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: &'a Axis,
    y: &'a Axis,
}

impl Plot<'_> {
    fn at_x(&self, value: f64) -> f64 {
        self.left + 10.0 + self.x.scale.part(value) * (self.right - self.left - 20.0)
    }

    fn at_y(&self, value: f64) -> f64 {
        self.bottom - self.y.scale.part(value) * (self.bottom - self.top)
    }

    fn grid(&self, canvas: &mut Canvas) {
        for &tick in &self.y.scale.minor_ticks {
            canvas.line((self.left, self.at_y(tick)), (self.right, self.at_y(tick)), "minor");
        }
        for (&tick, label) in self.y.scale.ticks.iter().zip(&self.y.labels) {
            let y = self.at_y(tick);
            canvas.line((self.left, y), (self.right, y), "grid");
            canvas.text(self.left - 8.0, y + 4.5, Anchor::End, "mute number", label);
        }
        let mut free_from = f64::NEG_INFINITY;
        for (&tick, label) in self.x.scale.ticks.iter().zip(&self.x.labels) {
            let (x, half) = (self.at_x(tick), text_width(label) / 2.0);
            canvas.line((x, self.bottom), (x, self.bottom + 5.0), "axis");
            // A label that would touch the one before is left out; its tick stays.
            if x - half >= free_from {
                canvas.text(x, self.bottom + 20.0, Anchor::Middle, "mute number", label);
                free_from = x + half + 6.0;
            }
        }
        canvas.line((self.left, self.bottom), (self.right, self.bottom), "axis");
        canvas.text(0.0, 14.0, Anchor::Start, "mute", &self.y.title);
        let middle = (self.left + self.right) / 2.0;
        canvas.text(middle, self.bottom + 42.0, Anchor::Middle, "mute", &self.x.title);
    }

    fn whiskers(&self, canvas: &mut Canvas, line: &Line, aside: f64) {
        let stroke = format!("range stroke-{}", line.series % SERIES);
        for point in &line.points {
            let Some((low, high)) = point.whisker else { continue };
            let (x, low, high) = (self.at_x(point.x) + aside, self.at_y(low), self.at_y(high));
            if low - high >= 2.0 {
                canvas.line((x, low), (x, high), &stroke);
                for y in [low, high] {
                    canvas.line((x - 3.0, y), (x + 3.0, y), &stroke);
                }
            }
        }
    }

    fn line(&self, canvas: &mut Canvas, line: &Line) {
        let places: Vec<(f64, f64)> =
            line.points.iter().map(|point| (self.at_x(point.x), self.at_y(point.y))).collect();
        if places.len() > 1 {
            canvas.polyline(&places, line.series);
        }
        for (point, &(x, y)) in line.points.iter().zip(&places).filter(|(point, _)| !point.tip.is_empty()) {
            canvas.marker_with_tip(x, y, line.series, &point.tip);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[f64]) -> Axis {
        let labels = values.iter().map(f64::to_string).collect();
        Axis { scale: Scale::through(values), labels, title: "workers".to_owned() }
    }

    fn line(values: &[(f64, f64)]) -> Line {
        let point =
            |&(x, y): &(f64, f64)| Point { x, y, whisker: Some((y, y * 1.1)), tip: format!("{x}: {y}") };
        Line { series: 1, points: values.iter().map(point).collect() }
    }

    #[test]
    fn points_lie_inside_the_axes() {
        let (x, y) = (axis(&[1.0, 2.0, 4.0]), axis(&[0.0, 50.0, 100.0]));
        let mark = |y: f64| Mark { x: 4.0, y, sign: Sign::Paper, tip: "the paper's".to_owned() };
        let knee = Mark { sign: Sign::Knee(1), tip: "the knee".to_owned(), ..mark(90.0) };
        let marks = [mark(70.0), mark(700.0), knee];
        let lines = [line(&[(1.0, 50.0), (4.0, 90.0)])];
        let image = draw(&lines, &marks, [&x, &y], "throughput", 300.0, Width::Narrow);
        assert_eq!(image.matches("class=\"paper\"").count(), 1, "the other one is beyond the axis");
        let place = |class: &str| {
            image.split("<path ").find(|path| path.contains(class)).and_then(|path| path.split('"').nth(3))
        };
        let markers: Vec<&str> =
            image.split("<path ").filter(|path| path.contains("marker fill-1")).collect();
        assert!(
            markers[1].contains(place("knee stroke-1").expect("a place")),
            "around the marker of its point: {image}"
        );
        assert_eq!(image.matches("<polyline").count(), 1);
        assert_eq!(image.matches("marker fill-1").count(), 2);
        let points = image.split("points=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("points");
        for place in points.split(' ') {
            let (x, y) = place.split_once(',').expect("two numbers");
            let inside =
                |value: &str, most: f64| (0.0..=most).contains(&value.parse::<f64>().expect("a number"));
            assert!(inside(x, Width::Narrow.pixels()) && inside(y, 300.0), "{place}");
        }
    }

    #[test]
    fn labels_never_overlap() {
        let many: Vec<f64> = (0..100).map(f64::from).collect();
        let image = draw(&[], &[], [&axis(&many), &axis(&[0.0, 1.0])], "many", 300.0, Width::Narrow);
        let labels = image.matches("text-anchor=\"middle\" class=\"mute number\"").count();
        assert!((3..30).contains(&labels), "{labels}");
    }

    #[test]
    fn one_point_is_a_marker_without_a_line() {
        let axes = [&axis(&[1.0]), &axis(&[0.0, 1.0])];
        let image = draw(&[line(&[(1.0, 1.0)])], &[], axes, "one", 200.0, Width::Wide);
        assert!(!image.contains("<polyline") && image.contains("marker fill-1") && !image.contains("NaN"));
    }
}
