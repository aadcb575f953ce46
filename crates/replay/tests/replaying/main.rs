//! Recovers workloads from traces of simulations, and replays them.

mod attributes;
mod connections;
mod dialogues;
mod handoffs;
mod messages;
mod pinned;
mod pools;
mod recorder;
#[path = "../reported/mod.rs"]
mod reported;
mod requests;
mod timers;
mod yields;

use goodness_core::{Channel, CpuId, Event, Machine, Nice, Off, Seed, Span, Start, Step, TaskId, Time, WorkloadSource};
use goodness_policies::{eevdf::Eevdf, fifo::Fifo, rr::RoundRobin};
use goodness_replay::open_end::GoesOn;
use goodness_replay::program::{Instruction, Op as ReplayOp};
use goodness_replay::{Arrivals, Ends, Others, Recovered, RecoveredTask, Replay, ReplayOptions, recover};
use goodness_trace::{Context, PrevState, Record, SchedEvent};
use proptest::prelude::*;
use recorder::{CpuTime, Planned, Recorder, Written, instructions, planned, recorded, run, switch, wakeup, waking};

fn us(n: u64) -> Span {
    Span::from_us(n)
}

/// The recorded programmes once: nobody goes on after its own.
pub(crate) const ONCE: ReplayOptions =
    ReplayOptions { arrivals: Arrivals::Delays, others: Others::Compete, ends: Ends::Recorded };

#[test]
fn bursts_and_edges_come_back_as_they_were_whatever_scheduler_recorded_them() {
    let now = Start::WokenAt(Time::ZERO);
    let scripts = || {
        vec![
            (
                now,
                vec![
                    Step::Compute(us(60_000)),
                    Step::Wake(Channel(0)),
                    Step::Compute(us(9000)),
                    Step::Sleep(us(500)),
                    Step::Compute(us(100)),
                    Step::Exit,
                ],
            ),
            (now, vec![Step::Compute(us(50)), Step::Wait(Channel(0)), Step::Compute(us(7000)), Step::Exit]),
            (now, vec![Step::Compute(us(20_000)), Step::Exit]),
        ]
    };
    let machine = Machine::flat(1, 1000).expect("a machine");
    let recordings =
        [recorded::<Eevdf>(&machine, &planned(1, scripts())), recorded::<RoundRobin>(&machine, &planned(1, scripts()))];
    for written in &recordings {
        let recovered = recover(&written.history(), ONCE);
        assert_eq!(
            instructions(&recovered, "t2"),
            [Instruction::Run(us(20_000)), Instruction::Exit],
            "preemptions are in no burst"
        );
        let first = instructions(&recovered, "t0");
        assert_eq!(first[..1], [Instruction::Run(us(60_000))]);
        assert!(matches!(first[1], Instruction::Post(_)), "{first:?}");
        assert_eq!(
            first[2..],
            [Instruction::Run(us(9000)), Instruction::Sleep(us(500)), Instruction::Run(us(100)), Instruction::Exit]
        );
        let second = instructions(&recovered, "t1");
        assert!(
            second.len() == 4
                && second[0] == Instruction::Run(us(50))
                && matches!(second[1], Instruction::Wait(_))
                && second[2..] == [Instruction::Run(us(7000)), Instruction::Exit]
        );
        assert_eq!(recovered.edges, 1);
    }
}

#[test]
fn what_others_woke_is_woken_from_outside_when_they_are_left_out() {
    let now = Start::WokenAt(Time::ZERO);
    let machine = Machine::flat(1, 1000).expect("a machine");
    // t1 is not judged.
    let written = recorded::<Fifo>(
        &machine,
        &planned(
            1,
            vec![
                (now, vec![Step::Compute(us(10)), Step::Wait(Channel(0)), Step::Compute(us(20)), Step::Exit]),
                (now, vec![Step::Compute(us(40)), Step::Wake(Channel(0)), Step::Exit]),
            ],
        ),
    );
    let alone = recover(&written.history(), ReplayOptions { others: Others::LeftOut, ..ONCE });
    assert_eq!(alone.tasks.len(), 1);
    assert_eq!(
        instructions(&alone, "t0"),
        [Instruction::Run(us(10)), Instruction::Sleep(us(40)), Instruction::Run(us(20)), Instruction::Exit]
    );
    let open =
        recover(&written.history(), ReplayOptions { others: Others::LeftOut, arrivals: Arrivals::Recorded, ..ONCE });
    assert_eq!(instructions(&open, "t0")[1], Instruction::SleepUntil(Time(50_000)));
}

