//! What every elevator owes its block layer, under random streams of requests: each request is dispatched exactly once,
//! nothing is lost, the same seed gives the same order, and `has_work` tells the truth.
//!
//! The registry is the list of what is tested; each choice and each switch among the tunables is tried both ways.

#[path = "contract/faulty.rs"]
mod faulty;
#[path = "contract/host.rs"]
mod host;

use faulty::{Fault, Faulty};
use goodness_core::{ElevatorVisitor, RegisteredElevator, Tunables};
use host::{Dispatched, Host};

/// Streams for each elevator and setting.
const SEEDS: u64 = 100;
/// Events of a stream.
const STEPS: u32 = 400;

/// The settings to try: the defaults, and each value of each choice and switch.
fn variants<S: Tunables>() -> Vec<(String, S)> {
    let mut variants = vec![("defaults".to_string(), S::default())];
    for tunable in S::spec() {
        let values: Vec<&str> = match tunable.kind {
            "choice" => tunable.range.split(" | ").collect(),
            "switch" => vec!["on", "off"],
            _ => Vec::new(),
        };
        for value in values.into_iter().filter(|value| *value != tunable.default) {
            let mut settings = S::default();
            settings.set(tunable.name, value).expect("a listed value is accepted");
            variants.push((format!("{}={value}", tunable.name), settings));
        }
    }
    variants
}

/// A body of code to run for one elevator, with one variant of its settings and one seed.
trait Check {
    fn check<E: RegisteredElevator>(&self, name: &str, settings: &E::Settings, seed: u64);
}

struct EachVariant<C>(C);

impl<C: Check> ElevatorVisitor for EachVariant<C> {
    type Output = ();
    fn visit<E: RegisteredElevator + 'static>(self) {
        for (variant, settings) in variants::<E::Settings>() {
            for seed in 0..SEEDS {
                let name = format!("{} {variant}, seed {seed}", E::ABOUT.name);
                self.0.check::<E>(&name, &settings, seed);
            }
        }
    }
}

/// Runs a check on everything registered.
fn each<C: Check + Copy>(check: C) {
    assert!(!goodness_io::ALL.is_empty());
    for about in goodness_io::ALL {
        goodness_io::with_elevator(about.name, EachVariant(check)).expect("registered elevators are found by name");
    }
}

/// A whole stream, with a device that is busy part of the time.
fn stream<E: RegisteredElevator>(name: &str, settings: &E::Settings, seed: u64) -> Vec<Dispatched> {
    let mut host = Host::<E>::new(name, settings.clone(), seed);
    for _ in 0..STEPS {
        host.step();
    }
    host.finish();
    host.dispatched
}

#[derive(Clone, Copy)]
struct ExactlyOnce;

impl Check for ExactlyOnce {
    fn check<E: RegisteredElevator>(&self, name: &str, settings: &E::Settings, seed: u64) {
        let dispatched = stream::<E>(name, settings, seed);
        assert!(dispatched.len() > 20, "{name}: the stream was too short to tell anything");
    }
}

#[test]
fn every_request_is_dispatched_exactly_once_and_has_work_says_whether_one_waits() {
    // The host asserts each of these on the way.
    each(ExactlyOnce);
}

#[derive(Clone, Copy)]
struct SameOrder;

impl Check for SameOrder {
    fn check<E: RegisteredElevator>(&self, name: &str, settings: &E::Settings, seed: u64) {
        let [first, second] = [(); 2].map(|()| stream::<E>(name, settings, seed));
        assert_eq!(first, second, "{name}: the same seed gave another order");
    }
}

#[test]
fn the_same_seed_gives_the_same_order() {
    each(SameOrder);
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
    let tried: Vec<String> = variants::<Settings>().into_iter().map(|(name, _)| name).collect();
    assert_eq!(tried, ["defaults", "form=new", "merges=off"]);
}

/// What `check` says of an elevator with this fault.
fn said(check: &impl Check, fault: Fault) -> String {
    let settings = faulty::Settings { fault };
    let run = std::panic::AssertUnwindSafe(|| check.check::<Faulty>("faulty", &settings, 1));
    let said = std::panic::catch_unwind(run).expect_err("the fault is noticed");
    said.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn a_faulty_elevator_is_noticed() {
    for (fault, sentence) in [
        (Fault::Loses, "has_work says"),
        (Fault::Repeats, "which does not wait"),
        (Fault::Hangs, "no timer is set"),
        (Fault::Waits, "again and again"),
    ] {
        let said = said(&ExactlyOnce, fault);
        assert!(said.contains(sentence), "{fault:?}: {said}");
    }
    assert!(said(&SameOrder, Fault::Varies).contains("another order"));
}
