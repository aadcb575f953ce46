//! A simulated run, and its latencies: first the run, then the same run again, in which the policy and the elevators
//! are asked for their rules.

use super::account::Account;
use super::names::Names;
use super::rules::{AskElevator, AskRules, Rulings, Windows};
use super::{Question, report};
use crate::contender::Contender;
use crate::device_error::FittedDisk;
use crate::edit::locks;
use crate::kernel::other_kernel;
use crate::model_error::in_short;
use crate::open::judged;
use crate::parallel::{Told, untold};
use crate::plan::{Plan, Ready, lacks};
use crate::refusal::Refusal;
use crate::run::Named;
use crate::simulation::Beside;
use crate::standstill;
use crate::storage::throttled;
use crate::work::Work;
use goodness_core::{CpuSet, Event, LockId, Observer, Span, TaskId, Time};
use goodness_observe::Subject;
use goodness_observe::asked::Asked;
use goodness_observe::asked_elevator::AskedElevator;
use goodness_observe::blame::{Blame, Lateness, Longest, Of};
use goodness_report::why::{Who, Why};

/// A run to explain.
#[derive(Clone, Copy)]
pub struct Explained<'a> {
    /// The work and its machine.
    pub work: &'a Work,
    /// Policy, elevator and edits.
    pub contender: &'a Contender,
    /// Random seed.
    pub seed: u64,
    /// Number of the replication.
    pub replication: u32,
    /// Tasks whom it is about, by name, in which `*` stands for any text, or by number; none for those that the work
    /// judges.
    pub judge: &'a [String],
}

/// Explains the latencies that were `found` in a simulated run, and checks nothing.
///
/// # Errors
/// As [`Plan::run`]; a run in which nothing was late at the time asked about.
pub(super) fn answer(run: Explained, question: &Question, found: &Found, told: Told) -> Result<Why, Refusal> {
    question.check(&found.lateness, (Time::ZERO, Time::ZERO + found.length))?;
    let ready = run.ready()?;
    let names = names(&ready, run.work);
    let rulings = Rulings::throttled_on(throttled(&ready.work, run.contender.elevator.as_ref()));
    let notes = notes(&run, &ready, found.of);
    let mut account = Account::new(&names, found.of, question.worst, Some(rulings.clone()));
    run.explain(ready, found, rulings, &mut account, told)?;
    let whom = super::name(found.of).to_string();
    let mut why = report(run.work.source.name(), (found.of, whom), &found.lateness, &account);
    why.policy = Some(run.contender.to_string());
    why.seed = Some(run.seed);
    why.doubts.extend(found.doubt.clone());
    why.doubts.extend(run.work.recorded.iter().flat_map(|recorded| recorded.lacks.iter().cloned()));
    why.notes.extend(notes);
    Ok(why)
}

/// Note on each answer about a simulated recording.
const REPLAYED: &str = "this is a simulation of the recorded work; `goodness verify` says how far it is off";

/// Features that the policy of a run does not heed; unless it is a replay, the model's error on several CPUs; and that
/// of fitted devices.
fn notes(run: &Explained, ready: &Ready, of: Of) -> Vec<String> {
    let metric = match of {
        Of::Wakeups | Of::Waits | Of::All => "wakeup_latency_p99",
        Of::Requests => "request_latency_p99",
        Of::Io => "io_latency_p99",
    };
    let policy = run.contender;
    let simulated = Some(policy).into_iter().filter(|_| run.work.recorded.is_none());
    let unheeded = lacks(policy.policy.entry(), &ready.work).into_iter().map(|it| format!("{policy}: {it}"));
    let fitted = FittedDisk::all(&ready.work.storage);
    let of_disks = fitted.iter().map(FittedDisk::sentence);
    let recorded = run.work.recorded.as_ref();
    let other = recorded.and_then(|it| other_kernel(&policy.policy, &it.policy));
    let replayed = recorded.is_some().then(|| REPLAYED.to_string());
    let error = in_short(simulated, ready.machine.cpu_count() as u32, metric);
    unheeded.chain(error).chain(of_disks).chain(other).chain(replayed).collect()
}

