//! Apache under `ab` on one CPU: O(1) against staircase in completion, latency and scalability.
//!
//! The set-up is lost. One published time, that of staircase (on, off), says what a request costs; how it divides
//! between `ab` and the server, how many connections there were and how many processes waited are parameters. All
//! else follows from the mechanism.

use crate::santosa_2005::*;
use crate::{Estimate, Findings, Lab, Parameter, Row, Run, Study};
use goodness_core::Machine;
use goodness_workload::models::BuiltIn;

/// The study.
pub const STUDY: Study<'static> = Study {
    name: "santosa-2005-apache",
    question: "Does staircase bound the worst latency of a web server better than O(1), and what does it cost?",
    source: SOURCE,
    published: include_str!("../../../studies/santosa-2005-apache/published.toml"),
    parameters: &[
        Parameter {
            name: "requests",
            unit: "",
            value: 10_000.0,
            low: 5_000.0,
            high: 20_000.0,
            because: "Lost; 10 000 is what the article's sysbench run had (see santosa-2005-mysql). Their cost together is \
                      the published 16.423 s, whatever their number.",
        },
        Parameter {
            name: "clients",
            unit: "",
            value: 8.0,
            low: 4.0,
            high: 256.0,
            because: "Lost; 8 is what the article's sysbench run had (see santosa-2005-mysql); 4 to 256 are those of its test \
                      of scalability.",
        },
        Parameter {
            name: "spare",
            unit: "",
            value: 8.0,
            low: 0.0,
            high: 20.0,
            because: "Idle server processes beyond those with a connection: Apache 2.0 keeps 5 to 10, distributions kept up \
                      to 20 and started 8 (general knowledge).",
        },
        Parameter {
            name: "cold",
            unit: "",
            value: 0.0,
            low: 0.0,
            high: 1.0,
            because: "From a half on, Apache has just been started, with 5 processes, and starts more in the first seconds. The \
                      article repeated its runs, and Apache ends one idle process a second, so most runs found them all.",
        },
        Parameter {
            name: "ab_share",
            unit: "",
            value: 0.2,
            low: 0.1,
            high: 0.35,
            because: "Part of the CPU time that ab takes, system calls included: 0.20 in the recordings apache-ab-c4-1cpu and \
                      apache-ab-c32-1cpu, whose pages are compressed; what the article's page took is lost.",
        },
        CACHE_REFILL,
    ],
    corners: &[],
    runs: 10,
    conduct: &conduct,
};

/// Part of a request's CPU time that the server spends after the client has closed: log, close, accept. A guess.
const AFTER: f64 = 0.06;
/// Switches of a request, and what each costs apart from the cache, in microseconds (machine p4-2005).
const SWITCHES: (f64, f64) = (4.0, 2.0);
/// Server processes at most, and those there at the start: what httpd.conf of Apache 2.0 says as shipped.
const MAX_CLIENTS: u32 = 150;
/// See [`MAX_CLIENTS`].
const START_SERVERS: u32 = 5;
/// Connections of the largest test of scalability, more than processes and backlog take when they come in bunches.
const MANY: u32 = 256;

/// Points of the scalability test that a statement is about.
const JUDGED: &[(&str, &[u32])] = &[(O1, &[16, 64, 128, 256]), (ON_OFF, &[16, 128]), (OFF_OFF, &[4, 16, 64, 128, 256])];

