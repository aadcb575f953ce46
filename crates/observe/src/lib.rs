//! Metrics and checkers: observers of the event stream, for simulated and recorded runs alike.
//!
//! [`Metrics`] measures a run and returns [`Measured`]; [`METRICS`] lists the metrics. [`Checkers`] checks a run
//! against the invariants in [`CHECKERS`]. [`MetricsAndCheckers`] does both in one pass. Each metric and each invariant
//! is a file. They share the [`tracker`], which knows each task's state, its CPU, and since when.
//!
//! ```
//! use goodness_core::{CpuId, Event, Observer, Off, TaskId, Time, WakeSource};
//! use goodness_observe::{Ending, MetricsAndCheckers, Subject};
//!
//! let tasks = vec![Subject::default()];
//! let mut observer = MetricsAndCheckers::new(1, Time::ZERO, &tasks);
//! let (task, cpu) = (TaskId(0), CpuId(0));
//! observer.observe(Time(5), &Event::Fork { parent: None, child: task });
//! observer.observe(Time(5), &Event::Wakeup { task, waker: None, cpu, from: WakeSource::Interrupt });
//! observer.observe(Time(9), &Event::Switch { cpu, prev: None, off: Off::Sleeping, next: Some(task) });
//! let (measured, checked) = observer.finish(Time(20), Ending::Horizon);
//! assert_eq!(measured.get("wakeup_latency_p99").value, Some(4.0));
//! assert_eq!(checked.violations, []);
//! ```

pub mod asked;
pub mod asked_elevator;
mod batches;
pub mod blame;
pub mod checkers;
mod fifths;
pub mod histogram;
mod lull;
pub mod metrics;
pub mod subject;
mod track;
pub mod tracker;
mod waiting;
mod watch;

pub use batches::Batches;
pub use checkers::{CHECKERS, Checked, Ending, Violation, Wait};
pub use fifths::{ByFifth, Fifths, InFifth};
pub use histogram::Histogram;
pub use lull::Lull;
pub use metrics::{About, Better, METRICS, Measured, TaskIo, TaskMeasured, Value, Window, title};
pub use subject::Subject;
pub use watch::{Checkers, Metrics, MetricsAndCheckers, Watch};
