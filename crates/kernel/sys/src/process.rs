//! Starts processes with given scheduling attributes: cgroup, class, nice value, slice. Child processes inherit them.

use std::ffi::CString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// A class of the kernel's scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `SCHED_OTHER`: the default class.
    Other,
    /// `SCHED_BATCH`: does not preempt on waking.
    Batch,
    /// `SCHED_IDLE`: runs only when nothing else does.
    Idle,
    /// `SCHED_FIFO` with a priority from 1 to 99.
    Fifo(u32),
    /// `SCHED_RR` with a priority from 1 to 99.
    RoundRobin(u32),
    /// `SCHED_EXT`: scheduled by the policy that `goodness live` loads.
    Ext,
}

impl Class {
    fn number(self) -> (u32, u32) {
        match self {
            Class::Other => (libc::SCHED_OTHER as u32, 0),
            Class::Batch => (libc::SCHED_BATCH as u32, 0),
            Class::Idle => (libc::SCHED_IDLE as u32, 0),
            Class::Fifo(priority) => (libc::SCHED_FIFO as u32, priority),
            Class::RoundRobin(priority) => (libc::SCHED_RR as u32, priority),
            Class::Ext => (crate::SCHED_EXT as u32, 0),
        }
    }
}

/// Attributes of a process to start. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Folders of the cgroups to join.
    pub groups: Vec<PathBuf>,
    /// Its nice value, -20 to 19.
    pub nice: Option<i32>,
    /// Its class.
    pub class: Option<Class>,
    /// Its own slice in ns, in the fair classes (Linux 6.12 and later).
    pub slice: Option<u64>,
    /// The CPUs it may use.
    pub cpus: Option<Vec<u32>>,
    /// True to start it in a new session, which gives it its own autogroup on kernels that have them. Nice values count
    /// within an autogroup only.
    pub session: bool,
    /// Variables of its environment, beside those it has anyway.
    pub environment: Vec<(String, String)>,
}

/// `struct sched_attr` of `linux/sched/types.h`, as Linux 5.3 has it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    size: u32,
    /// `SCHED_…` number of the class.
    pub policy: u32,
    /// [`RESET_ON_FORK`] or 0.
    pub flags: u64,
    /// Nice value, of the fair classes.
    pub nice: i32,
    /// Priority, of the real-time classes.
    pub priority: u32,
    /// In the fair classes the slice in ns.
    pub runtime: u64,
    deadline: u64,
    period: u64,
    util_min: u32,
    util_max: u32,
}

const ATTRIBUTES: u32 = size_of::<Attributes>() as u32;
/// `SCHED_FLAG_RESET_ON_FORK`. Must not be set, because children inherit the attributes.
pub const RESET_ON_FORK: u64 = 1;

impl Attributes {
    /// All zero except the size, by which the kernel identifies the layout.
    #[must_use]
    pub fn sized() -> Attributes {
        Attributes { size: ATTRIBUTES, ..Attributes::default() }
    }

    fn is_real_time(&self) -> bool {
        [libc::SCHED_FIFO as u32, libc::SCHED_RR as u32].contains(&self.policy)
    }
}

impl Conditions {
    /// Makes `command` start with these attributes.
    ///
    /// # Errors
    /// A path that contains a NUL.
    pub fn apply(&self, command: &mut Command) -> io::Result<()> {
        let files: Vec<CString> = self
            .groups
            .iter()
            .map(|group| crate::c_path(group.join("cgroup.procs").as_os_str()))
            .collect::<io::Result<_>>()?;
        let (nice, class, slice, session) = (self.nice, self.class, self.slice, self.session);
        let enter = move || {
            if session {
                lead_a_session();
            }
            for file in &files {
                join(file)?;
            }
            set(nice, class, slice)
        };
        if let Some(cpus) = &self.cpus {
            crate::confine(command, cpus);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // SAFETY: between fork and exec only system calls are made; nothing allocates or locks.
        unsafe { command.pre_exec(enter) };
        Ok(())
    }

    /// Checks that the kernel grants these attributes, cgroup aside, with a short-lived thread.
    ///
    /// # Errors
    /// The refused attribute, as a sentence.
    pub fn try_out(&self) -> Result<(), String> {
        let (nice, class, slice) = (self.nice, self.class, self.slice);
        let probe = std::thread::spawn(move || {
            set(nice, class, slice)?;
            attributes_of(0)
        });
        let got = probe.join().map_err(|_| "asking the kernel failed".to_string())?;
        let got = got.map_err(|why| in_words(&why, self))?;
        match slice {
            Some(_) if got.is_real_time() => {
                Err("slices belong to the fair classes; leave out the slice, or take class other or batch".to_string())
            }
            Some(_) if got.runtime == 0 => {
                Err("this kernel has no slices of single tasks; they came with Linux 6.12".to_string())
            }
            Some(slice) if got.runtime != slice => {
                Err(format!("the kernel makes a slice of {} ns of it; it takes 100us to 100ms", got.runtime))
            }
            _ => Ok(()),
        }
    }
}

fn in_words(why: &io::Error, asked: &Conditions) -> String {
    match why.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "the kernel refuses it to this user; run it as root".to_string(),
        Some(libc::EINVAL) if asked.class == Some(Class::Ext) => "this kernel has no class SCHED_EXT".to_string(),
        _ => format!("the kernel refuses it: {why}"),
    }
}

