//! hdd: a rotating disk.
//!
//! Source: `specs/io-schedulers.md` section 11. Arm and rotation follow the rules of DiskSim 4.0's diskmodel library
//! (seek or head switch, whichever is longer; skews; which surface comes next); the buffer follows the parameters of
//! DiskSim's drive files and what its manual and source say they mean. Times are computed when an access begins, not
//! sector by sector: a request costs three or four events whatever its size.
//!
//! Modelled: zones, skews, surfaces in either order, seek curve, head switch, write settling, rotation in continuous
//! time, media transfer across tracks, the bus (one command after the other, overlapping the media), command overheads,
//! read segments with read-ahead while idle, writes that complete early and reach the media later, accesses that begin
//! wherever they land, a queue served in four orders. Commands go before writes that completed early, which wait for
//! nobody; while a write waits for room, a flush waits for them or one is older than the age limit, the arm alternates
//! between both. One order over both would starve the commands: of 64 extents one is nearly always nearer than the one
//! read.
//!
//! Departures: sectors that were remapped or slipped are not (fewer than one in 30 000 of the drives published); a read
//! that needs more than a segment is not held up by a full buffer, which binds only when the bus is slower than the
//! media and the bus is then what counts; a seek under way can be turned at once, as if the arm were already there.
//! Read-ahead never goes farther than a segment. Free blocks are kept wherever the heads land on the track, behind the
//! wanted sectors too when the drive takes its accesses from the landing on. Age forces every second command only.

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
