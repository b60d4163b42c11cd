//! Figures of a paper, reproduced: points, verdicts by the model's error, and the site of them.

use crate::common::{Ran, Scratch, fresh_folder, run};
use crate::haswell;
use harness::validation::{ModelError, ModelErrors};
use machine::simulated::fingerprint;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A project's folder with one figure of a paper, small.
fn project(name: &str) -> Scratch {
    let folder = fresh_folder(name);
    fs::create_dir_all(folder.join("experiments/trireme")).expect("made");
    fs::create_dir_all(folder.join("machines")).expect("made");
    fs::copy(haswell(), folder.join("machines/haswell-ex-4x18.toml")).expect("copied");
    let figure = "title = 'Small'\npaper = 'trireme, figure 0'\nworkload = 'micro'\nx = 'workers'\n[base]\nrecords = 5000\n\
                  warmup = '1s'\nduration = '10s'\nrepeat = 5\n[axes]\nsystem = ['shared-everything silo', \
                  'delegation silo']\nworkers = [1, 4]\n[[claims]]\nthat = 'More workers do more'\n\
                  left = { system = 'shared-everything silo', workers = 4 }\n\
                  right = { system = 'shared-everything silo', workers = 1 }\nmeasure = 'throughput'\nat_least = 1\n\
                  [[claims]]\nthat = 'More workers do less'\n\
                  left = { system = 'shared-everything silo', workers = 4 }\n\
                  right = { system = 'shared-everything silo', workers = 1 }\nmeasure = 'throughput'\nat_most = 1\n\
                  explanation = 'There is room for four.'\n";
    fs::write(folder.join("experiments/trireme/small.toml"), figure).expect("written");
    folder
}

/// A model that is off by a tenth, and says of which model that is.
fn validated(folder: &Path, fingerprint: &str) {
    let error = ModelError { value: 1.1, between_systems: 1.1, along: 1.1 };
    let errors = ModelErrors {
        model_fingerprint: fingerprint.to_owned(),
        ..ModelErrors::supposed([("throughput", error)])
    };
    fs::write(folder.join(ModelErrors::COMMITTED), errors.text()).expect("written");
}

#[test]
fn a_figure_is_reproduced_and_judged() {
    let folder = project("reproduced");
    let model = fingerprint::of_model().and_all(engine_simulated::work::estimates());
    validated(&folder, &model.to_string());
    let ran = run(&folder, &["reproduce", "trireme/small", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for told in
        ["trireme/small: 4 points; an interrupted sweep goes on", "trireme/small, point 4 of 4: system="]
    {
        assert!(ran.err.contains(told), "{told}\n{}", ran.err);
    }
    let reproduction = ran.json();
    assert_eq!(reproduction["schema"], "trireme.reproduction/1");
    assert_eq!(reproduction["sum"]["paper"]["claims"], 2);
    assert_eq!(reproduction["sum"]["paper"]["reproduced"]["claims"], 1);
    let figure = &reproduction["figures"][0];
    assert_eq!(figure["points"].as_array().map(Vec::len), Some(4));
    assert!(figure["points"].as_array().expect("a list").iter().all(is_simulated));
    assert_eq!(figure["claims"][0]["that"], "More workers do more");
    assert_eq!(figure["claims"][0]["verdict"], "reproduced");
    assert_eq!(figure["claims"][0]["error"]["factor"], 1.1);
    assert_eq!(figure["claims"][0]["error"]["of"], "along");
    assert_eq!(figure["claims"][1]["verdict"], "not-reproduced");
    assert_eq!(figure["claims"][1]["explanation"], "There is room for four.");
    let environment = fs::read_to_string(folder.join("results/reproduce/trireme/small/environment.json"));
    let environment = environment.expect("an environment");
    assert!(
        environment.contains("\"others_share\"") && environment.contains("\"frequency_mhz\""),
        "{environment}"
    );
    let page = |name: &str| fs::read_to_string(folder.join("results/reproduce").join(name)).expect("a page");
    assert!(page("trireme/index.html").contains("Explanation: There is room for four."), "beside the claim");
    assert!(page("index.html").contains("Of 2 claims: 1 reproduced, 1 not reproduced."));
    assert!(page("index.html").contains("trireme&#x2f;small&#x2f;report.html"), "the way to the figure");
    assert!(page("trireme/small/report.html").contains("..&#x2f;..&#x2f;index.html"), "and back");
    for words in ["others share", "change how long the simulation takes", "Noise: ", "<h2>Checks"] {
        assert!(page("trireme/small/report.html").contains(words), "{words}");
    }

    // What is there is not simulated again, and is the same.
    let again = run(&folder, &["reproduce", "trireme", "--json"]);
    assert_eq!(again.json()["figures"][0]["points"], figure["points"]);
    assert!(page("trireme/small/report.html").contains("others share"), "the load of then stays");
    assert_eq!(again.err, "trireme/small: all 4 points are there already; nothing is measured again\n");
    let elsewhere = run(&folder, &["reproduce", "--all", "--out", "elsewhere", "--json"]);
    assert_eq!(elsewhere.json()["figures"][0]["points"], figure["points"], "a figure repeats bit for bit");

    // Who reads ends with the sum; and what was validated is this model or none.
    let read = run(&folder, &["reproduce", "trireme"]);
    assert!(read.out.contains("\nOf 2 claims: 1 reproduced, 1 not reproduced.\n"), "{}", read.out);
    assert!(
        read.out.contains(
            "(error validated on 1970-01-01, nowhere, with up to 1 worker; at 4 it is at least this)"
        )
    );
    // What is odd about the points is told, as by a sweep of them.
    let briefly =
        ["reproduce", "trireme", "--out", "brief", "--warmup", "1us", "--duration", "20us", "--progress"];
    let brief = run(&folder, &briefly);
    assert!(brief.out.contains("\n  warning: "), "{}", brief.out);
    assert!(brief.err.contains("4 of 4 points, the last of trireme/small; "), "{}", brief.err);
    validated(&folder, "another");
    let doubtful = run(&folder, &["reproduce", "trireme"]);
    assert!(doubtful.out.contains("\nOf 2 claims: 2 cannot be told.\n"), "{}", doubtful.out);
    assert!(
        doubtful.out.contains("by a model of unknown error: machines/validated.json is of the model another")
    );
    assert!(page("trireme/index.html").contains("So no claim about simulated points can be told."), "once");

    // The site of what is there, with the times that it was simulated with, and nothing is simulated.
    let pages = fs::read_dir(folder.join("brief")).expect("a site").count();
    let shown = run(&folder, &["reproduce", "--all", "--html", "--out", "brief"]);
    assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""), "{}", shown.out);
    assert!(shown.out.ends_with("site: brief/index.html\n"), "{}", shown.out);
    assert_eq!(fs::read_dir(folder.join("brief")).expect("a site").count(), pages);

    // Of what was never simulated the site says which line does that; that line goes on in it.
    let nothing = run(&folder, &["reproduce", "--all", "--html", "--out", "new"]);
    assert_eq!(
        (nothing.code, nothing.out.as_str()),
        (
            Some(0),
            "Not run yet, and not judged: 1 figure.\nWithout --html the same line simulates them.\nsite: new/index.html\n"
        ),
        "{}",
        nothing.err
    );
    let report = || fs::read_to_string(folder.join("new/trireme/small/report.html")).expect("a page");
    assert!(
        report().contains("<code>trireme reproduce trireme/small <span class=option>--out</span> new</code>")
    );
    assert!(
        report().contains("<dt>duration</dt><dd>2ms</dd>"),
        "what that line would simulate: {}",
        report()
    );
    assert!(report().contains("not measured yet") && !report().contains("reproduced</td>"), "{}", report());
    let line = ["reproduce", "trireme/small", "--out", "new", "--warmup", "1us", "--duration", "20us"];
    assert_eq!(run(&folder, &line).code, Some(0));
    assert!(report().contains("4 of 4 points") && !report().contains("ot measured yet"), "{}", report());

    // A machine of the same name with other numbers is another machine.
    let file = folder.join("machines/haswell-ex-4x18.toml");
    let text = fs::read_to_string(&file).expect("a machine");
    fs::write(&file, text.replace("frequency_mhz = 2500", "frequency_mhz = 2600")).expect("written");
    let other = run(&folder, &["reproduce", "trireme/small"]);
    assert_eq!(other.code, Some(2), "{}", other.out);
    assert!(other.err.contains("the points are from haswell-ex-4x18"), "{}", other.err);
}

