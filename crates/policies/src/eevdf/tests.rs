//! The published checks of specs section 5.7, call by call.

use super::*;
use goodness_core::{Nice, Task, TaskTable};

const MS: i64 = 1_000_000;
const QUEUE: QueueId = QueueId(0);

/// The traits of a task of nice 0.
fn traits() -> Traits {
    Traits { weight: Weight::default(), is_idle: false, slice: None }
}

/// One QUEUE with a tick of 1 ms and slices of 3 ms, as in specs section 5.7.
struct VerbDriver {
    cx: Context,
    order: VirtualDeadlines,
}

impl VerbDriver {
    fn new(tasks: usize) -> VerbDriver {
        let machine = Machine::flat(1, 1000).unwrap();
        let settings = Settings { base_slice: Some(Span::from_ms(3)), ..Settings::default() };
        let order = VirtualDeadlines::new(&machine, &settings);
        let mut driver = VerbDriver { cx: Context::new(machine, TaskTable::default()), order };
        for _ in 0..tasks {
            let task = driver.cx.tasks.push(Task::default());
            driver.call(|order, _| order.admit(EntityId(task.0)));
        }
        driver
    }

    fn call<T>(&mut self, body: impl FnOnce(&mut VirtualDeadlines, &Context) -> T) -> T {
        body(&mut self.order, &self.cx)
    }

    /// Queues a task of any weight at a virtual runtime, with a whole slice before its deadline.
    fn enter(&mut self, task: u32, weight: u64, runtime: i64) {
        self.call(|order, cx| {
            let weight = Weight::of(weight);
            let it = &mut order.entities[EntityId(task)];
            let slice = 3 * MS as u64;
            *it = Entity { runtime, weight, slice, queued: true, ..Entity::default() };
            it.deadline = runtime + weight.virtual_time(slice);
            order.add(cx, QUEUE, EntityId(task));
        });
    }

    fn pick(&mut self) -> u32 {
        self.call(|order, cx| {
            loop {
                let entity = order.elect(cx, QUEUE).unwrap();
                if !order.is_delayed(entity) {
                    order.switch_to(cx, QUEUE, entity);
                    return entity.0;
                }
                order.dequeue(cx, QUEUE, entity, Departure::Gone);
            }
        })
    }

    /// Runs `count` ticks of a little more than 1 ms, so that three of them are more than a slice; the task that runs
    /// from each tick on.
    fn ticks(&mut self, count: u64) -> Vec<(u64, u32)> {
        let mut turns = vec![(0, self.pick())];
        for at in 1..=count {
            if self.order.account(QUEUE, Span(1_000_500)) {
                let task = self.pick();
                if turns.last().unwrap().1 != task {
                    turns.push((at, task));
                }
            }
        }
        turns
    }

    fn lag(&mut self, task: u32) -> i64 {
        self.order.queues[QUEUE.index()].average() - self.order.entities[EntityId(task)].runtime
    }
}

/// Specs section 5.7 (1): A weighs 1024, B 2048.
#[test]
fn the_published_trace_of_two_weights_is_reproduced() {
    let mut driver = VerbDriver::new(2);
    driver.enter(0, 1024, 0);
    driver.enter(1, 2048, 0);
    let expected = [(0, 1), (3, 0), (6, 1), (10, 0), (13, 1), (19, 0), (22, 1), (28, 0), (31, 1)];
    assert_eq!(driver.ticks(31), expected);
}

/// Specs section 5.7 (2).
#[test]
fn the_lag_of_a_newcomer_holds_after_it_joined() {
    let mut driver = VerbDriver::new(2);
    driver.enter(0, 2048, 10 * MS);
    driver.order.entities[EntityId(1)].lag = MS;
    driver.call(|order, cx| order.enqueue(cx, (QUEUE, 0), EntityId(1), traits(), Arrival::Wake));
    assert_eq!(driver.order.entities[EntityId(1)].runtime, 8_500_000, "V − 1.5 ms");
    assert_eq!(driver.lag(1), MS);
}

