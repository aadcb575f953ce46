//! The rules of the verbs, as code. A referee stands between a host and a policy (or an elevator): it asks in the right
//! order, keeps what both sides must agree on, and verifies every answer. It has no clock: the host tells it the time.
//!
//! ```text
//!  host ──verb──▶ Referee ──verb──▶ policy
//!       ◀effect──    │    ◀answer──
//!                    └── task table, running tasks, CPUs asked to reschedule, effort
//! ```
//!
//! A verb returns its *effect*: who runs now, which CPUs were newly asked to reschedule, which task moved. The host
//! performs it: it charges time, sets timers, sends commands to a kernel, tells observers. Simulator, live host,
//! benchmarks and tests are such hosts.
//!
//! An answer that cannot be is not performed. The referee keeps the first one as its [`Refusal`]; the host ends the run.

pub mod elevator;
pub mod policy;

pub use elevator::ElevatorReferee;
pub use policy::{Choice, Move, Referee, Refusal};
