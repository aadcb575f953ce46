//! Trace formats, each read and, where sensible, written.
//!
//! ```text
//!  file or pipe ─▶ compress ─▶ lines ─▶ format ─▶ reorder ─▶ repair ─▶ Sink (streaming) or Recording (in memory)
//!                                                                              Recording ─▶ events ─▶ Observer
//! ```
//!
//! Real traces are imperfect. What can be repaired is repaired and counted ([`Repairs`]); what cannot be used
//! is left out and counted; only a trace without any usable part is refused, in one sentence ([`TraceError`]).

mod args;
pub mod block;
mod compress;
mod error;
mod event_line;
mod events;
mod formats;
mod ftrace;
mod ftrace_write;
mod latency;
mod left;
mod lines;
mod lost;
mod metadata;
mod perf_script;
mod prefix;
mod raw;
mod read;
mod record;
mod recording;
mod reorder;
mod repair;
mod repairs;
mod scan;
mod settle;
mod summary;
mod tasks;
mod trace_cmd;

pub use compress::Input;
pub use error::TraceError;
pub use formats::{FORMATS, Format};
pub use ftrace_write::{FtraceWriter, Shown};
pub use left::Left;
pub use metadata::{
    Attributes, Command, Cpus, Header, Kernel, LostOnCpu, Metadata, Neighbourhood, Steal, Unreadable, Window,
};
pub use read::{Outcome, Sink, load, load_input, read};
pub use record::{Context, Marker, Origin, Record, Wake, What};
pub use recording::Recording;
pub use repairs::{Count, Repair, Repairs};
pub use summary::{Summary, summarise};
pub use tasks::{Comm, Entry, PID_MAX, Tasks};
