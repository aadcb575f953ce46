//! rt-app files, from text to the tasks' steps.

use goodness_core::{
    BehaviourId, Channel, ChannelKind, Class, CpuId, CpuSet, GroupId, LockId, Seed, Span, Start, Step,
};
use goodness_core::{StepContext, TaskId, Time};
use goodness_work::rtapp::{Options, RtApp};
use goodness_work::script::Plan;
use proptest::prelude::*;

fn read(text: &str) -> RtApp {
    RtApp::read("test.json", text, Options::default()).unwrap()
}

fn refusal(text: &str) -> String {
    RtApp::read("test.json", text, Options::default()).unwrap_err()
}

/// The first steps of task `index`, with `pace` between steps.
fn steps(plan: &Plan, index: usize, count: usize, pace: Span) -> Vec<Step> {
    let mut workload = plan.workload();
    let mut rng = Seed(1).rng();
    let mut step = |i| {
        let mut cx = StepContext { now: Time(pace.0 * i), task: TaskId(0), rng: &mut rng };
        workload.tasks[index].behaviour.next(&mut cx)
    };
    (0..count as u64).map(&mut step).collect()
}

fn us(n: u64) -> Span {
    Span::from_us(n)
}

fn run(n: u64) -> Step {
    Step::Compute(us(n))
}

fn at_us(n: u64) -> Step {
    Step::SleepUntil(Time(n * 1000))
}

#[test]
fn a_mix_of_classes_starts_in_the_order_of_the_file() {
    let app = read(include_str!("fixtures/rt-app/fifo-rr-mix.json"));
    let plan = app.plan();
    let seen: Vec<_> = plan.tasks.iter().map(|t| (t.name.as_str(), t.task.class, t.task.rt_priority)).collect();
    let expected = [
        ("hog-0", Class::Normal, 0),
        ("fifo-0", Class::Fifo, 50),
        ("rr-0", Class::RoundRobin, 10),
        ("rr-1", Class::RoundRobin, 10),
        ("per-0", Class::Normal, 0),
    ];
    assert_eq!(seen, expected);
    assert!(plan.tasks.iter().all(|t| t.start == Start::WokenAt(Time::ZERO)));
    assert_eq!(plan.horizon, Some(Time(6_000_000_000)));
    assert_eq!(steps(plan, 1, 4, Span::ZERO), [run(3000), at_us(20_000), run(3000), at_us(40_000)]);
}

#[test]
fn events_happen_in_file_order_even_when_keys_repeat() {
    let app = read(r#"{ "tasks": { "a": { "loop": 2, "run": 1, "sleep": 2, "run": 3, "run1": 4, } } }"#);
    let once = [run(1), Step::Sleep(us(2)), run(3), run(4)];
    let twice: Vec<Step> = once.iter().chain(&once).cloned().chain([Step::Exit]).collect();
    assert_eq!(steps(app.plan(), 0, 9, Span::ZERO), twice);
}

#[test]
fn a_delay_counts_from_the_start_and_moves_the_timers_grid() {
    let timer = r#""timer": { "ref": "u", "period": 1000, "mode": "absolute" }"#;
    let app = read(&format!(
        r#"{{ "global": {{ "duration": 9 }}, "tasks": {{ "a": {{ "delay": 500, "run": 1, {timer} }} }} }}"#
    ));
    assert_eq!(steps(app.plan(), 0, 3, Span::ZERO), [at_us(500), run(1), at_us(1500)]);
}

#[test]
fn an_overrun_moves_the_grid_of_a_relative_timer_only() {
    // Every step takes 1.7 ms, so the first expiry, at 1 ms, has passed when the timer is asked.
    let timers = |mode| {
        let timer = format!(r#""timer": {{ "ref": "u", "period": 1000, "mode": "{mode}" }}"#);
        let app = read(&format!(r#"{{ "global": {{ "duration": 9 }}, "tasks": {{ "a": {{ "run": 1, {timer} }} }} }}"#));
        let steps = steps(app.plan(), 0, 6, us(1700));
        [steps[1].clone(), steps[3].clone(), steps[5].clone()]
    };
    assert_eq!(timers("absolute"), [at_us(1000), at_us(2000), at_us(3000)]);
    assert_eq!(timers("relative"), [at_us(1700), at_us(5100), at_us(8500)]);
}

#[test]
fn each_task_has_a_timer_of_its_own_also_where_names_are_equal() {
    let app = read(
        r#"{ "global": { "duration": 9 }, "tasks": {
        "a": { "instance": 2, "timer": { "ref": "tick", "period": 1000 } },
        "b": { "timer": { "ref": "tick", "period": 1000 } } } }"#,
    );
    let mut workload = app.plan().workload();
    let mut rng = Seed(1).rng();
    let mut cx = StepContext { now: Time::ZERO, task: TaskId(0), rng: &mut rng };
    let first: Vec<Step> = workload.tasks.iter_mut().map(|task| task.behaviour.next(&mut cx)).collect();
    assert_eq!(first, [at_us(1000), at_us(1000), at_us(1000)]);
}

#[test]
fn phases_loop_and_change_class_nice_and_affinity_on_entry() {
    let app = read(
        r#"{ "tasks": { "a": { "loop": 1, "priority": 3, "phases": {
             "x": { "loop": 2, "run": 1 },
             "y": { "priority": -5, "cpus": [1], "run": 2 },
             "z": { "policy": "SCHED_FIFO", "run": 3 } } } } }"#,
    );
    let seen = steps(app.plan(), 0, 9, Span::ZERO);
    assert_eq!(seen[..3], [run(1), run(1), Step::SetClass(Class::Normal, 0)]);
    assert!(matches!(seen[3], Step::SetNice(n) if n.get() == -5));
    assert_eq!(seen[4], Step::SetAffinity(CpuSet::of(&[CpuId(1)])));
    assert_eq!(seen[5..], [run(2), Step::SetClass(Class::Fifo, 10), Step::SetAffinity(CpuSet::All), run(3)]);
}

