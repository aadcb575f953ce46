//! The suite of real changes (`fidelity/changes`): what is promised of predictions, and that wrong ones are found out.

use goodness_study::changes;
use goodness_study::changes::figures::Figures;
use goodness_study::changes::pairs::{Base, bases};
use goodness_study::changes::score::{self, Case, Scores, half};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn suite() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fidelity/changes")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(suite().join(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn pairs() -> (Vec<Base>, BTreeMap<String, Figures>) {
    (bases(&read("pairs.toml")).unwrap(), changes::measured(&read("measured.toml")).unwrap())
}

/// The cases of the bases on one CPU, predicted under `policy` instead of the recorded one.
fn on_one_cpu(policy: Option<&str>, edit: impl Fn(&mut Base)) -> Vec<Case> {
    let (mut bases, measured) = pairs();
    bases.retain(|base| base.cpus == 1);
    bases.iter_mut().for_each(edit);
    let cases = changes::cases(&suite(), &bases, &measured, policy).unwrap();
    cases.into_iter().filter(|case| !case.pair.on_several_cpus).collect()
}

fn unseen(cases: &[Case]) -> Vec<Case> {
    half(cases, true)
}

/// The error of the seen half.
fn stated(cases: &[Case]) -> Scores {
    score::score(&half(cases, false))
}

/// The part of the cases of `class` inside the intervals of `stated`.
fn inside(cases: &[Case], stated: &Scores, class: &str) -> f64 {
    let some: Vec<Case> = cases.iter().filter(|case| case.figure.starts_with(class)).cloned().collect();
    score::coverage(&some, stated).unwrap().part()
}

#[test]
fn changes_are_foretold_and_the_stated_error_is_that_of_the_seen_half() {
    let (bases, measured) = pairs();
    let cases = changes::cases(&suite(), &bases, &measured, None).unwrap();
    let stated = stated(&cases);
    assert_eq!(score::file(&stated), read("../changes.toml"), "run the example `changes` with `errors`");
    let unseen = unseen(&cases);
    let (right, of) = score::signs(&unseen, &["share", "context_switches"]);
    assert!(of >= 60 && right * 100 >= of * 95, "{right} of {of} directions of shares and switches");
    let waits = ["waiting", "wakeup_latency_mean", "wakeup_latency_p50", "wakeup_latency_p99"];
    let (waits_right, waits_of) = score::signs(&unseen, &waits);
    let (right, of) = (right + waits_right, of + waits_of);
    assert!(of >= 240 && right * 100 >= of * 95, "{right} of {of} directions of all figures");
    let covered = score::coverage(&unseen, &stated).unwrap();
    assert!(covered.part() >= 0.9 && covered.median_width < 1.5, "{covered:?}");
}

#[test]
fn every_change_was_measured_and_every_kind_has_an_error() {
    let (bases, measured) = pairs();
    let all: Vec<_> = bases.iter().flat_map(Base::pairs).collect();
    assert!(all.len() >= 120 && all.iter().all(|pair| measured.contains_key(&pair.recording())));
    for pair in &all {
        assert!(goodness::CHANGE_ERRORS.error.iter().any(|error| error.change == pair.kind), "{}", pair.kind);
    }
}

/// A saturated task hides its demand; a recording in which every server waits for work does not.
#[test]
fn only_the_bases_with_a_saturated_task_are_untrusted() {
    let untrusted = |base: &&Base| !changes::is_trusted(&changes::open(&suite(), base).unwrap());
    let bases = pairs().0;
    let names: Vec<&str> = bases.iter().filter(untrusted).map(|base| base.name.as_str()).collect();
    assert_eq!(names, ["pipeline-1-cfs", "ping-1-cfs"]);
}

/// Negative control: a scheduler that does not know nice or slices.
#[test]
fn a_wrong_policy_is_rejected() {
    let own = on_one_cpu(None, |_| ());
    let stated = stated(&own);
    let wrong = on_one_cpu(Some("rr"), |base| base.changes.retain(|arm| !arm.contains(':')));
    let (own, wrong) = (unseen(&own), unseen(&wrong));
    let [true_part, wrong_part] = [&own, &wrong].map(|cases| inside(cases, &stated, "share"));
    assert!(true_part > 0.8 && wrong_part < 0.6, "inside: {true_part} with the recorded policy, {wrong_part} with rr");
}

/// Negative control: a scheduler that ignores groups.
#[test]
fn a_policy_without_groups_is_rejected() {
    let only = |base: &mut Base| {
        let changes = std::mem::take(&mut base.changes);
        base.changes = changes.into_iter().filter(|arm| base.kind(arm) == "group").collect();
    };
    let own = on_one_cpu(None, only);
    let stated = stated(&own);
    let (own, flat) = (unseen(&own), unseen(&on_one_cpu(Some("rr"), only)));
    let [right, wrong] = [&own, &flat].map(|cases| inside(cases, &stated, "share"));
    assert!(right > 0.8 && wrong < 0.2, "inside: {right} with the recorded policy, {wrong} with rr");
}

/// Negative control: the right scheduler, and a nice three times as large as the one that was set.
#[test]
fn a_knob_three_times_wrong_is_rejected() {
    let own = on_one_cpu(None, |_| ());
    let stated = stated(&own);
    let thrice = on_one_cpu(None, |base| {
        for arm in &mut base.changes {
            *arm = arm.replace(".nice=5", ".nice=15").replace(".nice=3", ".nice=9").replace(".nice=-5", ".nice=-15");
        }
    });
    let of_nice = |cases: &[Case]| -> Vec<Case> {
        let is_five =
            |case: &&Case| ["=5", "=3", "=-5", "=15", "=9", "=-15"].iter().any(|it| case.pair.arm.ends_with(it));
        cases.iter().filter(|case| case.pair.kind == "nice").filter(is_five).cloned().collect()
    };
    let [right, wrong] = [of_nice(&own), of_nice(&thrice)].map(|cases| inside(&cases, &stated, "share"));
    assert!(right > 0.8 && wrong < 0.4, "inside: {right} as set, {wrong} three times as large");
}

/// Negative control: three times as many tasks as were added. Six of class idle take as little as two, and periodic
/// tasks get what they ask for beside six as beside two, so these cannot tell.
#[test]
fn load_three_times_as_large_as_was_added_is_rejected() {
    let of_load = |cases: Vec<Case>| -> Vec<Case> {
        let is_periodic = |case: &Case| case.pair.base.starts_with("timers") || case.pair.base.starts_with("catch-up");
        let tells = |case: &Case| case.pair.kind == "load" && !case.pair.arm.contains("idle") && !is_periodic(case);
        cases.into_iter().filter(tells).collect()
    };
    let own = of_load(on_one_cpu(None, |_| ()));
    let stated = stated(&own);
    let thrice = on_one_cpu(None, |base| {
        base.changes.iter_mut().for_each(|arm| *arm = arm.replace("hogs=2", "hogs=6").replace("hogs=1", "hogs=3"));
    });
    let (own, thrice) = (unseen(&own), unseen(&of_load(thrice)));
    let [right, wrong] = [&own, &thrice].map(|cases| inside(cases, &stated, "share"));
    assert!(right >= 0.5 && wrong < 0.2, "inside: {right} as added, {wrong} three times as large");
}
