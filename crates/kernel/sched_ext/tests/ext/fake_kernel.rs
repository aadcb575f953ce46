//! A minimal fake kernel: obeys commands at once and reports events of its tasks.

use goodness_core::{Span, Time};
use goodness_sched_ext::{Command, Host, Input, KernelEvent, Kind, Order, Setting, flag};

const TICK: u64 = 4_000_000;
const STEP: u64 = 1_000_000;

/// Behaviour of a task: computes for `burst` and sleeps for `sleep`, repeatedly.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub nice: i8,
    pub burst: u64,
    pub sleep: u64,
}

impl Work {
    pub const HOG: Work = Work { nice: 0, burst: u64::MAX, sleep: 0 };
}

#[derive(Clone, Copy, Debug)]
struct Task {
    work: Work,
    turn: u32,
    ran: u64,
    burst_left: u64,
    wakes_at: Option<u64>,
}

/// A granted turn.
#[derive(Clone, Copy, Debug)]
struct Turn {
    key: u32,
    slice_left: u64,
    is_stopped: bool,
}

pub struct FakeKernel {
    pub host: Host,
    pub inputs: Vec<Input>,
    pub commands: Vec<Command>,
    tasks: Vec<Task>,
    cpus: Vec<Option<Turn>>,
    /// True if the policy counts ticks.
    ticks: bool,
    now: u64,
}

/// A host of a fresh policy.
pub fn host(setting: Setting, policy: &str, settings: &[(&str, &str)]) -> Host {
    let typed: Vec<(String, String)> = settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let entry = goodness_policies::entry(policy).expect("registered");
    let made = (entry.make)(&setting.machine, &typed, setting.seed).expect("known settings");
    Host::new(setting, made)
}

impl FakeKernel {
    pub fn new(policy: &str, cpus: u16, works: &[Work]) -> FakeKernel {
        Self::with(policy, &[], cpus, works)
    }

    pub fn with(policy: &str, settings: &[(&str, &str)], cpus: u16, works: &[Work]) -> FakeKernel {
        let setting = Setting::flat((1..=cpus).collect(), 250, 1);
        let mut kernel = FakeKernel {
            host: host(setting, policy, settings),
            inputs: Vec::new(),
            commands: Vec::new(),
            tasks: Vec::new(),
            cpus: vec![None; usize::from(cpus)],
            ticks: goodness_policies::entry(policy).is_some_and(|entry| entry.about.needs.tick),
            now: 0,
        };
        for work in works {
            kernel.tasks.push(Task { work: *work, turn: 0, ran: 0, burst_left: work.burst, wakes_at: None });
            let key = kernel.tasks.len() as u32 - 1;
            kernel.tell(Kind::Created, key, 0, 0);
            kernel.tell(Kind::Ready, key, 0, 0);
        }
        kernel
    }

    pub fn event(&self, kind: Kind, key: u32, cpu: usize, flags: u16) -> KernelEvent {
        let task = &self.tasks[key as usize];
        KernelEvent {
            kind,
            at: Time(self.now),
            ran: task.ran,
            mask: !0,
            key,
            pid: key + 100,
            tgid: key + 100,
            turn: task.turn,
            other: 0,
            cpu: cpu as u16 + 1,
            on: cpu as u16 + 1,
            flags,
            nice: task.work.nice,
            comm: [0; 16],
        }
    }

    fn tell(&mut self, kind: Kind, key: u32, cpu: usize, flags: u16) {
        if matches!(kind, Kind::Ready | Kind::TurnEnded | Kind::Left) {
            self.tasks[key as usize].turn += 1;
        }
        self.take(Input::Kernel(self.event(kind, key, cpu, flags)));
    }

    fn take(&mut self, input: Input) {
        self.inputs.push(input);
        let commands = self.host.take(&input, &mut ()).unwrap_or_else(|fault| panic!("{fault}")).to_vec();
        self.commands.extend(&commands);
        for command in commands {
            self.obey(command);
        }
    }

