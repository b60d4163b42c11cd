//! What is ours rather than a paper's, or tells a paper's variants of a system apart, and changes every figure: named beside each, as far as its
//! systems use it.

use super::OptionDescription;
use crate::text::durations;
use contract::{ArchitectureName, BindingName, EngineOptions, InFlight, Instances, PairName};
use std::time::Duration;

/// How a value is said of these pairs; "" of a variant that is not there.
type Said = fn(&EngineOptions, &[PairName]) -> String;

/// The names of [`OPTIONS`](super::OPTIONS) that are named, each with how its value is said.
const EXTRAS: [(&str, Said); 23] = [
    ("prefetch", |engine, _| format!("prefetch {}", engine.prefetch)),
    ("back-off", |engine, _| match engine.back_off_cap_ns {
        0 => "back-off off".to_owned(),
        cap => format!("back-off {}..{cap} ns", engine.back_off_first_ns),
    }),
    ("precedence-after", |engine, _| match engine.precedence_after {
        0 => "no precedence".to_owned(),
        1 => "precedence after 1 abort".to_owned(),
        aborts => format!("precedence after {aborts} aborts"),
    }),
    ("deadlock-timeout", |engine, _| match engine.deadlock_timeout_ns {
        None => "no timeout".to_owned(),
        Some(0) => "waits for no lock".to_owned(),
        Some(ns) => format!("waits {} for a lock", durations::show(Duration::from_nanos(ns))),
    }),
    ("sample", |engine, _| match engine.sample_one_in {
        0 => "no transaction timed by class".to_owned(),
        number => format!("one transaction in {number} timed by class"),
    }),
    ("rate", |engine, _| match engine.open_loop {
        None => String::new(),
        Some(open) => format!("an open loop of {} {} arrivals a second", open.rate_per_s, open.arrivals),
    }),
    ("latch", |engine, _| format!("latch of lock lists {}", engine.latch)),
    ("timestamps", |engine, _| format!("timestamps {}", engine.timestamps)),
    ("partition-latch", |engine, _| {
        format!(
            "latch of partitions {}",
            engine.partition_latch.map_or("auto".to_owned(), |latch| latch.to_string())
        )
    }),
    ("in-flight", |engine, pairs| match engine.in_flight {
        InFlight::Default if !pairs.iter().any(|pair| has_fibers(pair.architecture)) => String::new(),
        InFlight::Auto => {
            "as many in flight per worker as bring most, from its first ten thousand or so on".to_owned()
        }
        told => format!("{} in flight per worker", told.in_fibers()),
    }),
    ("servers", |engine, _| {
        format!("{} server{}", engine.servers, if engine.servers == 1 { "" } else { "s" })
    }),
    ("cc-threads", |engine, _| match engine.cc_threads {
        1 => "1 concurrency-control thread".to_owned(),
        threads => format!("{threads} concurrency-control threads"),
    }),
    ("forwarding", |engine, _| variant(!engine.forwarding, "no forwarding of requests")),
    ("shared-lock-table", |engine, _| variant(engine.shared_lock_table, "a shared lock table")),
    ("locks-by-hash", |engine, _| variant(engine.locks_by_hash, "locks divided by hash")),
    ("instances", |engine, _| {
        let instances = match engine.instances {
            Instances::ONE => return String::new(),
            Instances::PerCore => "an instance for each worker".to_owned(),
            Instances::PerSocket => "an instance for each socket".to_owned(),
            Instances::PerMachine => "an instance for each machine".to_owned(),
            Instances::Count(count) => format!("{count} instances"),
        };
        match engine.in_flight {
            InFlight::Default => {
                format!("{instances}, {} in flight per worker", engine.in_flight.in_fibers())
            }
            // It has been said.
            InFlight::Told(_) | InFlight::Auto => instances,
        }
    }),
    ("channel", |engine, _| match engine.instances {
        Instances::ONE => String::new(),
        _ => format!("{} between instances", engine.channel),
    }),
    ("bind", |engine, _| match engine.bind {
        BindingName::Cores => String::new(),
        BindingName::Sockets => "workers bound to sockets".to_owned(),
        BindingName::Off => "workers not bound".to_owned(),
    }),
    ("readers-wait", |engine, _| variant(!engine.readers_wait, "readers abort at locks")),
    ("one-shot", |engine, _| variant(engine.instances != Instances::ONE && !engine.one_shot, "no fragments")),
    ("split-indexes", |engine, _| variant(engine.split_indexes, "split indexes")),
    ("preclaim", |engine, _| variant(engine.preclaim, "locks preclaimed")),
    ("selective-contention-analysis", |engine, _| {
        variant(engine.selective_contention_analysis, "selective contention analysis")
    }),
];

/// Whether workers have several transactions in flight unless they are told otherwise.
fn has_fibers(architecture: ArchitectureName) -> bool {
    matches!(architecture, ArchitectureName::Dora | ArchitectureName::Orthrus)
}

fn variant(is_there: bool, words: &str) -> String {
    if is_there { words.to_owned() } else { String::new() }
}

/// What `engine` has of ours that one of `pairs` uses; for people.
pub fn extras(engine: &EngineOptions, pairs: &[PairName]) -> String {
    extras_of_points([engine].into_iter(), pairs)
}

/// The same of many points, and what differs between them.
pub fn extras_of_points<'a>(
    engines: impl Iterator<Item = &'a EngineOptions> + Clone,
    pairs: &[PairName],
) -> String {
    said(engines, pairs, |_| true)
}

