//! Tests the host with a backing in memory that completes in any order and, on power failure, forgets all writes not
//! yet durable.

use super::{Host, Part, bytes};
use goodness_block::QueueOptions;
use goodness_core::{DeviceFacts, Io, Operation, RequestId, Rng, Seed, Submitter, Time};
use goodness_observe::Ending;

/// Blocks of eight sectors.
const BLOCKS: usize = 96;
const TAGS: usize = 48;
const DEPTH: u32 = 6;

fn host(elevator: &str) -> Host {
    let sectors = BLOCKS as u64 * 8;
    let facts = DeviceFacts {
        sectors,
        depth: DEPTH,
        queues: 1,
        rotational: true,
        sectors_max: 64,
        volatile_cache: true,
        age_limit: None,
    };
    Host::new(elevator, facts, &QueueOptions::default(), TAGS).unwrap()
}

/// A transfer in the backing.
struct UnderWay {
    request: RequestId,
    op: Operation,
    durable: bool,
    parts: Vec<Part>,
    /// Contents at its start.
    seen: Vec<u64>,
}

/// An I/O waiting for completion.
#[derive(Clone, Copy)]
struct Asked {
    io: Io,
    /// Sequence number of a write, or the one a read must find.
    value: u64,
    /// Writes completed before it was submitted.
    answered_before: usize,
}

/// Load, backing and power.
struct Bench {
    host: Host,
    rng: Rng,
    now: Time,
    /// Contents by block: in the cache, and on the medium.
    cache: Vec<u64>,
    medium: Vec<u64>,
    under_way: Vec<UnderWay>,
    /// By tag: the block in its memory.
    memory: Vec<u64>,
    asked: Vec<Option<Asked>>,
    busy: Vec<bool>,
    /// Answered writes in order: block and sequence number.
    answered: Vec<(usize, u64)>,
    /// By block: the sequence number that must survive.
    promised: Vec<u64>,
    sequence: u64,
    merged: u64,
}

impl Bench {
    fn new(elevator: &str, seed: u64) -> Bench {
        Bench {
            host: host(elevator),
            rng: Seed(seed).rng(),
            now: Time(1),
            cache: vec![0; BLOCKS],
            medium: vec![0; BLOCKS],
            under_way: Vec::new(),
            memory: vec![0; TAGS],
            asked: vec![None; TAGS],
            busy: vec![false; BLOCKS],
            answered: Vec::new(),
            promised: vec![0; BLOCKS],
            sequence: 0,
            merged: 0,
        }
    }

    /// Submits some I/Os together, adjacent ones among them.
    fn ask(&mut self) {
        let mut ios = Vec::new();
        let mut block = self.rng.below(BLOCKS as u64) as usize;
        for _ in 0..1 + self.rng.below(5) {
            let Some(tag) = self.asked.iter().position(Option::is_none) else { break };
            block = if self.rng.below(3) > 0 { (block + 1) % BLOCKS } else { self.rng.below(BLOCKS as u64) as usize };
            let kind = self.rng.below(20);
            if kind > 1 && std::mem::replace(&mut self.busy[block], true) {
                continue;
            }
            let read = Io { tag: tag as u64, ..Io::read(Submitter(0), block as u64 * 8, 8) };
            let (io, value) = match kind {
                0..2 => (Io { op: Operation::Flush, sector: 0, sectors: 0, mergeable: false, ..read }, 0),
                2..9 => (read, self.cache[block]),
                _ => {
                    self.sequence += 1;
                    self.memory[tag] = self.sequence;
                    (Io { op: Operation::Write, sync: kind < 11, durable: kind < 11, ..read }, self.sequence)
                }
            };
            self.asked[tag] = Some(Asked { io, value, answered_before: self.answered.len() });
            ios.push(io);
        }
        if !ios.is_empty() {
            self.host.arrive(self.now, &ios);
        }
    }

