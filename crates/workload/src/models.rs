//! Built-in workloads, registered by name, with their parameters as tunables.

use crate::script::{Op, Plan, Script, TaskPlan};
use goodness_core::registry::nearest;
use goodness_core::{
    ChannelKind, Seed, Span, Start, Step, Task, Time, Tunable, TunableError, Tunables, Workload, WorkloadSource,
};
use std::sync::Arc;

/// A built-in workload.
#[derive(Clone, Copy)]
pub struct Model {
    /// Registered name.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Its parameters.
    pub tunables: fn() -> &'static [Tunable],
    make: Make,
}

/// Makes a plan from settings as typed.
type Make = fn(&[(String, String)]) -> Result<Plan, TunableError>;

/// Declares the list: name, summary, settings, the function that makes the plan.
macro_rules! models {
    ($($name:literal, $summary:literal, $settings:path, $make:path;)*) => {
        /// Every built-in workload.
        pub const WORKLOADS: &[Model] = &[$(Model {
            name: $name,
            summary: $summary,
            tunables: <$settings as Tunables>::spec,
            make: |pairs| {
                let mut settings = <$settings>::default();
                for (key, value) in pairs {
                    settings.set(key, value)?;
                }
                Ok($make(&settings))
            },
        },)*];
    };
}

models! {
    "null", "Nothing at all: tests the tool itself.", null::Settings, null::plan;
    "hogs", "Tasks that compute without end.", hogs::Settings, hogs::plan;
    "sleepers", "Tasks that compute briefly and sleep.", sleepers::Settings, sleepers::plan;
    "mixed", "Hogs beside sleepers, as on a busy desktop or build server.", mixed::Settings, mixed::plan;
    "pipe-ring", "Tasks in a ring, each waking the next.", pipe_ring::Settings, pipe_ring::plan;
    "server", "Clients that think and ask; workers that answer; one lock they share.", server::Settings, server::plan;
}

/// A built-in workload with its parameters.
pub struct BuiltIn {
    name: String,
    plan: Plan,
}

impl BuiltIn {
    /// Reads `NAME` or `NAME:key=value,…`.
    ///
    /// # Errors
    /// An unknown name or parameter (the nearest is named), a value out of range.
    pub fn parse(text: &str) -> Result<BuiltIn, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let Some(model) = WORKLOADS.iter().find(|model| model.name == name) else {
            let near = nearest(name, WORKLOADS.iter().map(|m| m.name)).unwrap_or_default();
            return Err(format!(
                "there is no workload \"{name}\"; the nearest is \"{near}\". See `goodness list workloads`."
            ));
        };
        let mut pairs = Vec::new();
        for item in rest.split(',').filter(|item| !item.trim().is_empty()) {
            let Some((key, value)) = item.split_once('=') else {
                return Err(format!("\"{item}\" in \"{text}\" is no setting; write {name}:KEY=VALUE"));
            };
            pairs.push((key.trim().to_string(), value.trim().to_string()));
        }
        let plan =
            (model.make)(&pairs).map_err(|e| format!("workload {name}: {e}. See `goodness list workloads {name}`."))?;
        Ok(BuiltIn { name: text.into(), plan })
    }

    /// The tasks and what they do.
    #[must_use]
    pub fn into_plan(self) -> Plan {
        self.plan
    }
}

impl WorkloadSource for BuiltIn {
    fn name(&self) -> &str {
        &self.name
    }

    fn what_varies(&self) -> &str {
        "lengths of bursts and sleeps are drawn anew within their ranges, and so is the phase of the tick"
    }

    fn build(&self, _: Seed, _: u32) -> Workload {
        self.plan.workload()
    }
}

/// `span` give or take a tenth, so that replications differ.
fn about(span: Span) -> (Span, Span) {
    (Span(span.0 - span.0 / 10), span + span / 10)
}

fn compute_about(span: Span) -> Op {
    let (low, high) = about(span);
    Op::ComputeBetween(low, high)
}

fn sleep_about(span: Span) -> Op {
    let (low, high) = about(span);
    Op::SleepBetween(low, high)
}

