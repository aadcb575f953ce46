//! Costs of the host's own work: the charged CPU, and the reported events.

mod lab;

use goodness_core::*;
use goodness_policies::{eevdf::Eevdf, fifo::Fifo, o1::O1, rr::RoundRobin};
use lab::{MS, US, on, one_cpu, run, schedule, task, workload};

/// `cpus` CPUs that share a cache, and these costs.
fn machine(cpus: u32, costs: Costs) -> Machine {
    let mut machine = Machine::flat(cpus, 100).unwrap();
    machine.costs = costs;
    machine
}

/// Reported overhead of this kind.
fn spent(events: &[(Time, Event)], kind: Overhead) -> Span {
    let of_kind = events.iter().filter_map(|(_, event)| match event {
        Event::Overhead { kind: told, span, .. } if *told == kind => Some(*span),
        _ => None,
    });
    of_kind.fold(Span::ZERO, |sum, span| sum + span)
}

#[test]
fn costs_delay_work_and_are_told_to_the_observer() {
    let mut machine = one_cpu();
    machine.costs.switch = Span::from_us(5);
    let work = workload(vec![task(&[Step::Compute(MS(2))]), task(&[Step::Compute(MS(1))])], &[], 0);
    let (events, outcome) = run::<Fifo>(&machine, Default::default(), work);
    assert_eq!(outcome.end, Time(3_010_000));
    let spent: u64 =
        events.iter().filter_map(|(_, e)| if let Event::Overhead { span, .. } = e { Some(span.0) } else { None }).sum();
    assert_eq!(spent, 10_000);
}

#[test]
fn an_idle_cpu_takes_its_time_to_wake_up() {
    let machine = machine(1, Costs { idle_exit: MS(1), ..Costs::default() });
    let work = workload(vec![task(&[Step::Compute(MS(1)), Step::Sleep(MS(4)), Step::Compute(MS(1))])], &[], 0);
    let (events, _) = run::<Fifo>(&machine, Default::default(), work);
    assert_eq!(schedule(&events), "a 1..2  a 7..8");
}

/// `a` waits on CPU 0 until `b`, on CPU 1, wakes it after 3 ms and computes 3 ms more.
fn waiter_and_waker(costs: Costs) -> (Vec<(Time, Event)>, String) {
    let pinned = |cpu, steps: &[Step]| {
        let mut spec = task(steps);
        spec.task.affinity = CpuSet::of(&[CpuId(cpu)]);
        spec.task.first_cpu = CpuId(cpu);
        spec
    };
    let a = pinned(0, &[Step::Wait(Channel(0)), Step::Compute(MS(2))]);
    let b = pinned(1, &[Step::Compute(MS(3)), Step::Wake(Channel(0)), Step::Compute(MS(3))]);
    let work = workload(vec![a, b], &[ChannelKind::Semaphore], 0);
    let (events, _) = run::<Fifo>(&machine(2, costs), Default::default(), work);
    let told = schedule(&events);
    (events, told)
}

#[test]
fn another_cpu_reacts_after_an_interrupt_and_its_own_does_at_once() {
    let (_, told) = waiter_and_waker(Costs { interrupt: MS(1), ..Costs::default() });
    assert_eq!(told, "a 0..0  b@1 0..6  a 4..6");
}

#[test]
fn the_waker_pays_for_a_wake_up() {
    let (events, told) = waiter_and_waker(Costs { wakeup: MS(1), ..Costs::default() });
    assert_eq!(told, "a 0..0  b@1 0..7  a 3..5");
    assert_eq!(spent(&events, Overhead::Wakeup), MS(1), "nobody pays for the starts");
}

#[test]
fn a_tick_takes_time_from_the_task_it_interrupts() {
    let machine = machine(1, Costs { tick: MS(1), ..Costs::default() });
    let work = workload(vec![task(&[Step::Compute(MS(25))])], &[], 0);
    let (events, _) = run::<O1>(&machine, Default::default(), work);
    assert_eq!(schedule(&events), "a 0..27", "ticks at 10 and 20 ms");
    assert_eq!(spent(&events, Overhead::Tick), MS(2));
}

#[test]
fn caches_are_cold_after_another_task_and_warm_after_a_pause() {
    let machine = machine(1, Costs { cache_refill: MS(1), ..Costs::default() });
    let work = || vec![task(&[Step::Compute(MS(15))]), task(&[Step::Compute(MS(10))])];
    let (events, _) = run::<RoundRobin>(&machine, Default::default(), workload(work(), &[], 0));
    assert_eq!(schedule(&events), "a 0..10  b 10..20  a 20..26", "first stretches find nothing to refill");
    assert_eq!(spent(&events, Overhead::Refill), MS(1));
    let alone = vec![task(&[Step::Compute(MS(1)), Step::Sleep(MS(4)), Step::Compute(MS(1))])];
    let (events, _) = run::<Fifo>(&machine, Default::default(), workload(alone, &[], 0));
    assert_eq!(schedule(&events), "a 0..1  a 5..6");
}

