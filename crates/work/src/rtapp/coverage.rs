//! Coverage of rt-app's grammar: one table for the parser, its errors and `docs/rt-app.md`.

/// Position of a key in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The outermost object.
    File,
    /// `global`.
    Global,
    /// A task.
    Task,
    /// A phase; a task without `phases` is its own only phase.
    Phase,
    /// An event of a phase. A suffix (`run1`, `run_2`) only makes the key unique.
    Event,
}

impl Place {
    /// Every place, in the order of the documentation.
    pub const ALL: [Place; 5] = [Place::File, Place::Global, Place::Task, Place::Phase, Place::Event];

    /// Name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Place::File => "file",
            Place::Global => "global",
            Place::Task => "task",
            Place::Phase => "phase",
            Place::Event => "event",
        }
    }
}

/// Treatment of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Supported with rt-app's meaning.
    Honoured,
    /// Concerns logs or calibration, not scheduling: accepted without effect.
    NoEffect,
    /// Would change the schedule and is not modelled: an error, or with `--lenient` a line in the report.
    NotHonoured,
}

impl Coverage {
    /// Name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Coverage::Honoured => "honoured",
            Coverage::NoEffect => "no effect",
            Coverage::NotHonoured => "not honoured",
        }
    }
}

/// One key of the grammar.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key itself.
    pub name: &'static str,
    /// Allowed position.
    pub place: Place,
    /// Treatment of the key.
    pub coverage: Coverage,
    /// Its meaning here, or why it is not honoured.
    pub meaning: &'static str,
}

const fn key(place: Place, name: &'static str, coverage: Coverage, meaning: &'static str) -> Key {
    Key { name, place, coverage, meaning }
}

use Coverage::{Honoured, NoEffect, NotHonoured};
use Place::{Event, File, Global, Phase, Task};

