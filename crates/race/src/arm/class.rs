//! `class`: the class of the kernel's scheduler.

use super::{Kind, Setting, Value};
use goodness_core::spelling::suggest;
use goodness_sys::cgroup::Hierarchies;
use goodness_sys::process::{Class, Conditions};
use std::path::Path;

pub(super) const KIND: Kind = Kind {
    key: "class",
    summary: "The class: other, batch, idle, or fifo and rr with a priority from 1 to 99, as in rr:10 (root).",
    example: "\"rr:10\"",
    read,
};

const NAMES: [&str; 5] = ["other", "batch", "idle", "fifo", "rr"];
/// Real-time budget of a cgroup (version 1). A new group's budget is 0, which refuses every real-time process.
const BUDGET: &str = "cpu.rt_runtime_us";

#[derive(Debug)]
struct Chosen {
    typed: String,
    class: Class,
}

fn read(value: &Value) -> Result<Box<dyn Setting>, String> {
    let Value::Text(typed) = value else { return Err("a class is a name in quotes".into()) };
    let (name, priority) = typed.split_once(':').map_or((typed.as_str(), None), |(name, rest)| (name, Some(rest)));
    let priority = priority.map(|text| text.parse::<u32>().ok().filter(|p| (1..=99).contains(p)));
    let class = match (name, priority) {
        ("other", None) => Class::Other,
        ("batch", None) => Class::Batch,
        ("idle", None) => Class::Idle,
        ("fifo", Some(Some(priority))) => Class::Fifo(priority),
        ("rr", Some(Some(priority))) => Class::RoundRobin(priority),
        ("fifo" | "rr", _) => return Err(format!("{name} needs a priority from 1 to 99")),
        ("other" | "batch" | "idle", _) => return Err(format!("{name} has no priority")),
        _ => return Err(format!("there is no class \"{name}\"; {}", suggest(name, NAMES))),
    };
    Ok(Box::new(Chosen { typed: typed.clone(), class }))
}

impl Chosen {
    fn is_real_time(&self) -> bool {
        matches!(self.class, Class::Fifo(_) | Class::RoundRobin(_))
    }
}

impl Setting for Chosen {
    fn describe(&self) -> String {
        format!("class {}", self.typed)
    }

    fn check(&self, at: &Hierarchies) -> Result<(), String> {
        let budget = at.cpu.as_deref().is_some_and(|root| Path::new(root).join(BUDGET).exists());
        if budget && at.unified.is_none() && self.is_real_time() {
            return Err("this kernel gives new groups no real-time budget (CONFIG_RT_GROUP_SCHED)".into());
        }
        Conditions { class: Some(self.class), ..Conditions::default() }.try_out()
    }

    fn condition(&self, conditions: &mut Conditions) {
        conditions.class = Some(self.class);
    }
}
