//! I/O elevators, one per file. The list below is the registry for the command line, contract tests, benchmarks and
//! docs.

mod parse;
mod parts;

pub use parse::{check, parse};

goodness_core::elevators! {
    anticipatory::Anticipatory,
    bfq::Bfq,
    cfq::Cfq,
    cfq_v2::CfqV2,
    cscan::CScan,
    deadline::Deadline,
    kyber::Kyber,
    look::Look,
    mq_deadline::MqDeadline,
    none::NoElevator,
    noop::Noop,
    scan::Scan,
    sstf::Sstf,
}
