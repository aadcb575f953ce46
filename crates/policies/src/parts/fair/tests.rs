//! Placement and balancing call by call, on equal CPUs that share a cache unless said otherwise.

use super::balance::Luck;
use super::domains::{Domain, Imbalance};
use super::moves::Moving;
use super::*;
use crate::cfs::Cfs;
use crate::eevdf::{Eevdf, Kernel, Settings};
use crate::parts::verb_driver::VerbDriver;
use goodness_core::{Class, Cpu, CpuSet, Level, Nice, Reservation, Task, WakeSource};
use goodness_referee::Choice;

type Driver = VerbDriver<Eevdf>;

fn driver(cpus: u32, kernel: Kernel) -> Driver {
    VerbDriver::with(cpus, Settings { kernel, ..Settings::default() })
}

fn task(driver: &mut Driver, class: Class, cpus: CpuSet) -> TaskId {
    let rt_priority = if class.is_realtime() { 50 } else { 0 };
    driver.admit_as(Task { class, rt_priority, affinity: cpus, ..Task::default() }, None)
}

/// A new task that runs on `cpu`.
fn run(driver: &mut Driver, cpu: u32, class: Class) -> TaskId {
    let id = task(driver, class, CpuSet::All);
    let _ = driver.enqueue(id, CpuId(cpu), Enqueue::Fork { parent: None });
    assert!(matches!(driver.choose(CpuId(cpu)), Choice::Run { .. }));
    id
}

/// The CPUs that are balanced at a tick of `cpu` and after it. No task moves.
fn balanced(driver: &mut Driver, cpu: u32) -> Vec<CpuId> {
    let mut cpus = Vec::new();
    for idle in [Idle::Busy, Idle::Later] {
        assert_eq!(driver.call(|stack, cx| stack.propose(cx, CpuId(cpu), idle)), None);
        cpus.extend(driver.call(|stack, _| stack.balancer.last_round()).0);
    }
    cpus
}

/// The CPU for `task` if an interrupt on CPU 0 wakes it.
fn place(driver: &mut Driver, task: TaskId) -> u32 {
    let why = Enqueue::Wakeup { waker: None, on: CpuId(0), sync: false, from: WakeSource::Interrupt };
    driver.select_cpu(task, &why).expect("a valid answer").0
}

/// specs/smp.md section 4.4, steps 2 and 4: the CPU used before counts once the previous one is busy, and only then
/// becomes another.
#[test]
fn the_recently_used_cpu_changes_only_if_the_previous_one_is_busy() {
    let mut driver = driver(4, Kernel::V6_18);
    run(&mut driver, 0, Class::Normal);
    let woken = task(&mut driver, Class::Normal, CpuSet::All);
    driver.set_home(woken, CpuId(1));
    driver.call(|stack, _| stack.wakeups.set_recent(woken, CpuId(3)));
    assert_eq!([place(&mut driver, woken), place(&mut driver, woken)], [1, 1]);
    run(&mut driver, 1, Class::Normal);
    assert_eq!(place(&mut driver, woken), 3);
    run(&mut driver, 3, Class::Normal);
    assert_eq!(place(&mut driver, woken), 2, "the search");
    assert_eq!(driver.call(|stack, _| stack.wakeups.recent(woken)), Some(CpuId(1)));
}

/// T-SMP-16: with four CPUs, wide needs four flips of the smaller and four times as many of the larger.
#[test]
fn a_crowd_is_wide_if_both_wake_many_and_one_four_times_as_many() {
    let mut driver = driver(4, Kernel::V6_18);
    let [waker, woken] = [(); 2].map(|()| task(&mut driver, Class::Normal, CpuSet::All));
    for (flips, wide) in [([16, 4], true), ([15, 4], false), ([100, 3], false), ([4, 16], true)] {
        // The first time that it wakes this task counts as one more.
        let others = flips[0] - u32::from(flips == [16, 4]);
        driver.call(|stack, _| (stack.wakeups.set_flips(waker, others), stack.wakeups.set_flips(woken, flips[1])));
        assert_eq!(driver.call(|stack, cx| stack.wakeups.is_wide(cx, waker, woken, 4)), wide, "{flips:?}");
    }
}

