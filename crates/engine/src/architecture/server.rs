//! Serving: what a worker of delegation does for the others, and all that a dedicated server does.
//!
//! A server runs the steps that others have sent to it, in the order in which they came. What that takes it counts
//! ([`Effort`]): an idle look into the inbox is none of it. A worker that has transactions of its own times one serving in so many; one that
//! only serves times them all ([`Stretch`]).
//!
//! A server serves until nobody can need what it owns any more: until all workers that host transactions have ended, by
//! their run's end or by a panic, its own panic notwithstanding. So it is what is dropped last of a worker.

use super::delegation::DelegationState;
use super::{Delegation, Site, SiteOf};
use crate::facade::atomic::Ordering;
use crate::facade::clock::{self, Ticks};
use crate::facade::cpu;
use crate::message::{Grants, Inbox, step};
use crate::physical::Owned;
use crate::protocol::Protocol;
use crate::storage::Table;
use contract::{Effort, PartitionId};

/// One serving of an inbox that is not empty in so many is timed.
const TIMED_ONE_IN: u64 = 64;
/// Messages, and looks into the inbox, between two looks at the clock, for what counts until then and from then on.
pub(super) const BETWEEN_CLOCKS: u64 = 64;

/// A time in which a worker that only serves always found something to serve: it is one serving, and timed. The clock is read at its first message
/// and after its last. Of a worker that is saturated it lasts until the time that is asked for.
#[derive(Default)]
pub(crate) struct Stretch {
    since: Option<Ticks>,
}

impl Stretch {
    /// There is a message.
    #[inline(always)]
    pub fn goes_on(&mut self) {
        if self.since.is_none() {
            self.since = Some(clock::now());
        }
    }

    /// There is none. What comes before `deadline` counts.
    #[inline(always)]
    pub fn ends(&mut self, deadline: Ticks, effort: &mut Effort) {
        if let Some(since) = self.since.take() {
            effort.servings += 1;
            effort.serving.add(clock::nanoseconds(clock::now().min(deadline).since(since)));
        }
    }

    /// It is `deadline`, or somewhat later: what goes on begins anew.
    pub fn is_cut(&mut self, deadline: Ticks, effort: &mut Effort) {
        if self.since.is_some() {
            self.ends(deadline, effort);
            self.since = Some(deadline);
        }
    }
}

/// A worker that hosts no transactions.
pub(crate) trait Serving {
    /// Serves until about `deadline`, unless nobody can need what is here before.
    fn serve_until(&mut self, deadline: Ticks);

    /// What was served since this was last asked.
    fn take_effort(&mut self) -> Effort;
}

/// The owner of a partition, to those who send to it.
pub(crate) struct Server<'e, P: Protocol> {
    mine: PartitionId,
    state: &'e DelegationState<P>,
    site: Site<'e, P, Owned, Grants>,
    inbox: Inbox<'e>,
    spin: cpu::Spin,
    /// Of one that only serves.
    stretch: Stretch,
    effort: Effort,
}

impl<'e, P: Protocol> Server<'e, P> {
    /// Thread `me`.
    pub fn new(me: usize, tables: &'e [Table], state: &'e DelegationState<P>) -> Self {
        Server {
            mine: PartitionId(me as u32),
            state,
            // SAFETY: the run has this one state, and runs the steps of a partition on the thread that owns it, by `at` and `post`.
            site: unsafe { state.shared.site(tables) },
            inbox: Inbox::new(&state.rings, me),
            spin: cpu::Spin::new(),
            stretch: Stretch::default(),
            effort: Effort::default(),
        }
    }

    /// The partition that it owns, if there are so many.
    #[inline(always)]
    pub fn mine(&self) -> PartitionId {
        self.mine
    }

    /// Where its steps run.
    #[inline(always)]
    pub fn site(&self) -> &SiteOf<'e, Delegation<'e, P>> {
        &self.site
    }

    /// Runs what others have sent here, and tells `found` of each message before it runs; answers how many there were.
    #[inline(always)]
    fn run_sent(&mut self, mut found: impl FnMut()) -> u64 {
        let (site, mine) = (&self.site, self.mine);
        let served = self.inbox.serve(|taken| {
            found();
            let _sole = site.enter(mine);
            // SAFETY: all workers of a run send steps packed for the one type of site that the run has.
            unsafe { step::run(taken, site) }
        });
        self.effort.served += served;
        served
    }

