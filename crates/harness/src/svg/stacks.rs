//! Horizontal bars of several parts: where the time goes, why transactions abort.

use super::Width;
use super::canvas::{Anchor, Canvas, text_width};
use super::scale::Scale;

/// One bar of parts.
#[derive(Clone, Debug)]
pub struct Stack {
    /// What it stands for.
    pub label: String,
    /// Its parts, in the order of the classes.
    pub parts: Vec<f64>,
    /// What is written after it.
    pub text: String,
}

/// How a figure of stacks is drawn.
pub struct Style<'a> {
    /// `time`, `thread` or `abort`: the style's classes are `time-0`, `time-1` and so on.
    pub class: &'a str,
    /// The names of the parts, for hovering.
    pub names: &'a [&'a str],
    /// The end of the axis; `None` for a round value above the longest bar.
    pub whole: Option<f64>,
    /// Writes a part.
    pub show: fn(f64) -> String,
    /// Writes a tick.
    pub tick: fn(f64) -> String,
    /// Below the axis.
    pub unit: &'a str,
    /// For screen readers.
    pub label: &'a str,
}

const BAR: f64 = 24.0;
const AXIS: f64 = 46.0;
const GAP: f64 = 10.0;

/// The figure.
pub fn draw(stacks: &[Stack], style: &Style<'_>, width: Width) -> String {
    let above = width == Width::Narrow;
    let pitch = BAR + if above { 32.0 } else { 12.0 };
    let height = 4.0 + pitch * stacks.len() as f64 + AXIS;
    let widest = |text: fn(&Stack) -> &str| stacks.iter().map(|s| text_width(text(s))).fold(0.0, f64::max);
    let left = if above { 4.0 } else { widest(|stack| &stack.label) + 2.0 * GAP };
    // A half of the last tick's label hangs over the axis.
    let right = width.pixels() - (widest(|stack| &stack.text) + GAP).max(22.0);
    let scale = scale(stacks, style, if above { 4 } else { 6 });
    let x = |value: f64| left + scale.part(value) * (right - left);

    let mut canvas = Canvas::new(width.pixels(), height);
    let bottom = height - AXIS;
    for &tick in &scale.ticks {
        canvas.line((x(tick), 0.0), (x(tick), bottom + 4.0), "grid");
        let anchor = if tick == 0.0 && above { Anchor::Start } else { Anchor::Middle };
        canvas.text(x(tick), bottom + 19.0, anchor, "mute number", &(style.tick)(tick));
    }
    canvas.text((left + right) / 2.0, bottom + 39.0, Anchor::Middle, "mute", style.unit);
    for (nth, stack) in stacks.iter().enumerate() {
        let top = 4.0 + pitch * nth as f64 + if above { 25.0 } else { 6.0 };
        let baseline = top + BAR / 2.0 + 4.5;
        if above {
            canvas.text(left, top - 6.0, Anchor::Start, "ink", &stack.label);
        } else {
            canvas.text(left - GAP, baseline, Anchor::End, "ink", &stack.label);
        }
        let end = parts(&mut canvas, stack, style, top, &x);
        canvas.text(end + 7.0, baseline, Anchor::Start, "ink number", &stack.text);
    }
    canvas.finish(&format!("figure {}", width.class()), style.label)
}

fn scale(stacks: &[Stack], style: &Style<'_>, ticks: usize) -> Scale {
    let longest = stacks.iter().map(|stack| stack.parts.iter().sum()).fold(0.0, f64::max);
    Scale::from_zero(style.whole.unwrap_or(longest), ticks)
}

/// Draws the parts one after the other, and returns where they end.
fn parts(canvas: &mut Canvas, stack: &Stack, style: &Style<'_>, top: f64, x: &dyn Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    for (nth, &part) in stack.parts.iter().enumerate() {
        let (from, to) = (x(sum), x(sum + part));
        sum += part;
        if to - from < 0.2 {
            continue;
        }
        let shown = (style.show)(part);
        let tip = format!("{}, {}: {shown}", stack.label, style.names[nth]);
        // A pixel between the parts keeps them apart in black and white.
        canvas.rect(from, top, (to - from - 1.0).max(0.4), BAR, &format!("{}-{nth}", style.class), &tip);
        if text_width(&shown) + 6.0 < to - from {
            let class = format!("on-{}-{nth} number", style.class);
            canvas.text((from + to) / 2.0, top + BAR / 2.0 + 4.5, Anchor::Middle, &class, &shown);
        }
    }
    x(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::numbers::percent;

    fn style() -> Style<'static> {
        Style {
            class: "time",
            names: &["useful", "abort", "wait"],
            whole: Some(1.0),
            show: percent,
            tick: percent,
            unit: "part of the time",
            label: "where the time goes",
        }
    }

    #[test]
    fn only_parts_that_can_be_seen_are_drawn_and_only_wide_ones_labelled() {
        let stack = Stack { label: "s".to_owned(), parts: vec![0.98, 0.02, 0.0], text: String::new() };
        let image = draw(&[stack], &style(), Width::Wide);
        assert_eq!(image.matches("<rect").count(), 2);
        assert!(image.contains(">98.0 %</text>") && !image.contains(">2.0 %</text>"));
        assert!(image.contains("s, abort: 2.0 %"), "but hovering tells all");
    }

    #[test]
    fn an_empty_stack_is_drawn() {
        let stack = Stack { label: "s".to_owned(), parts: vec![0.0; 3], text: "none".to_owned() };
        let image = draw(&[stack], &Style { whole: None, ..style() }, Width::Narrow);
        assert!(image.contains(">none</text>") && !image.contains("NaN"));
    }
}
