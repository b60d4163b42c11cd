//! Reading an experiment file: names and shapes. What the values mean is decided in [`super::case`].

use super::claims::{Claim, ClaimText};
use super::ranges;
use crate::failure::{Failure, words};
use crate::folder::parameters::list;
use crate::options::BadValue;
use crate::subject::Place;
use crate::text::names::as_in_results;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use toml::{Spanned, Value};
use workloads::Described;
use workloads::described::{FILE, FileKind, is_file};

/// An experiment, as its file says it.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The file's name without its extension.
    pub name: String,
    /// The file as it was given, for messages.
    pub path: String,
    /// Heading of the report.
    pub title: String,
    /// Where the experiment comes from.
    pub paper: Option<String>,
    /// The name of the machine on which the paper measured it, if that is not the one of its other figures.
    pub papers_machine: Option<String>,
    /// What the experiment checks, in words.
    pub claim: Option<String>,
    /// The simulated machine on which it was measured, if the file was written by a measurement: no other is to run it again.
    pub machine: Option<Setting>,
    /// The workload's name.
    pub workload: Setting,
    /// The axis of the plots, if it is named.
    pub x: Option<Setting>,
    /// The value of that axis at which the report shows where the time goes, if it is named.
    pub time_at: Option<Setting>,
    /// What is the same at all points.
    pub base: Vec<Setting>,
    /// What differs.
    pub axes: Vec<Axis>,
    /// What the points are to bear out.
    pub claims: Vec<Claim>,
    /// Experiments that the gallery shows beside this one.
    pub beside: Vec<String>,
}

/// A name with its value, and where it stands.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The option's or parameter's name.
    pub name: String,
    /// Its value, as the command line would take it; of one that follows an axis, the axis's name.
    pub value: String,
    /// Whether it has the axis's value at each point, as where there are as many warehouses as workers.
    pub follows: bool,
    /// `file:line:column`; `None` if it was typed.
    pub place: Option<String>,
}

impl Setting {
    /// `bad` is what is wrong with the value.
    pub fn refuse(&self, bad: BadValue) -> Failure {
        match &self.place {
            Some(place) => Failure::Input { place: place.clone(), what: bad.to_string() },
            None => Failure::Value(bad),
        }
    }
}

/// A name with the values that it takes by turns.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The option's or parameter's name.
    pub name: String,
    /// Its values, as the command line would take them.
    pub values: Vec<String>,
    /// The list that the values are part of, if the machine is too small for all of it.
    pub cut: Option<Cut>,
    /// `file:line:column`.
    pub place: String,
}

/// A list of values of which an axis has only those up to an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// All of the list, as the paper has it.
    pub listed: Vec<String>,
    /// How many cores ended it; `None` if the file did.
    pub cores: Option<usize>,
}

impl Axis {
    /// The axis as a file says it: what was cut off is still known.
    pub fn toml(&self) -> String {
        match (&self.cut, self.values.last()) {
            (Some(cut), Some(end)) => format!("{{ of = [{}], to = {end} }}", cut.listed.join(", ")),
            _ => list(&self.values.iter().map(String::as_str).collect::<Vec<_>>()),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    title: Option<String>,
    paper: Option<String>,
    papers_machine: Option<String>,
    claim: Option<String>,
    machine: Option<Spanned<String>>,
    workload: Spanned<String>,
    x: Option<Spanned<String>>,
    time_at: Option<Spanned<Value>>,
    #[serde(default)]
    base: BTreeMap<Spanned<String>, Spanned<Value>>,
    #[serde(default)]
    axes: BTreeMap<Spanned<String>, Spanned<Value>>,
    #[serde(default)]
    claims: Vec<ClaimText>,
    #[serde(default)]
    beside: Vec<String>,
}

impl Experiment {
    /// Reads the file at `path`. `cores` is what the word means in a range.
    pub fn read(path: &Path, cores: usize) -> Result<Experiment, Failure> {
        let shown = path.display().to_string();
        let text = fs::read_to_string(path)
            .map_err(|error| Failure::Input { place: shown.clone(), what: words(&error) })?;
        Experiment::parse(&shown, &text, cores)
    }

    /// Reads `text`, which came from the file called `path`.
    pub fn parse(path: &str, text: &str, cores: usize) -> Result<Experiment, Failure> {
        let source = Source { path, text };
        let parsed: Text = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            source.failure(at, error.message().to_owned() + &FileKind::Experiment.but(text))
        })?;
        let name = Path::new(path).file_stem().map_or("sweep".into(), |stem| stem.to_string_lossy());
        let axes = source.axes(parsed.axes, cores)?;
        let checked = |claim: ClaimText| claim.checked(&source, &axes);
        let claims = parsed.claims.into_iter().map(checked).collect::<Result<_, _>>()?;
        let mut workload = source.named("workload", &parsed.workload);
        let mut base = source.settings(parsed.base)?;
        base.extend(file_of_workload(path, &mut workload));
        let experiment = Experiment {
            title: parsed.title.unwrap_or_else(|| name.to_string()),
            name: name.to_string(),
            path: path.to_owned(),
            paper: parsed.paper,
            papers_machine: parsed.papers_machine,
            claim: parsed.claim,
            machine: parsed.machine.map(|machine| source.named("machine", &machine)),
            workload,
            x: parsed.x.map(|x| source.named("x", &x)),
            time_at: parsed.time_at.map(|at| source.setting("time_at", &at)).transpose()?,
            base,
            axes,
            claims,
            beside: parsed.beside,
        };
        experiment.names_each_once()?;
        Ok(experiment)
    }

