//! Typical edits of a recording's text: filtering lines by CPU or event, cutting out parts, removing headers. Shared by
//! the tests of this crate and the fuzz target `filtered`.

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
}

impl Edit {
    /// The edit encoded by three bytes.
    pub fn of(bytes: [u8; 3]) -> Edit {
        let [kind, a, b] = bytes;
        match kind % 8 {
            0 => Edit::OnlyCpu(a % 4),
            1 => Edit::WithoutCpu(a % 4),
            2 => Edit::OnlyEvent(a),
            3 => Edit::WithoutEvent(a),
            4 => Edit::WithoutHeader,
            5 => Edit::WithoutStretch(a, b),
            6 => Edit::OneIn(a),
            _ => Edit::WakeUpsFor(a),
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
        }
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
