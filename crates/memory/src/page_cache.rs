//! The page cache: cached, dirty and in-flight pages of files.
//!
//! Two LRU lists, as in Linux: a page enters the inactive list and moves to the active one when used again, so that one
//! long read does not evict frequently used pages. The flusher writes dirty pages back when they exceed a share of
//! memory or an age, in page order. Writers wait while dirty pages exceed a larger share.

use crate::shares::{Owner, Shares};
use crate::transfers::{Direction, Transfer, TransferId, Transfers};
use goodness_core::{FileId, Span, Time};
use goodness_queues::{Links, List, Nodes, Tree};
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Bound;

/// Sizes and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memory for pages of files.
    pub pages: u32,
    /// The flusher writes while more pages than this are dirty (`dirty_background_ratio`).
    pub background: u32,
    /// Writers wait while more pages than this are dirty or being written (`dirty_ratio`).
    pub dirty: u32,
    /// The flusher writes files that have been dirty for so long (`dirty_expire_centisecs`).
    pub expire: Span,
    /// Period of the flusher (`dirty_writeback_centisecs`).
    pub period: Span,
    /// Largest read-ahead window in pages (`read_ahead_kb`).
    pub read_ahead: u32,
}

impl Limits {
    /// The defaults of Linux since 2.6.22 for `pages` of memory: 10 and 20 % dirty, 30 s, 5 s, 128 KiB read-ahead.
    #[must_use]
    pub const fn linux(pages: u32) -> Limits {
        Limits {
            pages,
            background: pages / 10,
            dirty: pages / 5,
            expire: Span::from_s(30),
            period: Span::from_s(5),
            read_ahead: 32,
        }
    }
}

/// Largest write of the flusher, in pages: 1 MiB. A choice; the block layer splits and merges.
const WRITE_BACK_MAX: u32 = 256;
/// Pages examined by reclaim before memory is allowed to grow, because all were in use.
const RECLAIM_TRIES: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Fetching(TransferId),
    Clean,
    Dirty,
    Writing { redirtied: bool },
}

#[derive(Clone, Copy, Debug)]
struct Page {
    key: u64,
    state: State,
    is_active: bool,
    referenced: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct FileState {
    dirty: u32,
    since: Time,
    /// Whoever made it dirty when it was clean. The kernel likewise has one owner for each file, and changes it after
    /// some seconds in which others write most of it.
    owner: Owner,
}

/// Multiplicative hashing of page keys; the table is never iterated.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are 64-bit numbers")
    }
    fn write_u64(&mut self, key: u64) {
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

fn key(file: FileId, page: u32) -> u64 {
    u64::from(file.0) << 32 | u64::from(page)
}

/// Work needed to make a file durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synced {
    /// Transfers to wait for.
    pub waits: u32,
    /// True to call again when they are done.
    pub again: bool,
}

/// The page cache of one machine.
pub struct PageCache {
    limits: Limits,
    table: HashMap<u64, u32, BuildHasherDefault<KeyHasher>>,
    pages: Vec<Page>,
    free: Vec<u32>,
    links: Links,
    inactive: List,
    active: List,
    /// Dirty pages by key: file, then page.
    dirty: Tree,
    dirty_nodes: Nodes<0>,
    shares: Shares,
    files: Vec<FileState>,
    /// Files with dirty pages, by the time since when.
    dirty_files: BTreeSet<(Time, FileId)>,
    /// Position at which the flusher continues.
    cursor: u64,
    transfers: Transfers,
}

impl PageCache {
    /// An empty cache for `files` files, whose owners are of `domains` domains.
    #[must_use]
    pub fn new(limits: Limits, files: usize, domains: usize) -> PageCache {
        PageCache {
            limits,
            table: HashMap::default(),
            pages: Vec::new(),
            free: Vec::new(),
            links: Links::default(),
            inactive: List::default(),
            active: List::default(),
            dirty: Tree::default(),
            dirty_nodes: Nodes::default(),
            shares: Shares::new(domains),
            files: vec![FileState::default(); files],
            dirty_files: BTreeSet::new(),
            cursor: 0,
            transfers: Transfers::default(),
        }
    }

    /// Sizes and times.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A transfer in flight.
    #[must_use]
    pub fn transfer(&self, id: TransferId) -> &Transfer {
        self.transfers.get(id)
    }

    /// Pages that are dirty or being written.
    #[must_use]
    pub fn unclean(&self) -> u32 {
        self.shares.all_unclean()
    }

    /// True if writers of `domain` must wait: too many pages are dirty; or, from halfway between the flusher's limit
    /// and the writers' on, more of `domain` than its share.
    #[must_use]
    pub fn is_throttling(&self, domain: u32) -> bool {
        let (all, Limits { background, dirty, .. }) = (self.unclean(), self.limits);
        all > dirty || all > (background + dirty) / 2 && self.shares.unclean(domain) > self.shares.part(domain, dirty)
    }