    /// Gives `name` the value `value` at all points, in place of the file's. An axis cannot be replaced.
    pub fn replace(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        if self.axes.iter().any(|axis| axis.name == name) {
            let what = format!("--{name} {value}: {} sweeps {name}; leave the option out", self.path);
            return Err(Failure::Usage(what));
        }
        if let Some(values) = ranges::rates(name, value) {
            let values = values.map_err(|allowed| BadValue::new(name, value, allowed))?;
            self.base.retain(|setting| setting.name != name);
            self.axes.push(Axis { name: name.to_owned(), values, cut: None, place: format!("--{name}") });
            return Ok(());
        }
        self.base.retain(|setting| setting.name != name);
        let (name, value) = (name.to_owned(), value.to_owned());
        self.base.push(Setting { name, value, follows: false, place: None });
        Ok(())
    }

    /// Refuses another machine than the one that the file names.
    pub fn admit(&self, place: &Place) -> Result<(), Failure> {
        match &self.machine {
            Some(machine) if Some(&machine.value) != place.written().as_ref() => {
                let allowed = format!(
                    "that of --on, {}: name its machine file with --on, or leave the line out",
                    place.shown()
                );
                Err(machine.refuse(BadValue::new("machine", &machine.value, allowed)))
            }
            _ => Ok(()),
        }
    }

    fn names_each_once(&self) -> Result<(), Failure> {
        let files: Vec<&Setting> = self.base.iter().filter(|setting| setting.name == FILE).collect();
        if let [first, _] = files[..] {
            let what = "the workload is a file, and another one is named; name one".to_owned();
            return Err(Failure::Input { place: first.place.clone().unwrap_or_default(), what });
        }
        for axis in &self.axes {
            if self.base.iter().any(|setting| setting.name == axis.name) {
                let what = format!("{} is in [base] and in [axes]; name it once", axis.name);
                return Err(Failure::Input { place: axis.place.clone(), what });
            }
        }
        for setting in self.base.iter().filter(|setting| setting.follows) {
            if !self.axes.iter().any(|axis| axis.name == setting.value) {
                return Err(setting.refuse(BadValue::new(
                    &setting.name,
                    &setting.value,
                    names_of(&self.axes),
                )));
            }
        }
        self.names_systems_one_way()?;
        if let Some(x) = &self.x
            && !self.axes.iter().any(|axis| axis.name == x.value)
        {
            return Err(x.refuse(BadValue::new("x", &x.value, names_of(&self.axes))));
        }
        if let Some(at) = &self.time_at {
            let axis = self.x.as_ref().and_then(|x| self.axes.iter().find(|axis| axis.name == x.value));
            let values = axis.map(|axis| axis.cut.as_ref().map_or(&axis.values, |cut| &cut.listed));
            if !values.is_some_and(|values| values.contains(&at.value)) {
                let allowed = match values {
                    Some(values) => values.join(", "),
                    None => "none, for x names no axis".to_owned(),
                };
                return Err(at.refuse(BadValue::new("time_at", &at.value, allowed)));
            }
        }
        Ok(())
    }

