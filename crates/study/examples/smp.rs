//! Kernels on several CPUs beside the simulator, on synthetic loads (`fidelity/smp`, `fidelity/topologies`).
//!
//! `cargo run --release -p goodness-study --example smp -- PART [--suite topologies]`:
//!
//! | part | does |
//! |---|---|
//! | `compare [--half seen\|unseen]` | simulates all cells and counts those within bounds |
//! | `errors` | writes `fidelity/smp.toml` from the seen half |
//! | `starts` | counts starts of hogs on cores of their own, in kernels and simulated |
//! | `measure` | reads the traces of `scripts/make-smp`, writes `fidelity/smp/measured.toml` |

use goodness_core::Seed;
use goodness_study::smp::figures::{Figures, of_trace};
use goodness_study::smp::{self, Cell, GUESTS, Guest, TOPOLOGIES, score};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Simulated starts of each cell.
const STARTS: u32 = 40;
/// Worst cells shown of each figure.
const WORST: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, guests) = match arguments[..] {
        [.., "--suite", "topologies"] => ("topologies", &TOPOLOGIES[..]),
        _ => ("smp", &GUESTS[..]),
    };
    if name == "topologies" {
        arguments.truncate(arguments.len() - 2);
    }
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fidelity").join(name);
    match arguments[..] {
        ["compare"] => compare(&suite, &[false, true]),
        ["compare", "--half", "seen"] => compare(&suite, &[false]),
        ["compare", "--half", "unseen"] => compare(&suite, &[true]),
        ["errors"] if name == "smp" => errors(&suite),
        ["starts"] => starts(&suite),
        ["measure"] => measure(&suite, guests),
        _ => Err("take compare, compare --half seen, compare --half unseen, errors, starts or measure".into()),
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

fn starts(suite: &Path) -> Result<(), Box<dyn Error>> {
    for cell in cells(suite, false)?.iter().chain(&cells(suite, true)?).filter(|cell| smp::has_starts(cell)) {
        let [(played, of), (simulated, runs)] = smp::starts(suite, cell, cell.guest.policy(), STARTS)?;
        println!("{} {}: kernel {played} of {of}, simulated {simulated} of {runs}", cell.load, cell.guest.name());
    }
    Ok(())
}

fn errors(suite: &Path) -> Result<(), Box<dyn Error>> {
    let stated = score::errors(&smp::cases(suite, &cells(suite, false)?, None)?);
    let compared = smp::compared(&suite.join(".."))?;
    Ok(std::fs::write(suite.join("../smp.toml"), score::file(&stated, &compared))?)
}

fn measure(suite: &Path, guests: &[Guest]) -> Result<(), Box<dyn Error>> {
    let file = suite.join("measured.toml");
    let former = smp::cells(&std::fs::read_to_string(&file).unwrap_or_default(), &smp::loads(suite)?)?;
    let mut cells = Vec::new();
    for (load, is_unseen) in smp::loads(suite)? {
        for &guest in guests {
            // Figures of guests without traces stay.
            if !traces(suite, guest).exists() {
                cells.extend(former.iter().find(|it| it.load == load && it.guest == guest).cloned());
                continue;
            }
            let plays: Result<Vec<Figures>, _> =
                (1..=guest.plays(&load)).map(|seed| play(suite, &load, guest, seed)).collect();
            cells.push(Cell { load: load.clone(), guest, is_unseen, plays: smp::by_figure(&plays?) });
        }
    }
    Ok(std::fs::write(file, smp::file(&cells))?)
}

/// The folder of a guest's traces.
fn traces(suite: &Path, guest: Guest) -> PathBuf {
    let name = suite.file_name().unwrap_or_default();
    suite.join("../../target").join(name).join(guest.name())
}

/// The figures of one play.
fn play(suite: &Path, load: &str, guest: Guest, seed: u64) -> Result<Figures, Box<dyn Error>> {
    let file = traces(suite, guest).join(format!("{load}.{seed}"));
    let recording = goodness_trace::load(&file).map_err(|why| format!("{}: {why}", file.display()))?;
    let work = smp::open(suite, load)?.source.build(Seed(seed), 0);
    of_trace(&recording, &work, &smp::machine(suite, guest)?).map_err(|why| format!("{}: {why}", file.display()).into())
}
