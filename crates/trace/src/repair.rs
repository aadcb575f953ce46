//! Converts lines to records: maps thread ids to tasks, and repairs and counts contradictions.

mod begin_anew;
mod missing_switch;

use crate::cpus_seen::CpusSeen;
use crate::event::{Marker, Origin, Record, SchedEvent, Wake};
use crate::line::{Content, EventLine, LineEvent, NamedTask};
use crate::prev_state::PrevState;
use crate::record_consumer::RecordConsumer;
use crate::repairs::{Repair, Repairs};
use crate::tasks::{Comm, Tasks};
use goodness_core::{CpuId, TaskId, Time};

/// Time after a switch during which a line may still name the previous task, because it was written between the trace
/// point and the switch itself. A guess, longer than any interrupts-off section there.
const SWITCHING_NS: u64 = 20_000;

/// A waking this long before its task's sleep may be the one that ends that sleep: it was written before the waker
/// had to wait for the task to leave its CPU. A guess, longer than the kernel holds a runqueue's lock.
pub(crate) const EARLY_NS: u64 = 100_000;

/// State of a task, as far as known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Standing {
    /// Unknown.
    #[default]
    Unknown,
    /// On this CPU.
    Running(u32),
    /// Wants a CPU.
    Runnable,
    /// Waits for a waking.
    Asleep,
    /// Its last switch is over.
    Gone,
}

/// Something that happened, and its place among the records.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    at: u64,
    /// Number of the first record that may follow it.
    next_record: u64,
    /// True if its place is known by its time alone: it follows all records of that time.
    inferred: bool,
}