/// As read from a kernel: the threads of a program that had 73 flips start with 73 each.
#[test]
fn a_forked_task_has_the_flips_of_its_parent() {
    let mut driver = driver(4, Kernel::V6_18);
    let [parent, other] = [(); 2].map(|()| task(&mut driver, Class::Normal, CpuSet::All));
    driver.call(|stack, _| (stack.wakeups.set_flips(parent, 73), stack.wakeups.set_flips(other, 17)));
    let child = driver.admit_as(Task::default(), Some(parent));
    // 292 are four times the 73 of the child, and 68 four times the 17 of the other one.
    for (task, flips, wide) in [(child, 292, true), (child, 291, false), (other, 68, true), (other, 67, false)] {
        let waker = driver.admit_as(Task::default(), None);
        driver.call(|stack, _| stack.wakeups.set_flips(waker, flips - 1));
        assert_eq!(driver.call(|stack, cx| stack.wakeups.is_wide(cx, waker, task, 4)), wide, "{flips}");
    }
}

/// T-SMP-15: CPUs that the task may not use are not counted. The control is a scan of length 0, as after much work.
#[test]
fn the_scan_counts_cpus_that_the_task_may_use() {
    let mut driver = driver(16, Kernel::V6_18);
    for cpu in 0..15 {
        run(&mut driver, cpu, Class::Normal);
    }
    let woken = task(&mut driver, Class::Normal, CpuSet::of(&[CpuId(0), CpuId(15)]));
    let scan = |driver: &mut Driver, percent: u64| {
        driver.call(|stack, cx| {
            let domain = Domain::around(&cx.machine, CpuId(0)).next().expect("a domain");
            stack.wakeups.set_scan(&cx.machine, CpuId(0), domain, 16 * 1024 * percent / 100);
        });
    };
    scan(&mut driver, 75);
    assert_eq!(place(&mut driver, woken), 15, "the first of three");
    scan(&mut driver, 85);
    assert_eq!(place(&mut driver, woken), 0, "none is looked at");
}

/// specs/smp.md section 4.4: "idle enough".
#[test]
fn a_cpu_that_runs_sched_idle_tasks_alone_counts_as_idle_at_wakeups() {
    let mut driver = driver(2, Kernel::V6_18);
    run(&mut driver, 0, Class::Normal);
    let background = run(&mut driver, 1, Class::Idle);
    let woken = task(&mut driver, Class::Normal, CpuSet::All);
    assert_eq!(place(&mut driver, woken), 1);
    let new = task(&mut driver, Class::Normal, CpuSet::All);
    assert_eq!(driver.select_cpu(new, &Enqueue::Fork { parent: None }), Some(CpuId(1)));
    let other = task(&mut driver, Class::Normal, CpuSet::All);
    let _ = driver.enqueue(other, CpuId(1), Enqueue::Fork { parent: None });
    assert_eq!(place(&mut driver, woken), 0, "{background} is not alone any more");
}

/// T-SMP-17. The control is the same wake-up where CPU 1 has a cache of its own: a waker that sleeps soon pulls.
#[test]
fn a_task_stays_on_its_idle_cpu_beside_its_waker() {
    let chosen = |caches: u32, sync: bool| {
        let cpu = |it| Cpu { core: it, cache: it * (caches - 1), node: 0, capacity: 1024 };
        let machine = Machine::new("caches", vec![cpu(0), cpu(1)], 250).expect("a machine");
        let mut driver = Driver::on(machine, Settings::default());
        let waker = run(&mut driver, 0, Class::Normal);
        let woken = task(&mut driver, Class::Normal, CpuSet::All);
        driver.set_home(woken, CpuId(1));
        driver.call(|stack, _| stack.wakeups.set_flips(woken, 0));
        let why = Enqueue::Wakeup { waker: Some(waker), on: CpuId(0), sync, from: WakeSource::Task };
        driver.select_cpu(woken, &why).map(|it| it.0)
    };
    assert_eq!([chosen(1, false), chosen(1, true)], [Some(1), Some(1)]);
    assert_eq!([chosen(2, false), chosen(2, true)], [Some(1), Some(0)]);
}

