//! MOCC: mostly optimistic; SILO whose transactions lock what is hot before they read it (Wang and Kimura, *Mostly-Optimistic
//! Concurrency Control for Highly Contended Dynamic Workloads on a Thousand Cores*, PVLDB 10(2), 2016).
//!
//! A read that is validated at commit is in vain if somebody writes the record meanwhile, and of a record that many write somebody does.
//! So each record has a *temperature*, which failed validations raise. One that is hot is locked before it is read, `Shared`, or
//! exclusively if the transaction reads it to write it, and the lock is held until the transaction ends: nobody writes it meanwhile, and
//! there is nothing to validate. All others are read as under SILO.
//!
//! State, one word in the record:
//!
//! | bits | what |
//! |---|---|
//! | 0 | LOCKED: by a transaction that commits; from phase 1 to phase 3 |
//! | 1 | SUPERSEDED: unlinked from the index |
//! | 2 | ABSENT: the key has no row: an insert not yet committed, or a delete |
//! | 3 | WRITER: held exclusively since an access, by a transaction that will write it; what is there may be read until it is LOCKED |
//! | 4 | WAITED: somebody was denied the lock |
//! | 5..16 | readers: transactions that hold it `Shared` |
//! | 16..19 | temperature |
//! | 19..64 | version |
//!
//! *Temperature* (section 3.1). A validation that fails raises it by one with probability 2^-temperature (approximate counting), so it stands
//! for about 2^temperature failures, and most failures write nothing. A record is hot from [`HOT`] on: after seven failures or so.
//! It cools with use: a lock that is given back although nobody was denied it lowers the temperature by one, one time in
//! [`COOLS_ONE_IN`]; so does a version in as many that is published. A record that nobody uses may stay as hot as it is.
//!
//! *Locks* (section 3.2). LOCKED and WRITER exclude each other and readers. Who is denied a lock is told to ask again, and marks the word
//! WAITED: until all readers have left, no other comes in, so a writer is not overtaken by readers for ever. Whoever gets the lock then
//! takes the mark away; so it is in nobody's way if who has set it does not come back.
//!
//! *The canonical order* is that of tables and keys. A transaction waits for a record only while all that it holds comes
//! before it. It holds more, if keys come in another order: then it tries, and if it is denied, gives back what comes behind, and waits.
//! So of transactions that wait for each other in a chain each waits for a record further on, and there is no circle. What was given
//! back is from then on something that was read, or is to be written, without a lock: commit validates it. Readers that
//! lock nothing wait for LOCKED records only, by the same rule.
//!
//! *The retrospective lock list* (section 3.3). A retry remembers what the attempt before it has locked at an access, given back or not, and
//! what it failed on. When it comes to one of these, or to a hot record, it first locks all of the list that comes before, in the
//! canonical order, each in the mode in which it was wanted in the end; so it violates the order no more if it does what it did.
//! A record that was locked so, and is not used, is one that was read.
//!
//! Commit (section 3.4): phase 1 locks the write set, in the order of access as long as nobody is in the way, and then in the canonical one,
//! by the rule above; what the transaction holds already it keeps. 2. Validation is SILO's, of all that it has read and does not
//! hold, or has locked to write. The id is the least that is larger than every version read or overwritten. 3. Install, and publish the id,
//! which unlocks; give back the rest.
//!
//! Why it is right: what is held when the transaction validates was not written since it was read, so it is as if it had been
//! validated, too; and who writes it later locks it after that. The rest is SILO's argument.
//!
//! - Repeated keys: a record has one entry in the access set, and its lock, if it has one, is that entry's.
//! - A `Shared` that is held becomes LOCKED at commit if no other reader is there. Two who want that give their own back, by the rule
//!   (who waits for a record holds nothing of it); the second to lock it fails validation.
//! - A record that is deleted has no readers, for it is LOCKED before. One that is not there, or not yet, is not locked: missing keys are SILO's
//!   ([`super::silo`]), also those that are inserted again, which get a record of their own.
//! - Who aborts gives back all, and builds the list.
//!
//! We differ. The paper counts temperatures by page, with a threshold of its own; ours are of records, of which one is hot while its neighbours
//! are not, so that fewer failures say as much. The paper's locks are queues, in which waiters spin on words of their own; ours are bits
//! of the version's word: a cold record costs what it costs under SILO, and a record has eight bytes; who waits asks again. The paper
//! verifies also what is locked, since a lock may be gone; our transaction knows which it has given back. The paper's transactions may keep locks that
//! violate the order and abort if they are denied; ours give them back. The paper takes the list's locks in each attempt before the first
//! access that comes behind; so do we, if that access is to something hot or of the list.

