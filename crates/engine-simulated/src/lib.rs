//! engine-simulated