/// T-SMP-18: a waker that is about to sleep; and a real-time task that waits behind it.
#[test]
fn a_sync_wakeup_pulls_to_a_cpu_with_no_other_task_of_any_class() {
    let cpu = |it| Cpu { core: it, cache: it, node: 0, capacity: 1024 };
    let machine = Machine::new("two caches", vec![cpu(0), cpu(1)], 250).expect("a machine");
    let mut driver = Driver::on(machine, Settings::default());
    let waker = run(&mut driver, 0, Class::Normal);
    let woken = task(&mut driver, Class::Normal, CpuSet::All);
    driver.set_home(woken, CpuId(1));
    // In a cache of one CPU's own, any two tasks with flips are a wide crowd.
    driver.call(|stack, _| stack.wakeups.set_flips(woken, 0));
    let why = Enqueue::Wakeup { waker: Some(waker), on: CpuId(0), sync: true, from: WakeSource::Task };
    assert_eq!(driver.select_cpu(woken, &why), Some(CpuId(0)));
    let urgent = task(&mut driver, Class::Fifo, CpuSet::All);
    let _ = driver.enqueue(urgent, CpuId(0), Enqueue::Fork { parent: None });
    assert_eq!(driver.select_cpu(woken, &why), Some(CpuId(1)));
}

/// Two tasks on CPU 0, of which one sleeps but is still queued; and what CPU 1, which is idle, may have of them.
fn delayed(kernel: Kernel) -> (Driver, TaskId) {
    let mut driver = driver(2, kernel);
    let sleeper = run(&mut driver, 0, Class::Normal);
    let other = task(&mut driver, Class::Normal, CpuSet::All);
    let _ = driver.enqueue(other, CpuId(0), Enqueue::Fork { parent: None });
    driver.pass(9);
    let _ = driver.retire(CpuId(0), Span::from_ms(9), Stop::Blocked { interruptible: true });
    assert!(matches!(driver.choose(CpuId(0)), Choice::Run { pick, .. } if pick.task == other));
    (driver, sleeper)
}

/// specs/smp.md sections 2.1 and 5: load goes on, runnable and utilisation do not.
#[test]
fn a_task_that_sleeps_but_is_still_queued_has_load() {
    let (mut driver, sleeper) = delayed(Kernel::V6_18);
    let load = |driver: &mut Driver| driver.call(|stack, cx| stack.loads.of_cpu(cx.now, CpuId(0)));
    assert_eq!(driver.call(|stack, _| (stack.tasks(CpuId(0)), stack.fair_tasks(CpuId(0)))), (2, 1));
    assert!(driver.call(|stack, _| stack.loads.is_delayed(sleeper)));
    driver.pass(400);
    let now = load(&mut driver);
    assert!((2_046..=2_048).contains(&now.load) && (1_022..=1_024).contains(&now.runnable), "{now:?}");
    let (mut old, _) = delayed(Kernel::V6_12);
    assert_eq!(old.call(|stack, _| stack.fair_tasks(CpuId(0))), 2);
}

/// specs/smp.md section 9: 6.12 moves such tasks, later kernels only with their load. A CPU that was idle picks again,
/// finds nobody awake and lets the sleeper leave, so that it counts as idle for those that wake.
#[test]
fn a_task_that_sleeps_but_is_still_queued_is_moved_by_old_kernels() {
    for (kernel, home) in [(Kernel::V6_12, None), (Kernel::V6_18, Some(CpuId(0)))] {
        let (mut driver, sleeper) = delayed(kernel);
        // Past the time in which it counts as hot.
        driver.pass(1);
        let pull = driver.call(|stack, cx| {
            let domain = Domain::around(&cx.machine, CpuId(1)).next().expect("a domain");
            let mut moving = stack.look(cx, CpuId(1), domain, true, false)?;
            stack.next_move(cx, &mut moving)
        });
        assert_eq!(pull, None, "the running task stays");
        assert_eq!(driver.call(|stack, _| stack.order.home(sleeper)), home, "{kernel:?}");
        assert!(driver.call(|stack, _| stack.is_idle(CpuId(1))), "{kernel:?}");
    }
}

