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
//! instruction can always proceed: nothing inside a turn waits, so a loop that is busy with a later turn comes back to
//! it.

use super::answers::{Held, Windows};
use super::causes::{Cause, Rule};
use super::clock::TickGrid;
use super::conversations::Conversations;
use super::dialogues::Dialogues;
use super::draft::Draft;
use super::history::History;
use super::marks::Marks;
use super::open_end::START_UP;
use super::participants::Participant;
use super::priority::{self, Priorities};
use super::program::{Instruction, Op};
use super::recovered::{Found, Recovered};
use super::requests::Requests;
use super::task_recovery::{Activity, Ending, TaskRecovery};
use super::unknowns::Unknowns;
use goodness_core::{CpuId, Off, Span, Start, TaskId, Time};
use goodness_trace::{Record, SchedEvent, Wake};
use std::collections::{BTreeMap, BTreeSet};

/// Replay of wake-ups from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// After the same delay since the wait started (closed loop).
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

/// What tasks do when their recorded programmes are over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ends {
    /// Those that the end of the recording cut go on, and every policy is measured in the recorded window. Work that
    /// was over in the recording is replayed until it is over.
    #[default]
    Open,
    /// Nobody goes on: the recorded work is replayed until it is done.
    Recorded,
}

/// How a recording is replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// How wake-ups from outside are replayed.
    pub arrivals: Arrivals,
    /// What tasks outside the recorded command do.
    pub others: Others,
    /// What tasks do when their recorded programmes are over.
    pub ends: Ends,
}

