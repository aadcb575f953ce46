//! The simulation behind a prediction: the same load under the same arm, on the machine as calibrated,
//! with `eevdf` as the policy, or the one that the arm loads, on all CPUs but its daemon's.
//!
//! It predicts the loads that the simulator models (`yield`, `hackbench`, `schbench`, `spin`) under arms that set
//! attributes of tasks: nice, class, slice, CPUs. Only service times (below) are taken from measurements. Everything
//! else is refused with the reason: weights of groups, kernel knobs, and servers without measured service times.
//!
//! Service times: the work of `spin` is the CPU time it used under the reference arm. A call of `yield` costs what it
//! costs a single context. The messages of `hackbench` cost what its model was calibrated to on another machine. Other
//! load of the machine, interrupts, and the host under a virtual machine are left out, so predictions are optimistic.

use crate::arm::Arm;
use crate::load;
use crate::load_error::LoadError;
use crate::role::Role;
use crate::subprocess::Launcher;
use crate::workspace::Workspace;
use goodness::{PolicySpec, Replication, Trial};
use goodness_core::{Class, CpuId, CpuSet, Machine, Nice, Seed, Span, Workload, WorkloadSource};
use goodness_observe::Measured;
use goodness_sys::process::{self, Conditions};
use goodness_work::experiment::Experiment;
use goodness_work::models::BuiltIn;

/// The policy that models this kernel's fair class.
pub const POLICY: &str = "eevdf";
/// Number of replications, with different tick phases and random seeds.
const RUNS: u32 = 5;

/// Service times of the load, measured before the race (for `yield`: a single context). Measures by name.
///
/// # Errors
/// The error of running it.
pub fn service_times(
    load: &str,
    launcher: &Launcher,
    workspace: &Workspace,
    seed: Seed,
) -> Result<Vec<(String, f64)>, LoadError> {
    if load != "yield" {
        return Ok(Vec::new());
    }
    let alone = [("tasks", "1"), ("duration", "300ms")].map(|(key, value)| (key.to_string(), value.to_string()));
    let measures = load::make("yield", &alone, launcher)?.run(workspace, seed)?;
    let found = measures.iter().find(|measure| measure.name == "yield_time");
    Ok(found.map(|measure| (ALONE.to_string(), measure.value)).into_iter().collect())
}

/// The time of a yield without a switch.
const ALONE: &str = "yield_time_alone";

/// Parameters of a prediction.
pub struct Question<'a> {
    /// The registered name of the load.
    pub load: &'a str,
    /// Its parameters as typed.
    pub settings: &'a [(String, String)],
    /// The arm.
    pub arm: &'a Arm,
    /// Machine.
    pub machine: &'a Machine,
    /// Random seed.
    pub seed: Seed,
    /// Medians measured under the reference arm, by name, and [`service_times`].
    pub reference: &'a dyn Fn(&str) -> Option<f64>,
}

/// A predicted measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Its name, as the load has it.
    pub measure: String,
    /// Its value in the load's unit: the mean of the replications.
    pub value: f64,
}

impl Prediction {
    /// Measured value divided by the predicted one.
    #[must_use]
    pub fn ratio(&self, measured: f64) -> f64 {
        measured / self.value
    }
}