/// What is late in a run.
pub(super) struct Found {
    pub of: Of,
    pub lateness: Lateness,
    /// Requests answered, or waits that ended.
    pub served: u64,
    /// Length of the run.
    pub length: Span,
    /// Reason not to trust the run: a replay that ran dry.
    pub doubt: Option<String>,
}

impl<'a> Explained<'a> {
    pub(super) fn plan(&self) -> Plan<'a> {
        Plan { seed: self.seed, first: self.replication, runs: 1, ..Plan::of(self.work, vec![self.contender.clone()]) }
    }

    /// The work and the machine, with whom it is about.
    pub(super) fn ready(&self) -> Result<Ready, Refusal> {
        let mut ready = self.plan().first_ready()?;
        if !self.judge.is_empty() {
            let tasks: Vec<(&str, u64)> = ready.tasks.iter().map(|it| (it.name.as_str(), it.id)).collect();
            let judged = judged::meant(self.work.source.name(), &tasks, self.judge)?;
            ready.work.tasks.iter_mut().zip(judged).for_each(|(spec, judged)| spec.judged = judged);
        }
        Ok(ready)
    }

    /// True if the work has simulated disks.
    pub(super) fn has_disks(&self) -> bool {
        self.ready().is_ok_and(|ready| !ready.work.storage.disks.is_empty())
    }

    /// Runs it, and finds what is late; `told` is told how far it is.
    pub(super) fn find(&self, question: &Question, told: Told) -> Result<Found, Refusal> {
        let found = self.find_if_any(question, told)?;
        let count = |other: &Question| self.find_if_any(other, &untold).map(|it| it.lateness.count);
        question.check_kind(self.work.source.name(), &found.lateness, count)?;
        Ok(found)
    }

    /// Likewise, also where nothing is of the kind asked about.
    fn find_if_any(&self, question: &Question, told: Told) -> Result<Found, Refusal> {
        let (plan, ready) = (self.plan(), self.ready()?);
        let (cpus, from) = (ready.machine.cpu_count(), Time::ZERO + ready.work.warmup);
        let subjects = Subject::all(&ready.work);
        let longest = |of| Longest::new(cpus, from, &subjects, of).under_way_at(question.at);
        let asked = question.of.as_ref().map_or(order(self.work.source.asks_for_elevator()), std::slice::from_ref);
        let serves_ios = ready.work.storage.serves_ios;
        let mut observer: Vec<Longest> = asked.iter().map(|of| longest(*of)).collect();
        let recorded = self.work.recorded.as_ref();
        let mut lull = recorded.and_then(|it| standstill::lull(it, &ready.work));
        let mut both = (Each(&mut observer), &mut lull);
        let beside = Beside { observer: Some(&mut both), ..Beside::default() };
        let end = plan.run_first(ready, beside, told)?.outcome.end;
        let doubt = recorded.zip(lull).and_then(|(recorded, it)| standstill::ran_dry(recorded, it.finish()));
        let found = observer.into_iter().map(|it| it.finish(end)).zip(asked);
        let mut found: Vec<(Lateness, Of)> = found.map(|(lateness, of)| (lateness, *of)).collect();
        let first = chosen(&found, serves_ios);
        let (lateness, of) = found.swap_remove(first);
        Ok(Found { of, served: lateness.count, lateness, length: end.since(from), doubt })
    }

    /// Runs `ready` once more, and explains to `account` what was `found`.
    fn explain(
        &self,
        ready: Ready,
        found: &Found,
        rulings: Rulings,
        account: &mut Account,
        told: Told,
    ) -> Result<(), Refusal> {
        let late = &found.lateness.tail;
        let cpus = ready.machine.cpu_count();
        let wanted = (found.of, &late[..]);
        let blame = Blame::new(cpus, &Subject::all(&ready.work), wanted, |it| account.add(it));
        let mut explains = Explains { blame, rulings: rulings.clone() };
        let windows = Windows::of(late.iter().map(|late| (late.from, late.to)));
        let rules = AskRules { windows: windows.clone(), rulings: rulings.clone() };
        let around = Box::new(move |made| Asked::around(made, cpus, rules));
        let around_elevator = Box::new(move |disk, made| {
            let (windows, rulings) = (windows.clone(), rulings.clone());
            AskedElevator::around(made, AskElevator { disk, windows, rulings })
        });
        let observer: &mut dyn Observer = &mut explains;
        let beside = Beside { observer: Some(observer), around: Some(around), around_elevator: Some(around_elevator) };
        self.plan().run_first(ready, beside, told)?;
        explains.blame.finish();
        Ok(())
    }
}

