//! Typical edits of a recording's text: filtering lines by CPU or event, cutting out parts, removing headers, joining
//! recordings, shifting clocks. Shared by the tests of this crate, those of whole commands, and the fuzz target
//! `filtered`.

use std::io::Read;

/// Kinds of events that a filter keeps or drops.
pub const EVENTS: [&str; 8] = [
    "sched_switch:",
    "sched_waking:",
    "sched_wakeup:",
    "sched_wakeup_new:",
    "sched_process_fork:",
    "sched_process_exit:",
    "sched_migrate_task:",
    "sched_",
];

/// Lines above which a text is not doubled: edits are many, and tests short.
pub const LONG: usize = 20_000;

/// One edit of a text.
#[derive(Clone, Copy, Debug)]
pub enum Edit {
    /// Only lines that this CPU wrote stay.
    OnlyCpu(u8),
    /// Lines that this CPU wrote go.
    WithoutCpu(u8),
    /// Only this kind of event stays.
    OnlyEvent(u8),
    /// This kind of event goes.
    WithoutEvent(u8),
    /// Header lines go.
    WithoutHeader,
    /// Removes a range: start and length, in 256ths of the text.
    WithoutStretch(u8, u8),
    /// Removes one line in this many.
    OneIn(u8),
    /// Each wake-up is for this CPU.
    WakeUpsFor(u8),
    /// The clock of a CPU is ahead of the others by so many times 50 µs.
    Ahead(u8, u8),
    /// A quarter of the text that begins at so many 256ths of it stands at its end.
    Moved(u8),
    /// One line in this many stands twice.
    Twice(u8),
    /// The recording is joined to itself, unless it is [`LONG`].
    Joined,
    /// One line in this many ends in its middle.
    CutShort(u8),
    /// This CPU wrote every line.
    AllOn(u8),
}

impl Edit {
    /// The edit encoded by three bytes.
    pub fn of(bytes: [u8; 3]) -> Edit {
        let [kind, a, b] = bytes;
        match kind % 14 {
            0 => Edit::OnlyCpu(a % 4),
            1 => Edit::WithoutCpu(a % 4),
            2 => Edit::OnlyEvent(a),
            3 => Edit::WithoutEvent(a),
            4 => Edit::WithoutHeader,
            5 => Edit::WithoutStretch(a, b),
            6 => Edit::OneIn(a),
            7 => Edit::WakeUpsFor(a),
            8 => Edit::Ahead(a % 4, b),
            9 => Edit::Moved(a),
            10 => Edit::Twice(a),
            11 => Edit::Joined,
            12 => Edit::CutShort(a),
            _ => Edit::AllOn(a % 4),
        }
    }

    /// The lines after the edit.
    pub fn apply(self, lines: Vec<String>) -> Vec<String> {
        let is_header = |line: &str| line.starts_with('#');
        let event = |kind: u8| EVENTS[usize::from(kind) % EVENTS.len()];
        let kept = |keep: &dyn Fn(usize, &str) -> bool| {
            let kept = lines.iter().enumerate().filter(|(at, line)| is_header(line) || keep(*at, line));
            kept.map(|(_, line)| line.clone()).collect()
        };
        match self {
            Edit::OnlyCpu(cpu) => kept(&|_, line| line.contains(&format!("[{cpu:03}]"))),
            Edit::WithoutCpu(cpu) => kept(&|_, line| !line.contains(&format!("[{cpu:03}]"))),
            Edit::OnlyEvent(kind) => kept(&|_, line| line.contains(event(kind))),
            Edit::WithoutEvent(kind) => kept(&|_, line| !line.contains(event(kind))),
            Edit::WithoutHeader => lines.into_iter().filter(|line| !is_header(line)).collect(),
            Edit::WithoutStretch(begin, length) => {
                let part = |n: u8| lines.len() * usize::from(n) / 256;
                kept(&|at, _| !(part(begin)..part(begin) + part(length)).contains(&at))
            }
            Edit::OneIn(n) => kept(&|at, _| at % (usize::from(n) + 2) != 0),
            Edit::WakeUpsFor(cpu) => lines.iter().map(|line| for_cpu(line, cpu)).collect(),
            Edit::Ahead(..) | Edit::Moved(_) | Edit::Twice(_) | Edit::Joined | Edit::CutShort(_) | Edit::AllOn(_) => {
                self.disorder(lines)
            }
        }
    }