#[test]
fn a_move_costs_by_distance() {
    let cpus = [0, 0, 1].map(|node| Cpu { core: 0, cache: node, node, capacity: 1024 });
    let cpus: Vec<Cpu> = cpus.into_iter().enumerate().map(|(i, cpu)| Cpu { core: i as u32, ..cpu }).collect();
    let mut machine = Machine::new("two nodes", cpus, 100).unwrap();
    machine.costs.migration[Level::Cache as usize] = MS(1);
    machine.costs.migration[Level::Machine as usize] = MS(3);
    let to = |cpu| Step::SetAffinity(CpuSet::of(&[CpuId(cpu)]));
    let steps = [Step::Compute(MS(2)), to(1), Step::Compute(MS(2)), to(2), Step::Compute(MS(2))];
    let (events, _) = run::<Fifo>(&machine, Default::default(), workload(vec![task(&steps)], &[], 0));
    assert_eq!(schedule(&events), "a 0..2  a@1 2..5  a@2 5..10");
}

#[test]
fn who_passes_a_contended_lock_on_pays_for_it() {
    let holder = |before: u64| {
        let lock = [Step::Compute(MS(before)), Step::Lock(LockId(0)), Step::Compute(MS(5)), Step::Unlock(LockId(0))];
        task(&[&lock[..], &[Step::Compute(MS(1))]].concat())
    };
    let machine = machine(2, Costs { lock_handover: MS(2), ..Costs::default() });
    let (events, _) = run::<Fifo>(&machine, Default::default(), workload(vec![holder(1), holder(2)], &[], 1));
    assert_eq!(schedule(&events), "a 0..9  b@1 0..2  b@1 6..12", "the last one passes it to nobody");
}

#[test]
fn deciding_takes_time_and_one_lock_lets_only_one_cpu_decide() {
    let mut costs = Costs::default();
    costs.effort[Effort::Search as usize] = MS(1);
    let work = workload(vec![task(&[Step::Compute(MS(2))]), task(&[Step::Compute(MS(2))])], &[], 0);
    let (events, _) = run::<Fifo>(&machine(2, costs), Default::default(), work);
    assert_eq!(schedule(&events), "a 0..3  b@1 0..4", "the second CPU waits a millisecond for the lock");
    assert_eq!((spent(&events, Overhead::Search), spent(&events, Overhead::Lock)), (MS(2), MS(1)));
}

#[test]
fn a_call_to_sleep_takes_time_while_its_timer_runs() {
    let sleeps = |nap| {
        let machine = machine(1, Costs { sleep: MS(1), ..Costs::default() });
        let steps = [Step::Compute(MS(2)), Step::Sleep(nap), Step::Compute(MS(1))];
        let (events, _) = run::<Fifo>(&machine, Default::default(), workload(vec![task(&steps)], &[], 0));
        assert_eq!(spent(&events, Overhead::Switch), MS(1));
        schedule(&events)
    };
    assert_eq!(sleeps(MS(5)), "a 0..3  a 7..8");
    assert_eq!(sleeps(Span::from_us(500)), "a 0..4", "the timer expired before the task was switched out");
}

#[test]
fn a_burst_goes_on_through_a_timer_interrupt_but_does_not_end_within() {
    let beside = |burst| {
        let machine = machine(1, Costs { timer: MS(1), ..Costs::default() });
        let sleeper = task(&[Step::Sleep(MS(4)), Step::Compute(MS(1))]);
        let work = workload(vec![sleeper, task(&[Step::Compute(burst)])], &[], 0);
        let (events, _) = run::<Fifo>(&machine, Default::default(), work);
        (schedule(&events), spent(&events, Overhead::Tick))
    };
    let late = Span::from_us(500);
    assert_eq!(beside(MS(4) + late), ("a 0..0  b 0..5  a 5..6".into(), late), "what the burst did not use");
    assert_eq!(beside(MS(6)), ("a 0..0  b 0..6  a 6..7".into(), Span::ZERO));
}

#[test]
fn a_timer_interrupt_puts_a_switch_off() {
    let machine = machine(1, Costs { timer: MS(1), switch: MS(2), ..Costs::default() });
    let work = workload(vec![task(&[Step::Sleep(MS(1))]), task(&[Step::Compute(MS(2))])], &[], 0);
    let (events, _) = run::<Fifo>(&machine, Default::default(), work);
    assert_eq!(schedule(&events), "a 0..2  b 2..7  a 7..9", "b is being switched in at 3, when the timer expires");
}

