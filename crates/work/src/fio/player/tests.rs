//! Steps of a job, by time.

use super::super::{Outside, read};
use super::*;
use goodness_core::{Seed, TaskId};

/// A player of a job with `options` over 64 KiB, and the job.
fn player(options: &str) -> (Player, Arc<FioJob>) {
    let job = Arc::new(
        read("t.fio", &format!("[j]\nsize=64k\nrw=write\n{options}"), &Outside::NOTHING).expect("a job file").remove(0),
    );
    let stream = FioStream::new(&job, &[64 << 10], Seed(1)).expect("it fits");
    let extent = Extent { file: FileId(3), start: 1 << 20, bytes: 64 << 10 };
    (Player::new(Arc::clone(&job), stream, vec![extent], Span::from_us(2)), job)
}

/// Steps of a job with `options` over 64 KiB until its end, all at one instant, without the steps around it.
fn steps(options: &str) -> Vec<String> {
    let mut player = player(options).0;
    let mut rng = Seed(1).rng();
    let mut told = Vec::new();
    loop {
        let step = player.next(&mut StepContext { now: Time::ZERO, task: TaskId(0), rng: &mut rng });
        if step == Step::Exit {
            return told;
        }
        told.extend(tell(&step));
    }
}

fn tell(step: &Step) -> Option<String> {
    Some(match step {
        Step::Io(IoStep::Submit { op, sector, sectors, .. }) => format!("{} {sector}+{sectors}", op.name()),
        Step::Io(IoStep::Await { at_most }) => format!("await {at_most}"),
        Step::Io(IoStep::Write { page, pages, .. }) => format!("cached {page}+{pages}"),
        Step::Io(IoStep::Sync { file }) => format!("sync {}", file.0),
        Step::Compute(span) => format!("compute {}", span.0 / 1000),
        Step::Sleep(span) if span.0 > 0 => format!("sleep {}", span.0 / 1000),
        Step::SleepUntil(at) => format!("until {}", at.0 / 1000),
        _ => return None,
    })
}

/// The same without CPU time.
fn io(options: &str) -> Vec<String> {
    steps(options).into_iter().filter(|step| !step.starts_with("compute")).collect()
}

#[test]
fn a_synchronous_direct_job_waits_for_each_piece() {
    let found = steps("direct=1\nbs=32k");
    assert_eq!(found, ["compute 2", "write 2048+64", "await 0", "compute 2", "write 2112+64", "await 0", "await 0"]);
}

#[test]
fn a_full_queue_waits_for_as_many_as_the_job_says_and_a_batch_is_paid_for_together() {
    let found = steps("direct=1\nbs=16k\nioengine=libaio\niodepth=2");
    let one_by_one = ["2048+32", "2080+32", "2112+32", "2144+32"].map(|place| format!("write {place}"));
    let submitted: Vec<&String> = found.iter().filter(|step| step.starts_with("write")).collect();
    assert_eq!(submitted, one_by_one.iter().collect::<Vec<_>>());
    assert_eq!(found.iter().filter(|step| *step == "await 1").count(), 3, "{found:?}");

    let found = steps("direct=1\nbs=16k\nioengine=libaio\niodepth=4\niodepth_batch=4\niodepth_low=1");
    assert_eq!(found[0], "compute 8", "four at 2 us each");
    assert_eq!(found.iter().filter(|step| step.starts_with("write")).count(), 4);
    assert_eq!(&found[5..], ["await 1", "await 0"]);
}

#[test]
fn a_job_through_the_cache_dirties_pages_and_only_an_o_sync_one_waits_for_the_disk() {
    assert_eq!(io("bs=32k"), ["cached 0+8", "cached 8+8", "await 0"]);
    assert_eq!(io("bs=32k\nsync=1"), ["cached 0+8", "sync 3", "cached 8+8", "sync 3", "await 0"]);
}

#[test]
fn a_durable_direct_write_is_followed_by_a_flush_that_is_waited_for() {
    let each = |place: &str| [format!("write {place}"), "await 0".into(), "flush 0+0".into(), "await 0".into()];
    let wanted: Vec<String> = each("2048+64").into_iter().chain(each("2112+64")).collect();
    let found = io("direct=1\nbs=32k\nsync=1");
    assert_eq!(found[..8], wanted[..]);
    let found = io("direct=1\nbs=32k\nfsync=2");
    assert_eq!(found.iter().filter(|step| *step == "flush 0+0").count(), 1, "{found:?}");
}

