//! Parses race files: strict TOML. Errors give file, line and the nearest valid name.
//!
//! `docs/race.md` is the reference; `races/` has examples.

mod fields;

use crate::arm::{self, Arm, To};
use crate::engine::Plan;
use crate::{load, shipped};
use fields::{Fault, Fields};
use goodness_core::spelling::suggest;
use goodness_core::{Seed, Span};
use goodness_work::text_file;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A race file, read.
#[derive(Debug)]
pub struct RaceFile {
    /// Plan of the race.
    pub plan: Plan,
    /// The load's registered name.
    pub load: String,
    /// Its settings as typed.
    pub settings: Vec<(String, String)>,
}

/// Top-level keys and their descriptions, for help and documentation.
pub const KEYS: &[(&str, &str)] = &[
    ("blocks", "most blocks; a block runs every arm once (20)"),
    ("duration", "no block begins after this time"),
    ("margin", "smaller differences count as same (\"1%\")"),
    ("measures", "measures that get a verdict (the load's)"),
    ("name", "the name of the race (the file's)"),
    ("outside_load", "a run during which other processes use more of the machine is repeated (\"10%\")"),
    ("reference", "the name of the arm that the others are compared with (the first)"),
    ("repeats", "repetitions of such a run at most (2)"),
    ("runs", "the same as blocks"),
    ("seed", "random seed of the order of the arms and of the load's work (1)"),
    ("stop", "\"clear\": end when every comparison is decided; \"never\": run all blocks (\"clear\")"),
    ("warmup", "blocks that are run first and dropped (1)"),
];

/// Limit of blocks in a race file.
const MOST_BLOCKS: u64 = 1000;
/// The longest file that is read, in bytes.
const LONGEST: usize = 1 << 20;

/// The race file of this path, else the shipped race of this name.
///
/// # Errors
/// Neither, or one that cannot be read; one sentence.
pub fn open(named: &str) -> Result<RaceFile, String> {
    let path = Path::new(named);
    match shipped::find(named) {
        Some(text) if !path.exists() => read(named, text),
        None if !path.exists() && !named.ends_with(".toml") => {
            let near = suggest(named, shipped::RACES.iter().map(|(name, _)| *name));
            Err(format!("there is no race and no file \"{named}\"; {near}; see goodness race list"))
        }
        _ => read(named, &text_file::read(named, text_file::WORK_MAX)?),
    }
}

/// Parses a race file; messages call it `file`.
///
/// # Errors
/// One sentence with file and line.
pub fn read(file: &str, text: &str) -> Result<RaceFile, String> {
    if text.len() > LONGEST {
        return Err(format!("{file}: a race file has at most {LONGEST} bytes"));
    }
    read_fields(file, text).map_err(|fault| fault.placed(file, text))
}

fn read_fields(file: &str, text: &str) -> Result<RaceFile, Fault> {
    let mut top = Fields::parse(text)?;
    let (load, settings) = match top.take_table("load")? {
        Some(table) => read_load(table)?,
        None => {
            // A misspelt key is the more likely mistake.
            top.refuse_others(KEYS.iter().map(|(key, _)| *key).chain(["load", "arm"]))?;
            return Err(Fault::at(0, "there is no [load]; write one with use = \"apache-prefork\""));
        }
    };
    let arms = top.take_tables("arm")?;
    let arms = arms.into_iter().map(read_arm).collect::<Result<Vec<_>, _>>()?;
    let plan = read_top(top, arms, &load, &stem(file))?;
    Ok(RaceFile { plan, load, settings })
}

fn stem(file: &str) -> String {
    std::path::Path::new(file).file_stem().map_or_else(|| file.into(), |stem| stem.to_string_lossy().into_owned())
}

