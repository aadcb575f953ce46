//! Every rule of the CPU policy interface, with a policy that breaks it.

use goodness_core::{
    About, Context, CpuId, CpuPolicy, CpuSet, Dequeue, Enqueue, Group, GroupId, Groups, Idle, Machine, MadePolicy,
    Needs, Pick, Pull, Quota, Rejected, Resched, Span, State, Stop, Task, TaskId, Time,
};
use goodness_referee::{Choice, Move, Referee};
use std::cell::RefCell;
use std::rc::Rc;

const ABOUT: About = About {
    name: "scripted",
    summary: "Answers as the test says.",
    source: "this test",
    needs: Needs { tick: true, timer: true, balance: true, global_lock: false },
};
const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);
const HERE: CpuId = CpuId(0);
const THERE: CpuId = CpuId(1);

/// Next answer of each verb; the default answer changes nothing.
#[derive(Default)]
struct Script {
    selected: Option<CpuId>,
    enqueued: Option<CpuId>,
    picked: Option<TaskId>,
    charged: Option<CpuId>,
    pull: Option<Pull>,
    timer: Option<CpuId>,
    refuses: bool,
    /// True where the group of A, and that of B, is throttled.
    throttled: [Option<bool>; 2],
    calls: Vec<&'static str>,
}

struct Scripted(Rc<RefCell<Script>>);

fn wish(cpu: Option<CpuId>) -> Resched {
    cpu.map_or(Resched::Keep, Resched::Preempt)
}

impl CpuPolicy for Scripted {
    fn admit(&mut self, _: &Context, _: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        if self.0.borrow().refuses { Err(Rejected { reason: "full".into() }) } else { Ok(()) }
    }
    fn exit(&mut self, _: &Context, _: TaskId) {
        self.0.borrow_mut().calls.push("exit");
    }
    fn select_cpu(&mut self, cx: &Context, task: TaskId, _: &Enqueue) -> CpuId {
        self.0.borrow_mut().selected.take().unwrap_or(cx.tasks.cpu(task))
    }
    fn exec(&mut self, _: &Context, cpu: CpuId, _: TaskId) -> CpuId {
        self.0.borrow_mut().selected.take().unwrap_or(cpu)
    }
    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, _: Enqueue) -> Resched {
        assert_eq!((cx.tasks.state(task), cx.tasks.cpu(task)), (State::Queued, cpu), "true before the call");
        self.0.borrow_mut().calls.push("enqueue");
        wish(self.0.borrow_mut().enqueued.take())
    }
    fn dequeue(&mut self, _: &Context, _: CpuId, _: TaskId, _: Dequeue) {
        self.0.borrow_mut().calls.push("dequeue");
    }
    fn pick_next(&mut self, _: &Context, _: CpuId) -> Option<Pick> {
        self.0.borrow_mut().picked.take().map(|task| Pick { task, timeslice: None })
    }
    fn charge(&mut self, cx: &Context, _: CpuId, task: TaskId, _: Span, _: Stop) -> Resched {
        assert_eq!(cx.tasks.state(task), State::Running, "true before the call");
        wish(self.0.borrow_mut().charged.take())
    }
    fn balance(&mut self, _: &Context, _: CpuId, _: Idle) -> Option<Pull> {
        self.0.borrow_mut().pull.take()
    }
    fn is_throttled(&self, task: TaskId) -> Option<bool> {
        self.0.borrow().throttled[task.index()]
    }
    fn next_timer(&self) -> Option<Time> {
        Some(Time(7))
    }
    fn timer(&mut self, _: &Context) -> Resched {
        wish(self.0.borrow_mut().timer.take())
    }
}

/// Two CPUs; task A, allowed everywhere, and B, allowed on CPU 0 only; both queued on CPU 0.
fn game() -> (Referee, Rc<RefCell<Script>>) {
    game_of(Groups::default())
}