/// A script that repeats `ops` for ever.
fn forever(ops: Vec<Op>) -> Arc<Script> {
    let mut script = Script { ops, ..Script::default() };
    script.repeat_from(0, None);
    Arc::new(script)
}

fn add(plan: &mut Plan, name: &str, count: u64, script: &Arc<Script>) {
    for number in 0..count {
        plan.tasks.push(TaskPlan {
            name: format!("{name}-{number}"),
            start: Start::At(Time::ZERO),
            task: Task { address_space: Some(plan.tasks.len() as u32), ..Task::default() },
            script: Arc::clone(script),
        });
    }
}

fn lasting(duration: Span) -> Plan {
    Plan { horizon: Some(Time::ZERO + duration), ..Plan::default() }
}

mod null {
    use super::*;
    goodness_core::tunables! {
        pub struct Settings {
            /// How long nothing happens.
            duration: Span = Span::from_s(1), in Span::from_us(1) => Span::from_s(3600);
        }
    }
    pub fn plan(settings: &Settings) -> Plan {
        lasting(settings.duration)
    }
}

mod hogs {
    use super::*;
    goodness_core::tunables! {
        pub struct Settings {
            /// How many hogs there are.
            tasks: u64 = 4, in 1 => 1_000_000;
            /// How long they run.
            duration: Span = Span::from_s(2), in Span::from_us(1) => Span::from_s(3600);
        }
    }
    pub fn plan(settings: &Settings) -> Plan {
        let mut plan = lasting(settings.duration);
        let script = Arc::new(Script { ops: vec![Op::Do(Step::Compute(Span::MAX))], ..Script::default() });
        add(&mut plan, "hog", settings.tasks, &script);
        plan
    }
}

mod sleepers {
    use super::*;
    goodness_core::tunables! {
        pub struct Settings {
            /// How many sleepers there are.
            tasks: u64 = 20, in 1 => 1_000_000;
            /// CPU time of a burst, give or take a tenth.
            run: Span = Span::from_us(500), in Span::from_us(1) => Span::from_s(10);
            /// Sleep between bursts, give or take a tenth.
            sleep: Span = Span::from_ms(20), in Span::from_us(1) => Span::from_s(10);
            /// How long the run lasts.
            duration: Span = Span::from_s(2), in Span::from_us(1) => Span::from_s(3600);
        }
    }
    pub fn plan(settings: &Settings) -> Plan {
        let mut plan = lasting(settings.duration);
        let ops = vec![compute_about(settings.run), sleep_about(settings.sleep)];
        add(&mut plan, "sleeper", settings.tasks, &forever(ops));
        plan
    }
}

mod mixed {
    use super::*;
    goodness_core::tunables! {
        pub struct Settings {
            /// How many hogs there are.
            hogs: u64 = 3, in 0 => 100_000;
            /// How many sleepers there are.
            sleepers: u64 = 8, in 0 => 100_000;
            /// CPU time of a sleeper's burst, give or take a tenth.
            run: Span = Span::from_ms(1), in Span::from_us(1) => Span::from_s(10);
            /// Sleep between bursts, give or take a tenth.
            sleep: Span = Span::from_ms(9), in Span::from_us(1) => Span::from_s(10);
            /// How long the run lasts.
            duration: Span = Span::from_s(2), in Span::from_us(1) => Span::from_s(3600);
        }
    }
    pub fn plan(settings: &Settings) -> Plan {
        let mut plan = lasting(settings.duration);
        let hog = Arc::new(Script { ops: vec![Op::Do(Step::Compute(Span::MAX))], ..Script::default() });
        add(&mut plan, "hog", settings.hogs, &hog);
        let ops = vec![compute_about(settings.run), sleep_about(settings.sleep)];
        add(&mut plan, "sleeper", settings.sleepers, &forever(ops));
        plan
    }
}