/// T-SMP-21: a task that another CPU takes. The control is the lag itself: as much from the average as it had, it would
/// have less of it once it joined.
#[test]
fn a_task_that_moves_keeps_its_lag() {
    for (others, lag, from_average) in [(1, MS, -2 * MS), (3, -MS, 1_333_333), (0, MS, 0), (0, -MS, 0)] {
        let mut driver = VerbDriver::new(4);
        (0..others).for_each(|task| driver.enter(task, 1024, 10 * MS));
        let average = driver.order.queues[QUEUE.index()].average();
        driver.order.entities[EntityId(3)].lag = lag;
        driver.call(|order, cx| order.enqueue(cx, (QUEUE, 0), EntityId(3), traits(), Arrival::Move));
        let away = driver.order.entities[EntityId(3)].runtime - average;
        assert!((away - from_average).abs() <= 1, "{others}: {away}");
        if others > 0 {
            assert!((driver.lag(3) - lag).abs() <= 2 && away != -lag, "{others}: {}", driver.lag(3));
        }
    }
}

/// Specs section 5.7 (3).
#[test]
fn equal_tasks_take_turns_in_order_of_arrival() {
    let mut driver = VerbDriver::new(4);
    (0..4).for_each(|task| driver.enter(task, 1024, 0));
    let order: Vec<u32> = driver.ticks(23).iter().map(|turn| turn.1).collect();
    assert_eq!(order, [0, 1, 2, 3, 0, 1, 2, 3]);
}

/// The lag may be as large as the longest slice of the queue and a tick: specs section 5.5.
#[test]
fn the_longest_slice_of_the_queue_limits_the_lag_of_all() {
    let stored = |longest: u64| {
        let mut driver = VerbDriver::new(2);
        driver.enter(0, 1024, 0);
        driver.enter(1, 1024, 40 * MS);
        driver.call(|order, _| order.set_slice(EntityId(1), longest));
        driver.call(|order, cx| order.detach(cx, QUEUE, EntityId(0)));
        driver.order.entities[EntityId(0)].lag
    };
    assert_eq!([3, 10, 50].map(|ms| stored(ms * MS as u64)), [4 * MS, 11 * MS, 20 * MS]);
}

/// Without RUN_TO_PARITY a task is protected for the slice before scaling by the number of CPUs: specs section 5.5.
#[test]
fn without_parity_the_unscaled_slice_is_protected() {
    let protected = |cpus: u32, run_to_parity: bool| {
        let machine = Machine::flat(cpus, 1000).unwrap();
        let settings = Settings { run_to_parity: Some(run_to_parity), ..Settings::default() };
        let mut order = VirtualDeadlines::new(&machine, &settings);
        let mut cx = Context::new(machine, TaskTable::default());
        let task = EntityId(cx.tasks.push(Task::default()).0);
        order.admit(task);
        order.enqueue(&cx, (QUEUE, 0), task, traits(), Arrival::Wake);
        order.switch_to(&cx, QUEUE, task);
        let it = &order.entities[task];
        it.protected - it.runtime
    };
    assert_eq!([1, 2, 8].map(|cpus| protected(cpus, false)), [700_000; 3]);
    assert_eq!([1, 2, 8].map(|cpus| protected(cpus, true)), [700_000, 1_400_000, 2_800_000]);
}

/// Specs section 5.7 (5): nice 0 to +5 turns a lag of −1 ms into −3.06 ms.
#[test]
fn a_change_of_weight_rescales_lag_and_distance_to_the_deadline() {
    let mut driver = VerbDriver::new(1);
    let it = &mut driver.order.entities[EntityId(0)];
    (it.lag, it.deadline, it.relative) = (-MS, 3 * MS, true);
    let weight = Weight::of_task(Class::Normal, Nice::new(5).unwrap(), 3);
    driver.order.refresh(EntityId(0), Traits { weight, ..traits() });
    let it = &driver.order.entities[EntityId(0)];
    assert_eq!((it.lag / 10_000, it.deadline / 10_000), (-305, 917));
}

