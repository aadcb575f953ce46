//! Experiment files as people write them, and mistakes in them.

use super::*;
use goodness_core::{IoClass, IoPriority, LockId, LockKind, StepContext};

const SAMPLE: &str = r#"
name = "four hogs and a blinker"
duration = "10s"
warmup = "1s"
machine = { cpus = 2, hz = 100 }

[[task]]
name = "hog"
count = 4
affinity = [0]
program = [ { compute = "forever" } ]

[[task]]
name = "blinker"
nice = -5
program = [ { compute = ["1ms", "2ms"] }, { wake = "x" }, { sleep = "9ms" } ]
loop = 100
"#;

#[test]
fn an_experiment_is_what_it_says() {
    let experiment = Experiment::read("x.toml", SAMPLE).unwrap();
    let work = experiment.build(Seed(1), 0);
    assert_eq!((work.tasks.len(), work.channels.len()), (5, 1));
    assert_eq!((work.horizon, work.warmup), (Some(Time(10_000_000_000)), Span::from_s(1)));
    assert_eq!(experiment.machine().map(|m| (m.cpu_count(), m.hz)), Some((2, 100)));
    assert_eq!((work.tasks[3].name.as_str(), work.tasks[4].task.nice.get()), ("hog-3", -5));
}

#[test]
fn clients_outside_ask_and_tasks_answer() {
    let text = r#"
duration = "1s"
[[task]]
name = "worker"
count = 2
program = [ { receive = "inbox" }, { compute = "1ms" }, { answer = true } ]
[[outside]]
name = "client"
count = 3
program = [ { ask = "inbox" }, { sleep = "2ms" } ]
"#;
    let work = Experiment::read("x.toml", text).unwrap().build(Seed(1), 0);
    assert_eq!((work.tasks.len(), work.outside.len(), work.channels.len()), (2, 3, 1 + 5));
    let busy = text.replace("{ sleep = \"2ms\" }", "{ compute = \"2ms\" }");
    assert!(Experiment::read("x.toml", &busy).unwrap_err().contains("line 7: outside: an outsider may sleep"));
}

#[test]
fn a_mistake_is_named_with_its_line_and_a_remedy() {
    for (from, to, expected) in [
        (
            "duration = \"10s\"",
            "duratoin = \"10s\"",
            "line 3: duratoin: there is no such key here; the nearest is \"duration\"",
        ),
        ("\"9ms\"", "\"9 lightyears\"", "not a unit of time"),
        ("duration = \"10s\"", "duration = \"0s\"", "line 3: duration: an experiment needs some time"),
        ("warmup = \"1s\"", "warmup = \"10s\"", "line 4: warmup: it takes the whole duration"),
        ("nice = -5", "nice = -21", "-20 ..= 19"),
        ("count = 4", "count = 0", "line 9: count"),
        ("hz = 100", "hz = 0", "1 ..= 100000"),
        ("[0]", "[]", "line 10: affinity: it names no CPU"),
        ("nice = -5", "start = \"10s\"", "line 15: start: it is not before the end"),
        ("nice = -5", "count = 1_000_000", "line 15: count: with it there are more than 1000000 tasks"),
        ("duration = \"10s\"", "duration = \"500000h\"", "line 3: duration: 1800000000s is longer than a day (24h)"),
        ("duration = \"10s\"", "", "line 7: task \"hog-0\" goes on for ever and the run has no end"),
        ("\"9ms\"", "\"9 m s\"", "line 16: sleep: "),
        ("{ sleep", "{ slep", "nearest is \"sleep\""),
        ("{ sleep", "{ yield = false }, { sleep", "line 16: yield: false says nothing; write yield = true"),
        ("{ sleep", "{ exit = \"no\" }, { sleep", "line 16: exit: \"no\" says nothing; write exit = true"),
        ("{ sleep", "{ served = 1 }, { sleep", "line 16: served: 1 says nothing; write served = true"),
        ("[[task]]", "[task]", "line"),
    ] {
        let sentence = Experiment::read("x.toml", &SAMPLE.replace(from, to)).unwrap_err();
        assert!(sentence.starts_with("x.toml") && sentence.contains(expected), "{sentence}");
    }
    assert!(Experiment::read("x.toml", "").unwrap_err().contains("there is no task"));
    let idle = SAMPLE.replace("\"forever\"", "\"0ns\"");
    let sentence = Experiment::read("x.toml", &idle).unwrap_err();
    assert!(sentence.starts_with("x.toml, line 7: task \"hog-0\" goes round for ever"), "{sentence}");
}

