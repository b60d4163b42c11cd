//! Versions: what records were, for transactions that read a snapshot (*silo* 4.9).
//!
//! **Snapshots** are numbered; every k epochs make one ([`crate::epoch`]). That of number s shows what was committed in its epochs and all
//! before them, and nothing else. Epochs agree with the serial order ([`crate::durability`]), so that is what a prefix of it has
//! left: a transaction that reads it is serializable, and comes where the prefix ends. It can be begun once those epochs are
//! complete, and so never changes: who reads it holds nothing, validates nothing, and never aborts.
//!
//! **State.** Before its key a record has two words ([`Lineage`]): since which snapshot the row is what it is (0: it was loaded), and the
//! row's previous version. A [`Version`] is a piece of the heap that nobody writes again: a row of the record, since which snapshot
//! it was that, and the version before. Of the rows that a record had within one snapshot's epochs only the last is kept.
//!
//! **Writers.** One transaction at a time writes a record, by its protocol. Before the first of its changes reaches the row, it looks
//! whether the row is of an earlier snapshot than what it commits will be; if so, it makes a version of the row, links it,
//! and says that the row is of the later one. Else nothing is to do: that nobody will ever be shown the row that is overwritten.
//!
//! | writes go | a version is made | of the snapshot |
//! |---|---|---|
//! | to private copies | before they are installed; under protocols that validate, before the row is locked | of the epoch in which the transaction commits |
//! | in place | before the first change of a row | of its local epoch; at commit, if that turns out to be in the next one, of that |
//!
//! *Who aborts* puts the row back and leaves the version: it has written what was there. *Who commits in the next snapshot*, having
//! changed in place a row that was of its local epoch's one, makes the version from the row and what it has kept for undo.
//!
//! **Readers** of snapshot s show the row if it is of s or before, and still is so after they have copied it; else the first of its
//! versions that is. A record that has none was inserted later.
//!
//! **Why that is right.** (A) *While a transaction runs whose local epoch is of snapshot t, nobody reads t or a later one*: not all of
//! its epochs are complete. So whatever writes happen, they say t or later before they change a row, and readers are of an earlier one.
//! (B) *A row that was read twice as being of n <= s, with the copy between, was not changed meanwhile*: a change follows the word that
//! says that the row is of a later snapshot than s, by (A), it never says n again, and a reader that has copied a changed byte
//! sees that word (a Release fence before the changes, an Acquire fence behind the copy). If the word did not change because
//! the row was n's already, then n > s. (C) *What a reader follows is there*: see below.
//!
//! **Inserts.** The record of an insert is of no snapshot until it commits.
//!
//! **Deletes.** A record that is deleted leaves its index as it does without snapshots, and no protocol knows of versions. Before that, its last
//! version goes to the [`graveyard`], with the snapshot since which there is none. A reader that does not find the record, or finds one
//! that was inserted later, looks there. It finds it: the version was buried before the record was unlinked.
//! We differ: in *silo* the index keeps the record, marked as absent, until its versions may go; scans and inserts pass over it.
//!
//! **Reclamation.** A version that was superseded in snapshot n is freed once no snapshot before n is read, or will be
//! ([`Epochs::needed_snapshot`](crate::epoch::Epochs::needed_snapshot)); the slot that made it keeps it until then ([`cache`]). Nothing
//! is unlinked: (C) who reads s follows a link to an older version only from one of a later snapshot than s, so the version at its
//! other end was superseded later than s. Links beyond that may dangle. A value of a row that varies in length ([`crate::record::value`])
//! goes with the version that has it.
//!
//! Under TICTOC there are none ([`crate::matrix`]).

pub(crate) mod cache;
pub(crate) mod graveyard;

pub(crate) use crate::record::version::{Lineage, Version};
pub(crate) use cache::VersionCache;
pub(crate) use graveyard::Graveyard;
