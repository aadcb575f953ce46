//! Plants causes of latency in experiments, and asks why: the planted one must be named first.

use goodness::why::{Explained, Latencies, Question, check_blame, why_simulated};
use goodness::{Contender, OpenOptions, PolicySpec, Work, open, unwatched};
use goodness_core::{Rng, Seed};
use goodness_report::why::{Part, Why};

/// Draws of each cause.
const DRAWS: u64 = 5;

/// An experiment with a planted cause.
struct Planted {
    policy: &'static str,
    /// The machine, and what else stands before the tasks.
    head: String,
    /// The tasks with the cause.
    with: String,
    /// The same without it.
    without: String,
    /// The cause and the culprit that must be named first.
    cause: &'static str,
    culprit: &'static str,
    /// One of these rules must be told; any if there are none.
    rules: &'static [&'static str],
}

/// Draws a length around `us`.
fn about(rng: &mut Rng, us: u64) -> String {
    format!("{}us", us * 3 / 4 + rng.below(us / 2 + 1))
}

fn task(name: &str, attributes: &str, program: &str) -> String {
    format!("[[task]]\nname = \"{name}\"\n{attributes}\nprogram = [ {program} ]\n")
}

fn one_cpu(hz: u32) -> String {
    format!("machine = {{ cpus = 1, hz = {hz} }}\n")
}

fn sleeper(rng: &mut Rng, attributes: &str) -> String {
    let (sleep, compute) = (about(rng, 7_000), about(rng, 300));
    task("victim", attributes, &format!("{{ sleep = \"{sleep}\" }}, {{ compute = \"{compute}\" }}"))
}

fn bursts(rng: &mut Rng, name: &str, attributes: &str, (on, off): (u64, u64)) -> String {
    let (on, off) = (about(rng, on), about(rng, off));
    task(name, attributes, &format!("{{ compute = \"{on}\" }}, {{ sleep = \"{off}\" }}"))
}

fn hog(name: &str, attributes: &str) -> String {
    task(name, attributes, "{ compute = \"forever\" }")
}