/// The error of an experiment whose one disk (`null`, unless `disks` overrides it) is used by `step`.
fn storage_error(disks: &str, step: &str) -> String {
    let text = format!(
        "duration = \"1s\"\n[[disk]]\nname = \"d\"\ndevice = \"null:sectors=34359738360\"\n{disks}\n[[task]]\nname = \
         \"t\"\n\
         program = [ {step}, {{ compute = \"1ms\" }} ]\n"
    );
    Experiment::read("x.toml", &text).err().unwrap_or_default()
}

#[test]
fn a_step_moves_less_than_two_gibibytes_and_something() {
    let file = "[[file]]\nname = \"f\"\nvolume = \"d\"\nsize = \"4GiB\"";
    for target in ["d", "f"] {
        let step = |size: &str| storage_error(file, &format!("{{ read = \"{target}\", size = {size} }}"));
        assert_eq!(step("2147479552"), "", "{target}");
        assert!(step("\"2GiB\"").contains("line 11: size: a step moves less than 2GiB"), "{target}");
        assert!(step("0").contains("size: it is 0"), "{target}");
    }
}

#[test]
fn what_the_simulator_would_have_to_remember_is_bounded() {
    let files = |size: &str| {
        let file =
            |name| format!("[[file]]\nname = \"{name}\"\nvolume = \"d\"\nsize = \"{size}\"\npieces = \"4KiB\"\n");
        storage_error(&(file("f") + &file("g")), "{ read = \"f\", size = \"4KiB\" }")
    };
    assert_eq!(files("8GiB"), "");
    assert!(files("9GiB").contains("pieces: 4194304 are the most of a run"));
    let cache = |size: &str| {
        let text = format!("duration = \"1s\"\ncache = \"{size}\"\n[[task]]\nprogram = [ {{ compute = \"1ms\" }} ]\n");
        Experiment::read("x.toml", &text).err().unwrap_or_default()
    };
    assert_eq!(cache("64GiB"), "");
    assert!(cache("65GiB").contains("line 2: cache:") && cache("60KiB").contains("64KiB at least"));
}

#[test]
fn mistakes_about_disks_are_told_where_they_stand() {
    let read = "{ read = \"d\", size = \"4KiB\" }";
    assert!(storage_error("elevator = \"cfqq\"", read).contains("line 5: elevator: there is no elevator"));
    assert!(storage_error("elevator = \"cfq:quantum=0\"", read).contains("line 5: elevator: cfq: quantum = 0"));
    let volume = |rest: &str| storage_error(&format!("[[volume]]\nname = \"v\"\n{rest}"), read);
    assert!(volume("pieces = [\"d\"]").contains("line 7: pieces: write pieces = [ { disk"));
    assert!(
        volume("layout = \"striped\"\npieces = [{ disk = \"d\" }]")
            .contains("line 8: pieces: a striped volume needs 2")
    );
    assert!(volume("pieces = [{ disk = \"d\" }, { disk = \"d\" }]").contains("line 7: pieces: two pieces of \"v\""));
    let text = "duration = \"1s\"\n[[task]]\nprogram = [ { await = 0 }, { compute = \"1ms\" } ]\n";
    assert!(Experiment::read("x.toml", text).unwrap_err().contains("line 3: await: there is no disk"));
}

const GROUPS: &str = r#"
duration = "1s"
[[group]]
name = "site"
cpu_weight = 200
[[group]]
name = "web"
parent = "site"
cpu_max = "50ms/100ms"
cpu_max_burst = "10ms"
[[group]]
name = "low"
cpu_idle = true
[[task]]
name = "a"
group = "web"
program = [ { compute = "1ms" }, { group = "low" } ]
"#;