#[test]
fn a_forked_task_begins_where_its_parent_forks_it() {
    let machine = Machine::flat(2, 1000).expect("a machine");
    let child = goodness_core::BehaviourId(1);
    let written = recorded::<Eevdf>(
        &machine,
        &planned(
            0,
            vec![
                (
                    Start::WokenAt(Time::ZERO),
                    vec![Step::Compute(us(10)), Step::Fork(child), Step::Compute(us(5)), Step::Exit],
                ),
                (Start::Forked, vec![Step::Compute(us(70)), Step::Exit]),
            ],
        ),
    );
    let recovered = recover(&written.history(), ONCE);
    assert_eq!(recovered.tasks[1].start, Start::Forked);
    assert_eq!(
        instructions(&recovered, "t0"),
        [Instruction::Run(us(10)), Instruction::Fork(1), Instruction::Run(us(5)), Instruction::Exit]
    );
}

#[test]
fn a_missing_switch_costs_no_cpu_time_and_is_counted() {
    let mut written = Recorder::new(1, 2).written;
    let (a, b) = (Some(TaskId(0)), Some(TaskId(1)));
    let mut say = |at, event| written.say(Time(at), CpuId(0), event);
    say(0, switch(None, Off::Preempted, a));
    say(100, switch(a, Off::Sleeping, None));
    say(150, waking(1, None, Context::HardIrq));
    // The switch from idle to task 1 is not on record.
    say(400, switch(b, Off::Sleeping, None));
    let recovered = recover(&written.history(), ONCE);
    assert_eq!(recovered.unknowns.missing_switches, 1);
    assert_eq!(instructions(&recovered, "t1"), [Instruction::Run(Span(250)), Instruction::Cut]);
}

/// Soft-interrupt wakings of task 1 while task 0 runs: `count` of them, every `period` µs from `phase` µs, with ticks
/// at 4 ms.
fn soft_edges(count: u64, period: u64, phase: u64) -> (u64, u64) {
    let mut written = Recorder::new(1, 4).written;
    written.hz = Some(250);
    let mut say = |at: u64, event| written.say(Time(at * 1000), CpuId(0), event);
    let switch = |prev: u32, off, next: u32| switch(Some(TaskId(prev)), off, Some(TaskId(next)));
    say(0, self::switch(None, Off::Preempted, Some(TaskId(2))));
    for k in 1..20 {
        say(k * 4000, switch(2 + (k as u32 + 1) % 2, Off::Preempted, 2 + k as u32 % 2));
    }
    say(80_500, switch(3, Off::Sleeping, 0));
    for k in 0..count {
        let at = 84_000 + phase + k * period;
        say(at, waking(1, Some(0), Context::SoftIrq));
        say(at + 10, switch(0, Off::Preempted, 1));
        say(at + 30, switch(1, Off::Sleeping, 0));
    }
    let kinds = recover(&written.history(), ONCE).unknowns.wakings;
    (kinds.soft_edges, kinds.soft_external)
}

#[test]
fn soft_interrupts_are_edges_when_the_pair_recurs_off_the_tick() {
    assert_eq!(soft_edges(20, 1370, 0), (20, 0), "traffic");
    assert_eq!(soft_edges(2, 1370, 0), (0, 2), "coincidence");
    assert_eq!(soft_edges(20, 4000, 20), (0, 20), "a timer that expires with the tick");
}

