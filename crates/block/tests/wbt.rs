//! Write-back throttling: reads beside a flood of write-back wait less, write-back alone is not slowed, reads and
//! synchronous writes are never limited, and nothing is lost.

use goodness_block::{Disk, Out, Outcome, QueueOptions, by_name};
use goodness_core::{Io, Operation, Rng, Seed, Span, Submitter, Time};

/// Result of a run: I/Os done and their mean latency, of the reader and of the writer.
#[derive(Clone, Debug, PartialEq)]
struct Account {
    done: [u64; 2],
    spent: [Span; 2],
    /// Most I/Os in the device at a time.
    most: u32,
}

impl Account {
    fn latency(&self, of: usize) -> Span {
        Span(self.spent[of].0 / self.done[of].max(1))
    }
}

/// Runs `loads`, closed loops of an I/O with a number in flight, for three seconds on `device` behind `elevator`.
fn run(device: &str, elevator: &str, wbt_lat: Option<Span>, loads: [(Io, u32); 2]) -> Account {
    let made = goodness_device::by_name(device, Seed(1)).unwrap();
    let options = QueueOptions { wbt_lat, ..QueueOptions::default() };
    let mut disk = by_name(elevator, &options, made).unwrap();
    let (mut out, mut rng, mut now) = (Out::default(), Seed(5).rng(), Time::ZERO);
    let mut since: Vec<Time> = Vec::new();
    let mut account = Account { done: [0; 2], spent: [Span::ZERO; 2], most: 0 };
    let submit = |disk: &mut Box<dyn Disk>, of: usize, now, since: &mut Vec<Time>, rng: &mut Rng, out: &mut Out| {
        let tag = 2 * since.len() as u64 + of as u64;
        since.push(now);
        let sector = rng.below(1 << 20) * 8;
        disk.submit(now, &[Io { sector, tag, submitter: Submitter(of as u32), ..loads[of].0 }], out);
    };
    for (of, (_, depth)) in loads.iter().enumerate() {
        (0..*depth).for_each(|_| submit(&mut disk, of, now, &mut since, &mut rng, &mut out));
    }
    while now < Time(3_000_000_000) {
        let told: Vec<Outcome> = out.outcomes.drain(..).collect();
        account.most = account.most.max(disk.in_flight());
        if told.is_empty() {
            now = disk.next_event();
            assert!(now < Time::NEVER, "nothing is lost: {account:?}");
            disk.advance(now, &mut out);
        }
        for outcome in told {
            let Outcome::Done { tag } = outcome else { continue };
            let of = (tag % 2) as usize;
            account.done[of] += 1;
            account.spent[of] += now.since(since[(tag / 2) as usize]);
            submit(&mut disk, of, now, &mut since, &mut rng, &mut out);
        }
    }
    account
}

const READ: Io = Io::read(Submitter(0), 0, 8);
const WRITE_BACK: Io = Io::write(Submitter(1), 0, 256);
const SYNC_WRITE: Io = Io::sync_write(Submitter(1), 0, 256);
const TARGETS: [(&str, Span); 2] = [("ssd", Span::from_ms(2)), ("sata-7200-4tb", Span::from_ms(75))];

#[test]
fn reads_beside_a_flood_of_write_back_wait_less() {
    for (device, target) in TARGETS {
        let loads = [(READ, 1), (WRITE_BACK, 64)];
        let (free, throttled) = (run(device, "none", None, loads), run(device, "none", Some(target), loads));
        println!("{device}: {free:?} {throttled:?}");
        assert!(throttled.latency(0) * 2 < free.latency(0), "{device}: {free:?} {throttled:?}");
        assert!(throttled.done[1] * 4 > free.done[1], "write-back keeps a quarter: {throttled:?} of {free:?}");
        assert_eq!(throttled, run(device, "none", Some(target), loads), "equal seeds give equal runs");
    }
}

#[test]
fn write_back_alone_is_not_slowed() {
    for (device, target) in TARGETS {
        let loads = [(READ, 0), (WRITE_BACK, 64)];
        let (free, throttled) = (run(device, "none", None, loads), run(device, "none", Some(target), loads));
        println!("{device}: {free:?} {throttled:?}");
        assert!(throttled.done[1] * 100 >= free.done[1] * 90, "{device}: {free:?} {throttled:?}");
    }
}

#[test]
fn reads_alone_are_as_without_it() {
    let loads = [(READ, 4), (WRITE_BACK, 0)];
    for (device, target) in TARGETS {
        assert_eq!(run(device, "none", Some(target), loads), run(device, "none", None, loads));
    }
}

/// The controls: what is not write-back is not throttled, and elevators before blk-mq have none.
#[test]
fn synchronous_writes_pass_and_so_does_all_behind_old_elevators() {
    let loads = [(READ, 1), (SYNC_WRITE, 64)];
    let target = Some(Span::from_ms(2));
    assert_eq!(run("ssd", "none", target, loads), run("ssd", "none", None, loads));
    let loads = [(READ, 1), (WRITE_BACK, 64)];
    assert_eq!(run("ssd", "cfq", target, loads), run("ssd", "cfq", None, loads));
    for elevator in ["mq-deadline", "kyber", "bfq"] {
        assert_ne!(run("ssd", elevator, target, loads), run("ssd", elevator, None, loads), "{elevator}");
    }
}

#[test]
fn discards_are_limited_to_a_quarter() {
    let discard = Io { op: Operation::Discard, ..WRITE_BACK };
    let loads = [(READ, 0), (discard, 64)];
    let limited = run("ssd", "none", Some(Span::from_ms(2)), loads);
    assert!(limited.most <= 8 && run("ssd", "none", None, loads).most > 8, "{limited:?}");
}
