//! Kernels on several CPUs beside the simulator, on synthetic loads (`fidelity/smp`).
//!
//! `cargo run --release -p goodness-study --example smp -- PART`:
//!
//! | part | does |
//! |---|---|
//! | `compare [--half seen\|unseen]` | simulates all cells and counts those within bounds |
//! | `errors` | writes `fidelity/smp.toml` from the seen half |
//! | `measure` | reads the traces of `scripts/make-smp`, writes `fidelity/smp/measured.toml` |

use goodness_core::Seed;
use goodness_study::smp::figures::{Figures, of_trace};
use goodness_study::smp::{self, Cell, GUESTS, Guest, SEEDS, score};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Worst cells shown of each figure.
const WORST: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fidelity/smp");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["compare"] => compare(&suite, &[false, true]),
        ["compare", "--half", "seen"] => compare(&suite, &[false]),
        ["compare", "--half", "unseen"] => compare(&suite, &[true]),
        ["errors"] => errors(&suite),
        ["measure"] => measure(&suite),
        _ => Err("take compare, compare --half seen, compare --half unseen, errors or measure".into()),
    }
}

/// The played cells of one half.
fn cells(suite: &Path, is_unseen: bool) -> Result<Vec<Cell>, Box<dyn Error>> {
    let cells = smp::cells(&std::fs::read_to_string(suite.join("measured.toml"))?, &smp::loads(suite)?)?;
    Ok(cells.into_iter().filter(|cell| cell.is_unseen == is_unseen).collect())
}

fn compare(suite: &Path, halves: &[bool]) -> Result<(), Box<dyn Error>> {
    let stated = score::errors(&smp::cases(suite, &cells(suite, false)?, None)?);
    for &is_unseen in halves {
        let cases = smp::cases(suite, &cells(suite, is_unseen)?, None)?;
        println!("{} half", if is_unseen { "unseen" } else { "seen" });
        println!("{}", score::table(&cases, WORST));
        let (inside, all) = score::coverage(&cases, &stated);
        println!("{inside} of {all} values inside the stated error\n");
    }
    Ok(())
}

fn errors(suite: &Path) -> Result<(), Box<dyn Error>> {
    let stated = score::errors(&smp::cases(suite, &cells(suite, false)?, None)?);
    Ok(std::fs::write(suite.join("../smp.toml"), score::file(&stated))?)
}

fn measure(suite: &Path) -> Result<(), Box<dyn Error>> {
    let file = suite.join("measured.toml");
    let former = smp::cells(&std::fs::read_to_string(&file).unwrap_or_default(), &smp::loads(suite)?)?;
    let mut cells = Vec::new();
    for (load, is_unseen) in smp::loads(suite)? {
        for guest in GUESTS {
            // Figures of guests without traces stay.
            if !traces(suite, guest).exists() {
                cells.extend(former.iter().find(|it| it.load == load && it.guest == guest).cloned());
                continue;
            }
            let plays: Result<Vec<Figures>, _> = SEEDS.iter().map(|&seed| play(suite, &load, guest, seed)).collect();
            cells.push(Cell { load: load.clone(), guest, is_unseen, plays: smp::by_figure(&plays?) });
        }
    }
    Ok(std::fs::write(file, smp::file(&cells))?)
}

/// The folder of a guest's traces.
fn traces(suite: &Path, guest: Guest) -> PathBuf {
    suite.join("../../target/smp").join(guest.name())
}

/// The figures of one play.
fn play(suite: &Path, load: &str, guest: Guest, seed: u64) -> Result<Figures, Box<dyn Error>> {
    let file = traces(suite, guest).join(format!("{load}.{seed}"));
    let recording = goodness_trace::load(&file).map_err(|why| format!("{}: {why}", file.display()))?;
    let work = smp::open(suite, load)?.source.build(Seed(seed), 0);
    of_trace(&recording, &work, guest.cpus as usize).map_err(|why| format!("{}: {why}", file.display()).into())
}