fn is_simulated(point: &Value) -> bool {
    point["summary"]["simulated"] == true && point["summary"]["machine"] == "haswell-ex-4x18"
}

/// Results of something else are refused before anything is simulated, where they are asked for; beside the figure that is asked for they are let lie.
#[test]
fn figures_that_cannot_be_read_take_no_answer_away() {
    let folder = project("unreadable");
    let figures = folder.join("experiments/trireme");
    fs::copy(figures.join("small.toml"), figures.join("other.toml")).expect("copied");
    let other = folder.join("results/reproduce/trireme/other");
    fs::create_dir_all(&other).expect("made");
    fs::write(other.join("points.jsonl"), "{\"schema\":\"trireme.sweep/1\"}\n").expect("written");
    let short = |figure: &str| {
        run(&folder, &["reproduce", figure, "--warmup", "1us", "--duration", "20us", "--repeat", "1"])
    };
    let both = short("trireme");
    assert_eq!((both.code, both.out.as_str()), (Some(2), ""), "{}", both.err);
    assert!(both.err.contains("other/points.jsonl"), "{}", both.err);
    assert!(!folder.join("results/reproduce/trireme/small").exists(), "nothing was simulated");
    let one = short("trireme/small");
    assert_eq!(one.code, Some(0), "{}", one.err);
    assert!(one.out.contains("\nOf 2 claims: ") && one.out.ends_with("index.html\n"), "{}", one.out);
}

#[test]
fn an_unknown_figure_is_refused_with_those_that_there_are() {
    let folder = project("no-figure");
    let words = "allowed: those in /";
    for (asked, what) in [
        (&["trireme/smal"][..], "figure trireme/smal is not there; "),
        (&[], "'trireme reproduce' needs a figure, or --all; "),
    ] {
        let refused = run(&folder, &[&["reproduce"], asked].concat());
        let Ran { code, out, err } = &refused;
        assert_eq!((*code, out.as_str()), (Some(2), ""), "{asked:?}: {err}");
        assert!(err.starts_with(&format!("error: {what}{words}")), "{err}");
        assert!(err.ends_with("/experiments: trireme/small; or all of a paper: trireme\n"), "{err}");
    }
}
