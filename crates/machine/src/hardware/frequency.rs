//! At what frequency the processors run, as far as the system says.

use serde::Serialize;
use std::fs;
use std::path::Path;

/// The slowest and the fastest of the processors, at one moment or at several, in megahertz. What a hypervisor says of its guests' processors may be one number that never changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Frequency {
    /// The slowest.
    pub lowest: f64,
    /// The fastest.
    pub highest: f64,
}

impl Frequency {
    /// Of both moments: the slowest and the fastest.
    pub fn with(self, other: Frequency) -> Frequency {
        Frequency { lowest: self.lowest.min(other.lowest), highest: self.highest.max(other.highest) }
    }
}

/// At this moment, with the files of the system under `root`: what the governor of each processor says, or else what the kernel measured; `None` where neither says anything.
pub fn below(root: &Path) -> Option<Frequency> {
    let processors = fs::read_dir(root.join("sys/devices/system/cpu")).into_iter().flatten().flatten();
    let governed = processors.filter_map(|processor| {
        let text = fs::read_to_string(processor.path().join("cpufreq/scaling_cur_freq")).ok()?;
        Some(text.trim().parse::<f64>().ok()? / 1000.0)
    });
    of_all(governed).or_else(|| {
        let text = fs::read_to_string(root.join("proc/cpuinfo")).ok()?;
        let told = text
            .lines()
            .filter_map(|line| line.strip_prefix("cpu MHz")?.split(':').nth(1)?.trim().parse().ok());
        of_all(told)
    })
}

fn of_all(megahertz: impl Iterator<Item = f64>) -> Option<Frequency> {
    megahertz.map(|one| Frequency { lowest: one, highest: one }).reduce(Frequency::with)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn governors_go_before_the_kernel_and_who_says_nothing_has_none() {
        let root = std::env::temp_dir().join(format!("trireme-frequency-{}", std::process::id()));
        assert_eq!(below(&root), None);
        fs::create_dir_all(root.join("proc")).expect("a folder");
        let told = "processor\t: 0\ncpu MHz\t\t: 2596.132\nprocessor\t: 1\ncpu MHz\t\t: 3100.5\n";
        fs::write(root.join("proc/cpuinfo"), told).expect("a file");
        assert_eq!(below(&root), Some(Frequency { lowest: 2596.132, highest: 3100.5 }));
        for (number, kilohertz) in [(0, "1200000\n"), (1, "3400000\n"), (7, "2000000\n")] {
            let folder = root.join(format!("sys/devices/system/cpu/cpu{number}/cpufreq"));
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join("scaling_cur_freq"), kilohertz).expect("a file");
        }
        assert_eq!(below(&root), Some(Frequency { lowest: 1200.0, highest: 3400.0 }));
        fs::remove_dir_all(&root).expect("it is there");
    }
}
