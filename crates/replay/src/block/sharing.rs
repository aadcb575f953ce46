//! Speed at which a disk serves a command, by how many it has: the more there are, the longer each takes, unless the
//! disk serves them all at once.
//!
//! The times from issue to completion are taken by the mean number of commands meanwhile. Their medians, apart from
//! what the kinds of commands differ in, give the *speed* of a command among so many others. No command gets faster by
//! company, and no disk does less in all by it. The *work* of a command is its time at the speed it had: its time
//! alone.

use goodness_core::{Operation, Service, Span, Time};
use std::collections::BTreeMap;
use std::collections::VecDeque;

/// Commands by which the speeds are found: the first ones. A choice: some seconds of a busy disk.
const FIRST: usize = 1 << 16;
/// Fewest commands at a depth that tell its speed. A choice.
const TELLING: usize = 30;
/// Changes of the number of commands that are remembered: a command that was there for longer counts from the oldest.
const STEPS_MAX: usize = 1 << 18;
/// Most service times kept per disk; beyond that every second, fourth and so on is kept. A choice that leaves thousands
/// in each class.
const SERVICES_MAX: usize = 1 << 20;
/// Largest number of commands with a speed of its own.
const DEPTH_MAX: u32 = 1024;
/// Depths are counted in parts.
const PARTS: u64 = 16;
/// The logarithm of 2.
const TWO: i64 = 1024;
/// Bits behind the point of a mantissa.
const ONE: u32 = 31;
/// Speeds times this have logarithms that are apart.
const FINE: u64 = 1000;
/// Full speed, per mille.
const FULL: u32 = 1000;
/// Rounds in which kinds and depths are told apart. A choice: their medians settle in a few.
const ROUNDS: usize = 4;

/// The commands of one disk, as the trace is read.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    in_device: u32,
    depth: u32,
    now: Step,
    /// The present whenever the number of commands changed: all of them until the speeds are found.
    steps: VecDeque<Step>,
    first: Vec<Command>,
    speeds: Option<Speeds>,
    services: Vec<Service>,
    /// One service time in this many is kept.
    stride: u64,
    served: u64,
}

/// A change of the number of commands.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    at: Time,
    /// Commands from then on.
    count: u32,
    /// Sum of the commands over time until then.
    area: u128,
    /// Work of a command that has been there all the time, in thousandths of ns.
    clock: u128,
}

/// A command and its company.
#[derive(Clone, Copy, Debug)]
struct Command {
    service: Service,
    end: Time,
    /// Mean number of commands while it was there, in [`PARTS`].
    among: u64,
}

impl Command {
    fn begin(&self) -> Time {
        Time(self.end.0.saturating_sub(self.service.span.0))
    }
}

/// Speed of a command per mille, by the number of commands less 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Speeds {
    /// Full speed everywhere if the trace shows nothing.
    pub speeds: Vec<u32>,
    /// True if the trace shows them: its depth varied.
    pub are_shown: bool,
}

impl Speeds {
    /// Joint speed of `depth` commands, in hundredths of the speed of one alone.
    pub fn together(&self, depth: u32) -> u32 {
        let at = (depth as usize).clamp(1, self.speeds.len().max(1)) - 1;
        self.speeds.get(at).map_or(depth * 100, |speed| (at as u32 + 1) * speed / 10)
    }

    /// Speed of each of so many commands.
    fn of(&self, count: u32) -> u128 {
        let at = (count.max(1) as usize).min(self.speeds.len().max(1)) - 1;
        self.speeds.get(at).copied().unwrap_or(FULL).into()
    }
}

impl Sharing {
    /// The device takes a command.
    pub fn begin(&mut self, now: Time) {
        self.pass(now, self.in_device + 1);
        self.depth = self.depth.max(self.in_device);
    }

    /// The device gives a command back undone.
    pub fn return_undone(&mut self, now: Time) {
        self.pass(now, self.in_device.saturating_sub(1));
    }

