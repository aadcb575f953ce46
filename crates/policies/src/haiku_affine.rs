//! Haiku's affine scheduler of November 2009: the ordered list and the skips of `haiku-2009`, one list for each CPU.
//!
//! Source: specs 7.4. A thread goes back to the CPU it ran on, a new one to the shortest list. A CPU whose list is
//! empty steals from one where at least two wait: the one with the best head, then the longest. The quantum is 3 ms,
//! and 10 ms for a thread below normal priority that used more than 1.5 ms on average of its last five quanta.
//! Deviations: a stolen thread is the first that may run on the thief; lists without such a thread are passed over. A
//! thread that may no longer run on its last CPU counts as new.
//! Inferred: missing quanta count as 0 in the average, so a hog's first three are short. A running thread does not
//! count as waiting, so nothing is stolen from a CPU with one running and one waiting thread. Of equally short lists
//! that of an idle CPU is preferred. An interrupted thread gets a new quantum. Parts common to the family:
//! `be_priorities.rs` and `be_elections.rs`; the election: `haiku_2009.rs`.
//! Weakness: an idle CPU does not take the only thread that waits behind a hog elsewhere. The rest is as in
//! `haiku-2009`.

use crate::parts::be_elections::{elect, elected};
use crate::parts::be_priorities::{NORMAL, OrderedList, QUANTUM, Threads, priority_of};
use crate::haiku_2009::Skips;
use goodness_core::policy::previous_cpu;
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Idle, Machine, Needs, PerTask, Pick, Pull,
    Reason, Registered, Rejected, Resched, Seed, Span, Stop, TaskId, Why,
};

goodness_core::tunables! {
    pub struct Settings {
        /// CPU time until the next election.
        quantum: Span = QUANTUM, in Span::from_us(1) => Span::from_s(10);
        /// CPU time of a thread below normal priority that uses its quanta.
        long_quantum: Span = Span::from_ms(10), in Span::from_us(1) => Span::from_s(10);
        /// Average use of the last five quanta beyond which a thread counts as using them.
        used_quantum: Span = Span::from_us(1_500), in Span::ZERO => Span::from_s(10);
    }
}

/// Quanta that count in the average.
const REMEMBERED: usize = 5;

/// State of one thread.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// CPU time of its last quanta, in a ring.
    used: [Span; REMEMBERED],
    oldest: usize,
    has_run: bool,
    /// CPU whose list it is on.
    queue: CpuId,
}

impl Thread {
    fn average(&self) -> Span {
        self.used.iter().fold(Span::ZERO, |sum, one| sum + *one) / REMEMBERED as u64
    }

    fn remember(&mut self, ran: Span) {
        self.used[self.oldest] = ran;
        self.oldest = (self.oldest + 1) % REMEMBERED;
    }
}

/// Queue of one CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    list: OrderedList,
    running: Option<(TaskId, u8)>,
}

/// Haiku's affine scheduler.
#[derive(Debug)]
pub struct HaikuAffine {
    settings: Settings,
    skips: Skips,
    known: PerTask<Thread>,
    threads: Threads,
    queues: Vec<Queue>,
}

impl Registered for HaikuAffine {
    const ABOUT: About = About {
        name: "haiku-affine",
        summary: "Haiku's affine scheduler: haiku-2009 with a list for each CPU, stealing and two quanta.",
        source: "Haiku, 9 November 2009; specs 7.4",
        needs: Needs { tick: false, timer: false, balance: true, global_lock: false },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, seed: Seed) -> Self {
        HaikuAffine {
            settings,
            skips: Skips::of_2007_10(seed),
            known: PerTask::default(),
            threads: Threads::default(),
            queues: vec![Queue::default(); machine.cpu_count()],
        }
    }
}

impl CpuPolicy for HaikuAffine {
    fn admit(&mut self, _: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.threads.admit(task);
        *self.known.admit(task) = Thread::default();
        Ok(())
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, _: &Enqueue) -> CpuId {
        let home = previous_cpu(cx, task);
        if self.known[task].has_run && home == cx.tasks.cpu(task) { home } else { self.shortest(cx, task, home) }
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        let priority = priority_of(&cx.tasks[task]);
        self.known[task].queue = cpu;
        let queue = &mut self.queues[cpu.index()];
        queue.list.insert(cx, &mut self.threads, task, priority);
        let lost_its_cpu = matches!(why, Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yielded);
        match queue.running {
            Some((_, running)) if priority > running && !lost_its_cpu => Resched::Preempt(cpu),
            _ => Resched::Keep,
        }
    }

