//! Workloads in rt-app's JSON.
//!
//! The grammar is that of rt-app's tutorial; [`coverage`] lists the supported keys. Differences to rt-app: a timer
//! belongs to one task even if several tasks use the same `ref` (rt-app shares them), CPU time is exact instead of
//! calibrated, and a sleep of 0 does not sleep.

pub mod coverage;
mod groups;
mod tasks;

use crate::json::{self, Member, Value};
use crate::script::Plan;
use coverage::{Coverage, Key, Place};
use goodness_core::spelling::suggest;
use goodness_core::{Awaited, Groups, HORIZON_MAX, LockKind, Seed, Span, TaskId, Time, Workload, WorkloadSource};
use std::collections::BTreeMap;

/// Timer slack set by rt-app.
const TIMER_SLACK: Span = Span::from_ns(1);

/// The longest run, in seconds.
const DURATION_MAX: i64 = (HORIZON_MAX.ns() / 1_000_000_000) as i64;

/// Strictness of reading.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Accept unsupported keys and list them in [`RtApp::not_honoured`].
    pub lenient: bool,
}

/// A workload read from an rt-app file.
#[derive(Clone, Debug)]
pub struct RtApp {
    /// Unsupported keys with their lines; empty unless `lenient`.
    pub not_honoured: Vec<String>,
    name: String,
    plan: Plan,
}

impl RtApp {
    /// Parses `text`; errors name the file as `file`.
    ///
    /// # Errors
    /// One sentence with file, line, key and remedy.
    pub fn read(file: &str, text: &str, options: Options) -> Result<RtApp, String> {
        let root = json::parse(text).map_err(|(line, why)| format!("{file}, line {line}: {why}"))?;
        let Value::Object(members) = root else {
            return Err(format!("{file}: an rt-app file is an object with \"tasks\""));
        };
        let mut reading = Reading { file, options, not_honoured: Vec::new(), groups: Groups::default() };
        let plan = reading.plan(&members)?;
        plan.check(file, "write \"duration\": 10 (seconds) in \"global\", or \"loop\": 100 in the task")?;
        Ok(RtApp { not_honoured: reading.not_honoured, name: file.into(), plan })
    }

    /// The plan of the tasks.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

impl WorkloadSource for RtApp {
    fn name(&self) -> &str {
        &self.name
    }

    fn what_varies(&self) -> &str {
        "the work is the same in every replication; only the phase of the tick differs"
    }

    fn build(&self, _: Seed, _: u32) -> Workload {
        self.plan.workload()
    }

    fn place_of(&self, task: TaskId) -> Option<String> {
        self.plan.tasks.get(task.index()).map(|task| task.place(&self.name))
    }

    fn name_of(&self, awaited: Awaited) -> Option<String> {
        self.plan.names.get(&awaited).cloned()
    }
}

/// The file being read.
struct Reading<'a> {
    file: &'a str,
    options: Options,
    not_honoured: Vec<String>,
    /// The groups named so far.
    groups: Groups,
}

/// `global`.
struct Defaults {
    policy: String,
    duration: i64,
    /// Kind of the mutexes.
    mutexes: LockKind,
}

