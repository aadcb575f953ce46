//! From sightings to programmes.
//!
//! Every task's programme lists, in recorded order, the CPU time it executed, the edges it fired and the waits
//! it made. Time on a runqueue is in no programme. An edge is a counting semaphore of its own, posted once and
//! waited for once. **No policy can deadlock a recovered workload**: order its instructions by the recorded time
//! at which each was complete; every wait comes after the post of its edge (and every wait for an answer after as
//! many answers as there were waits for them), every instruction after its
//! predecessor in the same programme, and every programme after the fork that begins it. So the first
//! instruction not yet complete can always go on.

use super::answers::Windows;
use super::causes::{Cause, Kinds, Rule};
use super::clock::TickGrid;
use super::program::{Act, Op};
use super::story::{Character, Origin, Sighting, Story, What, Who};
use goodness_core::{CpuId, Off, Span, Start, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How wake-ups from outside are replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// After the same delay since the wait began (closed loop).
    #[default]
    Delays,
    /// At the recorded time (open loop).
    Recorded,
}

/// What becomes of tasks outside the recorded command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Others {
    /// They compete for the CPUs as they did.
    #[default]
    Compete,
    /// They are left out; what they woke is woken from outside.
    LeftOut,
}

/// What the recording does not tell, or tells in a way that had to be repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unknowns {
    /// Wakings by kind.
    pub wakings: Kinds,
    /// Tasks that came back from a wait without any waking on record; taken as woken from outside.
    pub wakes_without_waking: u64,
    /// Switches that are missing; put at the last time the task that came was made runnable.
    pub missing_switches: u64,
    /// Wakings of tasks that were already runnable; they carry no cause.
    pub redundant_wakings: u64,
    /// Wakings of tasks that were still running and about to wait; their wait ends at once.
    pub early_wakings: u64,
    /// Places where events were lost.
    pub losses: u64,
    /// First waits that began before the recording; they end at the recorded time whatever woke them.
    pub waits_begun_before: u64,
    /// Waits that the recording's end cut short; they never end.
    pub waits_cut_by_end: u64,
    /// Waits for answers that left no trace, inferred from how many messages were ever under way.
    pub inferred_answers: u64,
    /// Waits in uninterruptible sleep (I/O, as a rule) that ended from outside; replayed as sleeps.
    pub device_waits: u64,
}

impl Unknowns {
    /// Each kind as a phrase that follows a number.
    #[must_use]
    pub fn counted(&self) -> [(&'static str, u64); 14] {
        [
            ("wake-ups by tasks, replayed as edges", self.wakings.task_edges),
            ("wake-ups in soft interrupts that a task caused, replayed as edges", self.wakings.soft_edges),
            ("wake-ups in soft interrupts from outside, replayed as delays", self.wakings.soft_external),
            ("wake-ups in hard interrupts, replayed as delays", self.wakings.hard_external),
            ("wake-ups by nobody known, replayed as delays", self.wakings.nobody),
            ("waits that ended without a waking on record", self.wakes_without_waking),
            ("switches missing, put in where they fit", self.missing_switches),
            ("wakings of tasks that were awake already", self.redundant_wakings),
            ("wakings of tasks on their way to sleep", self.early_wakings),
            ("places where events were lost", self.losses),
            ("waits that had begun before the recording", self.waits_begun_before),
            ("waits that the end of the recording cut off", self.waits_cut_by_end),
            ("waits for devices, replayed as delays", self.device_waits),
            (
                "answers inferred: a sender never had more messages under way than in the recording",
                self.inferred_answers,
            ),
        ]
    }
}

/// A recovered task.
#[derive(Clone, Debug)]
pub struct RecoveredTask {
    /// Its place in [`Story::cast`], which is also its number in the recording.
    pub who: Who,
    /// Who it was.
    pub character: Character,
    /// How it begins.
    pub start: Start,
    /// Its CPU at the beginning.
    pub cpu: CpuId,
    /// Its programme.
    pub ops: Arc<[Op]>,
}

impl RecoveredTask {
    /// CPU time of the whole programme.
    #[must_use]
    pub fn cpu_time(&self) -> Span {
        let run = |op: &Op| if let Act::Run(span) = op.act() { span.0 } else { 0 };
        Span(self.ops.iter().map(run).sum())
    }
}

/// All that was recovered.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The tasks; tasks that never ran and were never woken are not among them.
    pub tasks: Vec<RecoveredTask>,
    /// How many edges there are, numbered from 0.
    pub edges: u32,
    /// What could not be known.
    pub unknowns: Unknowns,
    /// The recorded machine's tick, where it showed.
    pub grid: Option<TickGrid>,
    /// Length of the recording.
    pub length: Span,
}

/// What a task is doing, as far as the recording tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// Nothing was seen of it yet.
    Unseen,
    /// On a CPU since then.
    Running(Time),
    /// Waiting for a CPU.
    Runnable,
    /// Waiting for something else since then.
    Blocked(Time, Off),
    /// It left its CPU at about that time, and nothing says how.
    Adrift(Time),
    /// Gone.
    Gone,
}