use super::{Attempt, Held, Mode, Observation, Preparing, Protecting, Protocol, Request, Silo, SlotState};
use super::{Validating, Validity, Verdict, Waker};
use crate::architecture::Architecture;
use crate::physical::{Physical, Word};
use crate::record::header::Narrow;
use crate::timestamp::Timestamp;
use crate::transaction::access::MostlyValidated;
use crate::transaction::lock_list::LockList;
use contract::{AbortReason, EngineOptions};

const LOCKED: u64 = 1;
const SUPERSEDED: u64 = 2;
const ABSENT: u64 = 4;
const WRITER: u64 = 8;
const WAITED: u64 = 16;
const READER: u64 = 1 << 5;
const READERS: u64 = MOST_READERS << 5;
const MOST_READERS: u64 = (1 << 11) - 1;
const DEGREE: u64 = 1 << 16;
const TEMPERATURE: u64 = 7 << 16;
/// One version further.
const NEXT: u64 = 1 << 19;
const VERSION: u64 = !(NEXT - 1);

const STATUS: u64 = LOCKED | SUPERSEDED | ABSENT;
/// What names a version, and whether it can be seen.
const SEEN: u64 = VERSION | STATUS;

/// The temperature from which on a record is locked before it is read.
const HOT: u32 = 3;
/// The highest.
const HOTTEST: u32 = (TEMPERATURE / DEGREE) as u32;
const _: () = assert!(HOT <= HOTTEST, "records get hot");

/// Of locks that are given back without having been in anybody's way, one in so many cools its record.
const COOLS_ONE_IN: u32 = 64;

/// MOCC.
pub(crate) struct Mocc;

const fn temperature(word: u64) -> u32 {
    ((word & TEMPERATURE) / DEGREE) as u32
}

/// The same, cooler by one, if it is not as cold as can be, and nobody was denied it.
const fn cooled(word: u64) -> u64 {
    if word & WAITED == 0 && temperature(word) > 0 { word - DEGREE } else { word }
}

/// What becomes of a word that somebody is denied who asks again.
const fn denied(word: u64) -> (u64, Verdict) {
    (word | WAITED, Verdict::Retry)
}

/// What becomes of a word of which a reader wants a hold, and what he is told.
const fn share(word: u64) -> (u64, Verdict) {
    if word & (SUPERSEDED | ABSENT) != 0 {
        return (word, Verdict::Abort(AbortReason::ReadValidation));
    }
    let closed = word & WAITED != 0 && word & READERS != 0;
    if word & (LOCKED | WRITER) != 0 || closed {
        return denied(word);
    }
    ((word & !WAITED) + READER, Verdict::Granted)
}

/// What becomes of a word that somebody wants exclusively, who holds it so already or not, and what he is told. It will be `to`, LOCKED
/// or WRITER; `inserted`: it is his own.
const fn exclude(word: u64, held: Option<Held>, inserted: bool, to: u64) -> (u64, Verdict) {
    let mine = match held {
        Some(Held::Exclusive) => return (word & !WRITER | to, Verdict::Granted),
        Some(Held::Locked) => return (word, Verdict::Granted),
        Some(Held::Shared) => READER,
        None => 0,
    };
    if word & (LOCKED | WRITER) != 0 || word & READERS != mine {
        return denied(word);
    }
    if word & STATUS != if inserted { ABSENT } else { 0 } {
        // Deleted since it was found.
        return (word, Verdict::Abort(AbortReason::ReadValidation));
    }
    (word & !(READERS | WAITED) | to, Verdict::Granted)
}

/// Changes a word that others change meanwhile, and answers what was said.
fn change(meta: &impl Word<u64>, to: impl Fn(u64) -> (u64, Verdict)) -> Verdict {
    loop {
        let before = meta.read();
        let (after, verdict) = to(before);
        if after == before || meta.replace(before, after).is_ok() {
            return verdict;
        }
    }
}

/// What a slot holds, and what its retry will want. See [`LockList`].
impl SlotState for LockList {
    type Stamp = ();

    fn new() -> Self {
        LockList::new()
    }

    #[inline(always)]
    fn begin(&mut self, attempt: Attempt, _: impl FnOnce() -> Timestamp) {
        self.begin(attempt);
    }

    #[inline(always)]
    fn stamp(&self) {}

    fn take_hot_locks(&mut self) -> u64 {
        self.take_taken()
    }
}

impl Protocol for Mocc {
    type Meta<P: Physical> = P::SingleWriter;
    type Header = Narrow;
    type Gap<P: Physical> = P::SingleWriter;
    type Common<P: Physical> = ();
    type Slot = LockList;
    type Access<A: Architecture<Protocol = Self>> = MostlyValidated;

