//! Work whose bottleneck is a lock or a disk: the profile ranks it first, and another one moves nothing.

use goodness::why::{Explained, Latencies, Question, check_blame, why_simulated};
use goodness::{Contender, OpenOptions, PolicySpec, Work, open, unwatched};
use goodness_report::why::{Lever, LeverKind, Part, Why};

/// Four kinds of tasks on CPUs of their own share a lock; a fifth has another lock, now and then beside a sixth.
fn locked() -> Work {
    let kind = |(cpu, name): (usize, &str)| {
        task(name, cpu, "{ lock = \"table\" }, { compute = \"2ms\" }, { unlock = \"table\" }, { compute = \"300us\" }")
    };
    let users: String = ["alpha", "beta", "gamma", "delta"].into_iter().enumerate().map(kind).collect();
    let other = "{ lock = \"other\" }, { compute = \"1ms\" }, { unlock = \"other\" }, { sleep = \"3ms\" }";
    let others = [("fifth", 4), ("sixth", 5)].map(|(name, cpu)| task(name, cpu, other));
    opened("machine = { cpus = 6, hz = 250 }\n", &(users + &others.concat()))
}

/// Three kinds of tasks read from one disk, and a fourth now and then from another.
fn on_disk() -> Work {
    let disk = |name: &str| {
        format!(
            "[[disk]]\nname = \"{name}\"\ndevice = \"cheetah-9lp\"\n\
             [[file]]\nname = \"on-{name}\"\nvolume = \"{name}\"\nsize = \"1GiB\"\n"
        )
    };
    let read = |name: &str| format!("{{ read = \"on-{name}\", size = \"4KiB\", at = \"random\" }}");
    let users = [("alpha", 0), ("beta", 1), ("gamma", 2)].map(|(name, cpu)| task(name, cpu, &read("sda")));
    let other = task("other", 3, &format!("{{ sleep = \"30ms\" }}, {}", read("sdb")));
    opened("machine = { cpus = 4, hz = 250 }\n", &(disk("sda") + &disk("sdb") + &users.concat() + &other))
}

/// A task on a CPU of its own, each of whose rounds is a request.
fn task(name: &str, cpu: usize, steps: &str) -> String {
    let program = format!("{{ begin = true }}, {steps}, {{ served = true }}");
    format!("[[task]]\nname = \"{name}\"\naffinity = [{cpu}]\nprogram = [ {program} ]\n")
}

fn opened(head: &str, rest: &str) -> Work {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("levers.toml");
    std::fs::write(&path, format!("duration = \"1s\"\n{head}{rest}")).expect("a file");
    open(path.to_str().expect("a plain path"), &OpenOptions::default(), &unwatched).unwrap_or_else(|it| panic!("{it}"))
}

fn ask<T>(work: &Work, of: impl FnOnce(Explained) -> T) -> T {
    let contender = Contender::policy(PolicySpec::parse("eevdf").expect("a policy"));
    let judge = ["alpha", "beta", "gamma"].map(String::from);
    of(Explained { work, contender: &contender, seed: 1, replication: 0, judge: &judge })
}

fn why(work: &Work) -> Why {
    let question = Question { of: Some(Latencies::Requests), profile: true, ..Question::default() };
    ask(work, |run| why_simulated(run, &question, &unwatched).unwrap_or_else(|why| panic!("{why}")))
}

/// The verdict on a part that is blamed without being found.
fn verdict(work: &Work, cause: &str, culprit: &str) -> String {
    let part = Part { cause: cause.into(), culprit: Some(culprit.into()), total_ns: 0, share: 0.8, rule: None };
    let question = Question { of: Some(Latencies::Requests), ..Question::default() };
    ask(work, |run| check_blame(run, &question, &part)).expect("it runs").verdict
}

fn assert_ranks(profile: &[Lever], (kind, bottleneck, bystander): (LeverKind, &str, &str)) {
    let first = &profile[0];
    assert_eq!((first.kind, first.what.as_str(), first.less), (kind, bottleneck, 0.25), "{profile:#?}");
    assert!(first.p99.is_some_and(|change| change < -0.15), "{first:?}");
    assert!(first.throughput.is_some_and(|change| change > 0.15), "{first:?}");
    let others: Vec<&Lever> = profile.iter().filter(|it| (it.kind, it.what.as_str()) == (kind, bystander)).collect();
    assert_eq!(others.len(), 3, "{profile:#?}");
    assert!(others.iter().all(|it| (it.p99, it.throughput) == (Some(0.0), Some(0.0))), "{others:?}");
}

#[test]
fn a_lock_that_is_the_bottleneck_ranks_first_and_its_check_holds_and_another_lock_moves_nothing() {
    let work = locked();
    let found = why(&work);
    let lock = &found.tail.locks[0];
    assert_eq!((lock.lock.as_str(), found.tail.locks.len()), ("table", 1), "{:?}", found.tail.locks);
    assert!(lock.share > 0.5, "{lock:?}");
    let chain = &found.worst[0].chain;
    let of_lock: Vec<_> = chain.iter().filter_map(|link| Some((&link.task, link.lock.as_ref()?))).collect();
    assert!(!of_lock.is_empty() && of_lock.iter().all(|(_, held)| held.name == "table"), "{chain:#?}");
    assert!(of_lock.iter().all(|(task, held)| **task == held.holder && **task != held.waiter), "{chain:#?}");
    assert_ranks(&found.profile, (LeverKind::Hold, "table", "other"));
    let check = found.checks.iter().find(|it| it.cause == "lock").expect("a check of the lock");
    assert_eq!((check.verdict.as_str(), check.removed.as_str()), ("holds", "table.hold=50%"), "{check:?}");
    assert_eq!(verdict(&work, "lock", "other"), "fails", "a bystander");
}

#[test]
fn a_disk_that_is_the_bottleneck_ranks_first_and_its_check_holds_and_another_disk_moves_nothing() {
    let work = on_disk();
    let found = why(&work);
    assert!(found.tail.locks.is_empty(), "{:?}", found.tail.locks);
    assert_ranks(&found.profile, (LeverKind::Service, "sda", "sdb"));
    assert_eq!(found.tail.parts[0].cause, "disk_queue");
    let check = found.checks.iter().find(|it| it.cause == "disk_queue").expect("a check of the disk");
    assert_eq!(check.verdict, "holds", "{check:?}");
    let of_disks = |cause: &str| cause == "disk_queue" || cause == "device";
    let shares = found.tail.parts.iter().filter(|it| of_disks(&it.cause)).map(|it| it.share);
    assert!((check.blamed - shares.sum::<f64>()).abs() < 1e-9, "one run checks all of the disks: {check:?}");
    assert_eq!(found.checks.iter().filter(|it| of_disks(&it.cause)).count(), 1, "{:?}", found.checks);
    assert_eq!(verdict(&locked(), "disk_queue", "alpha"), "not_checked", "work without disks");
}
