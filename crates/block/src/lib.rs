//! The block layer: plugging, merging, pools and tags around an elevator and a device; volumes over several disks; and a
//! host without CPUs that drives them.
//!
//! ```text
//!  Source ──Io──▶ Storage ──Io──▶ Disk = Queue<Elevator> ──Request──▶ Device
//!  (drive)        (volumes)       plug · merge · pool · elevator
//!         ◀─Done──        ◀─Done──                       ◀─completed──
//! ```

mod admit;
mod build;
mod disk;
mod grow;
mod layer;
mod legacy;
mod merging;
mod multi_queue;
mod pieces;
mod pool;

pub use build::by_name;
pub use disk::{Disk, Out, Outcome};
pub use layer::{Queue, QueueOptions};
