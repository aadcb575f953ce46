//! Steps of a job, by time.

use super::super::{Outside, read};
use super::*;
use goodness_core::{Seed, TaskId};

/// Steps of a job with `options` over 64 KiB until its end, all at one instant, without the steps around it.
fn steps(options: &str) -> Vec<String> {
    let job = Arc::new(
        read("t.fio", &format!("[j]\nsize=64k\nrw=write\n{options}"), &Outside::NOTHING).expect("a job file").remove(0),
    );
    let stream = FioStream::new(&job, &[64 << 10], Seed(1)).expect("it fits");
    let extent = Extent { file: FileId(3), start: 1 << 20, bytes: 64 << 10 };
    let mut player = Player::new(job, stream, vec![extent], Span::from_us(2));
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
