//! `cpus`: the CPUs processes may use. A live policy leaves the first CPU to its daemon; for a fair race, use this to
//! give the other arms the same CPUs.

use super::{Kind, Setting, Value};
use goodness_sys::cgroup::Hierarchies;
use goodness_sys::cpu_list::CpuList;
use goodness_sys::process::Conditions;

pub(super) const KIND: Kind =
    Kind { key: "cpus", summary: "The CPUs that processes may use: numbers and ranges.", example: "\"0\"", read };

#[derive(Debug)]
struct Cpus(Vec<u32>);

fn read(value: &Value) -> Result<Box<dyn Setting>, String> {
    let Value::Text(text) = value else { return Err("it is a list of numbers of CPUs in quotes".into()) };
    let CpuList(cpus) = text.parse()?;
    Ok(Box::new(Cpus(cpus)))
}

impl Setting for Cpus {
    fn describe(&self) -> String {
        let all: Vec<String> = self.0.iter().map(u32::to_string).collect();
        format!("CPUs {}", all.join(","))
    }

    fn check(&self, _: &Hierarchies) -> Result<(), String> {
        let here = goodness_sys::process::usable_cpus();
        match self.0.iter().find(|cpu| !here.contains(cpu)) {
            None => Ok(()),
            Some(cpu) => Err(format!("CPU {cpu} is not there or not ours to use; there are {here:?}")),
        }
    }

    fn condition(&self, conditions: &mut Conditions) {
        conditions.cpus = Some(self.0.clone());
    }
}
