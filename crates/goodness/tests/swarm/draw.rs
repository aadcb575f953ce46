//! Random whole simulations: an experiment file, a policy and an elevator with random settings.

use goodness::space::Range;
use goodness_core::{Rng, Seed, Tunable};
use std::fmt::Write as _;

/// Source of choices: random numbers, or the bytes of a fuzzer.
pub trait Source {
    /// A choice from `0..bound`; `bound` is at least 1.
    fn below(&mut self, bound: u64) -> u64;

    /// A choice from `low..=high`.
    fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
}

impl Source for Rng {
    fn below(&mut self, bound: u64) -> u64 {
        Rng::below(self, bound)
    }
}

/// Choices from bytes, as many of them as a choice needs; 0 once they are used up.
pub struct Bytes<'a>(pub &'a [u8]);

impl Source for Bytes<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        let (mut value, mut reached) = (0_u64, 1_u64);
        while reached < bound {
            let Some((first, rest)) = self.0.split_first() else { break };
            (value, self.0) = (value << 8 | u64::from(*first), rest);
            reached = reached.saturating_mul(256);
        }
        value % bound
    }
}

/// Bounds of what is drawn.
pub struct Scope {
    /// Classes of tasks; one named twice is drawn twice as often.
    pub classes: &'static [&'static str],
    /// Numbers of CPUs.
    pub cpus: &'static [u64],
    /// Shortest and longest duration in ms. Faults come within the first 20 ms.
    pub duration: (u64, u64),
    /// Most kinds of tasks.
    pub kinds: u64,
    /// Most tasks of a kind.
    pub copies: u64,
}

/// One random simulation, as a user would type it.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The experiment file.
    pub experiment: String,
    /// The policy with its settings.
    pub policy: String,
    /// The elevator with its settings, if the work has a disk.
    pub elevator: Option<String>,
    /// Random seed of the run.
    pub seed: u64,
}

/// Scope of the swarm. A real-time task may keep others waiting for ever, which is no mistake of a policy.
const SWARM: Scope = Scope {
    classes: &["normal", "normal", "normal", "batch", "idle", "iso", "deadline"],
    cpus: &[1, 1, 2, 3, 4, 6, 8, 16],
    duration: (20, 300),
    kinds: 7,
    copies: 5,
};
/// Scope of the ledger.
const LEDGER: Scope =
    Scope { classes: &["normal", "normal", "batch", "idle", "iso", "deadline", "fifo", "rr"], ..SWARM };
/// Scope of the fuzzer: some to a few thousand decisions. Shorter ones do not show that a policy has lost a task.
pub const SMALL: Scope = Scope {
    classes: &["normal", "normal", "batch", "idle", "iso", "deadline", "fifo", "rr"],
    cpus: &[1, 2, 3, 4],
    duration: (45, 300),
    kinds: 4,
    copies: 2,
};
/// Pure spinning is left out: under a policy that does not preempt, it lasts for ever.
const LOCKS: [&str; 6] = ["mutex", "adaptive", "pi", "fifo", "kernel", "s_lock"];
/// Name and kind of a lock that replaces most of the kernel's mutexes, for writers and for readers.
const SHARED: (&str, &str) = ("shared", "rwsem");
const DEVICES: [&str; 6] = ["null", "null:latency=2ms", "nvme", "ssd", "cheetah-9lp", "sata-7200-4tb"];
const HZ: [u64; 5] = [24, 100, 250, 1000, 1024];

impl Drawn {
    /// Number `number` of the swarm with random seed `seed`.
    pub fn of(seed: u64, number: u64) -> Drawn {
        Drawn::from(&mut Seed(seed).stream("swarm", number).rng(), &SWARM)
    }

    /// Any policy, with or without a disk.
    pub fn from(rng: &mut dyn Source, scope: &Scope) -> Drawn {
        let policies = goodness_policies::ALL;
        let policy = policies[rng.below(policies.len() as u64) as usize].name;
        let policy = policy_with_settings(rng, policy);
        let elevator = (rng.below(3) == 0).then(|| {
            let elevators = goodness_elevators::ALL;
            let name = elevators[rng.below(elevators.len() as u64) as usize].name;
            elevator_with_settings(rng, name)
        });
        Drawn::with(rng, scope, policy, elevator)
    }

