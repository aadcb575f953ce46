//! Scripts: steps, loops and timers that run without allocation, shared by all replications.
//!
//! A [`Plan`] is a workload whose behaviours are all scripts. Experiment files, rt-app files and the built-in models
//! compile to it.

mod access;
mod interpreter;

pub use access::{Access, Place, Target};
use goodness_core::{
    Awaited, BehaviourId, Channel, ChannelKind, Groups, HORIZON_MAX, LockId, LockKind, MachineFault, Outsider, Span,
    Start, Step, StorageSpec, Task, TaskSpec, Time, Workload,
};
use interpreter::{Interpreter, Shared};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One instruction of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Do this step.
    Do(Step),
    /// Use CPU time drawn evenly from `low..=high`.
    ComputeBetween(Span, Span),
    /// Use CPU time in the kernel, drawn evenly from `low..=high`.
    KernelBetween(Span, Span),
    /// Sleep for a time drawn evenly from `low..=high`.
    SleepBetween(Span, Span),
    /// Use CPU time drawn exponentially with this mean.
    ComputeExponential(Span),
    /// Sleep for a time drawn exponentially with this mean.
    SleepExponential(Span),
    /// Continue with probability `millionths` / 1 000 000, else at instruction `or_to`.
    Chance {
        /// The probability, in millionths.
        millionths: u32,
        /// Next instruction otherwise.
        or_to: u32,
    },
    /// Go on at this instruction.
    Jump(u32),
    /// Take a random one of `count` locks from `first` on.
    LockOneOf {
        /// The first lock.
        first: LockId,
        /// Number of locks.
        count: u32,
    },
    /// Release the lock taken last.
    UnlockLast,
    /// Put a letter into a mailbox, wake one receiver, and wait for the reply.
    Ask(Mailbox),
    /// Like [`Op::Ask`], but uninterruptible, for a device.
    AskDevice(Mailbox),
    /// Take the oldest letter from a mailbox; wait if it is empty.
    Receive(Mailbox),
    /// Reply to the last letter received, and report its request as served.
    Answer,
    /// Reply to the last letter received, without a report.
    Reply,
    /// Put a letter into a mailbox, wake one receiver, and continue.
    Post(Mailbox),
    /// Forward the last letter received to another mailbox, with its time and sender, and continue.
    Pass(Mailbox),
    /// Like [`Op::Pass`], but receive the reply here and wait for it.
    PassAndWait(Mailbox),
    /// Like [`Op::Pass`], but receive the reply here without waiting; the letter may be marked.
    Forward {
        /// The destination.
        mailbox: Mailbox,
        /// Mark the letter for [`Op::Marked`].
        mark: bool,
    },
    /// Continue if the last received letter is marked, else at `or_to`.
    Marked {
        /// Next instruction otherwise.
        or_to: u32,
    },
    /// Wait for a reply to the sender of the last letter received, and take it for that sender.
    AwaitSender,
    /// Take all letters from a mailbox.
    Gather(Mailbox),
    /// Reply to all gathered letters.
    ReplyGathered,
    /// Take one of the `of` turns in `pot` that all tasks of the plan share; continue at `or_to` when none is left.
    Turn {
        /// Index of the plan's pot.
        pot: u16,
        /// Number of turns in the pot.
        of: u64,
        /// Next instruction without a turn.
        or_to: u32,
    },
    /// Add to (or subtract from) the counter `pot`.
    Count {
        /// Index of the plan's pot.
        pot: u16,
        /// Count in (true) or out.
        into: bool,
    },
    /// Continue if at most `most` tasks are counted in at `pot`, else at `or_to`.
    AtMost {
        /// Index of the plan's pot.
        pot: u16,
        /// Largest number.
        most: u64,
        /// Next instruction otherwise.
        or_to: u32,
    },
    /// Continue if a mailbox holds `most` letters or fewer, else at `or_to`.
    Room {
        /// The mailbox.
        mailbox: Mailbox,
        /// Largest number of letters at which there is room for another.
        most: u64,
        /// Next instruction otherwise.
        or_to: u32,
    },
    /// Jump to instruction `to` until it was passed `times` times; `None` for endless.
    Repeat {
        /// Index of the script's counter.
        counter: u16,
        /// Passes through the body in all.
        times: Option<u64>,
        /// First instruction of the body.
        to: u32,
    },
    /// Sleep until the timer's next period. The first one ends a period after the task's origin.
    Timer {
        /// Index of the script's timer.
        timer: u16,
        /// From one expiry to the next.
        period: Span,
        /// Effect of an overrun on the expiries that follow.
        overrun: Overrun,
    },
    /// Spin until this much time has passed, whether the task was running or not.
    Spin(Span),
    /// Wait on a condition variable with its lock, taking the lock first if the task does not hold it.
    WaitWith {
        /// The condition.
        channel: Channel,
        /// Its lock.
        lock: LockId,
        /// Wake one waiter of the condition first.
        signal: bool,
    },
    /// Create the next of `count` tasks from `first` on; nothing when all exist.
    ForkNext {
        /// Index of the script's counter.
        counter: u16,
        /// The first task.
        first: BehaviourId,
        /// Number of behaviours.
        count: u32,
    },
    /// Read or write part of a volume or a file.
    Access(Access),
    /// Remember now as the time at which a request was sent.
    Begin,
    /// Remember the last expiry of this timer as the time at which a request was sent.
    BeginAtExpiry(u16),
    /// Report the request started at the last [`Op::Begin`] or [`Op::BeginAtExpiry`] as served.
    Served,
}

