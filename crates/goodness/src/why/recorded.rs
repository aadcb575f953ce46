//! Explains the latencies of a recording as it is, without a simulation.

use super::account::Account;
use super::names::Names;
use super::run::order;
use super::{Question, name, report};
use crate::open::{Held, OpenOptions, of_scheduling};
use crate::progress::Watch;
use crate::refusal::Refusal;
use goodness_core::{Class, Observer, Reason, Task, TaskId, Time};
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
use goodness_trace::{Excerpt, PIECE, Record, Recording, Served, Wake};

/// Note on a long recording.
const LONG: &str = "the recording is long, so it was read in pieces, in which requests are not looked for; --window \
                    explains them in a part of it";

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
    let held = Held::of(text, watch)?;
    if question.of != Some(Of::Requests) && held.is_long(options.window) {
        let file = File { held: &held, window: options.window, piece: PIECE, watch };
        let sample = held.sample(options.window, PIECE, watch)?;
        return explain(text, options, question, (&sample, Some(file)));
    }
    let recording = of_scheduling(&held, options.window, watch)?;
    explain(text, options, question, (&recording, None))
}

/// Explains the latencies of `recording`, or of the `file` of which it is a sample.
fn explain(
    text: &str,
    options: &OpenOptions,
    question: &Question,
    (recording, file): (&Recording, Option<File>),
) -> Result<Why, Refusal> {
    let (history, warnings) = crate::open::history(recording, options)?;
    let rule = Rule::new(&history, TickGrid::find(&history));
    let requests = if file.is_none() { requests(&history, &rule) } else { Requests::default() };
    let served = requests.served(history.records);
    let it = Told { recording, file: file.as_ref(), history: &history, rule: &rule, served };
    let (found, of) = it.first_late(question)?;
    let begin = recording.records.first().map_or(Time::ZERO, |record| record.at);
    question.check(&found, (begin, recording.end()))?;
    question.check_kind(&options.named(text), &found, |other| match other.of {
        Some(Of::Io) => Ok(0),
        _ => it.first_late(other).map(|(found, _)| found.count),
    })?;
    let who = |it: &goodness_replay::Participant| Who { name: it.name.clone(), id: it.pid.into() };
    let names = Names::new(history.participants.iter().map(who).collect());
    let mut account = Account::new(&names, of, question.worst, None);
    it.explain((of, &found.tail), &mut account)?;
    let whom = if of == Of::Requests { whose(&requests) } else { name(of).to_string() };
    let mut why = report(&options.named(text), (of, whom), &found, &account);
    let wrong = requests.at_once.iter().filter(|_| of == Of::Requests);
    why.doubts.extend(wrong.map(crate::open::at_once));
    why.notes.extend(file.is_some().then(|| LONG.into()));
    why.notes.extend(warnings);
    why.notes.push(
        "a recording shows classes and priorities, but not the kernel's other rules; -p simulates a policy and asks it"
            .into(),
    );
    Ok(why)
}

fn requests(history: &History, rule: &Rule) -> Requests {
    let windows = Windows::find(history, rule);
    Requests::find(history, rule, &windows, &Pools::find(history, rule, &windows))
}

/// A long recording that is read in pieces.
struct File<'a> {
    held: &'a Held,
    window: Excerpt,
    piece: usize,
    watch: &'a Watch<'a>,
}

/// A recording, and what its requests and wakers are.
struct Told<'a> {
    recording: &'a Recording,
    /// The file of which the recording is a sample.
    file: Option<&'a File<'a>>,
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

    /// The longest of the first kind of latency that is asked about and that there is.
    fn first_late(&self, question: &Question) -> Result<(Lateness, Of), Refusal> {
        let asked = question.of.as_ref().map_or(order(false), std::slice::from_ref);
        let asked = || asked.iter().filter(|of| self.file.is_none() || **of != Of::Requests);
        for of in asked() {
            let found = self.longest(*of, question)?;
            if found.count > 0 {
                return Ok((found, *of));
            }
        }
        let first = *asked().next().unwrap_or(&Of::Waits);
        Ok((self.longest(first, question)?, first))
    }

    fn longest(&self, of: Of, question: &Question) -> Result<Lateness, Refusal> {
        let longest = Longest::new(self.history.cpus, Time::ZERO, &self.subjects(), of);
        let mut longest = longest.under_way_at(question.at);
        self.observe("what is late", &mut longest)?;
        Ok(longest.finish(self.recording.end()))
    }

    fn explain(&self, wanted: (Of, &[Late]), account: &mut Account) -> Result<(), Refusal> {
        let take = |mut it: Explained| {
            it.segments.iter_mut().for_each(|segment| segment.rule = self.proven(segment).map(ToldBy::Policy));
            account.add(it);
        };
        let mut blame = Blame::new(self.history.cpus, &self.subjects(), wanted, take);
        self.observe("the causes", &mut blame)?;
        blame.finish();
        Ok(())
    }

    /// Passes all events to `observer`; a file is read for `what`.
    fn observe(&self, what: &str, observer: &mut impl Observer) -> Result<(), Refusal> {
        let Some(file) = self.file else {
            self.recording.observe_woken(&self.served, |wake| self.waker(wake), observer);
            return Ok(());
        };
        let mut events = self.recording.begin_events(observer);
        let mut is_another = false;
        let each = |records: &[Record]| {
            for record in records {
                match record.event.tasks().all(|task| task.index() < self.recording.tasks.len()) {
                    true => events.pass(record, |wake| self.waker(wake), observer),
                    false => is_another = true,
                }
            }
        };
        file.held.pieces((file.window, file.piece), what, file.watch, each)?;
        if is_another {
            let what = format!("{} changed while it was read", self.recording.name);
            return Err(Refusal::usage(what).remedy("ask again when its recording is complete"));
        }
        Ok(())
    }
}

