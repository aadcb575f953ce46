//! Compares the simulator with recorded kernels: the same work, tick and costs. See `oracle/README.md`.

use goodness_core::*;
use goodness_sim::{Options, simulate_with};
use goodness_work::rtapp;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Folder, policy, kernel, HZ.
type Case = (&'static str, &'static str, &'static str, u32);

const FOLDERS: [Case; 5] = [
    ("uml-6.1-hz100", "cfs", "6.1", 100),
    ("uml-6.1-hz250", "cfs", "6.1", 250),
    ("uml-6.12-hz100", "eevdf", "6.12", 100),
    ("uml-6.12-hz250", "eevdf", "6.12", 250),
    ("uml-6.12-hz1000", "eevdf", "6.12", 1000),
];

const WORKLOADS: [&str; 9] = [
    "batch-vs-periodic",
    "fifo-rr-mix",
    "hog1-per-1-10",
    "hogs-4",
    "late-hogs",
    "nice-0-5",
    "nice-0-5-10-19",
    "sleepers20-hogs2",
    "yield-8",
];

/// 6.18 in an instruction-counting machine emulator, where kernel code takes virtual time. 3 s per case.
const EMULATED: Case = ("qemu-6.18-1cpu", "eevdf", "6.18", 250);
const EMULATED_WORKLOADS: [&str; 3] = ["hogs-4", "nice-0-5-10-19", "sleepers20-hogs2"];

/// Figures of one task: CPU time in µs, switches, wake-up latencies in µs.
#[derive(Clone, Debug, Default)]
struct Share {
    cpu: u64,
    voluntary: u64,
    involuntary: u64,
    latencies: Vec<u64>,
}

/// A workload's outcome in a kernel.
struct Recorded {
    /// Start of the work on the kernel's clock, and length of the observation, µs.
    window: [u64; 2],
    /// CPU time, switches, wake-ups, median and 99th percentile of the latency.
    tasks: BTreeMap<String, [u64; 6]>,
    foreign: Vec<u64>,
    runs: Vec<(u64, String)>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle")
}

fn recorded(kernel: &str, workload: &str) -> Recorded {
    let text = std::fs::read_to_string(folder().join(format!("expected/{kernel}/{workload}.txt"))).unwrap();
    let mut it = Recorded { window: [0; 2], tasks: BTreeMap::new(), foreign: Vec::new(), runs: Vec::new() };
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "task" => {
                let figures = std::array::from_fn(|i| words[2 + i].parse().unwrap());
                it.tasks.insert(words[1].into(), figures);
            }
            "window" => it.window = std::array::from_fn(|i| words[1 + i].parse().unwrap()),
            "foreign" => it.foreign.push(words[1].parse().unwrap()),
            at => it.runs.push((at.parse().unwrap(), words[1].into())),
        }
    }
    it
}

/// Costs of a kernel measured from its traces by `derive.py`: those of the machine, and the time from the timer's
/// expiry until the tick's decision takes effect.
fn measured_costs(kernel: &str) -> (Costs, Span) {
    let text = std::fs::read_to_string(folder().join(format!("expected/{kernel}/costs.txt"))).unwrap();
    let (mut costs, mut tick) = (Costs::default(), Span::ZERO);
    for (name, us) in text.lines().filter_map(|line| line.split_once(' ')) {
        let span = Span::from_us(us.parse().unwrap());
        match name {
            "switch" => costs.switch = span,
            // The interrupt that wakes a task is over when the switch it brings can happen.
            "timer" => (costs.preempt, costs.timer) = (span, span),
            "sleep" => costs.sleep = span,
            "tick" => tick = span,
            other => panic!("costs of {kernel}: {other}?"),
        }
    }
    (costs, tick)
}

/// A kernel worker: woken now and then, with nothing to do.
fn worker(woken: &[u64]) -> TaskSpec {
    let mut rest = std::collections::VecDeque::from(woken[1..].to_vec());
    TaskSpec {
        name: "worker".into(),
        start: Start::WokenAt(Time(woken[0] * 1_000)),
        task: Task::default(),
        behaviour: Box::new(move |_: &mut StepContext| {
            rest.pop_front().map_or(Step::Exit, |at| Step::SleepUntil(Time(at * 1_000)))
        }),
        judged: false,
    }
}

struct Simulated {
    shares: BTreeMap<String, Share>,
    runs: Vec<(u64, String)>,
}

/// The measured costs in whole µs, and others that round to about the same. A difference of 1 µs shifts the phases of
/// all sleeps, and with them which sleeper gets one more burst before the end; the mean over these runs is the
/// prediction. A kernel without costs has nothing to round.
fn roundings(costs: &Costs) -> Vec<Costs> {
    let thirds = |span: Span| match span.0 {
        0 => vec![span],
        ns => [ns - 333, ns, ns + 333].map(Span).to_vec(),
    };
    let mut all = Vec::new();
    for switch in thirds(costs.switch) {
        for timer in thirds(costs.timer) {
            for sleep in thirds(costs.sleep) {
                all.push(Costs { switch, timer, sleep, preempt: timer, ..costs.clone() });
            }
        }
    }
    all
}