/// Becomes the leader of a new session. The leader of a group may not: it joins its parent's again first.
fn lead_a_session() {
    // SAFETY: no pointers. A process that leads a session already stays what it is.
    unsafe {
        if libc::setsid() < 0 {
            libc::setpgid(0, libc::getpgid(libc::getppid()));
            libc::setsid();
        }
    }
}

/// Moves the calling process into the cgroup with this `cgroup.procs`.
fn join(file: &CString) -> io::Result<()> {
    // SAFETY: a NUL-terminated string; the descriptor is ours.
    unsafe {
        let opened = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if opened < 0 {
            return Err(io::Error::last_os_error());
        }
        let written = libc::write(opened, c"0".as_ptr().cast(), 1);
        let why = io::Error::last_os_error();
        libc::close(opened);
        if written == 1 { Ok(()) } else { Err(why) }
    }
}

/// Sets these attributes of the calling thread; `None` leaves one unchanged.
fn set(nice: Option<i32>, class: Option<Class>, slice: Option<u64>) -> io::Result<()> {
    if nice.is_none() && class.is_none() && slice.is_none() {
        return Ok(());
    }
    let mut wanted = attributes_of(0)?;
    wanted.flags &= !RESET_ON_FORK;
    if let Some(class) = class {
        (wanted.policy, wanted.priority) = class.number();
    }
    wanted.nice = nice.unwrap_or(wanted.nice);
    // 0 gives the kernel's own slice back.
    wanted.runtime = slice.unwrap_or(0);
    give(&wanted)
}

/// Sets the attributes of the calling thread with a single system call.
///
/// # Errors
/// The error of sched_setattr(2).
pub fn give(wanted: &Attributes) -> io::Result<()> {
    // SAFETY: `wanted` is laid out as the kernel expects and outlives the call.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, std::ptr::from_ref(wanted), 0u32) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Scheduling attributes of a thread; 0 is the calling thread.
///
/// # Errors
/// The error of sched_getattr(2).
pub fn attributes_of(thread: u32) -> io::Result<Attributes> {
    let mut found = Attributes::sized();
    // SAFETY: room for as many bytes as said.
    match unsafe { libc::syscall(libc::SYS_sched_getattr, thread, &raw mut found, ATTRIBUTES, 0u32) } {
        0 => Ok(found),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The CPUs that this process may use, ascending.
#[must_use]
pub fn usable_cpus() -> Vec<u32> {
    crate::affinity_of(0).unwrap_or_default()
}

/// Sends SIGTERM to a process. A missing process is not an error.
pub fn ask_to_end(process: u32) {
    crate::send_signal(process, libc::SIGTERM);
}

/// The effective user id of this process.
pub fn effective_user() -> u32 {
    // SAFETY: takes no arguments, cannot fail.
    unsafe { libc::geteuid() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    /// Attributes of a shell and of a process it starts.
    fn seen(conditions: &Conditions) -> [Attributes; 2] {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 5 & echo $!; wait"]).stdout(Stdio::piped()).process_group(0);
        conditions.apply(&mut shell).expect("plain paths");
        let mut child = shell.spawn().expect("starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("text");
        let grandchild: u32 = line.trim().parse().expect("a number");
        let seen = [child.id(), grandchild].map(|id| attributes_of(id).expect("runs"));
        crate::send_signal(grandchild, libc::SIGKILL);
        child.wait().expect("ends");
        seen
    }

    #[test]
    fn what_a_process_starts_inherits_its_conditions() {
        let slice = 7_000_000;
        let conditions = Conditions { nice: Some(7), class: Some(Class::Batch), ..Conditions::default() };
        for found in seen(&conditions) {
            assert_eq!((found.policy, found.nice), (libc::SCHED_BATCH as u32, 7));
        }
        let own = Conditions { slice: Some(slice), ..Conditions::default() };
        match own.try_out() {
            Ok(()) => seen(&own).iter().for_each(|found| assert_eq!(found.runtime, slice)),
            Err(why) => eprintln!("SKIPPED slices of single tasks: {why}"),
        }
    }

    #[test]
    fn what_the_kernel_would_change_is_refused() {
        let why = Conditions { slice: Some(1), ..Conditions::default() }.try_out().expect_err("1 ns");
        assert!(why.contains("100us to 100ms") || why.contains("6.12"), "{why}");
        let both = Conditions { slice: Some(10_000_000), class: Some(Class::Fifo(1)), ..Conditions::default() };
        let why = both.try_out().expect_err("no slices in this class");
        assert!(why.contains("fair classes") || why.contains("as root"), "{why}");
        assert!(Conditions { class: Some(Class::Fifo(100)), ..Conditions::default() }.try_out().is_err());
    }

    #[test]
    fn a_process_leads_a_session_also_when_it_was_to_lead_a_group() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "cat /proc/self/stat; echo $$"]).process_group(0);
        Conditions { session: true, ..Conditions::default() }.apply(&mut shell).expect("plain paths");
        let text = String::from_utf8(shell.output().expect("runs").stdout).expect("text");
        let (stat, leader) = text.trim().split_once('\n').expect("two lines");
        let session = stat.rsplit_once(')').expect("a name").1.split_whitespace().nth(3);
        assert_eq!(session, Some(leader));
    }
}
