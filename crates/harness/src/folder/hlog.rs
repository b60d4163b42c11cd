//! Latency histograms in HdrHistogram's log format (version 1.3, histograms V2 deflated), which its tools read: nanoseconds, a tag for each.
//!
//! A comment names what the latencies are: *service* times, or *response* times ([`LatencyOf`]). Logs are joined by writing the lines of one behind those of the
//! other, each with its comments, under one first line.

use crate::summary::LatencyOf;
use contract::LatencyHistogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::time::Duration;

/// The first comment, as other writers of the format begin.
const VERSION: &str = "[Histogram log format version 1.3]";

/// A histogram in a log.
pub struct Tagged<'a> {
    /// Its tag ([`tag`]).
    pub tag: String,
    /// How long its latencies were counted.
    pub counted: Duration,
    /// The latencies, in nanoseconds.
    pub latency_ns: &'a LatencyHistogram,
}

/// Labels as a tag, which has no commas, blanks and line feeds.
pub fn tag<'a>(labels: impl IntoIterator<Item = &'a str>) -> String {
    let labels: Vec<String> = labels.into_iter().map(|label| label.replace([' ', ',', '\n'], "-")).collect();
    labels.join("/")
}

/// What the latencies of a log are, for its comments; nothing of no latencies.
pub fn what(of: impl IntoIterator<Item = LatencyOf>) -> String {
    let mut words: Vec<&str> = of.into_iter().map(LatencyOf::in_words).collect();
    words.dedup();
    words.join("; or ")
}

/// A log, whose comments follow the one that names the format.
pub fn log<'a>(comments: &[String], histograms: impl IntoIterator<Item = Tagged<'a>>) -> String {
    let (mut bytes, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment(VERSION);
    for comment in comments {
        builder.add_comment(&comment.replace('\n', " "));
    }
    let mut writer =
        builder.begin_log_with(&mut bytes, &mut serializer).expect("memory takes what is written");
    for Tagged { tag, counted, latency_ns } in histograms {
        writer
            .write_histogram(latency_ns, Duration::ZERO, counted, Tag::new(&tag))
            .expect("memory takes what is written");
    }
    drop(writer);
    String::from_utf8(bytes).expect("the log is text")
}

/// Logs one behind the other, under `comments`.
pub fn joined(comments: &[String], logs: &[String]) -> String {
    let is_version = |line: &&str| line.trim_start_matches('#') == VERSION;
    let lines = logs.iter().flat_map(|log| log.lines().filter(|line| !is_version(line)));
    lines.fold(log(comments, []), |text, line| text + line + "\n")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use contract::Measurement;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    /// The histograms of a log with their tags, as who knows the format reads them.
    pub(crate) fn read(log: &str) -> Vec<(String, LatencyHistogram)> {
        let histogram = |encoded: &str| {
            let bytes = STANDARD.decode(encoded).expect("base64");
            Deserializer::new().deserialize(&mut &bytes[..]).expect("a histogram")
        };
        IntervalLogIterator::new(log.as_bytes())
            .filter_map(|entry| match entry.expect("an entry") {
                LogEntry::Interval(interval) => {
                    let tag = interval.tag().map_or("", |tag| tag.as_str()).to_owned();
                    Some((tag, histogram(interval.encoded_histogram())))
                }
                _ => None,
            })
            .collect()
    }

    #[test]
    fn joined_logs_are_one() {
        let mut histogram = Measurement::empty_histogram();
        (1..=100).for_each(|ns| histogram.record(1000 * ns).expect("in bounds"));
        let one = |name: &str| {
            let tag = tag(["rate=50%", name]);
            let comment = format!("{name}: {}", what([LatencyOf::Response, LatencyOf::Response]));
            log(&[comment], [Tagged { tag, counted: Duration::from_secs(1), latency_ns: &histogram }])
        };
        let joined = joined(&["all".to_owned()], &[one("a, b"), one("c")]);
        let read = read(&joined);
        let tags: Vec<&str> = read.iter().map(|(tag, _)| tag.as_str()).collect();
        assert_eq!(tags, ["rate=50%/a--b", "rate=50%/c"]);
        assert!(read.iter().all(|(_, of)| (of.len(), of.max()) == (100, histogram.max())));
        assert_eq!(joined.matches(VERSION).count(), 1, "{joined}");
        assert_eq!(joined.matches(": response times, from a transaction's arrival").count(), 2, "{joined}");
    }
}
