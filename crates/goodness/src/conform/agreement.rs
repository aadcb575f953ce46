//! Compares a play with its simulation, task by task.

use super::both::Both;
use super::limits::GroupRow;
use goodness_core::Span;
use goodness_observe::TaskMeasured;
use goodness_play::Played;
use serde::Serialize;

/// Largest differences that count as agreement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bounds {
    /// CPU shares: difference as a fraction of the time of all CPUs.
    pub share: f64,
    /// Switches: relative to the larger figure.
    pub switches: f64,
    /// Switches: so few more or less never count.
    pub switches_few: f64,
    /// Latencies: relative to the larger figure.
    pub latency: f64,
    /// Latency difference in ns that never counts.
    pub latency_ns: f64,
}

impl Bounds {
    /// Two percentage points of CPU share, a tenth of the switches, and for latencies the larger of a tenth and a tick
    /// plus the decision time.
    #[must_use]
    pub fn new(tick: Span, decision: Span) -> Bounds {
        Bounds {
            share: 0.02,
            switches: 0.1,
            switches_few: 10.0,
            latency: 0.1,
            latency_ns: (tick.0 + decision.0) as f64,
        }
    }
}

/// Figures of one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its nice at the start.
    pub nice: Option<i64>,
    /// CPU time as a share of that of all CPUs.
    pub share: Both,
    /// Context switches away from it.
    pub switches: Both,
    /// Middle wake-up latency, ns.
    pub latency_p50: Both,
    /// 99th percentile of the wake-up latency, ns.
    pub latency_p99: Both,
}

impl Row {
    /// True if all its figures agree.
    #[must_use]
    pub fn agrees(&self) -> bool {
        [self.share, self.switches, self.latency_p50, self.latency_p99].iter().all(|both| both.agrees)
    }
}

/// Largest differences over all tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worst {
    /// Largest difference of CPU shares, as a fraction.
    pub share: f64,
    /// Difference of the total context switches, relative to the simulation.
    pub switches: f64,
    /// Largest difference of median latencies, ns; `None` if no task slept.
    pub latency_p50_ns: Option<f64>,
    /// Largest difference of 99th percentiles, ns.
    pub latency_p99_ns: Option<f64>,
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// Task by task.
    pub rows: Vec<Row>,
    /// Groups with a limit.
    pub groups: Vec<GroupRow>,
    /// Bounds of agreement.
    pub bounds: Bounds,
}

/// Fewest wake-ups for a 99th percentile to be compared.
const FEW: u64 = 100;

impl Agreement {
    /// Compares the tasks of the runs `simulated` with the play.
    #[must_use]
    pub fn of(simulated: &[Vec<TaskMeasured>], played: &Played, bounds: Bounds) -> Agreement {
        let room = played.measured_ns as f64 * played.cpus.len() as f64;
        let seen = |index: usize, pick: &dyn Fn(&TaskMeasured) -> Option<f64>| -> Vec<f64> {
            let of_run = |run: &Vec<TaskMeasured>| run.iter().find(|t| t.task.index() == index).and_then(pick);
            simulated.iter().filter_map(of_run).collect()
        };
        let rows = played.tasks.iter().enumerate().map(|(index, task)| {
            // A simulated task is woken to begin, which a play does not count.
            let latency = |pick: fn(&TaskMeasured) -> Option<Span>, real: Option<u64>| {
                let of_run =
                    |t: &TaskMeasured| pick(t).filter(|_| t.wakeups > 1 || real.is_some()).map(|span| span.0 as f64);
                Both::of(&seen(index, &of_run), real.map(|ns| ns as f64), bounds.latency, bounds.latency_ns)
            };
            let switches = |t: &goodness_observe::TaskMeasured| {
                Some(f64::from(t.voluntary_switches) + f64::from(t.involuntary_switches))
            };
            let p99 = latency(|t| t.wakeup_latency_p99, task.wakeup_latency_p99_ns);
            Row {
                name: task.name.clone(),
                nice: task.nice,
                share: Both::of(&seen(index, &|t| Some(t.cpu_time.0 as f64 / room)), task.share, 0.0, bounds.share),
                switches: Both::of(
                    &seen(index, &switches),
                    Some(task.switches as f64),
                    bounds.switches,
                    bounds.switches_few,
                ),
                latency_p50: latency(|t| t.wakeup_latency_p50, task.wakeup_latency_p50_ns),
                latency_p99: Both { agrees: p99.agrees || task.wakeups < FEW, ..p99 },
            }
        });
        Agreement { rows: rows.collect(), groups: Vec::new(), bounds }
    }

