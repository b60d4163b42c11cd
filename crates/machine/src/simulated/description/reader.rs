//! Reading a table field by field, so that every error names its field in full, and every field is known.

use super::DescriptionError;
use toml::{Table, Value};

/// A table that is read: what was read is taken out, and what is left at the end is unknown.
pub(super) struct Reader {
    path: String,
    table: Table,
}

impl Reader {
    /// Of a whole file.
    pub fn new(table: Table) -> Self {
        Reader { path: String::new(), table }
    }

    fn name(&self, field: &str) -> String {
        if self.path.is_empty() { field.to_owned() } else { format!("{}.{field}", self.path) }
    }

    /// Something wrong with a field.
    pub fn error(&self, field: &str, value: String, why: impl Into<String>) -> DescriptionError {
        DescriptionError { field: self.name(field), value, why: why.into() }
    }

    /// Whether the field is there.
    pub fn has(&self, field: &str) -> bool {
        self.table.contains_key(field)
    }

    fn take(&mut self, field: &str) -> Result<Value, DescriptionError> {
        self.table.remove(field).ok_or_else(|| self.error(field, String::new(), "is missing"))
    }

    /// A piece of text that is not empty.
    pub fn text(&mut self, field: &str) -> Result<String, DescriptionError> {
        match self.take(field)? {
            Value::String(text) if !text.trim().is_empty() => Ok(text),
            other => Err(self.error(field, other.to_string(), "is to be a text")),
        }
    }

    /// A whole number, 0 or more.
    pub fn number(&mut self, field: &str) -> Result<u64, DescriptionError> {
        let value = self.take(field)?;
        number(&value).ok_or_else(|| self.error(field, value.to_string(), "is to be a whole number"))
    }

    /// As [`Reader::number`].
    pub fn count(&mut self, field: &str) -> Result<usize, DescriptionError> {
        let number = self.number(field)?;
        usize::try_from(number).map_err(|_| self.error(field, number.to_string(), "is too large"))
    }

    /// A list of whole numbers.
    pub fn numbers(&mut self, field: &str) -> Result<Vec<u64>, DescriptionError> {
        let value = self.take(field)?;
        let numbers = value.as_array().and_then(|list| list.iter().map(number).collect::<Option<Vec<_>>>());
        let why = "is to be a list of whole numbers";
        numbers.filter(|numbers| !numbers.is_empty()).ok_or_else(|| self.error(field, value.to_string(), why))
    }

    /// A list of pairs of whole numbers, if it is there.
    pub fn optional_pairs(&mut self, field: &str) -> Result<Option<Vec<(usize, usize)>>, DescriptionError> {
        let Some(value) = self.table.remove(field) else { return Ok(None) };
        let pairs = value.as_array().and_then(|list| list.iter().map(pair).collect::<Option<Vec<_>>>());
        pairs.map(Some).ok_or_else(|| self.error(field, value.to_string(), "is to be a list of pairs"))
    }

    /// A table in this one.
    pub fn table(&mut self, field: &str) -> Result<Reader, DescriptionError> {
        match self.take(field)? {
            Value::Table(table) => Ok(Reader { path: self.name(field), table }),
            other => Err(self.error(field, other.to_string(), "is to be a table")),
        }
    }

    /// A table in this one, if it is there.
    pub fn optional_table(&mut self, field: &str) -> Result<Option<Reader>, DescriptionError> {
        if self.has(field) { self.table(field).map(Some) } else { Ok(None) }
    }

    /// All has been read: what is left is not known.
    pub fn end(self) -> Result<(), DescriptionError> {
        match self.table.iter().next() {
            None => Ok(()),
            Some((field, value)) => Err(self.error(field, value.to_string(), "is no field of a machine")),
        }
    }
}

fn number(value: &Value) -> Option<u64> {
    value.as_integer().and_then(|integer| u64::try_from(integer).ok())
}

fn pair(value: &Value) -> Option<(usize, usize)> {
    match value.as_array()?.as_slice() {
        [a, b] => Some((usize::try_from(number(a)?).ok()?, usize::try_from(number(b)?).ok()?)),
        _ => None,
    }
}