#[test]
fn groups_are_what_the_file_says() {
    let work = Experiment::read("x.toml", GROUPS).unwrap().build(Seed(1), 0);
    let web = work.groups.named("web").unwrap();
    assert_eq!(work.tasks[0].task.group, web);
    let quota = work.groups[web].quota.unwrap();
    assert_eq!([quota.quota, quota.period, quota.burst], [50, 100, 10].map(Span::from_ms));
    assert_eq!(work.groups[work.groups[web].parent].weight, 2048);
    let low = &work.groups[work.groups.named("low").unwrap()];
    assert_eq!((low.weight, low.is_idle), (3, true));
}

#[test]
fn a_group_has_the_cpuset_of_the_file() {
    let text = GROUPS.replacen("cpu_weight = 200", "cpuset = [1, 2]", 1);
    let work = Experiment::read("x.toml", &text).unwrap().build(Seed(1), 0);
    let site = work.groups.named("site").unwrap();
    assert_eq!((&work.groups[site].cpus, work.groups.has_cpusets()), (&CpuSet::of(&[CpuId(1), CpuId(2)]), true));
}

#[test]
fn a_group_may_be_a_container() {
    let text = GROUPS.replace("cpu_weight = 200", "cpu_request = \"500m\"").replace("\"50ms/100ms\"", "\"80ms/100ms\"");
    let limited = text.replace("cpu_max = \"80ms/100ms\"", "cpu_limit = \"0.8\"");
    assert_ne!(text, limited);
    let groups = |text: &str| Experiment::read("x.toml", text).unwrap().build(Seed(1), 0).groups;
    assert_eq!(groups(&limited), groups(&text));
    let site = groups(&text).named("site").unwrap();
    assert_eq!(groups(&text)[site].weight, 604);
}

#[test]
fn mistakes_about_groups_are_named_with_their_line() {
    for (from, to, expected) in [
        ("group = \"web\"", "group = \"wbe\"", "line 16: group: there is no group \"wbe\"; the nearest is \"web\""),
        ("parent = \"site\"", "parent = \"low\"", "line 8: parent: there is no group \"low\""),
        ("name = \"low\"", "name = \"web\"", "there are two groups \"web\""),
        ("cpu_weight = 200", "cpu_weight = 0", "line 5: cpu_weight: a whole number in 1 ..= 10000"),
        ("cpu_weight = 200", "io_max = \"rbps=0\"", "line 5: io_max: \"rbps=0\" needs"),
        ("cpu_weight = 200", "io_max = \"rbps=1M\"", "io_max: it limits block I/O, and there is no [[disk]]"),
        ("cpu_weight = 200", "io_weight = 1001", "line 5: io_weight: a whole number in 1 ..= 1000"),
        ("cpu_weight = 200", "io_weight = 5", "io_weight: it shares a disk, and there is no [[disk]]"),
        ("cpu_weight = 200", "cpuset = []", "line 5: cpuset: it names no CPU"),
        ("cpu_weight = 200", "cpuset = \"0-1\"", "line 5: cpuset: a list of CPUs is needed"),
        ("cpu_idle = true", "cpu_idle = true\ncpu_weight = 5", "an idle group has no weight"),
        ("cpu_idle = true", "cpu_idle = true\ncpu_request = \"1\"", "an idle group has no weight"),
        ("cpu_weight = 200", "cpu_weight = 200\ncpu_request = \"1\"", "cpu_request: cpu_weight says the same"),
        ("cpu_weight = 200", "cpu_limit = \"1x\"", "line 5: cpu_limit: \"1x\" is no number of CPUs; write 250m"),
        ("\"50ms/100ms\"", "\"0.5ms\"", "line 9: cpu_max: a quota is 1ms at least"),
        ("\"10ms\"", "\"60ms\"", "line 10: cpu_max_burst: a burst is at most the quota"),
        ("{ group = \"low\" }", "{ group = \"slow\" }", "there is no group \"slow\""),
    ] {
        let sentence = Experiment::read("x.toml", &GROUPS.replace(from, to)).unwrap_err();
        assert!(sentence.starts_with("x.toml, line") && sentence.contains(expected), "{sentence}");
    }
}

