//! Shared code of the tests with real elevators.

pub mod replay;
pub mod scene;
