//! Kinds of change that can be undone, and their journal format.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::line;

/// One change to the machine, to be undone. Removed objects must carry our mark. Values are written back only below
/// `/proc/sys` or `/sys`, or in a folder with our mark. Everything else is refused, even from a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Write `value` back to the file.
    Put {
        /// A file of the kernel.
        file: PathBuf,
        /// Value before the change.
        value: String,
        /// Value after the change. If the file holds another value at undo time, it was changed by someone else since
        /// and is left alone. `None` before the change, and for files that take commands; then the value is always
        /// written.
        written: Option<String>,
    },
    /// Remove an empty folder.
    RemoveFolder(PathBuf),
    /// Remove a file.
    RemoveFile(PathBuf),
    /// Remove a private folder with all in it. Other file systems in it are not entered.
    RemoveTree(PathBuf),
    /// Unmount, and remove the folder that was mounted on.
    Unmount(PathBuf),
    /// Remove the loop device of this number, unless it is attached to another file than this.
    LoopDevice {
        /// The N of `/dev/loopN`.
        number: u32,
        /// The file behind it.
        image: PathBuf,
    },
    /// Switch a trace instance off and remove it.
    TraceInstance(PathBuf),
    /// Kill every process of a cgroup and remove it.
    Cgroup(PathBuf),
    /// Kill a process and its group, if the process id still belongs to the process started then.
    Group {
        /// The process that leads the group.
        leader: u32,
        /// Start time, in ticks since boot.
        started: u64,
    },
}

impl Action {
    /// The resource changed, if other processes could change it too.
    #[must_use]
    pub fn resource(&self) -> Option<PathBuf> {
        match self {
            Action::Put { file, .. } => Some(resource_of(file)),
            Action::Unmount(at) | Action::TraceInstance(at) | Action::Cgroup(at) => Some(at.clone()),
            Action::LoopDevice { number, .. } => Some(format!("/dev/loop{number}").into()),
            // The names are private to one process.
            Action::RemoveFolder(_) | Action::RemoveFile(_) | Action::RemoveTree(_) | Action::Group { .. } => None,
        }
    }

    /// Verb and fields.
    fn words(&self) -> (&'static str, Vec<Vec<u8>>) {
        let path = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let number = |number: u64| number.to_string().into_bytes();
        match self {
            Action::Put { file, value, written } => {
                let texts = std::iter::once(value).chain(written).map(|text| text.clone().into_bytes());
                ("put", std::iter::once(path(file)).chain(texts).collect())
            }
            Action::RemoveFolder(at) => ("rmdir", vec![path(at)]),
            Action::RemoveFile(at) => ("unlink", vec![path(at)]),
            Action::RemoveTree(at) => ("tree", vec![path(at)]),
            Action::Unmount(at) => ("unmount", vec![path(at)]),
            Action::LoopDevice { number: n, image } => ("loop", vec![number(u64::from(*n)), path(image)]),
            Action::TraceInstance(at) => ("instance", vec![path(at)]),
            Action::Cgroup(at) => ("cgroup", vec![path(at)]),
            Action::Group { leader, started } => ("group", vec![number(u64::from(*leader)), number(*started)]),
        }
    }

    /// The journal line: `NUMBER VERB FIELD…`, with line end.
    #[must_use]
    pub fn line(&self, number: u64) -> Vec<u8> {
        let (verb, fields) = self.words();
        let mut text = format!("{number} {verb}").into_bytes();
        for field in fields {
            text.push(b' ');
            line::encode(&field, &mut text);
        }
        text.push(b'\n');
        text
    }