/// Task 0 never waits and wakes task 1 again and again, which runs at once.
fn one_way_traffic(messages: u64) -> Written {
    let mut written = Recorder::new(1, 3).written;
    let mut say = |at: u64, event| written.say(Time(at * 1000), CpuId(0), event);
    let switch = |prev: u32, off, next: u32| switch(Some(TaskId(prev)), off, Some(TaskId(next)));
    say(0, switch(1, Off::Sleeping, 2));
    say(5, switch(2, Off::Sleeping, 0));
    for k in 0..messages {
        let (at, to) = (100 + 100 * k, 1);
        say(at, waking(to, Some(0), Context::SoftIrq));
        say(at + 1, wakeup(to));
        say(at + 10, switch(0, Off::Preempted, to));
        say(at + 40, switch(to, Off::Sleeping, 0));
    }
    written
}

#[test]
fn a_sender_that_never_waits_stays_within_the_window_it_had() {
    let recovered = recover(&one_way_traffic(40).history(), ONCE);
    assert_eq!(recovered.unknowns.inferred_answers, 39, "one message under way at most, so all but the first wait");
    let machine = Machine::flat(1, 1000).expect("a machine");
    let mut seen: Vec<(Time, Event)> = Vec::new();
    run::<Fifo>(&machine, &Replay::new("x", recovered), 0, &mut seen);
    // Under first come, first served the sender would otherwise send all 40 before anybody answers.
    let sender_waits = seen.iter().filter(|(_, e)| {
        matches!(e, Event::Switch { prev: Some(TaskId(0)), off, .. }
        if *off == Off::Sleeping)
    });
    assert!(sender_waits.count() >= 39);
}

#[test]
fn who_waits_for_its_answers_has_no_window() {
    let mut written = one_way_traffic(40);
    // Half of the messages are answered while the sender waits.
    let answered: Vec<Record> = written
        .records
        .iter()
        .flat_map(|r| match r.event {
            SchedEvent::Switch { prev: Some(TaskId(0)), next, .. } => {
                vec![Record { event: switch(Some(TaskId(0)), Off::Sleeping, next), ..*r }]
            }
            SchedEvent::Switch { prev: Some(to), prev_state: PrevState::SLEEPING, .. } if r.at > Time(10_000) => {
                vec![Record { event: waking(0, Some(to.0), Context::SoftIrq), ..*r }, *r]
            }
            _ => vec![*r],
        })
        .collect();
    written.records = answered;
    let recovered = recover(&written.history(), ONCE);
    assert_eq!(recovered.unknowns.inferred_answers, 0);
    assert!(recovered.unknowns.wakings.soft_edges >= 79, "{:?}", recovered.unknowns);
}

/// One CPU. An event loop (task 0) wakes two workers in turn, 40 times each. The slow worker (task 1) runs and replies
/// first each time, so the loop, which never sleeps, addresses it first.
fn two_workers() -> Written {
    let mut written = Recorder::new(1, 3).written;
    written.participants[2].program = written.participants[1].program;
    let mut say = |at: u64, event| written.say(Time(at * 1000), CpuId(0), event);
    let switch = |prev: u32, off, next: u32| switch(Some(TaskId(prev)), off, Some(TaskId(next)));
    say(0, switch(1, Off::Sleeping, 2));
    say(5, switch(2, Off::Sleeping, 0));
    for k in 0..40 {
        let at = 100 + 600 * k;
        for (to, later) in [(1, 0), (2, 20)] {
            say(at + later, waking(to, Some(0), Context::SoftIrq));
            say(at + later + 1, wakeup(to));
        }
        say(at + 25, switch(0, Off::Preempted, 1));
        say(at + 525, switch(1, Off::Sleeping, 2));
        say(at + 555, switch(2, Off::Sleeping, 0));
    }
    written
}

pub(crate) fn wake_ups(seen: &[(Time, Event)], of: u32) -> Vec<Time> {
    let is_it = |e: &Event| matches!(e, Event::Wakeup { task, .. } if task.0 == of);
    seen.iter().filter(|(_, e)| is_it(e)).map(|(at, _)| *at).collect()
}

