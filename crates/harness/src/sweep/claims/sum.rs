//! How many claims came out how: the one place that counts them.
//!
//! They are counted by their standing, so that what was used for fitting and what is a question of ours do not swell what is
//! reproduced of the paper; and of each verdict it is said how many were judged at part of their points only.

use super::{Standing, Told, Verdict};
use crate::text::numbers::counted;
use serde::Serialize;
use std::collections::BTreeMap;

/// Claims by standing and verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sum {
    /// The paper's sentences.
    pub paper: Counts,
    /// The paper's sentences that something was fitted on.
    pub fitted: Counts,
    /// Questions of ours.
    pub ours: Counts,
}

/// Claims of one standing by verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All of them.
    pub claims: usize,
    /// By verdict; every verdict is there.
    #[serde(flatten)]
    verdicts: BTreeMap<Verdict, Count>,
}

/// Claims of one verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// All of them.
    pub claims: usize,
    /// Those that were judged at part of the points that the paper has.
    pub in_part: usize,
    /// Those of which the direction is certain and the size is not: among what cannot be told.
    pub direction_holds: usize,
}

impl Sum {
    /// Counts.
    pub fn of<'a>(claims: impl IntoIterator<Item = &'a Told>) -> Sum {
        let mut sum = Sum::default();
        for counts in [&mut sum.paper, &mut sum.fitted, &mut sum.ours] {
            counts.verdicts = Verdict::ALL.map(|verdict| (verdict, Count::default())).into();
        }
        for claim in claims {
            let counts = match claim.standing {
                Standing::Paper => &mut sum.paper,
                Standing::Fitted(_) => &mut sum.fitted,
                Standing::Ours => &mut sum.ours,
            };
            counts.claims += 1;
            let count = counts.verdicts.get_mut(&claim.verdict).expect("every verdict is there");
            count.claims += 1;
            count.in_part += usize::from(claim.part.is_some());
            count.direction_holds += usize::from(claim.direction_holds);
        }
        sum
    }

    /// A sentence for each standing of which there are claims.
    pub fn sentences(&self) -> Vec<String> {
        let fitted = counted(self.fitted.claims, "claim");
        let ours = counted(self.ours.claims, "question");
        let all = [
            (format!("Of {}", counted(self.paper.claims, "claim")), &self.paper),
            (format!("Not counted, of {fitted} used for fitting"), &self.fitted),
            (format!("Not counted, of {ours} of ours"), &self.ours),
        ];
        let some = all.into_iter().filter(|(_, counts)| counts.claims > 0);
        some.map(|(of, counts)| format!("{of}: {}.", counts.in_words())).collect()
    }
}

impl Counts {
    /// Those of one verdict.
    pub fn of(&self, verdict: Verdict) -> Count {
        self.verdicts.get(&verdict).copied().unwrap_or_default()
    }

    fn in_words(&self) -> String {
        let some = Verdict::ALL.into_iter().map(|verdict| (verdict, self.of(verdict)));
        let words = some.filter(|(_, count)| count.claims > 0).map(|(verdict, count)| {
            let asides = [
                (count.in_part, "at part of its points only", "at part of their points only"),
                (count.direction_holds, "holds in direction", "hold in direction"),
            ];
            let asides: Vec<String> = asides
                .into_iter()
                .filter(|(of_them, ..)| *of_them > 0)
                .map(|(of_them, one, more)| format!("{of_them} {}", if of_them == 1 { one } else { more }))
                .collect();
            match asides.is_empty() {
                true => format!("{} {verdict}", count.claims),
                false => format!("{} {verdict} (of them {})", count.claims, asides.join(", ")),
            }
        });
        words.collect::<Vec<_>>().join(", ")
    }
}
