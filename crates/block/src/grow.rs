//! Merging: which request a piece of I/O joins, and which requests become one.
//!
//! Source: `specs/io-schedulers.md` sections 2.1 and 2.2. In blk-mq the plug comes first, and of it only the newest request
//! (since Linux 5.16: general knowledge; before, all of them); the requests of the plug then try to join a waiting one behind its end. Of a request that grew, the neighbour that it has come
//! to touch is swallowed, if the elevator takes part in all merges. Inferences: in blk-mq priorities must be equal, in the
//! single-queue layer the request keeps that of its first piece.

use crate::disk::Out;
use crate::layer::{Queue, context};
use goodness_core::{Io, IoEvent, IoStage, Layer, Merges, RegisteredElevator, Request, RequestId, Side, Span, Time};

impl<E: RegisteredElevator> Queue<E> {
    /// `request` begins to wait: it can be found from now on.
    #[inline]
    pub(crate) fn remember(&mut self, request: RequestId) {
        let about = &self.requests[request];
        match self.merges {
            _ if !about.mergeable => {}
            Merges::LastOnly => self.merging.last = Some(request),
            _ => self.merging.insert(request, about.sector, about.end()),
        }
    }

    /// `request` waits no more.
    #[inline]
    pub(crate) fn forget(&mut self, request: RequestId) {
        match self.merges {
            _ if !self.requests[request].mergeable => {}
            Merges::LastOnly if self.merging.last == Some(request) => self.merging.last = None,
            Merges::LastOnly => {}
            _ => self.merging.remove(request),
        }
    }

    /// Whether `piece` joined a request.
    pub(crate) fn try_merge(&mut self, now: Time, piece: u32, io: &Io, out: &mut Out) -> bool {
        if Self::LAYER == Layer::MultiQueue {
            let newest = self.tags.plug.last().copied();
            if let Some((request, side)) = newest.and_then(|newest| Some((newest, self.side(newest, io)?))) {
                self.grow(request, side, piece, io, out);
                return true;
            }
        }
        let Some((request, side)) = self.find(now, io) else { return false };
        let before = self.requests[request].sector;
        self.grow(request, side, piece, io, out);
        self.tell_grown(now, request, side, before, out);
        true
    }

    /// The waiting request that `io` joins, and where.
    fn find(&self, now: Time, io: &Io) -> Option<(RequestId, Side)> {
        let takes = |request: RequestId| {
            let side = self.side(request, io)?;
            let is_place_allowed = side == Side::Back || matches!(self.merges, Merges::Newest | Merges::All);
            let may = is_place_allowed && self.elevator.allows_merge(context!(self, now), request, io);
            may.then_some((request, side))
        };
        match self.merges {
            Merges::LastOnly => self.merging.last.and_then(takes),
            _ => {
                let last = self.merging.last.and_then(takes);
                let behind = || self.merging.ending_at(io.sector).find_map(takes);
                let before = || match self.merges {
                    Merges::Back => None,
                    _ => self.merging.beginning_at(io.end()).find_map(takes),
                };
                last.or_else(behind).or_else(before)
            }
        }
    }

    /// Where `io` fits `request` by place, kind and size.
    #[inline]
    fn side(&self, request: RequestId, io: &Io) -> Option<Side> {
        let about = &self.requests[request];
        // The place first: of the many that are asked, few touch.
        let side = if about.end() == io.sector {
            Side::Back
        } else if about.sector == io.end() {
            Side::Front
        } else {
            return None;
        };
        self.fits(about, io, 1).then_some(side)
    }

    /// `request` takes in `piece`.
    fn grow(&mut self, request: RequestId, side: Side, piece: u32, io: &Io, out: &mut Out) {
        let about = &mut self.requests[request];
        about.sectors += io.sectors;
        about.segments += 1;
        let stage = match side {
            Side::Back => {
                self.pieces.push_back(request, piece);
                IoStage::BackMerged
            }
            Side::Front => {
                about.sector = io.sector;
                self.pieces.push_front(request, piece);
                IoStage::FrontMerged
            }
        };
        out.event(|| self.of_piece(stage, request, io, Span::ZERO));
    }

