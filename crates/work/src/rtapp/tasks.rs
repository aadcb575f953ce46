//! From the tasks of an rt-app file to scripts.

use super::coverage::{self, Place};
use super::{Defaults, Reading};
use crate::json::{Member, Value};
use crate::script::{Op, Overrun, Plan, Script, TaskPlan};
use crate::soundness;
use goodness_core::spelling::suggest;
use goodness_core::{
    Awaited, BehaviourId, Channel, ChannelKind, Class, CpuId, CpuSet, GroupId, LockId, LockKind, Nice, Span, Start,
    Step, Task, Time,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longest duration in a file: a day, in µs.
const US_MAX: i64 = 86_400_000_000;
/// Most instances of one task, and most forks of it.
const INSTANCES_MAX: i64 = 1_000_000;
const POLICIES: [(&str, Class); 6] = [
    ("SCHED_OTHER", Class::Normal),
    ("SCHED_NORMAL", Class::Normal),
    ("SCHED_BATCH", Class::Batch),
    ("SCHED_IDLE", Class::Idle),
    ("SCHED_FIFO", Class::Fifo),
    ("SCHED_RR", Class::RoundRobin),
];

/// Compiles the tasks to a plan without a horizon.
pub(super) fn compile(reading: &mut Reading, tasks: &[Member], defaults: &Defaults) -> Result<Plan, String> {
    reading.once(tasks, |_| true)?;
    let mut heads = Vec::new();
    for task in tasks {
        heads.push(Head::read(reading, task, defaults)?);
    }
    let mut compiler = Compiler {
        barriers: count_barriers(tasks, &heads),
        heads,
        mutexes: defaults.mutexes,
        plan: Plan::default(),
        channels: BTreeMap::new(),
        locks: BTreeMap::new(),
        forks: Vec::new(),
    };
    let mut scripts = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        scripts.push(compiler.script(reading, index, task)?);
    }
    compiler.finish(reading.file, &scripts)
}

/// Properties of a task, apart from its events.
struct Head {
    name: String,
    line: u32,
    instances: u32,
    delay: Span,
    task: Task,
}

impl Head {
    fn read(reading: &mut Reading, task: &Member, defaults: &Defaults) -> Result<Head, String> {
        let members = reading.object(task)?;
        reading.once(members, is_property)?;
        let line = task.line as u32;
        let name =
            soundness::name(&task.key).map_or_else(|why| reading.error(task.line, why), |n| Ok(n.to_string()))?;
        let mut head = Head { name, line, instances: 1, delay: Span::ZERO, task: Task::default() };
        head.task.address_space = Some(0);
        let mut attributes = Attributes { policy: Some(defaults.policy.clone()), ..Attributes::default() };
        for member in members {
            match member.key.as_str() {
                "instance" => head.instances = reading.integer(member, 0, INSTANCES_MAX)? as u32,
                "delay" => head.delay = Span::from_us(reading.integer(member, 0, US_MAX)? as u64),
                "dl-runtime" => head.task.slice = Some(Span::from_us(reading.integer(member, 1, US_MAX)? as u64)),
                _ => drop(attributes.take(reading, member)?),
            }
        }
        let (class, level) = attributes.class(reading, task)?.unwrap_or((Class::Normal, 0));
        head.task.class = class;
        match class.is_realtime() {
            true => head.task.rt_priority = level as u8,
            false => head.task.nice = Nice::new(level).unwrap_or_default(),
        }
        head.task.affinity = attributes.cpus.unwrap_or_default();
        head.task.group = attributes.group.unwrap_or_default();
        reading.check_class(task.line, head.task.group, class)?;
        Ok(head)
    }
}

/// True for a property of a task or phase; false for an event, which may be repeated.
fn is_property(key: &str) -> bool {
    key != "phases" && [Place::Task, Place::Phase].iter().any(|place| coverage::find(*place, key).is_some())
}

/// Scheduling attributes of a task or a phase.
#[derive(Default)]
struct Attributes {
    policy: Option<String>,
    priority: Option<Member>,
    cpus: Option<CpuSet>,
    group: Option<GroupId>,
}

