use super::*;
use crate::Metrics;
use goodness_core::{Class, CpuSet, Event, Nice, Observer, WakeSource};

/// A hand-written event stream.
struct Stream(Metrics);

impl Stream {
    fn new(cpus: usize, from: u64, subjects: &[Subject]) -> Stream {
        Stream(Metrics::new(cpus, Time(from), subjects))
    }

    fn wake(mut self, at: u64, task: u32, cpu: u32) -> Self {
        let event = Event::Wakeup { task: TaskId(task), waker: None, cpu: CpuId(cpu), from: WakeSource::Interrupt };
        self.0.observe(Time(at), &event);
        self
    }

    fn switch(mut self, at: u64, cpu: u32, prev: Option<(u32, Off)>, next: Option<u32>) -> Self {
        let off = prev.map_or(Off::Sleeping, |(_, off)| off);
        let (prev, next) = (prev.map(|(task, _)| TaskId(task)), next.map(TaskId));
        self.0.observe(Time(at), &Event::Switch { cpu: CpuId(cpu), prev, off, next });
        self
    }

    fn event(mut self, at: u64, event: Event) -> Self {
        self.0.observe(Time(at), &event);
        self
    }

    fn end(self, at: u64) -> Measured {
        self.0.finish(Time(at))
    }
}

fn judged(n: usize) -> Vec<Subject> {
    vec![Subject::default(); n]
}

fn of_nice(nice: i64) -> Subject {
    Subject { nice: Nice::new(nice).unwrap(), ..Subject::default() }
}

#[track_caller]
fn assert_close(value: Value, expected: f64) {
    let got = value.value.unwrap_or_else(|| panic!("{} was not measured", value.about.name));
    assert!((got - expected).abs() < 1e-9 * expected.abs().max(1.0), "{} = {got}, not {expected}", value.about.name);
}

/// a: runs 5..15, is preempted, runs 25..30 and sleeps; b: waits 10..15, runs 15..25, is preempted.
fn two_tasks_share_a_cpu() -> Stream {
    Stream::new(1, 0, &judged(2))
        .wake(3, 0, 0)
        .switch(5, 0, None, Some(0))
        .wake(10, 1, 0)
        .switch(15, 0, Some((0, Off::Preempted)), Some(1))
        .switch(25, 0, Some((1, Off::Preempted)), Some(0))
        .switch(30, 0, Some((0, Off::Sleeping)), Some(1))
}

#[test]
fn latency_is_counted_from_the_waking_and_not_from_a_preemption() {
    let measured = two_tasks_share_a_cpu().end(40);
    let latency = &measured.distributions.wakeup_latency;
    assert_eq!(latency.buckets().map(|b| (b.low, b.count)).collect::<Vec<_>>(), [(2, 1), (5, 1)]);
    assert_close(measured.get("wakeup_latency_mean"), 3.5);
    assert_close(measured.get("wakeup_latency_p50"), 2.0);
    assert_close(measured.get("wakeup_latency_max"), 5.0);
    assert_eq!(measured.get("wakeup_latency_p99").samples, 2);
}

#[test]
fn every_nanosecond_of_a_task_is_cpu_time_waiting_or_sleep() {
    let measured = two_tasks_share_a_cpu().end(40);
    let [a, b] = &measured.tasks[..] else { panic!("two tasks") };
    assert_eq!((a.cpu_time, a.wait, a.sleep), (Span(15), Span(12), Span(10)));
    assert_eq!((b.cpu_time, b.wait, b.sleep), (Span(20), Span(10), Span(0)));
    assert_eq!((a.voluntary_switches, a.involuntary_switches, a.wakeups), (1, 1, 1));
    assert_eq!((b.voluntary_switches, b.involuntary_switches, b.wakeups), (0, 1, 1));
    assert_eq!((a.wakeup_latency_max, b.wakeup_latency_p99), (Some(Span(2)), Some(Span(5))));
}

#[test]
fn slices_end_with_a_switch_and_the_last_one_with_the_run() {
    let measured = two_tasks_share_a_cpu().end(40);
    let slices = &measured.distributions.slice_length;
    assert_eq!(slices.buckets().map(|b| (b.low, b.count)).collect::<Vec<_>>(), [(5, 1), (10, 3)]);
    assert_close(measured.get("context_switches"), 3.0);
    assert_close(measured.get("involuntary_switches"), 2.0);
    assert_close(measured.get("utilisation"), 35.0 / 40.0);
}

