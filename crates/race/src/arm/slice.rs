//! `slice`: the slice of each process, through `sched_setattr` (Linux 6.12 and later).

use super::{Kind, Setting, Value};
use goodness_core::Span;
use goodness_sys::cgroup::Hierarchies;
use goodness_sys::process::Conditions;

pub(super) const KIND: Kind = Kind {
    key: "slice",
    summary: "The slice of each process in a fair class, 100us to 100ms (Linux 6.12 and later).",
    example: "\"10ms\"",
    read,
};

#[derive(Debug)]
struct Slice(Span);

fn read(value: &Value) -> Result<Box<dyn Setting>, String> {
    let Value::Text(text) = value else { return Err("a slice is a length of time in quotes".into()) };
    match Span::parse(text)? {
        span if (Span::from_us(100)..=Span::from_ms(100)).contains(&span) => Ok(Box::new(Slice(span))),
        _ => Err("a slice lies between 100us and 100ms".into()),
    }
}

impl Setting for Slice {
    fn describe(&self) -> String {
        format!("slice {}", self.0)
    }

    fn check(&self, _: &Hierarchies) -> Result<(), String> {
        Conditions { slice: Some(self.0.0), ..Conditions::default() }.try_out()
    }

    fn condition(&self, conditions: &mut Conditions) {
        conditions.slice = Some(self.0.0);
    }
}
