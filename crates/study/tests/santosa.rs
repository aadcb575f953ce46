//! The two studies of Santosa's article: each row has an explanation, and the article's statements on latency hold.

use goodness_core::Machine;
use goodness_study::{Findings, Lab, Published, Row, Run, STUDIES, Trial, Verdict, find, untold};
use goodness_work::models::BuiltIn;

fn conduct(name: &str) -> Findings {
    let study = find(name).unwrap_or_else(|| panic!("{name} is registered"));
    let published = Published::read(study.name, study.published).unwrap();
    let mut lab = Lab::new(study, &published, 1, &untold);
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
fn apache_completes_alike_its_worst_case_is_lower_under_staircase_and_compute_mode_is_last() {
    let findings = conduct("santosa-2005-apache");
    hold(
        &findings,
        &[
            "time per request across",
            "(off, off) by (on, off): within",
            "compute mode completes last",
            "worst case lower by a fifth",
            "very bad maximum",
        ],
    );
    let sign = row(&findings, "O(1) completes").simulated.unwrap();
    assert!((0.99..1.0).contains(&sign), "O(1) is slower by less than a percent for having dropped some: {sign}");
    let dropped = row(&findings, "maximum - minimum, O(1)").simulated.unwrap();
    assert!((3000.0..4000.0).contains(&dropped), "a connection that came again after 3 s: {dropped}");
}

#[test]
fn mysql_completes_alike_and_o1_wins_the_major_and_staircase_the_worst_latency() {
    let findings = conduct("santosa-2005-mysql");
    hold(
        &findings,
        &[
            "140.4485",
            "average time of a request, O(1)",
            "worst case lower by a fifth",
            "lowest 95 %",
            "made connecting fail",
            "16 by 2",
        ],
    );
    let sign = row(&findings, "O(1) completes").simulated.unwrap();
    assert!((1.0..1.001).contains(&sign), "a tie but for a ten-thousandth, which four runs do not decide: {sign}");
}

fn served(work: &str) -> Run {
    let machine = Machine::flat(1, 1000).unwrap();
    let published = Published { numbers: Vec::new() };
    let mut lab = Lab::new(&STUDIES[0], &published, 1, &untold);
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
fn beyond_the_backlog_two_connections_repeat_their_data_and_others_their_first_packet() {
    let longest = |clients: u32, backlog: u32| {
        let run = served(&format!(
            "apache-prefork:clients={clients},workers=1,requests={clients},backlog={backlog},service=20ms,connect=10us,read=10us"
        ));
        let requests = &run.measured.distributions.request_latency;
        assert_eq!(requests.count(), u64::from(clients));
        requests.max().unwrap() as f64 / 1e9
    };
    assert!(longest(8, 8) < 0.19, "eight of 20 ms");
    let (answered, dropped, thrice) = (longest(8, 5), longest(8, 1), longest(16, 1));
    assert!((0.2..0.3).contains(&answered), "six wait, two repeat their data: {answered}");
    assert!(
        (3.2..3.3).contains(&dropped),
        "of four that come again after 3 s two wait, two repeat their data: {dropped}"
    );
    assert!((21.0..21.3).contains(&thrice), "so many are dropped that some come a third time: {thrice}");
}

#[test]
fn a_process_is_woken_for_the_connection_and_again_for_the_request_unless_accepting_is_deferred() {
    let switches = |deferred: &str| {
        let run = served(&format!("apache-prefork:clients=1,workers=2,started=2,requests=1000,deferred={deferred}"));
        run.get("context_switches").unwrap() / 1000.0
    };
    let (at_once, deferred) = (switches("off"), switches("on"));
    assert!(at_once > deferred + 1.5, "to the process and back: {at_once} and {deferred} switches a request");
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
