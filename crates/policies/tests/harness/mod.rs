//! Small runs as (who, when) lists, shared by the tests of single policies.
#![allow(dead_code)]

pub mod drawn;

use goodness_core::*;
use goodness_sim::{Options, Outcome, simulate_with};
use std::collections::{BTreeMap, VecDeque};

pub type History = Vec<(Time, Event)>;

pub const MS: fn(u64) -> Span = Span::from_ms;

/// A task of a test, named `a`, `b`, … by its position in the list.
pub fn task(steps: &[Step]) -> TaskSpec {
    let mut steps = VecDeque::from(steps.to_vec());
    spec(Box::new(move |_: &mut StepContext| steps.pop_front().unwrap_or(Step::Exit)))
}

/// A task that repeats its steps forever.
pub fn cycle(steps: &[Step]) -> TaskSpec {
    let steps = steps.to_vec();
    let mut at = 0;
    spec(Box::new(move |_: &mut StepContext| {
        at += 1;
        steps[(at - 1) % steps.len()].clone()
    }))
}

fn spec(behaviour: Box<dyn Behaviour>) -> TaskSpec {
    let task = Task { address_space: Some(0), ..Task::default() };
    TaskSpec { name: String::new(), start: Start::At(Time::ZERO), task, behaviour, judged: true }
}

/// A task that computes forever.
pub fn hog() -> TaskSpec {
    cycle(&[Step::Compute(Span::MAX)])
}

pub fn nice(nice: i64, mut spec: TaskSpec) -> TaskSpec {
    spec.task.nice = Nice::new(nice).expect("nice within -20..=19");
    spec
}

pub fn class(class: Class, priority: u8, mut spec: TaskSpec) -> TaskSpec {
    spec.task.class = class;
    spec.task.rt_priority = priority;
    spec
}

pub fn starting(start: Start, mut spec: TaskSpec) -> TaskSpec {
    spec.start = start;
    spec
}

/// The task on this CPU alone.
pub fn pinned(cpu: u32, mut spec: TaskSpec) -> TaskSpec {
    spec.task.affinity = CpuSet::of(&[CpuId(cpu)]);
    spec.task.first_cpu = CpuId(cpu);
    spec
}

/// One CPU at `hz` without costs.
pub fn one_cpu(hz: u32) -> Machine {
    Machine::flat(1, hz).expect("a machine of one CPU")
}

/// Everything that happens until `until` under policy `P`. Settings are typed as on the command line.
pub fn run<P: Registered>(machine: &Machine, settings: &[(&str, &str)], tasks: Vec<TaskSpec>, until: Span) -> History {
    run_of(&P::ENTRY, machine, settings, tasks, until)
}

/// Like [`run`], under a registered policy.
pub fn run_of(
    policy: &PolicyEntry,
    machine: &Machine,
    settings: &[(&str, &str)],
    tasks: Vec<TaskSpec>,
    until: Span,
) -> History {
    run_in_groups(policy, machine, settings, (Groups::default(), tasks), until)
}

/// Like [`run_of`], with task groups.
pub fn run_in_groups(
    policy: &PolicyEntry,
    machine: &Machine,
    settings: &[(&str, &str)],
    work: (Groups, Vec<TaskSpec>),
    until: Span,
) -> History {
    outcome_in_groups(policy, machine, settings, work, until).0
}

/// Like [`run_in_groups`], with the outcome.
pub fn outcome_in_groups(
    policy: &PolicyEntry,
    machine: &Machine,
    settings: &[(&str, &str)],
    (groups, tasks): (Groups, Vec<TaskSpec>),
    until: Span,
) -> (History, Outcome) {
    let typed: Vec<(String, String)> = settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let options = Options::default();
    let made = (policy.make)(machine, &typed, options.seed).expect("the settings are valid");
    let channels = vec![ChannelKind::Semaphore; 4];
    let work = Workload { tasks, channels, groups, horizon: Some(Time(until.0)), ..Workload::default() };
    let mut history = History::new();
    let outcome = simulate_with(machine, made, work, None, &mut history, options).expect("the run is sound");
    (history, outcome)
}

