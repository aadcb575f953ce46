//! Enforces the policy interface. A referee stands between a host and a policy (or an elevator): it calls in the right
//! order, keeps the state both share, and checks every answer. It has no clock; the host supplies the time.
//!
//! ```text
//! host ──verb──▶ Referee ──verb──▶ policy
//!      ◀effect──    │    ◀answer──
//!                   └── task table, running tasks, CPUs asked to reschedule, effort
//! ```
//!
//! A verb returns its *effect*: the running task, CPUs newly asked to reschedule, a migrated task. The host carries it
//! out: it charges time, sets timers, sends commands to a kernel, reports to observers. Simulator, live host,
//! benchmarks and tests are such hosts.
//!
//! An invalid answer is not carried out. The referee keeps the first one as its [`Refusal`], and the host ends the run.

pub mod elevator;
pub mod policy;

pub use elevator::ElevatorReferee;
pub use policy::{Choice, Move, Referee, Refusal};
