//! PostgreSQL on Linux 7.0: one spin lock, page faults under it, and three models of preemption.

use crate::{Chart, Estimate, Findings, Lab, Line, Parameter, Point, Row, Run, Study, Trial};
use goodness_work::machine::parse_machine;
use goodness_work::models::BuiltIn;

/// The study.
pub const STUDY: Study<'static> = Study {
    name: "postgres-2026",
    question: "Does a database with one hot spin lock lose half of its throughput to lazy preemption?",
    source: "S. Dipietro, linux-kernel, 3 April 2026, as told by secondary sources",
    published: include_str!("../../../studies/postgres-2026/published.toml"),
    parameters: &[
        Parameter {
            name: "held",
            unit: "us",
            value: 0.1,
            low: 0.05,
            high: 2.0,
            because: "Nothing published: taking the head of a list is some ten instructions and a cache miss or two; \
                      the upper end is a line that many CPUs fight for.",
        },
        Parameter {
            name: "fault",
            unit: "us",
            value: 0.7,
            low: 0.25,
            high: 10.0,
            because: "A minor fault takes 0.25 to 1 us (general knowledge); the upper end is one that many CPUs slow \
                      down.",
        },
        Parameter {
            name: "faults",
            unit: "",
            value: 1.0,
            low: 0.1,
            high: 1.0,
            because: "While the list is new, each of its pages is new to a backend: 64 descriptors a page, and 1024 \
                      backends that share them.",
        },
        Parameter {
            name: "entries",
            unit: "",
            value: 12.0,
            low: 4.0,
            high: 40.0,
            because: "Nothing published: calls to client, disk and log, and faults on the buffers themselves.",
        },
        Parameter {
            name: "wait",
            unit: "us",
            value: 1000.0,
            low: 200.0,
            high: 8000.0,
            because: "Nothing published; 1024 clients at 98 565 transactions a second leave 9.4 ms for queueing and \
                      work, ten runnable backends a CPU, and 1 ms for the rest.",
        },
        Parameter {
            name: "slice",
            unit: "us",
            value: 700.0,
            low: 700.0,
            high: 3000.0,
            because: "The kernel's base slice before it is scaled to 2.8 ms, and the 3 ms of older kernels.",
        },
    ],
    corners: &[],
    runs: 3,
    conduct: &conduct,
};

const CPUS: f64 = 96.0;
const MODELS: [&str; 3] = ["none", "full", "lazy"];

/// A case: what differs from the parameters.
#[derive(Clone, Copy)]
struct Case {
    /// Scale of the fault.
    fault: f64,
    backends: u32,
    has_faults: bool,
}

const PUBLISHED: Case = Case { fault: 1.0, backends: 1024, has_faults: true };

fn conduct(lab: &Lab) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let [none, full, lazy] = all_models(lab, PUBLISHED)?;
    let note = "Sets the CPU time of a transaction; what is missing or too much went into or came from the lock.";
    findings.rows.push(lab.row("none", &throughput(&none)?, note)?);
    let note = "A slice that ends in the hold takes the CPU from the holder in each model, at the latest as the fault \
                returns to user mode.";
    findings.rows.push(lab.row("lazy", &ratios(&lazy, &none)?, note)?);
    let note = "A waiter tries for 2 to 20 us and then sleeps for 1 ms and more.";
    findings.rows.push(lab.row("spin", &spinning(&lazy)?, note)?);
    let of_full = "Preempts within the fault as well as at its end.";
    findings.rows.push(unpublished("throughput, full by none", "", &ratios(&full, &none)?, of_full));
    findings.rows.push(unpublished("CPU time in s_lock, none", "share", &spinning(&none)?, note));
    let [none, _, lazy] = all_models(lab, Case { has_faults: false, ..PUBLISHED })?;
    let note = "Huge pages are modelled as holds without faults.";
    findings.rows.push(lab.row("huge", &ratios(&lazy, &none)?, note)?);
    if !lab.verdicts_only {
        vary(lab, &mut findings)?;
    }
    findings.conclusion = CONCLUSION.into();
    Ok(findings)
}

const CONCLUSION: &str = "The published loss does not follow from the published explanation. A page fault under the \
    lock ends with a return to user mode, where every model of preemption may take the CPU, with the lock still held; \
    so all three lose the same few holders. The throughput halves once a hold takes 10 us on average, then under each \
    model alike, since the lock is never free. What made holds longer under Linux 7.0 is not in this model.";

