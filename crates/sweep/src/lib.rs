//! Sweeps: a space of inputs, arms, machines and seeds, of which each cell is computed once.
//!
//! ```text
//!  file ──▶ Definition ──▶ Cells ──▶ compute ──▶ Folder (journal, shards) ──▶ Summary
//! ```
//!
//! A [`Cell`] is named by the hash of all that decides its values. [`compute::Computer`] is pure: it may run here, on
//! other threads or on other machines. A [`Folder`] is the only writer. It acknowledges a cell by a line of its journal
//! that is on disk, and writes a Parquet file for each block of cells, whose bytes depend on the definition alone.

mod bins;
pub mod cell;
mod combinations;
pub mod compute;
pub mod definition;
mod drawn_effects;
pub mod effects;
pub mod folder;
mod journal;
pub mod local;
mod page;
pub mod phase;
mod shard;
pub mod space;
pub mod summary;
mod surface;
pub mod tables;
mod text;

pub use cell::{Cell, Cells};
pub use compute::{Computer, Finished};
pub use definition::Definition;
pub use folder::{Folder, Part};
pub use summary::Summary;
