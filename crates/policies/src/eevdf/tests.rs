//! The published checks of specs section 5.7, call by call.

use super::*;
use goodness_core::{Nice, Task, TaskTable};

const MS: i64 = 1_000_000;
const CPU: CpuId = CpuId(0);

/// One CPU with a tick of 1 ms and slices of 3 ms, as in specs section 5.7.
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
            driver.call(|order, cx| order.admit(cx, task));
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
            let it = &mut order.entities[TaskId(task)];
            let slice = 3 * MS as u64;
            *it = Entity { runtime, weight, slice, queued: true, ..Entity::default() };
            it.deadline = runtime + weight.virtual_time(slice);
            order.add(cx, CPU, TaskId(task));
        });
    }

    fn pick(&mut self) -> u32 {
        self.call(|order, cx| order.pick(cx, CPU)).unwrap().0
    }

    /// Runs `count` ticks; the task that runs from each tick on.
    fn ticks(&mut self, count: u64) -> Vec<(u64, u32)> {
        let mut turns = vec![(0, self.pick())];
        for at in 1..=count {
            if self.order.account(CPU, Span::from_ms(1)) {
                let task = self.pick();
                if turns.last().unwrap().1 != task {
                    turns.push((at, task));
                }
            }
        }
        turns
    }

    fn lag(&mut self, task: u32) -> i64 {
        self.order.average(CPU) - self.order.entities[TaskId(task)].runtime
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
    driver.order.entities[TaskId(1)].lag = MS;
    driver.call(|order, cx| order.enqueue(cx, CPU, TaskId(1), Arrival::Wake));
    assert_eq!(driver.order.entities[TaskId(1)].runtime, 8_500_000, "V − 1.5 ms");
    assert_eq!(driver.lag(1), MS);
}

/// Specs section 5.7 (3).
#[test]
fn equal_tasks_take_turns_in_order_of_arrival() {
    let mut driver = VerbDriver::new(4);
    (0..4).for_each(|task| driver.enter(task, 1024, 0));
    let order: Vec<u32> = driver.ticks(23).iter().map(|turn| turn.1).collect();
    assert_eq!(order, [0, 1, 2, 3, 0, 1, 2, 3]);
}

/// Specs section 5.7 (5): nice 0 to +5 turns a lag of −1 ms into −3.06 ms.
#[test]
fn a_change_of_weight_rescales_lag_and_distance_to_the_deadline() {
    let mut driver = VerbDriver::new(1);
    let it = &mut driver.order.entities[TaskId(0)];
    (it.lag, it.deadline, it.relative) = (-MS, 3 * MS, true);
    driver.cx.tasks.edit(TaskId(0), |it| it.nice = Nice::new(5).unwrap());
    driver.call(|order, cx| order.refresh(cx, TaskId(0)));
    let it = &driver.order.entities[TaskId(0)];
    assert_eq!((it.lag / 10_000, it.deadline / 10_000), (-305, 917));
}

/// Specs section 5.7 (6).
#[test]
fn a_task_that_sleeps_in_debt_stays_queued_until_it_would_be_elected() {
    let mut driver = VerbDriver::new(2);
    driver.enter(0, 1024, 0);
    driver.enter(1, 1024, 0);
    assert_eq!(driver.pick(), 0);
    let _ = driver.order.account(CPU, Span::from_ms(2));
    driver.call(|order, cx| order.dequeue(cx, CPU, TaskId(0), Departure::Sleep));
    assert_eq!((driver.order.queued(CPU), driver.order.runnable(CPU)), (2, 1), "2 ms ahead: delayed");
    assert_eq!(driver.pick(), 1);
    let _ = driver.order.account(CPU, Span::from_ms(1));
    let before = driver.order.entities[TaskId(0)].runtime;
    driver.call(|order, cx| order.rewake(cx, CPU, TaskId(0)));
    assert_eq!(driver.order.entities[TaskId(0)].runtime, before, "woken before that: nothing changes");
    driver.order.entities[TaskId(0)].delayed = true;
    driver.order.queues[0].delayed = 1;
    let _ = driver.order.account(CPU, Span::from_ms(4));
    assert_eq!(driver.pick(), 1);
    assert_eq!(driver.order.home(TaskId(0)), None, "elected while asleep: gone");
    assert_eq!(driver.order.entities[TaskId(0)].lag, 0, "and without credit");
}

#[test]
fn a_shorter_slice_ends_the_protection_of_the_running_task() {
    let mut driver = VerbDriver::new(2);
    driver.enter(0, 1024, 0);
    assert_eq!(driver.pick(), 0);
    let _ = driver.order.account(CPU, Span::from_ms(1));
    driver.cx.tasks.edit(TaskId(1), |it| it.slice = Some(Span::from_us(500)));
    let woken = |driver: &mut VerbDriver| {
        driver.call(|order, cx| order.enqueue(cx, CPU, TaskId(1), Arrival::Wake));
        driver.call(|order, cx| order.preempts(cx, CPU, TaskId(1)))
    };
    assert!(woken(&mut driver));
    driver.call(|order, cx| order.dequeue(cx, CPU, TaskId(1), Departure::Gone));
    driver.order.protect(CPU);
    driver.order.rules.preempt_short = false;
    assert!(!woken(&mut driver));
}
