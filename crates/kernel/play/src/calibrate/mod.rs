//! Measures the scheduling costs of this machine, without root.
//!
//! [`measure`] pins itself to CPUs with `sched_setaffinity` and restores the affinity however it ends. Each figure is a
//! key of a machine file with its [`Sample`]. A cost that cannot be measured is listed in [`Found::refused`] with the
//! reason, never as 0. `docs/machines.md` explains each figure and its limits.

mod caches;
pub mod disk;
mod sample;
mod sleeping;
mod switching;
mod tick;
mod waking;

pub use goodness_sys::topology::{Distance, Neighbours};
pub use sample::Sample;

use goodness_core::Span;
use goodness_sys as sys;
use std::io;

/// One measured cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Key of a machine file.
    pub key: &'static str,
    /// Measured values, ns.
    pub sample: Sample,
}

/// All that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The CPUs this process may use, with their neighbours.
    pub cpus: Vec<Neighbours>,
    /// Timer interrupts per second; `None` where the kernel does not report it.
    pub hz: Option<u64>,
    /// The costs, in the order they were measured.
    pub figures: Vec<Figure>,
    /// Keys that were not measured, and why.
    pub refused: Vec<(&'static str, String)>,
}

impl Found {
    /// Adds a figure, or a note that the cost is below the noise or lost in it.
    fn enter(&mut self, key: &'static str, sample: Option<Sample>) {
        match sample.filter(|sample| sample.median > 0) {
            Some(sample) if sample.is_steady() => self.figures.push(Figure { key, sample }),
            Some(Sample { median, low, high, .. }) => {
                let [median, low, high] = [median, low, high].map(Span);
                let why = format!(
                    "a quarter of the measurements is below {low} and a quarter above {high}, too unlike for their \
                     median of {median}; measure again when nothing else runs"
                );
                self.refused.push((key, why));
            }
            None => self.refused.push((key, "it is below the noise of the measurement".into())),
        }
    }

    /// Adds a figure from which those of `others` were taken away, or a note that one of them is missing.
    fn enter_less(&mut self, key: &'static str, others: &[&str], sample: Option<Sample>) {
        match others.iter().find(|other| self.median(other) == 0) {
            None => self.enter(key, sample),
            Some(other) => self.refused.push((key, format!("it needs `{other}`, which was not measured"))),
        }
    }

    /// Enters `interrupt` and `idle_exit`, from the times of wake-ups on a busy and on an idle CPU, with a write and a
    /// read of `pipe` ns. If the busy CPU waited for its tick, `interrupt` is refused, and part of `idle_exit`.
    fn enter_wakes(&mut self, busy: &[u64], idle: &[u64], pipe: u64) {
        let around = pipe + self.median("wakeup") + self.median("switch");
        let less_around = |times: &[u64]| Sample::of(times.iter().map(|ns| ns.saturating_sub(around)).collect());
        let interrupt = less_around(busy);
        // A choice: interrupts take tens of microseconds at most, also those of virtual CPUs.
        let most = 1_000_000_000 / 8 / self.hz.unwrap_or(250).max(1);
        if interrupt.is_some_and(|it| it.median > most) {
            self.refused.push(("interrupt", LAZY.into()));
            self.enter_less("idle_exit", &["wakeup", "switch"], less_around(idle));
        } else {
            self.enter_less("interrupt", &["wakeup", "switch"], interrupt);
            self.enter("idle_exit", Sample::above(idle, busy));
        }
    }

    /// Median of a figure entered before; 0 if it is missing.
    fn median(&self, key: &str) -> u64 {
        self.figures.iter().find(|figure| figure.key == key).map_or(0, |figure| figure.sample.median)
    }
}

/// The reason for which `interrupt` is refused after wake-ups that waited for a tick.
const LAZY: &str = "a task woken on a busy CPU waited longer than an eighth of a tick, as it does under lazy \
                    preemption; simulate that with `preempt=lazy`";

/// Number of calls [`measure`] makes to `progress`.
pub const STEPS: u64 = 10;

/// Context switches of the calling thread so far, of both kinds.
fn switches() -> u64 {
    let (voluntary, involuntary) = sys::switches();
    voluntary + involuntary
}

/// Confines the thread while it lives, and restores the CPUs it had.
struct Pinned {
    before: Vec<u32>,
}

