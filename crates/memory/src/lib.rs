//! The kernel's file memory: a page cache with read-ahead and write-back, and the layout of files on their volume. Pure
//! state machines: the host submits the transfers they request and reports completions.
//!
//! ```text
//! read  ─▶ read_ahead ─▶ page_cache ──Transfer(Fetch)────▶ host ─▶ block layer
//! write ───────────────▶ page_cache ──Transfer(WriteBack)▶ host ─▶ block layer
//!                        page_cache ◀── done ─────────────
//! ```

mod files;
mod page_cache;
mod read_ahead;
mod shares;
mod transfers;

pub use files::{Extent, File};
pub use page_cache::{Limits, PageCache, Synced};
pub use read_ahead::ReadAhead;
pub use shares::Owner;
pub use transfers::{Direction, Transfer, TransferId};
