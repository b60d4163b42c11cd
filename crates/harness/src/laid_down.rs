//! A folder of results as it is read again: its systems with all that was measured of them, and what stood around that.

use crate::diff::recorded::Recorded;
use crate::failure::{Failure, words};
use crate::results::Surroundings;
use crate::summary::{COMPARISON_SCHEMA, SCHEMA, Summary};
use crate::sweep::{Experiment, journal};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What `run`, `compare` or `sweep` laid down.
pub struct LaidDown {
    /// Where.
    pub folder: PathBuf,
    /// What stood around the numbers.
    pub surroundings: Surroundings,
    /// How they were taken.
    pub recorded: Recorded,
    /// The systems, of a sweep at its points, in the order in which they were laid down.
    pub systems: Vec<Placed>,
    /// Of a sweep: the experiment.
    pub experiment: Option<Experiment>,
    /// Of a sweep: its claims, and what came of each.
    pub claims: Vec<Judged>,
    /// What was odd.
    pub warnings: Vec<String>,
}

/// A system, of a sweep at a point.
#[derive(Deserialize)]
pub struct Placed {
    /// Its value on each axis; empty if it is no point of a sweep.
    #[serde(default)]
    pub at: BTreeMap<String, String>,
    /// What was measured.
    pub summary: Summary,
}

/// A claim with its verdict.
#[derive(Deserialize)]
pub struct Judged {
    /// The sentence.
    pub that: String,
    /// What came of it.
    pub verdict: String,
}

impl LaidDown {
    /// Reads a folder of results.
    pub fn read(folder: &Path) -> Result<LaidDown, Failure> {
        let path = folder.join("summary.json");
        let refuse = |what: String| Failure::Input {
            place: path.display().to_string(),
            what: format!("{what}; allowed: what 'run', 'compare' or 'sweep' has laid down"),
        };
        let text = fs::read_to_string(&path).map_err(|error| refuse(words(&error)))?;
        let mut summary: Value = serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
        let schema = summary["schema"].as_str().unwrap_or("none").to_owned();
        let kind = Kind::of(&schema).ok_or_else(|| refuse(format!("its schema is {schema}")))?;
        let other_version = |error: serde_json::Error| {
            refuse(format!("its schema is {schema}, where this program has {} ({error})", kind.schema()))
        };
        let systems = kind.systems(&mut summary).map_err(other_version)?;
        let surroundings = Surroundings::laid_down(folder);
        Ok(LaidDown {
            folder: folder.to_owned(),
            surroundings: surroundings.ok_or_else(|| {
                refuse("environment.json or parameters.toml beside it is not there, or damaged".to_owned())
            })?,
            recorded: Recorded::read(folder)?,
            systems,
            experiment: match kind {
                // Its ranges are lists by now: no number of cores is needed.
                Kind::Sweep => Some(Experiment::read(&folder.join("parameters.toml"), 1)?),
                Kind::Run | Kind::Compare => None,
            },
            claims: serde_json::from_value(summary["claims"].take()).unwrap_or_default(),
            warnings: serde_json::from_value(summary["warnings"].take()).unwrap_or_default(),
        })
    }

    /// Whether all of it is of simulated machines.
    pub fn is_simulated(&self) -> bool {
        self.systems.iter().all(|placed| placed.summary.simulated)
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Run,
    Compare,
    Sweep,
}

impl Kind {
    /// By the name of a schema, whatever its version.
    fn of(schema: &str) -> Option<Kind> {
        let name = |schema: &str| schema.split('/').next().unwrap_or_default().to_owned();
        let is_it = |kind: &Kind| name(kind.schema()) == name(schema);
        [Kind::Run, Kind::Compare, Kind::Sweep].into_iter().find(is_it)
    }

    const fn schema(self) -> &'static str {
        match self {
            Kind::Run => SCHEMA,
            Kind::Compare => COMPARISON_SCHEMA,
            Kind::Sweep => journal::SCHEMA,
        }
    }

    fn systems(self, summary: &mut Value) -> Result<Vec<Placed>, serde_json::Error> {
        let alone =
            |value: Value| Ok(Placed { at: BTreeMap::new(), summary: serde_json::from_value(value)? });
        match self {
            Kind::Run => Ok(vec![alone(summary.clone())?]),
            Kind::Compare => {
                let rows: Vec<Value> = serde_json::from_value(summary["rows"].take())?;
                rows.into_iter().filter(|row| row["supported"] == true).map(alone).collect()
            }
            Kind::Sweep => serde_json::from_value(summary["points"].take()),
        }
    }
}