    /// A system is one name, or an architecture and a protocol.
    fn names_systems_one_way(&self) -> Result<(), Failure> {
        let base = self.base.iter().map(|setting| (setting.name.as_str(), setting.place.as_deref()));
        let axes = self.axes.iter().map(|axis| (axis.name.as_str(), Some(axis.place.as_str())));
        let named: Vec<(&str, Option<&str>)> = base.chain(axes).collect();
        let twice = named.iter().find(|(name, _)| ["architecture", "protocol"].contains(name));
        match twice {
            Some((name, place)) if named.iter().any(|(name, _)| *name == "system") => {
                let what = format!("{name} is part of system, which is named, too; leave one of them out");
                Err(Failure::Input { place: place.unwrap_or(&self.path).to_owned(), what })
            }
            _ => Ok(()),
        }
    }
}

/// Where a workload is a file's, which is seen from the experiment's: its name is that of all such workloads, and the file is a setting.
fn file_of_workload(path: &str, workload: &mut Setting) -> Option<Setting> {
    if !is_file(&workload.value) {
        return None;
    }
    let file = Path::new(path).parent().unwrap_or(Path::new("")).join(&workload.value);
    let file = Setting { name: FILE.to_owned(), value: file.display().to_string(), ..workload.clone() };
    workload.value = Described::DESCRIPTION.name.to_owned();
    Some(file)
}

/// The axes that can be named, for messages.
pub(super) fn names_of(axes: &[Axis]) -> String {
    let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    if names.is_empty() {
        "none, for there are no axes".to_owned()
    } else {
        format!("the axes {}", names.join(", "))
    }
}

/// A file's text, with which places are told.
pub(super) struct Source<'a> {
    path: &'a str,
    text: &'a str,
}

impl Source<'_> {
    /// `file:line:column` of a byte, both from 1.
    fn place(&self, byte: usize) -> String {
        let before = self.text.get(..byte).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        format!("{}:{line}:{column}", self.path)
    }

    pub(super) fn failure(&self, byte: usize, what: impl Into<String>) -> Failure {
        Failure::Input { place: self.place(byte), what: what.into().replace('\n', "; ") }
    }

    fn named(&self, name: &str, value: &Spanned<String>) -> Setting {
        Setting {
            name: name.to_owned(),
            value: value.get_ref().clone(),
            follows: false,
            place: Some(self.place(value.span().start)),
        }
    }

    fn setting(&self, name: &str, value: &Spanned<Value>) -> Result<Setting, Failure> {
        let at = value.span().start;
        let given = scalar(name, value.get_ref()).ok_or_else(|| {
            let allowed = "one text, number or true/false";
            self.failure(at, BadValue::new(name, value.get_ref(), allowed).to_string())
        })?;
        Ok(Setting { name: name.to_owned(), value: given, follows: false, place: Some(self.place(at)) })
    }

    fn settings(&self, table: BTreeMap<Spanned<String>, Spanned<Value>>) -> Result<Vec<Setting>, Failure> {
        in_order(table)
            .into_iter()
            .map(|(name, value)| {
                let at = value.span().start;
                let followed = followed(value.get_ref());
                let follows = followed.is_some();
                let given = followed.or_else(|| scalar(&name, value.get_ref())).ok_or_else(|| {
                    let allowed = "one text, number or true/false, or { as = \"AXIS\" }";
                    self.failure(at, BadValue::new(&name, value.get_ref(), allowed).to_string())
                })?;
                Ok(Setting { name, value: given, follows, place: Some(self.place(at)) })
            })
            .collect()
    }

    fn axes(
        &self,
        table: BTreeMap<Spanned<String>, Spanned<Value>>,
        cores: usize,
    ) -> Result<Vec<Axis>, Failure> {
        in_order(table)
            .into_iter()
            .map(|(name, value)| {
                let at = value.span().start;
                let mut cut = None;
                let values = match value.get_ref() {
                    Value::Array(list) => list.iter().map(|value| scalar(&name, value)).collect(),
                    Value::Table(range) => {
                        let expanded = ranges::expand(range, cores);
                        let (values, was_cut) =
                            expanded.map_err(|what| self.failure(at, format!("{name}: {what}")))?;
                        cut = was_cut;
                        Some(values)
                    }
                    _ => None,
                };
                let values = values.filter(|values| !values.is_empty()).ok_or_else(|| {
                    let allowed = "a list of values, or { from, to, times or step }";
                    self.failure(at, BadValue::new(&name, value.get_ref(), allowed).to_string())
                })?;
                for (position, value) in values.iter().enumerate() {
                    if values[..position].contains(value) {
                        return Err(self.failure(at, format!("{name}: {value} is listed twice")));
                    }
                }
                Ok(Axis { name, values, cut, place: self.place(at) })
            })
            .collect()
    }
}