/// A FIFO queue of requests. Replies go back to the senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mailbox {
    /// Its number within the plan.
    pub number: u16,
    /// Semaphore that counts its letters.
    pub letters: Channel,
    /// Path of letters and replies.
    pub via: Via,
}

/// Kind of wake-up by a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// The sender wakes the receiver: pipes, Unix domain sockets.
    Sender,
    /// A software interrupt wakes the receiver, without a waker: the loopback network.
    Network,
}

impl Via {
    /// The step that wakes one waiter of `channel`.
    pub(crate) const fn wake(self, channel: Channel) -> Step {
        match self {
            Via::Sender => Step::Wake(channel),
            Via::Network => Step::Interrupt(channel),
        }
    }
}

/// Treatment of a periodic timer that has passed its expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overrun {
    /// The grid is unchanged.
    KeepsGrid,
    /// The next period starts now.
    RestartsNow,
    /// Keeps the grid: skips missed expiries and waits for the next one.
    SkipsPassed,
}

/// A programme.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The instructions; after the last one the task exits.
    pub ops: Vec<Op>,
    /// Number of counters they use.
    pub counters: u16,
    /// Number of timers per task.
    pub timers: u16,
    /// Number of cursors for sequential accesses.
    pub cursors: u16,
    /// Start of the timers' first period; `None`: the task's first run.
    pub origin: Option<Time>,
}

impl Script {
    /// A fresh counter.
    pub fn counter(&mut self) -> u16 {
        self.counters += 1;
        self.counters - 1
    }

    /// Repeats the instructions from `to` on, `times` times in all (`None`: forever). An empty body is ignored.
    pub fn repeat_from(&mut self, to: usize, times: Option<u64>) {
        if self.ops.len() > to && times != Some(1) {
            let counter = self.counter();
            self.ops.push(Op::Repeat { counter, times, to: to as u32 });
        }
    }
}

/// A task of a [`Plan`].
#[derive(Clone, Debug)]
pub struct TaskPlan {
    /// Name for people.
    pub name: String,
    /// Beginning of the task.
    pub start: Start,
    /// Class, nice and affinity.
    pub task: Task,
    /// Script of the task.
    pub script: Arc<Script>,
    /// First line in its file, from 1; 0 if unknown or without a file.
    pub line: u32,
}

