//! SCHED_DEADLINE of Linux: each task has a server with a budget and a deadline (constant bandwidth server, `cbs.rs`),
//! so that no overrun harms another task; the earliest deadline runs. `reclaim=on` is SCHED_FLAG_RECLAIM for all, which
//! in Linux each task asks for.
//!
//! Source: specs section 11.
//! Inferred and departed from: a task with a reservation is a deadline task unless its class is a real-time one;
//! SCHED_DEADLINE without a reservation counts as normal. One queue for the machine stands for the kernel's queues with
//! push and pull. Budgets end by a timer, and are looked at on ticks; Linux by default only does the latter.
//! Beneath: SCHED_FIFO and SCHED_RR (100 ms) by priority, without the throttle that `cfs` and `eevdf` have; then all
//! ordinary tasks in turns of `timeslice`, whatever their nice; SCHED_IDLE last. All share the ordered queue.
//! Weakness: a throttled task waits though CPUs idle; on several CPUs deadlines are met with bounded lateness only.

use crate::parts::cbs::Servers;
use crate::parts::ordered::{Ordered, Places};
use crate::parts::running_cpus::RunningCpus;
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Enqueue, Machine, Needs, PerTask, Pick, Reason, Registered,
    Rejected, Resched, Reservation, Seed, Span, Stop, Task, TaskId, Time, Why,
};
use std::cmp::Reverse;

goodness_core::tunables! {
    pub struct Settings {
        /// Let deadline tasks use bandwidth that others leave (GRUB, SCHED_FLAG_RECLAIM).
        reclaim: bool = false;
        /// Turn of an ordinary task.
        timeslice: Span = Span::from_ms(10), in Span::from_us(1) => Span::from_s(10);
    }
}

/// Turn of SCHED_RR.
const RR_SLICE: Span = Span::from_ms(100);

/// Key of the best real-time priority, behind all deadlines. Lower priorities have larger keys.
const REALTIME: i64 = i64::MAX - 200;
const ORDINARY: i64 = i64::MAX - 1;
const IDLE: i64 = i64::MAX;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    Queued,
    /// Runnable, but without budget.
    Throttled,
}

/// The state of the policy.
#[derive(Debug)]
pub struct Deadline {
    settings: Settings,
    servers: Servers,
    waiting: PerTask<Place>,
    places: Places,
    queue: Ordered,
    running_cpus: RunningCpus<Reverse<i64>>,
}

impl Registered for Deadline {
    const ABOUT: About = About {
        name: "deadline",
        summary: "SCHED_DEADLINE: constant bandwidth servers with admission above real-time and ordinary tasks.",
        source: "Linux SCHED_DEADLINE; Abeni and Buttazzo 1998; specs section 11",
        needs: Needs { tick: true, timer: true, balance: false, global_lock: true },
    };
    const HAS_RESERVATIONS: bool = true;
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        Deadline {
            servers: Servers::new(machine.cpu_count(), settings.reclaim, false),
            settings,
            waiting: PerTask::default(),
            places: Places::default(),
            queue: Ordered::default(),
            running_cpus: RunningCpus::all(machine),
        }
    }
}

impl CpuPolicy for Deadline {
    fn admit(&mut self, cx: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.places.reserve(task.index() + 1);
        self.waiting.admit(task);
        self.servers.admit(task, cx.tasks[task].reservation.as_ref())
    }

    fn exit(&mut self, cx: &Context, task: TaskId) {
        self.servers.exit(cx, task);
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        let it = &cx.tasks[task];
        let Some(reservation) = reservation_of(it) else {
            self.servers.leave(task);
            let first = why == Enqueue::Preempted && it.class.is_realtime();
            return self.queue(cx, cpu, task, ordinary_key(it), first);
        };
        let wakes = matches!(why, Enqueue::Fork { .. } | Enqueue::Wakeup { .. });
        if !self.servers.arrive(cx, task, reservation, wakes) {
            self.waiting[task] = Place::Throttled;
            return Resched::Keep;
        }
        let key = self.servers.deadline(task).0 as i64;
        self.queue(cx, cpu, task, key, false)
    }