#[test]
fn locks_are_taken_and_given_back_by_their_names() {
    let app = read(
        r#"{ "tasks": { "a": { "loop": 2, "lock": "m", "run": 5, "lock1": "n", "unlock1": "n", "unlock": "m" } } }"#,
    );
    let expected =
        [Step::Lock(LockId(0)), run(5), Step::Lock(LockId(1)), Step::Unlock(LockId(1)), Step::Unlock(LockId(0))];
    assert_eq!(steps(app.plan(), 0, 5, Span::ZERO), expected);
}

#[test]
fn a_task_is_suspended_under_its_own_name_until_another_resumes_it() {
    let app = read(
        r#"{ "tasks": { "a": { "loop": 2, "run": 5, "suspend": "" },
                        "b": { "loop": 2, "run": 7, "resume": "a" } } }"#,
    );
    let [asleep, awake] = [0, 1].map(|task| steps(app.plan(), task, 2, Span::ZERO).remove(1));
    assert_eq!((asleep, awake), (Step::Wait(Channel(0)), Step::WakeAll(Channel(0))));
}

#[test]
fn sync_takes_the_lock_it_needs_and_a_barrier_counts_instances() {
    let app = read(
        r#"{ "tasks": { "a": { "sync": { "ref": "c", "mutex": "m" }, "barrier": "b" },
                        "d": { "instance": 3, "barrier": "b" } } }"#,
    );
    let (condition, lock) = (Channel(0), LockId(0));
    let expected = [
        Step::Lock(lock),
        Step::Wake(condition),
        Step::WaitUnlocked(condition, lock),
        Step::Unlock(lock),
        Step::Wait(Channel(1)),
    ];
    assert_eq!(steps(app.plan(), 0, 5, Span::ZERO), expected);
    assert_eq!(app.plan().channels, [ChannelKind::Condition, ChannelKind::Barrier(4)]);
}

#[test]
fn a_task_of_zero_instances_exists_only_when_forked() {
    let app = read(
        r#"{ "tasks": { "a": { "instance": 2, "loop": 2, "run": 1, "fork": "b" },
                        "b": { "instance": 0, "loop": 1, "run": 5 } } }"#,
    );
    let names: Vec<_> = app.plan().tasks.iter().map(|t| (t.name.as_str(), t.start)).collect();
    assert_eq!(names.len(), 6);
    assert!(names[2..].iter().all(|(name, start)| name.starts_with("b-") && *start == Start::Forked));
    let forks = |index| steps(app.plan(), index, 4, Span::ZERO).into_iter().skip(1).step_by(2).collect::<Vec<_>>();
    assert_eq!(forks(0), [Step::Fork(BehaviourId(2)), Step::Fork(BehaviourId(3))]);
    assert_eq!(forks(1), [Step::Fork(BehaviourId(4)), Step::Fork(BehaviourId(5))]);
}

