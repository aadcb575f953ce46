//! Experiment files: tasks and their programmes in TOML.
//!
//! ```toml
//! name = "four hogs and a blinker"
//! duration = "10s"
//! machine = "ideal"
//!
//! [[task]]
//! name = "hog"
//! count = 4
//! program = [ { compute = "forever" } ]
//!
//! [[task]]
//! name = "blinker"
//! program = [ { compute = "1ms" }, { sleep = "9ms" } ]
//! ```
//!
//! [`SECTIONS`] has all tables and keys: of tasks, groups, locks, disks and faults.
//!
//! A programme repeats for ever; `loop = 100` bounds it. Channels and locks are named by their steps. A run lasts a
//! day at most, and needs a duration unless its tasks end.

mod faults;
mod groups;
mod keys;
mod locks;
mod storage;

use crate::key::Key;
use crate::machine::{from_table, parse_machine};
use crate::models::BuiltIn;
use crate::script::{Mailbox, Op, OutsiderPlan, Overrun, Plan, Script, TaskPlan};
use crate::soundness;
use goodness_core::spelling::suggest;
use goodness_core::{
    Awaited, Channel, ChannelKind, Class, CpuId, CpuSet, HORIZON_MAX, LockId, Machine, MachineFault, Nice, Reservation,
    Seed, Span, Start, Step, Task, TaskId, Time, Workload, WorkloadSource,
};
use keys::{OUTSIDE, RESERVATION, STEPS, TASK, TOP};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::Extent;
use toml::{Table, Value};

pub use keys::SECTIONS;

/// The most tasks of a run. A choice: so many are promised to fit into memory.
const TASKS_MAX: i64 = 1_000_000;

/// A workload read from an experiment file.
#[derive(Clone, Debug)]
pub struct Experiment {
    file: String,
    name: String,
    plan: Plan,
    machine: Option<Machine>,
    /// Line of the first disk, from 1; 0 if there is none.
    disk_line: usize,
    /// Lines of the faults' CPUs, or of their headings, from 1.
    fault_lines: Vec<usize>,
    /// True for each task that is judged; all are if it is empty.
    judged: Vec<bool>,
}

impl Experiment {
    /// Parses `text`; errors name the file as `file`.
    ///
    /// # Errors
    /// One sentence with file, line, key and remedy.
    pub fn read(file: &str, text: &str) -> Result<Experiment, String> {
        let table: Table = toml::from_str(text).map_err(|e| {
            let before = e.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.as_bytes()[..before].iter().filter(|byte| **byte == b'\n').count() + 1;
            format!("{file}, line {line}: {}", e.message())
        })?;
        let reading = Reading { file, text, section: Cell::new(0) };
        reading.experiment(&table)
    }

    /// Names of the tasks, in their order.
    pub fn task_names(&self) -> impl Iterator<Item = &str> {
        self.plan.tasks.iter().map(|task| task.name.as_str())
    }

    /// The experiment with an answer about these of its tasks alone; the others run as before.
    #[must_use]
    pub fn with_judged(self, judged: Vec<bool>) -> Experiment {
        Experiment { judged, ..self }
    }

    /// Refuses faults of CPUs that a machine with so many CPUs does not have.
    ///
    /// # Errors
    /// One sentence with file, line, CPU and remedy.
    pub fn check_faults(&self, cpus: usize) -> Result<(), String> {
        let astray = |fault: &MachineFault| fault.cpu.is_some_and(|cpu| cpu.index() >= cpus);
        let Some(index) = self.plan.faults.iter().position(astray) else { return Ok(()) };
        let cpu = self.plan.faults[index].cpu.map_or(0, |cpu| cpu.0);
        let has = if cpus == 1 { "only CPU 0".into() } else { format!("CPUs 0 to {}", cpus - 1) };
        let (file, line) = (&self.file, self.fault_lines[index]);
        Err(format!(
            "{file}, line {line}: cpu: a fault is planned for CPU {cpu}, and the machine has {has}; name one of those, \
             or take a machine with more CPUs"
        ))
    }

    /// The machine given in the file, if any.
    #[must_use]
    pub fn machine(&self) -> Option<&Machine> {
        self.machine.as_ref()
    }
}

impl WorkloadSource for Experiment {
    fn name(&self) -> &str {
        &self.name
    }