    /// The device has done a command, which it took `service.span` ago.
    pub fn end(&mut self, now: Time, service: Service) {
        self.pass(now, self.in_device.saturating_sub(1));
        let mut command = Command { service, end: now, among: PARTS };
        if self.speeds.is_some() {
            let work = self.work(&command);
            return self.keep(work);
        }
        let area = self.now.area - self.at(command.begin()).area;
        let among = area * u128::from(PARTS) / u128::from(service.span.0.max(1));
        command.among = u64::try_from(among).unwrap_or(u64::MAX).clamp(PARTS, u64::from(DEPTH_MAX) * PARTS);
        self.first.push(command);
        if self.first.len() == FIRST || self.steps.len() >= STEPS_MAX {
            self.find();
        }
    }

    /// Most commands in the device at a time.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The speeds, and the work of each command.
    pub fn finish(&mut self) -> (Speeds, Vec<Service>) {
        let speeds = self.speeds.clone().unwrap_or_else(|| self.find());
        (speeds, std::mem::take(&mut self.services))
    }

    /// The number of commands becomes `count`.
    fn pass(&mut self, now: Time, count: u32) {
        let span = u128::from(now.since(self.now.at).0);
        let speed = self.speeds.as_ref().map_or(0, |speeds| speeds.of(self.in_device));
        self.now = Step {
            at: now,
            count,
            area: self.now.area + span * u128::from(self.in_device),
            clock: self.now.clock + span * speed,
        };
        self.in_device = count;
        if self.steps.len() >= STEPS_MAX {
            self.steps.pop_front();
        }
        self.steps.push_back(self.now);
    }

    /// The last change until `at`, or the oldest that is remembered.
    fn at(&self, at: Time) -> Step {
        let place = self.steps.partition_point(|step| step.at <= at).saturating_sub(1);
        self.steps.get(place).copied().unwrap_or(self.now)
    }

    /// Progress of a command, as its time at full speed.
    fn work(&self, command: &Command) -> Service {
        let work = (self.at(command.end).clock - self.at(command.begin()).clock) / u128::from(FULL);
        Service { span: Span(work as u64), ..command.service }
    }

    fn find(&mut self) -> Speeds {
        let first = std::mem::take(&mut self.first);
        let speeds = speeds(&first, self.depth.clamp(1, DEPTH_MAX));
        let mut last = Step::default();
        for step in &mut self.steps {
            step.clock = last.clock + u128::from(step.at.since(last.at).0) * speeds.of(last.count);
            last = *step;
        }
        self.now.clock = last.clock;
        self.speeds = Some(speeds.clone());
        for command in &first {
            let work = self.work(command);
            self.keep(work);
        }
        speeds
    }

    fn keep(&mut self, service: Service) {
        self.served += 1;
        if !self.served.is_multiple_of(self.stride.max(1)) {
            return;
        }
        if self.services.len() == SERVICES_MAX {
            let mut keep = false;
            self.services.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride = self.stride.max(1) * 2;
        }
        self.services.push(service);
    }
}

/// A kind of commands and a depth: the logarithms of its times.
type Cells = BTreeMap<((Operation, u32, bool), u32), Vec<i64>>;

/// The speeds that explain the times of `commands` on a disk that had up to `depth` of them.
fn speeds(commands: &[Command], depth: u32) -> Speeds {
    let mut cells = Cells::new();
    for command in commands {
        let Command { service, among, .. } = command;
        let kind = (service.op, service.sectors.max(1).next_power_of_two(), service.is_sequential);
        cells.entry((kind, step_of(*among))).or_default().push(logarithm(service.span.0));
    }
    let slow = slowness(&cells);
    if slow.len() < 2 {
        return Speeds { speeds: vec![FULL; depth as usize], are_shown: false };
    }
    let at = |n: u32| interpolated(&slow, i64::from(n));
    Speeds { speeds: (1..=depth).map(|n| speed((at(n) - at(1)).max(0))).collect(), are_shown: true }
}