    /// Runs what others have sent here; answers whether there was anything.
    #[inline(always)]
    pub fn serve(&mut self) -> bool {
        let timed = self.effort.servings.is_multiple_of(TIMED_ONE_IN);
        let mut began = None;
        let found = || {
            if timed && began.is_none() {
                began = Some(clock::now());
            }
        };
        if self.run_sent(found) == 0 {
            return false;
        }
        self.effort.servings += 1;
        if let Some(began) = began {
            self.effort.serving.add(clock::nanoseconds(clock::now().since(began)));
        }
        true
    }

    /// A wait begins.
    #[inline(always)]
    pub fn begin_to_wait(&mut self) {
        self.spin = cpu::Spin::new();
    }

    /// Serves, or else waits a little.
    #[inline(always)]
    pub fn serve_or_pause(&mut self) {
        if self.serve() {
            self.begin_to_wait();
        } else {
            self.spin.pause();
        }
    }

    /// As [`Server::serve_or_pause`], in a loop that ends at `deadline`.
    #[inline(always)]
    pub fn serve_or_pause_until(&mut self, deadline: Ticks) {
        if self.serve() {
            self.begin_to_wait();
        } else {
            self.spin.pause_until(deadline);
        }
    }

    /// Serves, or else waits for what may be long in coming.
    #[inline(always)]
    pub fn serve_or_rest(&mut self, rest: &mut cpu::Spin) {
        if self.serve() {
            *rest = cpu::Spin::new();
        } else {
            rest.rest();
        }
    }
}

impl<P: Protocol> Serving for Server<'_, P> {
    fn serve_until(&mut self, deadline: Ticks) {
        let (mut since_clock, mut rest) = (0, cpu::Spin::new());
        let mut stretch = std::mem::take(&mut self.stretch);
        // Acquire: pairs with the Release of a worker that has ended.
        while self.state.hosts_left.0.load(Ordering::Acquire) > 0 {
            let served = self.run_sent(|| stretch.goes_on());
            if served > 0 {
                rest = cpu::Spin::new();
            } else {
                stretch.ends(deadline, &mut self.effort);
                rest.rest();
            }
            since_clock += 1 + served;
            if since_clock >= BETWEEN_CLOCKS || rest.sleeps() {
                since_clock = 0;
                if clock::now() >= deadline {
                    stretch.is_cut(deadline, &mut self.effort);
                    self.stretch = stretch;
                    return;
                }
            }
        }
        // What came before the last of them ended.
        self.run_sent(|| stretch.goes_on());
        stretch.ends(deadline, &mut self.effort);
    }

    fn take_effort(&mut self) -> Effort {
        std::mem::take(&mut self.effort)
    }
}

/// Serves to the end; also if it is unwound meanwhile.
impl<P: Protocol> Drop for Server<'_, P> {
    fn drop(&mut self) {
        struct Serving<'s, 'e, P: Protocol>(&'s mut Server<'e, P>);
        impl<P: Protocol> Drop for Serving<'_, '_, P> {
            fn drop(&mut self) {
                self.0.serve_until(Ticks(u64::MAX));
            }
        }
        Serving(self).0.serve_until(Ticks(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_before_the_deadline_counts_and_what_goes_on_begins_there() {
        let (mut stretch, mut effort) = (Stretch::default(), Effort::default());
        stretch.ends(Ticks(u64::MAX), &mut effort);
        stretch.is_cut(Ticks(u64::MAX), &mut effort);
        assert_eq!(effort, Effort::default(), "there was nothing");

        stretch.goes_on();
        let since = stretch.since.expect("it has begun");
        stretch.goes_on();
        assert_eq!(stretch.since, Some(since));
        let deadline = Ticks(since.0 + 1);
        while clock::now() <= deadline {}
        stretch.is_cut(deadline, &mut effort);
        assert_eq!((effort.servings, effort.serving.ns), (1, clock::nanoseconds(1)));
        assert_eq!(stretch.since, Some(deadline));

        stretch.ends(Ticks(u64::MAX), &mut effort);
        assert_eq!((effort.servings, effort.serving.samples), (2, 2));
        assert_eq!(stretch.since, None);
    }
}
