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
    delays_beside(policy, preempt, vec![cycle(1, &[beside])], class, is_remote)
}

fn delays_beside(policy: &str, preempt: &str, beside: Vec<TaskSpec>, class: Class, is_remote: bool) -> Vec<Span> {
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
    let mut tasks = vec![woken];
    tasks.extend(beside);
    if is_remote {
        tasks.push(cycle(0, &[period, Step::Compute(US(10)), Step::Wake(channel)]));
    }
    let channels = vec![ChannelKind::Semaphore; 2];
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

/// specs/groups-locks.md section 4.1: it acts at the next return to user mode, from a system call or an interrupt. The
/// control is a step in user mode.
#[test]
fn a_lazy_wake_up_from_another_cpu_ends_with_a_system_call_or_an_interrupt() {
    let unheard = Step::WakeAll(Channel(1));
    let of = |beside: Vec<TaskSpec>| delays_beside("eevdf", "lazy", beside, Class::Normal, true);
    let calling = |call: Step| vec![cycle(1, &[Step::Compute(US(500)), call])];
    for call in [unheard, Step::Kernel(Span::ZERO)] {
        let delays = of(calling(call));
        assert!(most(&delays) <= US(500) && (US(150)..=US(350)).contains(&mean(&delays)), "{}", mean(&delays));
    }
    let user = of(calling(Step::Served(Time::ZERO)));
    assert!(mean(&user) > MS(1), "{}", mean(&user));
    // A timer on that CPU goes off each millisecond or so, for a task that hardly runs.
    let mut short = cycle(1, &[]);
    let mut is_awake = false;
    short.task.nice = Nice::new(19).unwrap();
    short.behaviour = Box::new(move |_: &mut StepContext| {
        is_awake = !is_awake;
        if is_awake { Step::Compute(US(1)) } else { Step::Sleep(MS(1)) }
    });
    let interrupted = of(vec![cycle(1, &[USER]), short]);
    assert!(mean(&interrupted) < US(1_200), "{}", mean(&interrupted));
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

/// When a task that wakes at 1.001 ms has the CPU of another one, which goes on with `steps` at 1 ms, and when that one
/// is through them.
fn beside_a_section(setting: &str, steps: &[Step], class: Class) -> (Span, Span) {
    let mut steps = [&[Step::Compute(MS(1))], steps, &[Step::Served(Time::ZERO), Step::Compute(MS(1))]].concat();
    steps.reverse();
    let next = move |_: &mut StepContext| steps.pop().unwrap_or(Step::Exit);
    let runner = TaskSpec { behaviour: Box::new(next), ..cycle(0, &[]) };
    let mut step = 0;
    let next = move |_: &mut StepContext| {
        step += 1;
        [Step::SleepUntil(Time(1_001_000)), Step::Compute(US(10)), Step::Exit][step - 1].clone()
    };
    let mut woken = TaskSpec { behaviour: Box::new(next), ..cycle(0, &[]) };
    (woken.task.class, woken.task.rt_priority) = (class, if class.is_realtime() { 50 } else { 0 });
    (woken.task.nice, woken.task.slice) = (Nice::new(-20).unwrap(), Some(US(100)));
    let (machine, mut events) = (Machine::flat(1, 250).unwrap(), Vec::new());
    let words = setting.split(',').filter_map(|it| it.split_once('='));
    let typed: Vec<_> = words.map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let made = (entry("eevdf").unwrap().make)(&machine, &typed, Seed(1)).unwrap();
    let work = Workload { tasks: vec![woken, runner], ..Workload::default() };
    simulate_with(&machine, made, work, None, &mut events, Options::default()).unwrap();
    let first = |of: &dyn Fn(&Event) -> bool| {
        let found = events.iter().find(|(at, event)| at.0 > 0 && of(event)).expect("it is reported");
        found.0.since(Time(1_000_000))
    };
    let runs = first(&|event| matches!(event, Event::Switch { next: Some(TaskId(0)), .. }));
    (runs, first(&|event| matches!(event, Event::Served { .. })))
}

fn section(length: u64) -> [Step; 3] {
    [Step::BeginCritical, Step::Compute(US(length)), Step::EndCritical]
}

/// T-PRE-4. The request comes 1 µs after the begin of the section, and the woken task runs for 10 µs.
#[test]
fn a_critical_section_completes_within_the_extension_or_is_cut_at_its_end() {
    let on = "kernel=7.2,slice_extension=5us";
    for class in [Class::Normal, Class::Fifo] {
        for preempt in ["none", "voluntary", "full", "lazy"] {
            let of = |length| beside_a_section(&format!("{on},preempt={preempt}"), &section(length), class);
            assert_eq!(of(3), (US(3), US(13)), "it completes; the yield comes 2 us after the request");
            assert_eq!(of(20).0, US(6), "it is cut after 5 us");
            assert_eq!(of(20).1, US(30), "the rest comes later");
        }
    }
    for off in ["kernel=7.2", "kernel=6.18,slice_extension=5us"] {
        assert_eq!(beside_a_section(off, &section(3), Class::Normal), (US(1), US(13)), "{off}");
    }
    assert_eq!(beside_a_section(on, &[Step::Compute(US(20))], Class::Normal).0, US(1), "no section");
    let longer = "kernel=7.2,slice_extension=50us";
    assert_eq!(beside_a_section(longer, &section(20), Class::Normal).0, US(20), "with 50 us it completes");
}

#[test]
fn a_system_call_ends_the_extension_before_it_begins() {
    let on = |preempt: &str| format!("kernel=7.2,slice_extension=5us,preempt={preempt}");
    let call = [Step::BeginCritical, Step::Compute(US(2)), Step::Kernel(US(100)), Step::EndCritical];
    for preempt in ["none", "full", "lazy"] {
        assert_eq!(beside_a_section(&on(preempt), &call, Class::Normal), (US(2), US(112)), "{preempt}");
    }
    // Steps in user mode do not end it.
    let user =
        [Step::BeginCritical, Step::Compute(US(2)), Step::Served(Time::ZERO), Step::Compute(US(2)), Step::EndCritical];
    assert_eq!(beside_a_section(&on("full"), &user, Class::Normal).0, US(4));
    // In the kernel nothing is extended, and what waits there does not wait for the section.
    let inside = [Step::BeginCritical, Step::Kernel(US(20)), Step::Compute(US(4)), Step::EndCritical];
    assert_eq!(beside_a_section(&on("full"), &inside, Class::Normal).0, US(1));
}
