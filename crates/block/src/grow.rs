//! Merging of I/Os into requests, and of requests with each other.
//!
//! Source: `specs/io-schedulers.md` sections 2.1 and 2.2. blk-mq first tries the newest request of the plug (since
//! Linux 5.16: general knowledge; before, all of them). When the plug is flushed, its requests try a back merge with a
//! waiting one. A request that has grown absorbs the neighbour it now touches, if the elevator takes part in all
//! merges. Inferences: blk-mq merges only equal priorities; in the single-queue layer the request keeps the priority of
//! its first I/O.

use crate::disk::Out;
use crate::layer::Queue;
use goodness_core::{Io, IoEvent, IoStage, Layer, Merges, Request, RequestId, Side, Span};

impl Queue {
    /// Adds the waiting `request` to the merge index.
    #[inline]
    pub(crate) fn remember(&mut self, request: RequestId) {
        let about = &self.referee.requests()[request];
        if about.mergeable && self.referee.merges() != Merges::LastOnly {
            self.merging.insert(request, about.sector, about.end());
        }
    }

    /// `request` waits no more.
    #[inline]
    pub(crate) fn forget(&mut self, request: RequestId) {
        if self.referee.requests()[request].mergeable && self.referee.merges() != Merges::LastOnly {
            self.merging.remove(request);
        }
    }

    /// Tries to merge `piece` into a request. Returns whether it did.
    pub(crate) fn try_merge(&mut self, piece: u32, io: &Io, out: &mut Out) -> bool {
        if self.layer == Layer::MultiQueue {
            let newest = self.tags.plug.last().copied();
            if let Some((request, side)) = newest.and_then(|newest| Some((newest, self.side(newest, io)?))) {
                self.grow(request, side, piece, io, out);
                return true;
            }
        }
        let Some((request, side)) = self.find(io) else { return false };
        self.grow(request, side, piece, io, out);
        self.look_for_neighbour(request, side, out);
        true
    }

    /// A waiting request into which `io` can be merged, and the side.
    fn find(&self, io: &Io) -> Option<(RequestId, Side)> {
        let takes = |request: RequestId| {
            let side = self.side(request, io)?;
            self.referee.may_join(request, side, io).then_some((request, side))
        };
        let last = self.referee.last().and_then(takes);
        match self.referee.merges() {
            Merges::LastOnly => last,
            merges => {
                let behind = || self.merging.ending_at(io.sector).find_map(takes);
                let before = || match merges {
                    Merges::Back => None,
                    _ => self.merging.beginning_at(io.end()).find_map(takes),
                };
                last.or_else(behind).or_else(before)
            }
        }
    }

    /// The side of `request` at which `io` fits by sector, operation and size.
    #[inline]
    fn side(&self, request: RequestId, io: &Io) -> Option<Side> {
        let side = self.referee.touches(request, io)?;
        self.fits(&self.referee.requests()[request], io, 1).then_some(side)
    }

    /// Merges `piece` into `request`.
    fn grow(&mut self, request: RequestId, side: Side, piece: u32, io: &Io, out: &mut Out) {
        self.referee.grow(request, side, io.sectors);
        let stage = match side {
            Side::Back => {
                self.pieces.push_back(request, piece);
                IoStage::BackMerged
            }
            Side::Front => {
                self.pieces.push_front(request, piece);
                IoStage::FrontMerged
            }
        };
        out.event(|| IoEvent::of_io(self.disk, stage, request, io, Span::ZERO));
    }

    /// Updates `request`, which has grown at `side`, and merges it with a neighbour it now touches.
    fn look_for_neighbour(&mut self, request: RequestId, side: Side, out: &mut Out) {
        let about = self.referee.requests()[request];
        if self.referee.merges() != Merges::LastOnly {
            self.merging.grown(request, about.sector, about.end());
        }
        if self.referee.merges() != Merges::All {
            return;
        }
        let pair = match side {
            Side::Back => self.merging.beginning_at(about.end()).find_map(|next| self.pair(request, next)),
            Side::Front => self.merging.ending_at(about.sector).find_map(|prior| self.pair(prior, request)),
        };
        if let Some((survivor, absorbed)) = pair {
            self.absorb(survivor, absorbed, out);
        }
    }

    /// Both, if they may become one.
    fn pair(&self, first: RequestId, second: RequestId) -> Option<(RequestId, RequestId)> {
        let (a, b) = (&self.referee.requests()[first], &self.referee.requests()[second]);
        let may = self.fits(a, &b.as_io(), b.segments) && self.referee.may_absorb(first, second);
        may.then_some((first, second))
    }

    /// True if `request` may hold `other`, with this many segments, by size, group and priority.
    #[inline]
    fn fits(&self, request: &Request, other: &Io, segments: u16) -> bool {
        request.segments + segments <= self.segments_max
            && request.sectors + other.sectors <= self.sectors_max
            && request.group == other.group
            && (self.layer == Layer::Legacy || request.priority == other.priority)
    }

    /// Merges `absorbed` into `survivor`, which ends where it starts. Both wait.
    fn absorb(&mut self, survivor: RequestId, absorbed: RequestId, out: &mut Out) {
        self.forget(absorbed);
        self.hand_over(survivor, absorbed, out);
        self.referee.absorb(survivor, absorbed);
        let about = self.referee.requests()[survivor];
        self.merging.grown(survivor, about.sector, about.end());
    }

    /// Moves the pieces of `absorbed` to `survivor` and frees its slot.
    fn hand_over(&mut self, survivor: RequestId, absorbed: RequestId, out: &mut Out) {
        let swallowed = self.referee.requests()[absorbed];
        self.pieces.join(survivor, absorbed);
        self.give_back(absorbed, &swallowed);
        if let Some(wbt) = &mut self.wbt {
            wbt.leaves(swallowed.op, swallowed.sync);
        }
        out.event(|| {
            let event = self.of_request(IoStage::Absorbed, absorbed, &swallowed, Span::ZERO);
            IoEvent { survivor, ..event }
        });
    }

    /// Merges `request` from a plug into a waiting one. Returns false if there is none.
    pub(crate) fn try_insert_merge(&mut self, request: RequestId, out: &mut Out) -> bool {
        if !matches!(self.referee.merges(), Merges::Back | Merges::All) {
            return false;
        }
        let about = &self.referee.requests()[request];
        let io = about.as_io();
        let takes = |prior: &RequestId| {
            about.mergeable
                && self.referee.touches(*prior, &io) == Some(Side::Back)
                && self.fits(&self.referee.requests()[*prior], &io, about.segments)
                && self.referee.may_join(*prior, Side::Back, &io)
        };
        let Some(prior) = self.merging.ending_at(about.sector).find(takes) else { return false };
        self.hand_over(prior, request, out);
        self.referee.join(prior, request);
        self.look_for_neighbour(prior, Side::Back, out);
        true
    }
}
