//! Five recordings of each of eleven loads: how much they differ, and whether what is stated from one holds for others.
//!
//! `cargo run --release -p goodness-study --example repeats` prints coverage and false differences for both halves.
//! With `-- spread`, it writes `fidelity/recordings.toml` from the seen half; build and run again to score.

use goodness_study::repeats::{self, Load, Observed, SEEN, UNSEEN};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let observe = |half: &[Load]| {
        let all = half.iter().map(|load| repeats::observe(&root.join("recordings/repeats"), *load));
        all.collect::<Result<Vec<_>, _>>()
    };
    match std::env::args().nth(1).as_deref() {
        None => {
            score("seen", &observe(&SEEN)?);
            score("unseen", &observe(&UNSEEN)?);
        }
        Some("seen") => score("seen", &observe(&SEEN)?),
        Some("spread") => {
            std::fs::write(root.join("fidelity/recordings.toml"), repeats::file(&repeats::spreads(&observe(&SEEN)?)))?;
        }
        Some(other) => return Err(format!("unknown part \"{other}\"; take seen, spread or nothing").into()),
    }
    Ok(())
}

fn score(half: &str, all: &[Observed]) {
    let (covered, different) = (repeats::coverage(all, 1.0), repeats::called_different(all));
    println!("{half} half: metric, other recordings inside the interval from one, pairs called different");
    for (metric, part) in &covered {
        let pairs = different.get(metric).map_or_else(String::new, |it| format!("{} of {}", it.some, it.of));
        println!("{metric:26} {:5.1} % of {:4}   {pairs}", 100.0 * part.share(), part.of);
    }
    for one in all {
        let part = repeats::total(&repeats::called_different(std::slice::from_ref(one)));
        println!("{:26} {} of {} pairs called different", one.load.0, part.some, part.of);
    }
    let (covered, different) = (repeats::total(&covered), repeats::total(&different));
    println!("all: {:.1} % of {} inside", 100.0 * covered.share(), covered.of);
    println!("all: {:.1} % of {} called different\n", 100.0 * different.share(), different.of);
}
