//! System-wide scheduler settings, each a kernel file: `autogroup`, `base_slice`, `preempt`.

use super::{Kind, MachineChanges, Setting, Value, writable};
use goodness_core::Span;
use goodness_sys::cgroup::Hierarchies;
use std::fs;
use std::path::Path;

pub(super) const AUTOGROUP: Kind = Kind {
    key: "autogroup",
    summary: "Group scheduling of sessions, on or off (kernel.sched_autogroup_enabled).",
    example: "false",
    read: autogroup,
};

pub(super) const BASE_SLICE: Kind = Kind {
    key: "base_slice",
    summary: "The fair class's slice, for processes without one of their own (base_slice_ns in debugfs).",
    example: "\"3ms\"",
    read: base_slice,
};

pub(super) const PREEMPT: Kind = Kind {
    key: "preempt",
    summary: "Preemption mode of the kernel: none, voluntary, full or lazy, if it was built with that \
        (debugfs).",
    example: "\"full\"",
    read: preempt,
};

const MODES: [&str; 4] = ["none", "voluntary", "full", "lazy"];
const DEBUGFS: &str = "the kernel lacks it, or debugfs is not mounted (mount -t debugfs none /sys/kernel/debug)";

#[derive(Debug)]
struct Knob {
    file: &'static str,
    value: String,
    /// Meaning of a missing file.
    missing: &'static str,
    /// True if the file lists its valid values.
    lists: bool,
    is_autogroup: bool,
}

fn autogroup(value: &Value) -> Result<Box<dyn Setting>, String> {
    let Value::Flag(on) = value else { return Err("it is true or false".into()) };
    Ok(Box::new(Knob {
        file: goodness_sys::AUTOGROUP,
        value: u8::from(*on).to_string(),
        missing: "this kernel was built without CONFIG_SCHED_AUTOGROUP",
        lists: false,
        is_autogroup: true,
    }))
}

fn base_slice(value: &Value) -> Result<Box<dyn Setting>, String> {
    let Value::Text(text) = value else { return Err("a slice is a length of time in quotes".into()) };
    let span = Span::parse(text)?;
    let file = "/sys/kernel/debug/sched/base_slice_ns";
    Ok(Box::new(Knob { file, value: span.0.to_string(), missing: DEBUGFS, lists: false, is_autogroup: false }))
}

fn preempt(value: &Value) -> Result<Box<dyn Setting>, String> {
    match value {
        Value::Text(mode) if MODES.contains(&mode.as_str()) => {
            let file = "/sys/kernel/debug/sched/preempt";
            Ok(Box::new(Knob { file, value: mode.clone(), missing: DEBUGFS, lists: true, is_autogroup: false }))
        }
        _ => Err(format!("a mode is one of {}", MODES.join(", "))),
    }
}

impl Setting for Knob {
    fn describe(&self) -> String {
        format!("write {} to {}", self.value, self.file)
    }

    fn check(&self, _: &Hierarchies) -> Result<(), String> {
        writable(Path::new(self.file), self.missing)?;
        let text = fs::read_to_string(self.file).map_err(|why| format!("{} cannot be read: {why}", self.file))?;
        let offered: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches(['(', ')'])).collect();
        if self.lists && !offered.contains(&self.value.as_str()) {
            return Err(format!("this kernel offers {} only", offered.join(", ")));
        }
        Ok(())
    }

    fn apply(&self, changes: &mut MachineChanges) -> Result<(), String> {
        changes.put(Path::new(self.file), &self.value)
    }

    fn is_of_sessions(&self) -> bool {
        self.is_autogroup
    }
}
