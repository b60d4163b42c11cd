//! `series.csv`: one row a slice of a repetition.

use super::csv_field;
use crate::summary::LatencyOf;
use contract::Series;

/// The file's name, of `run` and `compare`.
pub const FILE_NAME: &str = "series.csv";

/// A system, or a point: its labels, what its latencies are, and the series of its repetitions.
pub type Group<'a> = (Vec<(&'a str, &'a str)>, LatencyOf, &'a [Series]);

/// The columns behind the labels.
const COLUMNS: &str = "repetition,from_s,to_s,arrived,began,queued,commits,aborts,throughput_per_s,p50_ns,p99_ns,max_ns,latency_of";

/// The file's text. Empty if nothing was counted by slices.
pub fn csv<'a>(groups: impl IntoIterator<Item = Group<'a>>) -> String {
    let mut text = String::new();
    for (labels, of, repetitions) in groups.into_iter().filter(|(_, _, repetitions)| !repetitions.is_empty())
    {
        if text.is_empty() {
            labels.iter().for_each(|(name, _)| text += &(csv_field(name) + ","));
            text += &(COLUMNS.to_owned() + "\n");
        }
        let labels: String = labels.iter().map(|(_, value)| csv_field(value) + ",").collect();
        for (repetition, series) in repetitions.iter().enumerate() {
            let seconds = series.slice.as_secs_f64();
            for ((number, slice), queued) in series.slices.iter().enumerate().zip(series.queues()) {
                let (from, to) = (seconds * number as f64, seconds * (number + 1) as f64);
                let quantile = |part| slice.latency_ns.value_at_quantile(part);
                text += &format!(
                    "{labels}{},{from:.6},{to:.6},{},{},{queued},{},{},{:.3},{},{},{},{of}\n",
                    repetition + 1,
                    slice.arrived,
                    slice.began,
                    slice.commits,
                    slice.aborts,
                    slice.commits as f64 / seconds,
                    quantile(0.5),
                    quantile(0.99),
                    slice.latency_ns.max(),
                );
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_slice_is_a_row() {
        let mut series = Series::of(Duration::from_secs(1), Duration::from_millis(500));
        (series.slices[0].arrived, series.slices[0].began, series.slices[0].commits) = (7, 5, 4);
        series.slices[1].latency_ns += 1000;
        let text = csv([(vec![("protocol", "silo")], LatencyOf::Response, &[series][..])]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1], "silo,1,0.000000,0.500000,7,5,2,4,0,8.000,0,0,0,response");
        assert!(lines[2].starts_with("silo,1,0.500000,1.000000,0,0,2,0,0,0.000,100"), "{text}");
        assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
        assert_eq!(csv([(vec![("protocol", "silo")], LatencyOf::Response, &[][..])]), "");
    }
}