    /// Number `number` of the simulations under one policy.
    pub fn under_policy(name: &str, number: u64) -> Drawn {
        let mut rng = Seed(number).stream(name, 0).rng();
        let policy = policy_with_settings(&mut rng, name);
        Drawn::with(&mut rng, &LEDGER, policy, None)
    }

    /// Number `number` of the simulations with a disk under one elevator, and the simplest policy that preempts.
    pub fn under_elevator(name: &str, number: u64) -> Drawn {
        let mut rng = Seed(number).stream(name, 1).rng();
        let elevator = elevator_with_settings(&mut rng, name);
        Drawn::with(&mut rng, &LEDGER, "rr".into(), Some(elevator))
    }

    fn with(rng: &mut dyn Source, scope: &Scope, policy: String, elevator: Option<String>) -> Drawn {
        Drawn { experiment: experiment(rng, scope, elevator.is_some()), policy, elevator, seed: rng.within(1, 1_000) }
    }

    /// Command-line words behind `goodness run FILE`.
    pub fn words(&self) -> String {
        let elevator = self.elevator.as_ref().map_or_else(String::new, |it| format!(" --elevator {it}"));
        format!("-p {}{elevator} --seed {}", self.policy, self.seed)
    }
}

/// The policy with some settings.
pub fn policy_with_settings(rng: &mut dyn Source, name: &str) -> String {
    let tunables = goodness_policies::entry(name).map_or(&[][..], |entry| (entry.tunables)());
    format!("{name}{}", settings(rng, tunables))
}

fn elevator_with_settings(rng: &mut dyn Source, name: &str) -> String {
    let tunables = goodness_elevators::entry(name).map_or(&[][..], |entry| (entry.tunables)());
    format!("{name}{}", settings(rng, tunables))
}

fn one<'a>(rng: &mut dyn Source, of: &[&'a str]) -> &'a str {
    of[rng.below(of.len() as u64) as usize]
}

/// A time between `low` and `high` µs, as likely short as long.
fn time(rng: &mut dyn Source, low: u64, high: u64) -> String {
    let high = rng.within(low, high);
    format!("{}us", rng.within(low, high))
}

/// `:key=value,…` for some of the tunables, at the ends of their ranges as often as inside.
fn settings(rng: &mut dyn Source, tunables: &[Tunable]) -> String {
    let mut text = String::new();
    for tunable in tunables {
        if rng.below(3) > 0 {
            continue;
        }
        let share = [0.0, 1.0, rng.below(1_001) as f64 / 1_000.0, rng.below(1_001) as f64 / 1_000.0];
        let share = share[rng.below(4) as usize];
        let value = match tunable.range.split_once(" ..= ") {
            Some((low, high)) => Range::spread(low, high).map(|range| range.at(share)),
            None => Ok(one(rng, &tunable.range.split(" | ").collect::<Vec<_>>()).to_string()),
        };
        if let Ok(value) = value {
            let _ = write!(text, "{}{}={value}", if text.is_empty() { ':' } else { ',' }, tunable.name);
        }
    }
    text
}

fn experiment(rng: &mut dyn Source, scope: &Scope, has_disk: bool) -> String {
    let cpus = scope.cpus[rng.below(scope.cpus.len() as u64) as usize];
    let duration = rng.within(scope.duration.0, scope.duration.1);
    let mut text = format!("duration = \"{duration}ms\"\nmachine = {{ {} }}\n", machine(rng, cpus));
    let groups = rng.below(4) * rng.below(2);
    for group in 0..groups {
        let _ = writeln!(text, "\n[[group]]\nname = \"g{group}\"{}", limits(rng, group, cpus));
    }
    for (number, kind) in LOCKS.iter().enumerate() {
        let _ = writeln!(text, "\n[[lock]]\nname = \"l{number}\"\nkind = \"{kind}\"");
    }
    let _ = writeln!(text, "\n[[lock]]\nname = \"{}\"\nkind = \"{}\"", SHARED.0, SHARED.1);
    if has_disk {
        let device = one(rng, &DEVICES);
        let _ = writeln!(text, "\n[[disk]]\nname = \"sda\"\ndevice = \"{device}\"");
        text.push_str("\n[[file]]\nname = \"table\"\nvolume = \"sda\"\nsize = \"64MiB\"\n");
    }
    let has_server = rng.below(3) == 0;
    if has_server {
        text.push_str("\n[[task]]\nname = \"server\"\nprogram = [ { receive = \"inbox\" }, { compute = [\"20us\", ");
        let _ = writeln!(text, "\"2ms\"] }}, {{ reply = true }} ]\n\n[[outside]]\ncount = {}", rng.within(1, 6));
        let _ = writeln!(text, "program = [ {{ sleep = \"{}\" }}, {{ ask = \"inbox\" }} ]", time(rng, 1, 9_000));
    }
    let spared = rng.below(cpus);
    for _ in 0..rng.below(4) * rng.below(2) {
        text.push_str(&fault(rng, cpus, spared));
    }
    for task in 0..rng.within(1, scope.kinds) {
        let _ = writeln!(text, "\n[[task]]\nname = \"t{task}\"{}", attributes(rng, scope, groups, cpus));
        let steps = rng.within(1, 6);
        let steps: Vec<String> = (0..steps).map(|_| step(rng, groups, has_disk)).collect();
        // A programme without any wait or CPU time would repeat at one instant.
        let _ = writeln!(text, "program = [ {{ compute = \"{}\" }}, {} ]", time(rng, 1, 9_000), steps.join(", "));
    }
    text
}

