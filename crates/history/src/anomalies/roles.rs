//! The procedures of the scenarios. The keys are x, y (usually loaded) and n, m (usually missing).

use super::play::{MISSING, Play, WENT_ON};
use contract::{Abort, Outcome};

pub(super) const X: usize = 0;
pub(super) const Y: usize = 1;
pub(super) const N: usize = 2;
pub(super) const M: usize = 3;

pub(super) type Played = Result<Outcome, Abort>;
pub(super) const COMMIT: Played = Ok(Outcome::Commit);
pub(super) const ROLLBACK: Played = Ok(Outcome::Rollback);

pub(super) fn read_and_write_x(play: &mut Play<'_>) -> Played {
    let x = play.read(X)?;
    play.write(X, x.wrapping_add(1))?;
    COMMIT
}

pub(super) fn add_to_x(play: &mut Play<'_>) -> Played {
    play.add(X, 1)?;
    COMMIT
}

pub(super) fn write_ones(play: &mut Play<'_>) -> Played {
    play.write(X, 1)?;
    play.write(Y, 1)?;
    COMMIT
}

pub(super) fn write_twos(play: &mut Play<'_>) -> Played {
    play.write(Y, 2)?;
    play.write(X, 2)?;
    COMMIT
}

pub(super) fn read_x_and_y(play: &mut Play<'_>) -> Played {
    play.read(X)?;
    play.read(Y)?;
    COMMIT
}

pub(super) fn read_y_and_x(play: &mut Play<'_>) -> Played {
    play.read(Y)?;
    play.read(X)?;
    COMMIT
}

pub(super) fn read_x_and_n(play: &mut Play<'_>) -> Played {
    play.read(X)?;
    play.read(N)?;
    COMMIT
}

pub(super) fn read_x_y_x(play: &mut Play<'_>) -> Played {
    play.read(X)?;
    play.read(Y)?;
    play.read(X)?;
    COMMIT
}

pub(super) fn change_x_twice(play: &mut Play<'_>) -> Played {
    play.update(X, 1)?;
    play.update(Y, 1)?;
    play.update(X, 1)?;
    COMMIT
}

pub(super) fn copy_x_to_y(play: &mut Play<'_>) -> Played {
    let x = play.read(X)?;
    play.write(Y, x)?;
    COMMIT
}

pub(super) fn change_and_roll_back(play: &mut Play<'_>) -> Played {
    play.write(X, 7)?;
    play.insert(N, 7)?;
    ROLLBACK
}

pub(super) fn increment_x_and_y(play: &mut Play<'_>) -> Played {
    play.update(X, 1)?;
    play.update(Y, 1)?;
    COMMIT
}

pub(super) fn move_x_to_y(play: &mut Play<'_>) -> Played {
    play.update(X, -3)?;
    play.update(Y, 3)?;
    COMMIT
}

fn clear_if_both(play: &mut Play<'_>, key: usize) -> Played {
    if play.read(X)? == 1 && play.read(Y)? == 1 {
        play.write(key, 0)?;
    }
    COMMIT
}

pub(super) fn clear_x_if_both(play: &mut Play<'_>) -> Played {
    clear_if_both(play, X)
}

pub(super) fn clear_y_if_both(play: &mut Play<'_>) -> Played {
    clear_if_both(play, Y)
}

pub(super) fn deposit(play: &mut Play<'_>) -> Played {
    play.update(Y, 20)?;
    COMMIT
}

pub(super) fn withdraw(play: &mut Play<'_>) -> Played {
    let sum = play.read(X)?.wrapping_add(play.read(Y)?);
    let penalty = i64::from(sum < 10);
    play.update(X, -10 - penalty)?;
    COMMIT
}

pub(super) fn look_for_n_twice(play: &mut Play<'_>) -> Played {
    play.read(N)?;
    play.read(Y)?;
    play.read(N)?;
    COMMIT
}

pub(super) fn insert_n_and_increment_y(play: &mut Play<'_>) -> Played {
    play.insert(N, 1)?;
    play.update(Y, 1)?;
    COMMIT
}

fn insert_unless(play: &mut Play<'_>, missing: usize, key: usize) -> Played {
    if play.read(missing)? == MISSING {
        play.insert(key, 1)?;
    }
    COMMIT
}