impl Moment {
    /// True if record number `record`, at time `at`, certainly comes after it.
    fn precedes(&self, (at, record): (u64, u64)) -> bool {
        record >= self.next_record && if self.inferred { at > self.at } else { at >= self.at }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct TaskState {
    standing: Standing,
    /// Time of its last waking, and the number of that record.
    woken: Option<(u64, u64)>,
    /// The moment at which it last left a CPU.
    left: Moment,
    /// A waking came while it was still running.
    woken_early: bool,
    exiting: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct CpuState {
    /// Running task; the outer `None` means unknown.
    running: Option<Option<TaskId>>,
    /// Priority of the running task, if known.
    prio: Option<i16>,
    /// Its last line, or the last switch that was inferred.
    last: Moment,
    /// True if that line has need-resched set.
    resched: bool,
    /// Time of the last switch, and the task that left.
    switched: Option<(u64, Option<TaskId>)>,
}

/// The stage between reordering and the consumer.
pub(crate) struct Repairer {
    pub tasks: Tasks,
    pub repairs: Repairs,
    states: Vec<TaskState>,
    cpus: Vec<CpuState>,
    records: u64,
    /// True if the trace has any waking.
    pub wakings: u64,
    pub switches: u64,
    pub cpus_seen: CpusSeen,
}

impl Repairer {
    pub fn new() -> Repairer {
        Repairer {
            tasks: Tasks::default(),
            repairs: Repairs::default(),
            states: Vec::new(),
            cpus: Vec::new(),
            records: 0,
            wakings: 0,
            switches: 0,
            cpus_seen: CpusSeen::default(),
        }
    }

    /// Handles one line, in order of time.
    pub fn line(&mut self, line: EventLine, consumer: &mut impl RecordConsumer) {
        let slot = line.cpu as usize;
        let (at, resched) = (line.at, line.resched);
        if slot >= self.cpus.len() {
            self.cpus.resize(slot + 1, CpuState::default());
        }
        self.cpus_seen.wrote(line.cpu);
        match line.content {
            Content::Sched(event) => self.event(&line, event, consumer),
            Content::Marker(ref text) => {
                let task = self.see_current(&line, consumer);
                consumer.marker(Marker { at: Time(at), cpu: CpuId(line.cpu), task, text: text.to_string() });
            }
            Content::Other => {
                self.see_current(&line, consumer);
            }
        }
        let cpu = &mut self.cpus[slot];
        cpu.last = Moment { at, next_record: self.records, inferred: false };
        cpu.resched = resched;
    }

    #[inline]
    fn event(&mut self, line: &EventLine, event: LineEvent, consumer: &mut impl RecordConsumer) {
        match event {
            SchedEvent::Switch { prev, next, prev_prio, next_prio, prev_state } => {
                self.switch(line, (prev, prev_prio), (next, next_prio), prev_state, consumer);
            }
            SchedEvent::Lost { count } => self.lost(line, count, consumer),
            SchedEvent::Call { call, .. } => {
                let by = self.see_current(line, consumer);
                self.emit(line.at, line.cpu, SchedEvent::Call { by, call }, consumer);
            }
            SchedEvent::Waking(wake) => self.wake(line, wake, SchedEvent::Waking, consumer),
            SchedEvent::Wakeup(wake) => self.wake(line, wake, SchedEvent::Wakeup, consumer),
            SchedEvent::WakeupNew(wake) => self.wake(line, wake, SchedEvent::WakeupNew, consumer),
            SchedEvent::Fork { .. }
            | SchedEvent::Exec { .. }
            | SchedEvent::Exit { .. }
            | SchedEvent::Migrate { .. } => {
                self.see_current(line, consumer);
                if let Some(event) = self.life(line, event) {
                    self.emit(line.at, line.cpu, event, consumer);
                }
            }
        }
    }

    fn lost(&mut self, line: &EventLine, count: u32, consumer: &mut impl RecordConsumer) {
        self.repairs.add(Repair::LostEvents, u64::from(count.max(1)), line.line);
        if let Some(Some(task)) = self.cpus[line.cpu as usize].running.take() {
            self.states[task.index()].standing = Standing::Unknown;
            self.states[task.index()].left = Moment { at: line.at, next_record: self.records + 1, inferred: false };
        }
        self.emit(line.at, line.cpu, SchedEvent::Lost { count }, consumer);
    }

    /// Handles fork, exec, exit and migration. `None` if no task is concerned.
    fn life(&mut self, line: &EventLine, event: LineEvent) -> Option<SchedEvent> {
        let (at, number) = (line.at, line.line);
        match event {
            SchedEvent::Fork { parent, child } => {
                let parent = parent.and_then(|parent| self.task(parent, at, number));
                let child = self.fork(parent, child, at, number)?;
                Some(SchedEvent::Fork { parent, child })
            }
            SchedEvent::Exec { task: NamedTask { pid: old_pid, comm }, pid } => {
                let task = self.task(NamedTask { pid: old_pid, comm: Comm::default() }, at, number)?;
                if pid != old_pid {
                    self.take_over(task, pid, old_pid, at);
                }
                self.tasks.name(task, comm, Time(at));
                Some(SchedEvent::Exec { task, pid })
            }
            SchedEvent::Exit { task } => {
                let task = self.task(task, at, number)?;
                self.states[task.index()].exiting = true;
                self.tasks.entry(task).ended = Some(Time(at));
                Some(SchedEvent::Exit { task })
            }
            SchedEvent::Migrate { task, from, to } => {
                self.cpus_seen.named(from.0);
                self.cpus_seen.named(to.0);
                let task = self.task(task, at, number)?;
                Some(SchedEvent::Migrate { task, from, to })
            }
            SchedEvent::Switch { .. }
            | SchedEvent::Waking(_)
            | SchedEvent::Wakeup(_)
            | SchedEvent::WakeupNew(_)
            | SchedEvent::Call { .. }
            | SchedEvent::Lost { .. } => None,
        }
    }

    /// Handles exec by a thread that is not the leader: it takes over the leader's id, and the leader ends.
    fn take_over(&mut self, task: TaskId, pid: u32, old_pid: u32, at: u64) {
        if let Some(leader) = self.tasks.owner(pid).filter(|l| *l != task) {
            self.states[leader.index()].standing = Standing::Gone;
            let ended = &mut self.tasks.entry(leader).ended;
            *ended = ended.or(Some(Time(at)));
        }
        self.tasks.give(old_pid, None);
        self.tasks.give(pid, Some(task));
    }

    fn fork(&mut self, parent: Option<TaskId>, child: NamedTask, at: u64, line: u64) -> Option<TaskId> {
        let NamedTask { pid, comm } = child;
        if pid == 0 {
            return None;
        }
        if let Some(owner) = self.tasks.owner(pid) {
            let state = self.states[owner.index()];
            let entry = self.tasks.entry(owner);
            // The child may be seen elsewhere before its parent's line: then it is the same task.
            if !entry.born && entry.first_seen == Time(at) {
                entry.born = true;
                entry.parent = parent;
                return Some(owner);
            }
            if state.standing != Standing::Gone && !state.exiting {
                self.repairs.add(Repair::MissingExit, 1, line);
            }
        }
        let child = self.tasks.begin(pid, comm, Time(at));
        self.states.push(TaskState { standing: Standing::Asleep, ..TaskState::default() });
        let entry = self.tasks.entry(child);
        entry.born = true;
        entry.parent = parent;
        Some(child)
    }

    /// The task that owns this thread id. A new one if there is none, or if its last owner has ended. `None` for 0.
    fn task(&mut self, named: NamedTask, at: u64, line: u64) -> Option<TaskId> {
        let NamedTask { pid, comm } = named;
        if pid == 0 {
            return None;
        }
        if let Some(task) = self.tasks.owner(pid)
            && self.states[task.index()].standing != Standing::Gone
        {
            self.tasks.name(task, comm, Time(at));
            return Some(task);
        }
        self.repairs.add(Repair::FirstSeenRunning, 1, line);
        let task = self.tasks.begin(pid, comm, Time(at));
        self.states.push(TaskState::default());
        Some(task)
    }

    /// Handles a wake-up line of stage `make`.
    fn wake(
        &mut self,
        line: &EventLine,
        wake: Wake<NamedTask, ()>,
        make: fn(Wake) -> SchedEvent,
        consumer: &mut impl RecordConsumer,
    ) {
        let current = self.see_current(line, consumer);
        self.cpus_seen.named(wake.target.0);
        let Some(task) = self.task(wake.task, line.at, line.line) else { return };
        let Wake { target, prio, context, .. } = wake;
        let event = make(Wake { task, current, target, prio, context });
        let waking = matches!(event, SchedEvent::Waking(_));
        self.wakings += u64::from(waking);
        if matches!(event, SchedEvent::WakeupNew(_)) {
            self.tasks.entry(task).born = true;
        }
        self.woken(line.at, line.line, task, waking);
        self.emit(line.at, line.cpu, event, consumer);
    }

    fn woken(&mut self, at: u64, line: u64, task: TaskId, waking: bool) {
        let record = self.records;
        let state = &mut self.states[task.index()];
        match state.standing {
            Standing::Runnable | Standing::Running(_) if !waking => {}
            Standing::Runnable => self.repairs.add(Repair::RepeatedWaking, 1, line),
            Standing::Running(_) => {
                let repeated = std::mem::replace(&mut state.woken_early, true);
                state.woken = Some((at, record));
                self.repairs.add(Repair::RepeatedWaking, u64::from(repeated), line);
            }
            _ => {
                state.standing = Standing::Runnable;
                let repeated = std::mem::take(&mut state.woken_early);
                state.woken = Some((at, record));
                self.repairs.add(Repair::RepeatedWaking, u64::from(repeated), line);
            }
        }
    }

    fn switch(
        &mut self,
        line: &EventLine,
        (prev, prev_prio): (Option<NamedTask>, i16),
        (next, next_prio): (Option<NamedTask>, i16),
        prev_state: PrevState,
        consumer: &mut impl RecordConsumer,
    ) {
        self.switches += 1;
        let (at, number, cpu) = (line.at, line.line, line.cpu);
        if prev.map(|t| t.pid) == next.map(|t| t.pid) {
            self.repairs.add(Repair::SelfSwitch, 1, number);
            return;
        }
        let prev = prev.and_then(|prev| self.task(prev, at, number));
        self.learn_process(prev, line);
        self.now_running(cpu, prev, Some(prev_prio), at, number, consumer);
        let next = next.and_then(|next| self.task(next, at, number));
        if let Some(task) = next {
            self.arrive(task, cpu, at, number, consumer);
        }
        if let Some(task) = prev {
            self.leave(task, prev_state, at, number);
        }
        let state = &mut self.cpus[cpu as usize];
        state.running = Some(next);
        state.prio = Some(next_prio);
        state.switched = Some((at, prev));
        self.emit(at, cpu, SchedEvent::Switch { prev, next, prev_prio, next_prio, prev_state }, consumer);
    }

    fn leave(&mut self, task: TaskId, prev_state: PrevState, at: u64, line: u64) {
        let left = Moment { at, next_record: self.records + 1, inferred: false };
        let state = &mut self.states[task.index()];
        state.left = left;
        let recent = state.woken.is_some_and(|(woken, _)| at - woken <= EARLY_NS);
        if state.woken_early && (prev_state.is_runnable() || prev_state.is_dead() || !recent) {
            state.woken_early = false;
            self.repairs.add(Repair::RepeatedWaking, 1, line);
        }
        state.standing = if prev_state.is_runnable() {
            Standing::Runnable
        } else if prev_state.is_dead() {
            let ended = &mut self.tasks.entry(task).ended;
            *ended = ended.or(Some(Time(at)));
            Standing::Gone
        } else {
            Standing::Asleep
        };
    }

    /// Puts `task` on CPU `cpu`. Repairs the trace if it was running elsewhere or asleep.
    fn arrive(&mut self, task: TaskId, cpu: u32, at: u64, line: u64, consumer: &mut impl RecordConsumer) {
        let state = self.states[task.index()];
        match state.standing {
            Standing::Running(other) if other != cpu => {
                self.repairs.add(Repair::TwoPlaces, 1, line);
                self.put_switch(other, None, None, at, consumer);
            }
            Standing::Asleep if state.woken_early => self.repairs.add(Repair::EarlyWaking, 1, line),
            Standing::Asleep => self.repairs.add(Repair::MissingWaking, 1, line),
            _ => {}
        }
        let state = &mut self.states[task.index()];
        state.standing = Standing::Running(cpu);
        state.woken_early = false;
    }

    /// Updates the running task of a CPU from a line that is not a switch.
    fn see_current(&mut self, line: &EventLine, consumer: &mut impl RecordConsumer) -> Option<TaskId> {
        let state = self.cpus[line.cpu as usize];
        let Some(pid) = line.current else {
            return state.running.flatten();
        };
        let owner = self.tasks.owner(pid);
        let gone = owner.is_some_and(|t| self.states[t.index()].standing == Standing::Gone);
        let switching = state.switched.is_some_and(|(at, who)| line.at - at <= SWITCHING_NS && who == owner);
        if pid > 0 && (gone || switching && state.running.is_some_and(|r| r != owner)) {
            return owner;
        }
        if pid == 0 && switching && state.switched.is_some_and(|(_, who)| who.is_none()) {
            return None;
        }
        // A name at the front of a line may be stale; it is used only for a task without a name.
        let unnamed = owner.is_none_or(|t| self.tasks.entry(t).comm.is_empty());
        let comm = if unnamed { line.comm } else { Comm::default() };
        let current = self.task(NamedTask { pid, comm }, line.at, line.line);
        self.learn_process(current, line);
        self.now_running(line.cpu, current, None, line.at, line.line, consumer);
        current
    }

    fn learn_process(&mut self, task: Option<TaskId>, line: &EventLine) {
        if let (Some(task), Some(tgid)) = (task, line.tgid) {
            self.tasks.entry(task).tgid = Some(tgid);
        }
    }

    fn emit(&mut self, at: u64, cpu: u32, event: SchedEvent, consumer: &mut impl RecordConsumer) {
        consumer.record(&Record { at: Time(at), cpu: CpuId(cpu), event, origin: Origin::Recorded }, &self.tasks);
        self.records += 1;
    }
}