/// Specs section 5.7 (6).
#[test]
fn a_task_that_sleeps_in_debt_stays_queued_until_it_would_be_elected() {
    let mut driver = VerbDriver::new(2);
    driver.enter(0, 1024, 0);
    driver.enter(1, 1024, 0);
    assert_eq!(driver.pick(), 0);
    let _ = driver.order.account(QUEUE, Span::from_ms(2));
    driver.call(|order, cx| order.dequeue(cx, QUEUE, EntityId(0), Departure::Sleep));
    assert_eq!((driver.order.queued(QUEUE), driver.order.runnable(QUEUE)), (2, 1), "2 ms ahead: delayed");
    assert_eq!(driver.pick(), 1);
    let _ = driver.order.account(QUEUE, Span::from_ms(1));
    let before = driver.order.entities[EntityId(0)].runtime;
    driver.call(|order, cx| order.rewake(cx, QUEUE, EntityId(0), traits()));
    assert_eq!(driver.order.entities[EntityId(0)].runtime, before, "woken before that: nothing changes");
    driver.order.entities[EntityId(0)].delayed = true;
    driver.order.queues[0].delayed = 1;
    let _ = driver.order.account(QUEUE, Span::from_ms(4));
    assert_eq!(driver.pick(), 1);
    assert_eq!(driver.order.home(EntityId(0)), None, "elected while asleep: gone");
    assert_eq!(driver.order.entities[EntityId(0)].lag, 0, "and without credit");
}

#[test]
fn a_shorter_slice_ends_the_protection_of_the_running_task() {
    let mut driver = VerbDriver::new(2);
    driver.enter(0, 1024, 0);
    assert_eq!(driver.pick(), 0);
    let _ = driver.order.account(QUEUE, Span::from_ms(1));
    let short = Traits { slice: Some(500_000), ..traits() };
    let woken = |driver: &mut VerbDriver| {
        driver.call(|order, cx| order.enqueue(cx, (QUEUE, 0), EntityId(1), short, Arrival::Wake));
        driver.call(|order, cx| order.preempts(cx, QUEUE, EntityId(1)))
    };
    assert!(woken(&mut driver));
    driver.call(|order, cx| order.dequeue(cx, QUEUE, EntityId(1), Departure::Gone));
    driver.order.protect(QUEUE);
    driver.order.rules.preempt_short = false;
    assert!(!woken(&mut driver));
}

/// Linux 6.18.33: a fork preempts only with a shorter slice. The control is 6.18 before.
#[test]
fn a_fork_preempts_in_older_kernels_or_with_a_shorter_slice() {
    let mut driver = VerbDriver::new(2);
    driver.enter(0, 1024, 0);
    assert_eq!(driver.pick(), 0);
    driver.enter(1, 1024, 0);
    let mut decides = |forks_preempt: bool, slice: i64, is_fork: bool| {
        driver.order.rules.forks_preempt = forks_preempt;
        driver.order.entities[EntityId(1)].slice = slice as u64;
        driver.order.class_decides(QUEUE, EntityId(1), Class::Normal, is_fork)
    };
    assert_eq!(decides(false, 3 * MS, true), Some(false));
    assert_eq!([decides(false, 2 * MS, true), decides(false, 3 * MS, false), decides(true, 3 * MS, true)], [None; 3]);
}

/// Linux 6.18.33: a task that sleeps but is still queued is removed when a wake-up finds it best, and the woken one is
/// compared with the others. The control is 6.18 before: the sleeper wins, and nobody is preempted.
#[test]
fn a_wakeup_looks_past_tasks_that_sleep_but_are_still_queued() {
    let preempts = |removes: bool| {
        let mut driver = VerbDriver::new(3);
        driver.order.rules.wakeups_remove_delayed = removes;
        driver.enter(0, 1024, 2 * MS);
        assert_eq!(driver.pick(), 0);
        driver.enter(1, 1024, 0);
        driver.enter(2, 1024, -MS);
        driver.order.delay(QUEUE, EntityId(2));
        if let Some(delayed) = driver.call(|order, cx| order.delayed_best(cx, QUEUE, EntityId(1))) {
            assert_eq!(delayed, EntityId(2));
            driver.call(|order, cx| order.dequeue(cx, QUEUE, delayed, Departure::Gone));
        }
        assert_eq!(driver.call(|order, cx| order.delayed_best(cx, QUEUE, EntityId(1))), None);
        driver.call(|order, cx| order.preempts(cx, QUEUE, EntityId(1)))
    };
    assert_eq!([preempts(true), preempts(false)], [true, false]);
}