    /// Parses a journal line; `None` for an unknown one.
    #[must_use]
    pub fn read(text: &[u8]) -> Option<(u64, Action)> {
        use std::ffi::OsString;
        use std::os::unix::ffi::OsStringExt;
        let parts = line::Parts::of(text)?;
        let bytes = |at: usize| parts.field(at).and_then(line::decoded);
        let path = |at: usize| Some(PathBuf::from(OsString::from_vec(bytes(at)?)));
        let number = |at: usize| String::from_utf8(bytes(at)?).ok()?.parse::<u64>().ok();
        let action = match parts.verb {
            b"put" => {
                let written = bytes(2).map(String::from_utf8).transpose().ok()?;
                Action::Put { file: path(0)?, value: String::from_utf8(bytes(1)?).ok()?, written }
            }
            b"rmdir" => Action::RemoveFolder(path(0)?),
            b"unlink" => Action::RemoveFile(path(0)?),
            b"tree" => Action::RemoveTree(path(0)?),
            b"unmount" => Action::Unmount(path(0)?),
            b"loop" => Action::LoopDevice { number: u32::try_from(number(0)?).ok()?, image: path(1)? },
            b"instance" => Action::TraceInstance(path(0)?),
            b"cgroup" => Action::Cgroup(path(0)?),
            b"group" => Action::Group { leader: u32::try_from(number(0)?).ok()?, started: number(1)? },
            _ => return None,
        };
        Some((parts.number, action))
    }
}

/// The resource a kernel file belongs to: the disk for settings of its queue, else the file itself.
fn resource_of(file: &Path) -> PathBuf {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let names: Vec<Component<'_>> = file.components().collect();
    let is = |at: usize, name: &str| names.get(at).is_some_and(|it| it.as_os_str() == name);
    match (0..names.len()).find(|at| is(*at, "block") && is(at + 2, "queue")) {
        Some(at) => names[..at + 2].iter().collect(),
        None => file,
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Put { file, value, .. } => write!(f, "write \"{value}\" back to {}", file.display()),
            Action::RemoveFolder(at) => write!(f, "remove the folder {}", at.display()),
            Action::RemoveFile(at) => write!(f, "remove the file {}", at.display()),
            Action::RemoveTree(at) => write!(f, "remove {} and all in it", at.display()),
            Action::Unmount(at) => write!(f, "unmount {}", at.display()),
            Action::LoopDevice { number, .. } => write!(f, "remove the loop device {number}"),
            Action::TraceInstance(at) => write!(f, "remove the trace instance {}", at.display()),
            Action::Cgroup(at) => write!(f, "stop what runs in the cgroup {} and remove it", at.display()),
            Action::Group { leader, .. } => write!(f, "stop process {leader} and its group"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind, with names that break careless formats.
    fn each() -> Vec<Action> {
        let path = |name: &str| PathBuf::from(format!("/x y/100%\n{name}"));
        vec![
            Action::Put { file: path("file"), value: "a b\n%20".to_string(), written: None },
            Action::Put { file: path("empty"), value: String::new(), written: Some(String::new()) },
            Action::Put { file: path("both"), value: "a".into(), written: Some("b c".into()) },
            Action::RemoveFolder(path("folder")),
            Action::RemoveFile(path("file")),
            Action::RemoveTree(path("tree")),
            Action::Unmount(path("mount")),
            Action::LoopDevice { number: 64, image: path("image") },
            Action::TraceInstance(path("instance")),
            Action::Cgroup(path("cgroup")),
            Action::Group { leader: 812, started: 1 << 40 },
        ]
    }

    #[test]
    fn an_action_is_read_back_as_it_was_written() {
        for (number, action) in each().into_iter().enumerate() {
            let line = action.line(number as u64);
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "one line: {action}");
            assert_eq!(Action::read(&line[..line.len() - 1]), Some((number as u64, action)));
        }
    }

    #[test]
    fn a_line_that_was_cut_short_says_nothing_else() {
        for action in each() {
            let line = action.line(7);
            for end in 0..line.len() - 1 {
                if let Some((_, read)) = Action::read(&line[..end]) {
                    assert_eq!(std::mem::discriminant(&read), std::mem::discriminant(&action));
                }
            }
        }
    }

    #[test]
    fn all_settings_of_a_disk_are_one_resource_and_a_kernel_setting_is_its_own() {
        let of = |file: &str| resource_of(Path::new(file)).display().to_string();
        assert_eq!(of("/none/block/sda/queue/scheduler"), "/none/block/sda");
        assert_eq!(of("/none/block/sda/queue/iosched/read_expire"), "/none/block/sda");
        assert_eq!(of("/none/sys/kernel/sched_rr"), "/none/sys/kernel/sched_rr");
        assert_eq!(of("/none/block/queue"), "/none/block/queue");
    }
}
