//! I/O elevators, one file each. This list is the registry: command line, contract tests, benchmarks and docs find an
//! elevator through it.

mod arm;
#[cfg(test)]
#[allow(dead_code)]
mod bench;
mod choice;
mod habits;
// A vocabulary that elevators share: none of them needs every word.
#[allow(dead_code)]
mod dispatch_list;
#[allow(dead_code)]
mod fifo;
#[allow(dead_code)]
mod sorted;
// A vocabulary of tests, too.
#[cfg(test)]
#[allow(dead_code)]
mod testbed;

goodness_core::elevators! {
    anticipatory::Anticipatory,
    bfq::Bfq,
    cfq::Cfq,
    cfq_v2::CfqV2,
    deadline::Deadline,
    kyber::Kyber,
    look::Look,
    mq_deadline::MqDeadline,
    none::NoElevator,
    noop::Noop,
    scan::{CScan, Scan},
    sstf::Sstf,
}
