//! Recordings written by hand or by a simulation, and what a replay of them used.

use goodness_core::{
    ChannelKind, CpuId, Event, Machine, Observer, Off, Registered, Seed, Start, Step, Task, TaskId, Time, WakeSource,
    WorkloadSource,
};
use goodness_replay::program::Instruction;
use goodness_replay::{History, Participant, Recovered, Role};
use goodness_trace::{Context, Origin, PrevState, Record, SchedEvent, Wake};
use goodness_work::script::{Op, Plan, Script, TaskPlan};
use std::sync::Arc;

/// A recording written down.
#[derive(Default)]
pub struct Written {
    pub records: Vec<Record>,
    pub participants: Vec<Participant>,
    pub cpus: usize,
    pub hz: Option<u32>,
}

impl Written {
    pub fn say(&mut self, at: Time, cpu: CpuId, event: SchedEvent) {
        self.records.push(Record { at, cpu, event, origin: Origin::Recorded });
    }

    pub fn history(&self) -> History<'_> {
        let mut history = History::new(&self.records, self.participants.clone());
        (history.cpus, history.hz) = (self.cpus, self.hz);
        history
    }
}

pub fn switch(prev: Option<TaskId>, off: Off, next: Option<TaskId>) -> SchedEvent {
    let prev_state = match off {
        Off::Preempted | Off::Yielded => PrevState::RUNNABLE,
        Off::Sleeping => PrevState::SLEEPING,
        Off::Uninterruptible | Off::DirtyMemory => PrevState::UNINTERRUPTIBLE,
        Off::Exited => PrevState::DEAD,
    };
    SchedEvent::Switch { prev, next, prev_prio: 120, next_prio: 120, prev_state }
}

pub fn wake(task: TaskId, current: Option<TaskId>, context: Context, target: CpuId) -> Wake {
    Wake { task, current, target, prio: 120, context }
}

/// A waking for CPU 0.
pub fn waking(task: u32, by: Option<u32>, context: Context) -> SchedEvent {
    SchedEvent::Waking(wake(TaskId(task), by.map(TaskId), context, CpuId(0)))
}

/// The task is on the runqueue of CPU 0.
pub fn wakeup(task: u32) -> SchedEvent {
    SchedEvent::Wakeup(wake(TaskId(task), None, Context::Task, CpuId(0)))
}

/// Writes a run down as a recording would show it.
#[derive(Default)]
pub struct Recorder {
    pub written: Written,
    pub on_cpu: Vec<Option<TaskId>>,
    /// Tasks wake each other through the network, between two programs, so that some count as event loops.
    pub is_network: bool,
}

impl Recorder {
    pub fn new(cpus: usize, tasks: usize) -> Recorder {
        let participant = |i: usize| Participant {
            name: format!("t{i}"),
            pid: 100 - i as u32,
            task: Task { address_space: Some(0), ..Task::default() },
            program: i as u32,
            parent: None,
            judged: i.is_multiple_of(2),
            role: Role::Other,
            changes: Vec::new(),
        };
        let written = Written { cpus, participants: (0..tasks).map(participant).collect(), ..Written::default() };
        Recorder { written, on_cpu: vec![None; cpus], is_network: false }
    }

    /// Makes task 0 one program and all others another, communicating through the network.
    pub fn of_network(mut self) -> Recorder {
        self.is_network = true;
        self.written.participants.iter_mut().for_each(|it| it.program = it.program.min(1));
        self
    }

    pub fn cpu_of(&self, task: TaskId) -> Option<CpuId> {
        self.on_cpu.iter().position(|w| *w == Some(task)).map(|c| CpuId(c as u32))
    }
}

impl Observer for Recorder {
    fn observe(&mut self, at: Time, event: &Event) {
        match *event {
            Event::Fork { parent: Some(parent), child } => {
                let cpu = self.cpu_of(parent).expect("who forks is running");
                self.written.say(at, cpu, SchedEvent::Fork { parent: Some(parent), child });
            }
            Event::Wakeup { task, waker, cpu, from } => {
                let here = waker.and_then(|w| self.cpu_of(w)).unwrap_or(cpu);
                let context = match from {
                    WakeSource::Task if self.is_network => Context::SoftIrq,
                    WakeSource::Task => Context::Task,
                    WakeSource::Interrupt => Context::HardIrq,
                };
                let wake = wake(task, self.on_cpu[here.index()], context, cpu);
                self.written.say(at, here, SchedEvent::Waking(wake));
                self.written.say(at, here, SchedEvent::Wakeup(wake));
            }
            Event::Switch { cpu, prev, off, next } => {
                self.on_cpu[cpu.index()] = next;
                self.written.say(at, cpu, switch(prev, off, next));
            }
            _ => {}
        }
    }
}

/// CPU time of each task.
pub struct CpuTime {
    pub total: Vec<u64>,
    pub since: Vec<Option<Time>>,
}

impl CpuTime {
    pub fn new(tasks: usize) -> CpuTime {
        CpuTime { total: vec![0; tasks], since: vec![None; tasks] }
    }
}

impl Observer for CpuTime {
    fn observe(&mut self, at: Time, event: &Event) {
        if let Event::Switch { prev, next, .. } = *event {
            if let Some(since) = prev.and_then(|p| self.since[p.index()].take()) {
                self.total[prev.expect("somebody").index()] += at.since(since).0;
            }
            if let Some(next) = next {
                self.since[next.index()] = Some(at);
            }
        }
    }
}

pub fn run<P: Registered>(
    machine: &Machine,
    source: &impl WorkloadSource,
    replication: u32,
    observer: &mut impl Observer,
) {
    let workload = source.build(Seed(1), replication);
    let settings = P::Settings::default();
    let options = goodness_sim::Options::default();
    goodness_sim::simulate::<P>(machine, settings, workload, observer, options).expect("the run is sound");
}

/// A plan as a source.
pub struct Planned(pub Plan);

impl WorkloadSource for Planned {
    fn name(&self) -> &str {
        "planned"
    }
    fn what_varies(&self) -> &str {
        "nothing"
    }
    fn build(&self, _: Seed, _: u32) -> goodness_core::Workload {
        self.0.workload()
    }
}

pub fn planned(channels: usize, scripts: Vec<(Start, Vec<Step>)>) -> Planned {
    let task = |(i, (start, steps)): (usize, (Start, Vec<Step>))| TaskPlan {
        name: format!("t{i}"),
        start,
        task: Task { address_space: Some(0), ..Task::default() },
        line: 0,
        script: Arc::new(Script { ops: steps.into_iter().map(Op::Do).collect(), ..Script::default() }),
    };
    Planned(Plan {
        tasks: scripts.into_iter().enumerate().map(task).collect(),
        channels: vec![ChannelKind::Semaphore; channels],
        ..Plan::default()
    })
}

pub fn recorded<P: Registered>(machine: &Machine, source: &Planned) -> Written {
    let mut recorder = Recorder::new(machine.cpu_count(), source.0.tasks.len());
    run::<P>(machine, source, 0, &mut recorder);
    recorder.written
}

pub fn instructions(recovered: &Recovered, name: &str) -> Vec<Instruction> {
    let task = recovered.tasks.iter().find(|t| t.participant.name == name).expect("it was recovered");
    task.ops.iter().map(|op| op.instruction()).collect()
}