#[test]
fn a_runqueue_length_weighs_as_long_as_it_lasts() {
    let measured = two_tasks_share_a_cpu().end(40);
    let lengths = &measured.distributions.runqueue_length;
    // 0 until 3; a until 10; both until a sleeps at 30; b until the end.
    assert_eq!(lengths.buckets().map(|b| (b.low, b.count)).collect::<Vec<_>>(), [(0, 3), (1, 17), (2, 20)]);
    assert_close(measured.get("runqueue_length_mean"), 57.0 / 40.0);
    assert_close(measured.get("runqueue_length_max"), 2.0);
    assert_close(measured.get("runqueue_length_p99"), 2.0);
}

#[test]
fn measurements_begin_at_the_warm_up_instant() {
    let measured = Stream::new(1, 100, &judged(2))
        .wake(0, 0, 0)
        .switch(10, 0, None, Some(0))
        .wake(50, 1, 0)
        .switch(120, 0, Some((0, Off::Sleeping)), Some(1))
        .switch(130, 0, Some((1, Off::Sleeping)), None)
        .wake(140, 0, 0)
        .switch(143, 0, None, Some(0))
        .end(150);
    assert_eq!(measured.tasks[0].cpu_time, Span(27));
    assert_eq!((measured.tasks[1].cpu_time, measured.tasks[1].wait), (Span(10), Span(20)));
    assert_eq!(measured.get("wakeup_latency_mean").samples, 1, "the wait begun at 50 is no latency");
    assert_close(measured.get("wakeup_latency_mean"), 3.0);
    assert_close(measured.get("slice_length_max"), 20.0);
    assert_close(measured.get("utilisation"), 37.0 / 50.0);
    assert_close(measured.get("runqueue_length_mean"), (20.0 * 2.0 + 10.0 + 10.0) / 50.0);
    assert_eq!(measured.tasks[0].wakeups, 1);
}

#[test]
fn a_waking_that_starts_the_run_is_no_latency() {
    let measured = Stream::new(1, 0, &judged(1)).wake(0, 0, 0).switch(7, 0, None, Some(0)).end(9);
    assert_eq!(measured.get("wakeup_latency_mean").value, None);
    assert_eq!(measured.tasks[0].wait, Span(7));
}

#[test]
fn a_task_that_never_runs_is_censored_and_counted() {
    let measured = Stream::new(1, 0, &judged(2)).wake(1, 0, 0).switch(1, 0, None, Some(0)).wake(2, 1, 0).end(1_000);
    assert_eq!((measured.unfinished_waits, measured.get("wakeup_latency_p99").samples), (1, 1));
    assert_eq!((measured.tasks[1].wait, measured.tasks[1].wakeup_latency_max), (Span(998), None));
}

#[test]
fn competing_load_counts_for_the_machine_and_not_for_latency() {
    let outside = Subject { judged: false, ..Subject::default() };
    let measured = Stream::new(1, 0, &[outside])
        .wake(1, 0, 0)
        .switch(5, 0, None, Some(0))
        .switch(9, 0, Some((0, Off::Sleeping)), None)
        .end(10);
    for name in ["wakeup_latency_mean", "slice_length_mean", "share_error", "jain_index"] {
        assert_eq!(measured.get(name).value, None, "{name}");
    }
    assert_close(measured.get("context_switches"), 1.0);
    assert_close(measured.get("utilisation"), 0.4);
    assert_close(measured.get("cpu_share"), 0.0);
    assert_eq!(measured.tasks[0].wakeup_latency_max, Some(Span(4)));
}

#[test]
fn a_slice_on_another_cpu_is_a_migration() {
    let (task, from, to) = (TaskId(0), CpuId(0), CpuId(1));
    let measured = Stream::new(2, 0, &judged(1))
        .wake(1, 0, 0)
        .switch(1, 0, None, Some(0))
        .switch(5, 0, Some((0, Off::Preempted)), None)
        .event(5, Event::Migrate { task, from, to })
        .switch(8, 1, None, Some(0))
        .end(10);
    assert_close(measured.get("migrations"), 1.0);
    assert_eq!(measured.tasks[0].migrations, 1);
    assert_close(measured.get("runqueue_length_mean"), 9.0 / 20.0);
    assert_close(measured.get("idle_while_queued"), 3.0);
}

