//! Tests of the player on this machine: its threads follow their behaviours and end on time. The loads are small and
//! need neither a quiet machine nor root.

use goodness_core::{
    BehaviourId, Channel, ChannelKind, CpuId, CpuSet, LockId, LockKind, Nice, Seed, Span, Start, Step, StepContext,
    Task, TaskSpec, Time, Workload,
};
use goodness_play::{Options, PlayClass, Played, play, playable_cpus};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

fn task(name: &str, behaviour: impl FnMut(&mut StepContext) -> Step + Send + 'static) -> TaskSpec {
    let start = Start::At(Time::ZERO);
    TaskSpec { name: name.into(), start, task: Task::default(), behaviour: Box::new(behaviour), judged: true }
}

/// A behaviour that takes these steps and exits.
fn steps(steps: Vec<Step>) -> impl FnMut(&mut StepContext) -> Step + Send {
    let mut steps = steps.into_iter();
    move |_| steps.next().unwrap_or(Step::Exit)
}

fn played(work: Workload, seed: u64) -> Played {
    let longest = Span::from_s(20);
    play(work, Options { cpus: None, duration: Some(longest), class: PlayClass::Inherited, seed: Seed(seed) })
        .expect("it is played")
}

fn with(tasks: Vec<TaskSpec>) -> Workload {
    Workload { tasks, channels: vec![ChannelKind::Semaphore; 2], locks: vec![LockKind::Fifo], ..Workload::default() }
}

/// Computes and sleeps for drawn lengths, twenty times.
fn drawn() -> TaskSpec {
    let mut left = 40;
    task("drawn", move |cx| {
        left -= 1;
        match left {
            0.. if left % 2 == 1 => Step::Compute(Span(cx.rng.within(50_000, 150_000))),
            0.. => Step::Sleep(Span(cx.rng.within(100_000, 300_000))),
            _ => Step::Exit,
        }
    })
}

#[test]
fn the_same_seed_gives_the_same_work() {
    let of = |seed| played(with(vec![drawn(), drawn()]), seed).tasks;
    let (one, again, other) = (of(1), of(1), of(2));
    let work = |tasks: &[goodness_play::PlayedTask]| -> Vec<(u64, u64)> {
        tasks.iter().map(|task| (task.steps, task.computed_ns)).collect()
    };
    assert_eq!(work(&one), work(&again));
    assert_ne!(work(&one)[0].1, work(&other)[0].1);
    assert_ne!(work(&one)[0], work(&one)[1], "each task has its own stream");
}

#[test]
fn tasks_use_the_cpu_time_they_ask_for_and_wake_when_their_sleeps_end() {
    let done = played(with(vec![drawn()]), 3);
    let task = &done.tasks[0];
    assert_eq!(task.wakeups, 20);
    assert!(task.voluntary_switches >= 10, "a sleep whose end has passed switches nobody: {task:?}");
    let surplus = task.cpu_time_ns as i64 - task.computed_ns as i64;
    assert!((-100_000..10_000_000).contains(&surplus), "20 sleeps and 20 looks take little: {task:?}");
    assert!(task.wakeup_latency_p50_ns.is_some_and(|ns| ns > 0), "no timer is early or exact: {task:?}");
}

#[test]
fn a_thread_has_the_name_the_nice_and_the_cpu_of_its_task() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&seen);
    let mut asked = 0;
    let mut spec = task("a name longer than fifteen bytes", move |_| {
        asked += 1;
        let read = |file: &str| std::fs::read_to_string(format!("/proc/thread-self/{file}")).expect("it is there");
        let nice = read("stat").rsplit(") ").next().and_then(|rest| rest.split(' ').nth(16).map(String::from));
        let status = read("status");
        let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t")).map(String::from);
        theirs.lock().expect("nobody failed").push((read("comm"), nice, cpus));
        match asked {
            1 => Step::SetNice(Nice::new(9).expect("there is a nice 9")),
            _ => Step::Exit,
        }
    });
    let last = playable_cpus().len() as u32 - 1;
    let cpu = playable_cpus()[last as usize].0.to_string();
    spec.task =
        Task { nice: Nice::new(4).expect("there is a nice 4"), affinity: CpuSet::of(&[CpuId(last)]), ..spec.task };
    played(with(vec![spec]), 1);
    let entry = |nice: &str| ("a name longer t\n".to_string(), Some(nice.to_string()), Some(cpu.clone()));
    assert_eq!(*seen.lock().expect("nobody failed"), [entry("4"), entry("9")]);
}

