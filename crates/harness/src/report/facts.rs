//! Parameters and environment as names with values.

use super::page::Block;
use crate::folder::parameters::of_subject;
use crate::subject::Subject;
use crate::text::numbers::{bytes, thousands};
use serde_json::Value;
use std::collections::BTreeMap;

/// The options and the workload's parameters.
pub fn parameters(subject: &Subject) -> Block {
    settings("Parameters", &subject.workload, &of_subject(subject))
}

/// Names with values; the workload's comes first.
pub fn settings(title: &str, workload: &str, settings: &BTreeMap<String, String>) -> Block {
    let mut facts = vec![("workload".to_owned(), workload.to_owned())];
    let others = settings.iter().filter(|(name, _)| *name != "workload");
    facts.extend(others.map(|(name, value)| (name.clone(), value.clone())));
    Block::Facts { title: title.to_owned(), facts }
}

/// Aborts by reason.
pub fn aborts(aborts: &BTreeMap<String, u64>) -> Block {
    let fact = |(reason, count): (&String, &u64)| (reason.clone(), thousands(*count as f64));
    Block::Facts { title: "Aborts by reason".to_owned(), facts: aborts.iter().map(fact).collect() }
}

/// What the machine says of itself; what it does not tell is left out. Of a simulation's host it is said what that is worth.
pub fn environment(environment: &Value, simulated: bool) -> Block {
    let mut facts = Vec::new();
    if simulated {
        let worth = "change how long the simulation takes, and nothing of what is simulated";
        facts.push(("load, stolen time and frequency".to_owned(), worth.to_owned()));
    }
    flatten("", environment, &mut facts);
    let title = if simulated { "Host of the simulation" } else { "Machine" };
    Block::Facts { title: title.to_owned(), facts }
}

/// Nested objects become names with spaces: `{"memory": {"bytes": 1}}` is `memory bytes`. Those in a list take one
/// line each.
fn flatten(name: &str, value: &Value, facts: &mut Vec<(String, String)>) {
    let below = |part: &str| format!("{name} {}", part.replace('_', " ")).trim().to_owned();
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (field, value) in fields {
                flatten(&below(field), value, facts);
            }
        }
        Value::Array(values) => {
            for (position, value) in values.iter().enumerate().filter(|(_, value)| value.is_object()) {
                let mut parts = Vec::new();
                flatten("", value, &mut parts);
                let parts: Vec<String> = parts
                    .into_iter()
                    .map(|(name, value)| format!("{name} {value}").trim().to_owned())
                    .collect();
                facts.push((below(&(position + 1).to_string()), parts.join(", ")));
            }
            let scalars = values.iter().filter(|value| !value.is_object());
            let scalars: Vec<String> = scalars.map(|value| scalar(name, value)).collect();
            if !scalars.is_empty() {
                facts.push((name.to_owned(), scalars.join(", ")));
            }
        }
        _ => {
            let shown = name.strip_suffix("bytes").unwrap_or(name).trim();
            facts.push((shown.to_owned(), scalar(name, value)));
        }
    }
}

fn scalar(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => match number.as_u64() {
            Some(count) if name.ends_with("bytes") => bytes(count),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nested_facts_are_flat_and_bytes_are_readable() {
        let Block::Facts { facts, .. } = environment(
            &json!({
                "cpu_model": "A",
                "memory_bytes": 2u64 << 30,
                "governor": null,
                "turbo": true,
                "caches": [{ "level": 1, "line_bytes": 64 }],
                "cpus": [0, 1],
            }),
            false,
        ) else {
            panic!("facts")
        };
        let mut shown: Vec<String> = facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        shown.sort();
        let expected =
            ["caches 1: level 1, line 64 B", "cpu model: A", "cpus: 0, 1", "memory: 2.00 GiB", "turbo: yes"];
        assert_eq!(shown, expected);
    }
}
