//! Trace formats, each read and, where sensible, written.
//!
//! ```text
//!  file or pipe ─▶ compress ─▶ lines ─▶ format ─▶ reorder ─▶ repair ─▶ RecordConsumer (streaming) or Recording
//!                                       EventLine                     Record
//!                                                                     Recording ─▶ observe ─▶ Observer
//! ```
//!
//! One enum says what happened, [`SchedEvent`]: in an `EventLine` tasks are named as written, in a [`Record`] by
//! number. A [`RecordConsumer`] sees one record after the other, in memory that does not grow with the trace. A
//! [`Recording`] keeps them: 40 bytes an event, at most 90 while it grows. Metrics read it as the events of a run
//! ([`Recording::observe`]), replay reads the records themselves. [`read_pieces`] keeps a piece at a time.
//!
//! Real traces are imperfect. What can be repaired is repaired and counted ([`Repairs`]); what cannot be used
//! is left out and counted; only a trace without any usable part is refused, in one sentence ([`TraceError`]).

mod args;
pub mod block;
mod compress;
mod cpus_seen;
mod error;
mod event;
mod event_line;
mod excerpt;
mod format;
mod formats;
mod ftrace;
mod ftrace_write;
mod kept;
mod latency;
mod line;
mod lines;
mod load;
mod lost;
mod metadata;
mod observe;
mod perf_script;
mod pieces;
mod place_repairs;
mod prefix;
mod prev_state;
mod read;
mod record_consumer;
mod recording;
mod reorder;
mod repair;
mod repairs;
mod scan;
mod summary;
mod tasks;
mod trace_cmd;
mod zstd;

pub use compress::Input;
pub use error::TraceError;
pub use event::{Call, Context, Marker, Origin, Record, SchedEvent, Wake};
pub use excerpt::Excerpt;
pub use format::Format;
pub use formats::FORMATS;
pub use ftrace_write::{FtraceWriter, TaskLabel};
pub use load::{load, load_excerpt, load_input};
pub use metadata::{
    Attributes, Change, Command, Cpus, Group, Header, Kernel, LostOnCpu, Metadata, Neighbourhood, Steal, Unreadable,
    Window,
};
pub use observe::{Events, Served};
pub use pieces::{PIECE, read_pieces, read_sample};
pub use prev_state::PrevState;
pub use read::{TraceFacts, read, read_excerpt};
pub use record_consumer::RecordConsumer;
pub use recording::Recording;
pub use repairs::{Count, Repair, Repairs};
pub use summary::{Summary, summarise};
pub use tasks::{Comm, Entry, PID_MAX, Tasks};
