//! Compares schedulers by simulation: the library behind every front end.
//!
//! ```text
//!  open ──▶ Work ──▶ Plan ──▶ Runs ──▶ Report
//! ```
//!
//! | step | does |
//! |---|---|
//! | [`open`] | reads a recording, an experiment, a fio or rt-app file, or finds a built-in workload |
//! | [`Work`] | the work, its machine, and its description |
//! | [`Plan`] | contenders, number of runs and seed; [`Plan::run`] simulates on all cores |
//! | [`Runs`] | the values of all runs, the first of each contender in full, and the stated error of a replay |
//! | [`Report`] | intervals, comparisons, verdicts: [`Runs::report`] |
//!
//! [`tune`] searches settings with plans of its own.
//!
//! ```
//! use goodness::{Contender, OpenOptions, Plan, PolicySpec, open, unwatched};
//!
//! # fn main() -> Result<(), goodness::Refusal> {
//! let work = open("mixed:duration=500ms", &OpenOptions::default(), &unwatched)?;
//! let policies = [PolicySpec::parse("eevdf")?, PolicySpec::parse("rr:timeslice=10ms")?];
//! let plan = Plan { runs: 3, seed: 7, ..Plan::of(&work, Contender::cross(&policies, &[])) };
//! let runs = plan.run(&unwatched)?;
//! assert_eq!(runs.arms[1].values("context_switches").len(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! The library prints nothing, never exits the process and has no global state; only `threads::prepare`, which a
//! program calls once if at all, sets up threads for the whole process. Errors are a [`Refusal`], which a caller can
//! match. Progress goes to a [`Watch`], which can cancel. Equal plans give equal bytes, on any number of threads.

mod again;
mod apply;
mod block_fidelity;
#[cfg(feature = "live")]
pub mod calibrate;
pub mod catalogue;
mod change_error;
mod collected;
mod compared_kernels;
#[cfg(feature = "live")]
pub mod conform;
mod contender;
mod device_error;
pub mod diff;
mod edit;
mod fidelity;
mod kernel;
mod memory;
mod model_error;
mod no_effect;
mod open;
mod own;
mod parallel;
mod plan;
#[cfg(feature = "live")]
pub mod play;
mod prediction_error;
mod progress;
mod recorded;
pub mod recordings;
mod refusal;
mod replication;
mod report;
mod run;
mod runs;
pub mod shipped;
pub mod shrink;
mod simulation;
pub mod space;
mod spec;
mod spread;
pub mod standard;
mod standstill;
mod storage;
pub mod suite;
pub mod summary;
pub mod teach;
#[cfg(feature = "parallel")]
pub mod threads;
mod throttles;
pub mod tune;
mod watchdog;
pub mod why;
mod work;

pub use again::Again;
pub use change_error::{CHANGE_ERRORS, LATENCY_RESOLUTION_NS, change_kinds, error_scale};
pub use contender::Contender;
pub use edit::Edit;
pub use goodness_report::{Report, tables};
pub use goodness_trace::Excerpt;
pub use kernel::own_policy;
pub use model_error::{MODEL_ERRORS, ModelError};
pub use open::{
    Arrivals, BlockEvents, Ends, OpenOptions, Others, ReplayOptions, files_of, is_recording, machine, open,
    open_recording,
};
pub use own::Own;
pub use plan::{Plan, Timelines};
pub use progress::{Account, Progress, Shown, Watch, unwatched};
pub use recorded::Recorded;
pub use refusal::{Kind, Refusal, See};
pub use replication::{RUNS_MAX, Replication};
pub use report::{Circumstances, unit_of};
pub use run::{Named, RunResult};
pub use runs::{Arm, Runs, check_rank};
pub use simulation::{Beside, Run, Trial, run};
pub use spec::{ElevatorSpec, PolicySpec, check_names};
pub use spread::{Ratios, Spread};
pub use work::Work;
