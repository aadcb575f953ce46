//! Kernels on several CPUs beside the simulator, on synthetic loads (`fidelity/smp`, `fidelity/eight`,
//! `fidelity/topologies`, `fidelity/groups`).
//!
//! `cargo run --release -p goodness-study --example smp -- PART [--suite eight|topologies|groups]`:
//!
//! | part | does |
//! |---|---|
//! | `compare [--half seen\|unseen]` | simulates all cells and counts those within bounds |
//! | `errors` | writes `fidelity/smp.toml` from `fidelity/smp` |
//! | `starts` | counts starts of hogs on cores of their own, in kernels and simulated |
//! | `measure` | reads the traces of `scripts/make-smp`, writes `measured.toml` of the suite |

use goodness_core::Seed;
use goodness_study::smp::figures::{Figures, of_trace};
use goodness_study::smp::guest::Guest;
use goodness_study::smp::perfect::Perfect;
use goodness_study::smp::suite::{self, Cell, Suite};
use goodness_study::smp::table::table;
use goodness_study::smp::{self, score};
use std::error::Error;
use std::path::PathBuf;

/// Simulated starts of each cell.
const STARTS: u32 = 40;
/// Worst cells shown of each figure.
const WORST: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut name = "smp";
    if let [.., "--suite", named] = arguments[..] {
        name = named;
        arguments.truncate(arguments.len() - 2);
    }
    let suite = Suite::of(name).ok_or("take --suite eight, --suite topologies or --suite groups")?;
    match arguments[..] {
        ["compare"] => [false, true].into_iter().try_for_each(|is_unseen| compare(&suite, is_unseen)),
        ["compare", "--half", "seen"] => compare(&suite, false),
        ["compare", "--half", "unseen"] => compare(&suite, true),
        ["errors"] if name == "smp" => errors(&suite),
        ["starts"] => starts(&suite),
        ["measure"] => measure(&suite),
        _ => Err("take compare, compare --half seen, compare --half unseen, errors, starts or measure".into()),
    }
}

/// The error that runs carry: that of two and four equal CPUs.
fn stated() -> Result<Vec<score::ModelError>, Box<dyn Error>> {
    let suite = Suite::of("smp").expect("a suite");
    Ok(score::errors(&smp::cases(&suite, &suite.cells()?, None)?))
}

fn compare(suite: &Suite, is_unseen: bool) -> Result<(), Box<dyn Error>> {
    let stated = stated()?;
    let cells = suite.half(is_unseen)?;
    let cases = smp::cases(suite, &cells, None)?;
    let table = table(&cases, &Perfect::of(&cells), WORST);
    println!("{} half\n{table}", if is_unseen { "unseen" } else { "seen" });
    let (inside, all) = score::coverage(&cases, &stated);
    println!("{inside} of {all} values inside the stated error\n");
    Ok(())
}

fn starts(suite: &Suite) -> Result<(), Box<dyn Error>> {
    for cell in suite.half(false)?.iter().chain(&suite.half(true)?).filter(|cell| smp::has_starts(cell)) {
        let [(played, of), (simulated, runs)] = smp::starts(suite, cell, cell.guest.policy(), STARTS)?;
        println!("{} {}: kernel {played} of {of}, simulated {simulated} of {runs}", cell.load, cell.guest.name());
    }
    Ok(())
}

fn errors(suite: &Suite) -> Result<(), Box<dyn Error>> {
    let stated = stated()?;
    let compared = smp::compared()?;
    Ok(std::fs::write(suite.folder.join("../smp.toml"), score::file(&stated, &compared))?)
}

fn measure(suite: &Suite) -> Result<(), Box<dyn Error>> {
    let former = if suite.file().exists() { suite.cells()? } else { Vec::new() };
    let mut cells = Vec::new();
    for (load, is_unseen) in suite.loads()? {
        for &guest in suite.guests {
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
    Ok(std::fs::write(suite.file(), suite::file(&cells))?)
}

/// The folder of a guest's traces.
fn traces(suite: &Suite, guest: Guest) -> PathBuf {
    let name = suite.folder.file_name().unwrap_or_default();
    suite.folder.join("../../target").join(name).join(guest.name())
}

/// The figures of one play.
fn play(suite: &Suite, load: &str, guest: Guest, seed: u64) -> Result<Figures, Box<dyn Error>> {
    let file = traces(suite, guest).join(format!("{load}.{seed}"));
    let recording = goodness_trace::load(&file).map_err(|why| format!("{}: {why}", file.display()))?;
    let work = suite.open(load)?.source.build(Seed(seed), 0);
    of_trace(&recording, &work, &suite.machine(guest)?).map_err(|why| format!("{}: {why}", file.display()).into())
}
