//! Periodic timers: which waits end when a timer expires, not a fixed time after they began.
//!
//! An interrupt that wakes a task is replayed as a delay, since a recording does not say what the interrupt was. For a
//! task that a periodic timer wakes (audio, frames, control loops) that is wrong: if it runs later in the replay, it
//! would also wake later, and ask for less. The times of its wake-ups tell: those of a timer lie on a grid, however
//! long the waits were.
//!
//! | the task's wake-ups by interrupts | replayed |
//! |---|---|
//! | not on a grid, or each wait as regular as the grid, or timers expire at ticks alone | after the recorded delay |
//! | on a grid | the recorded time after the last expiry; a task that is late does not wait |
//! | on a grid, and a task that was late left out what it had missed | at the next expiry, however late it is |
//!
//! A task that was never late does as late tasks of its program did. Waits that end off the grid, and those for
//! devices, stay delays.

use super::causes::Rule;
use super::history::History;
use super::participants::Participant;
use goodness_core::{Off, Span, TaskId, Time};
use goodness_trace::{Context, SchedEvent};
use std::collections::{BTreeMap, BTreeSet};

/// Fewest wake-ups that show a period. A choice.
const WAKES_MIN: usize = 16;
/// Least period: with a shorter one, times in microseconds are on any grid. A choice.
const PERIOD_MIN: Span = Span::from_us(100);
/// Wake-ups this near to an expiry are on the grid: longer than a task's default timer slack, 50 us. A choice.
const TOLERANCE: Span = Span::from_us(100);
/// The tolerance is this part of a short period at most. A choice.
const TOLERANCE_PART: u64 = 20;
/// Of this many wake-ups or late cycles at most one does not fit. A choice.
const OFF_GRID: usize = 10;
/// Waits vary at least this many times as much as the times between wake-ups, or they have a length of their own. A
/// choice.
const IRREGULAR: u64 = 2;
/// Waits that vary less than this may have a length of their own: timers are late by up to a task's timer slack, 50 us,
/// so by a median of 12 us more or less. A choice.
const LATENESS: Span = Span::from_us(20);
/// The usual time between wake-ups is this many periods at most. A choice.
const STEP_MAX: u64 = 4;
/// Fewest late cycles that show what a task does about missed expiries. A choice.
const LATE_MIN: usize = 3;

/// The timer of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The task does all its work, however late.
    MakesUp,
    /// It expires once in this period; a late task leaves out what it has missed.
    LeavesOut(Span),
}

/// The periodic timers of a recording, by task.
#[derive(Clone, Debug, Default)]
pub struct Timers(Vec<Option<(Grid, Timer)>>);

/// A wait that an interrupt ended.
#[derive(Clone, Copy, Debug)]
struct Wait {
    since: Time,
    until: Time,
    /// CPU time of the task since the wait before.
    work: Span,
}

/// State of one task during the search.
#[derive(Clone, Debug, Default)]
struct Seen {
    runs_since: Option<Time>,
    sleeps_since: Option<Time>,
    work: Span,
    waits: Vec<Wait>,
}

impl Timers {
    /// Finds the timers. `rule` knows the tick: where timers expire at ticks alone, as without high resolution, sleeps
    /// of any length end on its grid.
    #[must_use]
    pub fn find(history: &History, rule: &Rule) -> Timers {
        let mut tasks = vec![Seen::default(); history.participants.len()];
        for record in history.records {
            if let Some(wake) = history.waking(record) {
                tasks[wake.task.index()].wakes(record.at, wake.context);
            }
            if let SchedEvent::Switch { prev, next, prev_state, .. } = record.event {
                if let Some(prev) = prev {
                    tasks[prev.index()].leaves(record.at, prev_state.off());
                }
                if let Some(next) = next {
                    tasks[next.index()].runs_since = Some(record.at);
                }
            }
        }
        let all = || tasks.iter().flat_map(|task| &task.waits);
        let off_tick = all().filter(|wait| !rule.is_on_tick(wait.until)).count();
        if off_tick * OFF_GRID < all().count() {
            return Timers::default();
        }
        let rhythms: Vec<Option<Rhythm>> = tasks.iter().map(|task| Rhythm::of(&task.waits)).collect();
        let mut programs = BTreeMap::<u32, BTreeSet<Late>>::new();
        for (rhythm, it) in rhythms.iter().zip(&history.participants) {
            programs.entry(it.program).or_default().extend(rhythm.as_ref().and_then(|rhythm| rhythm.late));
        }
        let timer = |(rhythm, it): (Option<Rhythm>, &Participant)| {
            let of_others = Some(&programs[&it.program]).filter(|all| all.len() == 1).and_then(|all| all.first());
            rhythm.map(|rhythm| match rhythm.late.or(of_others.copied()) {
                Some(Late::LeavesOut) => (rhythm.grid, Timer::LeavesOut(rhythm.grid.period())),
                Some(Late::MakesUp) | None => (rhythm.grid, Timer::MakesUp),
            })
        };
        Timers(rhythms.into_iter().zip(&history.participants).map(timer).collect())
    }