#[test]
fn a_spin_ends_by_the_clock_even_when_preempted() {
    let app = read(r#"{ "tasks": { "a": { "loop": 1, "runtime": 50 } } }"#);
    assert_eq!(steps(app.plan(), 0, 3, us(45)), [run(32), run(5), Step::Exit]);
}

#[test]
fn taskgroups_are_groups_by_path_and_phases_move_between_them() {
    let app = read(
        r#"{ "tasks": { "a": { "loop": 1, "taskgroup": "/site/web", "phases": {
             "x": { "run": 1 },
             "y": { "taskgroup": "/", "run": 2 },
             "z": { "taskgroup": "/site", "run": 3 } } },
           "b": { "loop": 1, "taskgroup": "//site//web/", "run": 1 },
           "c": { "loop": 1, "taskgroup": "", "run": 1 } } }"#,
    );
    let plan = app.plan();
    let [site, web] = [GroupId(1), GroupId(2)];
    let groups: Vec<_> = plan.groups.iter().map(|(_, it)| (it.name.as_str(), it.parent, it.weight)).collect();
    assert_eq!(groups, [("site", GroupId::ROOT, 1024), ("site/web", site, 1024)]);
    assert_eq!(plan.tasks.iter().map(|task| task.task.group).collect::<Vec<_>>(), [web, web, GroupId::ROOT]);
    let expected = [run(1), Step::SetGroup(GroupId::ROOT), run(2), Step::SetGroup(site), run(3)];
    assert_eq!(steps(plan, 0, 5, Span::ZERO), expected);
}

