//! How many seeds a test tries: few as a matter of course, and `TRIREME_SEEDS` times as many who searches for longer.

/// The environment's `TRIREME_SEEDS`, a whole number; 1 if it is not set.
///
/// # Panics
/// If it is something else.
pub fn times() -> u64 {
    let Ok(told) = std::env::var("TRIREME_SEEDS") else { return 1 };
    match told.parse() {
        Ok(times) if times > 0 => times,
        _ => panic!("TRIREME_SEEDS={told}: allowed: a whole number, at least 1"),
    }
}
