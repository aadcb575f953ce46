//! CPU scheduling policies, one file each. This list is the registry: command line, contract tests,
//! benchmarks and docs find a policy through it.

mod fair;
mod idle_cpus;
mod realtime;

goodness_core::cpu_policies! {
    cfs::Cfs,
    eevdf::Eevdf,
    fifo::Fifo,
    linux::{Linux20, Linux22, Linux24},
    rr::RoundRobin,
}