#[test]
fn idling_beside_a_waiting_task_counts_unless_affinity_forbids() {
    let pinned = Subject { affinity: CpuSet::of(&[CpuId(0)]), ..Subject::default() };
    let run = |second: Subject| {
        Stream::new(2, 0, &[Subject::default(), second])
            .wake(1, 0, 0)
            .switch(1, 0, None, Some(0))
            .wake(4, 1, 0)
            .end(10)
            .get("idle_while_queued")
    };
    assert_close(run(Subject::default()), 6.0);
    assert_close(run(pinned), 0.0);
}

#[test]
fn served_requests_give_latency_and_throughput() {
    let served = |latency| Event::Served { task: TaskId(0), latency: Span(latency) };
    let measured = Stream::new(1, 0, &judged(1)).event(10, served(4)).event(20, served(8)).end(1_000);
    assert_close(measured.get("request_latency_mean"), 6.0);
    assert_close(measured.get("throughput"), 2e6);
    assert_eq!(Stream::new(1, 0, &judged(1)).end(1_000).get("throughput").value, None);
}

#[test]
fn turnaround_and_completion_need_the_end_of_the_task() {
    let until_exit = |tasks| {
        Stream::new(1, 0, &judged(tasks))
            .wake(10, 0, 0)
            .switch(12, 0, None, Some(0))
            .event(50, Event::Exit { task: TaskId(0) })
            .switch(50, 0, Some((0, Off::Exited)), None)
    };
    let measured = until_exit(1).end(60);
    assert_close(measured.get("turnaround"), 40.0);
    assert_close(measured.get("completion_time"), 50.0);
    assert_eq!((measured.tasks[0].ended, measured.tasks[0].sleep), (Some(Time(50)), Span(0)));
    let unfinished = until_exit(2).wake(55, 1, 0).end(60);
    assert_eq!(unfinished.get("completion_time").value, None);
    assert_close(unfinished.get("turnaround"), 40.0);
}

#[test]
fn waiting_and_response_time_are_those_of_textbooks() {
    // Task 0 runs 0..4 and 6..8, task 1 arrives at 1 and runs 4..6.
    let stream = Stream::new(1, 0, &judged(2))
        .wake(0, 0, 0)
        .switch(0, 0, None, Some(0))
        .wake(1, 1, 0)
        .switch(4, 0, Some((0, Off::Preempted)), Some(1))
        .event(6, Event::Exit { task: TaskId(1) })
        .switch(6, 0, Some((1, Off::Exited)), Some(0))
        .event(8, Event::Exit { task: TaskId(0) })
        .switch(8, 0, Some((0, Off::Exited)), None);
    let measured = stream.end(10);
    assert_close(measured.get("waiting_time"), (2.0 + 3.0) / 2.0);
    assert_close(measured.get("response_time"), (0.0 + 3.0) / 2.0);
    assert_close(measured.get("turnaround"), (8.0 + 5.0) / 2.0);
}

#[test]
fn a_task_that_arrived_in_the_warm_up_has_no_waiting_and_no_response_time() {
    let measured = Stream::new(1, 5, &judged(1))
        .wake(1, 0, 0)
        .switch(7, 0, None, Some(0))
        .event(9, Event::Exit { task: TaskId(0) })
        .switch(9, 0, Some((0, Off::Exited)), None)
        .end(10);
    assert_eq!((measured.get("waiting_time").value, measured.get("response_time").value), (None, None));
}

fn spent(kind: Overhead, span: u64) -> Event {
    Event::Overhead { cpu: CpuId(0), kind, span: Span(span) }
}

#[test]
fn overhead_is_a_share_of_busy_time() {
    let measured = Stream::new(1, 0, &judged(1))
        .event(5, spent(Overhead::Search, 10))
        .wake(20, 0, 0)
        .switch(20, 0, None, Some(0))
        .event(20, spent(Overhead::Switch, 5))
        .end(110);
    assert_close(measured.get("scheduler_share"), 15.0 / 100.0);
    assert_close(measured.get("scheduler_share_search"), 10.0 / 100.0);
    assert_close(measured.get("scheduler_share_switch"), 5.0 / 100.0);
    assert_close(measured.get("scheduler_share_lock"), 0.0);
    assert_eq!(measured.overhead[Overhead::Switch as usize], Span(5));
}