/// The control of the above: what rt-app refuses.
#[test]
fn taskgroups_that_rt_app_refuses_are_refused() {
    let cases = [
        (r#"{ "tasks": { "a": { "taskgroup": "web", "run": 1 } } }"#, "write \"/web\""),
        (r#"{ "tasks": { "a": { "taskgroup": "/web", "policy": "SCHED_RR", "run": 1 } } }"#, "a real-time task"),
        (
            r#"{ "tasks": { "a": { "taskgroup": "/web", "phases": { "p": { "policy": "SCHED_FIFO", "run": 1 } } } } }"#,
            "a real-time task",
        ),
    ];
    for (text, expected) in cases {
        assert!(refusal(text).contains(expected), "{text}: {}", refusal(text));
    }
    let many: String = (0..10_001).map(|n| format!("\"t{n}\": {{ \"taskgroup\": \"/{n}\", \"run\": 1 }},")).collect();
    assert!(refusal(&format!("{{ \"tasks\": {{ {many} }} }}")).contains("10000 groups are the most"));
}

#[test]
fn refusals_name_file_line_key_and_remedy() {
    let cases = [
        ("{ \"tasks\": { \"a\": {\n \"rum\": 1 } } }", "line 2: there is no key \"rum\" here; the nearest is \"run\""),
        (r#"{ "tasks": { "a": { "mem": 1 } } }"#, "--lenient"),
        (r#"{ "tasks": { "a": { "policy": "SCHED_FIFOO" } } }"#, "nearest is \"SCHED_FIFO\""),
        (r#"{ "tasks": { "a": { "policy": "SCHED_DEADLINE", "dl-period": 5 } } }"#, "not modelled"),
        (r#"{ "tasks": { "a": { "run": -1 } } }"#, "outside 0 ..="),
        (r#"{ "tasks": { "a": { "run": "soon" } } }"#, "not a whole number"),
        (r#"{ "tasks": { "a": { "priority": 20 } } }"#, "outside -20 ..= 19"),
        (r#"{ "tasks": { "a": { "cpus": [] } } }"#, "at least one CPU"),
        (r#"{ "tasks": { "a": { "fork": "b" }, "b": { "instance": 0 } } }"#, "without end"),
        (r#"{ "tasks": { "a": { "loop": 1, "fork": "c" } } }"#, "there are: a"),
        (r#"{ "tasks": { "a": { "run": 1 } } }"#, "line 1: task \"a-0\" goes on for ever and the run has no end"),
        (r#"{ "global": { "duration": 86401 }, "tasks": { "a": { "run": 1 } } }"#, "86401 is outside -1 ..= 86400"),
        (
            "{ \"global\": { \"duration\": 1 }, \"tasks\": {\n \"a\": { \"run\": 0 } } }",
            "line 2: task \"a-0\" goes round for ever without using time",
        ),
        (r#"{ "tasks": { "a": { "timer": { "ref": "x" } } } }"#, "\"period\""),
        (r#"{ "tasks": { "a": { "phases": { "p": { "run": 1 } }, "run": 1 } } }"#, "never happens"),
        (r#"{ "global": { "pi_enabled": 1 }, "tasks": { "a": { "run": 1 } } }"#, "must be true or false"),
        (r#"{ "tasks": {} }"#, "no tasks"),
        ("[1]", "an object with \"tasks\""),
    ];
    for (text, expected) in cases {
        let why = refusal(text);
        assert!(why.contains(expected) && why.starts_with("test.json"), "{text}: {why}");
    }
}

#[test]
fn a_comment_ends_where_it_is_closed() {
    let app = read("/*/ one */{ \"tasks\": { \"a\": { /* \"run\": 9,\n */ \"loop\": 2, \"run\": 3 /***/ } } }");
    assert_eq!(steps(app.plan(), 0, 1, Span::ZERO), [run(3)]);
    assert!(refusal("{\n/* \"tasks\": {} }").contains("the comment that begins in line 2 has no end"));
}

#[test]
fn a_circle_of_forks_is_refused() {
    let text = r#"{ "tasks": { "a": { "loop": 2, "fork": "b" }, "b": { "loop": 2, "fork": "a" } } }"#;
    assert!(refusal(text).contains("circle"));
}

#[test]
fn reading_leniently_lists_what_is_not_honoured() {
    let text = r#"{ "global": { "duration": 9 },
        "tasks": { "a": { "mem": 1, "shiny": 2, "run": 3, "policy": "SCHED_DEADLINE" } } }"#;
    let app = RtApp::read("test.json", text, Options { lenient: true }).unwrap();
    assert_eq!(app.not_honoured.len(), 3, "{:?}", app.not_honoured);
    assert_eq!(steps(app.plan(), 0, 1, Span::ZERO), [run(3)]);
}

const KEYS: [&str; 12] =
    ["run", "sleep", "loop", "phases", "fork", "timer", "instance", "priority", "cpus", "lock", "wait", "barrier"];
const VALUES: [&str; 8] = [
    "1",
    "-1",
    "99999999999999999999",
    "\"a\"",
    "{\"p\": {\"run\": 1}}",
    "[0]",
    "{\"ref\": \"x\", \"period\": 9}",
    "1e9",
];

proptest! {
    #[test]
    fn no_file_makes_the_reader_panic(
        keys in prop::collection::vec(prop::sample::select(KEYS.to_vec()), 0..6),
        values in prop::collection::vec(prop::sample::select(VALUES.to_vec()), 6),
    ) {
        let body: String = keys.iter().zip(&values).map(|(k, v)| format!("\"{k}\": {v},")).collect();
        let _ = RtApp::read("test.json", &format!("{{\"tasks\": {{\"a\": {{{body}}}}}}}"), Options::default());
    }
}

#[test]
fn what_can_hold_only_once_is_refused_the_second_time_with_both_lines() {
    for (text, expected) in [
        ("{\"tasks\": {\n\"a\": {\"run\": 9},\n\"a\": {\"run\": 9}}}", "line 3: \"a\" is given twice, first on line 2"),
        ("{\"tasks\": {\"a\": {\"loop\": 1,\n\"run\": 9, \"loop\": 2}}}", "line 2: \"loop\" is given twice"),
        ("{\"tasks\": {\"a\": {\"instance\": 1, \"instance\": 1, \"run\": 9}}}", "\"instance\" is given twice"),
        (
            "{\"tasks\": {\"a\": {\"phases\": {\"p\": {\"cpus\": [0], \"cpus\": [1], \"run\": 9}}}}}",
            "\"cpus\" is given twice",
        ),
        (
            "{\"global\": {\"duration\": 1, \"duration\": 2}, \"tasks\": {\"a\": {\"run\": 9}}}",
            "\"duration\" is given twice",
        ),
        (
            "{\"tasks\": {\"a\": {\"timer\": {\"ref\": \"t\", \"period\": 9, \"period\": 8}, \"run\": 9}}}",
            "\"period\" is given twice",
        ),
    ] {
        let sentence = refusal(text);
        assert!(sentence.starts_with("test.json, line ") && sentence.contains(expected), "{sentence}");
    }
}