#[test]
fn two_tasks_that_wake_each_other_take_turns() {
    let turns = Arc::new(Mutex::new(Vec::new()));
    let player = |mine: u32, other: u32| {
        let turns = Arc::clone(&turns);
        let mut at = 0;
        move |_: &mut StepContext| {
            at += 1;
            match (at, at % 2) {
                (101.., _) => Step::Exit,
                (_, 1) => Step::Wait(Channel(mine)),
                _ => {
                    turns.lock().expect("nobody failed").push(mine);
                    Step::Wake(Channel(other))
                }
            }
        }
    };
    let mut work = with(vec![task("ping", player(0, 1)), task("pong", player(1, 0))]);
    work.tasks.push(task("umpire", steps(vec![Step::Sleep(Span::from_ms(50)), Step::Wake(Channel(0))])));
    let done = played(work, 1);
    let expected: Vec<u32> = (0..100).map(|turn| turn % 2).collect();
    assert_eq!(*turns.lock().expect("nobody failed"), expected);
    assert!(done.tasks[0].wakeups >= 1 && done.tasks[1].wakeups >= 1, "who comes first sleeps: {done:?}");
}

#[test]
fn a_lock_has_one_holder_at_a_time() {
    let (inside, crossings) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let worker = |name: &str| {
        let (inside, crossings) = (Arc::clone(&inside), Arc::clone(&crossings));
        let mut at = 0;
        task(name, move |_| {
            at += 1;
            match (at, at % 4) {
                (201.., _) => Step::Exit,
                (_, 1) => Step::Lock(LockId(0)),
                (_, 2) => {
                    crossings.fetch_add(u32::from(inside.fetch_add(1, Ordering::SeqCst) > 0), Ordering::SeqCst);
                    Step::Sleep(Span::from_us(100))
                }
                (_, 3) => {
                    inside.fetch_sub(1, Ordering::SeqCst);
                    Step::Unlock(LockId(0))
                }
                _ => Step::Compute(Span::from_us(20)),
            }
        })
    };
    let done = played(with(vec![worker("a"), worker("b"), worker("c")]), 1);
    assert_eq!(crossings.load(Ordering::SeqCst), 0);
    assert!(done.tasks.iter().all(|task| task.steps == 201 && task.wakeups >= 50), "{:?}", done.tasks);
}

#[test]
fn a_forked_task_is_played_and_one_that_nobody_forks_is_not() {
    let parent = task("parent", steps(vec![Step::Fork(BehaviourId(1)), Step::Yield]));
    let mut child = task("child", steps(vec![Step::Compute(Span::from_us(300))]));
    let mut idle = task("idle", steps(vec![Step::Compute(Span::from_us(300))]));
    (child.start, idle.start) = (Start::Forked, Start::Forked);
    let done = played(with(vec![parent, child, idle]), 1);
    assert_eq!((done.tasks[1].computed_ns, done.tasks[2].steps), (300_000, 0));
    assert!(done.tasks[1].cpu_time_ns >= 299_000, "{:?}", done.tasks[1]);
}

#[test]
fn a_play_ends_in_time_whatever_its_tasks_do() {
    let gone = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&gone);
    struct Tells(Arc<AtomicBool>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let tells = Tells(theirs);
    let hog = task("hog", move |_| {
        let _ = &tells;
        Step::Compute(Span::MAX)
    });
    let sleeper = task("sleeper", steps(vec![Step::Sleep(Span::from_s(3600))]));
    let waiter = task("waiter", steps(vec![Step::Wait(Channel(1))]));
    let work = with(vec![hog, sleeper, waiter, task("spins", |_| Step::Compute(Span::ZERO))]);
    let begun = std::time::Instant::now();
    let length = Span::from_ms(300);
    let done = play(work, Options { cpus: None, duration: Some(length), class: PlayClass::Other, seed: Seed(1) })
        .expect("played");
    assert!(begun.elapsed().as_secs() < 15, "it took {:?}", begun.elapsed());
    assert!(gone.load(Ordering::SeqCst), "the hog's thread has ended");
    assert_eq!((done.class.as_str(), done.measured_ns), ("SCHED_OTHER", 300_000_000));
    assert!(done.tasks[0].cpu_time_ns > 1_000_000 && done.tasks[1].cpu_time_ns < done.tasks[0].cpu_time_ns);
}

#[test]
fn a_task_that_does_what_it_may_not_ends_the_play_and_is_named() {
    let wrong = |step| {
        let work = with(vec![task("hog", |_| Step::Compute(Span::MAX)), task("odd", steps(vec![step]))]);
        let options =
            Options { cpus: None, duration: Some(Span::from_s(60)), class: PlayClass::Inherited, seed: Seed(1) };
        let error = play(work, options).expect_err("it cannot be played");
        assert_eq!(error.task(), Some(goodness_core::TaskId(1)));
        error.to_string()
    };
    assert_eq!(wrong(Step::Unlock(LockId(0))), "\"odd\": released lock 0, which it does not hold");
    assert!(wrong(Step::Wake(Channel(9))).contains("channel 9, which the workload does not have"));
    assert!(wrong(Step::Fork(BehaviourId(1))).contains("not there to be forked"));
    assert!(wrong(Step::Io(goodness_core::IoStep::Await { at_most: 0 })).contains("in the simulator only"));
}
