//! Bounded overtaking: while a task waits for a CPU, no other task gets more CPU time than the policy's rules allow.
//! Each bound is derived from the rules alone, as its row says, and held on drawn work: hogs, sleepers and tasks that
//! start late, of drawn nices, on one CPU at drawn ticks. A quarter of a bound must be too little in some draw, and
//! policies without any such rule must break the bound of round robin.
//!
//! `DRAWS=2000 FIRST=0 cargo test --release -p goodness-policies --test liveness -- --nocapture` draws as many for each
//! policy, from that seed on; without them a few dozen, from another seed in each run.

mod harness;

use goodness_core::*;
use goodness_observe::{Checkers, Ending, Subject};
use goodness_sim::{Options, simulate_with};
use harness::*;
use std::ops::Range;

/// Draws for each policy of an ordinary test.
const FEW: u64 = 40;
const HORIZON: Span = Span::from_ms(4_000);
const MILLISECOND: u64 = 1_000_000;

/// One drawn load.
struct Load {
    hz: u32,
    /// Slice of policies that have one to set.
    slice: u64,
    nices: Vec<i64>,
    /// Compute and sleep of each cycle; no sleep for a hog.
    cycles: Vec<(u64, u64)>,
    starts: Vec<u64>,
}

impl Load {
    fn drawn(seed: u64, may_sleep: bool) -> Load {
        let rng = &mut Seed(seed).stream("liveness", 0).rng();
        let count = rng.within(2, 7) as usize;
        let is_nice = rng.below(2) == 0;
        let nice = |rng: &mut Rng| if is_nice { rng.within(0, 39) as i64 - 20 } else { 0 };
        let cycle = |rng: &mut Rng| {
            let sleep = if rng.below(2) == 0 || !may_sleep { 0 } else { rng.within(1, 30 * MILLISECOND) };
            (rng.within(MILLISECOND / 10, 12 * MILLISECOND), sleep)
        };
        Load {
            hz: [100, 250, 1000][rng.below(3) as usize],
            slice: [1, 3, 10, 50][rng.below(4) as usize] * MILLISECOND,
            nices: (0..count).map(|_| nice(rng)).collect(),
            cycles: (0..count).map(|_| cycle(rng)).collect(),
            starts: (0..count).map(|_| rng.below(3) * rng.below(1_000 * MILLISECOND)).collect(),
        }
    }

    fn tick(&self) -> f64 {
        1e9 / f64::from(self.hz)
    }

    /// Weight of one task for each of another's, as the fair classes have it: 1.25 for a step of nice, with the
    /// rounding of their table.
    fn ratio(&self, of: usize, to: usize) -> f64 {
        1.01 * 1.25f64.powi((self.nices[to] - self.nices[of]) as i32)
    }

    fn tasks(&self) -> Vec<TaskSpec> {
        let spec = |n: usize| {
            let (compute, sleep) = self.cycles[n];
            let steps = [Step::Compute(Span(compute)), Step::Sleep(Span(sleep))];
            let spec = if sleep == 0 { hog() } else { cycle(&steps) };
            starting(Start::At(Time(self.starts[n])), nice(self.nices[n], spec))
        };
        (0..self.nices.len()).map(spec).collect()
    }
}

/// The most CPU time that each task had while one waited, by the waiting one and the other.
struct Overtaking(Vec<Vec<u64>>);

impl Overtaking {
    fn of(history: &History, count: usize) -> Overtaking {
        let mut most = vec![vec![0; count]; count];
        let mut now: Vec<Option<Vec<u64>>> = vec![None; count];
        let mut runs: Option<(usize, Time)> = None;
        let waits = || Some(vec![0; count]);
        for (at, event) in history {
            if let (Some((other, since)), Event::Switch { .. } | Event::Wakeup { .. }) = (runs, event) {
                for (who, had) in now.iter_mut().enumerate() {
                    let Some(had) = had else { continue };
                    had[other] += at.since(since).ns();
                    most[who][other] = most[who][other].max(had[other]);
                }
                runs = Some((other, *at));
            }
            match event {
                Event::Wakeup { task, .. } => now[task.index()] = waits(),
                Event::Switch { prev, off, next, .. } => {
                    if let Some(prev) = prev {
                        now[prev.index()] = if off.is_runnable() { waits() } else { None };
                    }
                    runs = next.map(|next| (next.index(), *at));
                    next.inspect(|next| now[next.index()] = None);
                }
                _ => {}
            }
        }
        Overtaking(most)
    }

