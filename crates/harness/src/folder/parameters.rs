//! `parameters.toml`: what was run, as an experiment file, so that `trireme sweep` runs it again.

use crate::subject::Subject;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use toml::Value;

/// Names with the values that they took by turns, as a file says them.
pub type Axes<'a> = Vec<(&'a str, String)>;

/// The values of an axis, as a file says them.
pub fn list(values: &[&str]) -> String {
    format!("[{}]", values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(", "))
}

/// What the file says.
pub struct Again<'a> {
    /// The line that was typed.
    pub command: &'a str,
    /// Heading of the report.
    pub title: &'a str,
    /// Where the experiment comes from.
    pub paper: Option<&'a str>,
    /// What the experiment checks.
    pub claim: Option<&'a str>,
    /// The simulated machine.
    pub machine: Option<&'a str>,
    /// The workload's name.
    pub workload: &'a str,
    /// The axis of the plots, if it is named.
    pub x: Option<&'a str>,
    /// What is the same at all points. An axis that is among it is not written as a base setting.
    pub base: &'a BTreeMap<String, String>,
    /// What has the value of an axis at each point, and of which; not written as a base setting, either.
    pub followers: Vec<(&'a str, &'a str)>,
    /// What differs.
    pub axes: Axes<'a>,
}

impl Again<'_> {
    /// The file's text.
    pub fn toml(&self) -> String {
        let mut lines = vec![comment(self.command)];
        let head = [
            ("title", Some(self.title)),
            ("paper", self.paper),
            ("claim", self.claim),
            ("machine", self.machine),
            ("workload", Some(self.workload)),
            ("x", self.x),
        ];
        lines.extend(head.into_iter().filter_map(|(name, value)| Some(setting(name, value?))));
        lines.push("\n[base]".to_owned());
        let swept = |name: &str| {
            let mut names =
                self.axes.iter().map(|(axis, _)| axis).chain(self.followers.iter().map(|(name, _)| name));
            names.any(|swept| *swept == name)
        };
        lines.extend(
            self.base.iter().filter(|(name, _)| !swept(name)).map(|(name, value)| setting(name, value)),
        );
        lines.extend(
            self.followers.iter().map(|(name, axis)| format!("{name} = {{ as = {} }}", quoted(axis))),
        );
        lines.push("\n[axes]".to_owned());
        lines.extend(self.axes.iter().map(|(name, values)| format!("{name} = {values}")));
        lines.join("\n") + "\n"
    }
}

/// The file of a check, which is no experiment: `sweep` refuses it for its table `[check]`.
pub fn of_check(
    command: &str,
    check: &BTreeMap<String, String>,
    parameters: &BTreeMap<String, String>,
) -> String {
    let mut lines = vec![comment(command), "[check]".to_owned()];
    lines.extend(check.iter().map(|(name, value)| setting(name, value)));
    lines.push("\n[parameters]".to_owned());
    lines.extend(parameters.iter().map(|(name, value)| setting(name, value)));
    lines.join("\n") + "\n"
}

/// Everything that a subject sets, by name.
pub fn of_subject(subject: &Subject) -> BTreeMap<String, String> {
    subject.options.resolved().into_iter().chain(subject.parameters.clone()).collect()
}

/// TOML allows no control character in a comment.
fn comment(text: &str) -> String {
    format!("# {}", text.replace(char::is_control, " "))
}

fn setting(name: &str, value: &str) -> String {
    format!("{name} = {}", quoted(value))
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// What a folder's `parameters.toml` says of how its points were run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The simulated machine's name; nothing of what was measured.
    pub machine: Option<String>,
    /// What was the same at all points, by name.
    pub base: BTreeMap<String, String>,
}

impl Written {
    /// Of the results in `folder`; nothing if there are none.
    pub fn of(folder: &Path) -> Option<Written> {
        let text = fs::read_to_string(folder.join("parameters.toml")).ok()?;
        let table: toml::Table = toml::from_str(&text).ok()?;
        let name = |machine: &str| machine.split(' ').next().map(str::to_owned);
        let machine = table.get("machine").and_then(Value::as_str).and_then(name);
        let base = table.get("base").and_then(Value::as_table);
        let base = base.into_iter().flatten();
        let base = base.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Some(Written { machine, base: base.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::RunOptions;
    use crate::subject::Place;
    use crate::sweep::Experiment;

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        assert_eq!(Written::of(folder.path()), None);
        let text = "# trireme reproduce\nmachine = \"m 0123\"\n[base]\nrepeat = \"3\"\nduration = \"1ms\"\n[axes]\nworkers = [\"1\"]\n";
        fs::write(folder.path().join("parameters.toml"), text).expect("written");
        let written = Written::of(folder.path()).expect("it is there");
        assert_eq!(written.machine.as_deref(), Some("m"));
        assert_eq!(
            written.base.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>(),
            ["duration 1ms", "repeat 3"]
        );
    }

    #[test]
    fn it_is_an_experiment_again() {
        let subject = Subject {
            workload: "micro".to_owned(),
            parameters: BTreeMap::from([("writes".to_owned(), "all".to_owned())]),
            options: RunOptions::for_run(2),
            place: Place::hardware(2),
        };
        let axes = vec![("protocol", list(&["silo", "no-wait"])), ("workers", list(&["1", "2"]))];
        let again = Again {
            command: "trireme compare micro --out 'a\nb\rc'",
            title: "say \"hi\"",
            paper: Some("a paper"),
            claim: Some("two\nlines"),
            machine: Some("haswell 1f"),
            workload: "micro",
            x: Some("workers"),
            base: &of_subject(&subject),
            followers: vec![("seed", "workers")],
            axes,
        };
        let experiment = Experiment::parse("parameters.toml", &again.toml(), 2).expect("an experiment");
        assert_eq!(experiment.title, "say \"hi\"");
        assert_eq!(experiment.paper.as_deref(), Some("a paper"));
        assert_eq!(experiment.claim.as_deref(), Some("two\nlines"));
        assert_eq!(experiment.x.expect("an axis").value, "workers");
        assert_eq!(experiment.machine.expect("a machine").value, "haswell 1f");
        assert_eq!(experiment.workload.value, "micro");
        assert_eq!(experiment.axes[0].values, ["silo", "no-wait"]);
        let base: Vec<&str> = experiment.base.iter().map(|setting| setting.name.as_str()).collect();
        assert!(base.contains(&"writes") && base.contains(&"repeat") && !base.contains(&"workers"));
        let seeds: Vec<_> = experiment.base.iter().filter(|setting| setting.name == "seed").collect();
        assert!(matches!(seeds[..], [seed] if seed.follows && seed.value == "workers"), "{seeds:?}");
    }

    #[test]
    fn a_check_is_no_experiment() {
        let one = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let text = of_check("trireme check micro", &one("workload", "micro"), &one("writes", "all"));
        assert_eq!(
            text,
            "# trireme check micro\n[check]\nworkload = \"micro\"\n\n[parameters]\nwrites = \"all\"\n"
        );
        let refused = Experiment::parse("parameters.toml", &text, 2).expect_err("a check").to_string();
        assert!(refused.starts_with("parameters.toml:2:2: unknown field `check`"), "{refused}");
    }
}
