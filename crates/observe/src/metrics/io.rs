//! Block I/O: latency, rates, seeks, merges; in total and per task.

use super::Window;
use super::disk_load::DiskLoad;
use super::measured::{TaskIo, Values};
use super::starved::Starved;
use crate::histogram::Histogram;
use goodness_core::{IoEvent, IoStage, Operation, SECTOR_BYTES, TaskId, Time};

/// The I/O of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct IoMeasures {
    latency: Histogram,
    reads: Histogram,
    writes: Histogram,
    bytes: u64,
    merges: u64,
    issued: u64,
    starved: Starved,
    distance: u64,
    /// End of the last request, by disk.
    heads: Vec<u64>,
    load: DiskLoad,
    tasks: Vec<TaskIo>,
}

impl IoMeasures {
    /// Handles an event; `from` is the end of the warm-up.
    pub fn observe(&mut self, at: Time, from: Time, event: &IoEvent) {
        let measuring = at > from;
        self.load.observe(at, from, event);
        self.starved.observe(at, event, measuring);
        match event.stage {
            IoStage::BackMerged | IoStage::FrontMerged if measuring => self.merges += 1,
            IoStage::Issued => self.issued(event, measuring),
            IoStage::Done if measuring => self.done(event),
            _ => {}
        }
    }

    fn issued(&mut self, event: &IoEvent, measuring: bool) {
        let disk = usize::from(event.disk.0);
        if self.heads.len() <= disk {
            self.heads.resize(disk + 1, 0);
        }
        let head = std::mem::replace(&mut self.heads[disk], event.sector + u64::from(event.sectors));
        if measuring && event.op != Operation::Flush {
            self.issued += 1;
            self.distance += head.abs_diff(event.sector);
        }
    }

    fn done(&mut self, event: &IoEvent) {
        if event.op == Operation::Flush {
            return;
        }
        let bytes = u64::from(event.sectors) * SECTOR_BYTES;
        self.bytes += bytes;
        self.latency.record(event.span.0);
        let of_all = if event.op == Operation::Read { &mut self.reads } else { &mut self.writes };
        of_all.record(event.span.0);
        let task = event.submitter.index();
        if self.tasks.len() <= task {
            self.tasks.resize_with(task + 1, TaskIo::default);
        }
        let it = &mut self.tasks[task];
        it.done += 1;
        it.bytes += bytes;
        let of_task = if event.op == Operation::Read { &mut it.reads } else { &mut it.writes };
        of_task.record(event.span.0);
    }

    /// Enters the results. Work without I/O has none, rather than rates of 0.
    pub fn report(&mut self, window: Window, values: &mut Values) {
        self.load.report(window, values);
        values.set_distribution("io_latency", &self.latency);
        values.set_distribution("io_read_latency", &self.reads);
        values.set_distribution("io_write_latency", &self.writes);
        let done = self.latency.count();
        let per_second = |count: u64| (done > 0 && window.length() > 0.0).then(|| count as f64 * 1e9 / window.length());
        values.set("iops", per_second(done), done);
        values.set("bandwidth", per_second(self.bytes), done);
        let of_issued = |sum: u64| (self.issued > 0).then(|| sum as f64 / self.issued as f64);
        values.set("seek_distance", of_issued(self.distance), self.issued);
        values.set("merges", (done > 0).then_some(self.merges as f64), self.merges);
        let (late, never) = self.starved.finish(window.to);
        let all = self.issued + never;
        values.set("starved", (all > 0).then_some((late + never) as f64), all);
    }

    /// Latencies of all I/Os.
    pub fn latency(&self) -> &Histogram {
        &self.latency
    }

    /// The I/O of the tasks `0 .. count`. Writes by kernel threads for others are not attributed.
    pub fn into_tasks(mut self, count: usize) -> Vec<(TaskId, TaskIo)> {
        self.tasks.truncate(count);
        let tasks = self.tasks.into_iter().enumerate().filter(|(_, it)| it.done > 0);
        tasks.map(|(task, it)| (TaskId(task as u32), it)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{DiskId, RequestId, Span, Submitter};

    fn event(stage: IoStage, op: Operation, sector: u64, span: Span) -> IoEvent {
        let (request, submitter) = (RequestId(0), Submitter(2));
        IoEvent {
            disk: DiskId(1),
            stage,
            op,
            sync: true,
            request,
            survivor: request,
            submitter,
            owner: submitter,
            sector,
            sectors: 8,
            span,
        }
    }

    fn values(io: &mut IoMeasures) -> impl Fn(&str) -> Option<f64> + use<> {
        let mut values = Values::default();
        io.report(Window { from: Time::ZERO, to: Time(2_000_000_000) }, &mut values);
        let list = values.entered().to_vec();
        move |name: &str| list.iter().find(|v| v.about.name == name).and_then(|v| v.value)
    }

    #[test]
    fn rates_latencies_and_seeks_are_of_what_was_done() {
        let mut io = IoMeasures::default();
        io.observe(Time(0), Time(0), &event(IoStage::Issued, Operation::Read, 100, Span::ZERO));
        io.observe(Time(1), Time(0), &event(IoStage::Issued, Operation::Read, 208, Span::from_ms(1)));
        io.observe(Time(1), Time(0), &event(IoStage::Issued, Operation::Write, 116, Span::from_s(2)));
        io.observe(Time(1), Time(0), &event(IoStage::Done, Operation::Read, 208, Span::from_ms(3)));
        io.observe(Time(1), Time(0), &event(IoStage::Done, Operation::Write, 116, Span::from_ms(5)));
        io.observe(Time(1), Time(0), &event(IoStage::BackMerged, Operation::Write, 124, Span::ZERO));
        let value = values(&mut io);
        assert_eq!(value("iops"), Some(1.0));
        assert_eq!(value("bandwidth"), Some(4096.0));
        assert_eq!(value("seek_distance"), Some(100.0), "from 108 to 208 and from 216 to 116");
        assert_eq!(value("starved"), Some(1.0));
        assert_eq!(value("merges"), Some(1.0));
        assert!(value("io_read_latency_max").is_some_and(|ns| (ns - 3e6).abs() < 1e4));
        assert!(value("io_write_latency_max").is_some_and(|ns| (ns - 5e6).abs() < 1e4));
        let tasks = io.into_tasks(9);
        assert_eq!(tasks.iter().map(|(task, it)| (task.0, it.done, it.bytes)).collect::<Vec<_>>(), [(2, 2, 8192)]);
        let longest = |of: &Histogram| of.max().expect("one was done") / 1_000_000;
        assert_eq!((longest(&tasks[0].1.reads), longest(&tasks[0].1.writes)), (3, 5));
    }

    #[test]
    fn a_request_that_never_goes_out_is_starved_too() {
        let mut io = IoMeasures::default();
        io.observe(Time(1), Time(0), &event(IoStage::Inserted, Operation::Read, 8, Span::ZERO));
        assert_eq!(values(&mut io)("starved"), Some(1.0), "it waits for two seconds less a nanosecond");
        io.observe(Time(2), Time(0), &event(IoStage::Absorbed, Operation::Read, 8, Span::ZERO));
        assert_eq!(values(&mut io)("starved"), None);
    }

    #[test]
    fn work_without_io_has_no_rates() {
        let value = values(&mut IoMeasures::default());
        for name in ["iops", "bandwidth", "seek_distance", "merges", "starved", "disk_busy", "io_latency_mean"] {
            assert_eq!(value(name), None, "{name}");
        }
    }
}