#[test]
fn an_event_loop_goes_on_with_whoever_has_answered_and_finds_everyone_at_rest() {
    let recovered = recover(&two_workers().history(), ONCE);
    assert_eq!(recovered.unknowns.inferred_answers, 78, "all but the first message to each");
    let machine = Machine::flat(2, 1000).expect("a machine");
    for replication in 0..2 {
        let mut seen: Vec<(Time, Event)> = Vec::new();
        run::<Fifo>(&machine, &Replay::new("x", recovered.clone()), replication, &mut seen);
        let (slow, quick) = (wake_ups(&seen, 1), wake_ups(&seen, 2));
        // One more than messages: each task's own beginning.
        assert_eq!((slow.len(), quick.len()), (41, 41), "no message meets a worker that is still at work");
        // With a CPU of its own the quick worker answers first; in the recorded order it would wait for the slow one.
        assert!(quick[40] < slow[10], "{} {}", quick[40], slow[10]);
        let sleeps =
            seen.iter().filter(|(_, e)| matches!(e, Event::Switch { prev: Some(TaskId(0)), off: Off::Sleeping, .. }));
        assert!(sleeps.count() > 30, "the loop, which never slept in the recording, sleeps while nobody has answered");
    }
}

/// Four hogs that share a CPU, cut in the middle of their work.
fn four_hogs() -> Recovered {
    let hog = || (Start::WokenAt(Time::ZERO), vec![Step::Compute(Span::from_s(100))]);
    let machine = Machine::flat(1, 250).expect("a machine");
    let mut source = planned(0, (0..4).map(|_| hog()).collect());
    source.0.horizon = Some(Time(2_000_000_000));
    let written = recorded::<Eevdf>(&machine, &source);
    recover(&written.history(), ReplayOptions::default())
}

#[test]
fn hogs_compute_on_after_their_recorded_work_so_weights_show_over_the_whole_window() {
    let mut recovered = four_hogs();
    assert!(!recovered.is_over);
    for (task, nice) in recovered.tasks.iter_mut().zip([0, 5, 10, 19]) {
        task.participant.task.nice = Nice::new(nice).expect("a nice value");
    }
    let machine = Machine::flat(1, 250).expect("a machine");
    let mut used = CpuTime::new(4);
    run::<Eevdf>(&machine, &Replay::new("hogs", recovered), 0, &mut used);
    let all: u64 = used.total.iter().sum();
    let shares: Vec<f64> = used.total.iter().map(|ns| *ns as f64 / all as f64 * 100.0).collect();
    // The real kernel's shares of this set-up (the measurement); weights alone give 69.3, 22.7, 7.4, 1.0.
    for (share, expected) in shares.iter().zip([69.0, 22.6, 7.4, 1.0]) {
        assert!((share - expected).abs() < 1.5, "{shares:?}");
    }
}

#[test]
fn children_are_forked_again_and_their_parent_finds_their_wake_ups() {
    let now = Start::WokenAt(Time::ZERO);
    let child = goodness_core::BehaviourId(1);
    // The start-up is not repeated: the first twentieth.
    let parent = vec![Step::Compute(us(100)), Step::Fork(child), Step::Wait(Channel(0)), Step::Compute(us(20))];
    let source = planned(
        1,
        vec![
            (now, [parent, vec![Step::Sleep(us(1000)), Step::Compute(us(5))]].concat()),
            (Start::Forked, vec![Step::Compute(us(70)), Step::Wake(Channel(0)), Step::Exit]),
        ],
    );
    let machine = Machine::flat(1, 1000).expect("a machine");
    let recovered = recover(&recorded::<Eevdf>(&machine, &source).history(), ReplayOptions::default());
    assert_eq!(
        recovered.going_on,
        [GoesOn::Itself, GoesOn::Forked],
        "the parent lasted, and its end is the recording's"
    );
    let replay = Longer { replay: Replay::new("forks", recovered), horizon: Time(10_000_000) };
    let mut used = CpuTime::new(2);
    run::<Eevdf>(&machine, &replay, 0, &mut used);
    assert!(used.total[1] >= 8 * 70_000, "{:?}", used.total);
}