    /// Everybody learns that `request`, which waits, has grown; and it may touch a neighbour now.
    fn tell_grown(&mut self, now: Time, request: RequestId, side: Side, before: u64, out: &mut Out) {
        let about = self.requests[request];
        match self.merges {
            Merges::LastOnly => self.merging.last = Some(request),
            _ => self.merging.grown(request, about.sector, about.end()),
        }
        self.elevator.merged(context!(self, now), request, side, before);
        if self.merges != Merges::All {
            return;
        }
        let pair = match side {
            Side::Back => self.merging.beginning_at(about.end()).find_map(|next| self.pair(now, request, next)),
            Side::Front => self.merging.ending_at(about.sector).find_map(|prior| self.pair(now, prior, request)),
        };
        if let Some((survivor, absorbed)) = pair {
            self.absorb(now, survivor, absorbed, out);
        }
    }

    /// Both, if they may become one.
    fn pair(&self, now: Time, first: RequestId, second: RequestId) -> Option<(RequestId, RequestId)> {
        let (a, b) = (&self.requests[first], &self.requests[second]);
        let may = first != second
            && b.mergeable
            && self.fits(a, &b.as_io(), b.segments)
            && self.elevator.allows_absorb(context!(self, now), first, second);
        may.then_some((first, second))
    }

    /// Whether `request` may hold `other`, of so many segments, by kind and size.
    #[inline]
    fn fits(&self, request: &Request, other: &Io, segments: u16) -> bool {
        request.mergeable
            && request.op == other.op
            && request.segments + segments <= self.segments_max
            && request.sectors + other.sectors <= self.sectors_max
            && (Self::LAYER == Layer::Legacy || request.priority == other.priority)
    }

    /// `survivor` swallows `absorbed`, which begins where it ends; both wait.
    fn absorb(&mut self, now: Time, survivor: RequestId, absorbed: RequestId, out: &mut Out) {
        self.forget(absorbed);
        self.unite(survivor, absorbed, out);
        let about = self.requests[survivor];
        self.merging.grown(survivor, about.sector, about.end());
        self.elevator.absorbed(context!(self, now), survivor, absorbed);
        self.queued -= 1;
        self.free(absorbed);
    }

    /// What `absorbed` holds goes to `survivor`, with the earlier times of both.
    fn unite(&mut self, survivor: RequestId, absorbed: RequestId, out: &mut Out) {
        let swallowed = self.requests[absorbed];
        let about = &mut self.requests[survivor];
        about.sectors += swallowed.sectors;
        about.segments += swallowed.segments;
        about.allocated = about.allocated.min(swallowed.allocated);
        about.inserted = about.inserted.min(swallowed.inserted);
        self.pieces.join(survivor, absorbed);
        out.event(|| {
            let event = self.of_request(IoStage::Absorbed, absorbed, &swallowed, Span::ZERO);
            IoEvent { survivor, ..event }
        });
    }

    /// Whether `request`, which comes from a plug, joined one that waits.
    pub(crate) fn try_insert_merge(&mut self, now: Time, request: RequestId, out: &mut Out) -> bool {
        if !matches!(self.merges, Merges::Back | Merges::All) {
            return false;
        }
        let about = &self.requests[request];
        let takes = |prior: &RequestId| {
            let io = about.as_io();
            about.mergeable
                && self.fits(&self.requests[*prior], &io, about.segments)
                && self.elevator.allows_merge(context!(self, now), *prior, &io)
        };
        let Some(prior) = self.merging.ending_at(about.sector).find(takes) else { return false };
        let before = self.requests[prior].sector;
        self.unite(prior, request, out);
        self.free(request);
        self.tell_grown(now, prior, Side::Back, before, out);
        true
    }
}