/// One run per set of costs.
fn replications(case: Case, workload: &str, truth: &Recorded, with_workers: bool) -> Vec<Simulated> {
    let (costs, tick_work) = measured_costs(case.0);
    let run = |costs| simulated(case, workload, truth, with_workers, (costs, tick_work));
    roundings(&costs).into_iter().map(run).collect()
}

fn simulated(
    case: Case,
    workload: &str,
    truth: &Recorded,
    with_workers: bool,
    (costs, tick_work): (Costs, Span),
) -> Simulated {
    let (_, policy, kernel, hz) = case;
    let file = folder().join(format!("workloads/{workload}.json"));
    let text = std::fs::read_to_string(&file).unwrap();
    let source = rtapp::RtApp::read(workload, &text, rtapp::Options::default()).unwrap();
    let mut work = source.build(Seed(1), 0);
    let [start, length] = truth.window;
    let horizon = Time(length * 1_000);
    work.horizon = Some(horizon);
    if with_workers && !truth.foreign.is_empty() {
        work.tasks.push(worker(&truth.foreign));
    }
    let names: Vec<String> = work.tasks.iter().map(|t| t.name.clone()).collect();
    let mut machine = Machine::flat(1, hz).unwrap();
    // Ticks fall on multiples of 1/HZ of the recorded clock.
    let period = 1_000_000 / u64::from(hz);
    machine.first_tick = Span::from_us(period - start % period) + tick_work;
    machine.costs = costs;
    let typed = [("kernel".to_string(), kernel.to_string())];
    let made = (goodness_policies::entry(policy).unwrap().make)(&machine, &typed, Seed(1)).unwrap();
    let mut history: Vec<(Time, Event)> = Vec::new();
    simulate_with(&machine, made, work, None, &mut history, Options::default()).unwrap();
    measure(&history, &names, horizon)
}

/// Microseconds as traces show them.
fn us(at: Time) -> u64 {
    (at.0 + 500) / 1_000
}

fn measure(history: &[(Time, Event)], names: &[String], horizon: Time) -> Simulated {
    let mut shares: BTreeMap<String, Share> = BTreeMap::new();
    let mut runs: Vec<(u64, String)> = Vec::new();
    let mut woken: BTreeMap<TaskId, Time> = BTreeMap::new();
    let mut since = None;
    for (at, event) in history.iter().copied().chain([(horizon, end_of_run())]) {
        match event {
            Event::Wakeup { task, .. } if at > Time::ZERO => drop(woken.insert(task, at)),
            Event::Switch { prev, off, next, .. } => {
                if let (Some(task), Some(from)) = (prev.or(since.map(|(t, _)| t)), since) {
                    let share = shares.entry(names[task.index()].clone()).or_default();
                    share.cpu += us(at) - us(from.1);
                    share.involuntary += u64::from(off.is_runnable() && prev.is_some());
                    share.voluntary += u64::from(!off.is_runnable() && prev.is_some());
                }
                since = next.map(|task| (task, at));
                if let Some(task) = next
                    && let Some(from) = woken.remove(&task)
                {
                    shares.entry(names[task.index()].clone()).or_default().latencies.push(us(at) - us(from));
                }
                note(&mut runs, us(at), next.map_or("idle", |task| names[task.index()].as_str()));
            }
            _ => {}
        }
    }
    shares.values_mut().for_each(|share| share.latencies.sort_unstable());
    runs.pop();
    Simulated { shares, runs }
}

/// Closes the last slice without a context switch.
fn end_of_run() -> Event {
    Event::Switch { cpu: CpuId(0), prev: None, off: Off::Preempted, next: None }
}

/// Records the task that runs from now on. Empty slices and kernel workers do not count.
fn note(runs: &mut Vec<(u64, String)>, at: u64, name: &str) {
    if name == "worker" {
        return;
    }
    while runs.last().is_some_and(|last| last.0 == at) {
        runs.pop();
    }
    if runs.last().is_none_or(|last| last.1 != name) {
        runs.push((at, name.into()));
    }
}

fn percentile(sorted: &[u64], percent: usize) -> u64 {
    if sorted.is_empty() { 0 } else { sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1] }
}

/// Largest deviations of a run: CPU time per task and total switches in parts per 10 000, latencies beyond 10 % in µs.
#[derive(Debug, PartialEq)]
struct Deviation {
    cpu: u64,
    switches: u64,
    p50: u64,
    p99: u64,
}

fn beyond_a_tenth(mine: u64, theirs: u64) -> u64 {
    let difference = mine.abs_diff(theirs);
    if difference * 10 <= theirs { 0 } else { difference }
}