    fn obey(&mut self, command: Command) {
        let cpu = usize::from(command.cpu) - 1;
        if self.tasks[command.key as usize].turn != command.turn {
            return;
        }
        match command.order {
            Order::Grant { slice } => {
                assert!(self.cpus[cpu].is_none(), "{} granted to two tasks", command.cpu);
                let slice_left = slice.map_or(u64::MAX, |span| span.0);
                self.cpus[cpu] = Some(Turn { key: command.key, slice_left, is_stopped: false });
                self.tell(Kind::Running, command.key, cpu, 0);
            }
            Order::Preempt => {
                let turn = self.cpus[cpu].as_mut().expect("somebody runs there");
                assert_eq!(turn.key, command.key);
                turn.is_stopped = true;
            }
        }
    }

    /// Ends the turns that were preempted.
    fn stop(&mut self) {
        for cpu in 0..self.cpus.len() {
            if self.cpus[cpu].is_some_and(|turn| turn.is_stopped || turn.slice_left == 0) {
                self.end_turn(cpu, 0);
            }
        }
    }

    pub fn end_turn(&mut self, cpu: usize, flags: u16) {
        let turn = self.cpus[cpu].take().expect("somebody runs there");
        self.tell(Kind::Stopping, turn.key, cpu, flags);
        self.tell(Kind::TurnEnded, turn.key, cpu, flags);
    }

    /// The task with the turn on a CPU.
    pub fn running(&self, cpu: usize) -> Option<u32> {
        self.cpus[cpu].map(|turn| turn.key)
    }

    /// CPU time of a task.
    pub fn ran(&self, key: u32) -> Span {
        Span(self.tasks[key as usize].ran)
    }

    /// The nice of the running or queued `key` becomes `nice`.
    pub fn renice(&mut self, key: u32, nice: i8) {
        let at = (0..self.cpus.len()).find(|cpu| self.running(*cpu) == Some(key));
        if let Some(cpu) = at {
            self.cpus[cpu] = None;
        }
        self.tell(Kind::Left, key, at.unwrap_or(0), if at.is_some() { flag::WAS_RUNNING } else { 0 });
        self.tasks[key as usize].work.nice = nice;
        self.tell(Kind::Ready, key, at.unwrap_or(0), 0);
    }

    /// Moves the running task of a CPU to another scheduling class.
    pub fn change_class(&mut self, cpu: usize) {
        let turn = self.cpus[cpu].take().expect("somebody runs there");
        self.tell(Kind::Left, turn.key, cpu, flag::WAS_RUNNING);
        self.tell(Kind::Gone, turn.key, cpu, 0);
    }

    pub fn run(&mut self, span: Span) {
        for _ in 0..span.0 / STEP {
            self.step();
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        self.stop();
        for cpu in 0..self.cpus.len() {
            self.advance(cpu);
        }
        for key in 0..self.tasks.len() as u32 {
            if self.tasks[key as usize].wakes_at.is_some_and(|at| at <= self.now) {
                self.tasks[key as usize].wakes_at = None;
                self.tell(Kind::Ready, key, 0, flag::WAKEUP | flag::BY_INTERRUPT);
                self.stop();
            }
        }
        if let Some(at) = self.host.next_timer()
            && at.0 <= self.now
        {
            self.take(Input::Timer(Time(self.now)));
        }
        self.stop();
    }

    fn advance(&mut self, cpu: usize) {
        let Some(mut turn) = self.cpus[cpu] else { return };
        let task = &mut self.tasks[turn.key as usize];
        task.ran += STEP;
        task.burst_left = task.burst_left.saturating_sub(STEP);
        turn.slice_left = turn.slice_left.saturating_sub(STEP);
        self.cpus[cpu] = Some(turn);
        if task.burst_left == 0 {
            task.burst_left = task.work.burst;
            task.wakes_at = Some(self.now + task.work.sleep);
            self.cpus[cpu] = None;
            self.tell(Kind::Left, turn.key, cpu, flag::WAS_RUNNING | flag::TO_SLEEP);
        } else if self.now.is_multiple_of(TICK) && self.ticks {
            self.tell(Kind::Tick, turn.key, cpu, 0);
        }
    }
}