#[test]
fn locks_have_the_kinds_that_the_file_says() {
    let text = r#"
duration = "1s"
[[lock]]
name = "a"
kind = "s_lock"
[[lock]]
name = "b"
[[task]]
program = [ { lock = "c" }, { lock = "a" }, { compute = "1ms" }, { unlock = "a" }, { unlock = "c" } ]
"#;
    let work = Experiment::read("x.toml", text).unwrap().build(Seed(1), 0);
    assert_eq!(work.locks, [LockKind::SLock, LockKind::Normal, LockKind::Normal]);
    let wrong = |from: &str, to: &str| Experiment::read("x.toml", &text.replace(from, to)).unwrap_err();
    assert!(wrong("s_lock", "slock").contains("line 5: kind: \"slock\" is no kind of lock; the nearest is \"s_lock\""));
    assert!(wrong("name = \"b\"", "name = \"a\"").contains("line 7: name: there are two locks \"a\""));
    assert!(wrong("name = \"b\"", "kind = \"pi\"").contains("line 6: lock: it needs a name"));
    let shared = wrong("{ lock = \"a\" }", "{ lock_shared = \"a\" }");
    assert!(shared.contains("lock_shared: the lock \"a\" is a s_lock, which has one owner"), "{shared}");
    let text = text.replace("s_lock", "rwsem").replace("{ lock = \"a\" }", "{ lock_shared = \"a\" }");
    let mut work = Experiment::read("x.toml", &text).unwrap().build(Seed(1), 0);
    let mut rng = Seed(1).rng();
    let behaviour = &mut work.tasks[0].behaviour;
    let mut next = || behaviour.next(&mut StepContext { now: Time::ZERO, task: TaskId(0), rng: &mut rng });
    assert_eq!([next(), next()], [Step::Lock(LockId(2)), Step::LockShared(LockId(0))]);
}

#[test]
fn io_priorities_are_those_of_ionice() {
    let text = |value: &str| {
        format!("duration = \"1s\"\n[[task]]\nio_priority = \"{value}\"\nprogram = [ {{ compute = \"1ms\" }} ]\n")
    };
    for (value, class, level) in
        [("rt-0", IoClass::RealTime, 0), ("be-7", IoClass::BestEffort, 7), ("idle", IoClass::Idle, 4)]
    {
        let work = Experiment::read("x.toml", &text(value)).unwrap().build(Seed(1), 0);
        assert_eq!(work.tasks[0].task.io_priority, Some(IoPriority { class, level }), "{value}");
    }
    for value in ["rt-8", "real-0", "be-"] {
        let refused = Experiment::read("x.toml", &text(value)).unwrap_err();
        assert!(refused.contains("line 3: io_priority: write \"rt-0\" to \"rt-7\""), "{value}: {refused}");
    }
}

#[test]
fn a_step_in_the_kernel_has_a_length_or_a_range() {
    let text = |value: &str| format!("duration = \"1s\"\n[[task]]\nprogram = [ {{ kernel = {value} }} ]\n");
    for value in ["\"2ms\"", "[\"1ms\", \"2ms\"]"] {
        let mut work = Experiment::read("x.toml", &text(value)).unwrap().build(Seed(1), 0);
        let mut rng = Seed(1).rng();
        let step = work.tasks[0].behaviour.next(&mut StepContext { now: Time::ZERO, task: TaskId(0), rng: &mut rng });
        let Step::Kernel(span) = step else { panic!("{step:?}") };
        assert!((Span::from_ms(1)..=Span::from_ms(2)).contains(&span), "{value}: {span}");
    }
    assert!(Experiment::read("x.toml", &text("3")).unwrap_err().contains("line 3: kernel: a time with its unit"));
}

#[test]
fn timers_expire_at_multiples_and_a_late_task_skips_or_catches_up() {
    let text = |verb: &str| {
        let program = format!("program = [ {{ compute = \"1ms\" }}, {{ {verb} = \"5ms\" }} ]");
        format!("duration = \"1s\"\n[[task]]\n{program}\n[[outside]]\nprogram = [ {{ {verb} = \"3ms\" }} ]\n")
    };
    let waits = |verb: &str| {
        let mut work = Experiment::read("x.toml", &text(verb)).unwrap().build(Seed(1), 0);
        let mut rng = Seed(1).rng();
        // The second cycle ends 12 ms late.
        [0, 1, 5, 22, 25, 26].map(|now| {
            let mut context = StepContext { now: Time(now * 1_000_000), task: TaskId(0), rng: &mut rng };
            match work.tasks[0].behaviour.next(&mut context) {
                Step::SleepUntil(at) => at.0 / 1_000_000,
                _ => 0,
            }
        })
    };
    assert_eq!(waits("every"), [0, 5, 0, 25, 0, 30]);
    assert_eq!(waits("catch_up"), [0, 5, 0, 10, 0, 15]);
    let refused = Experiment::read("x.toml", &text("every").replace("\"5ms\"", "\"0ms\"")).unwrap_err();
    assert!(refused.contains("line 3: every: a timer's period is not 0"), "{refused}");
}

