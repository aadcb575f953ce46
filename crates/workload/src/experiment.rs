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
//! A programme repeats for ever; `loop = 100` bounds it. Channels and locks are named by their steps.

use crate::machine::{from_table, parse_machine};
use crate::models::BuiltIn;
use crate::script::{Op, Plan, Script, TaskPlan};
use goodness_core::registry::nearest;
use goodness_core::{
    Channel, ChannelKind, Class, CpuId, CpuSet, LockId, Machine, Nice, Seed, Span, Start, Step, Task, Time, Workload,
    WorkloadSource,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::{Table, Value};

const TOP: &[&str] = &["name", "duration", "warmup", "machine", "task", "workload"];
const TASK: &[&str] =
    &["name", "count", "nice", "class", "rt_priority", "affinity", "slice", "start", "program", "loop"];
const STEPS: &[&str] =
    &["compute", "sleep", "wait", "wake", "lock", "unlock", "yield", "exit", "nice", "begin", "served"];
const CLASSES: &[(&str, Class)] = &[
    ("normal", Class::Normal),
    ("batch", Class::Batch),
    ("idle", Class::Idle),
    ("fifo", Class::Fifo),
    ("rr", Class::RoundRobin),
];

/// A workload read from an experiment file.
#[derive(Clone, Debug)]
pub struct Experiment {
    name: String,
    plan: Plan,
    machine: Option<Machine>,
}

impl Experiment {
    /// Reads `text`; `file` names it in errors.
    ///
    /// # Errors
    /// One sentence with file, line, key and remedy.
    pub fn read(file: &str, text: &str) -> Result<Experiment, String> {
        let table: Table = toml::from_str(text).map_err(|e| {
            let line = e.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
            format!("{file}, line {line}: {}", e.message())
        })?;
        let reading = Reading { file, text };
        reading.experiment(&table)
    }

    /// The machine the file asks for, if it does.
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
        self.plan.workload()
    }
}

/// Channels and locks by the names steps use.
#[derive(Default)]
struct Places {
    channels: BTreeMap<String, Channel>,
    locks: BTreeMap<String, LockId>,
}

