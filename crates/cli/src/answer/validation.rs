//! A simulated machine beside the one that it describes, and how far its model is off.

use super::{finish, ruled};
use comfy_table::Table;
use harness::text::names;
use harness::text::numbers::{counted, latency, percent, ratio, thousands};
use harness::validation::{Both, Compared, Comparisons, KindErrors, ModelError, Validation};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A simulated machine beside the one that it describes, workload by workload.
pub fn of_validation(validation: &Validation) -> String {
    let mut text = format!(
        "{}: measured here, and simulated, in {}\n",
        validation.machine,
        counted(validation.rounds, "round")
    );
    let same =
        |one: &Compared, other: &Compared| (&one.workload, &one.setting) == (&other.workload, &other.setting);
    for rows in validation.rows.chunk_by(same) {
        let _ = write!(text, "\n{} {}\n\n{}\n", rows[0].workload, rows[0].setting, compared(rows));
    }
    let order = validation.order_kept.map_or("no two systems differ by a fifth".to_owned(), |kept| {
        format!(
            "of the systems that differ by a fifth or more, {} stand in the order measured",
            percent(kept)
        )
    });
    let _ = write!(
        text,
        "\nsimulated throughput is off by a factor of {:.2} in the geometric mean, {:.2} at worst; {order}\nthe rounds on \
         the hardware are off their medians by {:.3}\n\n{}\n{}",
        validation.mean_factor,
        validation.worst_factor,
        validation.hardware_spread,
        model_errors(&validation.errors, &validation.comparisons),
        deployments(validation)
    );
    finish(text, &validation.warnings, None)
}

fn compared(rows: &[Compared]) -> Table {
    let head = [
        "architecture",
        "protocol",
        "workers",
        "channel",
        "measured/s",
        "from",
        "to",
        "simulated/s",
        "ratio",
        "mean",
        "simulated",
        "aborts/commit",
        "simulated",
    ];
    let mut table = ruled(&head, &[2, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    for row in rows {
        let mean = |of: fn(&Both) -> f64| {
            row.mean_ns.map_or(String::new(), |both| latency(of(&both).round() as u64))
        };
        table.add_row([
            row.architecture.clone(),
            names::protocol(&row.architecture, &row.protocol).to_owned(),
            row.workers.to_string(),
            row.channel.map_or(String::new(), |channel| format!("{channel}, {} instances", row.instances)),
            thousands(row.measured_per_s),
            thousands(row.measured_min),
            thousands(row.measured_max),
            thousands(row.simulated_per_s),
            format!("{:.2}", row.ratio),
            mean(|both| both.measured),
            mean(|both| both.simulated),
            ratio(row.abort_rate.measured),
            ratio(row.abort_rate.simulated),
        ]);
    }
    table
}

/// The errors of deployments, which are told apart from those of one instance.
fn deployments(validation: &Validation) -> String {
    let Some(KindErrors { deployed, errors, comparisons, .. }) = &validation.deployments else {
        return String::new();
    };
    format!(
        "\nthat is of systems of one instance; deployments ({deployed}), and what is compared with them, are off by\n\n{}\n",
        model_errors(errors, comparisons)
    )
}

/// How far the model is off, by what is asked of it.
fn model_errors(errors: &BTreeMap<String, ModelError>, all: &BTreeMap<String, Comparisons>) -> Table {
    let head =
        ["off by a factor, of so many", "a value", "two systems at one point", "one system at two points"];
    let mut table = ruled(&head, &[1, 2, 3]);
    for (measure, comparisons) in all {
        let error = errors.get(measure);
        let cell = |factor: Option<f64>, of: usize| match factor {
            Some(factor) => format!("{factor:.2}  ({of})"),
            None => format!("not told  ({of})"),
        };
        table.add_row([
            measure.clone(),
            cell(error.map(|error| error.value), comparisons.value),
            cell(error.map(|error| error.between_systems), comparisons.between_systems),
            cell(error.map(|error| error.along), comparisons.along),
        ]);
    }
    table
}