/// One task of a random workload: pieces of work between waits, wakes and sleeps.
fn random_steps(channels: u32) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1u64..3_000_000).prop_map(|ns| Step::Compute(Span(ns))),
        2 => (1u64..2_000_000).prop_map(|ns| Step::Sleep(Span(ns))),
        2 => (0..channels).prop_map(|c| Step::Wake(Channel(c))),
        2 => (0..channels).prop_map(|c| Step::Wait(Channel(c))),
        1 => (0..channels).prop_map(|c| Step::WaitUninterruptible(Channel(c))),
        1 => Just(Step::Yield),
    ];
    prop::collection::vec(step, 1..30)
}

/// A loop and its workers. Each worker waits for the loop on a channel of its own, computes, sometimes sleeps, and
/// sometimes wakes the loop or another worker.
fn random_server(workers: u32) -> impl Strategy<Value = Vec<Vec<Step>>> {
    let compute = || (1u64..500_000).prop_map(|ns| Step::Compute(Span(ns)));
    let of_loop = prop_oneof![
        8 => (1..=workers).prop_map(|c| Step::Wake(Channel(c))),
        1 => Just(Step::Wait(Channel(0))),
        1 => (1u64..2_000_000).prop_map(|ns| Step::Sleep(Span(ns))),
    ];
    let turn = (compute(), of_loop).prop_map(|(work, then)| vec![work, then]);
    let of_worker = prop_oneof![
        4 => compute(),
        1 => (1u64..500_000).prop_map(|ns| Step::Sleep(Span(ns))),
        1 => (0..=workers).prop_map(|c| Step::Wake(Channel(c))),
    ];
    let job = move |channel| {
        prop::collection::vec(of_worker.clone(), 1..4)
            .prop_map(move |steps| [vec![Step::Wait(Channel(channel))], steps].concat())
    };
    let server = (1..=workers).map(move |c| prop::collection::vec(job(c), 1..30)).collect::<Vec<_>>();
    (prop::collection::vec(turn, 10..100), server).prop_map(|(turns, jobs)| {
        std::iter::once(turns.concat()).chain(jobs.into_iter().map(|jobs| jobs.concat())).collect()
    })
}

/// A replay held open for much longer than its recording.
struct Longer {
    replay: Replay,
    horizon: Time,
}

impl WorkloadSource for Longer {
    fn name(&self) -> &str {
        "longer"
    }
    fn what_varies(&self) -> &str {
        "nothing"
    }
    fn build(&self, seed: Seed, replication: u32) -> goodness_core::Workload {
        goodness_core::Workload { horizon: Some(self.horizon), ..self.replay.build(seed, replication) }
    }
}

/// Laps do not deadlock: under a fair policy, every task that continues has completed its second lap after the longest
/// time that three laps can take. Bursts are as long as slices, so that no task waits for the end of a slice.
fn goes_round(machine: &Machine, mut recovered: Recovered) -> Result<(), TestCaseError> {
    const SLICE: Span = Span::from_ms(1);
    let (mut work, mut rest) = (0, 0);
    for task in &mut recovered.tasks {
        let stretched = |op: &ReplayOp| match op.instruction() {
            Instruction::Run(span) => ReplayOp::new(Instruction::Run(span + SLICE)),
            Instruction::Sleep(span) => ReplayOp::new(Instruction::Sleep(span + SLICE)),
            _ => *op,
        };
        task.ops = task.ops.iter().map(stretched).collect();
        for op in task.ops.iter() {
            match op.instruction() {
                Instruction::Run(span) => work += span.0,
                Instruction::Sleep(span) => rest += span.0,
                _ => {}
            }
        }
    }
    let horizon = Time(3 * (work * recovered.tasks.len() as u64 + rest) + SLICE.0);
    let again = |goes_on: &GoesOn, ops: &[ReplayOp]| if *goes_on == GoesOn::Itself { time_of_lap(ops) } else { 0 };
    let both = |(task, on): (&RecoveredTask, &GoesOn)| task.cpu_time().0 + again(on, &task.ops);
    let expected: Vec<u64> = recovered.tasks.iter().zip(&recovered.going_on).map(both).collect();
    let work = Longer { replay: Replay::new("round", recovered), horizon }.build(Seed(1), 0);
    let mut used = CpuTime::new(expected.len());
    let settings = goodness_policies::rr::Settings { timeslice: SLICE };
    goodness_sim::simulate::<RoundRobin>(machine, settings, work, &mut used, goodness_sim::Options::default())
        .expect("the run is sound");
    for (index, expected) in expected.iter().enumerate() {
        let at_the_end = used.since[index].map_or(0, |since| horizon.since(since).0);
        prop_assert!(used.total[index] + at_the_end >= *expected, "{:?} of {:?}", used.total, expected);
    }
    Ok(())
}

