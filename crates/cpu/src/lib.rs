//! CPU scheduling policies, one file each. This list is the registry: command line, contract tests,
//! benchmarks and docs find a policy through it.

mod be_elections;
mod be_priorities;
#[cfg(test)]
mod by_verb;
mod domains;
mod fair;
mod freebsd;
mod idle_cpus;
mod jobs;
mod levels;
mod ordered;
mod per_cpu;
mod prio_array;
mod realtime;
mod rotation;
mod scx;
mod seats;
mod shared_queue;
mod tickets;
mod virtual_deadline;

goodness_core::cpu_policies! {
    beos::BeOs,
    bfs::Bfs,
    bsd4::Bsd4,
    cfs::Cfs,
    deadline::Deadline,
    edf::Edf,
    eevdf::Eevdf,
    fifo::Fifo,
    haiku_2009::Haiku2009,
    haiku_2013::Haiku2013,
    haiku_2pow::Haiku2Pow,
    haiku_affine::HaikuAffine,
    haiku_fair::{BeOsRt, HaikuFair},
    linux::{Linux20, Linux22, Linux24},
    lottery::Lottery,
    mlfq::{Ctss, Mlfq},
    muqss::Muqss,
    nt4::Nt4,
    o1::O1,
    rm::Rm,
    rr::RoundRobin,
    rsdl::Rsdl,
    scx_bpfland::ScxBpfland,
    scx_lavd::ScxLavd,
    scx_rusty::ScxRusty,
    scx_simple::ScxSimple,
    sd::Sd,
    solaris_ts::SolarisTs,
    staircase::Staircase,
    stride::Stride,
    ule::Ule,
}
