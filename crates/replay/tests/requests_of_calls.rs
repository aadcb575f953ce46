//! Recordings of nginx with the calls of its client: their replays run to the end and report those requests.

use goodness_core::{Event, Observer, Registered, Seed, Span, Time, WorkloadSource};
use goodness_policies::{eevdf::Eevdf, fifo::Fifo};
use goodness_replay::{History, Replay, ReplayOptions, machine_of, recover};
use goodness_trace::load;
use std::path::Path;

/// Latencies that a run reports.
#[derive(Default)]
struct Reported(Vec<Span>);

impl Observer for Reported {
    fn observe(&mut self, _: Time, event: &Event) {
        if let Event::Served { latency, .. } = event {
            self.0.push(*latency);
        }
    }
}

/// Requests found in a recording, and those that its replay under policy `P` reports.
fn requests<P: Registered>(name: &str) -> (usize, usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/guest").join(name);
    let recording = load(&path).expect("the recording is shipped");
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