fn unpublished(quantity: &str, unit: &str, values: &[f64], note: &str) -> Row {
    Row::unpublished(quantity, unit, Estimate::of(values).as_ref(), note)
}

/// The case under each model.
fn all_models(lab: &Lab, case: Case) -> Result<[Vec<Run>; 3], String> {
    let [none, full, lazy] = MODELS.map(|model| run(lab, case, model));
    Ok([none?, full?, lazy?])
}

fn run(lab: &Lab, case: Case, model: &str) -> Result<Vec<Run>, String> {
    let ns = |name: &str, scale: f64| (lab.parameter(name) * scale * 1000.0).round().max(2.0);
    let faults = if case.has_faults { (lab.parameter("faults") * 1000.0).round() } else { 0.0 };
    let entries = lab.parameter("entries").round();
    let work = BuiltIn::parse(&format!(
        "postgres-buffers:backends={},held={}ns,fault={}ns,faults={faults},entries={entries},entry={}ns,wait={}ns",
        case.backends,
        ns("held", 1.0),
        ns("fault", case.fault),
        (72_000.0 / entries).round(),
        ns("wait", 1.0),
    ))?;
    let machine = parse_machine(&format!(
        "cpus={CPUS},hz=250,switch=1500ns,cache_refill=2us,interrupt=1us,idle_exit=2us,lock_handover=100ns"
    ))?;
    let policy = format!("eevdf:kernel=6.18,preempt={model},base_slice={}ns", ns("slice", 1.0));
    lab.run(&Trial { policy: &policy, machine: &machine, work: &work })
}

fn throughput(runs: &[Run]) -> Result<Vec<f64>, String> {
    runs.iter().map(|run| run.get("throughput")).collect()
}

fn spinning(runs: &[Run]) -> Result<Vec<f64>, String> {
    runs.iter().map(|run| run.get("spin_share")).collect()
}

/// Throughput by that of another model, replication by replication.
fn ratios(runs: &[Run], by: &[Run]) -> Result<Vec<f64>, String> {
    Ok(throughput(runs)?.iter().zip(throughput(by)?).map(|(over, under)| over / under).collect())
}

/// Rows and a chart of longer faults and of more backends.
fn vary(lab: &Lab, findings: &mut Findings) -> Result<(), String> {
    let mut lines = MODELS.map(|model| Line { name: model.into(), published: false, points: Vec::new() });
    for scale in [1.0, 4.0, 8.0, 16.0] {
        let case = Case { fault: scale, ..PUBLISHED };
        let runs = all_models(lab, case)?;
        let fault = lab.parameter("fault") * scale;
        for (line, runs) in lines.iter_mut().zip(&runs) {
            let estimate = Estimate::of(&throughput(runs)?);
            let (y, ci95) = estimate.map_or((0.0, None), |it| (it.value, it.ci95));
            line.points.push(Point { x: fault, y, ci95 });
        }
        if scale == 1.0 {
            continue;
        }
        let [none, _, lazy] = &runs;
        let note = "With two holds of 5 us and more a transaction the lock is never free, whoever is preempted.";
        let what = format!("faults of {fault} us");
        findings.rows.push(unpublished(
            &format!("{what}: transactions a second, none"),
            "1/s",
            &throughput(none)?,
            note,
        ));
        findings.rows.push(unpublished(&format!("{what}: lazy by none"), "", &ratios(lazy, none)?, note));
        findings.rows.push(unpublished(&format!("{what}: in s_lock, lazy"), "share", &spinning(lazy)?, note));
    }
    let [none, _, lazy] = all_models(lab, Case { backends: 192, ..PUBLISHED })?;
    let note = "Two backends a CPU: who holds the lock soon runs again.";
    findings.rows.push(unpublished("192 backends: lazy by none", "", &ratios(&lazy, &none)?, note));
    findings.rows.push(unpublished("192 backends: in s_lock, lazy", "share", &spinning(&lazy)?, note));
    findings.charts = vec![Chart {
        title: "Throughput by the length of a fault under the lock".into(),
        x: "microseconds of a fault".into(),
        y: "transactions a second".into(),
        doubling: true,
        lines: lines.into(),
    }];
    Ok(())
}
