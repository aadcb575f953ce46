//! `weight` and `idle`: CPU weights of the servers' and the clients' cgroups.

use super::{GroupFile, Kind, MachineChanges, Setting, Value};
use goodness_sys::cgroup::Hierarchies;

pub(super) const WEIGHT: Kind = Kind {
    key: "weight",
    summary: "The weight of the cgroup, 1 to 10000, where 100 is the default (cpu.weight, or cpu.shares in version 1).",
    example: "50",
    read: weight,
};

pub(super) const IDLE: Kind = Kind {
    key: "idle",
    summary: "true: the cgroup runs only when the CPU is otherwise idle (cpu.idle).",
    example: "true",
    read: idle,
};

/// In version 1 the default weight is 1024.
const SHARES: (i64, i64) = (1024, 100);

#[derive(Debug)]
struct OfGroup {
    described: String,
    file: GroupFile,
}

fn weight(value: &Value) -> Result<Box<dyn Setting>, String> {
    let Value::Number(weight @ 1..=10_000) = value else {
        return Err("a weight is a whole number from 1 to 10000".into());
    };
    // The kernel takes no fewer than 2 shares.
    let shares = (weight * SHARES.0 / SHARES.1).max(2);
    let file = GroupFile { version2: ("cpu.weight", weight.to_string()), version1: ("cpu.shares", shares.to_string()) };
    Ok(Box::new(OfGroup { described: format!("weight {weight}"), file }))
}

fn idle(value: &Value) -> Result<Box<dyn Setting>, String> {
    let Value::Flag(idle) = value else { return Err("it is true or false".into()) };
    let value = u8::from(*idle).to_string();
    let file = GroupFile { version2: ("cpu.idle", value.clone()), version1: ("cpu.idle", value) };
    Ok(Box::new(OfGroup { described: format!("idle {idle}"), file }))
}

impl Setting for OfGroup {
    fn describe(&self) -> String {
        self.described.clone()
    }

    fn check(&self, at: &Hierarchies) -> Result<(), String> {
        let missing = "this machine has no cpu controller of cgroups; mount one, or take nice";
        at.weights().map(|_| ()).ok_or_else(|| missing.into())
    }

    fn apply(&self, changes: &mut MachineChanges) -> Result<(), String> {
        changes.group.push(self.file.clone());
        Ok(())
    }

    fn needs_weights(&self) -> bool {
        true
    }
}
