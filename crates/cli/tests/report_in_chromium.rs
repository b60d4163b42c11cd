//! The reports as a person opens them: in a browser, without a network, on a desk and on a phone.
//!
//! A copy of each report gets a script that measures what was laid out; the report itself has none. It is shown in a
//! frame of the width in question, because a browser's window is never as narrow as a phone. Without Chromium the test
//! says so and passes, except where `CI` or `TRIREME_REQUIRE_BROWSER` is set: there it fails.

mod common;

use common::{assert_nothing_wrong, fresh_folder, run, run_short};
use serde_json::Value;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A desk and a phone.
const WIDTHS: [u32; 2] = [1200, 390];

/// Reports what was laid out, as JSON to the frame's page.
const PROBE: &str = r#"
<script>
const visible = [...document.querySelectorAll('svg.figure')].filter(svg => getComputedStyle(svg).display !== 'none');
const box = element => element.getBoundingClientRect();
const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
                          Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
const faults = [];
for (const svg of visible) {
  const frame = box(svg), texts = [...svg.querySelectorAll('text')];
  const label = svg.getAttribute('aria-label');
  if (frame.width < 200 || frame.height < 50) faults.push(`${label}: ${frame.width} x ${frame.height}`);
  texts.forEach((text, nth) => {
    const one = box(text);
    if (one.left < frame.left - 1 || one.right > frame.right + 1 || one.bottom > frame.bottom + 1)
      faults.push(`${label}: '${text.textContent}' leaves the figure`);
    for (const other of texts.slice(nth + 1))
      if (overlap(one, box(other))) faults.push(`${label}: '${text.textContent}' overlaps '${other.textContent}'`);
  });
}
if (document.documentElement.scrollWidth > innerWidth)
  faults.push(`the page is ${document.documentElement.scrollWidth} wide, the window ${innerWidth}`);
parent.postMessage(JSON.stringify({
  width: innerWidth,
  background: getComputedStyle(document.body).backgroundColor,
  figures: visible.length,
  cut: [...document.querySelectorAll('.scroll')].filter(table => table.scrollWidth > table.clientWidth)
    .map(table => table.closest('section').querySelector('h2').textContent),
  headings: [...document.querySelectorAll('h2')].map(heading => heading.textContent),
  ranked: [...document.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.textContent)),
  faults,
}), '*');
</script>
</body>"#;

/// Shows the copy at a width, and writes what it reports into its own document, which is dumped.
const FRAME: &str = r#"<!doctype html>
<meta charset="utf-8">
<body style="margin:0">
<pre id="probe"></pre>
<script>addEventListener('message', event => { document.getElementById('probe').textContent = event.data; });</script>
<iframe src="probe.html" style="border:0; width:WIDTHpx; height:5000px"></iframe>
"#;

/// The browser; `None` where it is absent and need not be there.
fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = env::var_os("PATH").unwrap_or_default();
    let found =
        env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).find(|p| p.exists());
    let required = ["CI", "TRIREME_REQUIRE_BROWSER"].into_iter().find(|name| env::var_os(name).is_some());
    match (&found, required) {
        (None, Some(name)) => {
            panic!("Chromium is not there, and {name} is set: install it (apt-get install chromium)")
        }
        (None, None) => eprintln!("skipped: Chromium is not there (apt-get install chromium)"),
        _ => {}
    }
    found
}

/// By day, and by night.
const SCHEMES: [&str; 2] =
    ["--blink-settings=preferredColorScheme=1", "--blink-settings=preferredColorScheme=0"];

/// What one start of the browser brought.
struct Opened {
    out: String,
    err: String,
}