fn conduct(lab: &Lab) -> Result<Findings, String> {
    let machine = machine(lab)?;
    let clients = lab.parameter("clients").round() as u32;
    let work = work(lab, clients, "ab")?;
    let all = Schedulers::run(lab, &machine, &work)?;
    let scaling = Scaling::measure(lab, &machine, JUDGED, |threads| self::work(lab, threads, "ab"))?;
    let mut findings = Findings::default();
    findings.rows.extend(completion(lab, &all)?);
    findings.rows.extend(latency(lab, &all)?);
    findings.rows.extend(brackets(lab, &machine, &work, &all.o1)?);
    if !lab.verdicts_only {
        findings.rows.push(elsewhere(lab, &machine, &self::work(lab, clients, "outside")?)?);
        findings.rows.extend(crowded(lab, &machine, &self::work(lab, MANY, "ab")?)?);
    }
    findings.rows.extend(scalability_rows(lab, &scaling)?);
    findings.charts.push(scaling.chart("Apache: runtime by number of connections"));
    findings.conclusion = "A closed loop of equal requests on one busy CPU takes the same time under any scheduler, up to \
        what it switches; what differs is who waits. Under O(1) a process whose average sleep falls drops below its equals \
        and waits for all of them, so a few requests take two rounds; under staircase everybody who waits for the next \
        request starts again from the top, and the longest request is one round. 95 % of equal requests do not differ. \
        Staircase owes its bound to ab, which waits in the same queue and hands out the next requests only when its turn \
        comes: with clients on another machine a process that has walked down can be overtaken without end. The article's \
        seconds come out where processes stop counting as interactive under O(1); for staircase they do not."
        .into();
    Ok(findings)
}

/// `ab`, or `outside` its like on another machine, with `clients` connections against as many processes and the spare ones.
fn work(lab: &Lab, clients: u32, who: &str) -> Result<BuiltIn, String> {
    let workers = (clients + lab.parameter("spare").round() as u32).min(MAX_CLIENTS);
    let started = if lab.parameter("cold") < 0.5 { workers } else { START_SERVERS };
    let requests = lab.parameter("requests").round();
    let request = lab.value("ttf.on")? * 1e6 / requests;
    let ab = request * lab.parameter("ab_share");
    let after = request * AFTER;
    let switching = SWITCHES.0 * (SWITCHES.1 + lab.parameter("cache_refill"));
    let ns = |us: f64| (us * 1000.0).round();
    BuiltIn::parse(&format!(
        "apache-prefork:client={who},clients={clients},workers={workers},started={started},requests={requests},service={}ns,close={}ns,connect={}ns,read={}ns",
        ns(request - ab - after - switching),
        ns(after),
        ns(ab / 2.0),
        ns(ab / 2.0),
    ))
}

fn completion(lab: &Lab, all: &Schedulers) -> Result<Vec<Row>, String> {
    let Schedulers { o1, on, off, compute } = all;
    let switches = |runs: &[Run]| -> Result<Vec<f64>, String> {
        runs.iter().map(|run| Ok(run.get("context_switches")? / lab.parameter("requests"))).collect()
    };
    let mut rows = vec![
        lab.row("ttf.on", &each(on, total), "An input: it says what a request costs.")?,
        lab.row("tprcr.size", &by(off, o1, total), "The CPU is never idle, so only the cost of switches can differ: equal, as the article concludes, but a fiftieth of \
             its 1.23 %.")?,
        lab.row(
            "tprcr.sign",
            &by(off, o1, total),
            "Staircase lets a woken process preempt its equals, O(1) lets it queue: a few more switches.",
        )?,
        lab.row(
            "modes.interactive",
            &by(off, on, total),
            "No request lasts longer than the first stair, so it does not matter how long a favoured task stays there.",
        )?,
        lab.row(
            "modes.compute",
            &by(compute, off, total),
            "Delayed preemption serves several requests in a row and saves switches; on a CPU that is never idle it cannot \
             be slower. With 256 connections it is (see there): it overruns the backlog.",
        )?,
    ];
    for (runs, name) in [(o1, "O(1)"), (off, "staircase (off, off)"), (compute, "staircase (off, on)")] {
        let what = format!("switches for each request, {name}");
        rows.push(Row::unpublished(&what, "", Estimate::of(&switches(runs)?).as_ref(), "Not in the article."));
    }
    Ok(rows)
}