fn read_top(mut top: Fields, arms: Vec<(usize, Arm)>, load: &str, file: &str) -> Result<Plan, Fault> {
    let name = top.take_text("name")?.map_or_else(|| file.to_string(), |(_, name)| name);
    let blocks = match (top.take_number("blocks", 1..=MOST_BLOCKS)?, top.take_number("runs", 1..=MOST_BLOCKS)?) {
        (Some(_), Some((at, _))) => return Err(Fault::at(at, "blocks and runs are the same; keep one of them")),
        (blocks, runs) => blocks.or(runs).map_or(20, |(_, blocks)| blocks),
    };
    let (_, warmup) = top.take_number("warmup", 0..=100)?.unwrap_or((0, 1));
    let (_, seed) = top.take_number("seed", 0..=u64::MAX >> 1)?.unwrap_or((0, 1));
    let (_, repeats) = top.take_number("repeats", 0..=100)?.unwrap_or((0, 2));
    let duration = top.take_with("duration", Span::parse)?.map(|(_, span)| Duration::from_nanos(span.0));
    let ends_early = top.take_with("stop", stop)?.is_none_or(|(_, early)| early);
    let margin = top.take_with("margin", part)?.map_or(0.01, |(_, part)| part);
    let outside = top.take_with("outside_load", part)?.map_or(0.10, |(_, part)| part);
    let reference = reference(&mut top, &arms)?;
    let measures = measures(&mut top, load)?;
    top.refuse_rest(KEYS.iter().map(|(key, _)| *key).chain(["load", "arm"]))?;
    Ok(Plan {
        name,
        arms: named(arms)?,
        reference,
        blocks: blocks as u32,
        warmup: warmup as u32,
        seed: Seed(seed),
        duration,
        ends_early,
        margin,
        outside,
        repeats: repeats as u32,
        measures,
        below: folder(),
    })
}

/// Parent of private folders: on a disk, so that servers have room for data.
fn folder() -> PathBuf {
    let lasting = PathBuf::from("/var/tmp");
    if lasting.is_dir() { lasting } else { std::env::temp_dir() }
}

fn stop(text: &str) -> Result<bool, String> {
    match text {
        "clear" => Ok(true),
        "never" => Ok(false),
        _ => Err(format!("\"{text}\" is neither \"clear\" nor \"never\"")),
    }
}

/// Parses a fraction such as `2.5%`.
fn part(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| format!("\"{text}\" is no part; write for example \"2%\""))
}

fn reference(top: &mut Fields, arms: &[(usize, Arm)]) -> Result<usize, Fault> {
    let Some((at, name)) = top.take_text("reference")? else { return Ok(0) };
    let names = || arms.iter().map(|(_, arm)| arm.name.as_str());
    let found = names().position(|arm| arm == name);
    found.ok_or_else(|| Fault::at(at, format!("no arm is called \"{name}\"; {}", suggest(&name, names()))))
}

fn measures(top: &mut Fields, load: &str) -> Result<Vec<String>, Fault> {
    match top.take_texts("measures")? {
        Some((at, none)) if none.is_empty() => Err(Fault::at(at, "measures names none; name those that decide")),
        Some((_, named)) => Ok(named),
        None => {
            let about = load::ALL.iter().find(|about| about.name == load);
            Ok(about.map_or(&[][..], |about| about.measures).iter().map(|name| (*name).to_string()).collect())
        }
    }
}

/// Checks that all arms have different names.
fn named(arms: Vec<(usize, Arm)>) -> Result<Vec<Arm>, Fault> {
    if let [] | [_] = arms[..] {
        let at = arms.first().map_or(0, |(at, _)| *at);
        return Err(Fault::at(at, "a race has two [[arm]] or more; the others are compared with the first"));
    }
    for (number, (at, arm)) in arms.iter().enumerate() {
        if arms[..number].iter().any(|(_, earlier)| earlier.name == arm.name) {
            return Err(Fault::at(*at, format!("two arms are called \"{}\"; give each its own name", arm.name)));
        }
    }
    Ok(arms.into_iter().map(|(_, arm)| arm).collect())
}

fn read_load((at, mut table): (usize, Fields)) -> Result<(String, Vec<(String, String)>), Fault> {
    let Some((at, name)) = table.take_text("use")? else {
        return Err(Fault::at(at, "[load] does not say which; write for example use = \"spin\""));
    };
    let Some(spec) = load::tunables_of(&name) else {
        let names = load::ALL.iter().map(|about| about.name);
        return Err(Fault::at(at, format!("there is no load \"{name}\"; {}", suggest(&name, names))));
    };
    let mut settings = Vec::new();
    for (at, key, value) in table.take_rest()? {
        if !spec.iter().any(|tunable| tunable.name == key) {
            let near = suggest(&key, spec.iter().map(|tunable| tunable.name));
            return Err(Fault::at(at, format!("{name} has no setting \"{key}\"; {near}")));
        }
        let typed = (key, value.typed());
        let launcher = crate::subprocess::Launcher::of(PathBuf::new());
        // The load checks the ranges. Settings are checked one by one, so the place of an error is known.
        load::check(&name, std::slice::from_ref(&typed), &launcher).map_err(|why| Fault::at(at, why.0))?;
        settings.push(typed);
    }
    Ok((name, settings))
}

