//! The paper's numbers beside ours: one row each, ours over the paper's on a logarithmic axis, so that what is twice as much lies
//! as far from 1 as what is half of it.
//!
//! The paper's number is a diamond at 1. Ours is a dot; a bar goes from the repetition that makes it least to the one that makes it
//! most, and a thin whisker as far as it may reach with the error of the model, if there is one.

use super::Width;
use super::canvas::{Anchor, Canvas, text_width};
use super::scale::Scale;

/// One row.
#[derive(Clone, Debug)]
pub struct Dot {
    /// What is compared.
    pub label: String,
    /// Both numbers, written out.
    pub numbers: String,
    /// Ours over the paper's; may be 0.
    pub ratio: f64,
    /// From where to where by the repetitions.
    pub spread: [f64; 2],
    /// From where to where with the model's error, too.
    pub with_error: Option<[f64; 2]>,
    /// Whose colour it has.
    pub series: usize,
}

const WIDE_ROW: f64 = 44.0;
const NARROW_ROW: f64 = 62.0;
const AXIS: f64 = 46.0;
const MARGIN: f64 = 14.0;
const GAP: f64 = 16.0;

/// Beyond these ends a row is cut: its numbers say what it is.
const FARTHEST: f64 = 1e3;

/// The figure. `unit` is written below the axis.
pub fn draw(dots: &[Dot], unit: &str, label: &str, width: Width) -> String {
    let row = if width == Width::Wide { WIDE_ROW } else { NARROW_ROW };
    let height = 6.0 + row * dots.len() as f64 + AXIS;
    let mut canvas = Canvas::new(width.pixels(), height);
    let frame = Frame { right: width.pixels() - MARGIN, scale: scale(dots), width };
    frame.axis(&mut canvas, height - AXIS, unit);
    for (nth, dot) in dots.iter().enumerate() {
        frame.row(&mut canvas, 6.0 + row * nth as f64, dot);
    }
    canvas.finish(&format!("figure {}", width.class()), label)
}

/// With 1 in it, and ticks at 1, 2 and 5 times powers of ten, or at powers of ten where these would be many.
fn scale(dots: &[Dot]) -> Scale {
    let ends = |dot: &Dot| {
        let all = [dot.ratio].into_iter().chain(dot.spread).chain(dot.with_error.into_iter().flatten());
        all.filter(|end| *end > 0.0).map(|end| end.clamp(1.0 / FARTHEST, FARTHEST)).collect::<Vec<f64>>()
    };
    let all: Vec<f64> = dots.iter().flat_map(ends).chain([0.5, 2.0]).collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(0.0, f64::max);
    let factors: &[f64] = if high / low > 500.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let candidates: Vec<f64> =
        (-4..=4).flat_map(|n| factors.iter().map(move |f| f * 10f64.powi(n))).collect();
    let first = candidates.iter().rposition(|&tick| tick <= low * 1.000_001).unwrap_or(0);
    let last = candidates.iter().position(|&tick| tick >= high * 0.999_999).unwrap_or(candidates.len() - 1);
    Scale::through_logarithmic(&candidates[first..=last])
}

struct Frame {
    right: f64,
    scale: Scale,
    width: Width,
}

impl Frame {
    fn x(&self, ratio: f64) -> f64 {
        MARGIN + self.scale.part(ratio).clamp(0.0, 1.0) * (self.right - MARGIN)
    }

    fn axis(&self, canvas: &mut Canvas, bottom: f64, unit: &str) {
        let mut free_from = f64::NEG_INFINITY;
        for &tick in &self.scale.ticks {
            let (x, label) = (self.x(tick), crate::text::numbers::short(tick));
            canvas.line((x, 0.0), (x, bottom + 4.0), if tick == 1.0 { "axis" } else { "grid" });
            let half = text_width(&label) / 2.0;
            if x - half >= free_from {
                canvas.text(x, bottom + 19.0, Anchor::Middle, "mute number", &label);
                free_from = x + half + 6.0;
            }
        }
        canvas.text((MARGIN + self.right) / 2.0, bottom + 39.0, Anchor::Middle, "mute", unit);
    }