pub(super) fn insert_m_unless_n(play: &mut Play<'_>) -> Played {
    insert_unless(play, N, M)
}

pub(super) fn insert_n_unless_m(play: &mut Play<'_>) -> Played {
    insert_unless(play, M, N)
}

fn insert_n(play: &mut Play<'_>, number: i64) -> Played {
    play.insert(N, number)?;
    play.read(N)?;
    COMMIT
}

pub(super) fn insert_n_one(play: &mut Play<'_>) -> Played {
    insert_n(play, 1)
}

pub(super) fn insert_n_two(play: &mut Play<'_>) -> Played {
    insert_n(play, 2)
}

pub(super) fn insert_n_three(play: &mut Play<'_>) -> Played {
    insert_n(play, 3)
}

pub(super) fn delete_x(play: &mut Play<'_>) -> Played {
    play.delete(X)?;
    play.read(X)?;
    COMMIT
}

pub(super) fn delete_x_and_increment_y(play: &mut Play<'_>) -> Played {
    play.delete(X)?;
    play.update(Y, 1)?;
    COMMIT
}

pub(super) fn insert_x_anew(play: &mut Play<'_>) -> Played {
    play.insert(X, 5)?;
    // Others have time to meet it: nobody changes what is read here.
    play.read(N)?;
    play.read(M)?;
    COMMIT
}

pub(super) fn insert_and_roll_back(play: &mut Play<'_>) -> Played {
    play.insert(N, 7)?;
    // Others have time to see it: nobody changes what is read here.
    play.read(X)?;
    play.read(N)?;
    play.read(Y)?;
    ROLLBACK
}

pub(super) fn delete_and_roll_back(play: &mut Play<'_>) -> Played {
    play.delete(X)?;
    play.read(X)?;
    play.read(N)?;
    ROLLBACK
}

pub(super) fn insert_delete_insert(play: &mut Play<'_>) -> Played {
    play.insert(N, 1)?;
    play.delete(N)?;
    play.read(N)?;
    play.insert(N, 2)?;
    play.read(N)?;
    COMMIT
}

pub(super) fn delete_insert_delete(play: &mut Play<'_>) -> Played {
    play.delete(X)?;
    play.insert(X, 5)?;
    play.read(X)?;
    play.delete(X)?;
    play.read(X)?;
    COMMIT
}

pub(super) fn change_x_in_many_ways(play: &mut Play<'_>) -> Played {
    play.read(X)?;
    play.update(X, 1)?;
    play.read(X)?;
    play.add(X, 2)?;
    play.update(X, 3)?;
    play.read(X)?;
    COMMIT
}

pub(super) fn read_and_increment_x(play: &mut Play<'_>) -> Played {
    play.read(X)?;
    play.read(X)?;
    play.update(X, 1)?;
    play.read(X)?;
    COMMIT
}

pub(super) fn write_and_read_own(play: &mut Play<'_>) -> Played {
    play.write(X, 5)?;
    play.read(X)?;
    play.add(X, 1)?;
    play.read(X)?;
    play.update(X, 1)?;
    play.write(Y, 5)?;
    play.read(X)?;
    COMMIT
}

pub(super) fn insert_and_read_own(play: &mut Play<'_>) -> Played {
    play.insert(N, 5)?;
    play.read(N)?;
    play.insert(N, 6)?;
    play.update(N, 1)?;
    play.write(N, 9)?;
    play.add(N, 1)?;
    play.read(N)?;
    COMMIT
}

pub(super) fn delete_and_read_own(play: &mut Play<'_>) -> Played {
    play.update(X, 1)?;
    play.delete(X)?;
    play.read(X)?;
    play.write(X, 9)?;
    play.update(X, 1)?;
    play.add(X, 1)?;
    play.delete(X)?;
    COMMIT
}

/// Swallows an abort and claims success, which the transaction must not grant.
fn go_on(play: &mut Play<'_>, first: usize, second: usize) -> Played {
    let changed = play.update(first, 1).and_then(|_| play.update(second, 1));
    if changed.is_err() {
        let _ = play.update(first, 1);
        play.note(WENT_ON);
    }
    COMMIT
}

pub(super) fn go_on_forth(play: &mut Play<'_>) -> Played {
    go_on(play, X, Y)
}

pub(super) fn go_on_back(play: &mut Play<'_>) -> Played {
    go_on(play, Y, X)
}