/// The depth that stands for those around it: each up to 8, then four to the doubling.
fn step_of(among: u64) -> u32 {
    let whole = ((among + PARTS / 2) / PARTS) as u32;
    if whole <= 8 {
        return whole.max(1);
    }
    let step = (whole.ilog2() - 2).max(1);
    whole >> step << step
}

/// By depth, the logarithm of how much longer commands take: never less than among fewer, nor so much more that the
/// disk did less in all.
fn slowness(cells: &Cells) -> Vec<(i64, i64)> {
    let mut depths: BTreeMap<u32, (i64, usize)> = BTreeMap::new();
    for _ in 0..ROUNDS {
        let of_depth = |depths: &BTreeMap<u32, (i64, usize)>, depth| depths.get(depth).map_or(0, |(it, _)| *it);
        let mut by_kind: BTreeMap<_, Vec<i64>> = BTreeMap::new();
        for ((kind, depth), times) in cells {
            let own = of_depth(&depths, depth);
            by_kind.entry(*kind).or_default().extend(times.iter().map(|time| time - own));
        }
        let kinds: BTreeMap<_, i64> = by_kind.into_iter().map(|(kind, times)| (kind, median(times))).collect();
        let mut by_depth: BTreeMap<_, Vec<i64>> = BTreeMap::new();
        for ((kind, depth), times) in cells {
            by_depth.entry(*depth).or_default().extend(times.iter().map(|time| time - kinds[kind]));
        }
        depths = by_depth
            .into_iter()
            .map(|(depth, times)| (depth, (times.len(), times)))
            .map(|(depth, (count, times))| (depth, (median(times), count)))
            .collect();
    }
    let told: Vec<(i64, i64, usize)> = depths
        .into_iter()
        .filter(|(_, (_, count))| *count >= TELLING)
        .map(|(depth, (slow, count))| (i64::from(depth), slow, count))
        .collect();
    let mut risen = rising(&told);
    for at in 1..risen.len() {
        let (before, own) = (risen[at - 1], risen[at]);
        let most = before.1 + logarithm(own.0 as u64) - logarithm(before.0 as u64);
        risen[at].1 = own.1.min(most);
    }
    risen
}

/// The nearest values that never fall, by pooling neighbours that do.
fn rising(told: &[(i64, i64, usize)]) -> Vec<(i64, i64)> {
    // Sum of values times counts, count, members.
    let mut pools: Vec<(i64, i64, usize)> = Vec::new();
    for (_, slow, count) in told {
        pools.push((slow * *count as i64, *count as i64, 1));
        while let [.., before, last] = &pools[..]
            && before.0 / before.1 > last.0 / last.1
        {
            let pooled = (before.0 + last.0, before.1 + last.1, before.2 + last.2);
            pools.truncate(pools.len() - 2);
            pools.push(pooled);
        }
    }
    let values = pools.iter().flat_map(|(sum, count, members)| std::iter::repeat_n(sum / count, *members));
    told.iter().zip(values).map(|((depth, ..), value)| (*depth, value)).collect()
}

/// The slowness at a depth: between those told on the line between their logarithms; above them so that the disk does
/// no more in all; below them as it changes between the first and the last told.
fn interpolated(slow: &[(i64, i64)], depth: i64) -> i64 {
    let place = |n: i64| logarithm(n as u64);
    let (first, last) = (slow[0], slow[slow.len() - 1]);
    if depth >= last.0 {
        return last.1 + place(depth) - place(last.0);
    }
    let line = |low: (i64, i64), high: (i64, i64)| {
        low.1 + (high.1 - low.1) * (place(depth) - place(low.0)) / (place(high.0) - place(low.0)).max(1)
    };
    if depth < first.0 {
        return line(first, last);
    }
    slow.windows(2).find(|two| depth < two[1].0).map_or(last.1, |two| line(two[0], two[1]))
}