/// What ended a wait, its edge fired already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Edge(u32),
    External,
}

struct Track {
    doing: Doing,
    ops: Vec<Op>,
    /// CPU time since the last instruction.
    burst: u64,
    /// What ended a wait that the task has not even begun: it was woken before it had left its CPU.
    early: Option<Ending>,
    start: Option<Start>,
    cpu: CpuId,
    /// When it was last made runnable.
    runnable_at: Time,
    /// The channel on which the one who woke it counts that it is done.
    answers_on: Option<u32>,
}

/// Recovers the programmes of all tasks.
#[must_use]
pub fn recover(story: &Story, arrivals: Arrivals, others: Others) -> Recovered {
    let grid = TickGrid::find(story);
    let track = || Track {
        doing: Doing::Unseen,
        ops: Vec::new(),
        burst: 0,
        early: None,
        start: None,
        cpu: CpuId(0),
        runnable_at: Time::ZERO,
        answers_on: None,
    };
    let rule = Rule::new(story, grid);
    let mut recovery = Recovery {
        story,
        windows: Windows::find(story, &rule),
        sent: BTreeMap::new(),
        rule,
        arrivals,
        others,
        begin: story.begin(),
        tracks: story.cast.iter().map(|_| track()).collect(),
        on_cpu: vec![OnCpu::Unknown; story.cpus],
        edges: 0,
        unknowns: Unknowns::default(),
    };
    for sighting in &story.sightings {
        recovery.see(sighting);
    }
    recovery.finish(grid)
}

/// Who is on a CPU, as far as the recording tells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnCpu {
    Unknown,
    Known(Option<Who>),
}

struct Recovery<'a> {
    story: &'a Story,
    rule: Rule<'a>,
    windows: Windows,
    /// For each sender with a window: messages still free to send, and the channel that counts answers.
    sent: BTreeMap<(Who, u32), (u32, u32)>,
    arrivals: Arrivals,
    others: Others,
    begin: Time,
    tracks: Vec<Track>,
    on_cpu: Vec<OnCpu>,
    edges: u32,
    unknowns: Unknowns,
}

