//! CPU scheduling policies, one file each. This list is the registry: command line, contract tests,
//! benchmarks and docs find a policy through it.

#[cfg(test)]
mod by_verb;
mod domains;
mod fair;
mod idle_cpus;
mod prio_array;
mod realtime;

goodness_core::cpu_policies! {
    cfs::Cfs,
    eevdf::Eevdf,
    fifo::Fifo,
    linux::{Linux20, Linux22, Linux24},
    o1::O1,
    rr::RoundRobin,
    staircase::Staircase,
}