    fn dequeue(&mut self, cx: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        let queue = &mut self.queues[self.known[task].queue.index()];
        queue.list.remove(cx, &mut self.threads, task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let queue = &mut self.queues[cpu.index()];
        queue.running = None;
        let place = elect(&mut self.skips, cx, &self.threads, &queue.list, cpu)?;
        queue.list.take(&mut self.threads, place);
        let task = place.task();
        let priority = self.threads.priority(task);
        queue.running = Some((task, priority));
        self.known[task].has_run = true;
        let hog = priority < NORMAL && self.known[task].average() > self.settings.used_quantum;
        let quantum = if hog { self.settings.long_quantum } else { self.settings.quantum };
        Some(Pick { task, timeslice: (cx.tasks[task].class != Class::Fifo).then_some(quantum) })
    }

    fn why(&self, cx: &Context, _: CpuId, why: Why) -> Option<Reason> {
        elected(cx, why)
    }

    fn charge(&mut self, _: &Context, _: CpuId, task: TaskId, ran: Span, _: Stop) -> Resched {
        self.known[task].remember(ran);
        Resched::Keep
    }

    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        if idle == Idle::Newly { self.steal(cx, cpu) } else { None }
    }
}

impl HaikuAffine {
    /// The CPU with the shortest list among those `task` may use.
    fn shortest(&self, cx: &Context, task: TaskId, home: CpuId) -> CpuId {
        let allowed = cx.machine.cpu_ids().filter(|cpu| cx.tasks.may_run(task, *cpu));
        let shortest = allowed.min_by_key(|cpu| {
            cx.examined(Effort::Balance, 1);
            let queue = &self.queues[cpu.index()];
            (queue.list.len(), queue.running.is_some())
        });
        shortest.unwrap_or(home)
    }

    /// A thread for the idle CPU `to`, from a CPU where several wait.
    fn steal(&self, cx: &Context, to: CpuId) -> Option<Pull> {
        let mut best: Option<((u8, u32), Pull)> = None;
        for from in cx.machine.cpu_ids().filter(|cpu| *cpu != to) {
            cx.examined(Effort::Balance, 1);
            let list = &self.queues[from.index()].list;
            let Some(head) = list.front().filter(|_| list.len() >= 2) else { continue };
            let rank = (self.threads.priority(head), list.len());
            if best.is_some_and(|(so_far, _)| rank <= so_far) {
                continue;
            }
            let found = list.iter(&self.threads).find(|task| cx.tasks.may_run(*task, to));
            best = found.map(|task| (rank, Pull { task, from, to })).or(best);
        }
        best.map(|(_, pull)| pull)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::verb_driver::VerbDriver;
    use goodness_core::Task;

    /// specs/cpu-schedulers.md 7.10 (7): 10 000 µs for a hog at priority 5
    #[test]
    fn a_hog_below_normal_priority_earns_the_long_quantum() {
        let quanta = |priority| {
            let mut driver = VerbDriver::<HaikuAffine>::with(1, Settings::default());
            let task = driver.admit_as(Task { priority: Some(priority), ..Task::default() }, None);
            driver.wake(task);
            let mut slices = Vec::new();
            for _ in 0..6 {
                let slice = driver.choice().timeslice.unwrap();
                slices.push(slice.0 / 1_000_000);
                driver.stop_after(slice, Stop::SliceEnd);
            }
            slices
        };
        // Averages 0, 0.6, 1.2, 1.8 ms and so on.
        assert_eq!(quanta(5), [3, 3, 3, 10, 10, 10]);
        assert_eq!(quanta(9), [3, 3, 3, 10, 10, 10]);
        assert_eq!(quanta(10), [3; 6]);
    }

    /// specs/cpu-schedulers.md 7.4
    #[test]
    fn a_thread_that_blocks_early_keeps_the_short_quantum() {
        let mut entity = Thread::default();
        (0..9).for_each(|_| entity.remember(Span::from_us(1_500)));
        assert_eq!(entity.average(), Span::from_us(1_500));
        entity.remember(Span::from_us(3_000));
        assert_eq!(entity.average(), Span::from_us(1_800));
    }
}