/// specs/smp.md section 3.3, item 5: CPU 2 cannot have the tasks of CPU 0, which comes first, and takes one of CPU 1.
/// The control has no task there that may move.
#[test]
fn a_queue_of_tasks_that_may_not_run_here_is_dropped_and_another_searched() {
    let pulled = |second: CpuSet| {
        let mut driver = driver(3, Kernel::V6_18);
        for (cpu, affinity) in [(0, CpuSet::of(&[CpuId(0)])), (1, second)] {
            run(&mut driver, cpu, Class::Normal);
            let waiting = task(&mut driver, Class::Normal, affinity);
            let _ = driver.enqueue(waiting, CpuId(cpu), Enqueue::Fork { parent: None });
        }
        driver.pass(400);
        driver.call(|stack, cx| stack.propose(cx, CpuId(2), Idle::Newly)).map(|pull| (pull.from, pull.to))
    };
    assert_eq!(pulled(CpuSet::All), Some((CpuId(1), CpuId(2))));
    assert_eq!(pulled(CpuSet::of(&[CpuId(1)])), None);
}

/// Linux asks whether all tasks are pinned only of queues with more than one: behind a dropped queue, one of a single
/// task is not known to be pinned, and the pass has failed.
#[test]
fn a_queue_of_one_task_is_not_dropped_though_the_one_before_was() {
    let mut driver = driver(3, Kernel::V6_18);
    run(&mut driver, 0, Class::Normal);
    let waiting = task(&mut driver, Class::Normal, CpuSet::of(&[CpuId(0)]));
    let _ = driver.enqueue(waiting, CpuId(0), Enqueue::Fork { parent: None });
    run(&mut driver, 1, Class::Normal);
    driver.pass(400);
    let dropped = driver.call(|stack, cx| {
        let domain = Domain::around(&cx.machine, CpuId(2)).next().expect("a domain");
        let mut moving = Moving::new(domain, CpuId(1), CpuId(2), true, Imbalance::Tasks(1), 1);
        moving.is_any_pinned = true;
        let pull = stack.next_move(cx, &mut moving);
        (pull, moving.is_all_pinned())
    });
    assert_eq!(dropped, (None, false));
}

/// specs/smp.md section 3.7: the time of an idle CPU's next pass counts from its last one, by its short interval.
#[test]
fn a_cpu_that_runs_out_of_work_is_balanced_soon() {
    let mut driver = driver(4, Kernel::V6_18);
    driver.pass(1_000);
    run(&mut driver, 1, Class::Normal);
    let next = |driver: &mut Driver| driver.call(|stack, _| stack.balancer.next_pass(CpuId(1)).0 / 1_000_000);
    assert_eq!(balanced(&mut driver, 1), [CpuId(1)]);
    assert!(next(&mut driver) >= 1_063, "64 or 128 times 1 ms less a tick, as the CPU is busy");
    driver.pass(1);
    assert_eq!(driver.call(|stack, cx| stack.propose(cx, CpuId(1), Idle::Newly)), None);
    assert_eq!(next(&mut driver), 1_008, "T-SMP-2 at HZ 1000: 8 ms after a balanced pass");
}

/// specs/smp.md section 3.6: the first idle CPU balances for the others, and for itself at the end. The next round is
/// due when the first of them is.
#[test]
fn idle_cpus_are_balanced_in_the_kernels_order() {
    let mut driver = driver(4, Kernel::V6_18);
    driver.pass(1_000);
    run(&mut driver, 0, Class::Normal);
    let pinned = task(&mut driver, Class::Normal, CpuSet::of(&[CpuId(0)]));
    let _ = driver.enqueue(pinned, CpuId(0), Enqueue::Fork { parent: None });
    assert_eq!(balanced(&mut driver, 0), [0, 2, 3, 1].map(CpuId));
    let (_, next) = driver.call(|stack, _| stack.balancer.last_round());
    assert_eq!(next, Time(1_004_000_000), "4 ms after passes that moved nothing, not the tick of 1 ms");
}