impl Reading<'_> {
    fn error<T>(&self, line: usize, why: impl std::fmt::Display) -> Result<T, String> {
        Err(format!("{}, line {line}: {why}", self.file))
    }

    /// Accepts, notes or refuses a key according to its coverage.
    fn check(&mut self, member: &Member, key: &Key) -> Result<(), String> {
        if key.coverage == Coverage::NotHonoured {
            self.refuse(member, key.meaning)?;
        }
        Ok(())
    }

    /// Refuses an unsupported member, or records it when reading leniently.
    fn refuse(&mut self, member: &Member, why: &str) -> Result<(), String> {
        let sentence = format!("\"{}\" is not honoured: {why}", member.key);
        if !self.options.lenient {
            return self
                .error(member.line, format!("{sentence}. Remove it, or read with --lenient to go on without it"));
        }
        self.not_honoured.push(format!("{}, line {}: {sentence}", self.file, member.line));
        Ok(())
    }

    /// The error for a key that does not exist at `places`.
    fn unknown<T>(&mut self, member: &Member, places: &[Place]) -> Result<Option<T>, String> {
        let names = coverage::KEYS.iter().filter(|k| places.contains(&k.place)).map(|k| k.name);
        let sentence = format!("there is no key \"{}\" here; {}", member.key, suggest(&member.key, names));
        if !self.options.lenient {
            return self.error(member.line, sentence);
        }
        self.not_honoured.push(format!("{}, line {}: {sentence}", self.file, member.line));
        Ok(None)
    }

    /// Refuses a repeated key among those that `counts` selects.
    fn once(&self, members: &[Member], counts: impl Fn(&str) -> bool) -> Result<(), String> {
        let mut seen = BTreeMap::new();
        for member in members.iter().filter(|m| counts(&m.key)) {
            if let Some(line) = seen.insert(member.key.as_str(), member.line) {
                let why = format!("\"{}\" is given twice, first on line {line}; keep one, or rename it", member.key);
                return self.error(member.line, why);
            }
        }
        Ok(())
    }

    fn plan(&mut self, members: &[Member]) -> Result<Plan, String> {
        self.once(members, |key| key == "global")?;
        let mut defaults = Defaults { policy: "SCHED_OTHER".into(), duration: -1, mutexes: LockKind::Normal };
        let mut tasks = None;
        for member in members {
            match member.key.as_str() {
                "global" => self.global(member, &mut defaults)?,
                "tasks" | "threads" if tasks.is_some() => {
                    return self.error(member.line, "a second list of tasks; join the two");
                }
                "tasks" | "threads" => tasks = Some(self.object(member)?),
                "resources" => {}
                _ => drop(self.unknown::<()>(member, &[Place::File])?),
            }
        }
        let Some(tasks) = tasks.filter(|t| !t.is_empty()) else {
            return Err(format!("{}: there are no tasks; write \"tasks\": {{ … }}", self.file));
        };
        let mut plan = tasks::compile(self, tasks, &defaults)?;
        plan.groups = std::mem::take(&mut self.groups);
        plan.timer_slack = TIMER_SLACK;
        plan.horizon = match defaults.duration {
            -1 => None,
            seconds => Some(Time(seconds as u64 * 1_000_000_000)),
        };
        Ok(plan)
    }

    fn global(&mut self, global: &Member, defaults: &mut Defaults) -> Result<(), String> {
        let members = self.object(global)?;
        self.once(members, |_| true)?;
        for member in members {
            let Some(key) = coverage::find(Place::Global, &member.key) else {
                self.unknown::<()>(member, &[Place::Global])?;
                continue;
            };
            match key.name {
                "duration" => defaults.duration = self.integer(member, -1, DURATION_MAX)?,
                "default_policy" => defaults.policy = self.text(member)?.into(),
                "pi_enabled" => defaults.mutexes = self.mutexes(member)?,
                _ => self.check(member, key)?,
            }
        }
        if defaults.duration == 0 {
            return self.error(global.line, "\"duration\" is 0; write the seconds of the run, or -1");
        }
        Ok(())
    }

    /// `pi_enabled`: kind of all mutexes.
    fn mutexes(&self, member: &Member) -> Result<LockKind, String> {
        match &member.value {
            Value::Bare(word) if word == "true" => Ok(LockKind::Pi),
            Value::Bare(word) if word == "false" => Ok(LockKind::Normal),
            _ => self.error(member.line, "\"pi_enabled\" must be true or false"),
        }
    }

    fn object<'m>(&self, member: &'m Member) -> Result<&'m [Member], String> {
        match &member.value {
            Value::Object(members) => Ok(members),
            _ => self.error(member.line, format!("\"{}\" must be an object", member.key)),
        }
    }

    fn text<'m>(&self, member: &'m Member) -> Result<&'m str, String> {
        match &member.value {
            Value::Text(text) => Ok(text),
            _ => self.error(member.line, format!("\"{}\" must be a string", member.key)),
        }
    }

    /// A whole number in `low..=high`. `10.0` and `"10"` are accepted, as rt-app's own reader does.
    fn integer(&self, member: &Member, low: i64, high: i64) -> Result<i64, String> {
        let (Value::Bare(text) | Value::Text(text)) = &member.value else {
            return self.error(member.line, format!("\"{}\" must be a whole number", member.key));
        };
        let whole =
            text.split_once('.').filter(|(_, f)| f.bytes().all(|b| b == b'0')).map_or(text.as_str(), |(w, _)| w);
        match whole.parse::<i64>() {
            Ok(number) if (low..=high).contains(&number) => Ok(number),
            Ok(number) => self.error(member.line, format!("\"{}\": {number} is outside {low} ..= {high}", member.key)),
            Err(_) => self.error(member.line, format!("\"{}\": {text} is not a whole number", member.key)),
        }
    }
}
