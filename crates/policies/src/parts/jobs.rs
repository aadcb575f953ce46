//! Jobs released at wake-ups and run in order of a key from real-time theory; shared by `edf` and `rm`.
//!
//! A late task that does not sleep between two jobs continues with its old key.
//!
//! One queue for the whole machine: on M CPUs the first M jobs run (global scheduling); on a tie the running job stays.
//! Tasks without a reservation run in the background, in turns, and so do POSIX real-time, batch and ISO tasks without
//! one, because the theory has none of these classes. SCHED_IDLE comes last.

use crate::parts::ordered::{Ordered, Places};
use crate::parts::running_cpus::RunningCpus;
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Enqueue, Machine, PerTask, Pick, Reason, Registered, Rejected,
    Resched, Reservation, Seed, Span, Stop, TaskId, Time, Why,
};
use std::cmp::Reverse;
use std::marker::PhantomData;

goodness_core::tunables! {
    pub struct Settings {
        /// Turn of a task in the background, which has no reservation.
        timeslice: Span = Span::from_ms(10), in Span::from_us(1) => Span::from_s(10);
    }
}

/// Keys of tasks without a reservation: behind every time and period there can be.
const BACKGROUND: i64 = i64::MAX - 1;
const LAST: i64 = i64::MAX;

/// Differences between the policies.
pub trait Rule: 'static {
    /// The policy's entry in the registry.
    const ABOUT: About;
    /// The key of a job released at `now`; the least runs.
    fn key(reservation: &Reservation, now: Time) -> i64;
    /// The rule by which a job is ahead of one whose key is greater by this much.
    fn reason(by: Span) -> Reason;
}

/// The jobs of a machine.
#[derive(Debug)]
pub struct Jobs<R> {
    settings: Settings,
    /// Keys of the active jobs.
    keys: PerTask<i64>,
    places: Places,
    queue: Ordered,
    running_cpus: RunningCpus<Reverse<i64>>,
    rule: PhantomData<R>,
}

impl<R: Rule> Registered for Jobs<R> {
    const ABOUT: About = R::ABOUT;
    const HAS_RESERVATIONS: bool = true;
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        Jobs {
            settings,
            keys: PerTask::default(),
            places: Places::default(),
            queue: Ordered::default(),
            running_cpus: RunningCpus::all(machine),
            rule: PhantomData,
        }
    }
}

impl<R: Rule> CpuPolicy for Jobs<R> {
    fn admit(&mut self, _: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.places.reserve(task.index() + 1);
        self.keys.admit(task);
        Ok(())
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        let it = &cx.tasks[task];
        let key = match (&it.reservation, why) {
            (Some(reservation), Enqueue::Fork { .. } | Enqueue::Wakeup { .. }) => R::key(reservation, cx.now),
            (Some(_), _) => self.keys[task],
            (None, _) if it.class == Class::Idle => LAST,
            (None, _) => BACKGROUND,
        };
        self.keys[task] = key;
        self.queue.insert(&mut self.places, cx, task, key);
        let answer = self.running_cpus.claim(cx, cpu, task, Reverse(key));
        if let Resched::Preempt(victim) = answer {
            // The next arrival of this instant must look elsewhere.
            self.running_cpus.revalue(victim, Reverse(key));
        }
        answer
    }

    fn dequeue(&mut self, cx: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.queue.remove(&mut self.places, cx, task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let first = self.queue.take_first_allowed(&mut self.places, cx, cpu);
        self.running_cpus.set(cpu, first.map(|(task, key)| (task, Reverse(key))));
        let (task, key) = first?;
        Some(Pick { task, timeslice: (key >= BACKGROUND).then_some(self.settings.timeslice) })
    }

    fn why(&self, cx: &Context, _: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let ahead = ahead?;
        let (own, other) = (self.keys[ahead], self.keys[waiting]);
        Some(match (own >= BACKGROUND, other >= BACKGROUND) {
            (true, true) if !is_pick => Reason::SliceNotOver,
            _ if own == other => Reason::First,
            (true, true) => Reason::Class { ahead: cx.tasks.class(ahead), waiting: cx.tasks.class(waiting) },
            (false, true) => Reason::Class { ahead: Class::Deadline, waiting: cx.tasks.class(waiting) },
            _ if own > other => return None,
            _ => R::reason(Span(other.saturating_sub(own) as u64)),
        })
    }

    fn charge(&mut self, _: &Context, _: CpuId, _: TaskId, _: Span, _: Stop) -> Resched {
        Resched::Keep
    }
}
