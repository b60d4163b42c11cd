//! Expressions of whole numbers, and conditions, as a workload's file writes them.
//!
//! ```text
//! condition  = comparison { "and" comparison }
//! comparison = expression ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) expression
//! expression = term { ( "+" | "-" ) term }
//! term       = factor { "*" factor }
//! factor     = number | name | "-" factor | "(" expression ")"
//! name       = a value that was drawn, a column of the row at hand, or ROW.COLUMN of a row that was read before
//! ```
//!
//! They are turned into postfix once, and evaluated on a small stack, without allocating. Arithmetic wraps around.

use std::fmt;

/// Values that an evaluation may hold at a time.
const DEPTH: usize = 16;

/// Brackets and signs that may stand around a factor.
const MOST_NESTED: usize = 64;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// A value that was drawn, or read before, by its number.
    Variable(usize),
    /// A column of the row at hand, by its number.
    Column(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Number(i64),
    Name(Name),
    Add,
    Subtract,
    Multiply,
    Negate,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expression(Vec<Op>);

/// Comparisons, all of which must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition(Vec<(Expression, Comparison, Expression)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// The values of names.
pub(super) struct Values<'a> {
    /// Those that were drawn or read.
    pub variables: &'a [i64],
    /// The row at hand, as it is stored.
    pub row: &'a [u8],
}

impl Values<'_> {
    fn of(&self, name: Name) -> i64 {
        match name {
            Name::Variable(number) => self.variables[number],
            Name::Column(number) => column(self.row, number),
        }
    }
}

/// A column of a row.
pub(super) fn column(row: &[u8], number: usize) -> i64 {
    let bytes = row[8 * number..].first_chunk().expect("a row has its columns");
    i64::from_le_bytes(*bytes)
}

/// Changes a column of a row.
pub(super) fn set_column(row: &mut [u8], number: usize, value: i64) {
    row[8 * number..][..8].copy_from_slice(&value.to_le_bytes());
}

impl Expression {
    /// Reads one. `resolve` says what a name stands for, or in words why it stands for nothing.
    pub fn parse(text: &str, resolve: Resolve<'_>) -> Result<Expression, String> {
        let mut parser = Parser::new(text, resolve);
        let expression = parser.expression()?;
        parser.end()?;
        Ok(expression)
    }

    /// What it comes to.
    #[inline]
    pub fn value(&self, values: &Values<'_>) -> i64 {
        if let [Op::Name(name)] = self.0[..] {
            return values.of(name);
        }
        let (mut stack, mut held) = ([0i64; DEPTH], 0);
        for op in &self.0 {
            match *op {
                Op::Number(number) => {
                    stack[held] = number;
                    held += 1;
                }
                Op::Name(name) => {
                    stack[held] = values.of(name);
                    held += 1;
                }
                Op::Negate => stack[held - 1] = stack[held - 1].wrapping_neg(),
                Op::Add | Op::Subtract | Op::Multiply => {
                    held -= 1;
                    let (one, other) = (stack[held - 1], stack[held]);
                    stack[held - 1] = match op {
                        Op::Add => one.wrapping_add(other),
                        Op::Subtract => one.wrapping_sub(other),
                        _ => one.wrapping_mul(other),
                    };
                }
            }
        }
        stack[0]
    }

    /// Whether it depends on variables of this number or beyond.
    pub fn depends_on_variables_from(&self, first: usize) -> bool {
        self.0.iter().any(|op| matches!(op, Op::Name(Name::Variable(number)) if *number >= first))
    }

    /// How many values an evaluation holds at most.
    fn depth(&self) -> usize {
        let (mut held, mut most) = (0usize, 0);
        for op in &self.0 {
            match op {
                Op::Number(_) | Op::Name(_) => held += 1,
                Op::Negate => {}
                Op::Add | Op::Subtract | Op::Multiply => held -= 1,
            }
            most = most.max(held);
        }
        most
    }
}

impl Condition {
    /// Reads one.
    pub fn parse(text: &str, resolve: Resolve<'_>) -> Result<Condition, String> {
        let mut parser = Parser::new(text, resolve);
        let mut all = Vec::new();
        loop {
            let one = parser.expression()?;
            let comparison = parser.comparison()?;
            all.push((one, comparison, parser.expression()?));
            if !parser.takes("and") {
                break;
            }
        }
        parser.end()?;
        Ok(Condition(all))
    }