    fn common<P: Physical>(slots: usize, _: usize, _: &EngineOptions) {
        assert!(
            slots as u64 <= MOST_READERS,
            "{slots} transactions in flight, and at most {MOST_READERS} can be counted"
        );
    }

    fn is_quiescent<P: Physical>(meta: &P::SingleWriter) -> bool {
        meta.read() & (STATUS | WRITER | READERS) == 0
    }

    fn is_gap_quiescent<P: Physical>(_: &P::SingleWriter) -> bool {
        // A version is not a hold.
        true
    }
}

impl Preparing for Mocc {
    #[inline(always)]
    fn prepare<P: Physical>(
        meta: &P::SingleWriter,
        inserted: bool,
        _: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        Self::lock::<P>(meta, None, inserted)
    }

    #[inline(always)]
    fn unprepare<P: Physical>(meta: &P::SingleWriter, _: bool, _: Request<'_, Self, P, impl Waker>) {
        Self::give_back::<P>(meta, Held::Locked, false);
    }
}

// SAFETY: the metadata is single-writer words.
unsafe impl Validating for Mocc {
    const EXPIRES: bool = false;

    #[inline(always)]
    fn observe<P: Physical>(meta: &P::SingleWriter) -> Observation {
        let word = meta.read() & SEEN;
        match word & STATUS {
            0 => Observation::Present(word),
            status if status & LOCKED != 0 => Observation::Locked,
            ABSENT => Observation::Absent(word),
            _ => Observation::Unlinked,
        }
    }

    #[inline(always)]
    fn validate<P: Physical>(
        meta: &P::SingleWriter,
        token: u64,
        mine: bool,
        _: &LockList,
        _: u64,
    ) -> Validity {
        let expected = if mine { token | LOCKED } else { token };
        if meta.read_in_order() & SEEN == expected { Validity::Valid } else { Validity::Invalid }
    }

    fn claim<P: Physical>(meta: &P::SingleWriter) {
        meta.store(ABSENT);
    }

    #[inline(always)]
    fn publish<P: Physical>(meta: &P::SingleWriter, id: u64) {
        let word = meta.read();
        assert!(word & LOCKED != 0 && id > word & VERSION, "versions of a record ascend");
        let cools = (id / NEXT).is_multiple_of(u64::from(COOLS_ONE_IN));
        let word = if cools { cooled(word) } else { word };
        // What others do to a word that is LOCKED, to warm it or to mark that they wait, may be lost.
        meta.store(id | word & TEMPERATURE);
    }

    fn mark_deleted<P: Physical>(meta: &P::SingleWriter, _: &P::SingleWriter, _: u64) {
        // As under SILO: it is LOCKED by this transaction, or was absent to all, and nobody else holds it.
        let word = meta.read();
        assert!(word & READERS == 0, "deleted while it is read under a lock");
        meta.store((word | ABSENT | SUPERSEDED) & !(LOCKED | WRITER | WAITED));
    }

    #[inline(always)]
    fn after_read(token: u64) -> u64 {
        (token & VERSION) + NEXT
    }

    fn after_gap(_: u64) -> u64 {
        0
    }

    #[inline(always)]
    fn after_write<P: Physical>(meta: &P::SingleWriter) -> u64 {
        (meta.read() & VERSION) + NEXT
    }

    #[inline(always)]
    fn transaction_id(_: &mut LockList, least: u64, _: u64, _: impl FnOnce() -> Timestamp) -> u64 {
        assert!(least < VERSION, "2^45 commits of one record");
        least
    }

    fn observe_gap<P: Physical>(gap: &P::SingleWriter) -> u64 {
        Silo::observe_gap::<P>(gap)
    }

    #[inline(always)]
    fn validate_gap<P: Physical>(gap: &P::SingleWriter, token: u64, id: u64) -> Validity {
        Silo::validate_gap::<P>(gap, token, id)
    }

    fn advance_gap<P: Physical>(gap: &P::SingleWriter, record: &P::SingleWriter) -> (u64, u64) {
        Silo::advance_gap::<P>(gap, record)
    }

    fn split_gap<P: Physical>(gap: &P::SingleWriter, fresh: &P::SingleWriter) {
        Silo::split_gap::<P>(gap, fresh);
    }

    fn retire_gap<P: Physical>(gap: &P::SingleWriter) {
        Silo::retire_gap::<P>(gap);
    }

    fn inherit_gap<P: Physical>(retired: &P::SingleWriter, heir: &P::SingleWriter) {
        Silo::inherit_gap::<P>(retired, heir);
    }
}