/// A victim that sleeps and wakes behind `more`, on one CPU.
fn behind(
    rng: &mut Rng,
    (policy, hz): (&'static str, u32),
    attributes: &str,
    (more, culprit): (String, &'static str),
    rules: &'static [&'static str],
) -> Planted {
    let victim = sleeper(rng, attributes);
    Planted {
        policy,
        head: one_cpu(hz),
        with: format!("{more}{victim}"),
        without: victim,
        cause: "behind",
        culprit,
        rules,
    }
}

fn a_hog_ahead(rng: &mut Rng) -> Planted {
    behind(rng, ("eevdf:kernel=6.12", 250), "", (hog("hog", ""), "hog"), &[])
}

fn a_hog_ahead_under_cfs(rng: &mut Rng) -> Planted {
    behind(rng, ("cfs", 250), "nice = 15", (hog("hog", ""), "hog"), &["less_runtime", "lead_too_short"])
}

fn a_higher_class(rng: &mut Rng) -> Planted {
    let urgent = bursts(rng, "urgent", "class = \"fifo\"\nrt_priority = 50", (3_000, 4_000));
    behind(rng, ("eevdf", 1000), "", (urgent, "urgent"), &["class"])
}

fn a_higher_priority(rng: &mut Rng) -> Planted {
    let urgent = bursts(rng, "urgent", "class = \"fifo\"\nrt_priority = 60", (3_000, 4_000));
    behind(rng, ("eevdf", 1000), "class = \"fifo\"\nrt_priority = 20", (urgent, "urgent"), &["priority"])
}

fn a_higher_nice(rng: &mut Rng) -> Planted {
    let rules = &["not_eligible", "earlier_deadline", "slice_protected", "awaits_tick"];
    behind(rng, ("eevdf", 1000), "nice = 19", (hog("greedy", "nice = -15"), "greedy"), rules)
}

fn a_better_array(rng: &mut Rng) -> Planted {
    behind(rng, ("o1", 1000), "nice = 19", (hog("greedy", "nice = -15"), "greedy"), &["priority", "round_used_up"])
}

fn a_better_stair(rng: &mut Rng) -> Planted {
    behind(
        rng,
        ("staircase", 1000),
        "nice = 19",
        (hog("greedy", "nice = -15"), "greedy"),
        &["priority", "first", "slice_not_over"],
    )
}

fn a_long_slice(rng: &mut Rng) -> Planted {
    behind(rng, ("rr:timeslice=100ms", 250), "", (hog("batch", ""), "batch"), &["slice_not_over"])
}

fn no_preemption(rng: &mut Rng) -> Planted {
    let burst = bursts(rng, "burst", "", (9_000, 3_000));
    behind(rng, ("fifo", 250), "", (burst, "burst"), &["first"])
}

fn a_coarse_tick(rng: &mut Rng) -> Planted {
    behind(rng, ("eevdf:kernel=6.12", 100), "", (hog("hog", "nice = 0"), "hog"), &[])
}

fn a_kernel_section(rng: &mut Rng) -> Planted {
    let long = about(rng, 8_000);
    let fault = task("fault", "nice = 5", &format!("{{ kernel = \"{long}\" }}, {{ sleep = \"6ms\" }}"));
    behind(rng, ("eevdf:preempt=none", 1000), "", (fault, "fault"), &[])
}

fn a_storm(rng: &mut Rng) -> Planted {
    let storm = bursts(rng, "storm", "count = 40", (1_000, 30_000));
    behind(rng, ("eevdf", 1000), "", (storm, "storm-*"), &[])
}

fn a_reservation(rng: &mut Rng) -> Planted {
    let reserved = "class = \"deadline\"\nreservation = { runtime = \"6ms\", period = \"10ms\" }";
    let video = task("video", reserved, "{ compute = \"5ms\" }, { sleep = \"5ms\" }");
    behind(rng, ("eevdf", 1000), "", (video, "video"), &["class"])
}

fn a_heavy_group(rng: &mut Rng) -> Planted {
    let mut planted =
        behind(rng, ("eevdf", 1000), "group = \"web\"", (hog("crunch", "group = \"batch\""), "crunch"), &[]);
    planted.head += "[[group]]\nname = \"web\"\ncpu_weight = 2\n[[group]]\nname = \"batch\"\ncpu_weight = 900\n";
    planted
}

fn a_quota(rng: &mut Rng) -> Planted {
    let victim = bursts(rng, "victim", "group = \"pod\"", (3_000, 3_000));
    let group = |limit: &str| format!("[[group]]\nname = \"pod\"\n{limit}\n");
    Planted {
        policy: "eevdf",
        head: one_cpu(1000),
        with: group("cpu_max = \"15ms/100ms\"") + &victim,
        without: group("") + &victim,
        cause: "throttled",
        culprit: "pod",
        rules: &["throttled"],
    }
}

fn an_affinity(rng: &mut Rng) -> Planted {
    let burst = bursts(rng, "burst", "", (4_000, 2_000));
    let (sleep, compute) = (about(rng, 3_000), about(rng, 100));
    let program = format!("{{ sleep = \"{sleep}\" }}, {{ compute = \"{compute}\" }}");
    Planted {
        policy: "fifo",
        head: "machine = { cpus = 2, hz = 250 }\n".into(),
        with: format!("{burst}{}", task("victim", "affinity = [0]", &program)),
        without: format!("{burst}{}", task("victim", "", &program)),
        cause: "idle_cpu_forbidden",
        culprit: "victim",
        rules: &[],
    }
}

/// A victim whose requests take a lock, and others around it.
fn locking(policy: &'static str, (head, more): (String, String), attributes: &str, culprit: &'static str) -> Planted {
    let program = "{ sleep = \"3ms\" }, { begin = true }, { lock = \"table\" }, { compute = \"50us\" }, \
                   { unlock = \"table\" }, { served = true }";
    let victim = task("victim", attributes, program);
    Planted { policy, head, with: format!("{more}{victim}"), without: victim, cause: "computing", culprit, rules: &[] }
}

fn a_lock_holder(rng: &mut Rng) -> Planted {
    let hold = about(rng, 5_000);
    let program =
        format!("{{ lock = \"table\" }}, {{ compute = \"{hold}\" }}, {{ unlock = \"table\" }}, {{ sleep = \"2ms\" }}");
    let head = "machine = { cpus = 2, hz = 250 }\n".to_string();
    locking("eevdf", (head, task("holder", "", &program)), "", "holder")
}

/// The victim is the only writer, and of its two readers the other one has the lock for a short time.
fn a_reader_of_a_lock(rng: &mut Rng) -> Planted {
    let hold = about(rng, 5_000);
    let reads = |hold: &str| {
        format!(
            "{{ lock_shared = \"table\" }}, {{ compute = \"{hold}\" }}, {{ unlock = \"table\" }}, {{ sleep = \"2ms\" }}"
        )
    };
    let readers = task("glance", "", &reads("40us")) + &task("holder", "", &reads(&hold));
    let head = "machine = { cpus = 3, hz = 250 }\n\n[[lock]]\nname = \"table\"\nkind = \"rwsem\"\n".to_string();
    locking("eevdf", (head, readers), "", "holder")
}

fn a_preempted_lock_holder(rng: &mut Rng) -> Planted {
    let middle = bursts(rng, "middle", "class = \"fifo\"\nrt_priority = 50", (6_000, 5_000));
    let holder = task(
        "holder",
        "",
        "{ compute = \"200us\" }, { lock = \"table\" }, { compute = \"400us\" }, { unlock = \"table\" }",
    );
    let planted = locking("eevdf", (one_cpu(1000), middle + &holder), "class = \"fifo\"\nrt_priority = 90", "middle");
    Planted { cause: "behind", rules: &["class"], ..planted }
}

fn a_late_waker(rng: &mut Rng) -> Planted {
    let urgent = bursts(rng, "urgent", "class = \"fifo\"\nrt_priority = 50", (4_000, 4_000));
    let helper = task("helper", "", "{ wait = \"work\" }, { compute = \"200us\" }, { wake = \"done\" }");
    let program = "{ sleep = \"3ms\" }, { begin = true }, { wake = \"work\" }, { wait = \"done\" }, { served = true }";
    let victim = task("victim", "class = \"fifo\"\nrt_priority = 90", program);
    Planted {
        policy: "eevdf",
        head: one_cpu(1000),
        with: format!("{urgent}{helper}{victim}"),
        without: format!("{helper}{victim}"),
        cause: "behind",
        culprit: "urgent",
        rules: &["class"],
    }
}

fn its_own_work(rng: &mut Rng) -> Planted {
    let program = |compute: String| {
        let step = format!("{{ compute = \"{compute}\" }}");
        task("victim", "", &format!("{{ begin = true }}, {step}, {{ served = true }}, {{ sleep = \"5ms\" }}"))
    };
    Planted {
        policy: "eevdf",
        head: one_cpu(1000),
        with: program(about(rng, 6_000)),
        without: sleeper(rng, ""),
        cause: "computing",
        culprit: "victim",
        rules: &[],
    }
}

fn its_own_kind(rng: &mut Rng) -> Planted {
    let pool = bursts(rng, "victim", "count = 8", (2_000, 5_000));
    let alone = bursts(rng, "victim", "", (2_000, 5_000));
    Planted {
        policy: "eevdf",
        head: one_cpu(1000),
        with: pool,
        without: alone,
        cause: "behind_own",
        culprit: "victim-*",
        rules: &[],
    }
}

fn a_slow_device(rng: &mut Rng) -> Planted {
    let service = about(rng, 9_000);
    let program =
        "{ begin = true }, { compute = \"100us\" }, { ask_device = \"disk\" }, { served = true }, { sleep = \"2ms\" }";
    let disk = format!(
        "[[outside]]\nname = \"disk\"\nprogram = [ {{ receive = \"disk\" }}, \
         {{ sleep = \"{service}\" }}, {{ reply = true }} ]\n"
    );
    Planted {
        policy: "eevdf",
        head: one_cpu(1000),
        with: task("victim", "", program) + &disk,
        without: sleeper(rng, ""),
        cause: "device",
        culprit: "victim",
        rules: &[],
    }
}

fn a_queue_of_a_disk(rng: &mut Rng) -> Planted {
    let size = 64 * (1 + rng.below(4));
    let file = |name: &str, at: &str| format!("[[file]]\nname = \"{name}\"\nvolume = \"sda\"\nsize = \"1GiB\"\n{at}\n");
    let disk = "[[disk]]\nname = \"sda\"\ndevice = \"cheetah-9lp\"\n".to_string();
    let read = |file: &str, size: u64| format!("{{ read = \"{file}\", size = \"{size}KiB\", at = \"random\" }}");
    let (steps, scan) = (read("table", 4), read("log", size));
    let victim =
        task("victim", "", &format!("{{ sleep = \"20ms\" }}, {{ begin = true }}, {steps}, {{ served = true }}"));
    Planted {
        policy: "eevdf",
        head: one_cpu(1000) + &disk + &file("table", "") + &file("log", "at = \"4GiB\""),
        with: task("scan", "count = 8", &scan) + &victim,
        without: victim,
        cause: "disk_queue",
        culprit: "scan-*",
        rules: &[],
    }
}

fn dirty_memory(rng: &mut Rng) -> Planted {
    let size = 1 + rng.below(4);
    let file = |name: &str| format!("[[file]]\nname = \"{name}\"\nvolume = \"sda\"\nsize = \"1GiB\"\n");
    let write = |file: &str, size: &str| format!("{{ write = \"{file}\", size = \"{size}\", at = \"random\" }}");
    let (steps, dump) = (write("table", "4KiB"), write("log", &format!("{size}MiB")));
    let victim =
        task("victim", "", &format!("{{ sleep = \"5ms\" }}, {{ begin = true }}, {steps}, {{ served = true }}"));
    let disk = "cache = \"64MiB\"\n[[disk]]\nname = \"sda\"\ndevice = \"cheetah-9lp\"\n";
    Planted {
        policy: "eevdf",
        head: one_cpu(1000) + disk + &file("table") + &file("log"),
        with: task("dump", "count = 2", &dump) + &victim,
        without: victim,
        cause: "dirty_memory",
        culprit: "victim",
        rules: &[],
    }
}

/// A kind of cause, and what plants it. New ones come last: the place is the stream of random numbers.
type Kind = (&'static str, fn(&mut Rng) -> Planted);

const KINDS: [Kind; 25] = [
    ("a hog ahead", a_hog_ahead),
    ("a hog ahead, cfs", a_hog_ahead_under_cfs),
    ("a higher class", a_higher_class),
    ("a higher real-time priority", a_higher_priority),
    ("a higher nice", a_higher_nice),
    ("a better array", a_better_array),
    ("a better stair", a_better_stair),
    ("a long slice", a_long_slice),
    ("no preemption", no_preemption),
    ("a coarse tick", a_coarse_tick),
    ("a section of the kernel", a_kernel_section),
    ("a storm of tasks", a_storm),
    ("a reservation", a_reservation),
    ("a heavy group", a_heavy_group),
    ("a quota", a_quota),
    ("an affinity beside an idle CPU", an_affinity),
    ("the holder of a lock", a_lock_holder),
    ("who preempts the holder of a lock", a_preempted_lock_holder),
    ("who delays the waker", a_late_waker),
    ("its own work", its_own_work),
    ("its own kind", its_own_kind),
    ("a slow device", a_slow_device),
    ("the queue of a disk", a_queue_of_a_disk),
    ("a reader of a lock", a_reader_of_a_lock),
    ("dirty memory", dirty_memory),
];

/// A task that is there in every experiment and delays nobody much.
fn bystander() -> String {
    task("bystander", "", "{ sleep = \"19ms\" }, { compute = \"60us\" }")
}

fn opened(head: &str, tasks: &str) -> Work {
    let tasks = &format!("{tasks}{}", bystander());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("planted.toml");
    std::fs::write(&path, format!("duration = \"1s\"\n{head}{tasks}")).expect("a file");
    let path = path.to_str().expect("a plain path");
    open(path, &OpenOptions::default(), &unwatched).unwrap_or_else(|why| panic!("{why}\n{head}{tasks}"))
}

/// Asks `of` the victims of an experiment.
fn ask<T>(policy: &str, work: &Work, of: impl FnOnce(Explained) -> T) -> T {
    let contender = Contender::policy(PolicySpec::parse(policy).expect("a policy"));
    let judge = ["victim*".to_string()];
    of(Explained { work, contender: &contender, seed: 1, replication: 0, judge: &judge })
}

fn why(policy: &str, work: &Work) -> Why {
    let question = Question { checks: 0, ..Question::default() };
    ask(policy, work, |run| why_simulated(run, &question, &unwatched).unwrap_or_else(|why| panic!("{why}")))
}

/// What is named first.
fn first(why: &Why) -> Option<(&str, &str)> {
    why.tail.parts.first().map(|part| (part.cause.as_str(), part.culprit.as_deref().unwrap_or_default()))
}

fn assert_sums(why: &Why) {
    for latency in &why.worst {
        let sum: u64 = latency.chain.iter().map(|link| link.length_ns).sum();
        assert_eq!(sum, latency.length_ns, "{latency:?}");
        let ends = latency.chain.iter().map(|link| link.from_ns + link.length_ns);
        let begins = latency.chain.iter().skip(1).map(|link| link.from_ns);
        assert!(ends.zip(begins).all(|(end, begin)| end == begin), "{latency:?}");
    }
    let parts: u64 = why.tail.parts.iter().map(|part| part.total_ns).sum();
    assert_eq!(parts, why.tail.total_ns);
}

#[test]
fn planted_causes_are_named_first_and_only_where_they_are() {
    let (mut named, mut of, mut missed) = (0, 0, Vec::new());
    for (number, (kind, plant)) in KINDS.iter().enumerate() {
        for draw in 0..DRAWS {
            let planted = plant(&mut Seed(draw).stream("planted", number as u64).rng());
            let found = why(planted.policy, &opened(&planted.head, &planted.with));
            assert_sums(&found);
            let lock = found.tail.locks.first().map(|it| (it.lock.as_str(), it.holder.as_str()));
            assert_eq!(lock, kind.contains("lock").then_some(("table", "holder")), "{kind}: {:?}", found.tail.locks);
            let rule =
                found.tail.parts.first().and_then(|part| part.rule.as_ref()).map_or("", |rule| rule.name.as_str());
            let is_told = planted.rules.is_empty() || planted.rules.contains(&rule);
            of += 1;
            match first(&found) == Some((planted.cause, planted.culprit)) && is_told {
                true => named += 1,
                false => missed.push(format!("{kind}, draw {draw}: {:?} {rule}", found.tail.parts.first())),
            }
            if draw == 0 {
                let clean = why(planted.policy, &opened(&planted.head, &planted.without));
                let is_named = first(&clean) == Some((planted.cause, planted.culprit));
                assert!(clean.tail.locks.is_empty(), "{kind}: a lock is named without being waited for");
                assert!(!is_named, "{kind}: named without being there: {:?}", clean.tail.parts);
            }
        }
    }
    println!("{named} of {of} planted causes are named first; missed: {missed:#?}");
    assert!(named * 100 >= of * 95, "{named} of {of}: {missed:#?}");
}

#[test]
fn asking_any_policy_changes_nothing_so_that_the_second_run_finds_all_that_the_first_did() {
    let question = Question { of: Some(Latencies::All), worst: 1_000, checks: 0, ..Question::default() };
    let machine = OpenOptions { machine: Some("cpus=2,hz=250".into()), ..OpenOptions::default() };
    let work = open("mixed:duration=300ms", &machine, &unwatched).expect("a built-in workload");
    let mut tell = 0;
    for about in goodness_policies::ALL {
        let contender = Contender::policy(PolicySpec::parse(about.name).expect("a policy"));
        let run = Explained { work: &work, contender: &contender, seed: 3, replication: 1, judge: &[] };
        let found = why_simulated(run, &question, &unwatched).unwrap_or_else(|why| panic!("{}: {why}", about.name));
        assert_eq!(found.worst.len() as u64, found.tail.count, "{}", about.name);
        assert_sums(&found);
        tell += u32::from(found.tail.parts.iter().any(|part| part.rule.is_some()));
    }
    assert!(tell >= 9, "{tell} policies tell their rules");
}

#[test]
fn the_counterfactual_confirms_the_cause_and_rejects_a_bystander() {
    for (number, (kind, plant)) in KINDS.iter().enumerate().filter(|(_, (kind, _))| CHECKED.contains(kind)) {
        let planted = plant(&mut Seed(0).stream("planted", number as u64).rng());
        let work = opened(&planted.head, &planted.with);
        let part = |cause: &str, culprit: &str, share: f64| Part {
            cause: cause.into(),
            culprit: Some(culprit.into()),
            total_ns: 0,
            share,
            rule: None,
        };
        let question = Question { checks: 1, ..Question::default() };
        let found = ask(planted.policy, &work, |run| why_simulated(run, &question, &unwatched)).expect("it runs");
        assert_eq!(found.checks[0].verdict, "holds", "{kind}: {:?}", found.checks);
        let of = match found.of.as_str() {
            "requests" => Latencies::Requests,
            _ => Latencies::Wakeups,
        };
        let question = Question { of: Some(of), ..question };
        let wrong = part("behind", "bystander", 0.8);
        let wrong = ask(planted.policy, &work, |run| check_blame(run, &question, &wrong)).expect("it runs");
        assert_eq!(wrong.verdict, "fails", "{kind}: {wrong:?}");
    }
}

/// Kinds of causes that the counterfactual takes away.
const CHECKED: [&str; 10] = [
    "a hog ahead",
    "a higher class",
    "a higher real-time priority",
    "a long slice",
    "a quota",
    "an affinity beside an idle CPU",
    "who delays the waker",
    "a reservation",
    "the queue of a disk",
    "dirty memory",
];
