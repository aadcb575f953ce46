//! Compares metrics and checkers on random streams with a plain implementation that stores every event and examines
//! every instant.

mod blame;
mod host_work;

use goodness_core::{Class, CpuId, CpuSet, Event, Nice, Observer, Off, Rng, Seed, TaskId, Time, WakeSource};
use goodness_observe::{Checkers, Ending, Measured, Metrics, MetricsAndCheckers, Subject};

const END: Time = Time(60_000);

/// A host that makes random but valid decisions.
struct Host {
    rng: Rng,
    now: u64,
    subjects: Vec<Subject>,
    running: Vec<Option<usize>>,
    /// CPU on whose run queue each task waits.
    queued: Vec<Option<usize>>,
    gone: Vec<bool>,
    events: Vec<(Time, Event)>,
}

impl Host {
    fn draw(seed: u64, restricted: bool, weighted: bool) -> Host {
        let mut rng = Seed(seed).rng();
        let cpus = 1 + rng.below(4) as usize;
        let tasks = cpus + 2 + rng.below(8) as usize;
        let subjects = (0..tasks).map(|_| subject(&mut rng, cpus, restricted, weighted)).collect();
        let (running, queued, gone) = (vec![None; cpus], vec![None; tasks], vec![false; tasks]);
        let mut host = Host { rng, now: 0, subjects, running, queued, gone, events: Vec::new() };
        while host.now < END.ns() - 100 {
            host.now += host.rng.below(60).saturating_sub(20);
            host.act();
        }
        host
    }

    fn tell(&mut self, event: Event) {
        self.events.push((Time(self.now), event));
    }

    fn act(&mut self) {
        let task = self.rng.below(self.subjects.len() as u64) as usize;
        let cpu = self.rng.below(self.running.len() as u64) as usize;
        let allowed = self.subjects[task].affinity.contains(CpuId(cpu as u32));
        let (id, to) = (TaskId(task as u32), CpuId(cpu as u32));
        match (self.queued[task], self.running.contains(&Some(task))) {
            _ if self.gone[task] || self.rng.below(2) == 0 => self.switch(cpu),
            (None, false) if allowed => {
                self.queued[task] = Some(cpu);
                self.tell(Event::Wakeup { task: id, waker: None, cpu: to, from: WakeSource::Interrupt });
            }
            (Some(from), _) if allowed && from != cpu && self.rng.below(8) == 0 => {
                self.queued[task] = Some(cpu);
                self.tell(Event::Migrate { task: id, from: CpuId(from as u32), to });
            }
            _ => self.switch(cpu),
        }
    }

    fn switch(&mut self, cpu: usize) {
        let prev = self.running[cpu];
        let off = [Off::Preempted, Off::Yielded, Off::Sleeping, Off::Uninterruptible][self.rng.below(4) as usize];
        let off = if self.rng.below(200) == 0 { Off::Exited } else { off };
        let waiting: Vec<usize> = (0..self.queued.len()).filter(|t| self.queued[*t] == Some(cpu)).collect();
        let pick = self.rng.below(waiting.len() as u64 + 1) as usize;
        let next = waiting.get(pick).copied();
        if prev == next {
            return;
        }
        if let Some(prev) = prev {
            if off.is_runnable() {
                self.queued[prev] = Some(cpu);
            }
            if off == Off::Exited {
                self.gone[prev] = true;
                self.tell(Event::Exit { task: TaskId(prev as u32) });
            }
        }
        if let Some(next) = next {
            self.queued[next] = None;
        }
        self.running[cpu] = next;
        let id = |task: Option<usize>| task.map(|task| TaskId(task as u32));
        self.tell(Event::Switch { cpu: CpuId(cpu as u32), prev: id(prev), off, next: id(next) });
    }
}

fn subject(rng: &mut Rng, cpus: usize, restricted: bool, weighted: bool) -> Subject {
    let mut subject = Subject { judged: rng.below(5) > 0, ..Subject::default() };
    if restricted && rng.below(2) == 0 {
        subject.affinity = CpuSet::of(&[CpuId(rng.below(cpus as u64) as u32)]);
    }
    if weighted {
        subject.nice = Nice::new(rng.below(10) as i64 - 5).expect("a nice value");
        subject.class = [Class::Normal, Class::Batch, Class::Idle, Class::Fifo][rng.below(4) as usize];
    }
    subject
}

/// State of a task.
#[derive(Clone, Copy, PartialEq)]
enum Doing {
    Nothing,
    Waiting { since: u64, woken: bool, cpu: usize },
    Running { since: u64, cpu: usize },
}

#[derive(Clone, Default)]
struct Got {
    cpu_time: u64,
    wait: u64,
    voluntary: u32,
    involuntary: u32,
    migrations: u32,
    wakeups: u32,
    latencies: Vec<u64>,
    stretches: Vec<u64>,
    ran_on: Option<usize>,
    share: f64,
}