fn game_of(groups: Groups) -> (Referee, Rc<RefCell<Script>>) {
    let script = Rc::new(RefCell::new(Script::default()));
    let made = MadePolicy { about: &ABOUT, policy: Box::new(Scripted(Rc::clone(&script))) };
    let mut referee = Referee::new(Machine::flat(2, 1000).unwrap(), made, 2);
    referee.set_groups(groups);
    for affinity in [CpuSet::All, CpuSet::of(&[HERE])] {
        let task = referee.add(Task { affinity, ..Task::default() });
        referee.admit(task, None).unwrap();
        let _ = referee.enqueue(task, HERE, Enqueue::Fork { parent: None });
    }
    (referee, script)
}

/// The text of the refusal after the policy's name.
fn refusal(referee: &Referee) -> &str {
    referee.refusal().expect("the answer is refused").sentence.strip_prefix("scripted ").expect("the policy is named")
}

fn run(referee: &mut Referee, script: &RefCell<Script>, cpu: CpuId, task: TaskId) -> Choice {
    script.borrow_mut().picked = Some(task);
    referee.choose(cpu)
}

#[test]
fn a_pick_that_obeys_the_rules_runs_and_says_where_the_task_was() {
    let (mut referee, script) = game();
    let choice = run(&mut referee, &script, THERE, A);
    assert_eq!(choice, Choice::Run { pick: Pick { task: A, timeslice: None }, from: HERE });
    assert_eq!((referee.current(THERE), referee.tasks().state(A)), (Some(A), State::Running));
    assert_eq!((referee.decisions(), referee.refusal()), (1, None));
}

#[test]
fn a_pick_of_nobody_of_the_running_or_of_the_forbidden_is_refused() {
    let (mut referee, script) = game();
    assert_eq!(run(&mut referee, &script, HERE, TaskId(9)), Choice::Refused);
    assert_eq!(refusal(&referee), "picked task 9, which does not exist");

    let (mut referee, script) = game();
    let _ = run(&mut referee, &script, HERE, A);
    assert_eq!(run(&mut referee, &script, THERE, A), Choice::Refused);
    assert_eq!(refusal(&referee), "picked task 0 for cpu 1, but it is Running, not Queued");

    let (mut referee, script) = game();
    assert_eq!(run(&mut referee, &script, THERE, B), Choice::Refused);
    assert_eq!(refusal(&referee), "picked task 1 for cpu 1, which its affinity forbids");
    assert_eq!(referee.current(THERE), None, "a refused answer is not performed");
}

#[test]
fn a_cpu_outside_the_affinity_or_the_machine_is_not_selected() {
    for cpu in [THERE, CpuId(2)] {
        let (mut referee, script) = game();
        script.borrow_mut().selected = Some(cpu);
        assert_eq!(referee.select_cpu(B, &Enqueue::Restored), None);
        assert_eq!(refusal(&referee), format!("selected {cpu} for task 1, which its affinity or the machine forbids"));
    }
}

#[test]
fn a_task_that_execs_goes_to_a_cpu_of_its_affinity_and_the_machine() {
    let (mut referee, script) = game();
    assert_eq!(referee.exec(HERE, A), Some(HERE));
    script.borrow_mut().selected = Some(THERE);
    assert_eq!((referee.exec(HERE, A), referee.refusal()), (Some(THERE), None));
    for cpu in [THERE, CpuId(2)] {
        let (mut referee, script) = game();
        script.borrow_mut().selected = Some(cpu);
        assert_eq!(referee.exec(HERE, B), None);
        let why = "at exec, which its affinity or the machine forbids";
        assert_eq!(refusal(&referee), format!("selected {cpu} for task 1 {why}"));
    }
}

