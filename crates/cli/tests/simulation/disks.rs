//! A simulated disk: when commits are durable, and how epochs follow it.

use crate::common::{Ran, fresh_folder};
use crate::{haswell, machine, on};
use serde_json::Value;

#[test]
fn a_commit_is_durable_once_the_simulated_disk_has_synced_its_epoch() {
    let folder = fresh_folder("simulated-durable");
    let bank =
        "run smallbank --customers 1000 --hot-customers 100 --protocol silo --workers 4 --repeat 1 --json";
    let line = format!("{bank} --warmup 1ms --duration 4ms");
    let logged = format!("{line} --durability group --log a,b --loggers 2 --epoch 200us");
    let nehalem = machine("nehalem-ex-4x8.toml");
    let (first, second) = (on(&folder, &logged, &nehalem), on(&folder, &logged, &nehalem));
    assert_eq!(first.code, Some(0), "{}", first.err);
    assert_eq!(first.out, second.out);
    let p50 = |ran: &Ran| ran.json()["latency_ns"]["p50"].as_u64().expect("some latencies");
    // Half an epoch on average until it ends, then a sync of 100 us at least.
    let durable = p50(&first);
    assert!((200_000..1_000_000).contains(&durable), "{durable} ns");
    assert!(p50(&on(&folder, &line, &nehalem)) < 50_000);
    assert!(first.json()["log"]["syncs"].as_u64() > Some(10), "{}", first.out);
    assert!(!folder.join("a").exists(), "the simulated disk is in memory");
    let refused = on(&folder, &logged, &haswell());
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("its file has no table [disk]"), "{}", refused.err);
}

#[test]
fn epochs_follow_the_disk_where_they_are_told_to() {
    let folder = fresh_folder("simulated-following");
    let bank =
        "run smallbank --customers 1000 --hot-customers 100 --protocol silo --workers 4 --repeat 1 --json";
    let logged = format!("{bank} --warmup 1ms --duration 4ms --durability group --log a --epoch 10us");
    let of = |follow: &str| {
        let ran =
            on(&folder, &format!("{logged} --epochs-follow-disk {follow}"), &machine("nehalem-ex-4x8.toml"));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let json = ran.json();
        let number = |value: &Value| value.as_u64().expect("a number");
        (
            number(&json["log"]["longest_sync_ns"]),
            number(&json["latency_ns"]["p99"]),
            number(&json["commits"]),
            number(&json["log"]["durable_epoch"]),
        )
    };
    let (sync, p99, commits, epochs) = of("on");
    // A commit waits until its epoch ends, and until a sync that has begun before and its own have ended; besides, for the logger's rounds.
    assert!(p99 <= 2 * sync + 2 * sync + 100_000, "p99 of {p99} ns, with syncs of {sync} ns at most");
    assert!(commits > 100, "{commits}");
    let (.., epochs_of_the_interval) = of("off");
    assert!(
        2 * epochs < epochs_of_the_interval,
        "{epochs} epochs that follow, {epochs_of_the_interval} of 10 us"
    );
}
