//! Highest response ratio next: of the waiting tasks the one with the largest (waiting time + length) / length runs,
//! until it waits or ends.
//!
//! Idea: short tasks go first, as under `sjf`, but the ratio of a long one grows while it waits, so none starves.
//!
//! Source: Stallings, "Operating Systems: Internals and Design Principles", 9th edition, section 9.2. Lengths are told
//! by the work or predicted: `parts/bursts.rs`. Equal ratios run in order of arrival.
//! Inferred: one queue for the whole machine. A task that yields or is taken off waits anew. Classes and nice are
//! ignored.
//! Weakness: every pick looks at all waiting tasks, because ratios change with time.

use crate::parts::bursts::Bursts;
use crate::parts::idle_cpus::IdleCpus;
use goodness_core::{
    About, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Machine, Needs, Pick, Reason, Registered, Rejected,
    Resched, Seed, Span, Stop, TaskId, Time, Why,
};

pub use crate::sjf::Settings;

/// A waiting task.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    task: TaskId,
    since: Time,
    length: Span,
}

impl Waiting {
    /// True if its ratio at `now` is larger than that of `other`: compared as products, without division.
    fn is_ahead_of(&self, other: &Waiting, now: Time) -> bool {
        let product = |it: &Waiting, by: Span| u128::from(now.since(it.since).0) * u128::from(by.0);
        product(self, other.length) > product(other, self.length)
    }

    /// Its ratio at `now` in percent.
    fn ratio(&self, now: Time) -> u64 {
        let whole = (u128::from(now.since(self.since).0) + u128::from(self.length.0)) * 100;
        (whole / u128::from(self.length.0)) as u64
    }
}

/// The waiting tasks in order of arrival.
#[derive(Debug)]
pub struct Hrrn {
    bursts: Bursts,
    waiting: Vec<Waiting>,
    /// The task picked last.
    picked: Option<Waiting>,
    idle: IdleCpus,
}

impl Registered for Hrrn {
    const ABOUT: About = About {
        name: "hrrn",
        summary: "Highest response ratio next: short tasks first, and those that waited long for their length.",
        source: "Stallings, 9th edition, section 9.2",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        Hrrn {
            bursts: Bursts::new(settings.guess, settings.alpha),
            waiting: Vec::new(),
            picked: None,
            idle: IdleCpus::all(machine),
        }
    }
}

impl CpuPolicy for Hrrn {
    fn admit(&mut self, _: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.waiting.reserve((task.index() + 1).saturating_sub(self.waiting.len()));
        self.bursts.admit(task);
        Ok(())
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, _: Enqueue) -> Resched {
        self.waiting.push(Waiting { task, since: cx.now, length: self.bursts.length(cx, task) });
        self.idle.claim(cx, cpu, task)
    }

    fn dequeue(&mut self, cx: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        if let Some(place) = self.waiting.iter().position(|it| it.task == task) {
            cx.examined(Effort::Search, place as u32 + 1);
            self.waiting.remove(place);
        }
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        cx.examined(Effort::Search, self.waiting.len() as u32);
        let allowed = self.waiting.iter().enumerate().filter(|(_, it)| cx.tasks.may_run(it.task, cpu));
        let best = allowed.reduce(|best, it| if it.1.is_ahead_of(best.1, cx.now) { it } else { best });
        let place = best.map(|(place, _)| place);
        self.idle.set(cpu, place.is_none());
        let picked = self.waiting.remove(place?);
        self.picked = Some(picked);
        Some(Pick { task: picked.task, timeslice: None })
    }

    fn why(&self, cx: &Context, _: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let ahead = ahead?;
        if !is_pick {
            return Some(Reason::RunsOn);
        }
        let picked = self.picked.filter(|it| it.task == ahead)?;
        let other = self.waiting.iter().find(|it| it.task == waiting)?;
        let rule = Reason::HigherRatio { ahead: picked.ratio(cx.now), waiting: other.ratio(cx.now) };
        Some(if picked.is_ahead_of(other, cx.now) { rule } else { Reason::First })
    }

    fn charge(&mut self, _: &Context, _: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.bursts.charge(task, ran, why);
        Resched::Keep
    }
}
