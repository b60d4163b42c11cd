//! `parameters.toml`: what was run, as an experiment file, so that `trireme sweep` runs it again.

use crate::subject::Subject;
use std::collections::BTreeMap;
use std::fmt::Write;
use toml::Value;

/// Names with the values that they took by turns.
pub type Axes<'a> = Vec<(&'a str, Vec<&'a str>)>;

/// The file's text. `command` is the line that was typed. An axis is not written as a base setting.
pub fn toml(
    command: &str,
    title: &str,
    workload: &str,
    base: &BTreeMap<String, String>,
    axes: &Axes<'_>,
) -> String {
    let mut text = String::new();
    let mut line = |entry: std::fmt::Arguments<'_>| writeln!(text, "{entry}").expect("a String takes all");
    line(format_args!("# {}", command.replace('\n', " ")));
    line(format_args!("title = {}", quoted(title)));
    line(format_args!("workload = {}", quoted(workload)));
    line(format_args!("\n[base]"));
    let swept = |name: &str| axes.iter().any(|(axis, _)| *axis == name);
    for (name, value) in base.iter().filter(|(name, _)| !swept(name)) {
        line(format_args!("{name} = {}", quoted(value)));
    }
    line(format_args!("\n[axes]"));
    for (name, values) in axes {
        let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
        line(format_args!("{name} = [{}]", values.join(", ")));
    }
    text
}

/// Everything that a subject sets, by name.
pub fn of_subject(subject: &Subject) -> BTreeMap<String, String> {
    subject.options.resolved().into_iter().chain(subject.parameters.clone()).collect()
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::RunOptions;
    use crate::subject::Place;
    use crate::sweep::Experiment;

    #[test]
    fn it_is_an_experiment_again() {
        let subject = Subject {
            workload: "micro".to_owned(),
            parameters: BTreeMap::from([("writes".to_owned(), "all".to_owned())]),
            options: RunOptions::for_run(2),
            place: Place::hardware(2),
        };
        let axes = vec![("protocol", vec!["silo", "no-wait"]), ("workers", vec!["1", "2"])];
        let text = toml("trireme compare micro", "say \"hi\"", "micro", &of_subject(&subject), &axes);
        let experiment = Experiment::parse("parameters.toml", &text, 2).expect("an experiment");
        assert_eq!(experiment.title, "say \"hi\"");
        assert_eq!(experiment.workload.value, "micro");
        assert_eq!(experiment.axes[0].values, ["silo", "no-wait"]);
        let base: Vec<&str> = experiment.base.iter().map(|setting| setting.name.as_str()).collect();
        assert!(base.contains(&"writes") && base.contains(&"seed") && !base.contains(&"workers"));
    }
}
