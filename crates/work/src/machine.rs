//! Parses machines: presets, files, inline tables. `--machine cpus=2,hz=250,switch=2us`.

use crate::key::{Key, key};
use crate::text_file;
use goodness_core::spelling::suggest;
use goodness_core::{Costs, Cpu, Effort, Level, Machine, Span, Workers, tunable};
use std::path::Path;

/// A named machine.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name.
    pub name: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// Source of its figures.
    pub source: &'static str,
    /// Its definition, as one would type it.
    pub text: &'static str,
}

/// Every preset.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "ideal",
        summary: "One CPU at HZ 250 on which scheduling costs nothing.",
        source: "definition",
        text: "cpus=1,hz=250",
    },
    Preset {
        name: "ideal-2",
        summary: "Two CPUs that share a cache, at HZ 250, on which scheduling costs nothing.",
        source: "definition",
        text: "cpus=2,hz=250",
    },
    Preset {
        name: "ideal-8",
        summary: "Eight CPUs in two caches, two threads a core, at HZ 250, on which scheduling costs nothing.",
        source: "definition",
        text: "cpus=8,hz=250,smt=2,cache=4",
    },
    Preset {
        name: "pentium-200",
        summary: "The Pentium at 200 MHz of the yield benchmark of 1998, HZ 100.",
        source: "G. Travis, 8 March 1998, patched Linux, threads: 3 us a switch for 4 and 22 us for 40, that is 0.53 \
                 us for each runnable task (search) and 0.9 us besides (switch); four processes 3 us more than four \
                 threads (address_space). A recalculated task is taken to cost as much as a searched one.",
        text: "cpus=1,hz=100,switch=900ns,address_space=3us,search=530ns,recalculate=530ns",
    },
    Preset {
        name: "ppro-smp",
        summary: "Four Pentium Pro at 200 MHz, each with caches of its own, on one bus, HZ 100.",
        source: "Derived. Switching and the walk as pentium-200, which has the same clock and bus (switch, \
                 address_space, search, recalculate). General knowledge: a line of 32 bytes takes about 200 ns from \
                 memory or another CPU and 40 ns from the second-level cache. Hence a contended lock 200 ns, a moved \
                 task 205 us for a working set of 32 kB, and 10 us for 8 kB of first-level cache after another task \
                 ran, each line for itself. An interrupt to another CPU of 5 us is a guess.",
        text: "cpus=4,hz=100,cache=1,switch=3us,address_space=1us,search=530ns,recalculate=530ns,lock_handover=200ns,\
               interrupt=5us,cache_refill=10us,migration_node=205us",
    },
    Preset {
        name: "alpha-1999",
        summary: "The Alpha under SPECweb96 of 1999, HZ 1024.",
        source: "P. Ezolt, linux-kernel, 5 May 1999: schedule() took 0.181 s a second, 96.1 % of it in the walk, by \
                 4809 switches by 24.2 runnable tasks: 1.495 us for each (search). A recalculated task is taken to \
                 cost as much. What else a switch costs was not published and is left out.",
        text: "cpus=1,hz=1024,search=1495ns,recalculate=1495ns",
    },
    Preset {
        name: "p4-2005",
        summary: "A uniprocessor Pentium 4 desktop of 2005 with Linux 2.6, HZ 1000.",
        source: "General knowledge, nothing of it measured for this project: lmbench on Pentium 4 and Linux 2.6 gives \
                 one to two microseconds between two processes without memory (switch, address_space) and some ten \
                 more with 16 kB each (cache_refill); a timer interrupt takes about 2 us; a wake-up about 1 us; a step \
                 of a scheduler 50 ns. HZ is that of i386 kernels 2.6.0 to 2.6.12.",
        text: "cpus=1,hz=1000,switch=1us,address_space=1us,cache_refill=8us,wakeup=1us,tick=2us,\
               search=50ns,recalculate=50ns,insert=50ns",
    },
    Preset {
        name: "xeon-2006",
        summary: "A server of 2006 with two Xeon EM64T at 3.6 GHz, two hardware threads each, Linux 2.6, HZ 250.",
        source: "H. Kuehnemund's database load of 2006 names two sockets, 3.6 GHz, Hyper-Threading and SLES10, whose \
                 kernels tick 250 times a second. Costs as p4-2005, which has the same core (general knowledge, \
                 nothing of it measured): the clock is little higher, and memory, which most of them are spent on, no \
                 faster. A working set of 32 kB fetched from memory line by line at 100 ns, 512 lines of 64 bytes, is \
                 51 us after a move between sockets, which share no cache. That two threads of a core slow each other \
                 down is left out: the CPU times of the study were found without it.",
        text: "cpus=4,hz=250,smt=2,sibling_speed=1,cache=2,switch=1us,address_space=1us,cache_refill=8us,wakeup=1us,\
               tick=2us,search=50ns,recalculate=50ns,insert=50ns,migration_node=51us",
    },
    Preset {
        name: "haiku-2009",
        summary: "One CPU for the Haiku measurements of 2009; scheduling is free, only quanta are counted.",
        source: "M. Panasyuk, haiku-development, 13 November 2009, names no machine; what deciding costs is measured \
                 on the machine at hand (see the study panasyuk-2009).",
        text: "cpus=1,hz=1000",
    },
    Preset {
        name: "modern-2cpu",
        summary: "A small cloud machine: two CPUs, one cache, HZ 250, slow to leave idle.",
        source: "recordings/apache-ab-c32-2cpu, kernel 6.18 in a virtual machine: median of 2003 wake-ups of an idle \
                 CPU 42.5 us; median of 4460 wake-ups that preempted at once 10.8 us. Other costs were not measured \
                 and are left out.",
        text: "cpus=2,hz=250,idle_exit=42500ns,preempt=10800ns",
    },
    Preset {
        name: "null-guest",
        summary: "One CPU of a deterministic guest, whose nanosecond is an instruction, with the costs of block I/O.",
        source: "scripts/measure-elevators calibrate: fio on null_blk of Linux 6.18.15, see docs/elevator-cost.md. Six \
                 cells do not determine the eight costs: that a search costs 70 instructions, as much as an insertion, \
                 and how submission and completion share theirs, was chosen. switch was chosen with them, too, and \
                 not measured alone. 2000 more instructions of a submission are those of fio, which a job file's work \
                 has itself.",
        text: "cpus=1,hz=250,switch=2990ns,io_submit=5834ns,io_page=422ns,io_complete=2500ns,io_request=1189ns,\
               io_timer=3138ns,io_search=70ns,io_insert=70ns,io_recalculate=188ns",
    },
    Preset {
        name: "epyc-2024",
        summary: "A server of 2 nodes with 64 cores each, two threads a core and a cache for 8 cores, HZ 250.",
        source: "switch, address_space and wakeup were measured with `goodness calibrate` on Zen 3, Linux 6.18, \
                 virtual. A line from another core: 17 ns within a cache and 80 ns beyond it (AnandTech on Zen 4, 15 \
                 to 19 and 79.5 ns); 200 ns from the other node, 4 ns from the second-level cache, an interrupt to \
                 another CPU 1 us and leaving a light idle state 2 us are general knowledge. Moves and refills: 512 \
                 such lines (32 kB), each for itself, so rather too dear.",
        text: "cpus=256,hz=250,smt=2,cache=16,node=128,switch=1us,address_space=70ns,wakeup=1300ns,\
               interrupt=1us,idle_exit=2us,cache_refill=2us,migration_cache=8700ns,migration_node=41us,migration_machine=102us,lock_handover=80ns",
    },
];