impl Protecting for Mocc {
    const COOLS_ONE_IN: u32 = COOLS_ONE_IN;

    fn locks(slot: &LockList) -> &LockList {
        slot
    }

    fn locks_mut(slot: &mut LockList) -> &mut LockList {
        slot
    }

    #[inline(always)]
    fn is_hot<P: Physical>(meta: &P::SingleWriter) -> bool {
        temperature(meta.read()) >= HOT
    }

    fn hold<P: Physical>(meta: &P::SingleWriter, mode: Mode) -> Verdict {
        change(meta, |word| match mode {
            Mode::Shared => share(word),
            Mode::Exclusive => exclude(word, None, false, WRITER),
        })
    }

    #[inline(always)]
    fn lock<P: Physical>(meta: &P::SingleWriter, held: Option<Held>, inserted: bool) -> Verdict {
        change(meta, |word| exclude(word, held, inserted, LOCKED))
    }

    fn give_back<P: Physical>(meta: &P::SingleWriter, held: Held, cools: bool) {
        let cool = |word| if cools { cooled(word) } else { word };
        match held {
            Held::Shared => {
                let before = match cools {
                    false => meta.subtract(READER),
                    true => loop {
                        let before = meta.read();
                        if meta.replace(before, cool(before) - READER).is_ok() {
                            break before;
                        }
                    },
                };
                assert!(before & READERS != 0, "given back without being held");
            }
            Held::Exclusive | Held::Locked => {
                let word = meta.read();
                let flag = if held == Held::Locked { LOCKED } else { WRITER };
                assert!(word & flag != 0, "given back without being held");
                // As in `publish`.
                meta.store(cool(word) & !(flag | WAITED));
            }
        }
    }

    fn temperature<P: Physical>(meta: &P::SingleWriter) -> Option<u32> {
        let temperature = temperature(meta.read());
        (temperature < HOTTEST).then_some(temperature)
    }

    fn warm<P: Physical>(meta: &P::SingleWriter, from: u32) {
        let word = meta.read();
        if temperature(word) == from && from < HOTTEST {
            // If it changes meanwhile, others are at it: that was one failure of many.
            let _ = meta.replace(word, word + DEGREE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V: u64 = 5 * NEXT;

    #[test]
    fn readers_share_and_writers_exclude() {
        let one = share(V);
        assert_eq!(one, (V + READER, Verdict::Granted));
        let (two, _) = share(one.0);
        assert_eq!(two, V + 2 * READER);
        for (held, inserted) in [(None, false), (Some(Held::Shared), false)] {
            assert_eq!(exclude(two, held, inserted, LOCKED), (two | WAITED, Verdict::Retry));
        }
        assert_eq!(exclude(one.0, Some(Held::Shared), false, LOCKED), (V | LOCKED, Verdict::Granted));
        assert_eq!(exclude(V | WRITER, Some(Held::Exclusive), false, LOCKED), (V | LOCKED, Verdict::Granted));
        for excluded in [V | LOCKED, V | WRITER] {
            assert_eq!(share(excluded).1, Verdict::Retry);
            assert_eq!(exclude(excluded, None, false, WRITER).1, Verdict::Retry);
        }
        assert_eq!(exclude(ABSENT, None, true, LOCKED), (ABSENT | LOCKED, Verdict::Granted));
        for dead in [V | ABSENT, V | ABSENT | SUPERSEDED] {
            assert!(matches!(share(dead).1, Verdict::Abort(_)));
            assert!(matches!(exclude(dead, None, false, LOCKED).1, Verdict::Abort(_)));
        }
    }

    #[test]
    fn readers_do_not_overtake_who_was_denied_until_all_have_left() {
        let denied = exclude(V + READER, None, false, LOCKED).0;
        assert_eq!(share(denied), (denied, Verdict::Retry));
        let left = denied - READER;
        // Who was denied did not come back.
        assert_eq!(share(left), (V + READER, Verdict::Granted));
        assert_eq!(exclude(left, None, false, LOCKED), (V | LOCKED, Verdict::Granted));
    }

    #[test]
    fn a_word_counts_all_slots_and_keeps_its_temperature() {
        let hot = V | (u64::from(HOTTEST) * DEGREE);
        let full = (0..MOST_READERS).fold(hot, |word, _| share(word).0);
        assert_eq!((full & READERS, temperature(full), full & VERSION), (READERS, HOTTEST, V));
        assert_eq!(full & STATUS, 0);
        assert_eq!(temperature(cooled(hot)), HOTTEST - 1);
        assert_eq!(cooled(hot | WAITED), hot | WAITED, "somebody was denied it");
        assert_eq!(cooled(V), V, "as cold as can be");
    }
}
