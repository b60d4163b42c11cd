//! `report.html`: one page that opens without a network, on a desk and on a phone, by day and by night.
//!
//! The way of a number: a [`crate::summary::Summary`] becomes figures (`figures`) and tables, these become blocks of
//! a `page::Page`, and the template writes the blocks down. The template and its style are files of their own.

mod by_turns;
mod check;
mod claims;
mod compare;
mod curve;
pub(crate) mod facts;
mod figures;
mod gallery;
pub mod page;
mod run;
mod series;
mod several;
mod site;
mod sweep;
mod tables;
mod unmeasured;

pub use by_turns::of_turns;
pub use check::of_check;
pub use compare::of_comparison;
pub use gallery::{Exhibit, of_paper};
pub use run::of_run;
pub use several::of_folders;
pub use site::{Listed, Paper, of_site};
pub use sweep::{SweepReport, of_sweep};
pub use unmeasured::{Waiting, of_unmeasured};

use crate::results::Surroundings;
use crate::svg::escape;
use minijinja::{AutoEscape, Environment, context, value::Serde};
use page::Page;

/// The page as HTML.
pub fn render(page: &Page) -> String {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment.add_filter("options", keep_options_whole);
    environment
        .add_template("report.html", include_str!("report.html"))
        .expect("the template is well formed");
    let template = environment.get_template("report.html").expect("it was added");
    template
        .render(context! { page => Serde(page), style => include_str!("report.css") })
        .expect("the template names only what a page has")
}

/// Options such as `--duration` are not broken at their dashes. What is punctuated after one is none of it.
fn keep_options_whole(text: &str) -> minijinja::Value {
    let word = |word: &str| match word.starts_with("--") {
        true => {
            let option = word.trim_end_matches([',', ';', ':', '.', ')']);
            format!("<span class=option>{}</span>{}", escape(option), escape(&word[option.len()..]))
        }
        false => escape(word),
    };
    minijinja::Value::from_safe_string(text.split(' ').map(word).collect::<Vec<_>>().join(" "))
}

/// When the numbers came about, how, and by what.
pub(crate) fn footer(surroundings: &Surroundings, simulated: bool) -> String {
    made(if simulated { "Simulated" } else { "Measured" }, surroundings)
}

/// When a page was laid down of numbers that came about earlier, or not at all.
fn laid_down(surroundings: &Surroundings) -> String {
    made("Laid down", surroundings)
}

fn made(how: &str, surroundings: &Surroundings) -> String {
    let commit = surroundings.environment["trireme_commit"].as_str();
    let commit = commit.map_or(String::new(), |commit| format!(", commit {commit}"));
    format!("{how} {} by trireme {}{commit}.", surroundings.began, env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_ends_before_what_follows_it() {
        let html = keep_options_whole("use --duration, or --rate=1.5 <so>.").to_string();
        assert_eq!(
            html,
            "use <span class=option>--duration</span>, or <span class=option>--rate=1.5</span> &lt;so&gt;."
        );
    }
}