/// The plain account.
struct Account<'a> {
    subjects: &'a [Subject],
    cpus: usize,
    from: u64,
    doing: Vec<Doing>,
    got: Vec<Got>,
    idle_while_queued: u64,
    runnable: u64,
    longest_queue: u64,
}

impl<'a> Account<'a> {
    fn of(host: &'a Host, from: u64) -> Account<'a> {
        let tasks = host.subjects.len();
        let mut account = Account {
            subjects: &host.subjects,
            cpus: host.running.len(),
            from,
            doing: vec![Doing::Nothing; tasks],
            got: vec![Got::default(); tasks],
            idle_while_queued: 0,
            runnable: 0,
            longest_queue: 0,
        };
        let mut now = 0;
        for (at, event) in &host.events {
            account.pass(now, at.ns());
            now = at.ns();
            account.happen(now, event);
        }
        account.pass(now, END.ns());
        account.end();
        account
    }

    fn counts(&self, at: u64) -> bool {
        at > self.from
    }

    /// The present state lasts from `now` to `at`.
    fn pass(&mut self, now: u64, at: u64) {
        let span = at.saturating_sub(now.max(self.from));
        if span == 0 {
            return;
        }
        let on = |doing: &Doing, cpu: usize| match doing {
            Doing::Nothing => false,
            Doing::Waiting { cpu: on, .. } | Doing::Running { cpu: on, .. } => *on == cpu,
        };
        for cpu in 0..self.cpus {
            let length = self.doing.iter().filter(|d| on(d, cpu)).count() as u64;
            self.runnable += length * span;
            self.longest_queue = self.longest_queue.max(length);
        }
        let idle = |cpu: usize| !self.doing.iter().any(|d| matches!(d, Doing::Running { cpu: on, .. } if *on == cpu));
        let wasted = self.doing.iter().zip(self.subjects).any(|(doing, subject)| {
            let may = |cpu: &usize| idle(*cpu) && subject.affinity.contains(CpuId(*cpu as u32));
            matches!(doing, Doing::Waiting { .. }) && (0..self.cpus).any(|cpu| may(&cpu))
        });
        self.idle_while_queued += if wasted { span } else { 0 };
        self.share(span);
    }

    /// Divides the capacity of `span` among the runnable tasks.
    fn share(&mut self, span: u64) {
        let runnable: Vec<usize> = (0..self.doing.len()).filter(|t| self.doing[*t] != Doing::Nothing).collect();
        let running_realtime = |t: &&usize| matches!(self.doing[**t], Doing::Running { .. }) && self.weight(**t) == 0.0;
        let capacity = self.cpus as f64 - runnable.iter().filter(running_realtime).count() as f64;
        let total: f64 = runnable.iter().map(|t| self.weight(*t)).sum();
        for task in runnable {
            if total > 0.0 {
                self.got[task].share += span as f64 * (capacity * self.weight(task) / total).min(1.0);
            }
        }
    }

    fn weight(&self, task: usize) -> f64 {
        match self.subjects[task].class {
            Class::Fifo | Class::RoundRobin => 0.0,
            Class::Idle => 3.0,
            Class::Normal | Class::Batch | Class::Iso | Class::Deadline => {
                1024.0 * 0.8f64.powi(self.subjects[task].nice.get() as i32)
            }
        }
    }

    fn happen(&mut self, at: u64, event: &Event) {
        match *event {
            Event::Wakeup { task, cpu, .. } => {
                self.doing[task.index()] = Doing::Waiting { since: at, woken: true, cpu: cpu.index() };
                self.got[task.index()].wakeups += u32::from(self.counts(at));
            }
            Event::Migrate { task, to, .. } => {
                if let Doing::Waiting { cpu, .. } = &mut self.doing[task.index()] {
                    *cpu = to.index();
                }
            }
            Event::Switch { cpu, prev, off, next } => {
                if let Some(prev) = prev {
                    self.stop(at, prev.index(), off, cpu.index());
                }
                if let Some(next) = next {
                    self.start(at, next.index(), cpu.index());
                }
            }
            _ => {}
        }
    }

    fn stop(&mut self, at: u64, task: usize, off: Off, cpu: usize) {
        let Doing::Running { since, .. } = self.doing[task] else { panic!("task {task} does not run") };
        let waits = Doing::Waiting { since: at, woken: false, cpu };
        self.doing[task] = if off.is_runnable() { waits } else { Doing::Nothing };
        if self.counts(at) {
            let got = &mut self.got[task];
            let ran = at - since.max(self.from);
            got.cpu_time += ran;
            got.stretches.push(ran);
            if off.is_runnable() { got.involuntary += 1 } else { got.voluntary += 1 }
        }
    }

    fn start(&mut self, at: u64, task: usize, cpu: usize) {
        let Doing::Waiting { since, woken, .. } = self.doing[task] else { panic!("task {task} does not wait") };
        self.doing[task] = Doing::Running { since: at, cpu };
        let counts = self.counts(at);
        let got = &mut self.got[task];
        let before = got.ran_on.replace(cpu);
        if counts {
            got.wait += at - since.max(self.from);
            got.migrations += u32::from(before.is_some_and(|before| before != cpu));
            if woken && since > self.from {
                got.latencies.push(at - since);
            }
        }
    }

    fn end(&mut self) {
        for (doing, got) in self.doing.iter().zip(&mut self.got) {
            match *doing {
                Doing::Nothing => {}
                Doing::Waiting { since, .. } => got.wait += END.ns() - since.max(self.from),
                Doing::Running { since, .. } => {
                    got.cpu_time += END.ns() - since.max(self.from);
                    got.stretches.push(END.ns() - since.max(self.from));
                }
            }
        }
    }

    fn judged(&self) -> impl Iterator<Item = &Got> {
        self.got.iter().zip(self.subjects).filter(|(_, s)| s.judged).map(|(got, _)| got)
    }
}

#[track_caller]
fn assert_close(measured: &Measured, name: &str, expected: f64) {
    let got = measured.get(name).value.unwrap_or_else(|| panic!("{name} was not measured"));
    assert!((got - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{name} = {got}, not {expected}");
}

fn compare(measured: &Measured, account: &Account) {
    for (task, got) in measured.tasks.iter().zip(&account.got) {
        let told = (task.cpu_time.ns(), task.wait.ns(), task.migrations, task.wakeups);
        assert_eq!(told, (got.cpu_time, got.wait, got.migrations, got.wakeups), "{}", task.task);
        let told = (task.voluntary_switches, task.involuntary_switches);
        assert_eq!(told, (got.voluntary, got.involuntary), "{}", task.task);
        assert_eq!(task.wakeup_latency_max.map(|s| s.ns()), got.latencies.iter().copied().max());
    }
    let latencies: Vec<u64> = account.judged().flat_map(|got| got.latencies.iter().copied()).collect();
    assert_eq!(measured.distributions.wakeup_latency.count(), latencies.len() as u64);
    if !latencies.is_empty() {
        assert_close(measured, "wakeup_latency_mean", latencies.iter().sum::<u64>() as f64 / latencies.len() as f64);
    }
    let stretches: Vec<u64> =
        account.judged().flat_map(|got| got.stretches.iter().copied().filter(|s| *s > 0)).collect();
    let slices = &measured.distributions.slice_length;
    assert_eq!(slices.count() - slices.buckets().find(|b| b.high == 0).map_or(0, |b| b.count), stretches.len() as u64);
    let capacity = (END.ns() - account.from) as f64 * account.cpus as f64;
    assert_close(measured, "runqueue_length_mean", account.runnable as f64 / capacity);
    assert_close(measured, "runqueue_length_max", account.longest_queue as f64);
    assert_close(measured, "idle_while_queued", account.idle_while_queued as f64);
    let busy: u64 = account.got.iter().map(|got| got.cpu_time).sum();
    assert_close(measured, "utilisation", busy as f64 / capacity);
}

fn compare_shares(measured: &Measured, account: &Account) {
    let entitled: Vec<&Got> = account.judged().filter(|got| got.share >= 1.0).collect();
    let error: f64 = entitled.iter().map(|got| (got.cpu_time as f64 - got.share).abs()).sum();
    let shares: f64 = entitled.iter().map(|got| got.share).sum();
    if shares > 0.0 {
        assert_close(measured, "share_error", error / shares);
    }
}

#[test]
fn drawn_streams_are_measured_as_by_a_plain_account_and_violate_nothing() {
    for seed in 0..120 {
        let (restricted, weighted) = (seed % 3 == 1, seed % 3 == 2);
        let host = Host::draw(seed, restricted, weighted);
        let from = [0, 1_000, 20_000][seed as usize / 3 % 3];
        let (cpus, subjects) = (host.running.len(), &host.subjects);
        let mut metrics = Metrics::new(cpus, Time(from), subjects);
        let mut checkers = Checkers::new(cpus, subjects);
        let mut both = MetricsAndCheckers::new(cpus, Time(from), subjects);
        for (at, event) in &host.events {
            metrics.observe(*at, event);
            checkers.observe(*at, event);
            both.observe(*at, event);
        }
        let account = Account::of(&host, from);
        let (measured, checked) = both.finish(END, Ending::Horizon);
        assert_eq!(checked.violations, [], "seed {seed}");
        assert_eq!(checked, checkers.finish(END, Ending::Horizon), "seed {seed}");
        let alone = metrics.finish(END);
        assert_eq!((&alone.values, &alone.tasks), (&measured.values, &measured.tasks), "seed {seed}");
        compare(&measured, &account);
        if cpus == 1 || !(restricted || weighted) {
            compare_shares(&measured, &account);
        }
    }
}