/// Simulation model of a load.
struct Model {
    work: Box<dyn WorkloadSource>,
    /// All tasks on one CPU, the last.
    is_pinned: bool,
    /// Measures with their sources.
    measures: Vec<(&'static str, Source)>,
}

/// Source of a measure in a simulated run.
#[derive(Clone, Copy)]
enum Source {
    /// A metric of the same meaning.
    Metric(&'static str),
    /// The time measured by the number of switches.
    TimeOfSwitch,
}

/// Simulates and returns the predictions.
///
/// # Errors
/// The reason this load or arm cannot be predicted, or an error of the simulation.
pub fn predict(question: &Question) -> Result<Vec<Prediction>, String> {
    let model = model(question)?;
    refuse_what_has_no_model(question.arm)?;
    let [server, client] = [Role::Server, Role::Client].map(|role| conditions(question, role));
    let mut sums = vec![0.0; model.measures.len()];
    for replication in 0..RUNS {
        let replication = Replication::of(question.seed.0, replication);
        let mut work = model.work.build(replication.seed, replication.number);
        arrange(&mut work, question.machine, &model, &server, &client);
        let machine = replication.machine(question.machine);
        let measured = simulate(&machine, question.arm.policy().unwrap_or(POLICY), work, replication.seed)?;
        for (sum, (name, source)) in sums.iter_mut().zip(&model.measures) {
            *sum += source.value(&measured).ok_or_else(|| format!("the simulation did not measure {name}"))?;
        }
    }
    let named = model.measures.iter().zip(sums);
    Ok(named.map(|((name, _), sum)| Prediction { measure: (*name).into(), value: sum / f64::from(RUNS) }).collect())
}

impl Source {
    fn value(self, measured: &Measured) -> Option<f64> {
        match self {
            Source::Metric(name) => measured.get(name).value,
            Source::TimeOfSwitch => {
                let switches = measured.get("context_switches").value.filter(|switches| *switches > 0.0)?;
                Some(measured.window.length() / switches)
            }
        }
    }
}

fn simulate(machine: &Machine, policy: &str, work: Workload, seed: Seed) -> Result<Measured, String> {
    let policy = PolicySpec::parse(policy)?;
    let trial = Trial::of(&policy, machine, work, seed);
    let run = goodness::run(trial).map_err(|fault| format!("the simulation failed: {fault}"))?;
    match run.checked.violations.first() {
        Some(violation) => Err(format!("the simulation violated {}: {}", violation.checker, violation.sentence)),
        None => Ok(run.measured),
    }
}

/// Refuses settings without a model: only task attributes have one.
fn refuse_what_has_no_model(arm: &Arm) -> Result<(), String> {
    let without = arm.settings.iter().find(|setting| {
        let mut alone = Conditions::default();
        setting.condition(&mut alone);
        alone == Conditions::default() || !alone.environment.is_empty()
    });
    without.map_or(Ok(()), |setting| Err(format!("the simulator has no model of \"{}\"", setting.describe())))
}

/// The arm's attributes for processes of `role`. Under a loaded policy they may not use the first CPU, which its daemon
/// has.
fn conditions(question: &Question, role: Role) -> Conditions {
    let mut asked = question.arm.conditions(role);
    if question.arm.policy().is_some() {
        let all = (0..question.machine.cpu_count() as u32).collect();
        asked.cpus = Some(asked.cpus.unwrap_or(all).into_iter().filter(|cpu| *cpu > 0).collect());
    }
    asked
}

/// Applies the arm's attributes to all tasks; hogs are the clients of a load, everything else is a server.
fn arrange(work: &mut Workload, machine: &Machine, model: &Model, server: &Conditions, client: &Conditions) {
    for spec in &mut work.tasks {
        let chosen = if spec.name.starts_with("hog") { client } else { server };
        let task = &mut spec.task;
        if let Some(nice) = chosen.nice.and_then(|nice| Nice::new(i64::from(nice))) {
            task.nice = nice;
        }
        task.slice = chosen.slice.map(Span).or(task.slice);
        (task.class, task.rt_priority) = match chosen.class {
            None | Some(process::Class::Other | process::Class::Ext) => (task.class, task.rt_priority),
            Some(process::Class::Batch) => (Class::Batch, 0),
            Some(process::Class::Idle) => (Class::Idle, 0),
            Some(process::Class::Fifo(priority)) => (Class::Fifo, priority as u8),
            Some(process::Class::RoundRobin(priority)) => (Class::RoundRobin, priority as u8),
        };
        if let Some(cpus) = &chosen.cpus {
            let cpus: Vec<CpuId> =
                cpus.iter().copied().map(CpuId).filter(|cpu| cpu.index() < machine.cpu_count()).collect();
            (task.affinity, task.first_cpu) = (CpuSet::of(&cpus), cpus.first().copied().unwrap_or(task.first_cpu));
        }
        if model.is_pinned {
            let last = CpuId(machine.cpu_count() as u32 - 1);
            (task.affinity, task.first_cpu) = (CpuSet::of(&[last]), last);
        }
    }
}

fn model(question: &Question) -> Result<Model, String> {
    let typed = |key: &str| question.settings.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
    // Parameters that the model has by the same name and meaning.
    let shared =
        |keys: &[&str]| -> String { keys.iter().filter_map(|key| Some(format!("{key}={},", typed(key)?))).collect() };
    let built_in = |text: String| BuiltIn::parse(text.trim_end_matches([',', ':'])).map(|made| Box::new(made) as _);
    match question.load {
        "yield" if typed("timed").is_none_or(|timed| timed == "yield") => Ok(Model {
            work: built_in(format!(
                "yield-benchmark:others=0,call={}ns,{}",
                (question.reference)(ALONE).unwrap_or(0.0).round(),
                shared(&["tasks", "contexts", "duration"])
            ))?,
            is_pinned: typed("pinned").is_none_or(|pinned| matches!(pinned, "on" | "1" | "true" | "yes")),
            measures: vec![("switch_time", Source::TimeOfSwitch)],
        }),
        "hackbench" => Ok(Model {
            work: built_in(format!("hackbench:{}", shared(&["groups", "fds", "loops", "transport", "contexts"])))?,
            is_pinned: false,
            measures: vec![("completion_time", Source::Metric("request_latency_max"))],
        }),
        "schbench" => schbench(typed("sleep"), typed("work"), shared(&["message_threads", "workers", "duration"])),
        "spin" => spin(question, typed("hogs")),
        other => Err(format!("the simulator has no model of \"{other}\" with service times of this machine")),
    }
}

fn schbench(sleep: Option<&str>, work: Option<&str>, shared: String) -> Result<Model, String> {
    let (sleep, work) = (sleep.unwrap_or("100us"), work.unwrap_or("1ms"));
    let text = format!("schbench:sleep={sleep},work={work},{shared}");
    let mut measures: Vec<(&str, Source)> = ["throughput", "request_latency_p50", "request_latency_p99"]
        .into_iter()
        .map(|name| (name, Source::Metric(name)))
        .collect();
    // With a sleep the simulator's wake-ups are also those from the sleep, which the tool does not time.
    if Span::parse(sleep) == Ok(Span::ZERO) {
        measures.extend(["wakeup_latency_p50", "wakeup_latency_p99"].map(|name| (name, Source::Metric(name))));
    }
    Ok(Model { work: Box::new(BuiltIn::parse(text.trim_end_matches(','))?), is_pinned: false, measures })
}

/// A task that needs the CPU time which the real one had under the reference arm, beside hogs.
fn spin(question: &Question, hogs: Option<&str>) -> Result<Model, String> {
    let (time, share) = ((question.reference)("completion_time"), (question.reference)("cpu_share"));
    let (Some(time), Some(share)) = (time, share) else {
        return Err("the reference arm measured no completion_time and cpu_share, which say how much work it is".into());
    };
    let hogs: u32 = hogs.unwrap_or("0").parse().map_err(|_| "hogs is no number".to_string())?;
    let work = time * share;
    // Even at nice 19 the work is done in seventy times its share of the CPU.
    let long = ((work * f64::from(hogs + 1) * 100.0) as u64).clamp(1_000_000_000, 600_000_000_000);
    let mut text = format!(
        "name = \"spin\"\nduration = \"{long}ns\"\n[[task]]\nname = \"work\"\nprogram = [ {{ begin = true }}, \
         {{ compute = \"{}ns\" }}, {{ served = true }}, {{ exit = true }} ]\n",
        work.round()
    );
    if hogs > 0 {
        text.push_str(&format!(
            "[[task]]\nname = \"hog\"\ncount = {hogs}\nprogram = [ {{ compute = \"forever\" }} ]\n"
        ));
    }
    let work = Experiment::read("the model of spin", &text)?;
    Ok(Model {
        work: Box::new(work),
        is_pinned: false,
        measures: vec![("completion_time", Source::Metric("request_latency_max"))],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::{self, To, Value};
    use goodness_work::machine::parse_machine;

    fn arm(settings: &[(&str, Value)]) -> Arm {
        let settings = settings.iter().map(|(key, value)| arm::read(key, value).expect("a setting")).collect();
        Arm { name: "x".into(), to: To::Server, settings }
    }

    fn ask(load: &str, typed: &str, arm: &Arm, machine: &str) -> Result<Vec<Prediction>, String> {
        let settings = goodness_core::tunable::pairs(typed).expect("pairs");
        let machine = parse_machine(machine).expect("a machine");
        let reference = |name: &str| match name {
            "completion_time" => Some(200e6),
            "cpu_share" => Some(0.5),
            ALONE => Some(700.0),
            _ => None,
        };
        predict(&Question { load, settings: &settings, arm, machine: &machine, seed: Seed(1), reference: &reference })
    }

    #[test]
    fn work_under_nice_5_beside_a_hog_takes_the_time_of_its_weight() {
        let plain = ask("spin", "hogs=1", &arm(&[]), "ideal").unwrap();
        // 100 ms of work, half of the CPU.
        assert!((plain[0].value / 200e6 - 1.0).abs() < 0.03, "{plain:?}");
        let nice = ask("spin", "hogs=1", &arm(&[("nice", Value::Number(5))]), "ideal").unwrap();
        // Weight 335 beside 1024: the work has 335 of 1359.
        assert!((nice[0].value / (100e6 * 1359.0 / 335.0) - 1.0).abs() < 0.05, "{nice:?}");
        assert_eq!(nice[0].measure, "completion_time");
    }

    #[test]
    fn work_is_predicted_under_the_policy_and_on_the_cpus_that_an_arm_gives() {
        let text = |text: &str| Value::Text(text.into());
        let alone = ask("spin", "hogs=2", &arm(&[("cpus", text("1"))]), "ideal-2").unwrap();
        // The hogs may use both CPUs, and balancing leaves the work one of them or half of one.
        assert!(alone[0].value < 210e6, "{alone:?}");
        let turns = ask("spin", "hogs=2", &arm(&[("live", text("rr"))]), "ideal-2").unwrap();
        // A third of CPU 1, which the policy has.
        assert!((turns[0].value / 300e6 - 1.0).abs() < 0.1, "{turns:?}");
        let o1 = ask("spin", "hogs=2", &arm(&[("live", text("o1")), ("nice", Value::Number(15))]), "ideal-2").unwrap();
        // Four turns of 25 ms, with two of 100 between them each time, and perhaps before the first.
        assert!((690e6..910e6).contains(&o1[0].value), "{o1:?}");
    }

    #[test]
    fn a_switch_costs_what_the_machine_and_the_call_cost() {
        let machine = "cpus=2,hz=250,switch=2us";
        let all = ask("yield", "tasks=4,contexts=threads,duration=100ms", &arm(&[]), machine).unwrap();
        assert!((2_690.0..2_800.0).contains(&all[0].value), "{all:?}");
        assert_eq!((all[0].measure.as_str(), all[0].ratio(5400.0) > 1.9), ("switch_time", true));
    }

    #[test]
    fn the_other_benchmarks_have_the_measures_of_their_loads() {
        let all = ask("hackbench", "groups=1,fds=4,loops=20,transport=pipe", &arm(&[]), "ideal-2").unwrap();
        // 320 messages of 695 ns on two CPUs, at the least.
        assert!(all[0].measure == "completion_time" && all[0].value > 320.0 * 695.0 / 2.0 * 0.9, "{all:?}");
        let all = ask("schbench", "workers=2,sleep=0,work=2ms,duration=1s", &arm(&[]), "ideal-2").unwrap();
        assert!(all[0].measure == "throughput" && (800.0..1120.0).contains(&all[0].value), "{all:?}");
        assert!(all.iter().any(|prediction| prediction.measure == "wakeup_latency_p99"));
    }

    #[test]
    fn what_the_simulator_does_not_model_is_refused_with_the_reason() {
        let why = |load: &str, arm: &Arm| ask(load, "", arm, "ideal").unwrap_err();
        assert!(why("mariadb", &arm(&[])).contains("no model of \"mariadb\""));
        assert!(why("spin", &arm(&[("autogroup", Value::Flag(false))])).contains("no model of"));
    }
}