    /// Whether it holds.
    #[inline]
    pub fn holds(&self, values: &Values<'_>) -> bool {
        self.0.iter().all(|(one, comparison, other)| {
            let (one, other) = (one.value(values), other.value(values));
            match comparison {
                Comparison::Equal => one == other,
                Comparison::Unequal => one != other,
                Comparison::Less => one < other,
                Comparison::AtMost => one <= other,
                Comparison::Greater => one > other,
                Comparison::AtLeast => one >= other,
            }
        })
    }
}

/// What names stand for.
type Resolve<'a> = &'a dyn Fn(&str) -> Result<Name, String>;

/// A word of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    /// Without its sign: of the least number it is one more than the greatest.
    Number(u64),
    Name(String),
    Sign(&'static str),
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Number(number) => number.fmt(f),
            Word::Name(name) => name.fmt(f),
            Word::Sign(sign) => sign.fmt(f),
        }
    }
}

/// Longer ones first.
const SIGNS: [&str; 11] = ["!=", "<=", ">=", "=", "<", ">", "+", "-", "*", "(", ")"];

struct Parser<'a> {
    words: Result<Vec<Word>, String>,
    next: usize,
    resolve: Resolve<'a>,
    /// Brackets and signs that are open.
    nested: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &str, resolve: Resolve<'a>) -> Self {
        Parser { words: words(text), next: 0, resolve, nested: 0 }
    }

    fn peek(&self) -> Result<Option<&Word>, String> {
        match &self.words {
            Ok(words) => Ok(words.get(self.next)),
            Err(why) => Err(why.clone()),
        }
    }

    /// Takes this sign or word, if it is next.
    fn takes(&mut self, what: &str) -> bool {
        let is_next = match self.peek() {
            Ok(Some(Word::Sign(sign))) => *sign == what,
            Ok(Some(Word::Name(name))) => name == what,
            _ => false,
        };
        self.next += usize::from(is_next);
        is_next
    }

    fn end(&self) -> Result<(), String> {
        match self.peek()? {
            None => Ok(()),
            Some(word) => Err(format!("'{word}' where it should end")),
        }
    }

    fn expression(&mut self) -> Result<Expression, String> {
        let mut ops = Vec::new();
        self.sum(&mut ops)?;
        let expression = Expression(ops);
        match expression.depth() <= DEPTH {
            true => Ok(expression),
            false => Err(format!("it holds more than {DEPTH} values at a time")),
        }
    }

    fn sum(&mut self, ops: &mut Vec<Op>) -> Result<(), String> {
        self.product(ops)?;
        loop {
            let op = if self.takes("+") {
                Op::Add
            } else if self.takes("-") {
                Op::Subtract
            } else {
                return Ok(());
            };
            self.product(ops)?;
            ops.push(op);
        }
    }

    fn product(&mut self, ops: &mut Vec<Op>) -> Result<(), String> {
        self.factor(ops)?;
        while self.takes("*") {
            self.factor(ops)?;
            ops.push(Op::Multiply);
        }
        Ok(())
    }

    fn factor(&mut self, ops: &mut Vec<Op>) -> Result<(), String> {
        if self.nested == MOST_NESTED {
            return Err(format!("more than {MOST_NESTED} brackets and signs are open"));
        }
        self.nested += 1;
        let read = self.nested_factor(ops);
        self.nested -= 1;
        read
    }

    fn nested_factor(&mut self, ops: &mut Vec<Op>) -> Result<(), String> {
        let is_negative = self.takes("-");
        if is_negative && !matches!(self.peek()?, Some(Word::Number(_))) {
            self.factor(ops)?;
            ops.push(Op::Negate);
            return Ok(());
        }
        if self.takes("(") {
            self.sum(ops)?;
            return if self.takes(")") { Ok(()) } else { Err("a bracket is not closed".to_owned()) };
        }
        let op = match self.peek()? {
            Some(Word::Number(number)) => Op::Number(signed(*number, is_negative)?),
            Some(Word::Name(name)) => Op::Name((self.resolve)(name)?),
            Some(word) => return Err(format!("'{word}' where a number or a name should be")),
            None => return Err("it ends where a number or a name should be".to_owned()),
        };
        self.next += 1;
        ops.push(op);
        Ok(())
    }

    fn comparison(&mut self) -> Result<Comparison, String> {
        let all = [
            ("=", Comparison::Equal),
            ("!=", Comparison::Unequal),
            ("<", Comparison::Less),
            ("<=", Comparison::AtMost),
            (">", Comparison::Greater),
            (">=", Comparison::AtLeast),
        ];
        let found = all.into_iter().find(|(sign, _)| self.takes(sign));
        found
            .map(|(_, comparison)| comparison)
            .ok_or_else(|| format!("nothing is compared; allowed: {}", all.map(|(sign, _)| sign).join(", ")))
    }
}

