//! Elevators tell by which rule the I/O of a late request waits, and an untold run is the same run.

use goodness::why::{Explained, Latencies, Question, why_simulated};
use goodness::{Contender, OpenOptions, PolicySpec, Work, open, unwatched};
use goodness_report::why::Why;

/// A victim that reads beside others, on a disk of this elevator.
fn work(elevator: &str, others: &str, victim: &str) -> Work {
    let file = |name: &str, at: &str| format!("[[file]]\nname = \"{name}\"\nvolume = \"sda\"\nsize = \"1GiB\"\n{at}\n");
    let text = format!(
        "duration = \"2s\"\nmachine = \"cpus=2,hz=1000\"\n[[disk]]\nname = \"sda\"\ndevice = \"cheetah-9lp\"\n\
         elevator = \"{elevator}\"\n{}{}{others}[[task]]\nname = \"victim\"\n{victim}\n",
        file("table", ""),
        file("log", "at = \"4GiB\""),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.toml");
    std::fs::write(&path, &text).expect("a file");
    let path = path.to_str().expect("a plain path");
    open(path, &OpenOptions::default(), &unwatched).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

fn why(elevator: &str, others: &str, victim: &str) -> Why {
    why_of(None, elevator, others, victim)
}

fn why_of(of: Option<Latencies>, elevator: &str, others: &str, victim: &str) -> Why {
    let work = work(elevator, others, victim);
    let contender = Contender::policy(PolicySpec::parse("eevdf").expect("a policy"));
    let judge = ["victim".to_string()];
    let run = Explained { work: &work, contender: &contender, seed: 1, replication: 0, judge: &judge };
    let question = Question { of, checks: 0, ..Question::default() };
    why_simulated(run, &question, &unwatched).unwrap_or_else(|why| panic!("{elevator}: {why}"))
}

/// Eight tasks that do this all the time.
fn eight(name: &str, settings: &str, step: &str) -> String {
    format!("[[task]]\nname = \"{name}\"\ncount = 8\n{settings}\nprogram = [ {step} ]\n")
}

fn asks(step: &str) -> String {
    format!("program = [ {{ sleep = \"20ms\" }}, {{ begin = true }}, {step}, {{ served = true }} ]")
}

const READ: &str = "{ read = \"sda\", size = \"4KiB\", at = \"random\" }";
const WRITE: &str = "{ write = \"sda\", size = \"64KiB\", at = \"random\", sync = true }";

/// Whose requests the disk served first, and the rule by which.
fn ahead(why: &Why) -> (&str, &str) {
    let part = why.tail.parts.iter().find(|part| part.cause == "disk_queue");
    let part = part.unwrap_or_else(|| panic!("nothing waits for the disk: {:?}", why.tail));
    let rule = part.rule.as_ref().map_or("", |rule| rule.name.as_str());
    (part.culprit.as_deref().unwrap_or_default(), rule)
}

#[test]
fn the_rule_of_the_elevator_is_named_and_asking_changes_no_run() {
    let scan = eight("scan", "", READ);
    let dump = eight("dump", "", WRITE);
    for (elevator, others, step, expected) in [
        ("noop", &scan, READ, ("scan-*", "first")),
        ("sstf", &scan, READ, ("scan-*", "nearer")),
        ("look", &scan, READ, ("scan-*", "sector_order")),
        ("mq-deadline", &scan, WRITE, ("scan-*", "batch")),
        ("mq-deadline", &dump, READ, ("dump-*", "batch")),
        ("deadline", &scan, WRITE, ("scan-*", "reads_first")),
        ("cfq", &scan, READ, ("scan-*", "in_service")),
        ("bfq", &scan, READ, ("scan-*", "in_service")),
        ("as", &scan, READ, ("scan-*", "sector_order")),
        ("kyber", &scan, WRITE, ("scan-*", "kind_turn")),
        ("cfq-v2", &scan, READ, ("scan-*", "round")),
    ] {
        let found = why(elevator, others, &asks(step));
        assert_eq!(ahead(&found), expected, "{elevator}: {:?}", found.tail.parts);
        // Latencies of a run that asking changed would not be found again.
        assert_eq!(found.worst.len() as u64, found.tail.count.min(Question::default().worst as u64), "{elevator}");
    }
}

#[test]
fn alone_on_the_disk_nobody_is_ahead_by_any_rule() {
    let found = why("mq-deadline", "", &asks(READ));
    assert!(found.tail.parts.iter().all(|part| part.cause != "disk_queue"), "{:?}", found.tail.parts);
}

#[test]
fn reads_that_wait_for_a_slot_are_told_so() {
    // Write-back fills the queue with more requests than it has slots.
    let flood = eight("dump", "", "{ write = \"log\", size = \"64KiB\", at = \"random\" }");
    let found = why("mq-deadline", &flood, &asks("{ read = \"table\", size = \"4KiB\", at = \"random\" }"));
    let rules: Vec<&str> =
        found.worst.iter().flat_map(|it| &it.chain).filter_map(|it| Some(it.rule.as_ref()?.name.as_str())).collect();
    assert!(rules.contains(&"no_slot"), "{rules:?} {:?}", found.worst);
}

/// Reads go first as long as there are any, and writes that nobody waits for take all slots for writes.
#[test]
fn an_io_that_is_never_done_is_explained_as_far_as_the_run_went() {
    let patient = "deadline:writes_starved=1000000,write_expire=600s";
    let write = "{ write = \"sda\", size = \"4KiB\", at = \"random\" }";
    let victim = format!("program = [ {{ sleep = \"500ms\" }}, {write} ]");
    let hoard = format!("[[task]]\nname = \"hoard\"\nprogram = [ {} ]\n", write.replace(" }", ", wait = false }"));
    let scan = eight("scan", "", READ);
    for (others, rule) in [(scan.clone() + &hoard, "no_slot"), (scan, "reads_first")] {
        let found = why_of(Some(Latencies::Io), patient, &others, &victim);
        assert_eq!((found.count, ahead(&found)), (1, ("scan-*", rule)), "{:?}", found.tail);
        let it = &found.worst[0];
        assert!(it.is_open && (1_490_000_000..=1_500_000_000).contains(&it.length_ns), "{it:?}");
        assert_eq!(it.length_ns, it.chain.iter().map(|link| link.length_ns).sum::<u64>());
    }
    let served = why_of(Some(Latencies::Io), "deadline", "", &victim);
    assert!(served.count == 3 && served.worst.iter().all(|it| !it.is_open), "{:?}", served.worst);
}

/// The explained I/Os of these fio jobs on a drive.
fn of_jobs(jobs: &str) -> Why {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("jobs.fio");
    let head = "[global]\ndirect=1\nioengine=libaio\ntime_based\nruntime=2s\nsize=1g\nbs=16k\n";
    std::fs::write(&path, format!("{head}{jobs}")).expect("a file");
    let options = OpenOptions { device: Some("sata-7200-4tb".into()), ..OpenOptions::default() };
    let work = open(path.to_str().expect("a plain path"), &options, &unwatched).unwrap_or_else(|why| panic!("{why}"));
    let elevator = work.elevators(&["mq-deadline".into()]).expect("an elevator").into_iter().next();
    let contender = Contender { elevator, ..Contender::policy(PolicySpec::parse("eevdf").expect("a policy")) };
    let run = Explained { work: &work, contender: &contender, seed: 1, replication: 0, judge: &[] };
    let question = Question { checks: 0, worst: 100_000, ..Question::default() };
    why_simulated(run, &question, &unwatched).unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn ios_of_jobs_are_explained_one_by_one_and_those_submitted_together_each() {
    let found = of_jobs("[readers]\nrw=randread\nnumjobs=4\nthinktime=2ms\n[writers]\nrw=randwrite\niodepth=64\n");
    assert_eq!((found.of.as_str(), found.worst.len() as u64), ("I/Os", found.tail.count));
    let sums = |it: &goodness_report::why::Latency| it.chain.iter().map(|link| link.length_ns).sum::<u64>();
    assert!(found.worst.iter().all(|it| it.began == "submitted" && sums(it) == it.length_ns));
    assert_eq!(found.tail.total_ns, found.worst.iter().map(|it| it.length_ns).sum::<u64>());
    assert_eq!(ahead(&found).0, "writers", "{:?}", found.tail.parts);
    let alone = of_jobs("[readers]\nrw=randread\nthinktime=2ms\n");
    let causes: Vec<&str> = alone.tail.parts.iter().map(|it| it.cause.as_str()).collect();
    assert_eq!(causes, ["device"], "nobody is ahead of the only one");
}
