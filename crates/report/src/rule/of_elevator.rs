//! The rule by which an elevator let a request wait, in words.

use super::{Rule, span};
use goodness_core::{IoClass, IoReason, Submitter};

/// Name of the rule if an elevator did not have the request.
const NOT_THERE: &str = "not_in_queue";

impl Rule {
    /// The rule of an elevator; `name` names a process.
    #[must_use]
    pub fn of_elevator(reason: IoReason, name: impl FnOnce(Submitter) -> String) -> Rule {
        Rule { name: reason.name().into(), said: words(reason, name) }
    }

    /// The rule by which one request is ahead of the one called `waiting`, or by which that one is held back.
    #[must_use]
    pub fn of_elevator_over(reason: IoReason, waiting: &str, name: impl FnOnce(Submitter) -> String) -> Rule {
        let said = over(reason, waiting).unwrap_or_else(|| words(reason, name));
        Rule { name: reason.name().into(), said }
    }

    /// The elevator did not have the request called `who`.
    #[must_use]
    pub fn not_there(who: &str) -> Rule {
        Rule { name: NOT_THERE.into(), said: format!("{who} was not in its queue") }
    }
}

/// The rule as the end of a sentence about the one request ahead; `None` if [`words`] fit.
fn over(reason: IoReason, who: &str) -> Option<String> {
    Some(match reason {
        IoReason::First => format!("it came before {who}"),
        IoReason::DeviceFull => format!("the disk was busy when {who} came"),
        IoReason::Aged => "it had waited too long behind higher I/O classes".into(),
        IoReason::Batch => format!("its batch is not over, and {who} goes the other direction"),
        IoReason::Expired { age } => format!("it had expired, after {}", span(age)),
        IoReason::SectorOrder => format!("it comes before {who} in the order of sectors"),
        IoReason::Nearer { ahead, waiting } => {
            format!("it is nearer to the head than {who} ({ahead} sectors away, not {waiting})")
        }
        IoReason::QueueOrder => format!("it comes before {who} in the queue of both"),
        IoReason::CpuTurn => format!("it is not the turn of the CPU of {who}"),
        IoReason::KindTurn => format!("it is not the turn of the kind of {who}"),
        IoReason::InService => format!("the queue in service is not that of {who}"),
        IoReason::GroupTurn => format!("it is not the turn of the group of {who}"),
        IoReason::TokensUsedUp { tokens } => {
            format!("the disk has all {tokens} requests it may have of the kind of {who}")
        }
        IoReason::Injected => "it is served while the disk would idle".into(),
        _ => return None,
    })
}

/// The rule as the end of a sentence about a request that waits.
fn words(reason: IoReason, name: impl FnOnce(Submitter) -> String) -> String {
    match reason {
        IoReason::First => "they came first".into(),
        IoReason::NoSlot => "all slots for requests were taken".into(),
        IoReason::WriteBack => "write-back was throttled, or all slots for requests were taken".into(),
        IoReason::DeviceFull => "the disk was busy when it came".into(),
        IoReason::Class { ahead, waiting } => {
            format!("I/O class {} is served before {}", class(ahead), class(waiting))
        }
        IoReason::Aged => "they had waited too long behind higher I/O classes".into(),
        IoReason::Batch => "their batch, of the other direction, was not over".into(),
        IoReason::ReadsFirst => "reads are served before writes".into(),
        IoReason::WritesStarved => "writes had been passed over too often".into(),
        IoReason::Expired { age } => format!("they had expired, after {}", span(age)),
        IoReason::SectorOrder => "they came next in the order of sectors".into(),
        IoReason::Nearer { ahead, waiting } => {
            format!("they were nearer to the head ({ahead} sectors away, it {waiting})")
        }
        IoReason::QueueOrder => "they came next in the queue that both are in".into(),
        IoReason::InService => "another process or queue was served".into(),
        IoReason::GroupTurn => "it was the turn of another group".into(),
        IoReason::Round => "a round takes a request of each process".into(),
        IoReason::CpuTurn => "it was the turn of another CPU's queue".into(),
        IoReason::KindTurn => "it was the turn of another kind of requests".into(),
        IoReason::TokensUsedUp { tokens } => format!("the disk had all {tokens} requests of its kind that it may have"),
        IoReason::Injected => "they were served while the disk would have idled".into(),
        IoReason::Idles { submitter } => format!("the disk was kept idle for the next request of {}", name(submitter)),
        IoReason::Drains => "the disk had to complete the batch before".into(),
        IoReason::HeadMoves => "the head moved to the edge of the disk".into(),
    }
}

/// The name of a class, as `ionice` has it.
fn class(class: IoClass) -> &'static str {
    match class {
        IoClass::RealTime => "realtime",
        IoClass::BestEffort => "best-effort",
        IoClass::Idle => "idle",
    }
}

#[test]
fn a_rule_reads_as_the_reason_of_a_wait() {
    let said = |reason| Rule::of_elevator(reason, |it| format!("reader {}", it.0)).said;
    let (ahead, waiting) = (IoClass::RealTime, IoClass::Idle);
    assert_eq!(said(IoReason::Class { ahead, waiting }), "I/O class realtime is served before idle");
    assert_eq!(said(IoReason::Expired { age: goodness_core::Span::from_ms(500) }), "they had expired, after 500 ms");
    let idles = IoReason::Idles { submitter: Submitter(3) };
    assert_eq!(said(idles), "the disk was kept idle for the next request of reader 3");
    let over = |reason| Rule::of_elevator_over(reason, "the read at 8", |it| format!("reader {}", it.0)).said;
    assert_eq!(over(IoReason::SectorOrder), "it comes before the read at 8 in the order of sectors");
    assert_eq!(over(idles), said(idles), "nobody is ahead");
    assert_eq!(super::in_general(idles.name()), "a disk kept idle for another process");
    assert_eq!(super::in_general("first"), "first come, first served");
}

/// A rule by its name, without figures; `None` for one of policies.
pub(super) fn in_general(name: &str) -> Option<&'static str> {
    Some(match name {
        "no_slot" => "slots for requests that were all taken",
        "write_back" => "write-back that was throttled, or slots that were all taken",
        "device_full" => "a disk that was busy",
        "io_class" => "a higher I/O class",
        "io_aged" => "a long wait behind higher I/O classes",
        "batch" => "a batch of the other direction",
        "reads_first" => "reads before writes",
        "writes_starved" => "writes that had been passed over too often",
        "expired" => "requests that had expired",
        "sector_order" => "the order of sectors",
        "nearer" => "the nearest request first",
        "queue_order" => "the order of its queue",
        "in_service" => "the turn of another process or queue",
        "group_turn" => "the turn of another group",
        "round" => "a round with a request of each process",
        "cpu_turn" => "another CPU's turn at the disk",
        "kind_turn" => "another kind of requests in turn",
        "tokens_used_up" => "no token left for its kind",
        "injected" => "requests served while the disk would have idled",
        "idles" => "a disk kept idle for another process",
        "drains" => "a batch before that had to complete",
        NOT_THERE => "a request that the elevator did not have",
        "head_moves" => "a head on its way to the edge",
        _ => return None,
    })
}
