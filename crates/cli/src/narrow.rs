//! How wide the reader's window is, and text that fits it: a terminal would break it in the middle of a word.
//!
//! A file or another program gets whole lines.

/// From so many columns on, a value stands beside its name.
const WIDE: usize = 72;

/// The columns of names that have their values beside them, and of the gap.
const NAMES: usize = 21;

/// Before a value that stands below its name.
const BELOW: usize = 4;

/// Columns of the window that shows standard output; `None`: it goes elsewhere, or the window does not say.
pub fn columns() -> Option<usize> {
    console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns))
}

/// `text` in lines of at most `columns`, broken between words; a longer word has a line of its own. What stands between gaps of two spaces stays together if it fits into
/// a line. Lines after the first begin with `margin` spaces.
pub fn wrapped(text: &str, columns: Option<usize>, margin: usize) -> String {
    let Some(columns) = columns else { return text.to_owned() };
    let (mut lines, mut line) = (Vec::new(), String::new());
    let mut put = |piece: &str, gap: &str| {
        let is_empty = line.trim().is_empty();
        if !is_empty && length(&line) + gap.len() + length(piece) > columns {
            let full = std::mem::replace(&mut line, " ".repeat(margin));
            lines.push(full.trim_end().to_owned());
        } else if !is_empty {
            line += gap;
        }
        line += piece;
    };
    for part in text.split("  ") {
        if margin + length(part) <= columns {
            put(part, "  ");
            continue;
        }
        for (number, word) in part.split(' ').enumerate() {
            put(word, if number == 0 { "  " } else { " " });
        }
    }
    lines.push(line);
    lines.join("\n")
}

/// Names with their values, each on a line of its own; in a narrow window values stand below their names. A value without a name goes on with the one before it.
pub fn named(lines: &[(&str, String)], columns: Option<usize>) -> String {
    let shown = |(name, value): &(&str, String)| match columns {
        Some(narrow) if narrow < WIDE => {
            let value = " ".repeat(BELOW) + &after_margin(value, narrow, BELOW);
            if name.is_empty() { value } else { format!("  {name}\n{value}") }
        }
        Some(wide) => format!("  {name:<18} {}", after_margin(value, wide, NAMES)),
        None => format!("  {name:<18} {value}"),
    };
    lines.iter().map(|line| shown(line) + "\n").collect()
}

/// What stands behind the first `margin` columns of a line, wrapped.
fn after_margin(text: &str, columns: usize, margin: usize) -> String {
    let room = columns.saturating_sub(margin);
    wrapped(text, Some(room), 0).replace('\n', &format!("\n{}", " ".repeat(margin)))
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widest(text: &str) -> usize {
        text.lines().map(length).max().unwrap_or(0)
    }

    #[test]
    fn text_is_broken_between_words_if_somebody_looks() {
        let text = "mean 1.20 µs  p50 1.10 µs  p99 9.80 µs";
        assert_eq!(wrapped(text, None, 2), text);
        assert_eq!(wrapped(text, Some(40), 2), text);
        assert_eq!(wrapped(text, Some(30), 2), "mean 1.20 µs  p50 1.10 µs\n  p99 9.80 µs");
        assert_eq!(wrapped(text, Some(8), 0), "mean\n1.20 µs\np50 1.10\nµs  p99\n9.80 µs");
        let path = "report: results/run-ycsb-20261127T174415Z/report.html";
        assert_eq!(wrapped(path, Some(20), 2), path.replace(": ", ":\n  "));
        assert_eq!(wrapped("", Some(20), 2), "");
    }

    #[test]
    fn no_word_is_lost_and_no_line_too_long() {
        let text = "of 1,234 transactions: useful 12.3 %  index 4.5 %  wait 0 %,  and  so on";
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for columns in 16..90 {
            let wrapped = wrapped(text, Some(columns), 2);
            assert!(widest(&wrapped) <= columns, "{columns}: {wrapped}");
            assert_eq!(words(&wrapped), words(text), "{columns}");
            assert!(wrapped.lines().all(|line| line.trim_end() == line), "{columns}: {wrapped:?}");
        }
    }

    #[test]
    fn values_stand_beside_their_names_or_below() {
        let lines = [
            ("throughput", "1,234,567 transactions/s".to_owned()),
            ("", "1,200,000 to 1,300,000 over 3 repetitions, spread 8.10 %".to_owned()),
        ];
        let whole = format!("  {:<18} {}\n  {:<18} {}\n", "throughput", lines[0].1, "", lines[1].1);
        assert_eq!(named(&lines, None), whole);
        assert_eq!(named(&lines, Some(100)), whole);
        let wide = named(&lines, Some(72));
        assert!(widest(&wide) <= 72 && wide.lines().count() == 3, "{wide}");
        assert!(wide.lines().skip(1).all(|line| line.starts_with(&" ".repeat(NAMES))), "{wide}");
        let narrow = named(&lines, Some(40));
        let expected = "  throughput\n    1,234,567 transactions/s\n    1,200,000 to 1,300,000 over 3\n    repetitions, spread 8.10 %\n";
        assert_eq!(narrow, expected);
    }
}
