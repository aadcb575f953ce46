//! `env`: environment variables, for programs configured by them (memory, threads, scheduling).

use super::{Kind, Setting, Value};
use goodness_sys::cgroup::Hierarchies;
use goodness_sys::process::Conditions;

pub(super) const KIND: Kind =
    Kind { key: "env", summary: "Environment variables, as a table.", example: "{ MALLOC_ARENA_MAX = 1 }", read };

#[derive(Debug)]
struct Environment(Vec<(String, String)>);

fn read(value: &Value) -> Result<Box<dyn Setting>, String> {
    let Value::Table(entries) = value else { return Err("it is a table of names and values".into()) };
    let sane = |text: &str| !text.is_empty() && !text.contains(['=', '\0']);
    if let Some((name, _)) = entries.iter().find(|(name, value)| !sane(name) || value.typed().contains('\0')) {
        return Err(format!("\"{name}\" is no name of a variable, or its value holds a NUL"));
    }
    Ok(Box::new(Environment(entries.iter().map(|(name, value)| (name.clone(), value.typed())).collect())))
}

impl Setting for Environment {
    fn describe(&self) -> String {
        let all: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("env {}", all.join(" "))
    }

    fn check(&self, _: &Hierarchies) -> Result<(), String> {
        Ok(())
    }

    fn condition(&self, conditions: &mut Conditions) {
        conditions.environment.extend(self.0.iter().cloned());
    }
}