fn open(chromium: &Path, page: &Path, width: u32, what: &[&str]) -> Opened {
    let profile = fresh_folder(&format!("profile-{width}"));
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--window-size={width},2000"))
        .args(what)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Opened {
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// What the script found in `report` at `width`: it has no faults.
fn probe(chromium: &Path, report: &Path, width: u32) -> Value {
    let html = fs::read_to_string(report).expect("a report");
    let found = lay_out(chromium, report, &html, width);
    assert_eq!(found["faults"], Value::Array(Vec::new()), "{} at {width}", report.display());
    found
}

fn lay_out(chromium: &Path, report: &Path, html: &str, width: u32) -> Value {
    lay_out_by(chromium, report, html, width, SCHEMES[0])
}

fn lay_out_by(chromium: &Path, report: &Path, html: &str, width: u32, scheme: &str) -> Value {
    let copy = report.with_file_name("probe.html");
    fs::write(&copy, html.replace("</body>", PROBE)).expect("a copy");
    let frame = report.with_file_name("frame.html");
    fs::write(&frame, FRAME.replace("WIDTH", &width.to_string())).expect("a frame");
    let opened = open(chromium, &frame, width, &[scheme, "--virtual-time-budget=3000", "--dump-dom"]);
    let console: Vec<&str> = opened.err.lines().filter(|line| line.contains(":CONSOLE")).collect();
    assert!(console.is_empty(), "{}: {console:?}", report.display());
    let after = opened.out.split("<pre id=\"probe\">").nth(1).expect("the script ran");
    let json = after.split("</pre>").next().expect("an end");
    let json = json.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
    let found: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(found["width"], width, "the window has the width that was asked for");
    found
}

/// The script finds what it is there to find.
fn assert_faults_are_found(chromium: &Path, report: &Path) {
    let html = fs::read_to_string(report).expect("a report");
    let planted = "<text x=\"100\" y=\"40\">one</text><text x=\"105\" y=\"42\">other</text>\
                   <text x=\"900\" y=\"60\">a text that leaves the figure</text></svg>";
    let first_figure = html.find("<svg class=\"figure wide\"").expect("a figure");
    let end = first_figure + html[first_figure..].find("</svg>").expect("its end");
    let html = format!("{}{planted}{}", &html[..end], &html[end + "</svg>".len()..]);
    let faults = lay_out(chromium, report, &html, 1200)["faults"].to_string();
    assert!(faults.contains("'one' overlaps 'other'") && faults.contains("leaves the figure"), "{faults}");
}

/// A page that needs no network names no place of one, and has no script.
fn assert_self_contained(report: &Path) {
    let html = fs::read_to_string(report).expect("a report");
    for reference in ["http:", "https:", "src=", "@import", "url(", "<script", "<iframe"] {
        assert!(!html.contains(reference), "{}: {reference}", report.display());
    }
    let links = html.matches("href=").count();
    assert_eq!(links, html.matches("href=\"data:,\"").count(), "{}: a link", report.display());
}

fn assert_screenshot(chromium: &Path, report: &Path, width: u32) {
    let picture = report.with_file_name(format!("screenshot-{width}.png"));
    open(chromium, report, width, &[&format!("--screenshot={}", picture.display())]);
    let png = fs::read(&picture).expect("a screenshot");
    assert!(png.starts_with(b"\x89PNG") && png.len() > 20_000, "{} bytes", png.len());
}

#[test]
fn a_checks_report_opens_in_a_browser() {
    let Some(chromium) = chromium() else { return };
    let folder = fresh_folder("check-report");
    let canary = "check micro --canary no-read-validation --records 100 --writes 50 --workers 2 --out canary \
                  --transactions 20000";
    assert_eq!(run(&folder, &canary.split_whitespace().collect::<Vec<_>>()).code, Some(1));
    let scenario = "check write-skew --protocol no-wait --transactions 2000 --out scenario";
    assert_nothing_wrong(&run(&folder, &scenario.split(' ').collect::<Vec<_>>()), "write-skew");
    for (report, headings) in [
        ("canary/report.html", &["What is wrong", "In words", "Checks", "Aborts by reason"][..]),
        ("scenario/report.html", &["Checks", "Parameters", "Machine"]),
    ] {
        let report = folder.join(report);
        assert_self_contained(&report);
        for width in WIDTHS {
            let found = probe(&chromium, &report, width)["headings"].to_string();
            for heading in headings {
                assert!(found.contains(heading), "{heading}: {found}");
            }
        }
    }
}

#[test]
fn an_advice_opens_in_a_browser() {
    let Some(chromium) = chromium() else { return };
    let folder = fresh_folder("advice-report");
    let line = "advise examples/workloads/bank.toml --most-rows 1000 --on hardware,nehalem-ex-4x8 --workers 2 --effort 0.1 --only silo,partitioned-serial --out advice";
    let ran = run(&folder, &line.split(' ').collect::<Vec<_>>());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let report = folder.join("advice/report.html");
    assert_self_contained(&report);
    for width in WIDTHS {
        let found = probe(&chromium, &report, width)["headings"].to_string();
        for heading in [
            "What to take",
            "hardware, ",
            "nehalem-ex-4x8 (simulated), 32 cores",
            "Along skew (theta) on hardware",
            "Measured again on nehalem-ex-4x8",
        ] {
            assert!(found.contains(heading), "{heading}: {found}");
        }
    }
}

#[test]
fn the_reports_open_in_a_browser() {
    let Some(chromium) = chromium() else { return };
    let folder = fresh_folder("reports");

    let compared = run_short(&folder, &["compare", "ycsb", "--theta", "0.95", "--out", "compare", "--json"]);
    assert_eq!(compared.code, Some(0), "{}", compared.err);
    let comparison = compared.json();
    let rows = comparison["rows"].as_array().expect("rows").iter().filter(|row| row["supported"] == true);
    let told_apart = comparison["told_apart_from_best"].as_array().expect("of each system");
    let report = folder.join("compare/report.html");
    assert_self_contained(&report);
    assert_faults_are_found(&chromium, &report);
    for width in WIDTHS {
        let found = probe(&chromium, &report, width);
        for (rank, row) in rows.clone().enumerate() {
            let cells = &found["ranked"][rank];
            let mark = if rank > 0 && told_apart[rank] == false { "~" } else { "" };
            assert_eq!(cells[0], format!("{}{mark}", rank + 1));
            let protocol = match &row["architecture"] {
                orthrus if orthrus == "orthrus" => &Value::from("(planned locks)"),
                _ => &row["protocol"],
            };
            assert_eq!((&cells[1], &cells[2]), (&row["architecture"], protocol));
        }
        assert!(found["figures"].as_u64().is_some_and(|figures| figures >= 3), "{found}");
        // On a phone tables scroll.
        assert!(width < 1200 || found["cut"] == Value::Array(Vec::new()), "{}", found["cut"]);
        let headings = found["headings"].to_string();
        for heading in [
            "Throughput",
            "Ranking",
            "Where the time goes",
            "Latency",
            "What the architecture cost",
            "Not measured",
            "Parameters",
            "Machine",
        ] {
            assert!(headings.contains(heading), "{heading}: {headings}");
        }
        assert!(headings.contains("warning"), "an interval of 20 ms warns: {headings}");
        assert_screenshot(&chromium, &report, width);
    }

    let line = ["run", "ycsb", "--protocol", "no-wait", "--theta", "0.95", "--out", "run"];
    assert_eq!(run_short(&folder, &line).code, Some(0));
    let report = folder.join("run/report.html");
    assert_self_contained(&report);
    for width in WIDTHS {
        let found = probe(&chromium, &report, width);
        assert!(found["headings"].to_string().contains("Throughput by repetition"), "{found}");
    }

    let experiment = "title = 'Skew <&>'\nclaim = 'It falls.'\nworkload = 'ycsb'\n\
                      [base]\nrecords = 2000\nduration = '20ms'\nwarmup = '5ms'\nrepeat = 2\nreads = 0\n\
                      [axes]\nprotocol = ['no-wait', 'dl-detect', 'silo']\ntheta = [0, 0.5, 0.6, 0.9, 0.95, 0.99]";
    fs::write(folder.join("skew.toml"), experiment).expect("a file");
    let swept = run(&folder, &["sweep", "skew.toml", "--out", "sweep"]);
    assert_eq!(swept.code, Some(0), "{}", swept.err);
    let report = folder.join("sweep/report.html");
    assert_self_contained(&report);
    for width in WIDTHS {
        let found = probe(&chromium, &report, width);
        let headings = found["headings"].to_string();
        for heading in ["The claim", "Throughput", "Abort rate", "Points"] {
            assert!(headings.contains(heading), "{heading}: {headings}");
        }
    }

    // All three on one page, with the ways to their own.
    let both = ["report", "compare", "run", "sweep", "--out", "together/page.html"];
    let ran = run(&folder, &both);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "report: together/page.html\n"), "{}", ran.err);
    let page = folder.join("together/page.html");
    for width in WIDTHS {
        let headings = probe(&chromium, &page, width)["headings"].to_string();
        for heading in
            ["Throughput over ycsb", "What differs in how they were measured", "Numbers", "Throughput"]
        {
            assert!(headings.contains(heading), "{heading}: {headings}");
        }
    }
    let reports = ["compare", "run", "sweep"].map(|name| folder.join(name).join("report.html"));
    let whole = |page: &PathBuf| page.canonicalize().expect("a page");
    assert_eq!(
        links(&page).iter().map(whole).collect::<Vec<_>>(),
        reports.iter().map(whole).collect::<Vec<_>>()
    );
}

