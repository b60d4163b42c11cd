//! Where ids of commits come from.

use crate::supported;
use crate::writes::{Loaded, TABLES, Write};
use contract::{CommitId, ProtocolName};
use engine::ThisEngine;

/// One counter gives each commit an id of its own, larger than those of its slot's commits before; a clock's would be far larger.
#[test]
fn global_ids_are_counted() {
    const EACH: u64 = 200;
    let logical = [
        ProtocolName::TicToc,
        ProtocolName::Timestamp,
        ProtocolName::Mvcc,
        ProtocolName::Hekaton,
        ProtocolName::Cicada,
    ];
    let draws = |protocol| !logical.contains(&protocol);
    for pair in supported().filter(|pair| draws(pair.protocol)) {
        let mut loaded = Loaded::<ThisEngine>::load(pair);
        let scripts = |worker| vec![vec![Write::Update(worker as u64)], vec![]];
        loaded.run_all(TABLES[0], scripts, EACH).expect("nobody panics");
        assert!(loaded.ids.iter().all(Vec::is_empty), "{pair}: nobody has asked");
        loaded.options.global_ids = true;
        loaded.run_all(TABLES[0], scripts, EACH).expect("nobody panics");
        let commits = EACH * loaded.ids.len() as u64;
        for ids in &loaded.ids {
            assert_eq!(ids.len() as u64, EACH, "{pair}");
            assert!(ids.is_sorted_by(|one, next| one < next), "{pair}");
        }
        let mut all: Vec<CommitId> = loaded.ids.concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len() as u64, commits, "{pair}");
        assert!(all[0].0 > 0, "{pair}");
        // Attempts that fail after they have drawn leave gaps.
        assert!(all[all.len() - 1].0 < 1000 * commits, "{pair}: {:?}", all[all.len() - 1]);
    }
}