    /// `reader` reads pages `first .. end`; pages up to `ahead` are read ahead. Appends the necessary fetches to `out`.
    /// Returns the number of fetches the reader waits for: 0 if its pages are cached.
    pub fn read(
        &mut self,
        file: FileId,
        first: u32,
        end: u32,
        ahead: u32,
        reader: u32,
        out: &mut Vec<TransferId>,
    ) -> u32 {
        let mut waits = 0;
        let mut page = first;
        let ahead = ahead.max(end);
        while page < ahead {
            match self.table.get(&key(file, page)) {
                Some(&slot) => {
                    if page < end {
                        self.touch(slot);
                        if let State::Fetching(id) = self.pages[slot as usize].state {
                            waits += u32::from(self.transfers.wait(id, reader));
                        }
                    }
                    page += 1;
                }
                None => {
                    let missing =
                        (page..ahead).take_while(|page| !self.table.contains_key(&key(file, *page))).count() as u32;
                    let id = self.fetch(file, page, missing, page < end);
                    if page < end {
                        waits += u32::from(self.transfers.wait(id, reader));
                    }
                    out.push(id);
                    page += missing;
                }
            }
        }
        waits
    }

    fn fetch(&mut self, file: FileId, first: u32, pages: u32, sync: bool) -> TransferId {
        let id = self.transfers.begin(Transfer {
            file,
            first,
            pages,
            direction: Direction::Fetch,
            sync,
            owner: Owner::default(),
        });
        for page in first..first + pages {
            self.enter(key(file, page), State::Fetching(id));
        }
        id
    }

    /// Number of fetches of pages `first .. end` that `waiter` must wait for, because a page being fetched cannot be
    /// overwritten.
    pub fn wait_for_fetches(&mut self, file: FileId, first: u32, end: u32, waiter: u32) -> u32 {
        let mut waits = 0;
        for page in first..end {
            let Some(&slot) = self.table.get(&key(file, page)) else { continue };
            if let State::Fetching(id) = self.pages[slot as usize].state {
                waits += u32::from(self.transfers.wait(id, waiter));
            }
        }
        waits
    }

    /// `owner` overwrites pages `first .. end` entirely, in memory. None of them may be being fetched; see
    /// [`PageCache::wait_for_fetches`].
    pub fn write(&mut self, now: Time, owner: Owner, file: FileId, first: u32, end: u32) {
        for page in first..end {
            let key = key(file, page);
            let slot = match self.table.get(&key) {
                Some(&slot) => slot,
                None => self.enter(key, State::Clean),
            };
            self.touch(slot);
            match &mut self.pages[slot as usize].state {
                State::Writing { redirtied } => *redirtied = true,
                State::Dirty => {}
                State::Fetching(_) => unreachable!("the writer waits for what is being fetched"),
                State::Clean | State::Free => self.soil(now, slot, file, owner),
            }
        }
    }

    fn soil(&mut self, now: Time, slot: u32, file: FileId, owner: Owner) {
        self.pages[slot as usize].state = State::Dirty;
        let state = &mut self.files[file.0 as usize];
        if state.dirty == 0 {
            (state.since, state.owner) = (now, owner);
            self.dirty_files.insert((now, file));
        }
        state.dirty += 1;
        self.shares.soiled(state.owner.domain);
        self.dirty_nodes.reserve(self.pages.len());
        self.dirty.insert(&mut self.dirty_nodes, slot, self.pages[slot as usize].key as i64, []);
    }

    /// Appends the transfers the flusher should write now to `out`. `admits` is asked for each, with the owner's
    /// domain; a file that is refused is passed over.
    pub fn write_back(&mut self, now: Time, mut admits: impl FnMut(u32) -> bool, out: &mut Vec<TransferId>) {
        let has_any = (0..self.shares.count()).any(|domain| self.has_too_many(domain));
        let (mut from, mut refused) = (self.cursor, 0);
        while has_any
            && refused < self.dirty_files.len()
            && let Some(slot) = self.dirty_at_or_after(from).or_else(|| self.dirty.first())
        {
            let file = FileId((self.pages[slot as usize].key >> 32) as u32);
            let domain = self.files[file.0 as usize].owner.domain;
            if self.has_too_many(domain) && admits(domain) {
                out.push(self.write_run(slot, false));
                (from, refused) = (self.cursor, 0);
            } else {
                (from, refused) = (key(FileId(file.0 + 1), 0), refused + 1);
            }
        }
        let mut next = self.dirty_files.first().copied();
        while let Some((since, file)) = next
            && now.since(since) >= self.limits.expire
        {
            while let Some(slot) = self.first_dirty(file)
                && admits(self.files[file.0 as usize].owner.domain)
            {
                out.push(self.write_run(slot, false));
            }
            next = self.dirty_files.range((Bound::Excluded((since, file)), Bound::Unbounded)).next().copied();
        }
    }

    /// True if the flusher writes pages of `domain`: too many are dirty, or more of `domain` than its share.
    fn has_too_many(&self, domain: u32) -> bool {
        let background = self.limits.background;
        self.dirty.len() as u32 > background || self.shares.dirty(domain) > self.shares.part(domain, background)
    }

