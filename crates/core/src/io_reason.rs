//! Reasons of elevators: the rule by which a request waits while another one goes to the device, as data.

use crate::request::{HwQueue, IoClass, RequestId, Submitter};
use crate::time::Span;

/// The rule by which an elevator lets a request wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IoReason {
    /// The one ahead came first.
    First,
    /// All slots for requests were taken, of the queue or of those that the elevator grants.
    NoSlot,
    /// Write-back was throttled, or all slots were taken: the waiting one is an asynchronous write or a discard on a
    /// disk that throttles these.
    WriteBack,
    /// The device had as many requests as it takes when the waiting one came.
    DeviceFull,
    /// The class of I/O priority of the one ahead is served first.
    Class {
        /// Class of the request ahead.
        ahead: IoClass,
        /// Class of the waiting request.
        waiting: IoClass,
    },
    /// Its class is served later, but it had waited too long.
    Aged,
    /// A batch of requests of the other direction was not over.
    Batch,
    /// A batch of reads begins before one of writes.
    ReadsFirst,
    /// A batch of writes begins, because they had been passed over as often as reads may.
    WritesStarved,
    /// The one ahead had expired: it had waited longest of its kind, and too long.
    Expired {
        /// Time that it had waited.
        age: Span,
    },
    /// The one ahead is next in the order of sectors.
    SectorOrder,
    /// The one ahead is nearer to the head.
    Nearer {
        /// Its distance in sectors.
        ahead: u64,
        /// Distance of the waiting request.
        waiting: u64,
    },
    /// The one ahead is next in the queue that they share.
    QueueOrder,
    /// The queue of another process, or a shared one, is served.
    InService,
    /// It is the turn of another group, or of processes outside the group.
    GroupTurn,
    /// The round takes a request of each process.
    Round,
    /// It is the turn of another CPU's queue.
    CpuTurn,
    /// It is the turn of another kind of requests.
    KindTurn,
    /// The device has as many requests of the kind of the waiting one as it may.
    TokensUsedUp {
        /// Number of them.
        tokens: u32,
    },
    /// The one ahead was taken while the disk would have idled for a process.
    Injected,
    /// Nobody is ahead: the disk idles for the next request of this process.
    Idles {
        /// The process.
        submitter: Submitter,
    },
    /// Nobody is ahead: a batch begins when the device has completed those of the one before.
    Drains,
    /// Nobody is ahead: the head moves to the edge of the disk.
    HeadMoves,
}

impl IoReason {
    /// Name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            IoReason::First => "first",
            IoReason::NoSlot => "no_slot",
            IoReason::WriteBack => "write_back",
            IoReason::DeviceFull => "device_full",
            IoReason::Class { .. } => "io_class",
            IoReason::Aged => "io_aged",
            IoReason::Batch => "batch",
            IoReason::ReadsFirst => "reads_first",
            IoReason::WritesStarved => "writes_starved",
            IoReason::Expired { .. } => "expired",
            IoReason::SectorOrder => "sector_order",
            IoReason::Nearer { .. } => "nearer",
            IoReason::QueueOrder => "queue_order",
            IoReason::InService => "in_service",
            IoReason::GroupTurn => "group_turn",
            IoReason::Round => "round",
            IoReason::CpuTurn => "cpu_turn",
            IoReason::KindTurn => "kind_turn",
            IoReason::TokensUsedUp { .. } => "tokens_used_up",
            IoReason::Injected => "injected",
            IoReason::Idles { .. } => "idles",
            IoReason::Drains => "drains",
            IoReason::HeadMoves => "head_moves",
        }
    }
}

/// A question to an elevator: why does `waiting` wait?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WhyWaits {
    /// The hardware queue that asked for a request.
    pub queue: HwQueue,
    /// The request that was dispatched just now; `None` if the elevator holds all back.
    pub ahead: Option<RequestId>,
    /// The waiting request.
    pub waiting: RequestId,
}
