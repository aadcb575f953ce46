//! Compares what the limits of groups did, simulated and played.

use super::both::Both;
use goodness_core::{CpuStat, GroupId, Span};
use goodness_play::PlayedGroup;
use serde::Serialize;

/// Largest difference that counts as agreement, relative to the larger figure.
const RELATIVE: f64 = 0.05;
/// Periods more or less that never count: a play begins and ends at any point of a period.
const PERIODS: f64 = 1.0;

/// Figures of one group with a limit, as in `cpu.stat`. Times in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupRow {
    /// Its name.
    pub name: String,
    /// Ends of periods.
    pub nr_periods: Both,
    /// Periods at whose end it was throttled on a CPU.
    pub nr_throttled: Both,
    /// Sum over the CPUs of the time throttled.
    pub throttled_ns: Both,
    /// Periods in which it used more than its quota.
    pub nr_bursts: Both,
    /// CPU time beyond the quota in those periods.
    pub burst_ns: Both,
}

impl GroupRow {
    /// Compares the groups of the runs `simulated` with those of the play, which are in the same order. What a tick
    /// more or less in a period makes does not count.
    #[must_use]
    pub fn all(simulated: &[Vec<(GroupId, CpuStat)>], played: &[PlayedGroup], tick: Span) -> Vec<GroupRow> {
        let row = |(index, group): (usize, &PlayedGroup)| {
            let of = |figure: fn(&CpuStat) -> u64, played: u64, absolute: f64| {
                let found: Vec<f64> =
                    simulated.iter().filter_map(|run| Some(figure(&run.get(index)?.1) as f64)).collect();
                Both::of(&found, Some(played as f64), RELATIVE, absolute)
            };
            GroupRow {
                name: group.name.clone(),
                nr_periods: of(|it| it.periods, group.nr_periods, PERIODS),
                nr_throttled: of(|it| it.throttled_periods, group.nr_throttled, PERIODS),
                throttled_ns: of(|it| it.throttled.0, group.throttled_ns, tick.0 as f64),
                nr_bursts: of(|it| it.bursts, group.nr_bursts, PERIODS),
                burst_ns: of(|it| it.burst.0, group.burst_ns, tick.0 as f64),
            }
        };
        played.iter().enumerate().map(row).collect()
    }

    /// True if all its figures agree.
    #[must_use]
    pub fn agrees(&self) -> bool {
        let all = [self.nr_periods, self.nr_throttled, self.throttled_ns, self.nr_bursts, self.burst_ns];
        all.iter().all(|both| both.agrees)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(nr_throttled: u64, throttled: Span) -> PlayedGroup {
        let throttled_ns = throttled.0;
        PlayedGroup { name: "g".into(), nr_periods: 100, nr_throttled, throttled_ns, nr_bursts: 0, burst_ns: 0 }
    }

    #[test]
    fn a_twentieth_more_agrees_and_a_tenth_does_not() {
        let (throttled_periods, throttled) = (100, Span::from_s(5));
        let stat = CpuStat { periods: 100, throttled_periods, throttled, ..CpuStat::default() };
        let agrees = |nr_throttled, span| {
            let simulated = [vec![(GroupId(1), stat)]];
            GroupRow::all(&simulated, &[played(nr_throttled, span)], Span::from_ms(4))[0].agrees()
        };
        assert!(agrees(100, Span::from_s(5)) && agrees(95, Span::from_ms(5_200)));
        assert!(!agrees(90, Span::from_s(5)), "periods");
        assert!(!agrees(100, Span::from_ms(5_500)), "time");
        let none = GroupRow::all(&[Vec::new()], &[played(1, Span::ZERO)], Span::from_ms(4));
        assert!(!none[0].agrees(), "a policy without limits has no figures");
    }
}
