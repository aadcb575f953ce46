//! Attributes that change during a recording: stated in its header, followed by the replay.

use super::ONCE;
use super::recorder::{instructions, run};
use goodness_core::{Class, CpuId, CpuSet, Event, Machine, Observer, Seed, TaskId, Time, WorkloadSource};
use goodness_policies::eevdf::Eevdf;
use goodness_replay::program::Instruction;
use goodness_replay::{History, Recovered, Replay, recover};
use goodness_trace::{Input, Recording, load_input};

/// `main` creates `late` 200 ms after the beginning; that computes for 40 ms and is woken twice by a timer. The others
/// compute all the time, one on each CPU.
fn recording(task_lines: &str) -> Recording {
    let mut text = format!("# tracer: nop\n{task_lines}");
    let mut line = |us: u64, cpu: u32, who: &str, flags: &str, event: &str| {
        text += &format!("{who} [{cpu:03}] {flags} {}.{:06}: {event}\n", us / 1_000_000, us % 1_000_000);
    };
    let switch = |prev: &str, state: &str, next: &str| {
        let task =
            |it: &str| it.rsplit_once('-').map(|(comm, pid)| (comm.to_string(), pid.to_string())).expect("a task");
        let ((a, b), (c, d)) = (task(prev), task(next));
        format!(
            "sched_switch: prev_comm={a} prev_pid={b} prev_prio=120 prev_state={state} ==> next_comm={c} next_pid={d} \
             next_prio=120"
        )
    };
    line(0, 0, "<idle>-0", "d..2.", &switch("swapper/0-0", "R", "main-10"));
    line(0, 1, "<idle>-0", "d..2.", &switch("swapper/1-0", "R", "hog-20"));
    line(200_000, 0, "main-10", ".....", "sched_process_fork: comm=main pid=10 child_comm=main child_pid=11");
    line(200_000, 0, "main-10", "d..2.", "sched_wakeup_new: comm=main pid=11 prio=120 target_cpu=000");
    line(200_010, 0, "main-10", "d..2.", &switch("main-10", "S", "late-11"));
    line(240_010, 0, "late-11", "d..2.", &switch("late-11", "S", "swapper/0-0"));
    line(250_010, 0, "<idle>-0", "d.h2.", "sched_waking: comm=late pid=11 prio=120 target_cpu=000");
    line(250_012, 0, "<idle>-0", "d..2.", &switch("swapper/0-0", "R", "late-11"));
    line(260_012, 0, "late-11", "d..2.", &switch("late-11", "S", "swapper/0-0"));
    line(270_012, 0, "<idle>-0", "d.h2.", "sched_waking: comm=late pid=11 prio=120 target_cpu=000");
    line(270_014, 0, "<idle>-0", "d..2.", &switch("swapper/0-0", "R", "late-11"));
    line(280_014, 0, "late-11", "d..2.", "sched_process_exit: comm=late pid=11 prio=120");
    line(280_014, 0, "late-11", "d..2.", &switch("late-11", "X", "swapper/0-0"));
    line(300_000, 1, "hog-20", "d..2.", &switch("hog-20", "S", "swapper/1-0"));
    load_input(Input::bytes("late", text.as_bytes()).expect("text")).expect("a trace")
}

const CHANGED: &str = concat!(
    r##"# goodness: {"task":{"pid":11,"comm":"late","role":"other","policy":"fifo","nice":0,"rt_priority":30,"##,
    r##""affinity":[1],"seen":"inherited","switches":3,"changes":["##,
    r##"{"at_ns":200000000,"policy":"other","nice":0,"rt_priority":0,"affinity":[0,1]},"##,
    r##"{"at_ns":210000000,"policy":"fifo","rt_priority":30},{"at_ns":245000000,"affinity":[1]}]}}"##,
    "\n"
);

fn recovered(task_lines: &str) -> Recovered {
    let recording = recording(task_lines);
    recover(&History::of(&recording), ONCE)
}

#[test]
fn a_late_thread_changes_where_the_calls_were() {
    let recovered = recovered(CHANGED);
    let programme = instructions(&recovered, "late");
    let class = programme.iter().position(|it| *it == Instruction::Class(Class::Fifo, 30));
    let Instruction::Run(before) = programme[class.expect("a change of class") - 1] else { panic!("{programme:?}") };
    assert_eq!(before.0, 9_990_000, "it computed for that long before it called");
    let sleep = programme.iter().position(|it| matches!(it, Instruction::Sleep(_))).expect("a sleep");
    assert_eq!(programme[sleep + 1], Instruction::Affinity(0), "changed in its sleep, it moves when it runs next");
    assert_eq!(recovered.affinities, [CpuSet::of(&[CpuId(1)])]);
    let task = &recovered.tasks.iter().find(|it| it.participant.name == "late").expect("recovered").participant.task;
    assert_eq!((task.class, task.rt_priority), (Class::Normal, 0), "it began as its creator");
    assert_eq!(task.affinity, CpuSet::of(&[CpuId(0), CpuId(1)]));
}

#[test]
fn without_stated_changes_nothing_changes() {
    let recovered = recovered("");
    let changes = instructions(&recovered, "late").into_iter().filter(|it| it.is_about_itself()).count();
    assert_eq!((changes, recovered.affinities.len()), (0, 0));
    let of_another = self::recovered(&CHANGED.replace("\"pid\":11", "\"pid\":12"));
    assert_eq!(of_another.affinities.len(), 0);
}

/// CPUs on which a task ran.
struct RanOn(TaskId, Vec<CpuId>);

impl Observer for RanOn {
    fn observe(&mut self, _: Time, event: &Event) {
        if let Event::Switch { cpu, next, .. } = *event
            && next == Some(self.0)
        {
            self.1.push(cpu);
        }
    }
}

#[test]
fn a_replay_obeys_the_changes() {
    for (lines, expected) in [(CHANGED, vec![CpuId(0), CpuId(1)]), ("", vec![CpuId(0)])] {
        let replay = Replay::new("late", recovered(lines));
        let workload = replay.build(Seed(1), 0);
        let late = workload.tasks.iter().position(|it| it.name == "late").expect("replayed");
        let mut ran = RanOn(TaskId(late as u32), Vec::new());
        run::<Eevdf>(&Machine::flat(2, 1000).expect("a machine"), &replay, 0, &mut ran);
        ran.1.dedup();
        assert_eq!(ran.1, expected);
    }
}
