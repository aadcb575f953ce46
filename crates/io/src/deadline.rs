//! deadline: sweeps over the sectors in batches of one direction, and no request may starve.
//!
//! Source: `deadline-iosched.c`, `specs/io-schedulers.md` section 4. `kernel=2.6.18` is variant A of the sheet (2.6.0 to
//! about 2.6.23), `kernel=2.6.25` variant B (up to 5.0). Expiry is looked at between batches only. A gap ends a batch of
//! variant A, and a new selection of the same direction goes on from there without resetting the count, hence 17 reads to
//! 16 writes.
//!
//! Not in the sheet, inferred: expiry counts jiffies; discards count as writes, a flush has no sectors and goes to the
//! dispatch list; who was next and grows at its front is next no longer in variant A (it leaves the tree and comes back)
//! and stays so in B. Weakness: two synchronous readers cost a seek for each request; no fairness between processes.

use crate::dispatch_list::DispatchList;
use crate::fifo::{Arrivals, Fifo, age, whole_jiffies};
use crate::sorted::{Sectors, Sorted};
use goodness_core::{
    Elevator, ElevatorAbout, HwQueue, Insert, Io, IoContext, Layer, Operation, QueueFacts, RegisteredElevator, Request,
    RequestId, Run, Seed, Side, Span,
};

goodness_core::tunables! {
    pub struct Settings {
        /// Kernel modelled: 2.6.18 ends a batch at a gap, 2.6.25 does not.
        kernel: Kernel = Kernel::V2_6_18;
        /// Age after which a read begins the next batch of reads.
        read_expire: Span = Span::from_ms(500), in Span::ZERO => Span::from_s(600);
        /// Age after which a write begins the next batch of writes.
        write_expire: Span = Span::from_ms(5000), in Span::ZERO => Span::from_s(600);
        /// Selections of reads for which waiting writes are passed over.
        writes_starved: u64 = 2, in 0 => 1_000_000;
        /// Requests of a batch.
        fifo_batch: u64 = 16, in 0 => 1_000_000;
        /// Whether a request may grow at its front.
        front_merges: bool = true;
    }
}

goodness_core::choices! {
    /// Kernel modelled: variant A or variant B of the specification.
    pub enum Kernel { V2_6_18 = "2.6.18", V2_6_25 = "2.6.25" }
}

const READ: usize = 0;
const WRITE: usize = 1;

/// Sectors in batches, arrival on expiry.
#[derive(Debug)]
pub struct Deadline {
    settings: Settings,
    /// Jiffies until expiry, by direction.
    expire: [u64; 2],
    sectors: Sectors,
    arrivals: Arrivals,
    sorted: [Sorted; 2],
    fifo: [Fifo; 2],
    /// What follows the request dispatched last, in its direction only.
    next: [Option<RequestId>; 2],
    /// Dispatched since the batch began.
    batching: u64,
    /// Selections of reads since writes were selected.
    starved: u64,
    /// Where the request dispatched last ended.
    last_sector: u64,
    dispatch: DispatchList,
}

impl RegisteredElevator for Deadline {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "deadline",
        summary: "Sweeps in batches of one direction; expired requests begin the next batch.",
        source: "Linux 2.6 deadline-iosched.c; specs section 4",
        layer: Layer::Legacy,
    };
    type Settings = Settings;

    fn new(facts: &QueueFacts, settings: Settings, _: Seed) -> Deadline {
        Deadline {
            expire: [settings.read_expire, settings.write_expire].map(|span| whole_jiffies(facts, span)),
            settings,
            sectors: Sectors::default(),
            arrivals: Arrivals::default(),
            sorted: Default::default(),
            fifo: Default::default(),
            next: [None; 2],
            batching: 0,
            starved: 0,
            last_sector: 0,
            dispatch: DispatchList::default(),
        }
    }
}

/// The direction of a request: whatever does not read writes.
fn direction(request: &Request) -> usize {
    usize::from(!request.is_read())
}

impl Elevator for Deadline {
    fn allows_merge(&self, cx: &IoContext, request: RequestId, io: &Io) -> bool {
        let is_front = io.end() == cx.requests[request].sector;
        !self.dispatch.contains(request) && (self.settings.front_merges || !is_front)
    }

    fn merged(&mut self, cx: &IoContext, request: RequestId, side: Side, _: u64) {
        if side == Side::Back || self.dispatch.contains(request) {
            return;
        }
        let direction = direction(&cx.requests[request]);
        if self.settings.kernel == Kernel::V2_6_18 {
            self.pass_over(direction, request);
        }
        let alias = self.sorted[direction].rekey(&mut self.sectors, request, cx.requests[request].sector);
        self.send_alias(cx, alias, request);
    }