/// In traces of Linux three of four passes of a CPU come when the others have chosen again at this tick. The control
/// are the passes at the tick.
#[test]
fn three_of_four_passes_of_a_cpu_come_after_its_tick() {
    let mut machine = Machine::flat(2, 1000).expect("a machine");
    machine.costs.late_balance = Span(1);
    let mut driver = Driver::on(machine, Settings { kernel: Kernel::V6_18, ..Settings::default() });
    run(&mut driver, 0, Class::Normal);
    let mut counts = [0; 2];
    for _ in 0..400 {
        driver.pass(200);
        let made = [Idle::Busy, Idle::Later].map(|idle| {
            let _ = driver.call(|stack, cx| stack.propose(cx, CpuId(0), idle));
            driver.call(|stack, _| stack.balancer.last_round()).0.contains(&CpuId(0))
        });
        assert!(made[0] != made[1], "once each time");
        assert!(!driver.call(|stack, _| stack.balances_late(CpuId(0))), "nothing is left");
        counts[usize::from(made[1])] += 1;
    }
    assert!((70..130).contains(&counts[0]), "{counts:?}");
}

/// The machine's `late_balance`: passes for idle CPUs come later than the tick, and count as made at it. The control is
/// a CPU whose tick had no reason for them.
#[test]
fn idle_cpus_are_balanced_later_where_a_machine_has_that_delay() {
    let delay = Span::from_us(60);
    let mut machine = Machine::flat(4, 1000).expect("a machine");
    machine.costs.late_balance = delay;
    let mut driver = Driver::on(machine, Settings { kernel: Kernel::V6_18, ..Settings::default() });
    driver.pass(1_000);
    run(&mut driver, 0, Class::Normal);
    let pinned = task(&mut driver, Class::Normal, CpuSet::of(&[CpuId(0)]));
    let _ = driver.enqueue(pinned, CpuId(0), Enqueue::Fork { parent: None });
    let mut round = |cpu: u32, idle: Idle| {
        assert_eq!(driver.call(|stack, cx| stack.propose(cx, CpuId(cpu), idle)), None);
        let (order, next) = driver.call(|stack, _| stack.balancer.last_round());
        driver.pass_for(if idle == Idle::Busy { delay } else { Span::ZERO });
        (order.iter().map(|cpu| cpu.0).collect::<Vec<_>>(), next)
    };
    let (mut order, next) = round(0, Idle::Busy);
    assert_eq!(next, Time(1_001_000_000));
    assert_eq!(round(3, Idle::Later), (vec![], Time(1_001_000_000)));
    let (late, next) = round(0, Idle::Later);
    order.extend(late);
    assert_eq!((order, next), (vec![0, 2, 3, 1], Time(1_004_000_000)));
    driver.pass_for(Span(1));
    driver.call(|stack, cx| assert_eq!(stack.propose(cx, CpuId(0), Idle::Later), None));
    let (order, _) = driver.call(|stack, _| stack.balancer.last_round());
    assert_eq!(order, [], "they are balanced once");
}

/// specs/smp.md sections 3.1 and 3.2: CPU 1 is not the one that balances its core; its pass is done all the same.
#[test]
fn a_level_that_another_cpu_balances_does_not_stay_due() {
    let cpu = |core| Cpu { core, cache: 0, node: 0, capacity: 1024 };
    let machine = Machine::new("threads", vec![cpu(0), cpu(0), cpu(1), cpu(1)], 250).expect("a machine");
    let mut driver = Driver::on(machine, Settings::default());
    driver.pass(2_000);
    for cpu in 0..4 {
        run(&mut driver, cpu, Class::Normal);
    }
    assert_eq!(balanced(&mut driver, 1), [CpuId(1)]);
    let last = driver.call(|stack, _| Level::ALL.map(|level| stack.balancer.attempt(CpuId(1), level).last));
    assert_eq!(last[..2], [Time(2_000_000_000); 2]);
}

