//! Changes of periodic tasks: what replays with timers foretold, and what those with delays did, both before the
//! changes were made (`docs/fidelity/timers.md`).

use goodness_study::changes::score::{self, Case};
use goodness_study::changes::{self, Effect, Effects, pairs};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn suite() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fidelity/changes")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(suite().join(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// The committed predictions of a file.
fn predicted(name: &str) -> BTreeMap<String, Effects> {
    let read: BTreeMap<String, BTreeMap<String, [f64; 2]>> = toml::from_str(&read(name)).unwrap();
    let effect = |[ratio, sd]: [f64; 2]| Effect { log_ratio: ratio.ln(), sd };
    let effects = |all: BTreeMap<String, [f64; 2]>| all.into_iter().map(|(figure, it)| (figure, effect(it))).collect();
    read.into_iter().map(|(name, all)| (name, effects(all))).collect()
}

/// The predictions of a file for the changes of the bases with timers, beside what came.
fn cases(name: &str) -> Vec<Case> {
    let (predicted, measured) = (predicted(name), changes::measured(&read("measured.toml")).unwrap());
    let mut cases = Vec::new();
    for base in pairs::bases(&read("pairs.toml")).unwrap().iter().filter(|base| is_timed(&base.name)) {
        let figures = changes::recorded(&changes::open(&suite(), base).unwrap());
        for pair in base.pairs() {
            cases.extend(score::cases(&pair, &figures, &measured[&pair.recording()], &predicted[&pair.recording()]));
        }
    }
    cases
}

fn is_timed(base: &str) -> bool {
    base.starts_with("timers-") || base.starts_with("catch-up-")
}

/// The typical error of shares of the periodic tasks of a base, as a logarithm.
fn error(cases: &[Case], base: &str) -> f64 {
    let timed = ["audio", "control", "frame", "sensor", "sampler"].map(|task| format!("share {task}"));
    let errors = cases.iter().filter(|it| it.pair.base == base && timed.contains(&it.figure)).map(Case::error);
    let squares: Vec<f64> = errors.map(|error| error * error).collect();
    assert!(squares.len() >= 30, "{base}: {}", squares.len());
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

/// The negative control is the version before, which took a timer for a delay.
#[test]
fn shares_of_periodic_tasks_are_foretold_with_timers_and_not_with_delays() {
    let [timers, delays] = ["predicted.toml", "predicted-delays.toml"].map(cases);
    for (base, most, least) in [("timers-1", 0.06, 0.06), ("timers-2", 0.04, 0.08), ("catch-up-1", 0.02, 0.12)] {
        let [with, without] = [&timers, &delays].map(|cases| error(cases, base));
        println!("{base}: shares off by a factor of {:.3} with timers, {:.3} with delays", with.exp(), without.exp());
        assert!(with <= most && without >= least, "{base}: {with} with timers, {without} with delays");
    }
    for (name, cases) in [("timers", &timers), ("delays", &delays)] {
        for half in [false, true] {
            let half = score::half(cases, half);
            let (right, of) = score::signs(&half, &["share"]);
            println!("{name}: {right} of {of} directions of shares right");
        }
    }
    let (right, of) = score::signs(&timers, &["share"]);
    assert!(of >= 60 && right * 20 >= of * 19, "{right} of {of}");
}
