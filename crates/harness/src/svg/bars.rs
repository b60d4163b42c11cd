//! Horizontal bars with whiskers from the least to the most: a ranking.

use super::canvas::{Anchor, Canvas, text_width};
use super::scale::Scale;
use super::{SERIES, Width};
use crate::text::numbers::short;

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What it stands for.
    pub label: String,
    /// Its length.
    pub value: f64,
    /// Where its whisker begins.
    pub low: f64,
    /// Where its whisker ends.
    pub high: f64,
    /// The value, written out.
    pub text: String,
    /// Whose colour it has.
    pub series: usize,
}

const BAR: f64 = 22.0;
const AXIS: f64 = 46.0;
const GAP: f64 = 10.0;

/// The figure. `unit` is written below the axis.
pub fn draw(bars: &[Bar], unit: &str, label: &str, width: Width) -> String {
    let frame = Frame::of(bars, width);
    let height = 4.0 + frame.pitch * bars.len() as f64 + AXIS;
    let mut canvas = Canvas::new(width.pixels(), height);
    let most = bars.iter().map(|bar| bar.high.max(bar.value)).fold(0.0, f64::max);
    let scale = Scale::from_zero(most, if width == Width::Wide { 7 } else { 4 });
    axis(&mut canvas, &frame, &scale, height - AXIS, unit);
    for (nth, bar) in bars.iter().enumerate() {
        one(&mut canvas, &frame, &scale, 4.0 + frame.pitch * nth as f64, bar);
    }
    canvas.finish(&format!("figure {}", width.class()), label)
}

/// Where the bars' column lies. A narrow figure has the labels above the bars.
struct Frame {
    left: f64,
    right: f64,
    pitch: f64,
    labels_above: bool,
}

impl Frame {
    fn of(bars: &[Bar], width: Width) -> Frame {
        let widest =
            |text: fn(&Bar) -> &str| bars.iter().map(|bar| text_width(text(bar))).fold(0.0, f64::max);
        let values = widest(|bar| &bar.text) + GAP;
        let labels_above = width == Width::Narrow;
        let left = if labels_above { 4.0 } else { widest(|bar| &bar.label) + 2.0 * GAP };
        let pitch = BAR + if labels_above { 32.0 } else { 14.0 };
        Frame { left, right: width.pixels() - values, pitch, labels_above }
    }

    fn x(&self, scale: &Scale, value: f64) -> f64 {
        self.left + scale.part(value) * (self.right - self.left)
    }
}

fn one(canvas: &mut Canvas, frame: &Frame, scale: &Scale, top: f64, bar: &Bar) {
    let top = if frame.labels_above { top + 25.0 } else { top + 7.0 };
    let middle = top + BAR / 2.0;
    if frame.labels_above {
        canvas.text(frame.left, top - 6.0, Anchor::Start, "ink", &bar.label);
    } else {
        canvas.text(frame.left - GAP, middle + 4.5, Anchor::End, "ink", &bar.label);
    }
    let end = frame.x(scale, bar.value);
    let tip = format!("{}: {}, from {} to {}", bar.label, bar.text, short(bar.low), short(bar.high));
    canvas.rect(frame.left, top, end - frame.left, BAR, &format!("fill-{}", bar.series % SERIES), &tip);
    let (low, high) = (frame.x(scale, bar.low), frame.x(scale, bar.high));
    if high - low >= 1.0 {
        // The halo below keeps it apart from the bar, whatever the bar's colour.
        for class in ["halo", "whisker"] {
            canvas.line((low, middle), (high, middle), class);
            for x in [low, high] {
                canvas.line((x, middle - 5.0), (x, middle + 5.0), class);
            }
        }
    }
    canvas.text(end.max(high) + 7.0, middle + 4.5, Anchor::Start, "ink number", &bar.text);
}

fn axis(canvas: &mut Canvas, frame: &Frame, scale: &Scale, bottom: f64, unit: &str) {
    for &tick in &scale.ticks {
        let x = frame.x(scale, tick);
        canvas.line((x, 0.0), (x, bottom + 4.0), "grid");
        let anchor = if tick == 0.0 && frame.labels_above { Anchor::Start } else { Anchor::Middle };
        canvas.text(x, bottom + 19.0, anchor, "mute number", &short(tick));
    }
    canvas.text((frame.left + frame.right) / 2.0, bottom + 39.0, Anchor::Middle, "mute", unit);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(value: f64) -> Bar {
        let text = short(value);
        Bar { label: "a system".to_owned(), value, low: value * 0.9, high: value * 1.1, text, series: 0 }
    }

    #[test]
    fn the_longest_bar_stays_inside() {
        for width in [Width::Wide, Width::Narrow] {
            let bars = [bar(1000.0), bar(123.0), bar(0.0)];
            let frame = Frame::of(&bars, width);
            let scale = Scale::from_zero(1100.0, 5);
            let end = frame.x(&scale, 1100.0) + 7.0 + text_width(&bars[0].text);
            assert!(end <= width.pixels() + GAP, "{end}");
            let image = draw(&bars, "transactions per second", "ranking", width);
            assert_eq!(image.matches("<rect").count(), 3);
            assert!(!image.contains("NaN"), "{image}");
        }
    }

    #[test]
    fn a_ranking_of_nothing_is_drawn() {
        assert!(draw(&[bar(0.0)], "unit", "ranking", Width::Wide).contains("<svg"));
        assert!(draw(&[], "unit", "ranking", Width::Narrow).contains("<svg"));
    }
}
