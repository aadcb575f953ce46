//! Lottery and stride in the simulator: the shares of specs section 11.

mod harness;

use goodness_core::*;
use goodness_policies::lottery::Lottery;
use goodness_policies::stride::Stride;
use harness::*;

fn tickets(count: u32, mut spec: TaskSpec) -> TaskSpec {
    spec.task.tickets = Some(count);
    spec
}

/// Timeslices of 10 ms that each of two hogs gets in `batches` batches of `draws` draws.
fn drawn(tickets_a: u32, tickets_b: u32, batches: u64, draws: u64) -> Vec<u64> {
    let hogs = vec![tickets(tickets_a, hog()), tickets(tickets_b, hog())];
    let (slice, batch) = (10_000_000, draws * 10_000_000);
    let until = Span(batches * batch);
    let history = run::<Lottery>(&one_cpu(1000), &[("timeslice", "10ms")], hogs, until);
    let mut won = vec![0; batches as usize];
    for (from, _, task, to) in stretches(&history, until) {
        for draw in (from.0..to.0).step_by(slice).filter(|_| task.0 == 0) {
            won[(draw / batch) as usize] += 1;
        }
    }
    won
}

/// specs/cpu-schedulers.md 11 "Lottery": mean n·p, standard deviation √(n·p·(1 − p))
#[test]
fn lottery_wins_have_the_mean_and_the_spread_of_fair_draws() {
    let (batches, n, p) = (400u64, 100u64, 0.25);
    let won = drawn(1, 3, batches, n);
    let mean = won.iter().sum::<u64>() as f64 / batches as f64;
    let spread = (n as f64 * p * (1.0 - p)).sqrt();
    // Four standard errors of the mean of 400 batches.
    assert!((mean - 25.0).abs() < 4.0 * spread / 20.0, "mean {mean}");
    let variance = won.iter().map(|w| (*w as f64 - mean).powi(2)).sum::<f64>() / (batches - 1) as f64;
    // Four standard errors of a standard deviation: s / √(2·400).
    let error = 4.0 / (2.0 * batches as f64).sqrt();
    assert!((variance.sqrt() / spread - 1.0).abs() < error, "deviation {} for {spread}", variance.sqrt());
}

/// specs/cpu-schedulers.md 11 "Lottery": the coefficient of variation √((1 − p)/(n·p)) falls with the root of n
#[test]
fn four_times_as_many_draws_halve_the_relative_error() {
    let variation = |n: u64| {
        let won = drawn(1, 1, 300, n);
        let mean = won.iter().sum::<u64>() as f64 / 300.0;
        let variance = won.iter().map(|w| (*w as f64 - mean).powi(2)).sum::<f64>() / 299.0;
        variance.sqrt() / mean
    };
    for n in [25, 100] {
        let expected = (1.0 / n as f64).sqrt();
        assert!((variation(n) / expected - 1.0).abs() < 4.0 / 600f64.sqrt(), "{n}: {} for {expected}", variation(n));
    }
}

/// specs/cpu-schedulers.md 11 "Lottery": a thread that uses a fraction f of its quantum holds 1/f of its tickets
#[test]
fn compensation_tickets_give_a_task_that_yields_early_its_full_share() {
    let share = |compensation: &str| {
        let brief = cycle(&[Step::Compute(MS(2)), Step::Yield]);
        let settings = [("timeslice", "10ms"), ("compensation", compensation)];
        let until = Span::from_s(60);
        let history = run::<Lottery>(&one_cpu(1000), &settings, vec![brief, hog()], until);
        cpu_time(&history, until, 0).0 as f64 / until.0 as f64
    };
    // Without: 2 ms for each 10 ms of the hog. With: five tickets for one; about 16 000 draws.
    assert!((share("off") - 1.0 / 6.0).abs() < 0.01, "{}", share("off"));
    assert!((share("on") - 0.5).abs() < 0.03, "{}", share("on"));
}

#[test]
fn a_draw_walks_half_of_the_list_on_average() {
    let mut machine = one_cpu(1000);
    machine.costs.effort = [Span(1), Span::ZERO, Span::ZERO, Span::ZERO];
    let until = Span::from_s(100);
    let hogs = (0..99).map(|_| hog()).collect();
    let history = run::<Lottery>(&machine, &[("timeslice", "10ms")], hogs, until);
    let walked = |(_, event): &(Time, Event)| match event {
        Event::Overhead { kind: Overhead::Search, span, .. } => span.0,
        _ => 0,
    };
    let mean = history.iter().map(walked).sum::<u64>() / 10_000;
    // Draws from 1 to 99 are even: their mean is 50, its standard error 0.3.
    assert!((48..=52).contains(&mean), "{mean}");
}

