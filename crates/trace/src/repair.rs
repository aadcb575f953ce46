//! From lines to records: thread ids become tasks, and what the lines contradict is repaired and counted.

mod missing_switch;

use crate::left::Left;
use crate::raw::{Party, Raw, RawWhat};
use crate::read::Sink;
use crate::record::{Marker, Origin, Record, Wake, What};
use crate::repairs::{Repair, Repairs};
use crate::tasks::{Comm, Tasks};
use goodness_core::{CpuId, TaskId, Time};

/// After a switch, this long, a line may still name who ran before it: it is written between the trace point and
/// the switch itself. A guess, longer than any interrupts-off section there.
const SWITCHING_NS: u64 = 20_000;

/// A waking this long before its task's sleep may be the one that ends that sleep: it was written before the waker
/// had to wait for the task to leave its CPU. A guess, longer than the kernel holds a runqueue's lock.
pub(crate) const EARLY_NS: u64 = 100_000;

/// Where a task stands, as far as the lines tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Standing {
    /// Nothing known.
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

#[derive(Clone, Copy, Debug, Default)]
struct TaskState {
    standing: Standing,
    /// When it was last woken, and the number of that record.
    woken: Option<(u64, u64)>,
    /// When it last left a CPU, and the number of the record after that.
    left: (u64, u64),
    /// A waking came while it was still running.
    woken_early: bool,
    exiting: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct CpuState {
    /// Who runs; the outer `None` means that nothing is known.
    running: Option<Option<TaskId>>,
    /// Priority of who runs.
    prio: i16,
    /// Number of the record after the last line of this CPU.
    next_record: u64,
    /// Time of that line.
    last: u64,
    /// Whether that line says that a switch is due.
    resched: bool,
    /// When the last switch was, and who left.
    switched: Option<(u64, Option<TaskId>)>,
}

/// The stage between reordering and the sink.
pub(crate) struct Repairer {
    pub tasks: Tasks,
    pub repairs: Repairs,
    states: Vec<TaskState>,
    cpus: Vec<CpuState>,
    records: u64,
    /// Whether the trace has wakings at all.
    pub wakings: u64,
    pub switches: u64,
    pub highest_cpu: Option<u32>,
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
            highest_cpu: None,
        }
    }

    /// One line, in order of time.
    pub fn line(&mut self, raw: Raw, sink: &mut impl Sink) {
        let slot = raw.cpu as usize;
        let (at, resched) = (raw.at, raw.resched);
        if slot >= self.cpus.len() {
            self.cpus.resize(slot + 1, CpuState::default());
        }
        self.highest_cpu = self.highest_cpu.max(Some(raw.cpu));
        match raw.what {
            RawWhat::Switch { prev, next, left } => self.switch(&raw, prev, next, left, sink),
            RawWhat::Lost { count } => {
                self.repairs.add(Repair::LostEvents, u64::from(count.max(1)), raw.line);
                if let Some(Some(task)) = self.cpus[slot].running.take() {
                    self.states[task.index()].standing = Standing::Unknown;
                    self.states[task.index()].left = (raw.at, self.records + 1);
                }
                self.emit(raw.at, raw.cpu, What::Lost { count }, sink);
            }
            RawWhat::Waking { who, target } => {
                let current = self.see_current(&raw, sink);
                self.wake(&raw, (who, target), current, What::Waking, sink);
            }
            RawWhat::Wakeup { who, target } => {
                let current = self.see_current(&raw, sink);
                self.wake(&raw, (who, target), current, What::Wakeup, sink);
            }
            RawWhat::WakeupNew { who, target } => {
                let current = self.see_current(&raw, sink);
                self.wake(&raw, (who, target), current, What::WakeupNew, sink);
            }
            _ => {
                let current = self.see_current(&raw, sink);
                self.life(raw, current, sink);
            }
        }
        let cpu = &mut self.cpus[slot];
        cpu.next_record = self.records;
        cpu.last = at;
        cpu.resched = resched;
    }

    /// Fork, exec, exit, migration, markers.
    fn life(&mut self, raw: Raw, current: Option<TaskId>, sink: &mut impl Sink) {
        let (at, line, cpu) = (raw.at, raw.line, raw.cpu);
        match raw.what {
            RawWhat::Fork { parent, parent_comm, child, child_comm } => {
                let parent = self.task(parent, parent_comm, at, line);
                let child = self.fork(parent, child, child_comm, at, line);
                if let Some(child) = child {
                    self.emit(at, cpu, What::Fork { parent, child }, sink);
                }
            }
            RawWhat::Exec { pid, old_pid, comm } => {
                if let Some(task) = self.task(old_pid, Comm::default(), at, line) {
                    if pid != old_pid {
                        self.take_over(task, pid, old_pid, at);
                    }
                    self.tasks.name(task, comm, Time(at));
                    self.emit(at, cpu, What::Exec { task }, sink);
                }
            }
            RawWhat::Exit { who } => {
                if let Some(task) = self.task(who.pid, who.comm, at, line) {
                    self.states[task.index()].exiting = true;
                    self.tasks.entry(task).ended = Some(Time(at));
                    self.emit(at, cpu, What::Exit { task }, sink);
                }
            }
            RawWhat::Migrate { who, from, to } => {
                if let Some(task) = self.task(who.pid, who.comm, at, line) {
                    self.emit(at, cpu, What::Migrate { task, from: CpuId(from), to: CpuId(to) }, sink);
                }
            }
            RawWhat::Marker(text) => {
                sink.marker(Marker { at: Time(at), cpu: CpuId(cpu), task: current, text: text.into() });
            }
            _ => {}
        }
    }

    /// A thread that is not the leader called exec: it goes on under the leader's id, and the leader is gone.
    fn take_over(&mut self, task: TaskId, pid: u32, old_pid: u32, at: u64) {
        if let Some(leader) = self.tasks.owner(pid).filter(|l| *l != task) {
            self.states[leader.index()].standing = Standing::Gone;
            let ended = &mut self.tasks.entry(leader).ended;
            *ended = ended.or(Some(Time(at)));
        }
        self.tasks.give(old_pid, None);
        self.tasks.give(pid, Some(task));
    }

    fn fork(&mut self, parent: Option<TaskId>, pid: u32, comm: Comm, at: u64, line: u64) -> Option<TaskId> {
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

    /// The task that has thread id `pid` now; a new one if nobody has, or its last owner is gone. `None` for 0.
    fn task(&mut self, pid: u32, comm: Comm, at: u64, line: u64) -> Option<TaskId> {
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

    /// A line about a wake-up in stage `make`.
    fn wake(
        &mut self,
        raw: &Raw,
        (who, target): (Party, u32),
        current: Option<TaskId>,
        make: fn(Wake) -> What,
        sink: &mut impl Sink,
    ) {
        let Some(task) = self.task(who.pid, who.comm, raw.at, raw.line) else { return };
        let what = make(Wake { task, current, target: CpuId(target), prio: who.prio, context: raw.context });
        let waking = matches!(what, What::Waking(_));
        self.wakings += u64::from(waking);
        if matches!(what, What::WakeupNew(_)) {
            self.tasks.entry(task).born = true;
        }
        self.woken(raw.at, raw.line, task, waking);
        self.emit(raw.at, raw.cpu, what, sink);
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

    fn switch(&mut self, raw: &Raw, prev: Party, next: Party, left: Left, sink: &mut impl Sink) {
        self.switches += 1;
        if prev.pid == next.pid {
            self.repairs.add(Repair::SelfSwitch, 1, raw.line);
            return;
        }
        let (at, line, cpu) = (raw.at, raw.line, raw.cpu);
        let from = self.task(prev.pid, prev.comm, at, line);
        self.learn_process(from, raw);
        self.now_running(cpu, from, prev.prio, at, line, sink);
        let to = self.task(next.pid, next.comm, at, line);
        if let Some(task) = to {
            self.arrive(task, cpu, at, line, sink);
        }
        if let Some(task) = from {
            self.leave(task, left, at, line);
        }
        let state = &mut self.cpus[cpu as usize];
        state.running = Some(to);
        state.prio = next.prio;
        state.switched = Some((at, from));
        let what = What::Switch { prev: from, next: to, prev_prio: prev.prio, next_prio: next.prio, left };
        self.emit(at, cpu, what, sink);
    }

    fn leave(&mut self, task: TaskId, left: Left, at: u64, line: u64) {
        let after = self.records + 1;
        let state = &mut self.states[task.index()];
        state.left = (at, after);
        let recent = state.woken.is_some_and(|(woken, _)| at - woken <= EARLY_NS);
        if state.woken_early && (left.is_runnable() || left.is_dead() || !recent) {
            state.woken_early = false;
            self.repairs.add(Repair::RepeatedWaking, 1, line);
        }
        state.standing = if left.is_runnable() {
            Standing::Runnable
        } else if left.is_dead() {
            let ended = &mut self.tasks.entry(task).ended;
            *ended = ended.or(Some(Time(at)));
            Standing::Gone
        } else {
            Standing::Asleep
        };
    }

    /// `task` gets CPU `cpu`; it must not be on another one, and not be asleep.
    fn arrive(&mut self, task: TaskId, cpu: u32, at: u64, line: u64, sink: &mut impl Sink) {
        let state = self.states[task.index()];
        match state.standing {
            Standing::Running(other) if other != cpu => {
                self.repairs.add(Repair::TwoPlaces, 1, line);
                self.put_switch(other, None, 0, at, sink);
            }
            Standing::Asleep if state.woken_early => self.repairs.add(Repair::EarlyWaking, 1, line),
            Standing::Asleep => self.repairs.add(Repair::MissingWaking, 1, line),
            _ => {}
        }
        let state = &mut self.states[task.index()];
        state.standing = Standing::Running(cpu);
        state.woken_early = false;
    }

    /// Who ran on the CPU of a line that is no switch.
    fn see_current(&mut self, raw: &Raw, sink: &mut impl Sink) -> Option<TaskId> {
        let state = self.cpus[raw.cpu as usize];
        let Some(pid) = raw.current else {
            return state.running.flatten();
        };
        let owner = self.tasks.owner(pid);
        let gone = owner.is_some_and(|t| self.states[t.index()].standing == Standing::Gone);
        let switching = state.switched.is_some_and(|(at, who)| raw.at - at <= SWITCHING_NS && who == owner);
        if pid > 0 && (gone || switching && state.running.is_some_and(|r| r != owner)) {
            return owner;
        }
        if pid == 0 && switching && state.switched.is_some_and(|(_, who)| who.is_none()) {
            return None;
        }
        // A name at the front of a line may be stale; it counts only for who has none.
        let unnamed = owner.is_none_or(|t| self.tasks.entry(t).comm.is_empty());
        let current = self.task(pid, if unnamed { raw.comm } else { Comm::default() }, raw.at, raw.line);
        self.learn_process(current, raw);
        self.now_running(raw.cpu, current, 0, raw.at, raw.line, sink);
        current
    }

    fn learn_process(&mut self, task: Option<TaskId>, raw: &Raw) {
        if let (Some(task), Some(tgid)) = (task, raw.tgid) {
            self.tasks.entry(task).tgid = Some(tgid);
        }
    }

    fn emit(&mut self, at: u64, cpu: u32, what: What, sink: &mut impl Sink) {
        sink.record(&Record { at: Time(at), cpu: CpuId(cpu), what, origin: Origin::Recorded }, &self.tasks);
        self.records += 1;
    }
}
