//! Results per task: CPU time, waiting, sleep, switches, wake-up latencies.

use super::Window;
use super::measured::TaskMeasured;
use super::task_account::TaskAccount;
use super::wakeup_latency::WakeupLatency;
use crate::tracker::{TaskTrack, Tracker};
use goodness_core::{Span, State, TaskId, Time};

/// Accounts waits that the end of the run cuts off.
pub(super) fn close_waits(end: Time, from: Time, tracker: &mut Tracker<TaskAccount>, wakeup: &mut WakeupLatency) {
    let waiting: Vec<TaskId> =
        tracker.tasks().filter(|(_, t)| t.state == State::Queued).map(|(task, _)| task).collect();
    for task in waiting {
        let track = tracker.task_mut(task);
        track.own.wait += end.since(track.since.max(from));
        if track.is_woken() && track.is_judged() && track.since > from {
            wakeup.cut_off();
        }
    }
}

/// The results of all tasks.
pub(super) fn report(window: Window, tracker: &Tracker<TaskAccount>, wakeup: &WakeupLatency) -> Vec<TaskMeasured> {
    let of = |(task, track)| measured(task, track, tracker.arrived(task), window, wakeup);
    tracker.tasks().map(of).collect()
}

fn measured(
    task: TaskId,
    track: &TaskTrack<TaskAccount>,
    arrived: Option<Time>,
    window: Window,
    wakeup: &WakeupLatency,
) -> TaskMeasured {
    let own = &track.own;
    let ended = (track.state == State::Exited).then_some(track.since);
    let life = arrived.map_or(Span::ZERO, |arrived| ended.unwrap_or(window.to).since(arrived.max(window.from)));
    let longest = own.longest_latency.checked_sub(1).map(Span);
    TaskMeasured {
        task,
        judged: track.is_judged(),
        cpu_time: own.cpu_time,
        wait: own.wait,
        sleep: life.saturating_sub(own.cpu_time + own.wait),
        voluntary_switches: own.voluntary,
        involuntary_switches: own.involuntary,
        migrations: own.migrations,
        wakeups: own.wakeups,
        wakeup_latency_p50: wakeup.of_task(task, 5_000, longest),
        wakeup_latency_p99: wakeup.of_task(task, 9_900, longest),
        wakeup_latency_max: longest,
        arrived,
        ended,
    }
}
