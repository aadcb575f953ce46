//! The two studies of Santosa's article: each row says why, and what the article states of latency holds.

use goodness_core::Machine;
use goodness_study::{Findings, Lab, Published, Row, Run, STUDIES, Trial, Verdict, find};
use goodness_workload::models::BuiltIn;

fn conduct(name: &str) -> Findings {
    let study = find(name).unwrap_or_else(|| panic!("{name} is registered"));
    let published = Published::read(study.name, study.published).unwrap();
    let mut lab = Lab::new(study, &published, 1, &|_| ());
    lab.runs = 4;
    let findings = (study.conduct)(&lab).unwrap_or_else(|e| panic!("{name}: {e}"));
    for row in &findings.rows {
        assert!(row.note.ends_with('.'), "{}: a row needs a sentence of cause", row.quantity);
        assert!(row.simulated.is_some_and(f64::is_finite), "{}: nothing came out", row.quantity);
    }
    for number in &published.numbers {
        let rows = findings.rows.iter().filter(|row| row.quantity == number.quantity).count();
        assert_eq!(rows, 1, "{name}: {} has one row", number.key);
    }
    findings
}

fn row<'a>(findings: &'a Findings, text: &str) -> &'a Row {
    findings.rows.iter().find(|row| row.quantity.contains(text)).unwrap_or_else(|| panic!("no row {text}"))
}

fn hold(findings: &Findings, texts: &[&str]) {
    for text in texts {
        let row = row(findings, text);
        assert_eq!(row.verdict, Verdict::Reproduced, "{}: {:?} {:?}", row.quantity, row.simulated, row.ci95);
    }
}

#[test]
fn apache_completes_alike_and_its_longest_request_is_a_fifth_shorter_under_staircase() {
    let findings = conduct("santosa-2005-apache");
    hold(
        &findings,
        &[
            "time per request across",
            "O(1) completes",
            "(off, off) by (on, off): within",
            "worst case lower by a fifth",
        ],
    );
    let compute = row(&findings, "compute mode completes last");
    assert_eq!(compute.verdict, Verdict::NotReproduced, "a busy CPU cannot be slower for switching less");
}

#[test]
fn mysql_completes_alike_and_o1_wins_the_major_and_staircase_the_worst_latency() {
    let findings = conduct("santosa-2005-mysql");
    hold(
        &findings,
        &[
            "140.4485",
            "O(1) completes",
            "average time of a request, O(1)",
            "worst case lower by a fifth",
            "lowest 95 %",
            "made connecting fail",
            "16 by 2",
        ],
    );
}

fn served(work: &str) -> Run {
    let machine = Machine::flat(1, 1000).unwrap();
    let published = Published { numbers: Vec::new() };
    let mut lab = Lab::new(&STUDIES[0], &published, 1, &|_| ());
    lab.runs = 1;
    let work = BuiltIn::parse(work).unwrap();
    lab.run(&Trial { policy: "o1", machine: &machine, work: &work }).unwrap().remove(0)
}

#[test]
fn every_model_of_apache_serves_each_request_once_whoever_asks() {
    for server in ["apache-prefork", "apache-worker", "apache-event"] {
        for client in ["ab", "outside", "open"] {
            let run = served(&format!("{server}:client={client},clients=7,requests=200"));
            assert_eq!(run.measured.distributions.request_latency.count(), 200, "{server}, {client}");
        }
    }
}

#[test]
fn a_connection_beyond_the_backlog_comes_again_after_three_seconds() {
    let longest = |backlog: u32| {
        let run = served(&format!(
            "apache-prefork:clients=8,workers=1,requests=8,backlog={backlog},service=20ms,connect=10us,read=10us"
        ));
        let requests = &run.measured.distributions.request_latency;
        assert_eq!(requests.count(), 8);
        requests.max().unwrap() as f64 / 1e9
    };
    assert!(longest(8) < 0.2, "eight of 20 ms");
    let (dropped, twice) = (longest(5), longest(1));
    assert!((3.0..3.2).contains(&dropped), "one in service, six wait, one comes again: {dropped}");
    assert!((9.0..9.2).contains(&twice), "those who find it full again come after 6 s more: {twice}");
}

#[test]
fn apache_starts_processes_once_a_second_twice_as_many_each_time() {
    let run = served("apache-prefork:clients=12,workers=12,started=5,requests=4000");
    let came = |name: &String| run.measured.tasks.iter().find(|t| run.names[t.task.index()] == *name)?.arrived;
    let seconds = |number: u32| came(&format!("httpd-{number}")).map(|at| at.0 / 1_000_000_000);
    let first = seconds(5).expect("the sixth is started");
    let all: Vec<Option<u64>> = (4..12).map(seconds).collect();
    assert_eq!(all[0], Some(0), "five are there from the beginning");
    assert!((1..=2).contains(&first), "within a second of the clients' beginning: {first}");
    assert_eq!(all[2..], [1, 1, 2, 2, 2, 2].map(|later| Some(first + later)), "two, then four");
}

#[test]
fn who_commits_during_a_flush_shares_the_next_one() {
    let total = |threads: u32| {
        let run = served(&format!("mysql-oltp:threads={threads},requests=64,missed=0,hot=0,flush=100ms"));
        assert_eq!(run.measured.distributions.request_latency.count(), 64);
        run.measured.window.length() / 1e9
    };
    assert!(total(1) > 6.0, "alone, 64 transactions are 64 flushes");
    assert!(total(8) < 2.5, "together, eight share a flush or two");
}
