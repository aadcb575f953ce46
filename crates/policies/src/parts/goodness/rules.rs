//! Differences between Linux 2.0, 2.2 and 2.4, and the tunables they share.

use goodness_core::{About, Class, Machine, Task};

goodness_core::choices! {
    /// The end of the list that a woken task joins.
    pub enum End { Head = "head", Tail = "tail" }
}

goodness_core::choices! {
    /// Effect of `sched_yield` besides going to the tail of the list: lose the counter, lose one tick of it (the remedy
    /// proposed in Linux Journal 57), or count as weight 0 or −1 for one election.
    pub enum YieldMode {
        Forfeit = "zero-counter",
        Tick = "one-tick",
        Zero = "zero-weight",
        Negative = "negative-weight",
    }
}

goodness_core::choices! {
    /// Counter value at which the tick requests an election.
    pub enum TickTest { Negative = "negative", Zero = "zero" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Ticks of a nice-0 task in one epoch, other nices in proportion (auto: 200 ms; 2.4 scales nice by HZ).
        default_priority: Option<u64> = None, in 1 => 10_000;
        /// Goodness added on the CPU where a task last ran, on machines of several CPUs (auto: 15; Alpha had 20).
        proc_change_penalty: Option<u64> = None, in 0 => 1_000;
        /// Lead over the running task that a woken one needs to preempt it (auto: 3 ticks; 2.4 goodness 0).
        wake_threshold: Option<u64> = None, in 0 => 10_000;
        /// End of the list that a woken task joins (auto: tail; 2.2 head).
        insert: Option<End> = None;
        /// Repeat the election after a recalculation (auto: off; 2.4 on).
        rescan: Option<bool> = None;
        /// Effect of sched_yield (auto: zero-counter in 2.0, zero-weight in 2.2, negative-weight in 2.4).
        yield_mode: Option<YieldMode> = None;
        /// Goodness added to the task that ran before (auto: 1 in 2.0, else 0).
        prev_bonus: Option<u64> = None, in 0 => 1_000;
        /// Goodness added to a task that shares its address space with the one before (auto: 0 in 2.0, else 1).
        mm_bonus: Option<u64> = None, in 0 => 1_000;
        /// Counter at which a tick ends a slice: below zero, or at zero (auto: negative; 2.4 zero).
        tick_test: Option<TickTest> = None;
    }
}

/// Rules of one kernel.
pub trait Kernel: 'static {
    /// The policy's entry in the registry.
    const ABOUT: About;
    /// Values of the settings that the user leaves open.
    const DEFAULTS: Defaults;
    /// Rules that no setting changes.
    const RULES: Rules;
}

/// A kernel's own values of the settings.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// `wake_threshold`.
    pub wake_threshold: i64,
    /// `insert`.
    pub insert: End,
    /// `rescan`.
    pub rescan: bool,
    /// `yield_mode`.
    pub yield_mode: YieldMode,
    /// `prev_bonus`.
    pub prev_bonus: i64,
    /// `mm_bonus`.
    pub mm_bonus: i64,
    /// `tick_test`.
    pub tick_test: TickTest,
}

/// Kernel rules that are no tunables.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Ticks of a task of this nice in an epoch at HZ, unless `default_priority` is set.
    pub ticks: fn(nice: i64, hz: u32) -> i64,
    /// Nice term in the goodness of a task with ticks left.
    pub nice_part: NicePart,
    /// The election examines the previous task before the list.
    pub previous_first: bool,
    /// A kernel thread keeps the address space it finds loaded, and counts as sharing every one.
    pub lazy_address_space: bool,
    /// A task queued on an idle CPU may preempt the task of another CPU as well.
    pub idle_cpu_looks_on: bool,
    /// A child gets the odd tick of its parent's counter, and a parent left without ticks is preempted.
    pub fork_rounds_up: bool,
    /// A task that exits in its first slice leaves its ticks to its parent.
    pub refund: bool,
    /// A sync wake-up (the waker is about to sleep) does not preempt.
    pub sync_wakeups: bool,
    /// Of several idle CPUs, take the one idle longest, whole cores first; else the first.
    pub longest_idle: bool,
    /// A woken task preempts where its goodness leads most; else on its wake-up CPU, by its counter.
    pub preempt_by_goodness: bool,
}

/// Part of nice in goodness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicePart {
    /// None.
    None,
    /// The ticks of an epoch.
    Slice,
    /// 20 − nice.
    Nice,
}

/// Ticks of a nice-0 task in an epoch at HZ ticks a second (specs 1.2).
pub(super) fn default_priority(hz: u32) -> i64 {
    i64::from(20 * hz / 100)
}

/// Ticks by nice in 2.0 and 2.2 (specs 1.2).
pub fn proportional_ticks(nice: i64, hz: u32) -> i64 {
    proportion(nice, default_priority(hz))
}

/// Nice in twentieths of `default`, rounded.
fn proportion(nice: i64, default: i64) -> i64 {
    let step = (nice.abs() * default + 10) / 20;
    (default - nice.signum() * step).clamp(1, (2 * default).max(1))
}

/// Ticks by nice in 2.4: `NICE_TO_TICKS` (specs 1.2).
pub fn scaled_ticks(nice: i64, hz: u32) -> i64 {
    let wanted = 20 - nice;
    1 + match hz {
        0..200 => wanted >> 2,
        200..400 => wanted >> 1,
        400..800 => wanted,
        800..1600 => wanted << 1,
        _ => wanted << 2,
    }
}

/// The settings, completed with the kernel's defaults.
#[derive(Clone, Copy, Debug)]
pub(super) struct Switches {
    pub rules: Rules,
    /// Ticks by nice, −20 first.
    ticks: [i64; 40],
    pub penalty: i64,
    pub threshold: i64,
    pub insert: End,
    pub rescan: bool,
    pub yield_mode: YieldMode,
    pub prev_bonus: i64,
    pub mm_bonus: i64,
    pub tick_test: TickTest,
    pub smp: bool,
}

impl Switches {
    pub fn of<K: Kernel>(machine: &Machine, settings: &Settings) -> Switches {
        let given = |value: Option<u64>, auto: i64| value.map_or(auto, |v| v as i64);
        let defaults = K::DEFAULTS;
        Switches {
            rules: K::RULES,
            ticks: std::array::from_fn(|index| {
                let nice = index as i64 - 20;
                let auto = || (K::RULES.ticks)(nice, machine.hz);
                settings.default_priority.map_or_else(auto, |default| proportion(nice, default as i64))
            }),
            penalty: given(settings.proc_change_penalty, 15),
            threshold: given(settings.wake_threshold, defaults.wake_threshold),
            insert: settings.insert.unwrap_or(defaults.insert),
            rescan: settings.rescan.unwrap_or(defaults.rescan),
            yield_mode: settings.yield_mode.unwrap_or(defaults.yield_mode),
            prev_bonus: given(settings.prev_bonus, defaults.prev_bonus),
            mm_bonus: given(settings.mm_bonus, defaults.mm_bonus),
            tick_test: settings.tick_test.unwrap_or(defaults.tick_test),
            smp: machine.cpu_count() > 1,
        }
    }

    /// Ticks `task` gets in an epoch.
    pub fn ticks_of(&self, task: &Task) -> i64 {
        self.ticks[if task.class == Class::Idle { 39 } else { task.nice.index() }]
    }
}
