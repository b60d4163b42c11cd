//! Two programs by turns: what each has laid down in its rounds, as one result a side, and both side by side.
//!
//! A round is one repetition, in a folder of its own. A side is laid down as a run of as many repetitions lays itself down, with the round in the place of the repetition: so it is read as any result
//! ([`Recorded`](super::recorded::Recorded)), and `trireme diff OUT/old OUT/new --by p99` compares another quantity without measuring again.

use super::Diff;
use crate::failure::{Failure, words};
use crate::folder::Folder;
use serde::Serialize;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Name and version of [`ByTurns`]' fields.
pub const TURNS_SCHEMA: &str = "trireme.turns/1";

/// The column that tells repetitions apart.
const REPETITION: &str = "repetition";

/// What `trireme diff` brings home of two programs.
#[derive(Clone, Debug, Serialize)]
pub struct ByTurns {
    /// [`TURNS_SCHEMA`].
    pub schema: &'static str,
    /// What both were told, without what each round says.
    pub line: String,
    /// Rounds that both have finished.
    pub rounds: usize,
    /// Rounds that were asked for.
    pub rounds_asked: usize,
    /// Why there are fewer; `null` if there are not.
    pub ended: Option<String>,
    /// The one before the change.
    pub old: Program,
    /// The one with it.
    pub new: Program,
    /// What came of it.
    pub diff: Diff,
}

/// A program, as its rounds tell of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Program {
    /// As it was typed.
    pub program: String,
    /// Its version, as the first round's `environment.json` has it.
    pub version: Option<String>,
    /// Its commit.
    pub commit: Option<String>,
    /// Its compiler.
    pub compiler: Option<String>,
    /// Name and version of its results' fields.
    pub schema: String,
    /// What a hypervisor gave to others of the cores' time, by round, 0 to 1; `null` where the system does not tell.
    pub stolen_share: Vec<Option<f64>>,
    /// What other processes took, likewise.
    pub others_share: Vec<Option<f64>>,
}

impl Program {
    /// Of what the program called `program` has laid down in the folders of its `rounds`, of which there is one at least.
    pub fn of(program: &str, rounds: &[PathBuf]) -> Result<Program, Failure> {
        let json = |folder: &PathBuf, name: &str| -> Result<Value, Failure> {
            let path = folder.join(name);
            let text = fs::read_to_string(&path).map_err(|error| damaged(&path, &words(&error)))?;
            serde_json::from_str(&text).map_err(|error| damaged(&path, &error.to_string()))
        };
        let environments: Vec<Value> =
            rounds.iter().map(|folder| json(folder, "environment.json")).collect::<Result<_, _>>()?;
        let first = |name: &str| environments[0][name].as_str().map(str::to_owned);
        let of_each =
            |name: &str| environments.iter().map(|environment| environment[name].as_f64()).collect();
        let schema = json(&rounds[0], "summary.json")?["schema"].as_str().unwrap_or("none").to_owned();
        Ok(Program {
            program: program.to_owned(),
            version: first("trireme_version"),
            commit: first("trireme_commit"),
            compiler: first("compiler"),
            schema,
            stolen_share: of_each("stolen_share"),
            others_share: of_each("others_share"),
        })
    }

    /// Program and commit, for people.
    pub fn shown(&self) -> String {
        match &self.commit {
            Some(commit) => format!("{} (commit {commit})", self.program),
            None => self.program.clone(),
        }
    }
}

impl ByTurns {
    /// The most that a hypervisor and that other processes took of the cores in any of the rounds; `None` where the system does not tell.
    pub fn most_taken(&self) -> (Option<f64>, Option<f64>) {
        let most = |of: fn(&Program) -> &Vec<Option<f64>>| {
            let all = of(&self.old).iter().chain(of(&self.new)).flatten();
            all.copied().max_by(f64::total_cmp)
        };
        (most(|program| &program.stolen_share), most(|program| &program.others_share))
    }
}

/// Lays the results in the folders of `rounds` down in `side`, as those of one run. There is one round at least, and all are of the same line.
pub fn lay_down(rounds: &[PathBuf], side: &Folder) -> Result<(), Failure> {
    let first = |name: &str| {
        let path = rounds[0].join(name);
        fs::read_to_string(&path).map_err(|error| damaged(&path, &words(&error)))
    };
    side.write("samples.csv", &samples(rounds)?)?;
    // The seed is the first round's already, and that of the next repetition is the next round's.
    let repeats = |line: &str| match line {
        "repeat = \"1\"" => format!("repeat = \"{}\"\n", rounds.len()),
        line => format!("{line}\n"),
    };
    side.write("parameters.toml", &first("parameters.toml")?.lines().map(repeats).collect::<String>())?;
    side.write("environment.json", &first("environment.json")?)
}

