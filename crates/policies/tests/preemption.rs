//! Preemption models and spans of kernel code, against specs/groups-locks.md sections 4.1 and 7.

use goodness_core::*;
use goodness_policies::entry;
use goodness_sim::{Options, simulate_with};

const MS: fn(u64) -> Span = Span::from_ms;
const US: fn(u64) -> Span = Span::from_us;

/// A task of one CPU that repeats `steps`; each sleep is up to 30 ms longer, so that it ends at any point of the other
/// tasks' steps.
fn cycle(cpu: u32, steps: &[Step]) -> TaskSpec {
    let (steps, mut at) = (steps.to_vec(), 0);
    let next = move |cx: &mut StepContext| {
        at += 1;
        match &steps[(at - 1) % steps.len()] {
            Step::Sleep(span) => Step::Sleep(*span + Span(cx.rng.below(MS(30).0))),
            step => step.clone(),
        }
    };
    let task = Task { affinity: CpuSet::of(&[CpuId(cpu)]), first_cpu: CpuId(cpu), ..Task::default() };
    let (name, start) = (String::new(), Start::At(Time::ZERO));
    TaskSpec { name, start, task, behaviour: Box::new(next), judged: true }
}

/// Delays from a wake-up of task 0 to its run, sorted. Task 1 runs beside it on CPU 1. A
/// remote wake-up comes from a task on CPU 0, another from the timer of CPU 1.
fn delays(policy: &str, preempt: &str, beside: Step, class: Class, is_remote: bool) -> Vec<Span> {
    let mut machine = Machine::flat(2, 250).unwrap();
    machine.costs.interrupt = US(3);
    let period = Step::Sleep(US(30_000));
    let channel = Channel(0);
    let mut woken = match is_remote {
        true => cycle(1, &[Step::Wait(channel), Step::Compute(US(100))]),
        false => cycle(1, &[period.clone(), Step::Compute(US(100))]),
    };
    (woken.task.class, woken.task.rt_priority) = (class, if class.is_realtime() { 50 } else { 0 });
    // It is the one to run next whenever it wakes.
    (woken.task.nice, woken.task.slice) = (Nice::new(-20).unwrap(), Some(US(100)));
    let mut tasks = vec![woken, cycle(1, &[beside])];
    if is_remote {
        tasks.push(cycle(0, &[period, Step::Compute(US(10)), Step::Wake(channel)]));
    }
    let channels = vec![ChannelKind::Semaphore];
    let work = Workload { tasks, channels, horizon: Some(Time::ZERO + Span::from_s(20)), ..Workload::default() };
    let kernel = if policy == "cfs" { "6.1" } else { "6.18" };
    let typed = [("kernel".to_string(), kernel.to_string()), ("preempt".to_string(), preempt.to_string())];
    let made = (entry(policy).unwrap().make)(&machine, &typed, Seed(1)).unwrap();
    let mut events = Vec::new();
    simulate_with(&machine, made, work, None, &mut events, Options::default()).unwrap();
    let (mut since, mut delays) = (None, Vec::new());
    for (at, event) in events {
        match event {
            Event::Wakeup { task: TaskId(0), .. } => since = Some(at),
            Event::Switch { next: Some(TaskId(0)), .. } => delays.extend(since.take().map(|since| at.since(since))),
            _ => {}
        }
    }
    delays.remove(0);
    delays.sort();
    assert!(delays.len() > 250, "{}", delays.len());
    delays
}

fn mean(delays: &[Span]) -> Span {
    Span(delays.iter().map(|span| span.0).sum::<u64>() / delays.len() as u64)
}

fn most(delays: &[Span]) -> Span {
    *delays.last().unwrap()
}

const USER: Step = Step::Compute(Span::from_s(100));
const LOOP: Step = Step::Kernel(Span::from_ms(30));

/// T-PRE-1: user mode, a wake-up from another CPU.
#[test]
fn a_lazy_wake_up_from_another_cpu_waits_for_the_tick() {
    let of = |preempt| delays("eevdf", preempt, USER, Class::Normal, true);
    let lazy = of("lazy");
    assert!(most(&lazy) <= MS(4) && (US(1_500)..=US(2_500)).contains(&mean(&lazy)), "{}", mean(&lazy));
    for preempt in ["none", "voluntary", "full"] {
        assert!(most(&of(preempt)) <= US(3), "{preempt}: {}", most(&of(preempt)));
    }
}

#[test]
fn a_lazy_wake_up_by_an_interrupt_of_the_same_cpu_preempts_at_its_return() {
    assert_eq!(most(&delays("eevdf", "lazy", USER, Class::Normal, false)), Span::ZERO);
}

/// T-PRE-2.
#[test]
fn a_real_time_task_preempts_user_mode_at_once_in_every_model() {
    for preempt in ["none", "voluntary", "full", "lazy"] {
        for is_remote in [false, true] {
            assert!(most(&delays("eevdf", preempt, USER, Class::Fifo, is_remote)) <= US(3), "{preempt}");
        }
    }
}

/// T-PRE-3: a loop of 30 ms in the kernel, again and again.
#[test]
fn a_loop_in_the_kernel_delays_until_its_end_until_a_tick_or_not_at_all() {
    for is_remote in [false, true] {
        let of = |policy, preempt| delays(policy, preempt, LOOP, Class::Normal, is_remote);
        for (policy, preempt) in [("eevdf", "none"), ("eevdf", "voluntary"), ("cfs", "none")] {
            let none = of(policy, preempt);
            assert!(most(&none) > MS(25) && most(&none) <= MS(30), "{policy} {preempt}: {}", most(&none));
            assert!((MS(12)..=MS(18)).contains(&mean(&none)), "{policy} {preempt}: {}", mean(&none));
        }
        let lazy = of("eevdf", "lazy");
        assert!(most(&lazy) <= MS(4) && mean(&lazy) > MS(1), "{} {}", most(&lazy), mean(&lazy));
        assert!(most(&of("eevdf", "full")) <= US(3));
        assert!(most(&of("cfs", "full")) <= US(3));
    }
}

/// As T-PRE-3, for a task that only `none` keeps waiting.
#[test]
fn a_real_time_task_preempts_the_kernel_at_once_unless_nothing_does() {
    let of = |preempt| most(&delays("eevdf", preempt, LOOP, Class::Fifo, true));
    assert!(of("none") > MS(25));
    assert!(of("lazy") <= US(3) && of("full") <= US(3));
}

#[test]
fn older_kernels_have_no_lazy_model() {
    let machine = Machine::flat(1, 250).unwrap();
    let model = |kernel: &str| {
        let typed = [("kernel".to_string(), kernel.to_string()), ("preempt".to_string(), "lazy".to_string())];
        (entry("eevdf").unwrap().make)(&machine, &typed, Seed(1)).unwrap().policy.preemption()
    };
    assert_eq!((model("6.12"), model("6.15")), (Preemption::Full, Preemption::Lazy));
}