    fn what_varies(&self) -> &str {
        "lengths that the file gives as ranges are drawn anew, and so is the phase of the tick"
    }

    fn build(&self, _: Seed, _: u32) -> Workload {
        let mut work = self.plan.workload();
        work.tasks.iter_mut().zip(&self.judged).for_each(|(spec, judged)| spec.judged = *judged);
        work
    }

    fn place_of(&self, task: TaskId) -> Option<String> {
        self.plan.tasks.get(task.index()).map(|task| task.place(&self.file))
    }

    fn place_of_storage(&self) -> Option<String> {
        (self.disk_line > 0).then(|| format!("{}, line {}", self.file, self.disk_line))
    }

    fn asks_for_elevator(&self) -> bool {
        self.plan.storage.disks.iter().any(|disk| disk.elevator.is_none())
    }

    fn name_of(&self, awaited: Awaited) -> Option<String> {
        self.plan.names.get(&awaited).cloned()
    }
}

/// Channels and locks by the names steps use.
#[derive(Default)]
struct Places {
    channels: BTreeMap<String, Channel>,
    locks: BTreeMap<String, LockId>,
    mailboxes: BTreeMap<String, Mailbox>,
    /// Volumes and files, by name.
    targets: BTreeMap<String, Extent>,
}

struct Reading<'a> {
    file: &'a str,
    text: &'a str,
    /// Line on which the current task begins, from 0; 0 before the first.
    section: Cell<usize>,
}

