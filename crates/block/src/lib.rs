//! The block layer: plugging, merging, pools and tags around an elevator and a device; volumes over several disks; and
//! a host without CPUs that drives them.
//!
//! ```text
//!  Source ──Io──▶ Storage ──Io──▶ Disk = Queue ──Request──▶ Device
//!  (drive)        (volumes)       plug · merge · pool · referee of an elevator
//!         ◀─Done──        ◀─Done──                       ◀─completed──
//! ```

mod admit;
mod build;
mod disk;
mod drive;
mod grow;
mod jobs;
mod layer;
mod legacy;
mod merging;
mod multi_queue;
mod parity;
mod pieces;
mod pool;
mod rows;
mod slots;
mod storage;
mod throttle;
mod volume;
mod wbt;

pub use build::{by_name, by_name_around};
pub use disk::{Disk, Out, Outcome, Work};
pub use drive::{Arrival, Drive, Driven, Fault, Source};
pub use layer::{Queue, QueueOptions, throttles_write_back};
pub use storage::Storage;
pub use throttle::Throttle;