/// specs/smp.md section 1: what real-time tasks use of a CPU is not there for fair ones.
#[test]
fn real_time_tasks_take_capacity() {
    let mut driver = driver(2, Kernel::V6_18);
    run(&mut driver, 0, Class::Fifo);
    let periods = Span(32 * 1_048_576);
    driver.pass_for(periods);
    let capacity = |driver: &mut Driver| driver.call(|stack, cx| stack.loads.of_cpu(cx.now, CpuId(0)).capacity);
    assert_eq!(capacity(&mut driver), 512, "after 32 periods, T-SMP-3");
    driver.stop_after(periods, Stop::Blocked { interruptible: true });
    driver.pass_for(periods);
    assert_eq!(capacity(&mut driver), 769, "half of what was used is forgotten, T-SMP-4");
}

/// The dice of specs/smp.md section 3.7. The control is a kernel without them, which looks each time.
#[test]
fn looks_that_find_nothing_become_rare_where_dice_are_thrown() {
    let looks = |kernel: Kernel| {
        let mut driver = driver(2, kernel);
        run(&mut driver, 0, Class::Normal);
        let pinned = task(&mut driver, Class::Normal, CpuSet::of(&[CpuId(0)]));
        let _ = driver.enqueue(pinned, CpuId(0), Enqueue::Fork { parent: None });
        let mut look = || {
            driver.call(|stack, cx| {
                assert_eq!(stack.propose(cx, CpuId(1), Idle::Newly), None);
            });
            u32::from(driver.take_effort().iter().sum::<u32>() > 0)
        };
        let first: u32 = (0..512).map(|_| look()).sum();
        for _ in 0..4_096 {
            look();
        }
        (first, (0..512).map(|_| look()).sum::<u32>())
    };
    let (first, then) = looks(Kernel::V6_18);
    assert!((200..=312).contains(&first) && then < 30, "{first} and {then} of 512");
    assert_eq!(looks(Kernel::V6_6), (512, 512));
    let mut lucky = Luck::NEW;
    (0..4_096).for_each(|_| lucky.note(Time::ZERO, 2, false));
    let always = |luck: Luck| (0..100).all(|seed| luck.draw(&mut Seed(seed).stream("dice", 0).rng()).is_some());
    assert!(always(lucky));
    // Looks that never succeed, one each 10 ms or 0.5 ms: from 7.x on the rare ones are made all the same.
    let unlucky = |us, by_time| {
        let mut luck = Luck::NEW;
        (0..4_096_u64).for_each(|look| luck.note(Time::ZERO + Span::from_us(us * look), 0, by_time));
        luck
    };
    assert!(always(unlucky(10_000, true)) && !always(unlucky(10_000, false)) && !always(unlucky(500, true)));
}

/// specs/smp.md section 5: the nice value that a task got while it slept counts from its wake-up on.
#[test]
fn a_delayed_task_wakes_with_its_new_weight() {
    let (mut driver, sleeper) = delayed(Kernel::V6_18);
    driver.edit(sleeper, |task| task.nice = Nice::new(-5).expect("a nice"));
    let why = Enqueue::Wakeup { waker: None, on: CpuId(0), sync: false, from: WakeSource::Interrupt };
    let _ = driver.enqueue(sleeper, CpuId(0), why);
    assert_eq!(driver.call(|stack, _| stack.order.weight(sleeper)), 3_121);
    assert_eq!(driver.call(|stack, _| stack.loads.weight(CpuId(0))), 3_121 + 1_024);
}

/// The CPU for a child of `parent`, which runs on `home`.
fn fork(driver: &mut Driver, parent: TaskId, home: u32) -> u32 {
    let child = task(driver, Class::Normal, CpuSet::All);
    driver.set_home(child, CpuId(home));
    driver.select_cpu(child, &Enqueue::Fork { parent: Some(parent) }).expect("a valid answer").0
}

