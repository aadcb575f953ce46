//! Default contenders.

use crate::contender::Contender;
use crate::recorded::Recorded;
use crate::refusal::Refusal;
use crate::spec::{ElevatorSpec, PolicySpec};
use crate::work::Work;
use goodness_core::spelling::suggest;
use std::collections::BTreeMap;
use std::str::FromStr;

/// Default arms of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Changes that the owner of the recorded machine can make today: slices, classes, nice and sched_ext policies.
    Deploy,
    /// Current and past schedulers.
    History,
}

impl FromStr for Field {
    type Err = String;

    fn from_str(text: &str) -> Result<Field, String> {
        match text {
            "deploy" => Ok(Field::Deploy),
            "history" => Ok(Field::History),
            _ => Err(suggest(text, ["deploy", "history"])),
        }
    }
}

/// Default policies of a comparison with the past: current and past fair classes, and older schedulers.
pub const STANDARD_FIELD: &[&str] = &["eevdf", "cfs", "staircase", "o1", "linux-2.4", "rr", "fifo"];

/// Default elevators of a comparison on work with disks: those of blk-mq, and older ones.
pub const STANDARD_ELEVATORS: &[&str] = &["mq-deadline", "none", "kyber", "bfq", "deadline", "cfq", "as", "noop"];

/// Default policy of a single run, and of work with disks, where the elevators are compared.
pub(crate) const STANDARD_POLICY: &str = "eevdf";

/// Slices that differ clearly from the default ones of 0.7 to 3 ms, by fair class.
const SLICES: [(&str, [&str; 2]); 2] = [
    ("eevdf", ["base_slice=300us", "base_slice=6ms"]),
    ("cfs", ["min_granularity=300us,wakeup_granularity=300us", "min_granularity=6ms,wakeup_granularity=6ms"]),
];
/// Policies of sched_ext in the default field.
const SCHED_EXT: [&str; 2] = ["scx-bpfland", "scx-lavd"];

/// Arms that the owner of the recorded machine can deploy: the recorded policy first, with shorter and longer slices,
/// the two programs that used most CPU time as batch or at another nice, and policies of sched_ext. `None` if a fair
/// class did not record.
fn deployable(recorded: &Recorded) -> Option<Vec<Contender>> {
    let standard = &recorded.policy;
    let slices = SLICES.iter().find(|(name, _)| *name == standard.name)?.1;
    let mut arms = vec![standard.to_string()];
    arms.extend(slices.map(|slice| format!("{}:{slice}", standard.name)));
    let busiest = busiest(recorded);
    arms.extend(busiest.first().map(|name| format!("{name}.class=batch")));
    arms.extend(busiest.get(1).map(|name| format!("{name}.nice=-5")));
    arms.extend(SCHED_EXT.map(String::from));
    arms.iter().map(|text| Contender::arm(text, standard).ok()).collect()
}

/// Names of the judged tasks by CPU time, most first; those that an edit can name.
fn busiest(recorded: &Recorded) -> Vec<&str> {
    let mut used: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, task) in recorded.tasks().filter(|(_, task)| task.judged) {
        *used.entry(name).or_default() += task.cpu_time.0;
    }
    let can_be_named = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let mut names: Vec<&str> = used.keys().copied().filter(can_be_named).collect();
    names.sort_by_key(|name| std::cmp::Reverse(used[name]));
    names
}

impl Work {
    /// The default policies of a comparison. For a recording, the first is the recording kernel's own.
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

    /// The default policy of a run: for a recording, that of its kernel.
    ///
    /// # Errors
    /// None: the name is registered.
    pub fn standard_policy(&self) -> Result<PolicySpec, Refusal> {
        self.recorded.as_ref().map_or_else(|| PolicySpec::parse(STANDARD_POLICY), |it| Ok(it.policy.clone()))
    }

    /// The contender whose settings are tuned: policy and elevator as typed over the default ones. Without a typed
    /// elevator, the first default one where the work asks for one.
    ///
    /// # Errors
    /// An unknown policy or elevator, an invalid setting, or an elevator for work that has no use for one.
    pub fn default_contender(&self, policy: Option<&str>, elevator: Option<&str>) -> Result<Contender, Refusal> {
        let standard = self.standard_policy()?;
        let policy = match policy {
            Some(typed) => PolicySpec::parse(typed)?.over(&standard),
            None => standard,
        };
        let first = |named: &[String]| Ok::<_, Refusal>(self.elevators(named)?.into_iter().next());
        let standard = first(&[])?;
        let elevator = match elevator {
            Some(typed) => first(&[typed.to_string()])?.map(|it| standard.iter().fold(it, |it, own| it.over(own))),
            None => standard,
        };
        Ok(Contender { elevator, ..Contender::policy(policy) })
    }

