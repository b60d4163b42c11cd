//! Fitted numbers: `"transfers.load_shared_cycles" = { value = [60, 300], figure = "trireme/fig-2b" }`.
//!
//! They take the place of the literature's before anything is read, so that they are checked like those. A fitted
//! number must name a field that the file has, and the figure that it was fitted on.

use super::{DescriptionError, Fitted, reader::Reader};
use toml::{Table, Value};

/// Takes the table `fitted` out of the file and puts its values where they belong.
pub(super) fn apply(file: &mut Table) -> Result<Vec<Fitted>, DescriptionError> {
    let error = |field: &str, value: String, why: &str| DescriptionError {
        field: format!("fitted.{field}"),
        value,
        why: why.to_owned(),
    };
    let fitted = match file.remove("fitted") {
        None => return Ok(Vec::new()),
        Some(Value::Table(fitted)) => fitted,
        Some(other) => return Err(error("", other.to_string(), "is to be a table")),
    };
    let mut applied = Vec::new();
    for (field, entry) in fitted {
        let Value::Table(mut entry) = entry else {
            return Err(error(&field, entry.to_string(), "is to be { value = ..., figure = \"...\" }"));
        };
        let value = entry.remove("value").ok_or_else(|| error(&field, String::new(), "has no value"))?;
        let mut entry = Reader::new(entry);
        let figure = entry.text("figure").map_err(|_| {
            error(&field, value.to_string(), "does not say by `figure` what it was fitted on")
        })?;
        entry.end().map_err(|unknown| error(&field, unknown.value, "knows `value` and `figure` only"))?;
        let place = find(file, &field)
            .ok_or_else(|| error(&field, value.to_string(), "overrides no number of the literature"))?;
        *place = value;
        applied.push(Fitted { field, figure });
    }
    Ok(applied)
}

/// The number, or list of numbers, of a dotted name.
fn find<'a>(table: &'a mut Table, field: &str) -> Option<&'a mut Value> {
    match field.split_once('.') {
        Some((first, rest)) => find(table.get_mut(first)?.as_table_mut()?, rest),
        None => table.get_mut(field).filter(|value| value.is_integer() || value.is_array()),
    }
}
