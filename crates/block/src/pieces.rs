//! I/Os inside the layer ("pieces"): each belongs to a request, or waits in a lane for one.

use crate::slots::ALL;
use goodness_core::{Io, RequestId, Time};

/// No piece.
pub(crate) const NONE: u32 = u32::MAX;

/// One I/O, or a part of one that exceeds the request size. Parts have a `parent`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub io: Io,
    /// Time it reached the layer.
    pub queued: Time,
    /// Arrival number.
    pub order: u64,
    /// The piece it was split from.
    parent: u32,
    /// The next of the same request or lane.
    next: u32,
    /// For a split I/O: parts not done yet.
    left: u32,
    /// For a split I/O: parts that wait for a request.
    pub unadmitted: u32,
    /// True if it has already searched for a merge without success; it does not search again after sleeping.
    pub is_tried: bool,
    /// Slots of which it waits for one: the first ones, or [`ALL`].
    pub depth: u32,
}

/// First and last of a chain of pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    pub head: u32,
    tail: u32,
}

impl Chain {
    pub const EMPTY: Chain = Chain { head: NONE, tail: NONE };
}

/// All pieces, and the chains of the requests.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    slots: Vec<Piece>,
    free: Vec<u32>,
    chains: Vec<Chain>,
    arrived: u64,
}

impl std::ops::Index<u32> for Pieces {
    type Output = Piece;
    #[inline]
    fn index(&self, piece: u32) -> &Piece {
        &self.slots[piece as usize]
    }
}

impl std::ops::IndexMut<u32> for Pieces {
    #[inline]
    fn index_mut(&mut self, piece: u32) -> &mut Piece {
        &mut self.slots[piece as usize]
    }
}

impl Pieces {
    /// Adds a piece; `parent` is [`NONE`] unless it is a part.
    #[inline]
    pub fn take(&mut self, io: Io, queued: Time, parent: u32) -> u32 {
        self.arrived += 1;
        let order = self.arrived;
        let piece =
            Piece { io, queued, order, parent, next: NONE, left: 0, unadmitted: 0, is_tried: false, depth: ALL };
        if parent != NONE {
            self[parent].left += 1;
        }
        if let Some(free) = self.free.pop() {
            self.slots[free as usize] = piece;
            return free;
        }
        self.slots.push(piece);
        u32::try_from(self.slots.len() - 1).expect("a queue holds fewer than 2^32 pieces of I/O")
    }

    /// The submitted I/O: the piece itself or its parent.
    #[inline]
    pub fn whole(&self, piece: u32) -> u32 {
        let parent = self[piece].parent;
        if parent == NONE { piece } else { parent }
    }

    /// Ends `piece`. Returns the submitted I/O if that is now done.
    #[inline]
    pub fn done(&mut self, piece: u32) -> Option<Piece> {
        let (this, whole) = (self[piece], self.whole(piece));
        self.free.push(piece);
        if whole == piece {
            return Some(this);
        }
        self[whole].left -= 1;
        (self[whole].left == 0).then(|| {
            self.free.push(whole);
            self[whole]
        })
    }

    /// Makes `piece` the only one of `request`.
    #[inline]
    pub fn begin(&mut self, request: RequestId, piece: u32) {
        if request.index() >= self.chains.len() {
            self.chains.resize(request.index() + 1, Chain::EMPTY);
        }
        self[piece].next = NONE;
        self.chains[request.index()] = Chain { head: piece, tail: piece };
    }

    /// Appends `piece` to `request`.
    pub fn push_back(&mut self, request: RequestId, piece: u32) {
        let mut chain = self.chains[request.index()];
        self.append(&mut chain, piece);
        self.chains[request.index()] = chain;
    }

    /// Prepends `piece` to `request`.
    pub fn push_front(&mut self, request: RequestId, piece: u32) {
        let chain = &mut self.chains[request.index()];
        self.slots[piece as usize].next = chain.head;
        chain.head = piece;
    }

    /// Appends the pieces of `absorbed` to those of `survivor`.
    pub fn join(&mut self, survivor: RequestId, absorbed: RequestId) {
        let behind = self.chains[absorbed.index()];
        let tail = self.chains[survivor.index()].tail;
        self[tail].next = behind.head;
        self.chains[survivor.index()].tail = behind.tail;
    }

    /// Detaches the chain of `request` and returns its first piece.
    pub fn unchain(&mut self, request: RequestId) -> u32 {
        std::mem::replace(&mut self.chains[request.index()], Chain::EMPTY).head
    }

    /// The first piece of `request`, or [`NONE`].
    pub fn first(&self, request: RequestId) -> u32 {
        self.chains[request.index()].head
    }

    /// The next piece on the chain, or [`NONE`].
    pub fn next(&self, piece: u32) -> u32 {
        self[piece].next
    }

    /// Appends `piece` to `lane`.
    pub fn append(&mut self, lane: &mut Chain, piece: u32) {
        self[piece].next = NONE;
        match lane.tail {
            NONE => lane.head = piece,
            last => self[last].next = piece,
        }
        lane.tail = piece;
    }

    /// Removes the piece behind `prior` from `lane`, or the first for [`NONE`]. It must exist.
    pub fn take_off(&mut self, lane: &mut Chain, prior: u32) -> u32 {
        let piece = if prior == NONE { lane.head } else { self[prior].next };
        let behind = self[piece].next;
        self.link(lane, prior, behind);
        if behind == NONE {
            lane.tail = prior;
        }
        piece
    }

    /// Reinserts `piece` behind `prior`, from where it was removed.
    pub fn put_back(&mut self, lane: &mut Chain, prior: u32, piece: u32) {
        let behind = if prior == NONE { lane.head } else { self[prior].next };
        self[piece].next = behind;
        self.link(lane, prior, piece);
        if behind == NONE {
            lane.tail = piece;
        }
    }

    /// Links `next` behind `prior`, or as the head of `lane` for [`NONE`].
    fn link(&mut self, lane: &mut Chain, prior: u32, next: u32) {
        match prior {
            NONE => lane.head = next,
            prior => self[prior].next = next,
        }
    }
}