fn machine(rng: &mut dyn Source, cpus: u64) -> String {
    let mut text = format!("cpus = {cpus}, hz = {}", HZ[rng.below(5) as usize]);
    let mut divides = |key: &str, of: u64| {
        let all: Vec<u64> = (1..=of).filter(|n| of.is_multiple_of(*n)).collect();
        let value = all[rng.below(all.len() as u64) as usize];
        let _ = write!(text, ", {key} = {value}");
        value
    };
    let node = divides("node", cpus);
    let cache = divides("cache", node);
    divides("smt", cache);
    if rng.below(2) == 0 {
        for key in ["switch", "address_space", "wakeup", "tick", "interrupt", "idle_exit", "cache_refill", "preempt"] {
            let _ = write!(text, ", {key} = \"{}ns\"", rng.below(5_000));
        }
        // Costs of an element that keep a global lock from being asked for all the time.
        for key in ["search", "insert", "balance", "lock_handover"] {
            let _ = write!(text, ", {key} = \"{}ns\"", rng.below(50));
        }
        for key in ["migration_cache", "migration_node", "migration_machine", "late_balance"] {
            let _ = write!(text, ", {key} = \"{}ns\"", rng.below(50_000));
        }
        if rng.below(2) == 0 {
            let _ = write!(text, ", worker_every = \"{}us\"", rng.within(1_000, 1_000_000));
        }
    }
    text
}

/// A fault of one CPU or of all, within the shortest duration. CPU `spared` never goes offline.
fn fault(rng: &mut dyn Source, cpus: u64, spared: u64) -> String {
    let kinds = ["stolen", "lost-ticks", "offline", "offline"];
    let kind = one(rng, if cpus > 1 { &kinds } else { &kinds[..2] });
    let (at, span) = (time(rng, 0, 19_999), time(rng, 1, 40_000));
    let cpu = match kind {
        "offline" => format!("\ncpu = {}", (spared + 1 + rng.below(cpus - 1)) % cpus),
        _ if rng.below(4) == 0 => String::new(),
        _ => format!("\ncpu = {}", rng.below(cpus)),
    };
    format!("\n[[fault]]\nkind = \"{kind}\"\nat = \"{at}\"\nfor = \"{span}\"{cpu}\n")
}

fn limits(rng: &mut dyn Source, group: u64, cpus: u64) -> String {
    let mut text = String::new();
    if group > 0 && rng.below(2) == 0 {
        let _ = write!(text, "\nparent = \"g{}\"", rng.below(group));
    }
    match rng.below(5) {
        0 => {
            let _ = write!(text, "\ncpu_weight = {}", rng.within(1, 10_000));
        }
        1 => {
            let period = rng.within(1, 100);
            let _ = write!(text, "\ncpu_max = \"{}us/{period}ms\"", rng.within(1_000, 1_000 * period));
        }
        2 => text.push_str("\ncpu_idle = true"),
        3 => {
            let _ = write!(text, "\ncpuset = [{}, {}]", rng.below(cpus), cpus - 1);
        }
        _ => {}
    }
    text
}

