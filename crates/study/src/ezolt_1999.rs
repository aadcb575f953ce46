//! SPECweb96 on an Alpha in 1999: 18 % of the CPU in `schedule()`, and the savings by static goodness.
//!
//! The cost per searched task comes from the profile. The load comes from one row of vmstat: the one whose numbers of
//! running and blocked processes are nearest to their means (r 26, b 23). The share of `schedule()`, the switches per
//! second, the queue and the idle time are predicted.

use crate::{Chart, Estimate, Findings, Lab, Line, Parameter, Point, Row, Run, Study, Trial};
use goodness_core::{Machine, Span};
use goodness_work::machine::parse_machine;
use goodness_work::models::BuiltIn;

/// The study.
pub const STUDY: Study<'static> = Study {
    name: "ezolt-1999",
    question: "Why does a web server spend 18 % of its CPU time in schedule(), and what would static goodness save?",
    source: "P. Ezolt, linux-kernel, 5 May 1999",
    published: include_str!("../../../studies/ezolt-1999/published.toml"),
    parameters: &[
        Parameter {
            name: "search",
            unit: "us",
            value: 1.495,
            low: 1.0,
            high: 2.1,
            because: "Profile: 0.181 s of schedule() a second, of which 96.1 % in the six places of the walk, by 4809 \
                      switches by 24.2 runnable; the rows of vmstat alone give 1.03 (regression) to 2.1 (shortest and \
                      longest queue).",
        },
        Parameter {
            name: "work",
            unit: "us",
            value: 160.0,
            low: 130.0,
            high: 200.0,
            because: "vmstat row r 26, b 23: 0.90 s of CPU by 4473 switches, less the search of 26 tasks.",
        },
        Parameter {
            name: "clients",
            unit: "",
            value: 55.0,
            low: 49.0,
            high: 61.0,
            because: "vmstat row r 26, b 23: 49 processes with a request, and about 6 that wait for the network, which \
                      vmstat shows in neither column.",
        },
        Parameter {
            name: "disk",
            unit: "ms",
            value: 32.0,
            low: 20.0,
            high: 40.0,
            because: "Little's law in that row: 23 blocked by 716 reads a second. The wait is a delay: whether it was \
                      queueing or service was not published.",
        },
        Parameter {
            name: "missed",
            unit: "",
            value: 0.2,
            low: 0.15,
            high: 0.25,
            because: "vmstat bi: 2981 kB a second read by 3600 pieces of 4 kB.",
        },
    ],
    corners: &[],
    runs: 5,
    conduct: &conduct,
};

/// Mean number of waits per request: one for the request and one for each of 4.1 pieces, a fifth of which also wait for
/// disk.
const PIECES: f64 = 4.1;

fn conduct(lab: &Lab) -> Result<Findings, String> {
    let machine = machine(lab)?;
    let clients = lab.parameter("clients").round() as u32;
    let old = serve(lab, &machine, "linux-2.2", clients, None)?;
    let new = serve(lab, &machine, "o1", clients, None)?;
    let mut findings = Findings::default();
    let rows = &mut findings.rows;
    rows.push(lab.row(
        "share",
        &each(&old, |run| Ok(run.deciding()))?,
        "Every election looks at all who are runnable, and they are many because the CPU is full.",
    )?);
    rows.push(lab.row(
        "switches",
        &each(&old, |run| Ok(run.get("context_switches")? / run.seconds()))?,
        "A process wakes and sleeps for every piece of a file, long before its slice ends.",
    )?);
    rows.push(lab.row(
        "runqueue",
        &each(&old, |run| run.get("runqueue_length_mean"))?,
        "Who is not waiting for a disk waits for the CPU.",
    )?);
    rows.push(lab.row(
        "idle",
        &each(&old, |run| Ok(1.0 - run.get("utilisation")?))?,
        "Fixed numbers of clients and random disks rarely leave the CPU without work; the real load also pulsed.",
    )?);
    rows.push(lab.row(
        "saved",
        &each(&new, |run| Ok(run.deciding()))?,
        "A bitmap finds the best queue; nothing is searched.",
    )?);
    let gains: Result<Vec<f64>, String> =
        old.iter().zip(&new).map(|(a, b)| Ok(b.get("throughput")? / a.get("throughput")?)).collect();
    rows.push(lab.row("gain", &gains?, "What schedule() took is left for requests.")?);
    rows.push(Row::unpublished(
        "requests served with O(1)",
        "1/s",
        Estimate::of(&each(&new, |run| run.get("throughput"))?).as_ref(),
        "The letter gives no rate.",
    ));
    if !lab.verdicts_only {
        at_a_rate(lab, &machine, &mut findings.rows)?;
        findings.charts.push(cost_by_length(lab, &machine)?);
    }
    findings.conclusion = CONCLUSION.into();
    Ok(findings)
}

