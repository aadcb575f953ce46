//! A recording as an input: its own measurements, the machine it was made on, the policy that scheduled it, and how
//! faithfully its replay under that policy repeats it.

use crate::analysis::unit;
use crate::failure::Failure;
use crate::lab::{Arm, Plan};
use goodness_core::{HORIZON_MAX, Machine, Span, Time, WorkloadSource};
use goodness_lab::{Contender, PolicySpec};
use goodness_observe::{METRICS, Measured, Metrics, Subject};
use goodness_report::model::{Counted, Fidelity, FidelityMetric};
use goodness_trace::Recording;
use goodness_workload::replay::{Arrivals, Figure, Others, Replay, Story, machine_of, recover};

/// Largest error this project promises, by metric (`docs/fidelity.md`).
const TOLERANCES: &[(&str, f64)] = &[
    ("cpu_time_per_task", 0.01),
    ("context_switches", 0.10),
    ("wakeup_latency_p50", 0.25),
    ("wakeup_latency_p99", 0.25),
];

/// Metrics that a replay is held against: what the recording can tell of itself.
const COMPARED: &[&str] = &[
    "wakeup_latency_mean",
    "wakeup_latency_p50",
    "wakeup_latency_p95",
    "wakeup_latency_p99",
    "wakeup_latency_p999",
    "wakeup_latency_max",
    "slice_length_mean",
    "slice_length_p50",
    "slice_length_p99",
    "context_switches",
    "involuntary_switches",
    "migrations",
    "runqueue_length_mean",
    "runqueue_length_p99",
    "utilisation",
    "cpu_share",
];

/// Tasks with less CPU time than this say nothing about relative errors.
const TELLING: Span = Span::from_ms(10);

/// The longest recording that is replayed: longer ones are traces with a time that jumps.
const LONGEST: Span = HORIZON_MAX;

/// How a recording is to be replayed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplayOptions {
    /// What wakes from outside are replayed as.
    pub arrivals: Arrivals,
    /// Whether tasks outside the recorded command compete.
    pub others: Others,
}

/// A recording, ready to be replayed.
pub struct Recorded {
    /// The replay.
    pub replay: Replay,
    /// The machine it was made on, as far as the recording shows it.
    pub machine: Machine,
    /// The policy of the kernel that recorded.
    pub policy: PolicySpec,
    /// What the metrics say of the recording itself.
    pub measured: Measured,
    /// Events lost, where the recording tells.
    pub lost_events: Option<u64>,
    /// What was repaired.
    pub repairs: Vec<Counted>,
    /// What the recording does not tell.
    pub unknowns: Vec<Counted>,
    /// Sentences about the machine.
    pub machine_notes: Vec<String>,
    /// Sentences about the work.
    pub notes: Vec<String>,
    /// Sentences to read first.
    pub warnings: Vec<String>,
}

impl Recorded {
    /// Recovers work, machine and policy from `recording`.
    ///
    /// # Errors
    /// A machine that cannot be.
    pub fn of(recording: &Recording, options: ReplayOptions) -> Result<Recorded, Failure> {
        let story = Story::of(recording);
        if story.length() > LONGEST {
            return Err(Failure::usage(format!(
                "{}: its times cover {}, and at most {LONGEST} can be replayed; cut the trace, or look for a time that \
                 jumps (`goodness summarise`)",
                recording.name,
                story.length()
            )));
        }
        let recovered = recover(&story, options.arrivals, options.others);
        let machine = machine_of(recording, &story, recovered.grid).map_err(Failure::usage)?;
        let mut warnings = recording.warnings.clone();
        let policy = policy_of(recording, &mut warnings)?;
        let judged = recovered.tasks.iter().filter(|t| t.character.judged).count();
        let header = recording.metadata.recording.as_ref();
        let lost = header.map(|h| h.lost.iter().map(|l| l.overrun.unwrap_or(0) + l.dropped.unwrap_or(0)).sum());
        Ok(Recorded {
            measured: measure(recording, &story),
            machine: machine.machine,
            policy,
            lost_events: lost,
            repairs: recording
                .repairs
                .iter()
                .filter(|(_, n)| n.count > 0)
                .map(|(kind, n)| counted(kind.meaning(), n.count))
                .collect(),
            unknowns: recovered
                .unknowns
                .counted()
                .into_iter()
                .filter(|(_, n)| *n > 0)
                .map(|(what, n)| counted(what, n))
                .collect(),
            machine_notes: machine.figures.iter().map(figure_sentence).collect(),
            notes: vec![format!(
                "{judged} of {} tasks belong to what was recorded; the others compete",
                recovered.tasks.len()
            )],
            warnings,
            replay: Replay::new(&recording.name, recovered),
        })
    }

    /// Replays under `policy`, the recording kernel's own as a rule, and holds the result against the recording.
    ///
    /// # Errors
    /// Faults of the policy.
    pub fn verify(&self, policy: &PolicySpec, seed: u64) -> Result<Fidelity, Failure> {
        let words = crate::compare::quoted(self.replay.name());
        let plan = Plan {
            machine: &self.machine,
            words: &words,
            source: &self.replay,
            seed,
            runs: 1,
            first: 0,
            contenders: &[Contender::policy(policy.clone())],
            timeline_cap: 0,
            with_queues: false,
        };
        Ok(self.compare(&plan.conduct()?[0]))
    }