fn attributes(rng: &mut dyn Source, scope: &Scope, groups: u64, cpus: u64) -> String {
    let mut text = format!("\ncount = {}\nnice = {}", rng.within(1, scope.copies), rng.within(0, 39) as i64 - 20);
    match one(rng, scope.classes) {
        "deadline" => {
            let period = rng.within(2, 60);
            let runtime = rng.within(100, 1_000 * period / 40 + 100);
            let reservation = format!("{{ runtime = \"{runtime}us\", period = \"{period}ms\" }}");
            let _ = write!(text, "\nclass = \"deadline\"\nreservation = {reservation}");
        }
        class => {
            let _ = write!(text, "\nclass = \"{class}\"");
            if matches!(class, "fifo" | "rr") {
                let _ = write!(text, "\nrt_priority = {}", rng.within(1, 99));
            }
            if rng.below(4) == 0 {
                let _ = write!(text, "\naffinity = [{}, {}]", rng.below(cpus), rng.below(cpus));
            }
        }
    }
    if rng.below(5) == 0 {
        let _ = write!(text, "\ntickets = {}\nslice = \"{}\"", rng.within(1, 500), time(rng, 100, 100_000));
    }
    if groups > 0 {
        let _ = write!(text, "\ngroup = \"g{}\"", rng.below(groups));
    }
    if rng.below(3) == 0 {
        let _ = write!(text, "\nloop = {}", rng.within(1, 40));
    }
    let _ = write!(text, "\nstart = \"{}\"", time(rng, 0, 15_000));
    text
}

/// A step, or several that belong together.
fn step(rng: &mut dyn Source, groups: u64, has_disk: bool) -> String {
    let short = time(rng, 1, 500);
    let lock = rng.below(LOCKS.len() as u64);
    // The draws of other kinds stay as they are.
    let (take, name) = match short.bytes().map(u32::from).sum::<u32>() % 3 {
        share if LOCKS[lock as usize] == "kernel" && share > 0 => {
            (["lock", "lock_shared"][share as usize - 1], SHARED.0.into())
        }
        _ => ("lock", format!("l{lock}")),
    };
    match rng.below(13) {
        0 => format!("{{ compute = \"{}\" }}", time(rng, 1, 40_000)),
        1 => format!("{{ kernel = \"{short}\" }}"),
        2 | 3 => format!("{{ sleep = [\"1us\", \"{}\"] }}", time(rng, 2, 20_000)),
        4 if lock == 1 => "{ yield = true }, { exec = true }".into(),
        4 => "{ yield = true }".into(),
        5 => format!("{{ nice = {} }}", rng.within(0, 39) as i64 - 20),
        // Two locks are taken in the order of their numbers, so that nobody waits in a circle.
        6 if lock > 0 => format!(
            "{{ lock = \"l0\" }}, {{ {take} = \"{name}\" }}, {{ compute = \"{short}\" }}, {{ sleep = \"{short}\" }}, \
             {{ unlock = \"{name}\" }}, {{ unlock = \"l0\" }}"
        ),
        6 | 7 if lock == 0 => format!(
            "{{ critical = \"begin\" }}, {{ lock = \"l0\" }}, {{ compute = \"{short}\" }}, {{ unlock = \"l0\" }}, \
             {{ critical = \"end\" }}"
        ),
        6 | 7 => format!("{{ {take} = \"{name}\" }}, {{ compute = \"{short}\" }}, {{ unlock = \"{name}\" }}"),
        // Each wait has its wake, before it.
        8 => "{ wake = \"door\" }, { wait = \"door\" }".into(),
        9 => format!("{{ begin = true }}, {{ compute = \"{short}\" }}, {{ served = true }}"),
        10 if groups > 0 => format!("{{ group = \"g{}\" }}", rng.below(groups)),
        11 if has_disk => format!(
            "{{ {} = \"table\", size = \"{}KiB\", at = \"{}\" }}",
            one(rng, &["read", "write"]),
            4 * rng.within(1, 64),
            one(rng, &["random", "next"])
        ),
        12 if has_disk => {
            one(rng, &["{ sync = \"table\" }", "{ write = \"sda\", size = \"8KiB\", at = \"1GiB\" }"]).into()
        }
        _ => format!("{{ compute = \"{short}\" }}"),
    }
}