    /// The timer of `task`, if it expires at `at`.
    #[must_use]
    pub fn expiring(&self, task: TaskId, at: Time) -> Option<Timer> {
        let (grid, timer) = self.0.get(task.index())?.as_ref()?;
        grid.expiry(at).map(|_| *timer)
    }
}

impl Seen {
    fn leaves(&mut self, at: Time, off: Off) {
        if let Some(since) = self.runs_since.take() {
            self.work += at.since(since);
        }
        self.sleeps_since = (off == Off::Sleeping).then_some(at);
    }

    fn wakes(&mut self, at: Time, context: Context) {
        if let Some(since) = self.sleeps_since.take()
            && context == Context::HardIrq
        {
            self.waits.push(Wait { since, until: at, work: std::mem::take(&mut self.work) });
        }
    }
}

/// Treatment of missed expiries by a late task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Late {
    LeavesOut,
    MakesUp,
}

/// The rhythm of a task.
#[derive(Clone, Copy, Debug)]
struct Rhythm {
    grid: Grid,
    /// None if it was not late.
    late: Option<Late>,
}

impl Rhythm {
    /// The rhythm of `waits`, if a periodic timer ended them.
    fn of(waits: &[Wait]) -> Option<Rhythm> {
        if waits.len() < WAKES_MIN {
            return None;
        }
        let times: Vec<Time> = waits.iter().map(|wait| wait.until).collect();
        // A late task misses expiries, so that the usual step may be several periods.
        let grid = (1..=STEP_MAX).find_map(|periods| Grid::fit(&times, periods).filter(|grid| grid.has(&times)))?;
        let lengths = waits.iter().map(|wait| wait.until.since(wait.since)).collect();
        let between = times.windows(2).map(|pair| grid.deviation(pair[1].since(pair[0]))).collect();
        if grid.spread(lengths) <= LATENESS.max(median(between) * IRREGULAR) {
            return None;
        }
        Some(Rhythm { grid, late: when_late(&grid.on(waits), grid.period()) })
    }
}

/// Treatment of missed expiries by a task with this period. `None` if it was hardly ever late, or also missed expiries
/// otherwise.
fn when_late(waits: &[(Wait, i64)], period: Span) -> Option<Late> {
    let (mut cycles, mut late, mut in_time) = (Vec::new(), 0, 0);
    for pair in waits.windows(2) {
        let [(before, first), (wait, second)] = [pair[0], pair[1]];
        if second - first > 1 {
            // A task that is about to sleep when its timer expires has decided before.
            let is_late = wait.since + TOLERANCE >= before.until + period;
            (late, in_time) = (late + usize::from(is_late), in_time + usize::from(!is_late));
        }
        cycles.push(((second - first) as f64, wait.work.0 as f64));
    }
    let line = Line::through(&cycles);
    if late < LATE_MIN || in_time * OFF_GRID > late {
        return None;
    }
    // Made up for, work is in proportion to the periods; left out, it does not depend on them. The limit is half way.
    let is_left_out = |it: Line| it.slope * it.mean.0 < it.mean.1 / 2.0;
    line.map(|it| if is_left_out(it) { Late::LeavesOut } else { Late::MakesUp })
}

/// A line of least squares.
struct Line {
    mean: (f64, f64),
    slope: f64,
}

impl Line {
    /// Through `points`; `None` if they do not tell its slope.
    fn through(points: &[(f64, f64)]) -> Option<Line> {
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
        let mean = (mean(|it| it.0), mean(|it| it.1));
        let square: f64 = points.iter().map(|it| (it.0 - mean.0).powi(2)).sum();
        let product: f64 = points.iter().map(|it| (it.0 - mean.0) * (it.1 - mean.1)).sum();
        let slope = product / square;
        slope.is_finite().then_some(Line { mean, slope })
    }
}

