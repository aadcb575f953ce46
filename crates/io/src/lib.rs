//! I/O elevators, one file each. This list is the registry: command line, contract tests, benchmarks and docs find an
//! elevator through it.

#[cfg(test)]
mod bench;

goodness_core::elevators! {
    noop::Noop,
}
