//! Axes that are given as a range: `{ from = 1, to = "cores", times = 2 }`.

use toml::{Table, Value};

/// More values than this are a mistake.
const MOST_VALUES: usize = 1000;

/// The values of a range. `to` itself is always the last one, so that "up to all cores" means it.
pub fn expand(range: &Table, cores: usize) -> Result<Vec<String>, String> {
    if let Some(other) = range.keys().find(|key| !["from", "to", "times", "step"].contains(&key.as_str())) {
        return Err(format!("{other}: allowed in a range: from, to, and times or step"));
    }
    let number = |name: &str| match range.get(name) {
        Some(Value::Integer(value)) => Ok(Some(*value as f64)),
        Some(Value::Float(value)) if value.is_finite() => Ok(Some(*value)),
        Some(Value::String(word)) if word == "cores" => Ok(Some(cores as f64)),
        Some(_) => Err(format!("{name}: allowed: a finite number, or \"cores\"")),
        None => Ok(None),
    };
    let (Some(from), Some(to)) = (number("from")?, number("to")?) else {
        return Err("a range needs from and to".to_owned());
    };
    let next: Box<dyn Fn(usize) -> f64> = match (number("times")?, number("step")?) {
        (Some(times), None) if times > 1.0 && from > 0.0 => {
            Box::new(move |nth| from * times.powi(nth as i32))
        }
        (Some(_), None) => return Err("times: allowed: times > 1, with from > 0".to_owned()),
        (None, Some(step)) if step > 0.0 => Box::new(move |nth| from + step * nth as f64),
        (None, Some(_)) => return Err("step: allowed: step > 0".to_owned()),
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
        return Err(format!("the range has more than {MOST_VALUES} values"));
    }
    values.push(rounded(to));
    Ok(values.iter().map(f64::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, cores: usize) -> Result<String, String> {
        let table: Table = toml::from_str(text).expect("a table");
        expand(&table, cores).map(|values| values.join(" "))
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
    fn ranges_that_do_not_end_are_refused() {
        let bad = [
            "from = 1\nto = 2",
            "from = 1\nto = 8\ntimes = 1",
            "from = 0\nto = 8\ntimes = 2",
            "from = 1\nto = 8\nstep = 0",
            "from = 1\nto = 8\nstep = 1\ntimes = 2",
            "from = 9\nto = 8\nstep = 1",
            "from = 0\nto = 1e9\nstep = 0.001",
            "to = 8\nstep = 1",
            "from = 'all'\nto = 8\nstep = 1",
            "from = 1\nto = 8\nstep = 1\nby = 2",
            "from = nan\nto = 8\nstep = 1",
            "from = 1\nto = inf\nstep = inf",
        ];
        for text in bad {
            assert!(of(text, 4).is_err(), "{text}");
        }
    }
}