impl Pinned {
    fn to(cpus: &[u32]) -> io::Result<Pinned> {
        let before = sys::affinity_of(0).ok_or_else(io::Error::last_os_error)?;
        sys::pin(cpus)?;
        Ok(Pinned { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // These were the thread's CPUs before; if one has gone offline since, the kernel chooses.
        let _ = sys::pin(&self.before);
    }
}

/// Measures all costs. `progress` is called with the name of each step before it starts.
///
/// # Errors
/// The affinity cannot be read or set, or pipes, threads or processes cannot be created.
pub fn measure(mut progress: impl FnMut(&'static str)) -> io::Result<Found> {
    let cpus = sys::affinity_of(0).ok_or_else(io::Error::last_os_error)?;
    let Some(&home) = cpus.first() else { return Err(io::Error::other("this process may use no CPU")) };
    let mut found = Found { cpus: goodness_sys::topology::neighbours(&cpus), ..Found::default() };
    found.hz = sys::tick_ns().map(|ns| (1_000_000_000 + ns / 2) / ns);
    let _pinned = Pinned::to(&[home])?;
    progress("pipes");
    let pipe = switching::pipe_alone()?;
    progress("yields");
    found.enter("switch", Sample::of(switching::yields()));
    progress("threads");
    let threads = switching::ping_pong(switching::Partner::Thread)?;
    let around = pipe.write + pipe.read + found.median("switch");
    found.enter_less("wakeup", &["switch"], Sample::of(threads.iter().map(|ns| ns.saturating_sub(around)).collect()));
    progress("processes");
    let processes = switching::ping_pong(switching::Partner::Process)?;
    found.enter("address_space", Sample::above(&processes, &threads));
    progress("caches");
    found.enter("cache_refill", caches::refill()?);
    progress("ticks");
    match found.hz.map(|hz| tick::ticks(&mut tick::Kernel, 1_000_000_000 / hz.max(1))) {
        Some(Ok(times)) => found.enter("tick", Sample::undisturbed(times)),
        Some(Err(why)) => found.refused.push(("tick", why)),
        None => found.refused.push(("tick", "the kernel does not tell when it ticks".into())),
    }
    progress("sleeps");
    asleep(&mut found);
    found.refused.extend(EFFORT.map(|key| (key, UNSEEN.to_string())));
    progress("other CPUs");
    across(&mut found, home, pipe.write + pipe.read, &mut progress)?;
    Ok(found)
}

/// Costs per element a policy examines. They cannot be measured: no system call reports how many elements the kernel
/// examined, and its algorithms are designed not to depend on that number.
const EFFORT: [&str; 4] = ["search", "recalculate", "insert", "balance"];
const UNSEEN: &str = "from outside a kernel nobody sees how many elements a choice examined; \
                      `goodness bench` measures the choices of a policy";

/// Sleeps that a timer ends. A thread's slack is its own: the work is done by one that ends with it.
fn asleep(found: &mut Found) {
    let (interrupts, sleeps) = std::thread::scope(|scope| {
        let measured = scope.spawn(|| {
            let none = sleeping::Planted::default();
            (sleeping::interrupts(sleeping::SLEEPS, none), sleeping::sleeps(sleeping::SLEEPS, none))
        });
        measured.join().unwrap_or_else(|_| (Err("it failed".into()), Err("it failed".into())))
    });
    match interrupts {
        Ok(times) => found.enter("timer", Sample::undisturbed(times)),
        Err(why) => found.refused.push(("timer", why)),
    }
    let switch = found.median("switch");
    let less_switch = |times: Vec<u64>| Sample::undisturbed(times.iter().map(|ns| ns.saturating_sub(switch)).collect());
    match sleeps {
        Ok(times) => {
            found.enter_less("sleep", &["switch"], less_switch(times.call));
            found.enter_less("preempt", &["switch"], less_switch(times.back));
        }
        Err(why) => found.refused.extend(["sleep", "preempt"].map(|key| (key, why.clone()))),
    }
}

/// Measures the costs that need a second CPU.
fn across(found: &mut Found, home: u32, pipe: u64, progress: &mut impl FnMut(&'static str)) -> io::Result<()> {
    let neighbours = found.cpus.iter().find(|it| it.cpu == home).cloned();
    let others: Vec<u32> = found.cpus.iter().map(|it| it.cpu).filter(|&cpu| cpu != home).collect();
    // Wake-ups are measured between different cores if possible: threads of one core share its idle state.
    let far = |&&cpu: &&u32| neighbours.as_ref().is_some_and(|it| it.distance(cpu) > Distance::Smt);
    let Some(&other) = others.iter().find(far).or(others.first()) else {
        let why = "it takes two CPUs, and this process may use one";
        let keys = ["interrupt", "idle_exit", "lock_handover", "migration_smt", "migration_cache", "migration_node"];
        found.refused.extend(keys.into_iter().chain(["migration_machine"]).map(|key| (key, why.to_string())));
        progress("done");
        progress("done");
        return Ok(());
    };
    let busy = waking::latency(other, true)?;
    let idle = waking::latency(other, false)?;
    found.enter_wakes(&busy, &idle, pipe);
    progress("locks");
    found.enter("lock_handover", waking::handover(other)?);
    progress("migration");
    for (distance, key) in [
        (Distance::Smt, "migration_smt"),
        (Distance::Cache, "migration_cache"),
        (Distance::Node, "migration_node"),
        (Distance::Machine, "migration_machine"),
    ] {
        let partner = others.iter().find(|&&cpu| neighbours.as_ref().is_some_and(|it| it.distance(cpu) == distance));
        match partner {
            Some(&cpu) => found.enter(key, caches::migration(home, cpu)?),
            None => found.refused.push((key, "this process may use no two CPUs so far apart".into())),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_measured_and_its_affinity_is_as_before() {
        let before = sys::affinity_of(0);
        let mut steps = 0;
        let found = measure(|_| steps += 1).unwrap();
        assert_eq!(sys::affinity_of(0), before);
        assert_eq!(steps, STEPS);
        assert_eq!(Some(found.cpus.len()), before.map(|cpus| cpus.len()));
        let keys = found.figures.len() + found.refused.len();
        assert_eq!(keys, 19, "every key is measured or refused: {found:?}");
        assert!(found.figures.iter().all(|figure| figure.sample.median > 0 && figure.sample.count >= 26), "{found:?}");
        // A switch takes between 10 ns and a second on any machine. On a busy one it may be lost in the noise; then it
        // is refused.
        let switch = found.figures.iter().find(|figure| figure.key == "switch").map(|figure| figure.sample.median);
        match switch {
            Some(ns) => assert!((10..1_000_000_000).contains(&ns), "{found:?}"),
            None => assert!(found.refused.iter().any(|(key, _)| *key == "switch"), "{found:?}"),
        }
    }

    #[test]
    fn what_is_not_above_its_surroundings_is_refused_rather_than_0() {
        let mut found = Found::default();
        found.enter("idle_exit", Sample::above(&[5, 6, 7], &[9, 9, 9]));
        assert_eq!((found.figures.len(), found.refused.len()), (0, 1));
    }

    #[test]
    fn a_wake_up_that_waits_for_the_tick_is_no_interrupt_and_an_idle_cpu_is_measured_all_the_same() {
        let steady = |ns: u64| Some(Sample { median: ns, low: ns, high: ns, count: 201 });
        let of = |hz: Option<u64>, busy: u64, idle: u64| {
            let mut found = Found { hz, ..Found::default() };
            found.enter("switch", steady(2_000));
            found.enter("wakeup", steady(1_000));
            found.enter_wakes(&[busy; 201], &[idle; 201], 500);
            (found.median("interrupt"), found.median("idle_exit"))
        };
        // 3.5 us are those of the write, the read, the wake-up and the switch.
        let limit = 500_000 + 3_500;
        for (hz, limit) in [(Some(250), limit), (None, limit), (Some(1_000), 125_000 + 3_500)] {
            assert_eq!(of(hz, 5_500, 8_500), (2_000, 3_000), "{hz:?}");
            assert_eq!(of(hz, limit, limit + 1_000), (limit - 3_500, 1_000), "{hz:?}");
            assert_eq!([of(hz, limit + 1, 8_500), of(hz, 3_400_000, 8_500)], [(0, 5_000); 2], "{hz:?}");
        }
    }

    #[test]
    fn what_other_work_has_spread_is_refused_and_so_is_what_needs_it() {
        let mut found = Found::default();
        // As measured beside four busy loops on two CPUs.
        let spread = Sample { median: 722_000, low: 9_800, high: 4_900_000, count: 201 };
        let steady = Sample { median: 1_900, low: 1_700, high: 2_600, count: 201 };
        found.enter("switch", Some(spread));
        found.enter_less("wakeup", &["switch"], Some(steady));
        found.enter("tick", Some(steady));
        assert_eq!(found.figures.iter().map(|it| it.key).collect::<Vec<_>>(), ["tick"]);
        let why: Vec<_> = found.refused.iter().map(|(key, why)| format!("{key}: {why}")).collect();
        assert!(why[0].starts_with("switch: a quarter of the measurements is below 9.8us and a quarter above 4.9ms"));
        assert_eq!(why[1], "wakeup: it needs `switch`, which was not measured");
    }
}
