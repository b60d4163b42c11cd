//! Axes that are given as a range, `{ from = 1, to = "cores", times = 2 }`, or as a list with an end that depends on the
//! machine, `{ of = [1, 2, 4, 9, 18, 36, 54, 72], to = "cores" }`.

use super::experiment::Cut;
use toml::{Table, Value};

/// More values than this are a mistake.
const MOST_VALUES: usize = 1000;

/// The values of a range, and what of a list was cut off. `to` itself is always the last value, so that "up to all cores"
/// means it; but a list that ends before `to` ends there.
pub(super) fn expand(range: &Table, cores: usize) -> Result<(Vec<String>, Option<Cut>), String> {
    let known = ["from", "to", "times", "step", "of"];
    if let Some(other) = range.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("a range names {other}: allowed: from, to, and times or step; or of and to"));
    }
    match range.get("of") {
        Some(list) => capped(range, list, cores),
        None => Ok((steps(range, cores)?, None)),
    }
}

/// `10%..90%`, or `1000..9000`: rates of arrivals, so many of them, evenly. `None`: it is no range of rates.
pub(super) fn rates(name: &str, value: &str) -> Option<Result<Vec<String>, String>> {
    const RATES: u64 = 9;
    let (from, to) = value.split_once("..").filter(|_| name == "rate")?;
    let both = match (from.strip_suffix('%'), to.strip_suffix('%')) {
        (Some(from), Some(to)) => Some((from, to, "%")),
        (None, None) => Some((from, to, "")),
        _ => None,
    };
    let ends =
        both.and_then(|(from, to, unit)| Some((from.parse::<u64>().ok()?, to.parse::<u64>().ok()?, unit)));
    let ends = ends.filter(|(from, to, _)| 1 <= *from && from + RATES <= to + 1);
    Some(match ends {
        None => {
            Err(format!("A..B, both percentages or both numbers, 1 <= A, with {RATES} rates from A to B"))
        }
        Some((from, to, unit)) => {
            let nth = |nth: u64| from + (to - from) * nth / (RATES - 1);
            Ok((0..RATES).map(|number| format!("{}{unit}", nth(number))).collect())
        }
    })
}

/// The number called `name`, if the range has it.
fn number(range: &Table, name: &str, cores: usize) -> Result<Option<f64>, String> {
    match range.get(name) {
        Some(Value::Integer(value)) => Ok(Some(*value as f64)),
        Some(Value::Float(value)) if value.is_finite() => Ok(Some(*value)),
        Some(Value::String(word)) if word == "cores" => Ok(Some(cores as f64)),
        Some(other) => Err(format!("{name} {other}: allowed: a finite number, or \"cores\"")),
        None => Ok(None),
    }
}

/// Those of `list` that are below `to`, and `to` in place of the others.
fn capped(range: &Table, list: &Value, cores: usize) -> Result<(Vec<String>, Option<Cut>), String> {
    if let Some(other) = range.keys().find(|key| !["of", "to"].contains(&key.as_str())) {
        return Err(format!("a range with of names {other}: allowed: of and to"));
    }
    let to = number(range, "to", cores)?.ok_or("a range with of needs to")?;
    let finite = |value: &Value| match value {
        Value::Integer(value) => Some(*value as f64),
        Value::Float(value) if value.is_finite() => Some(*value),
        _ => None,
    };
    let values: Option<Vec<f64>> = list.as_array().and_then(|list| list.iter().map(finite).collect());
    let values = values.filter(|values| !values.is_empty() && values.is_sorted_by(|one, next| one < next));
    let values = values.ok_or_else(|| format!("of {list}: allowed: a list of numbers that grow"))?;
    let texts = |values: &[f64]| values.iter().map(f64::to_string).collect();
    let cut = values.iter().any(|&value| value > to).then(|| Cut {
        listed: texts(&values),
        cores: matches!(range.get("to"), Some(Value::String(_))).then_some(cores),
    });
    let mut kept: Vec<f64> = values.iter().copied().filter(|&value| value < to).collect();
    if values.iter().any(|&value| value >= to) {
        kept.push(to);
    }
    Ok((texts(&kept), cut))
}

