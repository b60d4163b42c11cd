//! What stands around the numbers of a command: the line, the machine, the program, and who else wanted the cores meanwhile.

use crate::load_advice::Load;
use harness::results::Surroundings;
use machine::hardware::environment::Environment;

/// Of the line that was typed, from now on.
pub fn of_line(line: &str) -> Surroundings {
    let mut surroundings = Surroundings::new(line.to_owned(), &Environment::of_this_machine());
    surroundings.tell("trireme_commit", env!("TRIREME_COMMIT"));
    surroundings.tell("compiler", env!("TRIREME_COMPILER"));
    surroundings
}

/// Adds what others took of the cores while something was measured, and the processors' frequency when that began and when it ended.
pub fn tell_load(surroundings: &mut Surroundings, load: &Load) {
    surroundings.tell("frequency_mhz", load.frequency);
    surroundings.tell("load_average_before", load.told.load_average);
    surroundings.tell("stolen_share", load.told.stolen);
    surroundings.tell("others_share", load.told.others);
}
