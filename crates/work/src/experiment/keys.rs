//! The keys of experiment files. The reader accepts these and no others; the reference is written from them.

mod storage;

use crate::key::{Key, Section, key};
pub(super) use storage::{ACCESS, DISK, FILE, PIECE, VOLUME};

/// The tables of an experiment file, in the order of the reference.
pub const SECTIONS: &[Section] = &[
    Section { name: "experiment", written: "key = value", summary: "Keys at the top of the file.", keys: TOP },
    Section { name: "task", written: "[[task]]", summary: "A task, or several equal ones.", keys: TASK },
    Section {
        name: "step",
        written: "program = [ { verb = value }, … ]",
        summary: "A step of a program. Each step has one verb; read and write have more keys: section access.",
        keys: STEPS,
    },
    Section {
        name: "access",
        written: r#"program = [ { read = "NAME", size = "64KiB", … } ]"#,
        summary: "A step that reads or writes.",
        keys: ACCESS,
    },
    Section {
        name: "outside",
        written: "[[outside]]",
        summary: "A client or device outside the machine, which uses no CPU. Its steps sleep, wait or pass messages.",
        keys: OUTSIDE,
    },
    Section {
        name: "reservation",
        written: "reservation = { … }",
        summary: "CPU time that a task of class deadline is promised.",
        keys: RESERVATION,
    },
    Section {
        name: "group",
        written: "[[group]]",
        summary: "A task group (cgroup); the name of its parent is above it in the file.",
        keys: GROUP,
    },
    Section { name: "lock", written: "[[lock]]", summary: "The kind of a lock that steps name.", keys: LOCK },
    Section {
        name: "fault",
        written: "[[fault]]",
        summary: "A fault of the machine, to see what a policy makes of it.",
        keys: FAULT,
    },
    Section {
        name: "workload",
        written: "[[workload]]",
        summary: "A built-in workload; beside use, its own parameters are keys (goodness list workloads NAME).",
        keys: WORKLOAD,
    },
    Section { name: "disk", written: "[[disk]]", summary: "A disk. It is a volume of the same name, too.", keys: DISK },
    Section { name: "volume", written: "[[volume]]", summary: "A volume on pieces of disks.", keys: VOLUME },
    Section { name: "piece", written: "pieces = [ { … } ]", summary: "A part of a disk.", keys: PIECE },
    Section { name: "file", written: "[[file]]", summary: "A file on a disk or volume.", keys: FILE },
    Section {
        name: "machine",
        written: "machine = { … }",
        summary: "The machine to simulate; also the keys of a machine file and of --machine KEY=VALUE,….",
        keys: crate::machine::KEYS,
    },
];

