//! What is compared when nobody names anything.

use crate::refusal::Refusal;
use crate::spec::{ElevatorSpec, PolicySpec};
use crate::work::Work;

/// The policies that are compared when none is named: the fair classes of today and before, and the schedulers that
/// came before them.
pub const STANDARD_FIELD: &[&str] = &["eevdf", "cfs", "staircase", "o1", "linux-2.4", "rr", "fifo"];

/// The elevators that are compared on work with disks when none is named: those of blk-mq, and those before it.
pub const STANDARD_ELEVATORS: &[&str] = &["mq-deadline", "none", "kyber", "bfq", "deadline", "cfq", "as", "noop"];

/// The policy of one run, and of work with disks, when none is named: what is asked there is what the elevators do.
const STANDARD_POLICY: &str = "eevdf";

impl Work {
    /// The policies to compare when none is named. For a recording, the first is the recording kernel's own.
    ///
    /// # Errors
    /// None: the names are registered.
    pub fn standard_policies(&self) -> Result<Vec<PolicySpec>, Refusal> {
        if self.source.asks_for_elevator() {
            return Ok(vec![PolicySpec::parse(STANDARD_POLICY)?]);
        }
        let mut field: Vec<PolicySpec> =
            STANDARD_FIELD.iter().map(|name| PolicySpec::parse(name)).collect::<Result<_, _>>()?;
        if let Some(recorded) = &self.recorded {
            field.retain(|spec| spec.name != recorded.policy.name);
            field.insert(0, recorded.policy.clone());
        }
        Ok(field)
    }

    /// The policy to run when none is named: what recorded the recording.
    ///
    /// # Errors
    /// None: the name is registered.
    pub fn standard_policy(&self) -> Result<PolicySpec, Refusal> {
        self.recorded.as_ref().map_or_else(|| PolicySpec::parse(STANDARD_POLICY), |it| Ok(it.policy.clone()))
    }

    /// The elevators named, or the standard ones, for work with disks whose elevator is open; none for other work.
    ///
    /// # Errors
    /// An elevator that does not exist, a setting that cannot be made, or an elevator for work that has no use for one.
    pub fn elevators(&self, named: &[String]) -> Result<Vec<ElevatorSpec>, Refusal> {
        if self.source.asks_for_elevator() {
            let named: Vec<&str> = named.iter().map(String::as_str).collect();
            let wanted = if named.is_empty() { STANDARD_ELEVATORS } else { &named };
            return wanted.iter().map(|text| ElevatorSpec::parse(text)).collect();
        }
        match named.first() {
            None => Ok(Vec::new()),
            Some(name) => {
                let what = format!("elevator {name}: \"{}\" has no disk whose elevator is open", self.source.name());
                Err(Refusal::usage(what).remedy("leave it out").option("elevator"))
            }
        }
    }
}