/// specs/cpu-schedulers.md 11 "Stride"
#[test]
fn stride_gives_3_2_1_tickets_exactly_3_2_and_1_of_6_timeslices() {
    let hogs = || vec![tickets(3, hog()), tickets(2, hog()), tickets(1, hog())];
    let history = run::<Stride>(&one_cpu(1000), &[], hogs(), MS(600));
    for round in 1..=10 {
        let until = MS(60 * round);
        let early: History = history.iter().filter(|(at, _)| at.0 < until.0).cloned().collect();
        let used: Vec<Span> = (0..3).map(|task| cpu_time(&early, until, task)).collect();
        assert_eq!(used, [MS(30 * round), MS(20 * round), MS(10 * round)]);
    }
}

/// specs/cpu-schedulers.md 11 "Stride": the error between two clients is at most one quantum at all times
#[test]
fn two_stride_clients_are_never_more_than_a_timeslice_from_their_shares() {
    for (a, b) in [(1, 1), (7, 3), (10, 1), (97, 31)] {
        let until = Span::from_s(5);
        let hogs = vec![tickets(a, hog()), tickets(b, hog())];
        let history = run::<Stride>(&one_cpu(1000), &[], hogs, until);
        let (mut used, mut worst) = (0u64, 0u64);
        for (from, _, task, to) in stretches(&history, until) {
            used += if task.0 == 0 { to.0 - from.0 } else { 0 };
            let ideal = to.0 * u64::from(a) / u64::from(a + b);
            worst = worst.max(used.abs_diff(ideal));
        }
        assert!(worst <= 10_000_000 + 1000, "{a}:{b} is off by {worst} ns");
    }
}

/// specs/cpu-schedulers.md 11 "Stride": leave keeps pass − global, rejoin at global + remain
#[test]
fn a_stride_client_that_leaves_and_comes_back_neither_gains_nor_loses() {
    let until = Span::from_s(20);
    let sleeper = cycle(&[Step::Compute(MS(70)), Step::Sleep(MS(130))]);
    let history = run::<Stride>(&one_cpu(1000), &[], vec![hog(), hog(), sleeper], until);
    // While it sleeps, the others share. When it returns, it does not catch up: the hogs remain equal, and each of its
    // bursts of 70 ms takes about 210 ms.
    let (a, b, c) = (cpu_time(&history, until, 0), cpu_time(&history, until, 1), cpu_time(&history, until, 2));
    assert!(a.0.abs_diff(b.0) <= 10_000_000, "{a} {b}");
    let bursts = c.0 as f64 / 70e6;
    assert!((bursts - 20_000.0 / 340.0).abs() < 2.0, "{bursts} bursts");
}

#[test]
fn partial_timeslices_advance_in_proportion() {
    let until = Span::from_s(6);
    let brief = cycle(&[Step::Compute(MS(2)), Step::Yield]);
    let history = run::<Stride>(&one_cpu(1000), &[], vec![brief, hog()], until);
    let share = cpu_time(&history, until, 0).0 as f64 / until.0 as f64;
    assert!((share - 0.5).abs() < 0.01, "{share}");
}

#[test]
fn nice_is_worth_tickets_where_none_are_given() {
    let until = Span::from_s(18);
    // Nice 0 has 100 tickets, nice 5 has 33.
    let history = run::<Stride>(&one_cpu(1000), &[], vec![hog(), nice(5, hog())], until);
    let share = cpu_time(&history, until, 0).0 as f64 / until.0 as f64;
    assert!((share - 100.0 / 133.0).abs() < 0.002, "{share}");
}

#[test]
fn more_tickets_while_running_change_the_share_at_once() {
    // At nice 0 equal to b; from 10 s of CPU time on 305 tickets for 100.
    let riser =
        task(&[Step::Compute(Span::from_s(10)), Step::SetNice(Nice::new(-5).unwrap()), Step::Compute(Span::MAX)]);
    let until = Span::from_s(40);
    let history = run::<Stride>(&one_cpu(1000), &[], vec![riser, hog()], until);
    let share = (cpu_time(&history, until, 0).0 as f64 - 10e9) / 20e9;
    assert!((share - 305.0 / 405.0).abs() < 0.005, "{share}");
}

#[test]
fn the_textbook_schedules_are_as_blessed() {
    let hogs = || vec![tickets(3, hog()), tickets(2, hog()), tickets(1, hog())];
    golden("lottery", &schedule::<Lottery>(1000, &[("timeslice", "10ms")], hogs(), MS(240)));
    golden("stride", &schedule::<Stride>(1000, &[], hogs(), MS(120)));
}
