//! Files that people write and record, and edits of them.

use goodness_core::Rng;
use std::path::{Path, PathBuf};

/// Lines kept of a recording: enough for waits and wake-ups, few enough for many commands a second.
const LINES: usize = 600;

/// A file to hand to a command.
#[derive(Clone)]
pub struct File {
    pub name: String,
    pub bytes: Vec<u8>,
}

impl File {
    /// True for a recording, false for work that is described.
    pub fn is_recording(&self) -> bool {
        self.name.ends_with(".txt")
    }
}

/// The files that draws begin with.
pub struct Seeds {
    files: Vec<File>,
}

impl Seeds {
    /// Examples, files of other tools, and the beginnings of recordings.
    pub fn of_tree() -> Seeds {
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = Vec::new();
        for (folder, ends) in [
            ("examples", &[".toml", ".fio"][..]),
            ("crates/policies/tests/oracle/workloads", &[".json"]),
            ("crates/sim/tests", &[".toml"]),
        ] {
            let mut paths = Vec::new();
            below(&tree.join(folder), &mut paths);
            paths.sort();
            let of = |path: &PathBuf| {
                let name = path.file_name()?.to_string_lossy().into_owned();
                let is_work = name != "published.toml" && ends.iter().any(|end| name.ends_with(end));
                is_work.then(|| File { bytes: std::fs::read(path).unwrap(), name })
            };
            files.extend(paths.iter().filter_map(of));
        }
        for name in ["redis-benchmark-8", "mixed-cpu", "apache-ab-c32-2cpu"] {
            files.push(beginning(&tree.join(format!("recordings/{name}.ftrace.zst")), name));
        }
        for name in ["d1x8-none", "think-mq-deadline"] {
            files.push(beginning(&tree.join(format!("recordings/block/{name}.ftrace.zst")), name));
        }
        assert!(files.len() > 20, "{} files", files.len());
        Seeds { files }
    }

    /// One of the files with up to four edits.
    pub fn draw(&self, rng: &mut Rng) -> File {
        let mut file = self.files[rng.below(self.files.len() as u64) as usize].clone();
        for _ in 0..rng.below(5) {
            edit(&mut file.bytes, rng);
        }
        file
    }
}

/// All files below a folder.
fn below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the tree") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { below(&path, found) } else { found.push(path) }
    }
}

/// The first lines of a recording.
fn beginning(path: &Path, name: &str) -> File {
    let text = goodness_trace::Input::open(path).expect("a recording");
    let mut bytes = Vec::new();
    for line in std::io::BufRead::split(std::io::BufReader::new(text), b'\n').take(LINES) {
        bytes.extend(line.expect("a line"));
        bytes.push(b'\n');
    }
    File { name: format!("{name}.txt"), bytes }
}

/// Values that nobody means, and some that people do.
pub const VALUES: [&str; 41] = [
    "",
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "64",
    "8192",
    "65536",
    "4294967296",
    "18446744073709551616",
    "1e308",
    "-1e308",
    "nan",
    "inf",
    "0.1",
    "1e-9",
    "0ns",
    "1ns",
    "7us",
    "3ms",
    "20ms",
    "1s",
    "999999999h",
    "-5ms",
    "1e30s",
    "0%",
    "101%",
    "-20",
    "19",
    "20",
    "0-3",
    "3-0",
    "0..0",
    "5ms..1ms",
    "10ms..20ms",
    "\u{202e}\u{7}name",
    "'",
    "*",
];

/// Times in range, most of them.
const TIMES: [&str; 8] = ["0ns", "1ns", "333ns", "7us", "1ms", "3ms", "20ms", "2s"];
/// Numbers in range, most of them.
const NUMBERS: [&str; 9] = ["0", "1", "2", "3", "5", "8", "19", "100", "4097"];

/// One edit: of lines, numbers, words or bytes.
fn edit(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|it| *it == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return bytes.extend(b"[[task]]\n");
    }
    let at = rng.below(lines.len() as u64) as usize;
    let other = rng.below(lines.len() as u64) as usize;
    match rng.below(20) {
        0 => drop(lines.remove(at)),
        1 => {
            let line = lines[at].clone();
            let times = [1, 2, 300][rng.below(3) as usize];
            lines.splice(other..other, std::iter::repeat_n(line, times));
        }
        2 => lines.swap(at, other),
        3 => lines.truncate(at),
        4 => {
            let line = &mut lines[at];
            line.truncate(rng.below(line.len() as u64 + 1) as usize);
        }
        5 => {
            let line = &mut lines[at];
            let place = rng.below(line.len() as u64) as usize;
            line[place] = rng.below(256) as u8;
        }
        6 => {
            let depth = [3, 200, 20_000][rng.below(3) as usize];
            let bracket = [b'[', b'{', b'(', b'"'][rng.below(4) as usize];
            lines.insert(at, vec![bracket; depth]);
        }
        _ => swap_word(&mut lines[at], rng),
    }
    *bytes = lines.concat();
}

/// A value to put in place of a word: half of them of its kind, a number or a time.
fn alike(word: &[u8], rng: &mut Rng) -> &'static str {
    let of_kind: &[&str] = match word {
        [b'0'..=b'9', .., b's'] => &TIMES,
        [b'0'..=b'9', ..] => &NUMBERS,
        _ => &VALUES,
    };
    let pool = if rng.below(2) == 0 { of_kind } else { &VALUES };
    pool[rng.below(pool.len() as u64) as usize]
}

/// Another value in place of a word of a line.
fn swap_word(line: &mut Vec<u8>, rng: &mut Rng) {
    let is_word = |it: &u8| it.is_ascii_alphanumeric() || b"._-".contains(it);
    let mut words: Vec<std::ops::Range<usize>> = Vec::new();
    for (place, _) in line.iter().enumerate().filter(|(_, it)| is_word(it)) {
        match words.last_mut().filter(|it| it.end == place) {
            Some(word) => word.end = place + 1,
            None => words.push(place..place + 1),
        }
    }
    // Numbers are three times as likely: most limits are about them.
    let numbers: Vec<_> = words.iter().filter(|it| line[it.start].is_ascii_digit()).cloned().collect();
    let pool = if rng.below(4) > 0 && !numbers.is_empty() { numbers } else { words };
    if let Some(word) = pool.get(rng.below(pool.len().max(1) as u64) as usize) {
        let value = alike(&line[word.clone()], rng);
        line.splice(word.clone(), value.bytes());
    }
}
