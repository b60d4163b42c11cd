//! What one process tells another: values in bytes, where both are the same program.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Appends a value's bytes.
pub fn tell(value: &impl Serialize, into: &mut Vec<u8>) {
    postcard::to_io(value, into).expect("memory takes what is written, and no value refuses to be");
}

/// The value of these bytes; `None`: they are of no such value.
pub fn told<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (value, left) = postcard::take_from_bytes(bytes).ok()?;
    left.is_empty().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Measurement;
    use std::time::Duration;

    #[test]
    fn a_measurement_comes_as_it_was_told() {
        let mut measurement = Measurement::nothing(Duration::from_millis(3), 7);
        measurement.commits = 5;
        measurement.commits_by_worker = vec![2, 3];
        [1, 90, 90, 123_456_789].into_iter().for_each(|ns| measurement.latency_ns += ns);
        let mut bytes = Vec::new();
        tell(&measurement, &mut bytes);
        let mut come: Measurement = told(&bytes).expect("a measurement");
        assert_eq!(come.latency_ns, measurement.latency_ns);
        come.merge(&measurement);
        assert_eq!((come.commits, come.slots, come.latency_ns.len()), (10, 14, 8));
        assert_eq!((come.commits_by_worker, come.elapsed), (vec![2, 3, 2, 3], measurement.elapsed));
        assert!(told::<Measurement>(&bytes[1..]).is_none());
    }
}
