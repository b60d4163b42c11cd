//! Machines that there are, and files that are none.

use crate::common::fresh_folder;
use crate::{SHORT, haswell, machine, on};
use std::fs;
use std::path::PathBuf;

#[test]
fn meshes_are_machines_too() {
    let folder = fresh_folder("simulated-mesh");
    let line = format!("run micro {SHORT} --protocol silo --json");
    let ran = on(&folder, &line, &machine("graphite-mesh-64.toml"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let summary = ran.json();
    assert_eq!(summary["workers"], 64, "all its cores, if nothing else is said");
}

#[test]
fn what_is_no_machine_is_refused() {
    let folder = fresh_folder("no-machines");
    let text = fs::read_to_string(haswell()).expect("a machine");
    let spoilt = |name: &str, from: &str, to: &str| -> PathBuf {
        assert!(text.contains(from), "{from}");
        let file = folder.join(name);
        fs::write(&file, text.replacen(from, to, 1)).expect("written");
        file
    };
    let none = folder.join("none.toml");
    for (file, said) in [
        (none, "hardware, or a machine file"),
        (spoilt("a.toml", "cores = 72", ""), "a.toml: cores: is missing"),
        (spoilt("b.toml", "cores = 72", "cores = 71"), "b.toml: cores = 71: is no multiple of the 4 sockets"),
        (spoilt("c.toml", "name = ", "nam = "), "c.toml: name: is missing"),
        (spoilt("d.toml", "[core]", "[core]\nspeed = 3"), "core.speed"),
        (spoilt("e.toml", "[core]", "[core"), "e.toml: no machine file"),
    ] {
        let ran = on(&folder, "run micro --protocol silo", &file.display().to_string());
        assert_eq!(ran.code, Some(2), "{}: {}", file.display(), ran.out);
        assert!(ran.err.contains(said), "{}: {}", file.display(), ran.err);
    }
    let ran = on(&folder, "run micro --protocol silo --workers 73", &haswell());
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.contains("--workers 73: allowed: 1 <= workers <= 72, the cores of haswell-ex-4x18"),
        "{}",
        ran.err
    );
}
