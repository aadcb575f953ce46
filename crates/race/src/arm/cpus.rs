//! `cpus`: the CPUs that processes may use. A live policy leaves the first CPU to its daemon; a fair race gives the other arms
//! the same CPUs with this.

use super::{Kind, Setting, Value};
use crate::cell::Hierarchies;
use goodness_live::process::Conditions;

pub(super) const KIND: Kind =
    Kind { key: "cpus", summary: "The CPUs that processes may use, separated by commas.", example: "\"0\"", read };

/// The largest number of a CPU that Linux is built for, and one more.
const MOST: u32 = 8192;

#[derive(Debug)]
struct Cpus(Vec<u32>);

fn read(value: &Value) -> Result<Box<dyn Setting>, String> {
    let wrong = || "it is a list of numbers of CPUs in quotes".to_string();
    let Value::Text(text) = value else { return Err(wrong()) };
    let number = |word: &str| word.trim().parse::<u32>().ok().filter(|cpu| *cpu < MOST).ok_or_else(wrong);
    Ok(Box::new(Cpus(text.split(',').map(number).collect::<Result<_, _>>()?)))
}

impl Setting for Cpus {
    fn describe(&self) -> String {
        let all: Vec<String> = self.0.iter().map(u32::to_string).collect();
        format!("CPUs {}", all.join(","))
    }

    fn check(&self, _: &Hierarchies) -> Result<(), String> {
        let here = goodness_live::process::usable_cpus();
        match self.0.iter().find(|cpu| !here.contains(cpu)) {
            None => Ok(()),
            Some(cpu) => Err(format!("CPU {cpu} is not there or not ours to use; there are {here:?}")),
        }
    }

    fn condition(&self, conditions: &mut Conditions) {
        conditions.cpus = Some(self.0.clone());
    }
}
