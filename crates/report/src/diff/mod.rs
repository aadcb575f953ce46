//! The differences of two runs, recordings or results: model, text, page, tables and JUnit.

pub mod gate;
pub mod junit;
mod model;
pub mod page;
mod picture;
mod sentence;
pub mod table;
pub mod text;

pub use model::{
    Choice, Diff, Difference, Finding, FirstDifference, Gate, Kind, Outcome, Queued, QueuedRequest, SCHEMA, Side,
    Slice, TaskDifference, TaskName, Verdict,
};
pub use sentence::{change, headline};