/// T-SMP-20 and specs/smp.md section 4.6: of idle CPUs, the one that was used least; of busy ones, the parent's. The
/// control is a task without a parent, which goes where the weight is least.
#[test]
fn a_child_goes_to_the_idlest_cpu_or_stays() {
    let mut driver = driver(4, Kernel::V6_18);
    let parent = run(&mut driver, 0, Class::Normal);
    let worn = run(&mut driver, 1, Class::Normal);
    driver.pass(40);
    let _ = driver.retire(CpuId(1), Span::from_ms(40), Stop::Blocked { interruptible: true });
    let _ = driver.choose(CpuId(1));
    assert_eq!(fork(&mut driver, parent, 0), 2, "{worn} used CPU 1");
    for cpu in 1..4 {
        run(&mut driver, cpu, Class::Normal);
    }
    driver.pass(400);
    assert_eq!(fork(&mut driver, parent, 0), 0);
    let second = task(&mut driver, Class::Normal, CpuSet::All);
    let _ = driver.enqueue(second, CpuId(0), Enqueue::Fork { parent: None });
    assert_eq!(driver.select_cpu(second, &Enqueue::Fork { parent: None }), Some(CpuId(1)));
}

/// specs/smp.md section 4.6: cores are compared before their threads are, and caches before cores.
#[test]
fn a_child_goes_to_an_idle_core() {
    let cpu = |it: u32| Cpu { core: it / 2, cache: it / 4, node: 0, capacity: 1024 };
    let machine = Machine::new("cores", (0..8).map(cpu).collect(), 250).expect("a machine");
    let mut driver = Driver::on(machine, Settings::default());
    let parent = run(&mut driver, 0, Class::Normal);
    let mut used = vec![0];
    for _ in 1..4 {
        let chosen = fork(&mut driver, parent, 0);
        used.push(chosen);
        run(&mut driver, chosen, Class::Normal);
    }
    let mut cores: Vec<u32> = used.iter().map(|cpu| cpu / 2).collect();
    cores.sort_unstable();
    assert_eq!(cores, [0, 1, 2, 3], "{used:?}");
    assert!(used[1] >= 4, "the other cache has more idle CPUs: {used:?}");
}

/// A real-time task of this priority that waits on CPU 0.
fn urgent(driver: &mut Driver, priority: u8) -> TaskId {
    let id = driver.admit_as(Task { class: Class::Fifo, rt_priority: priority, ..Task::default() }, None);
    let _ = driver.enqueue(id, CpuId(0), Enqueue::Fork { parent: None });
    id
}

/// specs/smp.md section 6.1: a CPU pulls only while tasks wait, so each one counts until it runs or leaves.
#[test]
fn real_time_tasks_count_as_waiting_until_they_run_or_leave() {
    let mut driver = driver(1, Kernel::V6_18);
    let waiting = |driver: &mut Driver| driver.call(|stack, _| stack.urgent.waiting());
    let tasks = [30, 20, 10].map(|priority| urgent(&mut driver, priority));
    assert_eq!(waiting(&mut driver), 3);
    assert!(matches!(driver.choose(CpuId(0)), Choice::Run { .. }));
    assert_eq!(waiting(&mut driver), 2);
    driver.dequeue(tasks[2], Dequeue::Kill);
    assert_eq!(waiting(&mut driver), 1);
    driver.dequeue(tasks[1], Dequeue::Kill);
    assert_eq!(waiting(&mut driver), 0);
}

/// A CPU that has pulled the only task that waited has nobody to push.
#[test]
fn no_push_is_due_after_the_last_waiting_task_was_pulled() {
    let mut driver = driver(2, Kernel::V6_18);
    urgent(&mut driver, 50);
    assert!(matches!(driver.choose(CpuId(0)), Choice::Run { .. }));
    run(&mut driver, 1, Class::Normal);
    let pushed = urgent(&mut driver, 40);
    driver.call(|stack, _| stack.urgent.is_due = false);
    assert!(matches!(driver.choose_again(CpuId(1)), Choice::Run { pick, .. } if pick.task == pushed));
    assert_eq!(driver.call(|stack, _| (stack.urgent.waiting(), stack.urgent.is_due)), (0, false));
}

