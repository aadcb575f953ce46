//! Parts of shipped recordings, whole and after drawn edits of their lines: summary, recovered work, why its latencies
//! are long, and a comparison of its replays with what was recorded and with a change.

use super::edits::{Edit, edited, lines};
use super::{any_policy, compared, hold, line, told};
use goodness::why::{Latencies, Question, why_recorded};
use goodness::{OpenOptions, Refusal, open, unwatched};
use goodness_core::{Rng, Seed};
use goodness_replay::{Arrivals, Ends, Others};
use goodness_trace::Input;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Folders of `recordings` whose recordings are read, one of each name that differs by a number alone.
const FOLDERS: [&str; 6] = ["", "guest", "messages", "block", "predicted", "repeats"];
/// Lines of each recording, and texts of each; the first two have no edit.
const LINES: usize = 4_000;
const TEXTS: u64 = 6;
/// Changes of drawn arms; as many have none.
const CHANGES: [&str; 8] =
    ["cpus=1", "cpus=4", "*.compute=50%", "*.nice=5", "*.affinity=0", "*.class=batch", "hz=1000", "*.slice=1ms"];

/// Drawn options of opening the work: one in three is not the default.
fn options(rng: &mut Rng) -> OpenOptions {
    let mut coin = || rng.below(3) == 0;
    let mut options = OpenOptions::default();
    options.replay.arrivals = if coin() { Arrivals::Recorded } else { options.replay.arrivals };
    options.replay.others = if coin() { Others::LeftOut } else { options.replay.others };
    options.replay.ends = if coin() { Ends::Recorded } else { options.replay.ends };
    options.block_only = coin() && coin();
    options.judge = if coin() && !options.block_only { vec!["*".into()] } else { Vec::new() };
    options
}

/// A drawn arm beside the recording's own policy.
fn replayed(path: &str, rng: &mut Rng, options: &OpenOptions) -> Result<String, Refusal> {
    let work = open(path, options, &unwatched)?;
    let change = CHANGES.get(rng.below(2 * CHANGES.len() as u64) as usize).copied().unwrap_or_default();
    let policy = if rng.below(2) == 0 { any_policy(rng) } else { String::new() };
    compared(&work, &format!("{policy} {change}"))
}

/// The causes of long latencies in the recording as it is.
fn why(path: &str) -> String {
    let all = [None, Some(Latencies::Wakeups), Some(Latencies::All)].map(|of| {
        let question = Question { of, worst: 4, ..Question::default() };
        told(why_recorded(path, &OpenOptions::default(), &question, &unwatched))
    });
    all.join("\n")
}

/// The first lines of a recording after so many drawn edits, read with drawn options.
fn text(packed: &Path, number: u64, folder: &Path) -> String {
    let shipped = lines(Input::open(packed).expect("it is shipped"), LINES);
    let mut rng = Seed(number).stream(&name(packed), 0).rng();
    let mut byte = || rng.below(256) as u8;
    let edits: Vec<Edit> = (0..number / 2).map(|_| Edit::of([byte(), byte(), byte()])).collect();
    let path = folder.join("part.txt");
    std::fs::write(&path, edited(shipped, &edits)).expect("the folder can be written to");
    let path = path.to_str().expect("a plain path");
    let options = if number == 0 { OpenOptions::default() } else { options(&mut rng) };
    let replayed = replayed(path, &mut rng, &options).unwrap_or_else(|refusal| refusal.to_string());
    format!("{edits:?}\n{replayed}\n{}", why(path)).replace(folder.to_str().expect("a plain path"), "")
}

/// The name of a recording without its number.
fn name(packed: &Path) -> String {
    let name = packed.file_name().and_then(|it| it.to_str()).expect("a plain name");
    name.split('.').next().unwrap_or(name).into()
}

fn recordings() -> BTreeMap<String, PathBuf> {
    let folders = FOLDERS.map(|it| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings").join(it));
    let mut found: Vec<PathBuf> = folders
        .iter()
        .flat_map(|it| std::fs::read_dir(it).expect("a folder"))
        .map(|it| it.expect("a file").path())
        .collect();
    found.retain(|it| it.to_string_lossy().ends_with(".ftrace.zst"));
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.into_iter().map(|it| (name(&it), it)).collect()
}

#[test]
fn recordings_come_to_what_the_ledger_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |(name, packed): (String, PathBuf)| {
        line("recordings", &name, &Vec::from_iter((0..TEXTS).map(|it| text(&packed, it, folder.path()))))
    };
    hold("recordings", &Vec::from_iter(recordings().into_iter().map(of)));
}