/// The rows of all rounds, the rounds numbered from 1.
fn samples(rounds: &[PathBuf]) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut heads: Option<csv::StringRecord> = None;
    for (number, folder) in rounds.iter().enumerate() {
        let path = folder.join("samples.csv");
        let wrong = |error: csv::Error| damaged(&path, &error.to_string());
        let mut reader = csv::Reader::from_path(&path).map_err(wrong)?;
        let here = reader.headers().map_err(wrong)?.clone();
        let repetition = here.iter().position(|head| head == REPETITION);
        let repetition = repetition.ok_or_else(|| damaged(&path, "it has no repetitions"))?;
        match &heads {
            None => {
                writer.write_record(&here).expect("memory takes it");
                heads = Some(here);
            }
            Some(heads) if *heads != here => {
                return Err(damaged(&path, "it has other columns than the first round's"));
            }
            Some(_) => {}
        }
        for record in reader.records() {
            let record = record.map_err(wrong)?;
            let round = (number + 1).to_string();
            let fields = record.iter().enumerate();
            let fields = fields.map(|(at, field)| if at == repetition { round.as_str() } else { field });
            writer.write_record(fields).expect("memory takes it");
        }
    }
    let text = writer.into_inner().expect("memory takes it");
    Ok(String::from_utf8(text).expect("its parts were text"))
}

fn damaged(path: &Path, what: &str) -> Failure {
    Failure::Input {
        place: path.display().to_string(),
        what: format!("{what}; allowed: what 'run', 'compare' or 'sweep' has laid down"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use super::*;

    /// A round as a program lays it down.
    fn round(among: &Path, number: u64, samples: &str) -> PathBuf {
        let folder = among.join(format!("round-{number}"));
        fs::create_dir(&folder).expect("a folder");
        let environment = format!(r#"{{"trireme_commit": "abc", "stolen_share": 0.0{number}, "cores": 2}}"#);
        let files = [
            ("samples.csv", samples),
            (
                "parameters.toml",
                "# trireme run\nworkload = \"micro\"\n[base]\nrepeat = \"1\"\nseed = \"7\"\n",
            ),
            ("environment.json", &environment),
            ("summary.json", r#"{"schema": "trireme.run/5"}"#),
        ];
        files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).expect("written"));
        folder
    }

    #[test]
    fn rounds_are_repetitions_of_one_result() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let samples = |seed: u64, per_s: u64| {
            format!("protocol,repetition,seed,throughput_per_s\n\"a,b\",1,{seed},{per_s}\n")
        };
        let rounds = [round(scratch.path(), 1, &samples(7, 100)), round(scratch.path(), 2, &samples(8, 110))];
        let side = Folder::create(&scratch.path().join("old")).expect("a folder");
        lay_down(&rounds, &side).expect("laid down");
        let recorded = Recorded::read(side.path()).expect("it is a result");
        assert_eq!(recorded.rows.len(), 1);
        assert_eq!(recorded.rows[0].seeds, [7, 8]);
        assert_eq!(recorded.rows[0].values("throughput_per_s"), [100.0, 110.0]);
        let read = |name: &str| fs::read_to_string(side.path().join(name)).expect(name);
        assert!(read("samples.csv").contains("\n\"a,b\",2,8,110"), "{}", read("samples.csv"));
        assert!(
            read("parameters.toml").contains("repeat = \"2\"\nseed = \"7\""),
            "{}",
            read("parameters.toml")
        );
        let program = Program::of("./old", &rounds).expect("it tells");
        assert_eq!((program.shown().as_str(), &*program.schema), ("./old (commit abc)", "trireme.run/5"));
        assert_eq!(program.stolen_share, [Some(0.01), Some(0.02)]);
        assert_eq!(program.others_share, [None, None]);
    }

    /// A program that was replaced meanwhile.
    #[test]
    fn rounds_of_other_columns_are_refused() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let one = round(scratch.path(), 1, "protocol,repetition,seed,throughput_per_s\nsilo,1,1,5\n");
        let other = round(scratch.path(), 2, "protocol,repetition,seed,commits\nsilo,1,1,5\n");
        let refused = samples(&[one, other]).expect_err("refused").to_string();
        assert!(refused.contains("round-2") && refused.contains("other columns"), "{refused}");
    }
}
