//! Rotating disks under closed loads: no command waits longer than a small multiple of the age limit.

mod common;

use common::request;
use goodness_core::{Device, Operation, RequestId, Rng, Seed, Time};

const AGE_LIMIT: u64 = 1_000_000_000;
const BOUND: u64 = 10 * AGE_LIMIT;

/// Commands of one kind, each replaced when it completes.
#[derive(Clone, Copy, Debug)]
struct Stream {
    op: Operation,
    is_sequential: bool,
    sectors: u32,
    depth: u32,
}

/// The commands in flight: stream and start time, by slot.
struct Load {
    streams: Vec<Stream>,
    next: Vec<u64>,
    under_way: Vec<(usize, u64)>,
    done: Vec<u64>,
    longest: Vec<u64>,
    rng: Rng,
}

impl Load {
    fn new(streams: &[Stream], seed: u64) -> Load {
        let owners = streams.iter().enumerate().flat_map(|(number, stream)| vec![number; stream.depth as usize]);
        Load {
            streams: streams.to_vec(),
            next: (0..streams.len() as u64).map(|number| number * 2_000_000).collect(),
            under_way: owners.map(|number| (number, 0)).collect(),
            done: vec![0; streams.len()],
            longest: vec![0; streams.len()],
            rng: Seed(seed).rng(),
        }
    }

    fn start(&mut self, device: &mut dyn Device, now: u64, slot: usize) {
        let number = self.under_way[slot].0;
        let Stream { op, is_sequential, sectors, .. } = self.streams[number];
        let sectors_in_all = device.facts().sectors - u64::from(sectors);
        let sector = if is_sequential { self.next[number] % sectors_in_all } else { self.rng.below(sectors_in_all) };
        self.next[number] = sector + u64::from(sectors);
        self.under_way[slot].1 = now;
        device.start(Time(now), RequestId(slot as u32), &request(op, sector, sectors));
    }

    fn run(&mut self, device: &mut dyn Device, until: u64) {
        (0..self.under_way.len()).for_each(|slot| self.start(device, 0, slot));
        let mut completed = Vec::new();
        while device.next_event().0 <= until {
            let now = device.next_event();
            device.advance(now, &mut completed);
            for id in std::mem::take(&mut completed) {
                let (number, since) = self.under_way[id.index()];
                self.done[number] += 1;
                self.longest[number] = self.longest[number].max(now.0 - since);
                self.start(device, now.0, id.index());
            }
        }
        for (number, since) in &self.under_way {
            self.longest[*number] = self.longest[*number].max(until - since);
        }
    }
}

fn stream(op: Operation, is_sequential: bool, sectors: u32, depth: u32) -> Stream {
    Stream { op, is_sequential, sectors, depth }
}

/// A sequential stream, which always finds its next sectors under the heads, does not starve others.
#[test]
fn a_stream_of_reads_does_not_keep_the_arm_from_others() {
    use Operation::{Read, Write};
    for others in [stream(Read, false, 8, 1), stream(Write, false, 8, 1), stream(Write, false, 8, 16)] {
        for depth in [1, 4] {
            let streams = [stream(Read, true, 256, depth), others];
            let mut device = goodness_device::by_name("sata-7200-4tb", Seed(1)).expect("a device");
            let mut load = Load::new(&streams, 3);
            load.run(&mut *device, 20 * AGE_LIMIT);
            let context = format!("depth {depth} beside {others:?}: {:?} done, waits {:?}", load.done, load.longest);
            assert!(load.longest.iter().all(|longest| *longest < 2 * AGE_LIMIT), "{context}");
        }
    }
}

#[test]
fn no_command_of_a_drawn_load_waits_much_longer_than_the_age_limit() {
    for seed in 0..120 {
        let mut rng = Seed(seed).rng();
        let preset = ["atlas-10k", "cheetah-4lp", "cheetah-9lp", "ibm-18es", "scsi-10k-36gb", "sata-7200-4tb"];
        let policy = ["fcfs", "look", "c-look", "sptf"][rng.below(4) as usize];
        let write_cache = ["on", "off"][rng.below(2) as usize];
        let name = preset[rng.below(6) as usize];
        let text = format!("{name}:depth=32,policy={policy},write_cache={write_cache},age_limit=1s");
        let streams: Vec<Stream> = (0..=rng.below(3))
            .map(|_| {
                let op = [Operation::Read, Operation::Write, Operation::Write, Operation::Flush][rng.below(4) as usize];
                let sectors = [8, 8, 64, 256][rng.below(4) as usize];
                stream(op, rng.below(2) == 0, sectors, 1 + rng.below(8) as u32)
            })
            .collect();
        let mut device = goodness_device::by_name(&text, Seed(1)).expect("a device");
        let mut load = Load::new(&streams, seed);
        load.run(&mut *device, 20 * AGE_LIMIT);
        let longest = load.longest.iter().max().expect("a stream");
        let context = format!("seed {seed}, {text}, {streams:?}: {:?} done, waits {:?}", load.done, load.longest);
        assert!(*longest < BOUND, "{context}");
    }
}
