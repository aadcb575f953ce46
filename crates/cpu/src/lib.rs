//! CPU scheduling policies, one file each. This list is the registry: command line, contract tests,
//! benchmarks and docs find a policy through it.

mod idle_cpus;

goodness_core::cpu_policies! {
    fifo::Fifo,
    rr::RoundRobin,
}