/// The same of a check, as far as that has the options.
pub fn extras_of_check(engine: &EngineOptions, pair: Option<PairName>) -> String {
    said([engine].into_iter(), pair.as_slice(), |option| option.in_checks)
}

fn said<'a>(
    engines: impl Iterator<Item = &'a EngineOptions> + Clone,
    pairs: &[PairName],
    is_wanted: impl Fn(&OptionDescription) -> bool,
) -> String {
    let (mut said, mut differing) = (Vec::new(), Vec::new());
    for (name, words) in EXTRAS {
        let option = OptionDescription::named(name).expect("a name of OPTIONS");
        if !(is_wanted(option) && pairs.iter().any(|pair| option.is_used_by(*pair))) {
            continue;
        }
        let mut values = engines.clone().map(|engine| words(engine, pairs));
        let Some(first) = values.next() else { continue };
        match values.all(|other| other == first) {
            true => said.extend((!first.is_empty()).then_some(first)),
            false => differing.push(name),
        }
    }
    if !differing.is_empty() {
        said.push(format!("from point to point another {}", differing.join(", ")));
    }
    said.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{PartitionLatchName, ProtocolName};

    const NO_WAIT: PairName =
        PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::NoWait };
    const DORA: PairName = PairName { architecture: ArchitectureName::Dora, ..NO_WAIT };

    #[test]
    fn a_figure_names_what_its_systems_use() {
        let ours = EngineOptions::default();
        let common =
            "back-off 500..1024000 ns, precedence after 256 aborts, one transaction in 64 timed by class";
        assert_eq!(extras(&ours, &[NO_WAIT]), format!("prefetch on, {common}"));
        let dora = format!("{common}, {} in flight per worker", ours.in_flight.in_fibers());
        assert_eq!(extras(&ours, &[DORA]), dora);
        let told = EngineOptions { in_flight: 8.into(), ..EngineOptions::default() };
        assert!(extras(&told, &[NO_WAIT]).ends_with("by class, 8 in flight per worker"));
        let auto = EngineOptions { in_flight: InFlight::Auto, ..EngineOptions::default() };
        assert!(extras(&auto, &[NO_WAIT]).ends_with(
            "by class, as many in flight per worker as bring most, from its first ten thousand or so on"
        ));
        for protocol in [ProtocolName::DlDetect, ProtocolName::Dreadlocks, ProtocolName::WaitDie] {
            let words = extras(&ours, &[PairName { protocol, ..NO_WAIT }]);
            assert!(words.contains("latch of lock lists") && words.contains("no timeout, "), "{words}");
            let told = EngineOptions { deadlock_timeout_ns: Some(100_000), ..EngineOptions::default() };
            let words = extras(&told, &[PairName { protocol, ..NO_WAIT }]);
            assert!(words.contains("waits 100us for a lock, "), "{words}");
        }
        let all: Vec<PairName> = PairName::all().collect();
        let told = EngineOptions { partition_latch: Some(PartitionLatchName::Ticket), servers: 2, ..ours };
        let words = extras(&told, &all);
        assert!(
            words.contains(&format!(
                "latch of lock lists {}, timestamps {}, latch of partitions ticket, ",
                told.latch, told.timestamps
            )),
            "{words}"
        );
        assert!(words.ends_with("in flight per worker, 2 servers, 1 concurrency-control thread"), "{words}");
    }

    #[test]
    fn a_variant_is_named_where_it_is() {
        let orthrus =
            PairName { architecture: ArchitectureName::Orthrus, protocol: ProtocolName::Unprotected };
        let ours = EngineOptions::default();
        let without = extras(&ours, &[orthrus]);
        assert!(without.ends_with("4 in flight per worker, 1 concurrency-control thread"), "{without}");
        let told = EngineOptions {
            cc_threads: 2,
            forwarding: false,
            shared_lock_table: true,
            locks_by_hash: true,
            split_indexes: true,
            preclaim: true,
            ..EngineOptions::default()
        };
        let with = extras(&told, &[orthrus]);
        let variants = "2 concurrency-control threads, no forwarding of requests, a shared lock table, locks divided by hash, \
                        split indexes";
        assert!(with.ends_with(variants), "{with}");
        let points = extras_of_points([&ours, &told].into_iter(), &[orthrus]);
        assert!(points.contains("shared-lock-table, locks-by-hash, split-indexes"), "{points}");
        let check = extras_of_check(&told, Some(orthrus));
        assert!(check.ends_with(variants) && !check.contains("timed by class"), "{check}");
        assert!(extras(&told, &[NO_WAIT]).ends_with("timed by class, split indexes"));
    }

    #[test]
    fn a_figure_as_in_the_papers_says_so() {
        let papers = EngineOptions {
            prefetch: contract::PrefetchName::Off,
            back_off_first_ns: 0,
            back_off_cap_ns: 0,
            precedence_after: 0,
            sample_one_in: 0,
            ..EngineOptions::default()
        };
        let words = "prefetch off, back-off off, no precedence, no transaction timed by class";
        assert_eq!(extras(&papers, &[NO_WAIT]), words);
    }

    #[test]
    fn what_differs_between_points_is_named() {
        let (on, off) =
            (EngineOptions::default(), EngineOptions { precedence_after: 0, ..Default::default() });
        let words = extras_of_points([&on, &off].into_iter(), &[NO_WAIT]);
        assert!(
            !words.contains("256") && words.ends_with("from point to point another precedence-after"),
            "{words}"
        );
    }
}
