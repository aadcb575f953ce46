//! hdd: a rotating disk.
//!
//! Source: `specs/io-schedulers.md` section 11. Arm and rotation follow DiskSim 4.0's diskmodel library: the longer of
//! seek and head switch, skews, order of surfaces. The buffer follows the parameters of DiskSim's drive files, as its
//! manual and source define them. Times are computed when an access starts, not sector by sector, so a request costs
//! three or four events whatever its size.
//!
//! Modelled: zones, skews, surfaces in either order, seek curve, head switch, write settling, continuous rotation,
//! media transfer across tracks, the bus (one command at a time, overlapping the media), command overheads, read
//! segments with idle read-ahead, early completion of writes, zero-latency access, and a queue with four scheduling
//! orders.
//!
//! Commands take precedence over destaging. The arm alternates between the two while a write waits for room, a flush
//! waits, or a write has passed the age limit. A single order over both would starve commands: of 64 extents, one is
//! nearly always nearer than the command.
//!
//! Departures: Remapped and slipped sectors are not modelled (fewer than one in 30 000 of the published drives). A read
//! larger than a segment is not held up by a full buffer; this matters only if the bus is slower than the media, and
//! then the bus dominates. A seek can be redirected at once, as if the arm were already there. Read-ahead is limited to
//! a segment. With zero-latency access, free blocks are kept on all of the track, also behind the wanted sectors. The
//! age limit forces every second command only.

pub mod geometry;
pub mod mechanics;
pub mod parameters;
pub mod plan;
pub mod presets;
pub mod queue;
pub mod seek;

mod arm;
mod cache;
mod drive;
mod reads;
mod statistics;
mod writes;

pub use drive::Hdd;
pub use parameters::{Parameters, Settings};
pub use statistics::Statistics;
