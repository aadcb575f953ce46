//! Linux 2.0, 2.2 and 2.4: the checkable numbers of specs section 1, and their textbook schedules.

mod harness;

use goodness_core::*;
use goodness_policies::linux_2_0::Linux20;
use goodness_policies::linux_2_2::Linux22;
use goodness_policies::linux_2_4::Linux24;
use harness::*;

/// A machine that charges one nanosecond for each element of effort, so that effort shows in the history.
fn counting(cpus: u32, hz: u32) -> Machine {
    let mut machine = Machine::flat(cpus, hz).unwrap();
    machine.costs.effort = [Span(1); 4];
    machine
}

/// Elements of one kind, by decision.
fn effort(history: &History, wanted: Overhead) -> Vec<u64> {
    let of = |event: &Event| match event {
        Event::Overhead { kind, span, .. } if *kind == wanted => Some(span.0),
        _ => None,
    };
    history.iter().filter_map(|(_, event)| of(event)).collect()
}

fn switches(history: &History) -> usize {
    history.iter().filter(|(_, e)| matches!(e, Event::Switch { prev: Some(_), next: Some(_), .. })).count()
}

/// specs/cpu-schedulers.md 1.7 (3)
#[test]
fn two_hogs_run_21_ticks_each_in_2_0_and_2_2_and_6_in_2_4() {
    let hogs = || vec![hog(), hog()];
    let shown = "a 0..210  b 210..420  a 420..630  b 630..840";
    assert_eq!(schedule::<Linux20>(100, &[], hogs(), MS(840)), shown);
    // 2.2 queues at the head, and after a recalculation keeps the task it asked first: the one that ran.
    let shown = "b 0..210  a 210..630  b 630..840";
    assert_eq!(schedule::<Linux22>(100, &[], hogs(), MS(840)), shown);
    let shown = "a 0..60  b 60..180  a 180..300  b 300..360";
    assert_eq!(schedule::<Linux24>(100, &[], hogs(), MS(360)), shown);
}

/// specs/cpu-schedulers.md 1.7 (3): "a trace that shows 20 instead of 21 has the ≤0 test of 2.4"
#[test]
fn the_tick_test_is_a_switch() {
    let shown = "a 0..200  b 200..400";
    assert_eq!(schedule::<Linux20>(100, &[("tick_test", "zero")], vec![hog(), hog()], MS(400)), shown);
}

fn yielders(count: usize) -> Vec<TaskSpec> {
    (0..count).map(|_| cycle(&[Step::Compute(Span::from_us(10)), Step::Yield])).collect()
}

/// specs/cpu-schedulers.md 1.7 (4)
#[test]
fn forty_yielders_recalculate_every_40th_switch_in_2_0_and_touch_all_tasks() {
    let mut tasks = yielders(40);
    tasks.extend((0..7).map(|_| starting(Start::WokenAt(Time(u64::MAX / 2)), hog())));
    let history = run::<Linux20>(&counting(1, 100), &[], tasks, MS(9));
    let recalculations = effort(&history, Overhead::Recalculate);
    assert!(recalculations.len() >= 15, "{}", recalculations.len());
    assert!(recalculations.iter().all(|touched| *touched == 47));
    let per = switches(&history) / recalculations.len();
    assert!((40..=41).contains(&per), "{} switches for {} recalculations", switches(&history), recalculations.len());
}

/// specs/cpu-schedulers.md 1.7 (4)
#[test]
fn yielders_rotate_without_recalculation_in_2_2_and_2_4() {
    for history in [
        run::<Linux22>(&counting(1, 100), &[], yielders(5), MS(9)),
        run::<Linux24>(&counting(1, 100), &[], yielders(5), MS(9)),
    ] {
        assert_eq!(effort(&history, Overhead::Recalculate), []);
        let order: Vec<u32> = stretches(&history, MS(9)).iter().map(|s| s.2.0).collect();
        assert!(order.len() > 500);
        assert!(order.windows(6).all(|w| w[0] == w[5]), "{order:?}");
    }
}

/// specs/cpu-schedulers.md 1.6: one spinning yielder makes every yield of 2.2 recalculate
#[test]
fn a_lone_yielder_recalculates_each_time_in_2_2_and_never_in_2_4() {
    let history = run::<Linux22>(&counting(1, 100), &[], yielders(1), MS(1));
    assert!(effort(&history, Overhead::Recalculate).len() > 90);
    let history = run::<Linux24>(&counting(1, 100), &[], yielders(1), MS(1));
    assert_eq!(effort(&history, Overhead::Recalculate), []);
}