    /// The label and the numbers, on one line or on two; where the middle of what they belong to lies.
    fn words(&self, canvas: &mut Canvas, baseline: f64, dot: &Dot) -> f64 {
        let (label, numbers) = ("over ink", "over mute number");
        let all = self.right - MARGIN;
        match self.width {
            Width::Wide => {
                let room = all - text_width(&dot.numbers) - GAP;
                canvas.text(MARGIN, baseline, Anchor::Start, label, &fitting(&dot.label, room));
                canvas.text(self.right, baseline, Anchor::End, numbers, &dot.numbers);
                baseline + 15.0
            }
            Width::Narrow => {
                canvas.text(MARGIN, baseline, Anchor::Start, label, &fitting(&dot.label, all));
                canvas.text(MARGIN, baseline + 17.0, Anchor::Start, numbers, &dot.numbers);
                baseline + 32.0
            }
        }
    }

    fn row(&self, canvas: &mut Canvas, top: f64, dot: &Dot) {
        let middle = self.words(canvas, top + 14.0, dot);
        let class = |class: &str| format!("{class}-{}", dot.series % super::SERIES);
        if let Some([low, high]) = dot.with_error {
            let stroke = format!("range {}", class("stroke"));
            let (low, high) = (self.x(low), self.x(high));
            canvas.line((low, middle), (high, middle), &stroke);
            for x in [low, high] {
                canvas.line((x, middle - 5.0), (x, middle + 5.0), &stroke);
            }
        }
        let [low, high] = dot.spread.map(|end| self.x(end));
        canvas.rect(low, middle - 3.5, high - low, 7.0, &format!("spread {}", class("fill")), "");
        canvas.diamond(self.x(1.0), middle, "paper", "the paper's");
        canvas.marker_with_tip(
            self.x(dot.ratio),
            middle,
            dot.series,
            &format!("{}: {}", dot.label, dot.numbers),
        );
    }
}

/// `text`, or its beginning where there is no room for all of it.
fn fitting(text: &str, room: f64) -> String {
    if text_width(text) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        if text_width(&short) + text_width("m…") > room {
            break;
        }
        short.push(c);
    }
    short.trim_end().to_owned() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(ratio: f64) -> Dot {
        Dot {
            label: "With 72 threads Delegation outperforms shared-everything by 7 times".to_owned(),
            numbers: "7 and 6.61".to_owned(),
            ratio,
            spread: [ratio * 0.9, ratio * 1.1],
            with_error: Some([ratio * 0.7, ratio * 1.4]),
            series: 0,
        }
    }

    #[test]
    fn one_is_always_in_the_axis_and_rows_stay_inside() {
        for ratios in [&[1.0][..], &[0.3, 4.0], &[0.0, 1e9, 0.02], &[]] {
            let dots: Vec<Dot> = ratios.iter().map(|&ratio| dot(ratio)).collect();
            let scale = scale(&dots);
            assert!(scale.ticks.contains(&1.0) && (3..=11).contains(&scale.ticks.len()), "{scale:?}");
            for width in [Width::Wide, Width::Narrow] {
                let image = draw(&dots, "ours over the paper's", "numbers", width);
                assert!(!image.contains("NaN") && !image.contains("inf"), "{image}");
                assert_eq!(image.matches("class=\"paper\"").count(), dots.len());
            }
        }
    }

    #[test]
    fn a_long_label_is_cut() {
        assert_eq!(fitting("short", 100.0), "short");
        let cut = fitting("a label that is far too long for its room", 100.0);
        assert!(cut.ends_with('…') && text_width(&cut) <= 100.0 + text_width("m"), "{cut}");
    }
}