/// The pages that a page leads to.
fn links(page: &Path) -> Vec<PathBuf> {
    let html = fs::read_to_string(page).expect("a page");
    let hrefs = html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let hrefs = hrefs.filter(|href| *href != "data:,").map(|href| href.replace("&#x2f;", "/"));
    hrefs.map(|href| page.with_file_name(href)).collect()
}

/// The site of two papers, simulated on a small scale: every page is well laid out on a desk and a phone, by day and by night, and leads somewhere.
#[test]
fn the_site_opens_in_a_browser() {
    let Some(chromium) = chromium() else { return };
    let folder = fresh_folder("site");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::create_dir_all(folder.join("machines")).expect("a folder");
    for machine in ["haswell-ex-4x18", "nehalem-ex-4x8"] {
        let file = format!("machines/{machine}.toml");
        fs::copy(root.join(&file), folder.join(&file)).expect("a machine");
    }
    for paper in ["trireme", "silo"] {
        let below = folder.join("experiments").join(paper);
        fs::create_dir_all(&below).expect("a folder");
        fs::copy(root.join(format!("experiments/{paper}/README.md")), below.join("README.md"))
            .expect("a head");
        let figure = "title = 'A <small> figure'\nclaim = 'It rises.'\nworkload = 'micro'\nx = 'workers'\n[base]\nrecords = 1000\n\
                      [axes]\nprotocol = ['silo', 'no-wait']\nworkers = [1, 4]\n[[claims]]\nthat = 'More workers do more'\n\
                      section = '1'\nsays = 'more is more'\nleft = { workers = 4 }\nright = { workers = 1 }\n\
                      measure = 'throughput'\nat_least = 1\nexplanation = 'There is room for four.'\n";
        fs::write(below.join("small.toml"), figure).expect("a figure");
    }
    let line =
        ["reproduce", "--all", "--out", "site", "--repeat", "1", "--warmup", "10us", "--duration", "100us"];
    let ran = run(&folder, &line);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let shown = run(&folder, &["reproduce", "--all", "--html", "--out", "site"]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);

    let pages = pages_from(&folder.join("site/index.html"));
    assert_eq!(pages.len(), 1 + 2 + 2, "an index, a page a paper, a report a figure: {pages:?}");
    let words = |page: &Path, words: &str| {
        let html = fs::read_to_string(page).expect("a page");
        assert!(html.contains(words), "{}: {words}", page.display());
    };
    words(&folder.join("site/index.html"), "Speedy Transactions in Multicore In-Memory Databases");
    // One repetition does not tell: nothing came out that could be explained.
    words(
        &folder.join("site/silo/index.html"),
        "one repetition has no spread; use repeat 3 or more; of 2 comparisons 2 cannot be told</td>",
    );
    pages.iter().for_each(|page| assert_laid_out_by_day_and_by_night(&chromium, page));
}

