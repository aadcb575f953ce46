//! The suite of real changes: what was predicted from a recording of the base alone, and what came.
//!
//! `cargo run --release -p goodness-study --example changes` predicts all anew and scores. With an argument after `--`:
//!
//! | argument | does |
//! |---|---|
//! | `seen` | scores the half that was used in building |
//! | `predict` | writes `fidelity/changes/predicted.toml` |
//! | `measure` | reads the recordings of `scripts/make-changes changes`, writes `fidelity/changes/measured.toml` |
//! | `errors` | writes `fidelity/changes.toml` from the seen half |

use goodness::{OpenOptions, Refusal, Work};
use goodness_study::changes::figures::unstretched;
use goodness_study::changes::{self, Effects, pairs, score, score::Case};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fidelity/changes");
    let bases = pairs::bases(&std::fs::read_to_string(suite.join("pairs.toml"))?)?;
    match std::env::args().nth(1).as_deref() {
        None => scored(&suite, &bases, &[false, true]),
        Some("seen") => scored(&suite, &bases, &[false]),
        Some("errors") => errors(&suite, &bases),
        Some("predict") => predict(&suite, &bases),
        Some("measure") => measure(&suite, &bases),
        Some(other) => Err(format!("unknown part \"{other}\"; take seen, predict, measure, errors or nothing").into()),
    }
}

/// Predictions by name of the changed recording.
fn predictions(suite: &Path, bases: &[pairs::Base]) -> Result<BTreeMap<String, Effects>, Box<dyn Error>> {
    let mut all = BTreeMap::new();
    for base in bases {
        let work = changes::open(suite, base)?;
        for (pair, effects) in base.pairs().iter().zip(changes::predict(&work, &base.pairs(), None)) {
            all.insert(pair.recording(), effects.map_err(|why| format!("{} {}: {why}", pair.base, pair.arm))?);
        }
        eprintln!("{}: {} changes", base.name, base.changes.len());
    }
    Ok(all)
}

fn predict(suite: &Path, bases: &[pairs::Base]) -> Result<(), Box<dyn Error>> {
    let mut text =
        String::from("# Predicted ratios, changed over base, with the standard deviation of their logarithm.\n");
    for (name, effects) in predictions(suite, bases)? {
        text += &format!("\n[\"{name}\"]\n");
        for (figure, effect) in effects {
            text += &format!("\"{figure}\" = [{:.4}, {:.4}]\n", effect.log_ratio.exp(), effect.sd);
        }
    }
    Ok(std::fs::write(suite.join("predicted.toml"), text)?)
}

fn measure(suite: &Path, bases: &[pairs::Base]) -> Result<(), Box<dyn Error>> {
    let made: PathBuf = suite.join("../../target/changes");
    let mut text =
        String::from("# Figures of the changed recordings: shares of a CPU, times in ns, switches per ns.\n");
    let former = changes::measured(&std::fs::read_to_string(suite.join("measured.toml"))?)?;
    for base in bases {
        let judge = changes::load(&changes::open(suite, base)?);
        for pair in base.pairs() {
            let file = made.join(format!("{}.gz", pair.recording()));
            // Figures of recordings that are not there stay.
            let figures = match former.get(&pair.recording()).filter(|_| !file.exists()) {
                Some(former) => former.clone(),
                None => unstretched(changes::recorded(&changed(&file, &pair, &judge)?), pair.stretch()),
            };
            text += &format!("\n[\"{}\"]\n", pair.recording());
            for (figure, value) in figures {
                text += &format!("\"{figure}\" = {value:.5e}\n");
            }
        }
    }
    Ok(std::fs::write(suite.join("measured.toml"), text)?)
}

/// The recording of `pair` in `file`; `judge` names the tasks of the load. Added load is not judged.
fn changed(file: &Path, pair: &pairs::Pair, judge: &[String]) -> Result<Work, Refusal> {
    let judge = if pair.kind == "load" { judge.to_vec() } else { Vec::new() };
    let options = OpenOptions { judge, ..OpenOptions::default() };
    goodness::open(&file.to_string_lossy(), &options, &goodness::unwatched)
}

/// Every prediction beside what was measured.
fn cases(suite: &Path, bases: &[pairs::Base]) -> Result<Vec<Case>, Box<dyn Error>> {
    let measured = changes::measured(&std::fs::read_to_string(suite.join("measured.toml"))?)?;
    for base in bases {
        let work = changes::open(suite, base)?;
        for why in work.recorded.iter().flat_map(|recorded| &recorded.lacks) {
            println!("{}: untrusted, not scored: {why}", base.name);
        }
    }
    Ok(changes::cases(suite, bases, &measured, None)?)
}

fn errors(suite: &Path, bases: &[pairs::Base]) -> Result<(), Box<dyn Error>> {
    let seen = score::half(&cases(suite, bases)?, false);
    Ok(std::fs::write(suite.join("../changes.toml"), score::file(&score::score(&seen)))?)
}

fn scored(suite: &Path, bases: &[pairs::Base], halves: &[bool]) -> Result<(), Box<dyn Error>> {
    let cases = cases(suite, bases)?;
    let stated = score::score(&score::half(&cases, false));
    for is_unseen in halves {
        let some = score::half(&cases, *is_unseen);
        some.iter().for_each(|case| println!("{}", score::line(case)));
        println!("\n{} half", if *is_unseen { "unseen" } else { "seen" });
        println!("{}", score::table(&score::score(&some)));
        println!("{}", score::summary(&some, &stated));
    }
    Ok(())
}
