//! The procedures of the scenarios that scan. In order the keys are x, y, n, m, or many.

use super::play::Play;
use super::roles::{COMMIT, M, N, Played, ROLLBACK, X, Y};

/// Keys of a round in which a range is filled: an index has some 15 in a leaf.
pub(super) const WIDE_KEYS: usize = 32;

fn scan_twice(play: &mut Play<'_>, from: usize, to: usize) -> Played {
    play.scan(from..=to)?;
    play.read(X)?;
    play.scan(from..=to)?;
    COMMIT
}

pub(super) fn scan_all_twice(play: &mut Play<'_>) -> Played {
    scan_twice(play, X, M)
}

pub(super) fn scan_n_to_m_twice(play: &mut Play<'_>) -> Played {
    play.scan(N..=M)?;
    play.read(Y)?;
    play.scan(N..=M)?;
    COMMIT
}

pub(super) fn scan_y_to_m_twice(play: &mut Play<'_>) -> Played {
    scan_twice(play, Y, M)
}

pub(super) fn scan_x_to_y_twice(play: &mut Play<'_>) -> Played {
    scan_twice(play, X, Y)
}

pub(super) fn scan_last_two_twice(play: &mut Play<'_>) -> Played {
    play.scan_back(X..=M, 2)?;
    play.read(Y)?;
    play.scan_back(X..=M, 2)?;
    COMMIT
}

pub(super) fn insert_x(play: &mut Play<'_>) -> Played {
    play.insert(X, 1)?;
    COMMIT
}

pub(super) fn insert_y(play: &mut Play<'_>) -> Played {
    play.insert(Y, 5)?;
    COMMIT
}

pub(super) fn insert_m(play: &mut Play<'_>) -> Played {
    play.insert(M, 5)?;
    COMMIT
}

pub(super) fn insert_y_and_m(play: &mut Play<'_>) -> Played {
    play.insert(Y, 5)?;
    play.insert(M, 5)?;
    COMMIT
}

pub(super) fn delete_y_and_m(play: &mut Play<'_>) -> Played {
    play.delete(Y)?;
    play.delete(M)?;
    COMMIT
}

pub(super) fn count_wide_twice(play: &mut Play<'_>) -> Played {
    play.count(0..=WIDE_KEYS - 1)?;
    // Filling takes long, and is to end in between.
    for _ in 0..10 {
        play.read(X)?;
    }
    play.count(0..=WIDE_KEYS - 1)?;
    COMMIT
}

pub(super) fn fill_wide(play: &mut Play<'_>) -> Played {
    play.insert_all(1..=WIDE_KEYS - 2, 1)?;
    COMMIT
}

pub(super) fn count_left_insert_right(play: &mut Play<'_>) -> Played {
    let count = play.count(X..=Y)?;
    play.insert(M, count as i64)?;
    COMMIT
}

pub(super) fn count_right_insert_left(play: &mut Play<'_>) -> Played {
    let count = play.count(N..=M)?;
    play.insert(Y, count as i64)?;
    COMMIT
}

pub(super) fn change_range_and_roll_back(play: &mut Play<'_>) -> Played {
    play.insert(Y, 7)?;
    play.delete(N)?;
    // Others have time to see it.
    play.scan(X..=M)?;
    play.read(X)?;
    ROLLBACK
}

pub(super) fn change_range_and_scan_own(play: &mut Play<'_>) -> Played {
    play.insert(Y, 5)?;
    play.scan(X..=M)?;
    play.update(N, 1)?;
    play.delete(X)?;
    play.scan_back(X..=M, 2)?;
    play.delete(Y)?;
    play.insert(M, 6)?;
    play.scan(X..=M)?;
    COMMIT
}