    fn compare(&self, arm: &Arm) -> Fidelity {
        let replayed = &arm.runs[0].measured;
        let mut metrics = vec![self.cpu_time_per_task(replayed)];
        for name in COMPARED {
            let about = METRICS.iter().find(|m| m.name == *name);
            let value = |m: &Measured| m.get(name).value;
            let (recorded, replayed) = (value(&self.measured), value(replayed));
            metrics.push(entry(name, recorded, replayed, about.map_or("", unit)));
        }
        Fidelity { policy: arm.contender.to_string(), metrics }
    }

    /// The largest relative error of a judged task's CPU time, shown on the task that has it.
    fn cpu_time_per_task(&self, replayed: &Measured) -> FidelityMetric {
        let mut worst = entry("cpu_time_per_task", None, None, "ns");
        for (index, task) in self.replay.recovered().tasks.iter().enumerate() {
            let Some(recorded) = self.measured.tasks.get(task.who.index()).filter(|t| t.judged) else { continue };
            let Some(replayed) = replayed.tasks.get(index) else { continue };
            if recorded.cpu_time < TELLING {
                continue;
            }
            let this =
                entry("cpu_time_per_task", Some(recorded.cpu_time.0 as f64), Some(replayed.cpu_time.0 as f64), "ns");
            if this.error > worst.error {
                worst = this;
            }
        }
        worst
    }
}

/// A figure read off the recording, as a sentence.
fn figure_sentence(figure: &Figure) -> String {
    let value = figure.value.as_deref().unwrap_or("not shown by this recording");
    match figure.samples {
        0 => format!("{} {value}: {}", figure.name, figure.how),
        samples => format!("{} {value} from {samples} cases: {}", figure.name, figure.how),
    }
}

fn counted(what: &str, count: u64) -> Counted {
    Counted { what: what.into(), count }
}

/// One metric, recorded and replayed. A recorded 0 that is replayed as 0 has no error.
fn entry(name: &str, recorded: Option<f64>, replayed: Option<f64>, unit: &str) -> FidelityMetric {
    let error = match (recorded, replayed) {
        (Some(a), Some(b)) if a == b => Some(0.0),
        (Some(a), Some(b)) if a != 0.0 => Some(((b - a) / a).abs()),
        _ => None,
    };
    let tolerance = TOLERANCES.iter().find(|(metric, _)| *metric == name).map(|(_, tolerance)| *tolerance);
    FidelityMetric { name: name.into(), recorded, replayed, error, unit: unit.into(), tolerance }
}

/// What the metrics say of the recording itself.
fn measure(recording: &Recording, story: &Story) -> Measured {
    let subjects: Vec<Subject> = story
        .cast
        .iter()
        .map(|c| Subject {
            judged: c.judged,
            class: c.task.class,
            nice: c.task.nice,
            affinity: c.task.affinity.clone(),
        })
        .collect();
    let mut metrics = Metrics::new(story.cpus, recording.start(), &subjects);
    recording.observe(&mut metrics);
    metrics.finish(recording.end().max(Time(1)))
}

/// The policy of the kernel that recorded, from its release and its readable tunables.
fn policy_of(recording: &Recording, warnings: &mut Vec<String>) -> Result<PolicySpec, Failure> {
    let release = recording.metadata.kernel.clone();
    let Some(version) = release.as_deref().and_then(version) else {
        warnings.push(
            "the trace does not say which kernel recorded it; eevdf is assumed. Give --recorded-by POLICY to verify \
             against another"
                .into(),
        );
        return crate::lab::policy("eevdf");
    };
    let mut text = fair_class(version).to_string();
    let tunables = recording.metadata.recording.as_ref().map(|h| &h.tunables);
    let slice = tunables.and_then(|t| t.get("sched/base_slice_ns")).and_then(|v| v.parse::<u64>().ok());
    if let (Some(ns), true) = (slice, text.starts_with("eevdf")) {
        // The kernel shows the slice after scaling by the number of CPUs; the policy scales by itself.
        let factor = 1 + u64::from(recording.metadata.cpus.clamp(1, 8).ilog2());
        text.push_str(&format!(",base_slice={}ns", ns / factor));
    }
    crate::lab::policy(&text)
}

/// The policy of ordinary tasks in a kernel of this version.
fn fair_class(version: (u32, u32)) -> &'static str {
    match version {
        (..=1, _) | (2, ..=5) => "linux-2.4",
        (2, 6) => "cfs:kernel=2.6.24",
        (3..=5, _) | (6, ..=5) => "cfs:kernel=6.1",
        (6, 6..=11) => "eevdf:kernel=6.6",
        (6, 12..=14) => "eevdf:kernel=6.12",
        (6, 15..=17) => "eevdf:kernel=6.15",
        _ => "eevdf:kernel=6.18",
    }
}

/// The policy of ordinary tasks in the kernel that calls itself `release`; `None` when that is no version.
pub fn own_policy(release: &str) -> Option<&'static str> {
    version(release).map(fair_class)
}

/// Major and minor number of a kernel release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_gives_its_numbers() {
        assert_eq!(version("6.18.44-fc-v657"), Some((6, 18)));
        assert_eq!(version("2.6.32-5-amd64"), Some((2, 6)));
        assert_eq!(version("unknown"), None);
        assert_eq!(own_policy("6.12.4-amd64"), Some("eevdf:kernel=6.12"));
    }

    #[test]
    fn errors_are_relative_and_nothing_is_no_zero() {
        assert_eq!(entry("context_switches", Some(100.0), Some(90.0), "count").error, Some(0.1));
        assert_eq!(entry("migrations", Some(0.0), Some(0.0), "count").error, Some(0.0));
        assert_eq!(entry("migrations", Some(0.0), Some(5.0), "count").error, None);
        assert_eq!(entry("migrations", None, Some(5.0), "count").error, None);
    }
}
