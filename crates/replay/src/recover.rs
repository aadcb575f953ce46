//! Recovers programmes from recorded events.
//!
//! A task's programme lists, in recorded order, the CPU time it executed, the edges it signalled and the waits it made.
//! Time on a run queue is not part of it. An edge is a counting semaphore of its own, signalled once and waited for
//! once.
//!
//! **No policy can deadlock a recovered workload.** Proof: order all instructions by the recorded time of their
//! completion (for the start of a turn: that of the burst after it). Every wait then comes after the signal of its
//! edge, every wait for a reply after as many replies as earlier waits for them, every turn after its reply, every
//! instruction after its predecessor in the programme, and every programme after its fork. So the first incomplete
//! instruction can always proceed. Nothing inside a turn waits, so a loop that is busy with a later turn returns to it.

mod calls;
mod finish;
mod locks;
mod pooled;

use super::answers::{Held, Windows};
use super::attributes::ChangesAhead;
use super::causes::{Cause, Rule};
use super::clock::TickGrid;
use super::conversations::Conversations;
use super::dialogues::Dialogues;
use super::handoffs::Handoffs;
use super::history::History;
use super::marks::Marks;
use super::message_turns::MessageTurns;
use super::messages::Messages;
use super::open_end::START_UP;
use super::pools::Pools;
use super::priority::{self, Priorities};
use super::program::Instruction;
use super::recovered::Recovered;
use super::requests::Requests;
use super::task_recovery::{Activity, Ending, TaskRecovery};
use super::timers::Timers;
use super::unknowns::Unknowns;
use super::yields::Yields;
use goodness_core::{CpuId, Off, Span, Start, TaskId, Time};
use goodness_trace::{Record, SchedEvent, Wake};
use pooled::{Pooled, shared_work};
use std::collections::BTreeMap;

/// Replay of wake-ups from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// After the same delay since the wait started (closed loop); those by periodic timers when these expire.
    #[default]
    Delays,
    /// At the recorded time (open loop).
    Recorded,
}

/// Tasks outside the recorded command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Others {
    /// They compete for the CPUs as recorded.
    #[default]
    Compete,
    /// Omitted; their wake-ups come from outside instead.
    LeftOut,
}

/// Behaviour of tasks after their recorded programmes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ends {
    /// Tasks cut off by the end of the recording start over, and every policy is measured in the recorded window. Work
    /// that was complete in the recording is replayed until it is done.
    #[default]
    Open,
    /// No task continues: the recorded work is replayed until it is done.
    Recorded,
}

/// Options of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// Replay of wake-ups from outside.
    pub arrivals: Arrivals,
    /// Tasks outside the recorded command.
    pub others: Others,
    /// Behaviour of tasks after their recorded programmes.
    pub ends: Ends,
}

/// Recovers the programmes of all tasks.
#[must_use]
pub fn recover(history: &History, options: ReplayOptions) -> Recovered {
    let grid = TickGrid::find(history);
    let rule = Rule::new(history, grid);
    let windows = Windows::find(history, &rule);
    let (pools, requests) = shared_work(history, &rule, &windows, options.others);
    let yields = Yields::find(history, grid);
    let mut recovery = Recovery {
        history,
        priorities: Priorities::unseen(history.participants.len()),
        changes: ChangesAhead::new(history.participants.iter().map(|it| &it.changes[..])),
        windows,
        marks: Marks::new(requests.marks()),
        requests,
        dialogues: Dialogues::find(history, &rule),
        handoffs: Handoffs::new(history.participants.len()),
        sent: BTreeMap::new(),
        pooled: vec![Pooled::default(); pools.all.len()],
        pools,
        conversations: Conversations::new(history.participants.len()),
        timers: Timers::find(history, &rule),
        rule,
        arrivals: options.arrivals,
        others: options.others,
        ends: options.ends,
        begin: history.begin(),
        recoveries: history.participants.iter().map(|_| TaskRecovery::unseen(history.begin())).collect(),
        on_cpu: vec![OnCpu::Unknown; history.cpus],
        laps_begin: None,
        waits: Vec::new(),
        unknowns: Unknowns { yields: yields.len() as u64, ..Unknowns::default() },
        messages: Messages::default(),
        turns: MessageTurns::default(),
        record: 0,
    };
    recovery.find_messages();
    let laps_begin = recovery.later_laps_begin();
    for (record, number) in history.records.iter().zip(0..) {
        recovery.marks.advance(number);
        if recovery.laps_begin.is_none() && laps_begin.is_some_and(|at| record.at >= at) {
            recovery.begin_laps(laps_begin.unwrap_or_default());
        }
        recovery.change_until(record.at);
        recovery.record = number;
        recovery.see(record, yields.contains(number));
        while let Some((who, mark)) = recovery.marks.left() {
            recovery.push_mark(who, mark, record.at);
        }
    }
    recovery.finish(grid)
}

