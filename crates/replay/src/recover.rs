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
use super::history::History;
use super::priority::{self, Priorities};
use super::program::Act;
use super::recovered::{Draft, Recovered, finished};
use super::track::{Doing, Ending, Track};
use super::unknowns::Unknowns;
use goodness_core::{CpuId, Off, Span, Start, TaskId, Time};
use goodness_trace::{Record, SchedEvent, Wake};
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// Recovers the programmes of all tasks.
#[must_use]
pub fn recover(history: &History, arrivals: Arrivals, others: Others) -> Recovered {
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
        begin: history.begin(),
        tracks: history.participants.iter().map(|_| Track::unseen()).collect(),
        on_cpu: vec![OnCpu::Unknown; history.cpus],
        edges: 0,
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
    begin: Time,
    tracks: Vec<Track>,
    on_cpu: Vec<OnCpu>,
    edges: u32,
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
            SchedEvent::Exit { task } => self.tracks[task.index()].early = None,
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
            (_, Doing::Gone) => self.push(who, Act::Exit, at),
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
                let edge = self.edges;
                self.edges += 1;
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
        let edges = &mut self.edges;
        let (free, channel) = self.sent.entry((by, program)).or_insert_with(|| {
            *edges += 1;
            (window, *edges - 1)
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
        track.start = Some(start);
        track.now_runnable(at);
    }

    fn finish(mut self, grid: Option<TickGrid>) -> Recovered {
        let end = self.history.end;
        for index in 0..self.tracks.len() {
            let who = TaskId(index as u32);
            match self.tracks[index].doing {
                Doing::Unseen | Doing::Gone => continue,
                Doing::Blocked(..) => self.unknowns.waits_cut_by_end += 1,
                _ => {}
            }
            self.push(who, Act::Unknown, end);
        }
        let kept = self.history.participants.iter().map(|c| self.others == Others::Compete || c.judged);
        let draft = |((index, track), kept): ((usize, Track), bool)| {
            let start = track.start.filter(|_| kept)?;
            Some(Draft { recorded: TaskId(index as u32), start, cpu: track.cpu, ops: track.ops })
        };
        let drafts = self.tracks.into_iter().enumerate().zip(kept).filter_map(draft).collect();
        let (tasks, rounds) = finished(drafts, &self.history.participants, self.conversations.len());
        let length = self.history.length();
        Recovered { tasks, edges: self.edges, rounds: Arc::new(rounds), unknowns: self.unknowns, grid, length }
    }
}
