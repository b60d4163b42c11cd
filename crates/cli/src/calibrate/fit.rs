//! The numbers that cannot be measured alone: they are found by simulating what was measured until both agree.

use super::numbers::Numbers;
use super::rounds::LOOKS;
use super::{FEW_RECORDS, MANY_RECORDS, SYSTEM};
use crate::commands::run::Measure;
use crate::engines::Machine;
use crate::warm;
use harness::measure::After;
use harness::observer::Silent;
use harness::{Failure, RunOptions, Subject};
use machine::hardware::environment::Environment;
use machine::hardware::facts;
use machine::hardware::topology::Topology;
use machine::simulated::atomic::{AtomicU64, Ordering};
use machine::simulated::{Description, cpu, simulate, worker};
use std::time::Duration;

/// Finds what a transfer takes so that the ball takes as long there and back as was measured. One core throws none.
pub(super) fn fit_transfers(
    numbers: &mut Numbers,
    measured_ns: Option<f64>,
    environment: &Environment,
) -> Result<(f64, f64), Failure> {
    let Some(measured_ns) = measured_ns else { return Ok((0.0, 0.0)) };
    let mut simulated = 0.0;
    for _ in 0..6 {
        simulated = round_trip_ns(&numbers.description(environment)?);
        let wanted = numbers.transfer_cycles as f64 * measured_ns / simulated;
        numbers.transfer_cycles = (wanted.round() as u64).max(numbers.last_cycles);
    }
    Ok((measured_ns, simulated))
}

/// A line there and back between the first two workers of this machine; `None` if there is one core.
pub fn measured_round_trip_ns() -> Option<f64> {
    let places = &Topology::of_this_machine().fill_order;
    Some(facts::line_round_trip_ns(*places.first()?, *places.get(1)?))
}

/// A line there and back between the first two cores of a simulated machine.
pub fn round_trip_ns(description: &Description) -> f64 {
    const TRIPS: u64 = 2000;
    #[repr(align(128))]
    struct Line(AtomicU64);
    simulate(description, 1, || {
        let ball = Line(AtomicU64::new(0));
        let took = worker::run(2, |me| {
            let began = machine::simulated::clock::now();
            for trip in 0..TRIPS {
                // Odd numbers come, even ones go back.
                let mine = 2 * trip + me as u64;
                while ball.0.load(Ordering::Acquire) != mine {
                    cpu::pause();
                }
                ball.0.store(mine + 1, Ordering::Release);
            }
            machine::simulated::clock::nanoseconds(machine::simulated::clock::now().since(began))
        });
        took[0] as f64 / TRIPS as f64
    })
}

/// Finds what computation takes, on a table that fits in the private caches, and then what part of a wait for lines of the
/// last level a core really waits, on one that does not; both so that one worker does as many transactions a second as were
/// measured, of few and of many rows. Answers both, measured and simulated.
pub(super) fn fit_worker(
    numbers: &mut Numbers,
    [few_per_s, many_per_s]: [f64; 2],
    environment: &Environment,
) -> Result<[(f64, f64); 2], Failure> {
    for _ in 0..STEPS_OF_WORK {
        let simulated = numbers.one_worker_per_s(FEW_RECORDS, few_per_s, environment)?;
        // A percent takes about as long whatever the rest takes: a transaction's cycles, measured less simulated.
        let transaction_s = 1.0 / few_per_s - 1.0 / simulated;
        let percent_s = CYCLES_A_TRANSACTION / 100.0 / (numbers.frequency_mhz as f64 * 1e6);
        let wanted = numbers.work_percent as f64 + transaction_s / percent_s;
        numbers.work_percent = wanted.round().clamp(0.0, 10_000.0) as u64;
    }
    // The less of a wait is waited for, the faster: the most that is not too slow, by halving.
    let (mut low, mut high) = (1, 100);
    while low < high {
        numbers.stall_percent = u64::div_ceil(low + high, 2);
        if numbers.one_worker_per_s(MANY_RECORDS, many_per_s, environment)? >= many_per_s {
            low = numbers.stall_percent;
        } else {
            high = numbers.stall_percent - 1;
        }
    }
    numbers.stall_percent = low;
    let simulated = |records, measured_per_s| -> Result<(f64, f64), Failure> {
        Ok((measured_per_s, numbers.one_worker_per_s(records, measured_per_s, environment)?))
    };
    Ok([simulated(FEW_RECORDS, few_per_s)?, simulated(MANY_RECORDS, many_per_s)?])
}

/// Enough for the work of a transaction, which one percent more lengthens by a constant.
pub(super) const STEPS_OF_WORK: usize = 6;

/// Computation of a transaction of ten reads as the engine tells it; it decides only how fast the fit is.
pub(super) const CYCLES_A_TRANSACTION: f64 = 480.0;

impl Numbers {
    /// What one worker does on the machine with these numbers over a table that it has been doing `measured_per_s` over.
    pub(super) fn one_worker_per_s(
        &self,
        records: &str,
        measured_per_s: f64,
        environment: &Environment,
    ) -> Result<f64, Failure> {
        // A few dozen of some hundred bytes, for as long as the process lives.
        let description: &'static Description = Box::leak(Box::new(self.description(environment)?));
        let machine = Machine::Simulated(description);
        let rows = records.parse().expect("a number of ours");
        let (warmup, duration) = warm::times(rows, measured_per_s);
        let defaults = machine.defaults(RunOptions::for_compare);
        one_worker_per_s(machine, records, RunOptions { warmup, duration, repeat: 1, ..defaults })
    }
}

/// What it does on this machine: the fastest of many repetitions, each shorter than what a scheduler gives at a time, so
/// that in one of them nobody else ran.
pub(super) fn measured_per_s(records: &str, seed: u64) -> Result<f64, Failure> {
    let mut options = RunOptions {
        warmup: Duration::from_millis(10),
        duration: Duration::from_millis(15),
        repeat: 4 * LOOKS,
        ..Machine::Hardware.defaults(RunOptions::for_compare)
    };
    options.engine.seed = seed;
    one_worker_per_s(Machine::Hardware, records, options)
}

/// The fastest of the repetitions.
fn one_worker_per_s(machine: Machine, records: &str, mut options: RunOptions) -> Result<f64, Failure> {
    let given = [("records", records)].into_iter().collect();
    let workload = workloads::build("micro", &given).expect("records is a parameter of micro");
    options.workers = 1;
    options.engine.prefetch = contract::PrefetchName::Off;
    let subject = Subject::of(&workload, options, machine.place());
    let (options, after) = (&subject.options, After::Nothing);
    let job = Measure { workload: &workload, pairs: &[SYSTEM], options, after, observer: &Silent };
    let (measured, _) = machine.run(job)?;
    Ok(harness::results::System::of(&subject, &measured[0]).summary.throughput_max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::numbers::tests::numbers;

    #[test]
    fn the_ball_decides_the_transfers() {
        let environment = Environment::of_this_machine();
        let mut numbers = numbers();
        let (measured, simulated) =
            fit_transfers(&mut numbers, Some(300.0), &environment).expect("a machine");
        assert!((simulated / measured - 1.0).abs() < 0.05, "{measured} {simulated}");
        assert!(numbers.transfer_cycles > 50);
    }
}
