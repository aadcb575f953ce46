//! Explains the latencies of a recording as it is, without a simulation.

use super::account::Account;
use super::names::Names;
use super::run::order;
use super::{Question, name, report};
use crate::open::{OpenOptions, read_recording};
use crate::progress::Watch;
use crate::refusal::Refusal;
use goodness_core::{Class, Reason, Task, TaskId, Time};
use goodness_observe::Subject;
use goodness_observe::blame::{
    Blame, Cause as Behind, Explained, Late, Lateness, Longest, Of, Segment, Told as ToldBy,
};
use goodness_replay::answers::Windows;
use goodness_replay::causes::{Cause, Kinds, Rule};
use goodness_replay::clock::TickGrid;
use goodness_replay::pools::Pools;
use goodness_replay::{History, Requests};
use goodness_report::why::{Who, Why};
use goodness_trace::{Recording, Served, Wake};

/// Explains the latencies of the recording called `text`.
///
/// # Errors
/// A file that is not a recording of scheduling, nobody who is to be judged, or nothing at the time asked about. I/Os,
/// of which a recording as it is tells nothing.
pub fn why_recorded(text: &str, options: &OpenOptions, question: &Question, watch: &Watch) -> Result<Why, Refusal> {
    if question.of == Some(Of::Io) {
        return Err(Refusal::usage(format!(
            "{text}: I/Os are explained of simulated runs, not of a recording as it is"
        ))
        .remedy("ask for requests, waits, wakeups or all, or simulate fio jobs, a block trace or disks"));
    }
    let recording = read_recording(text, options.window, watch)?;
    let (history, warnings) = crate::open::history(&recording, options)?;
    let rule = Rule::new(&history, TickGrid::find(&history));
    let windows = Windows::find(&history, &rule);
    let requests = Requests::find(&history, &rule, &windows, &Pools::find(&history, &rule, &windows));
    let served = requests.served(history.records);
    let it = Told { recording: &recording, history: &history, rule: &rule, served };
    let asked = question.of.as_ref().map_or(order(false), std::slice::from_ref);
    let mut found = asked.iter().map(|of| (it.longest(*of, question), *of));
    let (found, of) =
        found.find(|(found, _)| found.count > 0).unwrap_or_else(|| (it.longest(asked[0], question), asked[0]));
    question.check(&found)?;
    let who = |it: &goodness_replay::Participant| Who { name: it.name.clone(), id: it.pid.into() };
    let names = Names::new(history.participants.iter().map(who).collect());
    let mut account = Account::new(&names, of, question.worst, None);
    it.explain((of, &found.tail), &mut account);
    let whom = if of == Of::Requests { whose(&requests) } else { name(of).to_string() };
    let mut why = report(&options.named(text), (of, whom), &found, &account);
    why.notes.extend(requests.at_once.iter().map(crate::open::at_once));
    why.notes.extend(warnings);
    why.notes.push(
        "a recording shows classes and priorities, but not the kernel's other rules; -p simulates a policy and asks it"
            .into(),
    );
    Ok(why)
}

/// A recording, and what its requests and wakers are.
struct Told<'a> {
    recording: &'a Recording,
    history: &'a History<'a>,
    rule: &'a Rule<'a>,
    served: Vec<Served>,
}

impl Told<'_> {
    fn waker(&self, wake: &Wake) -> Option<TaskId> {
        match self.rule.judge(wake, &mut Kinds::default()) {
            Cause::Edge(waker) => Some(waker),
            Cause::External => None,
        }
    }

    fn subjects(&self) -> Vec<Subject> {
        crate::open::subjects(self.history)
    }

    /// The rule that classes and priorities prove, if they do.
    fn proven(&self, segment: &Segment) -> Option<Reason> {
        let (Behind::Behind(task) | Behind::BesideIdle { behind: task, .. }) = segment.cause else { return None };
        let [ahead, waiting] = [task, segment.task].map(|task| &self.history.participant(task).task);
        let is_urgent = |task: &Task| task.class.is_realtime() || task.class == Class::Deadline;
        match (is_urgent(ahead), is_urgent(waiting)) {
            (true, false) => Some(Reason::Class { ahead: ahead.class, waiting: waiting.class }),
            (true, true) if ahead.rt_priority > waiting.rt_priority && waiting.class != Class::Deadline => {
                let [ahead, waiting] = [ahead, waiting].map(|task| task.rt_priority.into());
                Some(Reason::Priority { ahead, waiting })
            }
            _ => None,
        }
    }

    fn longest(&self, of: Of, question: &Question) -> Lateness {
        let longest = Longest::new(self.history.cpus, Time::ZERO, &self.subjects(), of);
        let mut longest = longest.under_way_at(question.at);
        self.recording.observe_woken(&self.served, |wake| self.waker(wake), &mut longest);
        longest.finish(self.recording.end())
    }

    fn explain(&self, wanted: (Of, &[Late]), account: &mut Account) {
        let take = |mut it: Explained| {
            it.segments.iter_mut().for_each(|segment| segment.rule = self.proven(segment).map(ToldBy::Policy));
            account.add(it);
        };
        let mut blame = Blame::new(self.history.cpus, &self.subjects(), wanted, take);
        self.recording.observe_woken(&self.served, |wake| self.waker(wake), &mut blame);
        blame.finish();
    }
}

/// Whose requests to whom, by their number.
fn whose(requests: &Requests) -> String {
    let kinds = requests.counted().into_iter().map(|(kind, _)| {
        format!("requests of {} to {}", kind.client.as_deref().unwrap_or("clients on other machines"), kind.server)
    });
    kinds.collect::<Vec<_>>().join(" and ")
}