    fn absorbed(&mut self, cx: &IoContext, survivor: RequestId, absorbed: RequestId) {
        if self.dispatch.contains(survivor) || self.dispatch.contains(absorbed) {
            return self.remove(cx, absorbed);
        }
        let direction = direction(&cx.requests[absorbed]);
        self.pass_over(direction, absorbed);
        self.sorted[direction].remove(&mut self.sectors, absorbed);
        self.fifo[direction].absorb(&mut self.arrivals, survivor, absorbed);
    }

    fn remove(&mut self, cx: &IoContext, request: RequestId) {
        if self.dispatch.remove(request) {
            return;
        }
        let direction = direction(&cx.requests[request]);
        self.pass_over(direction, request);
        self.sorted[direction].remove(&mut self.sectors, request);
        self.fifo[direction].remove(&mut self.arrivals, request);
    }

    fn insert(&mut self, cx: &IoContext, request: RequestId, at: Insert) -> Run {
        let slots = cx.requests.slots();
        self.sectors.reserve(slots);
        self.arrivals.reserve(slots);
        self.dispatch.reserve(slots);
        let new = &cx.requests[request];
        match (at, new.op) {
            (Insert::Head, _) => self.dispatch.push_front(request),
            (Insert::Sorted, Operation::Flush) => self.dispatch.push_back(request),
            (Insert::Sorted, _) => {
                let direction = direction(new);
                let alias = self.sorted[direction].insert(&mut self.sectors, request, new.sector);
                self.fifo[direction].push(&mut self.arrivals, request);
                self.send_alias(cx, alias, request);
            }
        }
        Run::WhenUnplugged
    }

    fn dispatch(&mut self, cx: &IoContext, _: HwQueue) -> Option<RequestId> {
        if let Some(request) = self.dispatch.pop() {
            return Some(request);
        }
        let request = match self.continue_batch(cx) {
            Some(request) => request,
            None => {
                let direction = self.choose_direction()?;
                self.begin_batch(cx, direction)?
            }
        };
        self.batching += 1;
        self.take(cx, request);
        Some(request)
    }

    fn has_work(&self) -> bool {
        !self.dispatch.is_empty() || self.fifo.iter().any(|fifo| !fifo.is_empty())
    }
}

impl Deadline {
    /// The cursor of `direction` does not stay on `request`, which leaves the tree.
    fn pass_over(&mut self, direction: usize, request: RequestId) {
        if self.next[direction] == Some(request) {
            self.next[direction] = self.sorted[direction].next(&self.sectors, request);
        }
    }

    /// `alias` has left the tree for `request`, which begins at the same sector: it counts as dispatched.
    fn send_alias(&mut self, cx: &IoContext, alias: Option<RequestId>, request: RequestId) {
        let Some(alias) = alias else { return };
        let direction = direction(&cx.requests[alias]);
        self.fifo[direction].remove(&mut self.arrivals, alias);
        self.move_on(cx, alias, self.sorted[direction].next(&self.sectors, request));
        self.dispatch.push_back(alias);
    }

    /// The request after the last dispatched one, while its batch lasts.
    fn continue_batch(&mut self, cx: &IoContext) -> Option<RequestId> {
        let next = self.next[WRITE].or(self.next[READ])?;
        if self.settings.kernel == Kernel::V2_6_18 && cx.requests[next].sector != self.last_sector {
            self.batching += self.settings.fifo_batch;
        }
        (self.batching < self.settings.fifo_batch).then_some(next)
    }

    /// Reads, unless none wait or writes were passed over too often.
    fn choose_direction(&mut self) -> Option<usize> {
        let [reads, writes] = [READ, WRITE].map(|direction| !self.fifo[direction].is_empty());
        if reads {
            let is_starved = writes && self.starved >= self.settings.writes_starved;
            self.starved += u64::from(writes);
            if !is_starved {
                return Some(READ);
            }
        }
        if writes {
            self.starved = 0;
            return Some(WRITE);
        }
        None
    }