/// specs/cpu-schedulers.md 1.7 (6)
#[test]
fn a_shared_address_space_wins_over_the_place_on_the_list() {
    // c blocks at 5 ms while a and b wait with equal counters; b is nearer to the head.
    let sharing = |space_of_a: u32, settings: &[(&str, &str)]| {
        let mut tasks = vec![hog(), hog(), task(&[Step::Compute(MS(5)), Step::Sleep(MS(400))])];
        tasks[0].task.address_space = Some(space_of_a);
        tasks[1].task.address_space = Some(8);
        tasks[2].task.address_space = Some(7);
        schedule::<Linux22>(100, settings, tasks, MS(50))
    };
    assert_eq!(sharing(9, &[]), "c 0..5  b 5..50");
    assert_eq!(sharing(7, &[]), "c 0..5  a 5..50");
    assert_eq!(sharing(7, &[("mm_bonus", "0")]), "c 0..5  b 5..50");
}

/// specs/cpu-schedulers.md 1.7 (7)
#[test]
fn an_election_weighs_each_runnable_task_that_runs_nowhere_else() {
    let hogs = |n: usize| (0..n).map(|_| hog()).collect();
    for n in [1, 5, 23] {
        let history = run::<Linux22>(&counting(1, 100), &[], hogs(n), MS(400));
        assert!(effort(&history, Overhead::Search).iter().all(|weighed| *weighed == n as u64));
    }
    // Four CPUs, six tasks: an election weighs the one that yields and the two that wait. (At first the CPUs wait for
    // each other at the lock, which counts as search.)
    let periods = [97, 101, 103, 107, 109, 113];
    let tasks = periods.map(|us| cycle(&[Step::Compute(Span::from_us(us)), Step::Yield]));
    let history = run::<Linux22>(&counting(4, 1), &[], tasks.into(), MS(5));
    let weighed = effort(&history, Overhead::Search).split_off(10);
    assert!(weighed.len() > 150 && weighed.iter().all(|w| *w == 3), "{weighed:?}");
}

/// specs/cpu-schedulers.md 1.4 step 5: 2.4 searches again after a recalculation
#[test]
fn a_recalculation_of_2_4_costs_a_second_search() {
    let history = run::<Linux24>(&counting(1, 100), &[], vec![hog(), hog()], MS(130));
    assert_eq!(effort(&history, Overhead::Search), [2, 2, 4]);
    assert_eq!(effort(&history, Overhead::Recalculate), [2]);
    let history = run::<Linux24>(&counting(1, 100), &[("rescan", "off")], vec![hog(), hog()], MS(130));
    assert_eq!(effort(&history, Overhead::Search), [2, 2, 2]);
}

/// specs/cpu-schedulers.md 1.5: 2.0 forfeits the slice, so the yielder waits for an epoch's end
#[test]
fn a_yield_forfeits_the_slice_in_2_0_and_one_election_in_2_2() {
    let tasks = || vec![cycle(&[Step::Compute(MS(1)), Step::Yield]), hog()];
    assert_eq!(schedule::<Linux20>(100, &[], tasks(), MS(300)), "a 0..1  b 1..300");
    // 2.2: at 211 ms a's weight is 0 for its yield and b's for its counter; a, asked first, goes on.
    assert_eq!(schedule::<Linux22>(100, &[], tasks(), MS(300)), "b 0..210  a 210..212  b 212..300");
    // 2.4: at 61 ms b's 0 beats a's −1.
    assert_eq!(schedule::<Linux24>(100, &[], tasks(), MS(120)), "a 0..1  b 1..60  a 60..61  b 61..120");
}

/// specs/cpu-schedulers.md 1.5 "Preempt check (UP)": counter of the woken > counter of the running + 3
#[test]
fn a_wake_up_preempts_from_four_ticks_more_on() {
    // b is woken when a has run for some ticks; both began with 20.
    let woken_at = |ms: u64| vec![hog(), starting(Start::WokenAt(Time(ms * 1_000_000)), task(&[Step::Compute(MS(1))]))];
    assert_eq!(schedule::<Linux22>(100, &[], woken_at(35), MS(60)), "a 0..60");
    assert_eq!(schedule::<Linux22>(100, &[], woken_at(45), MS(60)), "a 0..45  b 45..46  a 46..60");
    let shown = "a 0..15  b 15..16  a 16..60";
    assert_eq!(schedule::<Linux22>(100, &[("wake_threshold", "0")], woken_at(15), MS(60)), shown);
    // 2.4 compares goodness: one tick more is enough, as both share an address space.
    assert_eq!(schedule::<Linux24>(100, &[], woken_at(5), MS(40)), "a 0..40");
    assert_eq!(schedule::<Linux24>(100, &[], woken_at(15), MS(40)), "a 0..15  b 15..16  a 16..40");
}