/// One task, woken at 10 on a CPU that idles.
fn woken_at_10() -> Stream {
    Stream::new(1, 0, &judged(1)).wake(10, 0, 0)
}

#[track_caller]
fn assert_busy(measured: &Measured, busy: f64, scheduling: f64) {
    assert_close(measured.get("cpu_busy"), busy);
    assert_close(measured.get("scheduler_share"), scheduling);
}

#[test]
fn the_decision_that_ends_idle_time_is_part_of_the_slice() {
    let slice = woken_at_10().event(10, spent(Overhead::Search, 30)).switch(10, 0, None, Some(0));
    assert_busy(&slice.switch(60, 0, Some((0, Off::Sleeping)), None).end(100), 50.0 / 100.0, 30.0 / 50.0);
}

#[test]
fn the_decision_to_idle_takes_idle_time_up_to_the_next_slice() {
    let idles = |span| {
        let slice = woken_at_10().switch(10, 0, None, Some(0)).event(60, spent(Overhead::Search, span));
        slice.switch(60, 0, Some((0, Off::Sleeping)), None)
    };
    assert_busy(&idles(15).end(100), 65.0 / 100.0, 15.0 / 65.0);
    assert_busy(&idles(90).end(100), 90.0 / 100.0, 40.0 / 90.0);
    let again = idles(90).wake(70, 0, 0).switch(70, 0, None, Some(0));
    assert_busy(&again.switch(75, 0, Some((0, Off::Sleeping)), None).end(100), 65.0 / 100.0, 10.0 / 65.0);
}

#[test]
fn what_is_left_of_a_slices_work_goes_on_while_the_cpu_idles() {
    let slice = woken_at_10().switch(10, 0, None, Some(0)).event(50, spent(Overhead::Switch, 30));
    assert_busy(&slice.switch(60, 0, Some((0, Off::Preempted)), None).end(100), 70.0 / 100.0, 30.0 / 70.0);
}

#[test]
fn work_beyond_the_end_of_the_run_is_not_counted() {
    let measured = Stream::new(1, 0, &[]).event(90, spent(Overhead::Wakeup, 1_000)).end(100);
    assert_busy(&measured, 10.0 / 100.0, 1.0);
    let slice = woken_at_10().event(10, spent(Overhead::Search, 1_000)).switch(10, 0, None, Some(0));
    assert_busy(&slice.end(100), 90.0 / 100.0, 1.0);
}

#[test]
fn io_of_an_idle_cpu_is_told_when_it_is_done_and_counts_as_busy() {
    let idle = || Stream::new(1, 0, &[]).event(40, spent(Overhead::Io, 30));
    assert_close(idle().end(100).get("cpu_busy"), 30.0 / 100.0);
    let both = idle().event(40, spent(Overhead::Search, 90)).event(100, spent(Overhead::Io, 60)).end(100);
    assert_close(both.get("cpu_busy"), 1.0);
}

#[test]
fn only_the_work_after_the_warm_up_counts() {
    let stream = Stream::new(1, 50, &judged(1)).wake(10, 0, 0).event(10, spent(Overhead::Search, 1_000));
    let slice = stream.switch(10, 0, None, Some(0)).switch(60, 0, Some((0, Off::Sleeping)), None);
    assert_busy(&slice.event(70, spent(Overhead::Wakeup, 5)).end(100), 15.0 / 50.0, 5.0 / 15.0);
}

/// Two tasks runnable from 0: task 0 gets `first` of 1 000 ns, task 1 the rest.
fn split(subjects: &[Subject], first: u64) -> Measured {
    Stream::new(1, 0, subjects)
        .wake(0, 0, 0)
        .wake(0, 1, 0)
        .switch(0, 0, None, Some(0))
        .switch(first, 0, Some((0, Off::Preempted)), Some(1))
        .end(1_000)
}