/// Whose requests to whom, by their number.
fn whose(requests: &Requests) -> String {
    let kinds = requests.counted().into_iter().map(|(kind, _)| {
        format!("requests of {} to {}", kind.client.as_deref().unwrap_or("clients on other machines"), kind.server)
    });
    kinds.collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::{Held, of_scheduling};
    use crate::{shipped, unwatched};
    use std::fs;
    use std::path::Path;

    /// The latencies of the file at `path`, read in pieces of `piece` events.
    fn in_pieces(path: &Path, piece: usize, question: &Question) -> Result<Why, Refusal> {
        let (text, options) = (path.display().to_string(), OpenOptions::default());
        let held = Held::of(&text, &unwatched)?;
        let sample = held.sample(options.window, piece, &unwatched)?;
        let file = File { held: &held, window: options.window, piece, watch: &unwatched };
        explain(&text, &options, question, (&sample, Some(file)))
    }

    fn whole(path: &Path, question: &Question) -> Why {
        let (text, options) = (path.display().to_string(), OpenOptions::default());
        let held = Held::of(&text, &unwatched).expect("a file");
        let recording = of_scheduling(&held, options.window, &unwatched).expect("a recording");
        explain(&text, &options, question, (&recording, None)).expect("latencies")
    }

    #[test]
    fn pieces_of_a_recording_tell_what_the_whole_tells() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, of) in [
            ("apache-ab-c32-2cpu", Of::Waits),
            ("mariadb-sysbench-16", Of::Wakeups),
            ("mixed-cpu", Of::All),
            ("redis-benchmark-8", Of::Waits),
        ] {
            let path = folder.path().join(format!("{name}.zst"));
            fs::write(&path, shipped::find(name).expect("it is shipped").bytes).expect("it is written");
            let question = Question { of: Some(of), ..Question::default() };
            let found = in_pieces(&path, 5_000, &question).expect("latencies");
            assert!(found.notes.iter().any(|note| note == LONG), "{name}: {:?}", found.notes);
            let expected = whole(&path, &question);
            assert!(expected.count > 1_000, "{name}: {}", expected.count);
            assert_eq!(Why { notes: expected.notes.clone(), ..found }, expected, "{name}");
        }
    }
    #[test]
    fn a_file_that_changes_between_two_readings_is_refused() {
        let line = |at: u32, pid: u32| {
            format!(
                "  t{pid}-{pid} [000] d..2. 1.{at:06}: sched_switch: prev_comm=t{pid} prev_pid={pid} prev_prio=120 \
                 prev_state=R ==> next_comm=t{next} next_pid={next} next_prio=120\n",
                next = pid % 2 + 1
            )
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("growing.txt");
        let text: String = (0..100).map(|at| line(at, 1 + at % 2)).collect();
        fs::write(&path, format!("# tracer: nop\n{text}")).expect("it is written");
        let question = Question { of: Some(Of::All), ..Question::default() };
        let name = path.display().to_string();
        let held = Held::of(&name, &unwatched).expect("a file");
        let sample = held.sample(Excerpt::WHOLE, 50, &unwatched).expect("a trace");
        let asked = || {
            let file = File { held: &held, window: Excerpt::WHOLE, piece: 50, watch: &unwatched };
            explain(&name, &OpenOptions::default(), &question, (&sample, Some(file)))
        };
        assert!(asked().is_ok(), "it is as it was");
        fs::write(&path, format!("# tracer: nop\n{text}{}", line(500, 7))).expect("it is written");
        let refused = asked().expect_err("nobody knew of task 7").to_string();
        assert!(refused.contains("growing.txt changed while it was read"), "{refused}");
    }
}
