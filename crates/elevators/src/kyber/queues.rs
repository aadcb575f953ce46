//! Request queues: per CPU and domain. When a hardware queue serves a domain and its own list is empty, it takes over
//! all CPUs' queues of that domain.

use goodness_core::{HwQueue, QueueFacts, Request, RequestId};
use goodness_queues::{Links, List};

/// Number of newest requests of a CPU tried for a merge (section 2.2, general knowledge).
const NEWEST: usize = 8;

/// Location of a request.
#[derive(Clone, Copy, Debug)]
enum Place {
    Nowhere,
    /// In the queue of its CPU: index of `local`.
    Local(usize),
    /// Next in its hardware queue: index of `ready`.
    Ready(usize),
}

/// The queues of all CPUs and hardware queues.
#[derive(Clone, Debug)]
pub struct Queues {
    cpus: usize,
    domains: usize,
    links: Links,
    places: Vec<Place>,
    /// By hardware queue and domain.
    ready: Vec<List>,
    /// By hardware queue, domain and CPU.
    local: Vec<List>,
    /// By hardware queue and domain: requests in all of its CPUs' queues.
    in_local: Vec<u32>,
    waiting: usize,
}

impl Queues {
    /// Queues for the CPUs and hardware queues of `facts`.
    pub fn new(facts: &QueueFacts, domains: usize) -> Queues {
        let (cpus, queues) = (usize::from(facts.cpus.max(1)), usize::from(facts.queues.max(1)));
        Queues {
            cpus,
            domains,
            links: Links::default(),
            places: Vec::new(),
            ready: vec![List::default(); queues * domains],
            local: vec![List::default(); queues * domains * cpus],
            in_local: vec![0; queues * domains],
            waiting: 0,
        }
    }

    /// Makes room for `slots` requests.
    pub fn reserve(&mut self, slots: usize) {
        self.links.reserve(slots);
        if self.places.len() < slots {
            self.places.resize(slots, Place::Nowhere);
        }
    }

    /// Requests that wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// True if a request waits for `queue`.
    pub fn has(&self, queue: HwQueue) -> bool {
        let mut groups = queue.index() * self.domains..(queue.index() + 1) * self.domains;
        groups.any(|group| self.in_local[group] > 0 || !self.ready[group].is_empty())
    }

    /// Adds a request at the end of its CPU's queue of `domain`.
    pub fn insert(&mut self, id: RequestId, request: &Request, domain: usize) {
        self.waiting += 1;
        let group = request.queue.index() * self.domains + domain;
        let local = group * self.cpus + usize::from(request.cpu);
        self.local[local].push_back(&mut self.links, id.0);
        self.in_local[group] += 1;
        self.places[id.index()] = Place::Local(local);
    }

    /// Removes a request from its list.
    pub fn remove(&mut self, id: RequestId) {
        let list = match std::mem::replace(&mut self.places[id.index()], Place::Nowhere) {
            Place::Nowhere => return,
            Place::Ready(group) => &mut self.ready[group],
            Place::Local(local) => {
                self.in_local[local / self.cpus] -= 1;
                &mut self.local[local]
            }
        };
        list.remove(&mut self.links, id.0);
        self.waiting -= 1;
    }

    /// Takes the next request of `domain` for `queue`.
    pub fn take(&mut self, queue: HwQueue, domain: usize) -> Option<RequestId> {
        let group = queue.index() * self.domains + domain;
        if self.ready[group].is_empty() {
            self.collect(group);
        }
        let first = RequestId(self.ready[group].front()?);
        self.remove(first);
        Some(first)
    }

    /// Moves the queues of all CPUs, in CPU order, to the list of their hardware queue.
    fn collect(&mut self, group: usize) {
        if self.in_local[group] == 0 {
            return;
        }
        for local in &mut self.local[group * self.cpus..][..self.cpus] {
            while let Some(item) = local.pop_front(&mut self.links) {
                self.ready[group].push_back(&mut self.links, item);
                self.places[item as usize] = Place::Ready(group);
            }
        }
        self.in_local[group] = 0;
    }

    /// True if `request` is one of the newest in the queue of `cpu` and `domain`, so that a merge would find it.
    pub fn is_among_the_newest(&self, request: RequestId, cpu: usize, domain: usize) -> bool {
        let Some(Place::Local(local)) = self.places.get(request.index()) else { return false };
        let is_here = local % self.cpus == cpu && local / self.cpus % self.domains == domain;
        is_here && self.local[*local].iter_back(&self.links).take(NEWEST).any(|item| item == request.0)
    }
}
