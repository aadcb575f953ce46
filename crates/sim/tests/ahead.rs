//! Tasks that are loaded ahead of their turn: a hint of the policy, on which no schedule depends.

mod lab;

use goodness_core::*;
use goodness_policies::{fifo::Fifo, rr::RoundRobin};
use goodness_referee::{Choice, Referee};
use goodness_sim::{Options, simulate_with};
use lab::{one_cpu, task, workload};

/// More tasks than a host takes to fit into the caches.
const MANY: usize = 5_000;

/// First come, first served, with hints that name nobody.
struct Misguided(Box<dyn CpuPolicy>);

impl CpuPolicy for Misguided {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.0.admit(cx, task, parent)
    }
    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.0.enqueue(cx, cpu, task, why)
    }
    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.0.dequeue(cx, cpu, task, why);
    }
    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        self.0.pick_next(cx, cpu)
    }
    fn likely_next(&self, _: CpuId, next: &mut [TaskId]) -> usize {
        next.fill(TaskId(u32::MAX));
        next.len() + 1
    }
    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.0.charge(cx, cpu, task, ran, why)
    }
}

struct Log(Vec<(Time, Event)>);

impl Observer for Log {
    fn observe(&mut self, at: Time, event: &Event) {
        self.0.push((at, *event));
    }
}

fn events_under(policy: impl FnOnce(MadePolicy) -> MadePolicy) -> Vec<(Time, Event)> {
    let steps = [Step::Compute(Span::from_us(5)), Step::Sleep(Span::from_us(50)), Step::Compute(Span::from_us(3))];
    let work = workload((0..MANY).map(|_| task(&steps)).collect(), &[], 0);
    let (machine, mut log) = (one_cpu(), Log(Vec::new()));
    let made = policy(MadePolicy::of::<Fifo>(&machine, Default::default(), Seed(1)));
    simulate_with(&machine, made, work, None, &mut log, Options::default()).unwrap();
    log.0
}

#[test]
fn hints_change_no_schedule_even_wrong_ones() {
    let misguided = |made: MadePolicy| MadePolicy { policy: Box::new(Misguided(made.policy)), ..made };
    let (right, wrong) = (events_under(|made| made), events_under(misguided));
    assert!(right.len() > 2 * MANY);
    assert!(right == wrong, "the hints changed a schedule");
}

/// The tasks that `P` announces and then runs, one after the other.
fn announced_and_run<P: Registered>(machine: &Machine) -> (Vec<TaskId>, Vec<TaskId>) {
    let cpu = CpuId(0);
    let mut referee = Referee::new(machine.clone(), MadePolicy::of::<P>(machine, P::Settings::default(), Seed(1)), 9);
    for _ in 0..9 {
        let task = referee.add(Task::default());
        referee.admit(task, None).unwrap();
        let _ = referee.enqueue(task, cpu, Enqueue::Fork { parent: None });
    }
    let announced = referee.likely_next(cpu, &mut [TaskId(99); 4]).to_vec();
    let run = (0..4).map(|_| {
        let Choice::Run { pick, .. } = referee.choose(cpu) else { panic!("nobody was picked") };
        let _ = referee.retire(cpu, Span::from_us(1), Stop::Blocked { interruptible: true });
        pick.task
    });
    let run = run.collect();
    (announced, run)
}

#[test]
fn queues_announce_whom_they_run_next() {
    let (announced, run) = announced_and_run::<RoundRobin>(&one_cpu());
    assert_eq!((announced.len(), announced), (4, run));
    let (announced, run) = announced_and_run::<Fifo>(&one_cpu());
    assert_eq!((announced.len(), announced), (4, run));
}