/// The rule among real-time tasks is priority, then order of arrival; between classes, it is the class.
#[test]
fn a_realtime_task_waits_for_priority_or_arrival_and_a_fair_one_for_the_class() {
    let mut driver = driver(1, Kernel::V6_18);
    let ahead = urgent(&mut driver, 50);
    assert!(matches!(driver.choose(CpuId(0)), Choice::Run { .. }));
    let [equal, lower] = [50, 40].map(|priority| urgent(&mut driver, priority));
    let fair = task(&mut driver, Class::Normal, CpuSet::All);
    let _ = driver.enqueue(fair, CpuId(0), Enqueue::Fork { parent: None });
    let mut rule = |waiting| {
        let why = Why { ahead: Some(ahead), waiting, is_pick: true };
        driver.call(|stack, cx| stack.rule(cx, CpuId(0), why))
    };
    assert_eq!(rule(equal), Some(Reason::First));
    assert_eq!(rule(lower), Some(Reason::Priority { ahead: 50, waiting: 40 }));
    assert_eq!(rule(fair), Some(Reason::Class { ahead: Class::Fifo, waiting: Class::Normal }));
}

/// The hint names what waits, as far as there is room.
#[test]
fn the_tasks_likely_to_run_next_are_those_that_wait() {
    let mut driver = driver(1, Kernel::V6_18);
    run(&mut driver, 0, Class::Normal);
    let waiting = [(); 2].map(|()| {
        let id = task(&mut driver, Class::Normal, CpuSet::All);
        let _ = driver.enqueue(id, CpuId(0), Enqueue::Fork { parent: None });
        id
    });
    let likely = |room: usize| {
        let mut next = driver.likely_next(CpuId(0), &mut vec![TaskId(99); room]).to_vec();
        next.sort();
        next
    };
    assert_eq!(likely(4), waiting);
    assert_eq!(likely(1).len(), 1);
}

/// A tick of CFS ends a slice of 3 ms that is over, one that was preempted lazily, and one that is both.
#[test]
fn a_tick_heeds_the_slice_and_the_lazy_preemption_alike() {
    let answer = |ms: u64, lazily: bool| {
        let mut driver = VerbDriver::<Cfs>::with(1, crate::cfs::Settings::default());
        for _ in 0..2 {
            let id = driver.admit(0);
            let _ = driver.fork(id, None);
        }
        assert!(matches!(driver.choose(CpuId(0)), Choice::Run { .. }));
        driver.call(|stack, _| stack.cpus[0].resched_at_tick = lazily);
        driver.set_now(Time(ms * 1_000_000));
        driver.tick(CpuId(0), Span::from_ms(ms))
    };
    let asked = [(1, false), (1, true), (5, false), (5, true)].map(|(ms, lazily)| answer(ms, lazily).is_some());
    assert_eq!(asked, [false, true, true, true]);
}

/// Among tasks with reservations, what runs is less urgent if its deadline is later (specs/cpu-schedulers.md 11).
#[test]
fn a_reservation_is_placed_where_the_deadline_is_later() {
    let mut driver = driver(2, Kernel::V6_18);
    let mut reserve = |ms: u64, cpu: u32| {
        let (runtime, deadline) = (Span::from_ms(1), Span::from_ms(ms));
        let reservation = Some(Reservation { runtime, deadline, period: deadline });
        let id = driver.admit_as(Task { class: Class::Deadline, reservation, ..Task::default() }, None);
        let _ = driver.enqueue(id, CpuId(cpu), Enqueue::Fork { parent: None });
        if ms == 100 {
            assert!(matches!(driver.choose(CpuId(cpu)), Choice::Run { .. }));
        }
        id
    };
    let [_, _, sooner, later] = [(100, 0), (100, 1), (10, 0), (200, 0)].map(|(ms, cpu)| reserve(ms, cpu));
    let mut placement =
        |id| driver.call(|stack, cx| stack.placement(cx, id, CpuId(0), &Enqueue::Fork { parent: None }));
    assert_eq!(placement(sooner), Some(Placement::LessUrgent));
    assert_eq!(placement(later), Some(Placement::NoneLessUrgent));
}