const CONCLUSION: &str = "Searching a queue of two dozen tasks five thousand times a second takes a fifth of the CPU \
    time; the more it takes, the longer the queue. With static goodness there is no search, and its share goes to \
    requests.";

/// SPECweb96's clients keep a fixed rate, which was not published. It is derived from the switches, which are an input
/// here.
fn at_a_rate(lab: &Lab, machine: &Machine, rows: &mut Vec<Row>) -> Result<(), String> {
    let rate = lab.value("switches")? / waits(lab);
    let runs = serve(lab, machine, "linux-2.2", CONNECTIONS, Some(rate))?;
    let mut row = |quantity: &str, unit: &str, values: Vec<f64>| {
        rows.push(Row::unpublished(quantity, unit, Estimate::of(&values).as_ref(), AT_A_RATE));
    };
    row("idle, with requests at random times", "share", each(&runs, |run| Ok(1.0 - run.get("utilisation")?))?);
    row("run queue, with requests at random times", "count", each(&runs, |run| run.get("runqueue_length_mean"))?);
    Ok(())
}

/// vmstat's longest run queue plus blocked processes: a lower bound of the concurrent requests.
const CONNECTIONS: u32 = 112;
const AT_A_RATE: &str = "Requests arrive at the rate that the published switches imply, over 112 connections. At this \
                         rate the server is bistable: the mean mixes a state with short queues and a fifth idle with \
                         one in which the search fills the CPU.";

fn machine(lab: &Lab) -> Result<Machine, String> {
    let mut machine = parse_machine("alpha-1999")?;
    machine.costs.effort[0] = Span((lab.parameter("search") * 1000.0).round() as u64);
    Ok(machine)
}

/// Waits of a request.
fn waits(lab: &Lab) -> f64 {
    1.0 + PIECES * (1.0 + lab.parameter("missed"))
}

/// Clients that send the next request at once, or all together at random times at a given rate.
fn serve(lab: &Lab, machine: &Machine, policy: &str, clients: u32, rate: Option<f64>) -> Result<Vec<Run>, String> {
    let (missed, waits) = (lab.parameter("missed"), waits(lab));
    let (arrivals, seconds) = rate.map_or((0.0, 4), |rate| (1e9 / rate, 20));
    // A quarter of a request is spent on understanding it, the rest on its pieces.
    let request = lab.parameter("work") * waits;
    let (parse, piece) = (request / 4.0, request * 0.75 / PIECES);
    let work = BuiltIn::parse(&format!(
        "specweb96:clients={clients},arrivals={arrivals:.0}ns,workers={},parse={:.0}ns,piece={:.0}ns,missed={:.0},disks={},disk={:.0}us,duration={seconds}s",
        clients + 20,
        parse * 1000.0,
        piece * 1000.0,
        missed * 1000.0,
        clients + 20,
        lab.parameter("disk") * 1000.0
    ))?;
    lab.run(&Trial { policy, machine, work: &work })
}

fn each(runs: &[Run], of: impl Fn(&Run) -> Result<f64, String>) -> Result<Vec<f64>, String> {
    runs.iter().map(of).collect()
}

/// CPU time per switch by queue length: simulated for other numbers of clients, published by row.
fn cost_by_length(lab: &Lab, machine: &Machine) -> Result<Chart, String> {
    let mut lines = Vec::new();
    for policy in ["linux-2.2", "o1"] {
        let mut points = Vec::new();
        for clients in [35, 55, 90, 130] {
            let runs = serve(lab, machine, policy, clients, None)?;
            let mean = |of: fn(&Run) -> Result<f64, String>| -> Result<f64, String> {
                Ok(each(&runs, of)?.iter().sum::<f64>() / runs.len() as f64)
            };
            let x = mean(|run| run.get("runqueue_length_mean"))?;
            let y =
                mean(|run| Ok(run.get("utilisation")? * run.measured.window.length() / run.get("context_switches")?))?;
            points.push(Point { x, y: y / 1000.0, ci95: None });
        }
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        lines.push(Line { name: format!("{policy}, simulated"), published: false, points });
    }
    let mut points = Vec::new();
    for row in 0..23 {
        let number = lab.published(&format!("vmstat.{row}"))?;
        let waiting = number.quantity.split(' ').find_map(|word| word.parse::<f64>().ok()).unwrap_or(0.0);
        points.push(Point { x: waiting, y: lab.value(&number.key)? / 1000.0, ci95: None });
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    lines.push(Line { name: "vmstat".into(), published: true, points });
    Ok(Chart {
        title: "CPU time of a switch by length of the run queue".into(),
        x: "runnable".into(),
        y: "microseconds, all work included".into(),
        doubling: false,
        lines,
    })
}