    /// Each policy with each elevator, as typed; where none is named those of `field`, by default of
    /// [`Field::Deploy`] where that has any.
    ///
    /// # Errors
    /// An unknown policy or elevator, an invalid setting, or [`Field::Deploy`] for work that is not a recording of a
    /// current kernel.
    pub fn contenders(
        &self,
        policies: &[String],
        elevators: &[String],
        field: Option<Field>,
    ) -> Result<Vec<Contender>, Refusal> {
        let recorded = self.recorded.as_ref().filter(|it| it.elevator.is_none() && field != Some(Field::History));
        let deployable = recorded.and_then(deployable);
        match deployable.filter(|_| policies.is_empty()) {
            Some(arms) => return Ok(arms),
            None if field == Some(Field::Deploy) => {
                let what = format!("\"{}\" is not a recording of Linux 3 or later", self.source.name());
                return Err(Refusal::usage(what).remedy("take the field history, or name arms").option("field"));
            }
            None => {}
        }
        let policies = match policies.is_empty() {
            true => self.standard_policies()?,
            false => policies.iter().map(|text| PolicySpec::parse(text)).collect::<Result<_, _>>()?,
        };
        Ok(Contender::cross(&policies, &self.elevators(elevators)?))
    }

    /// One arm as typed, `policy` where it names none, behind the elevator that it names, else behind `named`, else
    /// behind the first default one.
    ///
    /// # Errors
    /// As [`Contender::arm`] and [`Work::elevators`]; two elevators.
    pub fn arm(&self, typed: Option<&str>, policy: &PolicySpec, named: Option<&str>) -> Result<Contender, Refusal> {
        let mut arm = Contender::arm(typed.unwrap_or_default(), policy)?;
        if let Some(named) = named {
            if let Some(own) = &arm.elevator {
                let what = format!("elevator {named}: the arm names elevator {own}");
                return Err(Refusal::usage(what).remedy("leave one of them out").option("elevator"));
            }
            arm.elevator = self.elevators(&[named.to_string()])?.into_iter().next();
        }
        Ok(self.behind_elevators(vec![arm])?.remove(0))
    }

    /// The arms, each behind the elevator that it names, else behind the first default one.
    ///
    /// # Errors
    /// An elevator for work that leaves none open.
    pub fn behind_elevators(&self, mut arms: Vec<Contender>) -> Result<Vec<Contender>, Refusal> {
        let standard = self.elevators(&[])?.into_iter().next();
        for arm in &mut arms {
            match &arm.elevator {
                Some(own) if standard.is_none() => return Err(self.no_open_disk(&own.to_string()).option("arm")),
                Some(_) => {}
                None => arm.elevator.clone_from(&standard),
            }
        }
        Ok(arms)
    }

    fn no_open_disk(&self, elevator: &str) -> Refusal {
        let what = format!("elevator {elevator}: \"{}\" has no disk whose elevator is open", self.source.name());
        Refusal::usage(what).remedy("leave it out")
    }

    /// The named elevators, or the default ones with the recorded one first, for work with disks that leaves the
    /// elevator open; none for other work.
    ///
    /// # Errors
    /// An unknown elevator, an invalid setting, or an elevator for work that has no use for one.
    pub fn elevators(&self, named: &[String]) -> Result<Vec<ElevatorSpec>, Refusal> {
        if self.source.asks_for_elevator() {
            if !named.is_empty() {
                return named.iter().map(|text| ElevatorSpec::parse(text)).collect();
            }
            let mut field: Vec<ElevatorSpec> =
                STANDARD_ELEVATORS.iter().map(|text| ElevatorSpec::parse(text)).collect::<Result<_, _>>()?;
            if let Some(own) = self.recorded.as_ref().and_then(|recorded| recorded.elevator.clone()) {
                field.retain(|spec| spec.name != own.name);
                field.insert(0, own);
            }
            return Ok(field);
        }
        match named.first() {
            None => Ok(Vec::new()),
            Some(name) => Err(self.no_open_disk(name).option("elevator")),
        }
    }
}
