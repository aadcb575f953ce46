//! Shipped recordings of hackbench with its calls: how often their replays switch.

use goodness_core::{Event, Observer, Registered, Seed, Time, Tunables, WorkloadSource};
use goodness_policies::{eevdf::Eevdf, fifo::Fifo};
use goodness_replay::{History, Replay, ReplayOptions, machine_of, recover};
use goodness_trace::{Recording, SchedEvent, load};
use std::path::Path;

/// Replications: single ones differ as recordings do.
const REPLICATIONS: u32 = 50;

fn shipped(name: &str) -> Recording {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/messages");
    load(&folder.join(format!("{name}.ftrace.zst"))).expect("the recording is shipped")
}

/// Switches away from judged tasks.
struct Switches {
    judged: Vec<bool>,
    count: u64,
}

impl Observer for Switches {
    fn observe(&mut self, _: Time, event: &Event) {
        if let Event::Switch { prev: Some(prev), .. } = event {
            self.count += u64::from(self.judged[prev.index()]);
        }
    }
}

/// Switches of the recording, and of its replays under policy `P`, ascending.
fn switches<P: Registered>(recording: &Recording, settings: &[(&str, &str)]) -> (u64, Vec<u64>) {
    let history = History::of(recording);
    let judged = |event: &SchedEvent| match event {
        SchedEvent::Switch { prev: Some(prev), .. } => history.participant(*prev).judged,
        _ => false,
    };
    let recorded = history.records.iter().filter(|record| judged(&record.event)).count() as u64;
    let recovered = recover(&history, ReplayOptions::default());
    let machine = machine_of(recording, &history, recovered.grid).expect("a machine").machine;
    let replay = Replay::new("hackbench", recovered);
    let mut counts: Vec<u64> = (0..REPLICATIONS)
        .map(|replication| {
            let work = replay.build(Seed(1), replication);
            let mut seen = Switches { judged: work.tasks.iter().map(|task| task.judged).collect(), count: 0 };
            let mut chosen = P::Settings::default();
            settings.iter().for_each(|(name, value)| chosen.set(name, value).expect("a setting"));
            goodness_sim::simulate::<P>(&machine, chosen, work, &mut seen, goodness_sim::Options::default())
                .expect("the replay is sound");
            seen.count
        })
        .collect();
    counts.sort_unstable();
    (recorded, counts)
}

/// True if some replay switches less often than the recording, and some more often.
fn is_within((recorded, replayed): &(u64, Vec<u64>)) -> bool {
    (replayed[0]..=replayed[replayed.len() - 1]).contains(recorded)
}

#[test]
fn replays_of_recorded_calls_switch_as_often_and_without_the_calls_they_do_not() {
    for name in ["messages-sockets", "messages-pipes", "messages-threads"] {
        let mut recording = shipped(name);
        let with = switches::<Eevdf>(&recording, &[("kernel", "6.18.33")]);
        recording.records.retain(|record| !matches!(record.event, SchedEvent::Call { .. }));
        let without = switches::<Eevdf>(&recording, &[("kernel", "6.18.33")]);
        println!("{name}: (recorded, replayed) {with:?}, without the calls {without:?}");
        // Over pipes the load has two states, and a small cause chooses: docs/fidelity/replay.md.
        assert!(is_within(&with) || name == "messages-pipes", "{name}: {with:?}");
        assert!(!is_within(&without), "{name}: {without:?}");
    }
}

#[test]
fn under_another_policy_they_switch_less() {
    let under_fifo = switches::<Fifo>(&shipped("messages-threads"), &[]);
    assert!(!is_within(&under_fifo), "{under_fifo:?}");
}