pub(super) const TOP: &[Key] = &[
    key("name", "text", "name of the file", "name of the experiment in reports", r#"name = "four hogs""#),
    key("duration", "time", "until all tasks end", "simulated time, a day at most", r#"duration = "20s""#),
    key("warmup", "time", r#""0""#, "time at the beginning that metrics leave out", r#"warmup = "1s""#),
    key(
        "machine",
        "text or table",
        "the preset ideal",
        "a preset, a file, or keys of section machine; --machine is stronger",
        "machine = { cpus = 2, hz = 100 }",
    ),
    key("cache", "size, 64KiB ..= 64GiB", r#""256MiB""#, "memory for pages of files", r#"cache = "1GiB""#),
    key(
        "task",
        "tables",
        "none",
        "tasks: section task",
        r#"[[task]]
program = [ { compute = "1ms" } ]"#,
    ),
    key(
        "group",
        "tables",
        "none",
        "task groups: section group",
        r#"[[group]]
name = "db""#,
    ),
    key(
        "lock",
        "tables",
        "none",
        "kinds of locks: section lock",
        r#"[[lock]]
name = "m"
kind = "spin""#,
    ),
    key(
        "fault",
        "tables",
        "none",
        "faults of the machine: section fault",
        r#"[[fault]]
kind = "stolen"
at = "1s"
for = "200ms""#,
    ),
    key(
        "outside",
        "tables",
        "none",
        "clients and devices that use no CPU: section outside",
        r#"[[outside]]
program = [ { sleep = "1ms" } ]"#,
    ),
    key(
        "workload",
        "one table",
        "none",
        "a built-in workload, instead of or beside tasks: section workload",
        r#"[[workload]]
use = "hogs""#,
    ),
    key(
        "disk",
        "tables",
        "none",
        "disks: section disk",
        r#"[[disk]]
name = "sdc"
device = "null""#,
    ),
    key(
        "volume",
        "tables",
        "none",
        "volumes on disks: section volume",
        r#"[[volume]]
name = "v"
pieces = [ { disk = "sda" } ]"#,
    ),
    key(
        "file",
        "tables",
        "none",
        "files on disks and volumes: section file",
        r#"[[file]]
name = "table"
volume = "sda"
size = "64KiB""#,
    ),
];

pub(super) const TASK: &[Key] = &[
    key("name", "text", r#""task""#, "name; with count, a number is appended: hog-0, hog-1", r#"name = "hog""#),
    key("count", "whole number, 1 ..= 1000000", "1", "number of equal tasks", "count = 4"),
    key("nice", "whole number, -20 ..= 19", "0", "nice", "nice = -5"),
    key(
        "class",
        "normal, batch, idle, fifo, rr, iso or deadline",
        r#""normal""#,
        "scheduling class",
        r#"class = "batch""#,
    ),
    key(
        "rt_priority",
        "whole number, 1 ..= 99",
        "required in the classes fifo and rr, else refused",
        "real-time priority, larger is more urgent",
        r#"class = "fifo"
rt_priority = 50"#,
    ),
    key(
        "io_priority",
        "rt-0 to rt-7, be-0 to be-7, or idle",
        "follows from nice",
        "I/O priority, as in ionice",
        r#"io_priority = "be-2""#,
    ),
    key(
        "priority",
        "whole number, 0 ..= 255",
        "follows from class and nice",
        "priority in systems without nice (BeOS, Haiku, NT), on their own scale",
        "priority = 10",
    ),
    key(
        "tickets",
        "whole number, 1 ..= 1000000",
        "follows from nice",
        "tickets in proportional-share policies",
        "tickets = 300",
    ),
    key(
        "reservation",
        "table",
        "none",
        "CPU time promised in each period: section reservation",
        r#"class = "deadline"
reservation = { runtime = "2ms", period = "10ms" }"#,
    ),
    key("affinity", "list of CPUs", "all CPUs", "CPUs that it may use", "affinity = [0, 1]"),
    key("group", "text", "the root group", "name of its group", r#"group = "web""#),
    key(
        "slice",
        "time",
        "that of the policy",
        "slice it asks for (`sched_runtime`), for policies that honour it",
        r#"slice = "1ms""#,
    ),
    key("start", "time", r#""0""#, "when it starts", r#"start = "500ms""#),
    key(
        "program",
        "list of steps",
        "required",
        "what it does, over and over: section step",
        r#"program = [ { compute = "2ms" }, { sleep = "8ms" } ]"#,
    ),
    key("loop", "whole number, at least 1", "for ever", "how often it does the program; then it exits", "loop = 100"),
];

pub(super) const STEPS: &[Key] = &[
    key(
        "compute",
        r#"time, ["from", "to"] to draw one, or "forever""#,
        "none",
        "uses CPU time",
        r#"compute = ["1ms", "2ms"]"#,
    ),
    key(
        "kernel",
        r#"time, or ["from", "to"]"#,
        "none",
        "uses CPU time in the kernel, where some preemption models do not preempt",
        r#"kernel = "300us""#,
    ),
    key("sleep", r#"time, or ["from", "to"]"#, "none", "sleeps", r#"sleep = "9ms""#),
    key(
        "every",
        "time",
        "none",
        "sleeps until the timer of this step, of this period, expires; a late task leaves out what it missed",
        r#"every = "5ms""#,
    ),
    key(
        "catch_up",
        "time",
        "none",
        "the same, but a late task goes on without sleep until it has made up for what it missed",
        r#"catch_up = "5ms""#,
    ),
    key("wait", "text", "none", "waits until a wake that nobody has used yet; sleeps meanwhile", r#"wait = "ready""#),
    key(
        "wake",
        "text",
        "none",
        "wakes one task that waits for this name, or lets the next one pass",
        r#"wake = "ready""#,
    ),
    key("lock", "text", "none", "takes a lock; [[lock]] describes kinds other than mutex", r#"lock = "buffers""#),
    key(
        "lock_shared",
        "text",
        "none",
        "takes a lock of kind rwsem together with other readers",
        r#"lock_shared = "mmap""#,
    ),
    key("unlock", "text", "none", "releases a lock", r#"unlock = "buffers""#),
    key(
        "critical",
        "begin or end",
        "none",
        "begins or ends a critical section in user mode, for which a slice may be extended",
        r#"critical = "begin""#,
    ),
    key("yield", "true", "none", "gives the CPU to its equals", "yield = true"),
    key("exec", "true", "none", "replaces its program: cfs and eevdf then choose a CPU anew", "exec = true"),
    key("exit", "true", "none", "ends the task", "exit = true"),
    key("nice", "whole number, -20 ..= 19", "none", "sets its nice", "nice = 5"),
    key("group", "text", "none", "moves itself to the group of this name", r#"group = "web""#),
    key("begin", "true", "none", "begins a request whose latency is measured", "begin = true"),
    key("served", "true", "none", "ends the request", "served = true"),
    key(
        "ask",
        "text",
        "none",
        "sends a request to a mailbox and waits for the answer; the latency is measured",
        r#"ask = "inbox""#,
    ),
    key("receive", "text", "none", "waits for a request in a mailbox", r#"receive = "inbox""#),
    key("ask_device", "text", "none", "like ask, but waits as for a disk, and is no request", r#"ask_device = "disk""#),
    key("answer", "true", "none", "answers the request that it received, from a task", "answer = true"),
    key("reply", "true", "none", "answers the request that it received, from an [[outside]]", "reply = true"),
    key(
        "read",
        "text",
        "none",
        "reads from a file through the page cache, or directly from a disk or volume",
        r#"read = "log"
size = "64KiB""#,
    ),
    key(
        "write",
        "text",
        "none",
        "writes likewise",
        r#"write = "log"
size = "4KiB""#,
    ),
    key("sync", "text", "none", "waits until all written pages of a file are on the disk", r#"sync = "log""#),
    key(
        "await",
        "whole number, 0 ..= 1000000",
        "none",
        "waits until at most so many of its own direct accesses are under way",
        "await = 0",
    ),
];

pub(super) const OUTSIDE: &[Key] = &[
    key("name", "text", r#""outside""#, "name", r#"name = "client""#),
    key("count", "whole number, 1 ..= 1000000", "1", "number of equal ones", "count = 40"),
    key("start", "time", r#""0""#, "when it starts", r#"start = "500ms""#),
    key(
        "program",
        "list of steps",
        "required",
        "what it does, over and over: section step",
        r#"program = [ { sleep = "2ms" } ]"#,
    ),
    key("loop", "whole number, at least 1", "for ever", "how often it does the program", "loop = 10"),
];

pub(super) const RESERVATION: &[Key] = &[
    key("runtime", "time", "required", "CPU time in each period", r#"runtime = "3ms""#),
    key("period", "time", "required", "least time between two jobs", r#"period = "20ms""#),
    key("deadline", "time", "the period", "time from a job's begin until it must be done", r#"deadline = "5ms""#),
];

pub(super) const GROUP: &[Key] = &[
    key("name", "text", "required", "name", r#"name = "db""#),
    key("parent", "text", "the root group", "group around it", r#"parent = "site""#),
    key(
        "cpu_weight",
        "whole number, 1 ..= 10000",
        "100",
        "share of CPU time relative to its siblings",
        "cpu_weight = 200",
    ),
    key(
        "cpu_max",
        "text",
        r#""max""#,
        "CPU time in each period: QUOTA/PERIOD, or QUOTA in 100 ms",
        r#"cpu_max = "50ms/100ms""#,
    ),
    key(
        "cpu_max_burst",
        "time",
        "none",
        "unused time of a limit that is kept",
        r#"cpu_max = "50ms/100ms"
cpu_max_burst = "10ms""#,
    ),
    key(
        "cpu_request",
        "text",
        "none",
        "CPUs that a container asks for, 250m, 0.5 or 2: a weight",
        r#"cpu_request = "250m""#,
    ),
    key("cpu_limit", "text", "none", "CPUs that a container may use, likewise: a limit", r#"cpu_limit = "500m""#),
    key(
        "io_max",
        "text",
        "no limit",
        "bytes (rbps, wbps) and I/Os (riops, wiops) a second on each disk",
        r#"io_max = "rbps=10M wiops=200""#,
    ),
    key(
        "io_weight",
        "whole number, 1 ..= 1000",
        "100, where another group has one",
        "share of a disk under bfq relative to its siblings; other elevators take no notice",
        "io_weight = 300",
    ),
    key("cpu_idle", "true or false", "false", "true: runs only if nothing else wants to", "cpu_idle = true"),
    key(
        "cpuset",
        "list of CPUs",
        "all CPUs",
        "CPUs that its tasks may use, of those of the group around it",
        "cpuset = [0]",
    ),
];

pub(super) const LOCK: &[Key] = &[
    key("name", "text", "required", "name of the lock in steps", r#"name = "n""#),
    key(
        "kind",
        "mutex, adaptive, pi, fifo, kernel, rwsem, spin or s_lock",
        r#""mutex""#,
        "who has it next, and how tasks wait",
        r#"kind = "pi""#,
    ),
];

pub(super) const FAULT: &[Key] = &[
    key(
        "kind",
        "stolen, lost-ticks or offline",
        "required",
        "the hypervisor runs something else (on all CPUs: a stopped machine whose clock goes on); no timer interrupts; \
         unplugged, its tasks move, and one that may use no other CPU is set free",
        r#"kind = "lost-ticks""#,
    ),
    key("at", "time", "required", "its beginning", r#"at = "2s""#),
    key("for", "time", "required", "its length", r#"for = "20ms""#),
    key("cpu", "whole number", "all CPUs", "the CPU; offline needs one", "cpu = 0"),
];

pub(super) const WORKLOAD: &[Key] = &[key("use", "text", "required", "its name", r#"use = "hogs""#)];

/// The step of this verb alone, for steps with no other key.
pub(super) fn only(name: &str) -> &'static [Key] {
    let place = STEPS.iter().position(|key| key.name == name);
    place.map_or(&[], |place| &STEPS[place..=place])
}

#[cfg(test)]
mod tests;