#[test]
fn a_wish_to_reschedule_names_a_cpu_of_the_machine_and_counts_once() {
    let (mut referee, script) = game();
    let _ = run(&mut referee, &script, HERE, A);
    script.borrow_mut().timer = Some(HERE);
    assert_eq!(referee.timer(), Some(HERE));
    script.borrow_mut().timer = Some(HERE);
    assert_eq!(referee.timer(), None, "it was asked already");
    script.borrow_mut().charged = Some(CpuId(2));
    assert_eq!(referee.tick(HERE, Span(1)), None);
    assert_eq!(refusal(&referee), "preempted cpu 2, which this machine does not have");
}

#[test]
fn who_leaves_its_cpu_asks_only_others_to_reschedule() {
    let (mut referee, script) = game();
    let _ = run(&mut referee, &script, HERE, A);
    script.borrow_mut().charged = Some(HERE);
    assert_eq!(referee.charge(HERE, Span(1), Stop::Yielded), None);
    script.borrow_mut().enqueued = Some(THERE);
    assert_eq!(referee.requeue(HERE, Enqueue::Yielded), Some(THERE));
    assert!(!referee.is_asked(HERE) && referee.is_asked(THERE));
}

#[test]
fn an_idle_cpu_is_asked_when_a_task_joins_its_runqueue() {
    let (mut referee, script) = game();
    assert!(referee.is_asked(HERE), "both tasks were queued on an idle CPU");
    let _ = run(&mut referee, &script, HERE, A);
    assert!(!referee.is_asked(HERE), "a choice answers the wish");
    let _ = referee.charge(HERE, Span(1), Stop::Blocked { interruptible: true });
    assert_eq!(referee.take_off(HERE), A);
    assert_eq!(referee.enqueue(A, THERE, Enqueue::Restored), [None, Some(THERE)]);
}

#[test]
fn a_move_of_a_queued_task_is_made_and_one_of_a_running_task_is_left_to_the_host() {
    let (mut referee, script) = game();
    let pull = Pull { task: A, from: HERE, to: THERE };
    script.borrow_mut().pull = Some(pull);
    assert_eq!(referee.choose(THERE), Choice::Move(Move::Queued(pull, [None, Some(THERE)])));
    assert_eq!(script.borrow().calls[2..], ["dequeue", "enqueue"]);
    script.borrow_mut().picked = Some(A);
    assert!(matches!(referee.choose_again(THERE), Choice::Run { .. }));
    let pull = Pull { task: A, from: THERE, to: HERE };
    script.borrow_mut().pull = Some(pull);
    assert_eq!(referee.balance(HERE, Idle::Busy), Some(Move::Running(pull)));
    assert_eq!(referee.current(THERE), Some(A), "it runs until the host stops it");
}

#[test]
fn a_move_that_cannot_be_is_refused() {
    let cases = [
        (
            Pull { task: TaskId(5), from: HERE, to: THERE },
            "proposed to move task 5 from cpu 0 to cpu 1, one of which does not exist",
        ),
        (
            Pull { task: A, from: HERE, to: CpuId(4) },
            "proposed to move task 0 from cpu 0 to cpu 4, one of which does not exist",
        ),
        (Pull { task: B, from: HERE, to: THERE }, "proposed to move task 1 to cpu 1, which its affinity forbids"),
        (
            Pull { task: A, from: THERE, to: HERE },
            "proposed to move task 0, which is neither queued nor running on cpu 1",
        ),
    ];
    for (pull, sentence) in cases {
        let (mut referee, script) = game();
        script.borrow_mut().pull = Some(pull);
        assert_eq!(referee.choose(THERE), Choice::Refused);
        assert_eq!(refusal(&referee), sentence);
    }
}

#[test]
fn balancing_without_end_is_refused() {
    let (mut referee, script) = game();
    let most = 4 * 2 * referee.tasks().len();
    for count in 1..=most + 1 {
        let (from, to) = if count % 2 == 1 { (HERE, THERE) } else { (THERE, HERE) };
        script.borrow_mut().pull = Some(Pull { task: A, from, to });
        assert_eq!(referee.balance(HERE, Idle::Busy).is_some(), count <= most, "{count}");
    }
    assert_eq!(refusal(&referee), "moved tasks without end while it balanced cpu 0");
}