impl Reading<'_> {
    /// Line from 1 of the first `key` in the current table, with `value` if there is one; 0 without the key.
    fn line_of(&self, key: &str, value: &str) -> usize {
        let names_it =
            |line: &str| line.split(['=', '{', ',', '[', ']', '}']).any(|word| word.trim().trim_matches('"') == key);
        let lines = || self.text.lines().enumerate().filter(|(_, line)| names_it(line));
        let here = || lines().filter(|(number, _)| *number >= self.section.get());
        let exact = here().find(|(_, line)| line.contains(value));
        exact.or_else(|| here().next()).or_else(|| lines().next()).map_or(0, |(number, _)| number + 1)
    }

    /// An error about `key`, with its first line in the current task.
    fn wrong(&self, key: &str, why: &str) -> String {
        self.wrong_value(key, "", why)
    }

    /// Like [`Self::wrong`], with the line that also contains `value` as written.
    fn wrong_value(&self, key: &str, value: &str, why: &str) -> String {
        match self.line_of(key, value) {
            0 => format!("{}: {key}: {why}", self.file),
            line => format!("{}, line {line}: {key}: {why}", self.file),
        }
    }

    /// Makes the table with this number and heading the current one. Returns the line of the heading from 1, or 0 if it
    /// has none.
    fn enter(&self, heading: &str, number: usize) -> u32 {
        let headings = self.text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with(heading));
        let Some((line, _)) = { headings }.nth(number) else { return 0 };
        self.section.set(line);
        line as u32 + 1
    }

    fn known(&self, table: &Table, keys: &[Key]) -> Result<(), String> {
        let names = || keys.iter().map(|key| key.name);
        match table.keys().find(|key| names().all(|name| name != key.as_str())) {
            Some(key) => Err(self.wrong(key, &format!("there is no such key here; {}", suggest(key, names())))),
            None => Ok(()),
        }
    }

    fn span(&self, key: &str, value: &Value) -> Result<Span, String> {
        let written = value.to_string();
        let text = value.as_str();
        let text =
            text.ok_or_else(|| self.wrong_value(key, &written, "a time with its unit is needed, such as \"2ms\""))?;
        Span::parse(text).map_err(|why| self.wrong_value(key, &written, &why))
    }

    fn integer(&self, key: &str, value: &Value, low: i64, high: i64) -> Result<i64, String> {
        let number = value.as_integer().filter(|n| (low..=high).contains(n));
        number.ok_or_else(|| self.wrong(key, &format!("a whole number in {low} ..= {high} is needed, not {value}")))
    }

    fn text<'v>(&self, key: &str, value: &'v Value) -> Result<&'v str, String> {
        value.as_str().ok_or_else(|| self.wrong(key, "a text in quotes is needed"))
    }

    fn name<'v>(&self, value: &'v Value) -> Result<&'v str, String> {
        soundness::name(self.text("name", value)?).map_err(|why| self.wrong("name", &why))
    }

    fn experiment(&self, table: &Table) -> Result<Experiment, String> {
        self.known(table, TOP)?;
        let mut plan = match table.get("workload") {
            Some(list) => self.modelled(list)?,
            None => Plan::default(),
        };
        self.times(table, &mut plan)?;
        let mut places = Places::default();
        self.storage(table, &mut plan, &mut places)?;
        plan.groups = self.groups(table, !plan.storage.disks.is_empty())?;
        self.locks(table, &mut plan, &mut places)?;
        let fault_lines = self.faults(table, &mut plan)?;
        for (number, task) in self.tables(table, "task")?.into_iter().enumerate() {
            let line = self.enter("[[task]]", number);
            self.task(task, line, &mut plan, &mut places)?;
        }
        self.section.set(0);
        for outsider in self.tables(table, "outside")? {
            self.outsider(outsider, &mut plan, &mut places)?;
        }
        if plan.tasks.is_empty() {
            return Err(format!("{}: there is no task; add a [[task]] with a program, or a [[workload]]", self.file));
        }
        let name = match table.get("name") {
            Some(value) => self.name(value)?.to_string(),
            None => self.file.to_string(),
        };
        plan.check(self.file, "write duration = \"10s\" at the top of the file, or loop = 100 in the task")?;
        let disk_line = self.text.lines().position(|line| line.trim_start().starts_with("[[disk]]"));
        let disk_line = disk_line.map_or(0, |before| before + 1);
        Ok(Experiment {
            file: self.file.into(),
            name,
            plan,
            machine: self.machine(table)?,
            disk_line,
            fault_lines,
            judged: Vec::new(),
        })
    }

    /// The end of the run, and the time from which on it is measured.
    fn times(&self, table: &Table, plan: &mut Plan) -> Result<(), String> {
        let duration = match table.get("duration") {
            Some(value) => {
                let asked = self.span("duration", value)?;
                Some(soundness::duration(asked).map_err(|why| self.wrong("duration", &why))?)
            }
            None => None,
        };
        if duration == Some(Span::ZERO) {
            return Err(self.wrong("duration", "an experiment needs some time, such as \"5s\""));
        }
        plan.horizon = duration.map(|d| Time::ZERO + d).or(plan.horizon);
        if let Some(value) = table.get("warmup") {
            plan.warmup = self.span("warmup", value)?;
            if Time::ZERO + plan.warmup >= plan.horizon.unwrap_or(Time::ZERO + HORIZON_MAX) {
                return Err(self.wrong("warmup", "it takes the whole duration; nothing would be measured"));
            }
        }
        Ok(())
    }

    fn tables<'v>(&self, table: &'v Table, key: &str) -> Result<Vec<&'v Table>, String> {
        let Some(value) = table.get(key) else { return Ok(Vec::new()) };
        let list = value.as_array().and_then(|list| list.iter().map(Value::as_table).collect::<Option<Vec<_>>>());
        list.ok_or_else(|| self.wrong(key, &format!("write [[{key}]]")))
    }

    fn machine(&self, table: &Table) -> Result<Option<Machine>, String> {
        match table.get("machine") {
            None => Ok(None),
            Some(Value::String(text)) => parse_machine(text).map(Some).map_err(|why| self.wrong("machine", &why)),
            Some(Value::Table(inner)) => {
                from_table("table", inner).map(Some).map_err(|why| self.wrong("machine", &why))
            }
            Some(_) => Err(self.wrong("machine", "a name, a file or a table is needed")),
        }
    }

    /// `[[workload]] use = "server"` with its parameters.
    fn modelled(&self, list: &Value) -> Result<Plan, String> {
        let Some([only]) = list.as_array().map(Vec::as_slice) else {
            return Err(self.wrong("workload", "exactly one [[workload]] is supported in a file"));
        };
        let Some(table) = only.as_table() else { return Err(self.wrong("workload", "write [[workload]]")) };
        let Some(name) = table.get("use").and_then(Value::as_str) else {
            return Err(self.wrong("workload", "it needs use = \"NAME\", the name of a built-in workload"));
        };
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
        let pairs: Vec<String> = table
            .iter()
            .filter(|(key, _)| *key != "use")
            .map(|(key, value)| format!("{key}={}", plain(value)))
            .collect();
        let built = BuiltIn::parse(&format!("{name}:{}", pairs.join(","))).map_err(|why| self.wrong("use", &why))?;
        built.into_plan().map_err(|why| self.wrong("use", &why))
    }

    fn task(&self, table: &Table, line: u32, plan: &mut Plan, places: &mut Places) -> Result<(), String> {
        self.known(table, TASK)?;
        let name = match table.get("name") {
            Some(value) => self.name(value)?,
            None => "task",
        };
        let count = table.get("count").map_or(Ok(1), |v| self.integer("count", v, 1, TASKS_MAX))?;
        let start = table.get("start").map_or(Ok(Span::ZERO), |v| self.span("start", v))?;
        if plan.horizon.is_some_and(|end| Time::ZERO + start >= end) {
            return Err(self.wrong("start", "it is not before the end of the run; the task would do nothing"));
        }
        if plan.tasks.len() as i64 + count > TASKS_MAX {
            return Err(
                self.wrong("count", &format!("with it there are more than {TASKS_MAX} tasks, the most of a run"))
            );
        }
        let mut character = self.character(table)?;
        if let Some(value) = table.get("group") {
            character.group = self.group("group", value, &plan.groups)?;
        }
        let script = Arc::new(self.script(table, plan, places)?);
        for number in 0..count {
            plan.tasks.push(TaskPlan {
                name: if count == 1 { name.into() } else { format!("{name}-{number}") },
                start: Start::At(Time::ZERO + start),
                task: Task { address_space: Some(plan.tasks.len() as u32), ..character.clone() },
                script: Arc::clone(&script),
                line,
            });
        }
        Ok(())
    }

    /// `[[outside]]`: a client that uses no CPU of the machine, for example on the network.
    fn outsider(&self, table: &Table, plan: &mut Plan, places: &mut Places) -> Result<(), String> {
        self.known(table, OUTSIDE)?;
        let name = table.get("name").map_or(Ok("outside"), |value| self.text("name", value))?;
        let count = table.get("count").map_or(Ok(1), |v| self.integer("count", v, 1, 1_000_000))?;
        let start = table.get("start").map_or(Ok(Span::ZERO), |v| self.span("start", v))?;
        let script = Arc::new(self.script(table, plan, places)?);
        let uses_cpu = |op: &Op| {
            !matches!(
                op,
                Op::Ask(_)
                    | Op::Reply
                    | Op::SleepBetween(..)
                    | Op::Timer { .. }
                    | Op::Repeat { .. }
                    | Op::Begin
                    | Op::Receive(_)
            ) && !matches!(op, Op::Do(Step::Sleep(_) | Step::Wait(_) | Step::Wake(_) | Step::Exit))
        };
        if script.ops.iter().any(uses_cpu) {
            return Err(self.wrong(
                "outside",
                "an outsider may sleep, wait, wake, ask and exit; anything else takes a CPU and belongs to a [[task]]",
            ));
        }
        plan.outside.extend((0..count).map(|_| OutsiderPlan {
            name: name.into(),
            start: Time::ZERO + start,
            script: Arc::clone(&script),
        }));
        Ok(())
    }

    /// Class, nice and affinity.
    fn character(&self, table: &Table) -> Result<Task, String> {
        let mut task = Task::default();
        if let Some(value) = table.get("nice") {
            task.nice = Nice::new(self.integer("nice", value, -20, 19)?).unwrap_or_default();
        }
        if let Some(value) = table.get("class") {
            let text = self.text("class", value)?;
            task.class = Class::parse(text).ok_or_else(|| {
                let near = suggest(text, Class::ALL.map(Class::name));
                self.wrong("class", &format!("\"{text}\" is no class; {near}"))
            })?;
        }
        match (task.class.is_realtime(), table.get("rt_priority")) {
            (true, Some(value)) => task.rt_priority = self.integer("rt_priority", value, 1, 99)? as u8,
            (true, None) => return Err(self.wrong("class", "a real-time class needs rt_priority = 1 ..= 99")),
            (false, Some(_)) => return Err(self.wrong("rt_priority", "only class = \"fifo\" or \"rr\" has one")),
            (false, None) => {}
        }
        if let Some(value) = table.get("priority") {
            task.priority = Some(self.integer("priority", value, 0, 255)? as u8);
        }
        if let Some(value) = table.get("tickets") {
            task.tickets = Some(self.integer("tickets", value, 1, 1_000_000)? as u32);
        }
        task.io_priority = self.io_priority(table)?;
        task.reservation = self.reservation(table)?;
        if task.class == Class::Deadline && task.reservation.is_none() {
            return Err(
                self.wrong("class", "a deadline task needs reservation = { runtime = \"2ms\", period = \"10ms\" }")
            );
        }
        if let Some(value) = table.get("slice") {
            task.slice = Some(self.span("slice", value)?);
        }
        if let Some(value) = table.get("affinity") {
            task.affinity = self.cpus("affinity", value)?;
        }
        Ok(task)
    }

    /// A list of CPUs.
    fn cpus(&self, key: &str, value: &Value) -> Result<CpuSet, String> {
        let list = value.as_array().ok_or_else(|| self.wrong(key, "a list of CPUs is needed, such as [0, 1]"))?;
        let cpus: Result<Vec<CpuId>, String> =
            list.iter().map(|v| Ok(CpuId(self.integer(key, v, 0, CpuId::LAST.0.into())? as u32))).collect();
        let cpus = cpus?;
        if cpus.is_empty() {
            return Err(self.wrong(key, "it names no CPU; name one, or leave it out for all"));
        }
        Ok(CpuSet::of(&cpus))
    }

    /// `reservation = { runtime, period, deadline }`; the deadline defaults to the period.
    fn reservation(&self, table: &Table) -> Result<Option<Reservation>, String> {
        let Some(value) = table.get("reservation") else { return Ok(None) };
        let wrong = |why: &str| self.wrong("reservation", why);
        let inner = value.as_table().ok_or_else(|| wrong("write { runtime = \"2ms\", period = \"10ms\" }"))?;
        self.known(inner, RESERVATION)?;
        let span = |key: &str| inner.get(key).map(|value| self.span(key, value)).transpose();
        let (Some(runtime), Some(period)) = (span("runtime")?, span("period")?) else {
            return Err(wrong("it needs runtime and period, such as { runtime = \"2ms\", period = \"10ms\" }"));
        };
        let deadline = span("deadline")?.unwrap_or(period);
        if runtime == Span::ZERO || runtime > deadline || deadline > period {
            return Err(wrong("runtime > 0, runtime <= deadline and deadline <= period must hold"));
        }
        Ok(Some(Reservation { runtime, deadline, period }))
    }

    fn script(&self, table: &Table, plan: &mut Plan, places: &mut Places) -> Result<Script, String> {
        let steps = self.tables(table, "program")?;
        if steps.is_empty() {
            return Err(
                self.wrong("task", "it needs a program, such as [ { compute = \"1ms\" }, { sleep = \"9ms\" } ]")
            );
        }
        let mut script = Script::default();
        for step in steps {
            if storage::is_access(step) {
                self.access(step, &mut script, places)?;
                continue;
            }
            self.known(step, STEPS)?;
            let mut entries = step.iter();
            let (Some((verb, value)), None) = (entries.next(), entries.next()) else {
                return Err(self.wrong("program", "each step has exactly one verb, such as { compute = \"1ms\" }"));
            };
            let mut op = self.step(verb, value, plan, places)?;
            if let Op::Timer { timer, .. } = &mut op {
                *timer = script.timers;
                script.timers = script.timers.checked_add(1).ok_or_else(|| self.wrong(verb, "too many timers"))?;
            }
            script.ops.push(op);
        }
        let times = match table.get("loop") {
            Some(value) => Some(self.integer("loop", value, 1, i64::MAX)? as u64),
            None => None,
        };
        script.repeat_from(0, times);
        Ok(script)
    }

    fn step(&self, verb: &str, value: &Value, plan: &mut Plan, places: &mut Places) -> Result<Op, String> {
        Ok(match verb {
            "compute" if value.as_str() == Some("forever") => Op::Do(Step::Compute(Span::MAX)),
            "compute" => self.lasting(verb, value, Step::Compute, Op::ComputeBetween)?,
            "kernel" => self.lasting(verb, value, Step::Kernel, Op::KernelBetween)?,
            "sleep" => self.lasting(verb, value, Step::Sleep, Op::SleepBetween)?,
            "every" => self.timer(verb, value, Overrun::SkipsPassed)?,
            "catch_up" => self.timer(verb, value, Overrun::KeepsGrid)?,
            "wait" => Op::Do(Step::Wait(self.channel(verb, value, plan, places)?)),
            "wake" => Op::Do(Step::Wake(self.channel(verb, value, plan, places)?)),
            "lock" => Op::Do(Step::Lock(self.lock(verb, value, plan, places)?)),
            "lock_shared" => Op::Do(Step::LockShared(self.shareable(verb, value, plan, places)?)),
            "unlock" => Op::Do(Step::Unlock(self.lock(verb, value, plan, places)?)),
            "critical" => Op::Do(match self.text(verb, value)? {
                "begin" => Step::BeginCritical,
                "end" => Step::EndCritical,
                other => return Err(self.wrong_value(verb, other, "write critical = \"begin\" or \"end\"")),
            }),
            "nice" => Op::Do(Step::SetNice(Nice::new(self.integer(verb, value, -20, 19)?).unwrap_or_default())),
            "group" => Op::Do(Step::SetGroup(self.group(verb, value, &plan.groups)?)),
            "ask" => Op::Ask(self.mailbox(verb, value, plan, places)?),
            "ask_device" => Op::AskDevice(self.mailbox(verb, value, plan, places)?),
            "receive" => Op::Receive(self.mailbox(verb, value, plan, places)?),
            _ if *value != Value::Boolean(true) => {
                let why = format!("{value} says nothing; write {verb} = true, or leave the step out");
                return Err(self.wrong_value(verb, &value.to_string(), &why));
            }
            "yield" => Op::Do(Step::Yield),
            "exec" => Op::Do(Step::Exec),
            "reply" => Op::Reply,
            "answer" => Op::Answer,
            "begin" => Op::Begin,
            "served" => Op::Served,
            _ => Op::Do(Step::Exit),
        })
    }

    /// A duration: fixed, or drawn from a range `["1ms", "2ms"]`.
    fn lasting(
        &self,
        key: &str,
        value: &Value,
        exactly: fn(Span) -> Step,
        between: fn(Span, Span) -> Op,
    ) -> Result<Op, String> {
        match value.as_array().map(Vec::as_slice) {
            Some([low, high]) => {
                let (low, high) = (self.span(key, low)?, self.span(key, high)?);
                if low > high {
                    return Err(self.wrong(key, "the range runs backwards"));
                }
                Ok(between(low, high))
            }
            Some(_) => Err(self.wrong(key, "a range has two ends, such as [\"1ms\", \"2ms\"]")),
            None => Ok(Op::Do(exactly(self.span(key, value)?))),
        }
    }

    /// A periodic timer, whose number is set by the program.
    fn timer(&self, key: &str, value: &Value, overrun: Overrun) -> Result<Op, String> {
        match self.span(key, value)? {
            Span::ZERO => Err(self.wrong(key, &format!("a timer's period is not 0; write {key} = \"5ms\""))),
            period => Ok(Op::Timer { timer: 0, period, overrun }),
        }
    }

    fn channel(&self, key: &str, value: &Value, plan: &mut Plan, places: &mut Places) -> Result<Channel, String> {
        let name = self.text(key, value)?;
        if let Some(channel) = places.channels.get(name) {
            return Ok(*channel);
        }
        let channel = plan.channel(ChannelKind::Semaphore);
        plan.names.insert(Awaited::Channel(channel), format!("wake = \"{name}\""));
        places.channels.insert(name.into(), channel);
        Ok(channel)
    }

    fn mailbox(&self, key: &str, value: &Value, plan: &mut Plan, places: &mut Places) -> Result<Mailbox, String> {
        let name = self.text(key, value)?;
        if let Some(mailbox) = places.mailboxes.get(name) {
            return Ok(*mailbox);
        }
        if plan.mailboxes == u16::MAX {
            return Err(self.wrong(key, "a file may name 65535 mailboxes at most"));
        }
        let mailbox = plan.mailbox();
        places.mailboxes.insert(name.into(), mailbox);
        Ok(mailbox)
    }
}

#[cfg(test)]
mod tests;
