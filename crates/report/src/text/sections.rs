//! Sections of the detailed form: other metrics, effects, scheduling time, tasks, groups.

use super::{Page, right_align};
use crate::figure;
use crate::figure::printable;
use crate::limits;
use crate::model::{Better, MetricSummary, PolicyReport, Verdict};
use crate::ranking::SHOWN_FIRST;
use crate::table::{folded, keep_whole, trimmed};
use comfy_table::{Cell, Color};
use goodness_observe::title;

/// Tasks shown per policy; the JSON and HTML reports hold all.
const TASKS_SHOWN: usize = 12;
/// Prefix of the metrics that share out the time of scheduling.
const PARTS: &str = "scheduler_share_";

impl Page<'_> {
    /// Figures of the only policy, the most telling first, at most so many.
    pub(super) fn figures(&self, most: usize) -> String {
        let [only] = self.report.policies.as_slice() else { return String::new() };
        let ranked = self.report.ranked_by();
        let names = self.report.metric_names_by_weight().into_iter().filter(|name| Some(*name) != ranked);
        let measured = ranked.into_iter().chain(names).filter_map(|name| only.metric(name));
        let shown: Vec<&MetricSummary> = measured.filter(|it| it.value.is_some()).collect();
        if shown.is_empty() {
            return self.report.unranked();
        }
        let mut table = self.table(&["metric", "value", "observations"]);
        for metric in shown.iter().take(most) {
            table.add_row([title(&metric.name), figure::of(metric), metric.samples.to_string()]);
        }
        right_align(&mut table, &[1, 2]);
        trimmed(&table)
    }

    /// Value and verdict of the other metrics that fit.
    pub(super) fn other_metrics(&self) -> String {
        let ranked = self.report.ranked_by();
        let directed = |name: &&str| {
            let good = |m: &MetricSummary| m.better != Better::Neither || SHOWN_FIRST.contains(name);
            Some(*name) != ranked
                && !name.starts_with(PARTS)
                && self.report.is_measured(name)
                && self.report.policies.iter().any(|p| p.metric(name).is_some_and(good))
        };
        let names: Vec<&str> = self.report.metric_names_by_weight().into_iter().filter(directed).collect();
        // The figures of a single run are all listed before.
        if names.is_empty() || self.report.policies.len() == 1 {
            return String::new();
        }
        let room = usize::from((self.width - 18) / 13);
        let shown = &names[..names.len().min(room)];
        let heads: Vec<String> = shown.iter().map(|name| title(name)).collect();
        let heads: Vec<&str> = std::iter::once(self.report.row()).chain(heads.iter().map(String::as_str)).collect();
        let mut table = self.table(&heads);
        let order = ranked.map_or_else(|| (0..self.labels.len()).collect(), |m| self.report.ranking(m));
        for index in order {
            let policy = &self.report.policies[index];
            let cells = shown.iter().map(|name| metric_cell(policy.metric(name)));
            table.add_row(std::iter::once(self.label_cell(index)).chain(cells));
        }
        right_align(&mut table, &(1..=shown.len()).collect::<Vec<_>>());
        keep_whole(&mut table, &(0..=shown.len()).collect::<Vec<_>>(), self.longest_cell());
        let legend = "+ better, - worse, = same, ? inconclusive against the reference";
        let more = match names.len() - shown.len() {
            0 => String::new(),
            1 => "; 1 more metric in the reports".into(),
            n => format!("; {n} more metrics in the reports"),
        };
        format!("{}\n{}\n{}", self.strong("Other metrics"), trimmed(&table), self.wrap(&format!("{legend}{more}"), ""))
    }

    /// The label of a policy, broken where the table would break it inside a word.
    fn label_cell(&self, index: usize) -> Cell {
        Cell::new(folded(&self.labels[index], self.longest_cell()))
    }

    /// Effects of policies and elevators by themselves and on each other.
    pub(super) fn effects(&self) -> String {
        let Some(effects) = &self.report.details.effects else { return String::new() };
        let mut table = self.table(&["factor", "level", "ratio, 95 %"]);
        for row in &effects.rows {
            let interval = row.ci95.map_or_else(String::new, |[low, high]| format!(" {low:.2}…{high:.2}"));
            table.add_row([row.factor.clone(), printable(&row.level), format!("{:.2}×{interval}", row.ratio)]);
        }
        let title = self.strong(&format!("Effects on {}, against the first of each", effects.metric));
        let rule = "An interaction is what a pair does beyond what policy and elevator do by themselves.";
        format!("{title}\n{}\n{}", trimmed(&table), self.wrap(rule, ""))
    }

    /// CPU time spent on scheduling, by kind, as in a profile; empty if scheduling costs nothing on this machine.
    pub(super) fn scheduling(&self) -> String {
        let value = |policy: &PolicyReport, name: &str| policy.metric(name).and_then(|m| m.value);
        let spent = |name: &&str| self.report.policies.iter().any(|p| value(p, name).is_some_and(|v| v > 0.0));
        let parts: Vec<&str> =
            self.report.metric_names().into_iter().filter(|n| n.starts_with(PARTS)).filter(spent).collect();
        if parts.is_empty() {
            return String::new();
        }
        let heads: Vec<&str> = parts.iter().map(|name| name.trim_start_matches(PARTS)).collect();
        let mut table = self.table(&[&[self.report.row(), "all"], heads.as_slice()].concat());
        for (index, policy) in self.report.policies.iter().enumerate() {
            let shares = std::iter::once("scheduler_share").chain(parts.iter().copied());
            let cells = shares.map(|name| Cell::new(figure::percent(value(policy, name))));
            table.add_row(std::iter::once(self.label_cell(index)).chain(cells));
        }
        right_align(&mut table, &(1..=parts.len() + 1).collect::<Vec<_>>());
        keep_whole(&mut table, &[0], self.longest_cell());
        format!("{}\n{}", self.strong("CPU time spent scheduling"), trimmed(&table))
    }

    pub(super) fn tasks(&self) -> String {
        let index = self.report.policies.iter().position(|p| p.is_reference).unwrap_or(0);
        let Some(policy) = self.report.policies.get(index).filter(|p| !p.tasks.is_empty()) else {
            return String::new();
        };
        let mut tasks: Vec<_> = policy.tasks.iter().collect();
        tasks.sort_by_key(|t| std::cmp::Reverse(t.cpu_time_ns));
        let mut table = self.table(&["task", "nice", "on CPU", "waiting", "switches", "latency p50", "p99", "max"]);
        for task in tasks.iter().take(TASKS_SHOWN) {
            table.add_row(vec![
                format!("{} {}", figure::name(&task.name), task.id),
                task.nice.map_or_else(|| "rt".into(), |n| n.to_string()),
                figure::time(Some(task.cpu_time_ns)),
                figure::time(Some(task.wait_ns)),
                task.switches.to_string(),
                figure::time(task.wakeup_latency_p50_ns),
                figure::time(task.wakeup_latency_p99_ns),
                figure::time(task.wakeup_latency_max_ns),
            ]);
        }
        right_align(&mut table, &[1, 2, 3, 4, 5, 6, 7]);
        let title = self.strong(&format!("Tasks under {}, first run", self.labels[index]));
        let more = match tasks.len().saturating_sub(TASKS_SHOWN) {
            0 => String::new(),
            1 => "\n1 more task in the reports".into(),
            n => format!("\n{n} more tasks in the reports"),
        };
        format!("{title}\n{}{more}", trimmed(&table))
    }

    /// The block I/O of the tasks that did most of it.
    pub(super) fn tasks_io(&self) -> String {
        let index = self.report.policies.iter().position(|p| p.is_reference).unwrap_or(0);
        let tasks = self.report.policies.get(index).map_or(&[][..], |policy| &policy.tasks);
        let mut tasks: Vec<_> = tasks.iter().filter_map(|task| Some((task, task.io.as_ref()?))).collect();
        if tasks.is_empty() {
            return String::new();
        }
        tasks.sort_by_key(|(_, io)| std::cmp::Reverse(io.bytes));
        let mut table = self.table(&["task", "I/Os", "bytes", "read p50", "read p99", "write p50", "write p99"]);
        for (task, io) in tasks.iter().take(TASKS_SHOWN) {
            table.add_row(vec![
                format!("{} {}", figure::name(&task.name), task.id),
                io.done.to_string(),
                figure::show(Some(io.bytes as f64), "bytes"),
                figure::time(io.read_latency_p50_ns),
                figure::time(io.read_latency_p99_ns),
                figure::time(io.write_latency_p50_ns),
                figure::time(io.write_latency_p99_ns),
            ]);
        }
        right_align(&mut table, &[1, 2, 3, 4, 5, 6]);
        let more = tasks.len().saturating_sub(TASKS_SHOWN);
        let more = if more > 0 { format!("\n{more} more in the reports") } else { String::new() };
        let title = self.strong(&format!("Block I/O under {}, first run", self.labels[index]));
        format!("{title}\n{}{more}", trimmed(&table))
    }

    /// Figures of the limits of groups under each policy.
    pub(super) fn groups(&self) -> String {
        if self.report.policies.iter().all(|policy| policy.groups.is_empty()) {
            return String::new();
        }
        let mut table = self.table(&[&[self.report.row()], limits::HEAD.as_slice()].concat());
        for (index, policy) in self.report.policies.iter().enumerate() {
            for group in &policy.groups {
                let cells = limits::cells(group).into_iter().map(Cell::new);
                table.add_row(std::iter::once(self.label_cell(index)).chain(cells));
            }
        }
        right_align(&mut table, &[2, 3, 4, 5, 6]);
        keep_whole(&mut table, &[0, 1, 4, 6], self.longest_cell());
        format!("{}\n{}", self.strong("Limits of groups, first run"), trimmed(&table))
    }
}

fn metric_cell(metric: Option<&MetricSummary>) -> Cell {
    let Some(metric) = metric else { return Cell::new(format!("{}  ", figure::NOT_MEASURED)) };
    let value = figure::of(metric);
    match metric.vs_reference.filter(|_| metric.value.is_some()).map(|v| v.verdict) {
        Some(Verdict::Better) => Cell::new(format!("{value} +")).fg(Color::Green),
        Some(Verdict::Worse) => Cell::new(format!("{value} -")).fg(Color::Red),
        Some(Verdict::Same) => Cell::new(format!("{value} =")),
        Some(Verdict::Inconclusive) => Cell::new(format!("{value} ?")),
        None => Cell::new(format!("{value}  ")),
    }
}