/// Recovers the programmes of all tasks.
#[must_use]
pub fn recover(history: &History, options: ReplayOptions) -> Recovered {
    let ReplayOptions { arrivals, others, ends } = options;
    let grid = TickGrid::find(history);
    let rule = Rule::new(history, grid);
    let windows = Windows::find(history, &rule);
    let requests = Requests::find(history, &rule, &windows);
    let mut recovery = Recovery {
        history,
        priorities: Priorities::unseen(history.participants.len()),
        windows,
        marks: Marks::new(requests.marks()),
        requests,
        dialogues: Dialogues::find(history, &rule),
        sent: BTreeMap::new(),
        conversations: Conversations::new(history.participants.len()),
        rule,
        arrivals,
        others,
        ends,
        begin: history.begin(),
        recoveries: history.participants.iter().map(|_| TaskRecovery::unseen(history.begin())).collect(),
        on_cpu: vec![OnCpu::Unknown; history.cpus],
        laps_begin: None,
        waits: Vec::new(),
        unknowns: Unknowns::default(),
    };
    // Turns and windows of event loops are counted over whole laps: where there are any, laps are the whole recording.
    let laps_begin = Some(history.begin() + history.length() / START_UP)
        .filter(|_| ends == Ends::Open && recovery.windows.is_empty());
    for (record, number) in history.records.iter().zip(0..) {
        recovery.marks.advance(number);
        if recovery.laps_begin.is_none() && laps_begin.is_some_and(|at| record.at >= at) {
            recovery.begin_laps(laps_begin.unwrap_or_default());
        }
        recovery.see(record);
        while let Some((who, mark)) = recovery.marks.left() {
            recovery.push(who, mark, record.at);
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
    rule: Rule<'a>,
    windows: Windows,
    requests: Requests,
    marks: Marks,
    dialogues: Dialogues,
    /// For each sender with a window: messages it may still send, and the channel that counts replies.
    sent: BTreeMap<(TaskId, u32), (u32, u32)>,
    conversations: Conversations,
    arrivals: Arrivals,
    others: Others,
    ends: Ends,
    begin: Time,
    recoveries: Vec<TaskRecovery>,
    on_cpu: Vec<OnCpu>,
    /// Where later laps begin, once that was passed.
    laps_begin: Option<Time>,
    /// Length of each recorded wait for an edge, by edge.
    waits: Vec<Span>,
    unknowns: Unknowns,
}

impl Recovery<'_> {
    fn see(&mut self, record: &Record) {
        let (at, cpu) = (record.at, record.cpu);
        if let Some(wake) = self.history.waking(record) {
            self.expect(cpu, wake.current, at);
            self.waking(&wake, at);
        }
        match record.event {
            SchedEvent::Switch { prev, next, prev_state, .. } => self.switch(cpu, prev, prev_state.off(), next, at),
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
            SchedEvent::Waking(_) | SchedEvent::Exec { .. } | SchedEvent::Migrate { .. } => {}
        }
        for (task, prio) in priority::named(&record.event) {
            if let Some(nice) = self.priorities.change(task, prio) {
                self.push(task, Instruction::Nice(nice.get() as i8), at);
            }
        }
    }

    /// Later laps begin at `at`: whoever is alive there begins his there.
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
                self.recoveries[next.index()].late_marks.push(mark);
            }
        }
    }

    /// Puts the marks of `who` at this record into its programme, after the CPU time up to `at`.
    fn mark(&mut self, who: TaskId, at: Time) {
        while let Some(mark) = self.marks.take(who) {
            self.push(who, mark, at);
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
                    self.was_running(who, cpu);
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
    fn was_running(&mut self, who: TaskId, cpu: CpuId) {
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
        if let Some(message) = self.conversations.acts(who) {
            recovery.push(Instruction::BeginTurn(message));
        }
        for mark in std::mem::take(&mut recovery.late_marks) {
            recovery.push(mark);
        }
        recovery.close_burst();
    }

    fn leave(&mut self, who: TaskId, off: Off, at: Time) {
        if self.recoveries[who.index()].activity == Activity::Unseen {
            let cpu = self.recoveries[who.index()].cpu;
            self.was_running(who, cpu);
        }
        self.recoveries[who.index()].account(at);
        self.recoveries[who.index()].activity = match off {
            Off::Preempted | Off::Yielded => Activity::Runnable,
            Off::Exited => Activity::Gone,
            Off::Sleeping | Off::Uninterruptible => Activity::Blocked(at, off),
        };
        self.mark(who, at);
        if !off.is_runnable()
            && let Some(channel) = self.recoveries[who.index()].answers_on.take()
        {
            self.push(who, Instruction::Post(channel), at);
        }
        if matches!(self.recoveries[who.index()].activity, Activity::Blocked(..)) {
            self.answer_unseen(who, at);
        }
        if matches!(self.recoveries[who.index()].activity, Activity::Blocked(..))
            && let Some(answer) = self.conversations.rests(who, at)
        {
            self.push(who, Instruction::Answer(answer), at);
        }
        let recovery = &mut self.recoveries[who.index()];
        match (recovery.early.take(), recovery.activity) {
            (_, Activity::Gone) => {
                self.recoveries[who.index()].ended = Some(at);
                self.push(who, Instruction::Exit, at);
            }
            (Some(ending), Activity::Blocked(..)) => self.wait_ended(who, ending, at),
            // It did not have to wait after all, but what it waited for stays a condition of going on.
            (Some(Ending::Edge(edge)), _) => self.push(who, Instruction::Wait(edge), at),
            (Some(Ending::Message(_) | Ending::External) | None, _) => {}
        }
    }

    fn come(&mut self, who: TaskId, cpu: CpuId, at: Time) {
        match self.recoveries[who.index()].activity {
            Activity::Unseen => self.recoveries[who.index()].start = Some(Start::WokenAt(Time::ZERO)),
            Activity::Blocked(..) => {
                self.unknowns.wakes_without_waking += 1;
                self.wait_ended(who, Ending::External, at);
            }
            // Its number came back to life: a new task under an old number.
            Activity::Gone => return,
            Activity::Running(_) => self.recoveries[who.index()].account(at),
            Activity::Runnable | Activity::Unaccounted(_) => {}
        }
        let recovery = &mut self.recoveries[who.index()];
        if recovery.ops.is_empty() && recovery.burst == 0 {
            recovery.cpu = cpu;
        }
        recovery.activity = Activity::Running(at);
    }

    fn waking(&mut self, wake: &Wake, at: Time) {
        let task = wake.task;
        let cause = self.rule.judge(wake, &mut self.unknowns.wakings);
        if let Activity::Unaccounted(since) = self.recoveries[task.index()].activity {
            self.recoveries[task.index()].activity = Activity::Blocked(since, Off::Sleeping);
        }
        match self.recoveries[task.index()].activity {
            Activity::Blocked(..) => {
                let ending = self.fire(task, cause, at);
                self.wait_ended(task, ending, at);
            }
            Activity::Unseen => {
                self.unknowns.waits_begun_before += 1;
                let recovery = &mut self.recoveries[task.index()];
                recovery.start = Some(Start::WokenAt(Time(at.since(self.begin).0)));
                recovery.activity = Activity::Runnable;
            }
            Activity::Running(_) => {
                self.unknowns.early_wakings += 1;
                self.recoveries[task.index()].early = Some(self.fire(task, cause, at));
            }
            Activity::Runnable | Activity::Unaccounted(_) | Activity::Gone => self.unknowns.redundant_wakings += 1,
        }
        self.recoveries[task.index()].runnable_at = at;
    }

    /// Signals a new edge at the waker's current instruction, if the wake-up was an edge.
    fn fire(&mut self, task: TaskId, cause: Cause, at: Time) -> Ending {
        match cause {
            Cause::Edge(by) if self.is_kept(by) && self.is_kept(task) => {
                if self.held(task, by) == Some(Held::ToAnswers) {
                    let message = self.conversations.message();
                    self.push(by, Instruction::Answer(message), at);
                    return Ending::Message(message);
                }
                self.dialogues.speaks(by, task);
                match self.held(by, task) {
                    Some(Held::ToWindow(window)) => self.hold_to_window(by, task, window, at),
                    Some(Held::ToAnswers) => self.begin_turn(by, task),
                    None => {}
                }
                let edge = self.waits.len() as u32;
                self.waits.push(Span::ZERO);
                self.mark(by, at);
                self.push(by, Instruction::Post(edge), at);
                Ending::Edge(edge)
            }
            _ => Ending::External,
        }
    }

    /// `who` waits again. If it answered a message in dialogue and the sender was awake, the sender needed the answer
    /// to go on from here.
    fn answer_unseen(&mut self, who: TaskId, at: Time) {
        let Some(sender) = self.dialogues.rests(who) else { return };
        if matches!(self.recoveries[sender.index()].activity, Activity::Running(_) | Activity::Runnable) {
            let edge = self.waits.len() as u32;
            self.waits.push(Span::ZERO);
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
    fn begin_turn(&mut self, by: TaskId, task: TaskId) {
        if let Some(answer) = self.conversations.speaks(by, task) {
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
        if let Ending::Edge(edge) = ending {
            self.waits[edge as usize] = at.since(since);
        }
        let instruction = match (ending, self.arrivals) {
            (Ending::Edge(edge), _) if off == Off::Uninterruptible => Instruction::WaitUninterruptible(edge),
            (Ending::Edge(edge), _) => Instruction::Wait(edge),
            // It may go on with whoever answers first: that it slept follows from the turns of the replay.
            (Ending::Message(message), _) => {
                self.close_burst(task, at);
                self.conversations.woken(task, since, message);
                return self.recoveries[task.index()].now_runnable(at);
            }
            // A wait of no length would not be a wait.
            (Ending::External, Arrivals::Delays) => Instruction::Sleep(at.since(since).max(Span(1))),
            (Ending::External, Arrivals::Recorded) => Instruction::SleepUntil(Time(at.since(self.begin).0)),
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

    /// The recording is over: what it cut goes on with its beginning, unless all that was recorded on purpose has
    /// ended.
    fn finish(mut self, grid: Option<TickGrid>) -> Recovered {
        let is_over = self.ends == Ends::Recorded || self.is_over();
        let mut stopped = BTreeSet::new();
        for index in 0..self.recoveries.len() {
            let who = TaskId(index as u32);
            match self.recoveries[index].activity {
                Activity::Unseen => {}
                Activity::Gone if is_over || !self.lasted(who) => {}
                Activity::Gone => self.take_back_end(who, &mut stopped),
                Activity::Blocked(since, _) => {
                    self.unknowns.waits_cut_by_end += 1;
                    self.cut(who, self.history.end.since(since), is_over);
                }
                _ => self.cut(who, Span::ZERO, is_over),
            }
        }
        self.let_clock_stop(&stopped);
        let kept = self.history.participants.iter().map(|c| self.others == Others::Compete || c.judged);
        let draft = |((index, recovery), kept): ((usize, TaskRecovery), bool)| {
            let start = recovery.start.filter(|_| kept)?;
            Some(Draft { recorded: TaskId(index as u32), start, cpu: recovery.cpu, ops: recovery.ops })
        };
        let found = Found {
            drafts: self.recoveries.into_iter().enumerate().zip(kept).filter_map(draft).collect(),
            waits: self.waits,
            answers: self.conversations.len(),
            is_over,
            requests: self.requests,
            unknowns: self.unknowns,
            grid,
            length: self.history.length(),
            lap: self.history.end.since(self.laps_begin.unwrap_or(self.begin)),
        };
        found.finish(&self.history.participants)
    }

    /// Whether the work was over before the recording: every task that was recorded on purpose has ended, and not
    /// because the recording ended with it. Tasks that lasted as long as the recording were stopped by a clock as a
    /// rule, like benchmarks that run for ten seconds; where most of the CPU time is theirs, the work has no end of its
    /// own.
    fn is_over(&self) -> bool {
        let seen = |(recovery, it): &(&TaskRecovery, &Participant)| it.judged && recovery.start.is_some();
        let (mut all, mut lasting, mut alive) = (0, 0, 0);
        for (index, (recovery, _)) in
            self.recoveries.iter().zip(&self.history.participants).enumerate().filter(|(_, it)| seen(it))
        {
            let time = recovery.cpu_time();
            all += time;
            lasting += if self.lasted(TaskId(index as u32)) { time } else { 0 };
            alive += u32::from(recovery.activity != Activity::Gone);
        }
        all > 0 && alive == 0 && lasting * 2 <= all
    }

    /// Whether `who` lived from the first twentieth of the recording to its last.
    fn lasted(&self, who: TaskId) -> bool {
        let recovery = &self.recoveries[who.index()];
        let margin = Span(self.history.length().0 / 20);
        let ended = recovery.ended.unwrap_or(self.history.end);
        recovery.born.since(self.begin) <= margin && self.history.end.since(ended) <= margin
    }

    /// A clock stopped `who` at the end of the recording: it goes on. `stopped` are the edges with which its end woke
    /// others.
    fn take_back_end(&mut self, who: TaskId, stopped: &mut BTreeSet<u32>) {
        let recovery = &mut self.recoveries[who.index()];
        let ending = recovery.ops.split_off(recovery.ends_from.min(recovery.ops.len() - 1));
        for op in ending {
            match op.instruction() {
                Instruction::Post(edge) => drop(stopped.insert(edge)),
                Instruction::Exit => recovery.push(Instruction::Cut),
                instruction => recovery.push(instruction),
            }
        }
    }

    /// Who waited for the end of a task that a clock stopped waits as long as in the recording.
    fn let_clock_stop(&mut self, stopped: &BTreeSet<u32>) {
        for op in self.recoveries.iter_mut().flat_map(|recovery| &mut recovery.ops) {
            if let Instruction::Wait(edge) | Instruction::WaitUninterruptible(edge) = op.instruction()
                && stopped.contains(&edge)
            {
                *op = Op::new(Instruction::Sleep(self.waits[edge as usize]));
            }
        }
    }

    /// The recording cuts `who` off, who had waited for `waited` then.
    fn cut(&mut self, who: TaskId, waited: Span, is_over: bool) {
        if !is_over {
            self.rest_before_next_lap(who, waited);
        }
        self.push(who, Instruction::Cut, self.history.end);
    }

    /// `who` goes on with its next lap. In between it sleeps as long as its last wait, of which the recording shows
    /// `cut`, and the time from the beginning of a lap until it was first runnable. If its lap begins in a wait, the
    /// part before that is taken off.
    fn rest_before_next_lap(&mut self, who: TaskId, cut: Span) {
        let recovery = &self.recoveries[who.index()];
        let begin = self.laps_begin.unwrap_or(self.begin);
        let first = match (recovery.lap_begins, recovery.start) {
            (Some(_), _) => Span::ZERO,
            (None, Some(Start::WokenAt(at))) => (self.begin + Span(at.0)).since(begin),
            (None, _) if self.lasted(who) => Span::ZERO,
            (None, _) => recovery.born.since(begin),
        };
        let cut = Span(cut.0.saturating_sub(recovery.lap_begins.unwrap_or_default().0));
        let rest = match self.arrivals {
            Arrivals::Delays => Instruction::Sleep(cut + first),
            Arrivals::Recorded => Instruction::SleepUntil(Time::ZERO + self.history.length() + first),
        };
        if cut + first > Span::ZERO {
            self.push(who, rest, self.history.end);
        }
    }
}