fn assert_laid_out_by_day_and_by_night(chromium: &Path, page: &Path) {
    let html = fs::read_to_string(page).expect("a page");
    for width in [1280, 400] {
        let [day, night] = SCHEMES.map(|scheme| lay_out_by(chromium, page, &html, width, scheme));
        for found in [&day, &night] {
            assert_eq!(found["faults"], Value::Array(Vec::new()), "{} at {width}", page.display());
        }
        assert_ne!(day["background"], night["background"], "{} is dark by night", page.display());
    }
}

/// Every page that is found from the first one; each link leads to one.
fn pages_from(first: &Path) -> Vec<PathBuf> {
    let mut pages = vec![first.canonicalize().expect("a page")];
    let mut next = 0;
    while let Some(page) = pages.get(next).cloned() {
        for link in links(&page) {
            let link = link.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", link.display()));
            if !pages.contains(&link) {
                pages.push(link);
            }
        }
        next += 1;
    }
    pages
}

/// Who has measured nothing has the site, too: every figure with its claims, the line that measures it, and no verdict.
#[test]
fn the_site_of_a_fresh_checkout_names_every_figure_and_judges_none() {
    let folder = fresh_folder("fresh-site");
    let shown = run(&folder, &["reproduce", "--all", "--html"]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    let site = folder.join("results/reproduce");
    let read = |page: &Path| fs::read_to_string(page).expect("a page").replace("&#x2f;", "/");
    let index = read(&site.join("index.html"));
    for title in [
        "Analyzing the Impact of System Architecture on the Scalability of OLTP Engines",
        "Design Principles for Scaling Multi-core OLTP Under High Contention",
        "Speedy Transactions in Multicore In-Memory Databases",
        "More Than A Network: Distributed OLTP on Clusters of Hardware Islands",
        "Staring into the Abyss: An Evaluation of Concurrency Control with One Thousand Cores",
    ] {
        assert!(index.contains(&format!("/index.html\">{title}</a>")), "{title}: {index}");
    }

    // As many pages as there are experiments of papers, and each is found.
    let mut pages = pages_from(&site.join("index.html"));
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let papers = ["trireme", "orthrus", "silo", "hardware-islands", "thousand-cores", "successors"];
    let mut figures = 0;
    for paper in papers {
        for file in fs::read_dir(experiments.join(paper)).expect("a paper").flatten() {
            let (file, text) = (file.path(), fs::read_to_string(file.path()).expect("a file"));
            let Some(name) = file.to_str().and_then(|name| name.strip_suffix(".toml")) else { continue };
            let name = format!("{paper}/{}", name.rsplit('/').next().expect("a name"));
            let page = site.join(&name).join("report.html").canonicalize().expect("a page");
            assert!(pages.contains(&page), "{name}");
            let html = read(&page);
            assert!(html.contains(&format!("<code>trireme reproduce {name}</code>")), "{name}: {html}");
            let claims = text.lines().filter(|line| *line == "[[claims]]").count();
            assert_eq!(html.matches("<td class=\"verdict\">not measured yet").count(), claims, "{name}");
            figures += 1;
        }
    }
    assert_eq!(pages.len(), 1 + papers.len() + figures);
    assert!(index.contains(&format!("0 of {figures} figures were run")), "{index}");
    for page in &pages {
        for verdict in
            ["cannot be told", "not reproduced", "reproduced", "direction only", "not applicable here"]
        {
            assert!(
                !read(page).contains(&format!("<td class=\"verdict\">{verdict}")),
                "{}: {verdict}",
                page.display()
            );
        }
    }

    let Some(chromium) = chromium() else { return };
    pages.retain(|page| {
        ["reproduce/index.html", "trireme/fig-2a/report.html"].iter().any(|end| page.ends_with(end))
    });
    assert_eq!(pages.len(), 2, "{pages:?}");
    pages.iter().for_each(|page| assert_laid_out_by_day_and_by_night(&chromium, page));
}