impl Recovery<'_> {
    fn see(&mut self, sighting: &Sighting) {
        let Sighting { at, cpu, what } = *sighting;
        match what {
            What::Switch { prev, off, next } => {
                self.expect(cpu, prev, at);
                if let Some(prev) = prev {
                    self.leave(prev, off, at);
                }
                self.on_cpu[cpu.index()] = OnCpu::Known(next);
                if let Some(next) = next {
                    self.come(next, cpu, at);
                }
            }
            What::Waking { task, by, origin } => {
                self.expect(cpu, by, at);
                self.waking(task, by, origin, at);
            }
            What::Woken { task, .. } => self.tracks[task.index()].runnable_at = at,
            What::Fork { parent, child } => self.fork(parent, child, at),
            What::Nice { task, nice } => self.push(task, Act::Nice(nice), at),
            What::Exit { task } => self.tracks[task.index()].early = None,
            What::Lost => self.unknowns.losses += 1,
        }
    }

    /// `who` is at work on `cpu`. Repairs the record if somebody else was believed to be.
    fn expect(&mut self, cpu: CpuId, who: Option<Who>, at: Time) {
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
            self.account(left, switched);
            self.tracks[left.index()].doing = Doing::Adrift(switched);
        }
        self.on_cpu[cpu.index()] = OnCpu::Known(who);
        if let Some(who) = who {
            self.come(who, cpu, switched);
        }
    }

    /// The first thing known of a CPU is that `who` runs on it: it has done so from the beginning.
    fn was_running(&mut self, who: Who, cpu: CpuId) {
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

    /// Adds the CPU time of a running task up to `at` to its burst.
    fn account(&mut self, who: Who, at: Time) {
        let track = &mut self.tracks[who.index()];
        if let Doing::Running(since) = track.doing {
            track.burst += at.since(since).0;
            track.doing = Doing::Running(at.max(since));
        }
    }

    /// Appends an instruction at the task's present point of its work.
    fn push(&mut self, who: Who, act: Act, at: Time) {
        self.account(who, at);
        let track = &mut self.tracks[who.index()];
        if track.burst > 0 {
            track.ops.push(Op::new(Act::Run(Span(std::mem::take(&mut track.burst)))));
        }
        track.ops.push(Op::new(act));
    }

    fn leave(&mut self, who: Who, off: Off, at: Time) {
        if self.tracks[who.index()].doing == Doing::Unseen {
            let cpu = self.tracks[who.index()].cpu;
            self.was_running(who, cpu);
        }
        self.account(who, at);
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
        let track = &mut self.tracks[who.index()];
        match (track.early.take(), track.doing) {
            (_, Doing::Gone) => self.push(who, Act::Exit, at),
            (Some(ending), Doing::Blocked(..)) => self.wait_ended(who, ending, at),
            // It did not have to wait after all, but what it waited for stays a condition of going on.
            (Some(Ending::Edge(edge)), _) => self.push(who, Act::Wait(edge), at),
            _ => {}
        }
    }

    fn come(&mut self, who: Who, cpu: CpuId, at: Time) {
        match self.tracks[who.index()].doing {
            Doing::Unseen => self.tracks[who.index()].start = Some(Start::WokenAt(Time::ZERO)),
            Doing::Blocked(..) => {
                self.unknowns.wakes_without_waking += 1;
                self.wait_ended(who, Ending::External, at);
            }
            // Its number came back to life: a new task under an old number.
            Doing::Gone => return,
            Doing::Running(_) => self.account(who, at),
            Doing::Runnable | Doing::Adrift(_) => {}
        }
        let track = &mut self.tracks[who.index()];
        if track.ops.is_empty() && track.burst == 0 {
            track.cpu = cpu;
        }
        track.doing = Doing::Running(at);
    }

    fn waking(&mut self, task: Who, by: Option<Who>, origin: Origin, at: Time) {
        let cause = self.rule.judge(task, by, origin, &mut self.unknowns.wakings);
        if let Doing::Adrift(since) = self.tracks[task.index()].doing {
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
            Doing::Runnable | Doing::Adrift(_) | Doing::Gone => self.unknowns.redundant_wakings += 1,
        }
        self.tracks[task.index()].runnable_at = at;
    }

    /// Fires a new edge at the waker's present point of its work, if the waking is an edge.
    fn fire(&mut self, task: Who, cause: Cause, at: Time) -> Ending {
        match cause {
            Cause::Edge(by) if self.is_kept(by) && self.is_kept(task) => {
                self.hold_to_window(by, task, at);
                let edge = self.edges;
                self.edges += 1;
                self.push(by, Act::Post(edge), at);
                Ending::Edge(edge)
            }
            _ => Ending::External,
        }
    }

    /// Before `by` wakes `task`: if its messages to that program have a window, it may have to wait for an answer.
    fn hold_to_window(&mut self, by: Who, task: Who, at: Time) {
        let party = self.story.cast[task.index()].party;
        let Some(window) = self.windows.of(by, party).filter(|_| self.tracks[task.index()].answers_on.is_none()) else {
            return;
        };
        let edges = &mut self.edges;
        let (free, channel) = self.sent.entry((by, party)).or_insert_with(|| {
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

    /// The wait of a blocked `task` ended: it goes into its programme.
    fn wait_ended(&mut self, task: Who, ending: Ending, at: Time) {
        let Doing::Blocked(since, off) = self.tracks[task.index()].doing else { return };
        let act = match (ending, self.arrivals) {
            (Ending::Edge(edge), _) if off == Off::Uninterruptible => Act::WaitUninterruptible(edge),
            (Ending::Edge(edge), _) => Act::Wait(edge),
            // A wait of no length would not be a wait.
            (Ending::External, Arrivals::Delays) => Act::Sleep(at.since(since).max(Span(1))),
            (Ending::External, Arrivals::Recorded) => Act::SleepUntil(Time(at.since(self.begin).0)),
        };
        let by_device = ending == Ending::External && off == Off::Uninterruptible;
        self.unknowns.device_waits += u64::from(by_device);
        self.push(task, act, at);
        let track = &mut self.tracks[task.index()];
        track.doing = Doing::Runnable;
        track.runnable_at = at;
    }

    fn is_kept(&self, who: Who) -> bool {
        self.others == Others::Compete || self.story.cast[who.index()].judged
    }

    fn fork(&mut self, parent: Option<Who>, child: Who, at: Time) {
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
        track.doing = Doing::Runnable;
        track.runnable_at = at;
    }

    fn finish(mut self, grid: Option<TickGrid>) -> Recovered {
        let end = self.story.end;
        for index in 0..self.tracks.len() {
            let who = Who(index as u32);
            match self.tracks[index].doing {
                Doing::Unseen | Doing::Gone => continue,
                Doing::Blocked(..) => self.unknowns.waits_cut_by_end += 1,
                _ => {}
            }
            self.push(who, Act::Unknown, end);
        }
        let kept = self.story.cast.iter().map(|c| self.others == Others::Compete || c.judged).collect::<Vec<_>>();
        let mut tasks = Vec::new();
        let mut place = vec![None; kept.len()];
        for (index, track) in self.tracks.into_iter().enumerate() {
            if let Some(start) = track.start.filter(|_| kept[index]) {
                place[index] = Some(tasks.len() as u32);
                let character = self.story.cast[index].clone();
                tasks.push(RecoveredTask {
                    who: Who(index as u32),
                    character,
                    start,
                    cpu: track.cpu,
                    ops: track.ops.into(),
                });
            }
        }
        renumber_forks(&mut tasks, &place);
        let length = self.story.length();
        Recovered { tasks, edges: self.edges, unknowns: self.unknowns, grid, length }
    }
}

/// Forks name members of the cast; workloads number their tasks anew.
fn renumber_forks(tasks: &mut [RecoveredTask], place: &[Option<u32>]) {
    for task in tasks {
        let rename = |op: &Op| match op.act() {
            Act::Fork(child) => place[child as usize].map(|p| Op::new(Act::Fork(p))),
            _ => Some(*op),
        };
        task.ops = task.ops.iter().filter_map(rename).collect();
    }
}
