//! Transactions of single records on the hardware, with real threads, where there are no transactions otherwise.

mod shared;

use contract::{ArchitectureName, Engine, EngineOptions, PairName, ProtocolName, Support};
use engine::ThisEngine;
use shared::counters::count;

const KEY_VALUE: PairName =
    PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::KeyValue };

#[test]
fn no_write_is_lost_and_no_row_is_torn() {
    let met: u64 = (0..8).map(|seed| count::<ThisEngine>(KEY_VALUE, 3, 5_000, seed)).sum();
    assert!(met > 10_000, "{met} different counts");
}

#[test]
fn who_does_not_say_that_transactions_are_single_operations_is_refused() {
    assert_eq!(ThisEngine::support(KEY_VALUE), Support::SingleRecords);
    let refused = ThisEngine::arrange(KEY_VALUE, 2, &EngineOptions::default()).expect_err("of many records");
    assert!(
        refused.to_string().starts_with("protocol key-value: allowed: with transactions of one"),
        "{refused}"
    );
}