/// From `from` to `to`, by `times` or `step`.
fn steps(range: &Table, cores: usize) -> Result<Vec<String>, String> {
    let number = |name: &str| number(range, name, cores);
    let (Some(from), Some(to)) = (number("from")?, number("to")?) else {
        return Err("a range needs from and to".to_owned());
    };
    let next: Box<dyn Fn(usize) -> f64> = match (number("times")?, number("step")?) {
        (Some(times), None) if times > 1.0 && from > 0.0 => {
            Box::new(move |nth| from * times.powi(nth as i32))
        }
        (Some(times), None) => {
            return Err(format!("times {times} with from {from}: allowed: times > 1, with from > 0"));
        }
        (None, Some(step)) if step > 0.0 => Box::new(move |nth| from + step * nth as f64),
        (None, Some(step)) => return Err(format!("step {step}: allowed: step > 0")),
        _ => return Err("a range needs either times or step".to_owned()),
    };
    if from > to {
        return Err(format!("from {from}: allowed: from <= to, which is {to}"));
    }
    // A step such as 0.1 adds up to 0.30000000000000004; nine digits are exact enough and print as they were meant.
    // Whole numbers are exact as they are, and large ones would suffer.
    let rounded = |value: f64| if value.fract() == 0.0 { value } else { (value * 1e9).round() / 1e9 };
    let mut values: Vec<f64> =
        (0..MOST_VALUES).map(|nth| rounded(next(nth))).take_while(|&value| value < rounded(to)).collect();
    if values.len() == MOST_VALUES {
        return Err(format!("the range has more values: allowed: at most {MOST_VALUES}"));
    }
    values.push(rounded(to));
    Ok(values.iter().map(f64::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, cores: usize) -> Result<String, String> {
        let table: Table = toml::from_str(text).expect("a table");
        expand(&table, cores).map(|(values, _)| values.join(" "))
    }

    #[test]
    fn rates_are_spread_evenly() {
        let of = |value: &str| rates("rate", value).expect("a range");
        let tenths = ["10%", "20%", "30%", "40%", "50%", "60%", "70%", "80%", "90%"].map(str::to_owned);
        assert_eq!(of("10%..90%"), Ok(tenths.to_vec()));
        assert_eq!(of("1000..9000").expect("a range")[8], "9000");
        for bad in ["10%..90", "90%..10%", "0..10", "a..b", "1..5"] {
            assert!(of(bad).is_err(), "{bad}");
        }
        assert!(rates("rate", "50%").is_none() && rates("back-off", "500..32000").is_none());
    }

    #[test]
    fn ranges_end_with_their_end() {
        let doubled = "from = 1\nto = 'cores'\ntimes = 2";
        for (cores, values) in [(1, "1"), (2, "1 2"), (3, "1 2 3"), (8, "1 2 4 8"), (12, "1 2 4 8 12")] {
            assert_eq!(of(doubled, cores).as_deref(), Ok(values));
        }
        assert_eq!(of("from = 0\nto = 0.4\nstep = 0.1", 1).as_deref(), Ok("0 0.1 0.2 0.3 0.4"));
        let million = of("from = 1_000_001\nto = 1_000_000_007\nstep = 499_999_999", 1);
        assert_eq!(million.as_deref(), Ok("1000001 501000000 1000000007"));
        assert_eq!(of("from = 1\nto = 4\nstep = 2", 1).as_deref(), Ok("1 3 4"));
    }

    #[test]
    fn a_list_ends_where_the_machine_does() {
        let papers = "of = [1, 2, 4, 9, 18]\nto = 'cores'";
        for (cores, values) in
            [(1, "1"), (2, "1 2"), (3, "1 2 3"), (9, "1 2 4 9"), (17, "1 2 4 9 17"), (64, "1 2 4 9 18")]
        {
            assert_eq!(of(papers, cores).as_deref(), Ok(values));
        }
        let cut = |text: &str, cores: usize| {
            let (_, cut) = expand(&toml::from_str(text).expect("a table"), cores).expect("a range");
            cut.map(|cut| (cut.listed.join(" "), cut.cores))
        };
        assert_eq!(cut(papers, 18), None);
        assert_eq!(
            cut(papers, 9),
            Some(("1 2 4 9 18".to_owned(), Some(9))),
            "the list is known, whatever is cut"
        );
        assert_eq!(cut("of = [1, 2, 4]\nto = 2", 64), Some(("1 2 4".to_owned(), None)));
        let bad = [
            ("of = [1, 2]", "a range with of needs to"),
            ("of = 3\nto = 2", "of 3: allowed: a list of numbers that grow"),
            ("of = []\nto = 2", "of []: allowed: a list of numbers that grow"),
            ("of = [2, 1]\nto = 2", "of [2, 1]: allowed: a list of numbers that grow"),
            ("of = ['all']\nto = 2", "of [\"all\"]: allowed: a list of numbers that grow"),
            ("of = [1]\nto = 2\nstep = 1", "a range with of names step: allowed: of and to"),
        ];
        for (text, message) in bad {
            assert_eq!(of(text, 4), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn ranges_that_do_not_end_are_refused() {
        let bad = [
            ("from = 1\nto = 2", "a range needs either times or step"),
            ("from = 1\nto = 8\ntimes = 1", "times 1 with from 1: allowed: times > 1, with from > 0"),
            ("from = 0\nto = 8\ntimes = 2", "times 2 with from 0: allowed: times > 1, with from > 0"),
            ("from = 1\nto = 8\nstep = 0", "step 0: allowed: step > 0"),
            ("from = 1\nto = 8\nstep = 1\ntimes = 2", "a range needs either times or step"),
            ("from = 9\nto = 8\nstep = 1", "from 9: allowed: from <= to, which is 8"),
            ("from = 0\nto = 1e9\nstep = 0.001", "the range has more values: allowed: at most 1000"),
            ("to = 8\nstep = 1", "a range needs from and to"),
            ("from = 'all'\nto = 8\nstep = 1", "from \"all\": allowed: a finite number, or \"cores\""),
            (
                "from = 1\nto = 8\nstep = 1\nby = 2",
                "a range names by: allowed: from, to, and times or step; or of and to",
            ),
            ("from = nan\nto = 8\nstep = 1", "from nan: allowed: a finite number, or \"cores\""),
            ("from = 1\nto = inf\nstep = inf", "to inf: allowed: a finite number, or \"cores\""),
        ];
        for (text, message) in bad {
            assert_eq!(of(text, 4), Err(message.to_owned()), "{text}");
        }
    }
}