/// A client outside the machine (see [`Outsider`]) in a [`Plan`].
#[derive(Clone, Debug)]
pub struct OutsiderPlan {
    /// Name for people.
    pub name: String,
    /// Beginning of the outsider.
    pub start: Time,
    /// Script of the outsider.
    pub script: Arc<Script>,
}

/// A workload made of scripts.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The tasks.
    pub tasks: Vec<TaskPlan>,
    /// Outsiders: actors that are not on the machine.
    pub outside: Vec<OutsiderPlan>,
    /// The kind of each channel.
    pub channels: Vec<ChannelKind>,
    /// The kind of each lock.
    pub locks: Vec<LockKind>,
    /// Number of mailboxes.
    pub mailboxes: u16,
    /// Names of channels and locks in their file, with kind: `lock "m"`.
    pub names: BTreeMap<Awaited, String>,
    /// Number of pots of turns.
    pub pots: u16,
    /// Latest end of the run; `None`: when every task has ended, or after [`HORIZON_MAX`].
    pub horizon: Option<Time>,
    /// Start of the measurement.
    pub warmup: Span,
    /// By how much timers outside the real-time classes may be late.
    pub timer_slack: Span,
    /// Disks, volumes and files.
    pub storage: StorageSpec,
    /// The groups of the tasks.
    pub groups: Groups,
    /// Faults of the machine.
    pub faults: Vec<MachineFault>,
}

impl Plan {
    /// A fresh channel.
    pub fn channel(&mut self, kind: ChannelKind) -> Channel {
        self.channels.push(kind);
        Channel(self.channels.len() as u32 - 1)
    }

    /// A fresh lock.
    pub fn lock(&mut self, kind: LockKind) -> LockId {
        self.locks.push(kind);
        LockId(self.locks.len() as u32 - 1)
    }

    /// A fresh mailbox.
    pub fn mailbox(&mut self) -> Mailbox {
        self.mailboxes += 1;
        Mailbox { number: self.mailboxes - 1, letters: self.channel(ChannelKind::Semaphore), via: Via::Sender }
    }

    /// A fresh mailbox behind the loopback network.
    pub fn socket(&mut self) -> Mailbox {
        Mailbox { via: Via::Network, ..self.mailbox() }
    }

    /// A fresh pot of turns.
    pub fn pot(&mut self) -> u16 {
        self.pots += 1;
        self.pots - 1
    }

    /// The workload, ready to run.
    #[must_use]
    pub fn workload(&self) -> Workload {
        let shared = Arc::new(Shared::new(self.mailboxes, self.pots));
        let mut channels = self.channels.clone();
        let actors = if self.mailboxes > 0 { self.tasks.len() + self.outside.len() } else { 0 };
        // Each task has a channel for answers, after those of the plan.
        let mut answers = channels.len() as u32..;
        channels.resize(channels.len() + actors, ChannelKind::Semaphore);
        let mut behaviour = |script: &Arc<Script>| {
            let answers = Channel(answers.next().unwrap_or_default());
            Box::new(Interpreter::new(Arc::clone(script), Arc::clone(&shared), answers))
        };
        let mut spec = |plan: &TaskPlan| TaskSpec {
            name: plan.name.clone(),
            start: plan.start,
            task: plan.task.clone(),
            behaviour: behaviour(&plan.script),
            judged: true,
        };
        let tasks = self.tasks.iter().map(&mut spec).collect();
        let outsider = |plan: &OutsiderPlan| Outsider {
            name: plan.name.clone(),
            start: plan.start,
            behaviour: behaviour(&plan.script),
        };
        Workload {
            tasks,
            workers: 0,
            reapers: 0,
            is_recorded: false,
            outside: self.outside.iter().map(outsider).collect(),
            channels,
            locks: self.locks.clone(),
            horizon: Some(self.horizon.unwrap_or(Time::ZERO + HORIZON_MAX)),
            warmup: self.warmup,
            timer_slack: self.timer_slack,
            storage: self.storage.clone(),
            groups: self.groups.clone(),
            faults: self.faults.clone(),
            remarks: None,
        }
    }
}