fn median(mut values: Vec<i64>) -> i64 {
    let middle = values.len() / 2;
    if values.is_empty() { 0 } else { *values.select_nth_unstable(middle).1 }
}

/// Logarithm in parts of [`TWO`], in integers: the same on every machine.
fn logarithm(value: u64) -> i64 {
    let value = value.max(1);
    let whole = value.ilog2();
    let mut part = ((u128::from(value) << ONE) >> whole) as u64;
    let mut logarithm = i64::from(whole);
    for _ in 0..TWO.ilog2() {
        part = (part * part) >> ONE;
        let bit = part >> (ONE + 1);
        part >>= bit;
        logarithm = logarithm * 2 + bit as i64;
    }
    logarithm
}

/// The speed per mille of what takes longer by this logarithm.
fn speed(slow: i64) -> u32 {
    let fits = |speed: u32| logarithm(u64::from(speed) * FINE) + slow <= logarithm(u64::from(FULL) * FINE);
    let (mut low, mut high) = (1, FULL);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        (low, high) = if fits(middle) { (middle, high) } else { (low, middle - 1) };
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trace of a disk that takes 100 us of work for each command, serves `at_once` at full speed, and has each of
    /// `depths` commands at a time, in turns.
    fn recorded(at_once: u64, depths: &[u64]) -> Sharing {
        let mut sharing = Sharing::default();
        let mut now = 0;
        for turn in 0..600 {
            let depth = depths[turn % depths.len()];
            // All begin together and end together.
            (0..depth).for_each(|_| sharing.begin(Time(now)));
            let span = 100_000 * depth / at_once.min(depth);
            now += span;
            let read = Service { op: Operation::Read, sectors: 8, is_sequential: false, span: Span(span) };
            (0..depth).for_each(|_| sharing.end(Time(now), read));
            now += 1_000;
        }
        sharing
    }

    #[test]
    fn what_a_disk_serves_at_once_shows_in_how_times_grow_with_depth() {
        for at_once in [1u32, 2, 4, 8] {
            let mut sharing = recorded(at_once.into(), &[1, 2, 3, 8, 5, 16]);
            let (speeds, services) = sharing.finish();
            assert!(speeds.are_shown);
            for depth in [1, 2, 3, 5, 8, 16] {
                let (found, expected) = (speeds.together(depth), 100 * at_once.min(depth));
                assert!(found.abs_diff(expected) * 50 <= expected, "{at_once} at once, {depth}: {found}");
            }
            assert!(services.iter().all(|s| s.span.0.abs_diff(100_000) < 3_000), "{at_once}: {services:?}");
            assert_eq!(sharing.depth(), 16);
        }
    }

    #[test]
    fn a_depth_that_never_varies_shows_nothing() {
        let (speeds, services) = recorded(2, &[8]).finish();
        assert!(!speeds.are_shown && speeds.speeds == vec![FULL; 8]);
        assert!(services.iter().all(|s| s.span == Span::from_us(400)), "as recorded");
    }

    #[test]
    fn depths_that_were_not_seen_lie_on_the_line_of_those_that_were() {
        // Twice as long among twice as many, seen from 4 on.
        let (speeds, _) = recorded(1, &[4, 8]).finish();
        assert!((99..=101).contains(&speeds.together(1)) && (95..=105).contains(&speeds.together(8)), "{speeds:?}");
        assert!((95..=105).contains(&speeds.together(2)), "{speeds:?}");
        let (speeds, _) = recorded(16, &[4, 8]).finish();
        assert!((790..=810).contains(&speeds.together(8)), "all are served at once: {speeds:?}");
    }

    #[test]
    fn logarithms_are_those_of_the_textbook() {
        for value in [1, 2, 3, 1000, 1_000_000_007, u64::MAX] {
            let expected = (value as f64).log2() * TWO as f64;
            assert!((logarithm(value) as f64 - expected).abs() <= 1.0, "{value}");
        }
        assert_eq!([speed(0), speed(TWO), speed(1623)], [1000, 500, 333]);
    }
}