struct Reading<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reading<'_> {
    /// A sentence about `key`, with the line it first stands on.
    fn wrong(&self, key: &str, why: &str) -> String {
        let names_it =
            |line: &str| line.split(['=', '{', ',', '[', ']', '}']).any(|word| word.trim().trim_matches('"') == key);
        match self.text.lines().position(names_it) {
            Some(line) => format!("{}, line {}: {key}: {why}", self.file, line + 1),
            None => format!("{}: {key}: {why}", self.file),
        }
    }

    fn known(&self, table: &Table, keys: &[&str]) -> Result<(), String> {
        for key in table.keys() {
            if !keys.contains(&key.as_str()) {
                let near = nearest(key, keys.iter().copied()).unwrap_or_default();
                return Err(self.wrong(key, &format!("there is no such key here; the nearest is \"{near}\"")));
            }
        }
        Ok(())
    }

    fn span(&self, key: &str, value: &Value) -> Result<Span, String> {
        let text = value.as_str().ok_or_else(|| self.wrong(key, "a time with its unit is needed, such as \"2ms\""))?;
        Span::parse(text).map_err(|why| self.wrong(key, &why))
    }

    fn integer(&self, key: &str, value: &Value, low: i64, high: i64) -> Result<i64, String> {
        let number = value.as_integer().filter(|n| (low..=high).contains(n));
        number.ok_or_else(|| self.wrong(key, &format!("a whole number in {low} ..= {high} is needed, not {value}")))
    }

    fn text<'v>(&self, key: &str, value: &'v Value) -> Result<&'v str, String> {
        value.as_str().ok_or_else(|| self.wrong(key, "a text in quotes is needed"))
    }

    fn experiment(&self, table: &Table) -> Result<Experiment, String> {
        self.known(table, TOP)?;
        let mut plan = match table.get("workload") {
            Some(list) => self.modelled(list)?,
            None => Plan::default(),
        };
        let duration = match table.get("duration") {
            Some(value) => Some(self.span("duration", value)?),
            None => None,
        };
        if duration == Some(Span::ZERO) {
            return Err(self.wrong("duration", "an experiment needs some time, such as \"5s\""));
        }
        plan.horizon = duration.map(|d| Time::ZERO + d).or(plan.horizon);
        if let Some(value) = table.get("warmup") {
            plan.warmup = self.span("warmup", value)?;
            if plan.horizon.is_some_and(|end| Time::ZERO + plan.warmup >= end) {
                return Err(self.wrong("warmup", "it takes the whole duration; nothing would be measured"));
            }
        }
        let mut places = Places::default();
        for task in self.tables(table, "task")? {
            self.task(task, &mut plan, &mut places)?;
        }
        if plan.tasks.is_empty() {
            return Err(format!("{}: there is no task; add a [[task]] with a program, or a [[workload]]", self.file));
        }
        let name = match table.get("name") {
            Some(value) => self.text("name", value)?.to_string(),
            None => self.file.to_string(),
        };
        Ok(Experiment { name, plan, machine: self.machine(table)? })
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
            return Err(self.wrong("workload", "it needs use = \"NAME\"; see `goodness list workloads`"));
        };
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
        let pairs: Vec<String> = table
            .iter()
            .filter(|(key, _)| *key != "use")
            .map(|(key, value)| format!("{key}={}", plain(value)))
            .collect();
        let built = BuiltIn::parse(&format!("{name}:{}", pairs.join(","))).map_err(|why| self.wrong("use", &why))?;
        Ok(built.into_plan())
    }

    fn task(&self, table: &Table, plan: &mut Plan, places: &mut Places) -> Result<(), String> {
        self.known(table, TASK)?;
        let name = match table.get("name") {
            Some(value) => self.text("name", value)?,
            None => "task",
        };
        let count = table.get("count").map_or(Ok(1), |v| self.integer("count", v, 1, 1_000_000))?;
        let start = table.get("start").map_or(Ok(Span::ZERO), |v| self.span("start", v))?;
        let character = self.character(table)?;
        let script = Arc::new(self.script(table, plan, places)?);
        for number in 0..count {
            plan.tasks.push(TaskPlan {
                name: if count == 1 { name.into() } else { format!("{name}-{number}") },
                start: Start::At(Time::ZERO + start),
                task: Task { address_space: Some(plan.tasks.len() as u32), ..character.clone() },
                script: Arc::clone(&script),
            });
        }
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
            let near = nearest(text, CLASSES.iter().map(|(name, _)| *name)).unwrap_or_default();
            let found = CLASSES.iter().find(|(name, _)| *name == text);
            task.class = found
                .ok_or_else(|| self.wrong("class", &format!("\"{text}\" is no class; the nearest is \"{near}\"")))?
                .1;
        }
        match (task.class.is_realtime(), table.get("rt_priority")) {
            (true, Some(value)) => task.rt_priority = self.integer("rt_priority", value, 1, 99)? as u8,
            (true, None) => return Err(self.wrong("class", "a real-time class needs rt_priority = 1 ..= 99")),
            (false, Some(_)) => return Err(self.wrong("rt_priority", "only class = \"fifo\" or \"rr\" has one")),
            (false, None) => {}
        }
        if let Some(value) = table.get("slice") {
            task.slice = Some(self.span("slice", value)?);
        }
        if let Some(value) = table.get("affinity") {
            let list =
                value.as_array().ok_or_else(|| self.wrong("affinity", "a list of CPUs is needed, such as [0, 1]"))?;
            let cpus: Result<Vec<CpuId>, String> =
                list.iter().map(|v| Ok(CpuId(self.integer("affinity", v, 0, 65_535)? as u32))).collect();
            task.affinity = CpuSet::of(&cpus?);
        }
        Ok(task)
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
            self.known(step, STEPS)?;
            let mut entries = step.iter();
            let (Some((verb, value)), None) = (entries.next(), entries.next()) else {
                return Err(self.wrong("program", "each step has exactly one verb, such as { compute = \"1ms\" }"));
            };
            let op = self.step(verb, value, plan, places)?;
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
            "compute" => self.lengths(verb, value)?.map_or_else(Op::Do, |(low, high)| Op::ComputeBetween(low, high)),
            "sleep" => match self.lengths(verb, value)? {
                Ok((low, high)) => Op::SleepBetween(low, high),
                Err(Step::Compute(span)) => Op::Do(Step::Sleep(span)),
                Err(step) => Op::Do(step),
            },
            "wait" => Op::Do(Step::Wait(self.channel(verb, value, plan, places)?)),
            "wake" => Op::Do(Step::Wake(self.channel(verb, value, plan, places)?)),
            "lock" => Op::Do(Step::Lock(self.lock(verb, value, plan, places)?)),
            "unlock" => Op::Do(Step::Unlock(self.lock(verb, value, plan, places)?)),
            "nice" => Op::Do(Step::SetNice(Nice::new(self.integer(verb, value, -20, 19)?).unwrap_or_default())),
            "yield" => Op::Do(Step::Yield),
            "begin" => Op::Begin,
            "served" => Op::Served,
            _ => Op::Do(Step::Exit),
        })
    }

    /// One length as a step of computing, or a range `["1ms", "2ms"]`.
    fn lengths(&self, key: &str, value: &Value) -> Result<Result<(Span, Span), Step>, String> {
        match value.as_array().map(Vec::as_slice) {
            Some([low, high]) => {
                let (low, high) = (self.span(key, low)?, self.span(key, high)?);
                if low > high {
                    return Err(self.wrong(key, "the range runs backwards"));
                }
                Ok(Ok((low, high)))
            }
            Some(_) => Err(self.wrong(key, "a range has two ends, such as [\"1ms\", \"2ms\"]")),
            None => Ok(Err(Step::Compute(self.span(key, value)?))),
        }
    }

    fn channel(&self, key: &str, value: &Value, plan: &mut Plan, places: &mut Places) -> Result<Channel, String> {
        let name = self.text(key, value)?;
        if let Some(channel) = places.channels.get(name) {
            return Ok(*channel);
        }
        let channel = plan.channel(ChannelKind::Semaphore);
        places.channels.insert(name.into(), channel);
        Ok(channel)
    }

    fn lock(&self, key: &str, value: &Value, plan: &mut Plan, places: &mut Places) -> Result<LockId, String> {
        let name = self.text(key, value)?;
        if let Some(lock) = places.locks.get(name) {
            return Ok(*lock);
        }
        let lock = plan.lock();
        places.locks.insert(name.into(), lock);
        Ok(lock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"
name = "four hogs and a blinker"
duration = "10s"
warmup = "1s"
machine = { cpus = 2, hz = 100 }

[[task]]
name = "hog"
count = 4
affinity = [0]
program = [ { compute = "forever" } ]

[[task]]
name = "blinker"
nice = -5
program = [ { compute = ["1ms", "2ms"] }, { wake = "x" }, { sleep = "9ms" } ]
loop = 100
"#;

    #[test]
    fn an_experiment_is_what_it_says() {
        let experiment = Experiment::read("x.toml", SAMPLE).unwrap();
        let work = experiment.build(Seed(1), 0);
        assert_eq!((work.tasks.len(), work.channels.len()), (5, 1));
        assert_eq!((work.horizon, work.warmup), (Some(Time(10_000_000_000)), Span::from_s(1)));
        assert_eq!(experiment.machine().map(|m| (m.cpu_count(), m.hz)), Some((2, 100)));
        assert_eq!((work.tasks[3].name.as_str(), work.tasks[4].task.nice.get()), ("hog-3", -5));
    }

    #[test]
    fn a_mistake_is_named_with_its_line_and_a_remedy() {
        for (from, to, expected) in [
            (
                "duration = \"10s\"",
                "duratoin = \"10s\"",
                "line 3: duratoin: there is no such key here; the nearest is \"duration\"",
            ),
            ("\"9ms\"", "\"9 lightyears\"", "not a unit of time"),
            ("duration = \"10s\"", "duration = \"0s\"", "line 3: duration: an experiment needs some time"),
            ("warmup = \"1s\"", "warmup = \"10s\"", "line 4: warmup: it takes the whole duration"),
            ("nice = -5", "nice = -21", "-20 ..= 19"),
            ("count = 4", "count = 0", "line 9: count"),
            ("hz = 100", "hz = 0", "1 or more"),
            ("{ sleep", "{ slep", "nearest is \"sleep\""),
            ("[[task]]", "[task]", "line"),
        ] {
            let sentence = Experiment::read("x.toml", &SAMPLE.replace(from, to)).unwrap_err();
            assert!(sentence.starts_with("x.toml") && sentence.contains(expected), "{sentence}");
        }
        assert!(Experiment::read("x.toml", "").unwrap_err().contains("there is no task"));
    }
}