    /// Passes transfers to the backing and collects completions.
    fn pump(&mut self) {
        let (under_way, cache) = (&mut self.under_way, &self.cache);
        self.host.hand_out(|transfer| {
            let (parts, seen) = (transfer.parts.to_vec(), cache.clone());
            let (request, op, durable) = (transfer.request, transfer.op, transfer.durable);
            under_way.push(UnderWay { request, op, durable, parts, seen });
        });
        assert!(self.under_way.iter().filter(|it| it.op != Operation::Flush).count() <= DEPTH as usize);
        let answers: Vec<_> = self.host.answers().collect();
        for answer in answers {
            assert_eq!(answer.result, Ok(()));
            let Asked { io, value, answered_before } = self.asked[answer.tag as usize].take().expect("it was asked");
            let block = (io.sector / 8) as usize;
            match io.op {
                // Everything that was answered before it was asked is safe now.
                Operation::Flush => {
                    for (block, sequence) in &self.answered[..answered_before] {
                        self.promised[*block] = self.promised[*block].max(*sequence);
                    }
                    continue;
                }
                Operation::Read => assert_eq!(self.memory[answer.tag as usize], value, "block {block}"),
                _ => self.answered.push((block, value)),
            }
            self.busy[block] = false;
            if io.durable {
                self.promised[block] = value;
            }
        }
    }

    /// Completes one random transfer of the backing.
    fn finish_one(&mut self) {
        if self.under_way.is_empty() {
            return;
        }
        let which = self.rng.below(self.under_way.len() as u64) as usize;
        let it = self.under_way.swap_remove(which);
        self.merged += (it.parts.len() as u64).saturating_sub(1);
        for part in &it.parts {
            let (block, tag) = ((part.sector / 8) as usize, part.tag as usize);
            match it.op {
                Operation::Read => self.memory[tag] = self.cache[block],
                Operation::Write => {
                    self.cache[block] = self.memory[tag];
                    if it.durable {
                        self.medium[block] = self.memory[tag];
                    }
                }
                _ => {}
            }
        }
        if it.op == Operation::Flush {
            // Only what was complete when the flush began.
            self.medium.iter_mut().zip(&it.seen).for_each(|(medium, seen)| *medium = (*medium).max(*seen));
        }
        self.host.complete(it.request, Ok(()));
        self.host.advance(self.now);
    }

    fn step(&mut self) {
        self.now = Time(self.now.0 + self.rng.below(200_000));
        match self.rng.below(3) {
            0 => self.ask(),
            _ => self.finish_one(),
        }
        self.pass();
    }

    /// Expires due timers. If nothing else can happen, advances the time to the next one.
    fn pass(&mut self) {
        self.pump();
        if self.under_way.is_empty()
            && let Some(at) = self.host.next_event()
        {
            self.now = self.now.max(at);
        }
        self.host.advance(self.now);
        self.pump();
    }
}

#[test]
fn every_elevator_answers_everything_once_with_the_right_memory_and_breaks_no_rule() {
    for about in goodness_elevators::ALL {
        for seed in 1..4 {
            let mut bench = Bench::new(about.name, seed);
            (0..3000).for_each(|_| bench.step());
            for _ in 0..100_000 {
                if bench.host.unfinished() == 0 {
                    break;
                }
                bench.finish_one();
                bench.pass();
            }
            assert_eq!((bench.host.unfinished(), bench.asked.iter().flatten().count()), (0, 0), "{}", about.name);
            let (_, checked) = bench.host.watch().lock().unwrap().clone().finish(bench.now, Ending::Quiet);
            assert_eq!((checked.violations, bench.host.violation()), (vec![], None), "{}", about.name);
            assert!(bench.merged > 0, "{} never merged: the memory of merged pieces was not tried", about.name);
        }
    }
}

