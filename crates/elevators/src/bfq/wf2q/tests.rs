//! Turns and virtual times, call by call.

use super::*;

/// Queues of best effort with these weights and a budget of 100 sectors each, all active.
fn filled(weights: &[u64]) -> Schedule {
    let mut schedule = Schedule::new(&[]);
    schedule.reserve(weights.len());
    for (queue, weight) in (0..).zip(weights) {
        schedule.want(queue, 1, *weight);
        schedule.apply(queue);
        schedule[queue].budget = 100;
        schedule.activate(queue, Return::Late);
    }
    schedule
}

/// Serves the next queue for its whole budget.
fn turn(schedule: &mut Schedule) -> u32 {
    let queue = schedule.serve_next(Time::ZERO).expect("somebody is active");
    schedule.served(queue, 100);
    schedule.requeue(queue);
    queue
}

#[test]
fn queues_with_requests_are_served_in_proportion_to_their_weights_at_all_times() {
    let mut schedule = filled(&[80, 10]);
    let turns: Vec<u32> = (0..90).map(|_| turn(&mut schedule)).collect();
    for (n, _) in turns.iter().enumerate() {
        let ones = turns[..=n].iter().filter(|queue| **queue == 1).count();
        assert!(ones.abs_diff((n + 1) / 9) <= 1, "{ones} of {}", n + 1);
    }
    assert_eq!(turns.iter().filter(|queue| **queue == 1).count(), 10);
}

#[test]
fn a_heavy_queue_does_not_run_ahead_of_its_share() {
    // Plain WFQ would give the first queue its next turns at once, as its finishes are the smallest of all.
    let mut schedule = filled(&[50, 10, 10, 10, 10, 10]);
    let turns: Vec<u32> = (0..10).map(|_| turn(&mut schedule)).collect();
    assert_eq!(turns.iter().filter(|queue| **queue == 0).count(), 5);
    assert!(turns.windows(2).all(|pair| pair[0] != pair[1]), "{turns:?}");
}

#[test]
fn nobody_gains_by_leaving_and_coming_back() {
    let mut schedule = filled(&[10, 10]);
    assert_eq!(schedule.serve_next(Time::ZERO), Some(0));
    schedule.served(0, 100);
    schedule.deactivate(0);
    schedule.activate(0, Return::Late);
    assert_eq!(turn(&mut schedule), 1);
    assert_eq!(turn(&mut schedule), 0);
}

#[test]
fn who_comes_back_in_time_begins_where_it_ended() {
    for (how, next) in [(Return::InTime { raised: 1 }, 0), (Return::Late, 1)] {
        let mut schedule = filled(&[10, 10, 10]);
        assert_eq!(schedule.serve_next(Time::ZERO), Some(0));
        schedule.served(0, 10);
        schedule.deactivate(0);
        for queue in [1, 2, 1, 2] {
            assert_eq!(turn(&mut schedule), queue);
        }
        let (v, finish) = (schedule.levels[0].classes[1].now, schedule[0].finish);
        assert!(finish < v);
        schedule[0].service = 0;
        schedule.activate(0, how);
        assert!(schedule[0].finish >= v, "pushed up to the virtual time");
        assert_eq!(turn(&mut schedule), next);
    }
}

#[test]
fn classes_precede_each_other_but_idle_gets_a_turn_after_200_ms_without() {
    let mut schedule = filled(&[10, 10, 10]);
    for (queue, class) in [(0, 0), (2, IDLE)] {
        schedule.deactivate(queue);
        schedule.want(queue, class, 10);
        schedule.activate(queue, Return::Late);
    }
    let mut at = |ms| {
        let queue = schedule.serve_next(Time(Span::from_ms(ms).0)).expect("somebody is active");
        schedule.served(queue, 100);
        schedule.requeue(queue);
        queue
    };
    assert_eq!([0, 200, 201, 202, 401, 402].map(&mut at), [0, 0, 2, 0, 0, 2]);
}

#[test]
fn a_weight_changed_during_service_counts_from_the_next_sector() {
    let mut schedule = filled(&[10, 10]);
    let first = schedule.serve_next(Time::ZERO).expect("two are active");
    schedule.want(first, 1, 30);
    schedule.apply(first);
    let before = schedule.levels[0].classes[1].now;
    schedule.served(first, 100);
    assert_eq!(schedule.levels[0].classes[1].now - before, 100 * SECTOR / 40);
}
