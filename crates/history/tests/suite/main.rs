//! The checker against hand-written histories, against brute force, and around toy engines that are weak in
//! known ways.

mod anomalies;
mod dependencies;
mod elle;
mod hand_written;
mod list_append;
mod membership;
mod mixed;
mod oracle;
mod script;
mod toy;
mod wrapper;
