//! Reduces an experiment that shows a difference, a violation or a long wait to the smallest that still does.

mod reduce;

use crate::contender::Contender;
use crate::diff::parting;
use crate::plan::Plan;
use crate::progress::{Progress, Watch};
use crate::refusal::{Kind, Refusal};
use crate::simulation::Beside;
use goodness_core::{Event, Machine, Observer, PerTask, Span, TaskId, Time};
use goodness_report::figure;
use goodness_work::experiment::Experiment;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use toml::Table;

/// Works that are tried at most. A choice: some minutes of small runs.
const MOST_TRIED: u32 = 5_000;

/// What the work must go on to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symptom {
    /// The first two arms make a different decision.
    Difference,
    /// The arm breaks a rule or an invariant, or panics.
    Violation,
    /// Under the arm a runnable task waits for a CPU for so long, or longer.
    Wait(Span),
}

/// The smallest work that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// The experiment file.
    pub text: String,
    /// What it shows, in words.
    pub shows: String,
    /// Works that were tried.
    pub tried: u32,
    /// True if no single further step leaves what it shows; false if the search was stopped.
    pub is_smallest: bool,
}

/// Shrinks the experiment `text`, which errors call `file`, step by step: fewer tasks, steps, attributes and CPUs, and
/// shorter times, as long as it shows `symptom` under `arms` with `seed`. No single further step leaves the symptom,
/// unless `watch` cancels: then the result is the smallest work that was found until then.
///
/// # Errors
/// A file that cannot be read, or work that does not show the symptom.
pub fn shrink(
    (file, text): (&str, &str),
    arms: &[Contender],
    symptom: Symptom,
    seed: u64,
    watch: &Watch,
) -> Result<Shrunk, Refusal> {
    Experiment::read(file, text).map_err(|why| match file.ends_with(".toml") {
        true => Refusal::usage(why),
        false => Refusal::usage(format!("{file} is no experiment: {why}")).remedy("name a file that ends in .toml"),
    })?;
    let table: Table = toml::from_str(text).expect("it was read");
    let is_cancelled = AtomicBool::new(false);
    let shows = |text: &str, count: u32| {
        let go_on = || {
            let progress = Progress::Simulated { done: u64::from(count), of: u64::from(MOST_TRIED) };
            if watch(progress).is_break() {
                is_cancelled.store(true, Ordering::Relaxed);
            }
            if is_cancelled.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        if go_on().is_break() { None } else { shows((file, text), arms, symptom, seed, &go_on) }
    };
    let Some((found, _)) = shows(text, 0) else {
        if is_cancelled.into_inner() {
            return Err(Refusal::cancelled());
        }
        return Err(Refusal::usage(format!("{file} does not show {}", symptom.sought())).remedy(symptom.instead()));
    };
    let (last, tried) = (RefCell::new(found), Cell::new(0));
    let reduced = reduce::reduce(table, |candidate| {
        tried.set(tried.get() + 1);
        if tried.get() > MOST_TRIED {
            return None;
        }
        let (found, at) = shows(&reduce::written(candidate), tried.get())?;
        *last.borrow_mut() = found;
        Some(at)
    });
    let tried = tried.into_inner();
    Ok(Shrunk {
        text: reduce::written(&reduced),
        shows: last.into_inner(),
        tried: tried.min(MOST_TRIED),
        is_smallest: !is_cancelled.into_inner() && tried <= MOST_TRIED,
    })
}

impl Symptom {
    /// The option that shows it, where it is not shown.
    const fn instead(self) -> &'static str {
        match self {
            Symptom::Difference => "name arms that differ on it",
            Symptom::Violation => "name a second policy for a difference, or a time that a task waits",
            Symptom::Wait(_) => "name a shorter time",
        }
    }

    fn sought(self) -> String {
        match self {
            Symptom::Difference => "a difference between the arms".into(),
            Symptom::Violation => "a violation".into(),
            Symptom::Wait(span) => format!("a wait of {span}"),
        }
    }
}

/// Asks during a simulation whether it goes on.
type GoOn<'a> = &'a (dyn Fn() -> ControlFlow<()> + Sync);

/// The symptom in words and its time; `None` if the work does not show it, cannot run, or is not to go on.
fn shows(
    (file, text): (&str, &str),
    arms: &[Contender],
    symptom: Symptom,
    seed: u64,
    go_on: GoOn,
) -> Option<(String, Time)> {
    let experiment = Experiment::read(file, text).ok()?;
    let ideal = Machine::flat(1, 1_000).ok()?;
    let machine = experiment.machine().unwrap_or(&ideal);
    let plan = Plan { seed, runs: 1, ..Plan::on(&experiment, machine, arms.to_vec()) };
    match symptom {
        Symptom::Difference => difference(&plan, go_on),
        Symptom::Violation => violation(&plan, go_on),
        Symptom::Wait(limit) => wait(&plan, limit, go_on),
    }
}

fn difference(plan: &Plan, go_on: GoOn) -> Option<(String, Time)> {
    let rerun = |side: usize, beside: Beside| plan.watch_one(side, 0, beside, &|_, _| go_on());
    let parting = parting::parting(&rerun).ok()??;
    let told = parting::told(&parting, plan.most_cpus().ok()?, &rerun).ok()?;
    let [a, b] = [&plan.contenders[0], &plan.contenders[1]];
    let at = figure::time(Some(told.at_ns));
    Some((format!("at {at} {a} {}, {b} {}", told.a.did, told.b.did), parting.at))
}

