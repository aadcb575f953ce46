//! The contract of every CPU policy, on random machines, whose CPUs may go offline, and random work: the referee finds
//! no fault, no checker a violation, CPU time is conserved, no task is lost, and the same seed gives the same events.
//!
//! ```text
//!  number of CPUs, seed ──▶ machine and work ──▶ simulated twice ──▶ kept, or one sentence
//! ```

mod draw;
mod leads;
mod placements;
mod reasons;

use draw::{draw_faults, draw_groups, draw_machine, draw_work};
use goodness_core::{Event, Machine, MachineFault, MadePolicy, Seed, Time};
use goodness_observe::{Checkers, Ending, Subject};
use goodness_sim::{End, Options, simulate_with};
use reasons::Found;

pub use reasons::Answers;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Events of one run at most: a policy that never ends is at fault.
const EVENTS: u64 = 3_000_000;

/// Makes the policy under test for a machine in a run with a seed.
pub type Make<'a> = dyn Fn(&Machine, Seed) -> MadePolicy + 'a;

/// One drawn machine with its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contract {
    /// Number of CPUs.
    pub cpus: u32,
    /// Random seed of machine and work.
    pub seed: u64,
    /// True for CPUs of unequal capacity.
    pub is_unequal: bool,
}

/// A contract that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The draw.
    pub on: Contract,
    /// What happened, in one sentence without a full stop.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contract { cpus, seed, .. } = self.on;
        write!(f, "on {cpus} CPU{}, seed {seed}: {}", if cpus == 1 { "" } else { "s" }, self.what)
    }
}

impl std::error::Error for Broken {}

type History = Vec<(Time, Event)>;

impl Contract {
    /// Runs the policy twice on this machine and work. Returns the number of events.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn hold(&self, make: &Make) -> Result<usize, Broken> {
        let broken = |what| Broken { on: *self, what };
        let first = self.history(make, self.faults()).map_err(broken)?;
        let second = self.history(make, self.faults()).map_err(broken)?;
        match first.iter().zip(&second).find(|(a, b)| a != b) {
            Some(((at, one), (_, other))) => {
                Err(broken(format!("two runs of one seed differ at {at}: {one:?}, then {other:?}")))
            }
            None if first.len() != second.len() => Err(broken("two runs of one seed have different lengths".into())),
            None => Ok(first.len()),
        }
    }

    /// Asks the policy for its reasons in a run on this machine and work, and checks each.
    ///
    /// # Errors
    /// The first one that is wrong; a run that asking changed.
    pub fn reasons(&self, make: &Make) -> Result<Answers, Broken> {
        let broken = |what| Broken { on: *self, what };
        let found = Rc::new(RefCell::new(Found::default()));
        let asked =
            |machine: &Machine, seed| reasons::checked(make(machine, seed), machine.cpu_count(), Rc::clone(&found));
        let history = self.history(&asked, self.faults()).map_err(broken)?;
        if let Some(wrong) = found.borrow_mut().wrong.take() {
            return Err(broken(wrong));
        }
        if history != self.history(make, self.faults()).map_err(broken)? {
            return Err(broken("the policy decides otherwise when it is asked for its reasons".into()));
        }
        let answers = found.borrow().answers;
        Ok(answers)
    }

    fn faults(&self) -> Vec<MachineFault> {
        draw_faults(Seed(self.seed), self.cpus)
    }

    fn history(&self, make: &Make, faults: Vec<MachineFault>) -> Result<History, String> {
        let mut rng = Seed(self.seed).stream("contract", u64::from(self.cpus)).rng();
        let machine = draw_machine(&mut rng, self.cpus, self.is_unequal);
        let (mut work, asked) = draw_work(&mut rng, self.cpus, draw_groups(Seed(self.seed), self.cpus));
        work.faults = faults;
        let mut observer = (History::new(), Checkers::new(machine.cpu_count(), &Subject::all(&work)));
        let options = Options { seed: Seed(self.seed), event_limit: EVENTS, ..Options::default() };
        let made = make(&machine, options.seed);
        let outcome = simulate_with(&machine, made, work, None, &mut observer, options).map_err(|it| it.to_string())?;
        let (history, checkers) = observer;
        if let Some(violation) = checkers.finish(outcome.end, Ending::Quiet).violations.first() {
            return Err(violation.to_string());
        }
        if outcome.reason == End::Horizon {
            return Err("the run reached a horizon, and the work has none".into());
        }
        conserved(&history, &asked, machine.is_unequal())?;
        Ok(history)
    }
}

/// CPU time out = work in + overhead. Slow CPUs take longer.
fn conserved(history: &History, asked: &[Arc<AtomicU64>], is_slow: bool) -> Result<(), String> {
    let mut since = BTreeMap::new();
    let (mut used, mut overhead) = (0u64, 0u64);
    for (at, event) in history {
        match event {
            Event::Switch { cpu, prev, next, .. } => {
                if prev.is_some() {
                    let began: Time =
                        since.remove(cpu).ok_or_else(|| format!("a task left {cpu} at {at} and was not on it"))?;
                    used += (*at - began).0;
                }
                if next.is_some() && since.insert(*cpu, *at).is_some() {
                    return Err(format!("{cpu} took a second task at {at}"));
                }
            }
            Event::Overhead { span, .. } => overhead += span.0,
            _ => {}
        }
    }
    let work: u64 = asked.iter().map(|it| it.load(Ordering::Relaxed)).sum();
    if !since.is_empty() {
        return Err("a task still ran at the end".into());
    }
    if used < work || !is_slow && used > work + overhead {
        return Err(format!("{used} ns on CPUs for {work} ns of work and {overhead} ns of overhead"));
    }
    Ok(())
}