    /// True if the figures of every task and group agree.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.rows.iter().all(Row::agrees) && self.groups.iter().all(GroupRow::agrees)
    }

    /// The largest distances.
    #[must_use]
    pub fn worst(&self) -> Worst {
        let largest =
            |pick: fn(&Row) -> &Both| self.rows.iter().filter_map(|row| pick(row).distance()).reduce(f64::max);
        let sum = |pick: fn(&Both) -> Option<f64>| self.rows.iter().filter_map(|row| pick(&row.switches)).sum::<f64>();
        let (simulated, played) = (sum(|both| both.simulated), sum(|both| both.played));
        Worst {
            share: largest(|row| &row.share).unwrap_or_default(),
            switches: if simulated > 0.0 { played / simulated - 1.0 } else { 0.0 },
            latency_p50_ns: largest(|row| &row.latency_p50),
            latency_p99_ns: largest(|row| &row.latency_p99),
        }
    }

    /// The verdict in sentences.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let worst = self.worst();
        let time = |ns: Option<f64>| goodness_report::figure::time(ns.map(|ns| ns.round() as u64));
        let bounds = self.bounds;
        let together =
            |pick: fn(&Both) -> Option<f64>| self.rows.iter().filter_map(|row| pick(&row.share)).sum::<f64>();
        let (simulated, played) = (together(|both| both.simulated), together(|both| both.played));
        let disturbed = (played < simulated - bounds.share).then(|| {
            format!(
                "together the tasks got {:.0} % of the CPU time, {:.0} % simulated: something else ran here, and took \
                    the rest",
                100.0 * played,
                100.0 * simulated
            )
        });
        let verdicts = [
            format!(
                "furthest apart: share {:.2} points, switches of all {:+.1} %, p50 {}, p99 {}",
                100.0 * worst.share,
                100.0 * worst.switches,
                time(worst.latency_p50_ns),
                time(worst.latency_p99_ns)
            ),
            format!(
                "{} within: share {:.0} points; switches {:.0} % or {:.0}; latencies {:.0} % or {}, p99 from {FEW} \
                    wake-ups on",
                if self.holds() { "all agree" } else { "not all are" },
                100.0 * bounds.share,
                100.0 * bounds.switches,
                bounds.switches_few,
                100.0 * bounds.latency,
                time(Some(bounds.latency_ns))
            ),
        ];
        verdicts.into_iter().chain(disturbed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_are_the_largest_distances() {
        let both = |a: f64, b: f64| Both::of(&[a], Some(b), 0.1, 0.02);
        let nothing = Both::of(&[], None, 0.1, 0.02);
        let row = |share: Both, switches: Both| Row {
            name: "a".into(),
            nice: Some(0),
            share,
            switches,
            latency_p50: nothing,
            latency_p99: nothing,
        };
        let rows = vec![row(both(0.5, 0.51), both(100.0, 90.0)), row(both(0.5, 0.45), both(100.0, 130.0))];
        let agreement = Agreement { rows, groups: Vec::new(), bounds: Bounds::new(Span::from_ms(4), Span::ZERO) };
        let worst = agreement.worst();
        assert!((worst.share - 0.05).abs() < 1e-9 && (worst.switches - 0.1).abs() < 1e-9);
        assert_eq!(worst.latency_p50_ns, None);
        assert!(!agreement.holds());
    }
}
