//! Who is silent. Between processes nobody can tell one that is slow from one that is gone, or a message that is late from one that is lost, if nothing comes after it. So a worker that has sent nothing
//! to a counterpart for a while sends it a *beat*, whose number says what should have come before; and of whom nothing is heard for [`worker::patience`], not even
//! that, the instance is lost. Only whole messages are heard. Whoever was kept from listening himself listens for as long again.

use super::Endpoint;
use super::counterpart::BEAT;
use crate::facade::{clock, worker};

/// Beats in the time after which who is silent is lost.
const BEATS_IN_PATIENCE: u32 = 8;

impl Endpoint<'_> {
    /// Tells those who have heard nothing for a while that this worker is there, and loses those who have told nothing for long.
    #[inline]
    pub(super) fn look_at_clock(&mut self) {
        if self.channels.leave_process() && !self.is_broken {
            self.beat_and_listen();
        }
    }

    fn beat_and_listen(&mut self) {
        let now = clock::now();
        let patience = clock::ticks_of(worker::patience());
        let beat = patience / u64::from(BEATS_IN_PATIENCE);
        let was_away = now.since(std::mem::replace(&mut self.looked, now)) > patience / 2;
        for instance in 0..self.counterparts.len() {
            let Some(counterpart) = self.counterparts[instance].as_mut().filter(|other| !other.has_ended)
            else {
                continue;
            };
            if was_away {
                counterpart.heard = now;
            }
            if now.since(counterpart.heard) > patience {
                let silence = worker::patience();
                self.channels.lose(instance, format!("nothing was heard from it for {silence:?}"));
            } else if now.since(counterpart.spoke) > beat && !self.has_left {
                counterpart.spoke = now;
                self.send(instance, BEAT, b"");
            }
        }
    }
}
