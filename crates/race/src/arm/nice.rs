//! `nice`: the nice value.

use super::{Kind, Setting, Value};
use goodness_sys::cgroup::Hierarchies;
use goodness_sys::process::Conditions;

pub(super) const KIND: Kind =
    Kind { key: "nice", summary: "The nice value, -20 to 19; below 0 it needs root.", example: "10", read };

#[derive(Debug)]
struct Nice(i32);

fn read(value: &Value) -> Result<Box<dyn Setting>, String> {
    match value {
        Value::Number(nice @ -20..=19) => Ok(Box::new(Nice(*nice as i32))),
        _ => Err("a nice value is a whole number from -20 to 19".into()),
    }
}

impl Setting for Nice {
    fn describe(&self) -> String {
        format!("nice {}", self.0)
    }

    fn check(&self, _: &Hierarchies) -> Result<(), String> {
        Conditions { nice: Some(self.0), ..Conditions::default() }.try_out()
    }

    fn condition(&self, conditions: &mut Conditions) {
        conditions.nice = Some(self.0);
    }
}
