//! The rule by which an elevator with batches selected its last request, kept for those who ask.

use goodness_core::{IoContext, IoReason, RequestId};

/// The rule of the last selection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selected {
    /// Its batch went on, in the order of sectors.
    #[default]
    InBatch,
    /// It began a batch as the next in the order of sectors.
    InOrder,
    /// It began a batch as the oldest, which had expired.
    Expired,
    /// It began a batch as the oldest.
    Oldest,
    /// By another rule, which is not told.
    Otherwise,
}

impl Selected {
    /// The rule by which `ahead`, selected so, is ahead of `waiting`; their directions are the batches' kinds.
    pub fn over(self, cx: &IoContext, ahead: RequestId, waiting: RequestId) -> Option<IoReason> {
        let [ahead_goes, waits] = [ahead, waiting].map(|request| cx.requests[request].op.direction());
        if ahead_goes == waits {
            return self.within_a_kind(cx, ahead);
        }
        match self {
            Selected::InBatch => Some(IoReason::Batch),
            Selected::Otherwise => None,
            _ if ahead_goes < waits => Some(IoReason::ReadsFirst),
            _ => Some(IoReason::WritesStarved),
        }
    }

    /// The rule by which `ahead` is ahead of the others of its kind.
    pub fn within_a_kind(self, cx: &IoContext, ahead: RequestId) -> Option<IoReason> {
        match self {
            Selected::InBatch | Selected::InOrder => Some(IoReason::SectorOrder),
            Selected::Expired => Some(IoReason::Expired { age: cx.now.since(cx.requests[ahead].inserted) }),
            Selected::Oldest => Some(IoReason::First),
            Selected::Otherwise => None,
        }
    }
}