/// Two tasks share a CPU; the first gets nice 5 after half of the time. `of_second` is the second's CPU time in the
/// second half, 500 ns.
fn renices(of_second: u64) -> Stream {
    let mut stream = Stream::new(1, 0, &judged(2))
        .wake(0, 0, 0)
        .wake(0, 1, 0)
        .switch(0, 0, None, Some(0))
        .switch(250, 0, Some((0, Off::Preempted)), Some(1))
        .switch(500, 0, Some((1, Off::Preempted)), Some(0));
    stream.0.reclass(Time(500), TaskId(0), Class::Normal, Nice::new(5).unwrap());
    stream.switch(1_000 - of_second, 0, Some((0, Off::Preempted)), Some(1))
}

#[test]
fn a_task_that_changes_its_nice_has_another_share_from_then_on() {
    let weight = 1.25f64.powi(-5);
    let fair = 500.0 / (1.0 + weight);
    let error = |of_second: u64| 2.0 * (of_second as f64 - fair).abs() / 1_000.0;
    assert_close(renices(377).end(1_000).get("share_error"), error(377));
    assert!(error(377) < 0.001 && error(250) > 0.2);
    assert_close(renices(250).end(1_000).get("share_error"), error(250));
}

#[test]
fn shares_of_groups_of_confined_tasks_and_of_a_changed_class_are_not_measured() {
    let value = |stream: Stream| stream.end(1_000).get("share_error").value;
    let of = |cpus| Stream::new(cpus, 0, &judged(2)).wake(0, 0, 0).switch(0, 0, None, Some(0));
    assert!(value(of(1)).is_some() && value(of(2)).is_some());
    let grouped = [Subject { is_grouped: true, ..Subject::default() }];
    assert_eq!(value(Stream::new(1, 0, &grouped).wake(0, 0, 0).switch(0, 0, None, Some(0))), None);
    let confined = |cpus| {
        let mut stream = of(cpus);
        stream.0.confine(Time(1), TaskId(0), &CpuSet::of(&[CpuId(0)]));
        value(stream)
    };
    assert!(confined(1).is_some() && confined(2).is_none());
    let mut urgent = of(1);
    urgent.0.reclass(Time(1), TaskId(0), Class::Fifo, Nice::ZERO);
    assert_eq!(value(urgent), None);
}

#[test]
fn a_fair_split_has_no_share_error() {
    let equal = split(&judged(2), 500);
    assert_close(equal.get("share_error"), 0.0);
    assert_close(equal.get("jain_index"), 1.0);
    let skewed = split(&judged(2), 750);
    assert_close(skewed.get("share_error"), 0.5);
    assert_close(skewed.get("jain_index"), 4.0 / (2.0 * (1.5 * 1.5 + 0.5 * 0.5)));
}

#[test]
fn a_nice_level_weighs_a_quarter_more_than_the_next() {
    let weights = [of_nice(0), of_nice(1)];
    let fair = 1_000.0 * 1.25 / 2.25;
    assert_close(split(&weights, 500).get("share_error"), 2.0 * (fair - 500.0) / 1_000.0);
}

#[test]
fn real_time_tasks_reduce_what_is_there_to_share() {
    let fifo = Subject { class: Class::Fifo, ..Subject::default() };
    assert_close(split(&[fifo, Subject::default()], 600).get("share_error"), 0.0);
}

#[test]
fn several_cpus_with_unequal_weights_have_no_known_fair_share() {
    let run = |subjects: &[Subject]| {
        Stream::new(2, 0, subjects)
            .wake(0, 0, 0)
            .wake(0, 1, 1)
            .switch(0, 0, None, Some(0))
            .switch(0, 1, None, Some(1))
            .end(100)
            .get("share_error")
    };
    assert_eq!(run(&[of_nice(0), of_nice(5)]).value, None);
    assert_close(run(&judged(2)), 0.0);
}

#[test]
fn a_task_already_there_when_a_recording_begins_waits_but_has_no_slice() {
    let measured = Stream::new(1, 0, &judged(2)).switch(10, 0, Some((0, Off::Preempted)), Some(1)).end(30);
    assert_eq!((measured.tasks[0].cpu_time, measured.tasks[0].wait), (Span(0), Span(20)));
    assert_eq!(measured.tasks[1].cpu_time, Span(20));
    assert_close(measured.get("runqueue_length_max"), 2.0);
}