    fn dequeue(&mut self, cx: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        if std::mem::take(&mut self.waiting[task]) == Place::Queued {
            self.queue.remove(&mut self.places, cx, task);
        }
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let first = self.queue.take_first_allowed(&mut self.places, cx, cpu);
        self.running_cpus.set(cpu, first.map(|(task, key)| (task, Reverse(key))));
        let (task, _) = first?;
        self.waiting[task] = Place::Nowhere;
        let it = &cx.tasks[task];
        let timeslice = match it.class {
            _ if reservation_of(it).is_some() => Some(self.servers.lasts(task)),
            Class::Fifo => None,
            Class::RoundRobin => Some(RR_SLICE),
            _ => Some(self.settings.timeslice),
        };
        Some(Pick { task, timeslice })
    }

    fn why(&self, cx: &Context, _: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        if self.waiting[waiting] == Place::Throttled {
            return Some(Reason::Throttled { until: self.servers.next_timer() });
        }
        let ahead = ahead?;
        let [own, other] = [ahead, waiting].map(|task| self.key(cx, task));
        let [first, second] = [ahead, waiting].map(|task| &cx.tasks[task]);
        Some(match (own < REALTIME, other < REALTIME) {
            (true, true) => Reason::EarlierDeadline { by: Span(other.saturating_sub(own).max(0) as u64) },
            (true, false) => Reason::Class { ahead: Class::Deadline, waiting: second.class },
            _ if own > other => return None,
            _ if own == other && (is_pick || first.class.is_realtime()) => Reason::First,
            _ if own == other => Reason::SliceNotOver,
            _ if first.class.is_realtime() && second.class.is_realtime() => {
                Reason::Priority { ahead: first.rt_priority.into(), waiting: second.rt_priority.into() }
            }
            _ => Reason::Class { ahead: first.class, waiting: second.class },
        })
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        let Some(reservation) = reservation_of(&cx.tasks[task]) else { return Resched::Keep };
        let spent = self.servers.charge(cx, task, reservation, ran, why);
        if spent && why == Stop::Tick { Resched::Preempt(cpu) } else { Resched::Keep }
    }

    fn next_timer(&self) -> Option<Time> {
        self.servers.next_timer()
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        // One at a time: the host asks again at once while another is due.
        let Some(task) = self.servers.next_due(cx) else { return Resched::Keep };
        let is_waiting = self.waiting[task] == Place::Throttled;
        let is_served = reservation_of(&cx.tasks[task]).is_some() && self.is_running(cx, task);
        if !is_waiting && !is_served {
            // It blocked, or has another class now.
            self.servers.rest(task);
            return Resched::Keep;
        }
        self.servers.replenish(cx, task);
        if !is_waiting {
            return Resched::Keep;
        }
        let (home, key) = (cx.tasks.cpu(task), self.servers.deadline(task).0 as i64);
        let was_idle = self.running_cpus.is_idle(home);
        let answer = self.queue(cx, home, task, key, false);
        // Only this timer notifies an idle CPU.
        if was_idle { Resched::Preempt(home) } else { answer }
    }
}

/// The reservation under which the task runs now.
fn reservation_of(task: &Task) -> Option<&Reservation> {
    task.reservation.as_ref().filter(|_| !task.class.is_realtime())
}

fn ordinary_key(task: &Task) -> i64 {
    match task.class {
        Class::Fifo | Class::RoundRobin => REALTIME + 99 - i64::from(task.rt_priority.clamp(1, 99)),
        Class::Idle => IDLE,
        _ => ORDINARY,
    }
}

impl Deadline {
    /// The key of a task that runs or is queued.
    fn key(&self, cx: &Context, task: TaskId) -> i64 {
        match reservation_of(&cx.tasks[task]) {
            Some(_) => self.servers.deadline(task).0 as i64,
            None => ordinary_key(&cx.tasks[task]),
        }
    }

    fn queue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, key: i64, first: bool) -> Resched {
        self.queue.insert_at(&mut self.places, cx, task, key, first);
        self.waiting[task] = Place::Queued;
        let answer = self.running_cpus.claim(cx, cpu, task, Reverse(key));
        if let Resched::Preempt(victim) = answer {
            self.running_cpus.revalue(victim, Reverse(key));
        }
        answer
    }

    fn is_running(&self, cx: &Context, task: TaskId) -> bool {
        let running = self.running_cpus.on(cx.tasks.cpu(task));
        cx.tasks.state(task) == goodness_core::State::Running && running.is_some_and(|(on, _)| on == task)
    }
}