/// The grammar as of rt-app's tutorial (2024), `SCHED_BATCH` added.
pub const KEYS: &[Key] = &[
    key(File, "tasks", Honoured, "the tasks, started together at time 0 in the order of the file"),
    key(File, "threads", Honoured, "older name of `tasks`"),
    key(File, "global", Honoured, "settings of the whole file"),
    key(File, "resources", NoEffect, "locks, conditions and timers come into being where they are first named"),
    key(Global, "duration", Honoured, "seconds until the run ends; −1 (the default): until every task has ended"),
    key(Global, "default_policy", Honoured, "policy of tasks that name none; SCHED_OTHER"),
    key(Global, "calibration", NoEffect, "simulated CPU time needs no calibration"),
    key(Global, "pi_enabled", Honoured, "mutexes inherit priorities (`true`); `false` by default"),
    key(Global, "lock_pages", NoEffect, "memory is not modelled"),
    key(Global, "logdir", NoEffect, "no log is written"),
    key(Global, "log_basename", NoEffect, "no log is written"),
    key(Global, "log_size", NoEffect, "no log is written"),
    key(Global, "ftrace", NoEffect, "no marker is written"),
    key(Global, "gnuplot", NoEffect, "no plot is written"),
    key(Global, "cumulative_slack", NoEffect, "concerns the log"),
    key(Global, "io_device", NoEffect, "used by `iorun`, which is not honoured"),
    key(Global, "mem_buffer_size", NoEffect, "used by `mem` and `iorun`, which are not honoured"),
    key(Global, "frag", NoEffect, "left over from AQuoSA; concerns no Linux policy"),
    key(Task, "instance", Honoured, "that many equal tasks, NAME-0, NAME-1, …; 0: only created by `fork`"),
    key(Task, "delay", Honoured, "µs of sleep after time 0 before the first phase"),
    key(Task, "loop", Honoured, "passes through all phases; −1 (the default) for ever"),
    key(Task, "phases", Honoured, "the phases in order"),
    key(Phase, "loop", Honoured, "passes through the phase; 1 by default, −1 for ever"),
    key(
        Phase,
        "policy",
        Honoured,
        "SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO or SCHED_RR; in a phase, on entering it",
    ),
    key(Phase, "priority", Honoured, "real-time priority (10 by default), else nice (0); in a phase, on entering it"),
    key(Phase, "cpus", Honoured, "affinity; in a phase, on entering it"),
    key(Phase, "dl-runtime", Honoured, "µs; the slice a SCHED_OTHER or SCHED_BATCH task asks for, at task level only"),
    key(Phase, "dl-period", NotHonoured, "SCHED_DEADLINE is not modelled"),
    key(Phase, "dl-deadline", NotHonoured, "SCHED_DEADLINE is not modelled"),
    key(Phase, "util_min", NotHonoured, "utilisation clamping is not modelled"),
    key(Phase, "util_max", NotHonoured, "utilisation clamping is not modelled"),
    key(Phase, "membind_nodes", NotHonoured, "memory is not modelled"),
    key(
        Phase,
        "taskgroup",
        Honoured,
        "path of a group of the usual weight, such as /site/web; in a phase, on entering it",
    ),
    key(Event, "run", Honoured, "µs of CPU time on the fastest CPU"),
    key(
        Event,
        "runtime",
        Honoured,
        "µs of spinning by the clock, preempted or not; the clock is looked at every 32 µs",
    ),
    key(Event, "sleep", Honoured, "µs of sleep"),
    key(Event, "timer", Honoured, "sleep until the timer's next period; `ref`, `period` in µs, `mode`"),
    key(
        Event,
        "lock",
        Honoured,
        "take the mutex, which is glibc's normal one, or with `pi_enabled` inherits priorities",
    ),
    key(Event, "unlock", Honoured, "give it back; nothing when the task does not hold it"),
    key(Event, "wait", Honoured, "wait on the condition `ref` with the lock `mutex`"),
    key(Event, "signal", Honoured, "wake one waiter"),
    key(Event, "broad", Honoured, "wake all waiters"),
    key(Event, "sync", Honoured, "signal, then wait, under the lock"),
    key(Event, "suspend", Honoured, "wait for `resume` of this name; an empty name is the task's own"),
    key(Event, "resume", Honoured, "wake all that are suspended under this name"),
    key(Event, "barrier", Honoured, "wait until as many tasks wait as the file names the barrier, instances counted"),
    key(Event, "yield", Honoured, "sched_yield"),
    key(Event, "fork", Honoured, "create the next task of this name; the number of forks must be finite"),
    key(Event, "mem", NotHonoured, "memory is not modelled"),
    key(Event, "iorun", NotHonoured, "I/O is not modelled"),
];

/// The key `name` at `place`.
#[must_use]
pub fn find(place: Place, name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|k| k.place == place && k.name == name)
}

/// The event of a key such as `run`, `run1` or `timer_slow`: the longest event name it starts with, if not followed by
/// lower-case letters.
#[must_use]
pub fn event(name: &str) -> Option<&'static Key> {
    let begins =
        |k: &&Key| name.strip_prefix(k.name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_lowercase()));
    KEYS.iter().filter(|k| k.place == Event).filter(begins).max_by_key(|k| k.name.len())
}

/// The coverage list as the table of `docs/rt-app.md`.
#[must_use]
pub fn table() -> String {
    let mut text = String::from("| where | key | here | meaning |\n|---|---|---|---|\n");
    for place in Place::ALL {
        for key in KEYS.iter().filter(|k| k.place == place) {
            text += &format!("| {} | `{}` | {} | {} |\n", place.name(), key.name, key.coverage.name(), key.meaning);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_makes_an_event_unique_and_means_nothing() {
        for (name, event_name) in [("run", "run"), ("run12", "run"), ("runtime_0", "runtime"), ("timerA", "timer")] {
            assert_eq!(event(name).map(|k| k.name), Some(event_name), "{name}");
        }
        assert!(event("running").is_none());
        assert!(event("lock_pages").is_some_and(|k| k.name == "lock"));
    }

    #[test]
    fn the_documentation_lists_exactly_the_table() {
        let page = include_str!("../../../../docs/rt-app.md");
        assert!(page.contains(&table()), "docs/rt-app.md must contain this table:\n{}", table());
    }
}