#[test]
fn the_first_refusal_is_kept() {
    let (mut referee, script) = game();
    referee.set_now(Time(5));
    let _ = run(&mut referee, &script, HERE, TaskId(9));
    let _ = run(&mut referee, &script, HERE, TaskId(8));
    let first = referee.refusal().unwrap();
    assert_eq!((first.at, first.sentence.as_str()), (Time(5), "scripted picked task 9, which does not exist"));
}

#[test]
fn admission_control_is_passed_on_and_an_exit_reaches_the_policy() {
    let (mut referee, script) = game();
    script.borrow_mut().refuses = true;
    let late = referee.add(Task::default());
    assert_eq!(referee.admit(late, None).unwrap_err().reason, "full");
    referee.dequeue(A, Dequeue::Kill);
    referee.exit(A);
    assert_eq!(script.borrow().calls[2..], ["dequeue", "exit"]);
    assert_eq!(referee.tasks().state(A), State::Exited);
}

#[test]
fn only_policies_that_need_a_timer_have_one() {
    let (referee, script) = game();
    assert_eq!(referee.next_timer(), Some(Time(7)));
    const WITHOUT: About =
        About { needs: Needs { tick: true, timer: false, balance: false, global_lock: false }, ..ABOUT };
    let made = MadePolicy { about: &WITHOUT, policy: Box::new(Scripted(Rc::clone(&script))) };
    let mut referee = Referee::new(Machine::flat(2, 1000).unwrap(), made, 0);
    assert_eq!(referee.next_timer(), None);
    script.borrow_mut().pull = Some(Pull { task: TaskId(5), from: HERE, to: THERE });
    assert_eq!(referee.choose(HERE), Choice::Idle, "a policy that does not balance is not asked for moves");
}

/// A game with a group that has a limit on its CPU time.
fn limited() -> (Referee, Rc<RefCell<Script>>) {
    let mut groups = Groups::default();
    let quota = Quota::new(Span::from_ms(10), Span::from_ms(100)).unwrap();
    groups.add(Group { quota: Some(quota), ..Group::new("limited", GroupId::ROOT) });
    game_of(groups)
}

/// docs of `is_throttled`: a throttled group's tasks do not run, others do not wait beside an idle CPU.
#[test]
fn limits_of_groups_are_kept_by_policies_that_have_them() {
    let (mut referee, script) = limited();
    let _ = (run(&mut referee, &script, HERE, A), referee.check_limits());
    assert_eq!(referee.refusal(), None, "a policy without limits keeps them");
    script.borrow_mut().throttled[0] = Some(false);
    referee.check_limits();
    assert_eq!(referee.refusal(), None, "what runs is not throttled");
    script.borrow_mut().throttled[0] = Some(true);
    referee.check_limits();
    assert_eq!(refusal(&referee), "runs task 0 on cpu 0, whose group is throttled there");

    let (mut referee, script) = limited();
    let _ = run(&mut referee, &script, THERE, A);
    script.borrow_mut().throttled = [Some(false), Some(true)];
    referee.choose(HERE);
    referee.check_limits();
    assert_eq!(referee.refusal(), None, "who waits is throttled");
    script.borrow_mut().throttled[1] = Some(false);
    referee.check_limits();
    assert_eq!(refusal(&referee), "left cpu 0 idle, where task 1 is queued and not throttled");
}

#[test]
fn limits_are_not_asked_for_where_no_group_has_one() {
    let (mut referee, script) = game();
    let _ = run(&mut referee, &script, HERE, A);
    script.borrow_mut().throttled[0] = Some(true);
    referee.check_limits();
    assert_eq!(referee.refusal(), None);
}
