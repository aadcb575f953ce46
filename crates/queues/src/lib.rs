//! General data structures, without scheduling terms. Items are dense `u32` numbers given by the caller. Links are kept
//! in vectors indexed by item, so nothing allocates after `reserve`. No unsafe code.
//!
//! | structure | file | insert | remove | first |
//! |---|---|---|---|---|
//! | FIFO lists over shared links | `list.rs` | O(1) | O(1) | O(1) |
//! | bitmap with find-first | `bitmap.rs` | O(1) | O(1) | O(words) |
//! | timing wheel | `wheel.rs` | O(1) | only the first | O(1) amortised |
//! | ordered tree with subtree minima | `tree.rs` | O(log n) | O(log n) | O(1) |
//! | sorted blocks below an ordered tree | `sorted.rs` | O(log n) | O(log n) | O(1) |
//! | multiset of few distinct values | `tally.rs` | O(distinct values) | O(distinct values) | O(1) |

pub mod bitmap;
pub mod list;
pub mod sorted;
pub mod tally;
pub mod tree;
pub mod wheel;

pub use bitmap::Bitmap;
pub use list::{Link, Links, List};
pub use sorted::{Blocks, Sorted};
pub use tally::Tally;
pub use tree::{Nodes, Tree};
pub use wheel::Wheel;