/// CPU time of a lap after the first.
fn time_of_lap(ops: &[ReplayOp]) -> u64 {
    let begin = ops.iter().position(|op| op.instruction() == Instruction::LapBegin).map_or(0, |at| at + 1);
    let run = |op: &ReplayOp| if let Instruction::Run(span) = op.instruction() { span.0 } else { 0 };
    ops[begin..].iter().map(run).sum()
}

/// The original may well end with tasks that wait for wakes that never come; what they did is replayed in full.
fn replay_in_full(
    machine: &Machine,
    source: &Planned,
    replication: u32,
    mut recorder: Recorder,
) -> Result<Recovered, TestCaseError> {
    let mut truth = CpuTime::new(source.0.tasks.len());
    run::<Eevdf>(machine, source, 0, &mut truth);
    run::<Eevdf>(machine, source, 0, &mut recorder);
    let recovered = recover(&recorder.written.history(), ONCE);
    prop_assert_eq!(recovered.unknowns.missing_switches, 0);
    prop_assert_eq!(recovered.unknowns.wakes_without_waking, 0);
    let names: Vec<usize> =
        recovered.tasks.iter().map(|t| t.participant.name[1..].parse().expect("a number")).collect();
    for (task, original) in recovered.tasks.iter().zip(&names) {
        prop_assert_eq!(task.cpu_time().0, truth.total[*original], "{:?}", task.ops);
    }
    goes_round(machine, recover(&recorder.written.history(), ReplayOptions::default()))?;
    let replay = Replay::new("x", recovered.clone());
    for policy in 0..3 {
        let mut used = CpuTime::new(names.len());
        match policy {
            0 => run::<Fifo>(machine, &replay, replication, &mut used),
            1 => run::<RoundRobin>(machine, &replay, replication, &mut used),
            _ => run::<Eevdf>(machine, &replay, replication, &mut used),
        }
        let expected: Vec<u64> = names.iter().map(|i| truth.total[*i]).collect();
        prop_assert_eq!(&used.total, &expected, "policy {}", policy);
    }
    Ok(recovered)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_recovered_workload_uses_exactly_the_recorded_cpu_time_under_any_policy(
        tasks in prop::collection::vec((random_steps(4), prop::option::of(0u64..1_000_000)), 1..7),
        cpus in 1u32..4,
        replication in 0u32..3,
    ) {
        let machine = Machine::flat(cpus, 1000).expect("a machine");
        let begin = |at: Option<u64>| at.map_or(Start::WokenAt(Time::ZERO), |ns| Start::At(Time(ns)));
        let count = tasks.len();
        let source = planned(4, tasks.into_iter().map(|(steps, at)| (begin(at), steps)).collect());
        replay_in_full(&machine, &source, replication, Recorder::new(machine.cpu_count(), count))?;
    }

    #[test]
    fn every_event_loop_is_replayed_in_full_under_any_policy(
        tasks in (2u32..6).prop_flat_map(random_server),
        cpus in 1u32..4,
        replication in 0u32..3,
    ) {
        let machine = Machine::flat(cpus, 1000).expect("a machine");
        let count = tasks.len();
        let source = planned(count, tasks.into_iter().map(|steps| (Start::WokenAt(Time::ZERO), steps)).collect());
        let recorder = Recorder::new(machine.cpu_count(), count).of_network();
        let recovered = replay_in_full(&machine, &source, replication, recorder)?;
        // Nearly half of the draws are no event loop: too few messages, or too many answered in the open.
        prop_assume!(recovered.rounds.rounds() > 0);
    }
}
