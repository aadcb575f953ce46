//! Windows NT 4 in the simulator: the checks of specs section 8, and its textbook schedule.

mod harness;

use goodness_core::*;
use goodness_policies::nt4::Nt4;
use harness::*;

fn at(priority: u8, mut spec: TaskSpec) -> TaskSpec {
    spec.task.priority = Some(priority);
    spec
}

fn of_process(process: u32, mut spec: TaskSpec) -> TaskSpec {
    spec.task.address_space = Some(process);
    spec
}

/// specs/cpu-schedulers.md 8, check (1): 18 units against 6
#[test]
fn a_foreground_hog_has_three_times_the_cpu_of_one_in_the_background() {
    let hogs = || vec![of_process(1, hog()), of_process(2, hog())];
    let shown = "a 0..60  b 60..80  a 80..140  b 140..160";
    assert_eq!(schedule::<Nt4>(100, &[("foreground", "1")], hogs(), MS(160)), shown);
    let shown = "a 0..40  b 40..60  a 60..100";
    assert_eq!(schedule::<Nt4>(100, &[("foreground", "1"), ("separation", "1")], hogs(), MS(100)), shown);
    let server = [("version", "server"), ("foreground", "1")];
    assert_eq!(schedule::<Nt4>(100, &server, hogs(), MS(240)), "a 0..120  b 120..240", "servers stretch nobody");
}

/// specs/cpu-schedulers.md 8 "Quantum": quanta are as long at another HZ of the machine
#[test]
fn quanta_do_not_depend_on_the_machines_tick() {
    for hz in [100, 1000] {
        assert_eq!(schedule::<Nt4>(hz, &[], vec![hog(), hog()], MS(60)), "a 0..20  b 20..40  a 40..60");
    }
    let history = schedule::<Nt4>(1000, &[("clock_interval", "15ms")], vec![hog(), hog()], MS(60));
    assert_eq!(history, "a 0..30  b 30..60");
}

/// specs/cpu-schedulers.md 8, check (3): ready since 0, waiting for more than 3 s at the scan of 4 s
#[test]
fn a_starving_thread_is_rescued_for_two_quanta_after_four_seconds() {
    let until = Span::from_s(9);
    let tasks = || vec![at(8, hog()), at(4, hog())];
    let history = schedule::<Nt4>(100, &[], tasks(), until);
    assert_eq!(history, "a 0..4000  b 4000..4040  a 4040..8000  b 8000..8040  a 8040..9000");
    assert_eq!(schedule::<Nt4>(100, &[("balance_set", "off")], tasks(), until), "a 0..9000");
}

/// specs/cpu-schedulers.md 8, check (4)
#[test]
fn sleep_0_gives_way_to_equals_only() {
    let yielder = || at(8, cycle(&[Step::Compute(MS(1)), Step::Yield]));
    let until = MS(5000);
    let history = run::<Nt4>(&one_cpu(100), &[], vec![yielder(), at(4, hog())], until);
    assert_eq!(stretches(&history, until)[1], (Time(4_000_000_000), CpuId(0), TaskId(1), Time(4_040_000_000)));
    let history = schedule::<Nt4>(100, &[], vec![yielder(), at(8, hog())], MS(41));
    assert_eq!(history, "a 0..1  b 1..20  a 20..21  b 21..40  a 40..41");
}

/// specs/cpu-schedulers.md 8 "SwitchToThread"
#[test]
fn switch_to_thread_gives_way_to_anybody() {
    let yielder = at(8, cycle(&[Step::Compute(MS(1)), Step::Yield]));
    let settings = [("yield_call", "switch-to-thread")];
    let history = schedule::<Nt4>(100, &settings, vec![yielder, at(4, hog())], MS(41));
    assert_eq!(history, "a 0..1  b 1..20  a 20..21  b 21..40  a 40..41");
}

/// specs/cpu-schedulers.md 8 "Structure": real-time threads take turns by quantum and are not rescued from
#[test]
fn real_time_threads_go_before_all_others() {
    let tasks = || vec![class(Class::Fifo, 5, hog()), class(Class::RoundRobin, 5, hog()), hog()];
    assert_eq!(schedule::<Nt4>(100, &[], tasks(), MS(60)), "a 0..20  b 20..40  a 40..60");
    let history = run::<Nt4>(&one_cpu(100), &[], tasks(), Span::from_s(5));
    assert_eq!(cpu_time(&history, Span::from_s(5), 2), Span::ZERO, "15 is below every real-time priority");
}

/// specs/cpu-schedulers.md 8 "SMP": two that wake together displace the two hogs and not one another
#[test]
fn woken_threads_take_the_cpus_of_the_least_urgent() {
    let machine = Machine::flat(2, 100).unwrap();
    let woken = |priority| starting(Start::WokenAt(Time(5_000_000)), at(priority, task(&[Step::Compute(MS(2))])));
    let both = run::<Nt4>(&machine, &[], vec![at(8, hog()), at(9, hog()), woken(10), woken(11)], MS(10));
    let mut began: Vec<u32> = stretches(&both, MS(10)).iter().filter(|s| s.0.0 == 5_000_000).map(|s| s.2.0).collect();
    began.sort_unstable();
    assert_eq!(began, [2, 3], "{}", schedule_of(&both, MS(10)));
    let one = run::<Nt4>(&machine, &[], vec![at(8, hog()), at(10, hog()), woken(9)], MS(10));
    assert_eq!(cpu_time(&one, MS(10), 1), MS(10), "{}", schedule_of(&one, MS(10)));
    assert_eq!((cpu_time(&one, MS(10), 0), cpu_time(&one, MS(10), 2)), (MS(8), MS(2)));
}

#[test]
fn the_textbook_schedule_is_as_blessed() {
    golden("nt4", &schedule::<Nt4>(100, &[], textbook(), MS(450)));
}