#[test]
fn a_fault_that_takes_cpus_offline_names_one() {
    let of = |cpu: &str| {
        let fault = format!("[[fault]]\nkind = \"offline\"\nat = \"1ms\"\nfor = \"2ms\"\n{cpu}");
        let task = "[[task]]\nprogram = [ { sleep = \"1ms\" } ]\n";
        Experiment::read("x.toml", &format!("duration = \"1s\"\n{fault}\n{task}"))
    };
    let refused = of("").err().unwrap_or_default();
    assert!(refused.contains("kind: offline needs the CPU that goes offline, such as cpu = 1"), "{refused}");
    assert!(of("cpu = 1").is_ok());
}

#[test]
fn a_fault_comes_within_the_run_and_has_a_length() {
    let of = |at: &str, span: &str| {
        let fault = format!("[[fault]]\nkind = \"stolen\"\nat = \"{at}\"\nfor = \"{span}\"\n");
        let task = "[[task]]\nprogram = [ { compute = \"forever\" } ]";
        Experiment::read("x.toml", &format!("duration = \"1s\"\n{fault}\n{task}")).err().unwrap_or_default()
    };
    assert_eq!(of("999ms", "1ns"), "");
    assert!(of("1ms", "0s").contains("line 5: for: a time above 0 is needed"));
    assert!(of("1ms", "9999999s").contains("line 5: for: a time above 0 is needed"));
    assert!(of("1s", "1ms").contains("line 4: at: it is not before the end of the run"));
}

#[test]
fn who_compares_is_asked_for_an_elevator_where_a_disk_names_none() {
    let asks = |elevator: &str| {
        let disk = format!("[[disk]]\nname = \"d\"\ndevice = \"null\"\n{elevator}\n");
        let task = "[[task]]\nprogram = [ { read = \"d\", size = \"4KiB\" } ]\nloop = 2";
        let work = Experiment::read("x.toml", &format!("duration = \"1s\"\n{disk}{task}")).unwrap();
        (work.asks_for_elevator(), work.place_of_storage())
    };
    let place = Some("x.toml, line 2".to_string());
    assert_eq!((asks(""), asks("elevator = \"cfq\"")), ((true, place.clone()), (false, place)));
}

#[test]
fn a_fault_of_a_cpu_that_the_machine_lacks_is_named_by_its_line() {
    let fault = |cpu| format!("[[fault]]\nkind = \"stolen\"\nat = \"1ms\"\nfor = \"2ms\"\ncpu = {cpu}\n");
    let task = "[[task]]\nprogram = [ { compute = \"forever\" } ]";
    let text = format!("duration = \"1s\"\n{}{}{task}", fault(1), fault(5));
    let experiment = Experiment::read("x.toml", &text).unwrap();
    let why = experiment.check_faults(2).unwrap_err();
    assert!(why.starts_with("x.toml, line 11: cpu: a fault is planned for CPU 5, and the machine has CPUs 0 to 1"));
    assert!(experiment.check_faults(1).unwrap_err().starts_with("x.toml, line 6: cpu: a fault is planned for CPU 1"));
    assert_eq!(experiment.check_faults(6), Ok(()));
}

#[test]
fn a_group_without_a_letter_in_its_name_is_named_by_its_line() {
    let read = |name| {
        let task = "[[task]]\nprogram = [ { compute = \"forever\" } ]";
        Experiment::read("x.toml", &format!("duration = \"1s\"\n[[group]]\nname = \"{name}\"\n{task}"))
    };
    for name in ["", " "] {
        let why = read(name).err().unwrap_or_default();
        assert!(why.starts_with("x.toml, line 3: name: a group's name has a letter at least"), "{why}");
    }
    assert!(read("web").is_ok());
}