/// Expiries at equal distances.
#[derive(Clone, Copy, Debug)]
struct Grid {
    origin: Time,
    /// From `origin` to the expiry of number 0, in ns.
    first: f64,
    /// In ns.
    period: f64,
}

impl Grid {
    /// The grid of least squares through most of `times`, of which most come so many `periods` after another.
    fn fit(times: &[Time], periods: u64) -> Option<Grid> {
        let origin = *times.first()?;
        let steps: Vec<Span> = times.windows(2).map(|pair| pair[1].since(pair[0])).collect();
        let rough = Span(median(steps.clone()).0 / periods);
        if rough == Span::ZERO {
            return None;
        }
        let mut number = 0.0;
        let mut points = vec![(0.0, 0.0)];
        for (step, time) in steps.iter().zip(&times[1..]) {
            number += (step.0 as f64 / rough.0 as f64).round();
            points.push((number, time.since(origin).0 as f64));
        }
        let grid = Grid::through(origin, &points)?;
        // Once more without those off it, which bend the line.
        let on_grid: Vec<(f64, f64)> =
            times.iter().filter_map(|time| Some((grid.expiry(*time)? as f64, time.since(origin).0 as f64))).collect();
        Grid::through(origin, &on_grid)
    }

    fn through(origin: Time, points: &[(f64, f64)]) -> Option<Grid> {
        let Line { mean: (number, time), slope } = Line::through(points)?;
        (slope >= PERIOD_MIN.0 as f64).then_some(Grid { origin, first: time - slope * number, period: slope })
    }

    /// True if nearly all of `times` are near an expiry.
    fn has(&self, times: &[Time]) -> bool {
        let off = times.iter().filter(|time| self.expiry(**time).is_none()).count();
        off * OFF_GRID <= times.len()
    }

    fn period(&self) -> Span {
        Span(self.period.round() as u64)
    }

    /// The number of the expiry at `at`, if one is near.
    fn expiry(&self, at: Time) -> Option<i64> {
        let number = ((at.since(self.origin).0 as f64 - self.first) / self.period).round();
        let off = (at.since(self.origin).0 as f64 - self.first - number * self.period).abs();
        (off <= self.tolerance()).then_some(number as i64)
    }

    fn tolerance(&self) -> f64 {
        (TOLERANCE.0 as f64).min(self.period / TOLERANCE_PART as f64)
    }

    /// Those of `waits` that end on it, with their numbers. The work before others is that of the next cycle.
    fn on(&self, waits: &[Wait]) -> Vec<(Wait, i64)> {
        let mut work = Span::ZERO;
        let mut on = Vec::new();
        for wait in waits {
            work += wait.work;
            if let Some(number) = self.expiry(wait.until) {
                on.push((Wait { work: std::mem::take(&mut work), ..*wait }, number));
            }
        }
        on
    }

    /// Variation of `spans` apart from whole periods: the median distance from the middle one.
    fn spread(&self, spans: Vec<Span>) -> Span {
        let period = self.period().0;
        let mut rests: Vec<u64> = spans.iter().map(|span| span.0 % period).collect();
        rests.sort_unstable();
        // The circle is cut where it has the widest gap.
        let gap = |at: &usize| (rests[(at + 1) % rests.len()] + period - rests[*at]) % period;
        let cut = (0..rests.len()).max_by_key(gap).map_or(0, |at| rests[(at + 1) % rests.len()]);
        let rests: Vec<Span> = rests.iter().map(|rest| Span((rest + period - cut) % period)).collect();
        let middle = median(rests.clone());
        median(rests.into_iter().map(|rest| Span(rest.0.abs_diff(middle.0))).collect())
    }

    /// Distance of `step` from a whole number of periods.
    fn deviation(&self, step: Span) -> Span {
        let off = step.0 as f64 / self.period;
        Span(((off - off.round()).abs() * self.period) as u64)
    }
}