    /// The lines after an edit that keeps them all.
    fn disorder(self, mut lines: Vec<String>) -> Vec<String> {
        let is_one_in = |at: usize, n: u8| at.is_multiple_of(usize::from(n) + 2);
        match self {
            Edit::Ahead(cpu, by) => lines.iter().map(|line| ahead(line, cpu, by)).collect(),
            Edit::Moved(begin) => {
                let from = lines.len() * usize::from(begin) / 256;
                let to = (from + lines.len() / 4).min(lines.len());
                let moved: Vec<String> = lines.drain(from..to).collect();
                lines.into_iter().chain(moved).collect()
            }
            Edit::Twice(n) => {
                let times = |at| if is_one_in(at, n) { 2 } else { 1 };
                lines.iter().enumerate().flat_map(|(at, line)| std::iter::repeat_n(line.clone(), times(at))).collect()
            }
            Edit::CutShort(n) => {
                let short = |line: &str| line.chars().take(line.chars().count() / 2).collect();
                let cut = |(at, line): (usize, &String)| if is_one_in(at, n) { short(line) } else { line.clone() };
                lines.iter().enumerate().map(cut).collect()
            }
            Edit::AllOn(cpu) => lines.iter().map(|line| on_cpu(line, cpu)).collect(),
            _ if lines.len() > LONG => lines,
            _ => [lines.clone(), lines].concat(),
        }
    }
}

/// The line with a later time, if this CPU wrote it.
fn ahead(line: &str, cpu: u8, by: u8) -> String {
    let later = || {
        let (front, event) = line.split_once(": ").filter(|(front, _)| front.contains(&format!("[{cpu:03}]")))?;
        let (front, time) = front.rsplit_once(' ')?;
        let (whole, part) = time.split_once('.')?;
        let part: u64 = format!("{part:0<9}").get(..9)?.parse().ok()?;
        let ns = whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)? + part + u64::from(by) * 50_000;
        Some(format!("{front} {}.{:09}: {event}", ns / 1_000_000_000, ns % 1_000_000_000))
    };
    later().unwrap_or_else(|| line.into())
}

/// The line, written by this CPU.
fn on_cpu(line: &str, cpu: u8) -> String {
    match line.split_once('[').and_then(|(front, rest)| Some((front, rest.split_once(']')?.1))) {
        Some((front, back)) if !line.starts_with('#') => format!("{front}[{cpu:03}]{back}"),
        _ => line.into(),
    }
}

/// The line with another CPU as the target of its wake-up.
fn for_cpu(line: &str, cpu: u8) -> String {
    match line.split_once(" target_cpu=") {
        Some((front, _)) => format!("{front} target_cpu={cpu:03}"),
        None => line.into(),
    }
}

/// The first `most` lines of a recording.
pub fn lines(recording: impl Read, most: usize) -> Vec<String> {
    let mut text = String::new();
    let mut recording = recording.take(1 << 21);
    recording.read_to_string(&mut text).expect("a recording is text");
    text.lines().take(most).map(String::from).collect()
}

/// The text after all `edits`. The first line marks it as ftrace text, as filters leave it.
pub fn edited(mut lines: Vec<String>, edits: &[Edit]) -> Vec<u8> {
    for edit in edits {
        lines = edit.apply(lines);
    }
    format!("# tracer: nop\n{}\n", lines.join("\n")).into_bytes()
}
