//! A check: a history that was judged, and what was found.

use super::Surroundings;
use crate::check::CheckSummary;
use crate::failure::Failure;
use crate::folder::{Folder, parameters};
use crate::options::OPTIONS;
use crate::report;
use crate::subject::Subject;
use std::collections::BTreeMap;

/// What `check` brings home.
pub struct CheckResult<'a> {
    /// What was checked.
    pub subject: &'a Subject,
    /// What stands around it.
    pub surroundings: &'a Surroundings,
    /// What was found.
    pub summary: CheckSummary,
}

impl CheckResult<'_> {
    /// Lays everything down.
    pub fn write(&self, folder: &Folder) -> Result<(), Failure> {
        let CheckResult { subject, surroundings, summary } = self;
        let text = parameters::of_check(&surroundings.command, &self.settings(), &subject.parameters);
        folder.write("parameters.toml", &text)?;
        folder.write_json("environment.json", &surroundings.environment)?;
        folder.write_json("summary.json", summary)?;
        folder.write("report.html", &report::of_check(self))
    }

    /// Everything that was set, but for the workload's parameters.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let CheckSummary { workload, architecture, protocol, transactions, canary, .. } = &self.summary;
        let what = [
            ("workload", workload.clone()),
            ("architecture", architecture.clone()),
            (if *canary { "canary" } else { "protocol" }, protocol.clone()),
            ("transactions", transactions.to_string()),
        ];
        let in_checks = OPTIONS.iter().filter(|option| option.in_checks);
        let options = in_checks.map(|option| (option.name, option.get(&self.subject.options)));
        what.into_iter().chain(options).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ROWS, subject, surroundings};
    use super::*;
    use crate::check::Trial;
    use crate::mock::{Counting, MockEngine};
    use crate::observer::Silent;
    use contract::{ArchitectureName, CanaryName, PairName, ProtocolName, Selection};
    use history::{Anomaly, AnomalyKind, Deletes};
    use serde_json::Value;
    use std::fs;

    fn check_is_laid_down(
        canary: bool,
        transactions: u64,
        edit: impl Fn(&mut CheckSummary),
    ) -> (Value, String, String) {
        let (subject, surroundings) = (subject(), surroundings());
        let architecture = ArchitectureName::SharedEverything;
        let selection = match canary {
            true => Selection::Canary(architecture, CanaryName::DirtyReads),
            false => Selection::Pair(PairName { architecture, protocol: ProtocolName::Silo }),
        };
        let trial = Trial { selection, subject: &subject, transactions, observer: &Silent };
        let (mut summary, _) =
            trial.of_workload::<MockEngine, _>(&Counting { rows: ROWS }, Deletes::None).expect("checked");
        edit(&mut summary);
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = Folder::create(scratch.path()).expect("a folder");
        CheckResult { subject: &subject, surroundings: &surroundings, summary }
            .write(&folder)
            .expect("laid down");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect(name);
        assert!(read("environment.json").contains("\"cores\": 2"));
        let summary = serde_json::from_str(&read("summary.json")).expect("JSON");
        (summary, read("parameters.toml"), read("report.html"))
    }

    #[test]
    fn a_check_is_laid_down_whole() {
        let (summary, parameters, html) = check_is_laid_down(false, 300, |_| {});
        assert_eq!((&summary["passed"], &summary["transactions"]), (&true.into(), &300.into()));
        for line in ["protocol = \"silo\"", "transactions = \"300\"", "seed = \"1\"", "rows = \"100\""] {
            assert!(parameters.lines().any(|set| set == line), "{line}\n{parameters}");
        }
        assert!(!parameters.contains("duration"), "a check has none: {parameters}");
        assert!(html.contains("<h1>shared-everything silo over counting: passed</h1>"));
        assert!(html.contains("The history is strictly serializable.") && !html.contains("What is wrong"));
        assert!(html.contains("What happened") && !html.contains("Too little happened"));
    }

    #[test]
    fn a_check_in_which_too_little_happened_is_laid_down_as_such() {
        let (summary, _, html) = check_is_laid_down(false, 100, |_| {});
        assert_eq!(summary["passed"], false);
        let words = summary["too_little"].as_str().expect("words");
        assert!(words.starts_with("49 write-read, 49 write-write dependencies"), "{words}");
        assert_eq!(summary["verdict"]["dependencies"]["write-write"]["between_workers"], 49);
        assert!(html.contains("<h1>shared-everything silo over counting: too little happened</h1>"));
        assert!(html.contains("Too little happened: 49 write-read, 49 write-write"), "{html}");
    }

    #[test]
    fn a_rejection_is_laid_down_with_its_anomalies() {
        let (summary, parameters, html) = check_is_laid_down(true, 300, |summary| {
            let words = "T1 <missed> what T2 wrote".to_owned();
            let verdict = summary.verdict.as_mut().expect("judged");
            verdict.counts.insert(AnomalyKind::WriteSkew, 3);
            verdict.anomalies.push(Anomaly { kind: AnomalyKind::WriteSkew, transactions: Vec::new(), words });
            (summary.passed, summary.checks[0].passed) = (false, false);
        });
        assert_eq!(summary["verdict"]["counts"]["write skew"], 3);
        assert!(parameters.contains("canary = \"dirty-reads\"") && !parameters.contains("protocol"));
        for part in [
            "rejected, as a canary must be</h1>",
            "NOT strictly serializable",
            "T1 &lt;missed&gt; what T2 wrote",
            "FAILED",
        ] {
            assert!(html.contains(part), "{part}");
        }
    }
}
