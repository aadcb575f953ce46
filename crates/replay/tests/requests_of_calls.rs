//! Recordings of nginx with the calls of its client: its connections are found, and replays run to the end and report
//! its requests.

mod reported;

use goodness_core::{Registered, Seed, WorkloadSource};
use goodness_policies::{eevdf::Eevdf, fifo::Fifo};
use goodness_replay::causes::Rule;
use goodness_replay::connections::Traffic;
use goodness_replay::{History, Replay, ReplayOptions, machine_of, recover};
use goodness_trace::{Call, Recording, SchedEvent, load};
use reported::Reported;
use std::path::Path;

fn recording(name: &str) -> Recording {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/guest").join(name);
    load(&path).expect("the recording is shipped")
}

/// Descriptors of nginx, by those of `wrk` at the other end.
fn descriptors(recording: &Recording) -> Vec<(u32, u32)> {
    let history = History::of(recording);
    let connections = Traffic::of(&history, &Rule::new(&history, None), |_| true).connections(&history);
    let is_wrk = |end: &(goodness_core::TaskId, u32)| history.participant(end.0).name == "wrk";
    let mut found: Vec<(u32, u32)> = Vec::new();
    for it in connections {
        let mut ends = it.ends;
        ends.sort_by_key(|end| !is_wrk(end));
        assert!(is_wrk(&ends[0]) && !is_wrk(&ends[1]), "{ends:?}");
        found.push((ends[0].1, ends[1].1));
    }
    found.sort_unstable();
    found
}

#[test]
fn each_connection_of_wrk_has_its_descriptor_of_nginx_and_none_if_two_are_exchanged() {
    let mut recording = recording("nginx-wrk-t1c8.ftrace.zst");
    let all = [(4, 5), (5, 9), (6, 10), (7, 11), (8, 12), (9, 13), (10, 14), (11, 15)];
    assert_eq!(descriptors(&recording), all);
    let middle = recording.records.len() / 2;
    for record in &mut recording.records[middle..] {
        if let SchedEvent::Call { call: Call::Send(it) | Call::Receive(it), .. } = &mut record.event {
            *it = match *it {
                13 => 14,
                14 => 13,
                it => it,
            };
        }
    }
    assert_eq!(descriptors(&recording), [&all[..5], &all[7..]].concat());
}

#[test]
fn all_sixteen_connections_of_two_threads_to_two_workers_are_matched() {
    assert_eq!(descriptors(&recording("nginx-wrk-t2c16-2cpu.ftrace.zst")).len(), 16);
}

/// Requests found in a recording, and those that its replay under policy `P` reports.
fn requests<P: Registered>(name: &str) -> (usize, usize) {
    let recording = recording(name);
    let history = History::of(&recording);
    let recovered = recover(&history, ReplayOptions::default());
    let found = recovered.requests.all.len();
    let machine = machine_of(&recording, &history, recovered.grid).expect("a machine").machine;
    let (work, mut seen) = (Replay::new("nginx", recovered).build(Seed(1), 0), Reported::default());
    goodness_sim::simulate::<P>(&machine, P::Settings::default(), work, &mut seen, goodness_sim::Options::default())
        .expect("the replay is sound");
    seen.0.sort_unstable();
    println!("{name}: {found} found, {} replayed, p50 {:?}", seen.0.len(), seen.0[seen.0.len() / 2]);
    (found, seen.0.len())
}

#[test]
fn replays_report_requests_of_calls_under_any_policy() {
    for name in ["nginx-wrk-t1c8.ftrace.zst", "nginx-wrk-t2c16-2cpu.ftrace.zst"] {
        for (found, replayed) in [requests::<Eevdf>(name), requests::<Fifo>(name)] {
            assert!(replayed * 2 > found, "{name}: {replayed} replayed of {found}");
        }
    }
}