/// The task running on a CPU, according to the recording.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnCpu {
    Unknown,
    Known(Option<TaskId>),
}

struct Recovery<'a> {
    history: &'a History<'a>,
    priorities: Priorities,
    changes: ChangesAhead,
    rule: Rule<'a>,
    windows: Windows,
    requests: Requests,
    marks: Marks,
    dialogues: Dialogues,
    handoffs: Handoffs,
    /// For each sender with a window: messages it may still send, and the channel that counts replies.
    sent: BTreeMap<(TaskId, u32), (u32, u32)>,
    pools: Pools,
    pooled: Vec<Pooled>,
    conversations: Conversations,
    timers: Timers,
    arrivals: Arrivals,
    others: Others,
    ends: Ends,
    begin: Time,
    recoveries: Vec<TaskRecovery>,
    on_cpu: Vec<OnCpu>,
    /// Begin of later laps, once that time was passed. Turns and windows of event loops are counted over whole laps: if
    /// there are any, a lap is the whole recording.
    laps_begin: Option<Time>,
    /// Length of each recorded wait for an edge, by edge.
    waits: Vec<Span>,
    unknowns: Unknowns,
    messages: Messages,
    turns: MessageTurns,
    /// Number of the present record.
    record: u32,
}

impl Recovery<'_> {
    /// Time at which later laps begin, unless a lap is the whole recording.
    fn later_laps_begin(&self) -> Option<Time> {
        let has_turns = !self.windows.is_empty() || !self.messages.conduits.is_empty() || !self.turns.is_empty();
        let is_part = self.ends == Ends::Open && !has_turns;
        is_part.then(|| self.begin + self.history.length() / START_UP)
    }

    fn see(&mut self, record: &Record, is_yield: bool) {
        let (at, cpu) = (record.at, record.cpu);
        if let Some(wake) = self.history.waking(record) {
            self.expect(cpu, wake.current, at);
            self.waking(&wake, at);
        }
        match record.event {
            SchedEvent::Switch { prev, next, prev_state, .. } => {
                let off = if is_yield { Off::Yielded } else { prev_state.off() };
                self.switch(cpu, prev, off, next, at);
            }
            SchedEvent::Wakeup(Wake { task, .. }) => self.recoveries[task.index()].runnable_at = at,
            SchedEvent::WakeupNew(Wake { task, current, .. }) => {
                self.fork(self.history.participant(task).parent.or(current), task, at);
                self.recoveries[task.index()].runnable_at = at;
            }
            SchedEvent::Fork { parent, child } => self.fork(parent, child, at),
            SchedEvent::Exit { task } => {
                let recovery = &mut self.recoveries[task.index()];
                (recovery.early, recovery.ends_from) = (None, recovery.ops.len());
            }
            SchedEvent::Lost { .. } => self.unknowns.losses += 1,
            SchedEvent::Call { by: Some(by), call } => {
                self.expect(cpu, Some(by), at);
                self.transfer(by, call, at);
            }
            SchedEvent::Call { by: None, .. } => {}
            SchedEvent::Waking(_) | SchedEvent::Exec { .. } | SchedEvent::Migrate { .. } => {}
        }
        for (task, prio) in priority::named(&record.event) {
            // If the recording states changes, priorities of events add nothing.
            let is_stated = !self.history.participant(task).changes.is_empty();
            if let Some(nice) = self.priorities.change(task, prio).filter(|_| !is_stated) {
                self.push(task, Instruction::Nice(nice.get() as i8), at);
            }
        }
    }

    /// Makes the changes of attributes up to `until`.
    fn change_until(&mut self, until: Time) {
        while let Some((at, who, change)) = self.changes.next(until) {
            self.change(who, change, at);
        }
    }

    /// A call changed the attributes of `who`: at this point of its work if it runs, else before it runs next.
    fn change(&mut self, who: TaskId, change: Instruction, at: Time) {
        match self.recoveries[who.index()].activity {
            Activity::Running(_) => self.push(who, change, at),
            _ => self.recoveries[who.index()].changes_due.push(change),
        }
    }

    /// Later laps begin at `at`, for every task that is alive then.
    fn begin_laps(&mut self, at: Time) {
        self.laps_begin = Some(at);
        for index in 0..self.recoveries.len() {
            let recovery = &self.recoveries[index];
            if recovery.start.is_some() && !matches!(recovery.activity, Activity::Unseen | Activity::Gone) {
                let waited = match recovery.activity {
                    Activity::Blocked(since, _) => at.since(since),
                    _ => Span::ZERO,
                };
                self.recoveries[index].lap_begins = Some(waited);
                self.push(TaskId(index as u32), Instruction::LapBegin, at);
            }
        }
    }

    fn switch(&mut self, cpu: CpuId, prev: Option<TaskId>, off: Off, next: Option<TaskId>, at: Time) {
        self.expect(cpu, prev, at);
        if let Some(prev) = prev {
            self.leave(prev, off, at);
        }
        self.on_cpu[cpu.index()] = OnCpu::Known(next);
        if let Some(next) = next {
            self.come(next, cpu, at);
            while let Some(mark) = self.marks.take(next) {
                let mark = self.marked(mark);
                self.recoveries[next.index()].late_marks.push(mark);
            }
        }
    }

    /// Puts the marks of `who` at this record into its programme, after the CPU time up to `at`.
    fn mark(&mut self, who: TaskId, at: Time) {
        while let Some(mark) = self.marks.take(who) {
            self.push_mark(who, mark, at);
        }
    }

    /// Records that `who` runs on `cpu`, and inserts the missing switch if another task was assumed to run.
    fn expect(&mut self, cpu: CpuId, who: Option<TaskId>, at: Time) {
        let believed = match self.on_cpu[cpu.index()] {
            OnCpu::Known(believed) if believed == who => return,
            OnCpu::Known(believed) => believed,
            OnCpu::Unknown => {
                self.on_cpu[cpu.index()] = OnCpu::Known(who);
                if let Some(who) = who {
                    self.assume_ran_before(who, cpu);
                }
                return;
            }
        };
        self.unknowns.missing_switches += 1;
        // The switch happened after the newcomer became runnable and after its predecessor came.
        let came = who.map_or(at, |w| self.recoveries[w.index()].runnable_at).min(at);
        let since = match believed.map(|b| self.recoveries[b.index()].activity) {
            Some(Activity::Running(since)) => since,
            _ => Time::ZERO,
        };
        let switched = came.max(since);
        if let Some(left) = believed {
            let left = &mut self.recoveries[left.index()];
            left.account(switched);
            left.activity = Activity::Unaccounted(switched);
        }
        self.on_cpu[cpu.index()] = OnCpu::Known(who);
        if let Some(who) = who {
            self.come(who, cpu, switched);
        }
    }

    /// The first known fact about a CPU is that `who` runs on it, so it ran there from the start.
    fn assume_ran_before(&mut self, who: TaskId, cpu: CpuId) {
        let begin = self.begin;
        let recovery = &mut self.recoveries[who.index()];
        if recovery.activity == Activity::Unseen {
            recovery.start = Some(Start::WokenAt(Time::ZERO));
            recovery.cpu = cpu;
            recovery.activity = Activity::Running(begin);
        } else {
            self.come(who, cpu, begin);
        }
    }

    /// Appends an instruction to the task's programme, after the CPU time up to `at`.
    fn push(&mut self, who: TaskId, instruction: Instruction, at: Time) {
        self.close_burst(who, at);
        self.recoveries[who.index()].push(instruction);
    }

    /// Adds the burst up to `at` to the programme, in the turn of the message that caused the wake-up.
    fn close_burst(&mut self, who: TaskId, at: Time) {
        let recovery = &mut self.recoveries[who.index()];
        recovery.account(at);
        if let Some(message) = self.conversations.acts(who, at) {
            recovery.push(Instruction::BeginTurn(message));
        }
        for mark in std::mem::take(&mut recovery.late_marks) {
            recovery.push(mark);
        }
        if recovery.is_fruitless {
            recovery.burst = 0;
        }
        if let Some((end, pool)) = recovery.accepts_after.take() {
            let service = recovery.burst.saturating_sub(end.0);
            recovery.burst -= service;
            recovery.close_burst();
            self.begin_service(pool, who, at);
            self.recoveries[who.index()].burst = service;
        }
        self.recoveries[who.index()].close_burst();
    }

    fn leave(&mut self, who: TaskId, off: Off, at: Time) {
        if self.recoveries[who.index()].activity == Activity::Unseen {
            let cpu = self.recoveries[who.index()].cpu;
            self.assume_ran_before(who, cpu);
        }
        self.recoveries[who.index()].account(at);
        self.recoveries[who.index()].activity = match off {
            Off::Preempted | Off::Yielded => Activity::Runnable,
            Off::Exited => Activity::Gone,
            Off::Sleeping | Off::Uninterruptible | Off::DirtyMemory => Activity::Blocked(at, off),
        };
        self.mark(who, at);
        if off == Off::Yielded {
            self.push(who, Instruction::Yield, at);
        }
        if !off.is_runnable()
            && let Some(channel) = self.recoveries[who.index()].answers_on.take()
        {
            self.push(who, Instruction::Post(channel), at);
        }
        if matches!(self.recoveries[who.index()].activity, Activity::Blocked(..)) {
            self.answer_unseen(who, at);
        }
        if matches!(self.recoveries[who.index()].activity, Activity::Blocked(..)) {
            self.rests(who, off, at);
        }
        let recovery = &mut self.recoveries[who.index()];
        match (recovery.early.take(), recovery.activity) {
            (_, Activity::Gone) => {
                self.recoveries[who.index()].ended = Some(at);
                self.push(who, Instruction::Exit, at);
            }
            (Some(ending), Activity::Blocked(..)) => self.wait_ended(who, ending, at),
            // It did not have to wait, but the edge remains a condition for its next instruction.
            (Some(Ending::Edge(edge)), _) => self.push(who, Instruction::Wait(edge), at),
            (Some(_) | None, _) => {}
        }
    }

    fn come(&mut self, who: TaskId, cpu: CpuId, at: Time) {
        match self.recoveries[who.index()].activity {
            Activity::Unseen => self.recoveries[who.index()].start = Some(Start::WokenAt(Time::ZERO)),
            Activity::Blocked(..) => {
                self.unknowns.wakes_without_waking += 1;
                self.wait_ended(who, Ending::External, at);
            }
            // A new task under the number of an ended one.
            Activity::Gone => return,
            Activity::Running(_) => self.recoveries[who.index()].account(at),
            Activity::Runnable | Activity::Unaccounted(_) => {}
        }
        let recovery = &mut self.recoveries[who.index()];
        if recovery.ops.is_empty() && recovery.burst == 0 {
            recovery.cpu = cpu;
        }
        recovery.activity = Activity::Running(at);
        self.come_in_pool(who, at);
        for change in std::mem::take(&mut self.recoveries[who.index()].changes_due) {
            self.push(who, change, at);
        }
    }

    fn waking(&mut self, wake: &Wake, at: Time) {
        let task = wake.task;
        let cause = self.rule.judge(wake, &mut self.unknowns.wakings);
        if let Activity::Unaccounted(since) = self.recoveries[task.index()].activity {
            self.recoveries[task.index()].activity = Activity::Blocked(since, Off::Sleeping);
        }
        let holder = self.handoff(wake, cause, at);
        match self.recoveries[task.index()].activity {
            Activity::Blocked(..) => {
                let ending = self.ending(wake, cause, at);
                self.hold(ending, holder);
                self.wait_ended(task, ending, at);
                self.begin_cycle(task, cause, ending, holder, at);
            }
            Activity::Unseen => {
                self.unknowns.waits_begun_before += 1;
                let accepted = self.waking_in_pool(task, cause, at).is_some();
                let recovery = &mut self.recoveries[task.index()];
                let start = if accepted { Time::ZERO } else { Time(at.since(self.begin).0) };
                recovery.start = Some(Start::WokenAt(start));
                recovery.activity = Activity::Runnable;
            }
            Activity::Running(_) => {
                self.unknowns.early_wakings += 1;
                self.recoveries[task.index()].early = Some(self.ending(wake, cause, at));
            }
            Activity::Runnable | Activity::Unaccounted(_) | Activity::Gone => self.unknowns.redundant_wakings += 1,
        }
        self.recoveries[task.index()].runnable_at = at;
    }

    /// Signals a new edge at the waker's current instruction, if the wake-up was an edge.
    fn fire(&mut self, task: TaskId, cause: Cause, at: Time) -> Ending {
        if let Some(turn) = self.turns.waking(self.record) {
            if let Cause::Edge(by) = cause {
                self.mark(by, at);
            }
            return Ending::Turn(turn);
        }
        match cause {
            Cause::Edge(by) if self.messages.has_waking(self.record) => {
                self.mark(by, at);
                Ending::Transfer
            }
            Cause::Edge(by) if self.is_kept(by) && self.is_kept(task) => {
                if self.held(task, by) == Some(Held::ToAnswers) {
                    let message = self.conversations.message();
                    self.push(by, Instruction::Answer(message), at);
                    return Ending::Message(message);
                }
                self.dialogues.speaks(by, task);
                match self.held(by, task) {
                    // Messages of one task of a pool say nothing about the task that serves in a replay.
                    Some(Held::ToWindow(_)) if self.pools.of(by).is_some() => {}
                    Some(Held::ToWindow(window)) => self.hold_to_window(by, task, window, at),
                    Some(Held::ToAnswers) => self.begin_turn(by, task, at),
                    None => {}
                }
                let edge = self.new_edge();
                self.mark(by, at);
                if self.recoveries[by.index()].is_in_call {
                    self.recoveries[by.index()].signals_due.push(edge);
                } else {
                    self.push(by, Instruction::Post(edge), at);
                }
                Ending::Edge(edge)
            }
            _ => Ending::External,
        }
    }

    fn new_edge(&mut self) -> u32 {
        self.waits.push(Span::ZERO);
        self.waits.len() as u32 - 1
    }

    /// `who` waits again. If it answered a message in dialogue and the sender was awake, the sender needed the answer
    /// to continue from here.
    fn answer_unseen(&mut self, who: TaskId, at: Time) {
        let Some(sender) = self.dialogues.rests(who) else { return };
        if matches!(self.recoveries[sender.index()].activity, Activity::Running(_) | Activity::Runnable) {
            let edge = self.new_edge();
            self.unknowns.inferred_answers += 1;
            self.push(who, Instruction::Post(edge), at);
            self.push(sender, Instruction::Wait(edge), at);
        }
    }

    /// Limit of `sender` towards the program of `receiver`.
    fn held(&self, sender: TaskId, receiver: TaskId) -> Option<Held> {
        self.windows.of(sender, self.history.participant(receiver).program)
    }

    /// Called before the event loop `by` wakes `task`. Starts a turn if that work is a reaction to a reply.
    fn begin_turn(&mut self, by: TaskId, task: TaskId, at: Time) {
        if let Some(answer) = self.conversations.speaks(by, task, at) {
            self.unknowns.inferred_answers += 1;
            self.recoveries[by.index()].push(Instruction::BeginTurn(answer));
        }
    }

    /// Called before `by` wakes `task`. With a full window in flight, it must wait for a reply.
    fn hold_to_window(&mut self, by: TaskId, task: TaskId, window: u32, at: Time) {
        if self.recoveries[task.index()].answers_on.is_some() {
            return;
        }
        let program = self.history.participant(task).program;
        let waits = &mut self.waits;
        let (free, channel) = self.sent.entry((by, program)).or_insert_with(|| {
            waits.push(Span::ZERO);
            (window, waits.len() as u32 - 1)
        });
        let channel = *channel;
        if *free > 0 {
            *free -= 1;
        } else {
            self.unknowns.inferred_answers += 1;
            self.push(by, Instruction::Wait(channel), at);
        }
        self.recoveries[task.index()].answers_on = Some(channel);
    }

    /// Adds the end of the wait of a blocked `task` to its programme.
    fn wait_ended(&mut self, task: TaskId, ending: Ending, at: Time) {
        let Activity::Blocked(since, off) = self.recoveries[task.index()].activity else { return };
        if ending == Ending::Outcome || self.recoveries[task.index()].is_fruitless {
            return self.recoveries[task.index()].now_runnable(at);
        }
        if let Ending::Edge(edge) = ending {
            self.waits[edge as usize] = at.since(since);
        }
        let instruction = match (ending, self.arrivals) {
            (Ending::Edge(edge), _) if off == Off::Uninterruptible => Instruction::WaitUninterruptible(edge),
            (Ending::Edge(edge), _) if self.handoffs.holders.contains_key(&edge) => Instruction::WaitHeld(edge),
            (Ending::Edge(edge), _) => Instruction::Wait(edge),
            (Ending::Transfer, _) => return self.recoveries[task.index()].now_runnable(at),
            (Ending::Turn(turn), _) => return self.woken_by_message(task, turn, at),
            // It may continue with any reply: its sleep follows from the turns of the replay.
            (Ending::Message(message), _) => {
                self.close_burst(task, at);
                self.conversations.woken(task, since, message, at);
                return self.recoveries[task.index()].now_runnable(at);
            }
            (Ending::Expiry(timer), Arrivals::Delays) => {
                self.unknowns.expiries += 1;
                self.recoveries[task.index()].expiry(timer, since, at)
            }
            // A wait of zero length would not be a wait.
            (Ending::External | Ending::Outcome, Arrivals::Delays) => Instruction::Sleep(at.since(since).max(Span(1))),
            (Ending::External | Ending::Outcome | Ending::Expiry(_), Arrivals::Recorded) => {
                Instruction::SleepUntil(Time(at.since(self.begin).0))
            }
        };
        let by_device = ending == Ending::External && off == Off::Uninterruptible;
        self.unknowns.device_waits += u64::from(by_device);
        self.push(task, instruction, at);
        self.conversations.slept(task, since);
        self.recoveries[task.index()].now_runnable(at);
    }

    fn is_kept(&self, who: TaskId) -> bool {
        self.others == Others::Compete || self.history.participant(who).judged
    }

    fn fork(&mut self, parent: Option<TaskId>, child: TaskId, at: Time) {
        if self.recoveries[child.index()].activity != Activity::Unseen {
            return;
        }
        let start = match parent.filter(|p| self.is_kept(*p)) {
            Some(parent) => {
                self.push(parent, Instruction::Fork(child.0), at);
                Start::Forked
            }
            None => Start::At(Time(at.since(self.begin).0)),
        };
        let recovery = &mut self.recoveries[child.index()];
        (recovery.start, recovery.born) = (Some(start), at);
        recovery.now_runnable(at);
    }
}