fn signed(number: u64, is_negative: bool) -> Result<i64, String> {
    let signed = if is_negative { 0i64.checked_sub_unsigned(number) } else { i64::try_from(number).ok() };
    signed.ok_or_else(|| not_whole(&number.to_string()))
}

fn not_whole(word: &str) -> String {
    format!("'{word}' is no whole number of 64 bits")
}

fn words(text: &str) -> Result<Vec<Word>, String> {
    let (mut words, mut left) = (Vec::new(), text.trim_start());
    while let Some(first) = left.chars().next() {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
        if let Some(sign) = SIGNS.into_iter().find(|sign| left.starts_with(sign)) {
            words.push(Word::Sign(sign));
            left = &left[sign.len()..];
        } else if is_of_name(first) {
            let end = left.find(|c| !is_of_name(c)).unwrap_or(left.len());
            let word = &left[..end];
            words.push(match first.is_ascii_digit() {
                true => Word::Number(word.replace('_', "").parse().map_err(|_| not_whole(word))?),
                false => Word::Name(word.to_owned()),
            });
            left = &left[end..];
        } else {
            return Err(format!("'{first}' is no part of an expression"));
        }
        left = left.trim_start();
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(name: &str) -> Result<Name, String> {
        match name {
            "amount" => Ok(Name::Variable(0)),
            "from.balance" => Ok(Name::Variable(1)),
            "balance" => Ok(Name::Column(0)),
            "limit" => Ok(Name::Column(1)),
            _ => Err(format!("'{name}' is not known here")),
        }
    }

    fn value(text: &str) -> Result<i64, String> {
        let mut row = [0u8; 16];
        set_column(&mut row, 0, 100);
        set_column(&mut row, 1, -7);
        let values = Values { variables: &[30, 5], row: &row };
        Ok(Expression::parse(text, &resolve)?.value(&values))
    }

    fn holds(text: &str) -> Result<bool, String> {
        let mut row = [0u8; 16];
        set_column(&mut row, 0, 100);
        let values = Values { variables: &[30, 5], row: &row };
        Ok(Condition::parse(text, &resolve)?.holds(&values))
    }

    #[test]
    fn expressions_have_their_values() {
        for (text, expected) in [
            ("1_000", 1000),
            ("balance", 100),
            ("balance - amount", 70),
            ("balance - amount - 1", 69),
            ("2 + 3 * 4", 14),
            ("(2 + 3) * 4", 20),
            ("-limit * 2", 14),
            ("2 * -(amount + from.balance)", -70),
            ("9223372036854775807 + 1", i64::MIN),
            ("-9223372036854775808", i64::MIN),
            ("0 - -9223372036854775808 * 1", i64::MIN),
            ("- - 3", 3),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn conditions_hold_or_not() {
        for (text, expected) in [
            ("balance >= amount", true),
            ("balance < amount", false),
            ("balance = 100 and limit = 0", true),
            ("balance != 100", false),
            ("balance > 99 and balance <= 99", false),
        ] {
            assert_eq!(holds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_none_is_refused_in_words() {
        for (text, why) in [
            ("", "it ends where a number or a name should be"),
            ("1 +", "it ends where a number or a name should be"),
            ("balanc", "'balanc' is not known here"),
            ("(1", "a bracket is not closed"),
            ("1 2", "'2' where it should end"),
            ("1 % 2", "'%' is no part of an expression"),
            ("99999999999999999999", "'99999999999999999999' is no whole number of 64 bits"),
            ("9223372036854775808", "'9223372036854775808' is no whole number of 64 bits"),
            ("* 2", "'*' where a number or a name should be"),
        ] {
            assert_eq!(value(text), Err(why.to_owned()), "{text}");
        }
        assert_eq!(holds("balance"), Err("nothing is compared; allowed: =, !=, <, <=, >, >=".to_owned()));
        let deep = format!("{}1{}", "1+(".repeat(20), ")".repeat(20));
        assert!(value(&deep).is_err(), "{deep}");
        for what in ["(", "-"] {
            let why = "more than 64 brackets and signs are open".to_owned();
            assert_eq!(value(&format!("{}1", what.repeat(200_000))), Err(why), "200,000 {what}");
        }
    }
}