/// The median; zero of none.
fn median(mut spans: Vec<Span>) -> Span {
    let middle = spans.len() / 2;
    if spans.is_empty() { Span::ZERO } else { *spans.select_nth_unstable(middle).1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Seed;

    const PERIOD: Span = Span::from_ms(5);

    /// Cycles of a task that waits for a CPU for up to 2 ms, in each so many for 6 ms more. `work` is that of a cycle
    /// of so many periods; `wake` says when it wakes after a cycle that was due at a time and ended at another.
    fn cycles(every: usize, work: impl Fn(u64) -> Span, wake: impl Fn(Time, Time, u64) -> (Time, Time)) -> Vec<Wait> {
        let mut rng = Seed(7).rng();
        let (mut due, mut until) = (Time::ZERO, Time::ZERO);
        let mut waits = Vec::new();
        for cycle in 0..200 {
            let waited = Span(rng.below(2_000_000) + if cycle % every == 0 { 6_000_000 } else { 0 });
            let periods = 1 + waited.0 / PERIOD.0;
            let since = until + work(periods) + waited;
            (due, until) = wake(due, since, rng.below(20_000));
            waits.push(Wait { since, until, work: work(periods) });
        }
        waits
    }

    fn skipping(mut due: Time, since: Time, late: u64) -> (Time, Time) {
        due += PERIOD;
        while due < since {
            due += PERIOD;
        }
        (due, due + Span(late))
    }

    fn same(_: u64) -> Span {
        Span::from_us(500)
    }

    #[test]
    fn wake_ups_on_a_grid_are_those_of_a_timer_and_delays_are_not() {
        for every in [20, 2] {
            let Rhythm { grid, late } = Rhythm::of(&cycles(every, same, skipping)).expect("a timer");
            assert!(grid.period().0.abs_diff(PERIOD.0) < 1_000, "{every}: {grid:?}");
            assert_eq!(late, Some(Late::LeavesOut), "{every}");
        }
        let in_time = cycles(500, same, skipping);
        let in_time = Rhythm::of(&in_time[1..]).expect("a timer");
        assert_eq!(in_time.late, None, "it was never late");
        let delays = cycles(20, same, |due, since, late| (due, since + PERIOD + Span(late)));
        assert!(Rhythm::of(&delays).is_none(), "each wait has the same length");
        assert!(Rhythm::of(&cycles(500, same, skipping)[..WAKES_MIN - 1]).is_none(), "too few");
    }

    #[test]
    fn a_task_that_makes_up_for_missed_expiries_is_told_from_one_that_leaves_them_out() {
        let of_two = cycles(20, |periods| same(periods) * periods, skipping);
        let late = |waits: &[Wait]| Rhythm::of(waits).expect("a timer").late;
        assert_eq!(late(&of_two), Some(Late::MakesUp), "a late cycle has the work of two");
        assert_eq!(late(&cycles(20, same, skipping)), Some(Late::LeavesOut), "of one");
    }

    #[test]
    fn times_that_are_all_multiples_of_something_short_are_no_grid() {
        // As in a trace whose times are in units of 60 us.
        let unit = 60_000;
        let mut rng = Seed(5).rng();
        let mut until = Time::ZERO;
        let waits: Vec<Wait> = (0..400)
            .map(|_| {
                let since = until + Span(unit);
                until = since + Span(unit * (1 + rng.below(3)));
                Wait { since, until, work: Span(unit) }
            })
            .collect();
        assert!(Rhythm::of(&waits).is_none());
    }

    #[test]
    fn delays_of_whole_milliseconds_after_hardly_any_work_stay_delays() {
        let mut until = Time::ZERO;
        let mut rng = Seed(9).rng();
        let waits: Vec<Wait> = (0..300)
            .map(|_| {
                let since = until + Span(5_000 + rng.below(5_000));
                until = since + Span::from_ms(1 + rng.below(3));
                Wait { since, until, work: Span::from_us(5) }
            })
            .collect();
        assert!(Rhythm::of(&waits).is_none());
    }

    #[test]
    fn a_delay_that_is_as_regular_as_a_timer_stays_a_delay() {
        // Work of the same length, so that wake-ups lie on a grid of their own.
        for (seed, late) in (0..100).flat_map(|seed| [(seed, 2_000), (seed, 40_000)]) {
            let mut rng = Seed(seed).rng();
            let mut until = Time::ZERO;
            let waits: Vec<Wait> = (0..17)
                .map(|_| {
                    let since = until + Span(60_000 + rng.below(2_000));
                    until = since + PERIOD * 10 + Span(rng.below(late));
                    Wait { since, until, work: Span::from_us(60) }
                })
                .collect();
            assert!(Rhythm::of(&waits).is_none(), "seed {seed}, {late} ns late");
        }
    }
}
