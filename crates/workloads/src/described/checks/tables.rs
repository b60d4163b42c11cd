//! Tables: columns, rows and their length, and how keys lie in partitions.

use super::{NAMES, allowed, first_of_two, is_name, leaked, shortened};
use crate::described::partition_key::PartitionKey;
use crate::described::specification::{MOST_ROW_BYTES, MOST_ROWS, Table};
use crate::described::written::{PartitionKeyText, TableText, line_of};

impl TableText {
    pub fn checked(&self, name: &str, text: &str) -> Result<Table, String> {
        let refuse = |what: String| Err(format!("tables.{name}: {what}"));
        let columns = &self.columns;
        if columns.is_empty() {
            return refuse(format!("columns: there are none; allowed: {NAMES}, one at least"));
        }
        if let Some(other) = columns.iter().find(|column| !is_name(column)) {
            return refuse(format!("columns: '{other}': allowed: {NAMES}"));
        }
        if let Some(twice) = first_of_two(columns) {
            return refuse(format!("columns: '{twice}' is there twice; allowed: each once"));
        }
        let least = 8 * columns.len();
        let row_bytes = self.row_bytes.unwrap_or(least);
        if !(least..=MOST_ROW_BYTES).contains(&row_bytes) || !row_bytes.is_multiple_of(8) {
            return refuse(format!(
                "row_bytes {row_bytes}: allowed: a multiple of 8 from {least}, for its columns, to {MOST_ROW_BYTES}"
            ));
        }
        if self.rows > MOST_ROWS {
            return refuse(format!("rows {}: allowed: 0 to {MOST_ROWS}", self.rows));
        }
        if let Some(other) = self.fill.keys().find(|column| !columns.contains(column)) {
            return refuse(format!("fill.{other}: allowed: {}", allowed(columns.iter().map(String::as_str))));
        }
        let partition_key = match &self.partition_key {
            None => PartitionKey::default(),
            Some(spanned) => {
                let PartitionKeyText::Text(key) = spanned.get_ref();
                let parsed = PartitionKey::parse(key, self.written_rows.unwrap_or(self.rows), self.rows);
                match parsed {
                    Ok(parsed) => parsed,
                    Err(why) => {
                        let (line, key) = (line_of(text, spanned.span().start), shortened(key));
                        return refuse(format!("line {line}: partition_key '{key}': {why}"));
                    }
                }
            }
        };
        let fill = columns.iter().map(|column| self.fill.get(column).copied().unwrap_or(0)).collect();
        let capacity = self.capacity.unwrap_or(self.rows).max(self.rows).max(1024);
        Ok(Table {
            name: leaked(name),
            rows: self.rows,
            capacity,
            columns: columns.clone(),
            row_bytes,
            is_ordered: self.ordered,
            partition_key,
            fill,
        })
    }
}
