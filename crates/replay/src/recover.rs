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
use super::draft::Draft;
use super::history::History;
use super::participants::Participant;
use super::priority::{self, Priorities};
use super::program::{Act, Op};
use super::recovered::{Found, Recovered};
use super::track::{Doing, Ending, Track};
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
    let mut recovery = Recovery {
        history,
        priorities: Priorities::unseen(history.participants.len()),
        windows: Windows::find(history, &rule),
        sent: BTreeMap::new(),
        conversations: Conversations::new(history.participants.len()),
        rule,
        arrivals,
        others,
        ends,
        begin: history.begin(),
        tracks: history.participants.iter().map(|_| Track::unseen(history.begin())).collect(),
        on_cpu: vec![OnCpu::Unknown; history.cpus],
        waits: Vec::new(),
        unknowns: Unknowns::default(),
    };
    for record in history.records {
        recovery.see(record);
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
    /// For each sender with a window: messages it may still send, and the channel that counts replies.
    sent: BTreeMap<(TaskId, u32), (u32, u32)>,
    conversations: Conversations,
    arrivals: Arrivals,
    others: Others,
    ends: Ends,
    begin: Time,
    tracks: Vec<Track>,
    on_cpu: Vec<OnCpu>,
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
            SchedEvent::Wakeup(Wake { task, .. }) => self.tracks[task.index()].runnable_at = at,
            SchedEvent::WakeupNew(Wake { task, current, .. }) => {
                self.fork(self.history.participant(task).parent.or(current), task, at);
                self.tracks[task.index()].runnable_at = at;
            }
            SchedEvent::Fork { parent, child } => self.fork(parent, child, at),
            SchedEvent::Exit { task } => {
                let track = &mut self.tracks[task.index()];
                (track.early, track.ends_from) = (None, track.ops.len());
            }
            SchedEvent::Lost { .. } => self.unknowns.losses += 1,
            SchedEvent::Waking(_) | SchedEvent::Exec { .. } | SchedEvent::Migrate { .. } => {}
        }
        for (task, prio) in priority::named(&record.event) {
            if let Some(nice) = self.priorities.change(task, prio) {
                self.push(task, Act::Nice(nice.get() as i8), at);
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
        let came = who.map_or(at, |w| self.tracks[w.index()].runnable_at).min(at);
        let since = match believed.map(|b| self.tracks[b.index()].doing) {
            Some(Doing::Running(since)) => since,
            _ => Time::ZERO,
        };
        let switched = came.max(since);
        if let Some(left) = believed {
            let left = &mut self.tracks[left.index()];
            left.account(switched);
            left.doing = Doing::Unaccounted(switched);
        }
        self.on_cpu[cpu.index()] = OnCpu::Known(who);
        if let Some(who) = who {
            self.come(who, cpu, switched);
        }
    }

    /// The first known fact about a CPU is that `who` runs on it, so it ran there from the start.
    fn was_running(&mut self, who: TaskId, cpu: CpuId) {
        let begin = self.begin;
        let track = &mut self.tracks[who.index()];
        if track.doing == Doing::Unseen {
            track.start = Some(Start::WokenAt(Time::ZERO));
            track.cpu = cpu;
            track.doing = Doing::Running(begin);
        } else {
            self.come(who, cpu, begin);
        }
    }

    /// Appends an instruction to the task's programme, after the CPU time up to `at`.
    fn push(&mut self, who: TaskId, act: Act, at: Time) {
        self.close_burst(who, at);
        self.tracks[who.index()].push(act);
    }

    /// Adds the burst up to `at` to the programme, in the turn of the message that caused the wake-up.
    fn close_burst(&mut self, who: TaskId, at: Time) {
        let track = &mut self.tracks[who.index()];
        track.account(at);
        if let Some(message) = self.conversations.acts(who) {
            track.push(Act::Turn(message));
        }
        track.close_burst();
    }

    fn leave(&mut self, who: TaskId, off: Off, at: Time) {
        if self.tracks[who.index()].doing == Doing::Unseen {
            let cpu = self.tracks[who.index()].cpu;
            self.was_running(who, cpu);
        }
        self.tracks[who.index()].account(at);
        self.tracks[who.index()].doing = match off {
            Off::Preempted | Off::Yielded => Doing::Runnable,
            Off::Exited => Doing::Gone,
            Off::Sleeping | Off::Uninterruptible => Doing::Blocked(at, off),
        };
        if !off.is_runnable()
            && let Some(channel) = self.tracks[who.index()].answers_on.take()
        {
            self.push(who, Act::Post(channel), at);
        }
        if matches!(self.tracks[who.index()].doing, Doing::Blocked(..))
            && let Some(answer) = self.conversations.rests(who, at)
        {
            self.push(who, Act::Answer(answer), at);
        }
        let track = &mut self.tracks[who.index()];
        match (track.early.take(), track.doing) {
            (_, Doing::Gone) => {
                self.tracks[who.index()].ended = Some(at);
                self.push(who, Act::Exit, at);
            }
            (Some(ending), Doing::Blocked(..)) => self.wait_ended(who, ending, at),
            // It did not have to wait after all, but what it waited for stays a condition of going on.
            (Some(Ending::Edge(edge)), _) => self.push(who, Act::Wait(edge), at),
            (Some(Ending::Message(_) | Ending::External) | None, _) => {}
        }
    }

    fn come(&mut self, who: TaskId, cpu: CpuId, at: Time) {
        match self.tracks[who.index()].doing {
            Doing::Unseen => self.tracks[who.index()].start = Some(Start::WokenAt(Time::ZERO)),
            Doing::Blocked(..) => {
                self.unknowns.wakes_without_waking += 1;
                self.wait_ended(who, Ending::External, at);
            }
            // Its number came back to life: a new task under an old number.
            Doing::Gone => return,
            Doing::Running(_) => self.tracks[who.index()].account(at),
            Doing::Runnable | Doing::Unaccounted(_) => {}
        }
        let track = &mut self.tracks[who.index()];
        if track.ops.is_empty() && track.burst == 0 {
            track.cpu = cpu;
        }
        track.doing = Doing::Running(at);
    }

    fn waking(&mut self, wake: &Wake, at: Time) {
        let task = wake.task;
        let cause = self.rule.judge(wake, &mut self.unknowns.wakings);
        if let Doing::Unaccounted(since) = self.tracks[task.index()].doing {
            self.tracks[task.index()].doing = Doing::Blocked(since, Off::Sleeping);
        }
        match self.tracks[task.index()].doing {
            Doing::Blocked(..) => {
                let ending = self.fire(task, cause, at);
                self.wait_ended(task, ending, at);
            }
            Doing::Unseen => {
                self.unknowns.waits_begun_before += 1;
                let track = &mut self.tracks[task.index()];
                track.start = Some(Start::WokenAt(Time(at.since(self.begin).0)));
                track.doing = Doing::Runnable;
            }
            Doing::Running(_) => {
                self.unknowns.early_wakings += 1;
                self.tracks[task.index()].early = Some(self.fire(task, cause, at));
            }
            Doing::Runnable | Doing::Unaccounted(_) | Doing::Gone => self.unknowns.redundant_wakings += 1,
        }
        self.tracks[task.index()].runnable_at = at;
    }

    /// Fires a new edge at the waker's present point of its work, if the waking is an edge.
    fn fire(&mut self, task: TaskId, cause: Cause, at: Time) -> Ending {
        match cause {
            Cause::Edge(by) if self.is_kept(by) && self.is_kept(task) => {
                if self.held(task, by) == Some(Held::ToAnswers) {
                    let message = self.conversations.message();
                    self.push(by, Act::Answer(message), at);
                    return Ending::Message(message);
                }
                match self.held(by, task) {
                    Some(Held::ToWindow(window)) => self.hold_to_window(by, task, window, at),
                    Some(Held::ToAnswers) => self.begin_turn(by, task),
                    None => {}
                }
                let edge = self.waits.len() as u32;
                self.waits.push(Span::ZERO);
                self.push(by, Act::Post(edge), at);
                Ending::Edge(edge)
            }
            _ => Ending::External,
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
            self.tracks[by.index()].push(Act::Turn(answer));
        }
    }

    /// Called before `by` wakes `task`. With a full window in flight, it must wait for a reply.
    fn hold_to_window(&mut self, by: TaskId, task: TaskId, window: u32, at: Time) {
        if self.tracks[task.index()].answers_on.is_some() {
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
            self.push(by, Act::Wait(channel), at);
        }
        self.tracks[task.index()].answers_on = Some(channel);
    }

    /// Adds the end of the wait of a blocked `task` to its programme.
    fn wait_ended(&mut self, task: TaskId, ending: Ending, at: Time) {
        let Doing::Blocked(since, off) = self.tracks[task.index()].doing else { return };
        if let Ending::Edge(edge) = ending {
            self.waits[edge as usize] = at.since(since);
        }
        let act = match (ending, self.arrivals) {
            (Ending::Edge(edge), _) if off == Off::Uninterruptible => Act::WaitUninterruptible(edge),
            (Ending::Edge(edge), _) => Act::Wait(edge),
            // It may go on with whoever answers first: that it slept follows from the turns of the replay.
            (Ending::Message(message), _) => {
                self.close_burst(task, at);
                self.conversations.woken(task, since, message);
                return self.tracks[task.index()].now_runnable(at);
            }
            // A wait of no length would not be a wait.
            (Ending::External, Arrivals::Delays) => Act::Sleep(at.since(since).max(Span(1))),
            (Ending::External, Arrivals::Recorded) => Act::SleepUntil(Time(at.since(self.begin).0)),
        };
        let by_device = ending == Ending::External && off == Off::Uninterruptible;
        self.unknowns.device_waits += u64::from(by_device);
        self.push(task, act, at);
        self.conversations.slept(task, since);
        self.tracks[task.index()].now_runnable(at);
    }

    fn is_kept(&self, who: TaskId) -> bool {
        self.others == Others::Compete || self.history.participant(who).judged
    }

    fn fork(&mut self, parent: Option<TaskId>, child: TaskId, at: Time) {
        if self.tracks[child.index()].doing != Doing::Unseen {
            return;
        }
        let start = match parent.filter(|p| self.is_kept(*p)) {
            Some(parent) => {
                self.push(parent, Act::Fork(child.0), at);
                Start::Forked
            }
            None => Start::At(Time(at.since(self.begin).0)),
        };
        let track = &mut self.tracks[child.index()];
        (track.start, track.born) = (Some(start), at);
        track.now_runnable(at);
    }

    /// The recording is over: what it cut goes on with its beginning, unless all that was recorded on purpose has
    /// ended.
    fn finish(mut self, grid: Option<TickGrid>) -> Recovered {
        let is_over = self.ends == Ends::Recorded || self.is_over();
        let mut stopped = BTreeSet::new();
        for index in 0..self.tracks.len() {
            let who = TaskId(index as u32);
            match self.tracks[index].doing {
                Doing::Unseen => {}
                Doing::Gone if is_over || !self.lasted(who) => {}
                Doing::Gone => self.take_back_end(who, &mut stopped),
                Doing::Blocked(since, _) => {
                    self.unknowns.waits_cut_by_end += 1;
                    self.cut(who, self.history.end.since(since), is_over);
                }
                _ => self.cut(who, Span::ZERO, is_over),
            }
        }
        self.let_clock_stop(&stopped);
        let kept = self.history.participants.iter().map(|c| self.others == Others::Compete || c.judged);
        let draft = |((index, track), kept): ((usize, Track), bool)| {
            let start = track.start.filter(|_| kept)?;
            Some(Draft { recorded: TaskId(index as u32), start, cpu: track.cpu, ops: track.ops })
        };
        let found = Found {
            drafts: self.tracks.into_iter().enumerate().zip(kept).filter_map(draft).collect(),
            waits: self.waits,
            answers: self.conversations.len(),
            is_over,
            unknowns: self.unknowns,
            grid,
            length: self.history.length(),
        };
        found.finish(&self.history.participants)
    }

    /// Whether the work was over before the recording: every task that was recorded on purpose has ended, and not
    /// because the recording ended with it. Tasks that lasted as long as the recording were stopped by a clock as a
    /// rule, like benchmarks that run for ten seconds; where most of the CPU time is theirs, the work has no end of its
    /// own.
    fn is_over(&self) -> bool {
        let seen = |(track, it): &(&Track, &Participant)| it.judged && track.start.is_some();
        let (mut all, mut lasting, mut alive) = (0, 0, 0);
        for (index, (track, _)) in
            self.tracks.iter().zip(&self.history.participants).enumerate().filter(|(_, it)| seen(it))
        {
            let time = track.cpu_time();
            all += time;
            lasting += if self.lasted(TaskId(index as u32)) { time } else { 0 };
            alive += u32::from(track.doing != Doing::Gone);
        }
        all > 0 && alive == 0 && lasting * 2 <= all
    }

    /// Whether `who` lived from the first twentieth of the recording to its last.
    fn lasted(&self, who: TaskId) -> bool {
        let track = &self.tracks[who.index()];
        let margin = Span(self.history.length().0 / 20);
        let ended = track.ended.unwrap_or(self.history.end);
        track.born.since(self.begin) <= margin && self.history.end.since(ended) <= margin
    }

    /// A clock stopped `who` at the end of the recording: it goes on. `stopped` are the edges with which its end woke
    /// others.
    fn take_back_end(&mut self, who: TaskId, stopped: &mut BTreeSet<u32>) {
        let track = &mut self.tracks[who.index()];
        let ending = track.ops.split_off(track.ends_from.min(track.ops.len() - 1));
        for op in ending {
            match op.act() {
                Act::Post(edge) => drop(stopped.insert(edge)),
                Act::Exit => track.push(Act::Cut),
                act => track.push(act),
            }
        }
    }

    /// Who waited for the end of a task that a clock stopped waits as long as in the recording.
    fn let_clock_stop(&mut self, stopped: &BTreeSet<u32>) {
        for op in self.tracks.iter_mut().flat_map(|track| &mut track.ops) {
            if let Act::Wait(edge) | Act::WaitUninterruptible(edge) = op.act()
                && stopped.contains(&edge)
            {
                *op = Op::new(Act::Sleep(self.waits[edge as usize]));
            }
        }
    }

    /// The recording cuts `who` off, who had waited for `waited` then.
    fn cut(&mut self, who: TaskId, waited: Span, is_over: bool) {
        if !is_over {
            self.rest_before_next_lap(who, waited);
        }
        self.push(who, Act::Cut, self.history.end);
    }

    /// `who` goes on with its beginning. In between it sleeps as long as its last wait, of which the recording shows
    /// `cut`, and the time before it was first runnable.
    fn rest_before_next_lap(&mut self, who: TaskId, cut: Span) {
        let track = &self.tracks[who.index()];
        let first = match track.start {
            Some(Start::WokenAt(at)) => Span(at.0),
            _ if self.lasted(who) => Span::ZERO,
            _ => track.born.since(self.begin),
        };
        let rest = match self.arrivals {
            Arrivals::Delays => Act::Sleep(cut + first),
            Arrivals::Recorded => Act::SleepUntil(Time::ZERO + self.history.length() + first),
        };
        if cut + first > Span::ZERO {
            self.push(who, rest, self.history.end);
        }
    }
}
