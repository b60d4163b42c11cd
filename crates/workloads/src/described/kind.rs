//! What a file is, for whoever gave it to a command that takes files of another kind: workloads, experiments and machines all end in `.toml`.

use std::fmt;

/// The kinds of files that commands take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Tables and transactions.
    Workload,
    /// A workload with axes, and what is the same at all points.
    Experiment,
    /// Something to simulate.
    Machine,
}

impl FileKind {
    /// By the names that such files must have; `None`: none of these kinds, or no TOML.
    fn of(text: &str) -> Option<FileKind> {
        let table = text.parse::<toml::Table>().ok()?;
        let has = |name: &str| table.contains_key(name);
        match () {
            () if has("tables") && has("transactions") => Some(FileKind::Workload),
            () if has("workload") && (has("axes") || has("base")) => Some(FileKind::Experiment),
            () if has("cores") => Some(FileKind::Machine),
            () => None,
        }
    }

    /// What follows on the complaint that `text` is no file of this kind: what it is, and what takes it. Empty if it is of this kind, or of none.
    pub fn but(self, text: &str) -> String {
        match FileKind::of(text) {
            Some(other) if other != self => format!("; it is {other}"),
            _ => String::new(),
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::Workload => {
                "a workload, which 'trireme run', 'compare', 'advise' and 'check' take, and an experiment may name"
            }
            FileKind::Experiment => "an experiment, which 'trireme sweep' takes",
            FileKind::Machine => {
                "a machine, which goes with --on, of 'trireme run', 'compare', 'sweep' and 'advise'"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_kind_is_named() {
        let files = [
            (FileKind::Workload, "[tables.a]\nrows = 1\n[transactions.b]\nweight = 1"),
            (FileKind::Experiment, "workload = 'ycsb'\n[[axes]]\nname = 'theta'"),
            (FileKind::Machine, "cores = 4\n[caches.l1]\nbytes = 32768"),
        ];
        for (kind, text) in files {
            for (wanted, _) in files {
                let told = wanted.but(text);
                assert_eq!(told.is_empty(), kind == wanted, "{told}");
                assert!(told.is_empty() || told == format!("; it is {kind}"), "{told}");
            }
            assert_eq!(kind.but("cores = ["), "", "no TOML");
            assert_eq!(kind.but("seed = 4"), "", "whatever it is");
        }
    }
}