/// The latencies to explain: the first kind that there is. Where I/Os are requests, those of the block layer, which
/// tell more, unless the job's are more than twice as long on average.
fn chosen(found: &[(Lateness, Of)], serves_ios: bool) -> usize {
    let first = found.iter().position(|(lateness, _)| lateness.count > 0).unwrap_or(0);
    let io = found.iter().position(|(lateness, of)| serves_ios && *of == Of::Io && lateness.count > 0);
    let mean = |at: usize| found[at].0.total.0 / found[at].0.count.max(1);
    io.filter(|io| mean(first) <= 2 * mean(*io)).unwrap_or(first)
}

/// The latencies explained by default: the first of these that there is, of work whose elevator is open or not.
/// [`chosen`] says more of work whose I/Os are requests.
pub(super) const fn order(asks_for_elevator: bool) -> &'static [Of] {
    if asks_for_elevator { &[Of::Requests, Of::Io, Of::Waits, Of::All] } else { &[Of::Requests, Of::Waits, Of::All] }
}

/// Explains, and tells the rulings how far.
struct Explains<B> {
    blame: B,
    rulings: Rulings,
}

impl<B: Observer> Observer for Explains<B> {
    fn observe(&mut self, at: Time, event: &Event) {
        self.blame.observe(at, event);
        self.rulings.explained_until(at);
    }

    fn confine(&mut self, at: Time, task: TaskId, cpus: &CpuSet) {
        self.blame.confine(at, task, cpus);
    }
}

/// Several observers.
struct Each<'a>(&'a mut [Longest]);

impl Observer for Each<'_> {
    fn observe(&mut self, at: Time, event: &Event) {
        self.0.iter_mut().for_each(|observer| observer.observe(at, event));
    }

    fn confine(&mut self, at: Time, task: TaskId, cpus: &CpuSet) {
        self.0.iter_mut().for_each(|observer| observer.confine(at, task, cpus));
    }
}

/// The names of the tasks.
pub(super) fn names(ready: &Ready, work: &Work) -> Names {
    let who = |it: &Named| Who { name: it.name.clone(), id: it.id };
    let names = Names::new(ready.tasks.iter().map(who).collect());
    let locks = (0..ready.work.locks.len() as u32).map(|lock| locks::name(LockId(lock), &*work.source)).collect();
    names.limited(&ready.work.tasks, &ready.work.groups).locked(locks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Span;

    /// A disk whose I/Os take a second, and a job that waits for them that long, or twice or three times as long. The
    /// control: requests that are no I/Os come first, however short.
    #[test]
    fn the_block_layers_part_is_explained_unless_the_job_waits_more_than_twice_as_long() {
        let mean = |count: u64, seconds: u64| Lateness {
            count,
            total: Span::from_s(count * seconds),
            p99: None,
            tail: Vec::new(),
        };
        let found = |seconds| [(mean(10, seconds), Of::Requests), (mean(25, 1), Of::Io), (mean(0, 0), Of::Waits)];
        assert_eq!([1, 2, 3].map(|seconds| chosen(&found(seconds), true)), [1, 1, 0]);
        assert_eq!(chosen(&found(1), false), 0);
        assert_eq!(chosen(&[(mean(0, 0), Of::Requests), (mean(3, 1), Of::Io)], true), 1);
    }
}