/// The entries in the order of the file: a map sorts them by name.
pub(super) fn in_order(table: BTreeMap<Spanned<String>, Spanned<Value>>) -> Vec<(String, Spanned<Value>)> {
    let mut entries: Vec<_> = table.into_iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries.into_iter().map(|(name, value)| (name.into_inner(), value)).collect()
}

/// The axis that a setting follows: `{ as = "workers" }`.
fn followed(value: &Value) -> Option<String> {
    let table = value.as_table().filter(|table| table.len() == 1)?;
    table.get("as")?.as_str().map(str::to_owned)
}

/// The value of the setting called `name`, as the command line would take it.
pub(super) fn scalar(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(as_in_results(name, text.clone())),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(true) => Some("on".to_owned()),
        Value::Boolean(false) => Some("off".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str) -> String {
        Experiment::parse("e.toml", text, 4).expect_err("not an experiment").to_string()
    }

    #[test]
    fn axes_keep_the_order_of_the_file() {
        let text = "workload = 'micro'\n[base]\nprefetch = false\ntheta = 0.5\n\
                    [axes]\nworkers = [1, 2]\nprotocol = ['silo']";
        let experiment = Experiment::parse("dir/fig-2c.toml", text, 4).expect("an experiment");
        assert_eq!(experiment.name, "fig-2c");
        assert_eq!(experiment.title, "fig-2c");
        let axes: Vec<&str> = experiment.axes.iter().map(|axis| axis.name.as_str()).collect();
        assert_eq!(axes, ["workers", "protocol"]);
        assert_eq!(experiment.axes[0].values, ["1", "2"]);
        let base: Vec<&str> = experiment.base.iter().map(|setting| setting.value.as_str()).collect();
        assert_eq!(base, ["off", "0.5"]);
        assert_eq!(experiment.axes[1].place, "dir/fig-2c.toml:7:12");
    }

    #[test]
    fn a_workload_may_be_a_file_beside_the_experiment() {
        let of = |path: &str, text: &str| Experiment::parse(path, text, 4);
        let file = |path: &str, text: &str| {
            let experiment = of(path, text).expect("an experiment");
            assert_eq!(experiment.workload.value, "described");
            experiment.base[0].value.clone()
        };
        assert_eq!(file("dir/e.toml", "workload = 'bank.toml'"), "dir/bank.toml");
        assert_eq!(file("e.toml", "workload = 'bank.toml'"), "bank.toml");
        assert_eq!(file("dir/e.toml", "workload = '/bank.toml'"), "/bank.toml");
        assert_eq!(file("dir/e.toml", "workload = 'described'\n[base]\nfile = 'bank.toml'"), "bank.toml");
        let twice = of("e.toml", "workload = 'bank.toml'\n[base]\nfile = 'shop.toml'").expect_err("two");
        assert_eq!(
            twice.to_string(),
            "e.toml:3:8: the workload is a file, and another one is named; name one"
        );
        let other = of("bank.toml", "[tables.a]\nrows = 1\n[transactions.b]\nweight = 1").expect_err("none");
        assert!(other.to_string().contains("; it is a workload, which 'trireme run'"), "{other}");
    }

    #[test]
    fn what_was_cut_off_an_axis_is_written_down_with_it() {
        let of = |text: &str, cores: usize| {
            let text = format!("workload = 'micro'\n[axes]\n{text}");
            Experiment::parse("e.toml", &text, cores).expect("an experiment").axes.remove(0)
        };
        let small = of("workers = { of = [1, 2, 4, 8], to = 'cores' }", 2);
        assert_eq!(small.toml(), "{ of = [1, 2, 4, 8], to = 2 }");
        let again = of(&format!("workers = {}", small.toml()), 64);
        assert_eq!(
            (&again.values, again.cut.map(|cut| cut.listed)),
            (&small.values, small.cut.map(|cut| cut.listed))
        );
        assert_eq!(of("workers = { of = [1, 2], to = 'cores' }", 2).toml(), "[\"1\", \"2\"]");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        assert_eq!(failure("workload = 3"), "e.toml:1:12: invalid type: integer `3`, expected a string");
        assert!(failure("titel = 'x'").starts_with("e.toml:1:1: unknown field `titel`"));
        assert!(failure("workload = 'm'\n[axes\n").starts_with("e.toml:2:6: unclosed table"));
        assert!(failure("title = 'x'").contains("missing field `workload`"));
        let cases = [
            ("[axes]\nworkers = 2", "e.toml:3:11: workers 2: allowed: a list of values, or { from, to,"),
            ("[axes]\nworkers = []", "e.toml:3:11: workers []: allowed: a list"),
            ("[axes]\nworkers = [1, 1]", "e.toml:3:11: workers: 1 is listed twice"),
            ("[base]\nworkers = [1]", "e.toml:3:11: workers [1]: allowed: one text, number or true/false"),
            (
                "[base]\nseed = { as = 'workers' }\n[axes]\ntheta = [0]",
                "e.toml:3:8: seed workers: allowed: the axes theta",
            ),
            ("[base]\nseed = 1\n[axes]\nseed = [1]", "e.toml:5:8: seed is in [base] and in [axes]"),
            (
                "[base]\nprotocol = 'silo'\n[axes]\nsystem = ['partitioned-serial']",
                "e.toml:3:12: protocol is part of system, which is named, too",
            ),
        ];
        for (text, message) in cases {
            let failure = failure(&format!("workload = 'micro'\n{text}"));
            assert!(failure.starts_with(message), "{failure}");
        }
        let refused = failure("workload = 'micro'\nx = 'theta'\n[axes]\nseed = [1]");
        assert_eq!(refused, "e.toml:2:5: x theta: allowed: the axes seed");
        let refused = failure("workload = 'micro'\nx = 'seed'\ntime_at = 3\n[axes]\nseed = [1, 2]");
        assert_eq!(refused, "e.toml:3:11: time_at 3: allowed: 1, 2");
        let refused = failure("workload = 'micro'\ntime_at = 1\n[axes]\nseed = [1, 2]");
        assert_eq!(refused, "e.toml:2:11: time_at 1: allowed: none, for x names no axis");
    }

    #[test]
    fn what_is_typed_replaces_the_base_but_no_axis() {
        let text = "workload = 'micro'\n[base]\nseed = 1\n[axes]\nworkers = [1]";
        let mut experiment = Experiment::parse("e.toml", text, 4).expect("an experiment");
        experiment.replace("seed", "2").expect("in the base");
        experiment.replace("repeat", "1").expect("not in the file");
        let base: Vec<&str> = experiment.base.iter().map(|setting| setting.value.as_str()).collect();
        assert_eq!(base, ["2", "1"]);
        let refused = experiment.replace("workers", "2").expect_err("an axis").to_string();
        assert_eq!(refused, "--workers 2: e.toml sweeps workers; leave the option out");
    }

    #[test]
    fn a_file_of_a_simulated_machine_is_for_no_other() {
        let place = |description: &str| Place::simulated("haswell".to_owned(), 72, description.to_owned());
        let text = format!("machine = '{}'\nworkload = 'micro'", place("1f").written().expect("simulated"));
        let experiment = Experiment::parse("e.toml", &text, 4).expect("an experiment");
        experiment.admit(&place("1f")).expect("the same");
        let refused = experiment.admit(&Place::hardware(4)).expect_err("another").to_string();
        assert_eq!(
            refused,
            "e.toml:1:11: machine haswell 1f: allowed: that of --on, hardware: name its machine file with --on, or leave the \
             line out"
        );
        assert!(experiment.admit(&place("2f")).is_err(), "its file is another one");
        let of_any = Experiment::parse("e.toml", "workload = 'micro'", 4).expect("an experiment");
        of_any.admit(&Place::hardware(4)).expect("no machine is named");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let failure = Experiment::read(Path::new("no/such.toml"), 1).expect_err("absent").to_string();
        assert_eq!(failure, "no/such.toml: no such file or directory");
    }
}
