//! Yields, which no event shows, recovered from traces that a simulation wrote as ftrace text.

use super::recorder::{planned, run};
use goodness_core::{Event, Machine, Observer, Off, Registered, Rng, Seed, Span, Start, Step, Time, WorkloadSource};
use goodness_policies::{cfs::Cfs, eevdf::Eevdf};
use goodness_replay::{History, Recovered, Replay, ReplayOptions, machine_of, recover};
use goodness_trace::{FtraceWriter, Input, Recording, TaskLabel, load_input};

/// Switches of a run, and yields among them.
#[derive(Debug, Default)]
struct Count {
    switches: u32,
    yields: u32,
    preemptions: u32,
}

impl Observer for Count {
    fn observe(&mut self, _: Time, event: &Event) {
        if let Event::Switch { prev: Some(_), off, .. } = *event {
            self.switches += 1;
            self.yields += u32::from(off == Off::Yielded);
            self.preemptions += u32::from(off == Off::Preempted);
        }
    }
}

const SECOND: Span = Span::from_ms(1000);

/// Tasks that work for about `work` and then yield or not, `tasks` of them, and one that sleeps most of the time.
fn scripts(tasks: u64, work: Span, yields: bool) -> Vec<(Start, Vec<Step>)> {
    let now = Start::WokenAt(Time::ZERO);
    let task = |number: u64| {
        let mut rng: Rng = Seed(number).rng();
        let rounds = SECOND.0 / work.0 / tasks;
        let round = |_| {
            let run = Step::Compute(Span(work.0 / 2 + rng.below(work.0)));
            std::iter::once(run).chain(yields.then_some(Step::Yield)).collect::<Vec<_>>()
        };
        (now, (0..rounds).flat_map(round).chain([Step::Exit]).collect())
    };
    let blinks = (0..90).flat_map(|_| [Step::Sleep(Span::from_ms(10)), Step::Compute(Span::from_us(300))]);
    (0..tasks).map(task).chain([(now, blinks.chain([Step::Exit]).collect())]).collect()
}

/// A run under `P`, counted, and as a recording. `as_user` writes all preemptions as the kernel writes those on the way
/// to user mode, which look like yields.
fn recorded<P: Registered>(machine: &Machine, scripts: Vec<(Start, Vec<Step>)>, as_user: bool) -> (Count, Recording) {
    let label = |number| TaskLabel { name: format!("t{number}"), prio: 120 };
    let labels: Vec<TaskLabel> = (0..scripts.len()).map(label).collect();
    let source = planned(0, scripts);
    let (mut count, mut writer) = (Count::default(), FtraceWriter::new(Vec::new(), machine.cpu_count(), &labels));
    run::<P>(machine, &source, 0, &mut count);
    run::<P>(machine, &source, 0, &mut writer);
    let mut text = String::from_utf8(writer.finish().expect("memory")).expect("text");
    if as_user {
        text = text.replace("prev_state=R+", "prev_state=R");
    }
    (count, load_input(Input::bytes("yields", text.as_bytes()).expect("text")).expect("a trace"))
}

fn recovered(recording: &Recording) -> Recovered {
    let options = ReplayOptions { ends: goodness_replay::Ends::Recorded, ..ReplayOptions::default() };
    recover(&History::of(recording), options)
}

fn replayed<P: Registered>(recording: &Recording) -> Count {
    let recovered = recovered(recording);
    let history = History::of(recording);
    let machine = machine_of(recording, &history, recovered.grid).expect("a machine").machine;
    let mut count = Count::default();
    let replay = Replay::new("yields", recovered);
    assert!(!replay.build(Seed(1), 0).tasks.is_empty());
    run::<P>(&machine, &replay, 0, &mut count);
    count
}

fn within_a_tenth(figure: u32, of: u32) -> bool {
    figure.abs_diff(of) * 10 <= of
}

fn check<P: Registered>(hz: u32, tasks: u64, work: Span, as_user: bool) {
    let machine = Machine::flat(1, hz).expect("a machine");
    let (count, recording) = recorded::<P>(&machine, scripts(tasks, work, true), as_user);
    assert!(count.yields > 200, "{count:?}");
    let again = replayed::<P>(&recording);
    let what = format!("HZ {hz}, {tasks} tasks, {work}, {as_user}: {count:?} became {again:?}");
    assert!(within_a_tenth(again.yields, count.yields), "{what}");
    assert!(within_a_tenth(again.switches, count.switches), "{what}");
}

#[test]
fn yields_come_back_beside_ticks_that_preempt() {
    for as_user in [false, true] {
        check::<Eevdf>(1000, 3, Span::from_us(40), as_user);
        check::<Eevdf>(250, 4, Span::from_us(900), as_user);
        check::<Cfs>(250, 2, Span::from_us(100), as_user);
        check::<Cfs>(250, 4, Span::from_us(900), as_user);
    }
}

#[test]
fn on_several_cpus_every_yield_that_led_to_a_switch_is_found() {
    // Replays of these have fewer: a task that was alone on its CPU yielded to nobody, and left no trace of it.
    for tasks in [4, 5, 9] {
        let machine = Machine::flat(2, 250).expect("a machine");
        let (count, recording) = recorded::<Eevdf>(&machine, scripts(tasks, Span::from_us(40), true), true);
        let found = recovered(&recording).unknowns.yields as u32;
        assert!(within_a_tenth(found, count.yields), "{found} of {count:?}");
    }
}

#[test]
fn preemptions_are_no_yields_even_where_they_look_like_them() {
    for (cpus, hz, tasks) in [(1, 1000, 3), (1, 250, 5), (2, 250, 5), (2, 1000, 7), (1, 100, 2)] {
        let machine = Machine::flat(cpus, hz).expect("a machine");
        for as_user in [false, true] {
            let (count, recording) = recorded::<Eevdf>(&machine, scripts(tasks, Span::from_us(900), false), as_user);
            assert!(count.preemptions > 20 && count.yields == 0, "{count:?}");
            assert_eq!(recovered(&recording).unknowns.yields, 0, "{cpus} CPUs, HZ {hz}, {tasks} tasks: {count:?}");
            let (count, recording) = recorded::<Cfs>(&machine, scripts(tasks, Span::from_us(900), false), as_user);
            assert_eq!(recovered(&recording).unknowns.yields, 0, "CFS, {cpus} CPUs, HZ {hz}: {count:?}");
        }
    }
}
