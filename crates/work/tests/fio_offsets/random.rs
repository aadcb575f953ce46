//! Jobs with chance: what does not depend on chance is equal to fio's, all else lies where 200 seeds of ours lie.
//!
//! For each direction that a job uses: I/Os, bytes, distinct places, I/Os that begin where the last one of their file
//! ended, first byte, last byte. Which places a distribution favours is not fio's choice: of zipf, pareto and normal
//! the first three count.

use super::{ios, letter};
use std::collections::{BTreeMap, BTreeSet};

/// Figures of a direction, in the order above.
const FIGURES: usize = 6;
/// Seeds of each job.
const SEEDS: u64 = 200;

type Summary = BTreeMap<char, [u64; FIGURES]>;

fn summary(options: &str, seed: u64) -> Summary {
    let mut all = Summary::new();
    let (mut seen, mut ends) = (BTreeSet::new(), BTreeMap::new());
    for io in ios(&format!("{options} randrepeat=0"), seed) {
        let Some(letter) = letter(io.op) else { continue };
        let end = io.offset + io.bytes;
        let of = all.entry(letter).or_insert([0, 0, 0, 0, u64::MAX, 0]);
        of[0] += 1;
        of[1] += io.bytes;
        of[2] += u64::from(seen.insert((letter, io.file, io.offset)));
        of[3] += u64::from(ends.insert(io.file, end) == Some(io.offset));
        of[4] = of[4].min(io.offset);
        of[5] = of[5].max(end);
    }
    all
}

fn parsed(answer: &str) -> Summary {
    let words: Vec<&str> = answer.split_whitespace().collect();
    let figures = |words: &[&str]| std::array::from_fn(|at| words[at + 1].parse().expect("a number"));
    words.chunks(FIGURES + 1).map(|of| (of[0].chars().next().expect("a letter"), figures(of))).collect()
}

/// Sentences about what differs.
fn differences(options: &str, answer: &Summary) -> Vec<String> {
    let ours: Vec<Summary> = (0..SEEDS).map(|seed| summary(options, seed)).collect();
    let mut wrong = Vec::new();
    let directions: BTreeSet<char> = ours.iter().flat_map(|it| it.keys().copied()).collect();
    if !directions.iter().eq(answer.keys()) {
        wrong.push(format!("{options}: directions {directions:?}"));
        return wrong;
    }
    let favours = ["zipf", "pareto", "normal"].iter().any(|name| options.contains(name));
    let figures = if favours { 3 } else { FIGURES };
    for (letter, theirs) in answer {
        for (at, theirs) in theirs.iter().enumerate().take(figures) {
            let drawn = || ours.iter().filter_map(|it| Some(it.get(letter)?[at]));
            let (low, high) = (drawn().min().unwrap_or(0), drawn().max().unwrap_or(0));
            let more = (high - low) / 2;
            if !(low.saturating_sub(more)..=high + more).contains(theirs) {
                wrong.push(format!("{options}: {letter}, figure {at}: fio {theirs}, here {low} to {high}"));
            }
        }
    }
    wrong
}

/// Jobs that fio ends early, and we do not: see docs/fio.md.
const DEPARTURES: [&str; 2] = ["rw=randrw bs=4k,16k size=16m", "rw=randwrite bs=4k size=256k io_size=1m verify=crc32c"];

fn answers() -> impl Iterator<Item = (&'static str, Summary)> {
    let lines = include_str!("random.log").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(" = ").expect("options and answer")).map(|(options, it)| (options, parsed(it)))
}

#[test]
fn jobs_with_chance_do_as_much_as_fio() {
    let held = answers().filter(|(options, _)| !DEPARTURES.contains(options));
    let wrong: Vec<String> = held.flat_map(|(options, answer)| differences(options, &answer)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn departures_and_another_job_than_the_one_asked_for_are_noticed() {
    let answer_to = |asked: &str| answers().find(|(options, _)| *options == asked).expect(asked).1;
    for options in DEPARTURES {
        assert!(!differences(options, &answer_to(options)).is_empty(), "{options}");
    }
    let others = [
        ("rw=randread bs=4k size=1m", "rw=randread bs=4k size=1m norandommap"),
        ("rw=randread:4 bs=4k size=4m", "rw=randread:3 bs=4k size=4m"),
        ("rw=randrw bs=4k size=16m rwmixread=70", "rw=randrw bs=4k size=16m"),
        ("rw=randread bs=4k size=16m random_distribution=normal:20", "rw=randread bs=4k size=16m norandommap"),
        ("rw=randread bs=4k size=16m percentage_random=50", "rw=randread:2 bs=4k size=16m"),
    ];
    for (asked, other) in others {
        assert!(!differences(other, &answer_to(asked)).is_empty(), "{asked} as {other}");
    }
}

#[test]
fn every_job_of_the_list_was_asked_for() {
    let jobs: Vec<&str> = include_str!("random_jobs").lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(jobs, answers().map(|(options, _)| options).collect::<Vec<_>>());
}