/// Keys of a machine.
pub const KEYS: &[Key] = &[
    key("cpus", "whole number, 1 ..= 8192", "1", "number of CPUs", "cpus = 4"),
    key("hz", "whole number, 1 ..= 100000", "250", "timer interrupts per second and CPU", "hz = 1000"),
    key("first_tick", "time", "one period", "time of the first tick", r#"first_tick = "863us""#),
    key("smt", "whole number, 1 ..= 8192", "1", "hardware threads of a core", "cpus = 4\nsmt = 2"),
    key(
        "sibling_speed",
        "number, 0.01 ..= 1",
        "0.625",
        "speed of each of two busy threads of a core; 1 if they do not slow each other",
        "sibling_speed = 0.7",
    ),
    key(
        "capacity",
        "list, or 4x446+4x1024",
        "1024 for each CPU",
        "speed of each CPU, 1024 of the fastest; threads of a core have the same",
        "cpus = 4\ncapacity = [446, 446, 1024, 1024]",
    ),
    key("cache", "whole number, 1 ..= 8192", "all CPUs", "CPUs that share a last-level cache", "cpus = 4\ncache = 2"),
    key("node", "whole number, 1 ..= 8192", "all CPUs", "CPUs of a memory node", "cpus = 4\nnode = 2"),
    key("switch", "time", r#""0""#, "cost of switching tasks", r#"switch = "2us""#),
    key(
        "address_space",
        "time",
        r#""0""#,
        "what a switch costs more when the address space changes",
        r#"address_space = "2us""#,
    ),
    key("wakeup", "time", r#""0""#, "cost of waking a task, to the waker", r#"wakeup = "2us""#),
    key("tick", "time", r#""0""#, "cost of a timer interrupt", r#"tick = "2us""#),
    key("preempt", "time", r#""0""#, "delay until a wake-up preempts on its own CPU", r#"preempt = "2us""#),
    key(
        "sleep",
        "time",
        r#""0""#,
        "time from a call to sleep, when the timer starts, until the switch",
        r#"sleep = "2us""#,
    ),
    key("timer", "time", r#""0""#, "time of the interrupt that ends a sleep", r#"timer = "2us""#),
    key("interrupt", "time", r#""0""#, "delay until another CPU reacts", r#"interrupt = "2us""#),
    key("idle_exit", "time", r#""0""#, "delay until an idle CPU runs", r#"idle_exit = "2us""#),
    key("late_balance", "time", r#""0""#, "delay from a tick until idle CPUs are balanced", r#"late_balance = "40us""#),
    key(
        "worker_every",
        "time",
        "no such threads",
        "mean sleep of a kernel thread on each CPU, beside work that was not recorded",
        r#"worker_every = "900ms""#,
    ),
    key(
        "worker_run",
        "time",
        r#""30us""#,
        "CPU time of each run of those threads",
        "worker_every = \"900ms\"\nworker_run = \"50us\"",
    ),
    key(
        "rcu_run",
        "time",
        "no such threads",
        "CPU time of each run of the kernel's threads after a task has ended, beside work that was not recorded",
        r#"rcu_run = "10us""#,
    ),
    key("cache_refill", "time", r#""0""#, "extra time of a stretch after another task ran", r#"cache_refill = "2us""#),
    key("lock_handover", "time", r#""0""#, "cost of passing a contended lock on", r#"lock_handover = "2us""#),
    key("migration_smt", "time", r#""0""#, "extra time after a move within a core", r#"migration_smt = "2us""#),
    key("migration_cache", "time", r#""0""#, "extra time after a move within a cache", r#"migration_cache = "2us""#),
    key("migration_node", "time", r#""0""#, "extra time after a move within a node", r#"migration_node = "2us""#),
    key("migration_machine", "time", r#""0""#, "extra time after a move between nodes", r#"migration_machine = "2us""#),
    key("search", "time", r#""0""#, "time per candidate looked at", r#"search = "2us""#),
    key("recalculate", "time", r#""0""#, "time per task recalculated", r#"recalculate = "2us""#),
    key("insert", "time", r#""0""#, "time per step of an ordered insertion", r#"insert = "2us""#),
    key("io_submit", "time", r#""0""#, "time of submitting an I/O, to the submitter", r#"io_submit = "2us""#),
    key("io_page", "time", r#""0""#, "time per page of 4 KiB of an I/O", r#"io_page = "100ns""#),
    key("io_complete", "time", r#""0""#, "time of completing a request", r#"io_complete = "2us""#),
    key("io_request", "time", r#""0""#, "time per request that an elevator queues", r#"io_request = "500ns""#),
    key("io_timer", "time", r#""0""#, "time per change of an elevator's timer", r#"io_timer = "1us""#),
    key("io_search", "time", r#""0""#, "time per queue or request an elevator looks at", r#"io_search = "50ns""#),
    key("io_recalculate", "time", r#""0""#, "time per account an elevator updates", r#"io_recalculate = "100ns""#),
    key("io_insert", "time", r#""0""#, "time per list or tree level an elevator passes", r#"io_insert = "50ns""#),
    key("balance", "time", r#""0""#, "time per queue looked at for balancing", r#"balance = "2us""#),
];

/// Parses a preset's name, the path of a TOML file, or an inline table `key=value,…`.
///
/// # Errors
/// An unknown preset or key (the nearest is named), a wrong value, or no CPU; one sentence with the remedy.
pub fn parse_machine(text: &str) -> Result<Machine, String> {
    if let Some(preset) = PRESETS.iter().find(|p| p.name == text) {
        return from_pairs(preset.name, &pairs_of(preset.text)?);
    }
    if text.contains('=') {
        return from_pairs(text, &pairs_of(text)?);
    }
    if text.ends_with(".toml") || Path::new(text).is_file() {
        let read = text_file::read(text, text_file::MACHINE_MAX).map_err(|why| format!("machine file {why}"))?;
        let table: toml::Table = toml::from_str(&read).map_err(|e| format!("{text}: {}", e.message()))?;
        return from_table(text, &table);
    }
    Err(format!(
        "there is no machine \"{text}\"; {}, or write cpus=2,hz=250",
        suggest(text, PRESETS.iter().map(|p| p.name))
    ))
}

/// A machine from a TOML table, as in an experiment file.
///
/// # Errors
/// As [`parse_machine`].
pub fn from_table(name: &str, table: &toml::Table) -> Result<Machine, String> {
    let text = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let pairs: Vec<(String, String)> = table.iter().map(|(key, value)| (key.clone(), text(value))).collect();
    from_pairs(name, &pairs)
}

fn pairs_of(text: &str) -> Result<Vec<(String, String)>, String> {
    tunable::pairs(text).map_err(|why| format!("machine {text}: {why}"))
}

/// The largest number of CPUs, and so of those in any group.
const CPUS_MAX: u64 = goodness_core::CPUS_MAX as u64;
/// Speed of each of two busy threads of a core, of 1024: together they do 1.25 times the work of one
/// (docs/specs/groups-locks.md section 6; from 1.15 to 1.30 were measured).
const SIBLING_SPEED: u32 = 640;

/// CPU time of each run of a thread of the kernel. A choice: in traces of guests with two, four and eight CPUs it is 8,
/// 26 and 61 us from switch to switch, most of which is the switch (docs/fidelity/smp-rules.md).
const WORKER_RUN: Span = Span::from_us(30);

/// The longest time between runs of a thread of the kernel. A choice: it runs once in a while, not never.
const WORKER_MAX: Span = Span::from_s(3600);

/// The highest tick rate: ten microseconds between ticks.
const HZ_MAX: u64 = 100_000;

/// Numbers and times collected before the machine is built.
struct Draft {
    cpus: u64,
    hz: u64,
    first_tick: Option<Span>,
    smt: u64,
    sibling_speed: u32,
    capacities: Option<Vec<u32>>,
    cache: Option<u64>,
    node: Option<u64>,
    costs: Costs,
    worker_every: Option<Span>,
    worker_run: Option<Span>,
    rcu_run: Option<Span>,
}

fn from_pairs(name: &str, pairs: &[(String, String)]) -> Result<Machine, String> {
    let mut draft = Draft {
        cpus: 1,
        hz: 250,
        first_tick: None,
        smt: 1,
        sibling_speed: SIBLING_SPEED,
        capacities: None,
        cache: None,
        node: None,
        costs: Costs::default(),
        worker_every: None,
        worker_run: None,
        rcu_run: None,
    };
    for (key, value) in pairs {
        set(&mut draft, key, value).map_err(|why| format!("machine {name}: {key} = {value}: {why}"))?;
    }
    let (smt, cache, node) =
        (draft.smt, draft.cache.unwrap_or(draft.cpus).max(1), draft.node.unwrap_or(draft.cpus).max(1));
    let capacities = capacities(&draft).map_err(|why| format!("machine {name}: capacity: {why}"))?;
    let cpu = |(i, capacity): (u64, u32)| Cpu {
        core: (i / smt) as u32,
        cache: (i / cache) as u32,
        node: (i / node) as u32,
        capacity,
    };
    let cpus = (0..draft.cpus).zip(capacities).map(cpu).collect();
    let mut machine = Machine::new(name, cpus, draft.hz as u32).map_err(|e| format!("machine {name}: {e}"))?;
    if let Some(first) = draft.first_tick {
        machine.first_tick = first;
    }
    let in_all = |why| format!("machine {name}: {why}");
    machine.workers = workers(&draft, machine.tick()).map_err(in_all)?;
    machine.rcu_run = draft.rcu_run;
    machine.costs = draft.costs;
    machine.sibling_speed = draft.sibling_speed;
    match machine.late_balance_is_late() {
        Some(why) => Err(in_all(why)),
        None => Ok(machine),
    }
}

fn set(draft: &mut Draft, key: &str, value: &str) -> Result<(), String> {
    let within = |most: u64| match value.parse::<u64>() {
        Ok(n) if (1..=most).contains(&n) => Ok(n),
        _ => Err(format!("a whole number in 1 ..= {most} is needed")),
    };
    let count = || within(CPUS_MAX);
    match key {
        "cpus" => draft.cpus = count()?,
        "hz" => draft.hz = within(HZ_MAX)?,
        "smt" => draft.smt = count()?,
        "sibling_speed" => draft.sibling_speed = part(value)?,
        "capacity" => draft.capacities = Some(each_capacity(value)?),
        "cache" => draft.cache = Some(count()?),
        "node" => draft.node = Some(count()?),
        "first_tick" => draft.first_tick = Some(Span::parse(value)?),
        "worker_every" => draft.worker_every = Some(worker_time(value)?),
        "worker_run" => draft.worker_run = Some(worker_time(value)?),
        "rcu_run" => draft.rcu_run = Some(worker_time(value)?),
        _ => match cost(&mut draft.costs, key) {
            Some(cost) => *cost = Span::parse(value)?,
            None => return Err(format!("there is no such key; {}", suggest(key, KEYS.iter().map(|key| key.name)))),
        },
    }
    Ok(())
}

/// The cost that `key` sets.
fn cost<'a>(costs: &'a mut Costs, key: &str) -> Option<&'a mut Span> {
    Some(match key {
        "switch" => &mut costs.switch,
        "address_space" => &mut costs.address_space,
        "wakeup" => &mut costs.wakeup,
        "tick" => &mut costs.tick,
        "preempt" => &mut costs.preempt,
        "sleep" => &mut costs.sleep,
        "timer" => &mut costs.timer,
        "interrupt" => &mut costs.interrupt,
        "idle_exit" => &mut costs.idle_exit,
        "late_balance" => &mut costs.late_balance,
        "cache_refill" => &mut costs.cache_refill,
        "lock_handover" => &mut costs.lock_handover,
        "migration_smt" => &mut costs.migration[Level::Smt as usize],
        "migration_cache" => &mut costs.migration[Level::Cache as usize],
        "migration_node" => &mut costs.migration[Level::Node as usize],
        "migration_machine" => &mut costs.migration[Level::Machine as usize],
        "search" => &mut costs.effort[Effort::Search as usize],
        "recalculate" => &mut costs.effort[Effort::Recalculate as usize],
        "insert" => &mut costs.effort[Effort::Insert as usize],
        "balance" => &mut costs.effort[Effort::Balance as usize],
        "io_submit" => &mut costs.io.submit,
        "io_page" => &mut costs.io.page,
        "io_complete" => &mut costs.io.complete,
        "io_request" => &mut costs.io.request,
        "io_timer" => &mut costs.io.timer,
        "io_search" => &mut costs.io.effort[Effort::Search as usize],
        "io_recalculate" => &mut costs.io.effort[Effort::Recalculate as usize],
        "io_insert" => &mut costs.io.effort[Effort::Insert as usize],
        _ => return None,
    })
}

/// Capacities as typed: `4x446+4x1024`, or as a list in brackets.
fn each_capacity(value: &str) -> Result<Vec<u32>, String> {
    let of_one = |text: &str| {
        let (count, capacity) = text.trim().split_once('x').unwrap_or(("1", text.trim()));
        let count = count.parse::<u64>().ok().filter(|it| (1..=CPUS_MAX).contains(it))?;
        let capacity = capacity.parse::<u32>().ok().filter(|it| (1..=1024).contains(it))?;
        Some(std::iter::repeat_n(capacity, count as usize))
    };
    let wrong = || "write a capacity in 1 ..= 1024 for each CPU, like 4x446+4x1024".to_string();
    let mut all = Vec::new();
    for part in value.trim_matches(['[', ']']).split(['+', ',']) {
        all.extend(of_one(part).ok_or_else(wrong)?);
        if all.len() as u64 > CPUS_MAX {
            return Err(format!("more than {CPUS_MAX} CPUs are not supported"));
        }
    }
    Ok(all)
}

/// The capacity of each CPU.
fn capacities(draft: &Draft) -> Result<Vec<u32>, String> {
    let Some(typed) = &draft.capacities else { return Ok(vec![1024; draft.cpus as usize]) };
    if typed.len() as u64 != draft.cpus {
        return Err(format!("{} values for {} CPUs; give each CPU one", typed.len(), draft.cpus));
    }
    if !typed.contains(&1024) {
        return Err("no CPU has 1024; the fastest has that, and others a part of it".into());
    }
    if typed.chunks(draft.smt as usize).any(|core| core.iter().any(|it| *it != core[0])) {
        return Err(format!("threads of a core differ; with smt={} each {} CPUs have one", draft.smt, draft.smt));
    }
    Ok(typed.clone())
}

/// Threads of the kernel, if there are any.
fn workers(draft: &Draft, tick: Span) -> Result<Option<Workers>, String> {
    let Some(every) = draft.worker_every else {
        return match draft.worker_run {
            Some(_) => Err("worker_run alone means nothing; give worker_every as well".into()),
            None => Ok(None),
        };
    };
    let run = draft.worker_run.unwrap_or(WORKER_RUN);
    if every < tick {
        return Err(format!("worker_every = {every} is shorter than a tick, {tick}: such a thread wakes after ticks"));
    }
    if run >= every {
        return Err(format!("worker_run = {run} is not shorter than worker_every = {every}"));
    }
    Ok(Some(Workers { every, run }))
}

/// A time of threads of the kernel.
fn worker_time(value: &str) -> Result<Span, String> {
    let time = Span::parse(value)?;
    let is_between = Span::ZERO < time && time <= WORKER_MAX;
    is_between.then_some(time).ok_or_else(|| format!("a time above 0, up to {WORKER_MAX}, is needed"))
}

/// A part of a whole, of 1024.
fn part(value: &str) -> Result<u32, String> {
    match value.parse::<f64>() {
        Ok(part) if (0.01..=1.0).contains(&part) => Ok((part * 1024.0).round() as u32),
        _ => Err("a number in 0.01 ..= 1 is needed".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::CpuId;

    #[test]
    fn every_preset_can_be_parsed() {
        for preset in PRESETS {
            assert_eq!(parse_machine(preset.name).unwrap().name, preset.name);
        }
    }

    #[test]
    fn the_large_server_has_two_nodes_of_eight_caches_of_eight_cores() {
        let machine = parse_machine("epyc-2024").unwrap();
        let sizes = Level::ALL.map(|level| machine.group(CpuId(200), level).len());
        assert_eq!((machine.cpu_count(), sizes), (256, [2, 16, 128, 256]));
    }

    #[test]
    fn an_inline_machine_is_what_it_says() {
        let machine = parse_machine("cpus=4,hz=100,first_tick=863us,smt=2,switch=2us").unwrap();
        assert_eq!((machine.cpu_count(), machine.hz), (4, 100));
        assert_eq!((machine.first_tick, machine.costs.switch), (Span::from_us(863), Span::from_us(2)));
        assert_eq!(machine.group(CpuId(3), Level::Smt), [CpuId(2), CpuId(3)]);
        let workers = parse_machine("cpus=2,worker_every=900ms").unwrap().workers;
        assert_eq!(workers, Some(Workers { every: Span::from_ms(900), run: Span::from_us(30) }));
    }

    #[test]
    fn capacities_are_given_by_group_or_one_by_one() {
        let capacities = |machine: &Machine| machine.cpu_ids().map(|cpu| machine.cpu(cpu).capacity).collect::<Vec<_>>();
        let typed = parse_machine("cpus=4,capacity=2x446+2x1024").unwrap();
        let table = "cpus = 4\ncapacity = [446, 446, 1024, 1024]".parse().unwrap();
        assert_eq!(capacities(&typed), [446, 446, 1024, 1024]);
        assert_eq!(capacities(&from_table("file", &table).unwrap()), capacities(&typed));
        assert!(typed.is_unequal() && !parse_machine("cpus=4").unwrap().is_unequal());
    }

    #[test]
    fn a_machine_that_cannot_be_is_refused_with_a_remedy() {
        for (text, expected) in [
            ("cpus=0", "1 ..= 8192"),
            ("cpus=-1", "1 ..= 8192"),
            ("cpus=99999999", "1 ..= 8192"),
            ("hz=9999999999999999999", "hz = 9999999999999999999: a whole number in 1 ..= 100000"),
            ("cpus=1,cpus=2", "\"cpus\" is given twice, as 1 and as 2"),
            ("cpu=1", "nearest is \"cpus\""),
            ("ideel", "nearest is \"ideal\""),
            ("cpus=1,hz", "KEY=VALUE"),
            ("switch=2", "no unit"),
            ("smt=2,sibling_speed=0", "sibling_speed = 0: a number in 0.01 ..= 1"),
            ("smt=2,sibling_speed=nan", "a number in 0.01 ..= 1"),
            ("cpus=4,capacity=2x446", "capacity: 2 values for 4 CPUs; give each CPU one"),
            ("cpus=2,capacity=446+2000", "write a capacity in 1 ..= 1024 for each CPU, like 4x446+4x1024"),
            ("cpus=2,capacity=99999999x446", "like 4x446+4x1024"),
            ("cpus=2,capacity=2x512", "no CPU has 1024"),
            ("cpus=2,smt=2,capacity=512+1024", "threads of a core differ"),
            ("worker_run=30us", "give worker_every as well"),
            ("worker_every=0", "worker_every = 0: a time above 0, up to 3600s, is needed"),
            ("worker_every=9000h", "up to 3600s"),
            ("worker_every=3ms", "worker_every = 3ms is shorter than a tick, 4ms"),
            ("worker_every=9ms,worker_run=9ms", "worker_run = 9ms is not shorter than worker_every = 9ms"),
            ("late_balance=4ms", "late_balance = 4ms is no shorter than a tick, 4ms"),
            ("missing.toml", "cannot be read"),
        ] {
            let sentence = parse_machine(text).unwrap_err();
            assert!(sentence.contains(expected), "{text}: {sentence}");
        }
    }
}
