//! The first line of a journal: what its lines are, and where their numbers come from. Both must be as they are now, or
//! else the journal is not gone on with.

use crate::journal::{Head, read_line};
use crate::subject::Place;
use crate::text::numbers::counted;
use serde::{Deserialize, Serialize};

/// Name and version of the lines, and of what `sweep --json` prints. Lines are read back, so every change of a line
/// makes a new one, an added field, too.
pub const SCHEMA: &str = "trireme.sweep/23";

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// The experiment's name.
    pub experiment: String,
    /// Where its points are measured: a journal does not mix machines or builds.
    pub place: Place,
}

/// The part of a header that every schema has.
#[derive(Deserialize)]
struct Version {
    schema: String,
}

impl Header {
    /// Of the experiment called `experiment`, measured at `place`.
    pub fn new(experiment: &str, place: &Place) -> Header {
        Header { schema: SCHEMA.to_owned(), experiment: experiment.to_owned(), place: place.clone() }
    }
}

impl Head for Header {
    fn continues(&self, line: &[u8]) -> Result<(), String> {
        let Version { schema } = read_line(line)?;
        if schema != self.schema {
            return Err(format!(
                "schema {schema}: allowed: {}, for other versions keep other numbers",
                self.schema
            ));
        }
        let found: Header = read_line(line)?;
        if found.place != self.place {
            let show = |place: &Place| {
                let build = if place.debug_build { "debug" } else { "release" };
                let numbers =
                    place.description.as_ref().map_or(String::new(), |of| format!(", description {of}"));
                format!("{}, {}, {build} build{numbers}", place.machine, counted(place.cores, "core"))
            };
            let (then, now) = (show(&found.place), show(&self.place));
            return Err(format!("the points are from {then}: allowed: from here, {now}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::samples::Sample;
    use crate::summary::tests::{some_measurement, some_subject};
    use crate::sweep::journal::tests::{header, point, scratch};
    use crate::sweep::journal::{FILE_NAME, Finished, open};
    use serde_json::Value;
    use std::fs;

    /// A journal of another version would be misread, or misunderstood.
    #[test]
    fn another_schema_is_refused_by_name_and_left_as_it_was() {
        let scratch = scratch();
        let path = scratch.path().join(FILE_NAME);
        let headers = [
            r#"{"schema":"trireme.sweep/1","experiment":"e","place":{"machine":"hardware","simulated":false,"cores":2,"debug_build":true}}"#,
            r#"{"schema":"trireme.sweep/1"}"#,
        ];
        for older in headers {
            let text = format!("{older}\n{{\"settings\":{{}}}}\n{{\"torn");
            fs::write(&path, &text).expect("an older journal");
            let refused = open(scratch.path(), &header()).err().expect("refused");
            let expected = "points.jsonl:1: schema trireme.sweep/1: allowed: trireme.sweep/23, for other versions keep \
                            other numbers; use another --out";
            assert!(refused.to_string().ends_with(expected), "{refused}");
            assert_eq!(refused.exit_code(), 2);
            assert_eq!(fs::read_to_string(&path).expect("text"), text, "even its torn line");
        }
    }

    /// If what a line holds changes, this test says that [`SCHEMA`] must change with it.
    #[test]
    fn what_a_line_holds_goes_with_its_schema() {
        let samples = Sample::all(&[some_measurement(1000.0)], &some_subject().options);
        let mut point = serde_json::to_value(Finished { samples, ..point(1) }).expect("JSON");
        point["summary"]["parameters"] = Value::Null;
        point["settings"] = Value::Null;
        let mut names = Vec::new();
        list_names("", &point, &mut names);
        names.sort();
        let text = format!("{SCHEMA}\n{}\n", names.join("\n"));
        assert_eq!(text, include_str!("fields.txt"), "a changed line wants a new SCHEMA");
    }

    fn list_names(name: &str, value: &Value, names: &mut Vec<String>) {
        let fields: Vec<(String, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(field, value)| (field.clone(), value)).collect(),
            Value::Array(all) => all.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect(),
            _ => Vec::new(),
        };
        if fields.is_empty() {
            names.push(name.to_owned());
        }
        for (field, value) in fields {
            list_names(&format!("{name}/{field}"), value, names);
        }
    }

    #[test]
    fn other_places_are_not_mixed() {
        let scratch = scratch();
        let folder = scratch.path();
        open(folder, &header()).expect("a new journal");
        let elsewhere = Header { place: Place::hardware(64), ..header() };
        let refused = open(folder, &elsewhere).err().expect("refused").to_string();
        let build = if cfg!(debug_assertions) { "debug" } else { "release" };
        let expected = format!(
            "points.jsonl:1: the points are from hardware, 2 cores, {build} build: allowed: from here, hardware, 64 \
             cores, {build} build; use another --out"
        );
        assert!(refused.ends_with(&expected), "{refused}");
    }
}
