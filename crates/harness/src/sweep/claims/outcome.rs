//! How much of a claim is certain, given that repetitions spread and models err.
//!
//! A question about a spread has three answers ([`Sure`]): all of it says yes, all of it says no, or the repetitions
//! disagree. A claim asks two such questions, of its direction and of its size, and has three grades; what is unclear
//! leaves a range of them ([`Outcome`]). A claim over many comparisons has the worst of their grades, and so the range
//! from the worst that is possible to the worst that is certain. Only when both ends meet does the claim have a verdict:
//! noise alone decides nothing, but a comparison that is certainly against the claim settles it whatever the others say.

use super::Verdict;

/// An answer where the repetitions may disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sure {
    Yes,
    No,
    Unclear,
}

impl Sure {
    /// `yes` and `no`: whether it is certain. Not both.
    pub(super) fn of(yes: bool, no: bool) -> Sure {
        match (yes, no) {
            (true, _) => Sure::Yes,
            (false, true) => Sure::No,
            (false, false) => Sure::Unclear,
        }
    }

    pub(super) fn and(self, other: Sure) -> Sure {
        match (self, other) {
            (Sure::No, _) | (_, Sure::No) => Sure::No,
            (Sure::Yes, Sure::Yes) => Sure::Yes,
            _ => Sure::Unclear,
        }
    }
}

/// How much of a claim is borne out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    Nothing,
    Direction,
    All,
}

/// The grades that are possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) at_worst: Grade,
    pub(super) at_best: Grade,
}

impl Outcome {
    /// Nothing is known.
    pub(super) const OPEN: Outcome = Outcome { at_worst: Grade::Nothing, at_best: Grade::All };

    /// `size` is the whole claim; `direction` is the part of it that may hold alone, if there is one.
    pub(super) fn of(size: Sure, direction: Option<Sure>) -> Outcome {
        let without_size = match direction {
            Some(Sure::Yes) => [Grade::Direction, Grade::Direction],
            Some(Sure::Unclear) => [Grade::Nothing, Grade::Direction],
            Some(Sure::No) | None => [Grade::Nothing, Grade::Nothing],
        };
        let [at_worst, at_best] = match size {
            Sure::Yes => [Grade::All, Grade::All],
            Sure::No => without_size,
            Sure::Unclear => [without_size[0], Grade::All],
        };
        Outcome { at_worst, at_best }
    }

    /// Both must hold.
    pub(super) fn and(self, other: Outcome) -> Outcome {
        Outcome { at_worst: self.at_worst.min(other.at_worst), at_best: self.at_best.min(other.at_best) }
    }

    /// One of both is so, and nobody knows which.
    pub(super) fn or(self, other: Outcome) -> Outcome {
        Outcome { at_worst: self.at_worst.min(other.at_worst), at_best: self.at_best.max(other.at_best) }
    }

    /// Whether no more is certain than the direction.
    pub(super) fn is_of_certain_direction(self) -> bool {
        self.verdict() == Verdict::CannotBeTold && self.at_worst == Grade::Direction
    }

    /// Whether the claimed size is certainly not there, and no more is known.
    pub(super) fn is_of_another_size(self) -> bool {
        self.verdict() == Verdict::CannotBeTold && self.at_best == Grade::Direction
    }

    pub(super) fn verdict(self) -> Verdict {
        match self {
            Outcome { at_worst, at_best } if at_worst != at_best => Verdict::CannotBeTold,
            Outcome { at_best: Grade::All, .. } => Verdict::Reproduced,
            Outcome { at_best: Grade::Direction, .. } => Verdict::DirectionOnly,
            Outcome { at_best: Grade::Nothing, .. } => Verdict::NotReproduced,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certain_has_a_verdict() {
        use Sure::{No, Unclear, Yes};
        let cases = [
            (Yes, Some(Yes), Verdict::Reproduced),
            (Yes, None, Verdict::Reproduced),
            (No, Some(Yes), Verdict::DirectionOnly),
            (No, Some(No), Verdict::NotReproduced),
            (No, None, Verdict::NotReproduced),
            (No, Some(Unclear), Verdict::CannotBeTold),
            (Unclear, Some(Yes), Verdict::CannotBeTold),
            (Unclear, None, Verdict::CannotBeTold),
        ];
        for (size, direction, verdict) in cases {
            assert_eq!(Outcome::of(size, direction).verdict(), verdict, "{size:?} {direction:?}");
        }
        let another_size = |size, direction| Outcome::of(size, direction).is_of_another_size();
        assert!(another_size(No, Some(Unclear)));
        assert!(
            !another_size(Unclear, Some(Unclear))
                && !another_size(No, Some(No))
                && !another_size(No, Some(Yes))
        );
    }

    #[test]
    fn of_two_that_disagree_nothing_is_known_but_what_both_say() {
        let (all, none) = (Outcome::of(Sure::Yes, None), Outcome::of(Sure::No, None));
        let direction = Outcome::of(Sure::No, Some(Sure::Yes));
        assert_eq!(all.or(all).verdict(), Verdict::Reproduced);
        assert_eq!(all.or(none).verdict(), Verdict::CannotBeTold);
        assert_eq!(all.or(direction).verdict(), Verdict::CannotBeTold);
        assert!(all.or(direction).is_of_certain_direction() && !all.or(none).is_of_certain_direction());
        assert!(!direction.is_of_certain_direction(), "that one is told");
    }

    #[test]
    fn what_is_certain_of_one_may_settle_all() {
        let against = Outcome::of(Sure::No, None);
        assert_eq!(against.and(Outcome::OPEN).verdict(), Verdict::NotReproduced);
        let direction = Outcome::of(Sure::No, Some(Sure::Yes));
        assert_eq!(direction.and(Outcome::OPEN).verdict(), Verdict::CannotBeTold);
        let noisy_size = Outcome::of(Sure::Unclear, Some(Sure::Yes));
        assert_eq!(direction.and(noisy_size).verdict(), Verdict::DirectionOnly);
    }
}