#[test]
fn think_time_comes_behind_what_is_under_way() {
    let found = io("direct=1\nbs=32k\nthinktime=500");
    assert_eq!(found[..3], ["write 2048+64", "await 0", "sleep 500"]);
}

/// fio, src/io_u.c at 3.33: `rate_ddir` waits for what is under way before it sleeps, unless threads submit.
#[test]
fn a_job_with_a_rate_has_its_ios_before_it_sleeps_until_the_next_is_due() {
    let first = |options: &str| {
        let mut player = player(&format!("direct=1\nbs=16k\nioengine=libaio\niodepth=4\nrate_iops=100\n{options}")).0;
        let (mut rng, mut now, mut told) = (Seed(1).rng(), Time::ZERO, Vec::new());
        while told.len() < 4 {
            let step = player.next(&mut StepContext { now, task: TaskId(0), rng: &mut rng });
            if let Step::SleepUntil(at) = step {
                now = at;
            }
            told.extend(tell(&step).filter(|step| !step.starts_with("compute")));
        }
        told
    };
    assert_eq!(first(""), ["write 2048+32", "await 0", "until 10000", "write 2080+32"]);
    let offloaded = first("io_submit_mode=offload");
    assert_eq!(offloaded, ["write 2048+32", "until 10000", "write 2080+32", "until 20000"]);
}

#[test]
fn all_writes_are_complete_before_what_they_wrote_is_read_again() {
    let found = io("direct=1\nbs=32k\nioengine=libaio\niodepth=8\niodepth_batch=8\nverify=md5");
    let wanted = ["write 2048+64", "write 2112+64", "await 0", "read 2048+64", "read 2112+64", "await 0"];
    assert_eq!(found, wanted);
}

/// I/Os that two jobs which run beside each other submit in 100 ms, if a wait for I/O takes 10 us.
fn submitted(options: [&str; 2]) -> [u64; 2] {
    let [(a, job_a), (b, job_b)] = options.map(|it| player(&format!("direct=1\ntime_based\nruntime=1\n{it}")));
    let together = Together::new([&*job_a, &*job_b].into_iter());
    let mut players = [a, b].map(|player| (Time::ZERO, player.beside(Some(together.clone()))));
    let (mut counts, mut rng) = ([0; 2], Seed(1).rng());
    loop {
        let at = usize::from(players[1].0 < players[0].0);
        let (now, player) = &mut players[at];
        if *now > Time::ZERO + Span::from_ms(100) {
            return counts;
        }
        match player.next(&mut StepContext { now: *now, task: TaskId(at as u32), rng: &mut rng }) {
            Step::Io(IoStep::Submit { .. }) => counts[at] += 1,
            Step::Io(_) => *now += Span::from_us(10),
            Step::Compute(span) | Step::Sleep(span) => *now += span,
            Step::SleepUntil(until) => *now = (*now).max(until),
            step => panic!("{step:?}"),
        }
    }
}

#[test]
fn a_batch_is_no_larger_than_the_room_in_the_queue() {
    let found = io("direct=1\nbs=4k\nioengine=libaio\niodepth=3\niodepth_batch=3");
    let mut under_way = 0;
    for step in &found {
        match step.strip_prefix("await ") {
            Some(at_most) => under_way = under_way.min(at_most.parse().expect("a number")),
            None => under_way += u32::from(step.starts_with("write")),
        }
        assert!(under_way <= 3, "{found:?}");
    }
    assert_eq!(found.iter().filter(|step| step.starts_with("write")).count(), 16);
}

#[test]
fn jobs_of_a_flow_do_ios_by_their_weights_in_batches_and_at_a_rate_too() {
    let queue = "ioengine=libaio\niodepth=16\niodepth_batch=8\niodepth_low=1\nflow=1";
    for one in ["flow=1", queue, "rate_iops=2000\nflow=1"] {
        let [a, b] = submitted([one, "flow=3"]);
        assert!(a > 100 && a.abs_diff(b / 3) <= 16, "{one}: {a} and {b}");
    }
    let [a, b] = submitted(["", "thinktime=100"]);
    assert!(a > 5 * b, "without a flow: {a} and {b}");
}