/// Figures of a task as in `Recorded::tasks`, averaged over the runs.
fn mean(runs: &[Simulated], task: &str) -> [u64; 6] {
    let mut sums = [0; 6];
    for share in runs.iter().map(|run| run.shares.get(task).cloned().unwrap_or_default()) {
        let (p50, p99) = (percentile(&share.latencies, 50), percentile(&share.latencies, 99));
        let one = [share.cpu, share.voluntary, share.involuntary, share.latencies.len() as u64, p50, p99];
        sums.iter_mut().zip(one).for_each(|(sum, figure)| *sum += figure);
    }
    sums.map(|sum| sum / runs.len() as u64)
}

fn deviation(runs: &[Simulated], recorded: &Recorded) -> Deviation {
    let mut worst = Deviation { cpu: 0, switches: 0, p50: 0, p99: 0 };
    let (mut mine, mut theirs) = (0, 0);
    for (name, [cpu, voluntary, involuntary, wakeups, p50, p99]) in &recorded.tasks {
        let simulated = mean(runs, name);
        worst.cpu = worst.cpu.max(simulated[0].abs_diff(*cpu) * 10_000 / cpu);
        mine += simulated[1] + simulated[2];
        theirs += voluntary + involuntary;
        if *wakeups > 0 {
            worst.p50 = worst.p50.max(beyond_a_tenth(simulated[4], *p50));
            worst.p99 = worst.p99.max(beyond_a_tenth(simulated[5], *p99));
        }
    }
    worst.switches = u64::abs_diff(mine, theirs) * 10_000 / theirs;
    worst
}

/// Runs all cases and prints a table. Returns those outside the tolerance: 1 % of CPU time, 5 % of the switches, 10 %
/// or a tick of the latencies.
fn compare(cases: &[Case], workloads: &[&str], with_workers: bool) -> Vec<String> {
    let mut outside = Vec::new();
    println!("{:16} {:18} {:>8} {:>9} {:>8} {:>8}", "kernel", "workload", "cpu %", "switch %", "p50 us", "p99 us");
    for case in cases {
        for workload in workloads {
            let truth = recorded(case.0, workload);
            let runs = replications(*case, workload, &truth, with_workers);
            let worst = deviation(&runs, &truth);
            let Deviation { cpu, switches, p50, p99 } = worst;
            let percent = |parts: u64| format!("{}.{:02}", parts / 100, parts % 100);
            println!("{:16} {workload:18} {:>8} {:>9} {p50:>8} {p99:>8}", case.0, percent(cpu), percent(switches));
            let tick = 1_000_000 / u64::from(case.3);
            if cpu > 100 || switches > 500 || p50 > tick || p99 > tick {
                outside.push(format!("{} {workload}: {worst:?}", case.0));
            }
        }
    }
    outside
}

#[test]
fn cpu_time_switches_and_latencies_agree_with_recorded_kernels() {
    assert_eq!(compare(&FOLDERS, &WORKLOADS, true), Vec::<String>::new());
}

#[test]
fn leaving_out_kernel_workers_keeps_the_agreement() {
    assert_eq!(compare(&FOLDERS, &WORKLOADS, false), Vec::<String>::new());
}

#[test]
fn an_emulated_machine_whose_kernel_takes_time_agrees_too() {
    assert_eq!(compare(&[EMULATED], &EMULATED_WORKLOADS, true), Vec::<String>::new());
    assert_eq!(compare(&[EMULATED], &EMULATED_WORKLOADS, false), Vec::<String>::new());
}

#[test]
fn who_runs_when_is_what_the_kernel_recorded() {
    for case in FOLDERS {
        for workload in WORKLOADS {
            let truth = recorded(case.0, workload);
            let run = simulated(case, workload, &truth, true, measured_costs(case.0));
            let differs = truth.runs.iter().zip(&run.runs).position(|(a, b)| a != b);
            let place = differs.map(|i| (&truth.runs[i], &run.runs[i]));
            assert_eq!(place, None, "{} {workload}: recorded and simulated part at switch {differs:?}", case.0);
            assert!(run.runs.len() >= truth.runs.len());
        }
    }
}

#[test]
fn sleepers_on_the_emulated_machine_are_picked_in_the_recorded_order_for_two_rounds() {
    // Later a timer and the end of a burst fall within 1 µs of each other, which is all that the trace tells.
    let truth = recorded(EMULATED.0, "sleepers20-hogs2");
    let run = simulated(EMULATED, "sleepers20-hogs2", &truth, true, measured_costs(EMULATED.0));
    for (theirs, mine) in truth.runs.iter().zip(&run.runs).take(51) {
        assert_eq!(mine.1, theirs.1, "recorded {theirs:?}, simulated {mine:?}");
        assert!(mine.0.abs_diff(theirs.0) < 100, "recorded {theirs:?}, simulated {mine:?}");
    }
}
