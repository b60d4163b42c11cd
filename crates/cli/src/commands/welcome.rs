//! `trireme` alone: what to type first.

use crate::output;
use harness::Failure;
use std::process::ExitCode;

const TEXT: &str = "\
Trireme: main-memory OLTP designs, chosen on the command line and measured side by side.

What to type first:
  trireme compare micro                   every system that there is, ranked, with a report to open
  trireme run ycsb --protocol silo        one system, closely
  trireme check micro --protocol silo     is what it does serializable?
  trireme doctor                          is this machine fit for measuring?

And then:
  trireme list                            workloads, architectures, protocols, experiments
  trireme reproduce trireme/fig-2a        a figure of a paper, on the paper's machine, simulated, and its claims judged
  trireme sweep EXPERIMENT.toml           an experiment, point by point; goes on where it was interrupted
  trireme validate                        how right are simulated machines?
  trireme diff BEFORE AFTER               did a change make it slower?

'trireme COMMAND --help' shows what a command takes.
";

/// Prints it.
pub fn welcome() -> Result<ExitCode, Failure> {
    output::print(TEXT)?;
    Ok(ExitCode::SUCCESS)
}