mod pipe_ring {
    use super::*;
    goodness_core::tunables! {
        pub struct Settings {
            /// How many tasks form the ring.
            tasks: u64 = 8, in 2 => 100_000;
            /// How many tokens go round at a time.
            tokens: u64 = 1, in 1 => 100_000;
            /// CPU time a task spends on a token, give or take a tenth.
            run: Span = Span::from_us(20), in Span::from_us(1) => Span::from_s(10);
            /// How long the run lasts.
            duration: Span = Span::from_s(1), in Span::from_us(1) => Span::from_s(3600);
        }
    }
    pub fn plan(settings: &Settings) -> Plan {
        let mut plan = lasting(settings.duration);
        let channels: Vec<_> = (0..settings.tasks).map(|_| plan.channel(ChannelKind::Semaphore)).collect();
        for (place, channel) in channels.iter().enumerate() {
            let next = channels[(place + 1) % channels.len()];
            let mut ops = Vec::new();
            // The holders of the first tokens begin by passing one on.
            if (place as u64) < settings.tokens {
                ops.extend([compute_about(settings.run), Op::Do(Step::Wake(next))]);
            }
            let body = ops.len();
            ops.extend([Op::Do(Step::Wait(*channel)), compute_about(settings.run), Op::Do(Step::Wake(next))]);
            let mut script = Script { ops, ..Script::default() };
            script.repeat_from(body, None);
            add(&mut plan, "link", 1, &Arc::new(script));
        }
        plan
    }
}

mod server {
    use super::*;
    goodness_core::tunables! {
        pub struct Settings {
            /// How many clients ask.
            clients: u64 = 16, in 1 => 100_000;
            /// How many workers answer.
            workers: u64 = 8, in 1 => 100_000;
            /// Time a client thinks between an answer and the next request, give or take a tenth.
            think: Span = Span::from_ms(5), in Span::ZERO => Span::from_s(100);
            /// CPU time of a request, give or take a tenth.
            service: Span = Span::from_us(800), in Span::from_us(1) => Span::from_s(10);
            /// Part of the service done under the lock all workers share, as time.
            locked: Span = Span::from_us(50), in Span::ZERO => Span::from_s(1);
            /// How long the run lasts.
            duration: Span = Span::from_s(2), in Span::from_us(1) => Span::from_s(3600);
        }
    }

    /// Each client has a worker (client number modulo workers) and an inbox of its own; workers take requests in
    /// the order of their inboxes' turns.
    pub fn plan(settings: &Settings) -> Plan {
        let mut plan = lasting(settings.duration);
        let lock = plan.lock();
        let requests: Vec<_> = (0..settings.workers).map(|_| plan.channel(ChannelKind::Semaphore)).collect();
        let done: Vec<_> = (0..settings.workers).map(|_| plan.channel(ChannelKind::Semaphore)).collect();
        for worker in 0..settings.workers as usize {
            let mut ops = vec![Op::Do(Step::Wait(requests[worker])), compute_about(settings.service)];
            if settings.locked > Span::ZERO {
                ops.push(Op::Do(Step::Lock(lock)));
                ops.push(Op::Do(Step::Compute(settings.locked)));
                ops.push(Op::Do(Step::Unlock(lock)));
            }
            ops.push(Op::Do(Step::Wake(done[worker])));
            add(&mut plan, "worker", 1, &forever(ops));
        }
        for client in 0..settings.clients {
            let worker = (client % settings.workers) as usize;
            let mut ops =
                vec![Op::Begin, Op::Do(Step::Compute(Span::from_us(20))), Op::Do(Step::Wake(requests[worker]))];
            ops.extend([Op::Do(Step::Wait(done[worker])), Op::Served, sleep_about(settings.think)]);
            add(&mut plan, "client", 1, &forever(ops));
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_workload_can_be_made_with_its_defaults() {
        for model in WORKLOADS {
            let built = BuiltIn::parse(model.name).unwrap();
            assert!(built.build(Seed(1), 0).horizon.is_some(), "{}", model.name);
        }
    }

    #[test]
    fn a_wrong_name_or_parameter_is_refused_with_the_nearest_one() {
        let sentence = |text: &str| BuiltIn::parse(text).err().unwrap();
        assert!(sentence("hog").contains("nearest is \"hogs\""));
        assert!(sentence("hogs:task=3").contains("nearest is \"tasks\""));
        assert!(sentence("hogs:tasks=0").contains("outside"));
        assert!(sentence("hogs:tasks").contains("KEY=VALUE"));
    }
}