/// specs/cpu-schedulers.md 1.5 "Fork": 2.2 gives both ⌊c/2⌋; 2.4 the child ⌈c/2⌉
#[test]
fn a_fork_splits_what_the_parent_has_left() {
    let tasks = || {
        let parent = task(&[Step::Compute(MS(35)), Step::Fork(BehaviourId(1)), Step::Compute(Span::MAX)]);
        vec![parent, starting(Start::Forked, hog())]
    };
    // At 35 ms the parent has 17 of 20 ticks: 8 and 8 in 2.2. At the tick 40 ms it begins to use its own 8.
    assert_eq!(schedule::<Linux22>(100, &[], tasks(), MS(210)), "a 0..120  b 120..210");
    // 2.4: 3 of 6 ticks left: child 2, parent 1: the child's goodness is greater, so it runs at once.
    assert_eq!(schedule::<Linux24>(100, &[], tasks(), MS(65)), "a 0..35  b 35..50  a 50..65");
}

/// specs/cpu-schedulers.md 1.5 "Exit": 2.4 returns what the child did not use of its first slice
#[test]
fn the_rest_of_a_child_goes_back_to_its_parent_in_2_4() {
    let tasks = || {
        let parent = task(&[Step::Compute(MS(35)), Step::Fork(BehaviourId(1)), Step::Compute(Span::MAX)]);
        vec![parent, starting(Start::Forked, task(&[Step::Compute(MS(1))])), nice(19, hog())]
    };
    // Parent 1 + child 2 = 3 ticks: until the tick at 60 ms.
    assert_eq!(schedule::<Linux24>(100, &[], tasks(), MS(70)), "a 0..35  b 35..36  a 36..60  c 60..70");
}

/// specs/cpu-schedulers.md 1.5 "RT"
#[test]
fn real_time_tasks_go_before_all_others_and_round_robin_takes_turns() {
    let rr = || class(Class::RoundRobin, 5, hog());
    let shown = "b 0..210  c 210..420  b 420..500";
    assert_eq!(schedule::<Linux20>(100, &[], vec![hog(), rr(), rr()], MS(500)), shown);
    let fifo = class(Class::Fifo, 6, starting(Start::WokenAt(Time(50_000_000)), task(&[Step::Compute(MS(300))])));
    let shown = "b 0..50  c 50..350  b 350..500";
    assert_eq!(schedule::<Linux20>(100, &[], vec![hog(), rr(), fifo], MS(500)), shown);
}

/// specs/cpu-schedulers.md 1.5 "Preempt check (SMP 2.4)": (1) the last CPU if idle, (2) the one idle for longest
#[test]
fn a_woken_task_of_2_4_goes_to_its_last_cpu_or_to_the_one_idle_for_longest() {
    let on = |cpu: u32, mut spec: TaskSpec| {
        spec.task.affinity = CpuSet::of(&[CpuId(cpu)]);
        spec.task.first_cpu = CpuId(cpu);
        spec
    };
    let from = |cpu: u32, mut spec: TaskSpec| {
        spec.task.first_cpu = CpuId(cpu);
        spec
    };
    let machine = Machine::flat(4, 100).unwrap();
    let tasks = vec![
        on(0, hog()),
        on(1, task(&[Step::Compute(MS(9))])),
        on(2, task(&[Step::Compute(MS(3))])),
        on(3, task(&[Step::Compute(MS(6))])),
        from(0, starting(Start::WokenAt(Time(12_000_000)), task(&[Step::Compute(MS(1))]))),
        from(3, starting(Start::WokenAt(Time(12_000_000)), task(&[Step::Compute(MS(1))]))),
    ];
    let shown = "a 0..15  b@1 0..9  c@2 0..3  d@3 0..6  e@2 12..13  f@3 12..13";
    assert_eq!(schedule_of(&run::<Linux24>(&machine, &[], tasks, MS(15)), MS(15)), shown);
}

/// specs/cpu-schedulers.md 1.3: the processor change penalty holds a task where it ran
#[test]
fn a_task_goes_elsewhere_only_for_more_than_the_penalty() {
    let work = || {
        let mut tasks: Vec<TaskSpec> = (0..3).map(|_| hog()).collect();
        tasks.extend((0..2).map(|_| cycle(&[Step::Compute(MS(3)), Step::Sleep(MS(11))])));
        tasks
    };
    let machine = Machine::flat(2, 100).unwrap();
    let moves = |penalty: &str| {
        let history = run::<Linux24>(&machine, &[("proc_change_penalty", penalty)], work(), Span::from_s(5));
        history.iter().filter(|(_, event)| matches!(event, Event::Migrate { .. })).count()
    };
    assert!(moves("15") < moves("0"), "{} {}", moves("15"), moves("0"));
}

#[test]
fn the_textbook_schedules_are_as_blessed() {
    golden("linux-2.0", &schedule::<Linux20>(100, &[], textbook(), MS(1000)));
    golden("linux-2.2", &schedule::<Linux22>(100, &[], textbook(), MS(1000)));
    golden("linux-2.4", &schedule::<Linux24>(100, &[], textbook(), MS(400)));
}
