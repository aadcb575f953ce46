//! Latencies of shipped recordings, held against an account that scans the text of the trace by itself.

use goodness::why::{Latencies, Question, why_recorded};
use goodness::{OpenOptions, shipped, unwatched};
use goodness_report::why::Why;
use std::collections::BTreeMap;
use std::io::Read;

fn text(name: &str) -> String {
    let bytes = shipped::find(name).expect("it is shipped").bytes;
    let mut text = String::new();
    goodness_trace::Input::bytes(name, bytes).expect("a trace").read_to_string(&mut text).expect("plain text");
    text
}

/// The word after `key` in a line of a trace.
fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_once(key)?.1.split_whitespace().next()
}

/// Time of a line in ns, and its CPU.
fn place(line: &str) -> Option<(u64, usize)> {
    let cpu = line.split_once('[')?.1.split_once(']')?.0.parse().ok()?;
    let stamp = line.split_whitespace().find(|word| word.ends_with(':') && word.contains('.'))?.trim_end_matches(':');
    let (seconds, part) = stamp.split_once('.')?;
    Some((seconds.parse::<u64>().ok()? * 1_000_000_000 + format!("{part:0<9}").parse::<u64>().ok()?, cpu))
}

/// A wait: when it began and ended, whose it is, and how long each thread ran on its CPU meanwhile.
#[derive(Clone, Debug, Default)]
struct Wait {
    from: u64,
    to: u64,
    pid: u64,
    cpu: usize,
    behind: BTreeMap<u64, u64>,
}

/// The longest wait after a waking, and who ran on the CPU where it ended.
fn longest(text: &str) -> Wait {
    let mut woken: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut awake, mut slices, mut running) = (Vec::new(), Vec::new(), BTreeMap::new());
    let mut worst = Wait::default();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((at, cpu)) = place(line) else { continue };
        if line.contains(": sched_waking:") || line.contains(": sched_wakeup_new:") {
            let pid: u64 = after(line, " pid=").and_then(|pid| pid.parse().ok()).expect("a pid");
            if !awake.contains(&pid) {
                woken.entry(pid).or_insert(at);
                awake.push(pid);
            }
        } else if line.contains(": sched_switch:") {
            let number = |key| after(line, key).and_then(|pid| pid.parse::<u64>().ok()).expect("a number");
            let (prev, next) = (number("prev_pid="), number("next_pid="));
            // A line that shows its start may be lost.
            woken.remove(&prev);
            let sleeps = !after(line, "prev_state=").expect("a state").starts_with('R');
            match sleeps {
                true => awake.retain(|pid| *pid != prev),
                false if prev != 0 && !awake.contains(&prev) => awake.push(prev),
                false => {}
            }
            if let Some((since, pid)) = running.insert(cpu, (at, next)) {
                slices.push((cpu, since, at, pid));
            }
            if let Some(from) = woken.remove(&next).filter(|from| at - from > worst.to - worst.from) {
                worst = Wait { from, to: at, pid: next, cpu, behind: BTreeMap::new() };
            }
            if next != 0 && !awake.contains(&next) {
                awake.push(next);
            }
        }
    }
    for (_, since, until, pid) in slices.into_iter().filter(|(cpu, ..)| *cpu == worst.cpu) {
        let (since, until) = (since.max(worst.from), until.min(worst.to));
        if since < until && pid != 0 {
            *worst.behind.entry(pid).or_default() += until - since;
        }
    }
    worst
}

fn asked(name: &str, of: Latencies, options: &OpenOptions) -> Why {
    let question = Question { of: Some(of), ..Question::default() };
    why_recorded(name, options, &question, &unwatched).unwrap_or_else(|why| panic!("{name}: {why}"))
}

#[test]
fn the_worst_wait_is_that_of_a_scan_of_the_text_and_behind_the_same_threads() {
    for name in ["apache-ab-c24-1cpu", "mixed-cpu"] {
        let everybody = OpenOptions { judge: vec!["*".into()], ..OpenOptions::default() };
        let why = asked(name, Latencies::Wakeups, &everybody);
        let (expected, found) = (longest(&text(name)), &why.worst[0]);
        let told = (found.at_ns, found.at_ns + found.length_ns, found.task.id);
        assert_eq!(told, (expected.from, expected.to, expected.pid), "{name}: {found:?}");
        let mut behind: BTreeMap<u64, u64> = BTreeMap::new();
        for link in &found.chain {
            *behind.entry(link.culprit.as_ref().map_or(0, |who| who.id)).or_default() += link.length_ns;
        }
        behind.remove(&0);
        assert_eq!(behind, expected.behind, "{name}");
    }
}

#[test]
fn the_chains_of_requests_sum_to_what_each_took() {
    for name in ["redis-benchmark-8", "apache-ab-c32-2cpu", "mariadb-sysbench-16"] {
        let why = asked(name, Latencies::Requests, &OpenOptions::default());
        assert!(why.count > 1_000 && why.worst.len() == 10, "{name}: {} {}", why.count, why.worst.len());
        for latency in &why.worst {
            let mut at = latency.at_ns;
            for link in &latency.chain {
                assert_eq!(link.from_ns, at, "{name}: {latency:?}");
                at += link.length_ns;
            }
            assert_eq!(at, latency.at_ns + latency.length_ns, "{name}: {latency:?}");
        }
        let not_told: f64 = why.tail.parts.iter().filter(|it| it.cause == "not_told").map(|it| it.share).sum();
        assert!(not_told < 0.01, "{name}: {not_told}");
        let sum: u64 = why.tail.parts.iter().map(|it| it.total_ns).sum();
        assert_eq!(sum, why.tail.total_ns, "{name}");
    }
}

/// A recording without I/Os does not answer that none was late.
#[test]
fn the_ios_of_a_recording_as_it_is_are_refused() {
    let question = Question { of: Some(Latencies::Io), ..Question::default() };
    let refused = why_recorded("redis-benchmark-8", &OpenOptions::default(), &question, &unwatched).unwrap_err();
    assert!(refused.to_string().contains("I/Os are explained of simulated runs"), "{refused}");
}

#[test]
fn only_what_was_late_at_a_time_is_explained_if_that_is_asked() {
    let name = "apache-ab-c24-1cpu";
    let worst = asked(name, Latencies::Requests, &OpenOptions::default()).worst.remove(0);
    let at = goodness_core::Time(worst.at_ns + worst.length_ns / 2);
    let question = Question { at: Some(at), ..Question::default() };
    let then = why_recorded(name, &OpenOptions::default(), &question, &unwatched).expect("something was late");
    assert_eq!(then.worst[0], worst);
    assert!(then.worst.iter().all(|it| it.at_ns <= at.0 && at.0 < it.at_ns + it.length_ns));
    let nowhere = Question { at: Some(goodness_core::Time(1)), ..question };
    let refused = why_recorded(name, &OpenOptions::default(), &nowhere, &unwatched).unwrap_err();
    assert!(refused.to_string().contains("nothing was late"), "{refused}");
}