#[test]
fn what_was_flushed_or_written_durably_survives_a_power_failure_at_any_moment() {
    let mut promised = 0;
    for about in goodness_elevators::ALL {
        for seed in 1..60 {
            let mut bench = Bench::new(about.name, seed);
            let steps = 20 + bench.rng.below(400);
            (0..steps).for_each(|_| bench.step());
            // The power fails here: only the medium is left.
            for (block, (medium, wanted)) in bench.medium.iter().zip(&bench.promised).enumerate() {
                promised += u64::from(*wanted > 0);
                assert!(medium >= wanted, "{}: block {block} holds {medium}, {wanted} was promised", about.name);
            }
        }
    }
    assert!(promised > 1000, "only {promised} promises: too few to believe it");
}

#[test]
fn a_request_that_fails_fails_its_pieces_and_no_others() {
    let mut host = host("noop");
    let read = |tag, sector| Io { tag, ..Io::read(Submitter(0), sector, 8) };
    let others: Vec<Io> = (0..6).map(|n| read(10 + n, 100 + 50 * n)).collect();
    host.arrive(Time(1), &others);
    host.arrive(Time(2), &[read(0, 0), read(1, 8), read(2, 500)]);
    let mut requests = Vec::new();
    host.hand_out(|transfer| requests.push((transfer.request, transfer.sector, bytes(transfer.sectors))));
    assert_eq!(requests.len(), 6, "the others fill the backing");
    for (request, ..) in requests.drain(..) {
        host.complete(request, Ok(()));
    }
    host.advance(Time(3));
    host.hand_out(|transfer| requests.push((transfer.request, transfer.sector, bytes(transfer.sectors))));
    assert_eq!(requests.iter().map(|it| (it.1, it.2)).collect::<Vec<_>>(), [(0, 8192), (500, 4096)]);
    host.complete(requests[0].0, Err(libc::EIO));
    host.complete(requests[1].0, Ok(()));
    host.advance(Time(4));
    let failed: Vec<_> = host.answers().filter(|answer| answer.result.is_err()).map(|answer| answer.tag).collect();
    assert_eq!(failed, [0, 1]);
}

#[test]
fn a_piece_larger_than_a_request_is_answered_when_its_last_part_is() {
    let mut host = host("deadline");
    host.arrive(Time(1), &[Io { tag: 7, ..Io::write(Submitter(0), 16, 100) }]);
    let mut parts = Vec::new();
    host.hand_out(|transfer| parts.push((transfer.request, transfer.parts.to_vec())));
    let wanted = [Part { tag: 7, sector: 16, sectors: 64 }, Part { tag: 7, sector: 80, sectors: 36 }];
    assert_eq!(parts.iter().flat_map(|it| it.1.clone()).collect::<Vec<_>>(), wanted);
    host.complete(parts[1].0, Ok(()));
    host.advance(Time(2));
    assert_eq!(host.answers().count(), 0);
    host.complete(parts[0].0, Err(libc::ENOSPC));
    host.advance(Time(3));
    let answers: Vec<_> = host.answers().map(|answer| (answer.tag, answer.result)).collect();
    assert_eq!(answers, [(7, Err(libc::ENOSPC))]);
}

#[test]
fn a_request_that_the_backing_does_not_have_cannot_complete() {
    let mut host = host("noop");
    let completed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        host.complete(RequestId(0), Ok(()));
        host.advance(Time(1));
    }));
    assert!(completed.is_err());
}

#[test]
fn an_unknown_elevator_is_a_sentence_with_the_nearest() {
    let facts = DeviceFacts {
        sectors: 8,
        depth: 1,
        queues: 1,
        rotational: true,
        sectors_max: 64,
        volatile_cache: true,
        age_limit: None,
    };
    let wrong = |text| Host::new(text, facts, &QueueOptions::default(), 1).err().unwrap();
    assert!(wrong("loook").contains("the nearest is \"look\""));
    assert!(wrong("cfq:quantum=0").contains("outside"));
}