    /// The first request of a batch.
    fn begin_batch(&mut self, cx: &IoContext, direction: usize) -> Option<RequestId> {
        let oldest = self.fifo[direction].oldest()?;
        let next = self.next[direction];
        match self.settings.kernel {
            Kernel::V2_6_18 if age(cx, oldest) > self.expire[direction] => {
                self.batching = 0;
                Some(oldest)
            }
            // The count is not reset: one request is added to the batch before.
            Kernel::V2_6_18 if next.is_some() => next,
            Kernel::V2_6_18 => {
                self.batching = 0;
                self.sorted[direction].lowest()
            }
            Kernel::V2_6_25 => {
                self.batching = 0;
                next.filter(|_| age(cx, oldest) <= self.expire[direction]).or(Some(oldest))
            }
        }
    }

    /// Takes `request` off tree and list; the sweep goes on behind it.
    fn take(&mut self, cx: &IoContext, request: RequestId) {
        let direction = direction(&cx.requests[request]);
        let next = self.sorted[direction].next(&self.sectors, request);
        self.move_on(cx, request, next);
        self.sorted[direction].remove(&mut self.sectors, request);
        self.fifo[direction].remove(&mut self.arrivals, request);
    }

    /// `request` was dispatched last and `next` follows it.
    fn move_on(&mut self, cx: &IoContext, request: RequestId, next: Option<RequestId>) {
        let request = &cx.requests[request];
        self.next = [None; 2];
        self.next[direction(request)] = next;
        self.last_sector = request.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Bench;
    use goodness_core::Submitter;

    const US: Submitter = Submitter(0);

    fn bench(change: impl FnOnce(&mut Settings)) -> Bench<Deadline> {
        let mut settings = Settings::default();
        change(&mut settings);
        Bench::new(settings)
    }

    fn read(bench: &mut Bench<Deadline>, sector: u64) -> RequestId {
        bench.insert(Io::read(US, sector, 8))
    }

    fn write(bench: &mut Bench<Deadline>, sector: u64) -> RequestId {
        bench.insert(Io::write(US, sector, 8))
    }

    /// The lengths of the runs of one direction among the first `count` dispatched.
    fn runs(bench: &mut Bench<Deadline>, count: usize) -> Vec<(char, usize)> {
        let mut runs: Vec<(char, usize)> = Vec::new();
        for _ in 0..count {
            let request = bench.dispatch().expect("requests wait");
            let is = if bench.requests[request].is_read() { 'R' } else { 'W' };
            bench.complete(request);
            match runs.last_mut() {
                Some((last, length)) if *last == is => *length += 1,
                _ => runs.push((is, 1)),
            }
        }
        runs
    }

    fn contiguous_reads_and_writes(kernel: Kernel) -> Vec<(char, usize)> {
        let mut bench = bench(|s| s.kernel = kernel);
        for i in 0..200 {
            read(&mut bench, i * 8);
            write(&mut bench, 1_000_000 + i * 8);
        }
        runs(&mut bench, 144)
    }

    #[test]
    fn contiguous_reads_and_writes_come_17_to_16_in_the_old_kernel() {
        // T-DL-1, variant A
        let runs = contiguous_reads_and_writes(Kernel::V2_6_18);
        assert_eq!(runs[..8], [('R', 17), ('W', 16), ('R', 17), ('W', 16), ('R', 17), ('W', 16), ('R', 17), ('W', 16)]);
    }

    #[test]
    fn contiguous_reads_and_writes_come_32_to_16_in_the_new_kernel() {
        // T-DL-1, variant B
        let runs = contiguous_reads_and_writes(Kernel::V2_6_25);
        assert_eq!(runs, [('R', 32), ('W', 16), ('R', 32), ('W', 16), ('R', 32), ('W', 16)]);
    }

    #[test]
    fn a_gap_ends_a_batch_of_the_old_kernel_only() {
        let gaps = |kernel| {
            let mut bench = bench(|s| s.kernel = kernel);
            for i in 0..40 {
                read(&mut bench, i * 16);
                write(&mut bench, 1_000_000 + i * 16);
            }
            runs(&mut bench, 48)[..2].to_vec()
        };
        assert_eq!(gaps(Kernel::V2_6_18), [('R', 2), ('W', 1)]);
        assert_eq!(gaps(Kernel::V2_6_25), [('R', 32), ('W', 16)]);
    }

    /// Reads at 500, 300 and 700 begin a sweep; after 500 was dispatched, 100 and 600 arrive.
    fn sweep(kernel: Kernel) -> Vec<u64> {
        let mut bench = bench(|s| s.kernel = kernel);
        for sector in [500, 300, 700] {
            read(&mut bench, sector);
        }
        let first = bench.dispatch().expect("reads wait");
        let mut order = vec![bench.requests[first].sector];
        bench.complete(first);
        for sector in [100, 600] {
            read(&mut bench, sector);
        }
        order.extend(bench.drain());
        order
    }

    #[test]
    fn reads_alone_are_swept_upwards_and_the_sweep_begins_again_at_the_lowest_or_the_oldest() {
        // T-DL-3: A starts at the lowest, B at the oldest; what arrives behind the cursor waits for the next sweep
        assert_eq!(sweep(Kernel::V2_6_18), [300, 500, 600, 700, 100]);
        assert_eq!(sweep(Kernel::V2_6_25), [500, 700, 300, 600, 100]);
    }

    #[test]
    fn with_batches_of_one_expired_requests_come_in_order_of_arrival_two_reads_to_a_write() {
        // T-DL-5
        let mut bench = bench(|s| (s.kernel, s.fifo_batch) = (Kernel::V2_6_25, 1));
        for i in 0..6 {
            read(&mut bench, 900 - i * 100);
            write(&mut bench, 9000 - i * 100);
        }
        bench.pass(Span::from_ms(5001));
        let order = [900, 800, 9000, 700, 600, 8900, 500, 400, 8800, 8700, 8600, 8500];
        assert_eq!(bench.drain(), order);
    }

    #[test]
    fn a_read_aged_exactly_500_ms_has_not_expired() {
        let second_batch = |age| {
            let mut bench = bench(|s| s.fifo_batch = 1);
            read(&mut bench, 800);
            read(&mut bench, 8);
            bench.pass(age);
            bench.drain()[0]
        };
        assert_eq!((second_batch(Span::from_ms(500)), second_batch(Span::from_ms(501))), (8, 800));
    }

    #[test]
    fn without_front_merges_a_request_still_grows_behind() {
        // T-DL-6
        for front_merges in [false, true] {
            let mut bench = bench(|s| s.front_merges = front_merges);
            let request = read(&mut bench, 100);
            let asked = [92, 108].map(|at| bench.call(|e, cx| e.allows_merge(cx, request, &Io::read(US, at, 8))));
            assert_eq!(asked, [front_merges, true]);
        }
    }

    #[test]
    fn of_two_requests_at_one_sector_the_older_goes_first_and_the_sweep_is_where_it_ends() {
        let mut bench = bench(|_| ());
        for sector in [8, 100, 108] {
            read(&mut bench, sector);
        }
        let newer = bench.insert(Io::read(US, 100, 4));
        let order = [(); 4].map(|()| bench.dispatch().map(|r| (r == newer, bench.requests[r].sector)));
        assert_eq!(order, [Some((false, 100)), Some((false, 108)), Some((false, 8)), Some((true, 100))]);
    }

    #[test]
    fn a_front_merge_moves_a_request_to_its_new_place() {
        let mut bench = bench(|_| ());
        let grows = read(&mut bench, 64);
        read(&mut bench, 60);
        bench.grow(grows, Side::Front, 32);
        assert_eq!(bench.drain(), [32, 60]);
    }

    #[test]
    fn the_next_of_a_sweep_that_grows_in_front_is_passed_over_by_the_old_kernel() {
        let order = |kernel| {
            let mut bench = bench(|s| s.kernel = kernel);
            let next = [8, 64, 128].map(|sector| read(&mut bench, sector))[1];
            bench.dispatch();
            bench.grow(next, Side::Front, 8);
            bench.drain()
        };
        assert_eq!((order(Kernel::V2_6_18), order(Kernel::V2_6_25)), (vec![128, 56], vec![56, 128]));
    }

    #[test]
    fn an_absorbed_request_is_gone_and_its_place_is_the_survivors() {
        let mut bench = bench(|s| (s.kernel, s.fifo_batch) = (Kernel::V2_6_25, 1));
        let [absorbed, _, survivor] = [108, 500, 100].map(|sector| read(&mut bench, sector));
        bench.absorb(survivor, absorbed);
        bench.pass(Span::from_s(1));
        assert_eq!(bench.drain(), [100, 500]);
    }

    #[test]
    fn what_is_inserted_at_the_head_and_a_flush_wait_for_no_batch() {
        let mut bench = bench(|_| ());
        read(&mut bench, 8);
        bench.insert(Io { op: Operation::Flush, sectors: 0, ..Io::write(US, 0, 0) });
        let _ = bench.insert_at(Io::write(US, 900, 8), Insert::Head);
        assert_eq!(bench.drain(), [900, 0, 8]);
    }
}
