//! Contract of every elevator, under random loads: each request is dispatched exactly once, the same seed gives the
//! same order, and `has_work` is correct.
//!
//! All registered elevators are tested; each value of each choice and switch among the tunables is tried.

#[path = "contract/faulty.rs"]
mod faulty;
#[path = "contract/host.rs"]
mod host;

use faulty::Faulty;
use goodness_core::{ElevatorEntry, RegisteredElevator, Tunables};
use host::{Dispatched, Grouping, RandomHost, variants};

/// Streams for each elevator and setting.
const SEEDS: u64 = 100;
/// Events of a stream.
const STEPS: u32 = 400;

/// Runs `check` for everything registered, with each variant of its settings and each seed, and with groups for what
/// weighs them.
fn each(check: impl Fn(&Stream)) {
    assert!(!goodness_elevators::ALL.is_empty());
    for about in goodness_elevators::ALL {
        let entry = goodness_elevators::entry(about.name).expect("registered elevators are found by name");
        for settings in variants((entry.tunables)()) {
            for seed in 0..SEEDS {
                for grouping in [Grouping::Flat, Grouping::Fixed, Grouping::Moving] {
                    if grouping == Grouping::Flat || entry.weighs_groups {
                        let name = format!("{} {settings:?} {grouping:?}, seed {seed}", about.name);
                        check(&Stream { name, entry, settings: settings.clone(), seed, grouping });
                    }
                }
            }
        }
    }
}

/// An elevator, and a stream of requests for it.
struct Stream {
    name: String,
    entry: &'static ElevatorEntry,
    settings: Vec<(String, String)>,
    seed: u64,
    grouping: Grouping,
}

impl Stream {
    /// The whole stream, with a device that is busy part of the time.
    fn run(&self) -> Vec<Dispatched> {
        let mut host = RandomHost::new(&self.name, self.entry, (&self.settings, self.seed, self.grouping));
        for _ in 0..STEPS {
            host.step();
        }
        host.finish();
        host.dispatched
    }
}

/// The host fails on a refused answer.
fn dispatches_exactly_once(stream: &Stream) {
    assert!(stream.run().len() > 20, "{}: the stream was too short to tell anything", stream.name);
}

#[test]
fn every_request_is_dispatched_exactly_once_and_has_work_says_whether_one_waits() {
    each(dispatches_exactly_once);
}

fn keeps_the_order(stream: &Stream) {
    assert_eq!(stream.run(), stream.run(), "{}: the same seed gave another order", stream.name);
}

#[test]
fn the_same_seed_gives_the_same_order() {
    each(keeps_the_order);
}

#[test]
fn every_choice_and_every_switch_is_tried() {
    goodness_core::choices! {
        /// A choice.
        pub enum Form { Old = "old", New = "new" }
    }
    goodness_core::tunables! {
        pub struct Settings {
            /// Form.
            form: Form = Form::Old;
            /// Switch.
            merges: bool = true;
            /// Number.
            count: u64 = 3, in 1 => 9;
        }
    }
    let tried = variants(Settings::spec());
    let setting = |key: &str, value: &str| vec![(key.to_string(), value.to_string())];
    assert_eq!(tried, [vec![], setting("form", "new"), setting("merges", "off")]);
}

/// The sentence with which `check` fails for an elevator with this fault.
fn sentence(check: fn(&Stream), fault: &str) -> String {
    let settings = vec![("fault".to_string(), fault.to_string())];
    let stream = Stream { name: "faulty".into(), entry: &Faulty::ENTRY, settings, seed: 1, grouping: Grouping::Flat };
    let failed = std::panic::catch_unwind(|| check(&stream)).expect_err("the fault is noticed");
    failed.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn a_faulty_elevator_is_noticed() {
    for (fault, part) in [
        ("loses", "has_work"),
        ("repeats", "which does not wait"),
        ("hangs", "names no time"),
        ("waits", "again and again"),
    ] {
        let sentence = sentence(dispatches_exactly_once, fault);
        assert!(sentence.contains(part), "{fault}: {sentence}");
    }
    assert!(sentence(keeps_the_order, "varies").contains("another order"));
}