fn violation(plan: &Plan, go_on: GoOn) -> Option<(String, Time)> {
    match catch_unwind(AssertUnwindSafe(|| plan.run(&|_| go_on()))) {
        Ok(Ok(runs)) => runs.violation().map(|(_, it)| (format!("{}: {}", it.checker, it.sentence), it.at)),
        Ok(Err(refusal)) if refusal.kind == Kind::Violated => Some((refusal.what, Time(u64::MAX))),
        Ok(Err(_)) => None,
        Err(_) => Some(("it panics".into(), Time(u64::MAX))),
    }
}

fn wait(plan: &Plan, limit: Span, go_on: GoOn) -> Option<(String, Time)> {
    let mut waits = Waits { limit, since: PerTask::default(), found: None };
    let tasks = plan.watch_one(0, 0, Beside::watched(&mut waits), &|_, _| go_on()).ok()?;
    let (task, since, until) = waits.found?;
    let name = tasks.get(task.index()).map_or_else(|| task.to_string(), |it| format!("{} {}", it.name, it.id));
    Some((format!("{name} waits {} from {}", until.since(since), since), until))
}

/// Finds the first wait for a CPU that is as long as the limit.
struct Waits {
    limit: Span,
    since: PerTask<Option<Time>>,
    found: Option<(TaskId, Time, Time)>,
}

impl Observer for Waits {
    fn observe(&mut self, at: Time, event: &Event) {
        let (waits, runs) = match *event {
            Event::Wakeup { task, .. } => (Some(task), None),
            Event::Switch { prev, off, next, .. } => (prev.filter(|_| off.is_runnable()), next),
            _ => return,
        };
        if let Some(task) = waits {
            *self.since.admit(task) = Some(at);
        }
        let ended = runs.and_then(|task| Some((task, self.since.admit(task).take()?)));
        if let Some((task, since)) = ended.filter(|(_, since)| at.since(*since) >= self.limit && self.found.is_none()) {
            self.found = Some((task, since, at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::unwatched;
    use crate::spec::PolicySpec;
    use std::sync::atomic::AtomicU32;

    const WORK: &str = "name = \"crowd\"\nduration = \"400ms\"\nwarmup = \"10ms\"\nmachine = \"ideal-2\"\n\
        [[task]]\nname = \"hog\"\ncount = 5\nnice = 3\nprogram = [ { compute = \"forever\" } ]\n\
        [[task]]\nname = \"blinker\"\nclass = \"batch\"\n\
        program = [ { compute = [\"1ms\", \"2ms\"] }, { sleep = \"9ms\" } ]\n\
        [[task]]\nname = \"other\"\nprogram = [ { compute = \"1ms\" }, { yield = true }, { sleep = \"30ms\" } ]\n";

    fn arms(names: &[&str]) -> Vec<Contender> {
        names.iter().map(|name| Contender::policy(PolicySpec::parse(name).unwrap())).collect()
    }

    fn shrunk(names: &[&str], symptom: Symptom) -> Result<Shrunk, Refusal> {
        shrink(("crowd.toml", WORK), &arms(names), symptom, 1, &unwatched)
    }

    #[test]
    fn a_difference_of_timeslices_needs_two_tasks_on_one_cpu() {
        let it = shrunk(&["rr:timeslice=2ms", "rr:timeslice=3ms"], Symptom::Difference).unwrap();
        let arms = arms(&["rr:timeslice=2ms", "rr:timeslice=3ms"]);
        assert!(shows(("x", &it.text), &arms, Symptom::Difference, 1, &|| ControlFlow::Continue(())).is_some());
        let table: Table = toml::from_str(&it.text).unwrap();
        let tasks = table["task"].as_array().unwrap();
        let count = |it: &toml::Value| it.get("count").and_then(toml::Value::as_integer).unwrap_or(1);
        assert_eq!(tasks.iter().map(count).sum::<i64>(), 2, "{}", it.text);
        for key in ["nice", "class", "warmup", "sleep", "yield"] {
            assert!(!it.text.contains(key), "{key} is not needed: {}", it.text);
        }
        assert!(it.text.contains("\"ideal\"") && it.tried > 10, "{}", it.text);
    }

    #[test]
    fn a_wait_keeps_the_task_that_waits_and_the_one_it_waits_for() {
        let it = shrunk(&["rr:timeslice=20ms"], Symptom::Wait(Span::from_ms(20))).unwrap();
        assert!(it.shows.contains(" waits "), "{}", it.shows);
        let table: Table = toml::from_str(&it.text).unwrap();
        assert!(table["task"].as_array().unwrap().len() <= 2, "{}", it.text);
    }

    #[test]
    fn a_cancelled_search_ends_within_a_simulation() {
        let long = WORK.replace("400ms", "60s");
        let asked = AtomicU32::new(0);
        let few = |_: Progress| match asked.fetch_add(1, Ordering::Relaxed) < 3 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        let why = shrink(("crowd.toml", &long), &arms(&["rr"]), Symptom::Violation, 1, &few).unwrap_err();
        assert_eq!(why.kind, Kind::Cancelled, "{why}");
        let why = shrink(("crowd.toml", &long), &arms(&["rr"]), Symptom::Violation, 1, &unwatched).unwrap_err();
        assert_eq!(why.kind, Kind::Usage, "{why}");
    }

    #[test]
    fn what_is_not_shown_is_refused() {
        let why = shrunk(&["rr", "rr"], Symptom::Difference).unwrap_err().to_string();
        assert!(why.contains("does not show a difference"), "{why}");
        assert!(shrunk(&["rr"], Symptom::Violation).is_err());
        assert!(shrunk(&["rr"], Symptom::Wait(Span::from_s(10))).is_err());
    }
}
