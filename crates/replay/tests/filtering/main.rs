//! Any part of a recording is either replayed and measured, or rejected with a sentence.

mod edits;

use edits::{Edit, edited, lines};
use goodness_core::{Registered, Seed, Span, Time, WorkloadSource};
use goodness_observe::{Measured, Metrics, Subject};
use goodness_policies::rr::RoundRobin;
use goodness_replay::{History, Replay, ReplayOptions, machine_of, recover};
use goodness_trace::{Input, Recording, TraceError, load_input};
use proptest::prelude::*;
use std::path::Path;

fn shipped(name: &str, most: usize) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings").join(format!("{name}.ftrace.zst"));
    lines(Input::open(&path).expect("the recording is shipped"), most)
}

fn read(text: &[u8]) -> Result<Recording, TraceError> {
    Input::bytes("filtered.txt", text).map(load_input).expect("memory can be read")
}

/// Measures the recording and its replay under round robin, as the command line does.
fn measured(recording: &Recording) -> (Measured, Measured) {
    let history = History::of(recording);
    assert_eq!((history.begin(), history.end), (recording.start(), recording.end()), "measured and replayed alike");
    let subject = |judged| Subject { judged, ..Subject::default() };
    let subjects: Vec<Subject> = history.participants.iter().map(|c| subject(c.judged)).collect();
    let mut metrics = Metrics::new(history.cpus, recording.start(), &subjects);
    recording.observe(&mut metrics);
    let recorded = metrics.finish(recording.end().max(Time(1)));

    let recovered = recover(&history, ReplayOptions::default());
    let machine = machine_of(recording, &history, recovered.grid).expect("a machine").machine;
    let subjects: Vec<Subject> = recovered.tasks.iter().map(|t| subject(t.participant.judged)).collect();
    let mut work = Replay::new("filtered", recovered).build(Seed(1), 1);
    work.horizon = Some(Time::ZERO + history.length() + Span::from_ms(100));
    let settings = <RoundRobin as Registered>::Settings::default();
    let mut observer = Metrics::new(machine.cpu_count(), Time::ZERO, &subjects);
    let options = goodness_sim::Options::default();
    let outcome = goodness_sim::simulate::<RoundRobin>(&machine, settings, work, &mut observer, options);
    let replayed = observer.finish(outcome.expect("the replay is sound").end.max(Time(1)));
    (recorded, replayed)
}

/// True if a warning mentions CPUs that wrote no line.
fn warns_of_silent_cpus(recording: &Recording) -> bool {
    recording.warnings.iter().any(|w| w.contains("wrote no line"))
}

#[test]
fn a_recording_filtered_to_one_cpu_is_measured_and_says_that_others_are_named() {
    let whole = shipped("apache-ab-c32-2cpu", 8_000);
    for cpu in [0, 1] {
        for edits in [&[Edit::OnlyCpu(cpu)][..], &[Edit::WithoutHeader, Edit::OnlyCpu(cpu)]] {
            let recording = read(&edited(whole.clone(), edits)).expect("one CPU is a usable part");
            assert_eq!(recording.metadata.cpus, 2, "{edits:?}: wake-ups name both CPUs");
            assert!(warns_of_silent_cpus(&recording), "{edits:?}: {:?}", recording.warnings);
            let (recorded, replayed) = measured(&recording);
            for values in [recorded, replayed] {
                assert!(values.get("context_switches").value.is_some_and(|n| n > 100.0), "{edits:?}");
            }
        }
    }
}

#[test]
fn a_whole_recording_names_no_cpu_that_is_silent() {
    let recording = read(&edited(shipped("apache-ab-c32-2cpu", 8_000), &[])).expect("a recording");
    assert!(!warns_of_silent_cpus(&recording), "{:?}", recording.warnings);
}

#[test]
fn one_cpu_of_a_hundred_is_measured() {
    let edits = [Edit::WithoutHeader, Edit::OnlyCpu(0), Edit::WakeUpsFor(99)];
    let recording = read(&edited(shipped("mixed-cpu", 4_000), &edits)).expect("a usable part");
    assert_eq!(recording.metadata.cpus, 100);
    assert!(warns_of_silent_cpus(&recording));
    measured(&recording);
}

#[test]
fn switches_alone_are_measured_and_wake_ups_alone_are_refused_in_a_sentence() {
    let whole = shipped("apache-ab-c32-2cpu", 8_000);
    for more in [&[][..], &[Edit::WithoutHeader]] {
        let of = |edit| edited(whole.clone(), &[&[edit], more].concat());
        measured(&read(&of(Edit::OnlyEvent(0))).expect("switches are a usable part"));
        for event in [1, 2] {
            let refusal = read(&of(Edit::OnlyEvent(event))).expect_err("nobody is seen on a CPU").to_string();
            assert!(refusal.contains("no sched_switch event"), "{refusal}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_part_of_a_recording_is_measured_or_refused(choices in prop::collection::vec(any::<[u8; 3]>(), 1..5)) {
        let edits: Vec<Edit> = choices.into_iter().map(Edit::of).collect();
        if let Ok(recording) = read(&edited(shipped("apache-ab-c32-2cpu", 3_000), &edits)) {
            measured(&recording);
        }
    }
}
