//! Default contenders.

use crate::contender::Contender;
use crate::refusal::Refusal;
use crate::spec::{ElevatorSpec, PolicySpec};
use crate::work::Work;

/// Default policies of a comparison: current and past fair classes, and older schedulers.
pub const STANDARD_FIELD: &[&str] = &["eevdf", "cfs", "staircase", "o1", "linux-2.4", "rr", "fifo"];

/// Default elevators of a comparison on work with disks: those of blk-mq, and older ones.
pub const STANDARD_ELEVATORS: &[&str] = &["mq-deadline", "none", "kyber", "bfq", "deadline", "cfq", "as", "noop"];

/// Default policy of a single run, and of work with disks, where the elevators are compared.
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

    /// Each policy with each elevator, as typed; the default ones where none is named.
    ///
    /// # Errors
    /// An unknown policy or elevator, or an invalid setting, as [`Work::elevators`] has them.
    pub fn contenders(&self, policies: &[String], elevators: &[String]) -> Result<Vec<Contender>, Refusal> {
        let policies = match policies.is_empty() {
            true => self.standard_policies()?,
            false => policies.iter().map(|text| PolicySpec::parse(text)).collect::<Result<_, _>>()?,
        };
        Ok(Contender::cross(&policies, &self.elevators(elevators)?))
    }

    /// The named elevators, or the default ones, for work with disks that leaves the elevator open; none for other
    /// work.
    ///
    /// # Errors
    /// An unknown elevator, an invalid setting, or an elevator for work that has no use for one.
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