/// Slices in order of start: CPU, task, from, until. Those beyond the run end with it.
pub fn stretches(history: &History, until: Span) -> Vec<(Time, CpuId, TaskId, Time)> {
    let mut since = BTreeMap::new();
    let mut stretches = Vec::new();
    for (at, event) in history {
        if let Event::Switch { cpu, prev, next, .. } = event {
            if let Some(task) = prev {
                let (_, from) = since.remove(cpu).expect("who leaves a CPU was on it");
                stretches.push((from, *cpu, *task, *at));
            }
            if let Some(task) = next {
                since.insert(*cpu, (*task, *at));
            }
        }
    }
    stretches.extend(since.into_iter().map(|(cpu, (task, from))| (from, cpu, task, Time(until.0))));
    stretches.sort();
    stretches
}

/// `a 0..10  b 10..20` in milliseconds; CPUs other than the first are named.
pub fn schedule_of(history: &History, until: Span) -> String {
    let ms = |time: Time| {
        let text = format!("{}.{:06}", time.0 / 1_000_000, time.0 % 1_000_000);
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    };
    let word = |(from, cpu, task, to): (Time, CpuId, TaskId, Time)| {
        let place = if cpu.0 == 0 { String::new() } else { format!("@{}", cpu.0) };
        format!("{}{place} {}..{}", char::from(b'a' + task.0 as u8), ms(from), ms(to))
    };
    stretches(history, until).into_iter().map(word).collect::<Vec<_>>().join("  ")
}

/// A schedule as text.
pub fn schedule<P: Registered>(hz: u32, settings: &[(&str, &str)], tasks: Vec<TaskSpec>, until: Span) -> String {
    schedule_of(&run::<P>(&one_cpu(hz), settings, tasks, until), until)
}

/// CPU time by task.
pub fn cpu_time(history: &History, until: Span, task: u32) -> Span {
    stretches(history, until).iter().filter(|s| s.2.0 == task).map(|s| s.3 - s.0).fold(Span::ZERO, |a, b| a + b)
}

/// Compares with `tests/golden/<name>.txt`, one stretch a line. With `BLESS` in the environment the file is written:
/// read it before you commit it.
pub fn golden(name: &str, history: &str) {
    let path = format!("{}/tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let history = history.replace("  ", "\n") + "\n";
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &history).expect("the golden file can be written");
    }
    let blessed = std::fs::read_to_string(&path).unwrap_or_else(|why| {
        panic!("{path}: {why}; write it with `BLESS=1 cargo test -p goodness-policies --test textbook`, then read it")
    });
    assert_eq!(blessed, history, "the schedule differs from {path}");
}

/// The textbook case: hogs `a` (nice 0), `b` (nice 0), `c` (nice 10) and `d`, which computes 2 ms and sleeps 38 ms.
pub fn textbook() -> Vec<TaskSpec> {
    vec![hog(), hog(), nice(10, hog()), cycle(&[Step::Compute(MS(2)), Step::Sleep(MS(38))])]
}

/// Works for `runtime` at the beginning of each `period`, in ms.
pub fn periodic(runtime: u64, period: u64) -> TaskSpec {
    let (mut release, mut is_done) = (0, false);
    let mut spec = task(&[]);
    spec.behaviour = Box::new(move |_: &mut StepContext| {
        is_done = !is_done;
        if is_done {
            return Step::Compute(MS(runtime));
        }
        release += period;
        Step::SleepUntil(Time(release * 1_000_000))
    });
    spec
}

/// CPU time of `task` between two times in ms.
pub fn between(history: &History, until: Span, task: u32, from: u64, to: u64) -> u64 {
    let (from, to) = (from * 1_000_000, to * 1_000_000);
    let part = |s: &(Time, CpuId, TaskId, Time)| s.3.0.min(to).saturating_sub(s.0.0.max(from));
    stretches(history, until).iter().filter(|s| s.2.0 == task).map(part).sum()
}

/// Periods of `period` ms up to `until` that did not bring `runtime` ms.
pub fn missed(history: &History, until: Span, task: u32, runtime: u64, period: u64) -> usize {
    let periods = until.0 / 1_000_000 / period;
    (0..periods).filter(|k| between(history, until, task, k * period, (k + 1) * period) < runtime * 1_000_000).count()
}
