//! The shipped recordings, recovered and replayed.

use goodness_core::{Class, Event, Observer, Registered, Seed, TaskId, Time, Tunables, WorkloadSource};
use goodness_policies::eevdf::Eevdf;
use goodness_replay::{History, Replay, ReplayOptions, machine_of, recover};
use goodness_trace::{Recording, SchedEvent, load};
use std::path::Path;

fn shipped(name: &str) -> Recording {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings").join(format!("{name}.ftrace.zst"));
    load(&path).expect("the recording is shipped")
}

/// CPU time and switches of the judged tasks.
struct Account {
    judged: Vec<bool>,
    since: Vec<Option<Time>>,
    cpu_time: u64,
    switches: u64,
}

impl Account {
    fn new(judged: Vec<bool>) -> Account {
        Account { since: vec![None; judged.len()], judged, cpu_time: 0, switches: 0 }
    }

    fn switch(&mut self, at: Time, prev: Option<usize>, next: Option<usize>) {
        if let Some(prev) = prev.filter(|p| self.judged[*p]) {
            self.switches += 1;
            self.cpu_time += self.since[prev].take().map_or(0, |since| at.since(since).0);
        }
        if let Some(next) = next {
            self.since[next] = Some(at);
        }
    }
}

impl Observer for Account {
    fn observe(&mut self, at: Time, event: &Event) {
        if let Event::Switch { prev, next, .. } = *event {
            self.switch(at, prev.map(|t| t.index()), next.map(|t| t.index()));
        }
    }
}

/// (recorded, replayed) accounts of a recording under the policy of its kernel.
fn both(name: &str) -> (Account, Account) {
    let recording = shipped(name);
    let history = History::of(&recording);
    let mut recorded = Account::new(history.participants.iter().map(|c| c.judged).collect());
    for record in history.records {
        if let SchedEvent::Switch { prev, next, .. } = record.event {
            recorded.switch(record.at, prev.map(TaskId::index), next.map(TaskId::index));
        }
    }
    let recovered = recover(&history, ReplayOptions::default());
    let machine = machine_of(&recording, &history, recovered.grid).expect("a machine").machine;
    let work = Replay::new(name, recovered).build(Seed(1), 0);
    let mut replayed = Account::new(work.tasks.iter().map(|t| t.judged).collect());
    let mut settings = <Eevdf as Registered>::Settings::default();
    settings.set("kernel", "6.18").expect("a profile");
    goodness_sim::simulate::<Eevdf>(&machine, settings, work, &mut replayed, goodness_sim::Options::default())
        .expect("the replay is sound");
    (recorded, replayed)
}


#[test]
fn ab() {
    for name in ["apache-ab-c32-2cpu","apache-ab-c32-1cpu","repeats/apache-ab-c12-2cpu.2","repeats/apache-ab-c24-2cpu.5","repeats/apache-ab-c24-2cpu.1","mariadb-sysbench-16","mariadb-sysbench-64","redis-benchmark-8","reported/postgres-select-8-2cpu","reported/postgres-tpcb-8-2cpu","reported/mariadb-points-8-2cpu","reported/nginx-wrk-t2c16-2cpu"] {
        let (_, b) = both(name);
        println!("AB {name} {} {}", b.cpu_time, b.switches);
    }
}
