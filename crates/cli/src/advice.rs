//! What was found of a machine, what it means for measurements, and what to do first.

use serde::Serialize;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// Whether it is fine as it is.
    pub fine: bool,
    /// What was found.
    pub found: String,
    /// What to do; empty if it is fine.
    pub advice: String,
    /// How much it harms figures, in points of a hundred; 0 if it is fine. Ours to choose: it puts what is wrong in an order.
    pub harm: u32,
}

/// What a fault takes off unless something else is said.
const HARM: u32 = 10;

/// So many are to be mended first.
const FIRST: usize = 3;

/// Advice, unless it is fine.
pub fn judge(fine: bool, found: impl Into<String>, advice: &str) -> Advice {
    let (advice, harm) = if fine { (String::new(), 0) } else { (advice.to_owned(), HARM) };
    Advice { fine, found: found.into(), advice, harm }
}

impl Advice {
    /// The same, where it harms so much if it is not fine.
    pub fn harming(self, points: u32) -> Advice {
        Advice { harm: if self.fine { 0 } else { points }, ..self }
    }
}

/// How fit a machine is for measuring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Score {
    /// Of a hundred, less what was found wrong.
    pub points: u32,
    /// What to mend first, the worst before the others.
    pub first: Vec<String>,
}

impl Score {
    /// Of all that was found.
    pub fn of(advice: &[Advice]) -> Score {
        let mut wrong: Vec<&Advice> = advice.iter().filter(|advice| !advice.fine).collect();
        wrong.sort_by_key(|advice| std::cmp::Reverse(advice.harm));
        let harm: u32 = wrong.iter().map(|advice| advice.harm).sum();
        let first = wrong.iter().take(FIRST).map(|advice| format!("{}: {}", advice.found, advice.advice));
        Score { points: 100u32.saturating_sub(harm), first: first.collect() }
    }

    /// For people.
    pub fn text(&self) -> String {
        let what = match self.points {
            90.. => "fit for measuring",
            60..90 => "fit for comparing what is taken by turns",
            _ => "figures of this machine say little",
        };
        let first: String =
            self.first.iter().enumerate().map(|(nth, line)| format!("  {}. {line}\n", nth + 1)).collect();
        let heading = if self.first.is_empty() { "" } else { "; first of all:" };
        format!("score {} of 100: {what}{heading}\n{first}", self.points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_to_be_mended_first() {
        let advice = [
            judge(true, "fine", "nothing").harming(50),
            judge(false, "a little", "do this"),
            judge(false, "much", "do that").harming(40),
            judge(false, "less", "wait").harming(5),
            judge(false, "least", "wait").harming(1),
        ];
        let score = Score::of(&advice);
        assert_eq!((score.points, score.first.len()), (44, 3));
        assert!(
            score.first[0].starts_with("much: do that") && score.first[2].starts_with("less: "),
            "{score:?}"
        );
        assert!(
            score
                .text()
                .starts_with("score 44 of 100: figures of this machine say little; first of all:\n  1. much")
        );
        assert_eq!(Score::of(&advice[..1]).text(), "score 100 of 100: fit for measuring\n");
        assert_eq!(Score::of(&[judge(false, "all", "x").harming(150)]).points, 0);
    }
}