/// `a`, the most urgent, sleeps 1 ms before each of these bursts of 1 ms; `b` computes for as long as it takes.
fn urgent_sleeper_and_hog(costs: Costs, bursts: usize, hog: Span) -> String {
    let mut a = task(&vec![[Step::Sleep(MS(1)), Step::Compute(MS(1))]; bursts].concat());
    a.task.nice = Nice::new(-20).expect("in range");
    let work = workload(vec![a, task(&[Step::Compute(hog)])], &[], 0);
    let (events, outcome) = run::<O1>(&machine(1, costs), Default::default(), work);
    let overhead = Overhead::ALL.iter().fold(Span::ZERO, |sum, kind| sum + spent(&events, *kind));
    assert_eq!(outcome.end, Time::ZERO + hog + MS(bursts as u64) + overhead, "all overhead takes its time");
    schedule(&events)
}

#[test]
fn a_cpu_that_switches_is_preempted_when_it_has_switched() {
    let told = urgent_sleeper_and_hog(Costs { switch: MS(2), ..Costs::default() }, 1, MS(5));
    assert_eq!(told, "a 0..2  b 2..4  a 4..7  b 7..14", "b is being switched in at 3, when a wakes up");
}

#[test]
fn what_is_left_of_a_refill_delays_the_next_task() {
    let told = urgent_sleeper_and_hog(Costs { cache_refill: MS(2), ..Costs::default() }, 2, MS(10));
    assert_eq!(told, "a 0..0  b 0..1  a 1..4  b 4..5  a 5..9  b 9..20", "b still refills at 5, when a wakes up");
}

/// `a` computes on CPU 0 until `b`, which is more urgent and may run there alone, takes it from 9 to 59 ms. At a tick
/// CPU 1 pulls `a`.
fn pulled(costs: Costs) -> String {
    let a = task(&[Step::Compute(MS(10))]);
    let mut b = on(0, task(&[Step::Sleep(MS(9)), Step::Compute(MS(50))]));
    (b.task.class, b.task.rt_priority) = (Class::Fifo, 1);
    let (events, _) = run::<Eevdf>(&machine(2, costs), Default::default(), workload(vec![a, b], &[], 0));
    schedule(&events)
}

#[test]
fn idle_cpus_are_balanced_after_the_tick_if_that_takes_time() {
    assert_eq!(pulled(Costs::default()), "a 0..9  b 0..0  b 9..59  a@1 20..21");
    let later = pulled(Costs { late_balance: US(60), ..Costs::default() });
    assert_eq!(later, "a 0..9  b 0..0  b 9..59  a@1 20.06..21.06");
}

#[test]
fn a_call_to_sleep_takes_its_time_beyond_the_end_of_a_slice() {
    let machine = machine(1, Costs { sleep: MS(3), ..Costs::default() });
    let work = workload(vec![task(&[Step::Compute(MS(8)), Step::Sleep(MS(9)), Step::Compute(MS(1))])], &[], 0);
    let (events, _) = run::<RoundRobin>(&machine, Default::default(), work);
    assert_eq!(schedule(&events), "a 0..11  a 17..18", "the slice ends at 10");
}

/// `a` ends at 4 ms. Ticks are 10 ms apart, so the threads wake at 10, 30, 40, 50 and 70 ms, the third one pinned.
#[test]
fn threads_of_the_kernel_follow_the_end_of_a_task() {
    let names = |events: &[(Time, Event)]| {
        let runs = events.iter().filter_map(|(at, event)| match event {
            Event::Switch { next: Some(TaskId(thread)), .. } if *thread > 1 => Some((at.0 / 1_000_000, *thread)),
            _ => None,
        });
        runs.collect::<Vec<_>>()
    };
    let machine = machine(2, Costs::default());
    let (hog, ends) = (task(&[Step::Compute(MS(120))]), on(1, task(&[Step::Compute(MS(4))])));
    let thread = |cpus: CpuSet| {
        let mut spec = task(&[]);
        (spec.start, spec.judged, spec.task.affinity) = (Start::WokenAt(Time::NEVER), false, cpus);
        let mut has_run = false;
        spec.behaviour = Box::new(move |_: &mut StepContext| {
            has_run = !has_run;
            if has_run { Step::Compute(US(10)) } else { Step::SleepUntil(Time::NEVER) }
        });
        spec
    };
    let threads = [CpuSet::All, CpuSet::of(&[CpuId(0)]), CpuSet::of(&[CpuId(1)])].map(thread);
    let mut work = workload([hog, ends].into_iter().chain(threads).collect(), &[], 0);
    (work.workers, work.reapers) = (3, 3);
    let (events, outcome) = run::<Eevdf>(&machine, Default::default(), work);
    assert_eq!(names(&events), [(10, 2), (30, 2), (40, 4), (50, 2), (70, 2)]);
    assert_eq!(outcome.end, Time::ZERO + MS(120), "the hog's end; what would follow does not happen");
}