fn read_arm((at, mut table): (usize, Fields)) -> Result<(usize, Arm), Fault> {
    let Some((_, name)) = table.take_text("name")? else {
        return Err(Fault::at(at, "this arm has no name; write for example name = \"nice 10\""));
    };
    let to = table.take_with("to", |word| {
        let found = To::WORDS.iter().find(|(known, _)| *known == word).map(|(_, to)| *to);
        found.ok_or_else(|| format!("\"{word}\" is nobody; {}", suggest(word, To::WORDS.map(|(known, _)| known))))
    })?;
    let mut settings = Vec::new();
    for (at, key, value) in table.take_rest()? {
        settings.push((key.clone(), arm::read(&key, &value).map_err(|why| Fault::at(at, why))?));
    }
    settings.sort_by(|a, b| a.0.cmp(&b.0));
    let settings = settings.into_iter().map(|(_, setting)| setting).collect();
    Ok((at, Arm { name, to: to.map_or(To::default(), |(_, to)| to), settings }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name = \"hogs\"\nblocks = 12\nmargin = \"2%\"\n[load]\nuse = \"spin\"\nhogs = 2\n\
                        [[arm]]\nname = \"as it is\"\n[[arm]]\nname = \"nice\"\nnice = 10\nto = \"server\"\n";

    fn why(text: &str) -> String {
        read("races/a.toml", text).expect_err("refused")
    }

    #[test]
    fn a_race_file_says_what_is_raced() {
        let read = read("races/a.toml", GOOD).expect("good");
        assert_eq!((read.load.as_str(), read.settings.as_slice()), ("spin", &[("hogs".into(), "2".into())][..]));
        let plan = read.plan;
        assert_eq!((plan.name.as_str(), plan.blocks, plan.warmup, plan.seed), ("hogs", 12, 1, Seed(1)));
        assert!((plan.margin - 0.02).abs() < 1e-12 && plan.ends_early && plan.reference == 0);
        assert_eq!(plan.measures, ["completion_time"]);
        assert_eq!(plan.arms[0].describe(), "the machine as it is");
        assert_eq!(plan.arms[1].describe(), "nice 10");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_the_nearest_name() {
        let change = |from: &str, to: &str| why(&GOOD.replacen(from, to, 1));
        let cases = [
            ("blocks", "blocsk", "races/a.toml:2: ", "the nearest is \"blocks\""),
            ("use = \"spin\"", "use = \"spni\"", "races/a.toml:5: ", "the nearest is \"spin\""),
            ("hogs = 2", "hgos = 2", "races/a.toml:6: ", "the nearest is \"hogs\""),
            ("hogs = 2", "hogs = 2000", "races/a.toml:6: ", "1024"),
            ("nice = 10", "ncie = 10", "races/a.toml:11: ", "the nearest is \"nice\""),
            ("nice = 10", "nice = 20", "races/a.toml:11: ", "-20 to 19"),
            ("to = \"server\"", "to = \"sever\"", "races/a.toml:12: ", "the nearest is \"server\""),
            ("name = \"nice\"", "name = \"as it is\"", "races/a.toml:9: ", "two arms"),
            ("blocks = 12", "blocks = 0", "races/a.toml:2: ", "1 to 1000"),
            ("margin = \"2%\"", "margin = 2", "races/a.toml:3: ", "in quotes"),
            ("margin = \"2%\"", "margin = \"2%\"\nreference = \"nic\"", "races/a.toml:4: ", "the nearest is \"nice\""),
            ("name = \"nice\"", "", "races/a.toml:9: ", "has no name"),
            ("[load]", "[laod]", "races/a.toml:4: ", "the nearest is \"load\""),
            ("[load]", "", "races/a.toml:", "no"),
            ("name = \"hogs\"", "name = hogs", "races/a.toml:1: ", ""),
        ];
        for (from, to, location, part) in cases {
            let why = change(from, to);
            assert!(why.starts_with(location) && why.contains(part), "{from} -> {to}: {why}");
        }
    }

    #[test]
    fn nothing_that_is_no_race_file_is_read_or_panics() {
        for length in 0..GOOD.len() {
            let _ = read("a.toml", &GOOD[..length]);
        }
        for text in
            ["", "[[load]]\n", "load = 3", "arm = 3\n[load]\nuse=\"spin\"", "\u{0}", "[load]\nuse = \"spin\"\n[arm]\n"]
        {
            assert!(read("a.toml", text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_kind_of_arm_takes_its_own_example() {
        for kind in arm::ALL {
            let text = format!("{GOOD}[[arm]]\nname = \"x\"\n{} = {}\n", kind.key, kind.example);
            read("a.toml", &text).unwrap_or_else(|why| panic!("{}: {why}", kind.key));
            assert!(kind.summary.ends_with('.'));
        }
        assert!(arm::ALL.is_sorted_by_key(|kind| kind.key));
    }
}
