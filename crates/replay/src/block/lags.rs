//! Times on the way: from an I/O's arrival to its issue, where no elevator kept it waiting.
//!
//! That is the kernel's own time: it plugs, inserts and dispatches. An I/O counts if nothing else was waiting when it
//! arrived and nothing that came later was issued before it; what an elevator holds back or overtakes does not.

use goodness_core::{Span, Time};
use std::collections::BTreeMap;

/// Most waiting I/Os that are remembered; if there are more, the trace lacks their issues.
const WAITING_MAX: usize = 1 << 16;
/// Most times kept of a volume: the first ones.
const LAGS_MAX: usize = 1 << 20;

/// An I/O that is not issued yet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    since: Time,
    order: u64,
    /// True if it found none waiting.
    alone: bool,
}

/// The times on the way, as the trace is read.
#[derive(Debug, Default)]
pub(super) struct Lags {
    /// By volume and first sector.
    waiting: BTreeMap<(u16, u64), Waiting>,
    arrived: u64,
    /// By volume.
    volumes: Vec<Volume>,
}

#[derive(Debug, Default)]
struct Volume {
    waiting: usize,
    /// Order of the last arrival that was issued.
    latest: u64,
    lags: Vec<Span>,
}

impl Lags {
    /// An I/O arrives.
    pub fn arrives(&mut self, volume: u16, sector: u64, now: Time) {
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.clear();
            self.volumes.iter_mut().for_each(|it| it.waiting = 0);
        }
        self.arrived += 1;
        let order = self.arrived;
        let of = self.volume(volume);
        let waiting = Waiting { since: now, order, alone: of.waiting == 0 };
        of.waiting += 1;
        if self.waiting.insert((volume, sector), waiting).is_some() {
            self.volume(volume).waiting -= 1;
        }
    }

    /// A request from `sector` up to `end` is issued.
    pub fn issues(&mut self, volume: u16, sector: u64, end: u64, now: Time) {
        let Some(first) = self.take(volume, sector, end) else { return };
        let of = self.volume(volume);
        if first.alone && first.order > of.latest && of.lags.len() < LAGS_MAX {
            of.lags.push(now.since(first.since));
        }
        of.latest = of.latest.max(first.order);
    }

    /// A request is done, so nothing of it waits any more.
    pub fn completes(&mut self, volume: u16, sector: u64, end: u64) {
        self.take(volume, sector, end);
    }

    /// The times of each volume, in order.
    pub fn finish(self) -> Vec<Vec<Span>> {
        self.volumes.into_iter().map(|volume| volume.lags).collect()
    }

    fn volume(&mut self, volume: u16) -> &mut Volume {
        let volume = usize::from(volume);
        if self.volumes.len() <= volume {
            self.volumes.resize_with(volume + 1, Volume::default);
        }
        &mut self.volumes[volume]
    }

    /// Takes out what waits between two sectors. Returns the first to arrive.
    fn take(&mut self, volume: u16, sector: u64, end: u64) -> Option<Waiting> {
        let mut first: Option<Waiting> = None;
        let within = (volume, sector)..(volume, end.max(sector + 1));
        while let Some((&key, &found)) = self.waiting.range(within.clone()).next() {
            self.waiting.remove(&key);
            self.volume(volume).waiting -= 1;
            first = Some(first.filter(|it| it.order < found.order).unwrap_or(found));
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_back_or_overtaken_is_no_lag() {
        let mut lags = Lags::default();
        lags.arrives(0, 8, Time(0));
        lags.issues(0, 8, 16, Time(3));
        // 800 comes first and is held; 16 overtakes it.
        lags.arrives(0, 800, Time(10));
        lags.arrives(0, 16, Time(20));
        lags.issues(0, 16, 24, Time(21));
        lags.issues(0, 800, 808, Time(90));
        lags.arrives(0, 24, Time(100));
        lags.arrives(0, 32, Time(101));
        lags.issues(0, 24, 40, Time(105));
        assert_eq!(lags.finish(), [vec![Span(3), Span(5)]], "both of the last request arrived after all the others");
    }

    #[test]
    fn what_is_done_without_an_issue_waits_no_longer() {
        let mut lags = Lags::default();
        lags.arrives(0, 8, Time(0));
        lags.completes(0, 8, 16);
        lags.arrives(0, 64, Time(10));
        lags.issues(0, 64, 72, Time(12));
        assert_eq!(lags.finish(), [vec![Span(2)]]);
    }
}