impl Attributes {
    /// Applies the member if it is an attribute.
    fn take(&mut self, reading: &mut Reading, member: &Member) -> Result<bool, String> {
        match member.key.as_str() {
            "policy" => self.policy = Some(reading.text(member)?.into()),
            "priority" => self.priority = Some(member.clone()),
            "cpus" => self.cpus = Some(cpus(reading, member)?),
            "taskgroup" => self.group = reading.taskgroup(member)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Class with real-time priority or nice; `None` if neither is given.
    fn class(&self, reading: &mut Reading, at: &Member) -> Result<Option<(Class, i64)>, String> {
        let Some(policy) = &self.policy else { return Ok(None) };
        let class = match POLICIES.iter().find(|(name, _)| name == policy) {
            Some((_, class)) => *class,
            None if policy == "SCHED_DEADLINE" => {
                reading.refuse(at, "its policy SCHED_DEADLINE is not modelled; it would run as SCHED_OTHER")?;
                Class::Normal
            }
            None => {
                let near = suggest(policy, POLICIES.map(|(name, _)| name));
                return reading.error(at.line, format!("\"{policy}\" is not a policy; {near}"));
            }
        };
        let (default, low, high) = if class.is_realtime() { (10, 1, 99) } else { (0, -20, 19) };
        let level = self.priority.as_ref().map_or(Ok(default), |m| reading.integer(m, low, high))?;
        Ok(Some((class, level)))
    }
}

fn cpus(reading: &Reading, member: &Member) -> Result<CpuSet, String> {
    let Value::List(list) = &member.value else {
        return reading.error(member.line, "\"cpus\" must be a list such as [0, 1]");
    };
    let mut ids = Vec::new();
    for value in list {
        let single = Member { value: value.clone(), ..member.clone() };
        ids.push(CpuId(reading.integer(&single, 0, CpuId::LAST.0.into())? as u32));
    }
    match ids.is_empty() {
        true => reading.error(member.line, "\"cpus\" is empty; name at least one CPU or leave it out"),
        false => Ok(CpuSet::of(&ids)),
    }
}

/// Number of tasks at each barrier: one per mention and task instance.
fn count_barriers(tasks: &[Member], heads: &[Head]) -> BTreeMap<String, u32> {
    fn visit(value: &Value, weight: u32, counts: &mut BTreeMap<String, u32>) {
        let Value::Object(members) = value else { return };
        for member in members {
            match (&member.value, coverage::event(&member.key)) {
                (Value::Text(name), Some(key)) if key.name == "barrier" => {
                    *counts.entry(name.clone()).or_default() += weight;
                }
                (inner, _) => visit(inner, weight, counts),
            }
        }
    }
    let mut counts = BTreeMap::new();
    for (task, head) in tasks.iter().zip(heads) {
        visit(&task.value, head.instances, &mut counts);
    }
    counts
}

struct Compiler {
    heads: Vec<Head>,
    barriers: BTreeMap<String, u32>,
    mutexes: LockKind,
    plan: Plan,
    channels: BTreeMap<String, Channel>,
    locks: BTreeMap<String, LockId>,
    forks: Vec<Fork>,
}

/// The script being written.
struct Writing {
    task: usize,
    script: Script,
    timers: BTreeMap<String, u16>,
    /// Repetitions of the current instruction; `None` for endless.
    passes: Option<u64>,
    /// Group and class at this place of the text.
    group: GroupId,
    class: Class,
}

impl Compiler {
    fn script(&mut self, reading: &mut Reading, index: usize, task: &Member) -> Result<Script, String> {
        let members = reading.object(task)?;
        let phases: Vec<&Member> = members.iter().filter(|m| m.key == "phases").collect();
        let Head { delay, task: Task { group, class, .. }, .. } = self.heads[index];
        let (script, timers) = (Script::default(), BTreeMap::new());
        let mut writing = Writing { task: index, script, timers, passes: Some(1), group, class };
        if delay > Span::ZERO {
            writing.script.ops.push(Op::Do(Step::Sleep(delay)));
        }
        let times = self.own_loop(reading, members, -1)?;
        writing.passes = times;
        let begin = writing.script.ops.len();
        match phases[..] {
            [] => self.events(reading, &mut writing, members, true)?,
            [phases] => {
                self.refuse_events_beside_phases(reading, members)?;
                for phase in reading.object(phases)? {
                    self.phase(reading, &mut writing, phase, times)?;
                }
            }
            _ => return reading.error(phases[1].line, "a second \"phases\"; join the two"),
        }
        writing.script.repeat_from(begin, times);
        Ok(writing.script)
    }

    fn own_loop(&self, reading: &Reading, members: &[Member], default: i64) -> Result<Option<u64>, String> {
        let times =
            members.iter().rfind(|m| m.key == "loop").map_or(Ok(default), |m| reading.integer(m, -1, i64::MAX))?;
        Ok(u64::try_from(times).ok())
    }

    fn refuse_events_beside_phases(&self, reading: &mut Reading, members: &[Member]) -> Result<(), String> {
        for member in members {
            let place = [Place::Task, Place::Phase].into_iter().find_map(|p| coverage::find(p, &member.key));
            match place {
                Some(key) => reading.check(member, key)?,
                None if coverage::event(&member.key).is_some() => {
                    reading.refuse(member, "an event beside \"phases\" never happens")?;
                }
                None => drop(reading.unknown::<()>(member, &[Place::Task, Place::Phase])?),
            }
        }
        Ok(())
    }

    fn phase(
        &mut self,
        reading: &mut Reading,
        writing: &mut Writing,
        phase: &Member,
        outer: Option<u64>,
    ) -> Result<(), String> {
        let members = reading.object(phase)?;
        reading.once(members, is_property)?;
        let mut attributes = Attributes::default();
        for member in members {
            if member.key == "dl-runtime" {
                reading.refuse(member, "a slice can be asked for at task level only")?;
            }
            attributes.take(reading, member)?;
        }
        if attributes.policy.is_none() && attributes.priority.is_some() {
            let class = self.heads[writing.task].task.class;
            attributes.policy = POLICIES.iter().find(|(_, c)| *c == class).map(|(name, _)| (*name).into());
        }
        if let Some((class, level)) = attributes.class(reading, phase)? {
            writing.class = class;
            let rt = if class.is_realtime() { level as u8 } else { 0 };
            writing.script.ops.push(Op::Do(Step::SetClass(class, rt)));
            if let Some(nice) = Nice::new(level).filter(|_| !class.is_realtime()) {
                writing.script.ops.push(Op::Do(Step::SetNice(nice)));
            }
        }
        let affinity = attributes.cpus.unwrap_or_else(|| self.heads[writing.task].task.affinity.clone());
        if affinity != last_affinity(&writing.script).unwrap_or_else(|| self.heads[writing.task].task.affinity.clone())
        {
            writing.script.ops.push(Op::Do(Step::SetAffinity(affinity)));
        }
        if let Some(group) = attributes.group {
            writing.group = group;
            writing.script.ops.push(Op::Do(Step::SetGroup(group)));
        }
        reading.check_class(phase.line, writing.group, writing.class)?;
        let times = self.own_loop(reading, members, 1)?;
        writing.passes = outer.zip(times).map(|(a, b)| a.saturating_mul(b));
        let begin = writing.script.ops.len();
        self.events(reading, writing, members, false)?;
        writing.script.repeat_from(begin, times);
        Ok(())
    }

    fn events(
        &mut self,
        reading: &mut Reading,
        writing: &mut Writing,
        members: &[Member],
        task_level: bool,
    ) -> Result<(), String> {
        for member in members {
            let property = coverage::find(Place::Phase, &member.key)
                .or_else(|| coverage::find(Place::Task, &member.key).filter(|_| task_level));
            if let Some(key) = property {
                reading.check(member, key)?;
                continue;
            }
            let Some(key) = coverage::event(&member.key) else {
                reading.unknown::<()>(member, &[Place::Task, Place::Phase, Place::Event])?;
                continue;
            };
            reading.check(member, key)?;
            if let Some(op) = self.event(reading, writing, member, key.name)? {
                writing.script.ops.push(op);
            }
        }
        Ok(())
    }

    fn event(
        &mut self,
        reading: &mut Reading,
        writing: &mut Writing,
        member: &Member,
        event: &str,
    ) -> Result<Option<Op>, String> {
        let us = |reading: &Reading| reading.integer(member, 0, US_MAX).map(|n| Span::from_us(n as u64));
        let name = || reading.text(member);
        Ok(Some(match event {
            "run" => Op::Do(Step::Compute(us(reading)?)),
            "runtime" => Op::Spin(us(reading)?),
            "sleep" => match us(reading)? {
                Span::ZERO => return Ok(None),
                span => Op::Do(Step::Sleep(span)),
            },
            "timer" => self.timer(reading, writing, member)?,
            "lock" => Op::Do(Step::Lock(self.lock(name()?))),
            "unlock" => Op::Do(Step::Unlock(self.lock(name()?))),
            "signal" => Op::Do(Step::Wake(self.condition("condition", name()?))),
            "broad" => Op::Do(Step::WakeAll(self.condition("condition", name()?))),
            "wait" | "sync" => self.wait_with(reading, member, event == "sync")?,
            "suspend" => {
                let own = self.heads[writing.task].name.clone();
                let name = Some(name()?).filter(|n| !n.is_empty()).unwrap_or(&own);
                Op::Do(Step::Wait(self.condition("suspend", name)))
            }
            "resume" => Op::Do(Step::WakeAll(self.condition("suspend", name()?))),
            "barrier" => Op::Do(Step::Wait(self.barrier(name()?))),
            "yield" => Op::Do(Step::Yield),
            "fork" => return self.fork(reading, writing, member).map(Some),
            _ => return Ok(None),
        }))
    }

    fn lock(&mut self, name: &str) -> LockId {
        match self.locks.get(name) {
            Some(lock) => *lock,
            None => {
                let lock = self.plan.lock(self.mutexes);
                self.plan.names.insert(Awaited::Lock(lock), format!("mutex \"{name}\""));
                self.locks.insert(name.into(), lock);
                lock
            }
        }
    }

    fn condition(&mut self, kind: &str, name: &str) -> Channel {
        self.channel(format!("{kind} \"{name}\""), ChannelKind::Condition)
    }

    fn barrier(&mut self, name: &str) -> Channel {
        let waiters = self.barriers.get(name).copied().unwrap_or(1).max(1);
        self.channel(format!("barrier \"{name}\""), ChannelKind::Barrier(waiters))
    }

    fn channel(&mut self, name: String, kind: ChannelKind) -> Channel {
        if let Some(channel) = self.channels.get(&name) {
            return *channel;
        }
        let channel = self.plan.channel(kind);
        self.plan.names.insert(Awaited::Channel(channel), name.clone());
        self.channels.insert(name, channel);
        channel
    }

    fn wait_with(&mut self, reading: &mut Reading, member: &Member, signal: bool) -> Result<Op, String> {
        let (mut condition, mut lock) = (None, None);
        let fields = reading.object(member)?;
        reading.once(fields, |_| true)?;
        for field in fields {
            match field.key.as_str() {
                "ref" => condition = Some(self.condition("condition", reading.text(field)?)),
                "mutex" => lock = Some(self.lock(reading.text(field)?)),
                _ => {
                    return reading.error(
                        field.line,
                        format!("\"{}\" knows \"ref\" and \"mutex\", not \"{}\"", member.key, field.key),
                    );
                }
            }
        }
        match (condition, lock) {
            (Some(channel), Some(lock)) => Ok(Op::WaitWith { channel, lock, signal }),
            _ => reading.error(member.line, format!("\"{}\" needs \"ref\" and \"mutex\"", member.key)),
        }
    }

    fn timer(&mut self, reading: &mut Reading, writing: &mut Writing, member: &Member) -> Result<Op, String> {
        let (mut name, mut period, mut overrun) = ("", None, Overrun::RestartsNow);
        let fields = reading.object(member)?;
        reading.once(fields, |_| true)?;
        for field in fields {
            match field.key.as_str() {
                "ref" => name = reading.text(field)?,
                "period" => period = Some(Span::from_us(reading.integer(field, 0, US_MAX)? as u64)),
                "mode" => {
                    overrun = match reading.text(field)? {
                        "absolute" => Overrun::KeepsGrid,
                        "relative" => Overrun::RestartsNow,
                        other => {
                            return reading
                                .error(field.line, format!("timer mode \"{other}\" is neither relative nor absolute"));
                        }
                    }
                }
                other => {
                    return reading.error(
                        field.line,
                        format!("\"timer\" knows \"ref\", \"period\" and \"mode\", not \"{other}\""),
                    );
                }
            }
        }
        let Some(period) = period else {
            return reading.error(member.line, "\"timer\" needs a \"period\" in microseconds");
        };
        Ok(Op::Timer { timer: writing.timer(name), period, overrun })
    }

    fn fork(&mut self, reading: &Reading, writing: &mut Writing, member: &Member) -> Result<Op, String> {
        let name = reading.text(member)?;
        let Some(target) = self.heads.iter().position(|h| h.name == name) else {
            let near = suggest(name, self.heads.iter().map(|h| h.name.as_str()));
            return reading.error(member.line, format!("there is no task \"{name}\" to fork; {near}"));
        };
        let forks = writing.passes.filter(|n| *n <= INSTANCES_MAX as u64);
        let Some(forks) = forks.filter(|_| target != writing.task) else {
            return reading.error(
                member.line,
                format!(
                    "\"{}\" would create tasks without end; give the task and its phases a finite \"loop\"",
                    member.key
                ),
            );
        };
        self.forks.push(Fork { by: writing.task, op: writing.script.ops.len(), target, count: forks as u32 });
        let counter = writing.script.counter();
        Ok(Op::ForkNext { counter, first: BehaviourId(0), count: forks as u32 })
    }

    /// Instances in the order of the file, then the tasks that are forked.
    fn finish(mut self, file: &str, scripts: &[Script]) -> Result<Plan, String> {
        let mut rows: Vec<(usize, Forked)> = Vec::new();
        for (index, head) in self.heads.iter().enumerate() {
            rows.extend((0..head.instances).map(|_| (index, Forked::No)));
        }
        let mut counts = vec![0; self.heads.len()];
        let mut row = 0;
        while let Some((index, forked)) = rows.get(row).copied() {
            let mut script = scripts[index].clone();
            for fork in self.forks.iter().filter(|f| f.by == index) {
                if let Op::ForkNext { first, .. } = &mut script.ops[fork.op] {
                    *first = BehaviourId(rows.len() as u32);
                }
                rows.extend((0..fork.count).map(|_| (fork.target, Forked::Yes)));
            }
            if rows.len() > INSTANCES_MAX as usize {
                return Err(format!("{file}: more than {INSTANCES_MAX} tasks; do tasks fork each other in a circle?"));
            }
            let head = &self.heads[index];
            script.begin(head.delay, forked);
            let start = if forked == Forked::Yes { Start::Forked } else { Start::WokenAt(Time::ZERO) };
            let name = format!("{}-{}", head.name, counts[index]);
            let (task, line) = (head.task.clone(), head.line);
            self.plan.tasks.push(TaskPlan { name, start, task, script: Arc::new(script), line });
            counts[index] += 1;
            row += 1;
        }
        Ok(self.plan)
    }
}

/// Tells if another task creates this one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Forked {
    Yes,
    No,
}

impl Script {
    /// Puts the delay first: from time 0 for an initial task, from its first run for a forked one. Instruction 0 is
    /// reserved for it if there is a delay.
    fn begin(&mut self, delay: Span, forked: Forked) {
        if forked == Forked::No {
            self.origin = Some(Time::ZERO + delay);
        }
        if delay > Span::ZERO {
            self.ops[0] = Op::Do(match forked {
                Forked::Yes => Step::Sleep(delay),
                Forked::No => Step::SleepUntil(Time::ZERO + delay),
            });
        }
    }
}

/// A `fork` event.
struct Fork {
    /// Index of the forking task in the file.
    by: usize,
    /// Its instruction.
    op: usize,
    /// The task that is created.
    target: usize,
    /// Number of times each instance does so.
    count: u32,
}

impl Writing {
    fn timer(&mut self, name: &str) -> u16 {
        let next = self.timers.len() as u16;
        let index = *self.timers.entry(name.into()).or_insert(next);
        self.script.timers = self.timers.len() as u16;
        index
    }
}

/// The affinity a script has set last, in the order of its text.
fn last_affinity(script: &Script) -> Option<CpuSet> {
    script.ops.iter().rev().find_map(|op| match op {
        Op::Do(Step::SetAffinity(set)) => Some(set.clone()),
        _ => None,
    })
}
