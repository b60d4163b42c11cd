//! `report`: one page of several folders of results.

use crate::arguments::typed;
use crate::{output, surroundings};
use clap::{Arg, ArgAction, ArgMatches, Command};
use harness::diff::baselines;
use harness::folder::Folder;
use harness::laid_down::LaidDown;
use harness::report::{of_folders, page::Way};
use harness::{BadValue, Failure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where the page goes, unless the line says otherwise.
const PAGE: &str = "results/report.html";

/// What can be typed.
pub fn arguments() -> Command {
    let folders = Arg::new("folders").value_name("FOLDER").required(true).action(ArgAction::Append);
    let help = "Results of run, compare or sweep, or the name under which --save-baseline has kept some";
    let out = Arg::new("out").long("out").value_name("FILE").help(format!("The page [default: {PAGE}]"));
    Command::new("report")
        .about("Draw one page of several folders of results, side by side")
        .arg(folders.num_args(1..).help(help))
        .arg(out)
}

/// Draws the page.
pub fn report(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    let page = PathBuf::from(typed(matches, "out").unwrap_or(PAGE));
    admit(&page)?;
    let given = matches.get_many::<String>("folders").into_iter().flatten();
    let given: Vec<&str> = given.map(String::as_str).collect();
    let read = |name: &&str| LaidDown::read(&baselines::find(name, Path::new(baselines::FOLDER))?);
    let results = given.iter().map(read).collect::<Result<Vec<LaidDown>, Failure>>()?;

    let above = page.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = Folder::create(above)?;
    let named = short_names(&given).into_iter().zip(results);
    let named: Vec<(Way, LaidDown)> =
        named.map(|(name, of)| (Way::to(name, way_to(&of.folder.join("report.html"), above)), of)).collect();
    let name = page.file_name().unwrap_or_default().to_string_lossy();
    folder.write(&name, &of_folders(&named, &surroundings::of_line(line)))?;
    output::print(&format!("report: {}\n", page.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses to write over what is no page of ours.
fn admit(page: &Path) -> Result<(), Failure> {
    let allowed = "a new file, or a page of this program";
    let is_file = page.file_name().is_some() && !page.is_dir();
    let is_ours = |text: String| text.contains(" · Trireme</title>");
    match is_file && (!page.exists() || fs::read_to_string(page).is_ok_and(is_ours)) {
        true => Ok(()),
        false => Err(BadValue::new("out", page.display(), allowed).into()),
    }
}

/// The folders' own names, where they differ; else as they were given.
fn short_names(given: &[&str]) -> Vec<String> {
    let own = |folder: &&str| match Path::new(folder).file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => (*folder).to_owned(),
    };
    let names: Vec<String> = given.iter().map(own).collect();
    match names.iter().collect::<BTreeSet<_>>().len() == names.len() {
        true => names,
        false => given.iter().map(|folder| (*folder).to_owned()).collect(),
    }
}

/// The way from the folder `from` to `file`; by its whole path if there is no shorter one.
fn way_to(file: &Path, from: &Path) -> String {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // A baseline has no page of its own: then the way is to its folder.
    let file = if file.exists() { file } else { file.parent().unwrap_or(file) };
    let (file, from) = (whole(file), whole(from));
    as_href(&pathdiff::diff_paths(&file, &from).unwrap_or(file))
}

/// A path as a reference of a page (RFC 3986): what has a meaning there, such as `#`, `?`, `%` and `:`, is written by its bytes.
fn as_href(path: &Path) -> String {
    let byte = |&byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    path.as_os_str().as_encoded_bytes().iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_have_their_own_names_where_these_differ() {
        assert_eq!(short_names(&["a/one", "b/two/"]), ["one", "two"]);
        assert_eq!(short_names(&["a/one", "b/one"]), ["a/one", "b/one"]);
    }

    #[test]
    fn a_way_leads_to_folders_of_any_name() {
        let href = |path: &str| as_href(Path::new(path));
        assert_eq!(href("../results/run-1/report.html"), "../results/run-1/report.html");
        assert_eq!(href("a#b/50%25/q?x"), "a%23b/50%2525/q%3Fx");
        assert_eq!(href("c:d/e f/é"), "c%3Ad/e%20f/%C3%A9");
    }

    #[test]
    fn what_is_no_page_is_not_written_over() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let page = scratch.path().join("page.html");
        admit(&page).expect("it is new");
        fs::write(&page, "<title>x · Trireme</title>").expect("written");
        admit(&page).expect("it is ours");
        fs::write(&page, "something else").expect("written");
        let refused = admit(&page).expect_err("it is not").to_string();
        assert!(refused.ends_with("allowed: a new file, or a page of this program"), "{refused}");
        assert!(admit(scratch.path()).is_err(), "a folder");
    }
}