    /// The largest part of its bound that anybody got: whom it overtook, who, how much, of how much.
    fn worst(&self, bound: impl Fn(usize, usize) -> f64) -> (f64, String) {
        let mut worst = (0.0, String::new());
        for (waiting, had) in self.0.iter().enumerate() {
            for (other, had) in had.iter().enumerate().filter(|(other, _)| *other != waiting) {
                let (had, bound) = (*had as f64, bound(waiting, other));
                if had / bound > worst.0 {
                    let ms = |ns: f64| ns / 1e6;
                    let told =
                        format!("task {other} had {} ms, {} allowed, while {waiting} waited", ms(had), ms(bound));
                    worst = (had / bound, told);
                }
            }
        }
        worst
    }
}

/// Settings of a policy for a load.
type Settings = fn(&Load) -> Vec<(&'static str, String)>;

/// A policy with a rule that bounds overtaking.
struct Promise {
    policy: &'static str,
    settings: Settings,
    holds_with_sleepers: bool,
    /// CPU time in ns that `other` may have while `waiting` waits.
    bound: fn(&Load, usize, usize) -> f64,
}

fn slices(load: &Load) -> String {
    format!("{}ns", load.slice)
}

/// The bounds. `ratio` is the weight of the other by that of the waiting task.
const PROMISES: [Promise; 9] = [
    // One turn: whoever has had one goes to the tail, behind the task that waits (specs 11).
    Promise {
        policy: "rr",
        settings: |load| vec![("timeslice", slices(load))],
        holds_with_sleepers: true,
        bound: |load, _, _| load.slice as f64,
    },
    // Who begins does so a stride ahead of the global pass, which therefore falls behind by up to a turn for each that
    // began, and so may the task that waits be ahead of the next to begin, and by a stride for its own turn: `ratio`
    // turns of the other for each of these, and one for the difference that a turn makes at each end, and for each task
    // that may begin meanwhile (specs 11 "Stride"). Not so with sleepers: they are owed what they wait for the end of a
    // turn, which adds up and is paid to whoever comes next.
    Promise {
        policy: "stride",
        settings: |load| vec![("timeslice", slices(load))],
        holds_with_sleepers: false,
        bound: |load, waiting, other| {
            let count = load.nices.len() as f64;
            (load.ratio(other, waiting) * 1.2 * (1.0 + count) + 2.0 + count) * load.slice as f64
        },
    },
    // The task ran for its slice and up to a tick beyond, or began a slice behind, or where the task was that ran then;
    // alone, a slice is a whole period. The others catch up with that by weight, each with what a sleeper is given (a
    // period of its own weight at most), and end their slices (specs 5.1).
    Promise {
        policy: "cfs",
        settings: |_| vec![],
        holds_with_sleepers: true,
        bound: |load, _, other| {
            let lightest = (0..load.nices.len()).map(|it| load.ratio(other, it)).fold(0.0, f64::max);
            let (latency, min) = (6e6, 0.75e6);
            let period = f64::max(latency, load.nices.len() as f64 * min);
            let own = 1.25f64.powi(-load.nices[other] as i32);
            3.0 * period + load.tick() + lightest * (period + min + load.tick()) + own * latency
        },
    },
    // The lag of every task stays within the longest request, which is a slice and the rest of a tick (specs 5.3): from
    // the least lag to the most the virtual time passes by two such requests of the waiting task, and the other gets
    // that by its weight, and the difference of its own lag. Sleepers whose dequeue is delayed count until the next
    // pick, so that virtual time passes more slowly: beside them it was twice as much.
    Promise {
        policy: "eevdf",
        settings: |load| vec![("base_slice", format!("{}ns", request(load)))],
        holds_with_sleepers: false,
        bound: |load, waiting, other| 2.0 * (load.ratio(other, waiting) + 1.0) * (request(load) as f64 + load.tick()),
    },
    // Until its own deadline, a slice times 1.1 for each nice above -20, and a turn that began before it (specs 6).
    Promise {
        policy: "bfs",
        settings: |load| vec![("rr_interval", slices(load))],
        holds_with_sleepers: true,
        bound: |load, waiting, _| deadline(load, waiting) + 2.0 * load.slice as f64 + load.tick(),
    },
    Promise {
        policy: "muqss",
        settings: |load| vec![("rr_interval", (load.slice / MILLISECOND).to_string())],
        holds_with_sleepers: true,
        bound: |load, waiting, _| 1.05 * (deadline(load, waiting) + 2.0 * load.slice as f64) + load.tick(),
    },
    // To the next boost, and a turn: then all are in one queue (specs 11 "MLFQ").
    Promise {
        policy: "mlfq",
        settings: |load| vec![("quantum", slices(load)), ("boost", "500ms".into())],
        holds_with_sleepers: true,
        bound: |load, _, _| 500e6 + 5.0 * load.slice as f64,
    },
    // What the other may still use of two epochs: its counter, of twice its quantum at most, in each (specs 1.2 to
    // 1.4). Who
    // sleeps before the tick is not charged.
    Promise {
        policy: "linux-2.2",
        settings: |_| vec![],
        holds_with_sleepers: false,
        bound: |load, _, other| 4.0 * (20 - load.nices[other] + 1) as f64 * 10e6,
    },
    // Its quota at each level from its nice downwards, in this rotation and in the next (specs 4).
    Promise {
        policy: "rsdl",
        settings: |load| vec![("rr_interval", slices(load))],
        holds_with_sleepers: true,
        bound: |load, _, other| {
            let quota = f64::max(load.slice as f64, load.tick()) + load.tick();
            (2.0 * (20 - load.nices[other]) as f64 + 1.0) * quota
        },
    },
];

/// A request of the fair class of a tick at least: of shorter ones a task gets many before another is looked at.
fn request(load: &Load) -> u64 {
    load.slice.max(1_000_000_000 / u64::from(load.hz))
}

/// Virtual deadline from the time it is set.
fn deadline(load: &Load, task: usize) -> f64 {
    load.slice as f64 * 1.1f64.powi(load.nices[task] as i32 + 20)
}

/// The largest part of its bound that a promise's policy, or another in its place, needs in all draws.
fn needed(promise: &Promise, policy: &str, seeds: &Range<u64>) -> (f64, String) {
    let entry = goodness_policies::entry(policy).expect("a listed policy");
    let mut worst = (0.0, String::new());
    for seed in seeds.clone() {
        let load = Load::drawn(seed, promise.holds_with_sleepers);
        let settings = if policy == promise.policy { (promise.settings)(&load) } else { vec![] };
        let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let history = run_of(entry, &one_cpu(load.hz), &settings, load.tasks(), HORIZON);
        let overtaking = Overtaking::of(&history, load.nices.len());
        let of_load = overtaking.worst(|waiting, other| (promise.bound)(&load, waiting, other));
        if of_load.0 > worst.0 {
            worst = (of_load.0, format!("seed {seed}: {}", of_load.1));
        }
    }
    worst
}

#[test]
fn nobody_overtakes_a_waiting_task_by_more_than_the_rules_allow() {
    let seeds = drawn::seeds(FEW);
    let mut broken = Vec::new();
    for promise in &PROMISES {
        let (part, told) = needed(promise, promise.policy, &seeds);
        println!("{}: {part:.2} of the bound; {told}", promise.policy);
        broken.extend((part > 1.0).then(|| format!("{} in {seeds:?}: {told}", promise.policy)));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The controls: a bound that nobody comes near says nothing, and neither does one that every policy keeps.
#[test]
fn the_bounds_are_near_and_other_rules_break_them() {
    for promise in &PROMISES {
        let (part, told) = needed(promise, promise.policy, &(0..FEW));
        assert!(part > 0.25, "{} needs {part:.2} of its bound alone; {told}", promise.policy);
    }
    let rr = Promise { settings: |_| vec![], bound: |_, _, _| 10e6, ..PROMISES[0] };
    for other in ["fifo", "sjf", "srtf", "lottery", "linux-2.2"] {
        let (part, _) = needed(&rr, other, &(0..FEW));
        assert!(part > 1.5, "{other} needs {part:.2} of round robin's bound alone");
    }
}

/// Policies whose rules bound the time that a runnable task waits for one CPU, settings as in [`PROMISES`], and the
/// bound in ns.
type Wait = (&'static str, fn(&Load) -> f64);
const WAITS: [Wait; 3] = [
    // A turn of each other (specs 11).
    ("rr", |load| (load.nices.len() - 1) as f64 * load.slice as f64),
    // The lag of a task stays within the longest request: while it waits, its share of the time is two of them at most.
    ("eevdf", |load| 2.0 * whole_by_lightest(load) * (request(load) as f64 + load.tick())),
    // As much for what a task may be behind and ahead, a slice and a tick each, and what a sleeper is given.
    ("cfs", |load| whole_by_lightest(load) * (2.0 * (6e6 + load.tick()) + 6e6)),
];

/// Weight of all tasks by that of the lightest.
fn whole_by_lightest(load: &Load) -> f64 {
    let all = 0..load.nices.len();
    let lightest = all.clone().max_by_key(|task| load.nices[*task]).expect("a task");
    all.map(|task| load.ratio(task, lightest)).sum()
}

fn promise(policy: &str) -> &'static Promise {
    PROMISES.iter().find(|it| it.policy == policy).expect("a policy of the list")
}

/// The first wait longer than `part` of the bound in all draws, as the checker tells it.
fn overlong(
    (named, bound): Wait,
    (policy, settings): (&str, Settings),
    part: f64,
    seeds: &Range<u64>,
) -> Option<String> {
    let promise = promise(named);
    let entry = goodness_policies::entry(policy).expect("a listed policy");
    let of_draw = |seed: u64| {
        let load = Load::drawn(seed, promise.holds_with_sleepers);
        let settings: Vec<(String, String)> =
            settings(&load).into_iter().map(|(name, value)| (name.into(), value)).collect();
        let machine = one_cpu(load.hz);
        let work = Workload { tasks: load.tasks(), horizon: Some(Time(HORIZON.0)), ..Workload::default() };
        let longest = Span((part * bound(&load)) as u64);
        let mut checkers = Checkers::new(1, &Subject::all(&work)).with_wait_bound(longest);
        let made = (entry.make)(&machine, &settings, Seed(seed)).expect("valid settings");
        let outcome =
            simulate_with(&machine, made, work, None, &mut checkers, Options::default()).expect("a sound run");
        let found = checkers.finish(outcome.end, Ending::Horizon).violations;
        found.first().map(|it| format!("{policy}, seed {seed}: {} {}", it.checker, it.sentence))
    };
    seeds.clone().find_map(of_draw)
}

#[test]
fn nobody_waits_longer_than_the_rules_allow() {
    let seeds = drawn::seeds(FEW);
    let of = |wait: Wait| overlong(wait, (wait.0, promise(wait.0).settings), 1.0, &seeds);
    let broken: Vec<String> = WAITS.into_iter().filter_map(of).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The controls: a quarter of each bound is too little, and policies without that rule break round robin's.
#[test]
fn the_bounds_of_waits_are_near_and_other_rules_break_them() {
    for wait in WAITS {
        let own = (wait.0, promise(wait.0).settings);
        let told = overlong(wait, own, 0.25, &(0..FEW)).unwrap_or_else(|| panic!("{} needs no quarter", wait.0));
        assert!(told.contains("bounded_wait"), "{told}");
    }
    let rr: Wait = ("rr", |load| (load.nices.len() - 1) as f64 * 10e6);
    let as_it_is = |policy, part| overlong(rr, (policy, |_| vec![]), part, &(0..FEW));
    assert_eq!(as_it_is("rr", 1.0), None, "its slice is 10 ms");
    for other in ["fifo", "sjf", "srtf", "lottery", "linux-2.2"] {
        assert!(as_it_is(other, 1.5).is_some(), "{other} keeps round robin's bound");
    }
}

/// Longest time in ns, by the number of CPUs and the tick.
type Bound = fn(f64, f64) -> f64;

/// Policies that may leave a CPU idle beside a task that waits, and for how long, by CPUs and tick in ns: those with a
/// queue for each CPU, whose idle CPUs look again at their next tick (specs 2.6), or when their domain's interval is
/// over. That is a millisecond for each CPU, 16 times that where it was set while they were busy, and then a tick each
/// for the call of the balancer and for its own look (specs/smp.md 1.2). All others never do.
const IDLING: [(&str, Bound); 4] = [
    ("o1", |_, tick| tick),
    ("staircase", |_, tick| tick),
    ("cfs", |cpus, tick| f64::max(cpus * 16e6, tick) + 2.0 * tick),
    ("eevdf", |cpus, tick| f64::max(cpus * 16e6, tick) + 2.0 * tick),
];
/// Policies that promise nothing: they move tasks at wake-ups alone, or by loads of a while ago.
const WITHOUT: [&str; 2] = ["haiku-2013", "haiku-affine"];

/// The longest time that a CPU of two to four idled beside a task that waited, less what the policy's rules allow; the
/// worst of all draws.
fn idled(policy: &str, seeds: &Range<u64>) -> (f64, String) {
    let entry = goodness_policies::entry(policy).expect("a listed policy");
    let allowed = IDLING.iter().find(|it| it.0 == policy);
    let of_draw = |seed: u64| {
        let load = Load::drawn(seed, true);
        let cpus = 2 + (seed % 3) as u32;
        let machine = Machine::flat(cpus, load.hz).expect("a machine");
        let work = Workload { tasks: load.tasks(), horizon: Some(Time(HORIZON.0)), ..Workload::default() };
        let made = (entry.make)(&machine, &[], Seed(seed)).expect("the defaults are valid");
        let mut checkers = Checkers::new(machine.cpu_count(), &Subject::all(&work));
        let outcome =
            simulate_with(&machine, made, work, None, &mut checkers, Options::default()).expect("a sound run");
        let longest = checkers.finish(outcome.end, Ending::Horizon).longest_idling.expect("nobody has an affinity");
        let allowed = allowed.map_or(0.0, |it| (it.1)(f64::from(cpus), load.tick()));
        (longest.ns() as f64 - allowed, format!("seed {seed}: a CPU idled for {longest}, {allowed} ns are allowed"))
    };
    let worst = (f64::MIN, String::new());
    seeds.clone().map(of_draw).fold(worst, |a, b| if b.0 > a.0 { b } else { a })
}

#[test]
fn no_cpu_idles_beside_a_waiting_task_longer_than_the_rules_allow() {
    let seeds = drawn::seeds(FEW);
    let mut broken = Vec::new();
    for about in goodness_policies::ALL.iter().filter(|it| !WITHOUT.contains(&it.name)) {
        let (excess, told) = idled(about.name, &seeds);
        println!("{}: {:.3} ms beyond; {told}", about.name, excess / 1e6);
        broken.extend((excess > 0.0).then(|| format!("{} in {seeds:?}: {told}", about.name)));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    for other in WITHOUT {
        assert!(idled(other, &(0..FEW)).0 > 0.0, "{other} never idled: it could promise so");
    }
}