    /// Starts a sync of `file`. Appends its transfers to `out` and returns the number `waiter` waits for. If
    /// [`Synced::again`] is set, call again when they are done, because pages being written were overwritten meanwhile.
    pub fn sync(&mut self, file: FileId, waiter: u32, out: &mut Vec<TransferId>) -> Synced {
        let redirtied = |page: u32| {
            let slot = self.table[&key(file, page)];
            self.pages[slot as usize].state == State::Writing { redirtied: true }
        };
        let again = self.transfers.writes_of(file).any(|it| (it.first..it.first + it.pages).any(redirtied));
        while let Some(slot) = self.first_dirty(file) {
            out.push(self.write_run(slot, true));
        }
        Synced { waits: self.transfers.wait_for_file(file, waiter), again }
    }

    fn first_dirty(&self, file: FileId) -> Option<u32> {
        let slot = self.dirty_at_or_after(key(file, 0))?;
        (self.pages[slot as usize].key >> 32 == u64::from(file.0)).then_some(slot)
    }

    fn dirty_at_or_after(&self, key: u64) -> Option<u32> {
        self.dirty.first_from(&self.dirty_nodes, key as i64)
    }

    /// Starts writing the adjacent dirty pages from `slot` on.
    fn write_run(&mut self, slot: u32, sync: bool) -> TransferId {
        let begin = self.pages[slot as usize].key;
        let file = FileId((begin >> 32) as u32);
        let mut count = 0;
        let mut next = Some(slot);
        while let Some(slot) = next
            && count < WRITE_BACK_MAX
            && self.pages[slot as usize].key == begin + u64::from(count)
        {
            next = self.dirty.next(&self.dirty_nodes, slot);
            self.dirty.remove(&mut self.dirty_nodes, slot);
            self.pages[slot as usize].state = State::Writing { redirtied: false };
            count += 1;
        }
        let state = &mut self.files[file.0 as usize];
        state.dirty -= count;
        if state.dirty == 0 {
            self.dirty_files.remove(&(state.since, file));
        }
        self.cursor = begin + u64::from(count);
        let owner = state.owner;
        self.shares.begun(owner.domain, count);
        let direction = Direction::WriteBack;
        self.transfers.begin(Transfer { file, first: begin as u32, pages: count, direction, sync, owner })
    }

    /// Completes a transfer, and appends its waiters to `woken`.
    pub fn done(&mut self, now: Time, id: TransferId, woken: &mut Vec<u32>) {
        let it = self.transfers.get(id);
        let (file, first, pages, direction, owner) = (it.file, it.first, it.pages, it.direction, it.owner);
        if direction == Direction::WriteBack {
            self.shares.written(now, owner.domain, pages);
        }
        for page in first..first + pages {
            let slot = self.table[&key(file, page)];
            match self.pages[slot as usize].state {
                State::Writing { redirtied: true } => {
                    self.soil(now, slot, file, self.files[file.0 as usize].owner);
                }
                State::Writing { .. } | State::Fetching(_) => self.pages[slot as usize].state = State::Clean,
                other => unreachable!("a page that moves is {other:?}"),
            }
        }
        self.transfers.end(id, woken);
    }

    /// A page was used: the second time it becomes active.
    fn touch(&mut self, slot: u32) {
        let page = &mut self.pages[slot as usize];
        if !page.referenced {
            page.referenced = true;
        } else if !page.is_active {
            page.is_active = true;
            page.referenced = false;
            self.inactive.remove(&mut self.links, slot);
            self.active.push_front(&mut self.links, slot);
        }
    }

    /// Adds a page, after making room.
    fn enter(&mut self, key: u64, state: State) -> u32 {
        if self.table.len() as u32 >= self.limits.pages {
            self.reclaim();
        }
        let page = Page { key, state, is_active: false, referenced: false };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.pages[slot as usize] = page;
                slot
            }
            None => {
                self.pages.push(page);
                self.links.reserve(self.pages.len());
                self.pages.len() as u32 - 1
            }
        };
        self.inactive.push_front(&mut self.links, slot);
        self.table.insert(key, slot);
        slot
    }

    /// Evicts the least recently used clean page. If all examined pages are in use, memory grows; transfers in flight
    /// and the limit of dirty pages bound it.
    fn reclaim(&mut self) {
        for _ in 0..RECLAIM_TRIES {
            if self.active.len() > self.inactive.len()
                && let Some(slot) = self.active.back()
            {
                self.active.remove(&mut self.links, slot);
                self.pages[slot as usize].is_active = false;
                self.inactive.push_front(&mut self.links, slot);
            }
            let Some(slot) = self.inactive.back() else { return };
            self.inactive.remove(&mut self.links, slot);
            if self.pages[slot as usize].state == State::Clean {
                self.table.remove(&self.pages[slot as usize].key);
                self.pages[slot as usize].state = State::Free;
                self.free.push(slot);
                return;
            }
            self.inactive.push_front(&mut self.links, slot);
        }
    }
}

#[cfg(test)]
mod tests;
