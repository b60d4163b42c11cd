use super::tree;
use machine::hardware::frequency::Frequency;
use machine::hardware::load::{ForeignLoad, Watch, idle_test};
use machine::hardware::worker::cores;
use std::fs;
use std::time::Duration;

/// Ticks of two processors that we may use, and of a third that we may not.
fn stat(first: &str, second: &str) -> String {
    format!("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 {first}\ncpu1 9 9 9 9 9 9 9 9 9 9\ncpu10 {second}\nintr 1 2 3\n")
}

/// Of this process: `own` ticks for itself and 10 in the kernel.
fn own(own: u64) -> String {
    format!("42 (trireme) R 1 42 42 0 -1 4194304 98 0 0 0 {own} 10 0 0 20 0 1 0 83792 3133440 393\n")
}

#[test]
fn what_others_take_is_counted_over_the_measurement() {
    let before = stat("100 0 20 900 5 1 2 30 7 0", "50 0 0 950 0 0 0 0 0 0");
    let root = tree(
        "load",
        &[
            ("proc/loadavg", "1.95 1.55 0.84 4/108 2498\n"),
            ("proc/stat", &before),
            ("proc/self/stat", &own(100)),
        ],
    );
    let watch = Watch::below(&root, vec![0, 10]);
    // 200 ticks on two cores: 100 busy, of which 60 are ours, 20 stolen, 80 idle or waiting.
    let after = stat("150 10 30 950 15 6 7 40 9 0", "70 0 0 970 0 0 0 10 0 0");
    fs::write(root.join("proc/stat"), after).expect("a file for the test");
    fs::write(root.join("proc/self/stat"), own(160)).expect("a file for the test");
    let expected = ForeignLoad { load_average: Some(1.95), stolen: Some(0.1), others: Some(0.2) };
    assert_eq!(watch.end(), expected);
    assert!((expected.taken() - 0.3).abs() < 1e-12);
}

#[test]
fn where_the_system_does_not_tell_nothing_is_made_up() {
    let root = tree("no-load", &[]);
    assert_eq!(Watch::below(&root, vec![0]).end(), ForeignLoad::default());
}

#[test]
fn the_frequency_is_that_of_the_beginning_and_of_the_end() {
    let told = |first: f64, second: f64| format!("cpu MHz\t\t: {first}\ncpu MHz\t\t: {second}\n");
    let root = tree("frequency", &[("proc/cpuinfo", &told(1200.0, 1300.0))]);
    let watch = Watch::below(&root, vec![0]);
    fs::write(root.join("proc/cpuinfo"), told(2500.0, 3400.0)).expect("a file for the test");
    assert_eq!(watch.frequency(), Some(Frequency { lowest: 1200.0, highest: 3400.0 }));
    assert_eq!(Watch::below(&tree("no-frequency", &[]), vec![0]).frequency(), None);
}

/// That every core is looked at; how much it withholds is the machine's business.
#[test]
fn every_core_is_tried() {
    let withheld = idle_test(Duration::from_millis(2));
    assert_eq!(withheld.len(), cores());
    assert!(withheld.iter().all(|core| (0.0..=1.0).contains(&core.part)), "{withheld:?}");
}