fn latency(lab: &Lab, all: &Schedulers) -> Result<Vec<Row>, String> {
    let Schedulers { o1, off, compute, .. } = all;
    Ok(vec![
        lab.row(
            "worst.size",
            &by(off, o1, worst),
            "Under O(1) a process whose average sleep falls a step behind waits for all its equals, a second round.",
        )?,
        lab.row("worst.sign", &by(off, o1, worst), "One round under staircase, about two under O(1).")?,
        lab.row(
            "worst.o1",
            &each(o1, worst),
            "The size hangs on whether processes sleep enough to stay interactive: with 32 connections and 15 % of the CPU \
             for ab they do not, someone waits in the expired array, and it is 7 to 10 s.",
        )?,
        lab.row(
            "worst.off",
            &each(off, worst),
            "One round of all connections; seconds would need lost packets or a server that does more than the model's.",
        )?,
        lab.row(
            "major.sign",
            &by(off, o1, major),
            "All requests are alike and 95 % of them wait one round under either; the percentile is known to 0.4 %.",
        )?,
        lab.row(
            "major.compute",
            &by(compute, off, major),
            "A process that is not preempted serves request after request at once, so most find short queues.",
        )?,
        lab.row(
            "worst.compute",
            &by(compute, off, worst),
            "Somebody waits while others are served in a row; how long differs too much from replication to replication.",
        )?,
    ])
}

/// The same with the clients on another machine, where answers and new requests need no CPU of this one.
fn elsewhere(lab: &Lab, machine: &Machine, work: &BuiltIn) -> Result<Row, String> {
    let (o1, off) = (run(lab, machine, O1, work)?, run(lab, machine, OFF_OFF, work)?);
    Ok(Row::unpublished(
        "maximum - minimum with clients on another machine, staircase (off, off) by O(1)",
        "ratio",
        Estimate::of(&by(&off, &o1, worst)).as_ref(),
        "Processes that slept keep starting at the top, and one that has walked down is overtaken without end.",
    ))
}

/// Compute mode where new connections in a bunch do not fit into what is left of the backlog.
fn crowded(lab: &Lab, machine: &Machine, work: &BuiltIn) -> Result<Vec<Row>, String> {
    let (off, compute) = (run(lab, machine, OFF_OFF, work)?, run(lab, machine, OFF_ON, work)?);
    let row = |what: &str, of: fn(&Run) -> f64, why: &str| {
        let what = format!("{what} with {MANY} connections, (off, on) by (off, off)");
        Row::unpublished(&what, "ratio", Estimate::of(&by(&compute, &off, of)).as_ref(), why)
    };
    let late = "150 processes leave 106 connections in a backlog of 128; what ab opens in one stint of compute mode is too \
                much, the network drops it and brings it again after 3 s, at the end to an idle CPU.";
    Ok(vec![row("time taken", total, late), row("maximum - minimum", worst, "Who is dropped waits 3 s.")])
}

fn scalability_rows(lab: &Lab, scaling: &Scaling) -> Result<Vec<Row>, String> {
    let same = "The runtime does not depend on the scheduler, so neither does its growth.";
    Ok(vec![
        lab.row(
            "scale.falls",
            &scaling.ratio((OFF_OFF, 16), (OFF_OFF, 4)),
            "The CPU is busy from the second connection on, so there is nothing to gain from more.",
        )?,
        lab.row(
            "scale.rises",
            &scaling.ratio((OFF_OFF, 256), (OFF_OFF, 16)),
            "What grows with processes on a real machine, memory and cache misses, is not in the model.",
        )?,
        lab.row("scale.64", &scaling.ratio((OFF_OFF, 64), (O1, 64)), same)?,
        lab.row("scale.128", &scaling.scalability_ratio(128, OFF_OFF, O1), same)?,
        lab.row("scale.256", &scaling.scalability_ratio(256, OFF_OFF, O1), same)?,
        lab.row("scale.modes", &scaling.scalability_ratio(128, OFF_OFF, ON_OFF), "As for eight connections.")?,
    ])
}
