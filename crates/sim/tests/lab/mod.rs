//! Small runs as (who, when) lists.
#![allow(dead_code, reason = "each test file uses its part")]

use goodness_core::*;
use goodness_sim::{Options, Outcome, simulate};

/// A behaviour: its steps in order, then exit.
pub fn programme(steps: &[Step]) -> Box<dyn Behaviour> {
    let mut steps = std::collections::VecDeque::from(steps.to_vec());
    Box::new(move |_: &mut StepContext| steps.pop_front().unwrap_or(Step::Exit))
}

/// An initial task, named `a`, `b`, … by its position in the list.
pub fn task(steps: &[Step]) -> TaskSpec {
    TaskSpec {
        name: String::new(),
        start: Start::At(Time::ZERO),
        task: Task::default(),
        behaviour: programme(steps),
        judged: true,
    }
}

/// A task that computes for `ms`, then exits.
pub fn computing(ms: u64) -> TaskSpec {
    task(&[Step::Compute(MS(ms))])
}

/// Work without a horizon; its locks are passed on first come, first served.
pub fn workload(tasks: Vec<TaskSpec>, channels: &[ChannelKind], locks: u32) -> Workload {
    Workload { tasks, channels: channels.to_vec(), locks: vec![LockKind::Fifo; locks as usize], ..Workload::default() }
}

/// Work without a horizon, channels and locks, on a machine with these faults.
pub fn faulty(faults: Vec<MachineFault>, tasks: Vec<TaskSpec>) -> Workload {
    Workload { faults, ..workload(tasks, &[], 0) }
}

/// Events of a run under the policy's default settings, and its end.
pub fn run_by_default<P: Registered>(machine: &Machine, work: Workload) -> (Events, Outcome) {
    run::<P>(machine, P::Settings::default(), work)
}

/// Events of a run, and its end.
pub fn run<P: Registered>(machine: &Machine, settings: P::Settings, work: Workload) -> (Events, Outcome) {
    let mut events = Vec::new();
    let outcome = simulate::<P>(machine, settings, work, &mut events, Options::default()).expect("the run is sound");
    (events, outcome)
}

/// Slices as text: `a 0..10  b 10..20`, in milliseconds, one word per slice; CPUs are named if there are several.
pub fn schedule(events: &[(Time, Event)]) -> String {
    let mut since = std::collections::BTreeMap::new();
    let mut stretches = Vec::new();
    for (at, event) in events {
        if let Event::Switch { cpu, prev, next, .. } = event {
            if let Some(task) = prev {
                let from: Time = since.remove(cpu).unwrap();
                stretches.push((from, *cpu, *task, *at));
            }
            if next.is_some() {
                since.insert(*cpu, *at);
            }
        }
    }
    stretches.sort();
    let name = |task: &TaskId| char::from(b'a' + task.0 as u8);
    let place = |cpu: &CpuId| if cpu.0 == 0 { String::new() } else { format!("@{}", cpu.0) };
    let ms = |time: &Time| Span(time.0).to_string().replace("ms", "");
    stretches
        .iter()
        .map(|(f, c, t, u)| format!("{}{} {}..{}", name(t), place(c), ms(f), ms(u)))
        .collect::<Vec<_>>()
        .join("  ")
}

pub const MS: fn(u64) -> Span = Span::from_ms;
pub const US: fn(u64) -> Span = Span::from_us;

/// The report of a run.
pub type Events = Vec<(Time, Event)>;

/// A task that repeats `steps` for ever.
pub fn cycle(steps: &[Step]) -> TaskSpec {
    let (steps, mut at) = (steps.to_vec(), 0);
    let next = move |_: &mut StepContext| {
        at += 1;
        steps[(at - 1) % steps.len()].clone()
    };
    TaskSpec { behaviour: Box::new(next), ..task(&[]) }
}

/// The task on this CPU alone.
pub fn on(cpu: u32, mut spec: TaskSpec) -> TaskSpec {
    spec.task.affinity = CpuSet::of(&[CpuId(cpu)]);
    spec.task.first_cpu = CpuId(cpu);
    spec
}

/// The task in the class `fifo`.
pub fn realtime(priority: u8, mut spec: TaskSpec) -> TaskSpec {
    (spec.task.class, spec.task.rt_priority) = (Class::Fifo, priority);
    spec
}

/// Two CPUs whose wake-ups reach the other CPU after 50 µs.
pub fn two_cpus() -> Machine {
    let mut machine = Machine::flat(2, 250).unwrap();
    machine.costs.interrupt = US(50);
    machine
}

/// Times at which `task` was served.
pub fn served(events: &Events, task: u32) -> Vec<Time> {
    let of = |event: &Event| matches!(event, Event::Served { task: t, .. } if t.0 == task);
    events.iter().filter(|(_, event)| of(event)).map(|(at, _)| *at).collect()
}

/// CPU time spent spinning.
pub fn spun(events: &Events) -> Span {
    let of = |event: &Event| match event {
        Event::Overhead { kind: Overhead::Spin, span, .. } => span.0,
        _ => 0,
    };
    Span(events.iter().map(|(_, event)| of(event)).sum())
}

/// One CPU at HZ 1000 without costs.
pub fn one_cpu() -> Machine {
    Machine::flat(1, 1000).unwrap()
}
