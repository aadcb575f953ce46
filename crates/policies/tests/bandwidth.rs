//! Bandwidth of reservations: tasks that always want more get their runtime by each deadline, and no more than their
//! periods so far give, beside a real-time and an ordinary task that never sleep, on one CPU. Sets are drawn so that
//! the sum of runtime by deadline is at most what is admitted, and can be met (specs section 11, specs/smp.md section
//! 6.3).
//!
//! A runtime ends at a tick, and who overruns pays back in its next period. So a task may have a tick more than its
//! runtimes, and be late by a tick for each task. It may also be late by what the fair server has at a time, 50 ms:
//! that waits until it has to run, and then has the earliest deadline.
//!
//! `DRAWS=20000 FIRST=0 cargo test --release -p goodness-policies --test bandwidth -- --nocapture` draws as many sets,
//! from that seed on; without them a few hundred, from another seed in each run.

mod harness;

use goodness_core::*;
use harness::*;

/// Kernels before and with the fair server.
const KERNELS: [(&str, &str); 5] =
    [("cfs", "6.1"), ("eevdf", "6.6"), ("eevdf", "6.12"), ("eevdf", "6.18"), ("eevdf", "7.2")];
/// Sets of an ordinary test.
const FEW: u64 = 200;
/// Ticks of a run.
const TICKS: u64 = 1_000;

/// True for kernels in which fair tasks that starve get 50 of 1000 ms before all reservations.
fn has_server((_, kernel): (&str, &str)) -> bool {
    !matches!(kernel, "6.1" | "6.6")
}

/// A drawn set of reservations, with the start of each.
struct Set {
    hz: u32,
    kernel: (&'static str, &'static str),
    reservations: Vec<(Reservation, Time)>,
}

impl Set {
    fn drawn(seed: u64) -> Set {
        let rng = &mut Seed(seed).stream("bandwidth", 0).rng();
        let hz = [100, 250, 1000][rng.below(3) as usize];
        let tick = 1_000_000_000 / u64::from(hz);
        let count = rng.within(1, 5);
        let kernel = KERNELS[rng.below(KERNELS.len() as u64) as usize];
        let all = if has_server(kernel) { 900 } else { 950 };
        let mut left = all;
        let mut reservations = Vec::new();
        for others in (0..count).rev() {
            let period = rng.within(20 * tick, 120 * tick);
            let deadline = if rng.below(3) == 0 { rng.within(period / 2, period) } else { period };
            // Thousandths of a CPU until the deadline: a tick at least.
            let share = rng.within(100, (left - 100 * others).min(2 * all / count));
            left -= share;
            let runtime = Span((deadline * share / 1000).max(1_024));
            let start = Time(rng.below(3) * rng.below(50 * tick));
            reservations.push((Reservation { runtime, deadline: Span(deadline), period: Span(period) }, start));
        }
        Set { hz, kernel, reservations }
    }

    fn horizon(&self) -> Span {
        Span(TICKS * 1_000_000_000 / u64::from(self.hz))
    }

    /// The events of a run in which the tasks are of `class`, with the highest real-time priority.
    fn history(&self, class: Class) -> History {
        let reserving = |(reservation, start): &(Reservation, Time)| {
            let mut spec = starting(Start::At(*start), hog());
            (spec.task.class, spec.task.rt_priority) = (class, 99);
            spec.task.reservation = Some(*reservation);
            spec
        };
        let mut tasks: Vec<TaskSpec> = self.reservations.iter().map(reserving).collect();
        tasks.extend([harness::class(Class::Fifo, 50, hog()), hog()]);
        let entry = goodness_policies::entry(self.kernel.0).expect("a policy");
        run_of(entry, &one_cpu(self.hz), &[("kernel", self.kernel.1)], tasks, self.horizon())
    }

    /// The first promise that the run breaks.
    fn broken(&self, history: &History) -> Option<String> {
        let stretches = stretches(history, self.horizon());
        let tick = self.horizon().0 / TICKS;
        let served = if has_server(self.kernel) { 50_000_000 } else { 0 };
        let late = tick * self.reservations.len() as u64 + served;
        for (task, (Reservation { runtime, deadline, period }, start)) in self.reservations.iter().enumerate() {
            let own: Vec<_> = stretches.iter().filter(|it| it.2.index() == task).collect();
            let got = |until: Time| own.iter().map(|it| it.3.min(until).since(it.0).ns()).sum::<u64>();
            let periods = (self.horizon().0 - start.0) / period.0;
            for past in 0..periods {
                let begin = *start + Span(period.0 * past);
                let (most, least) = (got(begin), got(begin + *deadline + Span(late)));
                let name = |what: &str| Some(format!("{:?}: task {task} has {what} in period {past}", self.kernel));
                if most > past * runtime.0 + tick {
                    return name(&format!("{most} ns of {} before its begin", past * runtime.0));
                }
                if least < (past + 1) * runtime.0 {
                    return name(&format!("{least} ns of {} by its deadline", (past + 1) * runtime.0));
                }
            }
        }
        None
    }
}

#[test]
fn reservations_get_their_runtime_by_each_deadline_and_no_more() {
    let of_draw = |seed: u64| {
        let set = Set::drawn(seed);
        set.broken(&set.history(Class::Deadline)).map(|why| format!("seed {seed}, {why}"))
    };
    let broken: Vec<String> = drawn::seeds(FEW).filter_map(of_draw).collect();
    assert!(broken.is_empty(), "{} sets, such as {}", broken.len(), broken[0]);
}

/// The controls: a reservation is none in another class. The first of real-time tasks gets too much, ordinary ones too
/// little.
#[test]
fn without_their_class_hardly_any_set_is_served() {
    for (class, what) in [(Class::Fifo, "before its begin"), (Class::Normal, "by its deadline")] {
        let broken = (0..FEW).map(Set::drawn).filter_map(|set| set.broken(&set.history(class)));
        let count = broken.filter(|why| why.contains(what)).count() as u64;
        assert!(count > FEW / 2, "{class:?}: {count} sets");
    }
}
